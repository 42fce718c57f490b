//! Recovery: a new password by a link that was sent to the verified address of the account.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{log_own_change, sessions};
use crate::mail::notify;
use crate::{AccountChangeRefusal, Actor, CredentialStore, Revocation, StoreError, Tx, User, accounts, audit_log, row};
use domain::Role;
use domain::{AuditAction, Locale, MailKind, UserId};

/// The outcome of starting a recovery on behalf of staff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaffRecovery {
    Started,
    /// The account has no verified address.
    NoAddress,
}

impl CredentialStore<'_> {
    /// Sends the link of a new recovery to the verified address of an account, in this language. Earlier links become
    /// invalid. Returns `false` if the account has no verified address.
    pub async fn start_recovery(self, user: UserId, locale: Locale) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let started = start(&mut tx, user, Some(locale)).await?;
        tx.commit().await?;
        Ok(started)
    }

    /// Like [`CredentialStore::start_recovery`], but on behalf of a member of the staff, for shoppers only, and in the account's
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
        if !start(&mut tx, id, None).await? {
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
        let link = sqlx::query(
            "UPDATE mail_addresses SET recovery = recovery + 1
             WHERE user_id = $1 AND recovery = $2 AND address IS NOT NULL",
        )
        .bind(user.id.to_string())
        .bind(number)
        .execute(&mut *tx)
        .await?;
        if unchanged.rows_affected() == 0 || link.rows_affected() == 0 {
            return Ok(None);
        }
        let ended = sessions::end_all(&mut tx, revocation, user.id, now).await?;
        notify(&mut tx, user.id, MailKind::PasswordChanged, json!({})).await?;
        log_own_change(&mut tx, user, AuditAction::RecoverPassword, now).await?;
        tx.commit().await?;
        Ok(Some(ended))
    }
}

/// Starts a recovery. Without `locale` the message is in the account's language.
async fn start(tx: &mut Tx, user: UserId, locale: Option<Locale>) -> Result<bool, sqlx::Error> {
    tx.lock_user(user).await?;
    let sql = "UPDATE mail_addresses SET recovery = recovery + 1, locale = COALESCE($2, locale)
         WHERE user_id = $1 AND address IS NOT NULL RETURNING recovery";
    let query = sqlx::query(sql).bind(user.to_string()).bind(locale.map(Locale::as_str));
    let Some(found) = query.fetch_optional(&mut **tx).await? else { return Ok(false) };
    let number = row::int(&found, "recovery")?;
    notify(tx, user, MailKind::Recovery, json!({"number": number})).await?;
    Ok(true)
}

/// Makes recovery links invalid, because the password was changed in another way.
pub(super) async fn end_links(tx: &mut Tx, user: UserId) -> Result<(), sqlx::Error> {
    let sql = "UPDATE mail_addresses SET recovery = recovery + 1 WHERE user_id = $1";
    sqlx::query(sql).bind(user.to_string()).execute(&mut **tx).await?;
    Ok(())
}
