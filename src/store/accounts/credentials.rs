//! What proves an account: second factors, passkeys, known devices, and the count of wrong guesses.

use std::net::IpAddr;
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::any::AnyRow;
use uuid::Uuid;

use crate::accounts::{log_own_change, sessions, spend};
use crate::{
    AccountStore, CredentialStore, NewSession, Revocation, SessionRow, StoreResult, Tx, User, column, mail, pair, row,
};
use base::rate_limit::CellRate;
use domain::network::Network;
use domain::{AuditAction, MailKind, UserId};
use webauthn::has_advanced;

#[boxed]
impl CredentialStore<'_> {
    /// Sets the encrypted secret and the hashes of new recovery codes. `step` is the time step of the code that
    /// confirmed the secret. Ends all sessions but `keep`.
    pub async fn set_second_factor(
        self,
        user: &User,
        secret: &str,
        step: i64,
        recovery: &[String],
        keep: Uuid,
        now: Timestamp,
    ) -> StoreResult<Vec<Revocation>> {
        let mut tx = self.begin().await?;
        let ended = sessions::end_others(&mut tx, user.id, keep, now).await?;
        let id = user.id.to_string();
        let sql = "UPDATE users SET second_factor = $2, second_factor_step = $3 WHERE id = $1";
        tx.run(query!(sql; &id, secret, step)).await?;
        tx.run(query!("DELETE FROM recovery_codes WHERE user_id = $1"; &id)).await?;
        for hash in recovery {
            tx.run(query!("INSERT INTO recovery_codes (user_id, hash) VALUES ($1, $2)"; &id, hash)).await?;
        }
        let replaces = user.second_factor.is_some();
        let kind = if replaces { MailKind::SecondFactorReplaced } else { MailKind::SecondFactorOn };
        mail::notify(&mut tx, user.id, kind, json!({})).await?;
        log_own_change(&mut tx, user, AuditAction::SetSecondFactor, now).await?;
        tx.commit_and(ended).await
    }

    /// Removes the secret and the recovery codes. Ends all sessions but `keep`.
    pub async fn remove_second_factor(self, user: &User, keep: Uuid, now: Timestamp) -> StoreResult<Vec<Revocation>> {
        let mut tx = self.begin().await?;
        let ended = sessions::end_others(&mut tx, user.id, keep, now).await?;
        let id = user.id.to_string();
        for sql in
            ["UPDATE users SET second_factor = NULL WHERE id = $1", "DELETE FROM recovery_codes WHERE user_id = $1"]
        {
            tx.run(query!(sql; &id)).await?;
        }
        mail::notify(&mut tx, user.id, MailKind::SecondFactorOff, json!({})).await?;
        log_own_change(&mut tx, user, AuditAction::RemoveSecondFactor, now).await?;
        tx.commit_and(ended).await
    }

    /// The encrypted secrets of users after `after`, by id. Reads the table of users along its key.
    pub async fn second_factors(self, after: Option<UserId>, limit: i64) -> StoreResult<Vec<(UserId, String)>> {
        let sql =
            "SELECT id, second_factor FROM users WHERE id > $1 AND second_factor IS NOT NULL ORDER BY id LIMIT $2";
        let after = after.map(|user| user.to_string()).unwrap_or_default();
        self.all(query!(sql; after, limit), pair("id", "second_factor")).await
    }

    /// Replaces an encrypted secret if it is still `old`. Returns `false` if it was changed or removed.
    pub async fn replace_second_factor(self, user: UserId, old: &str, new: &str) -> StoreResult<bool> {
        let sql = "UPDATE users SET second_factor = $3 WHERE id = $1 AND second_factor = $2";
        Ok(self.changed(query!(sql; user, old, new)).await? == 1)
    }

    /// Marks a time step and all earlier ones as used. Returns `false` if it was used before.
    pub async fn consume_code_step(self, user: UserId, step: i64) -> StoreResult<bool> {
        let sql = "UPDATE users SET second_factor_step = $2 WHERE id = $1 AND second_factor_step < $2";
        Ok(self.changed(query!(sql; user, step)).await? == 1)
    }

    /// Deletes a recovery code, and sends mail to the account's address. Returns `false` if there is no such code.
    pub async fn consume_recovery_code(self, user: UserId, hash: &str) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        if tx.changed(query!("DELETE FROM recovery_codes WHERE user_id = $1 AND hash = $2"; user, hash)).await? == 0 {
            return Ok(false);
        }
        mail::notify(&mut tx, user, MailKind::RecoveryCodeUsed, json!({})).await?;
        tx.commit_and(true).await
    }

    pub async fn recovery_codes_left(self, user: UserId) -> StoreResult<i64> {
        self.one(query!("SELECT COUNT(*) AS n FROM recovery_codes WHERE user_id = $1"; user), column("n")).await
    }
}

