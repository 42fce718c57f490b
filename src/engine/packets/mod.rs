//! Red packets (红包): a user or the shop gives money away in shares, and users claim one share each. The unclaimed rest
//! returns to the giver.
//!
//! A packet is split when it is given ([`domain::packet`]). Claims take the path of purchases: they are
//! gathered into batches, a [`ShareBackend`] decides a batch at a time ([`redis`] by a script, [`DatabaseShares`] by a
//! transaction), and the same outbox, relay and consumer carry them on. Data control runs [`sync`], which loads packets into
//! Redis, recovers what Redis lost and settles packets that are over. [`directory`] saves a claim from querying the database.

pub mod directory;
pub mod give;
pub mod redis;
pub mod sync;

pub use directory::{PacketPageError, PacketView};
pub use give::{GiveRefusal, GiveRequest, Purse};

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use boxed::boxed;
use directory::{ListedPacket, PacketDirectory};
use jiff::Timestamp;
use tokio::sync::Semaphore;
use tracing::warn;

use crate::batching::{Batch, BatchHandler, BatchKey, Batcher, NoDecision, Reply};
use crate::gate::UserLimit;
use base::clock::Clock;
use base::metrics::Metrics;
use domain::packet::{Packet, PacketPhase, PacketState, Share};
use domain::{Bucket, PacketId, UserId};
use store::{ShareGrant, StopOutcome, Store, StoreError, StoreResult};

/// Claims on settled packets that may query the database at the same time. Further ones are refused as `Overloaded`.
const MAX_SETTLED_LOOKUPS: usize = 4;

/// How often one user or address may ask for a packet that does not exist: ten times at once, then once every ten
/// seconds. Packet ids have twelve digits so that they cannot be guessed. Without this limit, some of a million packets
/// could be.
const MISS_INTERVAL: Duration = Duration::from_secs(10);
const MAX_MISSES_AT_ONCE: u64 = 10;

/// The decision about one user's claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareDecision {
    Granted(Share),
    /// The user already has this share.
    Repeated(Share),
    /// Every share of the bucket is claimed.
    Empty,
    NotOpen,
    Expired,
    /// The packet is not loaded in the backend, or the backend waits until grants have been replayed to it. The claim
    /// is undecided.
    NotLoaded,
}

/// The backend that has the unclaimed shares: Redis or the database.
#[async_trait]
pub trait ShareBackend: Send + Sync + 'static {
    /// The buckets to claim from, in order. If one is empty, the next one is tried. An empty bucket stays empty, so a
    /// user who claims again reaches the bucket with their first share before any bucket with another one.
    fn buckets_for(&self, packet: PacketId, buckets: u8, user: UserId) -> Vec<Bucket>;

    /// Decides batches of users, each batch on one bucket. Returns one result per batch, with one decision per user in
    /// their order.
    async fn claim(&self, batches: &[Batch<UserId>]) -> Vec<Reply<Vec<ShareDecision>>>;

    /// Claims on buckets with the same key are gathered together.
    fn batch_key(&self, bucket: Bucket) -> BatchKey;

    /// The user's share in a bucket, also if the claim has not reached the database yet.
    async fn share_of(&self, bucket: Bucket, user: UserId) -> Reply<Option<Share>>;
}

/// Adapts a [`ShareBackend`] to the [`Batcher`].
pub struct ShareClaims(pub Arc<dyn ShareBackend>);

#[async_trait]
impl BatchHandler for ShareClaims {
    type Claim = UserId;
    type Decision = ShareDecision;
    type Counters = ();

    async fn decide(&self, batches: &[Batch<UserId>]) -> Vec<Reply<Vec<ShareDecision>>> {
        self.0.claim(batches).await
    }

    fn batch_key(&self, bucket: Bucket) -> BatchKey {
        self.0.batch_key(bucket)
    }

    fn measure(metrics: &Metrics, users: usize, took: Duration) {
        metrics.claim_batch(users, took);
    }
}

/// The share of a successful claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimedShare {
    New(Share),
    /// The user already had this share.
    Repeated(Share),
}

/// Why a claim got no share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimRefusal {
    NoSuchPacket,
    NotOpen,
    Expired,
    Empty,
    /// The packet excludes its giver; a packet from the shop's purse, who gave or approved it and accounts that are linked to
    /// them.
    Own,
    /// This user sends too many claims per second.
    RateLimited,
    /// The outcome is unknown, and the claim may have been granted. The client retries, which is safe.
    Overloaded,
}

/// Why a packet is not shown to a visitor.
#[derive(Debug)]
pub enum LookupRefusal {
    NoSuchPacket,
    /// This address has asked for too many packets that do not exist.
    RateLimited,
    Store(StoreError),
}

refusal_from!(LookupRefusal: Store(StoreError));

