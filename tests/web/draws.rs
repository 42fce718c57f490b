use std::collections::HashSet;
use std::time::Duration;

use super::*;
use control::draws::Draws;
use domain::draw::{Beacon, EntryId, EntryList, Proof, ranking};
use domain::{DrawState, SaleId, hex};

pub(super) const OPENS: &str = "2026-11-21T12:00:00Z";
pub(super) const CLOSES: &str = "2026-11-21T13:00:00Z";
/// The sale opens this long after the tests' clock starts.
pub(super) const HOUR: Duration = Duration::from_secs(3600);
pub(super) const REVIEW: Duration = Duration::from_secs(600);
pub(super) const WINDOW: Duration = Duration::from_secs(7200);

pub(super) fn hour_before() -> Clock {
    Clock::manual("2026-11-21T11:00:00Z".parse().unwrap())
}

/// A shop whose draws use rounds of quicknet, at this time.
pub(super) async fn shop_with_quicknet(now: &str) -> TestShop {
    let quicknet = |config: &mut Config| config.web.draw_beacon = Some(Beacon::Quicknet);
    TestShop::build(quicknet, Clock::manual(now.parse().unwrap())).await
}

/// An announced draw of this many units.
pub(super) async fn announce(admin: &TestClient<'_>, units: i64) -> String {
    announce_between(admin, units, (OPENS, CLOSES), REVIEW).await
}

pub(super) async fn announce_between(
    admin: &TestClient<'_>,
    units: i64,
    (opens, closes): (&str, &str),
    review: Duration,
) -> String {
    let draw = json!({"total": units, "opens_at": opens, "closes_at": closes, "mode": "draw",
        "draw_window_s": WINDOW.as_secs(), "draw_review_s": review.as_secs()});
    admin.announce(draw).await
}

pub(super) fn id(sale: &str) -> SaleId {
    SaleId(sale.parse().unwrap())
}

pub(super) async fn follow_schedule(shop: &TestShop, sale: &str) {
    shop.parts.store.sales().follow_schedule(id(sale)).await.unwrap().unwrap();
    shop.parts.catalogue.refresh().await.unwrap();
    shop.parts.gate.refresh().await;
}

/// Opens the sale, an hour later.
pub(super) async fn open(shop: &TestShop, sale: &str) {
    shop.advance(HOUR);
    follow_schedule(shop, sale).await;
    let button = shop.visitor().get(&format!("/api/sales/{sale}/button")).await.json();
    assert_eq!((&button["phase"], &button["mode"]), (&json!("open"), &json!("draw")));
}

async fn state(shop: &TestShop, sale: &str) -> DrawState {
    shop.parts.store.draws().get(id(sale)).await.unwrap().unwrap().state
}

pub(super) fn draws(shop: &TestShop) -> Draws {
    Draws::new(shop.parts.store.clone(), shop.parts.metrics.clone())
}

/// Closes an open sale and holds its draw, which gives orders to the winners.
pub(super) async fn hold(shop: &TestShop, sale: &str) {
    shop.advance(HOUR);
    follow_schedule(shop, sale).await;
    for pause in [REVIEW, REVIEW + Duration::from_secs(3), Duration::ZERO] {
        shop.advance(pause);
        draws(shop).step().await.unwrap();
    }
}

/// Enters, and returns the entry.
pub(super) async fn enter(client: &TestClient<'_>, sale: &str) -> Value {
    let answer = client.post(&format!("/api/sales/{sale}/entry"), json!({})).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["entry"].clone()
}

pub(super) async fn own(client: &TestClient<'_>, sale: &str) -> Value {
    client.get(&format!("/api/sales/{sale}/entry")).await.json()["entry"].clone()
}

/// The address of the order that a winner has.
pub(super) async fn order_of(winner: &TestClient<'_>, sale: &str) -> String {
    format!("/api/sales/{sale}/orders/{}", own(winner, sale).await["order_id"].as_str().unwrap())
}

