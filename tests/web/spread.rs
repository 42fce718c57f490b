use std::time::Duration;

use jiff::Timestamp;

use super::*;
use domain::{SaleId, Spread, SpreadSeed};

const OPENS: &str = "2026-11-21T12:00:00Z";
pub(super) const SPREAD_MS: i64 = 60_000;

pub(super) fn at(text: &Value) -> Timestamp {
    text.as_str().unwrap().parse().unwrap()
}

pub(super) fn until(clock: &Clock, moment: Timestamp) -> Duration {
    moment.duration_since(clock.now()).unsigned_abs()
}

/// A sale with an enforced spread that opens at [`OPENS`], which is an hour ahead.
pub(super) async fn announced_sale(admin: &TestClient<'_>, spread_ms: i64) -> String {
    admin.new_sale(json!({"total": 100, "opens_at": OPENS, "spread_ms": spread_ms})).await
}

pub(super) fn hour_before() -> Clock {
    Clock::manual("2026-11-21T11:00:00Z".parse().unwrap())
}

pub(super) async fn open(shop: &TestShop, clock: &Clock, sale: &str) {
    clock.advance(until(clock, OPENS.parse().unwrap()));
    shop.parts.store.sales().follow_schedule(SaleId(sale.parse().unwrap())).await.unwrap().unwrap();
    shop.parts.catalogue.refresh().await.unwrap();
    shop.parts.gate.refresh().await;
    assert_eq!(shop.visitor().get(&format!("/api/sales/{sale}/button")).await.json()["phase"], "open");
}

#[tokio::test]
async fn account_buys_from_its_own_moment_on_and_is_told_when_that_is() {
    let clock = hour_before();
    let shop = TestShop::open_at(&clock).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let sale = announced_sale(&admin, SPREAD_MS).await;
    let (token, orders) = (format!("/api/sales/{sale}/token"), format!("/api/sales/{sale}/orders"));
    shop.parts.catalogue.refresh().await.unwrap();
    assert_eq!(mei.post(&token, json!({})).await.problem(), problem(409, "not_open"), "and tells no moment");
    open(&shop, &clock, &sale).await;

    let issued = mei.post(&token, json!({})).await.json();
    let moment = at(&issued["not_before"]);
    let purchase = json!({"quantity": 1, "token": issued["token"]});
    for _ in 0..3 {
        let early = mei.post(&orders, purchase.clone()).await;
        assert_eq!((early.problem(), at(&early.json()["not_before"])), (problem(429, "too_early"), moment));
        let seconds = until(&clock, moment).as_millis().div_ceil(1000).to_string();
        assert_eq!(early.header("retry-after"), seconds);
    }
    mei.send_form(&format!("/en/sales/{sale}/buy"), "quantity=1").await.shows(429, &["Your moment:", "Try again"]);
    clock.advance(until(&clock, moment) - Duration::from_millis(1));
    assert_eq!(mei.post(&orders, purchase.clone()).await.problem(), problem(429, "too_early"));
    clock.advance(Duration::from_millis(1));
    assert_eq!(mei.post(&orders, purchase.clone()).await.status, 202);

    clock.advance(Duration::from_millis(SPREAD_MS as u64));
    let late = shop.shopper("lei").await;
    let issued = late.post(&token, json!({})).await.json();
    assert_eq!(issued["not_before"], Value::Null, "after the spread no account waits");
    late.post(&orders, json!({"quantity": 1, "token": issued["token"]})).await.is(202);
}

