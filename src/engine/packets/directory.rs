//! The packet directory: an in-memory copy of what a claim needs to know about a packet, so that a claim costs only the
//! call that decides it. It has facts that never change after a packet is given, `settled`, which never becomes false
//! again, and the accounts that get no share of the shop's money, which are read again with all open packets.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use boxed::boxed;
use jiff::Timestamp;
use rand::RngExt;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::give::PACKET_IDS;
use crate::packets::Packets;
use crate::pipeline::outbox::ActiveBuckets;
use base::locked;
use base::periodic::run_every;
use domain::packet::{Giver, Packet, PacketState, ShareClaim};
use domain::{Bucket, PacketId, Page, UserId};
use store::{PacketClaim, Store, StoreError, StoreResult};

/// How often the list of open packets is read; also the delay until the relay reads the outbox of a new packet.
const REFRESH_INTERVAL: Duration = Duration::from_millis(500);
/// How often all open packets are read. Between two full reads, only packets that were given or settled since are read.
const FULL_READ_INTERVAL: Duration = Duration::from_secs(300);
/// A row becomes visible at most this long after the time recorded in it. Every transaction is shorter.
const LATE_COMMIT: Duration = Duration::from_secs(30);
/// Up to this many open packets, every outbox is read each time. If there are more, only outboxes of packets with
/// recent claims and of a random sample of this many packets are read.
const MAX_IDLE_READ: usize = 256;
/// How long after a claim the outbox of a packet is read each time.
const ACTIVE_FOR: Duration = Duration::from_secs(60);
/// Looked-up packets that are cached besides the open ones. When the cache is full it is cleared.
const MAX_CACHED_LOOKUPS: usize = 10_000;
/// How long a lookup is cached if it found no packet or one that is not settled.
const LOOKUP_TTL: Duration = Duration::from_millis(100);

/// Packets per query that asks who is excluded from them.
const MAX_IDS_PER_QUERY: usize = 500;

/// What the directory knows about a packet.
#[derive(Debug, Clone)]
pub struct ListedPacket {
    pub id: PacketId,
    giver: Giver,
    own: bool,
    pub opens_at: Timestamp,
    pub buckets: u8,
    /// No share can be claimed any more, and the database has every claim.
    pub settled: bool,
    /// Accounts that get no share of a packet from the shop's purse, as they were when it was last listed.
    excluded: Option<Arc<HashSet<UserId>>>,
}

impl ListedPacket {
    fn of(packet: &Packet, excluded: Option<HashSet<UserId>>) -> ListedPacket {
        ListedPacket {
            excluded: excluded.map(Arc::new),
            id: packet.id,
            giver: packet.giver,
            own: packet.own,
            opens_at: packet.opens_at,
            buckets: packet.buckets,
            settled: packet.state == PacketState::Settled,
        }
    }

    fn all_buckets(&self) -> impl Iterator<Item = Bucket> + use<> {
        Bucket::all(self.id, self.buckets)
    }

    /// Whether the user gave the packet, or is close to who gave the shop's money, and may not claim from it.
    pub fn excludes(&self, user: UserId) -> bool {
        let excluded = self.excluded.as_ref().is_some_and(|excluded| excluded.contains(&user));
        !self.own && (excluded || self.giver == Giver::User(user))
    }
}

/// An open packet, and when a claim on it was last seen, in milliseconds after the directory was made.
#[derive(Debug, Clone)]
struct OpenPacket {
    packet: ListedPacket,
    active_ms: Arc<AtomicU64>,
}

/// How far the list of open packets has been read.
struct Progress {
    /// When all open packets were last read: by this process's clock and by the database's clock.
    read_all: (Instant, Timestamp),
    /// When the last reading began.
    last: Instant,
}

impl Progress {
    /// The database's time from which changes must be read. It goes back by [`LATE_COMMIT`], because a transaction may
    /// have committed late.
    fn since(&self) -> Timestamp {
        let (here, there) = self.read_all;
        there + (self.last - here) - LATE_COMMIT
    }
}

