//! Waitlists with a master that comes back without its last seconds. Places and offers are in the database: waiting
//! accounts get each unit once, in their order, whatever Redis has forgotten.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::join_all;
use serde_json::{Value, json};

use super::super::start_shop;
use super::super::waitlist::{buy, cancel, path, place, press};
use super::{Backup, SETTLE_TIMEOUT, start_relays, stop_relays};
use crate::support::{NewSale, Shop, Shopper, Stack, eventually, pause, until};

const UNITS: usize = 3;
const WAITERS: usize = 6;

/// A sold-out sale: the owners of its units, and the waiting accounts in the order of their places.
struct Line {
    sale: String,
    owners: Vec<(Shopper, String)>,
    waiters: Vec<Shopper>,
    stranger: Shopper,
}

impl Line {
    /// `n` distinguishes the waitlists of a shop.
    async fn form(shop: &Shop, n: u64) -> Line {
        let sale = shop.open(NewSale::of(UNITS as i64)).await;
        let shoppers =
            |from: usize, count: usize| (from..from + count).map(move |i| shop.shopper(n * 1_000 + i as u64));
        let owners = join_all(shoppers(0, UNITS).map(async |owner| {
            let order = buy(&owner, &sale).await;
            (owner, order)
        }))
        .await;
        shop.wait_for_phase(&sale, "sold_out").await;
        let mut waiters: Vec<Shopper> = shoppers(100, WAITERS).collect();
        join_all(waiters.iter().map(async |waiter| waiter.client.post(&path(&sale), json!({})).await.expect(201)))
            .await;
        let mut positions = join_all(waiters.drain(..).map(async |waiter| {
            let place = place(&waiter, &sale).await.unwrap();
            (place["position"].as_u64().unwrap(), waiter)
        }))
        .await;
        positions.sort_by_key(|(position, _)| *position);
        let waiters = positions.into_iter().map(|(_, waiter)| waiter).collect();
        Line { sale, owners, waiters, stranger: shop.shopper(n * 1_000 + 200) }
    }

    /// These owners cancel, which returns their units.
    async fn return_units(&self, owners: Range<usize>) {
        join_all(self.owners[owners].iter().map(|(owner, order)| cancel(owner, &self.sale, order))).await;
    }

    /// Waits until the first accounts of the waitlist, and no others, have had their turn, and the accounts behind them
    /// are in their places. Returns the orders of these turns.
    async fn wait_for_turns(&self, turns: usize) -> Vec<String> {
        eventually(&format!("{turns} accounts of sale {} have had their turn", self.sale), SETTLE_TIMEOUT, async || {
            let mut orders = Vec::new();
            for (rank, waiter) in self.waiters.iter().enumerate() {
                let place = place(waiter, &self.sale).await?;
                let waits = json!({"state": "waiting", "position": rank.checked_sub(turns).map(|ahead| ahead + 1)});
                match (rank < turns, place["order_id"].as_str()) {
                    (true, Some(order)) => orders.push(order.to_owned()),
                    (false, None) if place["state"] == waits["state"] && place["position"] == waits["position"] => {}
                    _ => return Err(format!("rank {rank}: {place}")),
                }
            }
            Ok(orders)
        })
        .await
    }

    /// Waits until Redis has granted each unit, and the holds differ from before.
    async fn wait_for_new_holds(&self, shop: &Shop, before: &HashSet<String>) {
        let (what, read) = (format!("sale {} grants anew", self.sale), async || holds(shop, &self.sale).await);
        until(&what, SETTLE_TIMEOUT, read, |holds| holds.len() == UNITS && holds != before).await;
    }

    /// Checks that each account that had its turn has one order, that none was rejected, and that the other accounts
    /// have none.
    async fn assert_one_order_each(&self, turns: &[String]) {
        for (rank, waiter) in self.waiters.iter().enumerate() {
            let all = waiter.client.get("/api/orders").await.expect(200).json();
            let found: Vec<&Value> = all["orders"].as_array().unwrap().iter().collect();
            let expected: Vec<&String> = turns.get(rank).into_iter().collect();
            let ids: Vec<&Value> = found.iter().map(|order| &order["id"]).collect();
            assert_eq!(json!(ids), json!(expected), "sale {}, rank {rank}: {all}", self.sale);
        }
    }

