//! The books: the ledger of wallets, and what payment providers moved for orders, by period.
//!
//! The ledger has the money that the shop holds for users. An order that is paid at a provider moves money outside the
//! ledger: a capture brings its amount from the provider to the shop, and a refund takes back what partial refunds have
//! left of it. These are read from their own tables. A top-up whose wallet was deleted counts in the same way, because
//! it is not in the ledger. A capture of a wrong amount pays for nothing: it is held until it is refunded, or until a
//! member of the staff settles its case, which leaves the money to the shop. A refund that failed after it had counted
//! as made is two movements, there and back.
//!
//! Sums of whole days are stored once the day is over ([`BookStore::close`]). So a balance reads at most the movements
//! of the days that are not closed, and of one more day. The journal has every movement of a period, and is read in
//! batches.

use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::pool::Connection;
use crate::{BookStore, StoreResult, column, pair, row};
use domain::Money;
use domain::ledger::{AccountKind, AccountSum, CURRENCY, TrialBalanceLine, money, trial_balance};

pub(crate) const DAY_MS: i64 = 24 * 3600 * 1000;
/// How long after its end a day is closed. Transactions that began in it are over by then.
const CLOSING_DELAY: Duration = Duration::from_secs(3600);
/// The part of a day that one statement sums up: short enough for the statement's time-out on a day with millions of
/// payments.
const PART_MS: i64 = DAY_MS / 48;

/// The condition for payments that move money outside the ledger.
const BESIDE_THE_LEDGER: &str = "provider <> 'wallet' AND amount > 0 AND captured_at_ms IS NOT NULL
     AND (order_id IS NOT NULL OR status IN ('refund_pending', 'refunded'))";
/// The condition for captures of a wrong amount. Amounts beyond `MAX_HELD_AMOUNT`, which older versions held, are left
/// out: a sum with one of them does not fit. The audit names them.
const COUNTED: &str = "held_amount <= 1000000000000";

/// A period. It includes `from` and excludes `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    pub from: Timestamp,
    pub to: Timestamp,
}

#[boxed]
impl BookStore<'_> {
    /// The trial balance of a period.
    pub async fn trial_balance(self, period: Period) -> StoreResult<Vec<TrialBalanceLine>> {
        let (from, to) = (period.from.as_millisecond(), period.to.as_millisecond());
        let mut connection = self.pool.acquire().await?;
        let closed = connection.one(query!(CLOSED), column("closed_before_ms")).await?;
        let before = sums_between(&mut connection, 0, from, closed).await?;
        let within = sums_between(&mut connection, from, to, closed).await?;
        Ok(trial_balance(&before, &within))
    }

    /// The movements within a period, without the balances before it.
    pub async fn moved_within(self, period: Period) -> StoreResult<Vec<AccountSum>> {
        let (from, to) = (period.from.as_millisecond(), period.to.as_millisecond());
        let mut connection = self.pool.acquire().await?;
        let closed = connection.one(query!(CLOSED), column("closed_before_ms")).await?;
        Ok(merged(sums_between(&mut connection, from, to, closed).await?))
    }

    /// Sums up the first day that is over and not closed. Returns whether there may be more.
    pub async fn close(self) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let over = whole_days((tx.now - CLOSING_DELAY).as_millisecond());
        let lock = "UPDATE books SET closed_before_ms = closed_before_ms RETURNING closed_before_ms";
        let closed = tx.one(query!(lock), column("closed_before_ms")).await?;
        if closed >= over {
            return Ok(false);
        }
        let first = first_movement(&mut tx, closed, over).await?;
        let next = first.map_or(over, |at| whole_days(at) + DAY_MS);
        if first.is_some() {
            let mut sums = Vec::new();
            for from in (next - DAY_MS..next).step_by(PART_MS as usize) {
                sums.extend(movements(&mut tx, from, from + PART_MS).await?);
            }
            for sum in merged(sums) {
                let sql =
                    "INSERT INTO book_days (day_ms, account, currency, debits, credits) VALUES ($1, $2, $3, $4, $5)
                     ON CONFLICT (day_ms, account, currency) DO UPDATE SET debits = book_days.debits + excluded.debits,
                       credits = book_days.credits + excluded.credits";
                tx.run(query!(sql; next - DAY_MS, sum.account, sum.currency, sum.debits, sum.credits)).await?;
            }
        }
        tx.run(query!("UPDATE books SET closed_before_ms = $1"; next)).await?;
        tx.commit_and(next < over).await
    }
}

