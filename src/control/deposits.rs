//! Deposits of sales that are over, or drafts again, go back to their wallets.
//!
//! A step may be interrupted anywhere and repeated: each deposit is returned once, in its transaction. If a sale fails,
//! it is tried again at growing intervals and delays no other sale.

use tracing::info;

use base::periodic::Backoff;
use domain::SaleId;
use store::{Store, StoreError};

pub struct Deposits {
    store: Store,
    backoff: Backoff<SaleId>,
}

impl Deposits {
    pub fn new(store: Store) -> Deposits {
        Deposits { store, backoff: Backoff::new("deposits of a sale") }
    }

    /// Returns every deposit that is due.
    pub async fn step(&self) -> Result<(), StoreError> {
        for sale in self.store.deposits().sales_to_return_deposits().await? {
            if !self.backoff.is_waiting(&sale) {
                self.backoff.record(sale, self.give_back(sale).await.map_err(|error| error.to_string()));
            }
        }
        Ok(())
    }

    async fn give_back(&self, sale: SaleId) -> Result<(), StoreError> {
        let mut total = 0;
        loop {
            let returned = self.store.deposits().give_back(sale).await?;
            total += returned;
            if returned == 0 {
                info!(%sale, deposits = total, "the deposits of a sale were returned");
                return Ok(());
            }
        }
    }
}