/// The directory of one process.
pub struct PacketDirectory {
    store: Store,
    began: Instant,
    open: ArcSwap<BTreeMap<PacketId, OpenPacket>>,
    /// Open packets with claims within [`ACTIVE_FOR`].
    active: std::sync::Mutex<HashMap<PacketId, Arc<AtomicU64>>>,
    progress: Mutex<Option<Progress>>,
    /// Lookups of packets that are settled, too new for the list of open ones, or absent.
    lookups: Mutex<HashMap<PacketId, Lookup>>,
}

/// The result of a query of the database.
struct Lookup {
    packet: Option<ListedPacket>,
    at: Instant,
}

impl Lookup {
    fn is_settled(&self) -> bool {
        self.packet.as_ref().is_some_and(|packet| packet.settled)
    }
}

/// The buckets of packets that are not settled. If there are many, only packets with recent claims and a random sample.
/// The sample finds a packet within seconds if another process granted its first claim.
impl ActiveBuckets for PacketDirectory {
    fn buckets(&self) -> Vec<Bucket> {
        let open = self.open.load();
        if open.len() <= MAX_IDLE_READ {
            return open.values().flat_map(|listed| listed.packet.all_buckets()).collect();
        }
        let mut ids = self.active_ids();
        // Ids are spread evenly, so a random one is the start of a random sample.
        let start = PacketId(rand::rng().random_range(PACKET_IDS));
        ids.extend(open.range(start..).chain(open.range(..start)).take(MAX_IDLE_READ).map(|(id, _)| *id));
        ids.sort_unstable();
        ids.dedup();
        ids.iter().filter_map(|id| open.get(id)).flat_map(|listed| listed.packet.all_buckets()).collect()
    }

    fn note_entries(&self, bucket: Bucket) {
        if let Some(listed) = bucket.packet().and_then(|id| self.open.load().get(&id).cloned()) {
            self.note_active(&listed);
        }
    }
}

#[boxed]
impl PacketDirectory {
    pub fn new(store: Store) -> PacketDirectory {
        PacketDirectory {
            store,
            began: Instant::now(),
            open: ArcSwap::default(),
            active: std::sync::Mutex::default(),
            progress: Mutex::default(),
            lookups: Mutex::default(),
        }
    }

    /// Whether no packet is open.
    pub fn is_empty(&self) -> bool {
        self.open.load().is_empty()
    }

    /// Records that a packet has claims. Takes the lock only if the packet was idle before.
    fn note_active(&self, listed: &OpenPacket) {
        let now = self.began.elapsed().as_millis() as u64;
        let before = listed.active_ms.swap(now, Ordering::Relaxed);
        if before == 0 || now.saturating_sub(before) > ACTIVE_FOR.as_millis() as u64 / 2 {
            let mut active = locked(&self.active);
            active.insert(listed.packet.id, listed.active_ms.clone());
        }
    }

    fn active_ids(&self) -> Vec<PacketId> {
        let now = self.began.elapsed().as_millis() as u64;
        let mut active = locked(&self.active);
        active.retain(|_, at| now.saturating_sub(at.load(Ordering::Relaxed)) <= ACTIVE_FOR.as_millis() as u64);
        active.keys().copied().collect()
    }

    /// A packet; `None` when it does not exist. A packet that is not on the list of open ones is looked up in the database,
    /// at most once per [`LOOKUP_TTL`] for any number of concurrent callers.
    pub async fn find(&self, id: PacketId) -> StoreResult<Option<ListedPacket>> {
        if let Some(listed) = self.open.load().get(&id) {
            self.note_active(listed);
            return Ok(Some(listed.packet.clone()));
        }
        // The lock is held across the query, so that concurrent callers cause only one.
        let mut lookups = self.lookups.lock().await;
        let cached = lookups.get(&id);
        if let Some(cached) = cached.filter(|cached| cached.is_settled() || cached.at.elapsed() < LOOKUP_TTL) {
            return Ok(cached.packet.clone());
        }
        let found = self.store.packets().get(id).await?;
        let mut excluded = self.excluded_from(found.iter()).await?;
        let packet = found.map(|packet| ListedPacket::of(&packet, excluded.remove(&id)));
        if lookups.len() >= MAX_CACHED_LOOKUPS {
            lookups.clear();
        }
        lookups.insert(id, Lookup { packet: packet.clone(), at: Instant::now() });
        Ok(packet)
    }

