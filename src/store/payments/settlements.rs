//! Settlements: bills of providers as they were read, and what they and the books differ in.
//!
//! The lines of one reading (a *run*) lie beside those of earlier readings until the comparison is written in one
//! transaction. So a reading that breaks off changes nothing, and the same day can be read twice at once.

use boxed::boxed;
use jiff::Timestamp;
use jiff::civil::Date;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use super::cases::{self, NewCase};
use crate::{PaymentStore, StoreResult, Tx, column, for_rows, next_attempt, pair, row};
use domain::settlement::{BillLine, BillSums, Booked, Comparison, Difference, Movement};
use domain::{CaseKind, Money};

/// Lines of a run that are deleted at a time.
const DELETED_ROWS: i64 = 1_000;

/// A day of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaySettlement {
    pub provider: String,
    pub day: Date,
    /// When bill and books were last compared.
    pub settled_at: Option<Timestamp>,
    pub totals: BillSums,
    /// Why the last attempt failed.
    pub problem: Option<String>,
    pub differences: i64,
    /// When data control compares it next, if it shall.
    pub next_attempt_at: Option<Timestamp>,
}

impl DaySettlement {
    pub fn is_settled(&self) -> bool {
        self.settled_at.is_some() && self.problem.is_none()
    }

    pub fn agrees(&self) -> bool {
        self.is_settled() && self.differences == 0
    }
}

column_list!(columns: "s.provider, s.day, s.settled_at_ms, s.sums, s.problem, s.next_attempt_at_ms, (SELECT COUNT(*)
     FROM bill_differences d WHERE d.provider = s.provider AND d.day = s.day) AS differences");

/// Whether the line of a movement is on this bill, or on that of another day. `$1` is the provider, `$2` the run, `$3` the day.
macro_rules! unless_billed {
    ($payment:literal, $refund:literal) => {
        concat!(
            " AND NOT EXISTS (SELECT 1 FROM bill_lines l WHERE l.payment_id = ",
            $payment,
            " AND l.refund_id = ",
            $refund,
            " AND l.provider = $1 AND (l.run = $2 OR l.run IN
               (SELECT run FROM settlements WHERE provider = $1 AND day <> $3 AND run IS NOT NULL)))"
        )
    };
}

/// Movements of a time that are on no bill. Captures of a wrong amount are in the books with what was captured.
const UNBILLED: &str = concat!(
    "SELECT id AS payment_id, '' AS refund_id, amount, currency FROM payments p
       WHERE captured_at_ms >= $4 AND captured_at_ms < $5 AND provider = $1",
    unless_billed!("p.id", "''"),
    " UNION ALL SELECT id, '', held_amount, held_currency FROM payments p
       WHERE held_at_ms >= $4 AND held_at_ms < $5 AND captured_at_ms IS NULL AND provider = $1",
    unless_billed!("p.id", "''"),
    " UNION ALL SELECT id, id, CASE WHEN mismatched_at_ms IS NOT NULL AND held_amount IS NOT NULL THEN held_amount
         ELSE amount - refunded_in_parts END, CASE WHEN mismatched_at_ms IS NOT NULL AND held_amount IS NOT NULL
         THEN held_currency ELSE currency END FROM payments p
       WHERE refunded_at_ms >= $4 AND refunded_at_ms < $5 AND provider = $1
         AND (amount > refunded_in_parts OR mismatched_at_ms IS NOT NULL)",
    unless_billed!("p.id", "p.id"),
    " UNION ALL SELECT payment_id, id, amount, currency FROM partial_refunds p
       WHERE refunded_at_ms >= $4 AND refunded_at_ms < $5 AND via = $1",
    unless_billed!("p.payment_id", "p.id"),
    " LIMIT $6"
);

/// Which movements are looked up in the books.
const CHARGES: &str = "SELECT id AS payment_id, '' AS refund_id,
       CASE WHEN captured_at_ms IS NULL THEN held_amount ELSE amount END AS amount,
       CASE WHEN captured_at_ms IS NULL THEN held_currency ELSE currency END AS currency
     FROM payments WHERE provider = $1 AND (captured_at_ms IS NOT NULL OR held_at_ms IS NOT NULL) AND id IN $ids";
/// A refund that is under way here may be made there.
const REFUNDS: &str = "SELECT id AS payment_id, id AS refund_id,
       CASE WHEN mismatched_at_ms IS NOT NULL AND held_amount IS NOT NULL THEN held_amount
         ELSE amount - refunded_in_parts END AS amount,
       CASE WHEN mismatched_at_ms IS NOT NULL AND held_amount IS NOT NULL THEN held_currency ELSE currency END AS currency
     FROM payments WHERE provider = $1 AND status IN ('refund_pending', 'refunded') AND id IN $ids";
