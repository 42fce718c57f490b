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
use sqlx::any::AnyRow;

use crate::pool::Connection;
use crate::{BookStore, StoreError, row};
use domain::ledger::{AccountKind, AccountSum, CURRENCY, TrialBalanceLine, money, trial_balance};
use domain::{Currency, Money};

pub(crate) const DAY_MS: i64 = 24 * 3600 * 1000;
/// How long after its end a day is closed. Transactions that began in it are over by then.
const CLOSING_DELAY: Duration = Duration::from_secs(3600);
/// The part of a day that one statement sums up: short enough for the statement's time-out on a day with millions of
/// payments.
const PART_MS: i64 = DAY_MS / 48;

/// The condition for payments that move money outside the ledger.
macro_rules! beside_the_ledger {
    () => {
        "provider <> 'wallet' AND amount > 0 AND captured_at_ms IS NOT NULL \
         AND (order_id IS NOT NULL OR status IN ('refund_pending', 'refunded'))"
    };
}

/// A period. It includes `from` and excludes `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    pub from: Timestamp,
    pub to: Timestamp,
}

#[boxed]
impl BookStore<'_> {
    /// The trial balance of a period.
    pub async fn trial_balance(self, period: Period) -> Result<Vec<TrialBalanceLine>, StoreError> {
        let (from, to) = (period.from.as_millisecond(), period.to.as_millisecond());
        let mut connection = self.pool.acquire().await?;
        let closed = row::int(&sqlx::query(CLOSED).fetch_one(&mut connection).await?, "closed_before_ms")?;
        let before = sums_between(&mut connection, 0, from, closed).await?;
        let within = sums_between(&mut connection, from, to, closed).await?;
        Ok(trial_balance(&before, &within))
    }

    /// The movements within a period, without the balances before it.
    pub async fn moved_within(self, period: Period) -> Result<Vec<AccountSum>, StoreError> {
        let (from, to) = (period.from.as_millisecond(), period.to.as_millisecond());
        let mut connection = self.pool.acquire().await?;
        let closed = row::int(&sqlx::query(CLOSED).fetch_one(&mut connection).await?, "closed_before_ms")?;
        Ok(merged(sums_between(&mut connection, from, to, closed).await?))
    }

    /// Sums up the first day that is over and not closed. Returns whether there may be more.
    pub async fn close(self) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let over = whole_days((tx.now - CLOSING_DELAY).as_millisecond());
        let lock = "UPDATE books SET closed_before_ms = closed_before_ms RETURNING closed_before_ms";
        let closed = row::int(&sqlx::query(lock).fetch_one(&mut *tx).await?, "closed_before_ms")?;
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
                sqlx::query(
                    "INSERT INTO book_days (day_ms, account, currency, debits, credits) VALUES ($1, $2, $3, $4, $5)
                     ON CONFLICT (day_ms, account, currency) DO UPDATE SET debits = book_days.debits + excluded.debits,
                       credits = book_days.credits + excluded.credits",
                )
                .bind(next - DAY_MS)
                .bind(sum.account.as_str())
                .bind(sum.currency.as_str())
                .bind(sum.debits)
                .bind(sum.credits)
                .execute(&mut *tx)
                .await?;
            }
        }
        sqlx::query("UPDATE books SET closed_before_ms = $1").bind(next).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(next < over)
    }
}

pub(crate) const CLOSED: &str = "SELECT closed_before_ms FROM books";

fn whole_days(at_ms: i64) -> i64 {
    at_ms.div_euclid(DAY_MS) * DAY_MS
}

