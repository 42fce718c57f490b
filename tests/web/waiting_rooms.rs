use std::sync::Arc;
use std::time::Duration;

use super::support::sorted;
use super::*;
use base::config::ServiceAddress;
use base::signing::ShopSecret;
use control::waiting_rooms::WaitingRoomSteps;
use domain::draw::EntryId;
use domain::{Place, SaleId, WaitingRoomSeed};
use engine::eligibility::Eligibility;
use engine::redis::connection;
use engine::waiting_rooms::places::Gathering;
use engine::waiting_rooms::{JoinRefusal, WaitingRooms};
use secrecy::SecretString;

const OPENS: &str = "2026-11-21T12:00:00Z";
const PREQUEUE: Duration = Duration::from_secs(600);
pub(super) const GATHER: Duration = Duration::from_secs(10);
const SEAT: Duration = Duration::from_secs(60);
/// How long a segment of latecomers stays open.
const SEGMENT: Duration = Duration::from_secs(12);

async fn hour_before() -> (TestShop, Clock) {
    TestShop::open_then("2026-11-21T11:00:00Z").await
}

fn id(sale: &str) -> SaleId {
    SaleId(sale.parse().unwrap())
}

/// An announced sale with a waiting room.
pub(super) async fn announce(admin: &TestClient<'_>, units: i64) -> String {
    let [prequeue, gather, seat] = [PREQUEUE, GATHER, SEAT].map(|time| time.as_secs());
    let sale = json!({"total": units, "opens_at": OPENS, "mode": "queue", "queue_prequeue_s": prequeue,
        "queue_gather_s": gather, "queue_seat_s": seat});
    admin.new_sale(sale).await
}

/// A shop with a sale whose waiting room has just opened.
pub(super) async fn joining(units: i64) -> (TestShop, Clock, String) {
    let (shop, clock) = hour_before().await;
    let sale = announce(&shop.admin().await, units).await;
    clock.advance(Duration::from_secs(3600) - PREQUEUE);
    (shop, clock, sale)
}

/// Opens the sale.
pub(super) async fn open(shop: &TestShop, clock: &Clock, sale: &str) {
    clock.advance(PREQUEUE);
    shop.parts.store.sales().follow_schedule(id(sale)).await.unwrap().unwrap();
    shop.parts.catalogue.refresh().await.unwrap();
    shop.parts.gate.refresh().await;
}

/// One step of data control, and the refresh by which processes learn of it.
pub(super) async fn step(shop: &TestShop) {
    WaitingRoomSteps::new(shop.parts.store.clone(), None, shop.parts.metrics.clone()).step().await.unwrap();
    shop.parts.waiting_rooms.read_lines(Duration::ZERO).await.unwrap();
}

async fn release(shop: &TestShop) {
    shop.expire().await;
    shop.parts.gate.refresh().await;
}

pub(super) async fn join(client: &TestClient<'_>, sale: &str) -> Value {
    client.post(&format!("/api/sales/{sale}/place"), json!({})).await.is(201).json()
}

async fn own(client: &TestClient<'_>, sale: &str) -> Value {
    client.get(&format!("/api/sales/{sale}/place")).await.json()["place"].clone()
}

async fn line(shop: &TestShop, sale: &str) -> Value {
    shop.visitor().get(&format!("/api/sales/{sale}/line")).await.json()
}

pub(super) async fn crowd(shop: &TestShop, count: usize) -> Vec<TestClient<'_>> {
    let mut clients = Vec::new();
    for n in 0..count {
        clients.push(shop.shopper(&format!("shopper{n}")).await);
    }
    clients
}

/// The code of the refusal of a purchase; `None` when it was made.
async fn buy(client: &TestClient<'_>, sale: &str) -> Option<String> {
    let token = client.post(&format!("/api/sales/{sale}/token"), json!({})).await.json();
    if token["token"].is_null() {
        return Some(token["code"].as_str().unwrap().to_owned());
    }
    let order = json!({"quantity": 1, "token": token["token"]});
    let answer = client.post(&format!("/api/sales/{sale}/orders"), order).await;
    (answer.status != 202).then(|| answer.json()["code"].to_string())
}

/// The clients in the order in which they are called.
async fn in_order<'a, 'b>(clients: &'a [TestClient<'b>], sale: &str) -> Vec<&'a TestClient<'b>> {
    let mut ordered = Vec::new();
    for client in clients {
        let place = own(client, sale).await;
        ordered.push(((place["segment"].as_i64().unwrap(), place["number"].as_i64().unwrap()), client));
    }
    ordered.sort_by_key(|(place, _)| *place);
    ordered.into_iter().map(|(_, client)| client).collect()
}

