//! The consumer: brings orders, and claims on shares of packets, to the database, a batch per transaction, and only then
//! lets go of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::source::{Delivery, OrderSource, Origin};
use crate::clock::Clock;
use crate::domain::packet::ShareClaim;
use crate::domain::{OutboxItem, Reservation};
use crate::metrics::Metrics;
use crate::store::{ClaimLanding, HeldUnits, Landing, Store, StoreError};

/// Orders of one transaction.
const BATCH: usize = 500;
/// After a failure, before the next try.
const BREATHER: Duration = Duration::from_millis(500);
/// How long deliveries are held while the database takes none. Then they go back to the source, which may give them to a
/// consumer that can reach it; RabbitMQ ends consumers that hold on for half an hour.
const HOLD_ON_FOR: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub struct Consumer {
    pub origin: Origin,
    pub store: Store,
    pub clock: Clock,
    pub payment_window: Duration,
    pub metrics: Arc<Metrics>,
}

impl Consumer {
    /// Consumes until it is stopped. Whatever fails is tried again.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        while !stop.is_cancelled() {
            if let Err(error) = self.consume(&stop).await {
                warn!(error = format!("{error:#}"), "the consumer is interrupted; orders wait");
                stop.run_until_cancelled(tokio::time::sleep(BREATHER)).await;
            }
        }
        Ok(())
    }

    async fn consume(&self, stop: &CancellationToken) -> anyhow::Result<()> {
        // Deliveries are only taken when they can be written.
        self.store.ping().await?;
        let mut source = self.origin.open().await?;
        info!("the consumer brings orders to the database");
        let mut worked = Ok(());
        while worked.is_ok() && !stop.is_cancelled() {
            worked = self.step(source.as_mut(), stop).await;
        }
        source.close().await;
        worked
    }

    /// One batch, from its delivery to its acknowledgement.
    pub async fn step(&self, source: &mut dyn OrderSource, stop: &CancellationToken) -> anyhow::Result<()> {
        let mut deliveries = source.next(BATCH).await?;
        let won: Vec<OutboxItem> =
            deliveries.iter().flat_map(|delivery| delivery.won.iter().flatten()).copied().collect();
        let mut senseless = Vec::new();
        if !won.is_empty() {
            senseless = self.land_patiently(&won, stop).await?;
        }
        let makes_sense = |delivery: &Delivery| match &delivery.won {
            Some(all) => !all.iter().any(|won| senseless.contains(won)),
            None => false,
        };
        for delivery in deliveries.iter().filter(|delivery| !makes_sense(delivery)) {
            error!(tag = ?delivery.tag, "a delivery makes no sense; set aside as a dead letter");
            source.set_aside(delivery).await?;
            self.metrics.dead_lettered.inc();
        }
        deliveries.retain(makes_sense);
        source.finish(&deliveries).await
    }

    /// Waits for a database that is away, or takes nothing for reasons of its own. The answer is what can never be written.
    async fn land_patiently(&self, won: &[OutboxItem], stop: &CancellationToken) -> anyhow::Result<Vec<OutboxItem>> {
        let started = Instant::now();
        loop {
            match self.land(won).await {
                Ok(senseless) => return Ok(senseless),
                Err(error) if stop.is_cancelled() || started.elapsed() > HOLD_ON_FOR => return Err(error.into()),
                Err(error) => {
                    warn!(%error, orders = won.len(), "the database does not take orders; holding them");
                    stop.run_until_cancelled(tokio::time::sleep(BREATHER)).await;
                }
            }
        }
    }

    async fn land(&self, won: &[OutboxItem]) -> Result<Vec<OutboxItem>, StoreError> {
        match self.land_batch(won).await {
            Err(error) if error.blames_the_data() => {
                warn!(%error, orders = won.len(), "the database refused a batch; trying its orders one by one");
                self.land_singly(won).await
            }
            landed => landed,
        }
    }

    async fn land_singly(&self, all: &[OutboxItem]) -> Result<Vec<OutboxItem>, StoreError> {
        let mut senseless = Vec::new();
        for won in all {
            match self.land_batch(std::slice::from_ref(won)).await {
                Ok(mut found) => senseless.append(&mut found),
                Err(error) if error.blames_the_data() => {
                    error!(?won, %error, "the database refuses this for good");
                    senseless.push(*won);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(senseless)
    }

    async fn land_batch(&self, won: &[OutboxItem]) -> Result<Vec<OutboxItem>, StoreError> {
        let started = Instant::now();
        let (orders, claims) = OutboxItem::apart(won);
        let mut senseless = Vec::new();
        if !orders.is_empty() {
            senseless = self.land_orders(&orders).await?;
        }
        if !claims.is_empty() {
            senseless.append(&mut self.land_claims(&claims).await?);
        }
        self.metrics.persist_size.observe(won.len() as f64);
        self.metrics.persist_seconds.observe(started.elapsed().as_secs_f64());
        Ok(senseless)
    }

    async fn land_claims(&self, claims: &[ShareClaim]) -> Result<Vec<OutboxItem>, StoreError> {
        let landings = self.store.land_claims(claims, self.clock.now()).await?;
        let mut senseless = Vec::new();
        for (claim, landing) in claims.iter().zip(landings) {
            match landing {
                ClaimLanding::Created => {
                    self.metrics.claims_persisted.inc();
                }
                ClaimLanding::Known => {}
                ClaimLanding::Rejected => {
                    self.metrics.claims_rejected.inc();
                    error!(packet = %claim.packet_id, user = %claim.user_id, share = claim.share, "rejected a claim");
                }
                ClaimLanding::NoSuchPacket => senseless.push(OutboxItem::Share(*claim)),
            }
        }
        Ok(senseless)
    }

    async fn land_orders(&self, orders: &[Reservation]) -> Result<Vec<OutboxItem>, StoreError> {
        let now = self.clock.now();
        let landings = self.store.land(orders, now, now + self.payment_window).await?;
        let mut senseless = Vec::new();
        let mut ended = Vec::new();
        for (order, landing) in orders.iter().zip(landings) {
            match landing {
                Landing::Created => {
                    self.metrics.persisted.inc();
                }
                Landing::Known(status) if status.is_live() => {}
                // Whoever brought it again may have taken its units again too.
                Landing::Known(_) => ended.push(HeldUnits::of(order)),
                Landing::Rejected => {
                    self.metrics.rejected.inc();
                    info!(order = %order.order_id, sale = %order.sale_id, "rejected: it did not fit any more");
                }
                Landing::NoSuchSale => senseless.push(OutboxItem::Order(*order)),
            }
        }
        if !ended.is_empty() {
            self.store.release_again(&ended).await?;
        }
        Ok(senseless)
    }
}