const PARTS: &str =
    "SELECT payment_id, id AS refund_id, amount, currency FROM partial_refunds WHERE via = $1 AND id IN $ids";

#[boxed]
impl PaymentStore<'_> {
    /// Stores lines of a run. A line with the same number is stored once.
    pub async fn add_bill_lines(self, run: &str, provider: &str, lines: &[BillLine]) -> StoreResult<()> {
        let sql =
            "INSERT INTO bill_lines (run, line, provider, payment_id, refund_id, amount, currency, fee, fee_currency, at_ms)
             VALUES $rows ON CONFLICT DO NOTHING";
        self.run_all(for_rows(sql, lines, |line| {
            let BillLine { line, of: Movement { payment, refund }, amount, fee, at, .. } = line;
            let refund = refund.as_deref().unwrap_or_default();
            values![run, line, provider, payment, refund, amount.amount, amount.currency, fee.amount, fee.currency, at]
        }))
        .await
    }

    /// Lines of a run by payment, about payments after `after`. If there are more, the last payment's lines are left to the
    /// next call, because they may be incomplete.
    pub async fn bill_lines(self, run: &str, after: &str, limit: usize) -> StoreResult<Vec<BillLine>> {
        let sql = "SELECT line, payment_id, refund_id, amount, currency, fee, fee_currency, at_ms FROM bill_lines
             WHERE run = $1 AND payment_id > $2 ORDER BY payment_id LIMIT $3";
        let mut lines = self.all(query!(sql; run, after, limit as i64), bill_line).await?;
        if lines.len() == limit
            && let Some(last) = lines.last().map(|line| line.of.payment.clone())
            && lines.first().is_some_and(|first| first.of.payment != last)
        {
            lines.retain(|line| line.of.payment != last);
        }
        Ok(lines)
    }

    /// What the books have of the movements on these lines, whenever it was.
    pub async fn booked(self, provider: &str, lines: &[BillLine]) -> StoreResult<Vec<Booked>> {
        let of = |is_such: fn(&Movement) -> bool, id: fn(&Movement) -> &str| {
            let mut ids: Vec<&str> = lines.iter().map(|line| &line.of).filter(|of| is_such(of)).map(id).collect();
            ids.sort_unstable();
            ids.dedup();
            ids
        };
        let charges = of(|of| of.refund.is_none(), |of| &of.payment);
        let whole = of(|of| of.refund.as_ref() == Some(&of.payment), |of| &of.payment);
        let parts = of(
            |of| of.refund.as_ref().is_some_and(|refund| *refund != of.payment),
            |of| of.refund.as_deref().unwrap_or_default(),
        );
        let mut booked = Vec::new();
        for (sql, ids) in [(CHARGES, charges), (REFUNDS, whole), (PARTS, parts)] {
            booked.extend(self.all_of::<_, Vec<_>>(sql, &values![provider], &ids, entry).await?);
        }
        Ok(booked)
    }

    /// Movements in the books from one moment to another that are neither on the bill of a run nor on that of another day.
    pub async fn unbilled(
        self,
        (provider, day, run): (&str, Date, &str),
        (from, to): (Timestamp, Timestamp),
        limit: usize,
    ) -> StoreResult<Vec<Booked>> {
        self.all(query!(UNBILLED; provider, run, day, from, to, limit as i64), entry).await
    }

    /// Writes the outcome of a comparison. Each new difference opens a case, and a difference that is gone settles the case
    /// that it opened. Returns the number of new cases.
    pub async fn settle_day(
        self,
        (provider, day, run): (&str, Date, &str),
        outcome: &Comparison,
    ) -> StoreResult<usize> {
        let mut tx = self.begin().await?;
        let before = query!("SELECT run FROM settlements WHERE provider = $1 AND day = $2"; provider, day);
        let before: Option<String> = tx.optional(before, column("run")).await?.flatten();
        // From here on another settlement of the same day waits.
        let sql = "INSERT INTO settlements (provider, day, run, settled_at_ms, sums) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (provider, day) DO UPDATE SET run = excluded.run, settled_at_ms = excluded.settled_at_ms,
               sums = excluded.sums, problem = NULL, attempts = 0, next_attempt_at_ms = NULL";
        tx.run(query!(sql; provider, day, run, tx.now, serde_json::to_string(&outcome.totals).unwrap_or_default()))
            .await?;
        let known = |row: &AnyRow| Ok((difference(row)?, row::text(row, "case_id")?));
        let known = tx.all(query!(DIFFERENCES; provider, day), known).await?;
        if before.is_none()
            && let Ok(next) = day.tomorrow()
        {
            // It may have waited for this day, or was settled without what fell about midnight.
            let sql = "UPDATE settlements SET next_attempt_at_ms = 0 WHERE provider = $1 AND day = $2";
            tx.run(query!(sql; provider, next)).await?;
        }
        let mut kept = Vec::new();
        for (of, case) in known {
            match outcome.differences.contains(&of) {
                true => kept.push(of),
                false => forget(&mut tx, (provider, day), &of, &case).await?,
            }
        }
        let mut new = 0;
        for of in outcome.differences.iter().filter(|of| !kept.contains(of)) {
            add(&mut tx, (provider, day), of).await?;
            new += 1;
        }
        tx.commit().await?;
        if let Some(before) = before.filter(|before| before != run) {
            self.delete_bill_lines(&before).await?;
        }
        Ok(new)
    }

    /// Deletes the lines of a run.
    pub async fn delete_bill_lines(self, run: &str) -> StoreResult<()> {
        let sql =
            "DELETE FROM bill_lines WHERE run = $1 AND line IN (SELECT line FROM bill_lines WHERE run = $1 LIMIT $2)";
        loop {
            if self.changed(query!(sql; run, DELETED_ROWS)).await? < DELETED_ROWS as u64 {
                return Ok(());
            }
        }
    }

    /// Records why a day could not be settled. It is tried again after ten minutes at first, later every few hours.
    pub async fn settlement_failed(self, provider: &str, day: Date, problem: &str) -> StoreResult<()> {
        self.ask_for_settlement(provider, day).await?;
        let sql = format!(
            "UPDATE settlements SET problem = $4, {} WHERE provider = $2 AND day = $3",
            next_attempt(600_000, 5)
        );
        self.run(query!(AssertSqlSafe(sql); self.now().await?, provider, day, problem)).await
    }

    /// Makes a day due, so that data control settles it, again if it was settled before.
    pub async fn ask_for_settlement(self, provider: &str, day: Date) -> StoreResult<()> {
        let sql = "INSERT INTO settlements (provider, day, next_attempt_at_ms) VALUES ($1, $2, 0)
             ON CONFLICT (provider, day) DO UPDATE SET next_attempt_at_ms = 0";
        self.run(query!(sql; provider, day)).await
    }

    /// The last day of a provider that was settled or shall be.
    pub async fn last_settlement(self, provider: &str) -> StoreResult<Option<Date>> {
        let sql = "SELECT day FROM settlements WHERE provider = $1 ORDER BY day DESC LIMIT 1";
        self.optional(query!(sql; provider), column("day")).await
    }

    /// Days that are due, the longest one first.
    pub async fn settlements_due(self, limit: i64) -> StoreResult<Vec<(String, Date)>> {
        let sql = "SELECT provider, day FROM settlements WHERE next_attempt_at_ms <= $1
             ORDER BY next_attempt_at_ms, day, provider LIMIT $2";
        self.all(query!(sql; self.now().await?, limit), pair("provider", "day")).await
    }

    /// Days before `before`, newest first, of one provider if it is named, or one day.
    pub async fn settlements(
        self,
        provider: &str,
        only: Option<Date>,
        before: Option<(Date, &str)>,
        limit: usize,
    ) -> StoreResult<Vec<DaySettlement>> {
        let sql = select!(
            columns,
            "FROM settlements s WHERE ($1 = '' OR s.provider = $1) AND s.day <= $2 AND (s.day < $2 OR s.provider < $3)
               AND ($5 = '' OR s.day = $5)
             ORDER BY s.day DESC, s.provider DESC LIMIT $4"
        );
        let (day, of) = before.map_or_else(|| ("9".to_owned(), ""), |(day, of)| (day.to_string(), of));
        let query = query!(sql; provider, day, of, limit as i64, only.map(|day| day.to_string()).unwrap_or_default());
        self.all(query, settlement).await
    }

    pub async fn settlement(self, provider: &str, day: Date) -> StoreResult<Option<DaySettlement>> {
        let sql = select!(columns, "FROM settlements s WHERE s.provider = $1 AND s.day = $2");
        self.optional(query!(sql; provider, day), settlement).await
    }

    /// Whether the day shall be settled, but never was.
    pub async fn is_unsettled(self, provider: &str, day: Date) -> StoreResult<bool> {
        let sql = "SELECT 1 FROM settlements WHERE provider = $1 AND day = $2 AND run IS NULL";
        self.exists(query!(sql; provider, day)).await
    }

    /// What differs on a day.
    pub async fn bill_differences(self, provider: &str, day: Date) -> StoreResult<Vec<Difference>> {
        self.all(query!(DIFFERENCES; provider, day), difference).await
    }
}

