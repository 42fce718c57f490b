//! Payments by Stripe Checkout: the payer pays on a page of Stripe (a *session*), and Stripe reports it.
//!
//! The shop sends its own id of a payment with the session and with all that follows from it (`metadata`), so that
//! every report names it. A session cannot end within half an hour of its begin, so the shop expires it when its own
//! time is over. If the answer to a new session is lost, no payer has seen its address, so it cannot be paid.
//!
//! Amounts are counted as Stripe counts them, for most currencies in the minor unit of ISO 4217, as here.
//! <https://docs.stripe.com/currencies>

mod bill;
mod notices;

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use async_trait::async_trait;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use boxed::boxed;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::form_urlencoded;

use crate::PaymentError;
use crate::https::HttpsClient;
use crate::provider::{
    Asked, Bill, Billing, Charge, ChargeState, Charged, Provider, ProviderFacts, RefundOutcome, Refusal, Report, found,
};
use base::config::StripeConfig;
use base::tls::ClientTls;
use domain::{Currency, Money};
use notices::WebhookKeys;
use store::{Checkout, Payment, Refund};

/// The version of the API that requests and answers follow.
const API_VERSION: &str = "2026-10-28.endive";
/// A session ends from 30 minutes to 24 hours after its begin. Two minutes are left for clocks that differ.
const MIN_SESSION: Duration = Duration::from_secs(32 * 60);
const MAX_SESSION: Duration = Duration::from_secs(24 * 3600 - 120);
/// When the list of a day is complete.
const BILLING: Billing = Billing { zone: Offset::UTC, ready_after: Duration::from_secs(3600) };
/// The longest name of what is paid for.
const MAX_TITLE_CHARS: usize = 200;
/// Refunds of one payment that are looked through: as many as one answer has.
const MAX_REFUNDS: usize = 100;

/// An account at Stripe.
pub struct Stripe {
    authorization: HeaderValue,
    keys: WebhookKeys,
    api: String,
    is_test: bool,
    client: HttpsClient,
    /// The origin of the shop, to which payers return.
    shop: String,
}

/// What Stripe says of a session.
#[derive(Debug, Deserialize)]
struct Session {
    id: String,
    url: Option<String>,
    status: Option<String>,
    payment_status: String,
    amount_total: Option<i64>,
    currency: Option<String>,
    payment_intent: Option<String>,
    metadata: Option<Metadata>,
}

/// What the shop wrote on an object. Objects of others have none of it.
#[derive(Debug, Default, Deserialize)]
struct Metadata {
    payment: Option<String>,
    subject: Option<String>,
    refund: Option<String>,
    /// Which attempt of the refund it is. Missing: the first one.
    attempt: Option<String>,
}

impl Metadata {
    fn attempt(&self) -> i64 {
        self.attempt.as_deref().and_then(|attempt| attempt.parse().ok()).unwrap_or_default()
    }
}

#[derive(Debug, Deserialize)]
struct StripeRefund {
    amount: i64,
    currency: String,
    status: Option<String>,
    failure_reason: Option<String>,
    payment_intent: Option<String>,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct List<T> {
    data: Vec<T>,
    #[serde(default)]
    has_more: bool,
}

#[derive(Deserialize)]
struct Intent {
    #[serde(default)]
    status: String,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct RefusalBody {
    error: Refusal,
}

fn refused(refusal: Refusal) -> anyhow::Error {
    anyhow::anyhow!("Stripe refused: {}", refusal.message)
}

fn is_missing(code: &str) -> bool {
    code == "resource_missing"
}

impl Session {
    fn state(&self) -> anyhow::Result<ChargeState> {
        Ok(match (self.payment_status.as_str(), self.status.as_deref()) {
            ("paid", _) => ChargeState::Captured(self.total()?),
            (_, Some("expired")) => ChargeState::Closed,
            _ => ChargeState::Open,
        })
    }

    fn total(&self) -> anyhow::Result<Money> {
        let (amount, currency) = self.amount_total.zip(self.currency.as_deref()).context("a session without amount")?;
        from_stripe(amount, currency).context("a session with an amount that does not exist")
    }
}

impl StripeRefund {
    fn outcome(&self) -> RefundOutcome {
        match self.status.as_deref() {
            Some("succeeded") => RefundOutcome::Done,
            Some(status @ ("failed" | "canceled")) => {
                RefundOutcome::Failed(self.failure_reason.clone().unwrap_or_else(|| status.to_owned()))
            }
            _ => RefundOutcome::Pending,
        }
    }
}

#[boxed]
impl Stripe {
    /// `shop` is the origin of the shop.
    pub fn new(config: &StripeConfig, tls: &ClientTls, shop: &str) -> anyhow::Result<Stripe> {
        let bearer = format!("Bearer {}", config.secret_key.expose_secret());
        let mut authorization = HeaderValue::from_str(&bearer).context("SECKILL_STRIPE_SECRET_KEY")?;
        authorization.set_sensitive(true);
        Ok(Stripe {
            authorization,
            keys: WebhookKeys::new(&config.webhook_secrets),
            api: config.api.clone(),
            is_test: config.is_test,
            client: HttpsClient::new(tls),
            shop: shop.to_owned(),
        })
    }

