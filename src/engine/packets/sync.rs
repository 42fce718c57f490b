//! Packet sync: makes Redis agree with the database about packets. It loads packets ahead of time, recovers lost keys,
//! passes on changes of the expiry, and settles packets that are empty or over.
//!
//! A claim that was answered must stay valid. So a Redis process other than the one that granted shares so far grants
//! none until grants have been replayed to it ([`crate::pipeline::recovery`]), and a packet is settled only when the
//! database has every claim.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use boxed::boxed;
use futures::future::join_all;
use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use super::redis::{LoadedShares, RedisShares, Staged};
use crate::batching::Reply;
use crate::pipeline::outbox;
use crate::pipeline::rabbit::Monitor;
use crate::pipeline::recovery::{Action, KeyState, Recovery, SERVE_TIMEOUT};
use crate::redis::replay::{self, Generation, ReplayGrants, Replayed};
use base::clock::Clock;
use base::metrics::Metrics;
use domain::packet::{Packet, PacketState, Share, ShareClaim};
use domain::{Bucket, OutboxItem, PacketId, UserId};
use store::{SHARES_PER_PART, SettleOutcome, Store};

/// How long the keys of a settled packet stay in Redis, because users go on claiming for a while.
const UNLOAD_AFTER: Duration = Duration::from_secs(60);
/// A settled packet is unloaded repeatedly until this age, in case a process died halfway.
const UNLOAD_UNTIL: Duration = Duration::from_secs(180);
const UNLOAD_INTERVAL: Duration = Duration::from_secs(5);
/// Packets that may wait for the replay of grants at a time. Every `serve` process announces its replay for each of
/// them.
const MAX_RECOVERING: usize = 1_000;
/// Packets per step that are surveyed although nothing about them is due, in case Redis lost them. All packets get
/// their turn.
const SAMPLE_SIZE: i64 = 100;
/// Packets per survey of Redis.
const SURVEY_SIZE: usize = 200;

/// What packet sync remembers from earlier steps. A process that takes over starts without it.
struct SyncState {
    /// A generation has one entry per bucket.
    recovery: Recovery<PacketId, Vec<Generation>>,
    /// Packets with claims that were missing in the database at the last step.
    incomplete: HashSet<PacketId>,
    /// Packets that were empty or over at the last step.
    winding_up: HashSet<PacketId>,
    /// Whether keys were missing or closed at the last step. As long as it is true, each step surveys all packets.
    recovering: bool,
    /// The last packet of the last sample. The next sample begins after it.
    sampled: PacketId,
    unloaded_at: Option<Instant>,
}

pub struct PacketSync {
    shares: RedisShares,
    store: Store,
    clock: Clock,
    metrics: Arc<Metrics>,
    state: Mutex<SyncState>,
}

#[boxed]
impl PacketSync {
    pub fn new(
        shares: RedisShares,
        store: Store,
        monitor: Option<Arc<Monitor>>,
        clock: Clock,
        metrics: Arc<Metrics>,
    ) -> PacketSync {
        // A share that is granted twice cannot be made good, so a load waits for RabbitMQ without a limit.
        let recovery = Recovery::new("packet", monitor, None);
        let state = SyncState {
            recovery,
            incomplete: HashSet::new(),
            winding_up: HashSet::new(),
            recovering: false,
            sampled: PacketId(0),
            unloaded_at: None,
        };
        PacketSync { shares, store, clock, metrics, state: Mutex::new(state) }
    }

