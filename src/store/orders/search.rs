//! Searches over orders, and an order's history. Staff pages and the CSV export use them.

use std::collections::HashMap;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::orders::{columns, order};
use crate::{AnyQuery, Bound, OrderStore, StoreResult, Value, bound, pair, row};
use domain::ids::first_id_of;
use domain::order::{OrderEvent, OrderStep};
use domain::{Money, Order, OrderId, OrderNumber, OrderStatus, ParcelState, ReturnState, SaleId, UserId};

/// A search over orders. Every field is optional; an order must match all that are set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderSearch {
    pub order: Option<OrderId>,
    /// The end of the id, as [`OrderId::short`] shows it.
    pub tail: Option<String>,
    pub number: Option<OrderNumber>,
    pub user: Option<UserId>,
    pub sale: Option<SaleId>,
    /// The order has one of these statuses. Empty matches every status.
    pub statuses: Vec<OrderStatus>,
    /// Only orders whose parcel is there: `Some(None)` for paid orders of which nothing was packed.
    pub parcel: Option<Option<ParcelState>>,
    /// Only orders whose return is there.
    pub returned: Option<ReturnState>,
    /// `true` for only orders that staff hold, `false` for only the others.
    pub held: Option<bool>,
    /// Only orders that were reserved at this time or later.
    pub from: Option<Timestamp>,
    /// Only orders that were reserved before this time.
    pub to: Option<Timestamp>,
    /// Keyset pagination: only orders that come after this one in the list.
    pub before: Option<OrderId>,
    /// Whether the list begins with the oldest order. Ids sort by time, so every index serves both directions. No other
    /// order has an index.
    pub oldest_first: bool,
}

/// Up to this many orders are summed for one page.
const MAX_SUMMED_ORDERS: usize = 1000;

/// Sums over the orders that a search finds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundTotals {
    pub orders: usize,
    /// Whether more orders match than were summed.
    pub is_cut: bool,
    pub units: i64,
    /// The sum of each currency.
    pub amounts: Vec<Money>,
}

/// An order with its owner's name.
#[derive(Debug, Clone)]
pub struct FoundOrder {
    pub order: Order,
    /// `None` when the account was deleted.
    pub username: Option<String>,
    /// When staff held the order; `None` if it is not held now.
    pub held_at: Option<Timestamp>,
    /// Where its parcel is; `None` if nothing was packed.
    pub parcel: Option<ParcelState>,
    /// How far its return is; `None` if none was asked for.
    pub returned: Option<ReturnState>,
    /// What another shop calls the order, if it was paid there.
    pub reference: Option<String>,
}

/// The fields of an unpaid or paid order that sums need.
#[derive(Debug, Clone)]
pub struct LiveOrder {
    pub status: OrderStatus,
    pub quantity: u32,
    pub amount: Money,
    pub is_held: bool,
    pub has_open_appeal: bool,
}

const OTHER_COLUMNS: &str =
    "parcel, return_state, (SELECT reference FROM reservations WHERE order_id = orders.id) AS reference,
     (SELECT username FROM users WHERE users.id = orders.user_id) AS username,
     (SELECT held_at_ms FROM order_holds WHERE order_id = orders.id AND ended_at_ms IS NULL) AS held_at_ms";
/// Selects holds that have not ended. Combine it with [`LIVE`], because the hold of an ended order does not count.
const HOLDS: &str = "SELECT order_id AS held_id FROM order_holds WHERE ended_at_ms IS NULL";
const LIVE: &str = "CAST(status AS TEXT) IN ('unpaid', 'paid')";
/// Leaves out orders of rehearsals, which are not delivered.
pub(crate) const NOT_REHEARSED: &str = "sale_id NOT IN (SELECT id FROM sales WHERE shadow = 1)";

fn found_order(row: &AnyRow) -> sqlx::Result<FoundOrder> {
    let order = order(row)?;
    let held_at = row::get::<Option<_>>(row, "held_at_ms")?.filter(|_| order.status.is_live());
    read!(row => FoundOrder { order = order, username, held_at = held_at, parcel, returned: "return_state", reference })
}

fn live_order(row: &AnyRow) -> sqlx::Result<(UserId, LiveOrder)> {
    let order = read!(row => LiveOrder {
        status, quantity, amount, is_held = row::int(row, "holds")? > 0,
        has_open_appeal = row::int(row, "appeals")? > 0,
    })?;
    Ok((row::get(row, "user_id")?, order))
}

