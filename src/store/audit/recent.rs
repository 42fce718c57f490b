//! An audit of what changed since a day. It reads the orders and payments that changed since, and whole sales of which an
//! order did. What changed an older row without the program, such as a statement by hand, is in no list of changes: only
//! the whole audit finds it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use crate::audit::{Range, Snapshot, Steps};
use crate::orders::changes::KEEP_CHANGES;
use crate::{AnyQuery, AuditStore, StoreResult, column, row};
use domain::SaleId;
use domain::ids::first_id_of;

/// No transaction takes that long, so one that ended since has a later id.
const LONGEST_TRANSACTION: Duration = Duration::from_secs(3600);
const PAGE_SIZE: usize = 1_000;
/// Characters of a UUID of version 7 that stand for a time: a range of ids is a multiple of 65.5 seconds.
const PREFIX: usize = 8;

/// What an audit of the recent past reads, besides what it reads as a whole.
#[derive(Debug, Clone)]
pub struct Recent {
    pub since: Timestamp,
    /// Sales that were not over then, and sales of which an order changed since.
    pub sales: BTreeSet<SaleId>,
    /// How many sales there are.
    pub of_sales: usize,
    /// Ranges of ids with the orders that changed since, and some of their neighbours.
    orders: Vec<Range<String>>,
    payments: Vec<Range<String>>,
}

#[boxed]
impl AuditStore<'_> {
    /// What changed since then; `None` if that is longer ago than changes are stored.
    pub async fn recent(self, since: Timestamp) -> StoreResult<Option<Recent>> {
        if since < self.now().await? - KEEP_CHANGES {
            return Ok(None);
        }
        let mut snapshot = self.snapshot(Arc::default()).await?;
        let orders = ranges(&snapshot.changed_orders(since).await?);
        let mut changed = snapshot.changed_payments(since).await?;
        let first: String = first_id_of(since).chars().take(PREFIX).collect();
        changed.remove(&first);
        let mut payments = ranges(&changed);
        payments.push((first, None));
        let query = "SELECT id, retired_at_ms FROM sales";
        let read = |row: &_| Ok((row::get(row, "id")?, row::get::<Option<Timestamp>>(row, "retired_at_ms")?));
        let all = snapshot.all(query!(query), read).await?;
        let open = all.iter().filter(|(_, retired)| retired.is_none_or(|at| at >= since)).map(|(id, _)| *id);
        let mut sales: BTreeSet<SaleId> = open.collect();
        let sql = "SELECT DISTINCT sale_id FROM orders WHERE id > $1 AND id <= $2";
        let mut steps = Steps::over("orders", "id").within(orders.clone());
        while let Some(step) = steps.next(&mut snapshot).await? {
            sales.extend(snapshot.all(query!(sql; &step.after, &step.upto), column::<SaleId>("sale_id")).await?);
        }
        Ok(Some(Recent { since, sales, of_sales: all.len(), orders, payments }))
    }
}

impl Snapshot {
    /// The first characters of the ids of orders that changed since.
    async fn changed_orders(&mut self, since: Timestamp) -> StoreResult<BTreeSet<String>> {
        let first = first_id_of(since - LONGEST_TRANSACTION);
        let mut found = BTreeSet::new();
        let mut after = first.clone();
        loop {
            let sql =
                "SELECT id, CAST(0 AS BIGINT) AS position, orders FROM order_changes WHERE position IS NULL AND id > $1
                 ORDER BY id LIMIT $2";
            let query = query!(sql; after.clone(), PAGE_SIZE as i64);
            let Some((last, _)) = self.page_of_changes(query, &first, &mut found).await? else { break };
            after = last;
        }
        // Positions follow the ids except within the length of a transaction, so the newest stand last.
        let mut before = i64::MAX;
        loop {
            let sql = "SELECT id, position, orders FROM order_changes WHERE position IS NOT NULL AND position < $1
                 ORDER BY position DESC LIMIT $2";
            match self.page_of_changes(query!(sql; before, PAGE_SIZE as i64), &first, &mut found).await? {
                Some((id, position)) if id >= first => before = position,
                _ => return Ok(found),
            }
        }
    }

