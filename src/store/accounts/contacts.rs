//! How an account is reached: its mail address with its links, its verified contacts, and recovery by mail.

use boxed::boxed;
use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::accounts::{self, credentials, log_own_change, sessions};
use crate::mail::{NewMail, notify, write};
use crate::{
    AccountChangeRefusal, AccountStore, Actor, CredentialStore, Revocation, SessionRow, StoreError, Tx, User,
    audit_log, row,
};
use domain::{AuditAction, Locale, MailAddress, MailKind, Role, UserId};

/// An address that was entered with a challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrationContact {
    /// The number of the challenge.
    pub id: String,
    /// The challenge as it was issued.
    pub challenge: String,
    pub address: MailAddress,
    pub locale: Locale,
    pub is_verified: bool,
    /// When the challenge expires.
    pub expires_at: Timestamp,
}

/// The browser that registers an account. It becomes a known device of the account.
#[derive(Debug, Clone, Copy)]
pub struct RegistrationDevice<'a> {
    pub agent: &'a str,
    pub address: &'a str,
}

fn contact(row: &AnyRow) -> Result<RegistrationContact, sqlx::Error> {
    let address = row::text(row, "address")?;
    Ok(RegistrationContact {
        id: row::text(row, "id")?,
        challenge: row::text(row, "challenge")?,
        address: MailAddress::parse(&address).ok_or_else(|| row::undecodable("address"))?,
        locale: row::parsed(row, "locale")?,
        is_verified: row::optional_time(row, "verified_at_ms")?.is_some(),
        expires_at: row::time(row, "expires_at_ms")?,
    })
}

#[boxed]
impl AccountStore<'_> {
    /// Stores an address for a challenge and sends the link to it. Links to earlier addresses become invalid. If the
    /// address is verified for an account, the account's owner gets a notice instead.
    pub async fn enter_contact(self, new: &RegistrationContact) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO registration_contacts (id, challenge, address, locale, expires_at_ms) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (id) DO UPDATE SET address = excluded.address, locale = excluded.locale, verified_at_ms = NULL",
        )
        .bind(&new.id)
        .bind(&new.challenge)
        .bind(new.address.as_str())
        .bind(new.locale.as_str())
        .bind(new.expires_at.as_millisecond())
        .execute(&mut *tx)
        .await?;
        if !tell_holder(&mut tx, &new.address, None).await? {
            let (kind, facts) = (MailKind::Registration, json!({"challenge": new.id}));
            let mail = NewMail::by_mail(None, new.address.as_str(), new.locale, kind, facts);
            write(&mut tx, &[NewMail { useful_until: Some(new.expires_at), ..mail }]).await?;
        }
        Ok(tx.commit().await?)
    }

    /// The address that was entered last with a challenge, until an account is registered with it.
    pub async fn contact_of(self, id: &str) -> Result<Option<RegistrationContact>, StoreError> {
        let sql = "SELECT id, challenge, address, locale, verified_at_ms, expires_at_ms FROM registration_contacts
             WHERE id = $1";
        self.optional(sqlx::query(sql).bind(id), contact).await
    }

    /// Records that the owner of an address has confirmed it. Returns `false` if another address was entered since, or
    /// if an account was registered with it.
    pub async fn verify_contact(self, id: &str, address: &MailAddress) -> Result<bool, StoreError> {
        let now = self.now().await?.as_millisecond();
        let sql = "UPDATE registration_contacts SET verified_at_ms = COALESCE(verified_at_ms, $3)
             WHERE id = $1 AND address = $2";
        Ok(sqlx::query(sql).bind(id).bind(address.as_str()).bind(now).execute(&self.pool).await?.rows_affected() == 1)
    }

    /// Deletes addresses of expired challenges, which are refused anyway.
    pub async fn purge_contacts(self) -> Result<(), StoreError> {
        let now = self.now().await?.as_millisecond();
        let sql = "DELETE FROM registration_contacts WHERE expires_at_ms <= $1";
        sqlx::query(sql).bind(now).execute(&self.pool).await?;
        Ok(())
    }
}

