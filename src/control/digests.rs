//! Digests of sales for their reports. While a sale runs its digest is read on demand; once the sale is retired, which nothing
//! changes any more, it is kept for ever.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::info;

use crate::clock::Clock;
use crate::domain::{Sale, SaleDigest, SaleId};
use crate::store::{Store, StoreError};

/// A digest that was just read serves other viewers for this multiple of the time that reading it took.
const REUSE_FACTOR: u32 = 20;
/// But not for longer.
const MAX_REUSE: Duration = Duration::from_secs(60);
/// Sales of one step. Others follow a minute later.
const BATCH_SIZE: i64 = 10;

struct Latest {
    digest: Arc<SaleDigest>,
    until: Timestamp,
}

/// The digests that one process reads, one at a time: a sale of a million orders takes seconds, which belong to shoppers.
pub struct Digests {
    store: Store,
    clock: Clock,
    /// Of several sales, because a report shows an earlier one beside its own.
    latest: Mutex<HashMap<SaleId, Latest>>,
}

impl Digests {
    pub fn new(store: Store, clock: Clock) -> Digests {
        Digests { store, clock, latest: Mutex::default() }
    }

    /// The digest of a sale, and whether it is final.
    pub async fn of(&self, sale: &Sale) -> Result<(Arc<SaleDigest>, bool), StoreError> {
        if let Some(kept) = self.store.kept_digest(sale.id).await? {
            return Ok((Arc::new(kept), true));
        }
        let mut latest = self.latest.lock().await;
        let now = self.clock.now();
        latest.retain(|_, known| now < known.until);
        if let Some(known) = latest.get(&sale.id) {
            return Ok((known.digest.clone(), false));
        }
        let began = Instant::now();
        let digest = Arc::new(self.store.digest_sale(sale, now).await?);
        let until = self.clock.now() + (began.elapsed() * REUSE_FACTOR).min(MAX_REUSE);
        latest.insert(sale.id, Latest { digest: digest.clone(), until });
        Ok((digest, false))
    }

    /// Keeps the digests of sales that were retired.
    pub async fn keep(&self) -> Result<(), StoreError> {
        for sale in self.store.sales_without_digest(BATCH_SIZE).await? {
            let now = self.clock.now();
            let digest = self.store.digest_sale(&sale, now).await?;
            self.store.keep_digest(sale.id, &digest, now).await?;
            info!(sale = %sale.id, "the digest of a sale that is over was kept");
        }
        Ok(())
    }
}
