//! Partial refunds: to the payer or into a wallet, never more than was paid, and in the books.

use super::payment_cases::action;
use super::support::{assert_audit_finds_nothing, bought, paid_order, sorted};
use super::wallet::balance;
use super::*;
use domain::ledger::LedgerAccount;
use domain::{CaseKind, PaymentStatus};

const PRICE: i64 = 199_900;

fn part(amount: i64, to: &str) -> Value {
    json!({"amount": cny(amount), "to": to, "reason": "scratched", "message": "Sorry! <b>"})
}

/// Makes the refunds that are due; returns their number.
async fn refund(shop: &TestShop) -> usize {
    shop.parts.payments.refund_due().await.unwrap()
}

/// The shop's and the provider's closing balance of the books.
async fn closing(admin: &TestClient<'_>) -> (i64, i64) {
    let books = admin.get("/api/admin/books").await.json();
    let of = |account: &str| {
        let lines = books["books"]["lines"].as_array().unwrap().clone();
        let line = lines.into_iter().find(|line| line["account"] == account);
        line.map_or(0, |line| line["closing"]["amount"].as_i64().unwrap())
    };
    (of("shop"), of("provider"))
}

#[tokio::test]
async fn order_stays_paid_while_parts_of_its_money_go_back() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (order, url) = paid_order(&shop, &mei, &sale).await;
    let path = format!("/api/admin/orders/{order}/refund-part");
    assert_eq!(mei.post(&path, part(500, "payer")).await.status, 404);
    for _ in 0..2 {
        let body = part(500, "payer").to_string();
        let headers = [("content-type", "application/json"), ("idempotency-key", "once")];
        let asked = admin.send("POST", &path, &headers, body).await.json();
        let parts = &asked["order"]["payments"][0]["partial_refunds"];
        assert_eq!((&asked["order"]["status"], parts.as_array().unwrap().len()), (&json!("paid"), 1), "{asked}");
        assert_eq!((&parts[0]["actor"], &parts[0]["reason"]), (&json!("admin"), &json!("scratched")));
        assert_eq!(parts[0]["refunded_at"], Value::Null);
    }
    assert_audit_finds_nothing(&shop).await;
    assert_eq!((refund(&shop).await, refund(&shop).await), (1, 0));
    assert_eq!(closing(&admin).await, (PRICE - 500, 500 - PRICE));
    admin.post(&path, part(700, "wallet")).await;
    refund(&shop).await;
    assert_eq!((balance(&mei).await, closing(&admin).await), (700, (PRICE - 1200, 500 - PRICE)));
    assert_audit_finds_nothing(&shop).await;

    let seen = mei.get(&url).await.json()["order"].clone();
    assert_eq!((&seen["status"], seen["partial_refunds"].as_array().unwrap().len()), (&json!("paid"), 2));
    assert_eq!(seen["partial_refunds"][1]["to"], "wallet");
    assert_eq!(seen["partial_refunds"][1]["message"], "Sorry! <b>");
    assert!(!seen.to_string().contains("scratched"), "the reason is only for staff");
    mei.get(&format!("/en/orders/{sale}/{order}")).await.has(&[
        "Money back",
        "¥5</strong> to your original payment method",
        "¥7</strong> to your wallet",
        "Sorry! &#60;b&#62;",
    ]);
    assert_eq!(shop.shopper("wang").await.buy(&sale, 1).await.status, 202);
    let zhao = shop.shopper("zhao").await;
    assert_eq!(zhao.buy(&sale, 1).await.code(), "sold_out", "the unit stays sold");

    let left = PRICE - 1200;
    let greedy = admin.post(&path, part(left + 1, "payer")).await.wrong("amount", "exceeds_payment");
    assert!(greedy.json()["detail"].as_str().unwrap().contains("¥1,987"), "{greedy:?}");
    for wrong in [cny(0), cny(-5), json!({"amount": 5, "currency": "USD"})] {
        admin.post(&path, json!({"amount": wrong, "reason": "x"})).await.refuses(422, "invalid");
    }

    // A whole refund asks for the amount that is left.
    assert_eq!(admin.refund(&order).await.json()["order"]["status"], "refund_pending");
    assert_eq!(admin.post(&path, part(1, "payer")).await.problem(), problem(409, "not_refundable"));
    assert_eq!((refund(&shop).await, refund(&shop).await), (1, 0));
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "refunded");
    assert_eq!((balance(&mei).await, closing(&admin).await), (700, (0, -700)));
    let journal = admin.get("/api/admin/books/journal.csv").await;
    let back: Vec<&str> =
        journal.text().lines().filter(|line| line.contains("charge_refund") && line.contains(",shop,")).collect();
    assert!(back.len() == 2 && back[0].contains("5.00") && back[1].contains("1987.00"), "{back:?}");
    assert_audit_finds_nothing(&shop).await;
    shop.parts.gate.refresh().await;
    assert_eq!(zhao.buy(&sale, 1).await.status, 202, "and then it is for sale again");
}

