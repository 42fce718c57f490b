//! The database as the backend of shares: a batch is one transaction that locks the packet, decides and writes the claims.

use std::collections::HashMap;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{Outcome, ShareBackend};
use crate::batching::{Batch, BatchKey};
use crate::clock::Clock;
use crate::domain::Bucket;
use crate::domain::claim::Unavailable;
use crate::domain::packet::{Packet, Phase, Share};
use crate::domain::{PacketId, UserId};
use crate::store::{Claimant, Store};

/// Shares in the database alone.
#[derive(Clone)]
pub struct DatabaseShares {
    store: Store,
    clock: Clock,
}

impl DatabaseShares {
    pub fn new(store: Store, clock: Clock) -> DatabaseShares {
        DatabaseShares { store, clock }
    }

    async fn take_shares(&self, bucket: Bucket, users: &[UserId]) -> Result<Vec<Outcome>, Unavailable> {
        let Some(packet) = bucket.packet() else { return Ok(vec![Outcome::NotLoaded; users.len()]) };
        let now = self.clock.now();
        let decided = self
            .store
            .take_shares(packet, users, now, |packet, held, free| decide(packet, held, free, users, now))
            .await?;
        Ok(decided.unwrap_or_else(|| vec![Outcome::NotLoaded; users.len()]))
    }
}

#[async_trait]
impl ShareBackend for DatabaseShares {
    fn homes(&self, packet: PacketId, _buckets: u8, _user: UserId) -> Vec<Bucket> {
        // One row is locked, however many buckets Redis would have.
        vec![Bucket::whole(packet)]
    }

    async fn claim(&self, asked: &[Batch<UserId>]) -> Vec<Result<Vec<Outcome>, Unavailable>> {
        let mut answers = Vec::with_capacity(asked.len());
        for Batch { bucket, claims } in asked {
            answers.push(self.take_shares(*bucket, claims).await);
        }
        answers
    }

    fn batch_key(&self, bucket: Bucket) -> BatchKey {
        BatchKey::Of(bucket)
    }

    async fn share_of(&self, _bucket: Bucket, _user: UserId) -> Result<Option<Share>, Unavailable> {
        // Every claim is in the books, which were asked first.
        Ok(None)
    }
}

/// BatchHandler a batch against a locked packet; the same rules as `lua/claim.lua`.
fn decide(
    packet: &Packet,
    held: &HashMap<UserId, Share>,
    free: &[Share],
    users: &[UserId],
    now: Timestamp,
) -> (Vec<Claimant>, Vec<Outcome>) {
    let closed = match packet.phase(now) {
        Phase::Upcoming => Some(Outcome::NotOpen),
        Phase::Expired => Some(Outcome::Expired),
        Phase::Open | Phase::Empty => None,
    };
    let mut held = held.clone();
    let mut free = free.iter();
    let mut given = Vec::new();
    let mut decide_one = |user: &UserId| {
        if let Some(share) = held.get(user) {
            return Outcome::Again(*share);
        }
        if let (Some(closed), false) = (closed, free.as_slice().is_empty()) {
            return closed;
        }
        let Some(share) = free.next() else { return Outcome::Empty };
        held.insert(*user, *share);
        given.push(Claimant { user_id: *user, share: *share });
        Outcome::OutboxItem(*share)
    };
    let outcomes = users.iter().map(&mut decide_one).collect();
    (given, outcomes)
}
