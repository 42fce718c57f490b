//! The packet directory: an in-memory copy of what a claim needs to know about a packet, so that a claim costs only the call
//! that decides it. It holds only facts that never change after a packet is given, and `settled`, which is never undone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::domain::Bucket;
use crate::domain::packet::{Giver, Packet, PacketState};
use crate::domain::{PacketId, UserId};
use crate::periodic::run_every;
use crate::pipeline::outbox::ActiveBuckets;
use crate::store::{Store, StoreError};

/// How often the list of open packets is read; also the delay until the relay reads the outbox of a new packet.
const REFRESH_INTERVAL: Duration = Duration::from_millis(200);
/// Looked-up packets that are cached besides the open ones. When the cache is full it is cleared.
const MAX_CACHED_LOOKUPS: usize = 10_000;
/// How long a lookup is cached of a packet that is not settled or does not exist.
const LOOKUP_TTL: Duration = Duration::from_millis(100);

/// What the directory knows of a packet.
#[derive(Debug, Clone, Copy)]
pub struct ListedPacket {
    pub id: PacketId,
    giver: Giver,
    own: bool,
    pub opens_at: Timestamp,
    pub buckets: u8,
    /// No share can be claimed any more, and the database has every claim.
    pub settled: bool,
}

impl ListedPacket {
    fn of(packet: &Packet) -> ListedPacket {
        ListedPacket {
            id: packet.id,
            giver: packet.giver,
            own: packet.own,
            opens_at: packet.opens_at,
            buckets: packet.buckets,
            settled: packet.state == PacketState::Settled,
        }
    }

    /// Whether the user gave the packet and may not claim from it.
    pub fn excludes(&self, user: UserId) -> bool {
        !self.own && self.giver == Giver::User(user)
    }
}

/// The directory of one process.
pub struct PacketDirectory {
    store: Store,
    open: ArcSwap<BTreeMap<PacketId, ListedPacket>>,
    /// Packets that are settled, too new for the list of open ones, or absent.
    lookups: Mutex<HashMap<PacketId, Lookup>>,
}

/// What a query of the database found.
struct Lookup {
    packet: Option<ListedPacket>,
    at: Instant,
}

impl Lookup {
    fn is_settled(&self) -> bool {
        self.packet.is_some_and(|packet| packet.settled)
    }
}

/// The buckets of all packets that are not settled.
impl ActiveBuckets for PacketDirectory {
    fn buckets(&self) -> Vec<Bucket> {
        self.open.load().values().flat_map(|packet| Bucket::all(packet.id, packet.buckets)).collect()
    }
}

impl PacketDirectory {
    pub fn new(store: Store) -> PacketDirectory {
        PacketDirectory { store, open: ArcSwap::default(), lookups: Mutex::default() }
    }

    /// A packet; `None` when it does not exist. A packet that is not on the list of open ones is looked up in the database,
    /// at most once per [`LOOKUP_TTL`] for any number of concurrent callers.
    pub async fn find(&self, id: PacketId) -> Result<Option<ListedPacket>, StoreError> {
        if let Some(packet) = self.open.load().get(&id) {
            return Ok(Some(*packet));
        }
        // Held across the query, so that concurrent callers cause one query.
        let mut lookups = self.lookups.lock().await;
        let cached = lookups.get(&id);
        if let Some(cached) = cached.filter(|cached| cached.is_settled() || cached.at.elapsed() < LOOKUP_TTL) {
            return Ok(cached.packet);
        }
        let packet = self.store.packet(id).await?.as_ref().map(ListedPacket::of);
        if lookups.len() >= MAX_CACHED_LOOKUPS {
            lookups.clear();
        }
        lookups.insert(id, Lookup { packet, at: Instant::now() });
        Ok(packet)
    }

    /// Reads the list of open packets.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        let open: BTreeMap<PacketId, ListedPacket> =
            self.store.open_packets().await?.iter().map(|packet| (packet.id, ListedPacket::of(packet))).collect();
        // The list answers for open packets, so their lookups are dropped.
        self.lookups.lock().await.retain(|id, _| !open.contains_key(id));
        self.open.store(Arc::new(open));
        Ok(())
    }

    /// Refreshes the list until it is stopped. While the database does not answer, the last list stays in use.
    pub async fn follow(&self, stop: CancellationToken) {
        run_every(REFRESH_INTERVAL, &stop, "packet directory", || self.refresh()).await;
    }
}
