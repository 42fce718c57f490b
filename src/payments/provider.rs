//! The boundary to a payment provider: what the shop asks for, what the provider answers, and what it reports.
//!
//! Every request may be sent twice, because an answer may be lost. Reports may be late, repeated, out of order, lost or
//! wrong: the shop compares each with its own request, and asks the provider when it needs to be sure.

use async_trait::async_trait;
use axum::http::HeaderMap;
use jiff::Timestamp;

use super::PaymentError;
use domain::wire::wire_enum;
use domain::{Money, PaymentId, RefundId};

/// Takes money from payers and gives it back.
#[async_trait]
pub trait Provider: Send + Sync {
    /// The provider's name in the database.
    fn name(&self) -> &'static str;

    /// The shop's account at the provider, as reports name it.
    fn merchant(&self) -> &str;

    /// Opens a payment and returns the address of the checkout. Idempotent.
    async fn charge(&self, charge: &Charge) -> anyhow::Result<String>;

    /// Closes a payment, so that it can no longer be made, unless it was already captured. Idempotent. A payment that
    /// the provider does not know counts as closed.
    async fn close(&self, payment: PaymentId) -> anyhow::Result<CloseOutcome>;

    /// Returns money that was captured for a payment. Idempotent: a refund with the same id is made once.
    ///
    /// # Errors
    /// Nothing is known about the refund. The shop asks again later.
    async fn refund(&self, refund: &RefundRequest) -> anyhow::Result<RefundOutcome>;

    /// Verifies a webhook's signature over the raw body, then reads it.
    ///
    /// # Errors
    /// [`PaymentError::BadSignature`], also when it was signed too long before `now`; [`PaymentError::Malformed`].
    fn read(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<Report, PaymentError>;
}

/// A payment that the provider shall take.
#[derive(Debug, Clone)]
pub struct Charge {
    pub payment: PaymentId,
    pub amount: Money,
    /// From this moment the provider takes no money for the payment.
    pub expires_at: Timestamp,
    /// The shop's path to which the payer returns.
    pub return_path: String,
}

/// Money that the provider shall give back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefundRequest {
    pub id: RefundId,
    pub payment: PaymentId,
    /// `None`: everything that was captured, whatever it was.
    pub amount: Option<Money>,
}

/// The result of closing a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseOutcome {
    /// No money was taken, and none will be.
    Closed,
    /// This amount was captured before the payment could be closed.
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
#[derive(Debug, Clone)]
pub struct Report {
    /// The id of the report, the same for every delivery.
    pub id: String,
    /// The text of a [`ReportKind`], or the provider's own name of an event that the shop does not know.
    pub event: String,
    /// The payment's id in the provider's words: it need not be a payment of the shop.
    pub payment: String,
    /// The refund that the report is about. `None`: the payment, or the refund of the whole payment.
    pub refund: Option<RefundId>,
    pub amount: Option<Money>,
    /// The account that the money was taken for. `None` from older versions of the sandbox.
    pub merchant: Option<String>,
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
