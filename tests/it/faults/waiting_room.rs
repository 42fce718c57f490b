//! A waiting room while processes, Redis and the database die: every place stays, and no unit is sold out of turn.

use std::time::Duration;

use axum::http::Method;
use futures::future::join_all;
use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::crash::{CrashTarget, crash};
use super::{SETTLE_TIMEOUT, start_shop};
use crate::support::{Answer, NewSale, Shop, Shopper, Stack, eventually, pause, seed, until};

const UNITS: u64 = 6;
const ACCOUNTS: u64 = 24;
/// Crashes before the opening, and as many after it.
const CRASHES: usize = 3;

pub(super) async fn join(shopper: &Shopper, sale: &str) -> Value {
    eventually("the place is taken", SETTLE_TIMEOUT, async || {
        let path = format!("/api/sales/{sale}/place");
        let answer = shopper.client.request(Method::POST, &path).json(&json!({})).try_send().await?;
        if matches!(answer.status, 200 | 201) {
            Ok(answer.json()["place"].clone())
        } else {
            Err(answer.text().to_owned())
        }
    })
    .await
}

/// The place, or `None` while the shop does not know it. The shop never denies a place that it has answered.
pub(super) async fn own(shopper: &Shopper, sale: &str) -> Option<Value> {
    let request = shopper.client.request(Method::GET, &format!("/api/sales/{sale}/place"));
    let answer = request.try_send().await.ok()?;
    assert_ne!(answer.status, 404, "{}", answer.text());
    let answer = Some(answer).filter(|answer| answer.status == 200)?;
    Some(answer.json()["place"].clone())
}

/// Whether an answer says that there is no unit for the shopper. A sale that stands still asks to try again, or is
/// paused.
fn turns_away(answer: &Answer) -> bool {
    answer.status == 409 && answer.code() != "not_open"
}

/// Presses all the time, even out of turn, until every unit is sold. Returns whether a press out of turn was granted.
async fn press_until_sold(shopper: &Shopper, sale: &str) -> bool {
    loop {
        let before = own(shopper, sale).await;
        shopper.forget_token(sale);
        let granted = shopper.try_buy(sale, 1).await.is_ok_and(|answer| answer.status == 202);
        if granted && before.is_some_and(|place| place["called_at"].is_null()) {
            // The call may have come between the two answers.
            if own(shopper, sale).await.is_some_and(|place| place["called_at"].is_null()) {
                return true;
            }
        }
        let line = shopper.client.request(Method::GET, &format!("/api/sales/{sale}/line")).try_send().await;
        if line.is_ok_and(|line| line.status == 200 && line.json()["left"] == 0) {
            return false;
        }
        pause(300).await;
    }
}

async fn survives(target: CrashTarget) {
    let _restore = Stack::get().restore_on_drop();
    let mut random = StdRng::seed_from_u64(seed());
    let mut shop = start_shop().await;
    let sale = shop.create(NewSale::of(UNITS as i64).opens_in(Duration::from_secs(18)).queue().prequeue(15)).await;
    shop.wait_until_joining(&sale).await;
    let shoppers: Vec<Shopper> = (0..ACCOUNTS).map(|n| shop.shopper(n)).collect();
    let joining = join_all(shoppers.iter().map(|shopper| join(shopper, &sale)));
    let crashing = async {
        for _ in 0..CRASHES {
            crash(&mut shop, target, random.random_range(0..2), random.random_range(50..600)).await;
            pause(random.random_range(0..900)).await;
        }
    };
    let (places, ()) = tokio::join!(joining, crashing);
    let pressing = join_all(shoppers.iter().map(|shopper| press_until_sold(shopper, &sale)));
    let crashing = async {
        for _ in 0..CRASHES {
            pause(random.random_range(3_000..7_000)).await;
            crash(&mut shop, target, random.random_range(0..2), random.random_range(50..600)).await;
        }
    };
    let (out_of_turn, ()) = tokio::join!(pressing, crashing);
    assert!(!out_of_turn.contains(&true), "{out_of_turn:?}");
    for (shopper, joined) in shoppers.iter().zip(places) {
        let kept = join(shopper, &sale).await;
        let missed_its_turn = kept["segment"] != joined["segment"];
        assert!(missed_its_turn || kept["entry"] == joined["entry"], "{joined} became {kept}");
    }
    shop.wait_until_ready().await;
    shop.wait_for_sold(&sale, UNITS as i64, Duration::from_secs(60)).await;
    shop.audit_is_clean().await;
}

cases! { survives:
    serve_dies_while_shoppers_join_and_buy: CrashTarget::Role("serve"),
    control_dies_between_calls: CrashTarget::Role("control"),
    redis_loses_everything_while_shoppers_wait: CrashTarget::RedisData,
    postgres_dies_while_shoppers_join_and_are_called: CrashTarget::Service("postgres"),
}

