//! Doing one fault: it begins, lasts, and is lifted.

use std::io::Write;
use std::time::Duration;

use tokio::time::sleep;

use super::arena::{Arena, FrozenService, address_of, redis_command, small_disk, try_redis_command};
use super::line::LineState;
use super::schedule::{Fault, FaultKind, Target};
use crate::faults::lossy::Backup;
use crate::support::{Stack, eventually, on_postgres, pause, until};

/// How wrong a clock may be, in seconds. The lengths of payment windows, leases and tokens lie in between.
const CLOCK_ERRORS: [i64; 8] = [-1_860, -600, -45, -3, 3, 45, 600, 1_860];
/// How long a replica takes to get a master's data.
const SYNC_TIMEOUT: Duration = Duration::from_secs(30);

impl Arena {
    /// Does a fault, from its beginning to its end.
    pub async fn strike(&self, fault: &Fault) {
        match fault.target {
            Target::Line(..) => self.strike_line(fault).await,
            Target::Process(n) => self.strike_process(fault, n).await,
            Target::Service(service) => self.strike_service(fault, service).await,
        }
    }

    async fn strike_line(&self, fault: &Fault) {
        let state = match fault.kind {
            FaultKind::Swallow => LineState::SwallowsAnswers,
            FaultKind::Hold => LineState::Held,
            FaultKind::Slow => LineState::Slow(Duration::from_millis(20 + fault.nonce % 280)),
            FaultKind::Silence => LineState::Silent,
            _ => return self.lines_of(fault.target).for_each(|line| line.reset()),
        };
        self.disturb(fault.target, state, fault.length).await;
    }

    async fn strike_process(&self, fault: &Fault, n: usize) {
        let mut process = self.process(n).await;
        match fault.kind {
            FaultKind::Freeze => {
                process.signal("STOP");
                sleep(fault.length).await;
                process.signal("CONT");
            }
            FaultKind::Kill => {
                process.kill();
                sleep(fault.length).await;
                process.start();
            }
            FaultKind::Clock => {
                process.set_clock(CLOCK_ERRORS[fault.nonce as usize % CLOCK_ERRORS.len()]);
                self.stop(n, &mut process).await;
                process.start();
                sleep(fault.length).await;
                ["LD_PRELOAD", "FAKETIME"].iter().for_each(|name| process.unset(name));
                self.stop(n, &mut process).await;
                process.start();
            }
            _ => {
                self.stop(n, &mut process).await;
                sleep(fault.length).await;
                process.start();
            }
        }
    }

    async fn strike_service(&self, fault: &Fault, service: &'static str) {
        let (_alone, stack) = (self.service(service).await, Stack::get());
        match fault.kind {
            FaultKind::FreezeService => {
                let _frozen = FrozenService::freeze(service);
                sleep(fault.length).await;
            }
            FaultKind::KillService | FaultKind::RestartService => {
                let how = if fault.kind == FaultKind::KillService { "kill" } else { "stop" };
                stack.run(&[how, service]).await;
                sleep(fault.length).await;
                stack.run(&["start", service]).await;
            }
            FaultKind::Refuse => self.refuse_writes(service, fault.length).await,
            FaultKind::Flush => drop(redis_command("redis", "FLUSHALL").await),
            FaultKind::Rollback => roll_back(fault.length).await,
            FaultKind::Failover => self.fail_over(fault).await,
            _ => fill_disk(fault.length).await,
        }
    }

    /// The service answers, but refuses writes.
    async fn refuse_writes(&self, service: &str, length: Duration) {
        match service {
            "redis" => {
                redis_command("redis", "CONFIG SET maxmemory 1").await;
                sleep(length).await;
                redis_command("redis", "CONFIG SET maxmemory 0").await;
            }
            "rabbitmq" => {
                Stack::get().run(&["rabbitmqctl", "set_disk_free_limit", "100000GB"]).await;
                sleep(length).await;
                Stack::get().run(&["rabbitmqctl", "set_disk_free_limit", "200MB"]).await;
            }
            _ => {
                self.set_database_read_only("on").await;
                sleep(length).await;
                self.set_database_read_only("off").await;
            }
        }
    }

    /// Makes the database read-only or writable for new sessions, and ends the existing ones.
    async fn set_database_read_only(&self, on: &str) {
        let name = self.shop.setting("SECKILL_DATABASE_URL").rsplit('/').next().unwrap_or_default().to_owned();
        let set = format!("ALTER DATABASE {name} SET default_transaction_read_only = {on}");
        let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
        // PostgreSQL may be restarting because of an earlier fault.
        for sql in [set, end] {
            eventually("PostgreSQL takes the setting", SYNC_TIMEOUT, async || {
                on_postgres(&sql).await.map_err(|error| error.to_string())
            })
            .await;
        }
    }

