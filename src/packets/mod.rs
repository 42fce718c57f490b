//! Red packets (红包): somebody, or the shop, gives money away in shares; people claim one each; what is left goes back.
//!
//! A packet is split when it is given ([`crate::domain::packet::split`]). Claims go the way of purchases: gathered in
//! batcher, decided a batch at a time by whoever keeps the shares ([`redis`] by a script, [`database`] by a transaction),
//! carried on by the same outbox, relay and consumer. [`packet_sync`] is what data control does: load packets into Redis ahead
//! of time, look after them, and settle those that are over. [`directory`] spares claims any look into the database.

pub mod directory;
pub mod sync;

pub mod database;
pub mod give;
pub mod redis;
pub mod settle;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tracing::warn;

pub use give::{GiveRefusal, Wish};

use crate::batching::{Batch, BatchKey};
use crate::batching::{BatchHandler, Batcher, NoDecision};
use crate::clock::Clock;
use crate::domain::Bucket;
use crate::domain::claim::Unavailable;
use crate::domain::packet::{Giver, Packet, Share, ShareClaim, State};
use crate::domain::{PacketId, UserId};
use crate::gate::UserLimit;
use crate::metrics::Metrics;
use crate::store::{PacketClaim, Stopped, Store, StoreError};
use directory::{PacketDirectory, Posted};

/// Claims that look into the database at the same time, at most.
const LOOKERS: usize = 4;

/// What was decided about one user's claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    OutboxItem(Share),
    /// The user had a share already; this is it.
    Again(Share),
    /// Every share of the bucket is claimed.
    Empty,
    NotOpen,
    Expired,
    /// The backend does not have the packet (yet, or any more), or is not sure of it; nothing can be said now.
    NotLoaded,
}

/// Who keeps shares: Redis or the database.
#[async_trait]
pub trait ShareBackend: Send + Sync + 'static {
    /// The buckets in which a user looks for a share, one after the other while they are empty. A bucket that is empty
    /// stays so, hence a user who asks again finds the share of the first time before any other.
    fn homes(&self, packet: PacketId, buckets: u8, user: UserId) -> Vec<Bucket>;

    /// BatchHandler batches of users, each of whom claims from one bucket. An answer for each batch: one outcome per user, in
    /// their order.
    async fn claim(&self, asked: &[Batch<UserId>]) -> Vec<Result<Vec<Outcome>, Unavailable>>;

    /// Whose claims are gathered with those of this bucket.
    fn batch_key(&self, bucket: Bucket) -> BatchKey;

    /// The share that a user has in a bucket and that may not be in the books yet.
    async fn share_of(&self, bucket: Bucket, user: UserId) -> Result<Option<Share>, Unavailable>;
}

/// Shares of packets, whoever keeps them.
pub struct Shares(pub Arc<dyn ShareBackend>);

#[async_trait]
impl BatchHandler for Shares {
    type Claim = UserId;
    type Decision = Outcome;
    type Counters = ();

    async fn decide(&self, asked: &[Batch<UserId>]) -> Vec<Result<Vec<Outcome>, Unavailable>> {
        self.0.claim(asked).await
    }

    fn batch_key(&self, bucket: Bucket) -> BatchKey {
        self.0.batch_key(bucket)
    }

    fn count(_: &Metrics, _: Option<&()>, _: Option<&Outcome>, _: Duration) {}

    fn measure(metrics: &Metrics, users: usize, took: Duration) {
        metrics.claim_batch(users, took);
    }
}

/// What somebody has after claiming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    New(Share),
    /// They had it already.
    Again(Share),
}

impl Claimed {
    pub fn share(self) -> Share {
        match self {
            Claimed::New(share) | Claimed::Again(share) => share,
        }
    }
}

/// Why somebody got nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimRefusal {
    NoSuchPacket,
    NotOpen,
    Expired,
    Empty,
    /// Its giver keeps out of it.
    Own,
    /// This user asks too often.
    RateLimited,
    /// The shop cannot tell now; the claim may have been granted: ask again.
    Overloaded,
}

/// A packet with the names that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    pub packet: Packet,
    /// `None` for the shop, and for accounts that are gone.
    pub giver: Option<String>,
    /// The name of the luckiest, once it is settled.
    pub luckiest: Option<String>,
}

/// One page of a list, and what the next page begins after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T, M> {
    pub items: Vec<T>,
    pub next: Option<M>,
}

impl<T, M> Page<T, M> {
    /// Of one more item than fits on a page, if there is one.
    fn of(mut items: Vec<T>, most: usize, mark: impl Fn(&T) -> M) -> Page<T, M> {
        let more = items.len() > most;
        items.truncate(most);
        let next = if more { items.last().map(mark) } else { None };
        Page { items, next }
    }
}

