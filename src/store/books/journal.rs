//! The journal: every movement of a period, read in batches.

use jiff::Timestamp;
use sqlx::any::AnyRow;

use super::{Period, beside_the_ledger};
use crate::{BookStore, StoreError, row};
use domain::Money;
use domain::ledger::money;

/// One movement on one account. The lines of a transfer sum to zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalLine {
    pub at: Timestamp,
    pub transfer: String,
    pub kind: String,
    /// The payment, order, packet or user that the line is about.
    pub reference: String,
    pub account: String,
    /// Negative if the money left the account.
    pub amount: Money,
}

/// Where movements are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalSource {
    /// The ledger of wallets.
    Ledger,
    /// Captures of payments that are not in the ledger.
    Charges,
    /// Refunds of the rest of these payments.
    Refunds,
    /// Partial refunds of these payments.
    PartialRefunds,
    /// Captures of a wrong amount.
    Held,
    /// Captures of a wrong amount that were settled without a refund.
    Kept,
    /// Refunds of captures of a wrong amount.
    HeldRefunds,
    /// Reports of a wrong amount that a report of the right amount took back.
    Unheld,
    /// Refunds that were made and failed later, when they were made.
    FailedRefunds,
    /// The same refunds, when their money came back.
    ReturnedRefunds,
}

/// Selects payments that moved money outside the ledger, by the time of one of their steps.
macro_rules! payments_by {
    ($at:literal, $amount:literal) => {
        concat!(
            "SELECT ",
            $at,
            " AS at_ms, id, id AS reference, 'shop' AS account, ",
            $amount,
            " AS moved, currency FROM payments WHERE ",
            $at,
            " >= $1 AND ",
            $at,
            " < $2 AND (",
            $at,
            " > $1 OR id > $3 OR (id = $3 AND 'shop' > $4)) AND ",
            beside_the_ledger!(),
            " AND ",
            $amount,
            " > 0 ORDER BY ",
            $at,
            ", id LIMIT $5"
        )
    };
}

/// Selects captures of a wrong amount, by the time of one of their steps.
macro_rules! held_by {
    ($at:literal) => {
        held_by!($at, "")
    };
    ($at:literal, $also:literal) => {
        concat!(
            "SELECT ",
            $at,
            " AS at_ms, id, id AS reference, CASE WHEN kept_at_ms IS NULL THEN 'held' ELSE 'shop' END AS account,
               held_amount AS moved, held_currency AS currency FROM payments WHERE ",
            $at,
            " >= $1 AND ",
            $at,
            " < $2 AND (",
            $at,
            " > $1 OR id > $3 OR (id = $3 AND '' > $4)) AND held_at_ms IS NOT NULL AND held_amount <= 1000000000000 ",
            $also,
            " ORDER BY ",
            $at,
            ", id LIMIT $5"
        )
    };
}

/// Selects refunds that failed after they had counted as made, by the time of one of both.
macro_rules! failed_by {
    ($at:literal) => {
        concat!(
            "SELECT ",
            $at,
            " AS at_ms, refund_id AS id, payment_id AS reference, account, amount AS moved, currency FROM failed_refunds
             WHERE ",
            $at,
            " >= $1 AND ",
            $at,
            " < $2 AND (",
            $at,
            " > $1 OR refund_id > $3 OR (refund_id = $3 AND account > $4)) AND made_at_ms IS NOT NULL AND amount > 0
             ORDER BY ",
            $at,
            ", refund_id LIMIT $5"
        )
    };
}

impl JournalSource {
    pub const ALL: [JournalSource; 10] = [
        JournalSource::Ledger,
        JournalSource::Charges,
        JournalSource::Refunds,
        JournalSource::PartialRefunds,
        JournalSource::Held,
        JournalSource::Kept,
        JournalSource::HeldRefunds,
        JournalSource::Unheld,
        JournalSource::FailedRefunds,
        JournalSource::ReturnedRefunds,
    ];

