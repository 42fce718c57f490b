//! Returns of delivered orders: asked for by their owners, answered and received by staff, refunded as a whole or in part.

use std::time::Duration;

use super::mail::{MEI, mailed};
use super::support::{assert_audit_finds_nothing, sendable_order, sorted};
use super::*;

const PRICE: i64 = 199_900;
const DAY: Duration = Duration::from_secs(24 * 3600);

fn at(order: &str, verb: &str) -> String {
    format!("/api/admin/orders/{order}/return/{verb}")
}

fn words(text: &str) -> Value {
    json!({"words": text})
}

fn receive(amount: Option<i64>, restock: bool) -> Value {
    let amount = amount.map(cny);
    json!({"amount": amount, "restock": restock, "reason": "all there", "message": "Thank you"})
}

/// A paid order whose parcel has come; its id and status URL.
async fn delivered_order(
    shop: &TestShop,
    admin: &TestClient<'_>,
    who: &TestClient<'_>,
    sale: &str,
) -> (String, String) {
    let (order, url) = sendable_order(shop, who, sale).await;
    deliver(admin, &order).await;
    (order, url)
}

async fn deliver(admin: &TestClient<'_>, order: &str) {
    for state in ["shipped", "delivered"] {
        admin.post(&format!("/api/admin/orders/{order}/parcel"), json!({"state": state})).await.is(200);
    }
}

async fn ask(who: &TestClient<'_>, url: &str) -> TestResponse {
    who.post(&format!("{url}/return"), json!({"reason": "damaged", "note": "the screen"})).await
}

/// A delivered order whose return was accepted.
async fn accepted_return(
    shop: &TestShop,
    admin: &TestClient<'_>,
    who: &TestClient<'_>,
    sale: &str,
) -> (String, String) {
    let (order, url) = sendable_order(shop, who, sale).await;
    accept_return(admin, who, (&order, &url)).await;
    (order, url)
}

/// The order, which has an address, is delivered, and its return is asked for and accepted.
pub async fn accept_return(admin: &TestClient<'_>, who: &TestClient<'_>, (order, url): (&str, &str)) {
    deliver(admin, order).await;
    assert_eq!(ask(who, url).await.status, 200);
    assert_eq!(admin.post(&at(order, "accept"), words("Shop, 1 Main St")).await.status, 200);
}

async fn refund(shop: &TestShop) {
    while shop.parts.payments.refund_due().await.unwrap() > 0 {}
}

/// Status of the order and state of its return.
async fn state(who: &TestClient<'_>, url: &str) -> (String, String) {
    let order = who.get(url).await.json()["order"].clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&order["status"]), text(&order["return"]["state"]))
}

fn is(status: &str, returned: &str) -> (String, String) {
    (status.to_owned(), returned.to_owned())
}

async fn sells(shop: &TestShop, sale: &str, name: &str) -> bool {
    shop.parts.gate.refresh().await;
    shop.shopper(name).await.buy(sale, 1).await.status == 202
}

