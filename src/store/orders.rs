//! Orders. Two ways lead in: `reserve` decides and writes in one transaction (the database alone sells), `land` writes
//! what Redis has decided, as far as it fits. Both keep `sold` and the one live order per user in the same transaction.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

use super::releases::{self, Release};
use super::{Store, StoreError, Tx, list, placeholders, row, sales};
use crate::domain::order::OrderEvent;
use crate::domain::{Money, Order, OrderId, OrderStatus, Reservation, Sale, SaleId, UserId};

/// Rows of one statement; its parameters stay far below the limits of both databases.
const ROWS: usize = 500;

/// What became of a reservation that was brought to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landing {
    /// It is an unpaid order now.
    Created,
    /// It had been brought before; this is where it stands.
    Known(OrderStatus),
    /// It did not fit any more and is a rejected order now, for its owner to see.
    Rejected,
    /// Its sale does not exist.
    NoSuchSale,
}

/// Orders of one sale by status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OrderTotals {
    pub unpaid: i64,
    pub paid: i64,
}

macro_rules! columns {
    () => {
        "id, sale_id, user_id, quantity, amount, currency, status, reason, reserved_at_ms, created_at_ms, pay_by_ms"
    };
}

fn order(row: &AnyRow) -> Result<Order, sqlx::Error> {
    Ok(Order {
        id: row::parsed(row, "id")?,
        sale_id: SaleId(row::int(row, "sale_id")?),
        user_id: row::parsed(row, "user_id")?,
        quantity: row::int(row, "quantity")? as u32,
        amount: row::money(row, "amount")?,
        status: row::parsed(row, "status")?,
        reason: row.try_get("reason")?,
        reserved_at: row::time(row, "reserved_at_ms")?,
        created_at: row::time(row, "created_at_ms")?,
        pay_by: row::time(row, "pay_by_ms")?,
    })
}

/// A new row of `orders`.
struct NewOrder<'a> {
    reservation: &'a Reservation,
    price: Money,
    rejected: Option<&'static str>,
}

