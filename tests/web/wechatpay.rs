//! Payments by WeChat Pay, against a stand-in that keeps state, compares every request with what a client of WeChat Pay
//! would send, and signs and encrypts with it (`tests/providers/wechatpay.mjs`).

use std::time::Duration;

use secrecy::SecretString;

use super::stand_ins::{Arena, Kind, PRICE, StandIn, order_at, status_of, test_key};
use super::support::assert_audit_finds_nothing;
use super::*;
use base::config::{PaymentProvider, WechatPayConfig};
use base::rsa::{SigningKey, VerifyingKey};
use base::tls::ClientTls;
use domain::CaseKind::*;
use payments::WechatPay;

const MCHID: &str = "1900000001";
const APPID: &str = "wx0123456789abcdef";
const SERIAL: &str = "1DDE55AD98ED71D6EDD4A4A16996DE7B47773A8C";
const V3_KEY: &str = "0123456789abcdef0123456789abcdef";
const PUBLIC_KEY_ID: &str = "PUB_KEY_ID_0119000000012026";
const PHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Mobile/15E148 Safari/604.1";

static KIND: Kind = Kind {
    name: "wechatpay",
    accepted: 204,
    payment: |_, begun| {
        let text = begun["scan"]["text"].as_str().unwrap_or_else(|| panic!("{begun}"));
        text.strip_prefix("weixin://wxpay/bizpayurl?pr=").unwrap().to_owned()
    },
    closing: "/v3/pay/transactions/out-trade-no/",
    refunding: "POST /v3/refund/domestic/refunds",
    zone: 8,
    billing: "GET /v3/bill/tradebill",
    bill_file: "GET /v3/billdownload/file",
};

fn fake() -> StandIn {
    StandIn::start("wechatpay.mjs", &[MCHID, APPID, SERIAL, V3_KEY])
}

fn config(fake: &StandIn) -> WechatPayConfig {
    WechatPayConfig {
        mchid: MCHID.into(),
        appid: APPID.into(),
        key: SigningKey::parse(&test_key("merchant.key")).unwrap(),
        serial: SERIAL.into(),
        v3_key: SecretString::from(V3_KEY),
        public_key: None,
        api: fake.api(),
        is_test: true,
    }
}

async fn open() -> Arena {
    open_at(fake(), |_| {}).await
}

async fn open_at(fake: StandIn, change: impl FnOnce(&mut WechatPayConfig)) -> Arena {
    Arena::open(&KIND, fake, |shop, fake| {
        let mut config = config(fake);
        change(&mut config);
        shop.payments.offered = vec![PaymentProvider::WechatPay];
        shop.payments.wechatpay = Some(config);
    })
    .await
}

#[tokio::test]
async fn payment_by_wechat_pay_is_reported_twice_and_pays_once() {
    let (arena, sale) = open().await.selling(3).await;
    let admin = arena.shop.admin().await;
    let (mei, url, payment) = arena.begin("mei", &sale).await;
    let begun = &arena.fake.state()["orders"][0]["asked"];
    assert_eq!((begun["amount"]["total"].as_i64(), &begun["description"]), (Some(PRICE), &"Phone".into()), "{begun}");
    let events = arena.pay(&payment).await;
    for _ in 0..2 {
        assert_eq!(arena.deliver(&events[0]).await.status, 204);
        assert_eq!(status_of(&mei, &url).await, "paid");
    }
    assert_eq!(arena.shop.cases().await, []);
    assert_audit_finds_nothing(&arena.shop).await;
    let order = order_at(&mei, &url).await;
    // Staff see the number.
    admin.get(&format!("/admin/orders/{order}?lang=en")).await.has(&[&payment]);
    assert_eq!(arena.fake.state()["fetched"], 1, "the platform's certificate is kept");
}

#[tokio::test]
async fn payment_and_cancellation_have_one_winner_at_wechat_pay() {
    open().await.pay_and_cancel("CLOSED").await;
}

#[tokio::test]
async fn payment_whose_notice_is_lost_is_found_by_asking_wechat_pay() {
    open().await.lose_notices().await;
}