    /// Brings the list of open packets up to date.
    pub async fn refresh(&self) -> StoreResult<()> {
        let mut progress = self.progress.lock().await;
        let began = Instant::now();
        let Some(read) = progress.as_mut().filter(|read| read.read_all.0.elapsed() < FULL_READ_INTERVAL) else {
            let now = self.store.now().await?;
            let packets = self.store.packets().open().await?;
            self.list(&packets, BTreeMap::new()).await?;
            *progress = Some(Progress { read_all: (began, now), last: began });
            return Ok(());
        };
        let changed = self.store.packets().changed_since(read.since()).await?;
        let listed = self.open.load_full();
        let is_open = |packet: &Packet| packet.state == PacketState::Open;
        if changed.iter().any(|packet| is_open(packet) != listed.contains_key(&packet.id)) {
            self.list(&changed, (*listed).clone()).await?;
        }
        read.last = began;
        Ok(())
    }

    /// For each of these packets from the shop's purse, the accounts that get no share.
    async fn excluded_from<'p>(
        &self,
        packets: impl Iterator<Item = &'p Packet>,
    ) -> StoreResult<HashMap<PacketId, HashSet<UserId>>> {
        let guarded = packets.filter(|packet| packet.giver == Giver::Shop && packet.state == PacketState::Open);
        let ids: Vec<PacketId> = guarded.map(|packet| packet.id).collect();
        let mut excluded = HashMap::new();
        for ids in ids.chunks(MAX_IDS_PER_QUERY) {
            excluded.extend(self.store.packets().excluded_from(ids).await?);
        }
        Ok(excluded)
    }

    /// Publishes a list with these packets: open ones are added to it, settled ones removed.
    async fn list(&self, packets: &[Packet], mut list: BTreeMap<PacketId, OpenPacket>) -> StoreResult<()> {
        let before = self.open.load_full();
        let new = packets.iter().filter(|packet| !list.contains_key(&packet.id));
        let mut excluded = self.excluded_from(new).await?;
        for packet in packets {
            if packet.state == PacketState::Settled {
                list.remove(&packet.id);
                continue;
            }
            let active_ms = || before.get(&packet.id).map(|known| known.active_ms.clone()).unwrap_or_default();
            list.entry(packet.id).or_insert_with(|| OpenPacket {
                packet: ListedPacket::of(packet, excluded.remove(&packet.id)),
                active_ms: active_ms(),
            });
        }
        // The list answers for open packets, so their lookups are dropped.
        self.lookups.lock().await.retain(|id, _| !list.contains_key(id));
        self.open.store(Arc::new(list));
        Ok(())
    }

    /// Refreshes the list until it is stopped. While the database does not answer, the last list stays in use.
    pub async fn follow(&self, stop: CancellationToken) {
        run_every(REFRESH_INTERVAL, &stop, "packet directory", || self.refresh()).await;
    }
}

// Lists of packets for users and staff, page by page. Each packet comes with the names of its giver and its luckiest
// user.

/// Why a page of packets cannot be returned.
#[derive(Debug)]
pub enum PacketPageError {
    /// The packet that the cursor names is not in the list.
    UnknownCursor,
    Store(StoreError),
}

refusal_from!(PacketPageError: Store(StoreError));

/// A page of packets, or of something with a packet each.
type PacketPage<T> = Result<Page<T, PacketId>, PacketPageError>;

