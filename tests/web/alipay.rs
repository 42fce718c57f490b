//! Payments by Alipay, against a stand-in that keeps state, and that signs every request again and checks every answer and
//! notice with Alipay's own client (`tests/providers/alipay.mjs`).

use std::time::Duration;

use super::stand_ins::{Arena, Kind, PRICE, StandIn, order_at, status_of, test_key};
use super::support::assert_audit_finds_nothing;
use super::*;
use base::config::{AlipayConfig, PaymentProvider};
use base::rsa::{SigningKey, VerifyingKey};
use base::tls::ClientTls;
use domain::CaseKind::*;
use payments::Alipay;

const APP_ID: &str = "2021000000000001";
const SELLER_ID: &str = "2088000000000001";
const PHONE: &str = "Mozilla/5.0 (Linux; Android 16) Chrome/143.0.0.0 Mobile Safari/537.36";

static KIND: Kind = Kind {
    name: "alipay",
    accepted: 200,
    payment: |fake, begun| {
        let url = begun["checkout_url"].as_str().unwrap_or_else(|| panic!("{begun}"));
        let trade = fake.ask(&json!({"do": "open", "url": url}));
        trade["out_trade_no"].as_str().unwrap_or_else(|| panic!("{trade}")).to_owned()
    },
    closing: "alipay.trade.close",
    refunding: "alipay.trade.refund",
    zone: 8,
    billing: "alipay.data.dataservice.bill.downloadurl.query",
    bill_file: "/downloadBillFile.resource",
};

fn fake() -> StandIn {
    StandIn::start("alipay.mjs", &[APP_ID, SELLER_ID])
}

fn config(fake: &StandIn) -> AlipayConfig {
    AlipayConfig {
        app_id: APP_ID.into(),
        seller_id: SELLER_ID.into(),
        key: SigningKey::parse(&test_key("merchant.key")).unwrap(),
        alipay_keys: vec![VerifyingKey::parse(&test_key("platform_a.pem")).unwrap()],
        shows_code: false,
        api: fake.api(),
        is_test: true,
    }
}

async fn open() -> Arena {
    open_with(|_| {}).await
}

async fn open_with(change: impl FnOnce(&mut AlipayConfig)) -> Arena {
    Arena::open(&KIND, fake(), |shop, fake| {
        let mut config = config(fake);
        change(&mut config);
        shop.payments.offered = vec![PaymentProvider::Alipay];
        shop.payments.alipay = Some(config);
    })
    .await
}

/// The owner of the shop, and an open sale.
async fn sale_at(arena: &Arena) -> (TestClient<'_>, String) {
    let admin = arena.shop.admin().await;
    let sale = arena.shop.open_sale(&admin, 3).await;
    (admin, sale)
}

/// A shopper with a paid order: its address and id, and the payment.
async fn payer<'a>(arena: &'a Arena, sale: &str) -> (TestClient<'a>, String, String, String) {
    let (mei, url, payment) = arena.begin("mei", sale).await;
    arena.deliver(&arena.pay(&payment).await[0]).await;
    let order = order_at(&mei, &url).await;
    (mei, url, order, payment)
}

/// A shopper with an unpaid order, and its address.
async fn buyer<'a>(arena: &'a Arena, name: &str, sale: &str) -> (TestClient<'a>, String) {
    let who = arena.shop.shopper(name).await;
    let (_, url) = who.order(sale).await;
    (who, url)
}

#[tokio::test]
async fn payment_by_alipay_is_reported_twice_and_pays_once() {
    let arena = open().await;
    let (_, sale) = sale_at(&arena).await;
    let (mei, url) = buyer(&arena, "mei", &sale).await;
    let begun = mei.post(&format!("{url}/payments?lang=en"), json!({})).await.json();
    let trade = arena.fake.ask(&json!({"do": "open", "url": begun["checkout_url"]}));
    assert_eq!((&trade["method"], trade["amount"].as_i64()), (&"alipay.trade.page.pay".into(), Some(PRICE)), "{trade}");
    assert_eq!(trade["content"]["total_amount"], "1999.00");
    let payment = trade["out_trade_no"].as_str().unwrap();
    // Alipay adds what it knows of the payment.
    let back = format!("{}&out_trade_no={payment}", trade["return_url"].as_str().unwrap());
    let waits = mei.get(&back[back.find("/en/payments/").unwrap_or_else(|| panic!("{back}"))..]).await;
    assert!(waits.is_page(200) && waits.text().contains("We are asking"), "{waits:?}");
    assert!(!waits.text().contains("content=\"0;url="), "a payer who comes back is not sent away: {waits:?}");
    assert_eq!(arena.shop.parts.payments.ask_due().await.unwrap(), 1, "the provider is asked at once");
    let events = arena.pay(payment).await;
    for _ in 0..2 {
        let told = arena.deliver(&events[0]).await;
        assert_eq!((told.status.as_u16(), told.text()), (200, "success"));
        assert_eq!(status_of(&mei, &url).await, "paid");
    }
    // Three months later the trade ends.
    let ended = arena.fake.events(json!({"do": "end", "payment": payment}));
    assert_eq!((arena.deliver(&ended[0]).await.status.as_u16(), arena.shop.cases().await), (200, vec![]));
    assert_audit_finds_nothing(&arena.shop).await;
}

