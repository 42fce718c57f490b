//! How an account is reached: its mail address with its links, its verified contacts, and recovery by mail.

use boxed::boxed;
use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::any::AnyRow;

use crate::accounts::{self, credentials, log_own_change, sessions};
use crate::mail::{NewMail, notify, write};
use crate::{
    AccountChangeRefusal, AccountStore, Actor, CredentialStore, Revocation, SessionRow, StoreResult, Tx, User, column,
    row,
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

fn contact(row: &AnyRow) -> sqlx::Result<RegistrationContact> {
    let address = row::text(row, "address")?;
    read!(row => RegistrationContact {
        id, challenge, address = MailAddress::parse(&address).ok_or_else(|| row::undecodable("address"))?, locale,
        is_verified = row::has(row, "verified_at_ms")?, expires_at: "expires_at_ms",
    })
}

#[boxed]
impl AccountStore<'_> {
    /// Stores an address for a challenge and sends the link to it. Links to earlier addresses become invalid. If the
    /// address is verified for an account, the account's owner gets a notice instead.
    pub async fn enter_contact(self, new: &RegistrationContact) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        let sql =
            "INSERT INTO registration_contacts (id, challenge, address, locale, expires_at_ms) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (id) DO UPDATE SET address = excluded.address, locale = excluded.locale,
               verified_at_ms = NULL";
        tx.run(query!(sql; &new.id, &new.challenge, new.address.as_str(), new.locale, new.expires_at)).await?;
        if !tell_holder(&mut tx, &new.address, None).await? {
            let (kind, facts) = (MailKind::Registration, json!({"challenge": new.id}));
            let mail = NewMail::by_mail(None, new.address.as_str(), new.locale, kind, facts);
            write(&mut tx, &[NewMail { useful_until: Some(new.expires_at), ..mail }]).await?;
        }
        Ok(tx.commit().await?)
    }

    /// The address that was entered last with a challenge, until an account is registered with it.
    pub async fn contact_of(self, id: &str) -> StoreResult<Option<RegistrationContact>> {
        let sql = "SELECT id, challenge, address, locale, verified_at_ms, expires_at_ms FROM registration_contacts
             WHERE id = $1";
        self.optional(query!(sql; id), contact).await
    }

    /// Records that the owner of an address has confirmed it. Returns `false` if another address was entered since, or
    /// if an account was registered with it.
    pub async fn verify_contact(self, id: &str, address: &MailAddress) -> StoreResult<bool> {
        let sql = "UPDATE registration_contacts SET verified_at_ms = COALESCE(verified_at_ms, $3)
             WHERE id = $1 AND address = $2";
        Ok(self.changed(query!(sql; id, address.as_str(), self.now().await?)).await? == 1)
    }

    /// Deletes addresses of expired challenges, which are refused anyway.
    pub async fn purge_contacts(self) -> StoreResult<()> {
        self.run(query!("DELETE FROM registration_contacts WHERE expires_at_ms <= $1"; self.now().await?)).await
    }
}

/// Gives a new account the verified address with which it was registered. Returns `false` if the address belongs to
/// another account by now, or another one was entered since.
pub(super) async fn hand_over(
    tx: &mut Tx,
    user: &User,
    contact: &RegistrationContact,
    device: RegistrationDevice<'_>,
) -> sqlx::Result<bool> {
    let sql = "DELETE FROM registration_contacts WHERE id = $1 AND address = $2 AND verified_at_ms IS NOT NULL";
    if tx.changed(query!(sql; &contact.id, contact.address.as_str())).await? == 0 {
        return Ok(false);
    }
    let sql =
        "INSERT INTO mail_addresses (user_id, address, address_key, verified_at_ms, locale) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING";
    let query = query!(sql; user.id, contact.address.as_str(), contact.address.key(), tx.now, contact.locale);
    let added = tx.changed(query).await?;
    credentials::remember_device(tx, user.id, device.agent, device.address).await?;
    Ok(added == 1)
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

fn account_mail(row: &AnyRow) -> sqlx::Result<AccountMail> {
    read!(row => AccountMail { address, verified_at: "verified_at_ms", pending, locale, recovery })
}

#[boxed]
impl AccountStore<'_> {
    pub async fn mail_of(self, user: UserId) -> StoreResult<Option<AccountMail>> {
        let sql = "SELECT address, verified_at_ms, pending, locale, recovery FROM mail_addresses WHERE user_id = $1";
        self.optional(query!(sql; user), account_mail).await
    }

    /// The account for which an address is verified.
    pub async fn user_with_address(self, address: &MailAddress) -> StoreResult<Option<UserId>> {
        let query = query!("SELECT user_id FROM mail_addresses WHERE address_key = $1"; address.key());
        self.optional(query, column("user_id")).await
    }

    /// Stores an address until it is verified, and sends it the link for this. If it is verified for another account,
    /// the owner of this account gets a notice instead.
    pub async fn enter_address(self, user: UserId, new: &MailAddress, locale: Locale) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        tx.lock_user(user).await?;
        let sql = "INSERT INTO mail_addresses (user_id, pending, verification, locale) VALUES ($1, $2, 1, $3)
             ON CONFLICT (user_id) DO UPDATE SET pending = excluded.pending, locale = excluded.locale,
               verification = mail_addresses.verification + 1 RETURNING verification";
        let number: i64 = tx.one(query!(sql; user, new.as_str(), locale), column("verification")).await?;
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
    ) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        tx.lock_user(user.id).await?;
        let sql = "SELECT 1 FROM mail_addresses WHERE address_key = $1 AND user_id <> $2";
        let is_taken = tx.exists(query!(sql; address.key(), user.id)).await?;
        let pending = "SELECT 1 FROM mail_addresses WHERE user_id = $1 AND pending = $2 AND verification = $3";
        if is_taken || !tx.exists(query!(pending; user.id, address.as_str(), number)).await? {
            return Ok(false);
        }
        notify(&mut tx, user.id, MailKind::AddressChanged, json!({})).await?;
        let now = tx.now;
        let sql = "UPDATE mail_addresses SET address = pending, address_key = $2, verified_at_ms = $3, pending = NULL,
               verification = verification + 1, recovery = recovery + 1 WHERE user_id = $1";
        tx.run(query!(sql; user.id, address.key(), now)).await?;
        credentials::remember_devices(&mut tx, user.id, sessions).await?;
        log_own_change(&mut tx, user, AuditAction::VerifyMail, now).await?;
        tx.commit_and(true).await
    }

    /// Removes both addresses of an account. The verified one gets a notice.
    pub async fn remove_address(self, user: &User) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        tx.lock_user(user.id).await?;
        notify(&mut tx, user.id, MailKind::AddressChanged, json!({})).await?;
        let now = tx.now;
        let sql = "UPDATE mail_addresses SET address = NULL, address_key = NULL, verified_at_ms = NULL, pending = NULL,
               verification = verification + 1, recovery = recovery + 1 WHERE user_id = $1";
        tx.run(query!(sql; user.id)).await?;
        tx.run(query!("DELETE FROM known_devices WHERE user_id = $1"; user.id)).await?;
        log_own_change(&mut tx, user, AuditAction::RemoveMail, now).await?;
        Ok(tx.commit().await?)
    }
}

