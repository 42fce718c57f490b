//! Sales whose line stands in front of another shop, and the passes that called shoppers take there.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::audit_log::log;
use crate::sales::changes::touch;
use crate::{FrontStore, StoreError, row};
use domain::{AuditAction, SaleFront, SaleId};

/// The smallest difference between two versions.
const VERSION_STEP: SignedDuration = SignedDuration::from_millis(1);
/// How many passes may be made for one turn: one may be lost on the way.
const MAX_PASSES: i64 = 3;
/// How long the turn of a pass is known after its end. Its pass is refused as expired then.
const KEPT_AFTER_TURN: SignedDuration = SignedDuration::from_hours(1);
/// Turns that one statement deletes.
const PURGE_SIZE: i64 = 500;

/// The front of a sale as it was saved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SavedFront {
    /// `None` if the sale sells in this shop.
    pub front: Option<SaleFront>,
    /// When it was saved. It increases with every change.
    pub updated_at: Timestamp,
}

impl SavedFront {
    pub fn version(&self) -> i64 {
        self.updated_at.as_millisecond()
    }
}

fn front(row: &AnyRow) -> Result<Option<SaleFront>, sqlx::Error> {
    serde_json::from_str(row.try_get("front")?).map_err(|_| row::undecodable("front"))
}

fn saved(row: &AnyRow) -> Result<SavedFront, sqlx::Error> {
    Ok(SavedFront { front: front(row)?, updated_at: row::time(row, "updated_at_ms")? })
}

const SAVED: &str = "SELECT front, updated_at_ms FROM sale_fronts WHERE sale_id = $1";

impl FrontStore<'_> {
    pub async fn get(self, sale: SaleId) -> Result<SavedFront, StoreError> {
        Ok(self.optional(sqlx::query(SAVED).bind(sale.0), saved).await?.unwrap_or_default())
    }

    /// All sales in front of another shop.
    pub async fn list(self) -> Result<HashMap<SaleId, SaleFront>, StoreError> {
        let read = |row: &AnyRow| Ok((SaleId(row::int(row, "sale_id")?), front(row)?));
        let all = self.all(sqlx::query("SELECT sale_id, front FROM sale_fronts"), read).await?;
        Ok(all.into_iter().filter_map(|(sale, front)| Some((sale, front?))).collect())
    }

    /// Puts a sale in front of another shop, or takes it back with `None`. With `versions`, only if the saved version is
    /// one of them; otherwise the result is `None`.
    pub async fn put(
        self,
        sale: SaleId,
        front: Option<SaleFront>,
        versions: Option<&[i64]>,
        actor: &str,
        now: Timestamp,
    ) -> Result<Option<SavedFront>, StoreError> {
        let mut tx = self.begin().await?;
        touch(&mut tx).await?;
        let row = sqlx::query(SAVED).bind(sale.0).fetch_optional(&mut *tx).await?;
        let before = row.as_ref().map(saved).transpose()?.unwrap_or_default();
        if versions.is_some_and(|versions| !versions.contains(&before.version())) {
            return Ok(None);
        }
        let after = SavedFront { front, updated_at: now.max(before.updated_at + VERSION_STEP) };
        let text = serde_json::to_string(&after.front).map_err(|e| sqlx::Error::Encode(e.into()))?;
        let sql = "INSERT INTO sale_fronts (sale_id, front, updated_at_ms) VALUES ($1, $2, $3)
             ON CONFLICT (sale_id) DO UPDATE SET front = excluded.front, updated_at_ms = excluded.updated_at_ms";
        sqlx::query(sql).bind(sale.0).bind(text).bind(after.version()).execute(&mut *tx).await?;
        let (old, new) = (before.front.as_ref(), after.front.as_ref());
        log(&mut tx, actor, AuditAction::Edit, &format!("front {sale}"), old, new, now).await?;
        tx.commit().await?;
        Ok(Some(after))
    }

    /// Counts a pass for a turn. Returns whether it may be made. A place whose last pass has expired has another turn.
    pub async fn count_pass(self, sale: SaleId, place: &str, expires: Timestamp) -> Result<bool, StoreError> {
        let sql = "INSERT INTO passes (sale_id, place, made, expires_at_ms) VALUES ($1, $2, 1, $3)
             ON CONFLICT (sale_id, place) DO UPDATE SET
               made = CASE WHEN passes.expires_at_ms <= $5 THEN 1 ELSE passes.made + 1 END,
               expires_at_ms = excluded.expires_at_ms, used_at_ms = NULL, used_by = NULL
             WHERE passes.expires_at_ms <= $5 OR (passes.made < $4 AND passes.used_at_ms IS NULL)";
        let mut tx = self.begin().await?;
        let query = sqlx::query(sql).bind(sale.0).bind(place).bind(expires.as_millisecond());
        let counted = query.bind(MAX_PASSES).bind(tx.now.as_millisecond()).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(counted.rows_affected() == 1)
    }

    /// Uses the turn of a pass up, and with it frees the seat in the waiting room. Returns whether the turn was unused, or
    /// was used by the same pass within `grace`: the answer to that request may have been lost.
    pub async fn use_pass(
        self,
        sale: SaleId,
        (place, pass): (&str, &str),
        expires: Timestamp,
        grace: SignedDuration,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        // Without the row, the database has lost it: the signature still proves that the pass was made.
        let sql = "INSERT INTO passes (sale_id, place, made, expires_at_ms, used_at_ms, used_by) VALUES ($1, $2, 1, $3, $4, $5)
             ON CONFLICT (sale_id, place) DO UPDATE SET
               used_at_ms = COALESCE(passes.used_at_ms, excluded.used_at_ms), used_by = excluded.used_by
             WHERE passes.used_at_ms IS NULL OR (passes.used_by = excluded.used_by AND passes.used_at_ms > $6)";
        let query = sqlx::query(sql).bind(sale.0).bind(place).bind(expires.as_millisecond());
        let query = query.bind(now.as_millisecond()).bind(pass).bind((now - grace).as_millisecond());
        let used = query.execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(used.rows_affected() == 1)
    }
    /// Deletes turns that ended long ago. Returns whether there may be more.
    pub async fn purge(self) -> Result<bool, StoreError> {
        let sql = "DELETE FROM passes WHERE (sale_id, place) IN
             (SELECT sale_id, place FROM passes WHERE expires_at_ms < $1 ORDER BY expires_at_ms LIMIT $2)";
        let query = sqlx::query(sql).bind((self.now().await? - KEPT_AFTER_TURN).as_millisecond()).bind(PURGE_SIZE);
        Ok(query.execute(&self.pool).await?.rows_affected() == PURGE_SIZE as u64)
    }
}
