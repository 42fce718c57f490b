//! The schedule: sales open and close at their times, by the database's clock. If a sale fails, because its row is
//! locked or for any other reason, it is tried again later and delays no other sale. Deposits are returned after the end.

use std::sync::Arc;
use std::time::Duration;

use boxed::boxed;
use futures::StreamExt;
use tracing::{info, warn};

use crate::stock_sync;
use base::periodic::Backoff;
use domain::SaleId;
use engine::stock::Stock;
use store::{SaleRefusal, Store, StoreResult};

/// How many sales change state at the same time. Further sales wait until one of their transactions ends.
const CONCURRENCY: usize = 4;

pub struct Schedule {
    store: Store,
    stock: Arc<dyn Stock>,
    backoff: Backoff<SaleId>,
}

#[boxed]
impl Schedule {
    pub fn new(store: Store, stock: Arc<dyn Stock>) -> Schedule {
        Schedule { store, stock, backoff: Backoff::new("schedule of a sale") }
    }

    /// Opens and closes what is due. Waits for an opening within `ahead`, so that it is met to the millisecond.
    pub async fn step(&self, ahead: Duration) -> StoreResult<()> {
        self.open_and_close().await?;
        if let Some(wait) =
            self.store.sales().time_to_next_opening().await?.filter(|wait| !wait.is_zero() && *wait < ahead)
        {
            tokio::time::sleep(wait).await;
            self.open_and_close().await?;
        }
        Ok(())
    }

    async fn open_and_close(&self) -> StoreResult<()> {
        let mut due = self.store.sales().due().await?;
        due.retain(|sale| !self.backoff.is_waiting(sale));
        let moves = futures::stream::iter(due).for_each_concurrent(CONCURRENCY, |sale| async move {
            self.backoff.record(sale, self.open_or_close(sale).await);
        });
        moves.await;
        Ok(())
    }

    async fn open_or_close(&self, id: SaleId) -> StoreResult<()> {
        let sale = match self.store.sales().follow_schedule(id).await {
            Ok(Some(sale)) => sale,
            Err(SaleRefusal::Store(error)) => return Err(error),
            // Staff changed the sale after it was read.
            Ok(None) | Err(_) => return Ok(()),
        };
        info!(sale = %id, state = %sale.state, "a sale changed state by its schedule");
        if !sale.mode.is_draw()
            && let Some(error) = self.stock.define(&sale).await.failure
        {
            warn!(sale = %id, %error, "cannot pass a change on to every part of the stock; stock sync will");
        }
        Ok(())
    }
}

// Steps of data control that only the database needs.

/// Retires sales that are over, where the database keeps the stock.
#[boxed]
pub async fn retire_sales(store: Store) -> StoreResult<()> {
    let now = store.now().await?;
    for sale in store.sales().retirable_sales(now - stock_sync::RETIRE_AFTER).await? {
        store.sales().retire(sale, now).await?;
    }
    Ok(())
}

/// Writes the notices of sales that start soon and of payments that end soon, in bounded transactions.
#[boxed]
pub async fn write_notices(store: Store) -> StoreResult<()> {
    for sale in store.reminders().sales_about_to_start().await? {
        while store.reminders().tell_of_start(sale).await? {}
    }
    while store.reminders().tell_of_payment_end().await? {}
    Ok(())
}

/// Deletes rows that nothing needs any more, a bounded number at a time.
#[boxed]
pub async fn purge(store: Store) -> StoreResult<()> {
    while store.idempotency().purge_answers().await? {}
    while store.payments().purge_webhooks().await? {}
    while store.payments().purge_sandbox().await? {}
    while store.payments().purge_payments().await? {}
    while store.payments().purge_bill_lines().await? {}
    while store.security_events().purge().await? {}
    while store.orders().purge_order_changes().await? {}
    while store.mail().purge().await? {}
    while store.events().purge().await? {}
    while store.fronts().purge().await? {}
    while store.decisions().purge().await? {}
    while store.reminders().purge().await? {}
    while store.eligibility().purge_groups().await? {}
    while store.linked_accounts().purge_links().await? {}
    Ok(())
}

/// Sums up the days that are over, one after the other.
#[boxed]
pub async fn close_books(store: Store) -> StoreResult<()> {
    while store.books().close().await? {}
    Ok(())
}

// Deposits of sales that are over, or drafts again, go back to their wallets.
//
// A step may be interrupted anywhere and repeated: each deposit is returned once, in its transaction. If a sale fails,
// it is tried again at growing intervals and delays no other sale.

pub struct Deposits {
    store: Store,
    backoff: Backoff<SaleId>,
}

#[boxed]
impl Deposits {
    pub fn new(store: Store) -> Deposits {
        Deposits { store, backoff: Backoff::new("deposits of a sale") }
    }

    /// Returns every deposit that is due.
    pub async fn step(&self) -> StoreResult<()> {
        let due = self.store.deposits().sales_to_return_deposits().await?;
        for sale in due.into_iter().filter(|sale| !self.backoff.is_waiting(sale)) {
            self.backoff.record(sale, self.give_back(sale).await);
        }
        Ok(())
    }

    async fn give_back(&self, sale: SaleId) -> StoreResult<()> {
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
