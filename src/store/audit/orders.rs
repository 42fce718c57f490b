//! Orders: sold units, totals, one live order per user; the rules of sales, holds of orders, returns, and waitlists.

use std::collections::BTreeMap;

use boxed::boxed;
use sqlx::AssertSqlSafe;

use crate::audit::{Snapshot, Steps};
use crate::orders::changes::count;
use crate::{KEEP_GROUPS, StatusCount, StoreResult, column, pair};
use domain::{OrderStatus, SaleId};

/// Live orders that one statement may check.
const MAX_ORDERS_AT_ONCE: i64 = 50_000;

/// Orders and units by sale and status.
type Totals = BTreeMap<(SaleId, &'static str), StatusCount>;

/// The result of counting all orders.
#[derive(Debug, Default)]
pub struct CountedOrders {
    pub miscounted_sales: Vec<String>,
    pub wrong_totals: Vec<String>,
}

#[boxed]
impl Snapshot {
    /// Counts all orders. Describes sales whose `sold` differs from the units of their live orders, and totals that
    /// differ from the number of their orders.
    pub async fn count_orders(&mut self) -> StoreResult<CountedOrders> {
        let counted = self.counted().await?;
        let mut found = CountedOrders::default();
        for (sale, sold) in self.sold().await? {
            let live = [OrderStatus::Unpaid, OrderStatus::Paid];
            let units = live.iter().filter_map(|status| counted.get(&(sale, status.as_str()))).map(|count| count.units);
            let units: i64 = units.sum();
            if units != sold {
                found.miscounted_sales.push(format!("sale {sale}: {sold} sold, {units} in live orders"));
            }
        }
        found.wrong_totals = self.wrong_totals(&counted).await?;
        Ok(found)
    }

    /// Counts the orders of the sales that this snapshot reads. Of other sales these are the totals.
    async fn counted(&mut self) -> StoreResult<Totals> {
        if let Some(recent) = self.recent.clone() {
            let mut counted = self.totals().await?;
            counted.retain(|(sale, _), _| !recent.sales.contains(sale));
            for SaleId(sale) in &recent.sales {
                let rows = format!("orders WHERE sale_id = {sale} AND");
                let sql = format!(
                    "SELECT sale_id, status, COUNT(*) AS orders, CAST(SUM(quantity) AS BIGINT) AS units FROM {rows}
                     id > $1 AND id <= $2 GROUP BY sale_id, status"
                );
                self.add_up(Steps::along(rows, "id"), sql, &mut counted).await?;
            }
            return Ok(counted);
        }
        let sql = "SELECT sale_id, status, COUNT(*) AS orders, CAST(SUM(quantity) AS BIGINT) AS units FROM orders
             WHERE id > $1 AND id <= $2 GROUP BY sale_id, status";
        let mut counted = Totals::new();
        self.add_up(Steps::over("orders", "id"), sql.to_owned(), &mut counted).await?;
        Ok(counted)
    }

    async fn add_up(&mut self, mut steps: Steps<String>, sql: String, to: &mut Totals) -> StoreResult<()> {
        while let Some(step) = steps.next(self).await? {
            for (key, count) in self.all(query!(AssertSqlSafe(sql.as_str()); &step.after, &step.upto), count).await? {
                to.entry(key).or_default().add(count.orders, count.units);
            }
        }
        Ok(())
    }

    async fn totals(&mut self) -> StoreResult<Totals> {
        let sql = "SELECT sale_id, status, CAST(SUM(orders) AS BIGINT) AS orders, CAST(SUM(units) AS BIGINT) AS units
             FROM order_totals GROUP BY sale_id, status";
        Ok(self.all(query!(sql), count).await?.into_iter().collect())
    }

    async fn wrong_totals(&mut self, counted: &Totals) -> StoreResult<Vec<String>> {
        let mut both: BTreeMap<_, (StatusCount, StatusCount)> =
            counted.iter().map(|(key, count)| (*key, (StatusCount::default(), *count))).collect();
        for (key, kept) in self.totals().await? {
            both.entry(key).or_default().0 = kept;
        }
        let wrong = both.into_iter().filter(|(_, (kept, counted))| kept != counted);
        let describe = |((sale, status), (kept, counted)): ((SaleId, &str), (StatusCount, StatusCount))| {
            format!(
                "sale {sale}: {} orders with {} units are {status}, the totals say {} with {}",
                counted.orders, counted.units, kept.orders, kept.units
            )
        };
        Ok(wrong.map(describe).collect())
    }

    async fn sold(&mut self) -> StoreResult<Vec<(SaleId, i64)>> {
        self.all(query!("SELECT id, sold FROM sales ORDER BY id"), pair("id", "sold")).await
    }

    /// Describes users with more than one live order of a sale. The unique index should make this impossible.
    pub async fn users_with_two_orders(&mut self) -> StoreResult<Vec<String>> {
        let (mut problems, mut first, mut orders) = (Vec::new(), 0, 0);
        if self.recent.is_some() {
            let sales = self.sold().await?;
            for (SaleId(sale), sold) in sales.into_iter().filter(|(sale, _)| self.reads(*sale)).collect::<Vec<_>>() {
                let is_large = sold > MAX_ORDERS_AT_ONCE;
                problems.extend(if is_large {
                    self.two_orders_of(sale).await?
                } else {
                    self.two_orders(sale, sale).await?
                });
            }
            return Ok(problems);
        }
        for (SaleId(sale), sold) in self.sold().await? {
            if sold > MAX_ORDERS_AT_ONCE {
                problems.extend(self.two_orders_of(sale).await?);
            } else {
                orders += sold;
            }
            if orders > MAX_ORDERS_AT_ONCE || sold > MAX_ORDERS_AT_ONCE {
                // A large sale was checked alone just now, so the range ends before it.
                let last = if sold > MAX_ORDERS_AT_ONCE { sale - 1 } else { sale };
                problems.extend(self.two_orders(first, last).await?);
                (first, orders) = (sale + 1, 0);
            }
        }
        problems.extend(self.two_orders(first, i64::MAX).await?);
        Ok(problems)
    }

    /// Describes days of which an order has a number that was not taken yet, so that it would be taken again.
    pub async fn numbers_not_taken(&mut self) -> StoreResult<Vec<String>> {
        let sql =
            "SELECT 'an order has a number of ' || CAST(day AS TEXT) || ' beyond ' || CAST(taken AS TEXT) AS problem
             FROM order_days WHERE EXISTS (SELECT 1 FROM orders
               WHERE day_number > day * 1000000000 + taken AND day_number < (day + 1) * 1000000000) ORDER BY day";
        self.all(query!(sql), column("problem")).await
    }

    /// Checks all sales with ids from `first` to `last` in one statement.
    async fn two_orders(&mut self, first: i64, last: i64) -> StoreResult<Vec<String>> {
        let sql = "SELECT 'user ' || user_id || ' has several live orders of sale ' || CAST(sale_id AS TEXT) AS problem
             FROM orders WHERE status IN ('unpaid', 'paid') AND sale_id >= $1 AND sale_id <= $2
             GROUP BY sale_id, user_id HAVING COUNT(*) > 1";
        self.all(query!(sql; first, last), column("problem")).await
    }

    /// Checks a large sale by ranges of its users.
    async fn two_orders_of(&mut self, sale: i64) -> StoreResult<Vec<String>> {
        let rows = format!("orders WHERE sale_id = {sale} AND status IN ('unpaid', 'paid') AND");
        let sql = format!(
            "SELECT 'user ' || user_id || ' has several live orders of sale {sale}' AS problem
             FROM {rows} user_id > $1 AND user_id <= $2 GROUP BY user_id HAVING COUNT(*) > 1"
        );
        let (mut problems, mut steps) = (Vec::new(), Steps::<String>::along(rows, "user_id"));
        while let Some(step) = steps.next(self).await? {
            let query = query!(AssertSqlSafe(sql.as_str()); &step.after, &step.upto);
            problems.extend(self.all(query, column("problem")).await?);
        }
        Ok(problems)
    }
}

// Who may take part in a sale: each buyer met the sale's rules.

/// Sales with rules that their orders are compared with.
const SALES_WITH_RULES: &str = "SELECT id FROM sales WHERE accounts_before_ms IS NOT NULL OR invitation = 1
     OR one_per_contact = 1 OR one_per_address = 1 OR deposit IS NOT NULL ORDER BY id";

/// Selects live orders in a step of the orders of one sale. Orders of deleted accounts are left out, because the rows
/// that prove their right to buy were deleted with the account.
macro_rules! live_orders {
    ($problem:literal, $condition:literal) => {
        concat!(
            "SELECT 'order ' || orders.id || ': ",
            $problem,
            "' AS problem FROM orders JOIN sales ON sales.id = orders.sale_id
             JOIN users ON users.id = orders.user_id AND users.deleted_at_ms IS NULL
             WHERE orders.id > $1 AND orders.id <= $2 AND orders.sale_id = $3
               AND CAST(orders.status AS TEXT) IN ('unpaid', 'paid') AND ",
            $condition
        )
    };
}

const TOO_NEW: &str = live_orders!(
    "its owner registered too late",
    "sales.accounts_before_ms IS NOT NULL AND users.created_at_ms > sales.accounts_before_ms"
);
const UNINVITED: &str = live_orders!(
    "its owner redeemed no code",
    "sales.invitation = 1 AND NOT EXISTS (SELECT 1 FROM invitations
       WHERE invitations.user_id = orders.user_id AND invitations.sale_id = sales.id)"
);
const UNGROUPED: &str = live_orders!(
    "its owner has no group",
    "(sales.closes_at_ms IS NULL OR sales.closes_at_ms > $4)
       AND ((sales.one_per_contact = 1 AND NOT EXISTS (SELECT 1 FROM sale_groups
         WHERE sale_groups.user_id = orders.user_id AND sale_groups.sale_id = sales.id AND kind = 'contact'))
       OR (sales.one_per_address = 1 AND NOT EXISTS (SELECT 1 FROM sale_groups
         WHERE sale_groups.user_id = orders.user_id AND sale_groups.sale_id = sales.id AND kind = 'address')))"
);

