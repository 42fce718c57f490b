//! Parcels of paid orders: moved by staff one by one, several at once, by a file and by programs; seen by their owners.

use std::time::Duration;

use super::goods::MULTIPART;
use super::mail::{MEI, mailed};
use super::support::{paid_order, sendable_order};
use super::*;
use domain::parcel::{ParcelLabel, ParcelMove, ParcelRefusal};
use domain::{OrderId, ParcelState};
use store::ParcelActor;

fn path(order: &str) -> String {
    format!("/api/admin/orders/{order}/parcel")
}

async fn parcel(who: &TestClient<'_>, url: &str) -> Value {
    who.get(url).await.json()["order"]["parcel"].clone()
}

fn sent(number: &str) -> Value {
    json!({"state": "shipped", "carrier": "顺丰", "number": number})
}

#[tokio::test]
async fn owner_sees_where_the_parcel_is_and_confirms_its_receipt() {
    let shop = TestShop::open().await;
    let (admin, mei, lan) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lan").await);
    mei.verify(MEI).await;
    let sale = shop.open_sale(&admin, 5).await;
    let (order, url) = sendable_order(&shop, &mei, &sale).await;
    let page = format!("/en/orders/{sale}/{order}");
    assert_eq!(parcel(&mei, &url).await, Value::Null);
    assert!(!mei.get(&page).await.text().contains("id=\"parcel\""));

    assert_eq!(admin.post(&path(&order), json!({"state": "packed"})).await.status, 200);
    assert!(mei.get(&page).await.text().contains("Your order is packed"));
    let moved = admin.post(&path(&order), sent(" sf1234 567890 ")).await.json()["order"]["parcel"].clone();
    let tracking = "https://www.sf-express.com/chn/sc/waybill/waybill-detail/SF1234567890";
    assert_eq!((&moved["state"], &moved["carrier"]), (&json!("shipped"), &json!("sf")));
    assert_eq!((&moved["tracking_url"], &moved["version"]), (&json!(tracking), &json!(2)));
    assert_eq!(parcel(&mei, &url).await, moved);
    assert_eq!(mei.get("/api/orders").await.json()["orders"][0]["parcel"]["number"], "SF1234567890");
    mei.get(&page).await.has(&["SF Express", tracking]);
    assert!(mei.get("/zh/orders").await.text().contains("已发货"));
    let mail = shop.mails().await.pop().unwrap();
    assert!(shop.letter(&mail).text.contains(tracking) && mail.kind.to_string() == "parcel_shipped");

    let received = format!("{url}/received");
    assert_eq!(lan.post(&received, json!({})).await.problem(), problem(404, "not_found"));
    mei.send_form(&format!("{page}/received"), "").await.leads(&page);
    assert!(mei.get(&page).await.text().contains("Delivered") && !mei.get(&page).await.text().contains("/received"));
    let again = mei.post(&received, json!({})).await.json();
    assert_eq!(again["order"]["parcel"]["state"], "delivered");
    assert_eq!(again["order"]["parcel"]["version"], 3);
    assert_eq!(shop.mails().await.len(), 2, "who confirms is not told");
    admin.get(&format!("/admin/log?lang=en&subject=order+{order}")).await.has(&["was moved on", "SF1234567890"]);
}

#[tokio::test]
async fn parcel_counts_as_delivered_some_days_after_it_was_sent_and_can_then_be_returned_or_lost() {
    let (shop, clock) = TestShop::open_then("2026-11-10T12:00:00Z").await;
    let (admin, mei, lan) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lan").await);
    let password = admin.password.clone().unwrap();
    mei.verify(MEI).await;
    let sale = shop.open_sale(&admin, 5).await;
    let (order, url) = sendable_order(&shop, &mei, &sale).await;
    let (held, _) = sendable_order(&shop, &lan, &sale).await;
    let days = shop.parts.config.delivered_days;
    let deliver = async || orders::parcels::deliver_overdue(&shop.parts.store, days).await.unwrap();
    assert_eq!(admin.post(&path(&order), sent("SF1111111")).await.status, 200);
    assert_eq!(admin.post(&path(&held), json!({"state": "packed"})).await.status, 200);
    clock.advance(Duration::from_secs(9 * 24 * 3600));
    let (admin, mei) = (shop.log_in("admin", &password).await, shop.log_in("mei", "correct horse").await);
    // A corrected number is not sent again.
    let mut corrected = sent("SF2222222");
    corrected["version"] = json!(1);
    assert_eq!(admin.post(&path(&order), corrected).await.status, 200);
    assert_eq!((deliver().await, parcel(&mei, &url).await["state"].as_str()), (0, Some("shipped")));
    let page = mei.get(&format!("/en/orders/{sale}/{order}")).await;
    assert!(page.text().contains("by Nov 20, it counts as delivered. The time for returns begins then"), "{page:?}");
    clock.advance(Duration::from_secs(24 * 3600));
    assert_eq!(orders::parcels::deliver_overdue(&shop.parts.store, 0).await.unwrap(), 0, "never by itself");
    assert_eq!((deliver().await, deliver().await), (1, 0));
    let letter = shop.letter(&shop.mails().await.pop().unwrap());
    assert!(letter.subject.contains("counts as delivered") || letter.subject.contains("视为已送达"), "{letter:?}");
    // What to do if it did not come.
    assert!(letter.text.contains("/about#contact") && letter.text.contains(&order), "{letter:?}");
    let (admin, mei) = (shop.log_in("admin", &password).await, shop.log_in("mei", "correct horse").await);
    assert_eq!(parcel(&mei, &url).await["state"], "delivered");
    mei.get(&format!("/en/orders/{sale}/{order}")).await.has(&["/return"]).lacks(&["counts as delivered"]);
    mei.post(&format!("{url}/return"), json!({"reason": "changed_mind"})).await.is(200);
    admin.get(&format!("/admin/orders/{order}?lang=en")).await.has(&["the system (timeout)"]);
    assert_eq!(admin.post(&path(&order), json!({"state": "lost"})).await.status, 200);
    assert_eq!(admin.get(&format!("/api/admin/orders/{held}")).await.json()["order"]["parcel"]["state"], "packed");
}

