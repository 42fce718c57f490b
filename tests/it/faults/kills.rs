//! `kill -9` of one process or service, twice, at random instants under load.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::crash::{CrashTarget, crash};
use super::{assert_nothing_is_lost, open_shop};
use crate::support::{Load, NewSale, Stack, pause, seed};

const KILLS: u64 = 2;
/// Shoppers around each kill. Every one of them gets a unit.
const PER_KILL: u64 = 60;
const UNITS: u64 = 220;
const ARRIVAL_TIME: Duration = Duration::from_millis(1_500);

async fn survives(target: CrashTarget) {
    survives_in(NewSale::of(UNITS as i64), target).await;
}

async fn survives_in(sale: NewSale, target: CrashTarget) {
    let _restore = Stack::get().restore_on_drop();
    let mut random = StdRng::seed_from_u64(seed());
    let (mut shop, sale) = open_shop(sale).await;
    let mut load = Load::new(&sale);
    for _ in 0..KILLS {
        target.settle().await;
        load.arrive(&shop, PER_KILL, ARRIVAL_TIME);
        pause(random.random_range(0..1_300)).await;
        let down_for_ms = random.random_range(50..600);
        crash(&mut shop, target, random.random_range(0..2), down_for_ms).await;
        load.finish().await;
    }
    assert_eq!(load.winners() as u64, KILLS * PER_KILL, "there were units for all shoppers: {:?}", load.refusals());
    load.serve(&shop, 3 * (UNITS - KILLS * PER_KILL), ARRIVAL_TIME).await;
    let refusals = load.refusals();
    assert!(!refusals.contains_key("not_open"), "the sale was open all the time: {refusals:?}");
    assert_nothing_is_lost(&shop, &sale, &load, UNITS as i64).await;
}

cases! { survives:
    serve_dies: CrashTarget::Role("serve"),
    relay_dies: CrashTarget::Role("relay"),
    consume_dies: CrashTarget::Role("consume"),
    control_dies: CrashTarget::Role("control"),
    redis_dies: CrashTarget::Service("redis"),
    rabbitmq_dies: CrashTarget::Service("rabbitmq"),
    postgres_dies: CrashTarget::Service("postgres"),
}

/// The allotter of a split sale runs in the process that holds the lease of control.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_dies_while_allotting_small_lots() {
    survives_in(NewSale::of(UNITS as i64).split(5, 6), CrashTarget::Role("control")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_dies_under_a_split_sale() {
    survives_in(NewSale::of(UNITS as i64).split(5, 0), CrashTarget::Service("redis")).await;
}
