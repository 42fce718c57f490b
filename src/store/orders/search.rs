//! What those who help shoppers ask about orders, and what they may do to them.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AssertSqlSafe, Row};

use super::releases::{self, HeldUnits, hold};
use crate::domain::order::{OrderEvent, OrderStep};
use crate::domain::{Order, OrderId, OrderStatus, SaleId, UserId};
use crate::store::audit_log::log;
use crate::store::orders::{columns, order};
use crate::store::payments;
use crate::store::payments::{Payment, payment};
use crate::store::sales;
use crate::store::sales::add_sold;
use crate::store::{Store, StoreError, Tx, row};

/// Which orders are looked for; everything is optional and all of it together must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderSearch {
    pub order: Option<OrderId>,
    pub user: Option<UserId>,
    pub sale: Option<SaleId>,
    /// Any of these; all when empty.
    pub statuses: Vec<OrderStatus>,
    /// Asked for at or after this time.
    pub from: Option<Timestamp>,
    /// Asked for before this time.
    pub to: Option<Timestamp>,
    /// Keyset: older than this order.
    pub before: Option<OrderId>,
}

/// An order and whose it is.
#[derive(Debug, Clone)]
pub struct FoundOrder {
    pub order: Order,
    /// `None` when the account is gone.
    pub username: Option<String>,
}

/// A payment with everything that happened to it.
#[derive(Debug, Clone)]
pub struct PaymentRecord {
    pub payment: Payment,
    pub created_at: Timestamp,
    pub captured_at: Option<Timestamp>,
    pub refunded_at: Option<Timestamp>,
    pub webhooks: Vec<WebhookRecord>,
}

/// A report of the provider that was applied.
#[derive(Debug, Clone, Serialize)]
pub struct WebhookRecord {
    pub id: String,
    pub at: Timestamp,
}

/// What the staff does to an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intervention {
    /// `unpaid → cancelled`.
    Cancel,
    /// `paid → refund_pending`; the money goes back the way that late money goes.
    Refund,
}

impl Intervention {
    fn edge(self) -> (OrderStatus, OrderStatus) {
        match self {
            Intervention::Cancel => (OrderStatus::Unpaid, OrderStatus::Cancelled),
            Intervention::Refund => (OrderStatus::Paid, OrderStatus::RefundPending),
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Intervention::Cancel => "cancel",
            Intervention::Refund => "refund",
        }
    }
}

/// Who of the staff does something, and why.
#[derive(Debug, Clone, Copy)]
pub struct AuditReason<'a> {
    pub actor: &'a str,
    /// For the staff only.
    pub note: &'a str,
    /// For the owner of the order, as it is written.
    pub message: Option<&'a str>,
}

/// One condition of a search: its SQL with `?` for the value.
enum Value {
    Text(String),
    Int(i64),
}

impl OrderSearch {
    fn conditions(&self) -> Vec<(&'static str, Value)> {
        let mut all = Vec::new();
        let mut add = |sql, value: Option<Value>| all.extend(value.map(|value| (sql, value)));
        add("id =", self.order.map(|id| Value::Text(id.to_string())));
        add("user_id =", self.user.map(|id| Value::Text(id.to_string())));
        add("sale_id =", self.sale.map(|id| Value::Int(id.0)));
        add("id >=", self.from.map(|at| Value::Text(first_id_of(at))));
        add("id <", self.to.map(|at| Value::Text(first_id_of(at))));
        add("id <", self.before.map(|id| Value::Text(id.to_string())));
        all
    }

    /// Ids sort by time, so every page is one range of one index.
    fn sql(&self) -> String {
        let mut conditions: Vec<String> =
            self.conditions().iter().enumerate().map(|(i, (sql, _))| format!("{sql} ${}", i + 2)).collect();
        let narrowed = self.order.is_some() || self.user.is_some() || self.sale.is_some();
        let status = if narrowed { BESIDE } else { "status" };
        conditions.extend(status_condition(status, &self.statuses));
        if !narrowed {
            // Rehearsals are no business of those who deliver; whoever asks for one by its number sees it.
            conditions.push("sale_id NOT IN (SELECT id FROM sales WHERE shadow = 1)".to_owned());
        }
        let filter = if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
        format!(
            "SELECT {}, (SELECT username FROM users WHERE users.id = orders.user_id) AS username
             FROM orders {filter} ORDER BY id DESC LIMIT $1",
            columns!()
        )
    }
}

/// The status next to something that narrows the search more. SQLite, which keeps no statistics, would otherwise look
/// through all orders of the status.
pub(super) const BESIDE: &str = "CAST(status AS TEXT)";

/// `status IN (…)`; nothing for all.
pub(super) fn status_condition(status: &str, statuses: &[OrderStatus]) -> Option<String> {
    let quoted: Vec<String> = statuses.iter().map(|one| format!("'{one}'")).collect();
    match quoted.as_slice() {
        [] => None,
        [one] => Some(format!("{status} = {one}")),
        several => Some(format!("{status} IN ({})", several.join(","))),
    }
}

