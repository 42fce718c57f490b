//! Payments by Alipay: on Alipay's page (*page pay*, on a phone *wap pay*), or by a QR code (*precreate*).
//!
//! The shop's id of a payment, without hyphens, is Alipay's `out_trade_no`. The address of a page is made here, without
//! a request. Alipay has the trade once the payer opens the page or scans the code, so a trade that it does not have
//! may still be paid until `time_expire`.
//!
//! Requests are signed over their sorted parameters, and answers over the raw text of the object that they have.
//!
//! Notices are forms about what happened to a trade. They are repeated for a day with the time of the first one, so
//! their age proves nothing. Each is applied once.

mod bill;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use async_trait::async_trait;
use axum::body::Bytes;
use axum::http::{HeaderMap, Request, StatusCode, header};
use boxed::boxed;
use jiff::Timestamp;
use jiff::civil::Date;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use url::form_urlencoded::{self, Serializer};

use crate::PaymentError;
use crate::china::{BILLING, id_in, in_china, is_yuan, merchant, number, shortened};
use crate::https::HttpsClient;
use crate::provider::{
    Asked, Bill, Charge, ChargeState, Charged, Provider, ProviderFacts, RefundOutcome, Refusal, Report, ReportKind,
    found,
};
use base::clock::Clock;
use base::config::AlipayConfig;
use base::tls::ClientTls;
use domain::{Currency, Money, PaymentId};
use store::{Checkout, Payment, Refund};

/// How moments are written.
const TIME: &str = "%Y-%m-%d %H:%M:%S";
/// The longest name of what is paid for.
const MAX_TITLE_BYTES: usize = 256;
/// A trade lasts at least a minute, a QR code two hours.
const MIN_LIFETIME: Duration = Duration::from_secs(60);
/// How much the clocks of Alipay and of the shop may differ.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(5);
const MAX_SCAN_LIFETIME: Duration = Duration::from_secs(2 * 3600);
const MAX_LIFETIME: Duration = Duration::from_secs(14 * 24 * 3600);

/// An app of a merchant at Alipay.
pub struct Alipay {
    config: AlipayConfig,
    merchant: String,
    client: HttpsClient,
    /// The origin of the shop.
    shop: String,
    clock: Clock,
}

#[derive(Deserialize)]
struct Trade {
    out_trade_no: String,
    trade_status: String,
    #[serde(default)]
    total_amount: String,
}

#[derive(Deserialize)]
struct Precreated {
    qr_code: String,
}

#[derive(Deserialize)]
struct Refunded {
    /// `Y` if this request moved money.
    #[serde(default)]
    fund_change: String,
}

#[derive(Deserialize)]
struct FoundRefund {
    #[serde(default)]
    refund_status: String,
    #[serde(default)]
    refund_amount: String,
}

/// What every answer has. `10000`: it was done. `40004`: it was refused, for the reason in `sub_code`.
#[derive(Deserialize)]
struct Outcome {
    code: String,
    #[serde(default)]
    msg: String,
    #[serde(default)]
    sub_code: String,
    #[serde(default)]
    sub_msg: String,
}

fn refused(Refusal { code, message }: Refusal) -> anyhow::Error {
    anyhow::anyhow!("Alipay refused: {message} ({code})")
}

fn is_unknown_trade(code: &str) -> bool {
    code == "ACQ.TRADE_NOT_EXIST"
}

impl Trade {
    fn state(&self) -> anyhow::Result<ChargeState> {
        Ok(match self.trade_status.as_str() {
            "TRADE_SUCCESS" | "TRADE_FINISHED" => ChargeState::Captured(self.paid()?),
            // Never paid, or all of it went back.
            "TRADE_CLOSED" => ChargeState::Closed,
            _ => ChargeState::Open,
        })
    }

    fn paid(&self) -> anyhow::Result<Money> {
        yuan(&self.total_amount).context("a trade without an amount")
    }
}

/// An amount as Alipay writes it, with two digits after the point.
fn yuan(text: &str) -> Option<Money> {
    Money::from_decimal(text, Currency::CNY)
}