#[tokio::test]
async fn refunds_at_wechat_pay_are_made_once_whatever_is_lost() {
    open().await.lose_refunds().await;
}

#[tokio::test]
async fn refund_on_the_merchant_platform_is_a_case() {
    open().await.refund_by_hand().await;
}

#[tokio::test]
async fn what_wechat_pay_reports_is_compared_with_what_was_asked_for() {
    let other = Ok(Some(UnknownPayment));
    let rows = [
        ("/event_type", json!("TRANSACTION.OTHER"), Ok(None)),
        ("/plain/trade_state", json!("NOTPAY"), Ok(None)),
        ("/plain/mchid", json!("1900000002"), other),
        ("/plain/appid", json!("wxfedcba9876543210"), other),
        ("/plain/attach", json!("order 1"), other),
        ("/plain/out_trade_no", json!("something"), other),
        ("/plain/amount/total", json!(1), Ok(Some(Mismatched))),
        ("/plain/amount/currency", json!("USD"), Ok(Some(Mismatched))),
        ("/plain/amount/currency", json!("ZZZ"), Err(400)),
        ("/plain/amount/total", json!("1"), Err(400)),
        ("/plain/attach", json!("a\0b"), Err(400)),
    ];
    open().await.compare(&rows).await;
}

#[tokio::test]
async fn only_notices_signed_by_wechat_pay_within_five_minutes_count() {
    let (arena, sale) = open().await.selling(3).await;
    let (mei, url, payment) = arena.begin("mei", &sale).await;
    let event = arena.pay(&payment).await.remove(0);
    for (ago, keys) in [(301, json!({})), (-301, json!({})), (0, json!({"by": "merchant"})), (0, json!({"by": "b"}))] {
        let refused = arena.deliver_signed(&event, ago, keys.clone()).await;
        assert_eq!((refused.status.as_u16(), &refused.json()["code"]), (401, &json!("FAIL")), "{ago} {keys}");
        assert_eq!(refused.header("content-type"), "application/json");
    }
    let bare = arena.send(&[("content-type", "application/json")], "{}").await;
    assert_eq!((bare.status.as_u16(), bare.code()), (401, "FAIL".to_owned()));
    let foreign = json!({"v3_key": "fedcba9876543210fedcba9876543210"});
    assert_eq!(arena.deliver_signed(&event, 0, foreign).await.status, 503, "signed, and encrypted with another key");
    assert_eq!(status_of(&mei, &url).await, "unpaid");
    assert_eq!(arena.deliver_signed(&event, 300, json!({})).await.status, 204);
    assert_eq!(status_of(&mei, &url).await, "paid");
}

#[tokio::test]
async fn certificates_of_the_platform_may_change_at_any_time() {
    let (arena, sale) = open().await.selling(3).await;
    let (mei, url, payment) = arena.begin("mei", &sale).await;
    let event = arena.pay(&payment).await.remove(0);
    // A notice names a certificate that WeChat Pay does not list. Certificates are not fetched at every such notice.
    arena.clock.advance(Duration::from_secs(10));
    for _ in 0..3 {
        assert_eq!(arena.deliver_signed(&event, 0, json!({"by": "b"})).await.status, 401);
    }
    assert_eq!(arena.fake.state()["fetched"], 2);
    arena.fake.ask(&json!({"do": "rotate"}));
    arena.clock.advance(Duration::from_secs(10));
    assert_eq!(arena.deliver_signed(&event, 0, json!({"by": "a"})).await.status, 204, "the earlier one still counts");
    assert_eq!(status_of(&mei, &url).await, "paid");
    // The next answer names the new one, which is fetched.
    let (wang, url, payment) = arena.begin("wang", &sale).await;
    assert_eq!(arena.deliver(&arena.pay(&payment).await[0]).await.status, 204);
    assert_eq!((status_of(&wang, &url).await, &arena.fake.state()["fetched"]), ("paid".to_owned(), &json!(3)));
    // Once the earlier one is withdrawn, it counts no more.
    arena.fake.ask(&json!({"do": "rotate", "listed": ["b"]}));
    let again = arena.deliver_signed(&event, 0, json!({"by": "a"})).await;
    assert_eq!(again.status, 204, "it is known until another one is asked for");
}