/// Everything that people and staff do with packets.
#[derive(Clone)]
pub struct Packets {
    store: Store,
    backend: Arc<dyn ShareBackend>,
    batcher: Batcher<Shares>,
    directory: Arc<PacketDirectory>,
    packet_sync: Option<Arc<sync::PacketSync>>,
    limit: Arc<UserLimit>,
    turns: Arc<Semaphore>,
    clock: Clock,
    metrics: Arc<Metrics>,
    lifetime: Duration,
}

/// What `app` builds it of.
pub struct Dependencies {
    pub store: Store,
    pub backend: Arc<dyn ShareBackend>,
    pub directory: Arc<PacketDirectory>,
    /// Where Redis keeps the shares.
    pub packet_sync: Option<Arc<sync::PacketSync>>,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
    /// Claims per second and user.
    pub user_rate: u32,
    /// How long a packet may be claimed from when it opens.
    pub lifetime: Duration,
}

impl Packets {
    pub fn new(parts: Dependencies) -> Packets {
        Packets {
            batcher: Batcher::new(Arc::new(Shares(parts.backend.clone())), parts.metrics.clone()),
            turns: Arc::new(Semaphore::new(LOOKERS)),
            limit: Arc::new(UserLimit::new(parts.user_rate)),
            store: parts.store,
            backend: parts.backend,
            directory: parts.directory,
            packet_sync: parts.packet_sync,
            clock: parts.clock,
            metrics: parts.metrics,
            lifetime: parts.lifetime,
        }
    }

    /// Claims a share. Safe to repeat: whoever has one gets the same one again.
    pub async fn claim(&self, user: UserId, id: PacketId) -> Result<Claimed, ClaimRefusal> {
        self.metrics.claims_asked.inc();
        let claimed = self.ask(user, id).await;
        match &claimed {
            Ok(Claimed::New(_)) => self.metrics.claims_won.inc(),
            Ok(Claimed::Again(_)) => self.metrics.claims_repeated.inc(),
            Err(_) => self.metrics.claims_refused.inc(),
        };
        claimed
    }

    async fn ask(&self, user: UserId, id: PacketId) -> Result<Claimed, ClaimRefusal> {
        if !self.limit.allows(user) {
            return Err(ClaimRefusal::RateLimited);
        }
        let posted = told(self.directory.posted(id).await)?.ok_or(ClaimRefusal::NoSuchPacket)?;
        if posted.excludes(user) {
            return Err(ClaimRefusal::Own);
        }
        if self.clock.now() < posted.opens_at {
            return Err(ClaimRefusal::NotOpen);
        }
        match self.ask_keeper(user, posted).await {
            Outcome::OutboxItem(share) => Ok(Claimed::New(share)),
            Outcome::Again(share) => Ok(Claimed::Again(share)),
            Outcome::Empty => Err(ClaimRefusal::Empty),
            Outcome::NotOpen => Err(ClaimRefusal::NotOpen),
            Outcome::Expired => Err(ClaimRefusal::Expired),
            // Settled long ago, it has left the backend.
            Outcome::NotLoaded if posted.settled => self.look_up(user, id).await,
            Outcome::NotLoaded => Err(ClaimRefusal::Overloaded),
        }
    }

    async fn ask_keeper(&self, user: UserId, posted: Posted) -> Outcome {
        let mut outcome = Outcome::NotLoaded;
        for bucket in self.backend.homes(posted.id, posted.buckets, user) {
            outcome = match self.batcher.claim(bucket, user, None).await {
                Ok(Outcome::Empty) => Outcome::Empty,
                Ok(decided) => return decided,
                Err(NoDecision::Crowded | NoDecision::Unknown(_)) => return Outcome::NotLoaded,
            };
        }
        outcome
    }

    /// What a claim on a settled packet is answered with. Few may ask at the same time: the database has more to do.
    async fn look_up(&self, user: UserId, id: PacketId) -> Result<Claimed, ClaimRefusal> {
        let Ok(_turn) = self.turns.try_acquire() else { return Err(ClaimRefusal::Overloaded) };
        if let Some(claim) = told(self.store.packet_claim_of(id, user).await)? {
            return Ok(Claimed::Again(claim.share()));
        }
        let packet = told(self.store.packet(id).await)?.ok_or(ClaimRefusal::NoSuchPacket)?;
        Err(if packet.claimed >= packet.count { ClaimRefusal::Empty } else { ClaimRefusal::Expired })
    }

    /// A packet with names; `None` when there is none.
    pub async fn look(&self, id: PacketId) -> Result<Option<View>, StoreError> {
        let Some(packet) = self.store.packet(id).await? else { return Ok(None) };
        Ok(self.with_names(vec![packet]).await?.pop())
    }