/// Gives a new account the verified address with which it was registered. Returns `false` if the address belongs to
/// another account by now, or another one was entered since.
pub(super) async fn hand_over(
    tx: &mut Tx,
    user: &User,
    contact: &RegistrationContact,
    device: RegistrationDevice<'_>,
) -> Result<bool, sqlx::Error> {
    let sql = "DELETE FROM registration_contacts WHERE id = $1 AND address = $2 AND verified_at_ms IS NOT NULL";
    let query = sqlx::query(sql).bind(&contact.id).bind(contact.address.as_str());
    if query.execute(&mut **tx).await?.rows_affected() == 0 {
        return Ok(false);
    }
    let added = sqlx::query(
        "INSERT INTO mail_addresses (user_id, address, address_key, verified_at_ms, locale) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING",
    )
    .bind(user.id.to_string())
    .bind(contact.address.as_str())
    .bind(contact.address.key())
    .bind(tx.now.as_millisecond())
    .bind(contact.locale.as_str())
    .execute(&mut **tx)
    .await?;
    credentials::remember_device(tx, user.id, device.agent, device.address).await?;
    Ok(added.rows_affected() == 1)
}

// The mail address of an account: entered, then verified by a link that was sent to it. An address is verified for one
// account only.

/// An account's mail address and language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountMail {
    /// The verified address.
    pub address: Option<String>,
    pub verified_at: Option<Timestamp>,
    /// An address that was entered and is not verified yet.
    pub pending: Option<String>,
    /// The language of messages.
    pub locale: Locale,
    /// The number of the link that can set a new password.
    pub recovery: i64,
}

fn account_mail(row: &AnyRow) -> Result<AccountMail, sqlx::Error> {
    Ok(AccountMail {
        address: row.try_get("address")?,
        verified_at: row::optional_time(row, "verified_at_ms")?,
        pending: row.try_get("pending")?,
        locale: row::parsed(row, "locale")?,
        recovery: row::int(row, "recovery")?,
    })
}

#[boxed]
impl AccountStore<'_> {
    pub async fn mail_of(self, user: UserId) -> Result<Option<AccountMail>, StoreError> {
        let sql = "SELECT address, verified_at_ms, pending, locale, recovery FROM mail_addresses WHERE user_id = $1";
        self.optional(sqlx::query(sql).bind(user.to_string()), account_mail).await
    }

    /// The account for which an address is verified.
    pub async fn user_with_address(self, address: &MailAddress) -> Result<Option<UserId>, StoreError> {
        let query = sqlx::query("SELECT user_id FROM mail_addresses WHERE address_key = $1").bind(address.key());
        self.optional(query, |row| row::parsed(row, "user_id")).await
    }

    /// Stores an address until it is verified, and sends it the link for this. If it is verified for another account,
    /// the owner of this account gets a notice instead.
    pub async fn enter_address(self, user: UserId, new: &MailAddress, locale: Locale) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        tx.lock_user(user).await?;
        let number = sqlx::query(
            "INSERT INTO mail_addresses (user_id, pending, verification, locale) VALUES ($1, $2, 1, $3)
             ON CONFLICT (user_id) DO UPDATE SET pending = excluded.pending, locale = excluded.locale,
               verification = mail_addresses.verification + 1 RETURNING verification",
        )
        .bind(user.to_string())
        .bind(new.as_str())
        .bind(locale.as_str())
        .fetch_one(&mut *tx)
        .await?;
        let number = row::int(&number, "verification")?;
        if !tell_holder(&mut tx, new, Some(user)).await? {
            let (kind, facts) = (MailKind::Verification, json!({"number": number}));
            write(&mut tx, &[NewMail::by_mail(Some(user), new.as_str(), locale, kind, facts)]).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Verifies the address that is pending with this number. The address before it gets a notice, and recovery links
    /// that were sent there become invalid. `sessions` are all sessions of the account; their devices are known from
    /// now on. Returns `false` if the link is not the latest, was used, or another account was faster.
    pub async fn verify_address(
        self,
        user: &User,
        address: &MailAddress,
        number: i64,
        sessions: &[SessionRow],
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        tx.lock_user(user.id).await?;
        let sql = "SELECT 1 FROM mail_addresses WHERE address_key = $1 AND user_id <> $2";
        let other = sqlx::query(sql).bind(address.key()).bind(user.id.to_string()).fetch_optional(&mut *tx).await?;
        let pending = "SELECT 1 FROM mail_addresses WHERE user_id = $1 AND pending = $2 AND verification = $3";
        let pending = sqlx::query(pending).bind(user.id.to_string()).bind(address.as_str()).bind(number);
        if other.is_some() || pending.fetch_optional(&mut *tx).await?.is_none() {
            return Ok(false);
        }
        notify(&mut tx, user.id, MailKind::AddressChanged, json!({})).await?;
        let now = tx.now;
        sqlx::query(
            "UPDATE mail_addresses SET address = pending, address_key = $2, verified_at_ms = $3, pending = NULL,
               verification = verification + 1, recovery = recovery + 1 WHERE user_id = $1",
        )
        .bind(user.id.to_string())
        .bind(address.key())
        .bind(now.as_millisecond())
        .execute(&mut *tx)
        .await?;
        credentials::remember_devices(&mut tx, user.id, sessions).await?;
        log_own_change(&mut tx, user, AuditAction::VerifyMail, now).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Removes both addresses of an account. The verified one gets a notice.
    pub async fn remove_address(self, user: &User) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        tx.lock_user(user.id).await?;
        notify(&mut tx, user.id, MailKind::AddressChanged, json!({})).await?;
        let now = tx.now;
        let sql = "UPDATE mail_addresses SET address = NULL, address_key = NULL, verified_at_ms = NULL, pending = NULL,
               verification = verification + 1, recovery = recovery + 1 WHERE user_id = $1";
        sqlx::query(sql).bind(user.id.to_string()).execute(&mut *tx).await?;
        let devices = "DELETE FROM known_devices WHERE user_id = $1";
        sqlx::query(devices).bind(user.id.to_string()).execute(&mut *tx).await?;
        log_own_change(&mut tx, user, AuditAction::RemoveMail, now).await?;
        Ok(tx.commit().await?)
    }
}

