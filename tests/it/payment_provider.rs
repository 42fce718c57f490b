//! Payments at a provider that delays, repeats, reorders, loses and lies: every captured amount ends as paid or
//! refunded.
//!
//! The provider keeps its own books, and in the end the shop's are compared with them. The shop's jobs are cut off at
//! random points, as if their process ended there, and run twice at the same time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::http::HeaderMap;
use base::clock::Clock;
use base::metrics::Metrics;
use domain::PaymentStatus;
use domain::ledger::money;
use domain::{Locale, Money, OrderId, OrderStatus, PaymentId, RefundId, RefundTarget, SaleId, UserId};
use futures::stream::{self, StreamExt};
use jiff::Timestamp;
use payments::provider::{Charge, ChargeState, Charged, Provider, ProviderFacts, RefundOutcome, Report};
use payments::{PayerChoice, PaymentError, Payments, Providers};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use store::{
    AuditReason, CaseAction, Checkout, IfDisputed, LockPatience, NewPartialRefund, NewStaffRefund, PartialRefund,
    Payment, PaymentPurpose, Refund, StaffAction, StaffRefund, WALLET,
};
use uuid::Uuid;

use crate::support::pause;
use crate::wallet::WalletStore;

/// A payer who takes any provider.
fn any_provider() -> PayerChoice {
    let (provider, title, return_path) = (String::new(), String::new(), String::new());
    PayerChoice { provider, title, locale: Locale::Zh, return_path, phone: None }
}

/// Orders on SQLite, each in its own sale. PostgreSQL has twice as many.
const ORDERS: i64 = 150;
/// How long an order waits for its payment, once its shopper has come.
const PAYMENT_WINDOW: Duration = Duration::from_secs(4);
/// Shoppers at the same time.
const SHOPPERS: usize = 50;
const TIMEOUT: Duration = Duration::from_secs(400);

/// The provider's record of a payment.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Entry {
    Open(Money, Timestamp),
    Closed,
    Captured(Money),
    /// The money is on its way back. The number says how many more questions it takes to arrive.
    Refunding(Money, u32),
    Refunded(Money),
}

/// A webhook of the provider.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Message {
    id: String,
    event: String,
    payment: String,
    refund: Option<RefundId>,
    amount: Option<Money>,
}

struct Books {
    random: StdRng,
    entries: BTreeMap<PaymentId, Entry>,
    /// Partial refunds that were made, and refunds of the rest.
    refunds: BTreeMap<RefundId, (PaymentId, Money)>,
    /// Messages that were not delivered yet.
    messages: Vec<Message>,
}

struct Liar(Mutex<Books>);

fn now() -> Timestamp {
    Clock::system().now()
}

fn lost<T>() -> anyhow::Result<T> {
    anyhow::bail!("the answer is lost")
}

impl Books {
    fn chance(&mut self, percent: u32) -> bool {
        self.random.random_range(0..100) < percent
    }

    /// Reports an event never, once or several times, sometimes under another id.
    fn report(&mut self, event: &str, payment: impl ToString, amount: Option<Money>) {
        self.report_refund(event, payment, None, amount);
    }

    fn report_refund(&mut self, event: &str, payment: impl ToString, refund: Option<RefundId>, amount: Option<Money>) {
        if self.chance(15) {
            return;
        }
        let mut id = Uuid::new_v4().to_string();
        for _ in 0..self.random.random_range(1..4) {
            if self.chance(30) {
                id = Uuid::new_v4().to_string();
            }
            let payment = payment.to_string();
            let message = Message { id: id.clone(), event: event.into(), payment, refund, amount };
            self.messages.push(message);
        }
    }

    /// The payer pays. `false` if the payment is not open.
    fn pay(&mut self, id: PaymentId) -> bool {
        let Some(&Entry::Open(asked, expires_at)) = self.entries.get(&id) else { return false };
        if now() >= expires_at {
            return false;
        }
        let captured = if self.chance(6) { money(1) } else { asked };
        self.entries.insert(id, Entry::Captured(captured));
        let reported = if self.chance(6) { money(captured.amount + 1) } else { captured };
        self.report("payment.captured", id, Some(reported));
        if self.chance(5) {
            self.report("payment.declined", id, None);
        }
        if self.chance(5) {
            self.report("payment.disputed", id, Some(captured));
        }
        true
    }

