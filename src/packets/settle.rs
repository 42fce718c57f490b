//! Data control's part in packets, on every rung.

use std::sync::Arc;

use tracing::info;

use crate::clock::Clock;
use crate::domain::packet::Phase;
use crate::metrics::Metrics;
use crate::packets::sync::PacketSync;
use crate::store::{Settled, Store};

/// Looks after packets. Everything it does may be done twice.
#[derive(Clone)]
pub struct PacketSettler {
    pub store: Store,
    /// Where Redis keeps the shares.
    pub packet_sync: Option<Arc<PacketSync>>,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
}

impl PacketSettler {
    /// One step: packets come to life in Redis, and those that are empty or over are settled.
    pub async fn tend(&self) -> anyhow::Result<()> {
        match &self.packet_sync {
            Some(packet_sync) => packet_sync.tend().await,
            None => self.settle_alone().await,
        }
    }

    /// Where the database decides alone, nothing is ever under way.
    async fn settle_alone(&self) -> anyhow::Result<()> {
        let now = self.clock.now();
        for packet in self.store.open_packets().await? {
            if !matches!(packet.phase(now), Phase::Empty | Phase::Expired) {
                continue;
            }
            if let Settled::Done { returned } = self.store.settle_packet(packet.id, packet.claimed, now).await? {
                self.metrics.packets_settled.inc();
                info!(packet = %packet.id, claimed = packet.claimed, returned, "settled");
            }
        }
        Ok(())
    }
}
