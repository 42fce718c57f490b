//! Crashing one process or service, and starting it again.

use super::flush;
use crate::support::{Shop, Stack, pause};

/// In RabbitMQ 3.10 a quorum queue declared just before a crash has no leader after it.
const QUEUE_SETTLE_MS: u64 = 2_500;

#[derive(Debug, Clone, Copy)]
pub enum CrashTarget {
    /// A process with this role.
    Role(&'static str),
    /// One of the shop's own Redis servers, or a service of the stack.
    Service(&'static str),
    /// All data of Redis, by FLUSHALL.
    RedisData,
}

/// Waits until the queues of a new shop outlive the crashes to come.
pub async fn settle(targets: &[CrashTarget]) {
    if targets.iter().any(|target| matches!(target, CrashTarget::Service("rabbitmq"))) {
        pause(QUEUE_SETTLE_MS).await;
    }
}

/// `kill -9`, and a start `down_for_ms` milliseconds later. `which` chooses between processes of the same role.
pub async fn crash(shop: &mut Shop, target: CrashTarget, which: usize, down_for_ms: u64) {
    println!("{target:?} dies");
    match target {
        CrashTarget::Role(role) => {
            shop.process(role, which).check();
            shop.process(role, which).kill();
            pause(down_for_ms).await;
            shop.process(role, which).start();
        }
        CrashTarget::Service(service @ ("redis" | "replica")) => {
            let server = shop.own_redis().server(service);
            server.kill();
            pause(down_for_ms).await;
            server.start_again().await;
        }
        CrashTarget::Service(service) => {
            Stack::get().run(&["kill", service]).await;
            pause(down_for_ms).await;
            Stack::get().run(&["start", service]).await;
        }
        CrashTarget::RedisData => flush::flush_all(shop).await,
    }
}

/// One test for each case of a scenario.
macro_rules! fault_tests {
    ($scenario:ident: $($name:ident: $case:expr,)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                $scenario($case).await;
            }
        )+
    };
}
