//! Address books of shoppers. A shopper with addresses has exactly one default address.

use jiff::Timestamp;
use serde::Serialize;
use sqlx::any::AnyRow;
use uuid::Uuid;

use crate::domain::{Address, AddressId, UserId};
use crate::store::{AnyQuery, Store, StoreError, Tx, row};

/// Addresses in one user's address book.
pub const MAX_ADDRESSES_PER_USER: i64 = 20;

/// An address in a shopper's account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SavedAddress {
    pub id: AddressId,
    pub is_default: bool,
    #[serde(flatten)]
    pub address: Address,
}

/// The outcome of saving an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaveAddressOutcome {
    Done(Box<SavedAddress>),
    TooMany,
    NoSuchAddress,
}

macro_rules! columns {
    () => {
        "id, recipient, phone, country, region, city, line1, line2, postal_code, is_default"
    };
}

fn saved(row: &AnyRow) -> Result<SavedAddress, sqlx::Error> {
    Ok(SavedAddress {
        id: row::parsed(row, "id")?,
        is_default: row::int(row, "is_default")? == 1,
        address: Address {
            recipient: row::text(row, "recipient")?,
            phone: row::text(row, "phone")?,
            country: row::text(row, "country")?,
            region: row::text(row, "region")?,
            city: row::text(row, "city")?,
            line1: row::text(row, "line1")?,
            line2: row::text(row, "line2")?,
            postal_code: row::text(row, "postal_code")?,
        },
    })
}

impl Store {
    /// A user's addresses, the default one first, then the newest.
    pub async fn addresses_of(&self, user: UserId) -> Result<Vec<SavedAddress>, StoreError> {
        let sql =
            concat!("SELECT ", columns!(), " FROM addresses WHERE user_id = $1 ORDER BY is_default DESC, id DESC");
        self.all(sqlx::query(sql).bind(user.to_string()), saved).await
    }

    /// An address, if it is this user's.
    pub async fn address(&self, user: UserId, id: AddressId) -> Result<Option<SavedAddress>, StoreError> {
        let sql = concat!("SELECT ", columns!(), " FROM addresses WHERE user_id = $1 AND id = $2");
        self.optional(sqlx::query(sql).bind(user.to_string()).bind(id.to_string()), saved).await
    }

    /// Saves a new address (`id` is `None`) or a changed one. The first address becomes the default, and so does one
    /// saved with `as_default`. The default changes only when another address becomes the default.
    pub async fn save_address(
        &self,
        user: UserId,
        id: Option<AddressId>,
        address: &Address,
        as_default: bool,
        now: Timestamp,
    ) -> Result<SaveAddressOutcome, StoreError> {
        let mut tx = self.begin().await?;
        if !lock_user(&mut tx, user).await? {
            return Ok(SaveAddressOutcome::NoSuchAddress);
        }
        if id.is_none() && count(&mut tx, user).await? >= MAX_ADDRESSES_PER_USER {
            return Ok(SaveAddressOutcome::TooMany);
        }
        let id = match id {
            Some(id) => match change(&mut tx, user, id, address).await? {
                true => id,
                false => return Ok(SaveAddressOutcome::NoSuchAddress),
            },
            None => add(&mut tx, user, address, now).await?,
        };
        set_default(&mut tx, user, as_default.then_some(id)).await?;
        tx.commit().await?;
        Ok(self
            .address(user, id)
            .await?
            .map_or(SaveAddressOutcome::NoSuchAddress, |saved| SaveAddressOutcome::Done(Box::new(saved))))
    }

