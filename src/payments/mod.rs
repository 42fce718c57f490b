//! Payments: the shop asks a provider to charge, and believes only what the provider reports in signed webhooks
//! (Standard Webhooks, <https://www.standardwebhooks.com>). Each report is applied once.

mod delivery;
mod sandbox;

use std::sync::Arc;

use async_trait::async_trait;
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use standardwebhooks::Webhook;
use tracing::{info, warn};
use uuid::Uuid;

pub use sandbox::Sandbox;

use crate::clock::Clock;
use crate::domain::{Money, Order, OrderStatus, PaymentId, UserId};
use crate::metrics::Metrics;
use crate::store::{Captured, FromWallet, Purpose, Store, StoreError, WALLET};

/// Somebody who moves money. Every call may be repeated with the same payment.
#[async_trait]
pub trait Provider: Send + Sync {
    fn name(&self) -> &'static str;

    /// Prepares a charge; the answer is the address at which the payer pays. Afterwards the payer is sent to
    /// `return_path` of the shop.
    async fn charge(&self, payment: PaymentId, amount: Money, return_path: String) -> anyhow::Result<String>;

    /// Gives the whole charge back.
    async fn refund(&self, payment: PaymentId) -> anyhow::Result<()>;
}

#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    #[error("the order is not waiting to be paid")]
    NotPayable,
    #[error("the wallet does not hold so much")]
    NotEnough,
    #[error("the webhook's signature is missing or wrong, or it is too old")]
    BadSignature,
    #[error("the webhook cannot be understood")]
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

/// Refunds of one step.
const REFUNDS: i64 = 50;

/// The shop's side of paying.
#[derive(Clone)]
pub struct Payments {
    store: Store,
    clock: Clock,
    metrics: Arc<Metrics>,
    webhook: Arc<Webhook>,
    provider: Arc<Sandbox>,
}

impl Payments {
    pub fn new(store: Store, clock: Clock, metrics: Arc<Metrics>, provider: Arc<Sandbox>) -> Payments {
        Payments { store, clock, metrics, webhook: provider.webhook(), provider }
    }

    /// The provider that plays the bank in this shop.
    pub fn sandbox(&self) -> &Sandbox {
        &self.provider
    }

    /// Begins to pay an order; the answer is the payment and where to go for it.
    pub async fn start(&self, order: &Order, return_path: String) -> Result<(PaymentId, String), PaymentError> {
        let now = self.clock.now();
        if order.status != OrderStatus::Unpaid || order.pay_by <= now {
            return Err(PaymentError::NotPayable);
        }
        self.charge(Purpose::Order(order.id), order.amount, return_path).await
    }

    /// Begins to fill somebody's wallet; the answer is the payment and where to go for it.
    pub async fn top_up(
        &self,
        user: UserId,
        amount: Money,
        return_path: String,
    ) -> Result<(PaymentId, String), PaymentError> {
        self.charge(Purpose::TopUp(user), amount, return_path).await
    }

    async fn charge(
        &self,
        purpose: Purpose,
        amount: Money,
        return_path: String,
    ) -> Result<(PaymentId, String), PaymentError> {
        let id = PaymentId(Uuid::now_v7());
        self.store.add_payment(id, purpose, amount, self.provider.name(), self.clock.now()).await?;
        let checkout = self.provider.charge(id, amount, return_path).await.map_err(PaymentError::Provider)?;
        info!(payment = %id, ?purpose, "a payment was begun");
        Ok((id, checkout))
    }

    /// Pays an order at once from its owner's wallet. Paying it so again is answered with the first payment, and
    /// `true`.
    pub async fn pay_from_wallet(&self, order: &Order) -> Result<(PaymentId, bool), PaymentError> {
        match self.store.pay_from_wallet(PaymentId(Uuid::now_v7()), order.id, self.clock.now()).await? {
            FromWallet::Paid(payment) => {
                self.metrics.paid.inc();
                info!(%payment, order = %order.id, "paid from the wallet");
                Ok((payment, false))
            }
            FromWallet::Again(payment) => Ok((payment, true)),
            FromWallet::NotEnough => Err(PaymentError::NotEnough),
            FromWallet::NotPayable => Err(PaymentError::NotPayable),
        }
    }

    /// Applies a webhook. The signature covers the raw body, so nothing is parsed before it was verified.
    pub async fn receive(&self, headers: &HeaderMap, body: &[u8]) -> Result<(), PaymentError> {
        self.webhook.verify(body, headers).map_err(|_| PaymentError::BadSignature)?;
        let id = headers.get("webhook-id").and_then(|id| id.to_str().ok()).ok_or(PaymentError::BadSignature)?;
        let report: Report = serde_json::from_slice(body).map_err(|_| PaymentError::Malformed)?;
        let payment = report.data.payment_id;
        if report.kind != CAPTURED {
            info!(%payment, kind = report.kind, "a report that changes nothing");
            return Ok(());
        }
        match self.store.captured(id, payment, self.clock.now()).await? {
            Captured::Paid(order) => {
                self.metrics.paid.inc();
                info!(%payment, %order, "paid");
            }
            Captured::ToppedUp(user) => info!(%payment, %user, "the wallet was filled"),
            Captured::GoesBack => info!(%payment, "the money came too late and goes back"),
            Captured::Known => info!(%payment, "reported before"),
            Captured::NoSuchPayment => warn!(%payment, "money for a payment that this shop does not know"),
        }
        Ok(())
    }

    /// Gives money back that is due, one bounded batch. The answer is how many payments.
    pub async fn refund_due(&self) -> anyhow::Result<usize> {
        let due = self.store.refunds_due(REFUNDS).await?;
        for payment in &due {
            if payment.provider != WALLET {
                self.provider.refund(payment.id).await?;
            }
            self.store.refunded(payment, self.clock.now()).await?;
            self.metrics.refunded.inc();
            info!(payment = %payment.id, purpose = ?payment.purpose, "refunded");
        }
        Ok(due.len())
    }
}