#[tokio::test]
async fn parts_of_a_wallet_payment_go_back_to_the_wallet() {
    let shop = TestShop::open().await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    wallet::fill(&shop, &mei, PRICE).await;
    let sale = shop.open_sale(&admin, 2).await;
    let (order, url) = bought(&mei, &sale, 1).await;
    let path = format!("/api/admin/orders/{order}/refund-part");
    assert_eq!(admin.post(&path, part(1, "payer")).await.problem(), problem(409, "not_refundable"), "it is not paid");
    assert_eq!(mei.post(&format!("{url}/payments"), json!({"from": "wallet"})).await.status, 201);
    // Two refunds at once, together more than was paid.
    let half = PRICE / 2 + 1;
    let (one, two) = tokio::join!(admin.post(&path, part(half, "payer")), admin.post(&path, part(half, "wallet")));
    assert_eq!(sorted(&one, &two), [200, 422]);
    refund(&shop).await;
    assert_eq!(balance(&mei).await, half);
    assert_eq!(admin.post(&path, part(PRICE - half, "payer")).await.status, 200, "all of it, in parts");
    assert_eq!(mei.post("/api/account/delete", json!({"password": "x"})).await.status, 422);
    refund(&shop).await;
    assert_eq!((balance(&mei).await, mei.get(&url).await.json()["order"]["status"].clone()), (PRICE, json!("paid")));
    assert_audit_finds_nothing(&shop).await;
    admin.get(&format!("/admin/orders/{order}?lang=en")).await.has(&["Refund order · ¥0"]).lacks(&["/refund-part"]);
    // Nothing is left to be refunded; the units go back on sale.
    assert_eq!(admin.refund(&order).await.status, 200);
    refund(&shop).await;
    assert_eq!(balance(&mei).await, PRICE);
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "refunded");
    assert_eq!(shop.parts.store.wallet().balance(LedgerAccount::Shop).await.unwrap(), 0);
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn part_that_failed_waits_for_staff_and_delays_no_other() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (order, url) = paid_order(&shop, &mei, &sale).await;
    let path = format!("/api/admin/orders/{order}/refund-part");
    let mut ids = Vec::new();
    for amount in [500, 600] {
        let asked = admin.post(&path, part(amount, "payer")).await.json()["order"]["payments"][0].clone();
        ids.push(asked["partial_refunds"].as_array().unwrap().last().unwrap()["id"].clone());
        ids.push(asked["id"].clone());
    }
    let (first, second, payment) = (&ids[0], &ids[2], ids[1].clone());
    for (n, part) in [(1, first), (2, second)] {
        let data = json!({"payment_id": payment, "refund_id": part, "reason": "card expired"});
        assert_eq!(shop.report(&format!("msg_{n}"), "refund.failed", data).await.status, 204);
    }
    assert_eq!(shop.cases().await, [CaseKind::RefundFailed, CaseKind::RefundFailed], "one for each part");
    assert_eq!(refund(&shop).await, 0, "no further attempt");
    admin.get("/admin/orders?show=payments&lang=en").await.has(&[second.as_str().unwrap(), "¥6"]);
    let case = admin.get("/api/admin/payment-cases").await.json()["cases"][0].clone();
    assert_eq!(&case["refund_id"], second);

    // The newest case comes first on the page. The second part is asked for again; the first part counts as made.
    assert_eq!(admin.send_form(&action(&admin, "refund").await, "reason=new+card&confirm=yes").await.status, 303);
    assert_eq!(refund(&shop).await, 1);
    assert_eq!(shop.cases().await, [CaseKind::RefundFailed]);
    assert_eq!(admin.refund(&order).await.status, 200);
    refund(&shop).await;
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "refund_pending", "until the first part is back, too");
    assert_eq!(admin.send_form(&action(&admin, "settle").await, "reason=paid+in+cash&confirm=yes").await.status, 303);
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "refunded");
    let status =
        shop.parts.store.payments().get(payment.as_str().unwrap().parse().unwrap()).await.unwrap().unwrap().status;
    assert_eq!((status, shop.cases().await), (PaymentStatus::Refunded, vec![]));
}