#[tokio::test]
async fn payment_and_cancellation_have_one_winner_at_alipay() {
    open().await.pay_and_cancel("TRADE_CLOSED").await;
}

#[tokio::test]
async fn payment_whose_notice_is_lost_is_found_by_asking_alipay() {
    open().await.lose_notices().await;
}

#[tokio::test]
async fn refunds_at_alipay_are_made_once_whatever_is_lost() {
    open().await.lose_refunds().await;
}

#[tokio::test]
async fn refund_on_the_page_for_merchants_is_a_case() {
    open().await.refund_by_hand().await;
}

#[tokio::test]
async fn what_alipay_reports_is_compared_with_what_was_asked_for() {
    let other = Ok(Some(UnknownPayment));
    let rows = [
        ("/trade_status", json!("WAIT_BUYER_PAY"), Ok(None)),
        ("/trade_status", json!("TRADE_CLOSED"), Ok(None)),
        ("/app_id", json!("2021000000000002"), other),
        ("/seller_id", json!("2088000000000002"), other),
        ("/body", json!("order 1"), other),
        ("/out_trade_no", json!("something"), other),
        ("/total_amount", json!("0.01"), Ok(Some(Mismatched))),
        ("/total_amount", json!("1999.001"), Err(400)),
        ("/total_amount", json!("1,999.00"), Err(400)),
        ("/total_amount", json!(""), Err(400)),
        ("/body", json!("a\0b"), Err(400)),
    ];
    open().await.compare(&rows).await;
}

#[tokio::test]
async fn only_notices_signed_by_alipay_count() {
    let arena = open().await;
    let (_, sale) = sale_at(&arena).await;
    let (mei, url, payment) = arena.begin("mei", &sale).await;
    let event = arena.pay(&payment).await.remove(0);
    let forged = arena.deliver_signed(&event, 0, json!({"by": "platform_b.key"})).await;
    assert_eq!(forged.problem(), problem(401, "bad_signature"));
    let signed = arena.fake.ask(&json!({"do": "sign", "event": event}));
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let body = signed["body"].as_str().unwrap();
    for altered in [body.replace("1999.00", "0.01"), body.replace("&sign=", "&sing="), format!("{body}&more=1")] {
        assert_eq!(arena.send(&form, &altered).await.problem(), problem(401, "bad_signature"));
    }
    assert_eq!(status_of(&mei, &url).await, "unpaid");
    assert_eq!(arena.send(&form, body).await.status, 200);
    assert_eq!(status_of(&mei, &url).await, "paid");
}

#[tokio::test]
async fn every_key_of_alipay_counts_while_one_is_replaced() {
    let keys = ["platform_b.pem", "platform_a.pem"].map(|name| VerifyingKey::parse(&test_key(name)).unwrap());
    let arena = open_with(|config| config.alipay_keys = keys.to_vec()).await;
    let (_, sale) = sale_at(&arena).await;
    for (name, key) in [("mei", "platform_a.key"), ("wang", "platform_b.key")] {
        let (who, url, payment) = arena.begin(name, &sale).await;
        let event = arena.pay(&payment).await.remove(0);
        assert_eq!(arena.deliver_signed(&event, 0, json!({"by": key})).await.status, 200, "{key}");
        assert_eq!(status_of(&who, &url).await, "paid");
    }
}