/// Inserts orders; the answer are the ids of those that were new and did not clash with a live order.
async fn insert(
    tx: &mut Tx,
    orders: &[NewOrder<'_>],
    now: Timestamp,
    pay_by: Timestamp,
) -> Result<HashSet<OrderId>, sqlx::Error> {
    let mut inserted = HashSet::with_capacity(orders.len());
    for chunk in orders.chunks(ROWS) {
        let sql = format!(
            concat!("INSERT INTO orders (", columns!(), ") VALUES {} ON CONFLICT DO NOTHING RETURNING id"),
            placeholders(chunk.len(), 11)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for NewOrder { reservation: r, price, rejected } in chunk {
            let status = if rejected.is_some() { OrderStatus::Rejected } else { OrderStatus::Unpaid };
            query = query
                .bind(r.order_id.to_string())
                .bind(r.sale_id.0)
                .bind(r.user_id.to_string())
                .bind(i64::from(r.quantity))
                .bind(price.amount.saturating_mul(r.quantity.into()))
                .bind(price.currency.as_str().to_owned())
                .bind(status.as_str())
                .bind(*rejected)
                .bind(r.reserved_at.as_millisecond())
                .bind(now.as_millisecond())
                .bind(pay_by.as_millisecond());
        }
        for row in query.fetch_all(&mut **tx).await? {
            inserted.insert(row::parsed(&row, "id")?);
        }
    }
    Ok(inserted)
}

/// Adds units to a sale's `sold`, if they fit. A negative number takes units away.
async fn add_sold(tx: &mut Tx, sale: SaleId, units: i64) -> Result<bool, sqlx::Error> {
    let sql = "UPDATE sales SET sold = sold + $2, granted = granted + $3 WHERE id = $1 AND sold + $2 <= total";
    let done = sqlx::query(sql)
        .bind(sale.0)
        .bind(units)
        .bind(units.max(0))
        .execute(&mut **tx)
        .await?;
    Ok(done.rows_affected() == 1)
}

impl Store {
    /// Sells a batch of one sale in one transaction. `decide` sees the locked sale and the live orders of `users`, and
    /// answers with the reservations to write; what it may not see change, cannot change meanwhile.
    /// `None` when there is no such sale.
    pub async fn reserve<T>(
        &self,
        sale_id: SaleId,
        users: &[UserId],
        now: Timestamp,
        pay_by: Timestamp,
        decide: impl FnOnce(&Sale, &HashMap<UserId, (OrderId, u32)>) -> (Vec<Reservation>, T),
    ) -> Result<Option<T>, StoreError> {
        let mut tx = self.begin().await?;
        let Some(sale) = sales::lock(&mut tx, sale_id).await? else { return Ok(None) };
        let held = live_orders(&mut tx, sale_id, users).await?;
        let (granted, answer) = decide(&sale, &held);
        if !granted.is_empty() {
            let orders: Vec<_> = granted
                .iter()
                .map(|reservation| NewOrder { reservation, price: sale.price, rejected: None })
                .collect();
            let inserted = insert(&mut tx, &orders, now, pay_by).await?;
            let units = granted.iter().map(|r| i64::from(r.quantity)).sum();
            if inserted.len() != granted.len() || !add_sold(&mut tx, sale_id, units).await? {
                return Err(StoreError::Refused(sqlx::Error::Protocol("orders changed under the sale's lock".into())));
            }
        }
        tx.commit().await?;
        Ok(Some(answer))
    }

    /// Brings reservations to the database: unpaid orders as far as they fit, rejected ones where they do not. May be
    /// repeated with the same reservations in any order and any batches.
    pub async fn land(
        &self,
        batch: &[Reservation],
        now: Timestamp,
        pay_by: Timestamp,
    ) -> Result<Vec<Landing>, StoreError> {
        if self.land_together(batch, now, pay_by).await? {
            return Ok(vec![Landing::Created; batch.len()]);
        }
        let ids: Vec<OrderId> = batch.iter().map(|r| r.order_id).collect();
        let known = self.statuses(&ids).await?;
        let new: Vec<Reservation> = batch.iter().filter(|r| !known.contains_key(&r.order_id)).copied().collect();
        let together = new.len() < batch.len() && self.land_together(&new, now, pay_by).await?;
        let mut landings = Vec::with_capacity(batch.len());
        for reservation in batch {
            landings.push(match known.get(&reservation.order_id) {
                Some(&status) => Landing::Known(status),
                None if together => Landing::Created,
                None => self.land_one(reservation, now, pay_by).await?,
            });
        }
        Ok(landings)
    }

    /// The usual case: all are new and all fit. Otherwise nothing is written and the answer is `false`.
    async fn land_together(
        &self,
        batch: &[Reservation],
        now: Timestamp,
        pay_by: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut units: BTreeMap<SaleId, i64> = BTreeMap::new();
        for r in batch {
            *units.entry(r.sale_id).or_default() += i64::from(r.quantity);
        }
        let mut tx = self.begin().await?;
        let Some(prices) = take_units(&mut tx, &units).await? else { return Ok(false) };
        let orders: Vec<_> = batch
            .iter()
            .map(|reservation| NewOrder { reservation, price: prices[&reservation.sale_id], rejected: None })
            .collect();
        if insert(&mut tx, &orders, now, pay_by).await?.len() != batch.len() {
            return Ok(false);
        }
        tx.commit().await?;
        Ok(true)
    }

    async fn land_one(&self, r: &Reservation, now: Timestamp, pay_by: Timestamp) -> Result<Landing, StoreError> {
        let mut tx = self.begin().await?;
        let Some(sale) = sales::lock(&mut tx, r.sale_id).await? else { return Ok(Landing::NoSuchSale) };
        // The lock makes this answer final: whoever brings the same reservation waits for it too.
        let known = sqlx::query("SELECT status FROM orders WHERE id = $1").bind(r.order_id.to_string());
        if let Some(row) = known.fetch_optional(&mut *tx).await? {
            return Ok(Landing::Known(row::parsed(&row, "status")?));
        }
        let fits = add_sold(&mut tx, r.sale_id, r.quantity.into()).await?;
        let unpaid = NewOrder { reservation: r, price: sale.price, rejected: None };
        if fits && insert(&mut tx, &[unpaid], now, pay_by).await?.len() == 1 {
            tx.commit().await?;
            return Ok(Landing::Created);
        }
        if fits {
            add_sold(&mut tx, r.sale_id, -i64::from(r.quantity)).await?;
        }
        let reason = if fits { "repeated" } else { "sold_out" };
        let rejected = NewOrder { reservation: r, price: sale.price, rejected: Some(reason) };
        insert(&mut tx, &[rejected], now, pay_by).await?;
        releases::add(&mut tx, &[release_of(r)]).await?;
        tx.commit().await?;
        Ok(Landing::Rejected)
    }

    /// The statuses of those orders that exist.
    pub async fn statuses(&self, orders: &[OrderId]) -> Result<HashMap<OrderId, OrderStatus>, StoreError> {
        let mut statuses = HashMap::with_capacity(orders.len());
        for chunk in orders.chunks(ROWS) {
            let sql = format!("SELECT id, status FROM orders WHERE id IN {}", list(chunk.len(), 0));
            let mut query = sqlx::query(AssertSqlSafe(sql));
            for id in chunk {
                query = query.bind(id.to_string());
            }
            for row in query.fetch_all(&self.pool).await? {
                statuses.insert(row::parsed(&row, "id")?, row::parsed(&row, "status")?);
            }
        }
        Ok(statuses)
    }

    pub async fn order(&self, sale: SaleId, id: OrderId) -> Result<Option<Order>, StoreError> {
        let sql = concat!("SELECT ", columns!(), " FROM orders WHERE id = $1 AND sale_id = $2");
        let row = sqlx::query(sql).bind(id.to_string()).bind(sale.0).fetch_optional(&self.pool).await?;
        Ok(row.as_ref().map(order).transpose()?)
    }

    /// Every step of the order's life so far, oldest first.
    pub async fn history(&self, of: &Order) -> Result<Vec<OrderEvent>, StoreError> {
        let rows = sqlx::query("SELECT status, at_ms FROM order_events WHERE order_id = $1 ORDER BY at_ms, status")
            .bind(of.id.to_string())
            .fetch_all(&self.pool)
            .await?;
        let created = if of.status == OrderStatus::Rejected { OrderStatus::Rejected } else { OrderStatus::Unpaid };
        let mut events = vec![
            OrderEvent { at: of.reserved_at, status: OrderStatus::Reserved },
            OrderEvent { at: of.created_at, status: created },
        ];
        for row in &rows {
            events.push(OrderEvent { at: row::time(row, "at_ms")?, status: row::parsed(row, "status")? });
        }
        Ok(events)
    }

    /// A user's orders, newest first, from before the order `before`.
    pub async fn orders_of(
        &self,
        user: UserId,
        before: Option<OrderId>,
        most: i64,
    ) -> Result<Vec<Order>, StoreError> {
        let sql =
            concat!("SELECT ", columns!(), " FROM orders WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3");
        let rows = sqlx::query(sql)
            .bind(user.to_string())
            // Sorts after every UUID.
            .bind(before.map_or_else(|| "g".to_owned(), |id| id.to_string()))
            .bind(most)
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.iter().map(order).collect::<Result<_, _>>()?)
    }

    /// Live orders of a sale, by id, from after the order `after`.
    pub async fn live_orders(
        &self,
        sale: SaleId,
        after: Option<OrderId>,
        most: i64,
    ) -> Result<Vec<Release>, StoreError> {
        let rows = sqlx::query(
            "SELECT id, sale_id, user_id, quantity FROM orders
             WHERE sale_id = $1 AND status IN ('unpaid', 'paid') AND id > $2 ORDER BY id LIMIT $3",
        )
        .bind(sale.0)
        .bind(after.map_or_else(String::new, |id| id.to_string()))
        .bind(most)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.iter().map(hold).collect::<Result<_, _>>()?)
    }

    /// How many orders of each sale are unpaid and paid.
    pub async fn order_totals(&self) -> Result<HashMap<SaleId, OrderTotals>, StoreError> {
        let rows = sqlx::query(
            "SELECT sale_id, status, COUNT(*) AS n FROM orders WHERE status IN ('unpaid', 'paid')
             GROUP BY sale_id, status",
        )
        .fetch_all(&self.pool)
        .await?;
        let mut totals: HashMap<SaleId, OrderTotals> = HashMap::new();
        for row in &rows {
            let entry = totals.entry(SaleId(row::int(row, "sale_id")?)).or_default();
            match row::parsed::<OrderStatus>(row, "status")? {
                OrderStatus::Unpaid => entry.unpaid = row::int(row, "n")?,
                _ => entry.paid = row::int(row, "n")?,
            }
        }
        Ok(totals)
    }

    /// Users with more than one live order of a sale, in words. The unique index should make this impossible.
    pub async fn users_with_two_orders(&self) -> Result<Vec<String>, StoreError> {
        let rows = sqlx::query(
            "SELECT 'user ' || user_id || ' has several live orders of sale ' || CAST(sale_id AS TEXT) AS problem
             FROM orders WHERE status IN ('unpaid', 'paid') GROUP BY sale_id, user_id HAVING COUNT(*) > 1",
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.iter().map(|row| row::text(row, "problem")).collect::<Result<_, _>>()?)
    }

    /// Orders whose time to pay is over, longest overdue first.
    pub async fn overdue(&self, now: Timestamp, most: i64) -> Result<Vec<(SaleId, OrderId)>, StoreError> {
        let rows = sqlx::query(
            "SELECT sale_id, id FROM orders WHERE status = 'unpaid' AND pay_by_ms <= $1 ORDER BY pay_by_ms LIMIT $2",
        )
        .bind(now.as_millisecond())
        .bind(most)
        .fetch_all(&self.pool)
        .await?;
        let read = |row| Ok((SaleId(row::int(row, "sale_id")?), row::parsed(row, "id")?));
        Ok(rows.iter().map(read).collect::<Result<_, sqlx::Error>>()?)
    }

    /// Cancels those of a sale's orders that are still unpaid; their units return in the same transaction. The answer
    /// are the orders that were cancelled by this call.
    pub async fn cancel(
        &self,
        sale: SaleId,
        orders: &[OrderId],
        reason: &'static str,
        now: Timestamp,
    ) -> Result<Vec<Release>, StoreError> {
        let mut tx = self.begin().await?;
        sales::lock(&mut tx, sale).await?;
        let mut cancelled = Vec::with_capacity(orders.len());
        for chunk in orders.chunks(ROWS) {
            let sql = format!(
                "UPDATE orders SET status = 'cancelled', reason = $1
                 WHERE status = 'unpaid' AND sale_id = $2 AND id IN {} RETURNING id, sale_id, user_id, quantity",
                list(chunk.len(), 2)
            );
            let mut query = sqlx::query(AssertSqlSafe(sql)).bind(reason).bind(sale.0);
            for id in chunk {
                query = query.bind(id.to_string());
            }
            for row in query.fetch_all(&mut *tx).await? {
                cancelled.push(hold(&row)?);
            }
        }
        if !cancelled.is_empty() {
            let units: i64 = cancelled.iter().map(|release| i64::from(release.quantity)).sum();
            add_sold(&mut tx, sale, -units).await?;
            releases::add(&mut tx, &cancelled).await?;
            let ids: Vec<OrderId> = cancelled.iter().map(|release| release.order_id).collect();
            add_events(&mut tx, &ids, OrderStatus::Cancelled, now).await?;
        }
        tx.commit().await?;
        Ok(cancelled)
    }
}