    /// The sum of a payment's refunds with an amount.
    fn given_back(&self, payment: PaymentId) -> i64 {
        self.refunds.values().filter(|(of, _)| *of == payment).map(|(_, amount)| amount.amount).sum()
    }

    fn refund_part(&mut self, id: RefundId, payment: PaymentId, asked: Money) -> RefundOutcome {
        if self.refunds.contains_key(&id) {
            return RefundOutcome::Done;
        }
        let captured = match self.entries.get(&payment) {
            Some(Entry::Captured(amount) | Entry::Refunding(amount, _) | Entry::Refunded(amount)) => *amount,
            other => return RefundOutcome::Failed(format!("nothing was captured: {other:?}")),
        };
        assert!(self.given_back(payment) + asked.amount <= captured.amount, "more than {captured} is asked for");
        if self.chance(20) {
            self.report_refund("refund.failed", payment, Some(id), Some(asked));
            return RefundOutcome::Failed("the bank refused a part".into());
        }
        if self.chance(30) {
            return RefundOutcome::Pending;
        }
        self.refunds.insert(id, (payment, asked));
        if self.given_back(payment) == captured.amount {
            self.entries.insert(payment, Entry::Refunded(captured));
        }
        let amount = if self.chance(10) { money(asked.amount + 1) } else { asked };
        self.report_refund("refund.succeeded", payment, Some(id), Some(amount));
        RefundOutcome::Done
    }

    fn refund(&mut self, id: PaymentId) -> RefundOutcome {
        let entry = self.entries.get(&id).copied();
        match entry {
            Some(Entry::Captured(amount)) if self.chance(20) => {
                self.report("refund.failed", id, Some(amount));
                RefundOutcome::Failed("the bank refused it".into())
            }
            Some(Entry::Captured(amount)) if self.chance(50) => {
                let questions = self.random.random_range(1..3);
                self.entries.insert(id, Entry::Refunding(amount, questions));
                RefundOutcome::Pending
            }
            Some(Entry::Refunding(amount, questions)) if questions > 1 => {
                self.entries.insert(id, Entry::Refunding(amount, questions - 1));
                RefundOutcome::Pending
            }
            Some(Entry::Captured(amount) | Entry::Refunding(amount, _)) => {
                self.entries.insert(id, Entry::Refunded(amount));
                self.report("refund.succeeded", id, Some(amount));
                RefundOutcome::Done
            }
            Some(Entry::Refunded(_)) => RefundOutcome::Done,
            other => RefundOutcome::Failed(format!("nothing was captured: {other:?}")),
        }
    }
}

#[async_trait]
impl Provider for Liar {
    fn facts(&self) -> ProviderFacts<'_> {
        ProviderFacts::new("liar", "liar")
    }

    fn takes(&self, _: Money) -> bool {
        true
    }

    async fn charge(&self, charge: &Charge) -> anyhow::Result<Charged> {
        let mut books = self.0.lock().unwrap();
        books.entries.entry(charge.payment).or_insert(Entry::Open(charge.amount, charge.expires_at));
        let checkout = Checkout::Redirect(charge.payment.to_string());
        if books.chance(10) { lost() } else { Ok(Charged { checkout, reference: None }) }
    }

    async fn find(&self, payment: &Payment) -> anyhow::Result<ChargeState> {
        let mut books = self.0.lock().unwrap();
        if books.chance(10) {
            return lost();
        }
        Ok(match books.entries.get(&payment.id) {
            Some(&Entry::Captured(amount)) => ChargeState::Captured(amount),
            Some(Entry::Open(..)) => ChargeState::Open,
            _ => ChargeState::Closed,
        })
    }

    async fn close(&self, payment: &Payment) -> anyhow::Result<ChargeState> {
        if let Some(entry @ Entry::Open(..)) = self.0.lock().unwrap().entries.get_mut(&payment.id) {
            *entry = Entry::Closed;
        }
        self.find(payment).await
    }

    async fn refund(&self, refund: &Refund) -> anyhow::Result<RefundOutcome> {
        let mut books = self.0.lock().unwrap();
        if books.chance(5) {
            return lost();
        }
        let outcome = match refund.asked() {
            Some(amount) => books.refund_part(refund.id, refund.of.id, amount),
            None => books.refund(refund.of.id),
        };
        if books.chance(5) { lost() } else { Ok(outcome) }
    }

    async fn read(&self, _: &HeaderMap, body: &[u8], _: Timestamp) -> Result<Option<Report>, PaymentError> {
        let Message { id, event, payment, refund, amount } =
            serde_json::from_slice(body).map_err(|_| PaymentError::Malformed)?;
        let (merchant, reference, subject, reason, instrument) = (None, None, None, String::new(), None);
        let (attempt, dispute) = (None, None);
        Ok(Some(Report {
            id,
            event,
            payment,
            refund,
            attempt,
            dispute,
            amount,
            merchant,
            reference,
            subject,
            reason,
            instrument,
        }))
    }
}