    /// Pays for each open offer. An offer that was shown can be bought. Returns how many it paid for.
    async fn pay(&self, turns: &[String]) -> usize {
        let mut paid = 0;
        for (waiter, order) in self.waiters.iter().zip(turns) {
            if place(waiter, &self.sale).await.unwrap()["pay_by"].is_string() {
                pay(waiter, &self.sale, order).await;
                paid += 1;
            }
        }
        paid
    }
}

async fn pay(shopper: &Shopper, sale: &str, order: &str) {
    shopper.pay(sale, order).await;
}

/// The holds of a sale on the master.
async fn holds(shop: &Shop, sale: &str) -> HashSet<String> {
    let mut connection = shop.redis().await;
    redis::cmd("HVALS").arg(format!("goods{{{sale}}}:holders")).query_async(&mut connection).await.unwrap()
}

/// Three waitlists lose the last seconds of their master. A part of what it forgets is in the database and was answered
/// already; the rest had no other copy.
///
/// | waitlist | in the copy | forgotten |
/// | --- | --- | --- |
/// | 1 | every unit has its owner | the release of the units, and their offers |
/// | 2 | two of the units are free | their offers, one of which was paid |
/// | 3 | three offers | that one was paid, that two came back, and to whom they were offered next |
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_wait_get_each_unit_once_although_the_master_forgot_their_offers() {
    let _restore = Stack::get().restore_on_drop();
    let mut shop = start_shop().await;
    let lines = join_all((1..=3).map(|n| Line::form(&shop, n))).await;
    let stop = AtomicBool::new(false);
    let pressing = join_all(lines.iter().map(|line| press(&line.stranger, &line.sale, &stop)));
    let losing = async {
        lose_offers(&mut shop, &lines).await;
        stop.store(true, Ordering::Relaxed);
    };
    let (granted, ()) = tokio::join!(pressing, losing);
    assert_eq!(granted, [0; 3], "units went to strangers");
}

async fn lose_offers(shop: &mut Shop, lines: &[Line]) {
    let [held, free, offered] = lines else { unreachable!() };
    let backup = prepare(shop, free, offered).await;

    held.return_units(0..1).await;
    shop.change_sale_state(&free.sale, "resume").await;
    let first = offered.wait_for_turns(UNITS).await;
    pay(&offered.waiters[0], &offered.sale, &first[0]).await;
    cancel(&offered.waiters[1], &offered.sale, &first[1]).await;
    let told = wait_for_turns(lines, [1, 2, 4]).await;
    pay(&free.waiters[0], &free.sale, &told[1][0]).await;
    stop_relays(shop);
    let mut before = Vec::new();
    for line in lines {
        before.push(holds(shop, &line.sale).await);
    }
    held.return_units(1..UNITS).await;
    free.return_units(2..UNITS).await;
    cancel(&offered.waiters[2], &offered.sale, &told[2][2]).await;
    for (line, before) in lines.iter().zip(&before) {
        line.wait_for_new_holds(shop, before).await;
    }
    backup.restore().await;
    start_relays(shop);

    let ends = wait_for_turns(lines, [UNITS, UNITS, 5]).await;
    for (told, ends) in told.iter().zip(&ends) {
        assert_eq!(told[..], ends[..told.len()], "offers that were told stay");
    }
    for ((line, ends), open) in lines.iter().zip(&ends).zip([UNITS, UNITS - 1, UNITS - 1]) {
        assert_eq!(line.pay(ends).await, open, "sale {}", line.sale);
        shop.wait_for_sold(&line.sale, UNITS as i64, SETTLE_TIMEOUT).await;
    }
    shop.audit_is_clean().await;
    for (line, ends) in lines.iter().zip(&ends) {
        line.assert_one_order_each(ends).await;
    }
}

/// Copies the master. By then two units of the sale `free` are free, which is paused and so offers nothing; the units
/// of `offered` are offered.
async fn prepare(shop: &Shop, free: &Line, offered: &Line) -> Backup {
    offered.return_units(0..UNITS).await;
    shop.change_sale_state(&free.sale, "pause").await;
    free.return_units(0..2).await;
    let read = async || holds(shop, &free.sale).await;
    until("the units are free", SETTLE_TIMEOUT, read, |holds| holds.len() == UNITS - 2).await;
    offered.wait_for_turns(UNITS).await;
    pause(1_500).await;
    Backup::take()
}

async fn wait_for_turns(lines: &[Line], turns: [usize; 3]) -> Vec<Vec<String>> {
    join_all(lines.iter().zip(turns).map(|(line, turns)| line.wait_for_turns(turns))).await
}
