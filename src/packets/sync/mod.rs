//! What data control does to packets in Redis: loads them ahead of time, notices a master that has lost or forgotten
//! some, keeps their definitions in step, and settles those that are over.
//!
//! A claim that was answered is a promise. So a master that is not the process that gave away so far gives nothing more
//! until every server has had time to repeat what it promised; and a packet is settled only when every user whom Redis
//! gave a share is in the books.

mod load;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use super::redis::{LoadedShares, RedisShares};
use crate::clock::Clock;
use crate::domain::Bucket;
use crate::domain::packet::{Packet, Share, ShareClaim};
use crate::domain::{PacketId, UserId};
use crate::metrics::Metrics;
use crate::pipeline::rabbit::Monitor;
use crate::store::{SettleOutcome, Store};

/// Before a lost packet is loaded again, claims that are under way should have reached the database: RabbitMQ has been
/// empty for so long, and so has every consumer's hand. There is no end to the wait: a share given twice could not be
/// made good.
const QUIET_FOR: Duration = Duration::from_millis(1_500);
/// How long every server has to repeat what it promised.
const SETTLE_FOR: Duration = Duration::from_secs(2);
/// A settled packet's keys stay so long, because the crowd asks on for a while. Then they go, and are looked for as long as
/// this.
const CLEARED_AFTER: Duration = Duration::from_secs(60);
const CLEARED_WITHIN: Duration = Duration::from_secs(180);
const CLEAR_EVERY: Duration = Duration::from_secs(5);
/// Packets of one look at Redis.
const LOOK: usize = 200;

/// What data control remembers between its steps; a successor finds it out anew.
#[derive(Default)]
struct Memory {
    /// Packets that the master has lost, and since when nothing waits in RabbitMQ.
    lost: HashMap<PacketId, Instant>,
    /// Packets that may have been forgotten in part, and since when everybody can repeat their promises.
    settling: HashMap<PacketId, Settling>,
    /// Packets of which some users were in no book at the last look.
    astray: HashSet<PacketId>,
    cleared: Option<Instant>,
}

struct Settling {
    since: Instant,
    /// The server processes that promises are repeated to, one for each bucket.
    servers: Vec<String>,
}

pub struct PacketSync {
    shares: RedisShares,
    store: Store,
    monitor: Option<Arc<Monitor>>,
    clock: Clock,
    metrics: Arc<Metrics>,
    memory: Mutex<Memory>,
}

impl PacketSync {
    pub fn new(
        shares: RedisShares,
        store: Store,
        monitor: Option<Arc<Monitor>>,
        clock: Clock,
        metrics: Arc<Metrics>,
    ) -> PacketSync {
        PacketSync { shares, store, monitor, clock, metrics, memory: Mutex::default() }
    }

    /// One step over all packets that are not settled.
    pub async fn step(&self) -> anyhow::Result<()> {
        let mut memory = self.memory.lock().await;
        let packets = self.store.open_packets().await?;
        let open: HashSet<PacketId> = packets.iter().map(|packet| packet.id).collect();
        memory.settling.retain(|id, _| open.contains(id));
        memory.lost.retain(|id, _| open.contains(id));
        memory.astray.retain(|id| open.contains(id));
        for chunk in packets.chunks(LOOK) {
            let buckets: Vec<Bucket> = chunk.iter().flat_map(buckets).collect();
            let mut survey = self.shares.survey(&buckets).await?.into_iter();
            for packet in chunk {
                let of_packet: Vec<Option<LoadedShares>> = survey.by_ref().take(packet.buckets.into()).collect();
                self.tend_packet(packet, of_packet, &mut memory).await?;
            }
        }
        if memory.cleared.is_none_or(|at| at.elapsed() >= CLEAR_EVERY) {
            memory.cleared = Some(Instant::now());
            self.clear_away().await?;
        }
        Ok(())
    }

