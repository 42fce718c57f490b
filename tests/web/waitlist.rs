//! Waitlists of sold-out sales, on SQLite, whose clock the tests advance.

mod reading;

use std::time::Duration;

use super::*;
use control::waitlists::Waitlists;
use domain::{Bucket, SaleId, UserId, waitlist};

const PAYMENT_WINDOW: Duration = Duration::from_secs(1800);

fn path(sale: &str) -> String {
    format!("/api/sales/{sale}/waitlist")
}

/// A sold-out sale of this many units, and its orders with their owners.
async fn sold_out_sale(shop: &TestShop, units: usize) -> (String, Vec<(TestClient<'_>, String)>) {
    let sale = shop.sell(units as i64).await;
    let mut buyers = Vec::new();
    for n in 0..units {
        let buyer = shop.shopper(&format!("buyer{n}")).await;
        let order = buyer.buy(&sale, 1).await.json()["order"]["id"].as_str().unwrap().to_owned();
        buyers.push((buyer, order));
    }
    shop.parts.gate.refresh_winners().await;
    (sale, buyers)
}

async fn join(client: &TestClient<'_>, sale: &str, quantity: i64) -> Value {
    let answer = client.post(&path(sale), json!({"quantity": quantity})).await.is(201);
    answer.json()["waitlist"].clone()
}

async fn own(client: &TestClient<'_>, sale: &str) -> Value {
    client.get(&path(sale)).await.json()["waitlist"].clone()
}

/// The clients in the order in which the waitlist serves them.
async fn in_line<'a, 'b>(clients: &'a [TestClient<'b>], sale: &str) -> Vec<&'a TestClient<'b>> {
    let mut line = Vec::new();
    for client in clients {
        line.push((own(client, sale).await["position"].as_i64().unwrap(), client));
    }
    line.sort_by_key(|(position, _)| *position);
    assert!(line.iter().map(|(position, _)| *position).eq(1..=clients.len() as i64));
    line.into_iter().map(|(_, client)| client).collect()
}

/// Puts the clients on the waitlist, each for this many units, and returns them in its order.
async fn line_up<'a, 'b>(clients: &'a [TestClient<'b>], sale: &str, quantity: i64) -> Vec<&'a TestClient<'b>> {
    for client in clients {
        join(client, sale, quantity).await;
    }
    in_line(clients, sale).await
}

async fn step(shop: &TestShop) {
    let waitlists = Waitlists::new(shop.parts.store.clone(), shop.parts.stock.clone(), shop.parts.metrics.clone());
    // An offer is noted by the step after the step that made it.
    waitlists.step().await.unwrap();
    waitlists.step().await.unwrap();
    shop.parts.gate.refresh_winners().await;
}

async fn cancel((client, order): &(TestClient<'_>, String), sale: &str) {
    client.post(&format!("/api/sales/{sale}/orders/{order}/cancel"), json!({})).await.is(200);
}

fn next_segment(clock: &Clock) {
    clock.advance(waitlist::SEGMENT.unsigned_abs());
}

async fn many(shop: &TestShop, count: usize) -> Vec<TestClient<'_>> {
    let mut clients = Vec::new();
    for n in 0..count {
        clients.push(shop.shopper(&format!("waiter{n}")).await);
    }
    clients
}

async fn open() -> (TestShop, Clock) {
    TestShop::open_then("2026-11-25T10:00:00Z").await
}

#[tokio::test]
async fn button_of_a_sold_out_sale_says_how_fast_it_went_and_how_many_wait() {
    let (shop, clock) = open().await;
    let sale = shop.sell(1).await;
    let (buyer, loser, visitor) = (shop.shopper("buyer").await, shop.shopper("loser").await, shop.visitor());
    let button = async || {
        shop.parts.gate.refresh_winners().await;
        visitor.get(&format!("/api/sales/{sale}/button")).await.json()
    };
    let open = button().await;
    for key in ["sold_out_ms", "asked", "waited"] {
        assert_eq!((&open["phase"], open.get(key)), (&json!("open"), None), "{key} of an open sale");
    }
    clock.advance(Duration::from_millis(490));
    buyer.buy(&sale, 1).await;
    assert_eq!(loser.buy(&sale, 1).await.problem(), problem(409, "sold_out"));
    let gone = button().await;
    assert_eq!((&gone["sold_out_ms"], &gone["asked"], &gone["waited"]), (&json!(490), &json!(2), &json!(0)));
    join(&loser, &sale, 1).await;
    next_segment(&clock);
    let later = button().await;
    assert_eq!((&later["sold_out_ms"], &later["waited"]), (&json!(490), &json!(1)), "the first time counts");
}