#[tokio::test]
async fn dispute_stops_parts_to_the_payer_until_staff_begin_them_again() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (order, _) = paid_order(&shop, &mei, &sale).await;
    let path = format!("/api/admin/orders/{order}/refund-part");
    let payment = admin.post(&path, part(500, "payer")).await.json()["order"]["payments"][0]["id"].clone();
    admin.post(&path, part(700, "wallet")).await;
    shop.report("msg_1", "payment.disputed", json!({"payment_id": payment, "amount": cny(PRICE)})).await.is(204);
    assert_eq!((refund(&shop).await, balance(&mei).await), (1, 700), "a gesture pays nothing twice");
    assert_eq!(shop.cases().await, [CaseKind::Disputed, CaseKind::RefundFailed]);
    assert_eq!(admin.send_form(&action(&admin, "refund").await, "reason=agreed&confirm=yes").await.status, 303);
    assert_eq!((refund(&shop).await, shop.cases().await), (1, vec![CaseKind::Disputed]));
    assert_eq!(closing(&admin).await.1, 500 - PRICE);
}

#[tokio::test]
async fn reports_of_parts_are_compared_with_what_was_asked_for() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei, wang) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("wang").await);
    let (order, url) = paid_order(&shop, &mei, &sale).await;
    let (other, _) = paid_order(&shop, &wang, &sale).await;
    let asked = admin.post(&format!("/api/admin/orders/{order}/refund-part"), part(500, "payer")).await.json();
    let payment = asked["order"]["payments"][0]["id"].clone();
    let id = asked["order"]["payments"][0]["partial_refunds"][0]["id"].clone();
    let foreign = admin.get(&format!("/api/admin/orders/{other}")).await.json()["order"]["payments"][0]["id"].clone();
    let lies = [
        json!({"payment_id": payment, "refund_id": id, "amount": cny(501)}),
        json!({"payment_id": foreign, "refund_id": id, "amount": cny(500)}),
        json!({"payment_id": payment, "refund_id": "0198c0de-0000-7000-8000-00000000dead", "amount": cny(500)}),
        json!({"payment_id": payment}),
    ];
    for (n, data) in lies.into_iter().enumerate() {
        assert_eq!(shop.report(&format!("msg_{n}"), "refund.succeeded", data).await.status, 204);
    }
    assert_eq!(shop.cases().await, [CaseKind::UnexpectedRefund; 4]);
    shop.report("msg_failed", "refund.failed", json!({"payment_id": foreign, "refund_id": id})).await.is(204);
    let due = shop.parts.store.payments().refunds_due(10).await.unwrap();
    assert_eq!(due.len(), 1, "a report about another payment stops no refund");
    let pending = |order: Value| order["order"]["partial_refunds"][0]["refunded_at"].is_null();
    assert!(pending(mei.get(&url).await.json()));
    let truth = json!({"payment_id": payment, "refund_id": id, "amount": cny(500)});
    assert_eq!(shop.report("msg_true", "refund.succeeded", truth).await.status, 204);
    assert!(!pending(mei.get(&url).await.json()));
    assert_eq!(refund(&shop).await, 0);
}