impl OrderSearch {
    fn conditions(&self) -> Vec<(&'static str, Value)> {
        // Held orders are rarer than orders of a sale. `sale_id + 0` keeps the planner from using the index on
        // `sale_id`.
        let [is, from, to, later, of_sale] = match self.only_held() {
            true => ["held_id =", "held_id >=", "held_id <", "held_id >", "sale_id + 0 ="],
            false => ["id =", "id >=", "id <", "id >", "sale_id ="],
        };
        let all = [
            (is, self.order.map(Bound::value)),
            ("substr(id, 25) =", self.tail.as_ref().map(Bound::value)),
            ("day_number =", self.number.map(Bound::value)),
            ("user_id =", self.user.map(Bound::value)),
            (of_sale, self.sale.map(Bound::value)),
            (from, self.from.map(|at| first_id_of(at).value())),
            (to, self.to.map(|at| first_id_of(at).value())),
            (if self.oldest_first { later } else { to }, self.before.map(Bound::value)),
        ];
        all.into_iter().filter_map(|(sql, value)| Some((sql, value?))).collect()
    }

    /// The condition with all filters. `$1` is the limit, so its parameters begin with `$2`.
    fn filter(&self) -> String {
        let mut conditions: Vec<String> =
            self.conditions().iter().enumerate().map(|(i, (sql, _))| format!("{sql} ${}", i + 2)).collect();
        let narrowed = self.order.is_some()
            || self.tail.is_some()
            || self.number.is_some()
            || self.user.is_some()
            || self.sale.is_some();
        let status = if narrowed { STATUS_UNINDEXED } else { "status" };
        conditions.extend(status_condition(status, &self.statuses));
        conditions.extend(self.parcel.map(|state| {
            match state {
                Some(state) => format!("parcel = '{state}'"),
                // What another shop sold, it also sends. A scalar subquery, because PostgreSQL would join all reservations.
                None => "status = 'paid' AND parcel IS NULL
                 AND (SELECT order_id FROM reservations WHERE order_id = orders.id) IS NULL"
                    .to_owned(),
            }
        }));
        conditions.extend(self.returned.map(|state| format!("return_state = '{state}'")));
        conditions.extend(self.held.map(|held| match held {
            true => format!("orders.id = held_id AND {LIVE}"),
            false => format!("NOT (id IN ({HOLDS}) AND {LIVE})"),
        }));
        if !narrowed {
            // Only searches by order, user or sale find orders of rehearsals.
            conditions.push(NOT_REHEARSED.to_owned());
        }
        if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) }
    }

    fn only_held(&self) -> bool {
        self.held == Some(true)
    }

    /// Order ids sort by time, so every page is one range of one index. For orders that staff hold it is an index of
    /// the holds, and `CROSS JOIN` makes SQLite read the tables in this order.
    fn from(&self) -> String {
        match self.user {
            _ if !self.only_held() => "orders".to_owned(),
            Some(_) => format!("({HOLDS}) AS held, orders"),
            None => format!("({HOLDS}) AS held CROSS JOIN orders"),
        }
    }

    fn sql(&self) -> String {
        let (from, filter, order_by) = (self.from(), self.filter(), self.order_by());
        format!("SELECT {}, {OTHER_COLUMNS} FROM {from} {filter} {order_by} LIMIT $1", columns!())
    }

    /// The statement reads no more rows than the limit, so that a filter that matches many orders costs no more than a
    /// long page.
    fn totals_sql(&self) -> String {
        let (from, filter, order_by) = (self.from(), self.filter(), self.order_by());
        format!("SELECT quantity, amount, currency FROM {from} {filter} {order_by} LIMIT $1")
    }

    /// A statement with the conditions of this search.
    fn bound(&self, sql: String, limit: i64) -> AnyQuery<'static> {
        bound(query!(AssertSqlSafe(sql); limit), self.conditions().into_iter().map(|(_, value)| value))
    }

    fn order_by(&self) -> String {
        let column = if self.only_held() { "held_id" } else { "id" };
        format!("ORDER BY {column} {}", if self.oldest_first { "ASC" } else { "DESC" })
    }
}

/// The status column for searches that another column narrows more. The cast hides the column from SQLite's planner,
/// which has no statistics and would otherwise scan all orders with the status.
pub(super) const STATUS_UNINDEXED: &str = "CAST(status AS TEXT)";

/// `status IN (…)`, or `None` for every status.
pub(super) fn status_condition(status: &str, statuses: &[OrderStatus]) -> Option<String> {
    let quoted: Vec<String> = statuses.iter().map(|one| format!("'{one}'")).collect();
    match quoted.as_slice() {
        [] => None,
        [one] => Some(format!("{status} = {one}")),
        several => Some(format!("{status} IN ({})", several.join(","))),
    }
}