#[tokio::test]
async fn goods_go_back_step_by_step_and_their_unit_is_sold_again() {
    let shop = TestShop::open().await;
    let (admin, mei, lan) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lan").await);
    mei.verify(MEI).await;
    let sale = shop.open_sale(&admin, 1).await;
    let (order, url) = delivered_order(&shop, &admin, &mei, &sale).await;
    let (page, staff_page) = (format!("/en/orders/{sale}/{order}"), format!("/admin/orders/{order}?lang=en"));
    mei.get(&page).await.has(&["You can return this order until"]);
    let wrong = mei.send_form(&format!("{page}/return"), "reason=other&note=").await.shows(422, &["return-note-wrong"]);
    assert!(wrong.text().contains(r#"<option value="other" selected>"#), "what was chosen stays");
    let none = mei.send_form(&format!("{page}/return"), "reason=&note=it+broke").await;
    assert!(none.is_page(422) && none.text().contains("return-reason-wrong") && none.text().contains("it broke"));

    let asked = mei.send_form(&format!("{page}/return"), "reason=damaged&note=it+broke").await;
    assert!(asked.leads_to(&format!("{page}#return")), "{asked:?}");
    assert_eq!(state(&mei, &url).await, is("paid", "asked"));
    mei.get(&page).await.has(&["/return/withdraw", "You can ask again until"]);
    admin
        .get("/admin/orders?lang=en&return=asked")
        .await
        .has(&["Returns to answer <span class=\"count\">1</span>", &order]);
    assert!(admin.get("/admin?lang=en").await.text().contains("Returns to answer"));
    assert!(!admin.get("/admin/orders?lang=en&return=accepted").await.text().contains(&order));
    admin.get(&staff_page).await.has(&["it broke", "Accept return"]);
    let empty = admin.send_form(&format!("/admin/orders/{order}/return/refuse?lang=en"), "words=").await;
    assert!(empty.is_page(422) && empty.text().contains("refuse-words-wrong"), "{}", empty.text());
    let early = admin.post(&at(&order, "receive"), receive(None, true)).await;
    assert_eq!(early.problem(), problem(409, "wrong_return_state"), "it is not accepted");

    let form = format!("/admin/orders/{order}/return/accept?lang=en");
    admin.send_form(&form, "words=Shop%0A1+Main+St").await.leads(&format!("{staff_page}&done=return"));
    mei.get(&page).await.has(&["Shop\n1 Main St"]).lacks(&["/return/withdraw"]);
    let label = format!("{page}/return/parcel");
    mei.send_form(&label, "carrier=sf&number=").await.shows(422, &["return-number-wrong"]);
    mei.send_form(&label, "carrier=%E9%A1%BA%E4%B8%B0&number=SF1234567").await.leads(&format!("{page}#return"));
    let known = mei.get(&url).await.json()["order"]["return"].clone();
    assert_eq!(known["carrier"], "sf");
    assert_eq!(known["number"], "SF1234567");
    assert_eq!(known["answer"], "Shop\n1 Main St");
    assert!(admin.get(&staff_page).await.text().contains("SF1234567"));

    // Other shoppers see none of it.
    for (path, body) in [("return", json!({"reason": "damaged"})), ("return/withdraw", json!({}))] {
        assert_eq!(lan.post(&format!("{url}/{path}"), body).await.problem(), problem(404, "not_found"), "{path}");
    }
    assert_eq!(lan.send_form(&label, "carrier=sf&number=SF7654321").await.status, 404);

    let form = format!("/admin/orders/{order}/return/receive?lang=en&once=a");
    let unsure = admin.send_form(&form, "amount=1999&restock=yes&reason=").await;
    for words in ["#return-reason", "#return-sure", "value=\"1999\""] {
        assert!(unsure.is_page(422) && unsure.text().contains(words), "{words}: {}", unsure.text());
    }
    assert!(!sells(&shop, &sale, "wang").await, "the unit is sold");
    for _ in 0..2 {
        let done = admin.send_form(&form, "amount=1999&restock=yes&reason=fine&message=Thank+you&confirm=yes").await;
        assert!(done.leads_to(&format!("{staff_page}&done=received")), "{done:?}");
    }
    assert_eq!(state(&mei, &url).await, is("refund_pending", "received"));
    assert_audit_finds_nothing(&shop).await;
    refund(&shop).await;
    let seen = mei.get(&url).await.json()["order"].clone();
    assert_eq!((&seen["status"], &seen["parcel"]["state"]), (&json!("refunded"), &json!("returned")));
    assert_eq!((&seen["return"]["refund"]["amount"], &seen["return"]["restocked"]), (&json!(PRICE), &json!(true)));
    assert!(!seen["return"]["refunded_at"].is_null());
    mei.get(&page).await.has(&["Refunded: ¥1,999", "Thank you"]).lacks(&["The shop cancelled"]);
    assert!(admin.get(&staff_page).await.text().contains("units back on sale"));
    assert!(sells(&shop, &sale, "zhao").await && !sells(&shop, &sale, "li").await, "one unit came back");

    let told = shop.mailed().await;
    for kind in ["return_accepted", "return_refunded"] {
        assert_eq!(told.iter().filter(|mail| **mail == mailed(kind, MEI)).count(), 1, "{told:?}");
    }
    assert!(!told.contains(&mailed("parcel_returned", MEI)), "one message about the return");
    let log = admin.get("/api/admin/audit-log").await.json()["entries"].clone();
    let actions = each(&log, "action");
    for action in ["accept-return", "receive-return", "refund"] {
        assert_eq!(actions.iter().filter(|one| **one == action).count(), 1, "{actions:?}");
    }
    admin.get("/admin/log?lang=en&action=receive-return").await.has(&["came back and are refunded"]);
    let csv = admin.get("/api/admin/orders.csv?return=received").await;
    assert!(csv.text().lines().nth(1).unwrap().contains(",received,0.00,"), "{}", csv.text());
    mei.get("/api/account/export").await.has(&["it broke"]);
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn return_is_asked_for_after_delivery_and_within_its_days() {
    let clock = Clock::manual("2026-11-20T10:00:00Z".parse().unwrap());
    let (shop, sale) = TestShop::open_at(&clock).await.selling(5).await;
    let (admin, mei, lan) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lan").await);
    let (order, url) = sendable_order(&shop, &mei, &sale).await;
    let page = format!("/en/orders/{sale}/{order}");
    assert_eq!(ask(&mei, &url).await.problem(), problem(409, "not_returnable"), "not sent");
    admin.post(&format!("/api/admin/orders/{order}/parcel"), json!({"state": "shipped"})).await;
    assert_eq!(ask(&mei, &url).await.problem(), problem(409, "not_returnable"), "on its way");
    assert!(!mei.get(&page).await.text().contains("id=\"return\""));
    mei.post(&format!("{url}/return/withdraw"), json!({})).await.refuses(409, "wrong_return_state");
    let unpaid = lan.buy(&sale, 1).await.json()["status_url"].as_str().unwrap().to_owned();
    assert_eq!(ask(&lan, &unpaid).await.problem(), problem(409, "not_returnable"), "not paid");

    mei.post(&format!("{url}/received"), json!({})).await;
    clock.advance(7 * DAY + DAY / 2);
    assert_eq!(ask(&mei, &url).await.status, 200, "the last day");
    assert_eq!(ask(&mei, &url).await.status, 200, "sent again");
    let other = json!({"reason": "other", "note": "x"});
    mei.post(&format!("{url}/return"), other.clone()).await.refuses(409, "wrong_return_state");
    assert_eq!(mei.post(&format!("{url}/return/withdraw"), json!({})).await.json()["return"]["state"], "withdrawn");
    assert_eq!(mei.post(&format!("{url}/return"), other).await.status, 200, "once more");
    clock.advance(DAY);
    assert!(mei.get(&page).await.text().contains("The time for returns is over, so you can’t ask again."));
    mei.post(&format!("{url}/return/withdraw"), json!({})).await;
    assert_eq!(ask(&mei, &url).await.problem(), problem(409, "not_returnable"), "too late");
    mei.get(&page).await.has(&["could be returned until", "2026-11-28T00:00:00Z"]).lacks(&["name=\"note\""]);
    mei.send_form(&format!("{page}/return"), "reason=damaged&note=").await.shows(409, &[&page]);
    for wrong in [json!({"reason": "other"}), json!({"reason": "damaged", "note": "x".repeat(501)})] {
        assert_eq!(mei.post(&format!("{url}/return"), wrong).await.problem(), problem(422, "invalid"));
    }
}

#[tokio::test]
async fn shop_without_returns_takes_none() {
    let (shop, sale) = TestShop::open_with(|config| config.return_days = 0).await.selling(5).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (order, url) = delivered_order(&shop, &admin, &mei, &sale).await;
    assert_eq!(ask(&mei, &url).await.problem(), problem(409, "not_returnable"));
    assert!(!mei.get(&format!("/en/orders/{sale}/{order}")).await.text().contains("id=\"return\""));
}

#[tokio::test]
async fn return_is_refused_with_words_and_only_by_support() {
    let shop = TestShop::open().await;
    let (admin, mei, lan) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lan").await);
    mei.verify(MEI).await;
    let (sven, vera) =
        (shop.staff(&admin, "sven", Role::Support).await, shop.staff(&admin, "vera", Role::Viewer).await);
    let sale = shop.open_sale(&admin, 5).await;
    let (order, url) = delivered_order(&shop, &admin, &mei, &sale).await;
    assert_eq!(sven.post(&at(&order, "accept"), words("x")).await.problem(), problem(409, "wrong_return_state"));
    assert_eq!(ask(&mei, &url).await.status, 200);
    for verb in ["accept", "refuse"] {
        assert_eq!(vera.post(&at(&order, verb), words("x")).await.problem(), problem(403, "not_allowed"));
        assert_eq!(lan.post(&at(&order, verb), words("x")).await.status, 404);
        sven.post(&at(&order, verb), words(" ")).await.wrong("words", "required");
    }
    assert_eq!(vera.post(&at(&order, "receive"), receive(None, true)).await.problem(), problem(403, "not_allowed"));
    assert!(!vera.get(&format!("/admin/orders/{order}?lang=en")).await.text().contains("/return/accept"));
    let refused = sven.post(&at(&order, "refuse"), words("The seal is broken")).await.json();
    assert_eq!(refused["order"]["return"]["state"], "refused");
    assert_eq!(sven.post(&at(&order, "refuse"), words("The seal is broken")).await.status, 200, "sent again");
    assert_eq!(sven.post(&at(&order, "accept"), words("x")).await.problem(), problem(409, "wrong_return_state"));
    mei.get(&format!("/en/orders/{sale}/{order}")).await.has(&["The seal is broken"]).lacks(&["name=\"note\""]);
    assert_eq!(ask(&mei, &url).await.problem(), problem(409, "wrong_return_state"), "it is not asked for again");
    let mail = shop.mails().await.pop().unwrap();
    assert!(mail.kind.to_string() == "return_refused" && shop.letter(&mail).text.contains("The seal is broken"));

    // Accepted, and then the goods do not come.
    let (order, url) = accepted_return(&shop, &admin, &lan, &sale).await;
    lan.post(&format!("{url}/return/withdraw"), json!({})).await.refuses(409, "wrong_return_state");
    assert_eq!(sven.post(&at(&order, "refuse"), words("Nothing came")).await.status, 200);
    sven.post(&at(&order, "receive"), receive(None, true)).await.refuses(409, "wrong_return_state");
    assert_eq!(state(&lan, &url).await, is("paid", "refused"));

    let (own, own_url) = delivered_order(&shop, &admin, &sven, &sale).await;
    assert_eq!(ask(&sven, &own_url).await.status, 200);
    assert_eq!(sven.post(&at(&own, "accept"), words("x")).await.problem(), problem(409, "yourself"));
    assert_eq!(admin.post(&at(&own, "accept"), words("x")).await.status, 200);
    assert_eq!(sven.post(&at(&own, "receive"), receive(None, true)).await.problem(), problem(409, "yourself"));
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn goods_are_refunded_as_a_whole_or_in_part_with_their_units_on_sale_or_not() {
    let (shop, sale) = TestShop::open_with(|config| config.second_person_above = None).await.selling(4).await;
    let admin = shop.admin().await;
    // What goes back, whether the unit does, and how the order ends.
    let cases = [
        ("mei", None, true, PRICE, "refunded"),
        ("lan", None, false, PRICE, "paid"),
        ("wang", Some(150_000), false, 150_000, "paid"),
        ("zhao", Some(150_000), true, 150_000, "refunded"),
    ];
    let mut orders = Vec::new();
    for (name, ..) in cases {
        let who = shop.shopper(name).await;
        let (order, url) = accepted_return(&shop, &admin, &who, &sale).await;
        orders.push((who, order, url));
    }
    for ((_, amount, restock, back, status), (who, order, url)) in cases.into_iter().zip(&orders) {
        for wrong in [PRICE + 1, 0, -5] {
            let refused = admin.post(&at(order, "receive"), receive(Some(wrong), restock)).await;
            assert_eq!(refused.json()["fields"][0]["code"], "exceeds_payment", "{wrong}");
        }
        let dollars = json!({"amount": {"amount": 5, "currency": "USD"}, "restock": restock, "reason": "x"});
        assert_eq!(admin.post(&at(order, "receive"), dollars).await.problem(), problem(422, "invalid"));
        assert_eq!(state(who, url).await, is("paid", "accepted"), "nothing was done");

        let done = admin.post(&at(order, "receive"), receive(amount, restock)).await.json()["order"].clone();
        assert_eq!((&done["return"]["state"], &done["return"]["refund"]["amount"]), (&json!("received"), &json!(back)));
        assert_eq!(done["return"]["refunded_at"], Value::Null);
        let again = admin.post(&at(order, "receive"), receive(amount, restock)).await;
        assert_eq!(again.problem(), problem(409, "wrong_return_state"), "once");
        assert_audit_finds_nothing(&shop).await;
        refund(&shop).await;
        let seen = admin.get(&format!("/api/admin/orders/{order}")).await.json()["order"].clone();
        assert_eq!((&seen["status"], &seen["refunded"]["amount"]), (&json!(status), &json!(back)), "{seen}");
        assert_eq!((&seen["return_state"], &seen["parcel"]["state"]), (&json!("received"), &json!("returned")));
        assert_eq!(mei_reads(who, url).await, (status.to_owned(), "Thank you".to_owned()));
        assert_audit_finds_nothing(&shop).await;
    }
    // Two of the four units are on sale again.
    let sold = [sells(&shop, &sale, "a").await, sells(&shop, &sale, "b").await, sells(&shop, &sale, "c").await];
    assert_eq!(sold, [true, true, false]);
    let books = admin.get("/api/admin/books").await.json();
    let shop_line = books["books"]["lines"].as_array().unwrap().iter().find(|line| line["account"] == "shop").unwrap();
    assert_eq!(shop_line["closing"]["amount"], 2 * (PRICE - 150_000), "what was kept");
    assert_audit_finds_nothing(&shop).await;
}

/// The status, and the shop's message about the refund.
async fn mei_reads(who: &TestClient<'_>, url: &str) -> (String, String) {
    let seen = who.get(url).await.json()["order"].clone();
    let message = seen["message"].as_str().or(seen["partial_refunds"][0]["message"].as_str());
    (seen["status"].as_str().unwrap().to_owned(), message.unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_at_once_one_moves_the_return() {
    let (shop, sale) = TestShop::open().await.selling(1).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    let (order, url) = delivered_order(&shop, &admin, &mei, &sale).await;
    let other = json!({"reason": "other", "note": "x"});
    let path = format!("{url}/return");
    let (one, two) = tokio::join!(ask(&mei, &url), mei.post(&path, other));
    assert_eq!(sorted(&one, &two), [200, 409]);
    let accept = at(&order, "accept");
    let (one, two) = tokio::join!(admin.post(&accept, words("to A")), sven.post(&accept, words("to B")));
    assert_eq!(sorted(&one, &two), [200, 409]);
    let path = at(&order, "receive");
    let (one, two) =
        tokio::join!(admin.post(&path, receive(None, true)), sven.post(&path, receive(Some(150_000), true)));
    assert_eq!(sorted(&one, &two), [200, 409]);
    refund(&shop).await;
    assert_eq!(state(&mei, &url).await, is("refunded", "received"));
    assert!(sells(&shop, &sale, "wang").await && !sells(&shop, &sale, "zhao").await, "the unit came back once");
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn refund_of_a_return_beyond_the_bound_waits_for_a_second_person() {
    let (shop, sale) = TestShop::open_with(|config| config.second_person_above = Some(1_000)).await.selling(1).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    let (order, url) = accepted_return(&shop, &admin, &mei, &sale).await;
    let path = at(&order, "receive");
    let part = json!({"amount": cny(150_000), "to": "wallet", "reason": "x"});
    let waits = sven.post(&format!("/api/admin/orders/{order}/refund-part"), part).await.json();
    let form = "amount=1500&restock=no&reason=worn+sole&message=So+sorry&confirm=yes";
    sven.send_form(&format!("/admin/orders/{order}/return/receive?lang=en"), form)
        .await
        .shows(409, &["value=\"1500\"", "worn sole", "So sorry", "<option value=\"no\" selected>"]);
    let other = format!("/api/admin/approvals/{}/decline", waits["approval"]["id"].as_str().unwrap());
    assert_eq!(admin.post(&other, json!({"reason": "the goods come first"})).await.status, 200);
    let waits = sven.post(&path, receive(None, true)).await;
    assert_eq!((waits.status.as_u16(), &waits.json()["approval"]["restock"]), (202, &json!(true)));
    assert_eq!(state(&mei, &url).await, is("paid", "accepted"));
    assert_eq!(admin.post(&path, receive(Some(150_000), false)).await.problem(), problem(409, "awaits_approval"));
    let page = admin.get(&format!("/admin/orders/{order}?lang=en")).await;
    assert!(page.text().contains("The refund waits for a second person") && !page.text().contains("/return/receive"));
    let approval = format!("/api/admin/approvals/{}", waits.json()["approval"]["id"].as_str().unwrap());
    assert_eq!(admin.post(&format!("{approval}/decline"), json!({"reason": "look again"})).await.status, 200);
    assert_eq!(state(&mei, &url).await, is("paid", "accepted"), "declined: it can be received with another amount");

    let waits = sven.post(&path, receive(Some(150_000), true)).await.json();
    let approval = format!("/api/admin/approvals/{}", waits["approval"]["id"].as_str().unwrap());
    assert_eq!(sven.post(&format!("{approval}/approve"), json!({})).await.problem(), problem(409, "yourself"));
    assert_audit_finds_nothing(&shop).await;
    assert_eq!(admin.post(&format!("{approval}/approve"), json!({})).await.status, 200);
    assert_eq!(state(&mei, &url).await, is("refund_pending", "received"));
    refund(&shop).await;
    assert_eq!(mei.get(&url).await.json()["order"]["return"]["refund"]["amount"], 150_000);
    assert!(sells(&shop, &sale, "wang").await);
    assert_audit_finds_nothing(&shop).await;

    // A return that was refused while its refund waits gets none.
    let sale = shop.open_sale(&admin, 1).await;
    let (order, url) = accepted_return(&shop, &admin, &mei, &sale).await;
    let waits = sven.post(&at(&order, "receive"), receive(None, true)).await.json();
    assert_eq!(admin.post(&at(&order, "refuse"), words("not ours")).await.status, 200);
    let approval = format!("/api/admin/approvals/{}", waits["approval"]["id"].as_str().unwrap());
    admin.post(&format!("{approval}/approve"), json!({})).await.refuses(409, "not_refundable");
    assert_eq!(state(&mei, &url).await, is("paid", "refused"));
}

#[tokio::test]
async fn open_return_ends_with_its_order_and_keeps_the_account() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (order, url) = delivered_order(&shop, &admin, &mei, &sale).await;
    ask(&mei, &url).await;
    let delete = json!({"password": PASSWORD.0, "username": "mei"});
    assert_eq!(mei.post("/api/account/delete", delete).await.problem(), problem(409, "orders_open"));
    // Staff note that the parcel came back, and refund the order without looking at the return.
    admin.post(&format!("/api/admin/orders/{order}/parcel"), json!({"state": "returned"})).await.is(200);
    admin.refund(&order).await.is(200);
    assert_eq!(state(&mei, &url).await, is("refund_pending", "received"));
    refund(&shop).await;
    assert_eq!(mei.get(&url).await.json()["order"]["return"]["refund"]["amount"], PRICE);
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn audit_finds_goods_that_came_back_without_their_refund() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (order, _) = accepted_return(&shop, &admin, &mei, &sale).await;
    assert_eq!(shop.violations("").await, Vec::<String>::new());
    let set = |columns: &str| format!("UPDATE goods_returns SET {columns} WHERE order_id = '{order}'");
    shop.execute(format!("UPDATE orders SET return_state = 'received' WHERE id = '{order}'")).await;
    assert_eq!(shop.violations("").await, [format!("the goods of order {order} came back without their refund")]);
    shop.execute(set("received_at_ms = 1, received_by = 'x', restocked = 1, refund_id = 'x'")).await;
    let found = shop.violations("").await;
    assert!(found.contains(&format!("order {order} is paid although its units went back on sale")), "{found:?}");
    shop.execute(format!("UPDATE orders SET return_state = 'accepted', status = 'cancelled' WHERE id = '{order}'"))
        .await;
    let found = shop.violations("").await;
    assert!(found.contains(&format!("order {order} is cancelled, its return is accepted")), "{found:?}");
}
