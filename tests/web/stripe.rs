//! Payments by Stripe, against a stand-in that keeps state, compares every request with what Stripe's own client would
//! send, and signs webhooks with it (`tests/providers/stripe.mjs`).

use std::process::Command;
use std::time::Duration;

use secrecy::SecretString;

use super::returns::accept_return;
use super::stand_ins::{Arena, Kind, PRICE, Paid, StandIn, order_at, status_of};
use super::support::{add_address, assert_audit_finds_nothing, bought};
use super::*;
use base::config::{PaymentProvider, StripeConfig};
use base::tls::{ClientTls, PemFile};
use domain::CaseKind::*;
use payments::Stripe;

const KEY: &str = "sk_test_0123456789";
const SECRET: &str = "whsec_0123456789";

static KIND: Kind = Kind {
    name: "stripe",
    accepted: 204,
    payment: |_, begun| {
        let checkout = begun["checkout_url"].as_str().unwrap_or_else(|| panic!("{begun}"));
        checkout.strip_prefix("https://checkout.stripe.com/c/pay/").unwrap().to_owned()
    },
    closing: "/v1/checkout/sessions/",
    refunding: "POST /v1/refunds",
    zone: 0,
    billing: "/v1/balance_transactions",
    bill_file: "/v1/balance_transactions",
};

fn fake() -> StandIn {
    StandIn::start("stripe.mjs", &[KEY, SECRET])
}

fn config(fake: &StandIn) -> StripeConfig {
    StripeConfig {
        secret_key: SecretString::from(KEY),
        webhook_secrets: vec![SecretString::from(SECRET)],
        api: fake.api(),
        is_test: true,
    }
}

async fn open() -> Arena {
    open_with(|_| {}).await
}

async fn open_with(change: impl FnOnce(&mut Config)) -> Arena {
    Arena::open(&KIND, fake(), |shop, fake| {
        shop.payments.offered = vec![PaymentProvider::Stripe];
        shop.payments.stripe = Some(config(fake));
        change(shop);
    })
    .await
}

#[tokio::test]
async fn payment_by_stripe_is_reported_twice_and_in_any_order_and_pays_once() {
    let (arena, sale) = open().await.selling(3).await;
    let admin = arena.shop.admin().await;
    let (mei, url, session) = arena.begin("mei", &sale).await;
    let begun = &arena.fake.state()["sessions"][0];
    let asked = (begun["amount_total"].as_i64(), &begun["currency"]);
    assert_eq!(asked, (Some(PRICE), &"cny".into()));
    let ahead = begun["expires_at"].as_i64().unwrap() - arena.clock.now().as_second();
    assert_eq!(ahead, 32 * 60, "a session lasts longer than the order waits");

    let mut events = arena.pay(&session).await;
    events.reverse();
    for event in events.iter().chain(&events) {
        assert_eq!(arena.deliver(event).await.status, 204);
        assert_eq!(status_of(&mei, &url).await, "paid");
    }
    assert_eq!(arena.shop.cases().await, []);
    assert_audit_finds_nothing(&arena.shop).await;
    let order = order_at(&mei, &url).await;
    let json = admin.get(&format!("/api/admin/orders/{order}")).await.json();
    assert_eq!(json["order"]["payments"][0]["reference"], session, "{json}");
    assert!(admin.get(&format!("/admin/orders/{order}?lang=en")).await.text().contains(&session));
}

#[tokio::test]
async fn pages_lead_to_stripe_and_say_that_it_is_a_test() {
    let (arena, sale) = open().await.selling(3).await;
    let admin = arena.shop.admin().await;
    let mei = arena.shop.shopper("mei").await;
    let order = mei.buy(&sale, 1).await.json()["order"]["id"].as_str().unwrap().to_owned();
    mei.get(&format!("/en/orders/{sale}/{order}")).await.has(&["Test mode: no money is taken"]);
    let address = format!("{}&then=pay&from=stripe", addresses::FORM);
    let led = mei.send_form(&format!("/en/orders/{sale}/{order}/address"), &address).await.is(303);
    let to = led.header("location").to_owned();
    assert!(to.starts_with("/en/payments/"), "forms may lead to the shop only: {to}");
    mei.get(&to).await.has(&["content=\"0;url=https://checkout.stripe.com/c/pay/cs_test_"]);
    for path in
        ["/admin?lang=en", "/admin/orders?lang=en", "/admin/users?lang=en", "/admin/orders?show=payments&lang=en"]
    {
        assert!(admin.get(path).await.text().contains("the payment provider has test keys"), "{path}");
    }
    admin.get("/admin?lang=en").await.has(&["data-payments=\"stripe\""]);
    let wallet = mei.send_form("/zh/wallet/top-ups", "amount=100").await;
    assert!(wallet.header("location").starts_with("/zh/payments/"), "{wallet:?}");
}

