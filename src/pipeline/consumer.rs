//! The consumer: persists orders, and claims on shares of packets, one batch per transaction, and acknowledges them after the
//! commit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::source::{OrderSource, Origin};
use crate::clock::Clock;
use crate::domain::packet::ShareClaim;
use crate::domain::{OutboxItem, Reservation};
use crate::metrics::Metrics;
use crate::periodic::restart_on_error;
use crate::store::{HeldUnits, PersistedClaim, PersistedOrder, Store, StoreError};

/// Orders that make a batch full: two large outbox entries. The last message of a batch may exceed it by 255.
const MAX_BATCH: usize = 512;
/// Delay before the next attempt after a failure.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// How long deliveries are held while the database fails. After that they return to the source, which may deliver them to a
/// consumer with a working connection. RabbitMQ ends consumers that hold messages for half an hour.
const MAX_HOLD_TIME: Duration = Duration::from_secs(60);

/// Moves orders from a source to the database.
pub struct Consumer {
    pub origin: Origin,
    pub store: Store,
    pub clock: Clock,
    pub payment_window: Duration,
    pub metrics: Arc<Metrics>,
}

impl Consumer {
    /// Consumes until `stop` is cancelled. After a failure it connects again; the orders wait at the source.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        restart_on_error(RETRY_DELAY, &stop, "consumer", || self.consume(&stop)).await;
        Ok(())
    }

    async fn consume(&self, stop: &CancellationToken) -> anyhow::Result<()> {
        // Deliveries are taken only while the database answers.
        self.store.ping().await?;
        let mut source = self.origin.open().await?;
        info!("the consumer persists orders in the database");
        let mut outcome = Ok(());
        while outcome.is_ok() && !stop.is_cancelled() {
            outcome = self.step(source.as_mut(), stop).await;
        }
        source.close().await;
        outcome
    }

    /// One batch, from its delivery to its acknowledgement.
    pub async fn step(&self, source: &mut dyn OrderSource, stop: &CancellationToken) -> anyhow::Result<()> {
        let deliveries = source.next(MAX_BATCH).await?;
        let items: Vec<OutboxItem> =
            deliveries.iter().flat_map(|delivery| delivery.items.iter().flatten()).copied().collect();
        let mut invalid = Vec::new();
        if !items.is_empty() {
            invalid = self.persist_with_retries(&items, stop).await?;
        }
        let mut persisted = Vec::with_capacity(deliveries.len());
        for delivery in deliveries {
            let refused: Vec<OutboxItem> =
                delivery.items.iter().flatten().filter(|item| invalid.contains(item)).copied().collect();
            if delivery.items.is_some() && refused.is_empty() {
                persisted.push(delivery);
                continue;
            }
            let orders = delivery.items.as_ref().map(Vec::len);
            error!(tag = ?delivery.tag, orders, refused = refused.len(), "delivery is invalid; moved to the dead letters");
            source.set_aside(&delivery, &refused).await?;
            self.metrics.dead_lettered.inc_by(refused.len().max(1) as u64);
        }
        source.finish(&persisted).await
    }

    /// Retries while the database fails for reasons other than the data. Returns the items that can never be persisted.
    async fn persist_with_retries(
        &self,
        items: &[OutboxItem],
        stop: &CancellationToken,
    ) -> anyhow::Result<Vec<OutboxItem>> {
        let started = Instant::now();
        loop {
            match self.persist(items).await {
                Ok(invalid) => return Ok(invalid),
                Err(error) if stop.is_cancelled() || started.elapsed() > MAX_HOLD_TIME => return Err(error.into()),
                Err(error) => {
                    warn!(%error, orders = items.len(), "the database does not take orders; trying again");
                    stop.run_until_cancelled(tokio::time::sleep(RETRY_DELAY)).await;
                }
            }
        }
    }

    async fn persist(&self, items: &[OutboxItem]) -> Result<Vec<OutboxItem>, StoreError> {
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
                    error!(?item, %error, "the database refuses the item; it becomes a dead letter");
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
        let outcomes = self.store.persist_claims(claims, self.clock.now()).await?;
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
        let now = self.clock.now();
        let outcomes = self.store.persist_orders(orders, now, now + self.payment_window).await?;
        let mut invalid = Vec::new();
        let mut ended = Vec::new();
        for (order, outcome) in orders.iter().zip(outcomes) {
            match outcome {
                PersistedOrder::Created => {
                    self.metrics.persisted.inc();
                }
                PersistedOrder::Known(status) if status.is_live() => {}
                // The order has ended, but a replayed grant may have taken its units again.
                PersistedOrder::Known(_) => ended.push(HeldUnits::of(order)),
                PersistedOrder::Rejected => {
                    self.metrics.rejected.inc();
                    info!(order = %order.order_id, sale = %order.sale_id, "rejected an order: the sale has no units left");
                }
                PersistedOrder::NoSuchSale => invalid.push(OutboxItem::Order(*order)),
            }
        }
        if !ended.is_empty() {
            self.store.request_releases(&ended).await?;
        }
        Ok(invalid)
    }
}
