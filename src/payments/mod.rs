//! Payments: the shop asks a provider to charge, and trusts only the provider's signed webhooks (Standard Webhooks,
//! <https://www.standardwebhooks.com>). Each webhook is applied once.
//!
//! There is one provider, the [`Sandbox`], and it may be off. Payments from a wallet need no provider: the shop itself
//! moves the money.

mod delivery;
mod sandbox;
mod webhook;

use std::sync::Arc;

use axum::http::HeaderMap;
use futures::StreamExt;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tracing::{info, warn};
use uuid::Uuid;

pub use sandbox::Sandbox;

use crate::domain::wallet::{TopUpRefusal, check_top_up};
use crate::domain::{Money, Order, PaymentId, UserId};
use crate::metrics::Metrics;
use crate::store::{CaptureOutcome, Payment, PaymentPurpose, Store, StoreError, WALLET, WalletPaymentOutcome};

/// Why a payment is refused or fails.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    #[error("the order is not waiting to be paid")]
    NotPayable,
    #[error("the balance of the wallet is too low")]
    NotEnough,
    /// SECKILL_PAYMENTS is `none`.
    #[error("no payment provider is on")]
    NoProvider,
    #[error(transparent)]
    TopUp(#[from] TopUpRefusal),
    #[error("the webhook's signature is missing or wrong, or it is too old")]
    BadSignature,
    #[error("the webhook's body is malformed")]
    Malformed,
    #[error("the payment provider failed: {0:#}")]
    Provider(anyhow::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The body of a webhook.
#[derive(Debug, Serialize, Deserialize)]
struct Report {
    #[serde(rename = "type")]
    kind: String,
    data: ReportData,
}

#[derive(Debug, Serialize, Deserialize)]
struct ReportData {
    payment_id: PaymentId,
}

const CAPTURED: &str = "payment.captured";
const DECLINED: &str = "payment.declined";

/// Refunds of one step of the refund job.
const MAX_REFUNDS: i64 = 50;
/// Refunds and webhooks that are under way at the same time, so that a slow one delays few others.
const CONCURRENCY: usize = 8;

/// Payments on the shop's side.
#[derive(Clone)]
pub struct Payments {
    store: Store,
    metrics: Arc<Metrics>,
    /// `None`: only wallets pay.
    provider: Option<Arc<Sandbox>>,
}

impl Payments {
    pub fn new(store: Store, metrics: Arc<Metrics>, provider: Option<Arc<Sandbox>>) -> Payments {
        Payments { store, metrics, provider }
    }

    /// The sandbox provider, if it is on.
    pub fn sandbox(&self) -> Option<&Sandbox> {
        self.provider.as_deref()
    }

    fn provider(&self) -> Result<&Sandbox, PaymentError> {
        self.sandbox().ok_or(PaymentError::NoProvider)
    }

    /// Starts the payment of an order. Returns the payment and the checkout URL.
    pub async fn start(&self, order: &Order, return_path: String) -> Result<(PaymentId, String), PaymentError> {
        let now = self.store.now().await?;
        if !order.is_payable(now) {
            return Err(PaymentError::NotPayable);
        }
        self.charge(PaymentPurpose::Order(order.id), order.amount, return_path, now).await
    }

    /// Starts a payment into a user's wallet. Returns the payment and the checkout URL.
    pub async fn top_up(
        &self,
        user: UserId,
        amount: Money,
        return_path: String,
    ) -> Result<(PaymentId, String), PaymentError> {
        check_top_up(amount)?;
        self.charge(PaymentPurpose::TopUp(user), amount, return_path, self.store.now().await?).await
    }

    async fn charge(
        &self,
        purpose: PaymentPurpose,
        amount: Money,
        return_path: String,
        now: Timestamp,
    ) -> Result<(PaymentId, String), PaymentError> {
        let provider = self.provider()?;
        let id = PaymentId(Uuid::now_v7());
        self.store.add_payment(id, purpose, amount, Sandbox::NAME, now).await?;
        let checkout = provider.charge(id, amount, return_path).await.map_err(PaymentError::Provider)?;
        info!(payment = %id, ?purpose, "payment started");
        Ok((id, checkout))
    }

    /// Pays an order from its owner's wallet. Idempotent: a repeated call returns the first payment and `true`.
    pub async fn pay_from_wallet(&self, order: &Order) -> Result<(PaymentId, bool), PaymentError> {
        match self.store.pay_from_wallet(PaymentId(Uuid::now_v7()), order.id).await? {
            WalletPaymentOutcome::Paid(payment) => {
                self.metrics.paid.inc();
                info!(%payment, order = %order.id, "order paid from the wallet");
                Ok((payment, false))
            }
            WalletPaymentOutcome::AlreadyPaid(payment) => Ok((payment, true)),
            WalletPaymentOutcome::NotEnough => Err(PaymentError::NotEnough),
            WalletPaymentOutcome::NotPayable => Err(PaymentError::NotPayable),
        }
    }

    /// Applies a webhook. The signature covers the raw body and is verified before anything is parsed.
    pub async fn receive(&self, headers: &HeaderMap, body: &[u8]) -> Result<(), PaymentError> {
        let webhook = self.provider()?.webhook();
        let signed = webhook.verify(body, headers).map_err(|_| PaymentError::BadSignature)?;
        let now = self.store.now().await?;
        signed.verify(now).map_err(|_| PaymentError::BadSignature)?;
        let id = headers.get(webhook::ID).and_then(|id| id.to_str().ok()).ok_or(PaymentError::BadSignature)?;
        let report: Report = serde_json::from_slice(body).map_err(|_| PaymentError::Malformed)?;
        let payment = report.data.payment_id;
        if report.kind != CAPTURED {
            info!(%payment, kind = report.kind, "webhook ignored: only captures change a payment");
            return Ok(());
        }
        match self.store.apply_capture(id, payment, now).await? {
            CaptureOutcome::Paid(order) => {
                self.metrics.paid.inc();
                info!(%payment, %order, "order paid");
            }
            CaptureOutcome::ToppedUp(user) => info!(%payment, %user, "wallet topped up"),
            CaptureOutcome::Refunding => info!(%payment, "payment cannot be used; refund pending"),
            CaptureOutcome::AlreadyApplied => info!(%payment, "webhook ignored: the payment was applied before"),
            CaptureOutcome::NoSuchPayment => warn!(%payment, "webhook ignored: no such payment"),
        }
        Ok(())
    }

    /// Makes one bounded batch of due refunds. Returns the number of attempts. A refund that fails is tried again later and
    /// later; the others go on.
    pub async fn refund_due(&self) -> Result<usize, StoreError> {
        let due = self.store.refunds_due(MAX_REFUNDS).await?;
        let attempts = futures::stream::iter(&due).for_each_concurrent(CONCURRENCY, |payment| async move {
            let Err(error) = self.refund(payment).await else { return };
            let id = payment.id;
            warn!(payment = %id, error = format!("{error:#}"), "payment not refunded; it will be tried again");
            if let Err(error) = self.store.postpone_refund(id).await {
                warn!(payment = %id, %error, "the failed refund is tried again at once");
            }
        });
        attempts.await;
        Ok(due.len())
    }

    async fn refund(&self, payment: &Payment) -> anyhow::Result<()> {
        if payment.provider != WALLET {
            self.provider()?.refund(payment.id).await?;
        }
        self.store.apply_refund(payment, self.store.now().await?).await?;
        self.metrics.refunded.inc();
        info!(payment = %payment.id, purpose = ?payment.purpose, "payment refunded");
        Ok(())
    }
}
