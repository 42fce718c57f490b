//! The torture: a shop of real processes on real services while everything breaks at random, and shoppers who record
//! every answer that they get. Once the faults are lifted and the shop has settled, every answer must have been true.
//!
//! [`schedule`] derives from a seed what breaks and when; [`arena`] and [`strike`] do it. [`customer`]s shop, others
//! wait for their [`turns`] with [`deposits`] set aside, [`programs`] of another shop reserve, and an [`admin`]istrator
//! pauses and tops up. [`verdict`] judges. `scripts/torture` runs it for longer, and many times. [`providers`] is a torture of its own, by what is paid at
//! payment providers.

mod admin;
mod arena;
mod customer;
mod deposits;
mod line;
mod programs;
pub mod providers;
mod report;
mod schedule;
mod strike;
mod turns;
mod verdict;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::future::{FutureExt, join, join_all};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::support::{NewSale, OtherShop, Rung, Stack, seed};
use admin::AdminDiary;
use arena::Arena;
use customer::Diary;
use report::{Outcome, Report};
use schedule::{Cast, Fault, FaultKind};

/// Shoppers at the same time.
const SHOPPERS: u64 = 90;
/// The first shopper's number. The late shoppers of the verdict have the numbers below.
const FIRST_SHOPPER: u64 = 1_000_000;
/// The units of each sale. Enough to sell for most of a run, but not for all of it.
const UNITS: i64 = 150;
/// The lot of each bucket of the split sale.
const LOT: i64 = 3;
/// In most runs no order may expire, however wrong the clocks are. In the others every unpaid order must.
const LONG_WINDOW: Duration = Duration::from_secs(600);
const SHORT_WINDOW: Duration = Duration::from_secs(15);

/// Length, number and faults of the runs. `scripts/torture` sets them in the environment.
struct Options {
    seconds: u64,
    runs: u64,
    /// Only these kinds of faults; empty for all.
    only: Vec<FaultKind>,
    /// Leaves out these kinds.
    without: Vec<FaultKind>,
}

impl Options {
    fn from_environment(seconds: u64) -> Options {
        let number = |name: &str, default| match std::env::var(name) {
            Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is no number")),
            Err(_) => default,
        };
        let given = std::env::var("SECKILL_TORTURE_FAULTS").unwrap_or_default();
        let names: Vec<&str> = given.split(',').filter(|name| !name.is_empty()).collect();
        let kind =
            |name: &str| FaultKind::from_name(name).unwrap_or_else(|| panic!("no kind of fault is called {name}"));
        Options {
            seconds: number("SECKILL_TORTURE_SECONDS", seconds),
            runs: number("SECKILL_TORTURE_RUNS", 1),
            only: names.iter().filter(|name| !name.starts_with('-')).map(|name| kind(name)).collect(),
            without: names.iter().filter_map(|name| name.strip_prefix('-')).map(kind).collect(),
        }
    }
}

/// The roles of the processes, each twice if the rung allows it.
fn roles(rung: Rung) -> Vec<&'static str> {
    match rung {
        rung if rung.has_rabbit() => {
            vec!["serve", "serve", "relay", "relay", "consume", "consume", "control", "control"]
        }
        rung => rung.split_roles().to_vec(),
    }
}

/// Runs with consecutive seeds. Fails if an answer was untrue.
async fn torture((rung, seconds): (Rung, u64)) {
    let options = Options::from_environment(seconds);
    let (mut kinds, missing) = arena::kinds(rung);
    kinds.retain(|kind| options.only.is_empty() || options.only.contains(kind));
    kinds.retain(|kind| !options.without.contains(kind));
    let cast = Cast { rung, roles: roles(rung), kinds };
    let (first, mut report) = (seed(), Report::new(rung, options.seconds, missing));
    for seed in (first..).take(options.runs as usize) {
        let run = AssertUnwindSafe(run(cast.clone(), seed, Duration::from_secs(options.seconds))).catch_unwind();
        let outcome = match run.await {
            Ok(outcome) => outcome,
            Err(panic) => {
                if rung.needs_stack() {
                    strike::mend().await;
                }
                Outcome::panicked(seed, panic.as_ref())
            }
        };
        report.add(outcome);
    }
    report.print();
    assert!(report.broken().is_empty(), "broken seeds: {:?}", report.broken());
}

