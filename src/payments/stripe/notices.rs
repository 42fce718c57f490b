//! Stripe's webhooks: their signature, and the events that the shop knows.
//!
//! Events come late, twice and out of order, and their form follows the version of the endpoint, so little of them is
//! read. An event about an object without the shop's metadata is not about the shop.

use axum::http::HeaderMap;
use jiff::Timestamp;
use ring::hmac;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Metadata, Session, Stripe, StripeRefund, from_stripe};
use crate::PaymentError;
use crate::provider::{RefundOutcome, Report, ReportKind};
use domain::{DisputeState, Money, hex};

const SIGNATURE: &str = "stripe-signature";
/// Seconds that a webhook may be old or ahead, as Stripe's libraries have it.
const TOLERANCE: u64 = 5 * 60;

/// The keys of the shop's endpoint: several while one is replaced.
pub(super) struct WebhookKeys(Vec<hmac::Key>);

impl WebhookKeys {
    pub(super) fn new(secrets: &[SecretString]) -> WebhookKeys {
        let key = |secret: &SecretString| hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes());
        WebhookKeys(secrets.iter().map(key).collect())
    }

    /// Verifies that one of the signatures fits its time and the raw body, in constant time.
    pub(super) fn verify(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<(), PaymentError> {
        let header = headers.get(SIGNATURE).and_then(|value| value.to_str().ok()).ok_or(PaymentError::BadSignature)?;
        let parts = || header.split(',').filter_map(|part| part.trim().split_once('='));
        let at = parts().find(|(name, _)| *name == "t").ok_or(PaymentError::BadSignature)?.1;
        let signed = [at.as_bytes(), b".", body].concat();
        let fits = |signature: &[u8]| self.0.iter().any(|key| hmac::verify(key, &signed, signature).is_ok());
        let signatures = parts().filter(|(name, _)| *name == "v1").filter_map(|(_, text)| hex::decode::<32>(text));
        if !signatures.into_iter().any(|signature| fits(&signature)) {
            return Err(PaymentError::BadSignature);
        }
        let seconds: i64 = at.parse().map_err(|_| PaymentError::BadSignature)?;
        let is_fresh = seconds.abs_diff(now.as_second()) <= TOLERANCE;
        is_fresh.then_some(()).ok_or(PaymentError::BadSignature)
    }
}

/// The mode of an account or an event.
pub(super) fn mode(is_live: bool) -> &'static str {
    if is_live { "live mode" } else { "test mode" }
}

#[derive(Deserialize)]
struct Event {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    livemode: bool,
    /// Only in events of accounts that are connected to the shop's.
    account: Option<String>,
    data: EventData,
}

#[derive(Deserialize)]
struct EventData {
    object: Value,
}

#[derive(Deserialize)]
struct Charge {
    amount_captured: i64,
    currency: String,
    paid: bool,
    captured: bool,
    metadata: Option<Metadata>,
    payment_method_details: Option<MethodDetails>,
}

#[derive(Deserialize)]
struct MethodDetails {
    card: Option<Card>,
}

#[derive(Deserialize)]
struct Card {
    fingerprint: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Dispute {
    id: String,
    amount: i64,
    currency: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    livemode: bool,
    payment_intent: Option<String>,
    evidence_details: Option<Evidence>,
}

#[derive(Deserialize)]
struct Evidence {
    due_by: Option<i64>,
}

impl Dispute {
    fn state(&self) -> DisputeState {
        match self.status.as_str() {
            // An inquiry that ended without a dispute leaves the money where it is.
            "won" | "warning_closed" | "prevented" => DisputeState::Won,
            "lost" => DisputeState::Lost,
            _ => DisputeState::Open,
        }
    }

