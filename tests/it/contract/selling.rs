//! Selling exactly the stock.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use base::clock::Clock;
use domain::{SaleId, Spread, SpreadSeed};
use futures::future::join_all;
use jiff::Timestamp;
use serde_json::Value;

use crate::support::{Answer, NewSale, Plan, Rung, Shop, Shopper, eventually, pause, user_id};

const USERS: u64 = 500;
const UNITS: i64 = 100;
const TRIES: usize = 3;
const SETTLE_TIMEOUT: Duration = Duration::from_secs(20);

/// One purchase, tried again after 429 and 503. A 503 on a busy machine may mean that the units were granted but the
/// answer was lost. The second value says so.
async fn buy_until_answered(shopper: &Shopper, sale: &str) -> (Answer, bool) {
    let mut unseen = false;
    loop {
        match shopper.try_buy(sale, 1).await {
            Ok(answer) if answer.status == 429 => {}
            Ok(answer) if answer.status != 503 => return (answer, unseen),
            // The outcome is unknown; the next try returns it.
            Ok(_) | Err(_) => unseen = true,
        }
        pause(200).await;
    }
}

/// Three tries at once. Returns the order, if there is one: one try gets the 202, the others are replays of the same
/// order.
async fn buy_three_times_at_once(shopper: Arc<Shopper>, sale: String) -> Option<String> {
    // The token is fetched first, so that the three purchases are sent together.
    shopper.token(&sale).await.expect(200);
    let tries = join_all((0..TRIES).map(|_| buy_until_answered(&shopper, &sale))).await;
    let unseen = tries.iter().any(|(_, unseen)| *unseen);
    let answers: Vec<Answer> = tries.into_iter().map(|(answer, _)| answer).collect();
    let orders: HashSet<String> = answers.iter().filter(|a| a.status != 409).map(Answer::order_id).collect();
    if orders.is_empty() {
        answers.into_iter().for_each(|answer| drop(answer.expect_problem(409, "sold_out")));
        return None;
    }
    assert_eq!(orders.len(), 1, "a user has one order: {answers:?}");
    let firsts = answers.iter().filter(|answer| answer.status == 202).count();
    assert!(firsts == 1 || (firsts == 0 && unseen), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| is_repeated(answer)).count(), TRIES - firsts, "{answers:?}");
    orders.into_iter().next()
}

fn is_repeated(answer: &Answer) -> bool {
    answer.status == 200 && answer.json()["repeated"] == true
}

pub async fn five_hundred_shoppers_get_exactly_one_hundred_units(rung: Rung) {
    sells_exactly_its_units(rung, NewSale::of(UNITS)).await;
}

pub async fn six_buckets_in_small_lots_sell_exactly_their_units(rung: Rung) {
    sells_exactly_its_units(rung, NewSale::of(UNITS).split(6, 4)).await;
}

pub async fn six_buckets_filled_at_once_sell_exactly_their_units(rung: Rung) {
    sells_exactly_its_units(rung, NewSale::of(UNITS).split(6, 0)).await;
}

async fn sells_exactly_its_units(rung: Rung, sale: NewSale) {
    let (shop, sale) = Plan::on(rung).await.one_role_per_process().open(sale).await;
    let shoppers: Vec<Arc<Shopper>> = (0..USERS).map(|n| Arc::new(shop.shopper(n))).collect();
    let tries: Vec<_> =
        shoppers.iter().map(|s| tokio::spawn(buy_three_times_at_once(s.clone(), sale.clone()))).collect();
    let orders: Vec<Option<String>> = join_all(tries).await.into_iter().map(Result::unwrap).collect();
    let distinct: HashSet<&String> = orders.iter().flatten().collect();
    assert_eq!((distinct.len(), orders.iter().flatten().count()), (UNITS as usize, UNITS as usize));

    for (shopper, order) in shoppers.iter().zip(&orders) {
        let (later, _) = buy_until_answered(shopper, &sale).await;
        match order {
            Some(order) => assert_eq!((is_repeated(&later), &later.order_id()), (true, order)),
            None => drop(later.expect_problem(409, "sold_out")),
        }
    }
    shop.wait_for_sold(&sale, UNITS, SETTLE_TIMEOUT).await;
    assert_eq!(shop.wait_for_phase(&sale, "sold_out").await["remaining"], 0);
    let live = shop.store().orders().live_orders(SaleId(sale.parse().unwrap()), None, 1000).await.unwrap();
    let stored: HashSet<String> = live.iter().map(|order| order.order_id.to_string()).collect();
    assert_eq!(stored, distinct.into_iter().cloned().collect());
    assert_eq!(live.iter().map(|order| order.user_id).collect::<HashSet<_>>().len(), UNITS as usize);
    shop.audit_is_clean().await;
}