#[tokio::test]
async fn support_refunds_a_part_by_form() {
    let (shop, sale) = TestShop::open().await.selling(3).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    let (order, _) = paid_order(&shop, &mei, &sale).await;
    let path = format!("/admin/orders/{order}");
    let page = sven.get(&format!("{path}?lang=en")).await.has(&["Refund part of it", "Amount, up to ¥1,999"]);
    let form = page.text().split("action=\"").find(|part| part.contains("/refund-part?")).unwrap();
    let form = form.split('"').next().unwrap().replace("&amp;", "&").replace("&#38;", "&");
    sven.send_form(&form, "amount=x&reason=&to=wallet")
        .await
        .shows(422, &["#part-amount", "#part-reason", "#part-sure", "value=\"wallet\" selected", "value=\"x\""]);
    sven.send_form(&form, "amount=1999.01&reason=x&confirm=yes").await.shows(422, &["More than can still be refunded"]);
    for _ in 0..2 {
        let done = sven.send_form(&form, "amount=19.90&reason=scratched&message=Sorry&confirm=yes&to=payer").await;
        assert!(done.leads_to(&format!("{path}?lang=en&done=refund-part")), "{done:?}");
    }
    let page = sven.get(&format!("{path}?lang=en&done=refund-part")).await;
    for words in ["Partial refund started", "Amount, up to ¥1,979.10", "under way", "A part was refunded before"] {
        assert!(page.text().contains(words), "{words}: {page:?}");
    }
    assert_eq!(refund(&shop).await, 1, "a second press asks for nothing more");
    let log = admin.get("/api/admin/audit-log").await.json()["entries"][0].clone();
    assert_eq!((&log["action"], &log["after"]["amount"]["amount"]), (&json!("refund_part"), &json!(1990)));
    assert!(admin.get("/admin/log?lang=en").await.text().contains("Refund part of it"));

    let (own, _) = paid_order(&shop, &sven, &sale).await;
    let own = format!("/admin/orders/{own}/refund-part?lang=en");
    sven.send_form(&own, "amount=1&reason=x&confirm=yes").await.shows(409, &["Another staff member"]);
    let (unpaid, _) = bought(&shop.shopper("mei-mei").await, &sale, 1).await;
    let refused =
        sven.send_form(&format!("/admin/orders/{unpaid}/refund-part?lang=en"), "amount=1&reason=x&confirm=yes").await;
    assert!(refused.is_page(409) && refused.text().contains("changed in the meantime"), "{refused:?}");
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn export_says_what_went_back_of_each_order() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let (admin, mei, wang, zhao) =
        (shop.admin().await, shop.shopper("mei").await, shop.shopper("wang").await, shop.shopper("zhao").await);
    let at = |order: &str, verb: &str| format!("/api/admin/orders/{order}/{verb}");
    let (whole, _) = paid_order(&shop, &mei, &sale).await;
    let (parts, _) = paid_order(&shop, &wang, &sale).await;
    let (kept, _) = paid_order(&shop, &zhao, &sale).await;
    admin.post(&at(&whole, "refund-part"), part(500, "wallet")).await;
    admin.post(&at(&parts, "refund-part"), part(500, "payer")).await;
    admin.post(&at(&parts, "refund-part"), part(625, "wallet")).await;
    refund(&shop).await;
    admin.post(&at(&whole, "refund"), json!({"reason": "x"})).await;
    refund(&shop).await;
    admin.post(&at(&parts, "refund-part"), part(700, "payer")).await;
    let csv = admin.get("/api/admin/orders.csv").await;
    let refunded = |order: &str| {
        let line = csv.text().lines().find(|line| line.starts_with(order)).unwrap().to_owned();
        line.rsplit(',').nth(8).unwrap().to_owned()
    };
    assert!(csv.text().lines().next().unwrap().contains(",refunded,held,"));
    // What is under way is not back.
    assert_eq!([refunded(&whole), refunded(&parts), refunded(&kept)], ["1999.00", "11.25", "0.00"]);
}