    /// What it says, apart from whom it concerns.
    fn fact(self) -> Result<Report, PaymentError> {
        let (state, due_by) = (self.state(), self.evidence_details.and_then(|evidence| evidence.due_by));
        let respond_by = due_by.and_then(|at| Timestamp::from_second(at).ok());
        Ok(Report {
            amount: Some(money(self.amount, &self.currency)?),
            reason: self.reason,
            dispute: Some(store::Dispute { id: self.id, state, respond_by }),
            ..Report::default()
        })
    }
}

impl Stripe {
    /// The report that is in the body of a webhook. Disputes and refunds that the shop did not ask for do not name its
    /// payment, so Stripe is asked whose they are.
    pub(super) async fn report(&self, body: &[u8]) -> Result<Option<Report>, PaymentError> {
        let event: Event = serde_json::from_slice(body).map_err(|_| PaymentError::Malformed)?;
        let object = event.data.object;
        let (kind, metadata, fact) = match event.kind.as_str() {
            "checkout.session.completed" | "checkout.session.async_payment_succeeded" => {
                let session: Session = read(object)?;
                if session.payment_status != "paid" {
                    return Ok(None);
                }
                let amount = session.total().map_err(|_| PaymentError::Malformed)?;
                let fact = Report { amount: Some(amount), reference: Some(session.id), ..Report::default() };
                (ReportKind::Captured, session.metadata.unwrap_or_default(), fact)
            }
            "checkout.session.async_payment_failed" => {
                let session: Session = read(object)?;
                let fact = Report { reference: Some(session.id), ..Report::default() };
                (ReportKind::Declined, session.metadata.unwrap_or_default(), fact)
            }
            "charge.succeeded" => {
                let charge: Charge = read(object)?;
                if !charge.paid || !charge.captured {
                    return Ok(None);
                }
                let instrument = charge.payment_method_details.and_then(|details| details.card?.fingerprint);
                let amount = Some(money(charge.amount_captured, &charge.currency)?);
                (
                    ReportKind::Captured,
                    charge.metadata.unwrap_or_default(),
                    Report { amount, instrument, ..Report::default() },
                )
            }
            "charge.dispute.created"
            | "charge.dispute.updated"
            | "charge.dispute.closed"
            | "charge.dispute.funds_withdrawn"
            | "charge.dispute.funds_reinstated" => {
                let dispute: Dispute = read(object)?;
                let metadata = self.metadata_of(dispute.payment_intent.clone()).await?;
                (ReportKind::Disputed, metadata, dispute.fact()?)
            }
            "refund.created" | "refund.updated" | "refund.failed" | "charge.refund.updated" => {
                let refund: StripeRefund = read(object)?;
                let (kind, reason) = match refund.outcome() {
                    RefundOutcome::Done => (ReportKind::RefundSucceeded, String::new()),
                    RefundOutcome::Failed(reason) => (ReportKind::RefundFailed, reason),
                    RefundOutcome::Pending => return Ok(None),
                };
                let amount = Some(money(refund.amount, &refund.currency)?);
                let metadata = match refund.metadata.filter(|data| data.payment.is_some()) {
                    Some(metadata) => metadata,
                    None => self.metadata_of(refund.payment_intent).await?,
                };
                (kind, metadata, Report { amount, reason, ..Report::default() })
            }
            _ => return Ok(None),
        };
        let merchant = event.account.unwrap_or_else(|| mode(event.livemode).to_owned());
        report(event.id, merchant, kind, metadata, fact)
    }

    /// A dispute as it is now, as a report: told once for each of its states.
    pub(super) async fn dispute_report(&self, dispute: Dispute) -> anyhow::Result<Option<Report>> {
        let id = format!("{} {}", dispute.id, dispute.status);
        let merchant = mode(dispute.livemode).to_owned();
        let metadata = self.metadata_of(dispute.payment_intent.clone()).await?;
        Ok(report(id, merchant, ReportKind::Disputed, metadata, dispute.fact()?)?)
    }