    /// Checks that Stripe accepts the key and that it may do what payments need.
    pub async fn check(&self) -> anyhow::Result<()> {
        for path in [
            "/v1/checkout/sessions?limit=1",
            "/v1/refunds?limit=1",
            "/v1/balance_transactions?limit=1",
            "/v1/disputes?limit=1",
        ] {
            self.get::<List<serde_json::Value>>(path).await?;
        }
        Ok(())
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.ask(Method::GET, path, "", None).await?.map_err(refused)
    }

    /// `key`: requests with the same key take effect once.
    async fn ask<T: DeserializeOwned>(&self, method: Method, path: &str, form: &str, key: Option<&str>) -> Asked<T> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.api));
        if !form.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        request = request.header("stripe-version", API_VERSION).header(header::AUTHORIZATION, &self.authorization);
        let answer = self.client.send(&request.body(Bytes::copy_from_slice(form.as_bytes()))?).await?;
        match answer.status {
            status if status.is_success() => Ok(Ok(serde_json::from_slice(&answer.body)?)),
            // Not said in Stripe's words, which repeat a part of the key.
            StatusCode::UNAUTHORIZED => bail!("Stripe does not accept SECKILL_STRIPE_SECRET_KEY"),
            StatusCode::FORBIDDEN => {
                bail!(
                    "SECKILL_STRIPE_SECRET_KEY lacks a permission: checkout sessions, refunds, payment intents, disputes, balance transactions"
                )
            }
            // Another request with the same key is under way, or there are too many.
            status @ (StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS) => bail!("Stripe is busy ({status})"),
            status if status.is_client_error() => {
                let body: RefusalBody = serde_json::from_slice(&answer.body)?;
                Ok(Err(body.error))
            }
            status => bail!("Stripe answered {status}"),
        }
    }

    /// `None`: there is no such session in this account and mode.
    async fn session(&self, reference: &str) -> anyhow::Result<Option<Session>> {
        let path = format!("/v1/checkout/sessions/{reference}");
        found(self.ask(Method::GET, &path, "", None).await?, is_missing, refused)
    }

    async fn intent(&self, intent: &str) -> anyhow::Result<Intent> {
        self.get(&format!("/v1/payment_intents/{intent}")).await
    }

    /// The state of a session; `missing` if there is none. A complete session without money waits for a slow method. Once
    /// that has failed, the session takes no other.
    async fn state(&self, reference: &str, missing: ChargeState) -> anyhow::Result<ChargeState> {
        let Some(session) = self.session(reference).await? else { return Ok(missing) };
        let state = session.state()?;
        let waits = state == ChargeState::Open && session.status.as_deref() == Some("complete");
        let Some(intent) = session.payment_intent.filter(|_| waits) else { return Ok(state) };
        let has_failed = matches!(self.intent(&intent).await?.status.as_str(), "requires_payment_method" | "canceled");
        Ok(if has_failed { ChargeState::Closed } else { state })
    }

    /// The refund that was made under this id, if there is one: one that did not fail, or this attempt. Stripe forgets a
    /// request's key after a day, its refunds never.
    async fn made(&self, intent: &str, refund: &Refund) -> anyhow::Result<Option<StripeRefund>> {
        let path = format!("/v1/refunds?payment_intent={intent}&limit={MAX_REFUNDS}");
        let made: List<StripeRefund> = self.get(&path).await?;
        ensure!(made.data.len() < MAX_REFUNDS, "the payment has too many refunds");
        let id = Some(refund.id.to_string());
        let attempts =
            made.data.into_iter().filter(|made| made.metadata.as_ref().is_some_and(|data| data.refund == id));
        let mut attempts: Vec<StripeRefund> = attempts.collect();
        let is_this = |made: &StripeRefund| made.metadata.as_ref().is_some_and(|data| data.attempt() >= refund.attempt);
        let good = attempts.iter().position(|made| !matches!(made.outcome(), RefundOutcome::Failed(_)));
        let found = good.or_else(|| attempts.iter().position(is_this));
        Ok(found.map(|at| attempts.swap_remove(at)))
    }
}