/// A shop whose only provider lies.
struct Arena {
    shop: WalletStore,
    liar: Arc<Liar>,
    payments: Payments,
    orders: Vec<(SaleId, OrderId)>,
    /// Orders whose goods arrive broken.
    broken: Mutex<VecDeque<(SaleId, OrderId)>>,
    /// Set once no shopper acts any more.
    closed: AtomicBool,
}

impl Arena {
    async fn open(url: &str, orders: i64, seed: u64) -> Arena {
        let shop = WalletStore::open(url).await;
        let orders = shop.orders(orders).await;
        let random = StdRng::seed_from_u64(seed);
        let books = Books { random, entries: BTreeMap::new(), refunds: BTreeMap::new(), messages: Vec::new() };
        let liar = Arc::new(Liar(Mutex::new(books)));
        let secret = SecretString::from("s".repeat(64)).into();
        let providers = Providers { offered: vec![liar.clone()], retired: Vec::new() };
        let payments = Payments::new(shop.store.clone(), Arc::new(Metrics::default()), &secret, providers);
        let broken = Mutex::new(orders.iter().copied().step_by(3).collect());
        Arena { shop, liar, payments, orders, broken, closed: AtomicBool::new(false) }
    }

    fn books<T>(&self, act: impl FnOnce(&mut Books) -> T) -> T {
        act(&mut self.liar.0.lock().unwrap())
    }

    fn chance(&self, percent: u32) -> bool {
        self.books(|books| books.chance(percent))
    }

    fn under(&self, millis: u64) -> u64 {
        self.books(|books| books.random.random_range(0..millis))
    }

    /// One shopper: begins payments, pays some of them, cancels sometimes.
    async fn shop(&self, (sale, id): (SaleId, OrderId)) {
        let pay_by = (now() + PAYMENT_WINDOW).as_millisecond();
        self.shop.execute(&[format!("UPDATE orders SET pay_by_ms = {pay_by} WHERE id = '{id}'")]).await;
        let mut begun = Vec::new();
        for _ in 0..2 {
            let order = self.shop.store.orders().get(sale, id).await.unwrap().unwrap();
            if let Ok(started) = self.payments.start(&order, any_provider()).await {
                // The window is too short for a question, so it is due at once.
                let ask = format!("UPDATE payments SET ask_at_ms = 0 WHERE id = '{}'", started.payment);
                self.shop.execute(&[ask]).await;
                begun.push(started.payment);
            }
            pause(self.under(100)).await;
            if self.chance(50) {
                break;
            }
        }
        if self.chance(10) {
            // The shopper pays at the last second.
            pause(PAYMENT_WINDOW.as_millis() as u64 - 900).await;
        }
        for payment in begun {
            if self.chance(80) {
                self.books(|books| books.pay(payment));
                pause(self.under(20)).await;
            }
        }
        if self.chance(15) {
            self.shop.store.orders().cancel(sale, &[id], "by_owner", LockPatience::Long).await.unwrap();
        }
    }

    /// Staff refund parts of a paid order, and sometimes then the rest.
    async fn support(&self) {
        let Some((sale, id)) = self.broken.lock().unwrap().pop_front() else { return };
        let order = self.shop.store.orders().get(sale, id).await.unwrap().unwrap();
        if order.status == OrderStatus::Unpaid {
            self.broken.lock().unwrap().push_back((sale, id));
            return;
        }
        let (staff, reason) = (UserId(Uuid::now_v7()), AuditReason { actor: "lu", note: "broken", message: None });
        for _ in 0..3 {
            let amount = money(1 + self.under(order.amount.amount as u64) as i64);
            let to = if self.chance(30) { RefundTarget::Wallet } else { RefundTarget::Payer };
            let new = NewPartialRefund { id: RefundId(Uuid::now_v7()), order: id, amount, to };
            let if_disputed = IfDisputed::Refund;
            let asked = NewStaffRefund { id: new.id, what: StaffRefund::Part(new), by: staff, reason, if_disputed };
            self.shop.store.payments().refund_for_staff(&asked, None).await.unwrap();
            pause(self.under(5)).await;
        }
        if self.chance(30) {
            let place = (sale, id);
            self.shop.store.orders().apply_staff_action(place, StaffAction::Refund, reason, now()).await.unwrap();
        }
    }