    async fn tend_packet(
        &self,
        packet: &Packet,
        survey: Vec<Option<LoadedShares>>,
        memory: &mut Memory,
    ) -> anyhow::Result<()> {
        let Some(shelved) = survey.into_iter().collect::<Option<Vec<LoadedShares>>>() else {
            return match packet.epoch {
                0 => self.load(packet, false).await,
                _ => self.recover(packet, memory).await,
            };
        };
        memory.lost.remove(&packet.id);
        let expiry = packet.expires_at.as_millisecond();
        if shelved.iter().any(|bucket| bucket.expires_ms != expiry) {
            self.define(packet, &shelved).await?;
        }
        if shelved.iter().any(|bucket| bucket.granting_server != bucket.current_server) {
            return self.wait_for_promises(packet, &shelved, memory).await;
        }
        let over = self.clock.now() >= packet.expires_at;
        if over || shelved.iter().all(|bucket| bucket.unclaimed == 0) {
            self.wind_up(packet, &shelved, memory).await?;
        }
        Ok(())
    }

    /// A server process that is not the one that gave away so far goes on with it once promises were repeated.
    async fn wait_for_promises(
        &self,
        packet: &Packet,
        shelved: &[LoadedShares],
        memory: &mut Memory,
    ) -> anyhow::Result<()> {
        let servers: Vec<String> = shelved.iter().map(|bucket| bucket.current_server.clone()).collect();
        let settling = memory.settling.entry(packet.id).or_insert_with(|| {
            warn!(packet = %packet.id, "the master may have forgotten claims; closed until they are repeated");
            Settling { since: Instant::now(), servers: servers.clone() }
        });
        if settling.servers != servers {
            *settling = Settling { since: Instant::now(), servers };
        }
        if settling.since.elapsed() < SETTLE_FOR {
            return Ok(());
        }
        self.remind(packet).await?;
        for (bucket, known) in buckets(packet).zip(shelved) {
            self.shares.reopen(bucket, known.epoch, &known.current_server).await?;
        }
        memory.settling.remove(&packet.id);
        info!(packet = %packet.id, "a packet that may have been forgotten in part can be claimed again");
        Ok(())
    }

    async fn recover(&self, packet: &Packet, memory: &mut Memory) -> anyhow::Result<()> {
        let quiet = match &self.monitor {
            Some(monitor) => monitor.depths().await.is_ok_and(|depths| depths.ready == 0),
            None => true,
        };
        if !quiet {
            memory.lost.remove(&packet.id);
        } else if memory.lost.entry(packet.id).or_insert_with(Instant::now).elapsed() >= QUIET_FOR {
            warn!(packet = %packet.id, "the master has lost a packet; loading it again");
            self.load(packet, true).await?;
            memory.lost.remove(&packet.id);
        }
        Ok(())
    }

    /// Tells Redis at once what the database knows about a packet's time.
    pub async fn apply_expiry(&self, packet: &Packet) -> anyhow::Result<()> {
        let all: Vec<Bucket> = buckets(packet).collect();
        let survey = self.shares.survey(&all).await?;
        for (bucket, known) in all.into_iter().zip(survey) {
            if let Some(known) = known {
                self.shares.set_expiry(bucket, known.epoch, packet).await?;
            }
        }
        Ok(())
    }

    async fn define(&self, packet: &Packet, shelved: &[LoadedShares]) -> anyhow::Result<()> {
        for (bucket, known) in buckets(packet).zip(shelved) {
            self.shares.set_expiry(bucket, known.epoch, packet).await?;
        }
        Ok(())
    }

    /// Closes a packet that is empty or over, and settles it once everything that Redis gave away is in the books.
    async fn wind_up(&self, packet: &Packet, shelved: &[LoadedShares], memory: &mut Memory) -> anyhow::Result<()> {
        if shelved.iter().any(|bucket| bucket.open) {
            for (bucket, known) in buckets(packet).zip(shelved) {
                self.shares.close(bucket, known.epoch).await?;
            }
        }
        // Closed by now: what this look sees is final.
        let all: Vec<Bucket> = buckets(packet).collect();
        let Some(closed) = self.shares.survey(&all).await?.into_iter().collect::<Option<Vec<_>>>() else {
            return Ok(());
        };
        let same = closed.iter().zip(shelved).all(|(now, before)| now.epoch == before.epoch && !now.open);
        if !same || closed.iter().any(|bucket| bucket.outbox > 0) {
            return Ok(());
        }
        let Some(present) = self.store.packet(packet.id).await? else { return Ok(()) };
        let given: i64 = closed.iter().map(|bucket| bucket.users).sum();
        if given == present.claimed || self.nobody_is_astray(packet, memory).await? {
            self.settle(&present).await?;
        }
        Ok(())
    }

