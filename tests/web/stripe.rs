//! Payments by Stripe, against a stand-in that keeps state, compares every request with what Stripe's own client would
//! send, and signs webhooks with it (`tests/providers/stripe.mjs`).

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use secrecy::SecretString;

use super::support::assert_audit_finds_nothing;
use super::*;
use base::config::{PaymentProvider, StripeConfig};
use base::tls::{ClientTls, PemFile};
use domain::CaseKind::{self, *};
use payments::Stripe;

const KEY: &str = "sk_test_0123456789";
const SECRET: &str = "whsec_0123456789";
const PRICE: i64 = 199_900;

/// The stand-in: a process for each test.
struct FakeStripe {
    process: Child,
    commands: RefCell<ChildStdin>,
    answers: RefCell<BufReader<ChildStdout>>,
    port: u16,
}

impl FakeStripe {
    fn start() -> FakeStripe {
        FakeStripe::start_with(&[])
    }

    /// With the folder of a certificate it speaks TLS.
    fn start_with(tls: &[&Path]) -> FakeStripe {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/providers");
        assert!(folder.join("node_modules").exists(), "run this first: npm --prefix tests/providers ci");
        let mut command = Command::new("node");
        command
            .arg(folder.join("stripe.mjs"))
            .args([KEY, SECRET])
            .args(tls)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = command.spawn().expect("node is not installed");
        let mut answers = BufReader::new(process.stdout.take().unwrap());
        let commands = RefCell::new(process.stdin.take().unwrap());
        let mut port = String::new();
        answers.read_line(&mut port).unwrap();
        FakeStripe { port: port.trim().parse().unwrap(), process, commands, answers: RefCell::new(answers) }
    }

    fn ask(&self, command: &Value) -> Value {
        writeln!(self.commands.borrow_mut(), "{command}").unwrap();
        let mut answer = String::new();
        self.answers.borrow_mut().read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{command}: {error}: {answer}"))
    }

    /// The events of what somebody does at Stripe.
    fn events(&self, command: Value) -> Vec<Value> {
        self.ask(&command)["events"].as_array().unwrap_or_else(|| panic!("{command} was refused")).clone()
    }

    fn lie(&self, at: &str, how: impl Into<Value>, times: i64) {
        self.ask(&json!({"do": "lie", "at": at, "as": how.into(), "times": times}));
    }

    fn config(&self) -> StripeConfig {
        StripeConfig {
            secret_key: SecretString::from(KEY),
            webhook_secrets: vec![SecretString::from(SECRET)],
            api: format!("http://127.0.0.1:{}", self.port),
            is_test: true,
        }
    }
}

impl Drop for FakeStripe {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let faults = self.ask(&json!({"do": "state"}))["faults"].clone();
            assert_eq!(faults, json!([]), "the shop's requests differ from the official client's");
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A shop that is paid by Stripe, and a shopper with an order.
struct Arena {
    stripe: FakeStripe,
    shop: TestShop,
    clock: Clock,
}

impl Arena {
    async fn open() -> Arena {
        Arena::open_with(|_| {}).await
    }

    async fn open_with(change: impl FnOnce(&mut Config)) -> Arena {
        let (stripe, clock) = (FakeStripe::start(), Clock::manual(Clock::system().now()));
        let build = |config: &mut Config| {
            config.payments.offered = vec![PaymentProvider::Stripe];
            config.payments.stripe = Some(stripe.config());
            change(config);
        };
        let shop = TestShop::build(build, clock.clone()).await;
        Arena { stripe, shop, clock }
    }

    /// A shopper who begins to pay, with the order's address and the session.
    async fn begin(&self, name: &str, sale: &str) -> (TestClient<'_>, String, String) {
        let who = self.shop.shopper(name).await;
        let url = who.buy(sale, 1).await.json()["status_url"].as_str().unwrap().to_owned();
        let session = self.again(&who, &url).await;
        (who, url, session)
    }

    /// Begins a payment of the order and returns its session.
    async fn again(&self, who: &TestClient<'_>, url: &str) -> String {
        let begun = who.post(&format!("{url}/payments?lang=en"), json!({})).await.json();
        let checkout = begun["checkout_url"].as_str().unwrap_or_else(|| panic!("{begun}"));
        checkout.strip_prefix("https://checkout.stripe.com/c/pay/").unwrap().to_owned()
    }

