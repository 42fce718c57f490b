//! `kill -9` of processes and services, one after the other, at random instants under load.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::crash::{CrashTarget, crash, settle};
use super::{assert_nothing_is_lost, open_shop};
use crate::support::{Load, NewSale, pause, seed};

/// Shoppers around each kill; every one of them gets a unit.
const PER_KILL: u64 = 60;
/// Units for those who come after the last kill.
const LEFT: u64 = 100;
const ARRIVAL_TIME: Duration = Duration::from_millis(1_500);

async fn survives<const N: usize>(targets: [CrashTarget; N]) {
    survives_in(|sale| sale, targets).await;
}

async fn survives_in<const N: usize>(kind: impl Fn(NewSale) -> NewSale, mut targets: [CrashTarget; N]) {
    let mut random = StdRng::seed_from_u64(seed());
    targets.shuffle(&mut random);
    let during = N as u64 * PER_KILL;
    let units = during + LEFT;
    let (mut shop, sale) = open_shop(kind(NewSale::of(units as i64))).await;
    settle(&targets).await;
    let mut load = Load::new(&sale);
    for target in targets {
        load.arrive(&shop, PER_KILL, ARRIVAL_TIME);
        pause(random.random_range(0..1_300)).await;
        let down_for_ms = random.random_range(50..600);
        crash(&mut shop, target, random.random_range(0..2), down_for_ms).await;
        load.finish().await;
    }
    assert_eq!(load.winners() as u64, during, "there were units for all shoppers: {:?}", load.refusals());
    load.arrive(&shop, 3 * LEFT, ARRIVAL_TIME);
    load.finish().await;
    let refusals = load.refusals();
    assert!(!refusals.contains_key("not_open"), "the sale was open all the time: {refusals:?}");
    assert_nothing_is_lost(&shop, &sale, &load, units as i64).await;
}

const SERVE: CrashTarget = CrashTarget::Role("serve");
const RELAY: CrashTarget = CrashTarget::Role("relay");
const CONSUME: CrashTarget = CrashTarget::Role("consume");
const CONTROL: CrashTarget = CrashTarget::Role("control");
const REDIS: CrashTarget = CrashTarget::Service("redis");
const RABBITMQ: CrashTarget = CrashTarget::Service("rabbitmq");
const POSTGRES: CrashTarget = CrashTarget::Service("postgres");

fault_tests! { survives:
    every_process_and_redis_die_in_turn: [SERVE, RELAY, CONSUME, CONTROL, REDIS, SERVE],
    rabbitmq_and_postgres_die_in_turn: [RABBITMQ, POSTGRES, RABBITMQ, POSTGRES],
}

/// The allotter of a split sale runs in the process that holds the lease of control.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_dies_while_allotting_small_lots() {
    survives_in(|sale| sale.split(5, 6), [CONTROL; 3]).await;
}

/// Each alone, three times.
mod long {
    use super::*;

    fault_tests! { survives:
        serve_dies: [SERVE; 3],
        relay_dies: [RELAY; 3],
        consume_dies: [CONSUME; 3],
        control_dies: [CONTROL; 3],
        redis_dies: [REDIS; 3],
        rabbitmq_dies: [RABBITMQ; 3],
        postgres_dies: [POSTGRES; 3],
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn redis_dies_under_a_split_sale() {
        survives_in(|sale| sale.split(5, 0), [REDIS; 3]).await;
    }
}
