//! Loading packets into Redis, and reminding it of what it may have forgotten.

use std::collections::HashMap;

use tracing::info;

use super::{PacketSync, buckets};
use crate::domain::Bucket;
use crate::domain::packet::{Packet, Share, ShareClaim};
use crate::domain::{OutboxItem, UserId};
use crate::pipeline::outbox;
use crate::redis::grant_log::{ReplayGrants, Replayed};
use crate::store::SHARES_PER_PART;

/// Claims of one page.
const CLAIMS: i64 = 1000;
/// Claims that the master is reminded of by one call, at most.
const REMINDED: i64 = 256;

impl PacketSync {
    /// Loads a packet from the database and what is still in its outbox. One that was never loaded before is given away
    /// `at_once`; others wait for promises to be repeated.
    pub async fn load(&self, packet: &Packet, closed: bool) -> anyhow::Result<()> {
        let epoch = self.store.next_packet_epoch(packet.id).await?;
        // The outbox first: what leaves it meanwhile is found in the database.
        let mut taken: HashMap<i64, (UserId, Share)> = HashMap::new();
        for bucket in buckets(packet) {
            let on_their_way = self.on_their_way(bucket).await?;
            taken.extend(on_their_way.into_iter().map(|claim| (claim.share, (claim.user_id, claim.share()))));
        }
        let mut after = None;
        loop {
            let page = self.store.packet_claims_after(packet.id, after, CLAIMS).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.share);
            taken.extend(page.iter().map(|claim| (claim.share, (claim.user_id, claim.share()))));
        }
        let all: Vec<Bucket> = buckets(packet).collect();
        let mut part = 0;
        while part * SHARES_PER_PART < packet.count {
            self.stage_part(packet, &all, epoch, part, &taken).await?;
            part += 1;
        }
        for &bucket in &all {
            if self.shares.load(bucket, packet, epoch, closed).await? {
                self.metrics.packets_loaded.inc();
            }
        }
        info!(packet = %packet.id, epoch, claimed = taken.len(), shares = packet.count, "loaded into Redis");
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
    async fn on_their_way(&self, bucket: Bucket) -> anyhow::Result<Vec<ShareClaim>> {
        let (_, mut all) = OutboxItem::partition(&outbox::all(&mut self.shares.connection(), bucket).await?);
        let landed = self.store.persisted_claims(&all).await?;
        all.retain(|claim| !landed.contains(&claim.key()));
        Ok(all)
    }

    /// Tells the master what the books know, which it may have forgotten and whose server may have died since.
    pub(super) async fn remind(&self, packet: &Packet) -> anyhow::Result<()> {
        let all: Vec<Bucket> = buckets(packet).collect();
        let (mut after, mut forgotten) = (None, 0);
        loop {
            let page = self.store.packet_claims_after(packet.id, after, REMINDED).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.share);
            for (n, &bucket) in all.iter().enumerate() {
                let of_bucket = page.iter().filter(|claim| claim.share as usize % all.len() == n);
                let grants: Vec<(UserId, Share)> = of_bucket.map(|claim| (claim.user_id, claim.share())).collect();
                if grants.is_empty() {
                    continue;
                }
                if let Replayed::Forgotten(count) = self.shares.replay(bucket, &grants).await? {
                    forgotten += count;
                }
            }
        }
        if forgotten > 0 {
            info!(packet = %packet.id, forgotten, "reminded the master of claims in the books");
        }
        Ok(())
    }
}
