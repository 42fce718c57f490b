use std::time::Duration;

use super::*;
use crate::control::queues::Queues;
use crate::domain::SaleId;
use crate::orders::expiry::Expiry;

const OPENS: &str = "2026-11-21T12:00:00Z";
const HOUR: Duration = Duration::from_secs(3600);
const PREQUEUE: Duration = Duration::from_secs(1200);
const GATHER: Duration = Duration::from_secs(10);
const SEAT: Duration = Duration::from_secs(60);

fn hour_before() -> Clock {
    Clock::manual("2026-11-21T11:00:00Z".parse().unwrap())
}

async fn new_goods(admin: &TestClient<'_>) -> String {
    let goods = json!({"name": {"zh": "手机", "en": "Phone"}, "description": {"zh": "", "en": ""}});
    admin.post("/api/admin/goods", goods).await.json()["goods"]["id"].as_str().unwrap().to_owned()
}

/// An announced sale of this many units with a waiting room.
async fn announce(admin: &TestClient<'_>, units: i64) -> String {
    let goods = new_goods(admin).await;
    let (prequeue, gather, seat) = (PREQUEUE.as_secs(), GATHER.as_secs(), SEAT.as_secs());
    let fields = format!(
        "goods_id={goods}&price=1999&total={units}&per_user_limit=1&opens_at={OPENS}&mode=queue&\
         queue_prequeue_s={prequeue}&queue_gather_s={gather}&queue_seat_s={seat}&as=schedule"
    );
    let made = admin.send_form("/admin/sales?lang=en", &fields).await;
    made.header("location").strip_prefix("/admin?lang=en&done=created&sale=").unwrap().to_owned()
}

/// What the loops of the shop do within a second.
async fn move_on(shop: &TestShop, sale: &str) {
    let id = SaleId(sale.parse().unwrap());
    shop.parts.store.follow_schedule(id).await.unwrap();
    Queues::new(shop.parts.store.clone(), shop.parts.metrics.clone()).step().await.unwrap();
    shop.parts.catalogue.refresh().await.unwrap();
    shop.parts.gate.refresh().await;
    shop.parts.waiting_rooms.refresh().await.unwrap();
}

/// What the page of the turn shows: without the words that it carries for its script.
async fn line_page(client: &TestClient<'_>, sale: &str) -> String {
    let page = client.get(&format!("/en/sales/{sale}/line")).await;
    assert!(page.is_page(200), "{page:?}");
    assert_eq!(page.header("cache-control"), "no-store");
    page.text().split_once("<template id=\"words\"").unwrap().0.to_owned()
}

async fn join(client: &TestClient<'_>, sale: &str) -> String {
    let joined = client.send_form(&format!("/en/sales/{sale}/place"), "pass=").await;
    assert!(joined.leads_to(&format!("/en/sales/{sale}/line")), "{joined:?}");
    line_page(client, sale).await
}