    async fn deliver(&self, event: &Value) -> TestResponse {
        self.deliver_signed(event, SECRET, 0).await
    }

    /// Delivers an event that was signed so many seconds ago.
    async fn deliver_signed(&self, event: &Value, secret: &str, ago: i64) -> TestResponse {
        let at = self.clock.now().as_second() - ago;
        let signed = self.stripe.ask(&json!({"do": "sign", "event": event, "secret": secret, "at": at}));
        let headers = [("stripe-signature", signed["header"].as_str().unwrap()), ("content-type", "application/json")];
        let body = signed["body"].as_str().unwrap().to_owned();
        self.shop.visitor().send("POST", "/api/webhooks/payments/stripe", &headers, body).await
    }

    async fn pay(&self, session: &str) -> Vec<Value> {
        self.stripe.events(json!({"do": "pay", "session": session}))
    }

    async fn refunds(&self) -> usize {
        self.clock.advance(Duration::from_secs(5));
        self.shop.parts.payments.refund_due().await.unwrap()
    }

    fn state(&self) -> Value {
        self.stripe.ask(&json!({"do": "state"}))
    }
}

async fn status(who: &TestClient<'_>, url: &str) -> String {
    who.get(url).await.json()["order"]["status"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn payment_by_stripe_is_reported_twice_and_in_any_order_and_pays_once() {
    let arena = Arena::open().await;
    let admin = arena.shop.admin().await;
    let sale = arena.shop.open_sale(&admin, 3).await;
    let (mei, url, session) = arena.begin("mei", &sale).await;
    let begun = &arena.state()["sessions"][0];
    let asked = (begun["amount_total"].as_i64(), &begun["currency"]);
    assert_eq!(asked, (Some(PRICE), &"cny".into()));
    let ahead = begun["expires_at"].as_i64().unwrap() - arena.clock.now().as_second();
    assert_eq!(ahead, 32 * 60, "a session lasts longer than the order waits");

    let mut events = arena.pay(&session).await;
    events.reverse();
    for event in events.iter().chain(&events) {
        assert_eq!(arena.deliver(event).await.status, 204);
        assert_eq!(status(&mei, &url).await, "paid");
    }
    assert_eq!(arena.shop.cases().await, []);
    assert_audit_finds_nothing(&arena.shop).await;
    let order = mei.get(&url).await.json()["order"]["id"].as_str().unwrap().to_owned();
    let json = admin.get(&format!("/api/admin/orders/{order}")).await.json();
    assert_eq!(json["order"]["payments"][0]["reference"], session, "{json}");
    assert!(admin.get(&format!("/admin/orders/{order}?lang=en")).await.text().contains(&session));
}

#[tokio::test]
async fn pages_lead_to_stripe_and_say_that_it_is_a_test() {
    let arena = Arena::open().await;
    let admin = arena.shop.admin().await;
    let sale = arena.shop.open_sale(&admin, 3).await;
    let mei = arena.shop.shopper("mei").await;
    let order = mei.buy(&sale, 1).await.json()["order"]["id"].as_str().unwrap().to_owned();
    let page = mei.get(&format!("/en/orders/{sale}/{order}")).await;
    assert!(page.text().contains("Test mode: no money is taken"), "{page:?}");
    let address = format!("{}&then=pay&from=stripe", addresses::FORM);
    let led = mei.send_form(&format!("/en/orders/{sale}/{order}/address"), &address).await;
    assert_eq!(led.status, 303);
    let to = led.header("location").to_owned();
    assert!(to.starts_with("/en/payments/"), "forms may lead to the shop only: {to}");
    let leads = mei.get(&to).await;
    assert!(leads.text().contains("content=\"0;url=https://checkout.stripe.com/c/pay/cs_test_"), "{leads:?}");
    for path in ["/admin?lang=en", "/admin/orders?lang=en", "/admin/users?lang=en", "/admin/orders/payments?lang=en"] {
        assert!(admin.get(path).await.text().contains("the payment provider has test keys"), "{path}");
    }
    let list = admin.get("/admin?lang=en").await;
    assert!(list.text().contains("data-payments=\"stripe\""), "{list:?}");
    let wallet = mei.send_form("/zh/wallet/top-ups", "amount=100").await;
    assert!(wallet.header("location").starts_with("/zh/payments/"), "{wallet:?}");
}

#[tokio::test]
async fn shoppers_choose_among_several_providers() {
    let both = vec![PaymentProvider::Sandbox, PaymentProvider::Stripe];
    let arena = Arena::open_with(|config| config.payments.offered = both).await;
    let admin = arena.shop.admin().await;
    let sale = arena.shop.open_sale(&admin, 3).await;
    let mei = arena.shop.shopper("mei").await;
    let bought = mei.buy(&sale, 1).await.json();
    let (url, order) = (bought["status_url"].as_str().unwrap(), bought["order"]["id"].as_str().unwrap());
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
    assert_eq!(status(&mei, url).await, "paid");
}

#[tokio::test]
async fn payer_whose_card_is_refused_tries_again() {
    let arena = Arena::open().await;
    let admin = arena.shop.admin().await;
    let sale = arena.shop.open_sale(&admin, 3).await;
    let (mei, url, session) = arena.begin("mei", &sale).await;
    let declined = arena.stripe.events(json!({"do": "decline", "session": session}));
    assert_eq!(arena.deliver(&declined[0]).await.status, 204);
    assert_eq!(arena.shop.parts.payments.close_due().await.unwrap(), 0, "the payer is still at Stripe's page");

    // A slow method ends the session, so the payer needs another one.
    let slow = arena.stripe.events(json!({"do": "pay", "session": session, "slow": true}));
    assert_eq!(arena.deliver(&slow[0]).await.status, 204);
    assert_eq!(status(&mei, &url).await, "unpaid");
    let failed = arena.stripe.events(json!({"do": "settle", "session": session, "good": false}));
    assert_eq!(arena.deliver(&failed[0]).await.status, 204);
    assert_eq!(mei.get(&url).await.json()["order"]["payment_declined"], true);
    let second = arena.again(&mei, &url).await;
    for event in arena.pay(&second).await {
        arena.deliver(&event).await;
    }
    assert_eq!((status(&mei, &url).await, arena.shop.cases().await), ("paid".to_owned(), vec![]));
}

#[tokio::test]
async fn payment_and_cancellation_have_one_winner_at_stripe() {
    let arena = Arena::open().await;
    let admin = arena.shop.admin().await;
    let sale = arena.shop.open_sale(&admin, 3).await;
    // Paid before the cancellation, which did not know: the money goes back.
    let (mei, url, session) = arena.begin("mei", &sale).await;
    let events = arena.pay(&session).await;
    assert_eq!(mei.post(&format!("{url}/cancel"), json!({})).await.status, 200);
    assert_eq!(arena.deliver(&events[0]).await.status, 204);
    assert_eq!(status(&mei, &url).await, "refund_pending");
    assert_eq!(arena.refunds().await, 1);
    assert_eq!(status(&mei, &url).await, "refunded");
    assert_eq!(arena.state()["refunds"][0]["amount"], PRICE);
    // The same, found by closing the session.
    let (wang, url, session) = arena.begin("wang", &sale).await;
    arena.pay(&session).await;
    wang.post(&format!("{url}/cancel"), json!({})).await;
    assert_eq!(arena.shop.parts.payments.close_due().await.unwrap(), 1);
    assert_eq!((status(&wang, &url).await, arena.refunds().await), ("refund_pending".to_owned(), 1));
    assert_eq!(status(&wang, &url).await, "refunded");
    // Cancelled first: the session takes no money.
    let (zhao, url, session) = arena.begin("zhao", &sale).await;
    zhao.post(&format!("{url}/cancel"), json!({})).await;
    assert_eq!(arena.shop.parts.payments.close_due().await.unwrap(), 1);
    assert_eq!(arena.stripe.ask(&json!({"do": "pay", "session": session}))["refused"], "expired");
    assert_eq!((status(&zhao, &url).await, arena.shop.cases().await), ("cancelled".to_owned(), vec![]));
    assert_audit_finds_nothing(&arena.shop).await;
}

#[tokio::test]
async fn payment_whose_webhook_is_lost_is_found_by_asking_stripe() {
    let arena = Arena::open().await;
    let admin = arena.shop.admin().await;
    let sale = arena.shop.open_sale(&admin, 3).await;
    let payments = &arena.shop.parts.payments;
    let (mei, url, session) = arena.begin("mei", &sale).await;
    arena.clock.advance(Duration::from_secs(15));
    assert_eq!(payments.ask_due().await.unwrap(), 1);
    assert_eq!(status(&mei, &url).await, "unpaid");
    let late = arena.pay(&session).await;
    arena.clock.advance(Duration::from_secs(15));
    assert_eq!(payments.ask_due().await.unwrap(), 1);
    assert_eq!(status(&mei, &url).await, "paid");
    assert_eq!(
        (arena.deliver(&late[0]).await.status.as_u16(), arena.shop.cases().await),
        (204, vec![]),
        "it comes late"
    );

    // Paid in the last second, while Stripe does not answer at first.
    let (wang, url, session) = arena.begin("wang", &sale).await;
    arena.pay(&session).await;
    arena.clock.advance(Duration::from_secs(30 * 60));
    arena.stripe.lie("/v1/checkout/sessions/", "lost", 2);
    assert_eq!(payments.close_due().await.unwrap(), 1);
    assert_eq!(arena.shop.parts.expiry().cancel_overdue().await.unwrap(), 0, "the order waits for the answer");
    arena.clock.advance(Duration::from_secs(10));
    assert_eq!(payments.close_due().await.unwrap(), 1);
    assert_eq!(status(&wang, &url).await, "paid");
}

#[tokio::test]
async fn refunds_at_stripe_are_made_once_whatever_is_lost() {
    let arena = Arena::open().await;
    let admin = arena.shop.admin().await;
    let sale = arena.shop.open_sale(&admin, 3).await;
    let (mei, url, session) = arena.begin("mei", &sale).await;
    arena.deliver(&arena.pay(&session).await[0]).await;
    let order = mei.get(&url).await.json()["order"]["id"].as_str().unwrap().to_owned();
    let part = json!({"amount": {"amount": 500, "currency": "CNY"}, "to": "payer", "reason": "scratched"});
    let refund = format!("/api/admin/orders/{order}/refund");
    assert_eq!(admin.post(&format!("{refund}-part"), part).await.status, 200);
    // Stripe makes the refund and answers with a fault, which it repeats for the same key.
    arena.stripe.lie("POST /v1/refunds", 500, 1);
    assert_eq!(arena.refunds().await, 1);
    assert_eq!(arena.state()["refunds"].as_array().unwrap().len(), 1);
    assert_eq!((arena.refunds().await, arena.refunds().await), (1, 0), "found at the second attempt");
    // The connection breaks after the refund was made.
    assert_eq!(admin.post(&refund, json!({"reason": "sent back"})).await.status, 200);
    arena.stripe.lie("POST /v1/refunds", "drop", 1);
    assert_eq!((arena.refunds().await, arena.refunds().await), (1, 0));
    assert_eq!(status(&mei, &url).await, "refunded");
    let amounts: Vec<i64> =
        arena.state()["refunds"].as_array().unwrap().iter().map(|made| made["amount"].as_i64().unwrap()).collect();
    assert_eq!(amounts, [PRICE - 500, 500]);
    assert_audit_finds_nothing(&arena.shop).await;
}

#[tokio::test]
async fn slow_refund_ends_by_its_webhook_and_a_failed_one_is_a_case() {
    let arena = Arena::open().await;
    let admin = arena.shop.admin().await;
    let sale = arena.shop.open_sale(&admin, 3).await;
    for (name, outcome, expected) in [("mei", "succeeded", "refunded"), ("wang", "failed", "refund_pending")] {
        let (who, url, session) = arena.begin(name, &sale).await;
        arena.deliver(&arena.pay(&session).await[0]).await;
        let order = who.get(&url).await.json()["order"]["id"].as_str().unwrap().to_owned();
        arena.stripe.ask(&json!({"do": "refunds", "status": "pending"}));
        admin.post(&format!("/api/admin/orders/{order}/refund"), json!({"reason": "sent back"})).await;
        assert_eq!((arena.refunds().await, arena.refunds().await), (1, 1), "asked again, and made once");
        assert_eq!(status(&who, &url).await, "refund_pending");
        let ended = arena.stripe.events(json!({"do": "finish", "status": outcome}));
        for _ in 0..2 {
            assert_eq!(arena.deliver(&ended[0]).await.status, 204);
        }
        assert_eq!(status(&who, &url).await, expected);
    }
    assert_eq!(arena.shop.cases().await, [RefundFailed]);
    assert_eq!(arena.state()["refunds"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn what_stripe_reports_is_compared_with_what_was_asked_for() {
    let arena = Arena::open().await;
    let admin = arena.shop.admin().await;
    let sale = arena.shop.open_sale(&admin, 3).await;
    let (mei, url, session) = arena.begin("mei", &sale).await;
    let event = arena.pay(&session).await.remove(0);
    let (mut number, mut expected) = (0, Vec::<CaseKind>::new());
    let mut differs = async |place: &str, value: Value, case| {
        let mut other = event.clone();
        number += 1;
        other["id"] = format!("evt_other_{number}").into();
        *other.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = value;
        assert_eq!(arena.deliver(&other).await.status, 204, "{place}");
        expected.extend(case);
        let mut cases = arena.shop.cases().await;
        cases.sort_by_key(|case| case.as_str());
        cases.dedup();
        expected.sort_by_key(|case| case.as_str());
        expected.dedup();
        assert_eq!(cases, expected, "{place}");
        assert_eq!(status(&mei, &url).await, "unpaid", "{place}");
    };
    // Not about this shop, not paid yet, or nothing that the shop needs to know.
    differs("/data/object/metadata", json!({}), None).await;
    differs("/data/object/metadata", Value::Null, None).await;
    differs("/data/object/payment_status", "unpaid".into(), None).await;
    differs("/type", "customer.created".into(), None).await;
    // Another order, session, mode or account, and another payment.
    differs("/data/object/metadata/subject", "order 1".into(), Some(UnknownPayment)).await;
    differs("/data/object/id", "cs_test_other".into(), Some(UnknownPayment)).await;
    differs("/livemode", true.into(), Some(UnknownPayment)).await;
    differs("/data/object/metadata/payment", "something".into(), Some(UnknownPayment)).await;
    differs("/data/object/amount_total", 1.into(), Some(Mismatched)).await;
    differs("/data/object/currency", "usd".into(), Some(Mismatched)).await;
    for (place, value) in [("/data/object/currency", json!("zzz")), ("/data/object/amount_total", json!("1"))] {
        let mut other = event.clone();
        *other.pointer_mut(place).unwrap() = value;
        assert_eq!(arena.deliver(&other).await.status, 400, "{place}");
    }
    arena.deliver(&event).await;
    assert_eq!(status(&mei, &url).await, "paid", "the right report pays, whatever the wrong ones said");
}

#[tokio::test]
async fn dispute_and_refund_of_the_merchant_are_cases_of_the_payment() {
    let arena = Arena::open().await;
    let admin = arena.shop.admin().await;
    let sale = arena.shop.open_sale(&admin, 3).await;
    let (mei, url, session) = arena.begin("mei", &sale).await;
    arena.deliver(&arena.pay(&session).await[0]).await;
    let refunded = arena.stripe.events(json!({"do": "refund", "session": session, "amount": 300}));
    // They do not name the shop's payment, so Stripe is asked. While it does not answer, the webhook is to come again.
    arena.stripe.lie("/v1/payment_intents/", "lost", 2);
    assert_eq!(arena.deliver(&refunded[0]).await.status, 503);
    assert_eq!(arena.deliver(&refunded[0]).await.status, 204);
    assert_eq!(arena.shop.cases().await, [UnexpectedRefund]);
    let disputed = arena.stripe.events(json!({"do": "dispute", "session": session}));
    for _ in 0..2 {
        assert_eq!(arena.deliver(&disputed[0]).await.status, 204);
    }
    assert_eq!(arena.shop.cases().await, [Disputed, UnexpectedRefund]);
    let page = admin.get("/admin/orders/payments?lang=en").await;
    assert!(page.text().contains("fraudulent") && page.text().contains("¥1,999"), "{page:?}");
    let order = mei.get(&url).await.json()["order"]["id"].as_str().unwrap().to_owned();
    let refused = admin.post(&format!("/api/admin/orders/{order}/refund"), json!({"reason": "sent back"})).await;
    assert_eq!(refused.problem(), problem(409, "payment_disputed"));
}

#[tokio::test]
async fn only_webhooks_signed_by_stripe_within_five_minutes_count() {
    let secrets = ["whsec_9876543210", SECRET].map(SecretString::from);
    let rotating = |config: &mut Config| config.payments.stripe.as_mut().unwrap().webhook_secrets = secrets.to_vec();
    let arena = Arena::open_with(rotating).await;
    let admin = arena.shop.admin().await;
    let sale = arena.shop.open_sale(&admin, 3).await;
    let (mei, url, session) = arena.begin("mei", &sale).await;
    let events = arena.pay(&session).await;
    for (secret, ago) in [("whsec_another123", 0), (SECRET, 301), (SECRET, -301)] {
        let refused = arena.deliver_signed(&events[0], secret, ago).await;
        assert_eq!(refused.problem(), problem(401, "bad_signature"), "{secret} {ago}");
    }
    let bare = arena.shop.visitor().post("/api/webhooks/payments/stripe", events[0].clone()).await;
    assert_eq!(bare.problem(), problem(401, "bad_signature"));
    assert_eq!(status(&mei, &url).await, "unpaid");
    assert_eq!(arena.deliver_signed(&events[0], "whsec_9876543210", 300).await.status, 204, "the next secret");
    assert_eq!(status(&mei, &url).await, "paid");
    assert_eq!(arena.deliver_signed(&events[1], SECRET, 0).await.status, 204, "the one before it");
}

#[tokio::test]
async fn session_is_begun_once_although_its_answer_is_lost() {
    let arena = Arena::open().await;
    let admin = arena.shop.admin().await;
    let sale = arena.shop.open_sale(&admin, 3).await;
    arena.stripe.lie("POST /v1/checkout/sessions", "drop", 1);
    let (mei, url, _) = arena.begin("mei", &sale).await;
    assert_eq!(arena.state()["sessions"].as_array().unwrap().len(), 1, "the same request was repeated");
    // The answer does not come in time.
    arena.stripe.lie("POST /v1/checkout/sessions", "hang", 1);
    let wang = arena.begin("wang", &sale).await;
    assert_eq!(arena.state()["sessions"].as_array().unwrap().len(), 2);
    // A fault after the session was made: the shopper gets no address, and the next try makes another session.
    arena.stripe.lie("POST /v1/checkout/sessions", 500, 1);
    let failed = mei.post(&format!("{url}/payments"), json!({})).await;
    assert_eq!(failed.problem(), problem(503, "unavailable"));
    arena.stripe.lie("POST /v1/checkout/sessions", 429, 1);
    assert_eq!(mei.post(&format!("{url}/payments"), json!({})).await.problem(), problem(503, "unavailable"));
    let session = arena.again(&mei, &url).await;
    arena.deliver(&arena.pay(&session).await[0]).await;
    assert_eq!((status(&mei, &url).await, status(&wang.0, &wang.1).await), ("paid".to_owned(), "unpaid".to_owned()));
}

#[tokio::test]
async fn doctor_says_whether_stripe_accepts_the_key_without_showing_it() {
    let fake = FakeStripe::start();
    let check = async |config: StripeConfig| {
        let stripe = Stripe::new(&config, &ClientTls::default(), "http://127.0.0.1:8080").unwrap();
        stripe.check().await.map_err(|error| format!("{error:#}"))
    };
    assert_eq!(check(fake.config()).await, Ok(()));
    let other = StripeConfig { secret_key: SecretString::from("sk_test_sesame6789"), ..fake.config() };
    assert_eq!(check(other).await.unwrap_err(), "Stripe does not accept SECKILL_STRIPE_SECRET_KEY");
    let gone = StripeConfig { api: "http://127.0.0.1:1".into(), ..fake.config() };
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
    let fake = FakeStripe::start_with(&[folder.path()]);
    let config = StripeConfig { api: format!("https://127.0.0.1:{}", fake.port), ..fake.config() };
    let check = async |ca: Option<PemFile>| {
        let stripe = Stripe::new(&config, &ClientTls::new(ca, None), "https://shop.example").unwrap();
        stripe.check().await.map_err(|error| format!("{error:#}"))
    };
    let ca = PemFile::read(&folder.path().join("ca.pem")).unwrap();
    assert_eq!(check(Some(ca)).await, Ok(()));
    let untrusted = check(None).await.unwrap_err();
    assert!(base::tls::repair(&untrusted).is_some(), "{untrusted}");
}
