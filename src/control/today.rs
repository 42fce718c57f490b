//! What staff see first: the money of the day and the next sale.

use std::sync::Arc;
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::checklist::ChecklistItem;
use crate::sales_admin::{Overview, SaleRow, SalesAdmin};
use base::clock::Clock;
use base::revalidating_cache::{ComputationError, RevalidatingCache};
use domain::ledger::AccountKind;
use domain::{Money, SaleState, ShopSettings};
use store::{Period, Store, StoreError};

#[derive(Debug, Clone)]
pub struct Today {
    /// What the shop earned since its day began, less what it gave back or away, by currency. `None` while it is summed
    /// up for the first time.
    pub revenue: Option<Arc<Vec<Money>>>,
    /// The time zone that decides when the day begins.
    pub zone: String,
    /// The announced sale that opens first, and its checklist.
    pub next: Option<(SaleRow, Vec<ChecklistItem>)>,
    /// Messages that could not be processed; `None` without RabbitMQ or while it does not answer.
    pub dead_letters: Option<i64>,
}

#[boxed]
impl SalesAdmin {
    /// Of the day in the shop's time zone. `current` are the sales that have not ended. Waits up to `patience` for the revenue.
    pub async fn today(
        &self,
        current: &Overview,
        shop: &ShopSettings,
        patience: Duration,
    ) -> Result<Today, ComputationError<StoreError>> {
        let revenue = self.revenue.of_today(&shop.zone(), patience).await?;
        let announced = current.sales.iter().filter(|row| row.sale.state == SaleState::Scheduled);
        let next =
            announced.filter(|row| row.sale.window.opens_at.is_some()).min_by_key(|row| row.sale.window.opens_at);
        let next = match next {
            Some(row) => Some((row.clone(), self.checklist(&row.sale).await?)),
            None => None,
        };
        let dead_letters = match &self.monitor {
            Some(monitor) => monitor.depths().await.ok().map(|depths| depths.dead.into()),
            None => None,
        };
        Ok(Today { revenue, zone: shop.time_zone.clone(), next, dead_letters })
    }
}

// What the shop has earned today, for the console's first page.

/// The revenue of the day so far. It is cached, because summing up a day with a million payments takes a second.
pub struct Revenue {
    store: Store,
    clock: Clock,
    /// Keyed by the beginning of the day.
    sums: RevalidatingCache<Timestamp, Vec<Money>, StoreError>,
}

impl Revenue {
    pub fn new(store: Store, clock: Clock) -> Revenue {
        Revenue { store, sums: RevalidatingCache::new("revenue", 1, clock.clone()), clock }
    }

    /// What the shop earned since its day began, less what it gave back or away, by currency. `None` when `patience`
    /// ends before it is summed up for the first time.
    async fn of_today(
        &self,
        zone: &TimeZone,
        patience: Duration,
    ) -> Result<Option<Arc<Vec<Money>>>, ComputationError<StoreError>> {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let from = midnight(clock.now(), zone);
        let known = self.sums.get(from, patience, async move {
            let sums = store.books().moved_within(Period { from, to: clock.now() }).await?;
            let of_shop = sums.into_iter().filter(|sum| sum.account == AccountKind::Shop);
            Ok(of_shop.map(|sum| Money::new(sum.credits - sum.debits, sum.currency)).collect())
        });
        Ok(known.await?.map(|known| known.value))
    }
}

/// When the day of `now` began in `zone`. Returns `now` itself beyond the ends of the calendar.
fn midnight(now: Timestamp, zone: &TimeZone) -> Timestamp {
    now.to_zoned(zone.clone()).start_of_day().map_or(now, |midnight| midnight.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_begins_at_midnight_of_the_zone() {
        let of = |now: &str, zone: &str| midnight(now.parse().unwrap(), &TimeZone::get(zone).unwrap()).to_string();
        assert_eq!(of("2026-11-27T15:59:59Z", "Asia/Shanghai"), "2026-11-26T16:00:00Z");
        assert_eq!(of("2026-11-27T16:00:00Z", "Asia/Shanghai"), "2026-11-27T16:00:00Z");
        assert_eq!(of("2026-11-27T16:00:00Z", "UTC"), "2026-11-27T00:00:00Z");
        // In Santiago summer time begins at midnight, so the day begins at one o'clock.
        assert_eq!(of("2026-09-06T12:00:00Z", "America/Santiago"), "2026-09-06T04:00:00Z");
    }
}
