//! One dead master of a Redis Cluster. Buckets on the other masters go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::Method;
use domain::{Bucket, PacketId, SaleId};
use engine::redis::keys;
use futures::future::join_all;
use redis::AsyncCommands;
use serde_json::json;

use super::packets::claim_until_settled;
use super::waitlist::{buy, cancel, path, place, press};
use crate::contract::packets::{give_packet, settled};
use crate::support::{NewSale, Plan, Rung, Shop, Shopper, Stack, eventually, until, user_id};

const TIMEOUT: Duration = Duration::from_secs(60);
const BUCKETS: u8 = 8;

/// The shard of a bucket. Each of the three has a third of the slots.
fn shard(bucket: Bucket) -> usize {
    usize::from(keys::slot(&bucket.to_string())) * 3 / 16_384
}

async fn state(bucket: Bucket) -> Result<String, String> {
    let url = Stack::get().variable("SECKILL_STACK_CLUSTER_URL").split(',').nth(shard(bucket)).unwrap();
    let client = redis::Client::open(url).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.map_err(|error| error.to_string())?;
    connection.hget(keys::hash(bucket), "State").await.map_err(|error| error.to_string())
}

/// A shop whose first sale is split over the cluster, and the sale's buckets.
async fn split_sale() -> (Shop, String, Vec<Bucket>) {
    let (shop, sale) = Shop::selling(Rung::Cluster, NewSale::of(80).split(BUCKETS, 0)).await;
    let buckets = Bucket::all(SaleId(sale.parse().unwrap()), BUCKETS).collect();
    (shop, sale, buckets)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn change_reaches_the_living_buckets_and_later_the_others() {
    let _restore = Stack::get().restore_on_drop();
    let (shop, sale, buckets) = split_sale().await;
    let dead = shard(buckets[3]);
    let (living, lost): (Vec<Bucket>, Vec<Bucket>) = buckets.into_iter().partition(|bucket| shard(*bucket) != dead);
    assert!(!living.is_empty());
    Stack::get().run(&["kill", &format!("shard{dead}")]).await;

    let path = format!("/api/admin/sales/{sale}/pause");
    let answer = shop.admin().await.post(&path, json!({})).await.expect(200).json();
    assert_eq!(answer["sale"]["state"], "paused", "{answer}");
    assert_eq!(answer["stock"], json!({"parts": BUCKETS, "applied": living.len()}), "{answer}");
    for bucket in &living {
        assert_eq!(state(*bucket).await.unwrap(), "paused", "{bucket} is on a living shard");
    }
    // The console's page says the same in words.
    let request = shop.admin().await.request(Method::POST, &format!("/admin/sales/{sale}/resume?lang=en"));
    let answer = request.form(&[("confirm", "yes"), ("back", "sale")]).send().await.expect(303);
    let page = shop.admin().await.get(answer.header("location")).await.expect(200).text();
    let words = format!("Applied to {} of {BUCKETS} parts; the rest is retried.", living.len());
    assert!(page.contains(&words), "{page}");

    shop.admin().await.post(&path, json!({})).await.expect(200);
    Stack::get().run(&["start", &format!("shard{dead}")]).await;
    for bucket in lost {
        eventually(&format!("{bucket} is paused"), TIMEOUT, async || match state(bucket).await? {
            state if state == "paused" => Ok(()),
            state => Err(state),
        })
        .await;
    }
}

/// While a master is dead, accounts of the other buckets are offered what comes back there. Accounts of its own buckets wait until
/// it is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unit_that_comes_back_is_offered_while_a_shard_is_dead() {
    const UNITS: usize = 8;
    let _restore = Stack::get().restore_on_drop();
    let (shop, sale) = Shop::selling(Rung::Cluster, NewSale::of(UNITS as i64).split(BUCKETS, 0)).await;
    let id = SaleId(sale.parse().unwrap());
    let dead = shard(Bucket::all(id, BUCKETS).nth(3).unwrap());
    let is_on_dead = |n: u64| shard(Bucket::of_user(id, BUCKETS, user_id(n))) == dead;
    let shoppers = |first: u64, on_dead: bool, count| -> Vec<Shopper> {
        // Numbers that follow each other are all of a few buckets.
        let spread = (first..first + 1_000).map(|n| n * 2_654_435_761);
        spread.filter(|n| is_on_dead(*n) == on_dead).take(count).map(|n| shop.shopper(n)).collect()
    };
    let (buyers, buyers_on_dead) = (shoppers(0, false, 5), shoppers(0, true, 3));
    let (orders, orders_on_dead) = tokio::join!(
        join_all(buyers.iter().map(|buyer| buy(buyer, &sale))),
        join_all(buyers_on_dead.iter().map(|buyer| buy(buyer, &sale)))
    );
    shop.wait_for_phase(&sale, "sold_out").await;
    let (waiters, waiters_on_dead) = (shoppers(1_000, false, 4), shoppers(1_000, true, 3));
    for waiter in waiters.iter().chain(&waiters_on_dead) {
        waiter.client.post(&path(&sale), json!({})).await.expect(201);
    }
    let strangers = shoppers(2_000, false, 2);
    let stop = AtomicBool::new(false);
    let pressing = join_all(strangers.iter().map(|stranger| press(stranger, &sale, &stop)));
    let offered = async |waiters: &[Shopper]| {
        let mut offered = 0;
        for waiter in waiters {
            offered += usize::from(place(waiter, &sale).await?["state"] == "offered");
        }
        Ok::<_, String>(offered)
    };
    let serving = async {
        Stack::get().run(&["kill", &format!("shard{dead}")]).await;
        for (buyer, order) in buyers.iter().zip(&orders).take(3) {
            cancel(buyer, &sale, order).await;
        }
        eventually("three accounts are offered a unit", TIMEOUT, async || match offered(&waiters).await? {
            3 => Ok(()),
            other => Err(format!("{other} are")),
        })
        .await;
        assert_eq!(offered(&waiters_on_dead).await, Ok(0));
        // Released once the master is back.
        for (buyer, order) in buyers_on_dead.iter().zip(&orders_on_dead) {
            cancel(buyer, &sale, order).await;
        }
        Stack::get().run(&["start", &format!("shard{dead}")]).await;
        eventually("the others are offered one", TIMEOUT, async || {
            match (offered(&waiters).await?, offered(&waiters_on_dead).await?) {
                (3, 3) | (4, 2) => Ok(()),
                other => Err(format!("{other:?} are")),
            }
        })
        .await;
        stop.store(true, Ordering::Relaxed);
    };
    let (granted, ()) = tokio::join!(pressing, serving);
    assert_eq!(granted, [0; 2], "units went to strangers");
    shop.wait_for_sold(&sale, UNITS as i64, TIMEOUT).await;
    until("the audit is clean", TIMEOUT, async || shop.run(&["audit"]).await, |audit| audit.status.success()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sale_on_a_living_shard_sells_on() {
    const UNITS: u64 = 5;
    let _restore = Stack::get().restore_on_drop();
    let (shop, split, buckets) = split_sale().await;
    let other = shop.open(NewSale::of(UNITS as i64)).await;
    let home = shard(Bucket::whole(SaleId(other.parse().unwrap())));
    let dead = buckets.iter().map(|bucket| shard(*bucket)).find(|shard| *shard != home).unwrap();
    Stack::get().run(&["kill", &format!("shard{dead}")]).await;

    // Requests that get no unit use up the admission of a sale until data control renews it.
    let first = shop.shopper(1);
    let order = first.buy_when_possible(&other, TIMEOUT).await;
    for _ in 0..4 * UNITS {
        let _ = first.try_buy(&other, 1).await;
    }
    first.wait_for_status(&other, &order, "unpaid").await;
    for n in 2..=UNITS {
        let shopper = shop.shopper(n);
        shopper.buy_when_possible(&other, TIMEOUT).await;
    }
    shop.wait_for_sold(&other, UNITS as i64, TIMEOUT).await;
    assert_eq!(shop.numbers(&split).await["state"], "live");
    Stack::get().run(&["start", &format!("shard{dead}")]).await;
    until("the audit is clean", TIMEOUT, async || shop.run(&["audit"]).await, |audit| audit.status.success()).await;
}

/// Packets on the other shards are loaded, claimed and settled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packet_on_a_living_shard_is_given_away() {
    const SHARES: u64 = 2;
    let _restore = Stack::get().restore_on_drop();
    let shop = Plan::on(Rung::Cluster).await.start().await;
    let give = async || {
        let id = give_packet(&shop, json!({"total": 100, "count": SHARES, "split": "equal"})).await;
        let home = shard(Bucket::whole(PacketId(id.parse().unwrap())));
        (id, home)
    };
    let claim = async |n, id: &str| claim_until_settled(Arc::new(shop.shopper(n)), id.to_owned()).await;
    let (lost, dead) = give().await;
    assert!(claim(1, &lost).await.is_some());
    Stack::get().run(&["kill", &format!("shard{dead}")]).await;

    let given = loop {
        let (given, home) = give().await;
        if home != dead {
            break given;
        }
    };
    for n in 1..=SHARES {
        assert!(claim(n, &given).await.is_some());
    }
    assert_eq!(settled(&shop, &given).await["claimed"], SHARES);

    Stack::get().run(&["start", &format!("shard{dead}")]).await;
    assert!(claim(2, &lost).await.is_some());
    settled(&shop, &lost).await;
}
