//! The mail address of an account: entered, then verified by a link that was sent to it. An address is verified for one
//! account only.

use jiff::Timestamp;
use serde_json::json;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::{known_devices, log_own_change};
use crate::mail::{NewMail, notify, write};
use crate::{AccountStore, SessionRow, StoreError, Tx, User, row};
use domain::{AuditAction, Locale, MailAddress, MailKind, UserId};

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
        .bind(new.as_str().to_owned())
        .bind(locale.as_str())
        .fetch_one(&mut *tx)
        .await?;
        let number = row::int(&number, "verification")?;
        if !tell_holder(&mut tx, new, Some(user)).await? {
            let mail = NewMail {
                user: Some(user),
                recipient: new.as_str().to_owned(),
                locale,
                kind: MailKind::Verification,
                facts: json!({"number": number}),
                useful_until: None,
                subscription: None,
            };
            write(&mut tx, &[mail]).await?;
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
        let pending = sqlx::query(pending).bind(user.id.to_string()).bind(address.as_str().to_owned()).bind(number);
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
        known_devices::remember_all(&mut tx, user.id, sessions).await?;
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
        sqlx::query(
            "UPDATE mail_addresses SET address = NULL, address_key = NULL, verified_at_ms = NULL, pending = NULL,
               verification = verification + 1, recovery = recovery + 1 WHERE user_id = $1",
        )
        .bind(user.id.to_string())
        .execute(&mut *tx)
        .await?;
        let devices = "DELETE FROM known_devices WHERE user_id = $1";
        sqlx::query(devices).bind(user.id.to_string()).execute(&mut *tx).await?;
        log_own_change(&mut tx, user, AuditAction::RemoveMail, now).await?;
        Ok(tx.commit().await?)
    }
}

/// Sends a notice that an address was entered again to the account for which it is verified, unless this is the asking
/// account. Returns whether there is such an account.
pub(super) async fn tell_holder(
    tx: &mut Tx,
    address: &MailAddress,
    asking: Option<UserId>,
) -> Result<bool, sqlx::Error> {
    let sql = "SELECT user_id, address, locale FROM mail_addresses WHERE address_key = $1 AND user_id <> $2";
    let asking = asking.map(|user| user.to_string()).unwrap_or_default();
    let query = sqlx::query(sql).bind(address.key()).bind(asking);
    let Some(holder) = query.fetch_optional(&mut **tx).await? else { return Ok(false) };
    let mail = NewMail {
        user: Some(row::parsed(&holder, "user_id")?),
        recipient: row::text(&holder, "address")?,
        locale: row::parsed(&holder, "locale")?,
        kind: MailKind::AddressInUse,
        facts: json!({}),
        useful_until: None,
        subscription: None,
    };
    write(tx, &[mail]).await?;
    Ok(true)
}