#[boxed]
impl Alipay {
    /// `shop` is the origin of the shop.
    pub fn new(config: &AlipayConfig, tls: &ClientTls, shop: &str, clock: &Clock) -> Alipay {
        Alipay {
            merchant: merchant(&config.seller_id, &config.app_id),
            config: config.clone(),
            client: HttpsClient::new(tls),
            shop: shop.to_owned(),
            clock: clock.clone(),
        }
    }

    /// Checks that Alipay accepts the key of the app, and that its own key fits its answers.
    pub async fn check(&self) -> anyhow::Result<()> {
        self.trade(PaymentId(uuid::Uuid::now_v7())).await.map(drop)
    }

    /// All parameters of a request with their signature.
    fn signed(
        &self,
        method: &str,
        content: &Value,
        back: Option<&str>,
    ) -> anyhow::Result<BTreeMap<&'static str, String>> {
        let mut parameters = BTreeMap::from([
            ("app_id", self.config.app_id.clone()),
            ("method", method.to_owned()),
            ("format", "JSON".to_owned()),
            ("charset", "utf-8".to_owned()),
            ("sign_type", "RSA2".to_owned()),
            ("timestamp", in_china(self.clock.now(), TIME)),
            ("version", "1.0".to_owned()),
            ("notify_url", format!("{}/api/webhooks/payments/alipay", self.shop)),
            ("biz_content", content.to_string()),
        ]);
        parameters.extend(back.map(|back| ("return_url", back.to_owned())));
        let signature = self.config.key.sign(joined(&parameters).as_bytes())?;
        parameters.insert("sign", signature);
        Ok(parameters)
    }

    async fn ask<T: DeserializeOwned>(&self, method: &str, content: &Value) -> Asked<T> {
        let mut parameters = self.signed(method, content, None)?;
        // The gateway takes the content from the body. The rest stands in the address, where it looks for the charset.
        let content = parameters.remove("biz_content").unwrap_or_default();
        let request = Request::post(self.address(&parameters))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded;charset=utf-8")
            .body(Bytes::from(Serializer::new(String::new()).append_pair("biz_content", &content).finish()))?;
        let answer = self.client.send(&request).await?;
        ensure!(answer.status == StatusCode::OK, "Alipay answered {}", answer.status);
        let parts: HashMap<String, Box<RawValue>> = serde_json::from_slice(&answer.body)?;
        let told = parts.get(&format!("{}_response", method.replace('.', "_"))).or(parts.get("error_response"));
        let told = told.context("an answer about something else")?.get();
        let outcome: Outcome = serde_json::from_str(told)?;
        // Answers about wrong keys are not signed.
        if matches!(
            outcome.sub_code.as_str(),
            "isv.invalid-signature" | "isv.invalid-app-id" | "isv.missing-signature-key"
        ) {
            bail!("Alipay does not accept SECKILL_ALIPAY_KEY for SECKILL_ALIPAY_APP_ID ({})", outcome.sub_code);
        }
        let sign: String = parts.get("sign").map_or(Ok(String::new()), |sign| serde_json::from_str(sign.get()))?;
        let is_signed = self.is_signed(told.as_bytes(), &sign);
        ensure!(is_signed, "the signature of Alipay's answer does not fit SECKILL_ALIPAY_PUBLIC_KEY");
        match (outcome.code.as_str(), outcome.sub_code.as_str()) {
            ("10000", _) => Ok(Ok(serde_json::from_str(told)?)),
            // It may have happened all the same.
            ("40004", code) if code.ends_with("SYSTEM_ERROR") => bail!("Alipay has a fault ({code})"),
            ("40004", code) => Ok(Err(Refusal { code: code.to_owned(), message: outcome.sub_msg })),
            (code, sub_code) => bail!("Alipay answered {code} {sub_code}: {} {}", outcome.msg, outcome.sub_msg),
        }
    }

    /// Whether a text has the signature of one of Alipay's keys.
    fn is_signed(&self, text: &[u8], sign: &str) -> bool {
        self.config.alipay_keys.iter().any(|key| key.verifies(text, sign))
    }

    fn address(&self, parameters: &BTreeMap<&str, String>) -> String {
        let query = Serializer::new(String::new()).extend_pairs(parameters).finish();
        format!("{}/gateway.do?{query}", self.config.api)
    }

    /// The trade of a payment; `None` if Alipay does not have it.
    async fn trade(&self, id: PaymentId) -> anyhow::Result<Option<Trade>> {
        let answer = self.ask::<Trade>("alipay.trade.query", &json!({"out_trade_no": number(id.0)})).await?;
        let trade = found(answer, is_unknown_trade, refused)?;
        let is_asked_for = trade.as_ref().is_none_or(|trade| trade.out_trade_no == number(id.0));
        ensure!(is_asked_for, "Alipay answered about another trade");
        Ok(trade)
    }

    /// The amount of a refund that was made under this number, if there is one.
    async fn made(&self, payment: &str, refund: &str) -> anyhow::Result<Option<Money>> {
        let content = json!({"out_trade_no": payment, "out_request_no": refund});
        let answer = self.ask::<FoundRefund>("alipay.trade.fastpay.refund.query", &content).await?;
        let made = found(answer, is_unknown_trade, refused)?.filter(|made| made.refund_status == "REFUND_SUCCESS");
        made.map(|made| yuan(&made.refund_amount).context("a refund without an amount")).transpose()
    }
}