const DIFFERENCES: &str =
    "SELECT problem, line, payment_id, refund_id, here, here_currency, there, there_currency, case_id
     FROM bill_differences WHERE provider = $1 AND day = $2 ORDER BY payment_id, refund_id, line, problem";

async fn add(tx: &mut Tx, (provider, day): (&str, Date), of: &Difference) -> sqlx::Result<()> {
    let details = words(provider, day, of);
    let part = of.of.refund.as_ref().filter(|refund| **refund != of.of.payment).and_then(|refund| refund.parse().ok());
    let case = NewCase::about(CaseKind::BillDiffers, &of.of.payment, &details);
    let case = cases::open(tx, &NewCase { part, amount: of.there, ..case }, tx.now).await?.unwrap_or_default();
    let sql =
        "INSERT INTO bill_differences (provider, day, problem, line, payment_id, refund_id, here, here_currency, there,
           there_currency, case_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    let query = query!(sql; provider, day, of.problem, &of.line, &of.of.payment,
        of.of.refund.clone().unwrap_or_default(), of.here.map(|here| here.amount),
        of.here.map(|here| here.currency), of.there.map(|there| there.amount),
        of.there.map(|there| there.currency), case);
    tx.run(query).await
}

async fn forget(tx: &mut Tx, (provider, day): (&str, Date), of: &Difference, case: &str) -> sqlx::Result<()> {
    let sql = "DELETE FROM bill_differences WHERE provider = $1 AND day = $2 AND problem = $3 AND line = $4
         AND payment_id = $5 AND refund_id = $6";
    let query =
        query!(sql; provider, day, of.problem, &of.line, &of.of.payment, of.of.refund.clone().unwrap_or_default());
    tx.run(query).await?;
    let sql = "UPDATE payment_cases SET settled_at_ms = $2, settled_by = '' WHERE id = $1 AND settled_at_ms IS NULL";
    tx.run(query!(sql; case, tx.now)).await
}

