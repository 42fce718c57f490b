//! Digests of sales for their reports. While a sale runs, its digest is read on demand. Nothing changes a sale that is
//! over, so its digest is stored for ever.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tracing::info;

use base::clock::Clock;
use base::revalidating_cache::{ComputationError, Known, RevalidatingCache};
use domain::{Sale, SaleDigest, SaleId};
use store::{Store, StoreError};

/// Sales per step. Others follow a minute later.
const BATCH_SIZE: i64 = 10;
/// Digests in memory: several, because a report shows an earlier sale beside its own.
const MAX_KEPT: usize = 16;

/// The digest of a sale for its report.
#[derive(Debug, Clone)]
pub struct ReadDigest {
    pub digest: Arc<SaleDigest>,
    /// When the orders were read. `None` for a digest that is final.
    pub read_at: Option<Timestamp>,
    /// Whether a newer one is being read.
    pub is_renewing: bool,
}

/// The digests that this process has read. They are cached, because reading a million orders takes seconds.
pub struct Digests {
    store: Store,
    clock: Clock,
    running: RevalidatingCache<SaleId, SaleDigest, StoreError>,
}

impl Digests {
    pub fn new(store: Store, clock: Clock) -> Digests {
        Digests { store, running: RevalidatingCache::new("digests of sales", MAX_KEPT, clock.clone()), clock }
    }

    /// The digest of a sale. `None` when `patience` ends before the first one is read.
    pub async fn within(
        &self,
        patience: Duration,
        sale: &Sale,
    ) -> Result<Option<ReadDigest>, ComputationError<StoreError>> {
        match self.store.sales().kept_digest(sale.id).await? {
            Some(kept) => Ok(Some(ReadDigest::last(kept))),
            None => Ok(self.running.get(sale.id, patience, self.read(sale)).await?.map(ReadDigest::of)),
        }
    }

    /// The digest of a sale, however long it takes.
    pub async fn wait(&self, sale: &Sale) -> Result<ReadDigest, ComputationError<StoreError>> {
        match self.store.sales().kept_digest(sale.id).await? {
            Some(kept) => Ok(ReadDigest::last(kept)),
            None => Ok(ReadDigest::of(self.running.wait(sale.id, self.read(sale)).await?)),
        }
    }

    fn read(&self, sale: &Sale) -> impl Future<Output = Result<SaleDigest, StoreError>> + use<> {
        let (store, clock, sale) = (self.store.clone(), self.clock.clone(), sale.clone());
        async move { store.sales().digest_sale(&sale, clock.now()).await }
    }

    /// Stores the digests of sales that are over and have none yet.
    pub async fn keep(&self) -> Result<(), StoreError> {
        for sale in self.store.sales().sales_without_digest(BATCH_SIZE).await? {
            let now = self.clock.now();
            let digest = self.store.sales().digest_sale(&sale, now).await?;
            self.store.sales().keep_digest(sale.id, &digest, now).await?;
            info!(sale = %sale.id, "the digest of a sale that is over was kept");
        }
        Ok(())
    }
}

impl ReadDigest {
    fn last(kept: SaleDigest) -> ReadDigest {
        ReadDigest { digest: Arc::new(kept), read_at: None, is_renewing: false }
    }

    fn of(known: Known<SaleDigest>) -> ReadDigest {
        ReadDigest { digest: known.value, read_at: Some(known.read_at), is_renewing: known.is_renewing }
    }
}