/// A returned deposit counts as well.
const WITHOUT_DEPOSIT: &str = live_orders!(
    "its owner had no deposit",
    "sales.deposit IS NOT NULL AND NOT EXISTS (SELECT 1 FROM deposits
       WHERE deposits.user_id = orders.user_id AND deposits.sale_id = sales.id)"
);

#[boxed]
impl Snapshot {
    /// Describes live orders whose owners had no right to buy by the rules of their sale. Groups of sales that ended
    /// long ago are deleted, so they are not checked. That only one account has a group needs no check, because the
    /// group is the key of a table.
    pub async fn ineligible_buyers(&mut self, now: jiff::Timestamp) -> StoreResult<Vec<String>> {
        let mut problems = Vec::new();
        let kept_since = (now - KEEP_GROUPS).as_millisecond();
        let sales = self.all(query!(SALES_WITH_RULES), column("id")).await?;
        for sale in sales.into_iter().filter(|sale| self.reads(SaleId(*sale))).collect::<Vec<_>>() {
            let mut steps = Steps::<String>::along(format!("orders WHERE sale_id = {sale} AND"), "id");
            while let Some(step) = steps.next(self).await? {
                for sql in [TOO_NEW, UNINVITED, WITHOUT_DEPOSIT] {
                    problems.extend(self.all(query!(sql; &step.after, &step.upto, sale), column("problem")).await?);
                }
                let query = query!(UNGROUPED; &step.after, &step.upto, sale, kept_since);
                problems.extend(self.all(query, column("problem")).await?);
            }
        }
        Ok(problems)
    }
}