#[tokio::test]
async fn account_with_a_public_key_of_the_platform_needs_no_certificates() {
    let fake = StandIn::start("wechatpay.mjs", &[MCHID, APPID, SERIAL, V3_KEY, PUBLIC_KEY_ID]);
    let key = VerifyingKey::parse(&test_key("platform_a.pem")).unwrap();
    let arena = open_at(fake, |config| config.public_key = Some((PUBLIC_KEY_ID.into(), key))).await;
    let sale = arena.shop.sell(3).await;
    let (mei, url, payment) = arena.begin("mei", &sale).await;
    assert_eq!(arena.deliver(&arena.pay(&payment).await[0]).await.status, 204);
    assert_eq!((status_of(&mei, &url).await, &arena.fake.state()["fetched"]), ("paid".to_owned(), &json!(0)));
}

/// What the answer says is not believed, so the payment begins again or the refund is made at the next attempt.
#[tokio::test]
async fn answers_that_wechat_pay_did_not_sign_change_nothing() {
    let (arena, sale) = open().await.selling(3).await;
    let admin = arena.shop.admin().await;
    let (mei, url, payment) = arena.begin("mei", &sale).await;
    for how in ["unsigned", "forged", "stale"] {
        arena.fake.lie("POST /v3/pay/transactions/native", how, 1);
        let failed = mei.post(&format!("{url}/payments"), json!({})).await;
        assert_eq!(failed.problem(), problem(503, "unavailable"), "{how}");
    }
    // Each try closed the one before it.
    assert_eq!(arena.fake.ask(&json!({"do": "pay", "payment": payment}))["refused"], "CLOSED");
    let payment = arena.again(&mei, &url).await;
    arena.deliver(&arena.pay(&payment).await[0]).await;
    let order = order_at(&mei, &url).await;
    admin.refund(&order).await;
    arena.fake.lie("POST /v3/refund/domestic/refunds", "forged", 1);
    assert_eq!((arena.refunds().await, status_of(&mei, &url).await), (1, "refund_pending".to_owned()));
    arena.all_refunds().await;
    assert_eq!((arena.refunded(), status_of(&mei, &url).await), (vec![PRICE], "refunded".to_owned()));
}

#[tokio::test]
async fn order_is_begun_once_although_its_answer_is_lost() {
    let (arena, sale) = open().await.selling(5).await;
    for (name, how) in [("mei", json!("drop")), ("wang", json!("hang")), ("zhao", json!(500))] {
        arena.fake.lie("POST /v3/pay/transactions/native", how, 1);
        arena.paid(name, &sale).await;
    }
    assert_eq!(arena.fake.state()["orders"].as_array().unwrap().len(), 3, "the same request was repeated");
    // Neither of two attempts is answered. The order exists, and is closed by its number.
    arena.fake.lie("POST /v3/pay/transactions/native", "drop", 2);
    let li = arena.shop.shopper("li").await;
    let url = li.buy(&sale, 1).await.json()["status_url"].as_str().unwrap().to_owned();
    assert_eq!(li.post(&format!("{url}/payments"), json!({})).await.problem(), problem(503, "unavailable"));
    arena.again(&li, &url).await;
    assert_eq!(arena.fake.state()["orders"][3]["trade_state"], "CLOSED");
}

#[tokio::test]
async fn slow_refund_ends_by_its_notice_and_a_failed_one_is_a_case() {
    let (arena, sale) = open().await.selling(5).await;
    let admin = arena.shop.admin().await;
    arena.end_slow_refunds(&sale, "PROCESSING", "SUCCESS", "ABNORMAL").await;
    // Money that the merchant does not have now may be there later.
    let order = arena.paid("zhao", &sale).await.order;
    arena.fake.ask(&json!({"do": "refunds", "status": "NOT_ENOUGH"}));
    let part = json!({"amount": cny(500), "to": "payer", "reason": "scratched"});
    assert_eq!(admin.post(&format!("/api/admin/orders/{order}/refund-part"), part).await.status, 200);
    assert_eq!((arena.refunds().await, arena.refunded().len()), (1, 2));
    arena.fake.ask(&json!({"do": "refunds", "status": "SUCCESS"}));
    arena.all_refunds().await;
    assert_eq!((arena.refunded().len(), arena.shop.cases().await), (3, vec![RefundFailed]));
}