#[tokio::test]
async fn parcel_moves_only_along_its_steps_and_only_for_paid_orders() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let (admin, mei, lan) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lan").await);
    let unpaid = lan.buy(&sale, 1).await.json()["order"]["id"].as_str().unwrap().to_owned();
    let (order, url) = sendable_order(&shop, &mei, &sale).await;
    let ask = async |order: &str, body: Value| admin.post(&path(order), body).await.problem();
    assert_eq!(ask(&unpaid, json!({"state": "packed"})).await, problem(409, "not_paid"));
    assert_eq!(mei.post(&format!("{url}/received"), json!({})).await.problem(), problem(409, "no_such_step"));
    assert_eq!(ask(&order, json!({"state": "delivered"})).await, problem(409, "no_such_step"));
    for (wrong, field, code) in [
        (json!({"state": "shipped", "carrier": "sf", "number": "1.23E+12"}), "number", "bad_tracking_number"),
        (json!({"state": "shipped", "number": "SF1234567"}), "carrier", "required"),
        (json!({"state": "eaten"}), "state", "bad_type"),
    ] {
        let answer = admin.post(&path(&order), wrong).await;
        assert_eq!(answer.json()["fields"][0], json!({"field": field, "code": code}), "{}", answer.text());
    }
    let hold = json!({"reason": "x"});
    assert_eq!(admin.post(&format!("/api/admin/orders/{order}/hold"), hold.clone()).await.status, 200);
    assert_eq!(ask(&order, json!({"state": "packed"})).await, problem(409, "order_held"));
    assert_eq!(admin.post(&format!("/api/admin/orders/{order}/release"), hold).await.status, 200);

    assert_eq!(admin.post(&path(&order), sent("SF1111111")).await.status, 200);
    assert_eq!(admin.post(&path(&order), sent("SF1111111")).await.status, 200, "sent again");
    // Another has its number already.
    assert_eq!(ask(&order, sent("SF2222222")).await, problem(409, "changed_meanwhile"));
    let mut correction = sent("SF2222222");
    correction["version"] = json!(0);
    assert_eq!(ask(&order, correction.clone()).await, problem(409, "changed_meanwhile"));
    correction["version"] = json!(1);
    let corrected = admin.post(&path(&order), correction).await.json()["order"]["parcel"].clone();
    assert_eq!((&corrected["number"], corrected["history"].as_array().unwrap().len()), (&json!("SF2222222"), 1));
    let log = admin.get("/api/admin/audit-log").await.json()["entries"][0].clone();
    assert_eq!(log["action"], "correct-parcel");
    assert_eq!((&log["before"]["number"], &log["after"]["number"]), (&json!("SF1111111"), &json!("SF2222222")));
    for state in ["lost", "returned", "packed"] {
        assert_eq!(admin.post(&path(&order), json!({"state": state})).await.status, 200, "{state}");
    }
    assert_eq!(parcel(&mei, &url).await["number"], Value::Null, "it gets another label");
}

