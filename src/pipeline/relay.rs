//! The relay (rung 3): carries reservations from the outboxes to RabbitMQ, and sweeps behind itself. An entry leaves its
//! outbox only once its orders were seen in the database; one that is overdue is published again, so RabbitMQ may lose
//! everything.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use secrecy::SecretString;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::outbox::{self, Entry, Group, Outboxes};
use super::rabbit::{Monitor, Publisher};
use crate::clock::Clock;
use crate::domain::Bucket;
use crate::domain::{OrderId, OrderStatus, OutboxItem, PacketId, UserId};
use crate::metrics::Metrics;
use crate::redis::connection;
use crate::redis::connection::RedisConnection;
use crate::store::{HeldUnits, Store};

/// What RabbitMQ's console calls its connections.
const NAME: &str = "seckill relay";
/// Entries of one read. Each holds up to 256 orders.
const ENTRIES: usize = 64;
/// How long a read waits for something to come; also how soon a new sale's outbox is noticed.
const WAIT: Duration = Duration::from_millis(200);
/// After a failure, before the next try.
const BREATHER: Duration = Duration::from_millis(500);
/// How long confirms are waited for once a stop was asked for. What is not confirmed by then is overdue soon, and published
/// by whoever sweeps next.
const LAST_CONFIRMS: Duration = Duration::from_secs(3);
/// How long nothing is said of a RabbitMQ that takes no messages.
const COMPLAIN_AFTER: Duration = Duration::from_secs(2);
const SWEEP_EVERY: Duration = Duration::from_millis(500);
const SWEEP_LEASE: Duration = Duration::from_secs(5);
/// Entries of one look of the sweep.
const SWEEP_PAGE: usize = 64;
/// An entry whose orders have not reached the database for so long after they were published, is published again, and
/// then ever more rarely.
const OVERDUE_AFTER: Duration = Duration::from_secs(5);
/// While other orders wait in RabbitMQ, these probably wait among them.
const OVERDUE_IN_BACKLOG: Duration = Duration::from_secs(60);

/// What relay and sweep work with.
#[derive(Clone)]
pub struct Relay {
    pub redis_url: SecretString,
    pub amqp_url: SecretString,
    /// The shared connection to the master.
    pub master: RedisConnection,
    pub store: Store,
    pub outboxes: Outboxes,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
    pub monitor: Arc<Monitor>,
    /// Unique among all processes.
    pub member: String,
}