#[tokio::test]
async fn returned_units_go_down_the_line_and_strangers_get_none() {
    let (shop, clock) = open().await;
    let (sale, buyers) = sold_out_sale(&shop, 2).await;
    let (clients, stranger) = (many(&shop, 5).await, shop.shopper("stranger").await);
    for client in &clients {
        assert_eq!(join(client, &sale, 1).await["state"], "waiting");
    }
    let line = in_line(&clients, &sale).await;
    next_segment(&clock);
    for (n, buyer) in buyers.iter().enumerate() {
        cancel(buyer, &sale).await;
        shop.parts.gate.refresh_winners().await;
        let button = stranger.get(&format!("/api/sales/{sale}/button")).await.json();
        assert_eq!((&button["phase"], &button["remaining"]), (&json!("sold_out"), &json!(0)));
        assert_eq!(stranger.buy(&sale, 1).await.problem(), problem(409, "sold_out"));
        step(&shop).await;
        let offered = own(line[n], &sale).await;
        assert_eq!((&offered["state"], &offered["position"]), (&json!("offered"), &Value::Null));
        let order = line[n].get("/api/orders").await.json()["orders"][0].clone();
        assert_eq!((&offered["order_id"], &offered["pay_by"]), (&order["id"], &order["pay_by"]));
        assert_eq!(order["status"], "unpaid");
        assert_eq!(own(line[n + 1], &sale).await["ahead"], 0);
    }
    // Units that the first two do not pay for go to the next.
    clock.advance(PAYMENT_WINDOW + Duration::from_secs(1));
    shop.expire().await;
    assert_eq!(stranger.buy(&sale, 1).await.problem(), problem(409, "sold_out"));
    step(&shop).await;
    let mut states = Vec::new();
    for client in &line {
        states.push(own(client, &sale).await["state"].as_str().unwrap().to_owned());
    }
    assert_eq!(states, ["offered", "offered", "offered", "offered", "waiting"]);
    assert_eq!(own(line[0], &sale).await["pay_by"], Value::Null, "its order is over");
    let sale_row = shop.parts.store.sales().get(SaleId(sale.parse().unwrap())).await.unwrap().unwrap();
    assert_eq!((sale_row.sold, sale_row.total), (2, 2));
}

/// This does not ask the gate: a claim that gets past it finds no unit either.
#[tokio::test]
async fn stock_itself_grants_strangers_none_of_the_units_that_are_waited_for() {
    use domain::claim::{Claim, Decision, Refusal};
    use domain::{Bucket, OrderId, UserId};
    use engine::batching::Batch;
    let (shop, _) = open().await;
    let (sale, buyers) = sold_out_sale(&shop, 1).await;
    let waiter = shop.shopper("waiter").await;
    join(&waiter, &sale, 1).await;
    cancel(&buyers[0], &sale).await;
    let bucket = Bucket::whole(SaleId(sale.parse().unwrap()));
    let claim =
        || Claim { user_id: UserId(uuid::Uuid::now_v7()), order_id: OrderId(uuid::Uuid::now_v7()), quantity: 1 };
    let stock = &shop.parts.stock;
    let claims = vec![claim(), claim()];
    let decided = stock.reserve(&[Batch { bucket, claims }]).await.remove(0).unwrap();
    assert_eq!(decided, [Decision::Refused(Refusal::SoldOut); 2]);
    // The last waiting account leaves, so the unit is on sale again.
    assert_eq!(waiter.delete(&path(&sale)).await.status, 204);
    let decided = stock.reserve(&[Batch { bucket, claims: vec![claim()] }]).await.remove(0).unwrap();
    assert!(matches!(decided[..], [Decision::Granted(_)]), "{decided:?}");
}