    /// The replica stops following, the master dies some moments later, and the lines of the master are led to the
    /// replica, as if an operator or a proxy moved its name. Sentinel would do the same by itself. Then comes the
    /// planned way back, which loses nothing: writes wait until the former master has them all.
    async fn fail_over(&self, fault: &Fault) {
        redis_command("replica", "REPLICAOF NO ONE").await;
        pause(fault.nonce % 2_500).await;
        Stack::get().run(&["kill", "redis"]).await;
        self.retarget_master("replica");
        Stack::get().run(&["start", "redis"]).await;
        follow("redis", "replica").await;
        sleep(fault.length).await;
        redis_command("replica", "CLIENT PAUSE 60000 WRITE").await;
        let written = replication_offset("replica").await;
        let read = async || replication_offset("redis").await;
        until("the former master has every write", SYNC_TIMEOUT, read, |copied| *copied >= written).await;
        redis_command("redis", "REPLICAOF NO ONE").await;
        self.retarget_master("redis");
        // The waiting writes end with the process. Its successor follows the master from the start: a running process
        // was seen to wait for its new connection to the restarted master until the time-out of replication.
        Stack::get().run(&["kill", "replica"]).await;
        Stack::get().run(&["start", "replica"]).await;
        eventually("the replica follows the master", SYNC_TIMEOUT, async || is_synchronized("replica").await).await;
    }
}

/// Undoes what a fault may have left if it could not be carried out. Errors do not matter, because the next run would
/// show them.
pub async fn mend() {
    if let Some(folder) = small_disk() {
        let _ = std::fs::remove_file(folder.join("filler"));
    }
    let stack = |words: &[&str]| drop(Stack::get().script(words).output());
    stack(&["kill", "replica"]);
    stack(&["up"]);
    stack(&["rabbitmqctl", "set_disk_free_limit", "200MB"]);
    for command in ["REPLICAOF NO ONE", "CONFIG SET maxmemory 0"] {
        let _ = try_redis_command("redis", command).await;
    }
}

/// `follower` becomes a replica of `master`.
async fn follow(follower: &str, master: &str) {
    redis_command(follower, &format!("REPLICAOF {}", address_of(master).replace(':', " "))).await;
    eventually("the replica has the master's data", SYNC_TIMEOUT, async || is_synchronized(follower).await).await;
}

/// Whether a replica has the data of its master. Otherwise, what it says about its replication.
async fn is_synchronized(replica: &str) -> Result<(), String> {
    let info = text(redis_command(replica, "INFO replication").await);
    if info.contains("master_link_status:up") { Ok(()) } else { Err(info) }
}

/// How many bytes of replication a service has written or taken over.
async fn replication_offset(service: &str) -> u64 {
    let info = text(redis_command(service, "INFO replication").await);
    let offset = info.lines().find_map(|line| line.strip_prefix("master_repl_offset:"));
    offset.and_then(|offset| offset.trim().parse().ok()).unwrap_or_else(|| panic!("no offset in {info}"))
}

/// The text of an answer.
fn text(answer: redis::Value) -> String {
    match answer {
        redis::Value::BulkString(text) => String::from_utf8_lossy(&text).into_owned(),
        redis::Value::VerbatimString { text, .. } => text,
        other => format!("{other:?}"),
    }
}

/// The master is killed some time after a copy of its append-only file was made, and starts with the copy.
async fn roll_back(length: Duration) {
    let backup = Backup::take();
    sleep(length).await;
    backup.restore().await;
}

/// The small disk of the Redis master is full for a while.
async fn fill_disk(length: Duration) {
    let filler = small_disk().expect("the kind is only drawn where there is one").join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    let block = vec![0; 1 << 16];
    while file.write_all(&block).is_ok() {}
    // Fills the rest of the last block.
    while file.write_all(&[0; 64]).is_ok() {}
    sleep(length).await;
    // A deleted file takes space as long as it is open.
    drop(file);
    std::fs::remove_file(&filler).unwrap();
    // Redis 7.0 may leave half a write in its append-only file, and then does not start with it. A rewrite heals the
    // file.
    eventually("Redis begins to rewrite its append-only file", SYNC_TIMEOUT, async || {
        try_redis_command("redis", "BGREWRITEAOF").await.map_err(|error| error.to_string())
    })
    .await;
    eventually("the append-only file is rewritten", SYNC_TIMEOUT, async || {
        let info = text(redis_command("redis", "INFO persistence").await);
        let is_done = ["aof_rewrite_in_progress:0", "aof_rewrite_scheduled:0", "aof_last_bgrewrite_status:ok"];
        if is_done.iter().all(|line| info.contains(line)) { Ok(()) } else { Err(info) }
    })
    .await;
}
