//! Makes events of what happened since the last look: from the feed of changed orders, which transactions write anyway,
//! and from the states of sales. The purchase itself does nothing for it.
//!
//! The cursor moves in the transaction that writes the events, and only from where it was read. So of two processes that
//! look at once one writes; and a process that dies has written all of a page or nothing. A fact that is met again, after a
//! restored backup for instance, is known by its key.

use std::collections::HashMap;

use serde_json::json;
use sqlx::{AssertSqlSafe, Row};

use super::facts::new_facts;
use super::{KEEP_EVENTS, NewEvent, write};
use crate::{ChangedOrders, EventStore, StoreError, Tx, bind_ids, list, padded, row};
use domain::event::EventKind;
use domain::{OrderId, SaleId, SaleState};

/// What was found in one look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    /// There is nothing new, or no endpoint.
    All,
    /// More may follow at once.
    More,
    /// The feed does not reach back to the last look, because that was too long ago or a backup was restored. The next
    /// look begins with the oldest change.
    Gap,
}

/// Locks the cursor until the end of the transaction.
pub(super) async fn lock(tx: &mut Tx) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE event_cursor SET position = position WHERE id = 1").execute(&mut **tx).await?;
    Ok(())
}

/// Begins to make events of what happens from now on. The caller has locked the cursor.
pub(super) async fn begin(tx: &mut Tx) -> Result<(), sqlx::Error> {
    // The revision is read before the sales, so that a change in between is compared.
    let sql = "UPDATE event_cursor SET position = (SELECT numbered FROM order_feed WHERE id = 1), since_ms = $1,
         revision = (SELECT revision FROM catalogue WHERE id = 1)";
    sqlx::query(sql).bind(tx.now.as_millisecond()).execute(&mut **tx).await?;
    let sql = "INSERT INTO event_sales (sale_id, state, closes_at_ms, sequence)
         SELECT id, state, closes_at_ms, 0 FROM sales WHERE shadow = 0 AND retired_at_ms IS NULL
         ON CONFLICT (sale_id) DO UPDATE SET state = excluded.state, closes_at_ms = excluded.closes_at_ms";
    sqlx::query(sql).execute(&mut **tx).await?;
    Ok(())
}