    /// Adds the orders of a page whose changes are not older than `first`. Returns the last row of the page.
    async fn page_of_changes(
        &mut self,
        query: AnyQuery<'_>,
        first: &str,
        found: &mut BTreeSet<String>,
    ) -> StoreResult<Option<(String, i64)>> {
        let read = |row: &_| Ok((row::text(row, "id")?, row::int(row, "position")?, row::text(row, "orders")?));
        let mut page: Vec<(String, i64, String)> = self.all(query, read).await?;
        let recent = page.iter().filter(|(id, ..)| id.as_str() >= first);
        let ids = recent.flat_map(|(.., orders)| orders.split(','));
        found.extend(ids.map(|id| id.chars().take(PREFIX).collect::<String>()));
        Ok(page.pop().map(|(id, position, _)| (id, position)))
    }

    /// The first characters of the ids of payments that were made before and changed since.
    async fn changed_payments(&mut self, since: Timestamp) -> StoreResult<BTreeSet<String>> {
        let payments = [
            "captured_at_ms >= $2",
            "refunded_at_ms >= $2",
            "held_at_ms >= $2",
            "kept_at_ms >= $2",
            "unheld_at_ms >= $2",
            "status = 'refund_pending' AND CAST($2 AS BIGINT) > 0",
        ];
        let mut found = BTreeSet::new();
        let changed = payments.map(|is_so| ("id", "payments", is_so)).into_iter();
        for (id, table, is_so) in
            changed.chain([("payment_id", "partial_refunds", "(refunded_at_ms IS NULL OR refunded_at_ms >= $2)")])
        {
            let sql =
                format!("SELECT DISTINCT substr({id}, 1, {PREFIX}) AS prefix FROM {table} WHERE {id} < $1 AND {is_so}");
            found.extend(self.all(query!(AssertSqlSafe(sql); first_id_of(since), since), column("prefix")).await?);
        }
        Ok(found)
    }

    /// Steps over the orders that this snapshot reads.
    pub(super) fn orders(&self) -> Steps<String> {
        self.limited("orders", |recent| &recent.orders)
    }

    /// Steps over the rows of a table whose key is a payment's.
    pub(super) fn payments(&self, table: &str) -> Steps<String> {
        self.limited(table, |recent| &recent.payments)
    }

    fn limited(&self, table: &str, ranges: impl Fn(&Recent) -> &Vec<Range<String>>) -> Steps<String> {
        let steps = Steps::over(table, "id");
        match &self.recent {
            Some(recent) => steps.within(ranges(recent).clone()),
            None => steps,
        }
    }

    /// Steps over the rows of a table whose key is a sale's.
    pub(crate) fn sales(&self, table: &str, key: &'static str) -> Steps<i64> {
        let steps = Steps::over(table, key);
        match &self.recent {
            Some(recent) => steps.within(recent.sales.iter().map(|SaleId(id)| (id - 1, Some(*id))).collect()),
            None => steps,
        }
    }

    /// In milliseconds.
    pub(super) fn since(&self) -> Option<i64> {
        self.recent.as_ref().map(|recent| recent.since.as_millisecond())
    }

    /// Whether this snapshot reads a sale and all that belongs to it.
    pub(crate) fn reads(&self, sale: SaleId) -> bool {
        self.recent.as_ref().is_none_or(|recent| recent.sales.contains(&sale))
    }
}

/// The ranges of ids that begin with these characters. Neighbours are one range.
fn ranges(prefixes: &BTreeSet<String>) -> Vec<Range<String>> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in prefixes.iter().filter_map(|prefix| u32::from_str_radix(prefix, 16).ok()) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    // "g" sorts after every digit.
    ranges.into_iter().map(|(first, last)| (format!("{first:08x}"), Some(format!("{last:08x}g")))).collect()
}