/// What [`Packets`] works with.
#[derive(Clone)]
pub struct PacketDependencies {
    pub store: Store,
    pub backend: Arc<dyn ShareBackend>,
    pub directory: Arc<PacketDirectory>,
    /// `None` if the database is the share backend.
    pub packet_sync: Option<Arc<sync::PacketSync>>,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
    /// Claims per second and user.
    pub user_rate: u32,
    /// How long shares of a packet can be claimed, counted from its opening.
    pub lifetime: Duration,
    /// Minor units that one member of the staff may give from the shop's purse alone within a day. `None`: no limit.
    pub alone: Option<i64>,
}

/// All operations of users and staff on packets.
#[derive(Clone)]
pub struct Packets {
    parts: PacketDependencies,
    batcher: Batcher<ShareClaims>,
    limit: Arc<UserLimit>,
    misses: Arc<UserLimit>,
    settled_lookups: Arc<Semaphore>,
}

#[boxed]
impl Packets {
    pub fn new(parts: PacketDependencies) -> Packets {
        Packets {
            batcher: Batcher::new(Arc::new(ShareClaims(parts.backend.clone())), parts.metrics.clone()),
            settled_lookups: Arc::new(Semaphore::new(MAX_SETTLED_LOOKUPS)),
            limit: Arc::new(UserLimit::new(parts.user_rate)),
            misses: Arc::new(UserLimit::every(MISS_INTERVAL, MAX_MISSES_AT_ONCE)),
            parts,
        }
    }

    /// Claims a share. Safe to repeat: a user with a share gets the same one again.
    pub async fn claim(&self, user: UserId, id: PacketId) -> Result<ClaimedShare, ClaimRefusal> {
        self.parts.metrics.claims_asked.inc();
        let claimed = self.try_claim(user, id).await;
        match &claimed {
            Ok(ClaimedShare::New(_)) => self.parts.metrics.claims_won.inc(),
            Ok(ClaimedShare::Repeated(_)) => self.parts.metrics.claims_repeated.inc(),
            Err(_) => self.parts.metrics.claims_refused.inc(),
        };
        claimed
    }

    async fn try_claim(&self, user: UserId, id: PacketId) -> Result<ClaimedShare, ClaimRefusal> {
        if !self.limit.allows(user) || self.misses.is_exhausted(user) {
            return Err(ClaimRefusal::RateLimited);
        }
        let Some(packet) = or_overloaded(self.parts.directory.find(id).await)? else {
            self.misses.allows(user);
            return Err(ClaimRefusal::NoSuchPacket);
        };
        if packet.excludes(user) {
            return Err(ClaimRefusal::Own);
        }
        if self.parts.clock.now() < packet.opens_at {
            return Err(ClaimRefusal::NotOpen);
        }
        match self.claim_from_buckets(user, &packet).await {
            ShareDecision::Granted(share) => Ok(ClaimedShare::New(share)),
            ShareDecision::Repeated(share) => Ok(ClaimedShare::Repeated(share)),
            ShareDecision::Empty => Err(ClaimRefusal::Empty),
            ShareDecision::NotOpen => Err(ClaimRefusal::NotOpen),
            ShareDecision::Expired => Err(ClaimRefusal::Expired),
            // The packet was settled a while ago and is unloaded from the backend.
            ShareDecision::NotLoaded if packet.settled => self.settled_claim(user, id).await,
            ShareDecision::NotLoaded => Err(ClaimRefusal::Overloaded),
        }
    }

    async fn claim_from_buckets(&self, user: UserId, packet: &ListedPacket) -> ShareDecision {
        let mut decision = ShareDecision::NotLoaded;
        for bucket in self.parts.backend.buckets_for(packet.id, packet.buckets, user) {
            decision = match self.batcher.claim(bucket, user, None).await {
                Ok(ShareDecision::Empty) => ShareDecision::Empty,
                Ok(decided) => return decided,
                Err(NoDecision::QueueFull | NoDecision::Unknown(_)) => return ShareDecision::NotLoaded,
            };
        }
        decision
    }

    /// Answers a claim on a settled packet from the database, for [`MAX_SETTLED_LOOKUPS`] claims at a time.
    async fn settled_claim(&self, user: UserId, id: PacketId) -> Result<ClaimedShare, ClaimRefusal> {
        let Ok(_permit) = self.settled_lookups.try_acquire() else { return Err(ClaimRefusal::Overloaded) };
        if let Some(claim) = or_overloaded(self.parts.store.packets().claim_of(id, user).await)? {
            return Ok(ClaimedShare::Repeated(claim.share()));
        }
        let packet = or_overloaded(self.parts.store.packets().get(id).await)?.ok_or(ClaimRefusal::NoSuchPacket)?;
        Err(if packet.claimed >= packet.count { ClaimRefusal::Empty } else { ClaimRefusal::Expired })
    }

    /// A packet with names, for a visitor at this address.
    pub async fn look_up(&self, id: PacketId, from: IpAddr) -> Result<PacketView, LookupRefusal> {
        if self.misses.is_exhausted(from) {
            return Err(LookupRefusal::RateLimited);
        }
        let view = self.view(id).await?;
        view.ok_or_else(|| {
            self.misses.allows(from);
            LookupRefusal::NoSuchPacket
        })
    }