#[tokio::test]
async fn shoppers_choose_among_several_providers() {
    let both = vec![PaymentProvider::Sandbox, PaymentProvider::Stripe];
    let (arena, sale) = open_with(|config| config.payments.offered = both).await.selling(3).await;
    let mei = arena.shop.shopper("mei").await;
    let (order, url) = bought(&mei, &sale, 1).await;
    let page = mei.get(&format!("/en/orders/{sale}/{order}")).await;
    let place = |name: &str| page.text().find(&format!("name=\"from\" value=\"{name}\">")).unwrap();
    assert!(place("sandbox") < place("stripe"), "in the shop's order");
    let first = mei.post(&format!("{url}/payments"), json!({})).await.json();
    assert!(first["checkout_url"].as_str().unwrap().starts_with("/sandbox/cashier/"), "{first}");
    let chosen = mei.post(&format!("{url}/payments"), json!({"provider": "stripe"})).await.json();
    let session = chosen["checkout_url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    for event in arena.pay(&session).await {
        assert_eq!(arena.deliver(&event).await.status, 204);
    }
    assert_eq!(status_of(&mei, &url).await, "paid");
}

#[tokio::test]
async fn payer_whose_card_is_refused_tries_again() {
    let (arena, sale) = open().await.selling(3).await;
    let (mei, url, session) = arena.begin("mei", &sale).await;
    let declined = arena.fake.events(json!({"do": "decline", "payment": session}));
    assert_eq!(arena.deliver(&declined[0]).await.status, 204);
    assert_eq!(arena.shop.parts.payments.close_due().await.unwrap(), 0, "the payer is still at Stripe's page");

    // A slow method ends the session, so the payer needs another one.
    let slow = arena.fake.events(json!({"do": "pay", "payment": session, "slow": true}));
    assert_eq!(arena.deliver(&slow[0]).await.status, 204);
    assert_eq!(status_of(&mei, &url).await, "unpaid");
    let order = order_at(&mei, &url).await.parse().unwrap();
    let open = async || arena.shop.parts.store.payments().open_payments(order).await.unwrap().len();
    let failed = arena.fake.events(json!({"do": "settle", "payment": session, "good": false}));
    assert_eq!(arena.deliver(&failed[0]).await.status, 204);
    assert_eq!(mei.get(&url).await.json()["order"]["payment_declined"], true);
    assert_eq!((arena.shop.parts.payments.close_due().await.unwrap(), open().await), (1, 0));
    let second = arena.again(&mei, &url).await;
    for event in arena.pay(&second).await {
        arena.deliver(&event).await;
    }
    assert_eq!((status_of(&mei, &url).await, arena.shop.cases().await), ("paid".to_owned(), vec![]));
}

#[tokio::test]
async fn payment_and_cancellation_have_one_winner_at_stripe() {
    open().await.pay_and_cancel("expired").await;
}

#[tokio::test]
async fn payment_whose_webhook_is_lost_is_found_by_asking_stripe() {
    open().await.lose_notices().await;
}

#[tokio::test]
async fn refunds_at_stripe_are_made_once_whatever_is_lost() {
    open().await.lose_refunds().await;
}