    /// Makes an address the default; `false` when it is not this user's.
    pub async fn set_default_address(&self, user: UserId, id: AddressId) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        lock_user(&mut tx, user).await?;
        let known = sqlx::query("SELECT 1 FROM addresses WHERE user_id = $1 AND id = $2");
        if known.bind(user.to_string()).bind(id.to_string()).fetch_optional(&mut *tx).await?.is_none() {
            return Ok(false);
        }
        set_default(&mut tx, user, Some(id)).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Deletes an address. Orders keep their copies. `false` when it is not this user's.
    pub async fn delete_address(&self, user: UserId, id: AddressId) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        lock_user(&mut tx, user).await?;
        let done = sqlx::query("DELETE FROM addresses WHERE user_id = $1 AND id = $2")
            .bind(user.to_string())
            .bind(id.to_string())
            .execute(&mut *tx)
            .await?;
        set_default(&mut tx, user, None).await?;
        tx.commit().await?;
        Ok(done.rows_affected() == 1)
    }
}

/// Locks the user's row, so that concurrent changes of the address book run one after the other. `false` when the account
/// was deleted, with its addresses.
async fn lock_user(tx: &mut Tx, user: UserId) -> Result<bool, sqlx::Error> {
    let lock = sqlx::query("UPDATE users SET role = role WHERE id = $1 AND deleted_at_ms IS NULL");
    Ok(lock.bind(user.to_string()).execute(&mut **tx).await?.rows_affected() == 1)
}

async fn count(tx: &mut Tx, user: UserId) -> Result<i64, sqlx::Error> {
    let count = sqlx::query("SELECT COUNT(*) AS n FROM addresses WHERE user_id = $1");
    row::int(&count.bind(user.to_string()).fetch_one(&mut **tx).await?, "n")
}

async fn add(tx: &mut Tx, user: UserId, address: &Address, now: Timestamp) -> Result<AddressId, sqlx::Error> {
    let id = AddressId(Uuid::now_v7());
    let query = sqlx::query(
        "INSERT INTO addresses (id, user_id, recipient, phone, country, region, city, line1, line2, postal_code,
           is_default, created_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, $11)",
    )
    .bind(id.to_string())
    .bind(user.to_string());
    bind_address(query, address).bind(now.as_millisecond()).execute(&mut **tx).await?;
    Ok(id)
}

async fn change(tx: &mut Tx, user: UserId, id: AddressId, address: &Address) -> Result<bool, sqlx::Error> {
    let query = sqlx::query(
        "UPDATE addresses SET recipient = $3, phone = $4, country = $5, region = $6, city = $7, line1 = $8, line2 = $9,
           postal_code = $10 WHERE user_id = $1 AND id = $2",
    )
    .bind(user.to_string())
    .bind(id.to_string());
    Ok(bind_address(query, address).execute(&mut **tx).await?.rows_affected() == 1)
}

/// Binds the fields of an address in the order of the columns.
fn bind_address<'q>(query: AnyQuery<'q>, address: &Address) -> AnyQuery<'q> {
    let Address { recipient, phone, country, region, city, line1, line2, postal_code } = address;
    let query = query.bind(recipient).bind(phone).bind(country).bind(region);
    query.bind(city).bind(line1).bind(line2).bind(postal_code)
}

/// Makes `id` the default address; without `id`, the newest one if there is no default.
async fn set_default(tx: &mut Tx, user: UserId, id: Option<AddressId>) -> Result<(), sqlx::Error> {
    if let Some(id) = id {
        let clear =
            sqlx::query("UPDATE addresses SET is_default = 0 WHERE user_id = $1 AND id <> $2 AND is_default = 1");
        clear.bind(user.to_string()).bind(id.to_string()).execute(&mut **tx).await?;
        let set = sqlx::query("UPDATE addresses SET is_default = 1 WHERE user_id = $1 AND id = $2");
        set.bind(user.to_string()).bind(id.to_string()).execute(&mut **tx).await?;
        return Ok(());
    }
    sqlx::query(
        "UPDATE addresses SET is_default = 1 WHERE id = (SELECT MAX(id) FROM addresses WHERE user_id = $1)
           AND NOT EXISTS (SELECT 1 FROM addresses WHERE user_id = $1 AND is_default = 1)",
    )
    .bind(user.to_string())
    .execute(&mut **tx)
    .await?;
    Ok(())
}