impl Relay {
    /// Passes entries on until it is stopped. Whatever fails is tried again.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        while !stop.is_cancelled() {
            if let Err(error) = self.pass_on(&stop).await {
                warn!(error = format!("{error:#}"), "the relay is interrupted; orders wait in the outbox");
                stop.run_until_cancelled(tokio::time::sleep(BREATHER)).await;
            }
        }
        Ok(())
    }

    async fn pass_on(&self, stop: &CancellationToken) -> anyhow::Result<()> {
        let publisher = Publisher::connect(&self.amqp_url, NAME).await?;
        let mut connection = connection::private(&self.redis_url, WAIT).await?;
        info!("the relay carries orders from the outbox to RabbitMQ");
        while !stop.is_cancelled() {
            self.pass_on_once(&publisher, &mut connection, stop).await?;
        }
        publisher.close().await;
        Ok(())
    }

    /// One read with everything that follows from it. If this process dies in the middle, the sweep of another finds
    /// the entries overdue.
    async fn pass_on_once(
        &self,
        publisher: &Publisher,
        connection: &mut RedisConnection,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        let buckets = self.outboxes.buckets();
        if buckets.is_empty() {
            tokio::time::sleep(WAIT).await;
            return Ok(());
        }
        let entries = outbox::read(connection, (Group::Relay, &self.member), &buckets, ENTRIES, WAIT).await?;
        if entries.is_empty() {
            return Ok(());
        }
        let won: Vec<OutboxItem> = entries.iter().flat_map(|entry| entry.won.iter().flatten()).copied().collect();
        publish(publisher, &won, stop).await?;
        self.metrics.published.inc_by(won.len() as u64);
        for entry in entries.iter().filter(|entry| entry.won.is_none()) {
            outbox::set_aside(connection, entry).await?;
            self.metrics.dead_lettered.inc();
        }
        Ok(outbox::acknowledge(connection, Group::Relay, &entries).await?)
    }

    /// Sweeps until it is stopped; of several relays one at a time.
    pub async fn sweep(self, stop: CancellationToken) -> anyhow::Result<()> {
        let mut tick = tokio::time::interval(SWEEP_EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut patience = Patience::default();
        let mut publisher = None;
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            if let Err(error) = self.sweep_if_mine(&mut patience, &mut publisher, &stop).await {
                warn!(error = format!("{error:#}"), "the outbox could not be swept");
                publisher = None;
            }
        }
        Ok(self.store.give_back("sweep", &self.member).await?)
    }

    async fn sweep_if_mine(
        &self,
        patience: &mut Patience,
        publisher: &mut Option<Publisher>,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        if self.store.lease("sweep", &self.member, self.clock.now(), SWEEP_LEASE).await?.is_none() {
            return Ok(());
        }
        // Who cannot ask RabbitMQ cannot publish either; sweeping goes on.
        patience.backlog = self.monitor.depths().await.is_ok_and(|depths| depths.ready > 0);
        let overdue = self.sweep_once(patience).await?;
        if overdue.is_empty() {
            return Ok(());
        }
        warn!(orders = overdue.len(), "publishing orders again that have not reached the database");
        let publisher = match publisher {
            Some(publisher) => publisher,
            None => publisher.insert(Publisher::connect(&self.amqp_url, NAME).await?),
        };
        publish(publisher, &overdue, stop).await?;
        self.metrics.republished.inc_by(overdue.len() as u64);
        Ok(())
    }

    /// Removes what has arrived; the answer are the orders that are overdue.
    pub async fn sweep_once(&self, patience: &mut Patience) -> anyhow::Result<Vec<OutboxItem>> {
        let mut overdue = Vec::new();
        for bucket in self.outboxes.buckets() {
            self.sweep_bucket(bucket, patience, &mut overdue).await?;
        }
        patience.forget_removed();
        Ok(overdue)
    }

    async fn sweep_bucket(
        &self,
        bucket: Bucket,
        patience: &mut Patience,
        overdue: &mut Vec<OutboxItem>,
    ) -> anyhow::Result<()> {
        let mut master = self.master.clone();
        let last_read = outbox::last_read(&mut master, Group::Relay, bucket).await?;
        let mut after: Option<String> = None;
        loop {
            let mut page = outbox::oldest(&mut master, bucket, after.as_deref(), SWEEP_PAGE).await?;
            // What the relay has not come to cannot have arrived and is not late.
            page.retain(|entry| entry.is_read(last_read));
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.id.clone());
            let (arrived, missing) = self.sort(page).await?;
            outbox::remove(&mut master, &arrived).await?;
            let late = missing.iter().filter(|entry| patience.is_over(entry));
            overdue.extend(late.flat_map(|entry| entry.won.iter().flatten()).copied());
        }
    }

    /// Entries whose orders are all in the database, and the others. An entry's orders travel together: until the last of
    /// them has come, nobody asks about the others.
    async fn sort(&self, page: Vec<Entry>) -> anyhow::Result<(Vec<Entry>, Vec<Entry>)> {
        let last = |entry: &Entry| entry.won.as_ref().and_then(|won| won.last().copied());
        let come = self.landed(&page.iter().filter_map(last).collect::<Vec<_>>()).await?;
        let (coming, mut missing): (Vec<Entry>, Vec<Entry>) =
            page.into_iter().partition(|entry| last(entry).is_some_and(|won| come.has(&won)));
        let won: Vec<OutboxItem> = coming.iter().flat_map(|entry| entry.won.iter().flatten()).copied().collect();
        let landed = self.landed(&won).await?;
        // A hold that was granted again for an order that has ended meanwhile would be held for ever.
        let (orders, _) = OutboxItem::apart(&won);
        let ended = orders.iter().filter(|r| landed.statuses.get(&r.order_id).is_some_and(|status| !status.is_live()));
        let ended: Vec<HeldUnits> = ended.map(HeldUnits::of).collect();
        if !ended.is_empty() {
            self.store.release_again(&ended).await?;
        }
        let is_whole = |entry: &Entry| entry.won.iter().flatten().all(|won| landed.has(won));
        let (arrived, mut partly): (Vec<Entry>, Vec<Entry>) = coming.into_iter().partition(is_whole);
        missing.append(&mut partly);
        Ok((arrived, missing))
    }

    /// Which of these are in the database.
    async fn landed(&self, won: &[OutboxItem]) -> anyhow::Result<Landed> {
        let (orders, claims) = OutboxItem::apart(won);
        let ids: Vec<OrderId> = orders.iter().map(|r| r.order_id).collect();
        let claims = self.store.claims_landed(&claims).await?;
        Ok(Landed { statuses: self.store.statuses(&ids).await?, claims })
    }
}

/// Publishes, but not for long after a stop was asked for.
async fn publish(publisher: &Publisher, won: &[OutboxItem], stop: &CancellationToken) -> anyhow::Result<()> {
    let too_late = async {
        stop.cancelled().await;
        tokio::time::sleep(LAST_CONFIRMS).await;
    };
    let complaint = async {
        tokio::time::sleep(COMPLAIN_AFTER).await;
        if publisher.is_blocked() {
            warn!(orders = won.len(), "RabbitMQ takes no messages: it is short of memory or disk; orders wait");
        }
        std::future::pending().await
    };
    tokio::select! {
        published = publisher.publish(won) => published,
        () = too_late => bail!("RabbitMQ has not confirmed {} orders before the stop", won.len()),
        never = complaint => never,
    }
}

/// What has reached the database.
struct Landed {
    statuses: HashMap<OrderId, OrderStatus>,
    claims: HashSet<(PacketId, i64, UserId)>,
}

impl Landed {
    fn has(&self, won: &OutboxItem) -> bool {
        match won {
            OutboxItem::Order(order) => self.statuses.contains_key(&order.order_id),
            OutboxItem::Share(claim) => self.claims.contains(&claim.key()),
        }
    }
}

/// When each missing entry is to be published again.
#[derive(Default)]
pub struct Patience {
    entries: HashMap<(Bucket, String), Waiting>,
    /// Whether other orders wait in RabbitMQ.
    backlog: bool,
}

struct Waiting {
    /// When it was seen first, or published again.
    since: Instant,
    /// Twice as long after every time.
    factor: u32,
    seen: bool,
}

impl Patience {
    fn is_over(&mut self, entry: &Entry) -> bool {
        let first = || Waiting { since: Instant::now(), factor: 1, seen: true };
        let waiting = self.entries.entry((entry.bucket, entry.id.clone())).or_insert_with(first);
        waiting.seen = true;
        let patience = if self.backlog { OVERDUE_IN_BACKLOG } else { OVERDUE_AFTER };
        let over = waiting.since.elapsed() >= patience * waiting.factor;
        if over {
            waiting.since = Instant::now();
            waiting.factor = (waiting.factor * 2).min(64);
        }
        over
    }

    fn forget_removed(&mut self) {
        self.entries.retain(|_, waiting| std::mem::take(&mut waiting.seen));
    }
}
