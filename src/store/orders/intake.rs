//! How orders enter the database. On rung 1 `reserve` decides and writes in one transaction. On rungs 2 and 3
//! `persist_orders` writes the grants of Redis, as long as units are left. Both maintain `sold` and the rule of one
//! live order per user in the same transaction.
//!
//! **Numbers for people** ([`OrderNumber`]). A row per day counts the numbers that were taken. A batch of orders
//! takes its numbers before the transaction begins, in one statement whose lock ends with it: a process that freezes, or a
//! sale whose row is locked, delays no other sale. A batch takes as many numbers as it may need; the rest is kept for
//! the next batch of the process. So numbers are unique and each is given once, but a crash leaves a gap.

use std::collections::{BTreeMap, HashMap};
use std::sync::PoisonError;
use std::time::Duration;

use boxed::boxed;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use sqlx::AssertSqlSafe;

use crate::orders::{HeldUnits, held_columns, held_units};
use crate::sales::add_sold;
use crate::waitlists::waited_units;
use crate::{
    LockPatience, MAX_ROWS, OrderStore, Store, StoreError, StoreResult, Tx, bound, column, orders, padded, pair,
    placeholders, row, sales,
};
use domain::{Money, OrderId, OrderNumber, OrderStatus, Reservation, Sale, SaleId, UserId};

/// The outcome of persisting one reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersistedOrder {
    /// An unpaid order was created.
    Created,
    /// The order was persisted before and has this status.
    Known(OrderStatus),
    /// There were no units left, or the user had another live order. A rejected order was created for the owner to see.
    Rejected,
    /// The sale does not exist.
    NoSuchSale,
}

/// What the database knows about other claims on a sale.
#[derive(Debug, Clone, Default)]
pub struct Demand {
    /// The live orders of the users of the batch, with their units.
    pub held: HashMap<UserId, (OrderId, u32)>,
    /// Units that are kept for accounts on the waitlist. Other accounts get none of them.
    pub waited_units: i64,
}

/// A new row of `orders`. `rejected` is the reason of a rejection.
struct NewOrder<'a> {
    reservation: &'a Reservation,
    /// `None`: data control gives it one within a second.
    number: Option<OrderNumber>,
    price: Money,
    rejected: Option<&'static str>,
}

impl NewOrder<'_> {
    fn status(&self) -> OrderStatus {
        if self.rejected.is_some() { OrderStatus::Rejected } else { OrderStatus::Unpaid }
    }
}

/// Unpaid orders with these numbers, which may be too few.
fn numbered<'a>(
    batch: &'a [Reservation],
    numbers: &[OrderNumber],
    price: impl Fn(SaleId) -> Money,
) -> Vec<NewOrder<'a>> {
    let numbers = numbers.iter().copied().map(Some).chain(std::iter::repeat(None));
    let order = |(reservation, number): (&'a Reservation, _)| NewOrder {
        reservation,
        number,
        price: price(reservation.sale_id),
        rejected: None,
    };
    batch.iter().zip(numbers).map(order).collect()
}

/// Inserts orders. They must be paid within the window, which begins with the transaction. Returns whether every order
/// was new and conflicted with no live order. If not, some of them may be written, and the transaction must not commit;
/// a single order is not written then.
async fn insert(tx: &mut Tx, orders: &[NewOrder<'_>], payment_window: Duration) -> sqlx::Result<bool> {
    let (now, pay_by) = (tx.now, tx.now + payment_window);
    let mut inserted = 0;
    for chunk in padded(orders) {
        // The statement counts the rows instead of returning them, because a batch would be read back row by row.
        let sql = format!(
            "INSERT INTO orders (id, day_number, sale_id, user_id, quantity, amount, currency, status, reason,
               reserved_at_ms, created_at_ms, pay_by_ms) VALUES {} ON CONFLICT DO NOTHING",
            placeholders(chunk.len(), 12)
        );
        let mut query = query!(AssertSqlSafe(sql));
        for order in chunk {
            let r = order.reservation;
            // This cannot overflow, because `SaleDraft::mistakes` bounds prices and limits.
            let amount =
                order.price.times(r.quantity).ok_or_else(|| sqlx::Error::Encode("the amount overflows".into()))?;
            query = bound(query, values![r.order_id, order.number, r.sale_id, r.user_id, r.quantity]);
            query = bound(query, values![amount.amount, amount.currency, order.status(), order.rejected]);
            query = bound(query, values![r.reserved_at, now, pay_by]);
        }
        inserted += tx.changed(query).await?;
    }
    if inserted != orders.len() as u64 {
        return Ok(false);
    }
    for order in orders {
        let r = order.reservation;
        tx.changes.added(r.sale_id, r.order_id, order.status(), r.quantity.into());
    }
    Ok(true)
}

