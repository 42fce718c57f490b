//! Alipay's notices: forms about what became of a trade. They are repeated for a day with the time of the first one, so
//! their age proves nothing. Each is applied once.

use std::collections::BTreeMap;

use url::form_urlencoded;

use super::{Alipay, joined, merchant, yuan};
use crate::PaymentError;
use crate::numbers::id_in;
use crate::provider::{Report, ReportKind};
use domain::Money;

impl Alipay {
    /// Verifies a notice and reads it.
    pub(super) async fn report(&self, body: &[u8]) -> Result<Option<Report>, PaymentError> {
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

    /// The amount of a refund. A notice tells the sum of all refunds of its trade, so Alipay is asked.
    async fn refunded(&self, payment: &str, refund: &str) -> Result<Money, PaymentError> {
        let made = self.made(payment, refund).await.map_err(PaymentError::Provider)?;
        made.ok_or_else(|| PaymentError::Provider(anyhow::anyhow!("Alipay reports a refund that it does not find")))
    }
}