#[async_trait]
impl Provider for Stripe {
    fn facts(&self) -> ProviderFacts<'_> {
        // Reports do not name the shop's own account. A signature proves it, so what is left to compare is the mode.
        let merchant = notices::mode(!self.is_test);
        ProviderFacts { is_test: self.is_test, billing: Some(BILLING), ..ProviderFacts::new("stripe", merchant) }
    }

    fn takes(&self, amount: Money) -> bool {
        in_stripe(amount).is_some()
    }

    async fn charge(&self, charge: &Charge) -> anyhow::Result<Charged> {
        let (amount, currency) = in_stripe(charge.amount).context("an amount that Stripe does not take")?;
        let id = charge.payment.to_string();
        let ends = charge.expires_at.clamp(charge.begun_at + MIN_SESSION, charge.begun_at + MAX_SESSION);
        let title: String = charge.title.chars().take(MAX_TITLE_CHARS).collect();
        let title = if title.trim().is_empty() { charge.subject.clone() } else { title };
        let form = encoded(&[
            ("mode", "payment"),
            ("client_reference_id", &id),
            ("line_items[0][quantity]", "1"),
            ("line_items[0][price_data][currency]", &currency),
            ("line_items[0][price_data][unit_amount]", &amount.to_string()),
            ("line_items[0][price_data][product_data][name]", &title),
            ("metadata[payment]", &id),
            ("metadata[subject]", &charge.subject),
            ("payment_intent_data[metadata][payment]", &id),
            ("payment_intent_data[metadata][subject]", &charge.subject),
            // Payers pay the price of the shop, in its currency.
            ("adaptive_pricing[enabled]", "false"),
            ("expires_at", &ends.as_second().to_string()),
            ("success_url", &format!("{}{}", self.shop, charge.waiting_path)),
            ("cancel_url", &format!("{}{}", self.shop, charge.return_path)),
        ]);
        let begun = self.ask(Method::POST, "/v1/checkout/sessions", &form, Some(&format!("payment-{id}"))).await?;
        let session: Session = begun.map_err(refused)?;
        ensure!(session.total()? == charge.amount, "Stripe asks for another amount");
        let url = session.url.context("a session without an address")?;
        ensure!(
            url.starts_with("https://") || !self.api.starts_with("https://"),
            "a session with an address that is not https"
        );
        Ok(Charged { checkout: Checkout::Redirect(url), reference: Some(session.id) })
    }

    async fn find(&self, payment: &Payment) -> anyhow::Result<ChargeState> {
        let Some(reference) = &payment.reference else { return Ok(ChargeState::Open) };
        self.state(reference, ChargeState::Open).await
    }

    async fn close(&self, payment: &Payment) -> anyhow::Result<ChargeState> {
        let Some(reference) = &payment.reference else { return Ok(ChargeState::Closed) };
        let path = format!("/v1/checkout/sessions/{reference}/expire");
        match self.ask::<Session>(Method::POST, &path, "", None).await? {
            Ok(expired) => expired.state(),
            // It is not open: it expired before, or was paid.
            Err(_) => self.state(reference, ChargeState::Closed).await,
        }
    }

    async fn refund(&self, refund: &Refund) -> anyhow::Result<RefundOutcome> {
        let reference = refund.of.reference.as_deref().context("a payment without a session")?;
        let session = self.session(reference).await?.context("Stripe does not know the session")?;
        let intent = session.payment_intent.context("a session without a payment")?;
        if let Some(made) = self.made(&intent, refund).await? {
            return Ok(made.outcome());
        }
        let (id, payment, attempt) = (refund.id.to_string(), refund.of.id.to_string(), refund.attempt.to_string());
        let subject = refund.of.purpose.to_string();
        let mut fields = vec![
            ("payment_intent", intent.as_str()),
            ("metadata[payment]", &payment),
            ("metadata[subject]", &subject),
            ("metadata[refund]", &id),
        ];
        let amount = refund.asked().map(|amount| in_stripe(amount).context("an amount that Stripe does not take"));
        let amount = amount.transpose()?.map(|(amount, _)| amount.to_string());
        fields.extend(amount.as_deref().map(|amount| ("amount", amount)));
        let mut key = format!("refund-{id}");
        if refund.attempt > 0 {
            fields.push(("metadata[attempt]", &attempt));
            key = format!("{key}-{attempt}");
        }
        Ok(match self.ask::<StripeRefund>(Method::POST, "/v1/refunds", &encoded(&fields), Some(&key)).await? {
            Ok(made) => made.outcome(),
            Err(refusal) => RefundOutcome::Failed(refusal.message),
        })
    }

    async fn bill(&self, day: Date) -> anyhow::Result<Option<Bill<'_>>> {
        self.bill_of(day).map(Some)
    }

    async fn dispute(&self, id: &str) -> anyhow::Result<Option<Report>> {
        let answer = self.ask::<notices::Dispute>(Method::GET, &format!("/v1/disputes/{id}"), "", None).await?;
        match found(answer, is_missing, refused)? {
            Some(found) => self.dispute_report(found).await,
            // It is of another account or mode, whose keys the shop had before.
            None => Ok(None),
        }
    }

    async fn read(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<Option<Report>, PaymentError> {
        self.keys.verify(headers, body, now)?;
        self.report(body).await
    }
}