#[tokio::test]
async fn segment_begins_with_the_first_join_and_lasts_its_whole_length() {
    // Whole multiples of ten seconds mean nothing.
    let (shop, clock) = TestShop::open_then("2026-11-25T10:00:09.900Z").await;
    let (sale, buyers) = sold_out_sale(&shop, 1).await;
    let clients = many(&shop, 4).await;
    join(&clients[0], &sale, 1).await;
    cancel(&buyers[0], &sale).await;
    for client in &clients[1..] {
        clock.advance(waitlist::SEGMENT.unsigned_abs() / 3 - Duration::from_millis(1));
        step(&shop).await;
        join(client, &sale, 1).await;
    }
    step(&shop).await;
    let line = in_line(&clients, &sale).await;
    assert_eq!(own(line[0], &sale).await["state"], "waiting", "the segment is not over");
    clock.advance(Duration::from_millis(3));
    step(&shop).await;
    assert_eq!(own(line[0], &sale).await["state"], "offered");
    assert_eq!(own(line[1], &sale).await["state"], "waiting");
}

#[tokio::test]
async fn account_that_leaves_and_joins_again_keeps_units_from_nobody() {
    let (shop, clock) = open().await;
    let (sale, buyers) = sold_out_sale(&shop, 3).await;
    let clients = many(&shop, 5).await;
    let buy = async |client: &TestClient<'_>| {
        shop.parts.gate.refresh_winners().await;
        client.buy(&sale, 1).await.status
    };
    join(&clients[0], &sale, 1).await;
    for buyer in &buyers {
        cancel(buyer, &sale).await;
    }
    let mut bought = Vec::new();
    for client in &clients[1..4] {
        bought.push(buy(client).await);
    }
    assert_eq!(bought, [202, 202, 409], "one unit is kept for one account");
    // Its segment is over before data control looks, and it begins another one.
    next_segment(&clock);
    assert_eq!(clients[0].delete(&path(&sale)).await.status, 204);
    join(&clients[0], &sale, 1).await;
    assert_eq!(own(&clients[0], &sale).await["state"], "waiting");
    assert_eq!(buy(&clients[4]).await, 202, "its unit is on sale");
    // A unit that comes back is offered to it all the same, once its segment is over.
    let order = clients[4].get("/api/orders").await.json()["orders"][0]["id"].as_str().unwrap().to_owned();
    next_segment(&clock);
    assert_eq!(clients[4].post(&format!("/api/sales/{sale}/orders/{order}/cancel"), json!({})).await.status, 200);
    assert_eq!(buy(&clients[3]).await, 409);
    step(&shop).await;
    assert_eq!(own(&clients[0], &sale).await["state"], "offered");
}

#[tokio::test]
async fn joining_is_for_accounts_without_an_order_of_a_sale_that_is_sold_out() {
    let (shop, clock) = open().await;
    let admin = shop.admin().await;
    let open = shop.open_sale(&admin, 2).await;
    let (mei, lei) = (shop.shopper("mei").await, shop.shopper("lei").await);
    let ask = async |client: &TestClient<'_>, sale: &str, quantity: i64| {
        client.post(&path(sale), json!({"quantity": quantity})).await.problem()
    };
    assert_eq!(ask(&mei, &open, 1).await, problem(409, "not_sold_out"));
    assert_eq!(ask(&mei, "999", 1).await, problem(404, "no_such_sale"));
    assert_eq!(ask(&shop.visitor(), &open, 1).await, problem(401, "not_signed_in"));
    let order = lei.buy(&open, 2).await.json()["order"]["id"].as_str().unwrap().to_owned();
    shop.parts.gate.refresh_winners().await;
    assert_eq!(ask(&lei, &open, 1).await, problem(409, "has_order"));
    let shown = lei.get(&format!("/en/sales/{open}/waitlist")).await;
    assert!(shown.text().contains(&format!("class=\"big\" href=\"/en/orders/{open}/{order}\"")), "{}", shown.text());
    assert!(!shown.text().contains("Join the waitlist"), "{}", shown.text());
    assert_eq!(ask(&mei, &open, 0).await, problem(422, "bad_quantity"));
    assert_eq!(ask(&mei, &open, 3).await, problem(422, "over_limit"));
    assert_eq!(mei.get(&path(&open)).await.problem(), problem(404, "not_waiting"));
    assert_eq!(mei.delete(&path(&open)).await.problem(), problem(404, "not_waiting"));

    let joined = join(&mei, &open, 2).await;
    assert_eq!((&joined["position"], &joined["ahead"], &joined["quantity"]), (&json!(1), &json!(0), &json!(2)));
    let again = mei.post(&path(&open), json!({"quantity": 1})).await.is(200);
    assert_eq!(again.json()["waitlist"], joined, "place and quantity stay");
    for _ in 0..2 {
        assert_eq!(mei.delete(&path(&open)).await.status, 204);
    }
    assert_eq!(own(&mei, &open).await["state"], "left");
    assert_eq!(join(&mei, &open, 1).await["state"], "waiting", "it may join again");

    assert_eq!(admin.post(&format!("/api/admin/sales/{open}/stop"), json!({})).await.status, 200);
    shop.parts.catalogue.refresh().await.unwrap();
    shop.parts.gate.refresh().await;
    let nia = shop.shopper("nia").await;
    assert_eq!(ask(&nia, &open, 1).await, problem(409, "ended"));
    // A unit that comes back now is offered to no account.
    cancel(&(lei, order), &open).await;
    next_segment(&clock);
    step(&shop).await;
    assert_eq!(own(&mei, &open).await["state"], "waiting");
}