pub(crate) const CLOSED: &str = "SELECT closed_before_ms FROM books";

fn whole_days(at_ms: i64) -> i64 {
    at_ms.div_euclid(DAY_MS) * DAY_MS
}

/// The sums of a period: from the stored sums for closed days that lie wholly within it, and from the movements for the
/// rest.
async fn sums_between(c: &mut Connection, from: i64, to: i64, closed: i64) -> sqlx::Result<Vec<AccountSum>> {
    let first = whole_days(from + DAY_MS - 1);
    let last = whole_days(to).min(closed);
    if first >= last {
        return movements(c, from, to).await;
    }
    let mut sums = sums_of_days(c, first, last).await?;
    sums.extend(movements(c, from, first).await?);
    sums.extend(movements(c, last, to).await?);
    Ok(sums)
}

/// The sums of the movements between two times.
pub(crate) async fn movements(c: &mut Connection, from: i64, to: i64) -> sqlx::Result<Vec<AccountSum>> {
    if from >= to {
        return Ok(Vec::new());
    }
    let wallets = "SELECT CASE WHEN account LIKE 'user:%' THEN 'user' WHEN account LIKE 'packet:%' THEN 'packet'
             WHEN account LIKE 'deposit:%' THEN 'deposit' ELSE account END AS kind,
           CAST(SUM(CASE WHEN amount < 0 THEN -amount ELSE 0 END) AS BIGINT) AS debits,
           CAST(SUM(CASE WHEN amount > 0 THEN amount ELSE 0 END) AS BIGINT) AS credits
         FROM wallet_entries WHERE at_ms >= $1 AND at_ms < $2 GROUP BY kind";
    let sum = |row: &AnyRow| read!(row => AccountSum { account: "kind", currency = CURRENCY, debits, credits });
    let mut sums = c.all(query!(wallets; from, to), sum).await?;
    let total = |[amount, currency]: [&str; 2], at: &str, of: String| {
        format!(
            "SELECT {currency} AS currency, CAST(SUM({amount}) AS BIGINT) AS total FROM {of}
               AND {at} >= $1 AND {at} < $2 GROUP BY {currency}"
        )
    };
    let paid = |amount, at| total([amount, "currency"], at, format!("payments WHERE {BESIDE_THE_LEDGER}"));
    let held =
        |at, which: &str| total(["held_amount", "held_currency"], at, format!("payments WHERE {COUNTED} {which}"));
    // Each refund that failed was a movement when it was made, and one back when it failed.
    let failed = |at, account: &str| {
        let of = format!("failed_refunds WHERE made_at_ms IS NOT NULL AND amount > 0 AND account = '{account}'");
        total(["amount", "currency"], at, of)
    };
    use AccountKind::{Held, Provider, Shop};
    let sides = [
        (paid("amount", "captured_at_ms"), Provider, Shop),
        (paid("amount - refunded_in_parts", "refunded_at_ms"), Shop, Provider),
        // Refunds into wallets are in the ledger.
        (
            total(["amount", "currency"], "refunded_at_ms", "partial_refunds WHERE via <> 'wallet'".into()),
            Shop,
            Provider,
        ),
        (held("held_at_ms", ""), Provider, Held),
        // Settled without a refund.
        (held("kept_at_ms", ""), Held, Shop),
        // Refunded while they were still held.
        (
            held("refunded_at_ms", "AND held_at_ms IS NOT NULL AND kept_at_ms IS NULL AND unheld_at_ms IS NULL"),
            Held,
            Provider,
        ),
        // A report of the right amount took back the one of a wrong amount.
        (held("unheld_at_ms", ""), Held, Provider),
        (held("refunded_at_ms", "AND kept_at_ms IS NOT NULL"), Shop, Provider),
        (failed("made_at_ms", "shop"), Shop, Provider),
        (failed("failed_at_ms", "shop"), Provider, Shop),
        (failed("made_at_ms", "held"), Held, Provider),
        (failed("failed_at_ms", "held"), Provider, Held),
    ];
    for (sql, giver, receiver) in sides {
        let totals = c.all(query!(AssertSqlSafe(sql); from, to), pair("currency", "total")).await?;
        for (currency, total) in totals {
            sums.push(AccountSum { account: giver, currency, debits: total, credits: 0 });
            sums.push(AccountSum { account: receiver, currency, debits: 0, credits: total });
        }
    }
    Ok(merged(sums))
}

