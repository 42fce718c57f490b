//! The shop under torture: its processes, each with lines of its own to the services.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};
use url::Url;

use super::line::{Line, LineState};
use super::schedule::{Cast, FaultKind, Target};
use crate::support::{NewSale, Plan, Process, Rung, Settings, Shop, Stack, clock_library, pause, redis_words};

/// The contract promises ten seconds; the machine may be busy.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// In RabbitMQ 3.10 a quorum queue declared just before a crash has no leader after it.
const QUEUE_SETTLE_MS: u64 = 2_500;

/// The setting that names each service.
const SETTINGS: [(&str, &str); 4] = [
    ("redis", "SECKILL_REDIS_URL"),
    ("replica", "SECKILL_REDIS_REPLICA_URLS"),
    ("postgres", "SECKILL_DATABASE_URL"),
    ("rabbitmq", "SECKILL_AMQP_URL"),
];

/// Services that faults act on one at a time.
const SERVICES: [&str; 9] =
    ["redis", "postgres", "rabbitmq", "shard0", "shard1", "shard2", "watched0", "watched1", "watched2"];

/// A shop, its lines, and the broken promises that were seen.
pub struct Arena {
    pub cast: Cast,
    pub shop: Shop,
    /// The sales of the shop.
    pub sales: Vec<String>,
    processes: Vec<Mutex<Process>>,
    /// One lock for each service. On a busy machine a service may still be starting when the schedule hits it again.
    services: BTreeMap<&'static str, Mutex<()>>,
    lines: Vec<Line>,
    untrue: StdMutex<Vec<String>>,
}

impl Arena {
    pub async fn start(cast: Cast, payment_window: &str, sales: &[NewSale]) -> Arena {
        let lines: Arc<StdMutex<Vec<Line>>> = Arc::default();
        let (drawn, whose) = (lines.clone(), cast.clone());
        let plan = Plan::on(cast.rung)
            .await
            .roles(&cast.roles)
            .set("SECKILL_PAYMENT_WINDOW", payment_window)
            .set("NO_COLOR", "1");
        let draw_lines = move |process: usize, _: &str, settings: &mut Settings| {
            for service in whose.lines(process) {
                let name = SETTINGS.iter().find(|(known, _)| known == service).expect("a setting").1;
                let line = draw_line(process, service, settings.get_mut(name).expect("the service's address"));
                drawn.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        };
        let mut shop = plan.each_process(draw_lines).start().await;
        let mut open = Vec::new();
        for sale in sales {
            open.push(shop.open(sale.clone()).await);
        }
        if cast.rung.has_rabbit() {
            pause(QUEUE_SETTLE_MS).await;
        }
        let services = SERVICES.map(|service| (service, Mutex::default())).into();
        let processes = std::mem::take(&mut shop.processes).into_iter().map(Mutex::new).collect();
        let lines = std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner));
        Arena { cast, shop, sales: open, processes, services, lines, untrue: StdMutex::default() }
    }

    /// Returns the shop, its lines, and the broken promises that were seen. Faults must have ended.
    pub fn finish(mut self) -> (Shop, Vec<Line>, Vec<String>) {
        self.shop.processes = self.processes.into_iter().map(Mutex::into_inner).collect();
        (self.shop, self.lines, self.untrue.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn lines_of(&self, target: Target) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(move |line| match target {
            Target::Line(None, service) => line.service == service,
            Target::Line(Some(process), service) => line.service == service && line.process == process,
            _ => false,
        })
    }

    /// Puts all lines of a target in this state, and opens them again after `length`.
    pub async fn disturb(&self, target: Target, state: LineState, length: Duration) {
        self.lines_of(target).for_each(|line| line.set(state));
        tokio::time::sleep(length).await;
        self.lines_of(target).for_each(|line| line.set(LineState::Open));
    }

    /// The n-th process, which runs. If it has ended by itself, that is noted and it starts again.
    pub async fn process(&self, n: usize) -> MutexGuard<'_, Process> {
        let mut process = self.processes[n].lock().await;
        self.note_end(n, &mut process);
        process
    }

    /// Waits until no other fault acts on the service. The replica belongs to the master.
    pub async fn service(&self, service: &str) -> MutexGuard<'_, ()> {
        let service = if service == "replica" { "redis" } else { service };
        self.services[service].lock().await
    }

    fn note_end(&self, n: usize, process: &mut Process) {
        if let Some(status) = process.exit_status() {
            let log = process.log();
            let last = log.lines().last().unwrap_or_default();
            self.note(format!("{} ended by itself: {status}: {last}", self.cast.process(n)));
            process.kill();
            process.start();
        }
    }

    /// Stops a process gracefully.
    pub async fn stop(&self, n: usize, process: &mut Process) {
        process.terminate();
        let stopped = async {
            while process.exit_status().is_none() {
                pause(20).await;
            }
        };
        if tokio::time::timeout(STOP_TIMEOUT, stopped).await.is_err() {
            self.note(format!("{} did not stop within {STOP_TIMEOUT:?}", self.cast.process(n)));
        }
        process.kill();
    }

    pub fn note(&self, untrue: String) {
        println!("          !! {untrue}");
        self.untrue.lock().unwrap_or_else(PoisonError::into_inner).push(untrue);
    }

    /// Leads the lines to the master to this service.
    pub fn retarget_master(&self, service: &str) {
        let address = address_of(service);
        self.lines_of(Target::Line(None, "redis")).for_each(|line| line.retarget(&address));
    }
}