/// What everybody reads about a draw.
pub(super) async fn facts(shop: &TestShop, sale: &str) -> Value {
    shop.visitor().get(&format!("/api/sales/{sale}/draw")).await.json()["draw"].clone()
}

/// The clients by the rank of their entries.
pub(super) async fn by_rank<'a, 'b>(clients: &'a [TestClient<'b>], sale: &str) -> Vec<&'a TestClient<'b>> {
    let mut ranked = Vec::new();
    for client in clients {
        ranked.push((own(client, sale).await["rank"].as_i64().unwrap(), client));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    assert!(ranked.iter().map(|(rank, _)| *rank).eq(1..=clients.len() as i64));
    ranked.into_iter().map(|(_, client)| client).collect()
}

/// The statuses of the orders of these clients; empty for one without an order.
async fn order_statuses(clients: &[&TestClient<'_>]) -> Vec<String> {
    let mut statuses = Vec::new();
    for client in clients {
        let orders = client.get("/api/orders").await.json();
        statuses.push(orders["orders"][0]["status"].as_str().unwrap_or_default().to_owned());
    }
    statuses
}

pub(super) async fn crowd(shop: &TestShop, count: usize) -> Vec<TestClient<'_>> {
    let mut clients = Vec::new();
    for n in 0..count {
        clients.push(shop.shopper(&format!("shopper{n}")).await);
    }
    clients
}

#[tokio::test]
async fn units_go_to_the_first_ranks_and_what_they_leave_to_the_next() {
    let shop = TestShop::open_at(&hour_before()).await;
    let (admin, clients) = (shop.admin().await, crowd(&shop, 12).await);
    let sale = announce(&admin, 3).await;
    let public = format!("/api/sales/{sale}/draw");
    let announced = facts(&shop, &sale).await;
    assert_eq!((&announced["state"], &announced["secret"]), (&json!("announced"), &Value::Null));
    open(&shop, &sale).await;
    let mut entries = HashSet::new();
    for client in &clients {
        entries.insert(enter(client, &sale).await["id"].to_string());
    }
    assert_eq!(entries.len(), clients.len());
    assert_eq!(shop.visitor().get(&format!("{public}/entries.csv")).await.problem(), problem(409, "not_locked"));

    let step = draws(&shop);
    shop.advance(HOUR);
    follow_schedule(&shop, &sale).await;
    step.step().await.unwrap();
    assert_eq!(state(&shop, &sale).await, DrawState::Announced, "staff review the entries first");
    shop.advance(REVIEW);
    step.step().await.unwrap();
    assert_eq!(state(&shop, &sale).await, DrawState::Locked, "the round is not due");
    assert_eq!(own(&clients[0], &sale).await["rank"], Value::Null);
    assert_eq!(shop.visitor().get(&format!("{public}/proof.json")).await.problem(), problem(409, "not_drawn"));
    shop.advance(REVIEW + Duration::from_secs(3));
    // A process that dies between the steps leaves the same work to the next process.
    for _ in 0..3 {
        draws(&shop).step().await.unwrap();
    }
    assert_eq!(state(&shop, &sale).await, DrawState::Drawn);

    let ranked = by_rank(&clients, &sale).await;
    assert_eq!(order_statuses(&ranked[..4]).await, ["unpaid", "unpaid", "unpaid", ""]);
    let list = shop.visitor().get(&format!("{public}/entries.csv")).await;
    let list = EntryList::parse(&list.body).unwrap();
    let proof = Proof::parse(&shop.visitor().get(&format!("{public}/proof.json")).await.body).unwrap();
    let taking_part = list.taking_part();
    let order: Vec<EntryId> =
        ranking(&hex::decode(&proof.seed).unwrap(), &taking_part).into_iter().map(|n| taking_part[n]).collect();
    for (client, entry) in ranked.iter().zip(&order) {
        assert_eq!(own(client, &sale).await["id"], entry.to_string());
    }
    let held = facts(&shop, &sale).await;
    assert_eq!((&held["commitment"], &held["entries"]), (&announced["commitment"], &json!(12)));
    assert_eq!((&held["secret"], &held["root"]), (&json!(proof.secret), &json!(proof.root)));
    assert_eq!(held["rules"], announced["rules"]);

    // The first pays, the other two do not, and the fourth cancels the order that is then offered.
    let order = order_of(ranked[0], &sale).await;
    support::pay(&shop, &ranked[0].begin_payment(&order).await).await;
    shop.advance(WINDOW + Duration::from_secs(60));
    shop.parts.expiry().cancel_overdue().await.unwrap();
    step.step().await.unwrap();
    let expected = ["paid", "cancelled", "cancelled", "unpaid", "unpaid", ""];
    assert_eq!(order_statuses(&ranked[..6]).await, expected);
    let order = order_of(ranked[3], &sale).await;
    assert_eq!(ranked[3].post(&format!("{order}/cancel"), json!({})).await.status, 200);
    step.step().await.unwrap();
    assert_eq!(order_statuses(&ranked[3..7]).await, ["cancelled", "unpaid", "unpaid", ""]);
    shop.parts.expiry().release().await.unwrap();
    support::assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn account_enters_once_and_may_take_the_entry_back_while_the_draw_is_open() {
    open_shop!(shop = TestShop::open_at(&hour_before()), admin, [mei]);
    let sale = announce(&admin, 1).await;
    let path = format!("/api/sales/{sale}/entry");
    assert_eq!(mei.post(&path, json!({})).await.problem(), problem(409, "not_open"));
    assert_eq!(mei.get(&path).await.problem(), problem(404, "not_entered"));
    open(&shop, &sale).await;
    let (one, two) = tokio::join!(mei.post(&path, json!({})), mei.post(&path, json!({})));
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!((statuses, one.json()), ([200, 201], two.json()), "two devices have one entry and one receipt");
    let page = format!("/en/sales/{sale}/entry");
    assert!(mei.send_form(&format!("{page}/withdraw"), "").await.leads_to(&page));
    assert_eq!(own(&mei, &sale).await["state"], "withdrawn");
    assert!(mei.send_form(&page, "").await.leads_to(&page), "forms do the same");
    assert!(mei.get(&page).await.text().contains("You have entered"));
    assert_eq!(mei.delete(&path).await.status, 204);
    assert_eq!(enter(&mei, &sale).await["id"], one.json()["entry"]["id"]);
    shop.advance(HOUR);
    assert_eq!(mei.delete(&path).await.problem(), problem(409, "ended"));
    let late = shop.shopper("lei").await;
    assert!(late.get(&page).await.text().contains("you have not entered"));
    assert!(mei.get(&page).await.text().contains("The draw is still to come"));
    assert_eq!(late.post(&path, json!({})).await.problem(), problem(409, "ended"));
    let rush = shop.open_sale(&admin, 5).await;
    assert_eq!(mei.post(&format!("/api/sales/{rush}/entry"), json!({})).await.problem(), problem(404, "no_such_draw"));
}

#[tokio::test]
async fn draw_is_never_sold_by_the_gate() {
    open_shop!(shop = TestShop::open_at(&hour_before()), admin, [mei]);
    let sale = announce(&admin, 5).await;
    open(&shop, &sale).await;
    assert_eq!(mei.post(&format!("/api/sales/{sale}/token"), json!({})).await.problem(), problem(409, "by_draw"));
    let order = json!({"quantity": 1, "token": "x"});
    assert_eq!(mei.post(&format!("/api/sales/{sale}/orders"), order).await.problem(), problem(409, "by_draw"));
    let page = mei.send_form(&format!("/en/sales/{sale}/buy"), "quantity=1").await;
    assert!(page.is_page(409) && page.text().contains("This sale is a draw"));
    assert!(!shop.parts.catalogue.active().contains(&id(&sale)), "no stock backend has it");
}

#[tokio::test]
async fn closed_accounts_are_passed_over_and_excluded_entries_take_no_part() {
    let shop = TestShop::open_at(&hour_before()).await;
    let (admin, clients) = (shop.admin().await, crowd(&shop, 4).await);
    let sale = announce(&admin, 4).await;
    open(&shop, &sale).await;
    for client in &clients {
        enter(client, &sale).await;
    }
    let entry = own(&clients[0], &sale).await["id"].as_str().unwrap().to_owned();
    let exclude = format!("/api/admin/sales/{sale}/draw/entries/{entry}/exclude");
    assert_eq!(admin.post(&exclude, json!({"reason": "duplicate"})).await.status, 204);
    let seen = own(&clients[0], &sale).await;
    assert_eq!((&seen["state"], &seen["reason"]), (&json!("excluded"), &json!("duplicate")));
    shop.execute("UPDATE users SET blocked_at_ms = 1 WHERE username = 'shopper1'").await;
    shop.advance(HOUR);
    follow_schedule(&shop, &sale).await;
    shop.advance(REVIEW);
    assert_eq!(admin.post(&exclude, json!({"reason": "other"})).await.problem(), problem(409, "entries_locked"));
    draws(&shop).step().await.unwrap();
    shop.execute("UPDATE users SET blocked_at_ms = 1 WHERE username = 'shopper2'").await;
    shop.advance(REVIEW + Duration::from_secs(3));
    draws(&shop).step().await.unwrap();
    let entry = shop.parts.store.draws().get(id(&sale)).await.unwrap().unwrap();
    assert_eq!((entry.entries, entry.next_rank), (Some(3), 3), "who was excluded has no rank");
    let draw = facts(&shop, &sale).await;
    assert_eq!((&draw["entries"], &draw["excluded"]), (&json!(3), &json!({"duplicate": 1})));
    assert_eq!(shop.parts.store.sales().get(id(&sale)).await.unwrap().unwrap().sold, 1);
    assert_eq!(order_statuses(&[&clients[3]]).await, ["unpaid"]);
}

#[tokio::test]
async fn sale_that_staff_end_early_is_called_off() {
    open_shop!(shop = TestShop::open_at(&hour_before()), admin, [mei]);
    let sale = announce(&admin, 1).await;
    open(&shop, &sale).await;
    enter(&mei, &sale).await;
    let edit = admin.patch(&format!("/api/admin/sales/{sale}"), json!({"draw_window_s": 60})).await;
    assert_eq!(edit.problem(), problem(409, "wrong_state"), "rules are fixed once the draw is open");
    assert_eq!(admin.post(&format!("/api/admin/sales/{sale}/stop"), json!({})).await.status, 200);
    shop.advance(3 * HOUR);
    draws(&shop).step().await.unwrap();
    let seen = mei.get(&format!("/api/sales/{sale}/entry")).await.json();
    assert_eq!((&seen["draw"], &seen["entry"]["rank"]), (&json!("called_off"), &Value::Null));
    assert_eq!(mei.get("/api/orders").await.json()["orders"], json!([]));
}

#[tokio::test]
async fn staff_paste_the_round_and_wrong_ones_are_refused() {
    open_shop!(shop = shop_with_quicknet("2026-11-21T11:00:00Z"), admin, [mei]);
    let sale = announce(&admin, 1).await;
    open(&shop, &sale).await;
    enter(&mei, &sale).await;
    let path = format!("/api/admin/sales/{sale}/draw/round");
    assert_eq!(admin.post(&path, json!({"round": "00"})).await.problem(), problem(409, "round_not_awaited"));
    shop.advance(HOUR);
    follow_schedule(&shop, &sale).await;
    shop.advance(3 * REVIEW);
    draws(&shop).step().await.unwrap();
    for wrong in ["", "00", "{\"round\":1,\"signature\":\"00\"}", &"ab".repeat(48)] {
        let answer = admin.post(&path, json!({"round": wrong})).await;
        assert_eq!(answer.problem(), problem(422, "invalid"), "{wrong}");
        assert_eq!(answer.json()["fields"][0]["code"], "wrong_round");
    }
    draws(&shop).step().await.unwrap();
    assert_eq!(state(&shop, &sale).await, DrawState::Locked);
}