// Passkeys of accounts, and their use. A challenge is spent in the same transaction as the change that its answer
// allows.

/// Passkeys that one account may have.
pub const MAX_PASSKEYS_PER_USER: i64 = 10;

/// A passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passkey {
    pub id: Uuid,
    pub user_id: UserId,
    /// The id in base64url, like the key.
    pub credential_id: String,
    /// The key in COSE.
    pub public_key: String,
    pub sign_count: u32,
    pub name: String,
    pub created_at: Timestamp,
    pub used_at: Option<Timestamp>,
}

/// A challenge that an authenticator has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredChallenge {
    pub id: String,
    /// When the challenge expires. From then on it is refused anyway.
    pub expires_at: Timestamp,
}

/// The outcome of adding a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasskeyAddition {
    Added,
    /// The challenge was answered before.
    Spent,
    /// The account has [`MAX_PASSKEYS_PER_USER`] passkeys, or is gone.
    TooMany,
    /// The credential belongs to an account already.
    Taken,
}

/// The outcome of using a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasskeyUse {
    Used,
    /// The challenge was answered before.
    Spent,
    /// The counter did not increase, so the authenticator was copied.
    Copied,
    /// The passkey was removed.
    Gone,
}

column_list!(columns: "id, user_id, credential_id, public_key, sign_count, name, created_at_ms, used_at_ms");

fn passkey(row: &AnyRow) -> sqlx::Result<Passkey> {
    read!(row => Passkey {
        id, user_id, credential_id, public_key,
        sign_count = u32::try_from(row::int(row, "sign_count")?).unwrap_or(u32::MAX), name, created_at: "created_at_ms",
        used_at: "used_at_ms",
    })
}

