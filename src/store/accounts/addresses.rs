//! Address books of shoppers. A shopper with addresses has exactly one default address.

use boxed::boxed;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};
use sqlx::any::AnyRow;
use uuid::Uuid;

use crate::{AccountStore, StoreError, StoreResult, Tx, column, expect_version};
use domain::{Address, AddressId, UserId};

/// Addresses in one user's address book.
const MAX_ADDRESSES_PER_USER: i64 = 20;

/// An address in a shopper's account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SavedAddress {
    pub id: AddressId,
    pub is_default: bool,
    #[serde(flatten)]
    pub address: Address,
}

impl SavedAddress {
    /// A hash of the content, so that it changes with the content.
    pub fn version(&self) -> i64 {
        let Address { recipient, phone, country, region, city, line1, line2, postal_code } = &self.address;
        let fields = [recipient, phone, country, region, city, line1, line2, postal_code];
        let mut hash = Sha256::new_with_prefix([u8::from(self.is_default)]);
        for field in fields {
            hash.update((field.len() as u64).to_be_bytes());
            hash.update(field);
        }
        // Takes 63 bits, so that the number is not negative.
        hash.finalize().iter().take(8).fold(0, |number: i64, &byte| (number << 8 | i64::from(byte)) & i64::MAX)
    }
}

/// The saved address to change or delete.
#[derive(Debug, Clone)]
pub struct AddressEdit {
    pub id: AddressId,
    /// The address must be in one of these versions; `None` for any.
    pub versions: Option<Vec<i64>>,
}

/// Why a change to an address book is refused.
#[derive(Debug, thiserror::Error)]
pub enum AddressRefusal {
    #[error("the user has no such address")]
    NoSuchAddress,
    #[error("the address book is full")]
    TooMany,
    #[error("the address is of another version")]
    ChangedMeanwhile,
    #[error(transparent)]
    Store(#[from] StoreError),
}

column_list!(columns: "id, recipient, phone, country, region, city, line1, line2, postal_code, is_default");

/// Selects one address of a user.
const ONE: &str = select!(columns, "FROM addresses WHERE user_id = $1 AND id = $2");

fn saved(row: &AnyRow) -> sqlx::Result<SavedAddress> {
    let address = read!(row => Address { recipient, phone, country, region, city, line1, line2, postal_code })?;
    read!(row => SavedAddress { id, is_default, address = address })
}

#[boxed]
impl AccountStore<'_> {
    /// A user's addresses, the default one first, then the newest.
    pub async fn addresses_of(self, user: UserId) -> StoreResult<Vec<SavedAddress>> {
        let sql = select!(columns, "FROM addresses WHERE user_id = $1 ORDER BY is_default DESC, id DESC");
        self.all(query!(sql; user), saved).await
    }

    /// An address, if it is this user's.
    pub async fn address(self, user: UserId, id: AddressId) -> StoreResult<Option<SavedAddress>> {
        self.optional(query!(ONE; user, id), saved).await
    }

    /// Saves a new address (without `edit`) or changes one. The first address becomes the default, and so does one saved
    /// with `as_default`. The default changes only when another address becomes the default.
    pub async fn save_address(
        self,
        user: UserId,
        edit: Option<&AddressEdit>,
        address: &Address,
        as_default: bool,
        now: Timestamp,
    ) -> Result<SavedAddress, AddressRefusal> {
        let mut tx = self.begin().await?;
        if !tx.lock_kept_user(user).await? {
            return Err(AddressRefusal::NoSuchAddress);
        }
        let id = match edit {
            Some(edit) => {
                expect(&mut tx, user, edit).await?;
                change(&mut tx, edit.id, address).await?;
                edit.id
            }
            None if count(&mut tx, user).await? >= MAX_ADDRESSES_PER_USER => return Err(AddressRefusal::TooMany),
            None => add(&mut tx, user, address, now).await?,
        };
        set_default(&mut tx, user, as_default.then_some(id)).await?;
        let saved = read(&mut tx, user, id).await?.ok_or(AddressRefusal::NoSuchAddress)?;
        tx.commit_and(saved).await
    }