/// The value of the purchase token in the page of a shopper who was called.
fn token(page: &str) -> Option<String> {
    let (_, rest) = page.split_once(r#"name="token" value=""#)?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// Opens the sale, and has the order drawn and the first called. Returns the shopper who is called, and the other one.
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
    let clock = hour_before();
    let shop = TestShop::open_at(&clock).await;
    let (admin, mei, lei) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lei").await);
    let sale = announce(&admin, 1).await;
    move_on(&shop, &sale).await;
    assert!(join(&mei, &sale).await.contains("The waiting room isn’t open yet"), "it is too early");
    clock.advance(HOUR - PREQUEUE);
    move_on(&shop, &sale).await;
    assert!(line_page(&mei, &sale).await.contains("You are not in the waiting room yet"));
    for client in [&mei, &lei] {
        let page = join(client, &sale).await;
        assert!(page.contains("You’re in the waiting room") && page.contains("2026-11-21 12:00:10 UTC"), "{page}");
        assert!(!page.contains("data-number"), "before the lock the number is secret");
    }
    let (first, second) = draw_order(&shop, &clock, &sale, [&mei, &lei]).await;
    let page = line_page(first, &sale).await;
    assert!(page.contains(r#"data-state="called""#) && token(&page).is_some(), "{page}");
    let waiting = line_page(second, &sale).await;
    assert!(waiting.contains("You’re next") && waiting.contains("data-number=") && token(&waiting).is_none());

    let form = format!("quantity=1&token={}", token(&page).unwrap());
    let bought = first.send_form(&format!("/en/sales/{sale}/buy"), &form).await;
    assert!(bought.header("location").starts_with(&format!("/en/orders/{sale}/")), "{bought:?}");
    move_on(&shop, &sale).await;
    assert!(line_page(first, &sale).await.contains("You have an order"));
    let waiting = line_page(second, &sale).await;
    assert!(waiting.contains("1 of them are not paid yet") && waiting.contains("You keep your place"), "{waiting}");

    let order = first.get("/api/orders").await.json()["orders"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(first.post(&format!("/api/sales/{sale}/orders/{order}/cancel"), json!({})).await.status, 200);
    Expiry::new(shop.parts.store.clone(), shop.parts.stock.clone(), shop.parts.metrics.clone())
        .release()
        .await
        .unwrap();
    clock.advance(SEAT + Duration::from_secs(10));
    move_on(&shop, &sale).await;
    assert!(line_page(second, &sale).await.contains("It’s your turn!"), "what was left goes to the next");
    clock.advance(SEAT);
    move_on(&shop, &sale).await;
    assert!(line_page(second, &sale).await.contains("Your time to buy has passed"));
    assert!(join(second, &sale).await.contains("Your place is being drawn"), "it comes after those who are in");
    let stop = format!("confirm=yes&typed={sale}");
    assert_eq!(admin.send_form(&format!("/admin/sales/{sale}/stop?lang=en"), &stop).await.status, 303);
    move_on(&shop, &sale).await;
    let ended = line_page(second, &sale).await;
    assert!(ended.contains("This sale has ended") && ended.contains("See other sales"));
}

#[tokio::test]
async fn form_without_a_turn_is_refused_and_leads_back_to_the_line() {
    let clock = hour_before();
    let shop = TestShop::open_at(&clock).await;
    let (admin, mei, lei) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lei").await);
    let sale = announce(&admin, 1).await;
    clock.advance(HOUR - PREQUEUE);
    move_on(&shop, &sale).await;
    for client in [&mei, &lei] {
        join(client, &sale).await;
    }
    let (first, second) = draw_order(&shop, &clock, &sale, [&mei, &lei]).await;
    let buy = format!("/en/sales/{sale}/buy");
    let early = second.send_form(&buy, "quantity=1").await;
    assert!(early.is_page(409) && early.text().contains("Not your turn"), "{early:?}");
    let stolen = token(&line_page(first, &sale).await).unwrap();
    let stolen = second.send_form(&buy, &format!("quantity=1&token={stolen}")).await;
    assert!(stolen.is_page(403) && stolen.text().contains(&format!("href=\"/en/sales/{sale}/line\"")), "{stolen:?}");
    // A turn that is over buys nothing, also with the token of the page that is still open.
    let late = token(&line_page(first, &sale).await).unwrap();
    clock.advance(SEAT);
    assert!(first.send_form(&buy, &format!("quantity=1&token={late}")).await.is_page(403));
}

#[tokio::test]
async fn pages_of_a_sale_lead_to_its_waiting_room() {
    let clock = hour_before();
    let shop = TestShop::open_at(&clock).await;
    let admin = shop.admin().await;
    let sale = announce(&admin, 1).await;
    move_on(&shop, &sale).await;
    crate::control::publish(&shop.parts.catalogue, &shop.parts.pages).unwrap();
    let page = shop.visitor().get(&format!("/en/sales/{sale}")).await;
    assert!(
        page.text().contains(&format!(r#"action="/en/sales/{sale}/place""#))
            && page.text().contains("Enter the waiting room")
    );
    assert!(!page.text().contains("/static/sale.") && page.text().contains("/static/queue."), "nothing races here");
    assert!(shop.visitor().get("/en/").await.text().contains(r#"data-joining="2026-11-21T11:40:00Z""#));
    let visitor = shop.visitor().send_form(&format!("/en/sales/{sale}/place"), "").await;
    assert_eq!(visitor.status, 303, "a visitor logs in first");
    let mei = shop.shopper("mei").await;
    let rush = shop.open_sale(&admin, 5).await;
    assert!(mei.get(&format!("/en/sales/{rush}/line")).await.is_page(404));
    assert!(mei.send_form(&format!("/en/sales/{rush}/place"), "").await.is_page(404));
}