/// A payer who has the address may open it until its time is over.
#[tokio::test]
async fn address_that_was_not_opened_stays_payable_and_late_money_goes_back() {
    let arena = open().await;
    let (_, sale) = sale_at(&arena).await;
    let payments = &arena.shop.parts.payments;
    let (mei, url) = buyer(&arena, "mei", &sale).await;
    let begun = mei.begin_payment(&url).await;
    mei.post(&format!("{url}/cancel"), json!({})).await;
    assert_eq!(payments.close_due().await.unwrap(), 1);
    assert_eq!(payments.close_due().await.unwrap(), 0, "it is closed when its time is over");
    let own = format!("{url}/payments/{}", begun["payment"]["id"].as_str().unwrap());
    assert_eq!(mei.get(&own).await.json()["payment"]["status"], "created");
    // The payer opens it after all, and the notice is lost.
    let payment = (KIND.payment)(&arena.fake, &begun);
    arena.pay(&payment).await;
    arena.clock.advance(Duration::from_secs(15));
    assert_eq!(payments.ask_due().await.unwrap(), 1);
    assert_eq!(status_of(&mei, &url).await, "refund_pending");
    arena.all_refunds().await;
    assert_eq!((arena.refunded(), status_of(&mei, &url).await), (vec![PRICE], "refunded".to_owned()));
    // Another payer does not, until its time is over.
    let (wang, url) = buyer(&arena, "wang", &sale).await;
    let begun = wang.begin_payment(&url).await;
    let own = format!("{url}/payments/{}", begun["payment"]["id"].as_str().unwrap());
    arena.clock.advance(Duration::from_secs(30 * 60));
    assert_eq!(payments.close_due().await.unwrap(), 1);
    assert_eq!(wang.get(&own).await.json()["payment"]["status"], "created", "a page may live a minute longer");
    arena.clock.advance(Duration::from_secs(65));
    assert_eq!(payments.close_due().await.unwrap(), 1);
    assert_eq!(wang.get(&own).await.json()["payment"]["status"], "closed");
}

#[tokio::test]
async fn payer_on_a_phone_gets_a_page_for_phones_and_on_a_computer_a_code_if_the_shop_says_so() {
    let arena = open_with(|config| config.shows_code = true).await;
    let (_, sale) = sale_at(&arena).await;
    let (mei, url) = buyer(&arena, "mei", &sale).await;
    let headers = [("content-type", "application/json"), ("user-agent", PHONE)];
    let begun = mei.send("POST", &format!("{url}/payments"), &headers, "{}").await.json();
    let trade = arena.fake.ask(&json!({"do": "open", "url": begun["checkout_url"]}));
    assert_eq!(trade["method"], "alipay.trade.wap.pay", "{trade}");
    let begun = mei.begin_payment(&url).await;
    let code = begun["scan"]["text"].as_str().unwrap_or_else(|| panic!("{begun}"));
    let payment = code.strip_prefix("https://qr.alipay.com/").unwrap();
    arena.fake.ask(&json!({"do": "scan", "payment": payment}));
    arena.deliver(&arena.pay(payment).await[0]).await;
    assert_eq!(status_of(&mei, &url).await, "paid");
}

/// The answer is not believed, so the refund is looked for at the next attempt.
#[tokio::test]
async fn answers_that_alipay_did_not_sign_change_nothing() {
    let arena = open().await;
    let (admin, sale) = sale_at(&arena).await;
    let (mei, url, order, _) = payer(&arena, &sale).await;
    admin.post(&format!("/api/admin/orders/{order}/refund"), json!({"reason": "sent back"})).await;
    for how in ["forged", "unsigned"] {
        arena.fake.lie("alipay.trade.fastpay.refund.query", how, 1);
        assert_eq!((arena.refunds().await, arena.refunded().len()), (1, 0), "{how}");
    }
    arena.fake.lie("alipay.trade.refund", "forged", 1);
    arena.all_refunds().await;
    assert_eq!((arena.refunded(), status_of(&mei, &url).await), (vec![PRICE], "refunded".to_owned()));
}

#[tokio::test]
async fn refund_in_parts_is_told_apart_from_other_refunds() {
    let arena = open().await;
    let (admin, sale) = sale_at(&arena).await;
    let (mei, url, order, _) = payer(&arena, &sale).await;
    for amount in [500, 700] {
        let part = json!({"amount": {"amount": amount, "currency": "CNY"}, "to": "payer", "reason": "scratched"});
        assert_eq!(admin.post(&format!("/api/admin/orders/{order}/refund-part"), part).await.status, 200);
        // The refund is under way, and its notice tells the sum of both.
        arena.fake.ask(&json!({"do": "refunds", "late": true}));
        assert_eq!(arena.refunds().await, 1);
        let told = arena.fake.events(json!({"do": "finish"}));
        assert_eq!(arena.deliver(&told[0]).await.status, 200);
        assert_eq!(arena.refunds().await, 0, "the notice ended it");
    }
    assert_eq!((arena.shop.cases().await, status_of(&mei, &url).await), (vec![], "paid".to_owned()));
}

