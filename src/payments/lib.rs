//! Payments: the shop asks a provider to charge, and trusts only the provider's answers and its signed webhooks
//! (Standard Webhooks, <https://www.standardwebhooks.com>). Each webhook is compared with the shop's own request and
//! applied once.
//!
//! [`provider`] is the boundary. There is one provider, the [`Sandbox`], and it may be off. Payments from a wallet need
//! no provider: the shop itself moves the money. Every payment at a provider ends: it is captured or closed
//! ([`closing`]), and money that cannot be used is refunded ([`refunds`]). What the shop cannot settle by itself
//! becomes a case for staff ([`reports`]). Refunds by staff beyond a limit wait for a second person
//! ([`staff_refunds`]).

pub mod provider;

pub mod staff_refunds;

mod cases;
mod closing;
mod refunds;
mod reports;

mod delivery;
mod sandbox;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use tracing::info;
use uuid::Uuid;

pub use sandbox::{Notice, Sandbox, Settled};

use accounts::Signals;
use base::metrics::Metrics;
use base::signing::ShopSecret;
use domain::wallet::{TopUpRefusal, check_top_up};
use domain::{Money, Order, PaymentId, UserId};
use provider::{Charge, Provider};
use store::{NewPayment, PaymentPurpose, Store, StoreError, WalletPaymentOutcome};

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
    /// The wallet or the order has too many unpaid payments.
    #[error("too many payments were started")]
    TooMany,
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

/// Refunds, closings and webhooks that are under way at the same time, so that a slow one delays few others.
const CONCURRENCY: usize = 8;
/// How long a provider may take to answer. Requests are repeated, so it need not be long.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a top-up may be paid.
const TOP_UP_LIFETIME: Duration = Duration::from_secs(30 * 60);
/// Characters of a provider's text that are stored.
const MAX_DETAILS_CHARS: usize = 500;

/// Payments on the shop's side.
#[derive(Clone)]
pub struct Payments {
    store: Store,
    metrics: Arc<Metrics>,
    /// Digests of the instruments that pay.
    signals: Signals,
    /// `None`: only wallets pay.
    provider: Option<Arc<dyn Provider>>,
}

impl Payments {
    pub fn new(
        store: Store,
        metrics: Arc<Metrics>,
        secret: &ShopSecret,
        provider: Option<Arc<dyn Provider>>,
    ) -> Payments {
        Payments { store, metrics, signals: Signals::new(secret), provider }
    }

    /// Whether a provider takes payments and top-ups.
    pub fn is_online(&self) -> bool {
        self.provider.is_some()
    }

    fn provider(&self) -> Result<&dyn Provider, PaymentError> {
        self.provider.as_deref().ok_or(PaymentError::NoProvider)
    }

    /// Starts the payment of an order and closes its earlier payments. Returns the payment and the checkout URL.
    pub async fn start(&self, order: &Order, return_path: String) -> Result<(PaymentId, String), PaymentError> {
        let now = self.store.now().await?;
        if !order.is_payable(now) {
            return Err(PaymentError::NotPayable);
        }
        if self.close_open(order.id).await? {
            return Err(PaymentError::NotPayable);
        }
        let charge = Charge { payment: new_id(), amount: order.amount, expires_at: order.pay_by, return_path };
        self.charge(PaymentPurpose::Order(order.id), charge, now).await
    }

    /// Starts a payment into a user's wallet. Returns the payment and the checkout URL.
    pub async fn top_up(
        &self,
        user: UserId,
        amount: Money,
        return_path: String,
    ) -> Result<(PaymentId, String), PaymentError> {
        check_top_up(amount)?;
        let now = self.store.now().await?;
        let charge = Charge { payment: new_id(), amount, expires_at: now + TOP_UP_LIFETIME, return_path };
        self.charge(PaymentPurpose::TopUp(user), charge, now).await
    }

    async fn charge(
        &self,
        purpose: PaymentPurpose,
        charge: Charge,
        now: Timestamp,
    ) -> Result<(PaymentId, String), PaymentError> {
        let provider = self.provider()?;
        let id = charge.payment;
        let payment = NewPayment { id, purpose, amount: charge.amount, provider: provider.name() };
        if !self.store.payments().add(&payment, charge.expires_at, now).await? {
            return Err(PaymentError::TooMany);
        }
        let checkout = answer(provider.charge(&charge)).await.map_err(PaymentError::Provider)?;
        self.store.payments().set_checkout(id, &checkout).await?;
        info!(payment = %id, %purpose, "payment started");
        Ok((id, checkout))
    }

    /// Pays an order from its owner's wallet. Idempotent: a repeated call returns the first payment and `true`.
    pub async fn pay_from_wallet(&self, order: &Order) -> Result<(PaymentId, bool), PaymentError> {
        match self.store.payments().pay_from_wallet(new_id(), order.id).await? {
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
}

fn new_id() -> PaymentId {
    PaymentId(Uuid::now_v7())
}

/// A provider's answer, if it comes in time.
async fn answer<T>(asked: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::time::timeout(PROVIDER_TIMEOUT, asked).await.context("the provider did not answer in time")?
}

fn bounded(details: &str) -> String {
    details.chars().take(MAX_DETAILS_CHARS).collect()
}
