//! The stand-ins of payment providers (`tests/providers`): a process for each test, a shop that is paid there, and what
//! every provider has to stand.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::Offset;

use super::support::assert_audit_finds_nothing;
use super::*;
use domain::CaseKind::{self, BillDiffers, RefundFailed, UnexpectedRefund};
use domain::settlement::BillProblem::{AmountDiffers, MissingHere, MissingThere};
use domain::settlement::MovementKind;
use payments::settlement::SettleError;
use store::DaySettlement;

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
    /// The hours by which the provider's days begin before those of UTC.
    pub zone: i8,
    /// The requests for a bill and for its file, as lies name them.
    pub billing: &'static str,
    pub bill_file: &'static str,
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

/// See [`Arena::paid`].
pub struct Paid<'a> {
    pub who: TestClient<'a>,
    pub url: String,
    pub order: String,
    pub payment: String,
}

impl Arena {
    pub async fn open(kind: &'static Kind, fake: StandIn, change: impl FnOnce(&mut Config, &StandIn)) -> Arena {
        let clock = Clock::manual(Clock::system().now());
        let shop = TestShop::build(|config| change(config, &fake), clock.clone()).await;
        Arena { kind, fake, shop, clock }
    }

    /// The arena with an open sale of so many units.
    pub async fn selling(self, total: i64) -> (Arena, String) {
        let sale = self.shop.sell(total).await;
        (self, sale)
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
        let begun = who.post(&format!("{url}/payments?lang=en"), json!({})).await.is(201);
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

    /// Makes the refunds that are due within half a minute, also those that are tried again.
    async fn refunds_for_a_while(&self) {
        for _ in 0..6 {
            self.refunds().await;
        }
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
        let sale = self.shop.sell(3).await;
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
        let sale = self.shop.sell(3).await;
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
        let sale = self.shop.sell(3).await;
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
        let Paid { who: mei, url, order, .. } = self.paid("mei", &sale).await;
        let part = json!({"amount": cny(500), "to": "payer", "reason": "scratched"});
        let refund = format!("/api/admin/orders/{order}/refund");
        assert_eq!(admin.post(&format!("{refund}-part"), part).await.status, 200);
        // The provider makes the refund, and answers with a fault. The shop sends a request twice before it tries again later.
        self.fake.lie(self.kind.refunding, 500, 2);
        self.refunds_for_a_while().await;
        assert_eq!((self.refunded(), status_of(&mei, &url).await), (vec![500], "paid".to_owned()));
        // The connection breaks after the refund was made.
        assert_eq!(admin.post(&refund, json!({"reason": "sent back"})).await.status, 200);
        self.fake.lie(self.kind.refunding, "drop", 2);
        self.refunds_for_a_while().await;
        assert_eq!((self.refunded(), status_of(&mei, &url).await), (vec![PRICE - 500, 500], "refunded".to_owned()));
        assert_audit_finds_nothing(&self.shop).await;
    }

    /// Shop and provider come to the next noon in China, which is four o'clock in UTC. Returns the provider's day.
    pub fn noon(&self) -> Date {
        let now = self.clock.now();
        let ahead = (now.as_second() - 4 * 3600 + 1).rem_euclid(24 * 3600);
        self.advance(Duration::from_secs((24 * 3600 + 1 - ahead) as u64));
        self.today()
    }

    fn today(&self) -> Date {
        Offset::constant(self.kind.zone).to_datetime(self.clock.now()).date()
    }

    fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.fake.ask(&json!({"do": "clock", "at": self.clock.now().as_second()}));
    }

