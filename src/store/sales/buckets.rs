//! Allotments: how many units of a split sale each bucket may sell. The pool is the rest: total − Σ allotted.

use std::collections::HashMap;

use boxed::boxed;
use sqlx::any::AnyRow;

use crate::{MAX_COUNTED_ENTRIES, MAX_COUNTED_WAITERS, SaleStore, StoreResult, Tx, column, for_rows, row, sales};
use domain::SaleId;

/// The allotment of one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allotment {
    pub part: u8,
    /// An upper bound on the units that the bucket has in Redis.
    pub allotted: i64,
    /// The units that the bucket should have. It is lower than `allotted` until Redis has reported how many units it
    /// could return.
    pub target: i64,
    /// Fencing token. It increases with every new target.
    pub fence: i64,
}

/// A new target for a bucket. `after` is the fence that the caller last read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retarget {
    pub part: u8,
    pub after: i64,
    pub fence: i64,
    pub target: i64,
}

#[boxed]
impl SaleStore<'_> {
    /// The allotments of all buckets of a split sale, in order. Missing rows are created.
    pub async fn allotments(self, sale: SaleId, buckets: u8) -> StoreResult<Vec<Allotment>> {
        let known = self.known_allotments(sale).await?;
        if known.len() >= buckets.into() {
            return Ok(known);
        }
        let sql =
            "INSERT INTO sale_buckets (sale_id, bucket, allotted, target, fence) VALUES $rows ON CONFLICT DO NOTHING";
        let parts: Vec<i64> = (0..i64::from(buckets)).collect();
        self.run_all(for_rows(sql, &parts, |part| values![sale, *part, 0_i64, 0_i64, 0_i64])).await?;
        self.known_allotments(sale).await
    }

    async fn known_allotments(self, sale: SaleId) -> StoreResult<Vec<Allotment>> {
        let sql = "SELECT bucket, allotted, target, fence FROM sale_buckets WHERE sale_id = $1 ORDER BY bucket";
        self.all(query!(sql; sale), |row| read!(row => Allotment { part: "bucket", allotted, target, fence })).await
    }

    /// Sets new targets. Units that a bucket gains are allotted to it at once; units that it loses stay allotted until
    /// [`SaleStore::settle_allotment`]. Returns `false` and changes nothing if a fence has changed or the pool is too
    /// small.
    pub async fn retarget(self, sale: SaleId, changes: &[Retarget]) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let Some(locked) = sales::lock(&mut tx, sale).await? else { return Ok(false) };
        let before = allotted(&mut tx, sale).await?;
        for change in changes {
            let sql = "UPDATE sale_buckets SET target = $1, fence = $2,
                 allotted = CASE WHEN allotted < $1 THEN $1 ELSE allotted END
               WHERE sale_id = $3 AND bucket = $4 AND fence = $5";
            if tx.changed(query!(sql; change.target, change.fence, sale, change.part, change.after)).await? != 1 {
                return Ok(false);
            }
        }
        let after = allotted(&mut tx, sale).await?;
        // Lowering the sum is allowed even while it exceeds the total, which may have been lowered.
        if after > before && after > locked.total {
            return Ok(false);
        }
        tx.commit_and(true).await
    }

    /// Records how many units a bucket still has after its target was lowered. Returns `false` if it has a newer
    /// target.
    pub async fn settle_allotment(self, sale: SaleId, part: u8, fence: i64, kept: i64) -> StoreResult<bool> {
        let sql = "UPDATE sale_buckets SET allotted = CASE WHEN allotted < $1 THEN allotted ELSE $1 END,
             target = CASE WHEN allotted < $1 THEN allotted ELSE $1 END
           WHERE sale_id = $2 AND bucket = $3 AND fence = $4";
        Ok(self.changed(query!(sql; kept, sale, part, fence)).await? == 1)
    }
}

/// Units allotted to all buckets together.
pub(super) async fn allotted(tx: &mut Tx, sale: SaleId) -> sqlx::Result<i64> {
    let sql = "SELECT CAST(COALESCE(SUM(allotted), 0) AS BIGINT) AS units FROM sale_buckets WHERE sale_id = $1";
    tx.one(query!(sql; sale), column("units")).await
}

// Accounts that depend on a sale: they wait for it or want a reminder of it.

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

fn counts(row: &AnyRow) -> sqlx::Result<(SaleId, WaitingCounts)> {
    let counts = read!(row => WaitingCounts {
        in_line = row::int(row, "in_line")?.max(0), on_waitlist, entries, reminders,
    })?;
    Ok((row::get(row, "id")?, counts))
}

#[boxed]
impl SaleStore<'_> {
    /// The counts for each of these sales. Sales that do not exist are missing.
    pub async fn waiting_counts(self, sales: &[SaleId]) -> StoreResult<HashMap<SaleId, WaitingCounts>> {
        let sql = "SELECT id,
                   COALESCE((SELECT joined - called FROM queues WHERE queues.sale_id = sales.id), 0)
                     + (SELECT CAST(COALESCE(SUM(places), 0) AS BIGINT) FROM queue_joins
                        WHERE queue_joins.sale_id = sales.id) AS in_line,
                   (SELECT COUNT(*) FROM (SELECT 1 FROM waiters WHERE waiters.sale_id = sales.id AND state = 'waiting'
                      ORDER BY place LIMIT $1) AS line) AS on_waitlist,
                   (SELECT COUNT(*) FROM (SELECT 1 FROM draw_entries WHERE draw_entries.sale_id = sales.id LIMIT $2)
                      AS counted) AS entries,
                   COALESCE((SELECT accounts FROM reminder_counts WHERE reminder_counts.sale_id = sales.id), 0)
                     AS reminders
                 FROM sales WHERE id IN $ids";
        self.all_of(sql, &values![MAX_COUNTED_WAITERS, MAX_COUNTED_ENTRIES], sales, counts).await
    }
}
