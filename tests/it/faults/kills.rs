//! `kill -9`, five times each, at random instants of the rush.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::strike::{Victim, strike};
use super::{nothing_is_lost, open_shop};
use crate::support::{Crowd, NewSale, Stack, pause, seed};

const KILLS: u64 = 5;
/// Shoppers around each kill; all of them find units.
const PER_KILL: u64 = 60;
const UNITS: u64 = 400;
const RUSH: Duration = Duration::from_millis(1_500);

async fn survives(victim: Victim) {
    survives_in(NewSale::of(UNITS as i64), victim).await;
}

async fn survives_in(sale: NewSale, victim: Victim) {
    let _mended = Stack::get().mended();
    let mut random = StdRng::seed_from_u64(seed());
    let (mut shop, sale) = open_shop(sale).await;
    let mut crowd = Crowd::new(&sale);
    for _ in 0..KILLS {
        crowd.arrive(&shop, PER_KILL, RUSH);
        pause(random.random_range(0..1_300)).await;
        let down_for = random.random_range(50..600);
        strike(&mut shop, victim, random.random_range(0..2), down_for).await;
        crowd.served().await;
    }
    assert_eq!(crowd.winners() as u64, KILLS * PER_KILL, "there were units for everybody: {:?}", crowd.refusals());
    crowd.arrive(&shop, 3 * (UNITS - KILLS * PER_KILL), RUSH);
    crowd.served().await;
    let refusals = crowd.refusals();
    assert!(!refusals.contains_key("not_open"), "the sale was open all the time: {refusals:?}");
    nothing_is_lost(&shop, &sale, &crowd, UNITS as i64).await;
}

outlives! { survives:
    serve_dies: Victim::Role("serve"),
    relay_dies: Victim::Role("relay"),
    consume_dies: Victim::Role("consume"),
    control_dies: Victim::Role("control"),
    redis_dies: Victim::Service("redis"),
    rabbitmq_dies: Victim::Service("rabbitmq"),
    postgres_dies: Victim::Service("postgres"),
}

/// Who hands out the units of a split sale is among those who work under the lease of control.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_hands_out_small_lots_dies() {
    survives_in(NewSale::of(UNITS as i64).split(5, 6), Victim::Role("control")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_dies_under_a_split_sale() {
    survives_in(NewSale::of(UNITS as i64).split(5, 0), Victim::Service("redis")).await;
}