#[tokio::test]
async fn part_that_stripe_cannot_move_is_refused_and_the_rest_goes_back() {
    let arena = open().await;
    let admin = arena.shop.admin().await;
    let dinar = |amount: i64| json!({"amount": amount, "currency": "KWD"});
    let sale = arena.shop.open_sale_at(&admin, 3, dinar(10_000)).await;
    let Paid { who: mei, url, order, .. } = arena.paid("mei", &sale).await;
    let path = format!("/api/admin/orders/{order}/refund-part");
    admin.post(&path, json!({"amount": dinar(1_255), "reason": "scratched"})).await.wrong("amount", "not_taken");
    for (lang, words) in [("en", "in steps of 0.010"), ("zh", "0.010 的倍数")] {
        let form = format!("/admin/orders/{order}/refund-part?lang={lang}");
        admin.send_form(&form, "amount=1.255&reason=scratched&confirm=yes&to=payer").await.shows(422, &[words]);
    }
    assert_eq!(admin.post(&path, json!({"amount": dinar(1_250), "reason": "scratched"})).await.status, 200);
    arena.all_refunds().await;

    // The goods of a return are refunded in part by the same rule.
    add_address(&mei, &url).await;
    accept_return(&admin, &mei, (&order, &url)).await;
    let received = json!({"amount": dinar(1_255), "restock": false, "reason": "scratched"});
    admin.post(&format!("/api/admin/orders/{order}/return/receive"), received).await.wrong("amount", "not_taken");
    let form = format!("/admin/orders/{order}/return/receive?lang=en");
    admin.send_form(&form, "amount=1.255&reason=scratched&confirm=yes").await.shows(422, &["in steps of 0.010"]);

    let rest = json!({"restock": true, "reason": "all there"});
    admin.post(&format!("/api/admin/orders/{order}/return/receive"), rest).await.is(200);
    arena.all_refunds().await;
    assert_eq!((arena.refunded(), status_of(&mei, &url).await), (vec![8_750, 1_250], "refunded".to_owned()));
}

#[tokio::test]
async fn slow_refund_ends_by_its_webhook_and_a_failed_one_is_a_case() {
    let (arena, sale) = open().await.selling(3).await;
    arena.end_slow_refunds(&sale, "pending", "succeeded", "failed").await;
}

#[tokio::test]
async fn what_stripe_reports_is_compared_with_what_was_asked_for() {
    let other = Ok(Some(UnknownPayment));
    let rows = [
        // Not about this shop, not paid yet, or nothing that the shop needs to know.
        ("/data/object/metadata", json!({}), Ok(None)),
        ("/data/object/metadata", Value::Null, Ok(None)),
        ("/data/object/payment_status", json!("unpaid"), Ok(None)),
        ("/type", json!("customer.created"), Ok(None)),
        // Another order, session, mode or account, and another payment.
        ("/data/object/metadata/subject", json!("order 1"), other),
        ("/data/object/id", json!("cs_test_other"), other),
        ("/livemode", json!(true), other),
        ("/data/object/metadata/payment", json!("something"), other),
        ("/data/object/amount_total", json!(1), Ok(Some(Mismatched))),
        ("/data/object/currency", json!("usd"), Ok(Some(Mismatched))),
        ("/data/object/currency", json!("zzz"), Err(400)),
        ("/data/object/amount_total", json!("1"), Err(400)),
    ];
    open().await.compare(&rows).await;
}

#[tokio::test]
async fn test_payment_pays_nothing_in_a_live_shop() {
    let (arena, sale) = open_with(|shop| shop.payments.stripe.as_mut().unwrap().is_test = false).await.selling(3).await;
    let (mei, url, session) = arena.begin("mei", &sale).await;
    let event = arena.pay(&session).await.remove(0);
    assert_eq!(event["livemode"], false, "the stand-in is in test mode");
    assert_eq!(arena.deliver(&event).await.status, 204);
    assert_eq!((status_of(&mei, &url).await, arena.shop.cases().await), ("unpaid".to_owned(), vec![UnknownPayment]));
}

#[tokio::test]
async fn dispute_and_refund_of_the_merchant_are_cases_of_the_payment() {
    let (arena, sale) = open().await.selling(3).await;
    let admin = arena.shop.admin().await;
    let Paid { order, payment: session, .. } = arena.paid("mei", &sale).await;
    let refunded = arena.fake.events(json!({"do": "refund", "payment": session, "amount": 300}));
    // They do not name the shop's payment, so Stripe is asked. While it does not answer, the webhook is to come again.
    arena.fake.lie("/v1/payment_intents/", "lost", 2);
    assert_eq!(arena.deliver(&refunded[0]).await.status, 503);
    assert_eq!(arena.deliver(&refunded[0]).await.status, 204);
    assert_eq!(arena.shop.cases().await, [UnexpectedRefund]);
    let disputed = arena.fake.events(json!({"do": "dispute", "payment": session}));
    for _ in 0..2 {
        assert_eq!(arena.deliver(&disputed[0]).await.status, 204);
    }
    assert_eq!(arena.shop.cases().await, [Disputed, UnexpectedRefund]);
    admin.get("/admin/orders?show=payments&lang=en").await.has(&["fraudulent", "¥1,999"]);
    admin.refund(&order).await.refuses(409, "payment_disputed");
}

