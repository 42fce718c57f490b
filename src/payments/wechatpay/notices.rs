//! WeChat Pay's notices: a payment that was made, and the end of a refund. What they say is encrypted with the v3 key.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::signatures::Encrypted;
use super::{Transaction, WechatPay, merchant, outcome};
use crate::PaymentError;
use crate::numbers::id_in;
use crate::provider::{RefundOutcome, Report, ReportKind};
use domain::{Currency, Money};

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
    /// The report in the body of a notice whose signature is verified.
    pub(super) fn report(&self, body: &[u8]) -> Result<Option<Report>, PaymentError> {
        let notice: Notice = serde_json::from_slice(body).map_err(|_| PaymentError::Malformed)?;
        match notice.event_type.as_str() {
            "TRANSACTION.SUCCESS" => self.payment_report(notice),
            "REFUND.SUCCESS" | "REFUND.ABNORMAL" | "REFUND.CLOSED" => self.refund_report(notice),
            _ => Ok(None),
        }
    }

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
            merchant: Some(merchant(&refund.mchid, &self.appid)),
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
