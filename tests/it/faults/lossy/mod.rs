//! A Redis master that comes back without its last seconds, while the relays are away and the outbox was the only other
//! copy of the orders. Every answer that a shopper got stays true.

mod waiting_room;
mod waitlist;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::open_shop;
use super::packets::claim_until_settled;
use crate::contract::packets::give_packet;
use crate::support::{NewSale, Shop, Shopper, Stack, eventually, pause};

const SETTLE_TIMEOUT: Duration = Duration::from_secs(60);
const WINNERS: u64 = 40;

/// A copy of the master's append-only file.
pub struct Backup {
    present: PathBuf,
    older: PathBuf,
}

impl Backup {
    pub fn take() -> Backup {
        let folder = Stack::get().dir().join("redis");
        let backup = Backup { present: folder.join("appendonlydir"), older: folder.join("older") };
        let _ = std::fs::remove_dir_all(&backup.older);
        copy_folder(&backup.present, &backup.older);
        backup
    }

    /// Kills the master and starts it with the copy.
    pub async fn restore(self) {
        Stack::get().run(&["kill", "redis"]).await;
        self.start().await;
    }

    /// Starts the killed master with the copy.
    async fn start(self) {
        std::fs::remove_dir_all(&self.present).unwrap();
        std::fs::rename(&self.older, &self.present).unwrap();
        Stack::get().run(&["start", "redis"]).await;
    }
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// A shop whose relays are away, so that orders stay in Redis.
async fn shop_without_relays(units: i64) -> (Shop, String) {
    let (mut shop, sale) = open_shop(NewSale::of(units)).await;
    stop_relays(&mut shop);
    // The master has written the sale to its file.
    pause(1_500).await;
    (shop, sale)
}

fn stop_relays(shop: &mut Shop) {
    shop.kill_all("relay");
}

fn start_relays(shop: &mut Shop) {
    shop.start_all("relay");
}

/// The n-th shopper, who uses only one server.
fn shopper_at(shop: &Shop, n: u64, server: usize) -> Shopper {
    let shopper = shop.shopper(n);
    Shopper::new(shopper.client.at(server))
}

/// Buys until the answer is final; `None` if the sale is sold out.
async fn buy(shopper: &Shopper, sale: &str) -> Option<String> {
    eventually("the purchase is decided", SETTLE_TIMEOUT, async || {
        let answer = shopper.try_buy(sale, 1).await?;
        match answer.status {
            200 | 202 => Ok(Some(answer.order_id())),
            409 if answer.code() == "sold_out" => Ok(None),
            _ => Err(answer.text()),
        }
    })
    .await
}

async fn buy_each(shop: &Shop, sale: &str) -> Vec<(Shopper, String)> {
    let mut orders = Vec::new();
    for n in 0..WINNERS {
        let shopper = shop.shopper(n);
        let order = buy(&shopper, sale).await.expect("units are left");
        orders.push((shopper, order));
    }
    orders
}

async fn assert_all_become(orders: &[(Shopper, String)], sale: &str, status: &str) {
    for (shopper, order) in orders {
        eventually(&format!("order {order} is {status}"), SETTLE_TIMEOUT, async || {
            let answer = shopper.order(sale, order).await;
            let found = if answer.status == 200 { answer.json()["order"]["status"].take() } else { Default::default() };
            if found == status { Ok(()) } else { Err(format!("{} {}", answer.status, answer.text())) }
        })
        .await;
    }
}

/// Newcomers buy the 20 units that were never promised, and the winners keep theirs.
async fn newcomers_get_the_rest(shop: &mut Shop, sale: &str, winners: &[(Shopper, String)]) {
    let newcomers: Vec<Shopper> = (1_000..1_080).map(|n| shop.shopper(n)).collect();
    let bought = futures::future::join_all(newcomers.iter().map(|shopper| buy(shopper, sale))).await;
    start_relays(shop);
    assert_all_become(winners, sale, "unpaid").await;
    assert_eq!(bought.iter().flatten().count(), 20, "newcomers get what was never promised");
    shop.wait_for_sold(sale, WINNERS as i64 + 20, SETTLE_TIMEOUT).await;
    shop.audit_is_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newcomers_get_no_unit_that_a_forgetful_master_had_promised() {
    let _restore = Stack::get().restore_on_drop();
    let (mut shop, sale) = shop_without_relays(WINNERS as i64 + 20).await;
    let backup = Backup::take();
    let orders = buy_each(&shop, &sale).await;
    backup.restore().await;
    newcomers_get_the_rest(&mut shop, &sale, &orders).await;
}

/// The master comes back with the holds of orders that were cancelled since. Their shoppers have bought again, and these
/// orders are not in the database yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shoppers_who_bought_again_keep_their_units_although_the_master_remembers_the_first_order() {
    let _restore = Stack::get().restore_on_drop();
    let (mut shop, sale) = open_shop(NewSale::of(WINNERS as i64 + 20)).await;
    let first = buy_each(&shop, &sale).await;
    assert_all_become(&first, &sale, "unpaid").await;
    // The master has written the holds to its file.
    pause(1_500).await;
    let backup = Backup::take();
    for (shopper, order) in &first {
        shopper.cancel(&sale, order).await.expect(200);
    }
    stop_relays(&mut shop);
    let mut second = Vec::new();
    for (shopper, cancelled) in first {
        let order = eventually("the unit has come back", SETTLE_TIMEOUT, async || {
            let order = buy(&shopper, &sale).await.expect("units are left");
            if order == cancelled { Err("still holds the first order".to_owned()) } else { Ok(order) }
        })
        .await;
        second.push((shopper, order));
    }
    backup.restore().await;
    newcomers_get_the_rest(&mut shop, &sale, &second).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grants_outlive_a_restart_of_the_server_that_made_them() {
    let _restore = Stack::get().restore_on_drop();
    let (mut shop, sale) = shop_without_relays(WINNERS as i64).await;
    let backup = Backup::take();
    let orders = buy_each(&shop, &sale).await;
    for n in 0..2 {
        let serve = shop.process("serve", n);
        serve.terminate();
        assert!(serve.ended(Duration::from_secs(30)).await.success());
        serve.start();
    }
    // Processes that were killed on purpose are left out.
    for n in 0..2 {
        let client = shop.client().at(n);
        eventually("the server answers", SETTLE_TIMEOUT, async || {
            client.request(axum::http::Method::GET, "/api/ping").try_send().await
        })
        .await;
    }
    backup.restore().await;
    start_relays(&mut shop);
    assert_all_become(&orders, &sale, "unpaid").await;
    shop.wait_for_sold(&sale, WINNERS as i64, SETTLE_TIMEOUT).await;
    shop.audit_is_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_that_confirmed_an_order_of_another_one_replays_it() {
    let _restore = Stack::get().restore_on_drop();
    let (mut shop, sale) = shop_without_relays(10).await;
    let backup = Backup::take();
    let (first, second) = (shopper_at(&shop, 1, 0), shopper_at(&shop, 1, 1));
    let order = first.buy_one(&sale).await;
    assert_eq!(second.buy(&sale, 1).await.expect(200).order_id(), order, "repeated at the other server");
    shop.process("serve", 0).kill();
    backup.restore().await;
    shop.process("serve", 0).start();
    start_relays(&mut shop);
    assert_all_become(&[(second, order)], &sale, "unpaid").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn order_of_a_frozen_server_that_was_displaced_is_rejected_visibly() {
    let _restore = Stack::get().restore_on_drop();
    let (mut shop, sale) = shop_without_relays(10).await;
    let backup = Backup::take();
    let (first, second) = (shopper_at(&shop, 1, 0), shopper_at(&shop, 1, 1));
    let displaced = first.buy_one(&sale).await;
    shop.process("serve", 0).signal("STOP");
    backup.restore().await;
    let order = buy(&second, &sale).await.expect("units are left");
    assert_ne!(order, displaced, "the master has forgotten the first order");
    shop.process("serve", 0).signal("CONT");
    start_relays(&mut shop);
    // Two relays and two consumers decide which order comes first. Both orders end where the shopper sees it.
    eventually("one order is unpaid and the other rejected", SETTLE_TIMEOUT, async || {
        let answers = [first.order(&sale, &displaced).await, second.order(&sale, &order).await];
        let mut found = answers.each_ref().map(|answer| match answer.status {
            200 => answer.json()["order"]["status"].as_str().unwrap().to_owned(),
            status => status.to_string(),
        });
        found.sort();
        if found == ["rejected", "unpaid"] { Ok(()) } else { Err(found.join(", ")) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn receipt_restores_an_order_that_every_server_has_forgotten() {
    let _restore = Stack::get().restore_on_drop();
    let (mut shop, sale) = shop_without_relays(10).await;
    let backup = Backup::take();
    let shopper = shop.shopper(1);
    let answer = shopper.buy(&sale, 1).await.expect(202);
    let (order, receipt) = (answer.order_id(), answer.json()["receipt"].as_str().unwrap().to_owned());
    shop.kill_all("serve");
    backup.restore().await;
    shop.start_all("serve");
    shopper.client.wait_for(&format!("/api/sales/{sale}/orders/{order}"), 404, SETTLE_TIMEOUT).await;
    let with_receipt = format!("/api/sales/{sale}/orders/{order}?receipt={receipt}");
    let other = shop.shopper(2).client.get(&with_receipt).await;
    other.expect_problem(404, "not_found");
    let answer = shopper.client.get(&with_receipt).await.expect(200);
    assert_eq!(answer.json()["order"]["status"], "reserved");
    start_relays(&mut shop);
    assert_all_become(&[(shopper, order)], &sale, "unpaid").await;
    shop.audit_is_clean().await;
}

/// A server that is frozen, but not long enough to count as dead, replays its grants before newcomers get shares.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shares_that_a_frozen_server_had_granted_go_to_no_newcomer() {
    const SHARES: u64 = 40;
    let _restore = Stack::get().restore_on_drop();
    let (mut shop, _) = shop_without_relays(1).await;
    let id = give_packet(&shop, json!({"total": 100 * SHARES, "count": SHARES, "min": 1, "max": 300})).await;
    // The master has written the packet to its file.
    pause(1_500).await;
    let backup = Backup::take();
    let mut told = Vec::new();
    for n in 0..SHARES / 2 {
        let shopper = Arc::new(shopper_at(&shop, n, 0));
        let share = claim_until_settled(shopper.clone(), id.clone()).await.expect("a share is left");
        told.push((shopper, share));
    }
    Stack::get().run(&["kill", "redis"]).await;
    shop.process("serve", 0).signal("STOP");
    backup.start().await;
    let newcomers = (0..2 * SHARES).map(|n| Arc::new(shopper_at(&shop, 1_000 + n, 1)));
    let claims: Vec<_> = newcomers.map(|shopper| tokio::spawn(claim_until_settled(shopper, id.clone()))).collect();
    pause(3_000).await;
    shop.process("serve", 0).signal("CONT");
    let claimed = futures::future::join_all(claims).await;
    start_relays(&mut shop);
    for (shopper, share) in told {
        assert_eq!(claim_until_settled(shopper, id.clone()).await, Some(share), "what was told stays true");
    }
    let winners = claimed.into_iter().filter(|claim| claim.as_ref().unwrap().is_some()).count();
    assert_eq!(winners as u64, SHARES / 2, "newcomers get what was never promised");
    shop.audit_is_clean().await;
}