/// Sends a notice that an address was entered again to the account for which it is verified, unless this is the asking
/// account. Returns whether there is such an account.
async fn tell_holder(tx: &mut Tx, address: &MailAddress, asking: Option<UserId>) -> Result<bool, sqlx::Error> {
    let sql = "SELECT user_id, address, locale FROM mail_addresses WHERE address_key = $1 AND user_id <> $2";
    let asking = asking.map(|user| user.to_string()).unwrap_or_default();
    let query = sqlx::query(sql).bind(address.key()).bind(asking);
    let Some(holder) = query.fetch_optional(&mut **tx).await? else { return Ok(false) };
    let (user, locale) = (row::parsed(&holder, "user_id")?, row::parsed(&holder, "locale")?);
    let recipient = row::text(&holder, "address")?;
    write(tx, &[NewMail::by_mail(Some(user), recipient, locale, MailKind::AddressInUse, json!({}))]).await?;
    Ok(true)
}

// Recovery: a new password by a link that was sent to the verified address of the account.

/// The outcome of starting a recovery on behalf of staff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaffRecovery {
    Started,
    /// The account has no verified address.
    NoAddress,
}

#[boxed]
impl CredentialStore<'_> {
    /// Sends the link of a new recovery, or a code that logs in, to the verified address of an account, in this language.
    /// Earlier links and codes become invalid. Returns `false` if the account has no verified address.
    pub async fn send_access(self, user: UserId, kind: MailKind, locale: Locale) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let sent = send_access(&mut tx, user, kind, Some(locale)).await?;
        tx.commit().await?;
        Ok(sent)
    }

    /// Ends the link or the code with this number. `false` if it was used, or is not the latest.
    pub async fn spend_access(self, user: UserId, number: i64) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let spent = spend_access(&mut tx, user, number).await?;
        tx.commit().await?;
        Ok(spent)
    }

    /// Starts a recovery like [`CredentialStore::send_access`], but on behalf of a member of the staff, for shoppers only, and in the account's
    /// language. It is logged.
    pub async fn start_recovery_by_staff(
        self,
        actor: &Actor,
        id: UserId,
        now: Timestamp,
    ) -> Result<StaffRecovery, AccountChangeRefusal> {
        let mut tx = self.begin().await?;
        // Serializes changes by staff, so that the checks below stay true until the commit.
        sessions::next_number(&mut tx).await?;
        let is_current = |user: &User| user.role == actor.role && !user.is_blocked();
        let may_help = matches!(actor.role, Role::Admin | Role::Support);
        if !may_help || !accounts::read(&mut tx, actor.id).await?.is_some_and(|user| is_current(&user)) {
            return Err(AccountChangeRefusal::NotAllowed);
        }
        let user = accounts::read(&mut tx, id).await?.filter(|user| user.deleted_at.is_none());
        let user = user.ok_or(AccountChangeRefusal::NoSuchUser)?;
        if user.role.is_staff() || user.is_blocked() {
            return Err(AccountChangeRefusal::NotAllowed);
        }
        if !send_access(&mut tx, id, MailKind::Recovery, None).await? {
            return Ok(StaffRecovery::NoAddress);
        }
        audit_log::log::<Value>(
            &mut tx,
            &actor.name,
            AuditAction::StartRecovery,
            &format!("user {id}"),
            None,
            None,
            now,
        )
        .await?;
        tx.commit().await?;
        Ok(StaffRecovery::Started)
    }

    /// Sets the password of an account by the link with this number, and ends all its sessions. `None` if the link was
    /// used or is not the latest one.
    pub async fn finish_recovery(
        self,
        user: &User,
        number: i64,
        password_hash: &str,
        now: Timestamp,
    ) -> Result<Option<Revocation>, StoreError> {
        let mut tx = self.begin().await?;
        let revocation = sessions::next_number(&mut tx).await?;
        // The second factor must still be the one that was checked.
        let unchanged = sqlx::query(
            "UPDATE users SET password_hash = $2, must_change_password = 0, password_expires_at_ms = NULL
             WHERE id = $1 AND password_hash = $3 AND role = $4 AND COALESCE(second_factor, '') = $5
               AND blocked_at_ms IS NULL AND deleted_at_ms IS NULL",
        )
        .bind(user.id.to_string())
        .bind(password_hash)
        .bind(&user.password_hash)
        .bind(user.role.as_str())
        .bind(user.second_factor.clone().unwrap_or_default())
        .execute(&mut *tx)
        .await?;
        if unchanged.rows_affected() == 0 || !spend_access(&mut tx, user.id, number).await? {
            return Ok(None);
        }
        let ended = sessions::end_all(&mut tx, revocation, user.id, now).await?;
        notify(&mut tx, user.id, MailKind::PasswordChanged, json!({})).await?;
        log_own_change(&mut tx, user, AuditAction::RecoverPassword, now).await?;
        tx.commit().await?;
        Ok(Some(ended))
    }
}