/// A shopper whose whole payment staff have asked Stripe to refund, with the order's address and the session.
async fn paid_and_asked_back<'a>(
    arena: &'a Arena,
    admin: &TestClient<'_>,
    sale: &str,
) -> (TestClient<'a>, String, String) {
    let Paid { who: mei, url, order, payment: session, .. } = arena.paid("mei", sale).await;
    admin.refund(&order).await;
    (mei, url, session)
}

#[tokio::test]
async fn refund_that_fails_a_day_after_it_succeeded_is_made_again_by_another_one() {
    let (arena, sale) = open().await.selling(3).await;
    let admin = arena.shop.admin().await;
    let (mei, url, _) = paid_and_asked_back(&arena, &admin, &sale).await;
    assert_eq!(arena.refunds().await, 1);
    let good = arena.fake.events(json!({"do": "finish", "status": "succeeded"}));
    assert_eq!(status_of(&mei, &url).await, "refunded");
    let failed = arena.fake.events(json!({"do": "finish", "status": "failed"}));
    // What succeeded before comes again late, and changes nothing.
    for event in [&failed[0], &failed[0], &good[0]] {
        assert_eq!(arena.deliver(event).await.status, 204);
        assert_eq!(status_of(&mei, &url).await, "refund_pending");
        assert_eq!(arena.shop.cases().await, [RefundFailed]);
    }
    assert_eq!(arena.refunds().await, 0, "not without the staff");
    assert_audit_finds_nothing(&arena.shop).await;
    let case = &admin.get("/api/admin/payment-cases").await.json()["cases"][0];
    let again = format!("/api/admin/payment-cases/{}/refund", case["id"].as_str().unwrap());
    assert_eq!(admin.post(&again, json!({"reason": "another card"})).await.status, 200);
    // The answer is lost, and the refund is made once all the same.
    arena.fake.lie("POST /v1/refunds", "drop", 2);
    arena.all_refunds().await;
    assert_eq!((arena.refunded(), arena.shop.cases().await), (vec![PRICE, PRICE], vec![]));
    // Another event about the first refund.
    let mut late = failed[0].clone();
    late["id"] = json!("evt_late");
    assert_eq!(arena.deliver(&late).await.status, 204);
    assert_eq!((status_of(&mei, &url).await.as_str(), arena.shop.cases().await), ("refunded", vec![]));
    assert_audit_finds_nothing(&arena.shop).await;
}

#[tokio::test]
async fn failed_refund_of_the_merchant_neither_stops_nor_settles_that_of_the_shop() {
    let (arena, sale) = open().await.selling(3).await;
    let admin = arena.shop.admin().await;
    let (mei, url, session) = paid_and_asked_back(&arena, &admin, &sale).await;
    arena.fake.events(json!({"do": "refund", "payment": session, "amount": 300}));
    let mut failed = arena.fake.events(json!({"do": "finish", "status": "failed"})).remove(0);
    assert_eq!(arena.deliver(&failed).await.status, 204);
    let case = admin.get("/api/admin/payment-cases").await.json()["cases"][0]["id"].clone();
    let settle = format!("/api/admin/payment-cases/{}/settle", case.as_str().unwrap());
    assert_eq!(admin.post(&settle, json!({"reason": "looked into"})).await.status, 200);
    assert_eq!((status_of(&mei, &url).await.as_str(), arena.shop.cases().await), ("refund_pending", vec![]));
    failed["id"] = json!("evt_again");
    assert_eq!(arena.deliver(&failed).await.status, 204);
    assert_eq!((arena.refunds().await, arena.refunded()), (1, vec![PRICE, 300]));
    assert_eq!((status_of(&mei, &url).await.as_str(), arena.shop.cases().await), ("refunded", vec![RefundFailed]));
}

