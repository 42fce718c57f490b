//! Accounts that depend on a sale: they wait for it or want a reminder of it.

use std::collections::HashMap;

use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::{MAX_COUNTED_ENTRIES, MAX_COUNTED_WAITERS, SaleStore, StoreError, list, padded, row};
use domain::SaleId;

/// Numbers of accounts that wait for a sale. Accounts on the waitlist are counted up to [`MAX_COUNTED_WAITERS`],
/// entries up to [`MAX_COUNTED_ENTRIES`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitingCounts {
    /// Places in the waiting room that were not called.
    pub in_line: i64,
    pub on_waitlist: i64,
    /// Entries of the draw, including entries that were taken back.
    pub entries: i64,
    pub reminders: i64,
}

fn counts(row: &AnyRow) -> Result<(SaleId, WaitingCounts), sqlx::Error> {
    let counts = WaitingCounts {
        in_line: row::int(row, "in_line")?.max(0),
        on_waitlist: row::int(row, "on_waitlist")?,
        entries: row::int(row, "entries")?,
        reminders: row::int(row, "reminders")?,
    };
    Ok((SaleId(row::int(row, "id")?), counts))
}

impl SaleStore<'_> {
    /// The counts for each of these sales. Sales that do not exist are missing.
    pub async fn waiting_counts(self, sales: &[SaleId]) -> Result<HashMap<SaleId, WaitingCounts>, StoreError> {
        let mut found = HashMap::new();
        for chunk in padded(sales) {
            let sql = format!(
                "SELECT id,
                   COALESCE((SELECT joined - called FROM queues WHERE queues.sale_id = sales.id), 0)
                     + (SELECT CAST(COALESCE(SUM(places), 0) AS BIGINT) FROM queue_joins
                        WHERE queue_joins.sale_id = sales.id) AS in_line,
                   (SELECT COUNT(*) FROM (SELECT 1 FROM waiters WHERE waiters.sale_id = sales.id AND state = 'waiting'
                      ORDER BY place LIMIT $1) AS line) AS on_waitlist,
                   (SELECT COUNT(*) FROM (SELECT 1 FROM draw_entries WHERE draw_entries.sale_id = sales.id LIMIT $2)
                      AS counted) AS entries,
                   COALESCE((SELECT accounts FROM reminder_counts WHERE reminder_counts.sale_id = sales.id), 0)
                     AS reminders
                 FROM sales WHERE id IN {}",
                list(chunk.len(), 2)
            );
            let query = sqlx::query(AssertSqlSafe(sql)).bind(MAX_COUNTED_WAITERS).bind(MAX_COUNTED_ENTRIES);
            let query = chunk.iter().fold(query, |query, sale| query.bind(sale.0));
            found.extend(self.all(query, counts).await?);
        }
        Ok(found)
    }
}