    /// The share that a user has, also while it is on its way to the books. `None` as well while nobody can tell.
    pub async fn share_of(&self, user: UserId, packet: &Packet) -> Result<Option<Share>, StoreError> {
        if let Some(claim) = self.store.packet_claim_of(packet.id, user).await? {
            return Ok(Some(claim.share()));
        }
        if packet.state == State::Settled {
            return Ok(None);
        }
        for bucket in self.backend.homes(packet.id, packet.buckets, user) {
            if let Ok(Some(share)) = self.backend.share_of(bucket, user).await {
                return Ok(Some(share));
            }
        }
        Ok(None)
    }

    /// Who has which share: the latest first, from before a share.
    pub async fn claims(
        &self,
        id: PacketId,
        before: Option<i64>,
        most: usize,
    ) -> Result<Page<PacketClaim, i64>, StoreError> {
        let claims = self.store.packet_claims(id, before, most as i64 + 1).await?;
        Ok(Page::of(claims, most, |claim| claim.claim.share))
    }

    /// What somebody, or the shop, gave: newest first, from before a packet.
    pub async fn given(
        &self,
        giver: Giver,
        before: Option<PacketId>,
        most: usize,
    ) -> Result<Page<View, PacketId>, StoreError> {
        let before = self.named(before).await?;
        let packets = self.store.packets_given(giver, before.as_ref(), most as i64 + 1).await?;
        self.page_of(packets, most).await
    }

    /// Everything that was given, for the staff: newest first, from before a packet.
    pub async fn all(&self, before: Option<PacketId>, most: usize) -> Result<Page<View, PacketId>, StoreError> {
        let before = self.named(before).await?;
        let packets = self.store.packets(before.as_ref(), most as i64 + 1).await?;
        self.page_of(packets, most).await
    }

    /// What somebody claimed: newest first, from before the share of a packet.
    pub async fn received(
        &self,
        user: UserId,
        before: Option<PacketId>,
        most: usize,
    ) -> Result<Page<(ShareClaim, View), PacketId>, StoreError> {
        let mark = match before {
            Some(id) => self.store.packet_claim_of(id, user).await?.map(|claim| (claim.claimed_at, id)),
            None => None,
        };
        let received = self.store.packets_received(user, mark, most as i64 + 1).await?;
        let (claims, packets): (Vec<ShareClaim>, Vec<Packet>) = received.into_iter().unzip();
        let views = self.with_names(packets).await?;
        Ok(Page::of(claims.into_iter().zip(views).collect(), most, |(claim, _)| claim.packet_id))
    }

    /// Ends the time of a packet now, for the staff. What is left goes back within moments.
    pub async fn stop(&self, id: PacketId, actor: &str) -> Result<Stopped, StoreError> {
        let stopped = self.store.stop_packet(id, actor, self.clock.now()).await?;
        if let (Stopped::Done(packet), Some(packet_sync)) = (&stopped, &self.packet_sync)
            && let Err(error) = packet_sync.keep_defined(packet).await
        {
            warn!(packet = %id, error = format!("{error:#}"), "data control has to tell Redis that a packet is stopped");
        }
        Ok(stopped)
    }

    /// Waits until no batch is under way any more.
    pub async fn finish(&self) {
        self.batcher.finish().await;
    }

    async fn named(&self, id: Option<PacketId>) -> Result<Option<Packet>, StoreError> {
        match id {
            Some(id) => self.store.packet(id).await,
            None => Ok(None),
        }
    }

    async fn page_of(&self, packets: Vec<Packet>, most: usize) -> Result<Page<View, PacketId>, StoreError> {
        Ok(Page::of(self.with_names(packets).await?, most, |view| view.packet.id))
    }

    async fn with_names(&self, packets: Vec<Packet>) -> Result<Vec<View>, StoreError> {
        let people = packets.iter().flat_map(|p| [p.giver.user(), p.best.map(|(user, _)| user)]).flatten();
        let names = self.store.usernames(&people.collect::<Vec<_>>()).await?;
        let view = |packet: Packet| View {
            giver: packet.giver.user().and_then(|user| names.get(&user).cloned()),
            luckiest: packet.best.and_then(|(user, _)| names.get(&user).cloned()),
            packet,
        };
        Ok(packets.into_iter().map(view).collect())
    }
}

/// A claim that meets a database that is away is told to come again.
fn told<T>(answer: Result<T, StoreError>) -> Result<T, ClaimRefusal> {
    answer.map_err(|error| {
        warn!(%error, "a claim could not be looked into");
        ClaimRefusal::Overloaded
    })
}