pub async fn user_limit_is_never_exceeded(rung: Rung) {
    let (shop, sale) = Shop::selling(rung, NewSale::of(5).limit(3)).await;
    shop.shopper(1).buy(&sale, 4).await.expect_problem(422, "over_limit");
    let two = shop.shopper(2).buy(&sale, 3).await.expect(202);
    assert_eq!(two.json()["order"]["quantity"], 3);
    // Two units are left, so three are refused and two are granted.
    shop.shopper(3).buy(&sale, 3).await.expect_problem(409, "sold_out");
    let three = shop.shopper(3).buy(&sale, 2).await.expect(202);
    let again = shop.shopper(2).buy(&sale, 1).await.expect(200).json();
    assert_eq!((&again["order"]["quantity"], &again["repeated"]), (&3.into(), &true.into()));
    let order = shop.shopper(3).wait_for_status(&sale, &three.order_id(), "unpaid").await;
    assert_eq!((&order["quantity"], &order["amount"]["amount"]), (&2.into(), &3998.into()));
    shop.wait_for_sold(&sale, 5, SETTLE_TIMEOUT).await;
    shop.audit_is_clean().await;
}

/// Every account presses without a pause. The shop names one moment for each, refuses it before, and sells to it
/// afterwards. Once the spread is over, the seed shows that the moments were drawn as promised.
pub async fn nobody_buys_before_the_moment_of_the_account(rung: Rung) {
    let shop = Shop::start(rung).await;
    nobody_buys_early(&shop).await;
    shop.audit_is_clean().await;
}

/// Fifty accounts press until they have bought, in a sale with an enforced spread.
pub async fn nobody_buys_early(shop: &Shop) {
    const WIDTH: Duration = Duration::from_secs(8);
    let sale = shop.open(NewSale::of(50).spread(WIDTH)).await;
    let spread = async || shop.client().get(&format!("/api/sales/{sale}/spread")).await.expect(200).json();
    let before = spread().await;
    assert_eq!((&before["enforced"], &before["seed"]), (&true.into(), &Value::Null));

    let shoppers: Vec<Shopper> = (0..50).map(|n| shop.shopper(n)).collect();
    let pressed = join_all(shoppers.iter().map(|shopper| press_until_bought(shopper, &sale))).await;
    let early = pressed.iter().filter(|(told, _)| told.is_some()).count();
    assert!(early > 10, "{early} of 50 accounts had to wait");

    let after = eventually("the seed", WIDTH + SETTLE_TIMEOUT, async || {
        let spread = spread().await;
        if spread["seed"].is_null() { Err(spread.to_string()) } else { Ok(spread) }
    })
    .await;
    let seed: SpreadSeed = after["seed"].as_str().unwrap().parse().unwrap();
    assert_eq!((seed.commitment().into(), &after["opens_at"]), (before["commitment"].clone(), &before["opens_at"]));
    let spread = Spread { seed, width_ms: WIDTH.as_millis() as i64 };
    let opens = after["opens_at"].as_str().unwrap().parse().unwrap();
    for (n, (told, bought_at)) in (0..).zip(&pressed) {
        let moment = spread.own_moment(opens, user_id(n));
        assert!(told.is_none_or(|told| told == moment), "told {told:?}, drawn {moment}");
        // The test and the shop use the clock of the same machine.
        assert!(*bought_at >= moment, "bought at {bought_at}, before {moment}");
    }
}

/// The moment that the shop named, if the account had to wait, and the instant after its purchase.
async fn press_until_bought(shopper: &Shopper, sale: &str) -> (Option<Timestamp>, Timestamp) {
    let mut told = None;
    loop {
        let answer = shopper.buy(sale, 1).await;
        match answer.code().as_str() {
            "" => return (told, Clock::system().now()),
            "too_early" => {
                // The moment is left out if it came after the refusal, while the answer was written.
                if let Some(moment) = answer.json()["not_before"].as_str() {
                    let moment: Timestamp = moment.parse().unwrap();
                    assert!(told.is_none_or(|told| told == moment), "{told:?}, then {moment}");
                    told = Some(moment);
                }
            }
            _ => assert_eq!(answer.status, 429, "{answer:?}"),
        }
        pause(250).await;
    }
}