#[boxed]
impl OrderStore<'_> {
    /// Finds orders, newest first.
    pub async fn find(self, search: &OrderSearch, limit: i64) -> StoreResult<Vec<FoundOrder>> {
        self.all(search.bound(search.sql(), limit), found_order).await
    }

    /// Count, units and money of the orders that match, on all pages, up to [`MAX_SUMMED_ORDERS`].
    pub async fn sum(self, search: &OrderSearch) -> StoreResult<FoundTotals> {
        let search = OrderSearch { before: None, ..search.clone() };
        let query = search.bound(search.totals_sql(), MAX_SUMMED_ORDERS as i64 + 1);
        let mut totals = FoundTotals::default();
        for row in self.pool.acquire().await?.fetch_all(query).await? {
            if totals.orders == MAX_SUMMED_ORDERS {
                totals.is_cut = true;
                break;
            }
            totals.orders += 1;
            totals.units += row::int(&row, "quantity")?;
            let amount: Money = row::get(&row, "amount")?;
            match totals.amounts.iter_mut().find(|sum| sum.currency == amount.currency) {
                Some(sum) => sum.amount = sum.amount.saturating_add(amount.amount),
                None => totals.amounts.push(amount),
            }
        }
        Ok(totals)
    }

    /// These orders, in any order, without orders that do not exist and orders of rehearsals.
    pub(super) async fn delivered_orders(self, orders: &[OrderId]) -> StoreResult<Vec<FoundOrder>> {
        let sql = format!("SELECT {}, {OTHER_COLUMNS} FROM orders WHERE id IN $ids AND {NOT_REHEARSED}", columns!());
        self.all_of(&sql, &[], orders, found_order).await
    }

    /// The orders that accounts have in a sale, in any order. If there are very many, only live and the newest ones. An
    /// account has fewer orders than a sale, so the statement hides the index on the sale from SQLite, which has no
    /// statistics.
    pub async fn orders_of_accounts(self, sale: SaleId, users: &[UserId]) -> StoreResult<Vec<FoundOrder>> {
        let sql = format!(
            "SELECT {}, {OTHER_COLUMNS} FROM orders WHERE sale_id + 0 = $1 AND user_id IN $ids
             ORDER BY CASE WHEN status IN ('unpaid', 'paid') THEN 0 ELSE 1 END, id DESC LIMIT {MAX_SUMMED_ORDERS}",
            columns!()
        );
        self.all_of(&sql, &values![sale], users, found_order).await
    }

    /// The unpaid or paid order of each account in a sale. An account has at most one.
    pub async fn live_orders_of(self, sale: SaleId, users: &[UserId]) -> StoreResult<HashMap<UserId, LiveOrder>> {
        let sql = "SELECT user_id, status, quantity, amount, currency,
               (SELECT COUNT(*) FROM order_holds WHERE order_id = orders.id AND ended_at_ms IS NULL) AS holds,
               (SELECT COUNT(*) FROM order_holds JOIN hold_appeals ON hold_appeals.hold_id = order_holds.id
                  WHERE order_id = orders.id AND ended_at_ms IS NULL AND answered_at_ms IS NULL) AS appeals
             FROM orders WHERE sale_id = $1 AND user_id IN $ids AND status IN ('unpaid', 'paid')";
        self.all_of(sql, &values![sale], users, live_order).await
    }

    /// When these orders were paid. Orders that were never paid are missing.
    pub async fn paid_at(self, orders: &[OrderId]) -> StoreResult<HashMap<OrderId, Timestamp>> {
        let sql = "SELECT order_id, at_ms FROM order_events WHERE order_id IN $ids AND status = 'paid'";
        self.all_of(sql, &[], orders, pair("order_id", "at_ms")).await
    }

    /// Every status change of an order with its actor, in the order in which they happened.
    pub async fn steps(self, of: &Order) -> StoreResult<Vec<OrderStep>> {
        let sql = "SELECT status, at_ms, actor, note FROM order_events WHERE order_id = $1 ORDER BY at_ms, status";
        let persisted = if of.status == OrderStatus::Rejected { OrderStatus::Rejected } else { OrderStatus::Unpaid };
        let plain = |at, status| OrderStep { event: OrderEvent { at, status }, actor: None, note: None };
        let mut steps = vec![plain(of.reserved_at, OrderStatus::Reserved), plain(of.created_at, persisted)];
        let step = |row: &AnyRow| {
            let event = read!(row => OrderEvent { at: "at_ms", status })?;
            read!(row => OrderStep { event = event, actor, note })
        };
        steps.extend(self.all(query!(sql; of.id), step).await?);
        // Sorted by the status's place in an order's life, because a clock may have been set back between two events.
        steps.sort_by_key(|step| (step.event.status.rank(), step.event.at));
        Ok(steps)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::fixture::new_store;
    use crate::{Store, column, id_at};
    use base::clock::Clock;

    #[test]
    fn a_time_range_is_a_range_of_order_ids() {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let id = id_at(at(1_795_000_000_005)).to_string();
        assert!(first_id_of(at(1_795_000_000_005)) <= id && id < first_id_of(at(1_795_000_000_006)));
        assert_eq!(first_id_of(Timestamp::MIN), "00000000-0000-0000-0000-000000000000");
    }

    /// SQLite's query plan for a search.
    async fn plan(store: &Store, search: OrderSearch) -> String {
        let query = search.bound(format!("EXPLAIN QUERY PLAN {}", search.sql()), 10);
        store.all(query, column::<String>("detail")).await.unwrap().join("\n")
    }

    #[tokio::test]
    async fn every_search_reads_one_index_range() {
        let (_dir, store) = new_store(&Clock::system()).await;
        let now = Timestamp::from_second(1_795_000_000).unwrap();
        let id = OrderId(Uuid::now_v7());
        let by = |statuses: &[OrderStatus]| OrderSearch { statuses: statuses.to_vec(), ..OrderSearch::default() };
        let cases = [
            (OrderSearch { order: Some(id), ..by(&[]) }, "id=?"),
            (OrderSearch { tail: Some(id.to_string().split_off(24)), ..by(&[]) }, "orders_by_number (<expr>=?"),
            (
                OrderSearch { number: Some(OrderNumber::new(20_261_128, 7)), ..by(&[]) },
                "orders_by_day_number (day_number=?",
            ),
            (OrderSearch { user: Some(UserId(id.0)), ..by(&[]) }, "orders_by_user (user_id=?"),
            (OrderSearch { user: Some(UserId(id.0)), before: Some(id), ..by(&[OrderStatus::Paid]) }, "user_id=?"),
            (OrderSearch { sale: Some(SaleId(1)), before: Some(id), ..by(&[]) }, "orders_by_sale (sale_id=? AND id<?"),
            (OrderSearch { sale: Some(SaleId(1)), ..by(&[OrderStatus::Paid]) }, "orders_by_sale (sale_id=?"),
            (OrderSearch { before: Some(id), ..by(&[OrderStatus::Paid]) }, "orders_by_status (status=? AND id<?"),
            (OrderSearch { parcel: Some(None), before: Some(id), ..by(&[]) }, "orders_to_pack (status=? AND id<?"),
            (
                OrderSearch { parcel: Some(None), oldest_first: true, before: Some(id), ..by(&[]) },
                "orders_to_pack (status=? AND id>?",
            ),
            (
                OrderSearch { parcel: Some(Some(ParcelState::Packed)), before: Some(id), ..by(&[]) },
                "orders_by_parcel (parcel=? AND id<?",
            ),
            (
                OrderSearch { returned: Some(ReturnState::Asked), before: Some(id), ..by(&[]) },
                "orders_by_return (return_state=? AND id<?",
            ),
            (OrderSearch { from: Some(now), to: Some(now), ..by(&[]) }, "(id>? AND id<?"),
            (OrderSearch { before: Some(id), ..by(&[]) }, "(id<?"),
            (OrderSearch { before: Some(id), oldest_first: true, ..by(&[]) }, "(id>?"),
            (
                OrderSearch { sale: Some(SaleId(1)), before: Some(id), oldest_first: true, ..by(&[]) },
                "orders_by_sale (sale_id=? AND id>?",
            ),
        ];
        for (search, expected) in cases {
            let plan = plan(&store, search.clone()).await;
            assert!(plan.contains(expected), "{search:?}: {plan}");
            // Sales of rehearsals have an index of their own, which is almost always empty, so scanning it is fine.
            let plan = plan.replace("SCAN sales USING COVERING INDEX sales_shadow", "");
            assert!(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "{search:?}: {plan}");
        }
        let later = plan(&store, OrderSearch { held: Some(true), before: Some(id), ..by(&[]) }).await;
        assert!(
            later.contains("INDEX order_holds_lasting (order_id<?)")
                && later.contains("(id=?)")
                && !later.contains("TEMP B-TREE"),
            "{later}"
        );
        let all = plan(&store, by(&[])).await;
        assert!(
            all.contains("USING INDEX") && !all.contains("TEMP B-TREE"),
            "the newest orders, along the index: {all}"
        );
    }
}