/// One sum per kind of accounts and currency.
pub(crate) fn merged(sums: Vec<AccountSum>) -> Vec<AccountSum> {
    let mut all: Vec<AccountSum> = Vec::new();
    for sum in sums {
        match all.iter_mut().find(|other| other.account == sum.account && other.currency == sum.currency) {
            Some(other) => {
                other.debits = other.debits.saturating_add(sum.debits);
                other.credits = other.credits.saturating_add(sum.credits);
            }
            None => all.push(sum),
        }
    }
    all
}

/// The stored sums of closed days. The first day begins at `from`, the last one ends at `to`.
pub(crate) async fn sums_of_days(c: &mut Connection, from: i64, to: i64) -> sqlx::Result<Vec<AccountSum>> {
    let sql = "SELECT account, currency, CAST(SUM(debits) AS BIGINT) AS debits, CAST(SUM(credits) AS BIGINT) AS credits
         FROM book_days WHERE day_ms >= $1 AND day_ms < $2 GROUP BY account, currency";
    c.all(query!(sql; from, to), |row| read!(row => AccountSum { account, currency, debits, credits })).await
}

/// The time of the first movement between two times.
pub(crate) async fn first_movement(c: &mut Connection, from: i64, to: i64) -> sqlx::Result<Option<i64>> {
    let mut first: Option<i64> = None;
    for (table, at) in [
        ("wallet_entries", "at_ms"),
        ("payments", "captured_at_ms"),
        ("payments", "refunded_at_ms"),
        ("payments", "held_at_ms"),
        ("payments", "kept_at_ms"),
        ("payments", "unheld_at_ms"),
        ("partial_refunds", "refunded_at_ms"),
        ("failed_refunds", "made_at_ms"),
        ("failed_refunds", "failed_at_ms"),
    ] {
        let also = if at == "failed_at_ms" { "AND made_at_ms IS NOT NULL" } else { "" };
        let sql =
            format!("SELECT {at} AS at_ms FROM {table} WHERE {at} >= $1 AND {at} < $2 {also} ORDER BY {at} LIMIT 1");
        let found = c.optional(query!(AssertSqlSafe(sql); from, to), column("at_ms")).await?;
        first = first.into_iter().chain(found).min();
    }
    Ok(first)
}

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

    /// Selects the rows after a cursor, by the time of one of their steps.
    fn sql(self) -> String {
        let rows = |at: &str, columns: &str, [id, account]: [&str; 2], of: String| {
            format!(
                "SELECT {at} AS at_ms, {columns} FROM {of} AND {at} >= $1 AND {at} < $2
                   AND ({at} > $1 OR {id} > $3 OR ({id} = $3 AND {account} > $4)) ORDER BY {at}, {id} LIMIT $5"
            )
        };
        let paid = |at, amount: &str| {
            let columns = format!("id, id AS reference, 'shop' AS account, {amount} AS moved, currency");
            let of = format!("payments WHERE {BESIDE_THE_LEDGER} AND {amount} > 0");
            rows(at, &columns, ["id", "'shop'"], of)
        };
        let held = |at, which: &str| {
            let columns = "id, id AS reference, CASE WHEN kept_at_ms IS NULL THEN 'held' ELSE 'shop' END AS account,
                   held_amount AS moved, held_currency AS currency";
            rows(at, columns, ["id", "''"], format!("payments WHERE held_at_ms IS NOT NULL AND {COUNTED} {which}"))
        };
        let failed = |at| {
            let columns = "refund_id AS id, payment_id AS reference, account, amount AS moved, currency";
            let of = "failed_refunds WHERE made_at_ms IS NOT NULL AND amount > 0".to_owned();
            rows(at, columns, ["refund_id", "account"], of)
        };
        match self {
            JournalSource::Ledger => "SELECT e.at_ms, e.transfer_id AS id, e.account, e.amount, t.kind, t.reference
                 FROM wallet_entries e JOIN wallet_transfers t ON t.id = e.transfer_id
                 WHERE e.at_ms >= $1 AND e.at_ms < $2
                   AND (e.at_ms > $1 OR e.transfer_id > $3 OR (e.transfer_id = $3 AND e.account > $4))
                 ORDER BY e.at_ms, e.transfer_id, e.account LIMIT $5"
                .to_owned(),
            JournalSource::Charges => paid("captured_at_ms", "amount"),
            JournalSource::Refunds => paid("refunded_at_ms", "amount - refunded_in_parts"),
            JournalSource::PartialRefunds => {
                let columns = "id, payment_id AS reference, 'shop' AS account, amount AS moved, currency";
                let of = "partial_refunds WHERE via <> 'wallet'".to_owned();
                rows("refunded_at_ms", columns, ["id", "'shop'"], of)
            }
            JournalSource::Held => held("held_at_ms", ""),
            JournalSource::Kept => held("kept_at_ms", ""),
            JournalSource::HeldRefunds => held("refunded_at_ms", "AND unheld_at_ms IS NULL"),
            JournalSource::Unheld => held("unheld_at_ms", ""),
            JournalSource::FailedRefunds => failed("made_at_ms"),
            JournalSource::ReturnedRefunds => failed("failed_at_ms"),
        }
    }

    /// The lines of a row: one for a row of the ledger, two for a payment.
    fn lines(self, row: &AnyRow) -> sqlx::Result<Vec<JournalLine>> {
        let (at, id) = (row::get(row, "at_ms")?, row::text(row, "id")?);
        let account = row::text(row, "account")?;
        let (kind, from, to) = match self {
            JournalSource::Ledger => {
                let amount = money(row::int(row, "amount")?);
                let line = read!(row => JournalLine {
                    at = at, transfer = id, kind, reference, account = account, amount = amount,
                });
                return Ok(vec![line?]);
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
        let (reference, moved): (_, Money) = (row::text(row, "reference")?, row::get(row, "moved")?);
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

#[boxed]
impl BookStore<'_> {
    /// The next lines of a source, in the order of their times, and the cursor after them; `None` at the end of the period.
    pub async fn journal(
        self,
        source: JournalSource,
        after: &JournalCursor,
        to: Timestamp,
        rows: i64,
    ) -> StoreResult<(Vec<JournalLine>, Option<JournalCursor>)> {
        let found = self
            .all(query!(AssertSqlSafe(source.sql()); after.at_ms, to, &after.id, &after.account, rows), |row| {
                let cursor = read!(row => JournalCursor { at_ms, id, account })?;
                Ok((source.lines(row)?, cursor))
            })
            .await?;
        let next = if found.len() as i64 == rows { found.last().map(|(_, cursor)| cursor.clone()) } else { None };
        Ok((found.into_iter().flat_map(|(lines, _)| lines).collect(), next))
    }
}
