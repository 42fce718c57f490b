use std::time::Duration;

use super::*;
use control::waiting_rooms::WaitingRoomSteps;
use domain::SaleId;

const OPENS: &str = "2026-11-21T12:00:00Z";
const HOUR: Duration = Duration::from_secs(3600);
const PREQUEUE: Duration = Duration::from_secs(1200);
const GATHER: Duration = Duration::from_secs(10);
const SEAT: Duration = Duration::from_secs(60);

async fn hour_before() -> (TestShop, Clock) {
    TestShop::open_then("2026-11-21T11:00:00Z").await
}

/// An announced sale of this many units with a waiting room.
async fn announce(admin: &TestClient<'_>, units: i64) -> String {
    let goods = admin.new_goods().await;
    let (prequeue, gather, seat) = (PREQUEUE.as_secs(), GATHER.as_secs(), SEAT.as_secs());
    let fields = format!(
        "goods_id={goods}&price=1999&total={units}&per_user_limit=1&opens_at={OPENS}&mode=queue&\
         queue_prequeue_s={prequeue}&queue_gather_s={gather}&queue_seat_s={seat}&as=schedule"
    );
    let made = admin.send_form("/admin/sales?lang=en", &fields).await;
    made.header("location").strip_prefix("/admin?lang=en&done=created&sale=").unwrap().to_owned()
}

/// Does what the loops of the shop do within a second.
async fn move_on(shop: &TestShop, sale: &str) {
    let id = SaleId(sale.parse().unwrap());
    shop.parts.store.sales().follow_schedule(id).await.unwrap();
    WaitingRoomSteps::new(shop.parts.store.clone(), None, shop.parts.metrics.clone()).step().await.unwrap();
    shop.parts.catalogue.refresh().await.unwrap();
    shop.parts.gate.refresh().await;
    shop.parts.waiting_rooms.read_lines(Duration::ZERO).await.unwrap();
}

/// What the page of the turn shows, without the words that it carries for its script.
async fn line_page(client: &TestClient<'_>, sale: &str) -> String {
    let page = client.get(&format!("/en/sales/{sale}/line")).await.shows(200, &[]);
    assert_eq!(page.header("cache-control"), "no-store");
    page.text().split_once("<template id=\"words\"").unwrap().0.to_owned()
}

async fn join(client: &TestClient<'_>, sale: &str) -> String {
    client.send_form(&format!("/en/sales/{sale}/place"), "pass=").await.leads(&format!("/en/sales/{sale}/line"));
    line_page(client, sale).await
}

/// A sale of so many units, with two shoppers in its waiting room.
async fn two_wait<'a>(shop: &'a TestShop, clock: &Clock, units: i64) -> (String, TestClient<'a>, TestClient<'a>) {
    let (mei, lei) = (shop.shopper("mei").await, shop.shopper("lei").await);
    let sale = announce(&shop.admin().await, units).await;
    clock.advance(HOUR - PREQUEUE);
    move_on(shop, &sale).await;
    for client in [&mei, &lei] {
        join(client, &sale).await;
    }
    (sale, mei, lei)
}

