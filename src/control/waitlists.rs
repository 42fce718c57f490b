//! Waitlists: returned units of a rush go to the next account on the waitlist, as unpaid orders.
//!
//! 1. The stock backend keeps free units for the waitlist ([`WaitedStock`](engine::stock::WaitedStock)).
//! 2. The first accounts on the waitlist are called: each gets the id of its order, in the database.
//! 3. The backend grants the units for these orders, which reach the database as all orders do.
//! 4. An order that has arrived is noted, with a message to its account in the same transaction.
//!
//! A step may be interrupted anywhere and repeated: a call stays, and a claim for the same order is granted once. If a
//! sale fails, it is tried again at growing intervals and delays no other sale. If a server of a Redis Cluster is away,
//! accounts of its buckets are passed over until it is back.

use std::sync::Arc;

use boxed::boxed;
use tracing::info;

use base::metrics::Metrics;
use base::periodic::Backoff;
use domain::{Sale, SaleId, SaleState};
use engine::stock::{FreeUnits, Stock};
use store::{OffersMade, Store, StoreResult};

pub struct Waitlists {
    store: Store,
    stock: Arc<dyn Stock>,
    metrics: Arc<Metrics>,
    backoff: Backoff<SaleId>,
}

#[boxed]
impl Waitlists {
    pub fn new(store: Store, stock: Arc<dyn Stock>, metrics: Arc<Metrics>) -> Waitlists {
        Waitlists { store, stock, metrics, backoff: Backoff::new("waitlist of a sale") }
    }

    /// Offers every free unit for which an account waits.
    pub async fn step(&self) -> StoreResult<()> {
        let waited = self.store.waitlists().sales_with_waitlists().await?;
        for sale in waited.iter().filter(|sale| !self.backoff.is_waiting(&sale.id)) {
            self.backoff.record(sale.id, self.advance(sale).await);
        }
        Ok(())
    }

    async fn advance(&self, sale: &Sale) -> anyhow::Result<()> {
        let OffersMade { offered, rejected } = self.store.waitlists().note_offers(sale.id).await?;
        if offered + rejected > 0 {
            self.metrics.offered.inc_by(offered as u64);
            info!(sale = %sale.id, offered, rejected, "units that came back were offered to those who wait");
        }
        self.stock.follow_waitlist(sale).await?;
        // The backend checks state and window again. A paused sale keeps its waitlist for later. An ended sale offers
        // nothing more.
        if sale.state != SaleState::Live || !self.store.waitlists().is_waited_for(sale.id).await? {
            return Ok(());
        }
        // A master that has forgotten holds counts units as free that the database has sold.
        let FreeUnits { units, standing_still } = self.stock.free_units(sale).await?;
        let free = units.min(sale.total - sale.sold);
        if free <= 0 {
            return Ok(());
        }
        let claims = self.store.waitlists().call_waiters(sale, free, &standing_still).await?;
        if !claims.is_empty() {
            // Claims that are not granted are made again by the next step. Perhaps the account's bucket has no unit
            // yet, or an ended order of the account still holds units that are about to be released.
            self.stock.offer(sale, &claims).await?;
        }
        Ok(())
    }
}
