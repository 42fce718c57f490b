//! Cores for the shop and for the load generator.

use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use engine::redis::connection;

use crate::info::info;
use crate::shop::Shop;

/// Pins the shop and its Redis to the first core and the generator to the others, until it is dropped.
pub struct PinnedCores {
    pids: Vec<u32>,
    count: usize,
}

impl PinnedCores {
    pub async fn pin(shop: &Shop) -> anyhow::Result<PinnedCores> {
        let count = std::thread::available_parallelism()?.get();
        ensure!(count > 1, "the generator needs a core of its own");
        let redis = shop.services.config.redis.as_ref().context("rung 3")?;
        let mut pids = vec![shop.serve.id()];
        for server in std::iter::once(&redis.master).chain(&redis.replicas) {
            pids.push(info(&connection::shared(server)?, "server", "process_id").await?.parse()?);
        }
        let cores = PinnedCores { pids, count };
        for pid in &cores.pids {
            pin(*pid, "0")?;
        }
        pin(std::process::id(), &format!("1-{}", count - 1))?;
        Ok(cores)
    }
}

impl Drop for PinnedCores {
    fn drop(&mut self) {
        let all = format!("0-{}", self.count - 1);
        for pid in self.pids.iter().copied().chain([std::process::id()]) {
            // A process that has ended cannot be pinned, and need not be.
            let _ = pin(pid, &all);
        }
    }
}

/// Pins all threads of a process.
fn pin(pid: u32, cores: &str) -> anyhow::Result<()> {
    let taskset = Command::new("taskset").args(["-acp", cores, &pid.to_string()]).stdout(Stdio::null()).status();
    ensure!(taskset.context("taskset is needed: apt-get install util-linux")?.success(), "cannot pin {pid}");
    Ok(())
}