    /// The jobs of data control and the webhooks. Three of four are cut off at a random point. If all could be, nothing
    /// would ever end on a slow machine.
    async fn work(&self) {
        let cut = || if self.chance(25) { TIMEOUT } else { Duration::from_millis(1 + self.under(40)) };
        let _ = tokio::time::timeout(cut(), self.deliver()).await;
        let _ = tokio::time::timeout(cut(), self.payments.close_due()).await;
        let _ = tokio::time::timeout(cut(), self.payments.ask_due()).await;
        let _ = tokio::time::timeout(cut(), self.payments.refund_due()).await;
        let _ = tokio::time::timeout(cut(), self.cancel_overdue()).await;
        let _ = tokio::time::timeout(cut(), self.decide()).await;
        let _ = tokio::time::timeout(cut(), self.support()).await;
    }

    /// Delivers messages in any order. A message that is not accepted is delivered again.
    async fn deliver(&self) {
        for _ in 0..5 {
            let message = self.books(|books| {
                let count = books.messages.len();
                (count > 0).then(|| books.messages[books.random.random_range(0..count)].clone())
            });
            let Some(message) = message else { return };
            let body = serde_json::to_vec(&message).unwrap();
            if self.payments.receive("liar", &HeaderMap::new(), &body).await.is_ok() {
                self.books(|books| {
                    let at = books.messages.iter().position(|other| other.id == message.id);
                    at.map(|at| books.messages.swap_remove(at));
                });
            }
        }
    }

    async fn cancel_overdue(&self) {
        for (sale, order) in self.shop.store.orders().overdue_orders(&[], 20).await.unwrap() {
            self.shop.store.orders().cancel(sale, &[order], "unpaid", LockPatience::Long).await.unwrap();
        }
    }

    /// Staff refund what can be refunded and settle the rest.
    async fn decide(&self) {
        let reason = AuditReason { actor: "li", note: "seen", message: None };
        for case in self.payments.cases(false, None, 20).await.unwrap().items {
            let action = if case.takes_refund() { CaseAction::Refund } else { CaseAction::Settle };
            self.shop.store.payments().apply_case_action(&case, action, reason).await.unwrap();
        }
    }

    /// Whether every payment has ended on both sides. Stops at the first open one, because each takes a query or two.
    async fn is_quiet(&self) -> bool {
        let entries = self.books(|books| books.messages.is_empty().then(|| books.entries.clone()));
        let Some(entries) = entries else { return false };
        let under_way = |entry: &Entry| matches!(entry, Entry::Open(..) | Entry::Refunding(..));
        let are_mended = self.broken.lock().unwrap().is_empty();
        if !are_mended
            || entries.values().any(under_way)
            || !self.payments.cases(false, None, 1).await.unwrap().items.is_empty()
        {
            return false;
        }
        for (id, entry) in entries {
            let payment = self.shop.store.payments().get(id).await.unwrap().unwrap();
            let ended: &[PaymentStatus] = match entry {
                Entry::Closed => &[PaymentStatus::Closed],
                _ => &[PaymentStatus::Captured, PaymentStatus::Refunded],
            };
            if !ended.contains(&payment.status)
                || self.parts_of(&payment).await.iter().any(|part| part.refunded_at.is_none())
            {
                return false;
            }
        }
        true
    }

    async fn parts_of(&self, payment: &Payment) -> Vec<PartialRefund> {
        match payment.purpose {
            PaymentPurpose::Order(order) if payment.refunded_in_parts > 0 => {
                self.shop.store.payments().partial_refunds_of(order).await.unwrap()
            }
            _ => Vec::new(),
        }
    }