/// If turns passed while Redis is away, shoppers would have waited for their turns in vain.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_do_not_pass_while_redis_is_away() {
    const SEAT_S: i64 = 10;
    let _restore = Stack::get().restore_on_drop();
    let shop = start_shop().await;
    let sale = shop.create(NewSale::of(2).opens_in(Duration::from_secs(3)).queue().seat(SEAT_S)).await;
    let shoppers: Vec<Shopper> = (0..4).map(|n| shop.shopper(n)).collect();
    join_all(shoppers.iter().map(|shopper| join(shopper, &sale))).await;
    let called = eventually("two are called", SETTLE_TIMEOUT, async || {
        let mut called = Vec::new();
        for shopper in &shoppers {
            let place = own(shopper, &sale).await.ok_or("no answer")?;
            called.extend((place["state"] == "called").then_some((shopper, place)));
        }
        if called.len() == 2 { Ok(called) } else { Err(called.len().to_string()) }
    })
    .await;
    Stack::get().run(&["kill", "redis"]).await;
    let called_at: Timestamp = called[0].1["called_at"].as_str().unwrap().parse().unwrap();
    let read = async || shop.store().now().await.unwrap().duration_since(called_at);
    until("longer than a turn has passed", SETTLE_TIMEOUT, read, |passed| passed.as_secs() > SEAT_S + 2).await;
    for (shopper, _) in &called {
        assert_eq!(own(shopper, &sale).await.unwrap()["state"], "called");
    }
    Stack::get().run(&["start", "redis"]).await;
    for (shopper, _) in &called {
        eventually("the shopper buys", SETTLE_TIMEOUT, async || {
            shopper.forget_token(&sale);
            let answer = shopper.try_buy(&sale, 1).await?;
            assert!(!turns_away(&answer), "{}", answer.text());
            if answer.status == 202 { Ok(()) } else { Err(answer.text()) }
        })
        .await;
    }
    let line = shop.client().get(&format!("/api/sales/{sale}/line")).await.expect(200).json();
    assert_eq!(line["called"], 2, "{line}");
    shop.wait_for_sold(&sale, 2, SETTLE_TIMEOUT).await;
    shop.audit_is_clean().await;
}

/// Places that shoppers took from Redis. They are no rows yet, because data control is away.
pub(super) async fn take_places(shop: &mut Shop, count: u64) -> (String, Vec<(Shopper, Value)>) {
    let sale = NewSale::of(UNITS as i64).opens_in(Duration::from_secs(25)).queue().prequeue(21);
    let sale = shop.create(sale).await;
    shop.wait_until_joining(&sale).await;
    shop.kill_all("control");
    let shoppers: Vec<Shopper> = (0..count).map(|n| shop.shopper(n)).collect();
    let places = join_all(shoppers.iter().map(|shopper| join(shopper, &sale))).await;
    let queue = shop.store().waiting_rooms().get(sale.parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(queue.joined, 0, "the places are in Redis only");
    (sale, shoppers.into_iter().zip(places).collect())
}

pub(super) fn start_control(shop: &mut Shop) {
    shop.start_all("control");
}

/// Waits until the list is locked with these places.
pub(super) async fn assert_all_are_in_the_list(shop: &Shop, sale: &str, taken: &[(Shopper, Value)]) {
    for (shopper, joined) in taken {
        eventually("the place is in the list", SETTLE_TIMEOUT, async || {
            let place = own(shopper, sale).await.ok_or("no answer")?;
            if place["number"].is_null() {
                return Err(place.to_string());
            }
            assert_eq!([&place["entry"], &place["segment"]], [&joined["entry"], &joined["segment"]]);
            Ok(())
        })
        .await;
    }
    let line = shop.client().get(&format!("/api/sales/{sale}/line")).await.expect(200).json();
    assert_eq!(line["joined"], taken.len(), "{line}");
    shop.audit_is_clean().await;
}

/// Redis still has the places that a server answered before it died.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_outlive_the_servers_that_told_them() {
    let _restore = Stack::get().restore_on_drop();
    let mut shop = start_shop().await;
    let (sale, taken) = take_places(&mut shop, 8).await;
    for n in 0..2 {
        shop.process("serve", n).kill();
        shop.process("serve", n).start();
    }
    for (shopper, joined) in &taken {
        let kept =
            eventually("the server answers", SETTLE_TIMEOUT, async || own(shopper, &sale).await.ok_or("none".into()));
        assert_eq!(kept.await, *joined);
    }
    start_control(&mut shop);
    assert_all_are_in_the_list(&shop, &sale, &taken).await;
}

/// Places in Redis belong in the list, so the list is not locked without them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_waits_for_a_redis_that_is_away_when_its_time_has_come() {
    let _restore = Stack::get().restore_on_drop();
    let mut shop = start_shop().await;
    let (sale, taken) = take_places(&mut shop, 8).await;
    // Redis writes the places to its file.
    pause(1_500).await;
    Stack::get().run(&["kill", "redis"]).await;
    start_control(&mut shop);
    let id = sale.parse().unwrap();
    let row = shop.store().sales().get(id).await.unwrap().unwrap();
    let locks = row.mode.waiting_room_plan().unwrap().locks_at(row.window.opens_at.unwrap());
    let read = async || shop.store().now().await.unwrap();
    until("the time of the lock has passed", SETTLE_TIMEOUT, read, |now| *now > locks + Duration::from_secs(3)).await;
    let queue = shop.store().waiting_rooms().get(id).await.unwrap().unwrap();
    assert_eq!((queue.locked_at, queue.joined), (None, 0));
    Stack::get().run(&["start", "redis"]).await;
    assert_all_are_in_the_list(&shop, &sale, &taken).await;
}