    /// One step over the packets that are due. Trouble with one packet, or with the server of one of its buckets, does not
    /// delay the others; the first error is returned.
    pub async fn step(&self) -> anyhow::Result<()> {
        let mut state = self.state.lock().await;
        let now = self.store.now().await?;
        let (mut waiting, mut packets) = (HashSet::new(), Vec::new());
        // One question is enough as long as there are no packets.
        if self.store.packets().has_unsettled().await? {
            waiting = self.store.packets().recovering_packets().await?.iter().map(|packet| packet.id).collect();
            state.recovering |= !waiting.is_empty();
            packets = self.due(&mut state, now).await?;
        }
        let mut failure = None;
        let mut reachable: Vec<(&Packet, Option<Vec<LoadedShares>>)> = Vec::with_capacity(packets.len());
        for chunk in packets.chunks(SURVEY_SIZE) {
            for (packet, loaded) in chunk.iter().zip(self.survey_all(chunk).await?) {
                match loaded {
                    Ok(loaded) => reachable.push((packet, loaded)),
                    Err(error) => {
                        // A packet that waits for the replay goes on waiting.
                        waiting.remove(&packet.id);
                        failure = failure.or(Some(error.into()));
                    }
                }
            }
        }
        let mut key_states: Vec<_> =
            reachable.iter().map(|(packet, loaded)| (packet.id, key_state(packet, loaded))).collect();
        self.await_replay(&waiting, &mut key_states).await?;
        state.recovering = key_states.iter().any(|(_, state)| !matches!(state, KeyState::New | KeyState::Open));
        let actions = state.recovery.step(key_states).await;
        let surveyed: HashSet<PacketId> = packets.iter().map(|packet| packet.id).collect();
        state.incomplete.retain(|id| surveyed.contains(id));
        state.winding_up.clear();
        for ((packet, loaded), action) in reachable.into_iter().zip(actions) {
            if let Err(error) = self.act(packet, &loaded.unwrap_or_default(), action, now, &mut state).await {
                failure = failure.or(Some(error));
                // Without Redis or the database the others would only fail as well.
                self.shares.connection().check_any_master().await?;
                self.store.ping().await?;
            }
        }
        if state.unloaded_at.is_none_or(|at| at.elapsed() >= UNLOAD_INTERVAL) {
            state.unloaded_at = Some(Instant::now());
            failure = failure.or(self.unload_settled().await.err());
        }
        failure.map_or(Ok(()), Err)
    }

    async fn act(
        &self,
        packet: &Packet,
        loaded: &[LoadedShares],
        action: Action,
        now: Timestamp,
        state: &mut SyncState,
    ) -> anyhow::Result<()> {
        if loaded.iter().any(|bucket| bucket.expires_ms != packet.expires_at.as_millisecond()) {
            self.apply_expiry(packet).await?;
        }
        match action {
            Action::LoadOpen => self.load(packet, false).await?,
            Action::LoadClosed => {
                self.load(packet, true).await?;
                state.recovery.loaded(packet.id);
            }
            Action::Open => {
                self.replay_claims(packet).await?;
                for (bucket, loaded) in buckets(packet).zip(loaded) {
                    replay::open(&self.shares.connection(), bucket, loaded.generation).await?;
                }
            }
            Action::Wait => {}
            Action::Maintain => {
                let is_over = now >= packet.expires_at;
                if is_over || loaded.iter().all(|bucket| bucket.unclaimed == 0) {
                    state.winding_up.insert(packet.id);
                    self.wind_up(packet, loaded, state).await?;
                }
            }
        }
        Ok(())
    }

    /// Marks the packets that wait for the replay of grants, so that all `serve` processes see them. Packets for which
    /// every living process has announced its replay become `Replayed`. `waiting` are the packets that were marked
    /// before.
    async fn await_replay(
        &self,
        waiting: &HashSet<PacketId>,
        key_states: &mut [(PacketId, KeyState<Vec<Generation>>)],
    ) -> anyhow::Result<()> {
        let closed = key_states.iter().filter(|(_, state)| matches!(state, KeyState::Closed(_)));
        let closed: HashSet<PacketId> = closed.map(|(id, _)| *id).take(MAX_RECOVERING).collect();
        let added: Vec<PacketId> = closed.difference(waiting).copied().collect();
        let ended: Vec<PacketId> = waiting.difference(&closed).copied().collect();
        self.store.packets().set_recovering(&added, true).await?;
        self.store.packets().set_recovering(&ended, false).await?;
        if closed.is_empty() {
            return Ok(());
        }
        let living = self.store.processes().living(SERVE_TIMEOUT).await?;
        for (id, state) in key_states {
            if let KeyState::Closed(generations) = state
                && waiting.contains(id)
                && self.is_replayed(*id, generations, &living).await?
            {
                *state = KeyState::Replayed(std::mem::take(generations));
            }
        }
        Ok(())
    }

