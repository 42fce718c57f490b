//! Payments by WeChat Pay (API v3): by a QR code on a computer (*Native*), at an address on a phone (*H5*).
//!
//! The shop's id of a payment, without hyphens, is WeChat's `out_trade_no`. So every report names the payment, and one
//! whose begin was not answered can be closed all the same. An order is not closed by its `time_expire`, so the shop
//! closes it. Requests are signed with the merchant's key, and answers with a key of the platform ([`signatures`]).
//!
//! Notices tell of a payment that was made and of the end of a refund. They are encrypted with the v3 key.

mod bill;
mod signatures;

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use async_trait::async_trait;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use boxed::boxed;
use jiff::Timestamp;
use jiff::civil::Date;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::form_urlencoded::byte_serialize;

use crate::PaymentError;
use crate::china::{self, id_in, in_china, merchant, number, shortened};
use crate::https::{Answer, HttpsClient};
use crate::provider::{
    Asked, Bill, Charge, ChargeState, Charged, Provider, ProviderFacts, RefundOutcome, Refusal, Report, ReportKind,
    found,
};
use base::clock::Clock;
use base::config::WechatPayConfig;
use base::tls::ClientTls;
use domain::{Currency, Money, PaymentId};
use signatures::{Encrypted, Signatures};
use store::{Checkout, Payment, Refund};

/// A QR code lasts two hours, and an order at least a minute. The second minute is for clocks that differ.
const MIN_LIFETIME: Duration = Duration::from_secs(2 * 60);
const MAX_LIFETIME: Duration = Duration::from_secs(2 * 3600);
/// The longest name of what is paid for.
const MAX_TITLE_BYTES: usize = 127;
/// WeChat Pay refuses requests that name no program.
const USER_AGENT: &str = concat!("seckill/", env!("CARGO_PKG_VERSION"));

/// An account of a merchant at WeChat Pay.
pub struct WechatPay {
    config: WechatPayConfig,
    merchant: String,
    signatures: Signatures,
    client: HttpsClient,
    /// The origin of the shop.
    shop: String,
    clock: Clock,
}

/// What WeChat Pay says of an order.
#[derive(Deserialize)]
struct Transaction {
    mchid: String,
    appid: String,
    out_trade_no: String,
    trade_state: String,
    /// What the shop wrote on the order.
    attach: Option<String>,
    amount: Option<Amount>,
    payer: Option<Payer>,
}

#[derive(Deserialize)]
struct Amount {
    total: i64,
    #[serde(default = "yuan")]
    currency: String,
}

#[derive(Deserialize)]
struct Payer {
    #[serde(default)]
    openid: String,
}

#[derive(Deserialize)]
struct WechatRefund {
    out_refund_no: String,
    status: String,
}

fn refused(Refusal { code, message }: Refusal) -> anyhow::Error {
    anyhow::anyhow!("WeChat Pay refused: {message} ({code})")
}

fn is_unknown_order(code: &str) -> bool {
    matches!(code, "ORDER_NOT_EXIST" | "ORDERNOTEXIST" | "RESOURCE_NOT_EXISTS")
}

fn yuan() -> String {
    Currency::CNY.as_str().to_owned()
}

impl Amount {
    fn money(&self) -> Option<Money> {
        Some(Money::new(self.total, Currency::known(&self.currency)?))
    }
}

impl Transaction {
    fn state(&self) -> anyhow::Result<ChargeState> {
        Ok(match self.trade_state.as_str() {
            // `REFUND`: paid, and something went back.
            "SUCCESS" | "REFUND" => ChargeState::Captured(self.paid().context("an order without an amount")?),
            "CLOSED" | "REVOKED" => ChargeState::Closed,
            // `NOTPAY`, `USERPAYING`, and `PAYERROR`, after which the payer may try again.
            _ => ChargeState::Open,
        })
    }

    fn paid(&self) -> Option<Money> {
        self.amount.as_ref().and_then(Amount::money)
    }
}

/// The statuses of a refund, in answers and notices.
fn outcome(status: &str) -> RefundOutcome {
    match status {
        "SUCCESS" => RefundOutcome::Done,
        "CLOSED" => RefundOutcome::Failed("WeChat Pay closed the refund".to_owned()),
        // The payer's card or account takes no money. The merchant pays it out on the merchant platform.
        "ABNORMAL" => RefundOutcome::Failed("the payer's account does not take the money (ABNORMAL)".to_owned()),
        _ => RefundOutcome::Pending,
    }
}

