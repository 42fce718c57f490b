//! Turns of shoppers who were called from waiting rooms: a turn does not run down while the stock backend cannot decide
//! the shopper's purchases.
//!
//! A turn is counted from its call, so the call is moved forward by the lost time. A process counts only lost time that
//! it has seen itself: a process that takes over begins at zero.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use tokio::time::Instant;
use tracing::info;

use domain::{Bucket, Sale, SaleId};
use engine::stock::Stock;
use store::{Store, StoreError};

/// How often turns are prolonged while a sale stands still. The shortest turn is five times as long.
const PROLONG_INTERVAL: Duration = Duration::from_secs(2);
/// The most that one step gives back. The process may have been without the lease since its last step.
const MAX_PROLONGATION: Duration = Duration::from_secs(30);

pub struct Turns {
    store: Store,
    stock: Arc<dyn Stock>,
    /// Until when no time was lost, by sale.
    complete: Mutex<HashMap<SaleId, Instant>>,
}

impl Turns {
    pub fn new(store: Store, stock: Arc<dyn Stock>) -> Turns {
        Turns { store, stock, complete: Mutex::default() }
    }

    /// Prolongs turns of sales that stand still.
    pub async fn step(&self) -> Result<(), StoreError> {
        let running = self.store.waiting_rooms().running().await?;
        self.complete().retain(|sale, _| running.contains(sale));
        for sale in running {
            if let Some(sale) = self.store.sales().get(sale).await? {
                self.follow(&sale).await?;
            }
        }
        Ok(())
    }

    async fn follow(&self, sale: &Sale) -> Result<(), StoreError> {
        let now = Instant::now();
        let still = self.stock.standing_still(sale).await;
        let since = *self.complete().entry(sale.id).or_insert(now);
        let lost = (now - since).min(MAX_PROLONGATION);
        if !still.is_empty() {
            if lost < PROLONG_INTERVAL {
                return Ok(());
            }
            let lost = SignedDuration::from_millis(lost.as_millis() as i64);
            let stands_still = |user| still.contains(&Bucket::of_user(sale.id, sale.rush.buckets, user));
            let turns = self.store.waiting_rooms().prolong_turns(sale.id, lost, stands_still).await?;
            if turns > 0 {
                info!(sale = %sale.id, turns, lost_ms = lost.as_millis() as i64, "turns were prolonged: the sale stands still");
            }
        }
        self.complete().insert(sale.id, now);
        Ok(())
    }

    fn complete(&self) -> MutexGuard<'_, HashMap<SaleId, Instant>> {
        self.complete.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
