//! Waiting rooms with a master that comes back without its last seconds. Places and calls are in the database: a called
//! shopper gets a unit in that turn, whatever Redis has forgotten, and no shopper gets one out of turn.

use std::time::Duration;

use domain::waiting_room::SEAT_GRACE_MS;
use futures::future::join_all;
use jiff::Timestamp;
use serde_json::Value;

use super::super::start_shop;
use super::super::waiting_room::{assert_all_are_in_the_list, join, own, start_control, take_places};
use super::super::waitlist::cancel;
use super::{Backup, SETTLE_TIMEOUT, buy, start_relays, stop_relays};
use crate::support::{NewSale, Shop, Shopper, Stack, eventually, pause, until};

const UNITS: usize = 4;
const ACCOUNTS: usize = 8;
/// The shortest possible seat.
const SEAT_S: i64 = 10;
/// How long a seat counts as taken.
const TURN: Duration = Duration::from_millis(1_000 * SEAT_S as u64 + SEAT_GRACE_MS as u64);

/// A waiting room whose list is locked, with its shoppers in the order of calls and their places as of joining.
struct Room {
    sale: String,
    shoppers: Vec<(Shopper, Value)>,
}

impl Room {
    /// `n` distinguishes the waiting rooms of a shop.
    async fn fill(shop: &Shop, n: u64, seat_s: i64) -> Room {
        let sale = NewSale::of(UNITS as i64).opens_in(Duration::from_secs(3)).queue().seat(seat_s);
        let sale = shop.create(sale).await;
        let joining = (0..ACCOUNTS as u64).map(async |i| {
            let shopper = shop.shopper(n * 1_000 + i);
            let joined = join(&shopper, &sale).await;
            assert_eq!(joined["segment"], 0);
            (shopper, joined)
        });
        let shoppers = join_all(joining).await;
        let mut numbers = Vec::new();
        for (shopper, _) in &shoppers {
            let number = eventually("the list is locked", SETTLE_TIMEOUT, async || {
                let place = own(shopper, &sale).await.ok_or("no answer")?;
                place["number"].as_i64().ok_or(place.to_string())
            });
            numbers.push(number.await);
        }
        let mut numbered: Vec<(i64, (Shopper, Value))> = numbers.into_iter().zip(shoppers).collect();
        numbered.sort_by_key(|(number, _)| *number);
        let room = Room { sale, shoppers: numbered.into_iter().map(|(_, shopper)| shopper).collect() };
        room.wait_for_calls(UNITS).await;
        room
    }

    async fn is_called(&self, rank: usize) -> Result<bool, String> {
        let place = own(&self.shoppers[rank].0, &self.sale).await.ok_or("no answer")?;
        Ok(!place["called_at"].is_null())
    }

    /// Waits until this many shoppers are called, the first ones and no others.
    async fn wait_for_calls(&self, calls: usize) {
        eventually(&format!("{calls} shoppers of sale {} are called", self.sale), SETTLE_TIMEOUT, async || {
            for rank in 0..ACCOUNTS {
                if self.is_called(rank).await? != (rank < calls) {
                    return Err(format!("rank {rank}"));
                }
            }
            Ok(())
        })
        .await;
    }

    async fn buy(&self, rank: usize) -> String {
        buy(&self.shoppers[rank].0, &self.sale).await.expect("units are left")
    }

    /// Buys after a cancellation, once the cancelled order no longer holds units.
    async fn buy_anew(&self, rank: usize, cancelled: &str) -> String {
        eventually("the shopper buys again", SETTLE_TIMEOUT, async || {
            let order = self.buy(rank).await;
            if order == cancelled { Err(order) } else { Ok(order) }
        })
        .await
    }

    async fn cancel(&self, rank: usize, order: &str) {
        cancel(&self.shoppers[rank].0, &self.sale, order).await;
    }

    /// Waits until the shoppers of these ranks have their orders in the database.
    async fn wait_until_stored(&self, ranks: &[usize]) {
        eventually(&format!("orders of sale {} are stored", self.sale), SETTLE_TIMEOUT, async || {
            for rank in ranks {
                let place = own(&self.shoppers[*rank].0, &self.sale).await.ok_or("no answer")?;
                if place["state"] != "bought" {
                    return Err(format!("rank {rank}: {place}"));
                }
            }
            Ok(())
        })
        .await;
    }

    /// Waits until the turns are over. Before that, a unit that comes back stays with the shopper who had it.
    async fn wait_until_turns_are_over(&self, shop: &Shop) {
        let place = own(&self.shoppers[0].0, &self.sale).await.unwrap();
        let called: Timestamp = place["called_at"].as_str().unwrap().parse().unwrap();
        let read = async || shop.store().now().await.unwrap();
        until("the turns are over", SETTLE_TIMEOUT, read, |now| *now > called + TURN).await;
    }