/// A packet with the names of its giver and its luckiest user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketView {
    pub packet: Packet,
    /// `None` for the shop and for deleted accounts.
    pub giver: Option<String>,
    /// The name of the luckiest user, once the packet is settled.
    pub luckiest: Option<String>,
}

#[boxed]
impl Packets {
    /// A packet with names; `None` when it does not exist.
    pub async fn view(&self, id: PacketId) -> StoreResult<Option<PacketView>> {
        let Some(packet) = self.parts.store.packets().get(id).await? else { return Ok(None) };
        Ok(self.with_names(vec![packet]).await?.pop())
    }

    /// The claims on a packet, latest first. The page begins after the claim on share `before`.
    pub async fn claims(&self, id: PacketId, before: Option<i64>, limit: usize) -> StoreResult<Page<PacketClaim, i64>> {
        let claims = self.parts.store.packets().claims(id, before, limit as i64 + 1).await?;
        Ok(Page::cut(claims, limit, |claim| claim.claim.share))
    }

    /// The packets that a user or the shop gave, newest first, beginning after packet `before`.
    pub async fn given(&self, giver: Giver, before: Option<PacketId>, limit: usize) -> PacketPage<PacketView> {
        // A packet of another giver is an unknown cursor too, so cursors cannot be used to find packets.
        let before = self.cursor(before, |packet| packet.giver == giver).await?;
        let packets = self.parts.store.packets().given(giver, before.as_ref(), limit as i64 + 1).await?;
        self.page_of(packets, limit).await
    }

    /// All packets, for the staff: newest first, beginning after packet `before`.
    pub async fn all(&self, before: Option<PacketId>, limit: usize) -> PacketPage<PacketView> {
        let before = self.cursor(before, |_| true).await?;
        let packets = self.parts.store.packets().list(before.as_ref(), limit as i64 + 1).await?;
        self.page_of(packets, limit).await
    }

    /// The shares that a user claimed, newest first, beginning after the share of packet `before`.
    pub async fn received(
        &self,
        user: UserId,
        before: Option<PacketId>,
        limit: usize,
    ) -> PacketPage<(ShareClaim, PacketView)> {
        let mark = match before {
            Some(id) => {
                let claim =
                    self.parts.store.packets().claim_of(id, user).await?.ok_or(PacketPageError::UnknownCursor)?;
                Some((claim.claimed_at, id))
            }
            None => None,
        };
        let received = self.parts.store.packets().received(user, mark, limit as i64 + 1).await?;
        let (claims, packets): (Vec<ShareClaim>, Vec<Packet>) = received.into_iter().unzip();
        let views = self.with_names(packets).await?;
        Ok(Page::cut(claims.into_iter().zip(views).collect(), limit, |(claim, _)| claim.packet_id))
    }

    /// The packet after which a page begins. An error if it is not in the list.
    async fn cursor(
        &self,
        id: Option<PacketId>,
        is_listed: impl Fn(&Packet) -> bool,
    ) -> Result<Option<Packet>, PacketPageError> {
        let Some(id) = id else { return Ok(None) };
        let packet = self.parts.store.packets().get(id).await?.filter(is_listed);
        packet.map(Some).ok_or(PacketPageError::UnknownCursor)
    }

    async fn page_of(&self, packets: Vec<Packet>, limit: usize) -> PacketPage<PacketView> {
        Ok(Page::cut(self.with_names(packets).await?, limit, |view| view.packet.id))
    }

    async fn with_names(&self, packets: Vec<Packet>) -> StoreResult<Vec<PacketView>> {
        let users = packets.iter().flat_map(|p| [p.giver.user(), p.best.map(|(user, _)| user)]).flatten();
        let names = self.parts.store.accounts().usernames(&users.collect::<Vec<_>>()).await?;
        let views = packets.into_iter().map(|packet| PacketView {
            giver: packet.giver.user().and_then(|user| names.get(&user).cloned()),
            luckiest: packet.best.and_then(|(user, _)| names.get(&user).cloned()),
            packet,
        });
        Ok(views.collect())
    }
}
