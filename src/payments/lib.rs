//! Payments: the shop asks a provider to charge, and trusts only the provider's answers and its signed webhooks
//! (Standard Webhooks, <https://www.standardwebhooks.com>). Each webhook is compared with the shop's own request and
//! applied once.
//!
//! [`provider`] is the boundary. A shop may have several providers, and a payment stays with the one where it began:
//! the [`Sandbox`], which asks for no money, [`Stripe`], [`WechatPay`] or [`Alipay`]. Payments from a wallet need no
//! provider: the shop itself moves the money. Every payment at a provider ends: it is captured or closed, and money
//! that cannot be used is refunded ([`closing`]). Each day the provider's bill is compared with the books
//! ([`settlement`]). What the shop cannot settle by itself becomes a case for staff ([`reports`]). Refunds by staff
//! beyond a limit wait for a second person ([`staff_refunds`]).

pub mod provider;
pub mod settlement;
pub mod staff_refunds;

mod closing;
mod reports;

mod alipay;
mod china;
mod https;
mod sandbox;
mod stripe;
mod webhook;
mod wechatpay;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use boxed::boxed;
use jiff::Timestamp;
use tracing::info;
use uuid::Uuid;

pub use alipay::Alipay;
pub use sandbox::{Notice, Sandbox, Settled};
pub use stripe::Stripe;
pub use wechatpay::WechatPay;

use accounts::LinkDigests;
use base::metrics::Metrics;
use base::signing::ShopSecret;
use domain::ledger::check_top_up;
use domain::{Locale, Money, Order, PaymentId, UserId};
use provider::{Charge, Provider};
use store::{Checkout, NewPayment, PaymentPurpose, Store, StoreError, WalletPaymentOutcome};

/// Why a payment is refused or fails.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    #[error("the order is not waiting to be paid")]
    NotPayable,
    /// Shipping may cost something, and the order has no address.
    #[error("the order has no delivery address, which shipping depends on")]
    NeedsAddress,
    #[error("the balance of the wallet is too low")]
    NotEnough,
    /// No provider takes the payment, or not the one that it is for.
    #[error("no such payment provider is on")]
    NoProvider,
    /// The wallet or the order has too many unpaid payments.
    #[error("too many payments were started")]
    TooMany,
    /// The code of the field `amount`.
    #[error("the amount cannot be added to a wallet: {0}")]
    TopUp(&'static str),
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
    link_digests: LinkDigests,
    providers: Arc<Providers>,
}

/// The providers of a shop. Without any, only wallets pay.
#[derive(Default)]
pub struct Providers {
    /// Those that payers may choose, the first one first.
    pub offered: Vec<Arc<dyn Provider>>,
    /// Those at which no payment begins any more, but where earlier ones end.
    pub retired: Vec<Arc<dyn Provider>>,
}

/// What a payer asks for: the money, and how to pay it.
#[derive(Debug, Clone)]
pub struct PayerChoice {
    /// The name of the provider. Empty: the first that takes the amount.
    pub provider: String,
    /// What is paid for, as the provider's page says it.
    pub title: String,
    /// The language of the page that waits for the payment.
    pub locale: Locale,
    /// The shop's path of what is paid for.
    pub return_path: String,
    /// The address of a payer on a phone, which can open a provider's app. `None` on a computer.
    pub phone: Option<IpAddr>,
}

/// The page of a payment that is made at a provider of another origin, or with a phone.
pub fn payment_path(locale: Locale, id: PaymentId) -> String {
    format!("/{locale}/payments/{id}")
}

/// The query of that page for a payer who comes back from the provider. Providers add parameters of their own.
pub const RETURNED: &str = "returned=1";

/// A payment that was begun.
#[derive(Debug, Clone)]
pub struct Begun {
    pub payment: PaymentId,
    pub checkout: Checkout,
}

#[boxed]
impl Payments {
    pub fn new(store: Store, metrics: Arc<Metrics>, secret: &ShopSecret, providers: Providers) -> Payments {
        Payments { store, metrics, link_digests: LinkDigests::new(secret), providers: Arc::new(providers) }
    }