// Holds of orders: every hold has a reason, a person and a line in the audit log.

const WITHOUT_REASON: &str = "SELECT 'order ' || order_id || ' is held without a reason or a person' AS problem
     FROM order_holds WHERE id > $1 AND id <= $2 AND (TRIM(reason) = '' OR TRIM(held_by) = '')";

const WITHOUT_LINE: &str = "SELECT 'order ' || h.order_id || ' is held without a line in the audit log' AS problem
     FROM order_holds h WHERE h.id > $1 AND h.id <= $2
       AND NOT EXISTS (SELECT 1 FROM audit_log l WHERE l.subject = 'order ' || h.order_id AND l.action = 'hold')";

const ENDED_WITHOUT_LINE: &str =
    "SELECT 'the hold of order ' || h.order_id || ' is ' || h.outcome || ' without a line in the audit log' AS problem
     FROM order_holds h WHERE h.id > $1 AND h.id <= $2 AND h.outcome IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM audit_log l WHERE l.subject = 'order ' || h.order_id
         AND (l.action = CASE h.outcome WHEN 'released' THEN 'release-hold' WHEN 'refunded' THEN 'refund' ELSE 'cancel' END
           OR h.outcome = 'refunded' AND l.action = 'receive-return'))";

const NOT_ENDED: &str = "SELECT 'order ' || o.id || ' is ' || o.status || ', its hold is ' || h.outcome AS problem
     FROM order_holds h JOIN orders o ON o.id = h.order_id WHERE h.id > $1 AND h.id <= $2
       AND (h.outcome = 'refunded' AND o.status NOT IN ('refund_pending', 'refunded')
         OR h.outcome = 'cancelled' AND o.status NOT IN ('cancelled', 'refund_pending', 'refunded'))";

