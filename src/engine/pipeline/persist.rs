//! Persists items: one transaction for a whole batch. If that fails because of one sale or packet, each is tried on its
//! own.
//!
//! A frozen process, or an operator's session, may hold the lock on one sale. Persisting does not wait for it: the
//! sale's orders are postponed, and other sales are not delayed. As long as a sale's attempts fail, its orders stay out
//! of the common transaction.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use tracing::{error, info, warn};

use base::metrics::Metrics;
use base::periodic::Backoff;
use domain::bucket::Owner;
use domain::packet::ShareClaim;
use domain::{OutboxItem, Reservation};
use store::{HeldUnits, PersistedClaim, PersistedOrder, Store, StoreError};

/// Sales and packets that are persisted on their own at the same time.
const CONCURRENCY: usize = 4;

/// Writes items to the database.
pub struct Persister {
    store: Store,
    payment_window: Duration,
    metrics: Arc<Metrics>,
    backoff: Backoff<Owner>,
}

/// The items of a batch that are not in the database after persisting it.
#[derive(Debug, Default)]
pub struct Persisted {
    /// Items that can never be persisted.
    pub invalid: Vec<OutboxItem>,
    /// Sales and packets whose items must be persisted later.
    pub postponed: HashSet<Owner>,
}

impl Persister {
    pub fn new(store: Store, payment_window: Duration, metrics: Arc<Metrics>) -> Persister {
        Persister { store, payment_window, metrics, backoff: Backoff::new("orders of a sale") }
    }

    /// Persists a batch. Idempotent.
    ///
    /// # Errors
    /// The database does not work. Persist the batch again.
    pub async fn persist(&self, items: &[OutboxItem]) -> Result<Persisted, StoreError> {
        let (alone, common): (Vec<OutboxItem>, Vec<OutboxItem>) =
            items.iter().partition(|item| self.backoff.is_failing(&item.owner()));
        let mut persisted = self.persist_each_owner(&alone).await?;
        if common.is_empty() {
            return Ok(persisted);
        }
        match self.persist_batch(&common).await {
            Ok(mut invalid) => persisted.invalid.append(&mut invalid),
            Err(error) if error.blames_the_data() || error.blames_a_lock() => {
                warn!(%error, orders = common.len(), "a batch was not persisted; trying each sale on its own");
                let Persisted { mut invalid, postponed } = self.persist_each_owner(&common).await?;
                persisted.invalid.append(&mut invalid);
                persisted.postponed.extend(postponed);
            }
            Err(error) => return Err(error),
        }
        Ok(persisted)
    }

    /// Persists the items of each sale and packet on their own. A sale or packet whose next attempt is not due is
    /// postponed.
    async fn persist_each_owner(&self, items: &[OutboxItem]) -> Result<Persisted, StoreError> {
        let mut by_owner: BTreeMap<Owner, Vec<OutboxItem>> = BTreeMap::new();
        for item in items {
            by_owner.entry(item.owner()).or_default().push(*item);
        }
        let attempts = by_owner.into_iter().map(|(owner, items)| async move {
            match self.backoff.is_waiting(&owner) {
                true => (owner, None),
                false => (owner, Some(self.persist_owner(&items).await)),
            }
        });
        let outcomes: Vec<_> = futures::stream::iter(attempts).buffer_unordered(CONCURRENCY).collect().await;
        let mut persisted = Persisted::default();
        for (owner, outcome) in outcomes {
            match outcome {
                Some(Ok(mut invalid)) => {
                    self.backoff.record(owner, Ok::<(), StoreError>(()));
                    persisted.invalid.append(&mut invalid);
                }
                Some(Err(error)) if !error.blames_a_lock() => return Err(error),
                Some(Err(error)) => {
                    self.backoff.record(owner, Err(error));
                    persisted.postponed.insert(owner);
                }
                None => drop(persisted.postponed.insert(owner)),
            }
        }
        Ok(persisted)
    }

    async fn persist_owner(&self, items: &[OutboxItem]) -> Result<Vec<OutboxItem>, StoreError> {
        match self.persist_batch(items).await {
            Err(error) if error.blames_the_data() => {
                warn!(%error, orders = items.len(), "the database refused a batch; trying its orders one by one");
                self.persist_singly(items).await
            }
            outcome => outcome,
        }
    }

    async fn persist_singly(&self, items: &[OutboxItem]) -> Result<Vec<OutboxItem>, StoreError> {
        let mut invalid = Vec::new();
        for item in items {
            match self.persist_batch(std::slice::from_ref(item)).await {
                Ok(mut found) => invalid.append(&mut found),
                Err(error) if error.blames_the_data() => {
                    match item {
                        OutboxItem::Order(Reservation { order_id: order, sale_id: sale, .. }) => {
                            error!(%order, %sale, %error, "the database refuses an order; it becomes a dead letter");
                        }
                        OutboxItem::Share(ShareClaim { packet_id: packet, user_id: user, share, .. }) => {
                            error!(%packet, %user, share, %error, "the database refuses a claim; it becomes a dead letter");
                        }
                    }
                    invalid.push(*item);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(invalid)
    }

    async fn persist_batch(&self, items: &[OutboxItem]) -> Result<Vec<OutboxItem>, StoreError> {
        let started = Instant::now();
        let (orders, claims) = OutboxItem::partition(items);
        let mut invalid = Vec::new();
        if !orders.is_empty() {
            invalid = self.persist_orders(&orders).await?;
        }
        if !claims.is_empty() {
            invalid.append(&mut self.persist_claims(&claims).await?);
        }
        self.metrics.persist_size.observe(items.len() as f64);
        self.metrics.persist_seconds.observe(started.elapsed().as_secs_f64());
        Ok(invalid)
    }

    async fn persist_claims(&self, claims: &[ShareClaim]) -> Result<Vec<OutboxItem>, StoreError> {
        let outcomes = self.store.packets().persist_claims(claims).await?;
        let mut invalid = Vec::new();
        for (claim, outcome) in claims.iter().zip(outcomes) {
            match outcome {
                PersistedClaim::Created => {
                    self.metrics.claims_persisted.inc();
                }
                PersistedClaim::Known => {}
                PersistedClaim::Rejected => {
                    self.metrics.claims_rejected.inc();
                    error!(packet = %claim.packet_id, user = %claim.user_id, share = claim.share, "rejected a claim");
                }
                PersistedClaim::NoSuchPacket => invalid.push(OutboxItem::Share(*claim)),
            }
        }
        Ok(invalid)
    }

    async fn persist_orders(&self, orders: &[Reservation]) -> Result<Vec<OutboxItem>, StoreError> {
        let outcomes = self.store.orders().persist_orders(orders, self.payment_window).await?;
        let mut invalid = Vec::new();
        let mut ended = Vec::new();
        for (order, outcome) in orders.iter().zip(outcomes) {
            match outcome {
                PersistedOrder::Created => {
                    self.metrics.persisted.inc();
                }
                PersistedOrder::Known(status) if status.is_live() => {}
                // The order has ended, but a replayed grant may have taken its units again, so they are released once
                // more.
                PersistedOrder::Known(_) => ended.push(HeldUnits::of(order)),
                PersistedOrder::Rejected => {
                    self.metrics.rejected.inc();
                    info!(order = %order.order_id, sale = %order.sale_id, "rejected an order: the sale has no units left");
                }
                PersistedOrder::NoSuchSale => invalid.push(OutboxItem::Order(*order)),
            }
        }
        if !ended.is_empty() {
            self.store.orders().request_releases(&ended).await?;
        }
        Ok(invalid)
    }
}
