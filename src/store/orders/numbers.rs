//! Numbers of orders for people ([`OrderNumber`]).
//!
//! A row per day counts the numbers that were taken. Whoever writes orders takes theirs before the transaction begins, in
//! one statement whose lock ends with it: a process that freezes, or a sale whose row is locked, delays no other sale. A
//! batch takes as many numbers as it may need; the rest is kept for the next batch of the process. So numbers are unique
//! and each is given once, but a crash leaves a gap.

use std::collections::{BTreeMap, HashMap};
use std::sync::PoisonError;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use sqlx::AssertSqlSafe;

use crate::{OrderStore, Store, StoreError, bind_ids, list, padded, row};
use domain::{OrderId, OrderNumber};

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
    async fn zone_of_numbers(&self, now: Timestamp) -> Result<TimeZone, StoreError> {
        let known = self.own_numbers(|own| own.zone.clone()).filter(|(at, _)| now.duration_since(*at).abs() < ZONE_AGE);
        if let Some((_, zone)) = known {
            return Ok(zone);
        }
        let zone = self.shop_settings().get().await?.zone();
        self.own_numbers(|own| own.zone = Some((now, zone.clone())));
        Ok(zone)
    }

    /// Takes numbers of today for so many orders, ascending.
    pub(super) async fn take_numbers(&self, count: usize) -> Result<Vec<OrderNumber>, StoreError> {
        let now = self.now().await?;
        let day = day_of(now, self.zone_of_numbers(now).await?);
        let mut numbers = self.own_numbers(|own| own.draw(day, count));
        if numbers.len() < count {
            numbers.extend(self.count_up(day, count - numbers.len()).await?);
        }
        Ok(numbers)
    }

    /// Takes numbers back that are certainly not used.
    pub(super) fn return_numbers(&self, numbers: Vec<OrderNumber>) {
        self.own_numbers(|own| {
            own.spare.extend(numbers);
            own.spare.sort_unstable();
        });
    }

    async fn count_up(&self, day: i64, count: usize) -> Result<Vec<OrderNumber>, StoreError> {
        let sql = "INSERT INTO order_days (day, taken) VALUES ($1, $2)
             ON CONFLICT (day) DO UPDATE SET taken = order_days.taken + excluded.taken RETURNING taken";
        let query = sqlx::query(sql).bind(day).bind(count as i64);
        // SQLite has one writer, who is found in turn by a transaction only.
        let row = match self.shares_clock() {
            true => {
                let mut tx = self.begin().await?;
                let row = query.fetch_one(&mut *tx).await?;
                tx.commit().await?;
                row
            }
            false => query.fetch_one(&self.pool).await?,
        };
        let taken = row::int(&row, "taken")?;
        Ok((taken - count as i64 + 1..=taken).map(|count| OrderNumber::new(day, count)).collect())
    }
}

impl OrderStore<'_> {
    /// Numbers the oldest orders that have none, up to a bound, by the day on which they were written. Returns how many
    /// there were. Idempotent; two processes at once waste numbers.
    pub async fn number_missing(self) -> Result<usize, StoreError> {
        let sql = "SELECT id, created_at_ms FROM orders WHERE day_number IS NULL ORDER BY id LIMIT $1";
        let written = |row: &_| Ok((row::parsed::<OrderId>(row, "id")?, row::time(row, "created_at_ms")?));
        let orders = self.all(sqlx::query(sql).bind(MAX_MISSING), written).await?;
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
            sqlx::raw_sql(AssertSqlSafe(statements.join(";\n"))).execute(&mut *tx).await?;
            for (id, _) in orders.iter().filter(|(_, at)| *at > tx.now - NEWS_AGE) {
                tx.changes.edited(*id);
            }
            tx.commit().await?;
        }
        Ok(orders.len())
    }

    /// The orders with these numbers.
    pub async fn with_numbers(self, numbers: &[OrderNumber]) -> Result<HashMap<OrderNumber, OrderId>, StoreError> {
        let mut orders = HashMap::with_capacity(numbers.len());
        for chunk in padded(numbers) {
            let sql = format!("SELECT id, day_number FROM orders WHERE day_number IN {}", list(chunk.len(), 0));
            let query = chunk.iter().fold(sqlx::query(AssertSqlSafe(sql)), |query, number| query.bind(number.stored()));
            for row in query.fetch_all(&self.pool).await? {
                orders.insert(OrderNumber::from_stored(row::int(&row, "day_number")?), row::parsed(&row, "id")?);
            }
        }
        Ok(orders)
    }

    /// The numbers of these orders, without orders that have none.
    pub async fn numbers_of(self, orders: &[OrderId]) -> Result<HashMap<OrderId, OrderNumber>, StoreError> {
        let mut numbers = HashMap::with_capacity(orders.len());
        for chunk in padded(orders) {
            let sql = format!(
                "SELECT id, day_number FROM orders WHERE id IN {} AND day_number IS NOT NULL",
                list(chunk.len(), 0)
            );
            for row in bind_ids(sqlx::query(AssertSqlSafe(sql)), &chunk).fetch_all(&self.pool).await? {
                numbers.insert(row::parsed(&row, "id")?, OrderNumber::from_stored(row::int(&row, "day_number")?));
            }
        }
        Ok(numbers)
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
