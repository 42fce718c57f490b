//! What breaks, when and for how long: a schedule that follows from a seed.

use std::fmt;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt};

use crate::support::Rung;

/// Faults that may be under way at the same time.
const MAX_CONCURRENT: usize = 3;
/// Time between the starts of two faults.
const GAP_MS: std::ops::Range<u64> = 300..2_400;
/// Draws for one fault before its place in the schedule stays empty.
const MAX_DRAWS: usize = 12;

/// Name, meaning, frequency compared with the others, and length in milliseconds.
type Properties = (&'static str, &'static str, u32, std::ops::Range<u64>);

macro_rules! fault_kinds {
    ($($kind:ident $properties:expr;)+) => {
        /// A kind of fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum FaultKind {
            $($kind,)+
        }

        impl FaultKind {
            pub const ALL: &[FaultKind] = &[$(FaultKind::$kind,)+];

            fn properties(self) -> Properties {
                match self {
                    $(FaultKind::$kind => $properties,)+
                }
            }
        }
    };
}

fault_kinds! {
    Reset ("reset", "connections of a line are reset", 6, 1..2);
    Swallow ("swallow", "requests arrive, answers are lost", 6, 400..4_000);
    Hold ("hold", "bytes wait, then go on", 6, 400..8_000);
    Slow ("slow", "every chunk of bytes is late", 4, 1_000..8_000);
    Silence ("silence", "a host vanishes without a word", 6, 1_000..8_000);
    Freeze ("freeze", "SIGSTOP of a process, later SIGCONT", 7, 500..9_000);
    Kill ("kill", "kill -9 of a process", 8, 50..3_000);
    Restart ("restart", "graceful restart of a process", 4, 1..500);
    Clock ("clock", "a process whose clock is wrong", 4, 4_000..12_000);
    FreezeService ("freeze-service", "SIGSTOP of a service, later SIGCONT", 3, 500..5_000);
    KillService ("kill-service", "kill -9 of a service", 6, 50..3_000);
    RestartService ("restart-service", "graceful restart of a service", 2, 1..500);
    Refuse ("refuse", "a service answers but takes no writes", 4, 1_000..8_000);
    Flush ("flush", "FLUSHALL on the master", 3, 1..2);
    Rollback ("rollback", "the master comes back without its last seconds", 4, 300..4_000);
    Failover ("failover", "a replica without the last moment becomes the master", 4, 2_000..8_000);
    DiskFull ("disk-full", "the disk of the Redis master is full", 3, 1_000..6_000);
}