/// Sends a notice that an address was entered again to the account for which it is verified, unless this is the asking
/// account. Returns whether there is such an account.
async fn tell_holder(tx: &mut Tx, address: &MailAddress, asking: Option<UserId>) -> sqlx::Result<bool> {
    let sql = "SELECT user_id, address, locale FROM mail_addresses WHERE address_key = $1 AND user_id <> $2";
    let asking = asking.map(|user| user.to_string()).unwrap_or_default();
    let notice = |row: &AnyRow| {
        let (user, locale) = (row::get(row, "user_id")?, row::get(row, "locale")?);
        Ok(NewMail::by_mail(Some(user), row::text(row, "address")?, locale, MailKind::AddressInUse, json!({})))
    };
    let Some(notice) = tx.optional(query!(sql; address.key(), asking), notice).await? else { return Ok(false) };
    write(tx, &[notice]).await?;
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
    pub async fn send_access(self, user: UserId, kind: MailKind, locale: Locale) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let sent = send_access(&mut tx, user, kind, Some(locale)).await?;
        tx.commit_and(sent).await
    }

    /// Ends the link or the code with this number. `false` if it was used, or is not the latest.
    pub async fn spend_access(self, user: UserId, number: i64) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let spent = spend_access(&mut tx, user, number).await?;
        tx.commit_and(spent).await
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
        tx.log::<Value>(&actor.name, AuditAction::StartRecovery, &format!("user {id}"), None, None, now).await?;
        tx.commit_and(StaffRecovery::Started).await
    }

    /// Sets the password of an account by the link with this number, and ends all its sessions. `None` if the link was
    /// used or is not the latest one.
    pub async fn finish_recovery(
        self,
        user: &User,
        number: i64,
        password_hash: &str,
        now: Timestamp,
    ) -> StoreResult<Option<Revocation>> {
        let mut tx = self.begin().await?;
        let revocation = sessions::next_number(&mut tx).await?;
        // The second factor must still be the one that was checked.
        let sql = "UPDATE users SET password_hash = $2, must_change_password = 0, password_expires_at_ms = NULL
             WHERE id = $1 AND password_hash = $3 AND role = $4 AND COALESCE(second_factor, '') = $5
               AND blocked_at_ms IS NULL AND deleted_at_ms IS NULL";
        let query = query!(sql; user.id, password_hash, &user.password_hash, user.role,
            user.second_factor.clone().unwrap_or_default());
        if tx.changed(query).await? == 0 || !spend_access(&mut tx, user.id, number).await? {
            return Ok(None);
        }
        let ended = sessions::end_all(&mut tx, revocation, user.id, now).await?;
        notify(&mut tx, user.id, MailKind::PasswordChanged, json!({})).await?;
        log_own_change(&mut tx, user, AuditAction::RecoverPassword, now).await?;
        tx.commit_and(Some(ended)).await
    }
}

/// Sends a link or a code that opens the account. Without `locale` the message is in the account's language.
async fn send_access(tx: &mut Tx, user: UserId, kind: MailKind, locale: Option<Locale>) -> sqlx::Result<bool> {
    tx.lock_user(user).await?;
    let sql = "UPDATE mail_addresses SET recovery = recovery + 1, locale = COALESCE($2, locale)
         WHERE user_id = $1 AND address IS NOT NULL RETURNING recovery";
    let number: Option<i64> = tx.optional(query!(sql; user, locale), column("recovery")).await?;
    let Some(number) = number else { return Ok(false) };
    notify(tx, user, kind, json!({"number": number})).await?;
    Ok(true)
}

async fn spend_access(tx: &mut Tx, user: UserId, number: i64) -> sqlx::Result<bool> {
    let sql = "UPDATE mail_addresses SET recovery = recovery + 1
         WHERE user_id = $1 AND recovery = $2 AND address IS NOT NULL";
    Ok(tx.changed(query!(sql; user, number)).await? > 0)
}

/// Makes links and codes invalid, because the password was changed in another way.
pub(super) async fn end_links(tx: &mut Tx, user: UserId) -> sqlx::Result<()> {
    tx.run(query!("UPDATE mail_addresses SET recovery = recovery + 1 WHERE user_id = $1"; user)).await
}
