//! The consumer: takes orders, and claims on shares of packets, from a source, has them persisted, and acknowledges
//! them after the commit. If one sale can't be written (a lock, for instance), its deliveries wait; other sales are not
//! delayed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::persist::{Persisted, Persister};
use super::source::{Delivery, OrderSource, Origin};
use base::metrics::Metrics;
use base::periodic::restart_on_error;
use domain::OutboxItem;
use store::Store;

/// Orders that make a batch full: four large outbox entries. The last message of a batch may exceed it by 255.
const MAX_BATCH: usize = 1024;
/// Delay before the next attempt after a failure.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// Deliveries that the consumer holds for sales that can't be written. Further ones stay at the source, which delivers
/// them again later.
const MAX_HELD: usize = 1000;
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
        held.truncate(MAX_HELD);
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
        source.finish(&persisted).await
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