fn encoded(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// Currencies without a minor unit at Stripe that have one here: an amount is divided by 100.
const WHOLE_AT_STRIPE: [&str; 1] = ["MGA"];
/// Currencies without a minor unit that Stripe counts in hundredths all the same.
const HUNDREDTHS_AT_STRIPE: [&str; 1] = ["ISK"];
/// Currencies of three digits, of which Stripe takes amounts whose last digit is 0.
const THREE_DIGITS: [&str; 5] = ["BHD", "JOD", "KWD", "OMR", "TND"];
/// Currencies that Stripe does not take, or of which it is not certain how it counts them.
const NOT_TAKEN: [&str; 13] =
    ["CLF", "CUP", "ERN", "IQD", "IRR", "KPW", "LYD", "SDG", "SSP", "SYP", "UGX", "UYI", "UYW"];

/// The amount and the currency as Stripe writes them. `None`: Stripe cannot take exactly this amount.
fn in_stripe(money: Money) -> Option<(i64, String)> {
    let code = money.currency.as_str();
    let amount = match code {
        _ if NOT_TAKEN.contains(&code) || money.amount < 1 => None,
        _ if WHOLE_AT_STRIPE.contains(&code) => (money.amount % 100 == 0).then_some(money.amount / 100),
        _ if HUNDREDTHS_AT_STRIPE.contains(&code) => money.amount.checked_mul(100),
        _ if THREE_DIGITS.contains(&code) => (money.amount % 10 == 0).then_some(money.amount),
        _ => Some(money.amount),
    };
    Some((amount?, code.to_lowercase()))
}

/// An amount of Stripe. `None` if there is no such currency, or no such amount of it.
fn from_stripe(amount: i64, currency: &str) -> Option<Money> {
    let currency = Currency::known(&currency.to_uppercase())?;
    let amount = match currency.as_str() {
        code if WHOLE_AT_STRIPE.contains(&code) => amount.checked_mul(100)?,
        code if HUNDREDTHS_AT_STRIPE.contains(&code) => (amount % 100 == 0).then_some(amount / 100)?,
        _ => amount,
    };
    Some(Money::new(amount, currency))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_in_every_currency_or_not_taken() {
        for (amount, code, at_stripe) in [
            (1_999, "CNY", Some(1_999)),
            (500, "JPY", Some(500)),
            (500, "KRW", Some(500)),
            (5, "ISK", Some(500)),
            (500, "MGA", Some(5)),
            (550, "MGA", None),
            (5_120, "KWD", Some(5_120)),
            (5_124, "KWD", None),
            (1_000, "IQD", None),
            (0, "CNY", None),
            (1_000, "UGX", None),
            (i64::MAX, "ISK", None),
        ] {
            let asked = Money::new(amount, Currency::known(code).unwrap());
            let told = in_stripe(asked);
            assert_eq!(told, at_stripe.map(|amount| (amount, code.to_lowercase())), "{asked}");
            if let Some((amount, currency)) = told {
                assert_eq!(from_stripe(amount, &currency), Some(asked));
            }
        }
        // Every currency, with amounts of every size. What Stripe takes, it tells back as the same amount.
        let mut taken = 0;
        for currency in Currency::all() {
            let sizes = (0..=18).map(|digits| 10_i64.pow(digits));
            for amount in sizes.flat_map(|size| [size - 1, size, size + 1, size * 7 / 3]).chain([i64::MAX]) {
                let asked = Money::new(amount, currency);
                let Some((told, code)) = in_stripe(asked) else { continue };
                assert_eq!(from_stripe(told, &code), Some(asked), "{asked}");
                taken += 1;
            }
        }
        assert!(taken > 9_000, "{taken}");
        assert_eq!((from_stripe(150, "isk"), from_stripe(1, "zzz"), from_stripe(i64::MAX, "mga")), (None, None, None));
    }
}