/// The text that is signed.
fn joined<K: AsRef<str>>(parameters: &BTreeMap<K, String>) -> String {
    let parts = parameters.iter().map(|(name, value)| format!("{}={value}", name.as_ref()));
    parts.collect::<Vec<_>>().join("&")
}

#[async_trait]
impl Provider for Alipay {
    fn facts(&self) -> ProviderFacts<'_> {
        ProviderFacts {
            is_test: self.config.is_test,
            // WeChat opens no page of Alipay.
            opens_in_wechat: false,
            billing: Some(BILLING),
            accepted: (StatusCode::OK, "success"),
            ..ProviderFacts::new("alipay", &self.merchant)
        }
    }

    fn takes(&self, amount: Money) -> bool {
        is_yuan(amount)
    }

    async fn charge(&self, charge: &Charge) -> anyhow::Result<Charged> {
        let number = number(charge.payment.0);
        let ends = charge.expires_at.clamp(charge.begun_at + MIN_LIFETIME, charge.begun_at + MAX_LIFETIME);
        let title = if charge.title.trim().is_empty() { &charge.subject } else { &charge.title };
        let mut content = json!({
            "out_trade_no": number,
            "total_amount": charge.amount.decimal(),
            "subject": shortened(title, MAX_TITLE_BYTES),
            // Notices repeat it.
            "body": charge.subject,
            "time_expire": in_china(ends, TIME),
        });
        let back = format!("{}{}", self.shop, charge.waiting_path);
        let page = |method: &str, content: &Value| {
            anyhow::Ok(Checkout::Redirect(self.address(&self.signed(method, content, Some(&back))?)))
        };
        let checkout = if charge.phone.is_some() {
            content["product_code"] = "QUICK_WAP_WAY".into();
            content["quit_url"] = format!("{}{}", self.shop, charge.return_path).into();
            page("alipay.trade.wap.pay", &content)?
        } else if self.config.shows_code {
            let begun = self.ask::<Precreated>("alipay.trade.precreate", &content).await?;
            let text = begun.map_err(refused)?.qr_code;
            Checkout::Scan { text, expires_at: charge.expires_at.min(charge.begun_at + MAX_SCAN_LIFETIME) }
        } else {
            content["product_code"] = "FAST_INSTANT_TRADE_PAY".into();
            page("alipay.trade.page.pay", &content)?
        };
        Ok(Charged { checkout, reference: Some(number) })
    }

    async fn find(&self, payment: &Payment) -> anyhow::Result<ChargeState> {
        self.trade(payment.id).await?.map_or(Ok(ChargeState::Open), |trade| trade.state())
    }

    async fn close(&self, payment: &Payment) -> anyhow::Result<ChargeState> {
        let content = json!({"out_trade_no": number(payment.id.0)});
        let refusal = match self.ask::<Value>("alipay.trade.close", &content).await? {
            Ok(_) => return Ok(ChargeState::Closed),
            // A payer who has the address may still open it. Begun in the last minute, it lasts longer than the order waits.
            Err(refusal) if is_unknown_trade(&refusal.code) => {
                let now = self.clock.now();
                let is_over = payment.expires_at.is_none_or(|ends| ends + MIN_LIFETIME + CLOCK_TOLERANCE <= now);
                return Ok(if is_over { ChargeState::Closed } else { ChargeState::Open });
            }
            Err(refusal) => refusal,
        };
        // It was paid or closed before. What it became decides.
        match self.find(payment).await? {
            ChargeState::Open => Err(refused(refusal)),
            ended => Ok(ended),
        }
    }

    async fn refund(&self, refund: &Refund) -> anyhow::Result<RefundOutcome> {
        let (payment, id) = (number(refund.of.id.0), number(refund.id.0));
        if self.made(&payment, &id).await?.is_some() {
            return Ok(RefundOutcome::Done);
        }
        let asked = match refund.asked() {
            Some(amount) => amount,
            None => self.trade(refund.of.id).await?.context("Alipay does not know the trade")?.paid()?,
        };
        ensure!(asked.currency == Currency::CNY, "a refund in another currency than yuan");
        let content = json!({"out_trade_no": payment, "out_request_no": id, "refund_amount": asked.decimal()});
        match self.ask::<Refunded>("alipay.trade.refund", &content).await? {
            Ok(refunded) if refunded.fund_change == "Y" => Ok(RefundOutcome::Done),
            Ok(_) => Ok(self.made(&payment, &id).await?.map_or(RefundOutcome::Pending, |_| RefundOutcome::Done)),
            // The merchant's balance may be enough later.
            Err(refusal) if refusal.code == "ACQ.SELLER_BALANCE_NOT_ENOUGH" => Err(refused(refusal)),
            // `ACQ.TRADE_HAS_FINISHED`: Alipay refunds for three months, or as long as the contract says.
            Err(refusal) => Ok(RefundOutcome::Failed(format!("{} ({})", refusal.message, refusal.code))),
        }
    }

    async fn read(&self, _: &HeaderMap, body: &[u8], _: Timestamp) -> Result<Option<Report>, PaymentError> {
        let mut form: BTreeMap<String, String> = form_urlencoded::parse(body).into_owned().collect();
        let sign = form.remove("sign").ok_or(PaymentError::BadSignature)?;
        form.remove("sign_type");
        if !self.is_signed(joined(&form).as_bytes(), &sign) {
            return Err(PaymentError::BadSignature);
        }
        // Cases keep these texts, and PostgreSQL keeps no NUL.
        if form.values().any(|value| value.contains('\0')) {
            return Err(PaymentError::Malformed);
        }
        let told = |name: &str| form.get(name).map(String::as_str).filter(|value| !value.is_empty());
        let needed = |name: &str| told(name).ok_or(PaymentError::Malformed);
        let amount = |name: &str| needed(name).and_then(|text| yuan(text).ok_or(PaymentError::Malformed));
        let payment = needed("out_trade_no")?;
        let (kind, refund, amount) = match (told("refund_fee").or(told("gmt_refund")), needed("trade_status")?) {
            (Some(_), _) => {
                let (refund, amount) = match told("out_biz_no") {
                    Some(number) => (id_in(number).parse().ok(), self.refunded(payment, number).await?),
                    None => (None, amount("refund_fee")?),
                };
                (ReportKind::RefundSucceeded, refund, amount)
            }
            (None, "TRADE_SUCCESS" | "TRADE_FINISHED") => (ReportKind::Captured, None, amount("total_amount")?),
            _ => return Ok(None),
        };
        Ok(Some(Report {
            id: needed("notify_id")?.to_owned(),
            event: kind.as_str().to_owned(),
            payment: id_in(payment),
            refund,
            amount: Some(amount),
            merchant: Some(merchant(needed("seller_id")?, needed("app_id")?)),
            subject: told("body").map(str::to_owned),
            instrument: told("buyer_id").or(told("buyer_open_id")).map(str::to_owned),
            ..Report::default()
        }))
    }

    async fn bill(&self, day: Date) -> anyhow::Result<Option<Bill<'_>>> {
        self.bill_of(day).await
    }
}

impl Alipay {
    /// The amount of a refund. A notice tells the sum of all refunds of its trade, so Alipay is asked.
    async fn refunded(&self, payment: &str, refund: &str) -> Result<Money, PaymentError> {
        let made = self.made(payment, refund).await.map_err(PaymentError::Provider)?;
        made.ok_or_else(|| PaymentError::Provider(anyhow::anyhow!("Alipay reports a refund that it does not find")))
    }
}
