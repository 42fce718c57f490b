//! What the shop earned within the last day, for the console's first page.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::domain::Money;
use crate::domain::books::AccountKind;
use crate::revalidating_cache::{ComputationError, RevalidatingCache};
use crate::store::{Period, Store, StoreError};

const DAY: Duration = Duration::from_secs(24 * 3600);
const KEY: &str = "last day";

/// The revenue of the last day. Summing up a day with a million payments takes a second.
pub struct Revenue {
    store: Store,
    clock: Clock,
    sums: RevalidatingCache<&'static str, Vec<Money>, StoreError>,
}

impl Revenue {
    pub fn new(store: Store, clock: Clock) -> Revenue {
        Revenue { store, sums: RevalidatingCache::new("revenue", 1, clock.clone()), clock }
    }

    /// What the shop earned within the last 24 hours less what it gave back or away, by currency. `None` when `patience` ends
    /// before it is summed up for the first time.
    pub async fn of_last_day(
        &self,
        patience: Duration,
    ) -> Result<Option<Arc<Vec<Money>>>, ComputationError<StoreError>> {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let known = self.sums.get(KEY, patience, async move {
            let now = clock.now();
            let sums = store.moved_within(Period { from: now - DAY, to: now }).await?;
            let of_shop = sums.into_iter().filter(|sum| sum.account == AccountKind::Shop);
            Ok(of_shop.map(|sum| Money::new(sum.credits - sum.debits, sum.currency)).collect())
        });
        Ok(known.await?.map(|known| known.value))
    }
}
