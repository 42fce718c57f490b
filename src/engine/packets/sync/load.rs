//! Loads packets into Redis, and replays claims that Redis may have lost.

use std::collections::HashMap;

use tracing::info;

use super::{PacketSync, buckets};
use crate::pipeline::outbox;
use crate::redis::replay::{ReplayGrants, Replayed};
use domain::packet::{Packet, Share, ShareClaim};
use domain::{Bucket, OutboxItem, UserId};
use store::SHARES_PER_PART;

/// Claims per page of a load.
const PAGE_SIZE: i64 = 1000;
/// Claims per replaying call.
const MAX_CLAIMS_PER_REPLAY: i64 = 256;

impl PacketSync {
    /// Loads a packet from the database and its outbox. A packet that was loaded before must be loaded `closed`.
    pub async fn load(&self, packet: &Packet, closed: bool) -> anyhow::Result<()> {
        let epoch = self.store.next_packet_epoch(packet.id).await?;
        // The outbox is read first. A claim that leaves it after that is found in the database.
        let mut taken: HashMap<i64, (UserId, Share)> = HashMap::new();
        for bucket in buckets(packet) {
            let in_flight = self.in_flight(bucket).await?;
            taken.extend(in_flight.into_iter().map(|claim| (claim.share, (claim.user_id, claim.share()))));
        }
        let mut after = None;
        loop {
            let page = self.store.packet_claims_after(packet.id, after, PAGE_SIZE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.share);
            taken.extend(page.iter().map(|claim| (claim.share, (claim.user_id, claim.share()))));
        }
        let all: Vec<Bucket> = buckets(packet).collect();
        for part in 0..=(packet.count - 1) / SHARES_PER_PART {
            self.stage_part(packet, &all, epoch, part, &taken).await?;
        }
        for &bucket in &all {
            if self.shares.load(bucket, packet, epoch, closed).await? {
                self.metrics.packets_loaded.inc();
            }
        }
        info!(packet = %packet.id, epoch, claimed = taken.len(), shares = packet.count, "packet loaded into Redis");
        Ok(())
    }

    async fn stage_part(
        &self,
        packet: &Packet,
        all: &[Bucket],
        epoch: i64,
        part: i64,
        taken: &HashMap<i64, (UserId, Share)>,
    ) -> anyhow::Result<()> {
        let shares = self.store.packet_part(packet.id, part).await?;
        for (n, &bucket) in all.iter().enumerate() {
            let of_bucket = shares.iter().filter(|share| share.index as usize % all.len() == n);
            let (mut unclaimed, mut users) = (Vec::new(), Vec::new());
            for share in of_bucket {
                match taken.get(&share.index) {
                    Some(user) => users.push(*user),
                    None => unclaimed.push(*share),
                }
            }
            self.shares.stage(bucket, epoch, &unclaimed, &users).await?;
        }
        Ok(())
    }

    /// Claims in the outbox that have not reached the database.
    async fn in_flight(&self, bucket: Bucket) -> anyhow::Result<Vec<ShareClaim>> {
        let (_, mut all) = OutboxItem::partition(&outbox::all(&mut self.shares.connection(), bucket).await?);
        let persisted = self.store.persisted_claims(&all).await?;
        all.retain(|claim| !persisted.contains(&claim.key()));
        Ok(all)
    }

    /// Replays the claims that are in the database. The master may have lost them, and the process that granted them
    /// may have died and cannot replay them.
    pub(super) async fn replay_claims(&self, packet: &Packet) -> anyhow::Result<()> {
        let all: Vec<Bucket> = buckets(packet).collect();
        let (mut after, mut restored) = (None, 0);
        loop {
            let page = self.store.packet_claims_after(packet.id, after, MAX_CLAIMS_PER_REPLAY).await?;
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
