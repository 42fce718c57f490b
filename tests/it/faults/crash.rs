//! Crashing one process or service, and starting it again.

use super::degraded::redis_command;
use crate::support::{Shop, Stack, pause};

#[derive(Clone, Copy)]
pub enum CrashTarget {
    /// A process with this role.
    Role(&'static str),
    Service(&'static str),
    /// All data of Redis, by FLUSHALL.
    RedisData,
}

/// In RabbitMQ 3.10 a quorum queue that was declared or recovered just before a crash has no leader after it.
pub const QUEUE_SETTLE_MS: u64 = 3_000;

impl CrashTarget {
    /// Waits until it survives a crash.
    pub async fn settle(self) {
        if let CrashTarget::Service("rabbitmq") = self {
            pause(QUEUE_SETTLE_MS).await;
        }
    }
}

/// Sends `kill -9` and starts the target again `down_for_ms` milliseconds later. `which` chooses between processes of
/// the same role.
pub async fn crash(shop: &mut Shop, target: CrashTarget, which: usize, down_for_ms: u64) {
    match target {
        CrashTarget::Role(role) => {
            shop.process(role, which).check();
            shop.process(role, which).kill();
            pause(down_for_ms).await;
            shop.process(role, which).start();
        }
        CrashTarget::Service(service) => {
            Stack::get().run(&["kill", service]).await;
            pause(down_for_ms).await;
            Stack::get().run(&["start", service]).await;
        }
        CrashTarget::RedisData => redis_command("FLUSHALL").await,
    }
}