#[tokio::test]
async fn payer_on_a_phone_is_led_to_the_app() {
    let (arena, sale) = open().await.selling(3).await;
    let mei = arena.shop.shopper("mei").await;
    let url = mei.buy(&sale, 1).await.json()["status_url"].as_str().unwrap().to_owned();
    let begin = async |agent: &str| {
        let headers = [("content-type", "application/json"), ("user-agent", agent)];
        mei.send("POST", &format!("{url}/payments?lang=en"), &headers, "{}").await.json()
    };
    let begun = begin(PHONE).await;
    let address = begun["checkout_url"].as_str().unwrap_or_else(|| panic!("{begun}"));
    assert!(address.starts_with("https://wx.tenpay.com/") && address.contains("&redirect_url=http"), "{address}");
    let order = &arena.fake.state()["orders"][0];
    assert_eq!(order["asked"]["scene_info"]["payer_client_ip"], "127.0.0.1", "{order}");
    // WeChat's own browser does not open such an address, and the order's page says what to do.
    let wechat = format!("{PHONE} MicroMessenger/8.0");
    assert!(begin(&wechat).await["scan"].is_object());
    let page = format!("/en/orders/{sale}/{}", url.rsplit('/').next().unwrap());
    for (agent, is_told) in [(wechat.as_str(), true), (PHONE, false)] {
        let shown = mei.send("GET", &page, &[("user-agent", agent)], "").await;
        assert_eq!(shown.text().contains("Open in Browser"), is_told, "{shown:?}");
    }
    // The merchant has no right to payments on phones.
    arena.fake.ask(&json!({"do": "without_h5"}));
    assert!(begin(PHONE).await["scan"].is_object());
}

#[tokio::test]
async fn page_shows_the_code_and_asks_at_once_when_the_payer_says_so() {
    let (arena, sale) = open().await.selling(3).await;
    let (mei, url, payment) = arena.begin("mei", &sale).await;
    let order = mei.get(&url).await.json();
    let order = order["order"]["id"].as_str().unwrap();
    let id = Uuid::try_parse(&payment).unwrap();
    let page = format!("/en/payments/{id}");
    mei.get(&page).await.has(&["src=\"data:image/svg+xml;base64,", "I have paid"]);
    let polled = mei.send("HEAD", &page, &[], "").await;
    assert!(polled.status == 200 && polled.header("content-length") == "0", "nothing is drawn for a poll: {polled:?}");
    arena.pay(&payment).await;
    assert_eq!(arena.shop.parts.payments.ask_due().await.unwrap(), 0, "it is not time to ask");
    assert!(arena.shop.shopper("wang").await.send_form(&format!("{page}/paid"), "").await.is_page(404));
    assert!(mei.send_form(&format!("{page}/paid"), "").await.leads_to(&format!("{page}?asked=1")));
    mei.get(&format!("{page}?asked=1")).await.has(&["We are asking"]);
    assert_eq!(arena.shop.parts.payments.ask_due().await.unwrap(), 1);
    assert!(mei.get(&page).await.leads_to(&format!("/en/orders/{sale}/{order}")));
    assert_eq!(status_of(&mei, &url).await, "paid");
}

#[tokio::test]
async fn wallet_is_topped_up_by_wechat_pay() {
    let arena = open().await;
    let mei = arena.shop.shopper("mei").await;
    let begun = mei.post("/api/wallet/top-ups", json!({"amount": cny(10_000)})).await.json();
    let payment = (KIND.payment)(&arena.fake, &begun);
    arena.deliver(&arena.pay(&payment).await[0]).await;
    assert_eq!(mei.get("/api/wallet").await.json()["balance"]["amount"], 10_000);
    let wallet = mei.send_form("/zh/wallet/top-ups", "amount=100").await;
    assert!(wallet.header("location").starts_with("/zh/payments/"), "{wallet:?}");
}