async fn states(clients: &[&TestClient<'_>], sale: &str) -> Vec<String> {
    let mut states = Vec::new();
    for client in clients {
        states.push(own(client, sale).await["state"].as_str().unwrap().to_owned());
    }
    states
}

#[tokio::test]
async fn shoppers_are_called_in_the_order_of_the_seed_and_only_they_buy() {
    let (shop, clock, sale) = joining(3).await;
    let clients = crowd(&shop, 8).await;
    for client in &clients {
        let joined = join(client, &sale).await;
        clock.advance(Duration::from_millis(1));
        assert_eq!((&joined["place"]["state"], &joined["place"]["number"]), (&json!("waiting"), &Value::Null));
    }
    step(&shop).await;
    let before = line(&shop, &sale).await;
    assert_eq!((&before["joined"], &before["seed"], &before["phase"]), (&json!(8), &Value::Null, &json!("upcoming")));
    open(&shop, &clock, &sale).await;
    step(&shop).await;
    assert_eq!(line(&shop, &sale).await["locked_at"], Value::Null, "those who come now count as come at once");
    clock.advance(GATHER);
    // A process that dies between the steps leaves the same work to the next process.
    for _ in 0..3 {
        step(&shop).await;
    }

    let ordered = in_order(&clients, &sale).await;
    let seen = line(&shop, &sale).await;
    let seed: WaitingRoomSeed = seen["seed"].as_str().unwrap().parse().unwrap();
    assert_eq!(seed.commitment(), before["commitment"]);
    for client in &ordered {
        let place = own(client, &sale).await;
        let entry: EntryId = place["entry"].as_str().unwrap().parse().unwrap();
        assert_eq!(place["number"], Place::of(&seed, 0, entry).number);
    }
    assert_eq!((&seen["called"], &seen["seats"], &seen["left"]), (&json!(3), &json!(3), &json!(3)));
    assert_eq!(states(&ordered, &sale).await[..4], ["called", "called", "called", "waiting"]);
    let known = shop.parts.waiting_rooms.line(id(&sale)).unwrap();
    for (rank, client) in ordered.iter().enumerate().skip(3) {
        let number = own(client, &sale).await["number"].as_i64().unwrap();
        assert_eq!(known.ahead(Place { segment: 0, number }), Some(rank as i64 - 3), "a few places are exact");
    }

    for stranger in &ordered[3..] {
        assert_eq!(buy(stranger, &sale).await.as_deref(), Some("not_called"));
        stranger.send_form(&format!("/en/sales/{sale}/buy"), "quantity=1").await.shows(409, &[]);
    }
    for called in &ordered[..2] {
        assert_eq!(buy(called, &sale).await, None);
    }
    step(&shop).await;
    assert_eq!(states(&ordered, &sale).await[..4], ["bought", "bought", "called", "waiting"]);

    // The third does not come. So the fourth is called, and the third may wait again, at the end.
    clock.advance(SEAT + Duration::from_secs(6));
    shop.parts.gate.refresh().await;
    step(&shop).await;
    assert_eq!(states(&ordered, &sale).await[2..5], ["missed", "called", "waiting"]);
    assert_eq!(buy(ordered[2], &sale).await.as_deref(), Some("not_called"));
    assert_eq!(join(ordered[2], &sale).await["place"]["state"], "waiting");
    assert_eq!(buy(ordered[3], &sale).await, None);
    clock.advance(SEGMENT);
    step(&shop).await;
    assert_eq!(states(&ordered, &sale).await[2..], ["waiting", "bought", "waiting", "waiting", "waiting", "waiting"]);
    assert_eq!(line(&shop, &sale).await["phase"], "sold_out");

    let again = ordered[0].post(&format!("/api/sales/{sale}/place"), json!({})).await.json();
    assert_eq!(again["place"]["state"], "bought");

    // A unit that returns is for the next shopper who waits, not for a stranger.
    let order = ordered[0].get("/api/orders").await.json()["orders"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(ordered[0].post(&format!("/api/sales/{sale}/orders/{order}/cancel"), json!({})).await.status, 200);
    release(&shop).await;
    step(&shop).await;
    assert_eq!(buy(ordered[5], &sale).await.as_deref(), Some("not_called"));
    assert_eq!(buy(ordered[4], &sale).await, None);
    assert_eq!(violations(&shop).await, 0);
    shop.execute("UPDATE queue_places SET number = number + 1 WHERE called_at_ms IS NULL").await;
    assert_eq!(violations(&shop).await, 1, "numbers are recomputed");
    shop.execute("UPDATE queue_places SET called_at_ms = NULL WHERE segment = 0").await;
    assert_eq!(violations(&shop).await, 2, "buyers were not called");
}

/// The number of promises that do not hold.
async fn violations(shop: &TestShop) -> usize {
    let checks = shop.parts.audit().check_once().await.unwrap();
    checks.iter().filter(|check| !check.violations.is_empty()).count()
}

/// The pipeline lags behind the end of a turn, and Redis has forgotten the hold.
#[tokio::test]
async fn order_of_an_earlier_turn_is_in_order_after_its_place_was_exchanged() {
    let (shop, clock, sale) = joining(1).await;
    let mei = shop.shopper("mei").await;
    join(&mei, &sale).await;
    open(&shop, &clock, &sale).await;
    clock.advance(GATHER);
    step(&shop).await;
    let user = shop.parts.accounts().session(&mei.headers()).unwrap().user_id;
    let order_id = domain::OrderId(uuid::Uuid::now_v7());
    let late =
        domain::Reservation { order_id, sale_id: id(&sale), user_id: user, quantity: 1, reserved_at: clock.now() };
    clock.advance(SEAT + Duration::from_secs(4));
    assert_eq!(own(&mei, &sale).await["state"], "called", "an order may still be on its way");
    let again = mei.post(&format!("/api/sales/{sale}/place"), json!({})).await;
    assert_eq!((again.status.as_u16(), &again.json()["place"]["state"]), (200, &json!("called")), "no other place yet");
    clock.advance(Duration::from_secs(2));
    assert_eq!(own(&mei, &sale).await["state"], "missed");
    assert_eq!(join(&mei, &sale).await["place"]["state"], "waiting");
    shop.parts.store.orders().persist_orders(&[late], Duration::from_secs(1800)).await.unwrap();
    assert_eq!(violations(&shop).await, 0);
    shop.execute("UPDATE queue_places SET joined_at_ms = 1").await;
    assert_eq!(violations(&shop).await, 1, "it was not reserved in the earlier turn");
}

/// Its connection is not up yet, as of a process that has just begun.
#[tokio::test]
async fn process_that_cannot_ask_redis_tells_no_entry_beside_one_that_redis_may_have_given() {
    let (shop, clock, sale) = joining(1).await;
    let (parts, sale) = (&shop.parts, id(&sale));
    let redis = connection::shared(&ServiceAddress::from("redis://127.0.0.1:1")).unwrap();
    let secret = ShopSecret::from(SecretString::from("s".repeat(64)));
    let (store, catalogue, stock) = (parts.store.clone(), parts.catalogue.clone(), parts.stock.clone());
    let eligibility = Arc::new(Eligibility::new(store.clone(), catalogue.clone(), 100, &secret));
    let gathering = Some(Gathering::new(redis, store.clone()));
    let metrics = parts.metrics.clone();
    let rooms = WaitingRooms::new(store.clone(), catalogue, eligibility, (stock, gathering), 100, &secret, metrics);
    let mei = domain::UserId(uuid::Uuid::now_v7());
    let of_sale = store.sales().get(sale).await.unwrap().unwrap();
    store.waiting_rooms().set_gathers(sale, true).await.unwrap();
    let refused = rooms.join(sale, mei, None).await;
    assert!(matches!(refused, Err(JoinRefusal::Unknown)), "{refused:?}");
    assert!(rooms.own(&of_sale, mei, clock.now()).await.is_err(), "unknown, not without a place");
    // Redis never had the list.
    store.waiting_rooms().set_gathers(sale, false).await.unwrap();
    assert!(rooms.own(&of_sale, mei, clock.now()).await.unwrap().is_none());
    assert!(rooms.join(sale, mei, None).await.unwrap().is_new);
}

#[tokio::test]
async fn sale_whose_waiting_room_has_places_keeps_its_mode() {
    let (shop, clock) = hour_before().await;
    let admin = shop.admin().await;
    let sale = announce(&admin, 3).await;
    clock.advance(Duration::from_secs(3600) - PREQUEUE);
    let json = [("content-type", "application/json")];
    let edit = async |body: &'static str| admin.send("PATCH", &format!("/api/admin/sales/{sale}"), &json, body).await;
    assert_eq!(edit(r#"{"mode":"rush"}"#).await.status, 200, "the waiting room has no places yet");
    assert_eq!(edit(r#"{"mode":"queue"}"#).await.status, 200);
    shop.parts.catalogue.refresh().await.unwrap();
    let mei = shop.shopper("mei").await;
    join(&mei, &sale).await;
    let refused = edit(r#"{"mode":"rush"}"#).await.refuses(422, "invalid");
    assert_eq!(refused.json()["fields"][0], json!({"field": "mode", "code": "mode_has_places"}));
    // Nor as a draft again, whose places stay.
    assert_eq!(admin.post(&format!("/api/admin/sales/{sale}/unschedule"), json!({})).await.status, 200);
    assert_eq!(edit(r#"{"mode":"rush"}"#).await.problem(), problem(422, "invalid"));
}

#[tokio::test]
async fn account_has_one_place_and_latecomers_come_after_everyone_before_the_lock() {
    let (shop, clock) = hour_before().await;
    let admin = shop.admin().await;
    let sale = announce(&admin, 1).await;
    let (mei, lei) = (shop.shopper("mei").await, shop.shopper("lei").await);
    let path = format!("/api/sales/{sale}/place");
    assert_eq!(mei.post(&path, json!({})).await.problem(), problem(409, "not_open"));
    assert_eq!(mei.get(&path).await.problem(), problem(404, "not_in_queue"));
    clock.advance(Duration::from_secs(3600) - PREQUEUE);
    let (one, two) = tokio::join!(mei.post(&path, json!({})), mei.post(&path, json!({})));
    assert_eq!((sorted(&one, &two), one.json()), ([200, 201], two.json()), "two devices have one place and one pass");
    open(&shop, &clock, &sale).await;
    clock.advance(GATHER);
    step(&shop).await;
    assert_eq!(join(&lei, &sale).await["place"]["segment"], 1);
    clock.advance(SEGMENT);
    step(&shop).await;
    assert_eq!(states(&[&mei, &lei], &sale).await, ["called", "waiting"]);
    let rush = shop.open_sale(&admin, 5).await;
    assert_eq!(mei.post(&format!("/api/sales/{rush}/place"), json!({})).await.problem(), problem(404, "no_such_queue"));
    assert_eq!(mei.get(&format!("/api/sales/{rush}/line")).await.problem(), problem(404, "no_such_queue"));
}

#[tokio::test]
async fn pass_restores_a_place_that_the_database_lost_and_no_turn_that_was_missed() {
    let (shop, clock, sale) = joining(1).await;
    let (mei, lei) = (shop.shopper("mei").await, shop.shopper("lei").await);
    let path = format!("/api/sales/{sale}/place");
    let passes = [join(&mei, &sale).await["pass"].clone(), join(&lei, &sale).await["pass"].clone()];
    let places = [own(&mei, &sale).await, own(&lei, &sale).await];
    open(&shop, &clock, &sale).await;
    clock.advance(GATHER);
    shop.execute("DELETE FROM queue_places").await;
    step(&shop).await;
    clock.advance(SEGMENT);
    // The pass of another account proves nothing.
    assert_eq!(mei.post(&path, json!({"pass": passes[1]})).await.json()["place"]["segment"], 2);
    shop.execute("DELETE FROM queue_places").await;
    for (client, (pass, place)) in [&mei, &lei].into_iter().zip(passes.iter().zip(&places)) {
        let restored = client.post(&path, json!({"pass": pass})).await.json()["place"].clone();
        assert_eq!((&restored["entry"], &restored["segment"]), (&place["entry"], &place["segment"]));
    }
    step(&shop).await;
    let first = if own(&mei, &sale).await["state"] == "called" { 0 } else { 1 };
    clock.advance(SEAT + Duration::from_secs(6));
    step(&shop).await;
    let (client, pass) = ([&mei, &lei][first], &passes[first]);
    let again = client.post(&path, json!({"pass": pass})).await.json()["place"].clone();
    assert_eq!((again["state"].as_str(), again["segment"].as_i64() > Some(0)), (Some("waiting"), true), "{again}");
    assert_ne!(again["entry"], places[first]["entry"]);
}

#[tokio::test]
async fn closed_accounts_are_passed_over_and_places_stay_when_a_sale_is_postponed() {
    let (shop, clock) = hour_before().await;
    let admin = shop.admin().await;
    let sale = announce(&admin, 2).await;
    clock.advance(Duration::from_secs(3600) - PREQUEUE);
    let clients = crowd(&shop, 4).await;
    for client in &clients {
        join(client, &sale).await;
    }
    let json = [("content-type", "application/json")];
    let later = r#"{"opens_at":"2026-11-21T12:05:00Z"}"#;
    assert_eq!(admin.send("PATCH", &format!("/api/admin/sales/{sale}"), &json, later).await.status, 200);
    shop.execute("UPDATE users SET blocked_at_ms = 1 WHERE username IN ('shopper0', 'shopper1')").await;
    clock.advance(Duration::from_secs(300));
    open(&shop, &clock, &sale).await;
    clock.advance(GATHER);
    for _ in 0..3 {
        step(&shop).await;
    }
    assert_eq!(states(&[&clients[2], &clients[3]], &sale).await, ["called", "called"]);
    assert_eq!((buy(&clients[2], &sale).await, buy(&clients[3], &sale).await), (None, None));
}