/// Sells units of a sale as unpaid orders with these numbers, which may be too few. The caller has locked the sale's row.
/// Unless every order is written, the transaction must not commit.
pub(crate) async fn sell(
    tx: &mut Tx,
    sale: &Sale,
    granted: &[Reservation],
    numbers: &[OrderNumber],
    payment_window: Duration,
) -> StoreResult<()> {
    let orders = numbered(granted, numbers, |_| sale.price);
    let units = granted.iter().map(|r| i64::from(r.quantity)).sum();
    if !insert(tx, &orders, payment_window).await? || !add_sold(tx, sale.id, units).await? {
        return Err(StoreError::Refused(sqlx::Error::Protocol("orders changed under the sale's lock".into())));
    }
    Ok(())
}

#[boxed]
impl OrderStore<'_> {
    /// Sells a batch of one sale in one transaction. `decide` receives the sale, whose row is locked, the [`Demand`]
    /// and the time. It returns the reservations to write and its answer. `None` if there is no such sale.
    pub async fn reserve<T>(
        self,
        sale_id: SaleId,
        users: &[UserId],
        payment_window: Duration,
        decide: impl FnOnce(&Sale, &Demand, Timestamp) -> (Vec<Reservation>, T),
    ) -> StoreResult<Option<T>> {
        let mut numbers = self.take_numbers(users.len()).await?;
        let mut tx = self.begin().await?;
        let Some(sale) = sales::lock(&mut tx, sale_id).await? else { return Ok(None) };
        let (held, now) = (live_orders(&mut tx, sale_id, users).await?, tx.now);
        // Skip the query if the sale is sold out.
        let waited_units = match sale.total - sale.sold {
            1.. => waited_units(&mut tx, sale_id, now).await?,
            _ => 0,
        };
        let (granted, answer) = decide(&sale, &Demand { held, waited_units }, now);
        let spare = numbers.split_off(granted.len().min(numbers.len()));
        if !granted.is_empty() {
            sell(&mut tx, &sale, &granted, &numbers, payment_window).await?;
        }
        tx.commit().await?;
        self.return_numbers(spare);
        Ok(Some(answer))
    }

    /// Persists reservations as unpaid orders as long as units are left, and as rejected orders after that. Idempotent:
    /// may be repeated with the same reservations in any order and in any batches. Does not wait for a locked sale.
    pub async fn persist_orders(
        self,
        batch: &[Reservation],
        payment_window: Duration,
    ) -> StoreResult<Vec<PersistedOrder>> {
        if self.persist_all_new(batch, payment_window).await? {
            return Ok(vec![PersistedOrder::Created; batch.len()]);
        }
        let ids: Vec<OrderId> = batch.iter().map(|r| r.order_id).collect();
        let known = self.order_statuses(&ids).await?;
        let new: Vec<Reservation> = batch.iter().filter(|r| !known.contains_key(&r.order_id)).copied().collect();
        let all_new = new.len() < batch.len() && self.persist_all_new(&new, payment_window).await?;
        let mut outcomes = Vec::with_capacity(batch.len());
        for reservation in batch {
            outcomes.push(match known.get(&reservation.order_id) {
                Some(&status) => PersistedOrder::Known(status),
                None if all_new => PersistedOrder::Created,
                None => self.persist_one(reservation, payment_window).await?,
            });
        }
        Ok(outcomes)
    }

    /// Persists a batch in the usual case: every reservation is new and units are left for all. Otherwise writes
    /// nothing and returns `false`.
    async fn persist_all_new(self, batch: &[Reservation], payment_window: Duration) -> StoreResult<bool> {
        let mut units: BTreeMap<SaleId, i64> = BTreeMap::new();
        for r in batch {
            *units.entry(r.sale_id).or_default() += i64::from(r.quantity);
        }
        let numbers = self.take_numbers(batch.len()).await?;
        let mut tx = self.begin_with(LockPatience::Short).await?;
        let Some(prices) = take_units(&mut tx, &units).await? else {
            self.return_numbers(numbers);
            return Ok(false);
        };
        let orders = numbered(batch, &numbers, |sale| prices[&sale]);
        // After a conflict the numbers are dropped. It may be theirs, after a database lost its last seconds.
        if !insert(&mut tx, &orders, payment_window).await? {
            return Ok(false);
        }
        tx.commit_and(true).await
    }

    async fn persist_one(self, r: &Reservation, payment_window: Duration) -> StoreResult<PersistedOrder> {
        let mut tx = self.begin_with(LockPatience::Short).await?;
        let Some(sale) = sales::lock(&mut tx, r.sale_id).await? else { return Ok(PersistedOrder::NoSuchSale) };
        // This answer is final, because every transaction that persists this reservation takes the same lock.
        let known = query!("SELECT status FROM orders WHERE id = $1"; r.order_id);
        if let Some(status) = tx.optional(known, column("status")).await? {
            return Ok(PersistedOrder::Known(status));
        }
        let fits = add_sold(&mut tx, r.sale_id, r.quantity.into()).await?;
        // Without a number: in a conflict about it this would be taken for a repeated order.
        let unpaid = NewOrder { reservation: r, number: None, price: sale.price, rejected: None };
        if fits && insert(&mut tx, &[unpaid], payment_window).await? {
            return tx.commit_and(PersistedOrder::Created).await;
        }
        if fits {
            add_sold(&mut tx, r.sale_id, -i64::from(r.quantity)).await?;
        }
        let reason = if fits { "repeated" } else { "sold_out" };
        let rejected = NewOrder { reservation: r, number: None, price: sale.price, rejected: Some(reason) };
        insert(&mut tx, &[rejected], payment_window).await?;
        orders::add_releases(&mut tx, &[HeldUnits::of(r)]).await?;
        tx.commit_and(PersistedOrder::Rejected).await
    }
}