fn draw_line(process: usize, service: &'static str, address: &mut String) -> Line {
    let mut url = Url::parse(address).expect("an address");
    let line = Line::open(process, service, format!("{}:{}", url.host_str().unwrap(), url.port().unwrap()));
    url.set_port(Some(line.address.port())).expect("an address with a port");
    *address = url.into();
    line
}

/// `host:port` of a service of the stack.
pub fn address_of(service: &str) -> String {
    let name = SETTINGS.iter().find(|(known, _)| *known == service).expect("a service with a setting").1;
    let url = Url::parse(Stack::get().variable(name)).expect("an address");
    format!("{}:{}", url.host_str().unwrap(), url.port().unwrap())
}

/// Sends a command to Redis directly, not through a line.
pub async fn redis_command(service: &str, words: &str) -> redis::Value {
    try_redis_command(service, words).await.unwrap_or_else(|error| panic!("{service}: {words}: {error}"))
}

pub async fn try_redis_command(service: &str, words: &str) -> redis::RedisResult<redis::Value> {
    let client = redis::Client::open(format!("redis://{}/", address_of(service)))?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    redis_words(words).query_async(&mut connection).await
}

/// A service stopped by SIGSTOP. It continues when this is dropped.
pub struct FrozenService(String);

impl FrozenService {
    pub fn freeze(service: &str) -> FrozenService {
        let recorded = std::fs::read_to_string(Stack::get().dir().join("run").join(service)).unwrap();
        let frozen = FrozenService(recorded.split(' ').next().unwrap_or_default().to_owned());
        frozen.signal("STOP");
        frozen
    }

    fn signal(&self, name: &str) {
        let _ = Command::new("kill").args([&format!("-{name}"), &self.0]).status();
    }
}

impl Drop for FrozenService {
    fn drop(&mut self) {
        self.signal("CONT");
    }
}

/// The folder of the Redis master, if it is a small file system of its own that a test can fill.
pub fn small_disk() -> Option<PathBuf> {
    let folder = Stack::get().dir().join("redis").canonicalize().ok()?;
    let mounted = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let is_mount = |line: &str| line.split(' ').nth(4).is_some_and(|at| Path::new(at) == folder);
    mounted.lines().any(is_mount).then_some(folder)
}

/// The kinds of faults that this machine and this stack can do, and why not the others.
pub fn kinds(rung: Rung) -> (Vec<FaultKind>, Vec<(FaultKind, &'static str)>) {
    let mut missing = Vec::new();
    if rung == Rung::Sqlite {
        missing.push((FaultKind::Clock, "SQLite has no clock but the process's own"));
    } else if clock_library().is_none() {
        missing.push((FaultKind::Clock, "libfaketime is not installed"));
    }
    if !matches!(rung, Rung::Redis | Rung::Rabbit) || small_disk().is_none() {
        missing.push((
            FaultKind::DiskFull,
            "needs a Redis master on a small disk: scripts/torture as root, rungs 2 and 3",
        ));
    }
    let can = |kind: &FaultKind| !missing.iter().any(|(other, _)| other == kind);
    (FaultKind::ALL.iter().copied().filter(can).collect(), missing)
}