#[boxed]
impl CredentialStore<'_> {
    /// The passkeys of a user, the oldest first.
    pub async fn passkeys_of(self, user: UserId) -> StoreResult<Vec<Passkey>> {
        let sql = select!(columns, "FROM passkeys WHERE user_id = $1 ORDER BY id");
        self.all(query!(sql; user), passkey).await
    }

    pub async fn passkey_of_credential(self, credential_id: &str) -> StoreResult<Option<Passkey>> {
        let sql = select!(columns, "FROM passkeys WHERE credential_id = $1");
        self.optional(query!(sql; credential_id), passkey).await
    }

    /// Adds a passkey, with a line in the audit log if it is an account of the staff.
    pub async fn add_passkey(
        self,
        user: &User,
        new: &Passkey,
        challenge: &AnsweredChallenge,
    ) -> StoreResult<PasskeyAddition> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        let id = user.id.to_string();
        // Serializes additions to one account, and orders them with its deletion.
        if !tx.lock_kept_user(user.id).await? {
            return Ok(PasskeyAddition::TooMany);
        }
        if !spend(&mut tx, &challenge.id, challenge.expires_at).await? {
            return Ok(PasskeyAddition::Spent);
        }
        let count = query!("SELECT COUNT(*) AS n FROM passkeys WHERE user_id = $1"; &id);
        if tx.one(count, column::<i64>("n")).await? >= MAX_PASSKEYS_PER_USER {
            return Ok(PasskeyAddition::TooMany);
        }
        let sql = "INSERT INTO passkeys (id, user_id, credential_id, public_key, sign_count, name, created_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
        let query = query!(sql; new.id, &id, &new.credential_id, &new.public_key, new.sign_count, &new.name,
            new.created_at);
        if tx.changed(query).await? == 0 {
            return Ok(PasskeyAddition::Taken);
        }
        log_own_change(&mut tx, user, AuditAction::AddPasskey, now).await?;
        tx.commit_and(PasskeyAddition::Added).await
    }

    /// Removes a passkey of a user. Returns `false` if the user has no such passkey.
    pub async fn remove_passkey(self, user: &User, id: Uuid) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        if tx.changed(query!("DELETE FROM passkeys WHERE user_id = $1 AND id = $2"; user.id, id)).await? == 0 {
            return Ok(false);
        }
        log_own_change(&mut tx, user, AuditAction::RemovePasskey, now).await?;
        tx.commit_and(true).await
    }

    /// Records a use: spends the challenge and sets the new counter, or changes nothing.
    pub async fn use_passkey(
        self,
        id: Uuid,
        sign_count: u32,
        challenge: &AnsweredChallenge,
    ) -> StoreResult<PasskeyUse> {
        let mut tx = self.begin().await?;
        let now = tx.now.as_millisecond();
        // Locks the row, so that two uses at once compare their counters one after the other.
        let query = query!("UPDATE passkeys SET used_at_ms = $2 WHERE id = $1 RETURNING sign_count"; id, now);
        let Some(before) = tx.optional(query, column::<i64>("sign_count")).await? else { return Ok(PasskeyUse::Gone) };
        if !spend(&mut tx, &challenge.id, challenge.expires_at).await? {
            return Ok(PasskeyUse::Spent);
        }
        if !has_advanced(u32::try_from(before).unwrap_or(u32::MAX), sign_count) {
            return Ok(PasskeyUse::Copied);
        }
        tx.run(query!("UPDATE passkeys SET sign_count = $2 WHERE id = $1"; id, sign_count)).await?;
        tx.commit_and(PasskeyUse::Used).await
    }
}

// Counts of guesses that all processes share, by the generic cell rate algorithm ([`CellRate`]).

/// A count of guesses: a key for what they have in common, and the allowed rate.
#[derive(Debug, Clone)]
pub struct GuessCount {
    pub key: String,
    /// The allowed rate. Its interval is in milliseconds.
    pub rate: CellRate,
}

/// A count that allows no further guess for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuessLimitReached {
    /// The index of the count in the list that the caller passed.
    pub place: usize,
    pub wait: Duration,
}

#[boxed]
impl CredentialStore<'_> {
    /// Adds a guess to each of the counts. If one of them allows no more, adds it to none.
    pub async fn take_guess(self, counts: &[GuessCount]) -> StoreResult<Option<GuessLimitReached>> {
        let mut tx = self.begin().await?;
        for (place, count) in counts.iter().enumerate() {
            let ahead = match count.rate.charge(lock_count(&mut tx, &count.key).await?) {
                Ok(ahead) => i64::try_from(ahead).unwrap_or(i64::MAX),
                Err(wait) => return Ok(Some(GuessLimitReached { place, wait: Duration::from_millis(wait) })),
            };
            set_count(&mut tx, &count.key, ahead).await?;
        }
        tx.commit_and(None).await
    }

    /// Takes a guess out of each of the counts.
    pub async fn give_back_guess(self, counts: &[GuessCount]) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        for count in counts {
            let sql = "UPDATE guesses SET restored_at_ms = restored_at_ms - $2 WHERE key = $1";
            tx.run(query!(sql; &count.key, count.rate.interval as i64)).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Deletes counts that have their full allowance.
    pub async fn purge_guesses(self) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        tx.run(query!("DELETE FROM guesses WHERE restored_at_ms <= $1"; tx.now)).await?;
        Ok(tx.commit().await?)
    }
}