/// The smallest id that could have been made at this time.
fn first_id_of(at: Timestamp) -> String {
    let hex = format!("{:012x}", at.as_millisecond().clamp(0, (1 << 48) - 1));
    format!("{}-{}-0000-0000-000000000000", &hex[..8], &hex[8..])
}

type AnyQuery<'q> = Query<'q, Any, AnyArguments>;

fn bind<'q>(query: AnyQuery<'q>, value: Value) -> AnyQuery<'q> {
    match value {
        Value::Text(text) => query.bind(text),
        Value::Int(int) => query.bind(int),
    }
}

impl Store {
    /// Orders that are looked for, newest first.
    pub async fn find_orders(&self, search: &OrderSearch, most: i64) -> Result<Vec<FoundOrder>, StoreError> {
        let mut query = sqlx::query(AssertSqlSafe(search.sql())).bind(most);
        for (_, value) in search.conditions() {
            query = bind(query, value);
        }
        let found = |row: &AnyRow| Ok(FoundOrder { order: order(row)?, username: row.try_get("username")? });
        let rows = query.fetch_all(&self.pool).await?;
        Ok(rows.iter().map(found).collect::<Result<_, sqlx::Error>>()?)
    }

    /// Every step of an order's life with who took it, oldest first.
    pub async fn steps(&self, of: &Order) -> Result<Vec<OrderStep>, StoreError> {
        let sql = "SELECT status, at_ms, actor, note FROM order_events WHERE order_id = $1 ORDER BY at_ms, status";
        let rows = sqlx::query(sql).bind(of.id.to_string()).fetch_all(&self.pool).await?;
        let landed = if of.status == OrderStatus::Rejected { OrderStatus::Rejected } else { OrderStatus::Unpaid };
        let plain = |at, status| OrderStep { event: OrderEvent { at, status }, actor: None, note: None };
        let mut steps = vec![plain(of.reserved_at, OrderStatus::Reserved), plain(of.created_at, landed)];
        for row in &rows {
            let event = OrderEvent { at: row::time(row, "at_ms")?, status: row::parsed(row, "status")? };
            steps.push(OrderStep {
                event,
                actor: row.try_get("actor").map_err(StoreError::from)?,
                note: row.try_get("note").map_err(StoreError::from)?,
            });
        }
        // What happened within one millisecond stands in the order of the edges.
        steps.sort_by_key(|step| (step.event.at, step.event.status.rank()));
        Ok(steps)
    }

    /// Every attempt to pay an order, oldest first.
    pub async fn payments_of(&self, of: OrderId) -> Result<Vec<PaymentRecord>, StoreError> {
        let rows = sqlx::query(concat!(
            "SELECT ",
            payments::columns!(),
            ", created_at_ms, captured_at_ms, refunded_at_ms FROM payments WHERE order_id = $1 ORDER BY id"
        ))
        .bind(of.to_string())
        .fetch_all(&self.pool)
        .await?;
        let mut records = Vec::with_capacity(rows.len());
        for row in &rows {
            let payment = payment(row)?;
            records.push(PaymentRecord {
                webhooks: self.webhooks_of(&payment).await?,
                payment,
                created_at: row::time(row, "created_at_ms")?,
                captured_at: row::optional_time(row, "captured_at_ms")?,
                refunded_at: row::optional_time(row, "refunded_at_ms")?,
            });
        }
        Ok(records)
    }

    async fn webhooks_of(&self, payment: &Payment) -> Result<Vec<WebhookRecord>, StoreError> {
        let sql = "SELECT webhook_id, received_at_ms FROM webhook_events WHERE payment_id = $1
                   ORDER BY received_at_ms, webhook_id";
        let rows = sqlx::query(sql).bind(payment.id.to_string()).fetch_all(&self.pool).await?;
        let read = |row| Ok(WebhookRecord { id: row::text(row, "webhook_id")?, at: row::time(row, "received_at_ms")? });
        Ok(rows.iter().map(read).collect::<Result<_, sqlx::Error>>()?)
    }

    /// Cancels or refunds an order, with its units, its money, its release and the line in the audit log in one
    /// transaction. The answer is what it held; `None` when it does not stand where the move begins.
    pub async fn intervene(
        &self,
        (sale, id): (SaleId, OrderId),
        what: Intervention,
        because: AuditReason<'_>,
        now: Timestamp,
    ) -> Result<Option<HeldUnits>, StoreError> {
        let mut tx = self.begin().await?;
        sales::lock(&mut tx, sale).await?;
        let (from, to) = what.edge();
        debug_assert!(from.may_become(to), "{from} never becomes {to}");
        let moved = sqlx::query(
            "UPDATE orders SET status = $1, reason = 'by_shop', message = $2
             WHERE id = $3 AND sale_id = $4 AND status = $5 RETURNING id, sale_id, user_id, quantity",
        )
        .bind(to.as_str())
        .bind(because.message.map(str::to_owned))
        .bind(id.to_string())
        .bind(sale.0)
        .bind(from.as_str())
        .fetch_optional(&mut *tx)
        .await?;
        let Some(moved) = moved else { return Ok(None) };
        let release = hold(&moved)?;
        if what == Intervention::Refund {
            send_money_back(&mut tx, id).await?;
        }
        add_sold(&mut tx, sale, -i64::from(release.quantity)).await?;
        if is_loaded(&mut tx, sale).await? {
            releases::add(&mut tx, &[release]).await?;
        }
        add_step(&mut tx, id, to, because, now).await?;
        let before = json!({"status": from, "sale_id": sale, "user_id": release.user_id});
        let after = json!({"status": to, "sale_id": sale, "user_id": release.user_id, "reason": because.note,
            "message": because.message});
        log(&mut tx, because.actor, what.verb(), &format!("order {id}"), Some(&before), Some(&after), now).await?;
        tx.commit().await?;
        Ok(Some(release))
    }
}

