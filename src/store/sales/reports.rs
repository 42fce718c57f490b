//! Queries for the reports of sales: the orders of one sale along their index, how places and entries were served, and
//! stored digests.

use jiff::Timestamp;
use sqlx::{AssertSqlSafe, Row};

use super::columns;
use crate::{SaleStore, StoreError, row};
use domain::evenness::Group;
use domain::sale_digest::{AGE_BOUNDS_MS, OrderFact};
use domain::{ModeName, Money, OrderId, Sale, SaleDigest, SaleId};

/// Orders that are in memory at once.
const BATCH_SIZE: i64 = 1_000;

/// Selects accounts that took part in a sale with a waiting room, when they joined (`at_ms`), and whether they `won`,
/// which means that they were called. Tenths are by `at_ms`, `entry`. Only the first segment counts, because only its
/// places are shuffled among each other. Each half reads along its index.
const PLACES: &str = "SELECT user_id, joined_at_ms AS at_ms, entry, 0 AS won FROM queue_places
       WHERE sale_id = $1 AND segment = 0 AND called_at_ms IS NULL
     UNION ALL SELECT user_id, joined_at_ms AS at_ms, entry, 1 AS won FROM queue_places
       WHERE sale_id = $1 AND segment = 0 AND called_at_ms IS NOT NULL";
/// Selects the ranked entries of a draw. An entry won if its rank is below the number of units.
const ENTRIES: &str = "SELECT user_id, entered_at_ms AS at_ms, entry, CASE WHEN rank < $2 THEN 1 ELSE 0 END AS won
     FROM draw_entries WHERE sale_id = $1 AND rank IS NOT NULL";