    /// Whether every living `serve` process has announced its replay to each bucket of a packet.
    async fn is_replayed(
        &self,
        packet: PacketId,
        generations: &[Generation],
        living: &HashSet<String>,
    ) -> anyhow::Result<bool> {
        let all = Bucket::all(packet, u8::try_from(generations.len())?);
        for (bucket, present) in all.zip(generations) {
            let announced = replay::announced(&self.shares.connection(), bucket, *present).await?;
            if !living.is_subset(&announced) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The packets that one step surveys: packets that are over, packets that were never loaded, and a sample of the
    /// others. While some packet has to be recovered, all packets.
    async fn due(&self, state: &mut SyncState, now: Timestamp) -> anyhow::Result<Vec<Packet>> {
        if state.recovering {
            return Ok(self.store.packets().open().await?);
        }
        let sample = self.store.packets().open_after(state.sampled, SAMPLE_SIZE).await?;
        if sample.is_empty() && state.sampled == PacketId(0) {
            return Ok(Vec::new());
        }
        let is_last = (sample.len() as i64) < SAMPLE_SIZE;
        state.sampled = sample.last().filter(|_| !is_last).map_or(PacketId(0), |packet| packet.id);
        let mut due: BTreeMap<PacketId, Packet> = BTreeMap::new();
        for packets in [sample, self.store.packets().over(now).await?, self.store.packets().unloaded_packets().await?] {
            due.extend(packets.into_iter().map(|packet| (packet.id, packet)));
        }
        let winding_up = state.winding_up.iter().filter(|id| !due.contains_key(id)).take(SURVEY_SIZE);
        let winding_up = self.store.packets().with_ids(&winding_up.copied().collect::<Vec<_>>()).await?;
        let winding_up = winding_up.into_iter().filter(|packet| packet.state == PacketState::Open);
        due.extend(winding_up.map(|packet| (packet.id, packet)));
        Ok(due.into_values().collect())
    }

    /// Passes a packet's expiry on to each bucket in Redis whose server answers.
    pub(crate) async fn apply_expiry(&self, packet: &Packet) -> anyhow::Result<()> {
        let all: Vec<Bucket> = buckets(packet).collect();
        let mut failure = None;
        for (bucket, loaded) in all.iter().zip(self.shares.survey(&all).await?) {
            let done = match loaded {
                Ok(Some(loaded)) => self.shares.set_expiry(*bucket, loaded.generation.epoch, packet).await,
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            failure = failure.or(done.err());
        }
        Ok(failure.map_or(Ok(()), Err)?)
    }

    /// The state of all buckets of a packet; `None` if one of them is not loaded.
    async fn survey(&self, packet: &Packet) -> anyhow::Result<Option<Vec<LoadedShares>>> {
        Ok(self.survey_all(std::slice::from_ref(packet)).await?.remove(0)?)
    }

    /// Closes a packet that is empty or over. Settles it once the database has every claim that Redis granted.
    async fn wind_up(&self, packet: &Packet, before: &[LoadedShares], state: &mut SyncState) -> anyhow::Result<()> {
        if before.iter().any(|bucket| bucket.open) {
            for (bucket, loaded) in buckets(packet).zip(before) {
                self.shares.close(bucket, loaded.generation.epoch).await?;
            }
        }
        // The packet is closed by now, so what this survey counts is final.
        let Some(closed) = self.survey(packet).await? else { return Ok(()) };
        let same =
            closed.iter().zip(before).all(|(now, before)| now.generation.epoch == before.generation.epoch && !now.open);
        if !same || closed.iter().any(|bucket| bucket.outbox > 0) {
            return Ok(());
        }
        let Some(saved) = self.store.packets().get(packet.id).await? else { return Ok(()) };
        let granted: i64 = closed.iter().map(|bucket| bucket.users).sum();
        if granted != saved.claimed && !self.is_complete(packet, state).await? {
            return Ok(());
        }
        let settled = self.store.packets().settle(packet.id, saved.claimed).await?;
        if let SettleOutcome::Done { returned } = settled {
            self.metrics.packets_settled.inc();
            info!(packet = %packet.id, claimed = saved.claimed, returned, "packet settled");
        }
        Ok(())
    }

    /// Deletes the keys of packets that were settled a while ago. No process reads their outboxes any more.
    async fn unload_settled(&self) -> anyhow::Result<()> {
        let now = self.store.now().await?;
        let settled = self.store.packets().settled(now - UNLOAD_UNTIL, now - UNLOAD_AFTER).await?;
        // At once, because each bucket of a dead server takes its time to fail.
        let unloaded = join_all(settled.iter().flat_map(buckets).map(|bucket| self.shares.unload(bucket))).await;
        Ok(unloaded.into_iter().collect::<Result<_, _>>()?)
    }

    /// Whether the database has the claim of every user with a share in Redis. Claims that are missing at two steps in a
    /// row are appended to the outbox again.
    async fn is_complete(&self, packet: &Packet, state: &mut SyncState) -> anyhow::Result<bool> {
        let at_ms = self.clock.now().as_millisecond();
        let mut complete = true;
        for bucket in buckets(packet) {
            let missing = self.missing_claims(packet, bucket).await?;
            complete &= missing.is_empty();
            if !missing.is_empty() && state.incomplete.contains(&packet.id) {
                warn!(packet = %packet.id, claims = missing.len(), "claims were lost before they were persisted; resending");
                self.shares.send_again(bucket, &missing, at_ms).await?;
            }
        }
        match complete {
            true => state.incomplete.remove(&packet.id),
            false => state.incomplete.insert(packet.id),
        };
        Ok(complete)
    }

    /// Users with a share in a bucket whose claim is not in the database.
    async fn missing_claims(&self, packet: &Packet, bucket: Bucket) -> anyhow::Result<Vec<(UserId, Share)>> {
        let mut missing: HashMap<UserId, Share> = HashMap::new();
        let mut cursor = 0;
        loop {
            let (next, page) = self.shares.users(bucket, cursor).await?;
            let claims: Vec<ShareClaim> = page.iter().map(|(user, share)| packet.claim_of(*user, *share)).collect();
            let persisted = self.store.packets().persisted_claims(&claims).await?;
            let of_page = claims.iter().filter(|claim| !persisted.contains(&claim.key()));
            missing.extend(of_page.map(|claim| (claim.user_id, claim.share())));
            if next == 0 {
                return Ok(missing.into_iter().collect());
            }
            cursor = next;
        }
    }

    /// The state of each packet's buckets in Redis; `None` if one of them is not loaded, and an error if the server of one
    /// does not answer.
    async fn survey_all(&self, packets: &[Packet]) -> Reply<Vec<Reply<Option<Vec<LoadedShares>>>>> {
        let all: Vec<Bucket> = packets.iter().flat_map(buckets).collect();
        let mut survey = self.shares.survey(&all).await?;
        let of_packet = |packet: &Packet| {
            let loaded: Result<Vec<_>, _> = survey.drain(..usize::from(packet.buckets)).collect();
            loaded.map(|loaded| loaded.into_iter().collect())
        };
        Ok(packets.iter().map(of_packet).collect())
    }

    /// Describes open packets on whose shares Redis and the database disagree.
    pub async fn violations(&self) -> anyhow::Result<Vec<String>> {
        let mut violations = Vec::new();
        for chunk in self.store.packets().open().await?.chunks(SURVEY_SIZE) {
            let surveys = self.survey_all(chunk).await?;
            let ids: Vec<PacketId> = chunk.iter().map(|packet| packet.id).collect();
            // Read after Redis, so that a claim that is in neither is seen.
            let saved = self.store.packets().with_ids(&ids).await?;
            let saved: HashMap<PacketId, &Packet> = saved.iter().map(|packet| (packet.id, packet)).collect();
            for (id, loaded) in ids.iter().zip(surveys) {
                let Some(packet) = saved.get(id).filter(|packet| packet.state == PacketState::Open) else { continue };
                match loaded? {
                    Some(loaded) => violations.extend(violation(packet, &loaded)),
                    None => violations.push(format!("packet {id}: not loaded")),
                }
            }
        }
        Ok(violations)
    }
}

/// Describes how a packet's shares in Redis contradict the database; `None` if they agree.
fn violation(saved: &Packet, loaded: &[LoadedShares]) -> Option<String> {
    let users: i64 = loaded.iter().map(|bucket| bucket.users).sum();
    let unclaimed: i64 = loaded.iter().map(|bucket| bucket.unclaimed).sum();
    let outbox: i64 = loaded.iter().map(|bucket| bucket.outbox).sum();
    let wrong = users + unclaimed != saved.count || users != saved.claimed || outbox > 0;
    wrong.then(|| {
        format!(
            "packet {}: of {} shares {users} claimed and {unclaimed} unclaimed in Redis, {} claimed in the database, \
             {outbox} entries in the outbox",
            saved.id, saved.count, saved.claimed
        )
    })
}

fn key_state(packet: &Packet, loaded: &Option<Vec<LoadedShares>>) -> KeyState<Vec<Generation>> {
    match loaded {
        Some(loaded) if loaded.iter().any(|bucket| !bucket.is_granting) => {
            KeyState::Closed(loaded.iter().map(|bucket| bucket.generation).collect())
        }
        Some(_) => KeyState::Open,
        None if packet.epoch == 0 => KeyState::New,
        None => KeyState::Lost,
    }
}

fn buckets(packet: &Packet) -> impl Iterator<Item = Bucket> + use<> {
    Bucket::all(packet.id, packet.buckets)
}

/// Claims per page of a load.
const PAGE_SIZE: i64 = 1000;
/// Claims per replaying call.
const MAX_CLAIMS_PER_REPLAY: i64 = 256;

#[boxed]
impl PacketSync {
    /// Loads a packet from the database and its outbox. A packet that was loaded before must be loaded `closed`.
    pub async fn load(&self, packet: &Packet, closed: bool) -> anyhow::Result<()> {
        let epoch = self.store.packets().next_epoch(packet.id).await?;
        // The outbox is read first. A claim that leaves it after that is found in the database.
        let mut taken: HashMap<i64, (UserId, Share)> = HashMap::new();
        for bucket in buckets(packet) {
            let in_flight = self.in_flight(bucket).await?;
            taken.extend(in_flight.into_iter().map(|claim| (claim.share, (claim.user_id, claim.share()))));
        }
        let mut after = None;
        loop {
            let page = self.store.packets().claims_after(packet.id, after, PAGE_SIZE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.share);
            taken.extend(page.iter().map(|claim| (claim.share, (claim.user_id, claim.share()))));
        }
        let mut all: Vec<(Bucket, Staged)> = buckets(packet).map(|bucket| (bucket, Staged::default())).collect();
        for part in 0..=(packet.count - 1) / SHARES_PER_PART {
            self.stage_part(packet, &mut all, epoch, part, &taken).await?;
        }
        for (bucket, staged) in all {
            if self.shares.load(bucket, packet, epoch, closed, staged).await? {
                self.metrics.packets_loaded.inc();
            }
        }
        info!(packet = %packet.id, epoch, claimed = taken.len(), shares = packet.count, "packet loaded into Redis");
        Ok(())
    }

    async fn stage_part(
        &self,
        packet: &Packet,
        all: &mut [(Bucket, Staged)],
        epoch: i64,
        part: i64,
        taken: &HashMap<i64, (UserId, Share)>,
    ) -> anyhow::Result<()> {
        let shares = self.store.packets().part(packet.id, part).await?;
        let count = all.len();
        for (n, (bucket, staged)) in all.iter_mut().enumerate() {
            let of_bucket = shares.iter().filter(|share| share.index as usize % count == n);
            let (mut unclaimed, mut users) = (Vec::new(), Vec::new());
            for share in of_bucket {
                match taken.get(&share.index) {
                    Some(user) => users.push(*user),
                    None => unclaimed.push(*share),
                }
            }
            self.shares.stage(*bucket, epoch, staged, &unclaimed, &users).await?;
        }
        Ok(())
    }

    /// Claims in the outbox that have not reached the database.
    async fn in_flight(&self, bucket: Bucket) -> anyhow::Result<Vec<ShareClaim>> {
        let (_, mut all) = OutboxItem::partition(&outbox::all(&mut self.shares.connection(), bucket).await?);
        let persisted = self.store.packets().persisted_claims(&all).await?;
        all.retain(|claim| !persisted.contains(&claim.key()));
        Ok(all)
    }

    /// Replays the claims that are in the database. The master may have lost them, and the process that granted them
    /// may have died and cannot replay them.
    async fn replay_claims(&self, packet: &Packet) -> anyhow::Result<()> {
        let all: Vec<Bucket> = buckets(packet).collect();
        let (mut after, mut restored) = (None, 0);
        loop {
            let page = self.store.packets().claims_after(packet.id, after, MAX_CLAIMS_PER_REPLAY).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.share);
            for (n, &bucket) in all.iter().enumerate() {
                let of_bucket = page.iter().filter(|claim| claim.share as usize % all.len() == n);
                let grants: Vec<(UserId, Share)> = of_bucket.map(|claim| (claim.user_id, claim.share())).collect();
                if !grants.is_empty()
                    && let Replayed::Forgotten(count, _) = self.shares.replay(bucket, &grants).await?
                {
                    restored += count;
                }
            }
        }
        if restored > 0 {
            info!(packet = %packet.id, restored, "replayed claims that the master had lost");
        }
        Ok(())
    }
}