/// The sums of a period: from the stored sums for closed days that lie wholly within it, and from the movements for the
/// rest.
async fn sums_between(c: &mut Connection, from: i64, to: i64, closed: i64) -> Result<Vec<AccountSum>, sqlx::Error> {
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

const CHARGES: &str = concat!(
    "SELECT currency, CAST(SUM(amount) AS BIGINT) AS total FROM payments
     WHERE captured_at_ms >= $1 AND captured_at_ms < $2 AND ",
    beside_the_ledger!(),
    " GROUP BY currency"
);
const REFUNDS: &str = concat!(
    "SELECT currency, CAST(SUM(amount - refunded_in_parts) AS BIGINT) AS total FROM payments
     WHERE refunded_at_ms >= $1 AND refunded_at_ms < $2 AND ",
    beside_the_ledger!(),
    " GROUP BY currency"
);

/// Sums of captures of a wrong amount. Amounts beyond `MAX_HELD_AMOUNT`, which older versions held, are left out: a sum with
/// one of them does not fit. The audit names them.
const HELD: &str = "SELECT held_currency AS currency, CAST(SUM(held_amount) AS BIGINT) AS total FROM payments
     WHERE held_at_ms >= $1 AND held_at_ms < $2 AND held_amount <= 1000000000000 GROUP BY held_currency";
/// Sums of captures of a wrong amount that were settled without a refund.
const KEPT: &str = "SELECT held_currency AS currency, CAST(SUM(held_amount) AS BIGINT) AS total FROM payments
     WHERE kept_at_ms >= $1 AND kept_at_ms < $2 AND held_amount <= 1000000000000 GROUP BY held_currency";
/// Sums of captures of a wrong amount that were refunded while they were still held.
const HELD_REFUNDS: &str = "SELECT held_currency AS currency, CAST(SUM(held_amount) AS BIGINT) AS total FROM payments
     WHERE refunded_at_ms >= $1 AND refunded_at_ms < $2 AND held_at_ms IS NOT NULL AND kept_at_ms IS NULL
       AND unheld_at_ms IS NULL AND held_amount <= 1000000000000
     GROUP BY held_currency";
/// Sums of reports of a wrong amount that a report of the right amount took back.
const UNHELD: &str = "SELECT held_currency AS currency, CAST(SUM(held_amount) AS BIGINT) AS total FROM payments
     WHERE unheld_at_ms >= $1 AND unheld_at_ms < $2 AND held_amount <= 1000000000000 GROUP BY held_currency";
const KEPT_REFUNDS: &str = "SELECT held_currency AS currency, CAST(SUM(held_amount) AS BIGINT) AS total FROM payments
     WHERE refunded_at_ms >= $1 AND refunded_at_ms < $2 AND kept_at_ms IS NOT NULL
       AND held_amount <= 1000000000000 GROUP BY held_currency";

/// Sums of partial refunds outside the ledger. Refunds into wallets are in the ledger.
const PARTIAL_REFUNDS: &str = "SELECT currency, CAST(SUM(amount) AS BIGINT) AS total FROM partial_refunds
     WHERE refunded_at_ms >= $1 AND refunded_at_ms < $2 AND via <> 'wallet' GROUP BY currency";

/// Sums of refunds that had counted as made and failed later: each was a movement when it was made, and one back when it
/// failed.
macro_rules! failed_refunds {
    ($at:literal, $account:literal) => {
        concat!(
            "SELECT currency, CAST(SUM(amount) AS BIGINT) AS total FROM failed_refunds
             WHERE ",
            $at,
            " >= $1 AND ",
            $at,
            " < $2 AND made_at_ms IS NOT NULL AND amount > 0 AND account = '",
            $account,
            "' GROUP BY currency"
        )
    };
}

/// The sums of the movements between two times.
pub(crate) async fn movements(c: &mut Connection, from: i64, to: i64) -> Result<Vec<AccountSum>, sqlx::Error> {
    if from >= to {
        return Ok(Vec::new());
    }
    let wallets = "SELECT CASE WHEN account LIKE 'user:%' THEN 'user' WHEN account LIKE 'packet:%' THEN 'packet'
             WHEN account LIKE 'deposit:%' THEN 'deposit' ELSE account END AS kind,
           CAST(SUM(CASE WHEN amount < 0 THEN -amount ELSE 0 END) AS BIGINT) AS debits,
           CAST(SUM(CASE WHEN amount > 0 THEN amount ELSE 0 END) AS BIGINT) AS credits
         FROM wallet_entries WHERE at_ms >= $1 AND at_ms < $2 GROUP BY kind";
    let query = sqlx::query(wallets).bind(from).bind(to);
    let mut sums = Vec::new();
    for row in query.fetch_all(&mut *c).await? {
        sums.push(AccountSum {
            account: row::parsed(&row, "kind")?,
            currency: CURRENCY,
            debits: row::int(&row, "debits")?,
            credits: row::int(&row, "credits")?,
        });
    }
    let sides = [
        (CHARGES, AccountKind::Provider, AccountKind::Shop),
        (REFUNDS, AccountKind::Shop, AccountKind::Provider),
        (PARTIAL_REFUNDS, AccountKind::Shop, AccountKind::Provider),
        (HELD, AccountKind::Provider, AccountKind::Held),
        (KEPT, AccountKind::Held, AccountKind::Shop),
        (HELD_REFUNDS, AccountKind::Held, AccountKind::Provider),
        (UNHELD, AccountKind::Held, AccountKind::Provider),
        (KEPT_REFUNDS, AccountKind::Shop, AccountKind::Provider),
        (failed_refunds!("made_at_ms", "shop"), AccountKind::Shop, AccountKind::Provider),
        (failed_refunds!("failed_at_ms", "shop"), AccountKind::Provider, AccountKind::Shop),
        (failed_refunds!("made_at_ms", "held"), AccountKind::Held, AccountKind::Provider),
        (failed_refunds!("failed_at_ms", "held"), AccountKind::Provider, AccountKind::Held),
    ];
    for (sql, giver, receiver) in sides {
        for row in sqlx::query(sql).bind(from).bind(to).fetch_all(&mut *c).await? {
            let (currency, total) = (currency(&row)?, row::int(&row, "total")?);
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

fn currency(row: &sqlx::any::AnyRow) -> Result<Currency, sqlx::Error> {
    Currency::parse(&row::text(row, "currency")?).ok_or_else(|| row::undecodable("currency"))
}

/// The stored sums of closed days. The first day begins at `from`, the last one ends at `to`.
pub(crate) async fn sums_of_days(c: &mut Connection, from: i64, to: i64) -> Result<Vec<AccountSum>, sqlx::Error> {
    let sql = "SELECT account, currency, CAST(SUM(debits) AS BIGINT) AS debits, CAST(SUM(credits) AS BIGINT) AS credits
         FROM book_days WHERE day_ms >= $1 AND day_ms < $2 GROUP BY account, currency";
    let rows = sqlx::query(sql).bind(from).bind(to).fetch_all(&mut *c).await?;
    let sums = rows.iter().map(|row| {
        Ok(AccountSum {
            account: row::parsed(row, "account")?,
            currency: currency(row)?,
            debits: row::int(row, "debits")?,
            credits: row::int(row, "credits")?,
        })
    });
    sums.collect()
}

/// The time of the first movement between two times.
pub(crate) async fn first_movement(c: &mut Connection, from: i64, to: i64) -> Result<Option<i64>, sqlx::Error> {
    let mut first: Option<i64> = None;
    for sql in [
        "SELECT at_ms FROM wallet_entries WHERE at_ms >= $1 AND at_ms < $2 ORDER BY at_ms LIMIT 1",
        "SELECT captured_at_ms AS at_ms FROM payments WHERE captured_at_ms >= $1 AND captured_at_ms < $2
         ORDER BY captured_at_ms LIMIT 1",
        "SELECT refunded_at_ms AS at_ms FROM payments WHERE refunded_at_ms >= $1 AND refunded_at_ms < $2
         ORDER BY refunded_at_ms LIMIT 1",
        "SELECT held_at_ms AS at_ms FROM payments WHERE held_at_ms >= $1 AND held_at_ms < $2 ORDER BY held_at_ms LIMIT 1",
        "SELECT kept_at_ms AS at_ms FROM payments WHERE kept_at_ms >= $1 AND kept_at_ms < $2 ORDER BY kept_at_ms LIMIT 1",
        "SELECT unheld_at_ms AS at_ms FROM payments WHERE unheld_at_ms >= $1 AND unheld_at_ms < $2
         ORDER BY unheld_at_ms LIMIT 1",
        "SELECT refunded_at_ms AS at_ms FROM partial_refunds WHERE refunded_at_ms >= $1 AND refunded_at_ms < $2
         ORDER BY refunded_at_ms LIMIT 1",
        "SELECT made_at_ms AS at_ms FROM failed_refunds WHERE made_at_ms >= $1 AND made_at_ms < $2
         ORDER BY made_at_ms LIMIT 1",
        "SELECT failed_at_ms AS at_ms FROM failed_refunds WHERE failed_at_ms >= $1 AND failed_at_ms < $2
           AND made_at_ms IS NOT NULL ORDER BY failed_at_ms LIMIT 1",
    ] {
        let found = c.optional(sqlx::query(sql).bind(from).bind(to), |row| row::int(row, "at_ms")).await?;
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

#[boxed]
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
        let query = query.bind(&after.id).bind(&after.account).bind(rows);
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