/// A paid order has exactly one captured payment; without it nothing may happen.
async fn send_money_back(tx: &mut Tx, order: OrderId) -> Result<(), sqlx::Error> {
    let sql = "UPDATE payments SET status = 'refund_pending' WHERE order_id = $1 AND status = 'captured'";
    let done = sqlx::query(sql).bind(order.to_string()).execute(&mut **tx).await?;
    match done.rows_affected() {
        0 => Err(sqlx::Error::Protocol(format!("order {order} is paid without a captured payment"))),
        _ => Ok(()),
    }
}

/// Whether somebody may still hold units of the sale outside of the database. Nobody does once it is retired.
async fn is_loaded(tx: &mut Tx, sale: SaleId) -> Result<bool, sqlx::Error> {
    let sql = "SELECT 1 FROM sales WHERE id = $1 AND retired_at_ms IS NULL";
    Ok(sqlx::query(sql).bind(sale.0).fetch_optional(&mut **tx).await?.is_some())
}

async fn add_step(
    tx: &mut Tx,
    order: OrderId,
    status: OrderStatus,
    because: AuditReason<'_>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let sql = "INSERT INTO order_events (order_id, status, at_ms, actor, note) VALUES ($1, $2, $3, $4, $5)";
    sqlx::query(sql)
        .bind(order.to_string())
        .bind(status.as_str())
        .bind(now.as_millisecond())
        .bind(because.actor.to_owned())
        .bind(because.note.to_owned())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use uuid::{NoContext, Uuid};

    use super::*;

    #[test]
    fn times_are_ranges_of_ids() {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let id = Uuid::new_v7(uuid::Timestamp::from_unix(NoContext, 1_795_000_000, 5_000_000)).to_string();
        assert!(first_id_of(at(1_795_000_000_005)) <= id && id < first_id_of(at(1_795_000_000_006)));
        assert_eq!(first_id_of(Timestamp::MIN), "00000000-0000-0000-0000-000000000000");
    }

    /// What SQLite says that it will do.
    async fn plan(store: &Store, search: OrderSearch) -> String {
        let mut query = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", search.sql()))).bind(10_i64);
        for (_, value) in search.conditions() {
            query = bind(query, value);
        }
        let rows = query.fetch_all(&store.pool).await.unwrap();
        rows.iter().map(|row| row.get::<String, _>("detail")).collect::<Vec<_>>().join("\n")
    }

    #[tokio::test]
    async fn no_search_reads_what_it_does_not_show() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&crate::config::sqlite_in(dir.path())).unwrap();
        store.migrate().await.unwrap();
        let now = Timestamp::from_second(1_795_000_000).unwrap();
        let id = OrderId(Uuid::now_v7());
        let by = |statuses: &[OrderStatus]| OrderSearch { statuses: statuses.to_vec(), ..OrderSearch::default() };
        let cases = [
            (OrderSearch { order: Some(id), ..by(&[]) }, "id=?"),
            (OrderSearch { user: Some(UserId(id.0)), ..by(&[]) }, "orders_by_user (user_id=?"),
            (OrderSearch { user: Some(UserId(id.0)), before: Some(id), ..by(&[OrderStatus::Paid]) }, "user_id=?"),
            (OrderSearch { sale: Some(SaleId(1)), before: Some(id), ..by(&[]) }, "orders_by_sale (sale_id=? AND id<?"),
            (OrderSearch { sale: Some(SaleId(1)), ..by(&[OrderStatus::Paid]) }, "orders_by_sale (sale_id=?"),
            (OrderSearch { before: Some(id), ..by(&[OrderStatus::Paid]) }, "orders_by_status (status=? AND id<?"),
            (OrderSearch { from: Some(now), to: Some(now), ..by(&[]) }, "(id>? AND id<?"),
            (OrderSearch { before: Some(id), ..by(&[]) }, "(id<?"),
        ];
        for (search, expected) in cases {
            let plan = plan(&store, search.clone()).await;
            assert!(plan.contains(expected), "{search:?}: {plan}");
            // The sales of rehearsals, of which there is hardly ever one, have an index of their own.
            let plan = plan.replace("SCAN sales USING COVERING INDEX sales_shadow", "");
            assert!(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "{search:?}: {plan}");
        }
        let all = plan(&store, by(&[])).await;
        assert!(all.contains("USING INDEX") && !all.contains("TEMP B-TREE"), "the newest, along the index: {all}");
    }
}