/// The value of the purchase token in the page of a shopper who was called.
fn token(page: &str) -> Option<String> {
    let (_, rest) = page.split_once(r#"name="token" value=""#)?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// Opens the sale, draws the order and calls the first shopper. Returns the called shopper, and the other one.
async fn draw_order<'a, 'b>(
    shop: &TestShop,
    clock: &Clock,
    sale: &str,
    [mei, lei]: [&'a TestClient<'b>; 2],
) -> (&'a TestClient<'b>, &'a TestClient<'b>) {
    clock.advance(PREQUEUE);
    move_on(shop, sale).await;
    clock.advance(GATHER);
    move_on(shop, sale).await;
    if line_page(mei, sale).await.contains("It’s your turn!") { (mei, lei) } else { (lei, mei) }
}

#[tokio::test]
async fn page_of_the_turn_says_what_is_true_in_every_state() {
    let (shop, clock) = hour_before().await;
    let (admin, mei, lei) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lei").await);
    let sale = announce(&admin, 1).await;
    move_on(&shop, &sale).await;
    assert!(join(&mei, &sale).await.contains("The waiting room isn’t open yet"), "it is too early");
    clock.advance(HOUR - PREQUEUE);
    move_on(&shop, &sale).await;
    assert!(line_page(&mei, &sale).await.contains("You are not in the waiting room yet"));
    for client in [&mei, &lei] {
        let page = join(client, &sale).await;
        assert!(page.contains("You’re in the waiting room") && page.contains("today 12:00:10"), "{page}");
        assert!(!page.contains("data-number"), "before the lock the number is secret");
    }
    let (first, second) = draw_order(&shop, &clock, &sale, [&mei, &lei]).await;
    let page = line_page(first, &sale).await;
    assert!(page.contains(r#"data-state="called""#) && token(&page).is_some(), "{page}");
    let waiting = line_page(second, &sale).await;
    assert!(waiting.contains("You’re next") && waiting.contains("data-number=") && token(&waiting).is_none());
    assert!(
        waiting.contains("if units come back") && !waiting.contains("under a minute"),
        "the first may take the unit"
    );

    let form = format!("quantity=1&token={}", token(&page).unwrap());
    let bought = first.send_form(&format!("/en/sales/{sale}/buy"), &form).await;
    assert!(bought.header("location").starts_with(&format!("/en/orders/{sale}/")), "{bought:?}");
    move_on(&shop, &sale).await;
    assert!(line_page(first, &sale).await.contains("You have an order"));
    let waiting = line_page(second, &sale).await;
    assert!(waiting.contains("1 not paid yet") && waiting.contains("You keep your place"), "{waiting}");
    assert!(waiting.contains("back by <time datetime=\"2026-11-21T12:"), "until when it may come back: {waiting}");

    let order = first.get("/api/orders").await.json()["orders"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(first.post(&format!("/api/sales/{sale}/orders/{order}/cancel"), json!({})).await.status, 200);
    shop.parts.expiry().release().await.unwrap();
    clock.advance(SEAT + Duration::from_secs(10));
    move_on(&shop, &sale).await;
    assert!(line_page(second, &sale).await.contains("It’s your turn!"), "what was left goes to the next");
    // For a moment an order may still be on its way.
    clock.advance(SEAT);
    move_on(&shop, &sale).await;
    assert!(!line_page(second, &sale).await.contains("name=\"token\""));
    clock.advance(Duration::from_secs(5));
    move_on(&shop, &sale).await;
    assert!(line_page(second, &sale).await.contains("Your time to buy has passed"));
    assert!(join(second, &sale).await.contains("Your place is being drawn"), "it comes after those who are in");
    admin.send_form(&format!("/admin/sales/{sale}/stop?lang=en"), &format!("confirm=yes&typed={sale}")).await.is(303);
    move_on(&shop, &sale).await;
    let ended = line_page(second, &sale).await;
    assert!(ended.contains("This sale has ended") && ended.contains("See other sales"));
}

/// The value of an attribute of the page's main element.
fn data<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(&format!(r#"data-{name}=""#))?;
    Some(rest.split_once('"')?.0)
}

#[tokio::test]
async fn place_that_the_shop_lost_comes_back_for_its_pass_and_is_next() {
    let (shop, clock) = hour_before().await;
    let (sale, mei, lei) = two_wait(&shop, &clock, 1).await;
    let (first, _) = draw_order(&shop, &clock, &sale, [&mei, &lei]).await;
    let before = line_page(first, &sale).await;
    shop.execute("DELETE FROM queue_places WHERE called_at_ms IS NOT NULL").await;
    assert!(line_page(first, &sale).await.contains("You are not in the waiting room yet"));
    let form = format!("pass={}", data(&before, "pass").unwrap());
    assert_eq!(first.send_form(&format!("/en/sales/{sale}/place"), &form).await.status, 303);
    let after = line_page(first, &sale).await;
    assert_eq!((data(&after, "entry"), data(&after, "number")), (data(&before, "entry"), data(&before, "number")));
    assert!(after.contains("You’re next"), "{after}");
    assert_eq!(data(&after, "passed"), Some("1"), "the script waits for another call");
    move_on(&shop, &sale).await;
    assert!(line_page(first, &sale).await.contains("It’s your turn!"));
}

#[tokio::test]
async fn form_without_a_turn_is_refused_and_leads_back_to_the_line() {
    let (shop, clock) = hour_before().await;
    let (sale, mei, lei) = two_wait(&shop, &clock, 1).await;
    let (first, second) = draw_order(&shop, &clock, &sale, [&mei, &lei]).await;
    let buy = format!("/en/sales/{sale}/buy");
    second.send_form(&buy, "quantity=1").await.shows(409, &["Not your turn"]);
    let stolen = token(&line_page(first, &sale).await).unwrap();
    let stolen = second.send_form(&buy, &format!("quantity=1&token={stolen}")).await;
    assert!(stolen.is_page(403) && stolen.text().contains(&format!("href=\"/en/sales/{sale}/line\"")), "{stolen:?}");
    // A turn that is over buys nothing, not even with the token of a page that is still open.
    let late = token(&line_page(first, &sale).await).unwrap();
    clock.advance(SEAT);
    assert!(first.send_form(&buy, &format!("quantity=1&token={late}")).await.is_page(403));
}

#[tokio::test]
async fn pages_of_a_sale_lead_to_its_waiting_room() {
    let (shop, _) = hour_before().await;
    let admin = shop.admin().await;
    let sale = announce(&admin, 1).await;
    move_on(&shop, &sale).await;
    shop.publish();
    // Nothing races here.
    shop.visitor()
        .get(&format!("/en/sales/{sale}"))
        .await
        .has(&[&format!(r#"action="/en/sales/{sale}/place""#), "Enter the waiting room", "/static/waiting_room."])
        .lacks(&["/static/sale."]);
    assert!(shop.visitor().get("/en/").await.text().contains(r#"data-joining="2026-11-21T11:40:00Z""#));
    let visitor = shop.visitor().send_form(&format!("/en/sales/{sale}/place"), "").await;
    assert_eq!(visitor.status, 303, "a visitor logs in first");
    let mei = shop.shopper("mei").await;
    let rush = shop.open_sale(&admin, 5).await;
    assert!(mei.get(&format!("/en/sales/{rush}/line")).await.is_page(404));
    assert!(mei.send_form(&format!("/en/sales/{rush}/place"), "").await.is_page(404));
}

#[tokio::test]
async fn staff_hold_and_bound_the_calls() {
    let (shop, clock) = hour_before().await;
    let admin = shop.admin().await;
    let (sale, mei, lei) = two_wait(&shop, &clock, 2).await;
    let api = format!("/api/admin/sales/{sale}/queue");
    let held = admin.post(&api, json!({"held": true, "per_minute": 1})).await;
    assert_eq!(held.json()["queue"], json!({"held": true, "per_minute": 1}));
    draw_order(&shop, &clock, &sale, [&mei, &lei]).await;
    for client in [&mei, &lei] {
        assert!(line_page(client, &sale).await.contains("Calls are on hold for now"));
    }
    let cockpit = format!("/admin/sales/{sale}");
    admin.get(&format!("{cockpit}?lang=en")).await.has(&["Calls are on hold", "Resume calls"]);

    let done = |what: &str| format!("{cockpit}?lang=en&done={what}&sale={sale}");
    let queue = format!("{cockpit}/queue?lang=en");
    admin.send_form(&queue, "to=resume").await.leads(&done("calls_resumed"));
    let called = async || {
        move_on(&shop, &sale).await;
        shop.parts.store.waiting_rooms().get(SaleId(sale.parse().unwrap())).await.unwrap().unwrap().called
    };
    assert_eq!((called().await, called().await), (1, 1), "one a minute");
    clock.advance(Duration::from_secs(30));
    assert_eq!(called().await, 1);
    admin.send_form(&queue, "to=pace&per_minute=").await.leads(&done("pace_changed"));
    assert_eq!(called().await, 2, "as units allow");

    assert_eq!(admin.post(&api, json!({"per_minute": 0})).await.problem(), problem(422, "invalid"));
    assert!(admin.send_form(&queue, "to=pace&per_minute=many").await.is_page(422));
    let rush = shop.open_sale(&admin, 5).await;
    admin.post(&format!("/api/admin/sales/{rush}/queue"), json!({"held": true})).await.refuses(404, "no_such_queue");
    let log = admin.get(&format!("/api/admin/audit-log?action=pace&subject=sale%20{sale}")).await.json();
    let after: Vec<_> = log["entries"].as_array().unwrap().iter().map(|line| line["after"].to_string()).collect();
    assert_eq!(after.len(), 3, "{after:?}");
}

#[tokio::test]
async fn form_of_a_sale_makes_a_waiting_room() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let goods = admin.new_goods().await;
    let fields = format!(
        "goods_id={goods}&price=1999&total=60&per_user_limit=1&opens_at=2099-01-01T00:00:00Z&expected_accounts=6000&\
         mode=queue"
    );
    let wrong = admin.send_form("/admin/sales?lang=en", &format!("{fields}&queue_seat_s=5")).await;
    assert!(wrong.is_page(422) && wrong.text().contains("Enter a time from 10 s to 1 h."));
    assert!(wrong.text().contains("At 6000 accounts for 60 units, a script’s chance in a rush is up to 100 times"));
    assert_eq!(admin.send_form("/admin/sales?lang=en", &format!("{fields}&queue_seat_s=240")).await.status, 303);
    let made = shop.parts.store.sales().get(SaleId(1)).await.unwrap().unwrap();
    let plan = made.mode.waiting_room_plan().unwrap();
    assert_eq!((plan.prequeue_s, plan.gather_s, plan.seat_s), (1_800, 10, 240));
    assert!(made.spread().is_none(), "a shopper who is called waits for no moment");
    admin.get("/admin/sales/1/edit?lang=en").await.has(&[r#"value="queue" checked>"#, r#"value="4 min""#]);
}