#[tokio::test]
async fn dispute_is_followed_to_its_end_although_every_webhook_of_it_is_lost() {
    let (arena, sale) = open().await.selling(3).await;
    let admin = arena.shop.admin().await;
    let mut disputes = Vec::new();
    for name in ["mei", "wang"] {
        let Paid { order, payment: session, .. } = arena.paid(name, &sale).await;
        disputes.push((order, arena.fake.ask(&json!({"do": "dispute", "payment": session}))));
    }
    let state = async |order: &str| {
        let shown = admin.get(&format!("/api/admin/orders/{order}")).await.json()["order"]["cases"][0].clone();
        (shown["dispute"]["state"].clone(), shown["settled"] != Value::Null)
    };
    let told = |status: &str, at: usize| {
        let dispute = &disputes[at].1["dispute"];
        arena.fake.events(json!({"do": "judge", "dispute": dispute, "status": status})).remove(0)
    };
    // The first one by webhooks, twice and in another order.
    let (mei, created) = (&disputes[0].0, disputes[0].1["events"][0].clone());
    let (reviewed, won) = (told("under_review", 0), told("won", 0));
    assert_eq!(arena.deliver(&created).await.status, 204);
    assert_eq!(state(mei).await, (json!("open"), false));
    admin.get(&format!("/admin/orders/{mei}?lang=en")).await.has(&["Payment disputed", "Answer by"]);
    for event in [&won, &reviewed, &won] {
        assert_eq!(arena.deliver(event).await.status, 204);
        assert_eq!(state(mei).await, (json!("won"), true));
    }
    let part = json!({"amount": cny(100), "reason": "x"});
    let refund = format!("/api/admin/orders/{mei}/refund-part");
    assert_eq!(admin.post(&refund, part).await.status, 200, "the money is the shop's again");
    // The second one by the bill, and its end by a question.
    let wang = &disputes[1].0;
    let day = arena.clock.now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let password = admin.password.clone().unwrap();
    arena.clock.advance(Duration::from_secs(26 * 3600));
    let admin = arena.shop.log_in("admin", &password).await;
    let shown = async || {
        let settled = arena.shop.parts.payments.settle("stripe", day).await.unwrap();
        assert_eq!(settled.problem, None);
        let cases = admin.get(&format!("/api/admin/orders/{wang}")).await.json()["order"]["cases"].clone();
        assert_eq!(cases.as_array().unwrap().len(), 1, "{cases}");
        (cases[0]["dispute"]["state"].clone(), cases[0]["reported"]["amount"].clone())
    };
    assert_eq!(shown().await, (json!("open"), json!(PRICE)));
    told("lost", 1);
    assert_eq!(shown().await, (json!("lost"), json!(PRICE)));
    assert_eq!(arena.shop.cases().await, [Disputed], "staff see it until they settle it");
    admin.get("/admin/orders?show=payments&lang=zh").await.has(&["败诉"]);
}

#[tokio::test]
async fn only_webhooks_signed_by_stripe_within_five_minutes_count() {
    let secrets = ["whsec_9876543210", SECRET].map(SecretString::from);
    let rotating = |config: &mut Config| config.payments.stripe.as_mut().unwrap().webhook_secrets = secrets.to_vec();
    let (arena, sale) = open_with(rotating).await.selling(3).await;
    let (mei, url, session) = arena.begin("mei", &sale).await;
    let events = arena.pay(&session).await;
    let by = |secret: &str| json!({"secret": secret});
    for (secret, ago) in [("whsec_another123", 0), (SECRET, 301), (SECRET, -301)] {
        let refused = arena.deliver_signed(&events[0], ago, by(secret)).await;
        assert_eq!(refused.problem(), problem(401, "bad_signature"), "{secret} {ago}");
    }
    arena.shop.visitor().post("/api/webhooks/payments/stripe", events[0].clone()).await.refuses(401, "bad_signature");
    assert_eq!(status_of(&mei, &url).await, "unpaid");
    assert_eq!(arena.deliver_signed(&events[0], 300, by("whsec_9876543210")).await.status, 204, "the next secret");
    assert_eq!(status_of(&mei, &url).await, "paid");
    assert_eq!(arena.deliver_signed(&events[1], 0, by(SECRET)).await.status, 204, "the one before it");
}

