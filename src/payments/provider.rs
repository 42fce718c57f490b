//! The boundary to a payment provider: what the shop asks for, what the provider answers, and what it reports.
//!
//! Every request may be sent twice, because an answer may be lost. Reports may be late, repeated, out of order, lost or
//! wrong: the shop compares each with its own request, and asks the provider when it needs to be sure.

use std::net::IpAddr;
use std::time::Duration;

use async_trait::async_trait;
use axum::http::{HeaderMap, StatusCode};
use futures::stream::BoxStream;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;
use serde::Deserialize;

use super::PaymentError;
use domain::settlement::BillLine;
use domain::wire::wire_enum;
use domain::{Money, PaymentId, RefundId};
use store::{Checkout, Dispute, Payment, Refund};

/// Takes money from payers and gives it back.
#[async_trait]
pub trait Provider: Send + Sync {
    /// What the provider is. It never changes.
    fn facts(&self) -> ProviderFacts<'_>;

    fn name(&self) -> &'static str {
        self.facts().name
    }

    /// Whether the provider can take exactly this amount of this currency.
    fn takes(&self, amount: Money) -> bool;

    /// Opens a payment and returns where it is made. Idempotent.
    async fn charge(&self, charge: &Charge) -> anyhow::Result<Charged>;

    /// The present state of a payment.
    async fn find(&self, payment: &Payment) -> anyhow::Result<ChargeState>;

    /// Closes a payment, so that it can no longer be made, unless it was already captured. Idempotent. A payment that
    /// the provider does not know counts as closed. It is still open only if its outcome is under way, or if the provider
    /// cannot close it yet: it is closed again when it expires.
    async fn close(&self, payment: &Payment) -> anyhow::Result<ChargeState>;

    /// Returns money that was captured for a payment. Idempotent: a refund with the same id is made once.
    ///
    /// # Errors
    /// Nothing is known about the refund. The shop asks again later.
    async fn refund(&self, refund: &Refund) -> anyhow::Result<RefundOutcome>;

    /// Verifies a report's signature over the raw body, then reads it. `None`: the report is not about the shop.
    ///
    /// # Errors
    /// [`PaymentError::BadSignature`], also when it was signed too long before `now`; [`PaymentError::Malformed`].
    async fn read(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<Option<Report>, PaymentError>;

    /// What the provider moved on a day that is over. `None`: it has no bill of this day, because nothing moved, or because it
    /// is not there yet.
    async fn bill(&self, day: Date) -> anyhow::Result<Option<Bill<'_>>> {
        anyhow::bail!("{} has no bill of {day}", self.name())
    }

    /// What became of a dispute, as a report. `None`: the provider does not tell.
    async fn dispute(&self, id: &str) -> anyhow::Result<Option<Report>> {
        anyhow::bail!("{} has no dispute {id}", self.name())
    }
}

#[derive(Debug, Clone, Copy)]
pub struct ProviderFacts<'a> {
    /// The provider's name in the database, in requests, and in the address of its reports.
    pub name: &'static str,
    /// The shop's account at the provider, as reports name it.
    pub merchant: &'a str,
    /// Whether the provider is in a test mode, in which no money moves.
    pub is_test: bool,
    /// Whether the provider's page or app opens in WeChat's own browser.
    pub opens_in_wechat: bool,
    /// How the provider's days are billed. `None`: it has no bills.
    pub billing: Option<Billing>,
    /// The answer to a report that was accepted. A report that is answered otherwise comes again.
    pub accepted: (StatusCode, &'static str),
    /// The JSON with which the provider wants a report to be refused. `None`: it looks at the status only.
    pub refused: Option<&'static str>,
}

impl ProviderFacts<'_> {
    pub fn new<'a>(name: &'static str, merchant: &'a str) -> ProviderFacts<'a> {
        let accepted = (StatusCode::NO_CONTENT, "");
        ProviderFacts { name, merchant, is_test: false, opens_in_wechat: true, billing: None, accepted, refused: None }
    }
}

/// Why a provider did not do what it was asked for. Asking again changes nothing.
#[derive(Debug, Deserialize)]
pub(super) struct Refusal {
    #[serde(default)]
    pub(super) code: String,
    #[serde(default)]
    pub(super) message: String,
}

/// What a provider was asked for. `Ok(Err)`: it refused, and nothing happened.
pub(super) type Asked<T> = anyhow::Result<Result<T, Refusal>>;

