//! Queries on draws for lists and staff: which draws were held, pages of entries, and the number of entries.

use std::collections::HashSet;

use sqlx::Row;
use sqlx::any::AnyRow;

use super::entries::{columns, entry};
use crate::{DrawStore, StoreError, row};
use domain::draw::EntryId;
use domain::{DrawEntry, SaleId};

/// Up to this many entries are counted before the list is locked, so that a page stays cheap.
pub const MAX_COUNTED_ENTRIES: i64 = 5_000;

/// An entry with its account's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaffEntry {
    pub entry: DrawEntry,
    /// `None` once the account is deleted.
    pub username: Option<String>,
}

fn staff_entry(row: &AnyRow) -> Result<StaffEntry, sqlx::Error> {
    Ok(StaffEntry { entry: entry(row)?, username: row.try_get("username")? })
}

impl DrawStore<'_> {
    /// Entries from an id on, in the order of ids.
    pub async fn entries_from(self, sale: SaleId, from: &str, limit: usize) -> Result<Vec<StaffEntry>, StoreError> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            ", username FROM draw_entries LEFT JOIN users ON users.id = draw_entries.user_id
             WHERE sale_id = $1 AND entry >= $2 ORDER BY entry LIMIT $3"
        );
        self.all(sqlx::query(sql).bind(sale.0).bind(from.to_owned()).bind(limit as i64), staff_entry).await
    }

    /// Entries from a rank on, which is counted from 0, in the order of ranks.
    pub async fn ranked_entries(self, sale: SaleId, from: i64, limit: usize) -> Result<Vec<StaffEntry>, StoreError> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            ", username FROM draw_entries LEFT JOIN users ON users.id = draw_entries.user_id
             WHERE sale_id = $1 AND rank >= $2 ORDER BY rank LIMIT $3"
        );
        self.all(sqlx::query(sql).bind(sale.0).bind(from).bind(limit as i64), staff_entry).await
    }

    /// The sales whose draw was held.
    pub async fn held(self) -> Result<HashSet<SaleId>, StoreError> {
        let query = sqlx::query("SELECT sale_id FROM draws WHERE state IN ('drawn', 'settled')");
        Ok(self.all(query, |row| Ok(SaleId(row::int(row, "sale_id")?))).await?.into_iter().collect())
    }

    /// The rank of an entry, from 0, once the draw was held.
    pub async fn rank_of_entry(self, sale: SaleId, id: EntryId) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT rank FROM draw_entries WHERE sale_id = $1 AND entry = $2 AND rank IS NOT NULL";
        self.optional(sqlx::query(sql).bind(sale.0).bind(id.to_string()), |row| row::int(row, "rank")).await
    }

    /// The number of entries, including entries that were taken back, up to [`MAX_COUNTED_ENTRIES`].
    pub async fn count_entries(self, sale: SaleId) -> Result<i64, StoreError> {
        let sql = "SELECT COUNT(*) AS entries FROM (SELECT 1 FROM draw_entries WHERE sale_id = $1 LIMIT $2) AS counted";
        let query = sqlx::query(sql).bind(sale.0).bind(MAX_COUNTED_ENTRIES);
        Ok(self.optional(query, |row| row::int(row, "entries")).await?.unwrap_or_default())
    }
}