#[boxed]
impl WechatPay {
    /// `shop` is the origin of the shop.
    pub fn new(config: &WechatPayConfig, tls: &ClientTls, shop: &str, clock: &Clock) -> anyhow::Result<WechatPay> {
        Ok(WechatPay {
            merchant: merchant(&config.mchid, &config.appid),
            signatures: Signatures::new(config)?,
            config: config.clone(),
            client: HttpsClient::new(tls),
            shop: shop.to_owned(),
            clock: clock.clone(),
        })
    }

    /// Checks that WeChat Pay accepts the merchant's key, and that its answers can be read.
    pub async fn check(&self) -> anyhow::Result<()> {
        if !self.signatures.has_public_key() {
            self.fetch_certificates().await?;
        }
        self.transaction(PaymentId(uuid::Uuid::now_v7())).await.map(drop)
    }

    async fn ask<T: DeserializeOwned>(&self, method: Method, path: &str, body: Option<&Value>) -> Asked<T> {
        let answer = self.send(method, path, body).await?;
        // A refusal may come from a server before the one that signs.
        if answer.status.is_success() || answer.headers.contains_key(signatures::SIGNATURE) {
            let signed = self.verify(&answer.headers, &answer.body, self.clock.now()).await;
            signed.with_context(|| format!("WeChat Pay's answer does not fit {}", self.signatures.key_in_words()))?;
        }
        match answer.status {
            StatusCode::NO_CONTENT => Ok(Ok(serde_json::from_str("null")?)),
            StatusCode::OK => Ok(Ok(serde_json::from_slice(&answer.body)?)),
            status => refusal(status, &answer.body).map(Err),
        }
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<Answer> {
        let body = body.map(Value::to_string).unwrap_or_default();
        self.client.send(&self.signed(method, &format!("{}{path}", self.config.api), path, body)?).await
    }

    /// A request with the merchant's signature, which covers the path as WeChat Pay knows it.
    fn signed(&self, method: Method, url: &str, path: &str, body: String) -> anyhow::Result<Request<Bytes>> {
        let signed = self.signatures.authorization(&method, path, self.clock.now(), &body)?;
        let mut request = Request::builder().method(method).uri(url);
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        if let Some(id) = self.signatures.public_key_id() {
            request = request.header(signatures::SERIAL, id);
        }
        request = request.header(header::ACCEPT, "application/json").header(header::USER_AGENT, USER_AGENT);
        let mut signed = HeaderValue::from_str(&signed)?;
        signed.set_sensitive(true);
        Ok(request.header(header::AUTHORIZATION, signed).body(Bytes::from(body))?)
    }

    /// The order of a payment; `None` if WeChat Pay does not have it.
    async fn transaction(&self, id: PaymentId) -> anyhow::Result<Option<Transaction>> {
        let number = number(id.0);
        let path = format!("/v3/pay/transactions/out-trade-no/{number}?mchid={}", self.config.mchid);
        let order = found(self.ask::<Transaction>(Method::GET, &path, None).await?, is_unknown_order, refused)?;
        if let Some(order) = &order {
            let is_ours = order.mchid == self.config.mchid && order.appid == self.config.appid;
            ensure!(is_ours && order.out_trade_no == number, "WeChat Pay answered about another order");
        }
        Ok(order)
    }

    /// Begins an order, by the address for a phone if there is one.
    async fn begin(&self, charge: &Charge, phone: Option<IpAddr>) -> Asked<Value> {
        let ends = lifetime_end(charge);
        let title = if charge.title.trim().is_empty() { &charge.subject } else { &charge.title };
        let mut order = json!({
            "appid": self.config.appid,
            "mchid": self.config.mchid,
            "description": shortened(title, MAX_TITLE_BYTES),
            "out_trade_no": number(charge.payment.0),
            "time_expire": in_china(ends, "%Y-%m-%dT%H:%M:%S+08:00"),
            "attach": charge.subject,
            "notify_url": self.notify_url(),
            "amount": {"total": charge.amount.amount, "currency": charge.amount.currency},
        });
        let way = match phone {
            Some(address) => {
                order["scene_info"] = json!({"payer_client_ip": address, "h5_info": {"type": "Wap"}});
                "h5"
            }
            None => "native",
        };
        self.ask(Method::POST, &format!("/v3/pay/transactions/{way}"), Some(&order)).await
    }

    fn notify_url(&self) -> String {
        format!("{}/api/webhooks/payments/wechatpay", self.shop)
    }
}

fn lifetime_end(charge: &Charge) -> Timestamp {
    charge.expires_at.clamp(charge.begun_at + MIN_LIFETIME, charge.begun_at + MAX_LIFETIME)
}

/// # Errors
/// It is not known whether the request took effect.
fn refusal(status: StatusCode, body: &[u8]) -> anyhow::Result<Refusal> {
    match status {
        StatusCode::UNAUTHORIZED => bail!(
            "WeChat Pay does not accept SECKILL_WECHATPAY_KEY with SECKILL_WECHATPAY_SERIAL and SECKILL_WECHATPAY_MCHID"
        ),
        StatusCode::TOO_MANY_REQUESTS => bail!("WeChat Pay is busy ({status})"),
        status if status.is_client_error() => Ok(serde_json::from_slice(body)?),
        status => bail!("WeChat Pay answered {status}"),
    }
}

#[async_trait]
impl Provider for WechatPay {
    fn facts(&self) -> ProviderFacts<'_> {
        ProviderFacts {
            is_test: self.config.is_test,
            // Its page for browsers refuses WeChat's own, where only JSAPI pays.
            opens_in_wechat: false,
            billing: Some(china::BILLING),
            refused: Some(r#"{"code":"FAIL","message":"not accepted"}"#),
            ..ProviderFacts::new("wechatpay", &self.merchant)
        }
    }