impl FaultKind {
    pub fn name(self) -> &'static str {
        self.properties().0
    }

    pub fn meaning(self) -> &'static str {
        self.properties().1
    }

    pub fn from_name(name: &str) -> Option<FaultKind> {
        FaultKind::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

/// The target of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A process by number.
    Process(usize),
    Service(&'static str),
    /// The line from a process to a service, or from all processes.
    Line(Option<usize>, &'static str),
}

/// A fault in a schedule.
#[derive(Debug, Clone)]
pub struct Fault {
    pub kind: FaultKind,
    pub target: Target,
    /// Time since the beginning.
    pub at: Duration,
    pub length: Duration,
    /// More randomness for the fault itself, such as how slow, or how wrong a clock.
    pub nonce: u64,
}

/// The rung, the roles of the processes, and the kinds of faults of a run.
#[derive(Debug, Clone)]
pub struct Cast {
    pub rung: Rung,
    pub roles: Vec<&'static str>,
    pub kinds: Vec<FaultKind>,
}

impl Cast {
    /// The services behind a process's lines.
    pub fn lines(&self, process: usize) -> &'static [&'static str] {
        match (self.rung, self.roles[process]) {
            (Rung::Sqlite, _) => &[],
            (Rung::Postgres, _) => &["postgres"],
            (Rung::Redis | Rung::Rabbit, "serve") => &["redis", "replica", "postgres"],
            (Rung::Redis, _) => &["redis", "postgres"],
            (Rung::Rabbit, _) => &["redis", "postgres", "rabbitmq"],
            // Lines do not lead to the servers of a cluster or to Sentinels, because these tell clients their own
            // addresses.
            (_, "serve") => &["postgres"],
            _ => &["postgres", "rabbitmq"],
        }
    }

    /// The targets of a kind of fault; empty if the rung has none.
    fn targets(&self, kind: FaultKind) -> Vec<Target> {
        let services = |of: &[&'static str]| -> Vec<Target> {
            self.rung.services().iter().filter(|s| of.contains(s)).map(|s| Target::Service(s)).collect()
        };
        match kind {
            FaultKind::Reset | FaultKind::Swallow | FaultKind::Hold | FaultKind::Slow | FaultKind::Silence => {
                let each = (0..self.roles.len()).flat_map(|n| self.lines(n).iter().map(move |s| (n, *s)));
                let mut lines: Vec<Target> = each.map(|(n, service)| Target::Line(Some(n), service)).collect();
                let all =
                    self.rung.services().iter().filter(|s| (0..self.roles.len()).any(|n| self.lines(n).contains(s)));
                lines.extend(all.map(|service| Target::Line(None, service)));
                lines
            }
            FaultKind::Freeze | FaultKind::Kill | FaultKind::Restart | FaultKind::Clock => {
                (0..self.roles.len()).map(Target::Process).collect()
            }
            FaultKind::FreezeService => services(&[
                "redis", "replica", "rabbitmq", "shard0", "shard1", "shard2", "watched0", "watched1", "watched2",
            ]),
            FaultKind::KillService | FaultKind::RestartService => services(self.rung.services()),
            FaultKind::Refuse => services(&["redis", "postgres", "rabbitmq"]),
            FaultKind::Flush | FaultKind::Rollback | FaultKind::Failover | FaultKind::DiskFull => services(&["redis"]),
        }
    }

    /// The name of a target, such as `serve 1 → redis`.
    pub fn name(&self, target: Target) -> String {
        match target {
            Target::Process(n) => self.process(n),
            Target::Service(service) => service.to_owned(),
            Target::Line(Some(n), service) => format!("{} → {service}", self.process(n)),
            Target::Line(None, service) => format!("all → {service}"),
        }
    }

    /// The name of a process, such as `serve 1`.
    pub fn process(&self, n: usize) -> String {
        let same = self.roles[..n].iter().filter(|role| **role == self.roles[n]).count();
        let role = if self.roles[n].is_empty() { "all roles" } else { self.roles[n] };
        format!("{role} {same}")
    }

    /// The faults of a run, in the order of their times.
    pub fn schedule(&self, random: &mut StdRng, duration: Duration) -> Vec<Fault> {
        let kinds: Vec<(FaultKind, u32)> =
            self.kinds.iter().filter(|kind| !self.targets(**kind).is_empty()).map(|k| (*k, k.properties().2)).collect();
        let mut faults: Vec<Fault> = Vec::new();
        let mut at = Duration::from_millis(random.random_range(500..1_500));
        while at < duration && !kinds.is_empty() {
            let fits = |fault: &Fault| {
                let under_way: Vec<&Fault> = faults.iter().filter(|other| other.busy_until() > fault.at).collect();
                under_way.len() < MAX_CONCURRENT && under_way.iter().all(|other| !clash(other.target, fault.target))
            };
            let drawn = (0..MAX_DRAWS).map(|_| self.draw(random, &kinds, at, duration)).collect::<Vec<_>>();
            faults.extend(drawn.into_iter().find(fits));
            at += Duration::from_millis(random.random_range(GAP_MS));
        }
        faults
    }

    fn draw(&self, random: &mut StdRng, kinds: &[(FaultKind, u32)], at: Duration, end: Duration) -> Fault {
        let kind = kinds.choose_weighted(random, |kind| kind.1).expect("weights").0;
        let target = *self.targets(kind).choose(random).expect("targets");
        let length = Duration::from_millis(random.random_range(kind.properties().3));
        Fault { kind, target, at, length: length.min(end - at), nonce: random.next_u64() }
    }
}

impl Fault {
    /// When the target can be hit again: some faults take longer than their length.
    fn busy_until(&self) -> Duration {
        let slack_ms = match (self.kind, self.target) {
            (FaultKind::KillService | FaultKind::RestartService, Target::Service("rabbitmq")) => 9_000,
            (FaultKind::KillService | FaultKind::RestartService, _) => 2_500,
            (FaultKind::Restart | FaultKind::Clock, _) => 4_000,
            (FaultKind::Rollback | FaultKind::Failover | FaultKind::DiskFull, _) => 4_000,
            (FaultKind::Refuse, Target::Service("rabbitmq")) => 3_000,
            _ => 0,
        };
        self.at + self.length + Duration::from_millis(slack_ms)
    }
}

/// Whether two faults would act on the same thing. A failover and the death of a replica do. So do faults on servers of
/// which one must be left as the master.
fn clash(one: Target, other: Target) -> bool {
    let redis = |target: Target| match target {
        Target::Service(name) => matches!(name, "redis" | "replica") || name.starts_with("watched"),
        _ => false,
    };
    match (one, other) {
        (Target::Line(a, service), Target::Line(b, same)) => service == same && (a == b || a.is_none() || b.is_none()),
        _ => one == other || (redis(one) && redis(other)),
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn cast() -> Cast {
        let roles = vec!["serve", "serve", "relay", "relay", "consume", "consume", "control", "control"];
        Cast { rung: Rung::Rabbit, roles, kinds: FaultKind::ALL.to_vec() }
    }

    fn schedule(seed: u64) -> Vec<Fault> {
        cast().schedule(&mut StdRng::seed_from_u64(seed), Duration::from_secs(30))
    }

    #[test]
    fn seed_reproduces_the_schedule() {
        assert_eq!(format!("{:?}", schedule(7)), format!("{:?}", schedule(7)));
        assert_ne!(format!("{:?}", schedule(7)), format!("{:?}", schedule(8)));
    }

    #[test]
    fn every_kind_occurs_and_no_target_is_hit_twice_at_once() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..50 {
            let faults = schedule(seed);
            assert!(faults.len() >= 8, "seed {seed}: {} faults", faults.len());
            for (n, fault) in faults.iter().enumerate() {
                seen.insert(fault.kind);
                assert!(fault.at + fault.length <= Duration::from_secs(30));
                let earlier = faults[..n].iter().filter(|other| other.busy_until() > fault.at);
                for other in earlier {
                    assert!(!clash(other.target, fault.target), "seed {seed}: {other:?} and {fault:?}");
                }
            }
        }
        assert_eq!(seen.len(), FaultKind::ALL.len(), "{seen:?}");
    }
}
