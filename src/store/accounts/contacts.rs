//! Mail addresses that are verified for a registration, instead of proof of work. A challenge has one address at a
//! time. Once its owner has opened the link, an account can be registered with the challenge, and the address becomes
//! the account's address.

use jiff::Timestamp;
use serde_json::json;
use sqlx::any::AnyRow;

use super::{known_devices, mail_address};
use crate::mail::{NewMail, write};
use crate::{AccountStore, StoreError, Tx, User, row};
use domain::{Locale, MailAddress, MailKind};

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

impl AccountStore<'_> {
    /// Stores an address for a challenge and sends the link to it. Links to earlier addresses become invalid. If the
    /// address is verified for an account, the account's owner gets a notice instead.
    pub async fn enter_contact(self, new: &RegistrationContact) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO registration_contacts (id, challenge, address, locale, expires_at_ms) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (id) DO UPDATE SET address = excluded.address, locale = excluded.locale, verified_at_ms = NULL",
        )
        .bind(new.id.clone())
        .bind(new.challenge.clone())
        .bind(new.address.as_str().to_owned())
        .bind(new.locale.as_str())
        .bind(new.expires_at.as_millisecond())
        .execute(&mut *tx)
        .await?;
        if !mail_address::tell_holder(&mut tx, &new.address, None).await? {
            let mail = NewMail {
                user: None,
                recipient: new.address.as_str().to_owned(),
                locale: new.locale,
                kind: MailKind::Registration,
                facts: json!({"challenge": new.id}),
                useful_until: Some(new.expires_at),
                subscription: None,
            };
            write(&mut tx, &[mail]).await?;
        }
        Ok(tx.commit().await?)
    }

    /// The address that was entered last with a challenge, until an account is registered with it.
    pub async fn contact_of(self, id: &str) -> Result<Option<RegistrationContact>, StoreError> {
        let sql = "SELECT id, challenge, address, locale, verified_at_ms, expires_at_ms FROM registration_contacts
             WHERE id = $1";
        self.optional(sqlx::query(sql).bind(id.to_owned()), contact).await
    }

    /// Records that the owner of an address has confirmed it. Returns `false` if another address was entered since, or
    /// if an account was registered with it.
    pub async fn verify_contact(self, id: &str, address: &MailAddress) -> Result<bool, StoreError> {
        let now = self.now().await?.as_millisecond();
        let sql = "UPDATE registration_contacts SET verified_at_ms = COALESCE(verified_at_ms, $3)
             WHERE id = $1 AND address = $2";
        let query = sqlx::query(sql).bind(id.to_owned()).bind(address.as_str().to_owned()).bind(now);
        Ok(query.execute(&self.pool).await?.rows_affected() == 1)
    }

    /// Deletes addresses of expired challenges, which are refused anyway.
    pub async fn purge_contacts(self) -> Result<(), StoreError> {
        let now = self.now().await?.as_millisecond();
        sqlx::query("DELETE FROM registration_contacts WHERE expires_at_ms <= $1")
            .bind(now)
            .execute(&self.pool)
            .await?;
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
    let query = sqlx::query(sql).bind(contact.id.clone()).bind(contact.address.as_str().to_owned());
    if query.execute(&mut **tx).await?.rows_affected() == 0 {
        return Ok(false);
    }
    let added = sqlx::query(
        "INSERT INTO mail_addresses (user_id, address, address_key, verified_at_ms, locale) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING",
    )
    .bind(user.id.to_string())
    .bind(contact.address.as_str().to_owned())
    .bind(contact.address.key())
    .bind(tx.now.as_millisecond())
    .bind(contact.locale.as_str())
    .execute(&mut **tx)
    .await?;
    known_devices::remember(tx, user.id, device.agent, device.address).await?;
    Ok(added.rows_affected() == 1)
}