/// A difference as a case tells it.
fn words(provider: &str, day: Date, of: &Difference) -> String {
    let amount = |amount: Option<Money>| amount.map_or_else(|| "nothing".to_owned(), |amount| amount.to_string());
    let (kind, line) = (of.of.kind(), if of.line.is_empty() { String::new() } else { format!(", line {}", of.line) });
    format!("{provider}, {day}: {kind} of {} on the bill{line}, {} in the books", amount(of.there), amount(of.here))
}

fn movement(row: &AnyRow) -> sqlx::Result<Movement> {
    let refund = row::text(row, "refund_id")?;
    Ok(Movement { payment: row::text(row, "payment_id")?, refund: Some(refund).filter(|refund| !refund.is_empty()) })
}

fn entry(row: &AnyRow) -> sqlx::Result<Booked> {
    read!(row => Booked { of = movement(row)?, amount })
}

fn bill_line(row: &AnyRow) -> sqlx::Result<BillLine> {
    let fee = Money::new(row::get(row, "fee")?, row::get(row, "fee_currency")?);
    read!(row => BillLine { line, of = movement(row)?, amount, fee = fee, at: "at_ms" })
}

fn difference(row: &AnyRow) -> sqlx::Result<Difference> {
    let money = |amount: &str, of: &str| match row::get(row, amount)? {
        Some(amount) => Ok::<_, sqlx::Error>(Some(Money::new(amount, row::get(row, of)?))),
        None => Ok(None),
    };
    let (here, there) = (money("here", "here_currency")?, money("there", "there_currency")?);
    read!(row => Difference { problem, of = movement(row)?, line, here = here, there = there })
}

fn settlement(row: &AnyRow) -> sqlx::Result<DaySettlement> {
    read!(row => DaySettlement {
        provider, day, settled_at: "settled_at_ms", totals = row::json(row, "sums")?, problem, differences,
        next_attempt_at: "next_attempt_at_ms",
    })
}