/// Takes units from several sales at once and returns their prices. `None` if one sale has too few units or does not
/// exist, or if `units` is empty.
///
/// There is one statement per sale, in the order of their ids and in one round trip. A join would lock the rows in the
/// order of its plan, which differs from batch to batch, and consumers would deadlock.
async fn take_units(tx: &mut Tx, units: &BTreeMap<SaleId, i64>) -> sqlx::Result<Option<HashMap<SaleId, Money>>> {
    let mut prices = HashMap::with_capacity(units.len());
    let requested: Vec<(&SaleId, &i64)> = units.iter().collect();
    for chunk in requested.chunks(MAX_ROWS) {
        // The statements contain only numbers, so they need no parameters.
        let statements: Vec<String> = chunk
            .iter()
            .map(|(sale, units)| {
                format!(
                    "UPDATE sales SET sold = sold + {units}, granted = granted + {units}
                     WHERE id = {sale} AND sold + {units} <= total RETURNING id, price, currency"
                )
            })
            .collect();
        let sql = sqlx::raw_sql(AssertSqlSafe(statements.join(";\n")));
        for row in tx.fetch_all(sql).await? {
            prices.insert(row::get(&row, "id")?, row::get(&row, "price")?);
        }
    }
    Ok((!prices.is_empty() && prices.len() == units.len()).then_some(prices))
}

/// Live orders of a sale by account, with their units.
pub(crate) async fn live_orders(
    tx: &mut Tx,
    sale: SaleId,
    users: &[UserId],
) -> sqlx::Result<HashMap<UserId, (OrderId, u32)>> {
    let sql =
        select!(held_columns, "FROM orders WHERE sale_id = $1 AND status IN ('unpaid', 'paid') AND user_id IN $ids");
    let held = |row: &_| held_units(row).map(|units| (units.user_id, (units.order_id, units.quantity)));
    tx.all_of(sql, &values![sale], users, held).await
}

/// Orders that get their numbers in one transaction.
const MAX_MISSING: i64 = 500;
/// An order without a number that is older than this is one of an older version, whose readers know it already.
const NEWS_AGE: SignedDuration = SignedDuration::from_hours(1);

/// After a change of the shop's time zone, processes number by the old one for so long.
const ZONE_AGE: SignedDuration = SignedDuration::from_secs(10);

/// What a process knows about numbers.
#[derive(Debug, Default)]
pub(crate) struct OwnNumbers {
    /// The shop's time zone, and when it was read.
    zone: Option<(Timestamp, TimeZone)>,
    /// Numbers of one day, ascending, that were taken and not used.
    spare: Vec<OrderNumber>,
}

/// The day of an instant, such as 20261128.
fn day_of(at: Timestamp, zone: TimeZone) -> i64 {
    let day = at.to_zoned(zone).date();
    i64::from(day.year()) * 10_000 + i64::from(day.month()) * 100 + i64::from(day.day())
}

impl OwnNumbers {
    /// Up to `count` spare numbers of this day.
    fn draw(&mut self, day: i64, count: usize) -> Vec<OrderNumber> {
        self.spare.retain(|number| number.day() == day);
        self.spare.drain(..count.min(self.spare.len())).collect()
    }
}

