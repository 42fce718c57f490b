//! Settles packets that are empty or over, on every rung.

use std::sync::Arc;

use tracing::info;

use crate::packets::sync::PacketSync;
use base::metrics::Metrics;
use store::{SettleOutcome, Store};

/// Data control's step for packets. Every part of it is idempotent.
pub struct PacketSettler {
    pub store: Store,
    /// `None` if the database is the share backend.
    pub packet_sync: Option<Arc<PacketSync>>,
    pub metrics: Arc<Metrics>,
}

impl PacketSettler {
    /// One step: syncs Redis with the database and settles packets that are empty or over.
    pub async fn step(&self) -> anyhow::Result<()> {
        match &self.packet_sync {
            Some(packet_sync) => packet_sync.step().await,
            None => self.settle_in_database().await,
        }
    }

    /// Without Redis no claim is ever in flight, so a packet can be settled at once.
    async fn settle_in_database(&self) -> anyhow::Result<()> {
        let now = self.store.now().await?;
        for packet in self.store.packets().over(now).await? {
            if let SettleOutcome::Done { returned } = self.store.packets().settle(packet.id, packet.claimed).await? {
                self.metrics.packets_settled.inc();
                info!(packet = %packet.id, claimed = packet.claimed, returned, "packet settled");
            }
        }
        Ok(())
    }
}