    fn sql(self) -> &'static str {
        match self {
            JournalSource::Ledger => {
                "SELECT e.at_ms, e.transfer_id AS id, e.account, e.amount, t.kind, t.reference
                 FROM wallet_entries e JOIN wallet_transfers t ON t.id = e.transfer_id
                 WHERE e.at_ms >= $1 AND e.at_ms < $2
                   AND (e.at_ms > $1 OR e.transfer_id > $3 OR (e.transfer_id = $3 AND e.account > $4))
                 ORDER BY e.at_ms, e.transfer_id, e.account LIMIT $5"
            }
            JournalSource::Charges => payments_by!("captured_at_ms", "amount"),
            JournalSource::Refunds => payments_by!("refunded_at_ms", "amount - refunded_in_parts"),
            JournalSource::PartialRefunds => {
                "SELECT refunded_at_ms AS at_ms, id, payment_id AS reference, 'shop' AS account, amount AS moved, currency
                 FROM partial_refunds WHERE refunded_at_ms >= $1 AND refunded_at_ms < $2
                   AND (refunded_at_ms > $1 OR id > $3 OR (id = $3 AND 'shop' > $4)) AND via <> 'wallet'
                 ORDER BY refunded_at_ms, id LIMIT $5"
            }
            JournalSource::Held => held_by!("held_at_ms"),
            JournalSource::Kept => held_by!("kept_at_ms"),
            JournalSource::HeldRefunds => held_by!("refunded_at_ms", "AND unheld_at_ms IS NULL"),
            JournalSource::Unheld => held_by!("unheld_at_ms"),
            JournalSource::FailedRefunds => failed_by!("made_at_ms"),
            JournalSource::ReturnedRefunds => failed_by!("failed_at_ms"),
        }
    }

    /// The lines of a row: one for a row of the ledger, two for a payment.
    fn lines(self, row: &AnyRow) -> Result<Vec<JournalLine>, sqlx::Error> {
        let (at, id) = (row::time(row, "at_ms")?, row::text(row, "id")?);
        let account = row::text(row, "account")?;
        let (kind, from, to) = match self {
            JournalSource::Ledger => {
                return Ok(vec![JournalLine {
                    at,
                    transfer: id,
                    kind: row::text(row, "kind")?,
                    reference: row::text(row, "reference")?,
                    account,
                    amount: money(row::int(row, "amount")?),
                }]);
            }
            JournalSource::Charges => ("charge", "provider", "shop"),
            JournalSource::Held => ("held_charge", "provider", "held"),
            JournalSource::Kept => ("kept_charge", "held", "shop"),
            JournalSource::Unheld => ("unheld_charge", "held", "provider"),
            JournalSource::Refunds
            | JournalSource::PartialRefunds
            | JournalSource::HeldRefunds
            | JournalSource::FailedRefunds => ("charge_refund", account.as_str(), "provider"),
            JournalSource::ReturnedRefunds => ("failed_refund", "provider", account.as_str()),
        };
        let (reference, moved) = (row::text(row, "reference")?, row::money(row, "moved")?);
        let line = |account: &str, amount| JournalLine {
            at,
            transfer: format!("{kind}:{id}"),
            kind: kind.to_owned(),
            reference: reference.clone(),
            account: account.to_owned(),
            amount,
        };
        Ok(vec![line(from, Money::new(-moved.amount, moved.currency)), line(to, moved)])
    }
}

/// The last row that was read from a source.
#[derive(Debug, Clone)]
pub struct JournalCursor {
    at_ms: i64,
    id: String,
    account: String,
}

impl JournalCursor {
    /// The cursor before the first row of a period.
    pub fn before(period: Period) -> JournalCursor {
        JournalCursor { at_ms: period.from.as_millisecond(), id: String::new(), account: String::new() }
    }
}

impl BookStore<'_> {
    /// The next lines of a source, in the order of their times, and the cursor after them; `None` at the end of the period.
    pub async fn journal(
        self,
        source: JournalSource,
        after: &JournalCursor,
        to: Timestamp,
        rows: i64,
    ) -> Result<(Vec<JournalLine>, Option<JournalCursor>), StoreError> {
        let query = sqlx::query(source.sql()).bind(after.at_ms).bind(to.as_millisecond());
        let query = query.bind(after.id.clone()).bind(after.account.clone()).bind(rows);
        let found = self
            .all(query, |row| {
                let cursor = JournalCursor {
                    at_ms: row::int(row, "at_ms")?,
                    id: row::text(row, "id")?,
                    account: row::text(row, "account")?,
                };
                Ok((source.lines(row)?, cursor))
            })
            .await?;
        let next = if found.len() as i64 == rows { found.last().map(|(_, cursor)| cursor.clone()) } else { None };
        Ok((found.into_iter().flat_map(|(lines, _)| lines).collect(), next))
    }
}