    /// Makes an address the default. Returns `false` if it is not this user's.
    pub async fn set_default_address(self, user: UserId, id: AddressId) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        tx.lock_kept_user(user).await?;
        if !tx.exists(query!("SELECT 1 FROM addresses WHERE user_id = $1 AND id = $2"; user, id)).await? {
            return Ok(false);
        }
        set_default(&mut tx, user, Some(id)).await?;
        tx.commit_and(true).await
    }

    /// Deletes an address. Orders keep their copies.
    pub async fn delete_address(self, user: UserId, edit: &AddressEdit) -> Result<(), AddressRefusal> {
        let mut tx = self.begin().await?;
        tx.lock_kept_user(user).await?;
        expect(&mut tx, user, edit).await?;
        tx.run(query!("DELETE FROM addresses WHERE id = $1"; edit.id)).await?;
        set_default(&mut tx, user, None).await?;
        Ok(tx.commit().await?)
    }
}

async fn count(tx: &mut Tx, user: UserId) -> sqlx::Result<i64> {
    tx.one(query!("SELECT COUNT(*) AS n FROM addresses WHERE user_id = $1"; user), column("n")).await
}

async fn add(tx: &mut Tx, user: UserId, address: &Address, now: Timestamp) -> sqlx::Result<AddressId> {
    let id = AddressId(Uuid::now_v7());
    let sql = "INSERT INTO addresses (id, user_id, recipient, phone, country, region, city, line1, line2, postal_code,
           is_default, created_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, $11)";
    let Address { recipient, phone, country, region, city, line1, line2, postal_code } = address;
    tx.run(query!(sql; id, user, recipient, phone, country, region, city, line1, line2, postal_code, now)).await?;
    Ok(id)
}

async fn read(tx: &mut Tx, user: UserId, id: AddressId) -> sqlx::Result<Option<SavedAddress>> {
    tx.optional(query!(ONE; user, id), saved).await
}

/// Checks that the address exists in one of the expected versions. The caller has locked the user's row.
async fn expect(tx: &mut Tx, user: UserId, edit: &AddressEdit) -> Result<(), AddressRefusal> {
    let present = read(tx, user, edit.id).await?.ok_or(AddressRefusal::NoSuchAddress)?;
    expect_version(present.version(), edit.versions.as_deref(), AddressRefusal::ChangedMeanwhile)
}

async fn change(tx: &mut Tx, id: AddressId, address: &Address) -> sqlx::Result<()> {
    let sql =
        "UPDATE addresses SET recipient = $2, phone = $3, country = $4, region = $5, city = $6, line1 = $7, line2 = $8,
           postal_code = $9 WHERE id = $1";
    let Address { recipient, phone, country, region, city, line1, line2, postal_code } = address;
    tx.run(query!(sql; id, recipient, phone, country, region, city, line1, line2, postal_code)).await
}

/// Makes `id` the default address; without `id`, the newest one if there is no default.
async fn set_default(tx: &mut Tx, user: UserId, id: Option<AddressId>) -> sqlx::Result<()> {
    if let Some(id) = id {
        let clear = "UPDATE addresses SET is_default = 0 WHERE user_id = $1 AND id <> $2 AND is_default = 1";
        tx.run(query!(clear; user, id)).await?;
        let set = "UPDATE addresses SET is_default = 1 WHERE user_id = $1 AND id = $2";
        return tx.run(query!(set; user, id)).await;
    }
    let sql = "UPDATE addresses SET is_default = 1 WHERE id = (SELECT MAX(id) FROM addresses WHERE user_id = $1)
           AND NOT EXISTS (SELECT 1 FROM addresses WHERE user_id = $1 AND is_default = 1)";
    tx.run(query!(sql; user)).await
}