impl EventStore<'_> {
    /// Makes events of a bounded number of changes. Without endpoints it reads one row.
    pub async fn follow(self) -> Result<Followed, StoreError> {
        let sql = "SELECT position, event_cursor.revision AS seen, catalogue.revision AS revision
             FROM event_cursor, catalogue WHERE event_cursor.id = 1 AND catalogue.id = 1 AND position IS NOT NULL";
        let read = |row: &sqlx::any::AnyRow| {
            Ok((row::int(row, "position")?, row::int(row, "seen")? != row::int(row, "revision")?))
        };
        let Some((position, has_changed)) = self.optional(sqlx::query(sql), read).await? else {
            return Ok(Followed::All);
        };
        if has_changed {
            self.follow_sales().await?;
        }
        match self.orders().changed_orders(Some(position)).await? {
            None => {
                let sql = "UPDATE event_cursor SET position = (SELECT purged FROM order_feed WHERE id = 1)
                     WHERE id = 1 AND position = $1";
                sqlx::query(sql).bind(position).execute(&self.pool).await?;
                Ok(Followed::Gap)
            }
            Some(page) if page.next == position => Ok(Followed::All),
            Some(page) => {
                self.follow_orders(position, &page).await?;
                Ok(if page.has_more { Followed::More } else { Followed::All })
            }
        }
    }

    async fn follow_orders(self, position: i64, page: &ChangedOrders) -> Result<(), StoreError> {
        let ids: Vec<OrderId> = page.orders.iter().map(|found| found.order.id).collect();
        let mut rows = self.rows_of(&ids).await?;
        let mut tx = self.begin().await?;
        let sql = "UPDATE event_cursor SET position = $2 WHERE id = 1 AND position = $1 RETURNING since_ms";
        let moved = sqlx::query(sql).bind(position).bind(page.next).fetch_optional(&mut *tx).await?;
        // Another process was first, or the last endpoint was deleted.
        let Some(moved) = moved else { return Ok(()) };
        let since = row::time(&moved, "since_ms")?.max(tx.now - KEEP_EVENTS);
        let mut known: HashMap<String, HashMap<String, i64>> = HashMap::new();
        let subjects: Vec<String> = ids.iter().map(|id| format!("order {id}")).collect();
        for chunk in padded(&subjects) {
            let sql = format!("SELECT subject, fact, sequence FROM events WHERE subject IN {}", list(chunk.len(), 0));
            for row in bind_ids(sqlx::query(AssertSqlSafe(sql)), &chunk).fetch_all(&mut *tx).await? {
                let of = known.entry(row::text(&row, "subject")?).or_default();
                of.insert(row::text(&row, "fact")?, row::int(&row, "sequence")?);
            }
        }
        let mut events = Vec::new();
        for (found, subject) in page.orders.iter().zip(subjects) {
            let known = known.remove(&subject).unwrap_or_default();
            for (sequence, fact) in new_facts(rows.facts_of(&found.order), &known, since) {
                let place = (subject.clone(), sequence);
                let event = NewEvent::new(&tx, fact.kind, place, fact.key, fact.data);
                events.push(NewEvent { at: fact.at, ..event });
            }
        }
        write(&mut tx, &events).await?;
        Ok(tx.commit().await?)
    }

    /// Compares the states of sales with those that were told last. What a sale went through in between is not known.
    async fn follow_sales(self) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        // The revision is read before the sales, so that a change in between is compared the next time.
        let sql = "UPDATE event_cursor SET revision = (SELECT revision FROM catalogue WHERE id = 1)
             WHERE id = 1 AND position IS NOT NULL RETURNING position";
        if sqlx::query(sql).fetch_optional(&mut *tx).await?.is_none() {
            return Ok(());
        }
        let sql = "SELECT sales.id, sales.state, sales.goods_id, sales.total, sales.sold, sales.opens_at_ms,
               sales.closes_at_ms, told.state AS told_state, told.closes_at_ms AS told_closes_at_ms,
               COALESCE(told.sequence, 0) AS sequence
             FROM sales LEFT JOIN event_sales AS told ON told.sale_id = sales.id
             WHERE sales.shadow = 0 AND (sales.retired_at_ms IS NULL OR told.state <> 'ended')
               AND (told.state IS NULL OR told.state <> sales.state
                 OR COALESCE(told.closes_at_ms, 0) <> COALESCE(sales.closes_at_ms, 0)) ORDER BY sales.id";
        let mut events = Vec::new();
        for row in sqlx::query(sql).fetch_all(&mut *tx).await? {
            let (id, state): (SaleId, SaleState) = (SaleId(row::int(&row, "id")?), row::parsed(&row, "state")?);
            let told: Option<String> = row.try_get("told_state")?;
            let told = told.and_then(|state| state.parse().ok()).unwrap_or(SaleState::Draft);
            let closes_at = row::optional_time(&row, "closes_at_ms")?;
            let planned = row::optional_time(&row, "told_closes_at_ms")?;
            let is_early = closes_at.is_some_and(|closed| planned.is_none_or(|planned| closed < planned));
            let kind = EventKind::of_sale(told, state, is_early);
            let sequence = row::int(&row, "sequence")? + i64::from(kind.is_some());
            let data = json!({"sale": {
                "id": id, "state": state, "goods_id": row::int(&row, "goods_id")?.to_string(),
                "total": row::int(&row, "total")?, "sold": row::int(&row, "sold")?,
                "opens_at": row::optional_time(&row, "opens_at_ms")?, "closes_at": closes_at,
            }});
            let place = (format!("sale {id}"), sequence);
            events.extend(kind.map(|kind| NewEvent::new(&tx, kind, place, sequence.to_string(), data)));
            let sql = "INSERT INTO event_sales (sale_id, state, closes_at_ms, sequence) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (sale_id) DO UPDATE SET state = excluded.state, closes_at_ms = excluded.closes_at_ms,
                   sequence = excluded.sequence";
            let query = sqlx::query(sql).bind(id.0).bind(state.as_str());
            query.bind(closes_at.map(|at| at.as_millisecond())).bind(sequence).execute(&mut *tx).await?;
        }
        write(&mut tx, &events).await?;
        Ok(tx.commit().await?)
    }
}
