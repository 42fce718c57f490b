//! The list of balance transactions of a day, newest first, as Stripe pages it.
//! <https://docs.stripe.com/api/balance_transactions/list>

use anyhow::Context;
use futures::stream;
use jiff::Timestamp;
use jiff::civil::Date;
use serde::Deserialize;
use serde_json::Value;

use super::notices::Dispute;
use super::{BILLING, List, Metadata, Stripe, from_stripe};
use crate::provider::{Bill, BillPage};
use domain::settlement::{BillLine, Movement};

/// Transactions per request: the most that Stripe takes.
const PAGE_SIZE: usize = 100;

#[derive(Deserialize)]
struct Transaction {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    currency: String,
    fee: i64,
    created: i64,
    source: Option<Value>,
}

/// The charge or the refund. Its amount is in the currency that was asked for, and the transaction's in the currency of the
/// account.
#[derive(Deserialize)]
struct Source {
    id: String,
    #[serde(default)]
    amount: i64,
    currency: Option<String>,
    payment_intent: Option<String>,
    metadata: Option<Metadata>,
    /// Of a refund.
    status: Option<Value>,
}

impl Stripe {
    pub(super) fn bill_of(&self, day: Date) -> anyhow::Result<Bill<'_>> {
        let bounds = BILLING.bounds(day).context("a day that does not exist")?;
        let pages = stream::try_unfold(Some(String::new()), move |after| async move {
            let Some(after) = after else { return Ok::<_, anyhow::Error>(None) };
            let after = if after.is_empty() { after } else { format!("&starting_after={after}") };
            let (from, to) = (bounds.0.as_second(), bounds.1.as_second());
            let path = format!(
                "/v1/balance_transactions?created[gte]={from}&created[lt]={to}&limit={PAGE_SIZE}&expand[0]=data.source{after}"
            );
            let page: List<Transaction> = self.get(&path).await?;
            let next = page.data.last().filter(|_| page.has_more).map(|last| last.id.clone());
            let mut read = BillPage::default();
            for transaction in page.data {
                if let Some(dispute) = dispute(&transaction) {
                    read.disputes.extend(self.dispute_report(dispute).await?);
                }
                read.lines.extend(line(transaction)?);
            }
            Ok(Some((read, next)))
        });
        Ok(Box::pin(pages))
    }
}

/// The dispute that took money or gave it back.
fn dispute(transaction: &Transaction) -> Option<Dispute> {
    let source = transaction.source.as_ref().filter(|source| source["object"] == "dispute")?;
    Dispute::deserialize(source).ok()
}

/// `None`: neither a charge nor a refund, but a payout, a dispute and the like, which are not in the books. A refund that
/// failed later is in no book either.
fn line(transaction: Transaction) -> anyhow::Result<Option<BillLine>> {
    let is_refund = match transaction.kind.as_str() {
        "charge" | "payment" => false,
        "refund" | "payment_refund" => true,
        _ => return Ok(None),
    };
    let source = transaction.source.context("a transaction without its source")?;
    let source: Source = serde_json::from_value(source).context("a transaction with another source")?;
    let status = source.status.as_ref().and_then(Value::as_str);
    if is_refund && matches!(status, Some("failed" | "canceled")) {
        return Ok(None);
    }
    let metadata = source.metadata.unwrap_or_default();
    let payment = metadata.payment.or(source.payment_intent).unwrap_or_else(|| source.id.clone());
    let amount = source.currency.as_deref().and_then(|currency| from_stripe(source.amount, currency));
    let fee = from_stripe(transaction.fee, &transaction.currency);
    Ok(Some(BillLine {
        line: transaction.id,
        of: Movement { payment, refund: is_refund.then(|| metadata.refund.unwrap_or(source.id)) },
        amount: amount.context("a transaction with an amount that does not exist")?,
        fee: fee.context("a fee that does not exist")?,
        at: Timestamp::from_second(transaction.created)?,
    }))
}