impl Store {
    fn own_numbers<T>(&self, with: impl FnOnce(&mut OwnNumbers) -> T) -> T {
        with(&mut self.numbers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The zone of today. A batch does not read the settings: they change once a year.
    async fn zone_of_numbers(&self, now: Timestamp) -> StoreResult<TimeZone> {
        let known = self.own_numbers(|own| own.zone.clone()).filter(|(at, _)| now.duration_since(*at).abs() < ZONE_AGE);
        if let Some((_, zone)) = known {
            return Ok(zone);
        }
        let zone = self.shop_settings().get().await?.zone();
        self.own_numbers(|own| own.zone = Some((now, zone.clone())));
        Ok(zone)
    }

    /// Takes numbers of today for so many orders, ascending.
    async fn take_numbers(&self, count: usize) -> StoreResult<Vec<OrderNumber>> {
        let now = self.now().await?;
        let day = day_of(now, self.zone_of_numbers(now).await?);
        let mut numbers = self.own_numbers(|own| own.draw(day, count));
        if numbers.len() < count {
            numbers.extend(self.count_up(day, count - numbers.len()).await?);
        }
        Ok(numbers)
    }

    /// Takes numbers back that are certainly not used.
    fn return_numbers(&self, numbers: Vec<OrderNumber>) {
        self.own_numbers(|own| {
            own.spare.extend(numbers);
            own.spare.sort_unstable();
        });
    }

    async fn count_up(&self, day: i64, count: usize) -> StoreResult<Vec<OrderNumber>> {
        let sql = "INSERT INTO order_days (day, taken) VALUES ($1, $2)
             ON CONFLICT (day) DO UPDATE SET taken = order_days.taken + excluded.taken RETURNING taken";
        let query = query!(sql; day, count as i64);
        // SQLite has one writer, who is found in turn by a transaction only.
        let taken: i64 = match self.shares_clock() {
            true => {
                let mut tx = self.begin().await?;
                let taken = tx.one(query, column("taken")).await?;
                tx.commit().await?;
                taken
            }
            false => self.one(query, column("taken")).await?,
        };
        Ok((taken - count as i64 + 1..=taken).map(|count| OrderNumber::new(day, count)).collect())
    }
}

#[boxed]
impl OrderStore<'_> {
    /// Numbers the oldest orders that have none, up to a bound, by the day on which they were written. Returns how many
    /// there were. Idempotent; two processes at once waste numbers.
    pub async fn number_missing(self) -> StoreResult<usize> {
        let sql = "SELECT id, created_at_ms FROM orders WHERE day_number IS NULL ORDER BY id LIMIT $1";
        let orders = self.all(query!(sql; MAX_MISSING), pair::<OrderId, _>("id", "created_at_ms")).await?;
        if orders.is_empty() {
            return Ok(0);
        }
        let zone = self.shop_settings().get().await?.zone();
        let mut days: BTreeMap<i64, Vec<(OrderId, Timestamp)>> = BTreeMap::new();
        for (id, at) in &orders {
            days.entry(day_of(*at, zone.clone())).or_default().push((*id, *at));
        }
        for (day, orders) in days {
            let numbers = self.count_up(day, orders.len()).await?;
            let mut tx = self.begin().await?;
            let statements: Vec<String> = orders
                .iter()
                .zip(numbers)
                .map(|((id, _), number)| {
                    format!(
                        "UPDATE orders SET day_number = {} WHERE id = '{id}' AND day_number IS NULL",
                        number.stored()
                    )
                })
                .collect();
            tx.execute(sqlx::raw_sql(AssertSqlSafe(statements.join(";\n")))).await?;
            for (id, _) in orders.iter().filter(|(_, at)| *at > tx.now - NEWS_AGE) {
                tx.changes.edited(*id);
            }
            tx.commit().await?;
        }
        Ok(orders.len())
    }

    /// The orders with these numbers.
    pub async fn with_numbers(self, numbers: &[OrderNumber]) -> StoreResult<HashMap<OrderNumber, OrderId>> {
        let sql = "SELECT id, day_number FROM orders WHERE day_number IN $ids";
        self.all_of(sql, &[], numbers, pair("day_number", "id")).await
    }

    /// The numbers of these orders, without orders that have none.
    pub async fn numbers_of(self, orders: &[OrderId]) -> StoreResult<HashMap<OrderId, OrderNumber>> {
        let sql = "SELECT id, day_number FROM orders WHERE id IN $ids AND day_number IS NOT NULL";
        self.all_of(sql, &[], orders, pair("id", "day_number")).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_numbers_of_another_day_are_not_used() {
        let spare = (5..8).map(|n| OrderNumber::new(20_261_128, n)).collect();
        let mut own = OwnNumbers { spare, ..OwnNumbers::default() };
        assert_eq!(own.draw(20_261_128, 2), [5, 6].map(|n| OrderNumber::new(20_261_128, n)));
        assert_eq!((own.draw(20_261_129, 2), own.spare.len()), (vec![], 0));
    }

    #[test]
    fn day_is_the_one_of_the_shop() {
        let at: Timestamp = "2026-11-28T17:30:00Z".parse().unwrap();
        let of = |zone| day_of(at, zone);
        assert_eq!((of(TimeZone::UTC), of(TimeZone::get("Asia/Shanghai").unwrap())), (20_261_128, 20_261_129));
    }
}