#[tokio::test]
async fn offer_has_as_many_units_as_are_wanted_and_left() {
    let (shop, clock) = open().await;
    let (sale, buyers) = sold_out_sale(&shop, 3).await;
    let clients = many(&shop, 2).await;
    let line = line_up(&clients, &sale, 2).await;
    next_segment(&clock);
    for buyer in &buyers {
        cancel(buyer, &sale).await;
    }
    step(&shop).await;
    for (client, units) in line.iter().zip([2, 1]) {
        assert_eq!(client.get("/api/orders").await.json()["orders"][0]["quantity"], units);
    }
}

#[tokio::test]
async fn closed_accounts_and_those_with_an_order_are_skipped() {
    let (shop, clock) = open().await;
    let (sale, buyers) = sold_out_sale(&shop, 1).await;
    let clients = many(&shop, 3).await;
    let line = line_up(&clients, &sale, 1).await;
    let first = shop.parts.accounts().session(&line[0].headers()).unwrap();
    shop.execute(format!("UPDATE users SET blocked_at_ms = 1 WHERE id = '{}'", first.user_id)).await;
    next_segment(&clock);
    cancel(&buyers[0], &sale).await;
    step(&shop).await;
    let states = [own(line[0], &sale).await, own(line[1], &sale).await, own(line[2], &sale).await];
    assert_eq!(states.map(|place| place["state"].clone()), ["skipped", "offered", "waiting"]);
}

#[tokio::test]
async fn paused_sale_keeps_its_line_and_added_units_go_to_it_first() {
    let (shop, clock) = open().await;
    let (admin, clients) = (shop.admin().await, many(&shop, 2).await);
    let (sale, buyers) = sold_out_sale(&shop, 1).await;
    let line = line_up(&clients, &sale, 1).await;
    next_segment(&clock);
    let order = async |word: &str, body: Value| {
        assert_eq!(admin.post(&format!("/api/admin/sales/{sale}/{word}"), body).await.status, 200);
        shop.parts.catalogue.refresh().await.unwrap();
        step(&shop).await;
    };
    order("pause", json!({})).await;
    cancel(&buyers[0], &sale).await;
    step(&shop).await;
    assert_eq!(own(line[0], &sale).await["state"], "waiting");
    order("resume", json!({})).await;
    assert_eq!(own(line[0], &sale).await["state"], "offered");
    order("top-up", json!({"units": 2})).await;
    assert_eq!(own(line[1], &sale).await["state"], "offered");
    // One unit is left, and no account waits.
    assert_eq!(shop.shopper("stranger").await.buy(&sale, 1).await.status, 202);
}