    /// Compares the shop's books with the provider's.
    async fn assert_conserved(&self) {
        let (mut paid, mut refunded, mut in_parts, mut paid_by) = (0, 0, 0, BTreeMap::new());
        for (id, entry) in self.books(|books| books.entries.clone()) {
            let payment = self.shop.store.payments().get(id).await.unwrap().unwrap();
            let parts = self.parts_of(&payment).await;
            let is_in_parts = !parts.is_empty();
            match entry {
                Entry::Captured(amount) | Entry::Refunded(amount) if payment.status == PaymentStatus::Captured => {
                    assert_eq!((payment.amount, is_in_parts || entry == Entry::Captured(amount)), (amount, true));
                    paid += 1;
                    assert_eq!(paid_by.insert(format!("{:?}", payment.purpose), id), None, "an order paid twice");
                }
                Entry::Captured(_) => assert!(payment.status == PaymentStatus::Refunded && is_in_parts, "{payment:?}"),
                Entry::Refunded(_) => refunded += 1,
                Entry::Closed => {}
                other => panic!("{payment:?} is {other:?} at the provider"),
            }
            if is_in_parts {
                let by_provider = parts.iter().filter(|part| part.via != WALLET).map(|part| part.amount.amount);
                let is_whole = payment.status == PaymentStatus::Refunded;
                let rest = if is_whole { payment.amount.amount - payment.refunded_in_parts } else { 0 };
                assert_eq!(self.books(|books| books.given_back(id)), by_provider.sum::<i64>() + rest, "{payment:?}");
                in_parts += 1;
            }
        }
        let mut orders_paid = 0;
        for &(sale, id) in &self.orders {
            let status = self.shop.store.orders().get(sale, id).await.unwrap().unwrap().status;
            let ended = [OrderStatus::Paid, OrderStatus::Cancelled, OrderStatus::Refunded];
            assert!(ended.contains(&status), "order {id} is {status}");
            orders_paid += usize::from(status == OrderStatus::Paid);
        }
        println!("{paid} payments paid, {refunded} refunded, {in_parts} in parts");
        assert!(in_parts > 5, "there was little to see: {in_parts} in parts");
        assert!(paid > 20 && refunded > 5, "there was little to see: {paid} paid, {refunded} refunded");
        assert_eq!(orders_paid, paid);
        self.shop.assert_consistent().await;
    }
}

async fn captured_money_is_paid_or_refunded(url: &str, orders: i64, seed: u64) {
    let arena = Arena::open(url, orders, seed).await;
    arena.books(|books| {
        for _ in 0..5 {
            books.report("payment.captured", Uuid::now_v7(), Some(money(100)));
            books.report("payment.captured", "not an id", Some(money(100)));
            books.report("refund.failed", Uuid::now_v7(), Some(money(100)));
            books.report("payout.made", "", None);
        }
    });
    let shoppers = async {
        stream::iter(&arena.orders).for_each_concurrent(SHOPPERS, |order| arena.shop(*order)).await;
        arena.closed.store(true, Relaxed);
    };
    let jobs = async || {
        let end = tokio::time::Instant::now() + TIMEOUT;
        while !(arena.closed.load(Relaxed) && arena.is_quiet().await) {
            assert!(tokio::time::Instant::now() < end, "payments are still under way");
            arena.work().await;
            pause(2).await;
        }
    };
    tokio::join!(shoppers, jobs(), jobs());
    while arena.orders_are_open().await {
        arena.cancel_overdue().await;
        pause(50).await;
    }
    arena.assert_conserved().await;
}

impl Arena {
    async fn orders_are_open(&self) -> bool {
        let ids: Vec<OrderId> = self.orders.iter().map(|(_, id)| *id).collect();
        let statuses = self.shop.store.orders().order_statuses(&ids).await.unwrap();
        statuses.values().any(|status| *status == OrderStatus::Unpaid)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn captured_money_is_paid_or_refunded_by_a_lying_provider() {
    let dir = tempfile::tempdir().unwrap();
    captured_money_is_paid_or_refunded(&base::config::sqlite_in(dir.path()), ORDERS, 21).await;
}

mod stack {
    use crate::support::{Fixture, Rung};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn captured_money_is_paid_or_refunded_by_a_lying_provider() {
        let fixture = Fixture::new(Rung::Postgres).await;
        let url = &fixture.settings["SECKILL_DATABASE_URL"];
        super::captured_money_is_paid_or_refunded(url, 300, 22).await;
    }
}