    /// What the shop wrote on a payment.
    async fn metadata_of(&self, intent: Option<String>) -> Result<Metadata, PaymentError> {
        let Some(intent) = intent else { return Ok(Metadata::default()) };
        let intent = self.intent(&intent).await.map_err(PaymentError::Provider)?;
        Ok(Metadata { refund: None, ..intent.metadata.unwrap_or_default() })
    }
}

/// `fact` has what the event says, apart from whom it concerns.
fn report(
    id: String,
    merchant: String,
    kind: ReportKind,
    metadata: Metadata,
    fact: Report,
) -> Result<Option<Report>, PaymentError> {
    let attempt = metadata.refund.as_ref().map(|_| metadata.attempt());
    let Metadata { payment: Some(payment), subject, refund, .. } = metadata else { return Ok(None) };
    // Cases keep these texts, and PostgreSQL keeps no NUL.
    let dispute_id = fact.dispute.as_ref().map(|dispute| &dispute.id);
    if [&id, &payment, &fact.reason].into_iter().chain(dispute_id).any(|text| text.contains('\0')) {
        return Err(PaymentError::Malformed);
    }
    Ok(Some(Report {
        id,
        event: kind.as_str().to_owned(),
        payment,
        refund: refund.and_then(|id| id.parse().ok()),
        attempt,
        merchant: Some(merchant),
        subject,
        ..fact
    }))
}

fn read<T: DeserializeOwned>(object: Value) -> Result<T, PaymentError> {
    serde_json::from_value(object).map_err(|_| PaymentError::Malformed)
}

fn money(amount: i64, currency: &str) -> Result<Money, PaymentError> {
    from_stripe(amount, currency).ok_or(PaymentError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(secrets: &[&str]) -> WebhookKeys {
        WebhookKeys::new(&secrets.iter().map(|secret| SecretString::from(*secret)).collect::<Vec<_>>())
    }

    fn headers(signature: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(SIGNATURE, signature.parse().unwrap());
        headers
    }

    /// The signature was made by Stripe's library for Node (`webhooks.generateTestHeaderString`).
    #[test]
    fn webhook_is_verified_as_a_whole_and_for_five_minutes() {
        let signed = "t=1800000000,v1=69ee121bde16b69bc1d4f36bfa9a0a095f4bec09b845eaa45dc84ed4f95d7209";
        let (keys, body) = (keys(&["whsec_new", "whsec_0123456789"]), b"{\"id\":\"evt_1\"}".as_slice());
        let verifies = |header: &str, body: &[u8], at: i64| {
            keys.verify(&headers(header), body, Timestamp::from_second(at).unwrap()).is_ok()
        };
        assert!(verifies(signed, body, 1_800_000_000), "one of two secrets");
        assert!(verifies(signed, body, 1_800_000_300) && verifies(signed, body, 1_799_999_700));
        assert!(!verifies(signed, body, 1_800_000_301) && !verifies(signed, body, 1_799_999_699));
        assert!(verifies(&signed.replace(",v1=", ",v1=00,v0=11,v1="), body, 1_800_000_000), "one of several");
        assert!(!verifies(&signed.replace("t=1800000000", "t=1800000001"), body, 1_800_000_000));
        assert!(!verifies(&signed.replace(",v1=", ",v0="), body, 1_800_000_000));
        assert!(!verifies(signed, b"{\"id\":\"evt_2\"}", 1_800_000_000));
        for wrong in ["", "t=1800000000", "v1=00", "t=soon,v1=00", "t=1800000000,v1=xx", "t=1800000000,v1="] {
            assert!(!verifies(wrong, body, 1_800_000_000), "{wrong:?}");
        }
        assert!(keys.verify(&HeaderMap::new(), body, Timestamp::UNIX_EPOCH).is_err());
    }
}

#[cfg(test)]
mod fuzz {
    use super::*;
    use testing::fuzz::{inputs, texts};

    #[test]
    fn only_signed_bodies_with_their_header_verify() {
        let keys = WebhookKeys::new(&[SecretString::from("whsec_0123456789")]);
        let (at, body) = (Timestamp::from_second(1_800_000_000).unwrap(), b"{\"id\":\"evt_1\"}");
        let header = "t=1800000000,v1=69ee121bde16b69bc1d4f36bfa9a0a095f4bec09b845eaa45dc84ed4f95d7209";
        let verifies = |header: &str, body: &[u8]| {
            let Ok(value) = header.parse() else { return false };
            let mut headers = HeaderMap::new();
            headers.insert(SIGNATURE, value);
            keys.verify(&headers, body, at).is_ok()
        };
        inputs(vec![body.to_vec()], |bytes| assert_eq!(verifies(header, bytes), bytes == body));
        // Further parts beside the right ones change nothing.
        texts(&[header], |text| {
            let has_parts = header.split(',').all(|part| text.contains(part));
            assert!(!verifies(text, body) || has_parts, "{text}");
        });
    }

    #[test]
    fn any_event_is_read_or_malformed() {
        let event = r#"{"id":"evt_1","type":"charge.succeeded","livemode":false,"account":null,"data":{"object":{
            "amount_captured":1,"currency":"cny","paid":true,"captured":true,"metadata":{"payment":"1"},
            "payment_method_details":{"card":{"fingerprint":"x"}}}}}"#;
        assert!(serde_json::from_str::<Event>(event).is_ok_and(|event| read::<Charge>(event.data.object).is_ok()));
        inputs(vec![event.as_bytes().to_vec()], |bytes| {
            let Ok(event) = serde_json::from_slice::<Event>(bytes) else { return };
            let charge = read::<Charge>(event.data.object);
            drop(charge.map(|charge| money(charge.amount_captured, &charge.currency)));
        });
    }
}