    fn takes(&self, amount: Money) -> bool {
        china::is_yuan(amount)
    }

    async fn charge(&self, charge: &Charge) -> anyhow::Result<Charged> {
        let mut phone = charge.phone;
        let begun = match self.begin(charge, phone).await? {
            // The merchant did not apply for payments on phones, and nothing was begun.
            Err(refusal) if phone.is_some() && refusal.code == "NO_AUTH" => {
                phone = None;
                self.begin(charge, phone).await?
            }
            begun => begun,
        };
        let begun = begun.map_err(refused)?;
        let told =
            |name: &str| begun[name].as_str().map(str::to_owned).with_context(|| format!("an order without {name}"));
        let checkout = match phone {
            None => Checkout::Scan { text: told("code_url")?, expires_at: lifetime_end(charge).min(charge.expires_at) },
            Some(_) => {
                let url = told("h5_url")?;
                ensure!(
                    url.starts_with("https://") || self.config.is_test,
                    "an order with an address that is not https"
                );
                let back = format!("{}{}", self.shop, charge.waiting_path);
                Checkout::Redirect(format!(
                    "{url}&redirect_url={}",
                    byte_serialize(back.as_bytes()).collect::<String>()
                ))
            }
        };
        Ok(Charged { checkout, reference: Some(number(charge.payment.0)) })
    }

    async fn find(&self, payment: &Payment) -> anyhow::Result<ChargeState> {
        self.transaction(payment.id).await?.map_or(Ok(ChargeState::Open), |found| found.state())
    }

    async fn close(&self, payment: &Payment) -> anyhow::Result<ChargeState> {
        let path = format!("/v3/pay/transactions/out-trade-no/{}/close", number(payment.id.0));
        let refusal = match self.ask::<()>(Method::POST, &path, Some(&json!({"mchid": self.config.mchid}))).await? {
            Ok(()) => return Ok(ChargeState::Closed),
            Err(refusal) if is_unknown_order(&refusal.code) => return Ok(ChargeState::Closed),
            Err(refusal) => refusal,
        };
        // It was paid or closed before. What it became decides.
        match self.transaction(payment.id).await?.map_or(Ok(ChargeState::Closed), |found| found.state())? {
            ChargeState::Open => Err(refused(refusal)),
            ended => Ok(ended),
        }
    }