#[tokio::test]
async fn session_is_begun_once_although_its_answer_is_lost() {
    let (arena, sale) = open().await.selling(3).await;
    arena.fake.lie("POST /v1/checkout/sessions", "drop", 1);
    let (mei, url, _) = arena.begin("mei", &sale).await;
    assert_eq!(arena.fake.state()["sessions"].as_array().unwrap().len(), 1, "the same request was repeated");
    // The answer does not come in time.
    arena.fake.lie("POST /v1/checkout/sessions", "hang", 1);
    let wang = arena.begin("wang", &sale).await;
    assert_eq!(arena.fake.state()["sessions"].as_array().unwrap().len(), 2);
    // A fault after the session was made: the shopper gets no address, and the next try makes another session.
    arena.fake.lie("POST /v1/checkout/sessions", 500, 1);
    mei.post(&format!("{url}/payments"), json!({})).await.refuses(503, "unavailable");
    arena.fake.lie("POST /v1/checkout/sessions", 429, 1);
    assert_eq!(mei.post(&format!("{url}/payments"), json!({})).await.problem(), problem(503, "unavailable"));
    let session = arena.again(&mei, &url).await;
    arena.deliver(&arena.pay(&session).await[0]).await;
    assert_eq!(status_of(&mei, &url).await, "paid");
    assert_eq!(status_of(&wang.0, &wang.1).await, "unpaid");
}

#[tokio::test]
async fn doctor_says_whether_stripe_accepts_the_key_without_showing_it() {
    let fake = fake();
    let check = async |config: StripeConfig| {
        let stripe = Stripe::new(&config, &ClientTls::default(), "http://127.0.0.1:8080").unwrap();
        stripe.check().await.map_err(|error| format!("{error:#}"))
    };
    assert_eq!(check(config(&fake)).await, Ok(()));
    let other = StripeConfig { secret_key: SecretString::from("sk_test_sesame6789"), ..config(&fake) };
    assert_eq!(check(other).await.unwrap_err(), "Stripe does not accept SECKILL_STRIPE_SECRET_KEY");
    let gone = StripeConfig { api: "http://127.0.0.1:1".into(), ..config(&fake) };
    assert!(check(gone).await.is_err_and(|error| !error.contains("sk_test")));
}

/// A CA, and a certificate of it for this machine, in a folder.
fn make_certificates(folder: &Path) {
    let run = |arguments: &str| {
        let mut command = Command::new("openssl");
        let done = command.args(arguments.split(' ')).current_dir(folder).output().expect("openssl is not installed");
        assert!(done.status.success(), "{arguments}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    run(&format!("req -x509 {key} -days 2 -subj /CN=ca -keyout ca.key -out ca.pem"));
    run(&format!("req -new {key} -subj /CN=stripe -keyout server.key -out server.csr"));
    std::fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1").unwrap();
    run("x509 -req -days 2 -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out server.pem");
}

#[tokio::test]
async fn stripe_is_asked_by_tls_and_its_certificate_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    make_certificates(folder.path());
    let fake = StandIn::start("stripe.mjs", &[KEY, SECRET, folder.path().to_str().unwrap()]);
    let config = StripeConfig { api: format!("https://127.0.0.1:{}", fake.port), ..config(&fake) };
    let check = async |ca: Option<PemFile>| {
        let stripe = Stripe::new(&config, &ClientTls::new(ca, None), "https://shop.example").unwrap();
        stripe.check().await.map_err(|error| format!("{error:#}"))
    };
    let ca = PemFile::read(&folder.path().join("ca.pem")).unwrap();
    assert_eq!(check(Some(ca)).await, Ok(()));
    let untrusted = check(None).await.unwrap_err();
    assert!(base::tls::repair(&untrusted).is_some(), "{untrusted}");
}

#[tokio::test]
async fn bill_of_stripe_is_compared_with_the_books_line_by_line() {
    open().await.settle_days().await;
}

#[tokio::test]
async fn payment_around_midnight_is_on_one_bill_of_stripe() {
    open().await.settle_midnight().await;
}

#[tokio::test]
async fn day_waits_for_the_day_before_at_stripe() {
    open().await.settle_after_a_day_that_cannot_be_read().await;
}