    /// An owner of the shop who has just signed in.
    async fn owner(&self, name: &str) -> TestClient<'_> {
        let user = self.shop.add_account(name, "", Role::Admin).await;
        self.shop.open_session(&user, SignedDuration::ZERO).await
    }

    async fn settle(&self, day: Date) -> DaySettlement {
        self.shop.parts.payments.settle(self.kind.name, day).await.unwrap()
    }

    /// A shopper who has paid, with the order's address and id, and the payment's name at the stand-in.
    pub async fn paid(&self, name: &str, sale: &str) -> Paid<'_> {
        let (who, url, payment) = self.begin(name, sale).await;
        self.deliver(&self.pay(&payment).await[0]).await;
        assert_eq!(status_of(&who, &url).await, "paid");
        Paid { order: order_at(&who, &url).await, who, url, payment }
    }

    /// A day's bill is compared with the books: it agrees, lacks lines, has others, and cannot be had.
    pub async fn settle_days(&self) {
        let (day, name) = (self.noon(), self.kind.name);
        let admin = self.shop.admin().await;
        let sale = self.shop.open_sale(&admin, 9).await;
        let (mei, wang) = (self.paid("mei", &sale).await.payment, self.paid("wang", &sale).await.payment);
        let (whole, part) = (self.paid("zhao", &sale).await.order, self.paid("qian", &sale).await.order);
        self.begin("sun", &sale).await;
        admin.refund(&whole).await.is(200);
        let scratched = json!({"amount": cny(500), "to": "payer", "reason": "scratched"});
        assert_eq!(admin.post(&format!("/api/admin/orders/{part}/refund-part"), scratched).await.status, 200);
        self.all_refunds().await;
        let payments = &self.shop.parts.payments;
        assert!(matches!(payments.settle(name, day).await, Err(SettleError::NotOver(_))));
        assert!(matches!(payments.settle("sandbox", day).await, Err(SettleError::NoProvider(_))));

        // Data control settles yesterday, once.
        self.noon();
        let admin = self.owner("li").await;
        assert_eq!((payments.settle_due().await.unwrap(), payments.settle_due().await.unwrap()), (1, 0));
        let agreed = self.shop.parts.store.payments().settlement(name, day).await.unwrap().unwrap();
        assert!(agreed.agrees(), "{agreed:?}");
        let sums = agreed.totals.sums.iter().map(|sum| (sum.kind, sum.here.amount, sum.there.amount, sum.lines));
        let refunded = PRICE + 500;
        let expected = [(MovementKind::Charge, 4 * PRICE, 4 * PRICE, 4), (MovementKind::Refund, refunded, refunded, 2)];
        assert_eq!(sums.collect::<Vec<_>>(), expected);
        let has = self.fake.ask(&json!({"do": "state"}))["sums"].clone();
        let fees = agreed.totals.fees[0].amount;
        let balance = 4 * PRICE - refunded - fees;
        let told = json!({"captured": 4 * PRICE, "refunded": refunded, "fees": fees, "balance": balance});
        assert!(fees > 0 && has == told, "the stand-in has {has}, the bill has {told}");
        assert_eq!(self.settle(day).await.totals, agreed.totals);

        // The bill lacks a line, has another amount, and one that the shop never heard of.
        self.fake.ask(&json!({"do": "bill", "lose": [mei], "amounts": {&wang: 199_800}, "add": 1234}));
        for _ in 0..2 {
            let settled = self.settle(day).await;
            assert_eq!((settled.is_settled(), settled.differences), (true, 3), "{settled:?}");
            assert_eq!(self.shop.cases().await, [BillDiffers; 3], "each difference is a case, once");
        }
        let rows = self.shop.parts.store.payments().bill_differences(name, day).await.unwrap();
        let mut told: Vec<_> = rows.iter().map(|row| (row.problem, row.here, row.there)).collect();
        told.sort_by_key(|(problem, ..)| *problem);
        let yuan = |amount| Some(domain::Money::new(amount, domain::Currency::CNY));
        let expected = [
            (MissingHere, None, yuan(1234)),
            (MissingThere, yuan(PRICE), None),
            (AmountDiffers, yuan(PRICE), yuan(199_800)),
        ];
        assert_eq!(told, expected);
        let page = admin.get(&format!("/admin/orders/books?show=settlements&lang=en&provider={name}&day={day}")).await;
        for part in ["3 differences", "Missing here", "¥12.34", "Missing there", "Amount differs", "Compare again"] {
            assert!(page.text().contains(part), "{part}: {}", page.text());
        }
        assert!(admin.get("/admin/orders?show=payments&lang=en").await.text().contains("on the bill"));
        let api = admin.get(&format!("/api/admin/settlements/{name}/{day}")).await.json();
        assert_eq!((&api["settlement"]["status"], &api["settlement"]["different"]), (&"differs".into(), &3.into()));
        assert_eq!(api["differences"].as_array().unwrap().len(), 3, "{api}");

        // What staff have looked into does not come back, and what agrees again settles its case.
        let case = admin.get("/api/admin/payment-cases").await.json()["cases"][0]["id"].as_str().unwrap().to_owned();
        let settle = format!("/api/admin/payment-cases/{case}/settle");
        assert_eq!(admin.post(&settle, json!({"reason": "looked into"})).await.status, 200);
        assert_eq!(self.settle(day).await.differences, 3);
        assert_eq!(self.shop.cases().await, [BillDiffers; 2]);

        // The bill cannot be had: everything stays as it was, with the reason, and it is tried again.
        self.fake.ask(&json!({"do": "bill"}));
        for (at, how) in [(self.kind.billing, json!("drop")), (self.kind.bill_file, json!(500))] {
            self.fake.lie(at, how, 2);
            let failed = self.settle(day).await;
            assert!(!failed.is_settled() && failed.problem.is_some() && failed.differences == 3, "{failed:?}");
            self.fake.ask(&json!({"do": "truth"}));
        }
        admin.get("/admin/orders/books?show=settlements&lang=en&day=2020-01-01").await.has(&["No matching days."]);
        admin.get("/admin/orders/books?show=settlements&lang=zh").await.has(&["未完成"]);
        self.clock.advance(Duration::from_secs(3 * 3600));
        let admin = self.owner("lan").await;
        assert_eq!(payments.settle_due().await.unwrap(), 1);
        assert!(self.settle(day).await.agrees());
        assert_eq!(self.shop.cases().await, []);

        // Staff ask for it.
        admin.send_form(&format!("/admin/orders/settlements/{name}/{day}/again?lang=en"), "").await.is(303);
        assert_eq!(admin.post(&format!("/api/admin/settlements/{name}/{day}/again"), json!({})).await.status, 200);
        assert_eq!((payments.settle_due().await.unwrap(), payments.settle_due().await.unwrap()), (1, 0));
        let (today, never) = (self.today(), format!("/api/admin/settlements/nobody/{day}"));
        admin.post(&format!("/api/admin/settlements/{name}/{today}/again"), json!({})).await.is(422);
        assert_eq!(admin.get(&never).await.status, 404);
        assert_eq!(admin.post(&format!("{never}/again"), json!({})).await.status, 404);
        assert_audit_finds_nothing(&self.shop).await;
    }

    /// A payment before midnight, of which the shop learns after it, is on the bill of the first day, and is missed on none.
    pub async fn settle_midnight(&self) {
        let day = self.noon();
        // A day on which nothing moved has no bill at most providers.
        self.noon();
        assert!(self.settle(day).await.agrees());
        let to_midnight = (24 - 4 - i64::from(self.kind.zone)) as u64 * 3600 - 60;
        self.advance(Duration::from_secs(to_midnight));
        let day = self.today();
        let sale = self.shop.sell(3).await;
        let (mei, url, payment) = self.begin("mei", &sale).await;
        let late = self.pay(&payment).await;
        self.advance(Duration::from_secs(120));
        let next = self.today();
        assert_eq!(next, day.tomorrow().unwrap());
        self.deliver(&late[0]).await;
        assert_eq!(status_of(&mei, &url).await, "paid");
        self.paid("wang", &sale).await;
        self.noon();
        self.noon();
        for day in [next, day, next] {
            let settled = self.settle(day).await;
            // Before the first day is settled, nothing says that its bill has the line.
            assert!(settled.is_settled(), "{settled:?}");
        }
        for day in [day, next] {
            let settled = self.settle(day).await;
            assert!(settled.agrees(), "{settled:?}");
            let charged = settled.totals.sums[0];
            assert_eq!((charged.here.amount, charged.there.amount, charged.lines), (PRICE, PRICE, 1));
        }
        assert_eq!(self.shop.cases().await, []);
        // A line that is on no bill is missed on one day.
        self.fake.ask(&json!({"do": "bill", "lose": [payment]}));
        let missed = [self.settle(day).await.differences, self.settle(next).await.differences];
        assert_eq!((missed, self.shop.cases().await), ([0, 1], vec![BillDiffers]));
    }

    /// A payment of the last minutes is missed on no bill while its own day cannot be settled.
    pub async fn settle_after_a_day_that_cannot_be_read(&self) {
        self.noon();
        self.advance(Duration::from_secs((24 - 4 - i64::from(self.kind.zone)) as u64 * 3600 - 60));
        let day = self.today();
        let sale = self.shop.sell(3).await;
        self.paid("mei", &sale).await;
        self.advance(Duration::from_secs(2 * 3600));
        let next = self.today();
        self.paid("wang", &sale).await;
        self.noon();
        self.noon();
        let payments = &self.shop.parts.payments;
        for day in [day, next] {
            payments.ask_for_settlement(self.kind.name, day).await.unwrap();
        }
        let stored =
            async |day| self.shop.parts.store.payments().settlement(self.kind.name, day).await.unwrap().unwrap();
        self.fake.lie(self.kind.billing, "drop", 2);
        payments.settle_due().await.unwrap();
        assert!(!stored(day).await.is_settled());
        assert_eq!(stored(next).await.problem.as_deref(), Some("the day before is not settled"));
        // A bill that may never be there is not waited for any longer.
        for _ in 0..3 {
            self.noon();
        }
        self.fake.lie(self.kind.billing, "drop", 2);
        payments.settle_due().await.unwrap();
        assert!(!stored(day).await.is_settled());
        assert!(stored(next).await.agrees());
        assert_eq!(self.shop.cases().await, []);
        assert!(self.settle(day).await.agrees());
        assert_eq!(stored(next).await.next_attempt_at, Some(jiff::Timestamp::UNIX_EPOCH), "and is compared again then");
        payments.settle_due().await.unwrap();
        assert!(stored(next).await.agrees());
        assert_eq!(self.shop.cases().await, []);
    }

    /// A refund that the provider has begun ends by its notice, and is a case when it fails. The words are the provider's.
    pub async fn end_slow_refunds(&self, sale: &str, begun: &str, made: &str, failed: &str) {
        let admin = self.shop.admin().await;
        for (name, outcome, expected) in [("mei", made, "refunded"), ("wang", failed, "refund_pending")] {
            let Paid { who, url, order, .. } = self.paid(name, sale).await;
            self.fake.ask(&json!({"do": "refunds", "status": begun}));
            admin.refund(&order).await;
            assert_eq!((self.refunds().await, self.refunds().await), (1, 1), "asked again, and made once");
            assert_eq!(status_of(&who, &url).await, "refund_pending");
            let ended = self.fake.events(json!({"do": "finish", "status": outcome}));
            for _ in 0..2 {
                assert_eq!(self.deliver(&ended[0]).await.status, self.kind.accepted);
            }
            assert_eq!(status_of(&who, &url).await, expected);
        }
        assert_eq!((self.shop.cases().await, self.refunded().len()), (vec![RefundFailed], 2));
    }

    /// A refund by somebody at the provider is a case.
    pub async fn refund_by_hand(&self) {
        let sale = self.shop.sell(3).await;
        let payment = self.paid("mei", &sale).await.payment;
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
