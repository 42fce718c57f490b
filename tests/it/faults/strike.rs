//! What dies, and how.

use super::flush;
use crate::support::{Shop, Stack, pause};

#[derive(Clone, Copy)]
pub enum Victim {
    /// A process with this role.
    Role(&'static str),
    Service(&'static str),
    /// Everything that Redis knows.
    Memory,
}

/// `kill -9`, and a new beginning some milliseconds later; `which` of those with the same role.
pub async fn strike(shop: &mut Shop, victim: Victim, which: usize, down_for: u64) {
    match victim {
        Victim::Role(role) => {
            shop.process(role, which).check();
            shop.process(role, which).kill();
            pause(down_for).await;
            shop.process(role, which).start();
        }
        Victim::Service(service) => {
            Stack::get().run(&["kill", service]).await;
            pause(down_for).await;
            Stack::get().run(&["start", service]).await;
        }
        Victim::Memory => flush::flush_all().await,
    }
}

/// A test for each case of one story.
macro_rules! outlives {
    ($story:ident: $($name:ident: $case:expr,)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                $story($case).await;
            }
        )+
    };
}