impl SaleStore<'_> {
    /// Reads the orders of a sale into its digest, and how the accounts that took part were served.
    pub async fn digest_sale(self, sale: &Sale, now: Timestamp) -> Result<SaleDigest, StoreError> {
        let opened = sale.window.opens_at.unwrap_or(now);
        let closes = sale.window.closes_at.filter(|closes| *closes < now).unwrap_or(now);
        let mut digest = SaleDigest::new(opened, closes);
        let mut after = String::new();
        loop {
            let batch = self.order_facts(sale.id, &after).await?;
            batch.iter().for_each(|(_, order)| digest.add(order, sale.total));
            match batch.last() {
                Some((last, _)) if batch.len() as i64 == BATCH_SIZE => after = last.to_string(),
                _ => break,
            }
        }
        let took_part = match sale.mode.name() {
            ModeName::Rush => None,
            ModeName::WaitingRoom => Some(PLACES),
            ModeName::Draw => Some(ENTRIES),
        };
        if let Some(took_part) = took_part {
            digest.tenths = self.tenths(sale, took_part).await?;
            let ages = self.ages(sale, took_part, opened).await?;
            digest.ages.iter_mut().zip(ages).for_each(|(group, all)| *group = all);
        }
        let waiters = "SELECT state, COUNT(*) AS accounts FROM waiters WHERE sale_id = $1 GROUP BY state";
        let read = |row: &_| Ok((row::text(row, "state")?, row::int(row, "accounts")?));
        digest.waiters = self.all(sqlx::query(waiters).bind(sale.id.0), read).await?.into_iter().collect();
        Ok(digest)
    }

    /// The next orders of a sale, in the order of their ids and so of their reservations.
    async fn order_facts(self, sale: SaleId, after: &str) -> Result<Vec<(OrderId, OrderFact)>, StoreError> {
        let sql = "SELECT orders.id, orders.quantity, orders.status, orders.reason, orders.reserved_at_ms,
               order_events.at_ms AS paid_at_ms, users.created_at_ms AS registered_at_ms,
               (SELECT MIN(at_ms) FROM order_events WHERE order_id = orders.id
                  AND status IN ('cancelled', 'refund_pending')) AS ended_at_ms
             FROM orders LEFT JOIN order_events ON order_events.order_id = orders.id AND order_events.status = 'paid'
               LEFT JOIN users ON users.id = orders.user_id
             WHERE orders.sale_id = $1 AND orders.id > $2 ORDER BY orders.id LIMIT $3";
        let query = sqlx::query(sql).bind(sale.0).bind(after.to_owned()).bind(BATCH_SIZE);
        let read = |row: &_| {
            let fact = OrderFact {
                units: row::int(row, "quantity")?,
                status: row::parsed(row, "status")?,
                reason: row.try_get("reason")?,
                reserved_at: row::time(row, "reserved_at_ms")?,
                paid_at: row::optional_time(row, "paid_at_ms")?,
                ended_at: row::optional_time(row, "ended_at_ms")?,
                registered_at: row::optional_time(row, "registered_at_ms")?,
            };
            Ok((row::parsed(row, "id")?, fact))
        };
        self.all(query, read).await
    }

    /// Tenths of the accounts that took part, in the order in which they came. The condition on `$2` is there because
    /// the statement must use every parameter.
    async fn tenths(self, sale: &Sale, took_part: &str) -> Result<Vec<Group>, StoreError> {
        let sql = format!(
            "SELECT tenth, COUNT(*) AS accounts, CAST(SUM(won) AS BIGINT) AS won
             FROM (SELECT NTILE(10) OVER (ORDER BY at_ms, entry) AS tenth, won FROM ({took_part}) AS places) AS tenths
             WHERE $2 >= 0 GROUP BY tenth ORDER BY tenth"
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(sale.id.0).bind(sale.total);
        self.all(query, |row| Ok(Group { all: row::int(row, "accounts")?, won: row::int(row, "won")? })).await
    }

    /// The number of accounts that took part, by their age at the opening.
    async fn ages(self, sale: &Sale, took_part: &str, opened: Timestamp) -> Result<Vec<Group>, StoreError> {
        let bounds = AGE_BOUNDS_MS.iter().enumerate();
        let cases: String =
            bounds.map(|(group, bound)| format!("WHEN $3 - users.created_at_ms < {bound} THEN {group} ")).collect();
        let oldest = AGE_BOUNDS_MS.len();
        let sql = format!(
            "SELECT CAST(age AS BIGINT) AS age, COUNT(*) AS accounts, CAST(SUM(won) AS BIGINT) AS won
             FROM (SELECT CASE {cases} ELSE {oldest} END AS age, won
                   FROM ({took_part}) AS places JOIN users ON users.id = places.user_id) AS ages
             WHERE $2 >= 0 GROUP BY age"
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(sale.id.0).bind(sale.total).bind(opened.as_millisecond());
        let read = |row: &_| {
            let group = Group { all: row::int(row, "accounts")?, won: row::int(row, "won")? };
            Ok((row::int(row, "age")? as usize, group))
        };
        let mut groups = vec![Group::default(); oldest + 1];
        for (age, group) in self.all(query, read).await? {
            groups[age] = group;
        }
        Ok(groups)
    }

    /// The digest that was stored when nothing of the sale was under way any more.
    pub async fn kept_digest(self, sale: SaleId) -> Result<Option<SaleDigest>, StoreError> {
        let sql = "SELECT digest FROM sale_reports WHERE sale_id = $1";
        let read = |row: &_| {
            let text = row::text(row, "digest")?;
            serde_json::from_str(&text).map_err(|_| row::undecodable("digest"))
        };
        self.optional(sqlx::query(sql).bind(sale.0), read).await
    }

    /// Stores the digest of a sale, unless it has one already.
    pub async fn keep_digest(self, sale: SaleId, digest: &SaleDigest, now: Timestamp) -> Result<(), StoreError> {
        let text = serde_json::to_string(digest).map_err(|error| sqlx::Error::Encode(error.into()))?;
        let sql = "INSERT INTO sale_reports (sale_id, at_ms, digest) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        sqlx::query(sql).bind(sale.0).bind(now.as_millisecond()).bind(text).execute(&self.pool).await?;
        Ok(())
    }

    /// Sales that are over and have no stored digest.
    pub async fn sales_without_digest(self, limit: i64) -> Result<Vec<Sale>, StoreError> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM sales WHERE state = 'ended' AND shadow = 0 AND ",
            super::is_over!(),
            " AND NOT EXISTS (SELECT 1 FROM sale_reports WHERE sale_id = sales.id) ORDER BY id LIMIT $1"
        );
        self.all(sqlx::query(sql).bind(limit), super::sale).await
    }

    /// The previous sale: the latest one of the same goods, or of any goods. A running sale counts once it has sold
    /// something.
    pub async fn sale_before(self, of: &Sale) -> Result<Option<Sale>, StoreError> {
        let Some(opened) = of.window.opens_at else { return Ok(None) };
        let begin = concat!(
            "SELECT ",
            columns!(),
            " FROM sales WHERE opens_at_ms < $1 AND id <> $2 AND shadow = 0
               AND (state = 'ended' OR (state IN ('live', 'paused') AND granted > 0))"
        );
        let end = "ORDER BY opens_at_ms DESC, id DESC LIMIT 1";
        for goods in ["goods_id = $3", "$3 > 0"] {
            let sql = format!("{begin} AND {goods} {end}");
            let query = sqlx::query(AssertSqlSafe(sql)).bind(opened.as_millisecond()).bind(of.id.0).bind(of.goods_id.0);
            if let Some(found) = self.optional(query, super::sale).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Money of paid orders of a sale that went back or is about to.
    pub async fn refunded_in_parts(self, sale: &Sale) -> Result<Money, StoreError> {
        let sql = "SELECT CAST(COALESCE(SUM(partial_refunds.amount), 0) AS BIGINT) AS amount FROM orders
               JOIN partial_refunds ON partial_refunds.order_id = orders.id
             WHERE orders.sale_id = $1 AND orders.status = 'paid'";
        let amount = self.optional(sqlx::query(sql).bind(sale.id.0), |row| row::int(row, "amount")).await?;
        Ok(Money { amount: amount.unwrap_or_default(), ..sale.price })
    }

    /// What paid orders of a sale paid for shipping.
    pub async fn paid_shipping(self, sale: &Sale) -> Result<Money, StoreError> {
        let sql = "SELECT CAST(COALESCE(SUM(shipping), 0) AS BIGINT) AS amount FROM orders
             WHERE sale_id = $1 AND status = 'paid'";
        let amount = self.optional(sqlx::query(sql).bind(sale.id.0), |row| row::int(row, "amount")).await?;
        Ok(Money { amount: amount.unwrap_or_default(), ..sale.price })
    }
}