/// Sends a link or a code that opens the account. Without `locale` the message is in the account's language.
async fn send_access(tx: &mut Tx, user: UserId, kind: MailKind, locale: Option<Locale>) -> Result<bool, sqlx::Error> {
    tx.lock_user(user).await?;
    let sql = "UPDATE mail_addresses SET recovery = recovery + 1, locale = COALESCE($2, locale)
         WHERE user_id = $1 AND address IS NOT NULL RETURNING recovery";
    let query = sqlx::query(sql).bind(user.to_string()).bind(locale.map(Locale::as_str));
    let Some(found) = query.fetch_optional(&mut **tx).await? else { return Ok(false) };
    let number = row::int(&found, "recovery")?;
    notify(tx, user, kind, json!({"number": number})).await?;
    Ok(true)
}

async fn spend_access(tx: &mut Tx, user: UserId, number: i64) -> Result<bool, sqlx::Error> {
    let sql = "UPDATE mail_addresses SET recovery = recovery + 1
         WHERE user_id = $1 AND recovery = $2 AND address IS NOT NULL";
    Ok(sqlx::query(sql).bind(user.to_string()).bind(number).execute(&mut **tx).await?.rows_affected() > 0)
}

/// Makes links and codes invalid, because the password was changed in another way.
pub(super) async fn end_links(tx: &mut Tx, user: UserId) -> Result<(), sqlx::Error> {
    let sql = "UPDATE mail_addresses SET recovery = recovery + 1 WHERE user_id = $1";
    sqlx::query(sql).bind(user.to_string()).execute(&mut **tx).await?;
    Ok(())
}