#[tokio::test]
async fn doctor_names_the_key_that_wechat_pay_refuses() {
    let fake = fake();
    let check = async |change: &dyn Fn(&mut WechatPayConfig)| {
        let mut config = config(&fake);
        change(&mut config);
        let wechatpay = WechatPay::new(&config, &ClientTls::default(), "http://127.0.0.1:8080", &Clock::system());
        wechatpay.unwrap().check().await.map_err(|error| format!("{error:#}"))
    };
    assert_eq!(check(&|_| {}).await, Ok(()));
    let wrong =
        check(&|config| config.key = SigningKey::parse(&test_key("platform_b.key")).unwrap()).await.unwrap_err();
    assert!(wrong.contains("does not accept SECKILL_WECHATPAY_KEY"), "{wrong}");
    let wrong = check(&|config| config.serial = "0123456789ABCDEF".into()).await.unwrap_err();
    assert!(wrong.contains("SECKILL_WECHATPAY_SERIAL"), "{wrong}");
    let wrong = check(&|config| config.v3_key = "fedcba9876543210fedcba9876543210".into()).await.unwrap_err();
    assert!(wrong.contains("SECKILL_WECHATPAY_V3_KEY") && !wrong.contains("fedcba"), "{wrong}");
    // An account with a public key of the platform, which is another one.
    let fake = StandIn::start("wechatpay.mjs", &[MCHID, APPID, SERIAL, V3_KEY, PUBLIC_KEY_ID]);
    let key = VerifyingKey::parse(&test_key("platform_b.pem")).unwrap();
    let config = WechatPayConfig { public_key: Some((PUBLIC_KEY_ID.into(), key)), ..config(&fake) };
    let wechatpay = WechatPay::new(&config, &ClientTls::default(), "http://127.0.0.1:8080", &Clock::system()).unwrap();
    let wrong = format!("{:#}", wechatpay.check().await.unwrap_err());
    assert!(wrong.contains("SECKILL_WECHATPAY_PUBLIC_KEY"), "{wrong}");
}

#[tokio::test]
async fn bill_of_wechat_pay_is_compared_with_the_books_line_by_line() {
    open().await.settle_days().await;
}

#[tokio::test]
async fn bill_that_was_altered_or_does_not_come_settles_nothing_at_wechat_pay() {
    let arena = open().await;
    let day = arena.noon();
    let sale = arena.shop.sell(3).await;
    let payment = arena.paid("mei", &sale).await.payment;
    arena.noon();
    for (at, how, reason) in [
        ("GET /v3/billdownload/file", "cut", "SHA-1"),
        ("GET /v3/bill/tradebill", "forged", "does not fit"),
        ("GET /v3/bill/tradebill", "hang", "no answer in time"),
    ] {
        arena.fake.lie(at, how, 2);
        let failed = arena.shop.parts.payments.settle("wechatpay", day).await.unwrap();
        let problem = failed.problem.as_deref().unwrap_or_default();
        assert!(problem.contains(reason) && failed.settled_at.is_none(), "{how}: {problem}");
        arena.fake.ask(&json!({"do": "truth"}));
    }
    // A bill that is not there although the books have money says nothing.
    arena.fake.ask(&json!({"do": "bill", "lose": [payment]}));
    let late = arena.shop.parts.payments.settle("wechatpay", day).await.unwrap();
    assert!(late.problem.as_deref().unwrap_or_default().contains("no bill of this day yet"), "{late:?}");
    arena.fake.ask(&json!({"do": "bill"}));
    assert!(arena.shop.parts.payments.settle("wechatpay", day).await.unwrap().agrees());
}

#[tokio::test]
async fn payment_around_midnight_is_on_one_bill_of_wechat_pay() {
    open().await.settle_midnight().await;
}
