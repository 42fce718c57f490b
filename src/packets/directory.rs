//! The directory: what this process knows of packets, so that a claim needs nothing but the call that decides it. What stands
//! there is fixed when a packet is given, or true for ever once it is; everything else is the backend's business.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::domain::Bucket;
use crate::domain::packet::{Giver, Packet, State};
use crate::domain::{PacketId, UserId};
use crate::pipeline::outbox::ActiveBuckets;
use crate::store::{Store, StoreError};

/// How often the list of open packets is read. The relay learns of a new one after as long.
const EVERY: Duration = Duration::from_millis(200);
/// Packets looked up by those who claim, besides the open ones; then all of these are forgotten.
const MOST_LOOKED_UP: usize = 10_000;
/// A packet that is not settled, or not there, is looked up at most this often, however many ask.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A packet on the directory.
#[derive(Debug, Clone, Copy)]
pub struct Posted {
    pub id: PacketId,
    giver: Giver,
    own: bool,
    pub opens_at: Timestamp,
    pub buckets: u8,
    /// Nobody claims any more; the books have everything.
    pub settled: bool,
}

impl Posted {
    fn of(packet: &Packet) -> Posted {
        Posted {
            id: packet.id,
            giver: packet.giver,
            own: packet.own,
            opens_at: packet.opens_at,
            buckets: packet.buckets,
            settled: packet.state == State::Settled,
        }
    }

    /// Whether the packet is the user's own and its giver keeps out of it.
    pub fn excludes(&self, user: UserId) -> bool {
        !self.own && self.giver == Giver::User(user)
    }
}

/// The directory of one process.
pub struct PacketDirectory {
    store: Store,
    open: ArcSwap<BTreeMap<PacketId, Posted>>,
    /// Settled ones, those so new that they are not on the list of open ones yet, and those that do not exist.
    looked_up: Mutex<HashMap<PacketId, Known>>,
}

/// What a look into the database has found.
struct Known {
    posted: Option<Posted>,
    at: Instant,
}

impl Known {
    fn is_settled(&self) -> bool {
        self.posted.is_some_and(|posted| posted.settled)
    }
}

/// The buckets of all packets that are not settled.
impl ActiveBuckets for PacketDirectory {
    fn buckets(&self) -> Vec<Bucket> {
        self.open.load().values().flat_map(|posted| Bucket::all(posted.id, posted.buckets)).collect()
    }
}

impl PacketDirectory {
    pub fn new(store: Store) -> PacketDirectory {
        PacketDirectory { store, open: ArcSwap::default(), looked_up: Mutex::default() }
    }

    /// A packet; `None` when there is none. One that is not on the list of open ones is looked up in the database, but
    /// not by everybody who asks.
    pub async fn posted(&self, id: PacketId) -> Result<Option<Posted>, StoreError> {
        if let Some(posted) = self.open.load().get(&id) {
            return Ok(Some(*posted));
        }
        // Held over the look, so that of many who ask together one looks.
        let mut looked_up = self.looked_up.lock().await;
        let known = looked_up.get(&id);
        if let Some(known) = known.filter(|known| known.is_settled() || known.at.elapsed() < LOOK_AGAIN_AFTER) {
            return Ok(known.posted);
        }
        let posted = self.store.packet(id).await?.as_ref().map(Posted::of);
        if looked_up.len() >= MOST_LOOKED_UP {
            looked_up.clear();
        }
        looked_up.insert(id, Known { posted, at: Instant::now() });
        Ok(posted)
    }

    /// Reads the list of open packets.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        let open: BTreeMap<PacketId, Posted> =
            self.store.open_packets().await?.iter().map(|packet| (packet.id, Posted::of(packet))).collect();
        // What is open is known from the list; looked up is only what is not.
        self.looked_up.lock().await.retain(|id, _| !open.contains_key(id));
        self.open.store(Arc::new(open));
        Ok(())
    }

    /// ReplayGrants the list fresh until it is stopped. While the database is away it stays as it is.
    pub async fn follow(&self, stop: CancellationToken) {
        let mut tick = tokio::time::interval(EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut away = false;
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            match self.refresh().await {
                Ok(()) => away = false,
                Err(error) if !std::mem::replace(&mut away, true) => {
                    warn!(%error, "cannot read the list of packets; going on with the last one");
                }
                Err(_) => {}
            }
        }
    }
}
