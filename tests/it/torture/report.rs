//! The output of a torture: the end of each run, and a table over all runs.

use std::any::Any;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::admin::AdminDiary;
use super::count;
use super::customer::Diary;
use super::programs::Program;
use super::schedule::{Fault, FaultKind};
use super::verdict::Verdict;
use crate::support::{Rung, Shop, Stack};

/// Broken answers of one sort that are printed after a run.
const MAX_PRINTED: usize = 3;
/// Lines of each log that are printed after a broken run.
const TAIL_LINES: usize = 8;

/// The end of one run.
pub struct Outcome {
    pub seed: u64,
    pub broken: Vec<String>,
    faults: BTreeMap<FaultKind, u32>,
    /// The orders and reservations in answers, counted by their end.
    ends: BTreeMap<String, u32>,
    answers: BTreeMap<String, u32>,
    /// Reads of an order that found nothing while something was broken.
    missing: u32,
    settled_after: Duration,
}

impl Outcome {
    pub fn new(
        seed: u64,
        faults: &[Fault],
        (diaries, programs): (&[&Diary], &[Program]),
        admin: &AdminDiary,
        verdict: Verdict,
    ) -> Outcome {
        let mut answers = admin.answers.clone();
        let of_programs = programs.iter().flat_map(|program| &program.answers);
        for (name, times) in diaries.iter().flat_map(|diary| &diary.answers).chain(of_programs) {
            *answers.entry(name.clone()).or_default() += times;
        }
        let missing = diaries.iter().map(|diary| diary.missing).sum();
        let Verdict { broken, ends, settled_after } = verdict;
        Outcome { seed, broken, faults: count(faults), ends, answers, missing, settled_after }
    }

    /// A run that could not be carried out.
    pub fn panicked(seed: u64, panic: &(dyn Any + Send)) -> Outcome {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Outcome {
            seed,
            broken: vec![format!("the run ended early: {}", text.unwrap_or("a panic"))],
            faults: BTreeMap::new(),
            ends: BTreeMap::new(),
            answers: BTreeMap::new(),
            missing: 0,
            settled_after: Duration::ZERO,
        }
    }
}

/// All runs of a torture.
pub struct Report {
    rung: Rung,
    seconds: u64,
    /// Kinds of faults that this machine cannot do.
    missing: Vec<(FaultKind, &'static str)>,
    runs: u32,
    broken: Vec<u64>,
    /// By kind: faults, runs with such a fault, and how many of these runs were broken.
    kinds: BTreeMap<FaultKind, (u32, u32, u32)>,
    ends: BTreeMap<String, u32>,
}

impl Report {
    pub fn new(rung: Rung, seconds: u64, missing: Vec<(FaultKind, &'static str)>) -> Report {
        Report { rung, seconds, missing, runs: 0, broken: Vec::new(), kinds: BTreeMap::new(), ends: BTreeMap::new() }
    }

    pub fn broken(&self) -> &[u64] {
        &self.broken
    }

    /// Adds a run and prints its end.
    pub fn add(&mut self, outcome: Outcome) {
        let broken = !outcome.broken.is_empty();
        self.runs += 1;
        self.broken.extend(Some(outcome.seed).filter(|_| broken));
        for (kind, count) in &outcome.faults {
            let (faults, runs, bad) = self.kinds.entry(*kind).or_default();
            (*faults, *runs, *bad) = (*faults + count, *runs + 1, *bad + u32::from(broken));
        }
        for (end, count) in &outcome.ends {
            *self.ends.entry(end.clone()).or_default() += count;
        }
        println!("  answers: {:?}", outcome.answers);
        println!("  orders by end: {:?}; not found for a while: {}", outcome.ends, outcome.missing);
        print_broken(&outcome.broken);
        let verdict =
            if broken { format!("BROKEN ({} answers)", outcome.broken.len()) } else { "every answer is true".into() };
        println!("seed {}: {verdict}, settled after {:.1} s", outcome.seed, outcome.settled_after.as_secs_f64());
        if broken {
            println!(
                "repeat with: scripts/torture --seed {} --seconds {} --rung {}",
                outcome.seed,
                self.seconds,
                self.rung_name()
            );
        }
    }

    pub fn print(&self) {
        println!("\n{} runs of {} s on {:?}; {} broken", self.runs, self.seconds, self.rung, self.broken.len());
        println!("\n| fault | what | times | in runs | broken |\n| --- | --- | ---: | ---: | ---: |");
        for (kind, (faults, runs, broken)) in &self.kinds {
            println!("| {kind} | {} | {faults} | {runs} | {broken} |", kind.meaning());
        }
        for (kind, why) in &self.missing {
            println!("| {kind} | {} | not done: {why} | | |", kind.meaning());
        }
        println!("\n| orders ended as | number |\n| --- | ---: |");
        for (end, count) in &self.ends {
            println!("| {end} | {count} |");
        }
        println!("\nbroken seeds: {:?}", self.broken);
    }

    fn rung_name(&self) -> &'static str {
        match self.rung {
            Rung::Sqlite => "sqlite",
            Rung::Postgres => "1",
            Rung::Redis => "2",
            Rung::Rabbit => "3",
            Rung::Tls => "tls",
            Rung::Cluster => "cluster",
            Rung::Sentinel => "sentinel",
        }
    }
}

/// Prints some broken answers of each sort. Two belong to the same sort if only their words with digits differ.
fn print_broken(broken: &[String]) {
    let mut sorts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for line in broken {
        let told = line.split(": {").next().unwrap_or_default();
        let words = told.split(' ').filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
        sorts.entry(words.collect::<Vec<_>>().join(" ")).or_default().push(line);
    }
    for lines in sorts.values() {
        lines.iter().take(MAX_PRINTED).for_each(|line| println!("  BROKEN: {line}"));
        if lines.len() > MAX_PRINTED {
            println!("          and {} more of this sort", lines.len() - MAX_PRINTED);
        }
    }
}

/// Keeps the logs of a broken run in `$SECKILL_TORTURE_LOGS`, and prints the last warnings of every process.
pub fn keep_logs(shop: &Shop, seed: u64) {
    for (n, process) in shop.processes.iter().enumerate() {
        let log = process.log();
        if let Some(folder) = std::env::var_os("SECKILL_TORTURE_LOGS") {
            let folder = PathBuf::from(folder).join(seed.to_string());
            std::fs::create_dir_all(&folder).expect("a folder for logs");
            std::fs::write(folder.join(format!("{n}-{}.log", process.role)), &log).expect("a log");
            if n == 0 {
                println!("--- logs are kept in {}", folder.display());
            }
        }
        println!("--- the last warnings of process {n} {:?}", process.role);
        let warnings: Vec<&str> = log.lines().filter(|line| !line.contains(" INFO ")).collect();
        warnings[warnings.len().saturating_sub(TAIL_LINES)..].iter().for_each(|line| println!("{line}"));
    }
    if !shop.rung().needs_stack() {
        return;
    }
    for service in ["redis", "replica", "postgres", "rabbitmq"] {
        let log = std::fs::read(Stack::get().dir().join(format!("log/{service}.log"))).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        println!("--- the end of the log of {service}");
        lines[lines.len().saturating_sub(TAIL_LINES)..].iter().for_each(|line| println!("{line}"));
    }
}