    async fn settle(&self, packet: &Packet) -> anyhow::Result<()> {
        if let SettleOutcome::Done { returned } =
            self.store.settle_packet(packet.id, packet.claimed, self.clock.now()).await?
        {
            self.metrics.packets_settled.inc();
            info!(packet = %packet.id, claimed = packet.claimed, returned, "settled");
        }
        Ok(())
    }

    /// Packets that were settled a moment ago leave Redis, once nobody looks after their outboxes any more. For a while
    /// this is done again and again, because whoever began it may have died.
    async fn clear_away(&self) -> anyhow::Result<()> {
        let now = self.clock.now();
        for packet in self.store.packets_settled(now - CLEARED_WITHIN, now - CLEARED_AFTER).await? {
            for bucket in buckets(&packet) {
                self.shares.unload(bucket).await?;
            }
        }
        Ok(())
    }

    /// Whether every user whom Redis gave a share has been seen by the database. Those who have not, twice in a row,
    /// are sent on their way again.
    async fn nobody_is_astray(&self, packet: &Packet, memory: &mut Memory) -> anyhow::Result<bool> {
        let at_ms = self.clock.now().as_millisecond();
        let mut nobody = true;
        for bucket in buckets(packet) {
            let astray = self.astray(packet, bucket).await?;
            nobody &= astray.is_empty();
            if !astray.is_empty() && memory.astray.contains(&packet.id) {
                warn!(packet = %packet.id, claims = astray.len(), "claims were on their way nowhere; sending them again");
                self.shares.send_again(bucket, &astray, at_ms).await?;
            }
        }
        match nobody {
            true => memory.astray.remove(&packet.id),
            false => memory.astray.insert(packet.id),
        };
        Ok(nobody)
    }

    /// Users with a share of whom the database has not heard.
    async fn astray(&self, packet: &Packet, bucket: Bucket) -> anyhow::Result<Vec<(UserId, Share)>> {
        let mut astray: HashMap<UserId, Share> = HashMap::new();
        let mut cursor = 0;
        loop {
            let (next, page) = self.shares.users(bucket, cursor).await?;
            let claims: Vec<ShareClaim> = page.iter().map(|(user, share)| packet.claim_of(*user, *share)).collect();
            let landed = self.store.persisted_claims(&claims).await?;
            let missing = claims.iter().filter(|claim| !landed.contains(&claim.key()));
            astray.extend(missing.map(|claim| (claim.user_id, claim.share())));
            if next == 0 {
                return Ok(astray.into_iter().collect());
            }
            cursor = next;
        }
    }

    /// Packets whose claims are still under way, or which Redis does not hold, in words: for the audit.
    pub async fn unfinished(&self) -> anyhow::Result<Vec<String>> {
        let mut found = Vec::new();
        for packet in self.store.open_packets().await? {
            let all: Vec<Bucket> = buckets(&packet).collect();
            let survey = self.shares.survey(&all).await?;
            let Some(shelved) = survey.into_iter().collect::<Option<Vec<LoadedShares>>>() else {
                found.push(format!("packet {} is not loaded", packet.id));
                continue;
            };
            let sum = |of: fn(&LoadedShares) -> i64| shelved.iter().map(of).sum::<i64>();
            let (users, unclaimed, outbox) = (sum(|b| b.users), sum(|b| b.unclaimed), sum(|b| b.outbox));
            let Some(present) = self.store.packet(packet.id).await? else { continue };
            if users + unclaimed != packet.count || users != present.claimed || outbox > 0 {
                found.push(format!(
                    "packet {}: {users} users and {unclaimed} unclaimed shares of {} in Redis, {} claims in the books, \
                     {outbox} entries on their way",
                    packet.id, packet.count, present.claimed
                ));
            }
        }
        Ok(found)
    }
}

fn buckets(packet: &Packet) -> impl Iterator<Item = Bucket> + use<> {
    Bucket::all(packet.id, packet.buckets)
}