    /// The same number of a refund is the same refund, so WeChat Pay makes it once and then tells what it became.
    async fn refund(&self, refund: &Refund) -> anyhow::Result<RefundOutcome> {
        let paid = self.transaction(refund.of.id).await?.context("WeChat Pay does not know the order")?.paid();
        let paid = paid.context("an order without an amount")?;
        let asked = refund.asked().unwrap_or(paid);
        ensure!(asked.currency == paid.currency, "the order was paid in {}", paid.currency.as_str());
        let body = json!({
            "out_trade_no": number(refund.of.id.0),
            "out_refund_no": number(refund.id.0),
            "notify_url": self.notify_url(),
            "amount": {"refund": asked.amount, "total": paid.amount, "currency": paid.currency},
        });
        match self.ask::<WechatRefund>(Method::POST, "/v3/refund/domestic/refunds", Some(&body)).await? {
            Ok(made) => {
                ensure!(made.out_refund_no == number(refund.id.0), "WeChat Pay answered about another refund");
                Ok(outcome(&made.status))
            }
            // The merchant's balance may be enough later.
            Err(refusal) if refusal.code == "NOT_ENOUGH" => Err(refused(refusal)),
            Err(refusal) => Ok(RefundOutcome::Failed(refusal.message)),
        }
    }

    async fn read(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<Option<Report>, PaymentError> {
        self.verify(headers, body, now).await?;
        let notice: Notice = serde_json::from_slice(body).map_err(|_| PaymentError::Malformed)?;
        match notice.event_type.as_str() {
            "TRANSACTION.SUCCESS" => self.payment_report(notice),
            "REFUND.SUCCESS" | "REFUND.ABNORMAL" | "REFUND.CLOSED" => self.refund_report(notice),
            _ => Ok(None),
        }
    }

    async fn bill(&self, day: Date) -> anyhow::Result<Option<Bill<'_>>> {
        self.bill_of(day).await
    }
}

#[derive(Deserialize)]
struct Notice {
    id: String,
    event_type: String,
    resource: Encrypted,
}

#[derive(Deserialize)]
struct RefundNotice {
    mchid: String,
    out_trade_no: String,
    out_refund_no: String,
    refund_status: String,
    amount: RefundAmount,
}

#[derive(Deserialize)]
struct RefundAmount {
    refund: i64,
    currency: Option<String>,
}

impl WechatPay {
    fn payment_report(&self, notice: Notice) -> Result<Option<Report>, PaymentError> {
        let order: Transaction = self.opened(&notice)?;
        if order.trade_state != "SUCCESS" {
            return Ok(None);
        }
        Ok(Some(Report {
            id: notice.id,
            event: ReportKind::Captured.as_str().to_owned(),
            payment: id_in(&order.out_trade_no),
            amount: Some(order.paid().ok_or(PaymentError::Malformed)?),
            merchant: Some(merchant(&order.mchid, &order.appid)),
            subject: order.attach.filter(|subject| !subject.is_empty()),
            instrument: order.payer.map(|payer| payer.openid),
            ..Report::default()
        }))
    }

    /// Refunds that staff make on the merchant platform are reported, too.
    fn refund_report(&self, notice: Notice) -> Result<Option<Report>, PaymentError> {
        let refund: RefundNotice = self.opened(&notice)?;
        let (kind, reason) = match outcome(&refund.refund_status) {
            RefundOutcome::Done => (ReportKind::RefundSucceeded, String::new()),
            RefundOutcome::Failed(reason) => (ReportKind::RefundFailed, reason),
            RefundOutcome::Pending => return Ok(None),
        };
        let currency = refund.amount.currency.as_deref().map_or(Some(Currency::CNY), Currency::known);
        Ok(Some(Report {
            id: notice.id,
            event: kind.as_str().to_owned(),
            payment: id_in(&refund.out_trade_no),
            refund: id_in(&refund.out_refund_no).parse().ok(),
            amount: Some(Money::new(refund.amount.refund, currency.ok_or(PaymentError::Malformed)?)),
            // The app is not named here.
            merchant: Some(merchant(&refund.mchid, &self.config.appid)),
            reason,
            ..Report::default()
        }))
    }

    fn opened<T: DeserializeOwned>(&self, notice: &Notice) -> Result<T, PaymentError> {
        let text = self.signatures.decrypt(&notice.resource).map_err(PaymentError::Provider)?;
        // Cases keep parts of it, and PostgreSQL keeps no NUL.
        if notice.id.contains('\0') || String::from_utf8_lossy(&text).contains("\\u0000") {
            return Err(PaymentError::Malformed);
        }
        serde_json::from_slice(&text).map_err(|_| PaymentError::Malformed)
    }
}