#[tokio::test]
async fn order_that_is_refunded_while_it_is_packed_is_not_sent() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let (admin, mei, lan) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lan").await);
    let (packed, _) = sendable_order(&shop, &mei, &sale).await;
    let (away, away_url) = sendable_order(&shop, &lan, &sale).await;
    assert_eq!(admin.post(&path(&packed), json!({"state": "packed"})).await.status, 200);
    assert_eq!(admin.post(&path(&away), sent("SF1234567")).await.status, 200);
    let refund = |order: &str| format!("/api/admin/orders/{order}/refund");
    let reason = json!({"reason": "x"});
    assert_eq!(admin.post(&refund(&packed), reason.clone()).await.status, 200);
    assert_eq!(admin.post(&path(&packed), sent("SF7654321")).await.problem(), problem(409, "order_ended"));
    admin.get(&format!("/admin/orders/{packed}?lang=en")).await.has(&["take the goods out again"]);
    assert!(!admin.get("/admin/orders?lang=en&parcel=packed&status=paid").await.text().contains(&packed));

    // The units of a sent order are not in the shop, so they do not go back on sale.
    assert_eq!(admin.post(&refund(&away), reason.clone()).await.problem(), problem(409, "not_refundable"));
    admin.get(&format!("/admin/orders/{away}?lang=en")).await.has(&["The goods are away", "refund-part"]);
    let bulk = admin.send_form("/admin/orders/bulk?lang=en", &format!("id={away}&action=refund")).await;
    assert!(bulk.text().contains("The goods are away") && !bulk.text().contains("will be done"), "{}", bulk.text());
    let part = json!({"reason": "x", "amount": cny(199_900)});
    assert_eq!(admin.post(&format!("/api/admin/orders/{away}/refund-part"), part).await.status, 200);
    assert_eq!(lan.get(&away_url).await.json()["order"]["status"], "paid");
    assert_eq!(admin.post(&path(&away), json!({"state": "returned"})).await.status, 200);
    assert_eq!(admin.post(&refund(&away), reason).await.status, 200, "the goods are back");
    while shop.parts.payments.refund_due().await.unwrap() > 0 {}
    super::support::assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn of_moves_at_once_one_wins_and_the_others_are_told() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let mei = shop.shopper("mei").await;
    let (order, _) = sendable_order(&shop, &mei, &sale).await;
    let id: OrderId = order.parse().unwrap();
    let race = (0..8).map(|n| {
        let label = ParcelLabel::check("sf", &format!("SF100000{n}")).unwrap();
        let wanted = ParcelMove { order: id, to: ParcelState::Shipped, label, seen: Some(0) };
        let orders = shop.parts.orders();
        async move { orders.move_parcel(&wanted, ParcelActor::Staff("admin")).await.unwrap() }
    });
    let outcomes = futures::future::join_all(race).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    let told = |outcome: &&Result<_, _>| **outcome == Err(ParcelRefusal::ChangedMeanwhile);
    assert_eq!(outcomes.iter().filter(told).count(), 7);
    assert_eq!(shop.parts.store.orders().parcel_of(id).await.unwrap().unwrap().version(), 1);
}

#[tokio::test]
async fn orders_to_pack_and_to_ship_are_found_and_moved_together() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let (admin, mei, lan) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lan").await);
    let (one, _) = sendable_order(&shop, &mei, &sale).await;
    let (two, _) = sendable_order(&shop, &lan, &sale).await;
    let found =
        async |query: &str| each(&admin.get(&format!("/api/admin/orders?{query}")).await.json()["orders"], "id");
    assert_eq!(found("parcel=to_pack").await, [two.clone(), one.clone()]);
    assert_eq!(found("parcel=packed").await, Vec::<String>::new());
    assert_eq!(admin.get("/api/admin/orders?parcel=eaten").await.problem(), problem(422, "invalid"));

    let picked = format!("id={one}&id={two}&action=pack");
    let summary = admin.send_form("/admin/orders/bulk?lang=en", &picked).await;
    assert!(
        summary.is_page(200) && summary.text().contains("will be done") && !summary.text().contains("id=\"reason\"")
    );
    let done = admin.send_form("/admin/orders/bulk/pack?lang=en", &format!("ids={one}+{two}&confirm=yes")).await;
    assert!(done.is_page(200) && done.text().contains("Done: 2."), "{}", done.text());
    admin.send_form("/admin/orders/bulk?lang=en", &picked).await.has(&["is so already"]);
    assert_eq!((found("parcel=to_pack").await.len(), found(&format!("parcel=packed&sale={sale}")).await.len()), (0, 2));

    let page = format!("/admin/orders/{one}?lang=en");
    assert!(admin.get(&page).await.text().contains("Mark as sent"));
    let wrong = admin.send_form(&path(&one)[4..], "state=shipped&carrier=sf&number=%E5%8D%95&version=1").await;
    assert!(wrong.is_page(422) && wrong.text().contains("number-wrong-1"), "{}", wrong.text());
    let late = admin.send_form(&path(&one)[4..], "state=shipped&carrier=sf&number=SF1234567&version=0").await;
    assert!(late.is_page(409) && late.text().contains(&format!("/admin/orders/{one}")), "{}", late.text());
    let sent = admin
        .send_form(&format!("{}?lang=en", &path(&one)[4..]), "state=shipped&carrier=sf&number=SF1234567&version=1")
        .await;
    assert!(sent.leads_to(&format!("{page}&done=parcel")), "{sent:?}");
    admin.get(sent.header("location")).await.has(&["Parcel updated", "SF1234567"]);
    let export = admin.get("/api/admin/orders.csv?parcel=shipped").await;
    let lines: Vec<_> = export.text().lines().collect();
    assert!(
        lines[0].ends_with(",held,parcel,carrier,tracking_number,return,shipping,reference,number"),
        "{}",
        lines[0]
    );
    assert!(lines.len() == 2 && lines[1].contains(",false,shipped,sf,SF1234567,,0.00,"), "{lines:?}");
    assert!(admin.get("/admin/orders?lang=en&parcel=shipped").await.text().contains("On its way"));
}