/// The database has the last word: an offer that it has no room for does not count.
#[tokio::test]
async fn account_whose_offer_is_rejected_waits_on_in_its_place() {
    let (shop, clock) = open().await;
    let (sale, buyers) = sold_out_sale(&shop, 1).await;
    let (store, id) = (&shop.parts.store, SaleId(sale.parse().unwrap()));
    let mei = shop.shopper("mei").await;
    join(&mei, &sale, 1).await;
    let place = own(&mei, &sale).await;
    next_segment(&clock);
    let of_sale = store.sales().get(id).await.unwrap().unwrap();
    let [claim] = store.waitlists().call_waiters(&of_sale, 1, &[]).await.unwrap()[..] else {
        panic!("one account is called")
    };
    assert_eq!(store.waitlists().call_waiters(&of_sale, 1, &[]).await.unwrap(), [claim], "a call stays");
    store.orders().persist_orders(&[claim.reservation(id)], PAYMENT_WINDOW).await.unwrap();
    step(&shop).await;
    assert_eq!(own(&mei, &sale).await, place);
    cancel(&buyers[0], &sale).await;
    step(&shop).await;
    let offered = own(&mei, &sale).await;
    assert_eq!(offered["state"], "offered");
    assert_ne!(offered["order_id"], json!(claim.order_id));
}

/// A server of a Redis Cluster is away, and the first accounts on the waitlist are those of its bucket.
#[tokio::test]
async fn accounts_of_a_bucket_that_stands_still_are_passed_over() {
    let (shop, clock) = open().await;
    let (sale, _) = sold_out_sale(&shop, 1).await;
    let (store, id) = (&shop.parts.store, SaleId(sale.parse().unwrap()));
    let mut of_sale = store.sales().get(id).await.unwrap().unwrap();
    of_sale.rush.buckets = 2;
    let [away, living] = [0, 1].map(|n| Bucket::of_sale(&of_sale).nth(n).unwrap());
    let of_bucket = |bucket| {
        let all = (1..).map(|n| UserId(uuid::Uuid::from_u128(n)));
        all.filter(move |user| Bucket::of_user(id, 2, *user) == bucket)
    };
    assert!(store.waitlists().join(id, UserId(uuid::Uuid::nil()), 1).await.is_ok());
    shop.execute("DELETE FROM waiters").await;
    let line: Vec<UserId> = of_bucket(away).take(600).chain(of_bucket(living).take(3)).collect();
    let rows = line.iter().zip(1..).map(|(user, place)| format!("({id}, '{user}', 1, 0, 0, {place}, 'waiting')"));
    let rows = rows.collect::<Vec<_>>().join(",");
    let columns = "sale_id, user_id, quantity, joined_at_ms, since_ms, place, state";
    shop.execute(format!("INSERT INTO waiters ({columns}) VALUES {rows}")).await;
    next_segment(&clock);

    let called = async |units, standing_still: &[Bucket]| {
        let claims = store.waitlists().call_waiters(&of_sale, units, standing_still).await.unwrap();
        claims.into_iter().map(|claim| claim.user_id).collect::<Vec<_>>()
    };
    assert_eq!(called(2, &[away]).await, line[600..602]);
    assert_eq!(called(2, &[]).await, line[..2], "they kept their places");
    assert_eq!(called(2, &[away, living]).await, []);
}

#[tokio::test]
async fn audit_finds_accounts_that_were_passed_over() {
    let (shop, clock) = open().await;
    let (sale, buyers) = sold_out_sale(&shop, 1).await;
    let clients = many(&shop, 3).await;
    line_up(&clients, &sale, 1).await;
    let passed_over = async || {
        let checks = shop.parts.audit().check_once().await.unwrap();
        let check = checks.iter().find(|check| check.promise.contains("those who wait")).unwrap();
        check.violations.clone()
    };
    next_segment(&clock);
    cancel(&buyers[0], &sale).await;
    step(&shop).await;
    assert_eq!(passed_over().await, [""; 0]);
    // As if the offer had gone to the last account on the waitlist.
    shop.execute("UPDATE waiters SET place = (SELECT MAX(place) + 1 FROM waiters) WHERE state = 'offered'").await;
    assert_eq!(passed_over().await.len(), 2);
}

#[tokio::test]
async fn cockpit_counts_those_who_wait_and_their_open_offers() {
    let (shop, clock) = open().await;
    let admin = shop.admin().await;
    let (sale, buyers) = sold_out_sale(&shop, 1).await;
    line_up(&many(&shop, 3).await, &sale, 1).await;
    next_segment(&clock);
    cancel(&buyers[0], &sale).await;
    step(&shop).await;
    let page = admin.get(&format!("/admin/sales/{sale}?lang=en")).await.has(&[r#"<dd data-key="sale.waiting">2</dd>"#]);
    assert!(page.text().contains(r#"<dd data-key="sale.open_offers">1</dd>"#), "{}", page.text());
}