/// The milliseconds until a count is zero. Locks the count's row, so that parallel attempts come one after the other.
pub(super) async fn lock_count(tx: &mut Tx, key: &str) -> sqlx::Result<u64> {
    let now = tx.now.as_millisecond();
    let sql = "INSERT INTO guesses (key, restored_at_ms) VALUES ($1, $2)
         ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING restored_at_ms";
    let until: i64 = tx.one(query!(sql; key, now), column("restored_at_ms")).await?;
    Ok(u64::try_from(until - now).unwrap_or_default())
}

/// Sets a count so that it is zero after this many milliseconds.
pub(super) async fn set_count(tx: &mut Tx, key: &str, ahead_ms: i64) -> sqlx::Result<()> {
    let until = tx.now.as_millisecond().saturating_add(ahead_ms);
    tx.run(query!("UPDATE guesses SET restored_at_ms = $2 WHERE key = $1"; key, until)).await
}

// Devices from which an account was used: kinds of browsers with their networks. They are stored only for accounts
// with a verified address, to which mail about new devices is sent.

/// A device that was not seen for this long counts as new again.
const KEEP_DEVICES: Duration = Duration::from_secs(180 * 24 * 3600);

/// The network under which a device is stored.
fn site(address: &str) -> String {
    address.parse::<IpAddr>().map_or_else(|_| address.to_owned(), |address| Network::of(address).site_text())
}

/// Remembers the device of a new session. If it is a new device, sends mail to the account's address.
pub(super) async fn note_device(tx: &mut Tx, user: UserId, session: &NewSession) -> sqlx::Result<()> {
    if !tx.exists(query!("SELECT 1 FROM mail_addresses WHERE user_id = $1 AND address IS NOT NULL"; user)).await? {
        return Ok(());
    }
    if remember_device(tx, user, &session.agent, &session.address).await? {
        let facts = json!({"agent": session.agent, "address": session.address});
        mail::notify(tx, user, MailKind::NewDevice, facts).await?;
    }
    Ok(())
}

/// Remembers the devices of sessions that exist when an address is verified.
pub(super) async fn remember_devices(tx: &mut Tx, user: UserId, sessions: &[SessionRow]) -> sqlx::Result<()> {
    for session in sessions {
        remember_device(tx, user, &session.agent, &session.address).await?;
    }
    Ok(())
}

/// Remembers a device. Returns whether it is new.
pub(super) async fn remember_device(tx: &mut Tx, user: UserId, agent: &str, address: &str) -> sqlx::Result<bool> {
    let (user, now) = (user.to_string(), tx.now.as_millisecond());
    let seen = "UPDATE known_devices SET seen_at_ms = $4 WHERE user_id = $1 AND agent = $2 AND network = $3";
    let new = "INSERT INTO known_devices (user_id, agent, network, seen_at_ms) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING";
    for sql in [seen, new] {
        if tx.changed(query!(sql; &user, agent, site(address), now)).await? == 1 {
            return Ok(sql == new);
        }
    }
    Ok(false)
}

impl AccountStore<'_> {
    /// The known devices of an account, for its export.
    pub(super) async fn known_devices_for_export(self, user: UserId) -> StoreResult<Vec<Value>> {
        let sql = "SELECT agent, network, seen_at_ms FROM known_devices WHERE user_id = $1 ORDER BY agent, network";
        let read = |row: &AnyRow| {
            let (agent, network) = (row::text(row, "agent")?, row::text(row, "network")?);
            Ok(json!({"agent": agent, "network": network, "seen_at": row::time(row, "seen_at_ms")?}))
        };
        self.all(query!(sql; user), read).await
    }

    pub(crate) async fn purge_known_devices(self, now: Timestamp) -> StoreResult<()> {
        self.run(query!("DELETE FROM known_devices WHERE seen_at_ms < $1"; now - KEEP_DEVICES)).await
    }
}