/// What was found. `None`: the provider refused because it does not have it, as `is_unknown` tells by the code.
pub(super) fn found<T>(
    answer: Result<T, Refusal>,
    is_unknown: impl FnOnce(&str) -> bool,
    error: impl FnOnce(Refusal) -> anyhow::Error,
) -> anyhow::Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(refusal) if is_unknown(&refusal.code) => Ok(None),
        Err(refusal) => Err(error(refusal)),
    }
}

/// The lines of a bill, some at a time, so that a bill of any size can be read.
pub(crate) type Bill<'a> = BoxStream<'a, anyhow::Result<BillPage>>;

/// Some lines of a bill, and the disputes that moved money there.
#[derive(Debug, Default)]
pub struct BillPage {
    pub lines: Vec<BillLine>,
    pub disputes: Vec<Report>,
}

impl From<Vec<BillLine>> for BillPage {
    fn from(lines: Vec<BillLine>) -> BillPage {
        BillPage { lines, disputes: Vec::new() }
    }
}

/// When a provider's day begins, and how soon after its end the bill is there.
#[derive(Debug, Clone, Copy)]
pub struct Billing {
    pub zone: Offset,
    pub ready_after: Duration,
}

impl Billing {
    /// The beginning and the end of a day.
    pub(crate) fn bounds(&self, day: Date) -> Option<(Timestamp, Timestamp)> {
        let begin = |day: Date| self.zone.to_timestamp(day.at(0, 0, 0, 0)).ok();
        Some((begin(day)?, begin(day.tomorrow().ok()?)?))
    }

    /// The last day whose bill should be there.
    pub(super) fn last_day(&self, now: Timestamp) -> Option<Date> {
        self.zone.to_datetime(now - self.ready_after).date().yesterday().ok()
    }
}

/// A payment that the provider shall take.
#[derive(Debug, Clone)]
pub struct Charge {
    pub payment: PaymentId,
    pub amount: Money,
    /// What the payment is for, in the shop's words. The provider repeats it in its reports.
    pub subject: String,
    /// What the payer buys, in the payer's language.
    pub title: String,
    pub begun_at: Timestamp,
    /// From this moment the shop takes no money for the payment. The shop asks a provider that cannot end it so soon to close
    /// it.
    pub expires_at: Timestamp,
    /// The shop's path of what is paid for. A payer who gave up returns there.
    pub return_path: String,
    /// The shop's path that waits until the payment is known to be made. A payer who may have paid returns there.
    pub waiting_path: String,
    /// The address of a payer on a phone, which can open the provider's app.
    pub phone: Option<IpAddr>,
}

/// A payment that the provider opened.
#[derive(Debug, Clone)]
pub struct Charged {
    pub checkout: Checkout,
    /// The provider's own name of the payment, if it has one.
    pub reference: Option<String>,
}

/// The state of a payment at the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChargeState {
    /// The payment can still be made, or its outcome is under way.
    Open,
    /// No money was taken, and none will be.
    Closed,
    /// This amount was captured.
    Captured(Money),
}

/// The state of a refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefundOutcome {
    Done,
    /// The refund is under way. The provider reports its end, and answers if it is asked again.
    Pending,
    /// The refund will not succeed by itself, for this reason.
    Failed(String),
}

/// A webhook of a provider in the shop's terms.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The id of the report, the same for every delivery.
    pub id: String,
    /// The text of a [`ReportKind`], or the provider's own name of an event that the shop does not know.
    pub event: String,
    /// The payment's id in the provider's words: it need not be a payment of the shop.
    pub payment: String,
    /// The refund that the report is about. `None`: the payment, or the refund of the whole payment.
    pub refund: Option<RefundId>,
    /// Which attempt of the refund it is about, if the provider keeps it ([`Refund::attempt`]).
    pub attempt: Option<i64>,
    /// How far a dispute is, if the provider tells it.
    pub dispute: Option<Dispute>,
    pub amount: Option<Money>,
    /// The account that the money was taken for. `None` from older versions of the sandbox.
    pub merchant: Option<String>,
    /// The provider's own name of the payment, if the report has it.
    pub reference: Option<String>,
    /// What the payment is for, if the report has it.
    pub subject: Option<String>,
    /// The provider's reason, for staff.
    pub reason: String,
    /// For a capture, the provider's fingerprint of the card or account that paid. It is the same for each payment with
    /// it. `None` if the provider does not report it.
    pub instrument: Option<String>,
}

wire_enum! {
    /// The events that the shop knows.
    pub enum ReportKind {
        Captured = "payment.captured",
        Declined = "payment.declined",
        /// The payer or the payer's bank takes the money back.
        Disputed = "payment.disputed",
        RefundSucceeded = "refund.succeeded",
        RefundFailed = "refund.failed",
    }
}