#[boxed]
impl Snapshot {
    /// Describes holds without a reason, a person or a line in the audit log, and ended holds that contradict their
    /// order.
    pub async fn unexplained_held_orders(&mut self) -> StoreResult<Vec<String>> {
        let holds = Steps::<String>::over("order_holds", "id");
        self.problems_of(holds, &[WITHOUT_REASON, WITHOUT_LINE, ENDED_WITHOUT_LINE, NOT_ENDED]).await
    }
}

// Returns: goods that came back have their refund, and their units went back on sale once or not at all.

const WITHOUT_REFUND: &str =
    "SELECT 'the goods of order ' || r.order_id || ' came back without their refund' AS problem
     FROM goods_returns r JOIN orders o ON o.id = r.order_id WHERE r.order_id > $1 AND r.order_id <= $2
       AND (o.return_state = 'received' OR r.refund_id IS NOT NULL)
       AND (o.return_state <> 'received' OR r.refund_id IS NULL OR NOT EXISTS
         (SELECT 1 FROM partial_refunds f WHERE f.id = r.refund_id AND f.order_id = r.order_id
          UNION ALL SELECT 1 FROM payments p WHERE p.id = r.refund_id AND p.order_id = r.order_id
            AND p.status IN ('refund_pending', 'refunded')))";

/// Units are on sale again exactly when their order has ended, and [`Snapshot::count_orders`] compares `sold` with the
/// orders that have not.
const NOT_RESTOCKED: &str =
    "SELECT 'order ' || r.order_id || ' is ' || o.status || ' although its units went back on sale' AS problem
     FROM goods_returns r JOIN orders o ON o.id = r.order_id WHERE r.order_id > $1 AND r.order_id <= $2
       AND r.restocked = 1 AND o.status NOT IN ('refund_pending', 'refunded')";

const OPEN_AFTER_THE_END: &str =
    "SELECT 'order ' || r.order_id || ' is ' || o.status || ', its return is ' || COALESCE(o.return_state, 'missing')
       AS problem FROM goods_returns r JOIN orders o ON o.id = r.order_id WHERE r.order_id > $1 AND r.order_id <= $2
       AND (o.return_state IS NULL OR o.return_state IN ('asked', 'accepted') AND o.status <> 'paid')";

#[boxed]
impl Snapshot {
    /// Describes returns whose goods are back without a refund, units that are on sale again while their order holds
    /// them, and returns that outlast their order.
    pub async fn return_mismatches(&mut self) -> StoreResult<Vec<String>> {
        let returns = Steps::<String>::over("goods_returns", "order_id");
        self.problems_of(returns, &[WITHOUT_REFUND, NOT_RESTOCKED, OPEN_AFTER_THE_END]).await
    }
}

// Waitlists: no waiting account was passed over.

/// Accounts at the front of a waitlist that are compared with the offers of its sale. An account that is passed over
/// stays at the front.
const MAX_FRONT: i64 = 100;

/// Accounts that were on the waitlist when an account behind them got an offer.
const PASSED_OVER: &str =
    "SELECT 'sale ' || CAST($1 AS TEXT) || ': user ' || user_id || ' was passed over' AS problem FROM
       (SELECT user_id, place, since_ms FROM waiters WHERE sale_id = $1 AND state = 'waiting'
          ORDER BY place LIMIT $2) AS front
     WHERE NOT EXISTS (SELECT 1 FROM waiters WHERE sale_id = $1 AND waiters.user_id = front.user_id
         AND order_id IS NOT NULL)
       AND EXISTS (SELECT 1 FROM waiters WHERE sale_id = $1 AND state = 'offered'
         AND called_at_ms > front.since_ms AND place > front.place)";

#[boxed]
impl Snapshot {
    /// Describes accounts that wait although a unit was offered to an account behind them.
    pub async fn passed_over_waiters(&mut self) -> StoreResult<Vec<String>> {
        let sales = "SELECT sale_id FROM waitlists ORDER BY sale_id";
        let sales = self.all(query!(sales), column("sale_id")).await?;
        let mut problems = Vec::new();
        for sale in sales.into_iter().filter(|sale| self.reads(*sale)).collect::<Vec<_>>() {
            problems.extend(self.all(query!(PASSED_OVER; sale, MAX_FRONT), column("problem")).await?);
        }
        Ok(problems)
    }
}