    /// Presses with everyone until each unit is sold, and returns the order of each rank.
    async fn press_until_sold(&self, shop: &Shop) -> Vec<Option<String>> {
        join_all(self.shoppers.iter().map(|(shopper, _)| press_until_sold(shop, shopper, &self.sale))).await
    }

    /// Checks that places that were not called are the same as before.
    async fn assert_places_are_kept(&self, calls: usize) {
        for (shopper, joined) in &self.shoppers[calls..] {
            let kept = join(shopper, &self.sale).await;
            assert_eq!((&kept["entry"], &kept["segment"]), (&joined["entry"], &joined["segment"]));
            assert_eq!(kept["state"], "waiting");
        }
    }
}

/// Presses until a unit is granted or all are sold. Returns the granted order. The turn has to be long enough: for a
/// second or two a process may believe that a unit which came back is taken.
async fn press_until_sold(shop: &Shop, shopper: &Shopper, sale: &str) -> Option<String> {
    loop {
        // The waiting room's state is up to a second old.
        let stored = shop.store().sales().get(sale.parse().unwrap()).await.unwrap().unwrap();
        shopper.forget_token(sale);
        match shopper.try_buy(sale, 1).await {
            Ok(granted) if matches!(granted.status, 200 | 202) => return Some(granted.order_id()),
            // If an answer was lost, the shop would have granted the same order again.
            Ok(_) if stored.sold == stored.total => return None,
            _ => pause(200).await,
        }
    }
}

/// The ranks that have an order.
fn ranks(orders: &[Option<String>]) -> Vec<usize> {
    (0..orders.len()).filter(|rank| orders[*rank].is_some()).collect()
}

/// Three waiting rooms lose the last seconds of their master. The first forgets that a unit came back and the next
/// shopper was called. The second forgets that two shoppers gave their units back, and that one of them bought again.
/// The third forgets that two shoppers bought, of whom only one has an order in the database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shoppers_buy_in_their_turns_although_the_master_forgot_what_was_sold_and_what_came_back() {
    let _restore = Stack::get().restore_on_drop();
    let mut shop = start_shop().await;
    let (next, again, bought) =
        tokio::join!(Room::fill(&shop, 1, SEAT_S), Room::fill(&shop, 2, 60), Room::fill(&shop, 3, 60));
    let of_next = join_all((0..UNITS).map(|rank| next.buy(rank))).await;
    let given_back = join_all((0..2).map(|rank| again.buy(rank))).await;
    next.wait_until_stored(&[0, 1, 2, 3]).await;
    again.wait_until_stored(&[0, 1]).await;
    next.wait_until_turns_are_over(&shop).await;
    let backup = Backup::take();
    next.cancel(1, &of_next[1]).await;
    again.cancel(0, &given_back[0]).await;
    again.cancel(1, &given_back[1]).await;
    let bought_again = again.buy_anew(1, &given_back[1]).await;
    let in_database = bought.buy(0).await;
    again.wait_until_stored(&[1]).await;
    bought.wait_until_stored(&[0]).await;
    next.wait_for_calls(UNITS + 1).await;
    stop_relays(&mut shop);
    let only_in_redis = bought.buy(1).await;
    backup.restore().await;
    start_relays(&mut shop);

    let mut pressed = join_all([&next, &again, &bought].map(|room| room.press_until_sold(&shop))).await;
    // In the first waiting room the other turns are over. Those shoppers have their orders, and get no token for
    // another one.
    assert_eq!(ranks(&pressed[0]), [4], "who bought");
    for rank in [0, 2, 3] {
        pressed[0][rank] = Some(of_next[rank].clone());
    }
    assert_eq!([ranks(&pressed[1]), ranks(&pressed[2])], [[0, 1, 2, 3]; 2], "who bought");
    let kept = [pressed[1][1].as_ref(), pressed[2][0].as_ref(), pressed[2][1].as_ref()];
    assert_eq!(kept, [&bought_again, &in_database, &only_in_redis].map(Some), "orders that were told stay");
    assert!(!given_back.contains(pressed[1][0].as_ref().unwrap()), "an order that has ended is no answer");
    for (room, orders, calls) in [(&next, &pressed[0], 5), (&again, &pressed[1], 4), (&bought, &pressed[2], 4)] {
        room.wait_until_stored(&ranks(orders)).await;
        for rank in ranks(orders) {
            let order = orders[rank].as_ref().unwrap();
            room.shoppers[rank].0.wait_for_status(&room.sale, order, "unpaid").await;
        }
        room.assert_places_are_kept(calls).await;
    }
    shop.audit_is_clean().await;
}

/// If the master has forgotten the places, the servers that answered with them write them to the database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_that_the_master_forgot_are_in_the_list() {
    let _restore = Stack::get().restore_on_drop();
    let mut shop = start_shop().await;
    let backup = Backup::take();
    let (sale, taken) = take_places(&mut shop, ACCOUNTS as u64).await;
    backup.restore().await;
    start_control(&mut shop);
    assert_all_are_in_the_list(&shop, &sale, &taken).await;
}