/// Writes down that orders reached a status.
pub(super) async fn add_events(
    tx: &mut Tx,
    orders: &[OrderId],
    status: OrderStatus,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    for chunk in orders.chunks(ROWS) {
        let sql = format!(
            "INSERT INTO order_events (order_id, status, at_ms) VALUES {} ON CONFLICT DO NOTHING",
            placeholders(chunk.len(), 3)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for id in chunk {
            query = query.bind(id.to_string()).bind(status.as_str()).bind(now.as_millisecond());
        }
        query.execute(&mut **tx).await?;
    }
    Ok(())
}

/// Takes units from many sales at once; `None`, when one of them has too few, does not exist, or nothing is asked.
async fn take_units(tx: &mut Tx, units: &BTreeMap<SaleId, i64>) -> Result<Option<HashMap<SaleId, Money>>, sqlx::Error> {
    let mut prices = HashMap::with_capacity(units.len());
    let wanted: Vec<(&SaleId, &i64)> = units.iter().collect();
    for chunk in wanted.chunks(ROWS) {
        let rows: Vec<String> = (0..chunk.len())
            .map(|i| format!("(CAST(${} AS BIGINT), CAST(${} AS BIGINT))", 2 * i + 1, 2 * i + 2))
            .collect();
        let sql = format!(
            "WITH wanted(sale, units) AS (VALUES {}) UPDATE sales SET sold = sold + wanted.units,
               granted = granted + wanted.units FROM wanted
             WHERE sales.id = wanted.sale AND sales.sold + wanted.units <= sales.total
             RETURNING sales.id AS id, sales.price AS price, sales.currency AS currency",
            rows.join(",")
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for (sale, units) in chunk {
            query = query.bind(sale.0).bind(**units);
        }
        for row in query.fetch_all(&mut **tx).await? {
            prices.insert(SaleId(row::int(&row, "id")?), row::money(&row, "price")?);
        }
    }
    Ok((!prices.is_empty() && prices.len() == units.len()).then_some(prices))
}

async fn live_orders(
    tx: &mut Tx,
    sale: SaleId,
    users: &[UserId],
) -> Result<HashMap<UserId, (OrderId, u32)>, sqlx::Error> {
    let mut held = HashMap::new();
    for chunk in users.chunks(ROWS) {
        let sql = format!(
            "SELECT id, sale_id, user_id, quantity FROM orders
             WHERE sale_id = $1 AND status IN ('unpaid', 'paid') AND user_id IN {}",
            list(chunk.len(), 1)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(sale.0);
        for user in chunk {
            query = query.bind(user.to_string());
        }
        for row in query.fetch_all(&mut **tx).await? {
            let hold = hold(&row)?;
            held.insert(hold.user_id, (hold.order_id, hold.quantity));
        }
    }
    Ok(held)
}

fn hold(row: &AnyRow) -> Result<Release, sqlx::Error> {
    Ok(Release {
        order_id: row::parsed(row, "id")?,
        sale_id: SaleId(row::int(row, "sale_id")?),
        user_id: row::parsed(row, "user_id")?,
        quantity: row::int(row, "quantity")? as u32,
    })
}

fn release_of(r: &Reservation) -> Release {
    Release { order_id: r.order_id, sale_id: r.sale_id, user_id: r.user_id, quantity: r.quantity }
}
