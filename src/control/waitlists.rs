//! Waitlists: units of a rush that came back go to the next who waits, as unpaid orders.
//!
//! 1. The stock backend keeps free units for those who wait ([`WaitedStock`](engine::stock::WaitedStock)).
//! 2. The first of the line are called: each gets the id of its order, in the database.
//! 3. The backend grants the units for these orders, which reach the database as all orders do.
//! 4. An order that has arrived is noted, with a message to its account in the same transaction.
//!
//! A step that is interrupted anywhere is made again and changes nothing that was done: a call stays, and a claim for the
//! same order is granted once. Each sale on its own: one that fails is tried again later and later, and delays no other.

use std::sync::Arc;

use tracing::info;

use base::metrics::Metrics;
use base::periodic::Backoff;
use domain::{Sale, SaleId, SaleState};
use engine::stock::Stock;
use store::{OffersMade, Store, StoreError};

pub struct Waitlists {
    store: Store,
    stock: Arc<dyn Stock>,
    metrics: Arc<Metrics>,
    backoff: Backoff<SaleId>,
}

impl Waitlists {
    pub fn new(store: Store, stock: Arc<dyn Stock>, metrics: Arc<Metrics>) -> Waitlists {
        Waitlists { store, stock, metrics, backoff: Backoff::new("waitlist of a sale") }
    }

    /// Offers every unit that is free and waited for.
    pub async fn step(&self) -> Result<(), StoreError> {
        for sale in self.store.sales_with_waitlists().await? {
            if !self.backoff.is_waiting(&sale.id) {
                self.backoff.record(sale.id, self.advance(&sale).await.map_err(|error| format!("{error:#}")));
            }
        }
        Ok(())
    }

    async fn advance(&self, sale: &Sale) -> anyhow::Result<()> {
        let OffersMade { offered, rejected } = self.store.note_offers(sale.id).await?;
        if offered + rejected > 0 {
            self.metrics.offered.inc_by(offered as u64);
            info!(sale = %sale.id, offered, rejected, "units that came back were offered to those who wait");
        }
        self.stock.follow_waitlist(sale).await?;
        // The backend checks state and window again. A paused sale keeps its line for later, an ended one offers nothing more.
        if sale.state != SaleState::Live || !self.store.is_waited_for(sale.id).await? {
            return Ok(());
        }
        // A master that has forgotten holds counts units as free that the database has sold.
        let free = self.stock.free_units(sale).await?.min(sale.total - sale.sold);
        if free <= 0 {
            return Ok(());
        }
        let claims = self.store.call_waiters(sale, free).await?;
        if !claims.is_empty() {
            // Whatever is not granted is claimed again by the next step: there may be no unit in the account's bucket yet, or a
            // hold of an order of its own that has ended is about to be released.
            self.stock.offer(sale, &claims).await?;
        }
        Ok(())
    }
}