#[tokio::test]
async fn commitment_is_public_before_and_the_seed_after_the_spread() {
    let clock = hour_before();
    let shop = TestShop::open_at(&clock).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let sale = announced_sale(&admin, SPREAD_MS).await;
    shop.parts.catalogue.refresh().await.unwrap();
    let seed = shop.parts.store.sales().get(SaleId(sale.parse().unwrap())).await.unwrap().unwrap().spread_seed.unwrap();
    let path = format!("/api/sales/{sale}/spread");
    let public = async || shop.visitor().get(&path).await.json();
    let before = public().await;
    assert_eq!((&before["spread_ms"], &before["enforced"]), (&json!(SPREAD_MS), &json!(true)));
    assert_eq!((&before["opens_at"], &before["seed"]), (&json!(OPENS), &Value::Null));

    open(&shop, &clock, &sale).await;
    let moment = at(&mei.post(&format!("/api/sales/{sale}/token"), json!({})).await.json()["not_before"]);
    clock.advance(Duration::from_millis(SPREAD_MS as u64 - 1));
    assert_eq!(public().await["seed"], Value::Null);
    for secret in ["/api/admin/sales", &*format!("/api/admin/sales/{sale}"), "/api/admin/audit-log"] {
        assert!(!admin.get(secret).await.text().contains(&seed.to_hex()), "{secret} tells the seed");
    }
    shop.publish();
    let page = shop.visitor().get(&format!("/en/sales/{sale}")).await;
    assert!(page.text().contains(before["commitment"].as_str().unwrap()) && !page.text().contains(&seed.to_hex()));

    clock.advance(Duration::from_millis(1));
    let after = public().await;
    assert_eq!(after["commitment"], before["commitment"]);
    let revealed: SpreadSeed = after["seed"].as_str().unwrap().parse().unwrap();
    assert_eq!(after["commitment"], revealed.commitment());
    let spread = Spread { seed: revealed, width_ms: SPREAD_MS };
    let account = shop.parts.accounts().session(&mei.headers()).unwrap().user_id;
    assert_eq!(spread.own_moment(OPENS.parse().unwrap(), account), moment, "anybody can recompute it");
}

#[tokio::test]
async fn spread_is_not_enforced_below_a_second_and_ends_with_the_sale() {
    let shop = TestShop::open_at(&hour_before()).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    for spread_ms in [0, 999] {
        let sale = announced_sale(&admin, spread_ms).await;
        assert_eq!(admin.post(&format!("/api/admin/sales/{sale}/start"), json!({})).await.status, 200);
        shop.parts.gate.refresh().await;
        let public = shop.visitor().get(&format!("/api/sales/{sale}/spread")).await.json();
        assert_eq!((&public["enforced"], &public["seed"]), (&json!(false), &Value::Null));
        assert_eq!(mei.buy(&sale, 1).await.status, 202, "{spread_ms} ms");
    }
    let goods = admin.get("/api/admin/goods").await.json()["goods"][0]["id"].clone();
    let sale = |closes_at: &str| {
        json!({"goods_id": goods, "price": cny(5), "total": 1, "per_user_limit": 1,
               "opens_at": OPENS, "closes_at": closes_at, "spread_ms": 120_000})
    };
    admin.post("/api/admin/sales", sale("2026-11-21T12:01:59Z")).await.wrong("spread_ms", "spread_beyond_end");
    assert_eq!(admin.post("/api/admin/sales", sale("2026-11-21T12:02:00Z")).await.status, 201);
}

/// A sale that staff start spreads its accounts from that instant. A pause moves no account's moment.
#[tokio::test]
async fn started_sale_spreads_from_its_start() {
    let clock = hour_before();
    let shop = TestShop::open_at(&clock).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let sale = announced_sale(&admin, SPREAD_MS).await;
    let change = async |action: &str| {
        assert_eq!(admin.post(&format!("/api/admin/sales/{sale}/{action}"), json!({})).await.status, 200);
        shop.parts.catalogue.refresh().await.unwrap();
        shop.parts.gate.refresh().await;
    };
    let started = clock.now();
    change("start").await;
    let moment = async || at(&mei.post(&format!("/api/sales/{sale}/token"), json!({})).await.json()["not_before"]);
    let told = moment().await;
    assert!(started <= told && told < started + Duration::from_millis(SPREAD_MS as u64));
    change("pause").await;
    change("resume").await;
    assert_eq!(moment().await, told);
}
