//! The stand-ins of payment providers (`tests/providers`): a process for each test, a shop that is paid there, and what
//! every provider has to stand.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::support::assert_audit_finds_nothing;
use super::*;
use domain::CaseKind::{self, UnexpectedRefund};

pub const PRICE: i64 = 199_900;

/// A stand-in.
pub struct StandIn {
    process: Child,
    commands: RefCell<ChildStdin>,
    answers: RefCell<BufReader<ChildStdout>>,
    pub port: u16,
}

impl StandIn {
    pub fn start(script: &str, arguments: &[&str]) -> StandIn {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/providers");
        assert!(folder.join("node_modules").exists(), "run this first: npm --prefix tests/providers ci");
        let mut command = Command::new("node");
        command.arg(folder.join(script)).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("node is not installed");
        let mut answers = BufReader::new(process.stdout.take().unwrap());
        let commands = RefCell::new(process.stdin.take().unwrap());
        let mut port = String::new();
        answers.read_line(&mut port).unwrap();
        StandIn { port: port.trim().parse().unwrap(), process, commands, answers: RefCell::new(answers) }
    }

    pub fn api(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn ask(&self, command: &Value) -> Value {
        writeln!(self.commands.borrow_mut(), "{command}").unwrap();
        let mut answer = String::new();
        self.answers.borrow_mut().read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{command}: {error}: {answer}"))
    }

    /// The notices of what somebody does at the provider.
    pub fn events(&self, command: Value) -> Vec<Value> {
        self.ask(&command)["events"].as_array().unwrap_or_else(|| panic!("{command} was refused")).clone()
    }

    /// Lies about such requests, so many times.
    pub fn lie(&self, at: &str, how: impl Into<Value>, times: i64) {
        self.ask(&json!({"do": "lie", "at": at, "as": how.into(), "times": times}));
    }

    pub fn state(&self) -> Value {
        self.ask(&json!({"do": "state"}))
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let faults = self.state()["faults"].clone();
            assert_eq!(faults, json!([]), "the shop's requests differ from the client's");
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A key of the stand-ins.
pub fn test_key(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/providers/keys");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// How a provider is told apart from the others.
pub struct Kind {
    pub name: &'static str,
    /// The status of the answer to a notice that was accepted.
    pub accepted: u16,
    /// The stand-in's name of a payment, from the answer that began it.
    pub payment: fn(&StandIn, &Value) -> String,
    /// The requests that close a payment and that refund one, as lies name them.
    pub closing: &'static str,
    pub refunding: &'static str,
}

/// A place of a notice, another value there, and what becomes of it: a case or nothing, or the status of a refusal.
pub type OtherNotice = (&'static str, Value, Result<Option<CaseKind>, u16>);

/// A shop that is paid by one provider.
pub struct Arena {
    pub kind: &'static Kind,
    pub fake: StandIn,
    pub shop: TestShop,
    pub clock: Clock,
}

impl Arena {
    pub async fn open(kind: &'static Kind, fake: StandIn, change: impl FnOnce(&mut Config, &StandIn)) -> Arena {
        let clock = Clock::manual(Clock::system().now());
        let shop = TestShop::build(|config| change(config, &fake), clock.clone()).await;
        Arena { kind, fake, shop, clock }
    }

    /// A shopper who begins to pay, with the order's address and the payment's name at the stand-in.
    pub async fn begin(&self, name: &str, sale: &str) -> (TestClient<'_>, String, String) {
        let who = self.shop.shopper(name).await;
        let url = who.buy(sale, 1).await.json()["status_url"].as_str().unwrap().to_owned();
        let payment = self.again(&who, &url).await;
        (who, url, payment)
    }

    /// Begins a payment of the order.
    pub async fn again(&self, who: &TestClient<'_>, url: &str) -> String {
        let begun = who.post(&format!("{url}/payments?lang=en"), json!({})).await;
        assert_eq!(begun.status, 201, "{begun:?}");
        (self.kind.payment)(&self.fake, &begun.json())
    }

    pub async fn deliver(&self, event: &Value) -> TestResponse {
        self.deliver_signed(event, 0, json!({})).await
    }

    /// Delivers a notice that was signed so many seconds ago, with other keys, if there are some.
    pub async fn deliver_signed(&self, event: &Value, ago: i64, keys: Value) -> TestResponse {
        let mut command = json!({"do": "sign", "event": event, "at": self.clock.now().as_second() - ago});
        command.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        let signed = self.fake.ask(&command);
        let headers = signed["headers"].as_object().unwrap();
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
        self.send(&headers, signed["body"].as_str().unwrap()).await
    }

    pub async fn send(&self, headers: &[(&str, &str)], body: &str) -> TestResponse {
        let path = format!("/api/webhooks/payments/{}", self.kind.name);
        self.shop.visitor().send("POST", &path, headers, body.to_owned()).await
    }

    pub async fn pay(&self, payment: &str) -> Vec<Value> {
        self.fake.events(json!({"do": "pay", "payment": payment}))
    }

    /// Makes the refunds that are due, and returns their number.
    pub async fn refunds(&self) -> usize {
        self.clock.advance(Duration::from_secs(5));
        self.shop.parts.payments.refund_due().await.unwrap()
    }

    /// Makes refunds until none is due.
    pub async fn all_refunds(&self) {
        for _ in 0..5 {
            if self.refunds().await == 0 {
                return;
            }
        }
        panic!("refunds are not made");
    }

    /// The amounts of the refunds that the stand-in made, the newest first.
    pub fn refunded(&self) -> Vec<i64> {
        self.fake.state()["refunds"].as_array().unwrap().iter().map(|made| made["amount"].as_i64().unwrap()).collect()
    }

    /// Delivers a notice that differs from a true one in a place. Returns the kinds of cases that there are, each once.
    pub async fn deliver_other(
        &self,
        event: &Value,
        place: &str,
        value: &Value,
        number: usize,
    ) -> (u16, Vec<CaseKind>) {
        let mut other = event.clone();
        for id in ["id", "notify_id"] {
            other.as_object_mut().unwrap().entry(id).and_modify(|id| *id = format!("other-{number}").into());
        }
        *other.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = value.clone();
        let status = self.deliver(&other).await.status.as_u16();
        let mut cases = self.shop.cases().await;
        cases.sort_by_key(|case| case.as_str());
        cases.dedup();
        (status, cases)
    }

    /// Each notice differs from a true one in one place, and pays nothing: it is the case of the row or ignored, or it is
    /// malformed. Then the true one pays.
    pub async fn compare(&self, rows: &[OtherNotice]) {
        let admin = self.shop.admin().await;
        let sale = self.shop.open_sale(&admin, 3).await;
        let (mei, url, payment) = self.begin("mei", &sale).await;
        let event = self.pay(&payment).await.remove(0);
        let mut expected = Vec::<CaseKind>::new();
        for (number, (place, value, outcome)) in rows.iter().enumerate() {
            let (status, cases) = self.deliver_other(&event, place, value, number).await;
            assert_eq!(status, outcome.err().unwrap_or(self.kind.accepted), "{place} {value}");
            expected.extend(outcome.ok().flatten());
            expected.sort_by_key(|case| case.as_str());
            expected.dedup();
            assert_eq!(cases, expected, "{place} {value}");
            assert_eq!(status_of(&mei, &url).await, "unpaid", "{place} {value}");
        }
        assert_eq!(self.deliver(&event).await.status, self.kind.accepted);
        assert_eq!(status_of(&mei, &url).await, "paid", "the right report pays, whatever the wrong ones said");
    }

    /// Payment and cancellation have one winner.
    pub async fn pay_and_cancel(&self, closed: &str) {
        let admin = self.shop.admin().await;
        let sale = self.shop.open_sale(&admin, 3).await;
        // Paid before the cancellation, which did not know: the money goes back.
        let (mei, url, payment) = self.begin("mei", &sale).await;
        let events = self.pay(&payment).await;
        assert_eq!(mei.post(&format!("{url}/cancel"), json!({})).await.status, 200);
        assert_eq!(self.deliver(&events[0]).await.status, self.kind.accepted);
        assert_eq!(status_of(&mei, &url).await, "refund_pending");
        assert_eq!(self.refunds().await, 1);
        assert_eq!(status_of(&mei, &url).await, "refunded");
        assert_eq!(self.refunded(), [PRICE]);
        // The same, found by closing the payment.
        let (wang, url, payment) = self.begin("wang", &sale).await;
        self.pay(&payment).await;
        wang.post(&format!("{url}/cancel"), json!({})).await;
        assert_eq!(self.shop.parts.payments.close_due().await.unwrap(), 1);
        assert_eq!((status_of(&wang, &url).await, self.refunds().await), ("refund_pending".to_owned(), 1));
        assert_eq!(status_of(&wang, &url).await, "refunded");
        // Cancelled first: no money is taken.
        let (zhao, url, payment) = self.begin("zhao", &sale).await;
        zhao.post(&format!("{url}/cancel"), json!({})).await;
        assert_eq!(self.shop.parts.payments.close_due().await.unwrap(), 1);
        assert_eq!(self.fake.ask(&json!({"do": "pay", "payment": payment}))["refused"], closed);
        assert_eq!((status_of(&zhao, &url).await, self.shop.cases().await), ("cancelled".to_owned(), vec![]));
        assert_audit_finds_nothing(&self.shop).await;
    }

    /// A payment whose notice is lost is found by asking.
    pub async fn lose_notices(&self) {
        let admin = self.shop.admin().await;
        let sale = self.shop.open_sale(&admin, 3).await;
        let payments = &self.shop.parts.payments;
        let (mei, url, payment) = self.begin("mei", &sale).await;
        self.clock.advance(Duration::from_secs(15));
        assert_eq!(payments.ask_due().await.unwrap(), 1);
        assert_eq!(status_of(&mei, &url).await, "unpaid");
        let late = self.pay(&payment).await;
        self.clock.advance(Duration::from_secs(15));
        assert_eq!(payments.ask_due().await.unwrap(), 1);
        assert_eq!(status_of(&mei, &url).await, "paid");
        let told = self.deliver(&late[0]).await.status;
        assert_eq!((told.as_u16(), self.shop.cases().await), (self.kind.accepted, vec![]), "it comes late");

        // Paid in the last second, while the provider does not answer at first.
        let (wang, url, payment) = self.begin("wang", &sale).await;
        self.pay(&payment).await;
        self.clock.advance(Duration::from_secs(30 * 60));
        self.fake.lie(self.kind.closing, "lost", 2);
        assert_eq!(payments.close_due().await.unwrap(), 1);
        assert_eq!(self.shop.parts.expiry().cancel_overdue().await.unwrap(), 0, "the order waits for the answer");
        self.clock.advance(Duration::from_secs(10));
        assert_eq!(payments.close_due().await.unwrap(), 1);
        assert_eq!(status_of(&wang, &url).await, "paid");
    }

    /// Refunds are made once, whatever is lost.
    pub async fn lose_refunds(&self) {
        let admin = self.shop.admin().await;
        let sale = self.shop.open_sale(&admin, 3).await;
        let (mei, url, payment) = self.begin("mei", &sale).await;
        self.deliver(&self.pay(&payment).await[0]).await;
        let order = mei.get(&url).await.json()["order"]["id"].as_str().unwrap().to_owned();
        let part = json!({"amount": {"amount": 500, "currency": "CNY"}, "to": "payer", "reason": "scratched"});
        let refund = format!("/api/admin/orders/{order}/refund");
        assert_eq!(admin.post(&format!("{refund}-part"), part).await.status, 200);
        // The provider makes the refund, and answers with a fault.
        self.fake.lie(self.kind.refunding, 500, 1);
        self.all_refunds().await;
        assert_eq!((self.refunded(), status_of(&mei, &url).await), (vec![500], "paid".to_owned()));
        // The connection breaks after the refund was made.
        assert_eq!(admin.post(&refund, json!({"reason": "sent back"})).await.status, 200);
        self.fake.lie(self.kind.refunding, "drop", 1);
        self.all_refunds().await;
        assert_eq!((self.refunded(), status_of(&mei, &url).await), (vec![PRICE - 500, 500], "refunded".to_owned()));
        assert_audit_finds_nothing(&self.shop).await;
    }

    /// A refund by somebody at the provider is a case.
    pub async fn refund_by_hand(&self) {
        let admin = self.shop.admin().await;
        let sale = self.shop.open_sale(&admin, 3).await;
        let (_, _, payment) = self.begin("mei", &sale).await;
        self.deliver(&self.pay(&payment).await[0]).await;
        let refunded = self.fake.events(json!({"do": "refund", "payment": payment, "amount": 300}));
        for _ in 0..2 {
            assert_eq!(self.deliver(&refunded[0]).await.status, self.kind.accepted);
        }
        assert_eq!(self.shop.cases().await, [UnexpectedRefund]);
    }
}

pub async fn status_of(who: &TestClient<'_>, url: &str) -> String {
    who.get(url).await.json()["order"]["status"].as_str().unwrap().to_owned()
}

/// The id of the order behind an address.
pub async fn order_at(who: &TestClient<'_>, url: &str) -> String {
    who.get(url).await.json()["order"]["id"].as_str().unwrap().to_owned()
}