    /// The user's share, also before the claim reaches the database. `None` as well if the backend does not answer.
    pub async fn share_of(&self, user: UserId, packet: &Packet) -> StoreResult<Option<Share>> {
        if let Some(claim) = self.parts.store.packets().claim_of(packet.id, user).await? {
            return Ok(Some(claim.share()));
        }
        if packet.state == PacketState::Settled {
            return Ok(None);
        }
        for bucket in self.parts.backend.buckets_for(packet.id, packet.buckets, user) {
            if let Ok(Some(share)) = self.parts.backend.share_of(bucket, user).await {
                return Ok(Some(share));
            }
        }
        Ok(None)
    }

    /// Expires a packet now, for the staff. Data control then settles it and returns the unclaimed rest.
    pub async fn stop(&self, id: PacketId, actor: &str) -> StoreResult<StopOutcome> {
        let stopped = self.parts.store.packets().stop(id, actor).await?;
        if let (StopOutcome::Done(packet), Some(packet_sync)) = (&stopped, &self.parts.packet_sync)
            && let Err(error) = packet_sync.apply_expiry(packet).await
        {
            warn!(packet = %id, error = format!("{error:#}"), "cannot pass a stopped packet on to Redis; data control will");
        }
        Ok(stopped)
    }

    /// Waits until every batch is decided.
    pub async fn finish(&self) {
        self.batcher.finish().await;
    }
}

/// Turns a failure of the database into a refusal that the client retries.
fn or_overloaded<T>(result: StoreResult<T>) -> Result<T, ClaimRefusal> {
    result.map_err(|error| {
        warn!(%error, "cannot read a packet from the database; the claim is refused as overloaded");
        ClaimRefusal::Overloaded
    })
}

// The database as the share backend: a batch is one transaction that locks the packet, decides and writes the claims.

/// Shares on the database alone, without Redis.
pub struct DatabaseShares {
    store: Store,
}

impl DatabaseShares {
    pub fn new(store: Store) -> DatabaseShares {
        DatabaseShares { store }
    }

    async fn take_shares(&self, bucket: Bucket, users: &[UserId]) -> Reply<Vec<ShareDecision>> {
        let Some(packet) = bucket.packet() else { return Ok(vec![ShareDecision::NotLoaded; users.len()]) };
        let decide =
            |packet: &Packet, held: &HashMap<_, _>, free: &[Share], now| decide(packet, held, free, users, now);
        let decided = self.store.packets().take_shares(packet, users, decide).await?;
        Ok(decided.unwrap_or_else(|| vec![ShareDecision::NotLoaded; users.len()]))
    }
}

#[async_trait]
impl ShareBackend for DatabaseShares {
    fn buckets_for(&self, packet: PacketId, _buckets: u8, _user: UserId) -> Vec<Bucket> {
        // A claim locks the packet's one row, so buckets would gain nothing.
        vec![Bucket::whole(packet)]
    }

    async fn claim(&self, batches: &[Batch<UserId>]) -> Vec<Reply<Vec<ShareDecision>>> {
        let mut results = Vec::with_capacity(batches.len());
        for Batch { bucket, claims } in batches {
            results.push(self.take_shares(*bucket, claims).await);
        }
        results
    }

    fn batch_key(&self, bucket: Bucket) -> BatchKey {
        BatchKey::Bucket(bucket)
    }

    async fn share_of(&self, _bucket: Bucket, _user: UserId) -> Reply<Option<Share>> {
        // A claim is a row of the database, which the caller has queried already.
        Ok(None)
    }
}

/// Decides a batch against a locked packet by the same rules as `lua/claim.lua`.
fn decide(
    packet: &Packet,
    held: &HashMap<UserId, Share>,
    free: &[Share],
    users: &[UserId],
    now: Timestamp,
) -> (Vec<ShareGrant>, Vec<ShareDecision>) {
    let closed = match packet.phase(now) {
        PacketPhase::Upcoming => Some(ShareDecision::NotOpen),
        PacketPhase::Expired => Some(ShareDecision::Expired),
        PacketPhase::Open | PacketPhase::Empty => None,
    };
    let mut held = held.clone();
    let mut free = free.iter();
    let mut given = Vec::new();
    let decisions = users.iter().map(|user| {
        if let Some(share) = held.get(user) {
            return ShareDecision::Repeated(*share);
        }
        if let (Some(closed), false) = (closed, free.as_slice().is_empty()) {
            return closed;
        }
        let Some(share) = free.next() else { return ShareDecision::Empty };
        held.insert(*user, *share);
        given.push(ShareGrant { user_id: *user, share: *share });
        ShareDecision::Granted(*share)
    });
    let decisions = decisions.collect();
    (given, decisions)
}