#[tokio::test]
async fn file_marks_all_its_orders_as_sent_or_none() {
    let shop = TestShop::open().await;
    let (admin, mei, lan) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lan").await);
    lan.verify("lan@shop.example").await;
    let sale = shop.open_sale(&admin, 5).await;
    let (one, one_url) = sendable_order(&shop, &mei, &sale).await;
    let (two, two_url) = sendable_order(&shop, &lan, &sale).await;
    let unknown = "0198c0de-0000-7000-8000-000000000001";
    let good = format!("order_id,carrier,number\n{one},顺丰,SF1111111\n{two},ZTO,7777 7777\n");
    let bad = format!("{good}{unknown},sf,SF1111111\n{one},sf\n");
    let import = async |csv: &str, dry_run: bool| {
        let answer = admin.post("/api/admin/orders/parcels", json!({"csv": csv, "dry_run": dry_run})).await;
        answer.json()["report"].clone()
    };
    let refused = import(&bad, false).await;
    assert_eq!((&refused["done"], &refused["changed"]), (&json!(false), &json!(2)));
    let codes: Vec<_> =
        refused["refused"].as_array().unwrap().iter().map(|line| (&line["line"], &line["code"])).collect();
    assert_eq!(codes, [(&json!(4), &json!("not_found")), (&json!(5), &json!("required"))]);
    assert_eq!(import(&good, true).await["done"], false);
    for url in [(&mei, &one_url), (&lan, &two_url)] {
        assert_eq!(parcel(url.0, url.1).await, Value::Null, "nothing was done");
    }
    assert_eq!(shop.mailed().await.len(), 1, "only the verification");

    // The same by the page: checked, then carried out.
    let upload = |csv: &str| {
        format!("--B\r\ncontent-disposition: form-data; name=\"csv\"; filename=\"a.csv\"\r\n\r\n{csv}\r\n--B--\r\n")
    };
    let at = "/admin/orders/parcels?lang=en";
    assert!(admin.get(at).await.text().contains("type=\"file\""));
    admin.send("POST", at, MULTIPART, upload(&bad)).await.shows(422, &["So none was"]).lacks(&["/apply"]);
    admin.send("POST", at, MULTIPART, upload("")).await.shows(422, &["csv-wrong"]);
    admin.send("POST", at, MULTIPART, upload(&good)).await.shows(200, &["Ready to be marked as sent: 2"]);
    assert_eq!(parcel(&mei, &one_url).await, Value::Null);
    let form = url::form_urlencoded::Serializer::new(String::new()).append_pair("csv", &good).finish();
    admin.send_form("/admin/orders/parcels/apply?lang=en", &form).await.shows(200, &["Marked as sent: 2"]);
    assert_eq!(parcel(&lan, &two_url).await["number"], "77777777");
    assert!(shop.mailed().await.contains(&mailed("parcel_shipped", "lan@shop.example")));
    let again = admin.send_form("/admin/orders/parcels/apply?lang=en", &form).await;
    assert!(again.text().contains("Marked as sent: 0. Already so before: 2."), "{}", again.text());
    assert_eq!(shop.mailed().await.len(), 2, "told once");
}

#[tokio::test]
async fn order_without_an_address_is_neither_packed_nor_sent() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (order, url) = paid_order(&shop, &mei, &sale).await;
    for wanted in [json!({"state": "packed"}), sent("SF1234567890")] {
        assert_eq!(admin.post(&path(&order), wanted).await.problem(), problem(409, "no_address"));
    }
    let page = admin.get(&format!("/admin/orders/{order}?lang=en")).await;
    assert!(page.text().contains("The buyer has not given an address yet") && !page.text().contains("/parcel?lang=en"));
    let asked = admin.send_form("/admin/orders/bulk?lang=en", &format!("id={order}&action=pack")).await;
    assert!(asked.is_page(200) && asked.text().contains("once its buyer has given an address"), "{}", asked.text());
    assert_eq!(parcel(&mei, &url).await, Value::Null);
}