#[tokio::test]
async fn refund_that_is_too_late_is_a_case_and_one_without_money_is_tried_again() {
    let arena = open().await;
    let (admin, sale) = sale_at(&arena).await;
    let (mei, url, order, payment) = payer(&arena, &sale).await;
    arena.fake.ask(&json!({"do": "refunds", "enough": false}));
    admin.post(&format!("/api/admin/orders/{order}/refund"), json!({"reason": "sent back"})).await;
    assert_eq!((arena.refunds().await, arena.shop.cases().await), (1, vec![]));
    arena.fake.ask(&json!({"do": "refunds"}));
    arena.fake.ask(&json!({"do": "end", "payment": payment}));
    assert_eq!((arena.refunds().await, arena.shop.cases().await), (1, vec![RefundFailed]));
    assert_eq!(status_of(&mei, &url).await, "refund_pending");
    let page = admin.get("/admin/orders?show=payments&lang=en").await;
    assert!(page.text().contains("ACQ.TRADE_HAS_FINISHED"), "{page:?}");
}

#[tokio::test]
async fn wallet_is_topped_up_by_alipay_and_pages_say_that_it_is_a_test() {
    let arena = open().await;
    let (mei, admin) = (arena.shop.shopper("mei").await, arena.shop.admin().await);
    assert!(mei.get("/en/wallet").await.text().contains("Test mode: no money is taken"));
    assert!(admin.get("/admin/users?lang=en").await.text().contains("data-test-mode"));
    let wanted = json!({"amount": {"amount": 10_000, "currency": "CNY"}});
    let begun = mei.post("/api/wallet/top-ups", wanted).await.json();
    let payment = (KIND.payment)(&arena.fake, &begun);
    arena.deliver(&arena.pay(&payment).await[0]).await;
    assert_eq!(mei.get("/api/wallet").await.json()["balance"]["amount"], 10_000);
}

#[tokio::test]
async fn doctor_names_the_key_that_alipay_refuses() {
    let fake = fake();
    let check = async |change: &dyn Fn(&mut AlipayConfig)| {
        let mut config = config(&fake);
        change(&mut config);
        let alipay = Alipay::new(&config, &ClientTls::default(), "http://127.0.0.1:8080", &Clock::system());
        alipay.check().await.map_err(|error| format!("{error:#}"))
    };
    assert_eq!(check(&|_| {}).await, Ok(()));
    let wrong =
        check(&|config| config.key = SigningKey::parse(&test_key("platform_b.key")).unwrap()).await.unwrap_err();
    assert!(wrong.contains("does not accept SECKILL_ALIPAY_KEY"), "{wrong}");
    let wrong = check(&|config| config.app_id = "2021000000000002".into()).await.unwrap_err();
    assert!(wrong.contains("SECKILL_ALIPAY_APP_ID"), "{wrong}");
    let other = VerifyingKey::parse(&test_key("platform_b.pem")).unwrap();
    let wrong = check(&|config| config.alipay_keys = vec![other.clone()]).await.unwrap_err();
    assert!(wrong.contains("SECKILL_ALIPAY_PUBLIC_KEY"), "{wrong}");
}

#[tokio::test]
async fn bill_of_alipay_is_compared_with_the_books_line_by_line() {
    open().await.settle_days().await;
}

#[tokio::test]
async fn archive_that_was_altered_settles_nothing_at_alipay() {
    let arena = open().await;
    let day = arena.noon();
    let (_, sale) = sale_at(&arena).await;
    payer(&arena, &sale).await;
    arena.noon();
    arena.fake.lie("/downloadBillFile.resource", "cut", 1);
    let failed = arena.shop.parts.payments.settle("alipay", day).await.unwrap();
    assert!(failed.problem.is_some() && failed.settled_at.is_none(), "{failed:?}");
    assert!(arena.shop.parts.payments.settle("alipay", day).await.unwrap().agrees());
}

#[tokio::test]
async fn payment_around_midnight_is_on_one_bill_of_alipay() {
    open().await.settle_midnight().await;
}
