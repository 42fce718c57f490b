//! The database as the share backend: a batch is one transaction that locks the packet, decides and writes the claims.

use std::collections::HashMap;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{ShareBackend, ShareDecision};
use crate::batching::Unavailable;
use crate::batching::{Batch, BatchKey};
use domain::Bucket;
use domain::packet::{Packet, PacketPhase, Share};
use domain::{PacketId, UserId};
use store::{ShareGrant, Store};

/// Shares on the database alone, without Redis.
pub struct DatabaseShares {
    store: Store,
}

impl DatabaseShares {
    pub fn new(store: Store) -> DatabaseShares {
        DatabaseShares { store }
    }

    async fn take_shares(&self, bucket: Bucket, users: &[UserId]) -> Result<Vec<ShareDecision>, Unavailable> {
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

    async fn claim(&self, batches: &[Batch<UserId>]) -> Vec<Result<Vec<ShareDecision>, Unavailable>> {
        let mut results = Vec::with_capacity(batches.len());
        for Batch { bucket, claims } in batches {
            results.push(self.take_shares(*bucket, claims).await);
        }
        results
    }

    fn batch_key(&self, bucket: Bucket) -> BatchKey {
        BatchKey::Bucket(bucket)
    }

    async fn share_of(&self, _bucket: Bucket, _user: UserId) -> Result<Option<Share>, Unavailable> {
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