/// One run: break, lift, settle, judge.
async fn run(cast: Cast, seed: u64, duration: Duration) -> Outcome {
    let _restore = cast.rung.needs_stack().then(|| Stack::get().restore_on_drop());
    let mut random = StdRng::seed_from_u64(seed);
    let window = if random.random_ratio(1, 4) { SHORT_WINDOW } else { LONG_WINDOW };
    let split = cast.rung.has_redis().then(|| NewSale::of(UNITS).split(4, LOT));
    let sales: Vec<NewSale> = [Some(NewSale::of(UNITS)), split].into_iter().flatten().collect();
    let faults = cast.schedule(&mut random, duration);
    println!("\ntorture: seed {seed}, {duration:?}, {} faults, payment window {window:?}", faults.len());
    let arena = Arena::start(cast, &format!("{}s", window.as_secs()), &sales).await;

    let waiters = turns::open_all(&arena.shop, &mut random).await;
    let programs = programs::all(&OtherShop::of(&arena.shop).await, &arena.sales, seed);

    let began = Instant::now();
    let waiting: JoinSet<_> = waiters.into_iter().map(|waiter| waiter.live(seed, window, began + duration)).collect();
    let reserving: JoinSet<_> = programs.into_iter().map(|one| one.live(seed, window, began + duration)).collect();
    let mut shopping = JoinSet::new();
    for n in 0..SHOPPERS {
        let numbers = (FIRST_SHOPPER + n, SHOPPERS);
        let shoppers = arena.shop.shoppers();
        let diary = move |n| Diary::new(n, shoppers(n));
        shopping.spawn(customer::shop_until(diary, numbers, (arena.sales.clone(), seed), window, began + duration));
    }
    let admin = arena.shop.admin().await.clone();
    let managing = AdminDiary::default().work(admin.clone(), arena.sales.clone(), seed, began + duration);
    let (managed, ()) = join(managing, break_all(&arena, &faults, began)).await;
    let mut diaries: Vec<Diary> = shopping.join_all().await.into_iter().flatten().collect();
    diaries.sort_by_key(|diary| diary.n);
    let mut waiters = waiting.join_all().await;
    waiters.sort_by_key(|waiter| waiter.diary.n);
    let mut programs = reserving.join_all().await;

    let sales = arena.sales.clone();
    let (mut shop, _lines, untrue) = arena.finish();
    println!("{:>8.1} s  faults lifted", began.elapsed().as_secs_f64());
    let mut found = verdict::wait_until_ready(&shop).await;
    found.extend(admin::resume(&admin, &sales, verdict::SETTLE_TIMEOUT).await);
    found.extend(turns::settle(&shop, &mut waiters, window).await);
    programs::settle(&mut programs).await;
    let diaries: Vec<&Diary> = diaries.iter().chain(waiters.iter().map(|waiter| &waiter.diary)).collect();
    let all_sales = (&sales[..], &turns::sales_in_redis(&waiters)[..]);
    let mut verdict = verdict::judge(&shop, all_sales, &diaries, Some(window).filter(|w| *w == SHORT_WINDOW)).await;
    programs::judge(&mut programs, &mut verdict).await;
    verdict.broken.extend(untrue.into_iter().chain(found));
    verdict.broken.extend(verdict::totals(&shop, &sales, UNITS, &managed).await);
    verdict.broken.extend(deposits::come_back(&shop, &waiters).await);
    for (n, process) in shop.processes.iter_mut().enumerate() {
        verdict.broken.extend(process.exit_status().map(|status| format!("process {n} ended by itself: {status}")));
    }
    let outcome = Outcome::new(seed, &faults, (&diaries, &programs), &managed, verdict);
    if !outcome.broken.is_empty() {
        report::keep_logs(&shop, seed);
    }
    outcome
}

/// Does the faults at their times, and waits until all are lifted.
async fn break_all(arena: &Arena, faults: &[Fault], began: Instant) {
    let strikes = faults.iter().map(async |fault| {
        tokio::time::sleep_until(began + fault.at).await;
        let (at, length) = (began.elapsed().as_secs_f64(), fault.length.as_secs_f64());
        println!("{at:>8.1} s  {:<16}{}, for {length:.1} s", fault.kind, arena.cast.name(fault.target));
        arena.strike(fault).await;
    });
    join_all(strikes).await;
}

/// Faults by kind.
fn count(faults: &[Fault]) -> BTreeMap<FaultKind, u32> {
    let mut counts = BTreeMap::new();
    faults.iter().for_each(|fault| *counts.entry(fault.kind).or_default() += 1);
    counts
}

/// These tests break services, so no other test runs at the same time.
mod faults {
    use crate::support::Rung;

    cases! { super::torture:
        every_answer_is_true_on_rung_3: (Rung::Rabbit, 25),
        every_answer_is_true_on_a_cluster: (Rung::Cluster, 30),
        every_answer_is_true_with_sentinels: (Rung::Sentinel, 30),
        every_answer_is_true_on_rung_2: (Rung::Redis, 30),
        every_answer_is_true_on_rung_1: (Rung::Postgres, 20),
        every_answer_is_true_on_sqlite: (Rung::Sqlite, 15),
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn books_agree_with_three_providers() {
        super::providers::torture().await;
    }
}
