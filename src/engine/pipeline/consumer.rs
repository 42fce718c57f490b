//! The consumer: takes orders, and claims on shares of packets, from a source, has them persisted, and acknowledges
//! them after the commit. If one sale can't be written (a lock, for instance), its deliveries wait; other sales are not
//! delayed.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use boxed::boxed;
use futures::StreamExt;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::source::{Delivery, OrderSource, Origin};
use base::metrics::Metrics;
use base::periodic::{Backoff, RETRY_DELAY, restart_on_error};
use domain::bucket::Owner;
use domain::packet::ShareClaim;
use domain::{OutboxItem, Reservation};
use store::{HeldUnits, PersistedClaim, PersistedOrder, Store, StoreError, StoreResult};

/// Orders that make a batch full: four large outbox entries. The last message of a batch may exceed it by 255.
const MAX_BATCH: usize = 1024;
/// Pause after messages were republished, so that a locked sale does not keep the consumer in a tight loop.
const PUT_BACK_PAUSE: Duration = Duration::from_millis(200);
/// How long deliveries are held while the database fails. After that they return to the source, which may deliver them to a
/// consumer with a working connection. RabbitMQ ends consumers that hold messages for half an hour.
const MAX_HOLD_TIME: Duration = Duration::from_secs(60);

/// Moves orders from a source to the database.
pub struct Consumer {
    pub origin: Origin,
    pub store: Store,
    pub persister: Persister,
    pub metrics: Arc<Metrics>,
}

#[boxed]
impl Consumer {
    /// Consumes until `stop` is cancelled. After a failure it connects again; the orders wait at the source.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        restart_on_error(&stop, "consumer", || self.consume(&stop)).await;
        Ok(())
    }

    async fn consume(&self, stop: &CancellationToken) -> anyhow::Result<()> {
        // Deliveries are taken only while the database answers.
        self.store.ping().await?;
        let mut source = self.origin.open().await?;
        info!("the consumer persists orders in the database");
        let mut held = Vec::new();
        let mut outcome = Ok(());
        while outcome.is_ok() && !stop.is_cancelled() {
            outcome = self.step(source.as_mut(), &mut held, stop).await;
        }
        source.close().await;
        outcome
    }

    /// One batch, from its delivery to its acknowledgement. `held` are deliveries of earlier steps whose sale could not
    /// be written.
    async fn step(
        &self,
        source: &mut dyn OrderSource,
        held: &mut Vec<Delivery>,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        let mut deliveries = source.next(MAX_BATCH).await?;
        // The outbox redelivers an entry that was not finished for a while, so it may be in `held` too.
        held.retain(|held| deliveries.iter().all(|delivery| delivery.tag != held.tag));
        deliveries.append(held);
        let items: Vec<OutboxItem> =
            deliveries.iter().flat_map(|delivery| delivery.items.iter().flatten()).copied().collect();
        let mut outcome = Persisted::default();
        if !items.is_empty() {
            outcome = self.persist_with_retries(&items, stop).await?;
        }
        let Persisted { invalid, postponed } = outcome;
        let is_postponed = |delivery: &Delivery| {
            delivery.items.iter().flatten().any(|item: &OutboxItem| postponed.contains(&item.owner()))
        };
        (*held, deliveries) = deliveries.into_iter().partition(is_postponed);
        let mut persisted = Vec::with_capacity(deliveries.len());
        for delivery in deliveries {
            let refused: Vec<OutboxItem> =
                delivery.items.iter().flatten().filter(|item| invalid.contains(item)).copied().collect();
            if delivery.items.is_ok() && refused.is_empty() {
                persisted.push(delivery);
                continue;
            }
            let (tag, orders) = (&delivery.tag, refused.len());
            match &delivery.items {
                Ok(_) => error!(%tag, orders, "the database refuses orders of a delivery; they become dead letters"),
                Err(reason) => error!(%tag, reason, "a delivery cannot be read; it becomes a dead letter"),
            }
            source.set_aside(&delivery, &refused).await?;
            self.metrics.dead_lettered.inc_by(refused.len().max(1) as u64);
        }
        source.finish(&persisted).await?;
        if source.put_back(held).await? {
            stop.run_until_cancelled(tokio::time::sleep(PUT_BACK_PAUSE)).await;
        }
        Ok(())
    }

    /// Retries while the database fails.
    async fn persist_with_retries(&self, items: &[OutboxItem], stop: &CancellationToken) -> anyhow::Result<Persisted> {
        let started = Instant::now();
        loop {
            match self.persister.persist(items).await {
                Ok(persisted) => return Ok(persisted),
                Err(error) if stop.is_cancelled() || started.elapsed() > MAX_HOLD_TIME => return Err(error.into()),
                Err(error) => {
                    warn!(%error, orders = items.len(), "the database does not take orders; trying again");
                    stop.run_until_cancelled(tokio::time::sleep(RETRY_DELAY)).await;
                }
            }
        }
    }
}

// Persists items: one transaction for a whole batch. If that fails because of one sale or packet, each is tried on its
// own.
//
// A frozen process, or an operator's session, may hold the lock on one sale. Persisting does not wait for it: the
// sale's orders are postponed, and other sales are not delayed. As long as a sale's attempts fail, its orders stay out
// of the common transaction.

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

#[boxed]
impl Persister {
    pub fn new(store: Store, payment_window: Duration, metrics: Arc<Metrics>) -> Persister {
        Persister { store, payment_window, metrics, backoff: Backoff::new("orders of a sale") }
    }

    /// Persists a batch. Idempotent.
    ///
    /// # Errors
    /// The database does not work. Persist the batch again.
    pub async fn persist(&self, items: &[OutboxItem]) -> StoreResult<Persisted> {
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
    async fn persist_each_owner(&self, items: &[OutboxItem]) -> StoreResult<Persisted> {
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

    async fn persist_owner(&self, items: &[OutboxItem]) -> StoreResult<Vec<OutboxItem>> {
        match self.persist_batch(items).await {
            Err(error) if error.blames_the_data() => {
                warn!(%error, orders = items.len(), "the database refused a batch; trying its orders one by one");
                self.persist_singly(items).await
            }
            outcome => outcome,
        }
    }

    async fn persist_singly(&self, items: &[OutboxItem]) -> StoreResult<Vec<OutboxItem>> {
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

    async fn persist_batch(&self, items: &[OutboxItem]) -> StoreResult<Vec<OutboxItem>> {
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

    async fn persist_claims(&self, claims: &[ShareClaim]) -> StoreResult<Vec<OutboxItem>> {
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

    async fn persist_orders(&self, orders: &[Reservation]) -> StoreResult<Vec<OutboxItem>> {
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