    /// The names of the providers that take an amount, in the order in which they are offered.
    pub fn offers(&self, amount: Money) -> Vec<&'static str> {
        self.taking(amount).map(|provider| provider.name()).collect()
    }

    /// The providers that take an amount.
    fn taking(&self, amount: Money) -> impl Iterator<Item = &Arc<dyn Provider>> {
        self.providers.offered.iter().filter(move |provider| provider.takes(amount))
    }

    /// Whether all that take an amount open in WeChat's own browser.
    pub fn open_in_wechat(&self, amount: Money) -> bool {
        self.taking(amount).all(|provider| provider.facts().opens_in_wechat)
    }

    /// Whether a provider takes payments and top-ups.
    pub fn is_online(&self) -> bool {
        !self.providers.offered.is_empty()
    }

    /// The names of the providers that payers may choose.
    pub fn offered(&self) -> Vec<&'static str> {
        self.providers.offered.iter().map(|provider| provider.name()).collect()
    }

    /// Whether a provider is the sandbox or in a test mode, so that orders are paid without money.
    pub fn is_test(&self) -> bool {
        self.providers.offered.iter().any(|provider| provider.facts().is_test)
    }

    fn has_provider(&self) -> bool {
        self.is_online() || !self.providers.retired.is_empty()
    }

    /// The provider of this name, also if it is not offered any more.
    fn provider(&self, name: &str) -> Result<&dyn Provider, PaymentError> {
        let mut all = self.providers.offered.iter().chain(&self.providers.retired);
        all.find(|provider| provider.name() == name).map(|found| &**found).ok_or(PaymentError::NoProvider)
    }

    /// Starts the payment of an order and closes its earlier payments.
    pub async fn start(&self, order: &Order, choice: PayerChoice) -> Result<Begun, PaymentError> {
        let now = self.store.now().await?;
        if !order.is_payable(now) {
            return Err(PaymentError::NotPayable);
        }
        if self.store.shipping().needs_address(order).await? {
            return Err(PaymentError::NeedsAddress);
        }
        if self.close_open(order.id).await? {
            return Err(PaymentError::NotPayable);
        }
        self.charge(PaymentPurpose::Order(order.id), order.amount, order.pay_by, choice, now).await
    }

    /// Starts a payment into a user's wallet.
    pub async fn top_up(&self, user: UserId, amount: Money, choice: PayerChoice) -> Result<Begun, PaymentError> {
        check_top_up(amount).map_err(PaymentError::TopUp)?;
        let now = self.store.now().await?;
        self.charge(PaymentPurpose::TopUp(user), amount, now + TOP_UP_LIFETIME, choice, now).await
    }

    async fn charge(
        &self,
        purpose: PaymentPurpose,
        amount: Money,
        expires_at: Timestamp,
        choice: PayerChoice,
        now: Timestamp,
    ) -> Result<Begun, PaymentError> {
        let is_chosen = |name: &str| choice.provider.is_empty() || choice.provider == name;
        let provider = self.taking(amount).find(|provider| is_chosen(provider.name()));
        let provider = provider.ok_or(PaymentError::NoProvider)?;
        let payment = new_id();
        let new = NewPayment { id: payment, purpose, amount, provider: provider.name() };
        if !self.store.payments().add(&new, expires_at, now).await? {
            return Err(PaymentError::TooMany);
        }
        let PayerChoice { title, locale, return_path, phone, .. } = choice;
        let (subject, begun_at) = (purpose.to_string(), now);
        let waiting_path = format!("{}?{RETURNED}", payment_path(locale, payment));
        let charge = Charge { payment, amount, subject, title, begun_at, expires_at, return_path, waiting_path, phone };
        let charged = answer(provider.charge(&charge)).await.map_err(PaymentError::Provider)?;
        let (checkout, reference) = (charged.checkout, charged.reference.as_deref());
        if !self.store.payments().set_checkout(payment, &checkout, reference).await? {
            // The order ended, or another payment of it began, before the provider had answered.
            return Err(PaymentError::NotPayable);
        }
        info!(%payment, %purpose, provider = provider.name(), "payment started");
        Ok(Begun { payment, checkout })
    }

    /// Pays an order from its owner's wallet. Idempotent: a repeated call returns the first payment and `true`.
    pub async fn pay_from_wallet(&self, order: &Order) -> Result<(PaymentId, bool), PaymentError> {
        if self.store.shipping().needs_address(order).await? {
            return Err(PaymentError::NeedsAddress);
        }
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
