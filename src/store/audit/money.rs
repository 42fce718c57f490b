//! Money: charges of orders, payments of wallets, the ledger.

use boxed::boxed;
use jiff::Timestamp;

use crate::audit::{Key, Snapshot, Step, Steps};
use crate::books::{CLOSED, DAY_MS, first_movement, merged, movements, sums_of_days};
use crate::sales::is_over;
use crate::{StoreResult, column, pair, row};
use domain::ledger::{AccountSum, LedgerAccount};

/// Accounts that take part in most transfers. Their entries are added up along with the transfers.
const BUSY: [LedgerAccount; 2] = [LedgerAccount::Provider, LedgerAccount::Shop];

/// A paid order has one captured payment, of its amount, or was confirmed by another shop; other orders have no payment,
/// unless the goods came back and a part of the money was kept. An order that another shop confirmed is paid or was
/// ended by the staff. The rows of a step are added up instead of joined: where PostgreSQL has no statistics about the
/// newest rows, it expects one, and would compare each with each.
const CHARGES: &str = "SELECT 'order ' || id || ' is ' || MAX(status) || ' and has ' || CAST(SUM(payments) AS TEXT)
       || ' captured payments, of ' || CAST(SUM(paid) AS TEXT) || ' together'
       || CASE WHEN SUM(confirmed) > 0 THEN ', and another shop confirmed it' ELSE '' END AS problem
     FROM (SELECT id, status, amount AS due, 0 AS payments, 0 AS paid, 0 AS confirmed,
         CASE WHEN return_state = 'received' THEN 1 ELSE 0 END AS may_keep FROM orders WHERE id > $1 AND id <= $2
       UNION ALL SELECT order_id, NULL, NULL, 1, amount, 0, 0 FROM payments
         WHERE order_id > $1 AND order_id <= $2 AND status = 'captured'
       UNION ALL SELECT order_id, NULL, NULL, 0, 0, 1, 0 FROM reservations WHERE order_id > $1 AND order_id <= $2) step
     GROUP BY id
     HAVING MAX(status) IS NOT NULL
       AND CASE WHEN MAX(status) = 'paid'
         THEN SUM(payments) + SUM(confirmed) <> 1 OR SUM(confirmed) = 0 AND SUM(paid) <> MAX(due)
         ELSE SUM(payments) > MAX(may_keep) OR SUM(confirmed) > 0 AND MAX(status) <> 'refunded' END";

/// An order's amount is its goods and their shipping, and each unit of the goods costs the same.
const WITHOUT_SHIPPING: &str = "SELECT 'order ' || id || ' of ' || CAST(quantity AS TEXT) || ' costs '
       || CAST(amount AS TEXT) || ' with ' || CAST(shipping AS TEXT) || ' for shipping' AS problem
     FROM orders WHERE id > $1 AND id <= $2
       AND (shipping < 0 OR shipping > amount OR (amount - shipping) % quantity <> 0)";

/// The provider gave back exactly the amount that was refunded here. A refund that is under way may be done at the
/// provider already.
const AT_THE_PROVIDER: &str = "SELECT 'payment ' || id || ' is ' || status || ' here with ' || CAST(here AS TEXT)
       || ' refunded, ' || CAST(there AS TEXT) || ' of it at the provider' AS problem
     FROM (SELECT p.id, p.status, CASE WHEN s.status = 'refunded' THEN s.amount ELSE s.refunded END AS there,
         CASE WHEN p.status = 'refunded' THEN s.amount - p.refunded_in_parts ELSE 0 END + COALESCE(r.made, 0) AS here,
         CASE WHEN p.status = 'refund_pending' THEN s.amount - p.refunded_in_parts ELSE 0 END
         + COALESCE(r.pending, 0) AS pending
       FROM sandbox_payments s JOIN payments p ON p.id = s.id
       LEFT JOIN (SELECT payment_id,
           CAST(SUM(CASE WHEN refunded_at_ms IS NULL THEN 0 ELSE amount END) AS BIGINT) AS made,
           CAST(SUM(CASE WHEN refunded_at_ms IS NULL THEN amount ELSE 0 END) AS BIGINT) AS pending
         FROM partial_refunds WHERE payment_id > $1 AND payment_id <= $2 AND via <> 'wallet'
         GROUP BY payment_id) r ON r.payment_id = p.id
       WHERE s.id > $1 AND s.id <= $2 AND p.id > $1 AND p.id <= $2) sums
     WHERE there < here OR there > here + pending";

/// Amounts that reports cannot have. Older versions wrote them down, and the books leave them out.
const IMPOSSIBLE_AMOUNTS: &str =
    "SELECT 'payment ' || id || ' holds ' || CAST(held_amount AS TEXT) || ' ' || held_currency
       || ', which is in no sum of the books' AS problem
     FROM payments WHERE id > $1 AND id <= $2 AND held_amount > 1000000000000";
const IMPOSSIBLE_REPORTS: &str =
    "SELECT 'payment case ' || id || ' is about ' || CAST(amount AS TEXT) || ' ' || currency
       || ', which is no real amount' AS problem
     FROM payment_cases WHERE id > $1 AND id <= $2 AND (amount < 0 OR amount > 9007199254740991)";

/// A payment's count of partial refunds is right, and partial refunds into wallets have their transfers.
const IN_PARTS: &str = "SELECT 'payment ' || p.id || ' counts ' || CAST(p.refunded_in_parts AS TEXT)
       || ' refunded in parts, the parts sum to ' || CAST(COALESCE(r.total, 0) AS TEXT) AS problem
     FROM payments p LEFT JOIN (SELECT payment_id, SUM(amount) AS total FROM partial_refunds
       WHERE payment_id > $1 AND payment_id <= $2 GROUP BY payment_id) r ON r.payment_id = p.id
     WHERE p.id > $1 AND p.id <= $2 AND p.refunded_in_parts <> COALESCE(r.total, 0)";

const PARTS_WITHOUT_TRANSFER: &str = "SELECT 'partial refund ' || r.id || ' is made without a transfer' AS problem
     FROM partial_refunds r WHERE r.id > $1 AND r.id <= $2 AND r.via = 'wallet' AND r.refunded_at_ms IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM wallet_transfers t WHERE t.id = 'refund:' || r.order_id || ':' || r.id)";

const PAYMENTS_WITHOUT_TRANSFER: &str =
    "SELECT 'payment ' || p.id || ' is ' || p.status || ' without the transfer ' || p.transfer AS problem
     FROM (SELECT id, status, 'topup:' || id AS transfer FROM payments
             WHERE id > $1 AND id <= $2 AND user_id IS NOT NULL AND status = 'captured'
           UNION ALL SELECT id, status, 'pay:' || order_id FROM payments
             WHERE id > $1 AND id <= $2 AND provider = 'wallet' AND amount > 0
           UNION ALL SELECT id, status, 'refund:' || order_id FROM payments
             WHERE id > $1 AND id <= $2 AND provider = 'wallet' AND status = 'refunded'
               AND amount > refunded_in_parts) p
     WHERE NOT EXISTS (SELECT 1 FROM wallet_transfers t WHERE t.id = p.transfer)";

/// Transfers of a kind in a step whose subject is missing. The subject is a row `p` whose column has the transfer's
/// reference. Ids of transfers begin with their kind, so the references of a step are one range, and no step reads a
/// whole table.
macro_rules! transfers_without {
    ($kind:literal, $of:literal, $reference:literal, $rows:literal) => {
        concat!(
            "SELECT 'transfer ' || t.id || ' has no payment' AS problem FROM wallet_transfers t
             WHERE t.id > $1 AND t.id <= $2 AND t.kind = '",
            $kind,
            "' AND ",
            $of,
            "
               AND NOT EXISTS (SELECT 1 FROM ",
            $rows,
            " AND ",
            $reference,
            " = t.reference
                 AND ",
            $reference,
            " >= (SELECT MIN(reference) FROM wallet_transfers
                   WHERE id > $1 AND id <= $2 AND kind = '",
            $kind,
            "')
                 AND ",
            $reference,
            " <= (SELECT MAX(reference) FROM wallet_transfers
                   WHERE id > $1 AND id <= $2 AND kind = '",
            $kind,
            "'))"
        )
    };
}

const TRANSFERS_WITHOUT_PAYMENT: [&str; 4] = [
    transfers_without!("topup", "1 = 1", "p.id", "payments p WHERE p.user_id IS NOT NULL AND p.status = 'captured'"),
    transfers_without!("pay", "1 = 1", "p.order_id", "payments p WHERE p.provider = 'wallet'"),
    transfers_without!(
        "refund",
        "t.id = 'refund:' || t.reference",
        "p.order_id",
        "payments p WHERE p.provider = 'wallet' AND p.status = 'refunded'"
    ),
    transfers_without!(
        "refund",
        "t.id <> 'refund:' || t.reference",
        "p.order_id",
        "partial_refunds p WHERE p.via = 'wallet' AND p.refunded_at_ms IS NOT NULL
           AND t.id = 'refund:' || p.order_id || ':' || p.id"
    ),
];

/// Added up and not joined, as [`CHARGES`].
const UNBALANCED_TRANSFERS: &str = "SELECT 'transfer ' || id || ' sums to '
       || CASE WHEN SUM(entries) = 0 THEN 'nothing: it has no entries' ELSE CAST(SUM(amount) AS TEXT) END AS problem
     FROM (SELECT id, 1 AS transfers, 0 AS entries, 0 AS amount FROM wallet_transfers WHERE id > $1 AND id <= $2
       UNION ALL SELECT transfer_id, 0, 1, amount FROM wallet_entries
         WHERE transfer_id > $1 AND transfer_id <= $2) step
     GROUP BY id HAVING SUM(transfers) = 1 AND (SUM(entries) = 0 OR SUM(amount) <> 0)";

const ENTRIES_WITHOUT_BALANCE: &str =
    "SELECT DISTINCT 'account ' || e.account || ' has entries and no balance' AS problem
     FROM wallet_entries e WHERE e.transfer_id > $1 AND e.transfer_id <= $2
       AND NOT EXISTS (SELECT 1 FROM wallet_balances b WHERE b.account = e.account)";

const BALANCES: &str = "SELECT account, balance, entries FROM (
       SELECT b.account, b.balance, (SELECT CAST(COALESCE(SUM(e.amount), 0) AS BIGINT) FROM wallet_entries e
         WHERE e.account = b.account) AS entries
       FROM wallet_balances b WHERE b.account > $1 AND b.account <= $2 AND b.account NOT IN ('provider', 'shop')) sums
     WHERE balance <> entries";

/// The entries of a transfer have one time, so a step has all of them.
const UNBALANCED_SINCE: &str =
    "SELECT 'transfer ' || transfer_id || ' sums to ' || CAST(SUM(amount) AS TEXT) AS problem
     FROM wallet_entries WHERE at_ms > $1 AND at_ms <= $2 GROUP BY transfer_id HAVING SUM(amount) <> 0";

/// Balances of the accounts of a step. Each is compared with all entries of its account.
const BALANCES_SINCE: &str = "SELECT account, balance, entries FROM (
       SELECT moved.account, COALESCE(b.balance, 0) AS balance,
         (SELECT CAST(COALESCE(SUM(e.amount), 0) AS BIGINT) FROM wallet_entries e WHERE e.account = moved.account) AS entries
       FROM (SELECT DISTINCT account FROM wallet_entries WHERE at_ms > $1 AND at_ms <= $2
         AND account NOT IN ('provider', 'shop')) moved LEFT JOIN wallet_balances b ON b.account = moved.account) sums
     WHERE balance <> entries";

#[boxed]
impl Snapshot {
    /// Describes disagreements between payments, orders and the sandbox provider. Empty if every captured payment has
    /// its paid order and every paid order its payment.
    pub async fn money_mismatches(&mut self) -> StoreResult<Vec<String>> {
        let mut problems = self.problems_of(self.orders(), &[CHARGES, WITHOUT_SHIPPING]).await?;
        problems.extend(self.problems_of(self.payments("sandbox_payments"), &[AT_THE_PROVIDER]).await?);
        Ok(problems)
    }

    /// Describes payments into or out of wallets without their transfer, and transfers of these kinds without their
    /// payment.
    pub async fn wallet_payment_mismatches(&mut self) -> StoreResult<Vec<String>> {
        let mut problems = self.problems_of(self.payments("payments"), &[PAYMENTS_WITHOUT_TRANSFER, IN_PARTS]).await?;
        let parts = Steps::<String>::over("partial_refunds", "id");
        problems.extend(self.problems_of(parts, &[PARTS_WITHOUT_TRANSFER]).await?);
        if self.recent.is_none() {
            let transfers = Steps::<String>::over("wallet_transfers", "id");
            problems.extend(self.problems_of(transfers, &TRANSFERS_WITHOUT_PAYMENT).await?);
        }
        Ok(problems)
    }

    /// Describes reported amounts that are too large to be real.
    pub async fn impossible_reports(&mut self) -> StoreResult<Vec<String>> {
        let mut problems = self.problems_of(self.payments("payments"), &[IMPOSSIBLE_AMOUNTS]).await?;
        problems.extend(self.problems_of(Steps::<String>::over("payment_cases", "id"), &[IMPOSSIBLE_REPORTS]).await?);
        Ok(problems)
    }

    /// Describes inconsistencies of the ledger. Empty if no money was created or lost: every transfer sums to zero, and
    /// every balance is the sum of its entries.
    pub async fn wallet_mismatches(&mut self) -> StoreResult<Vec<String>> {
        if let Some(since) = self.since() {
            let mut steps = Steps::over("wallet_entries", "at_ms").within(vec![(since - 1, None)]);
            let mut problems = Vec::new();
            while let Some(step) = steps.next(self).await? {
                problems.extend(self.problems(UNBALANCED_SINCE, &step).await?);
                problems.extend(self.wrong_balances(BALANCES_SINCE, &step).await?);
            }
            return Ok(problems);
        }
        let (mut problems, mut busy) = (Vec::new(), [0; BUSY.len()]);
        let mut steps = Steps::<String>::over("wallet_transfers", "id");
        while let Some(step) = steps.next(self).await? {
            problems.extend(self.problems(UNBALANCED_TRANSFERS, &step).await?);
            problems.extend(self.problems(ENTRIES_WITHOUT_BALANCE, &step).await?);
            self.add_busy(&mut busy, &step).await?;
        }
        for (account, entries) in BUSY.iter().zip(busy) {
            let query = query!("SELECT balance FROM wallet_balances WHERE account = $1"; account);
            let balance = self.all(query, column("balance")).await?.pop().unwrap_or_default();
            if balance != entries {
                problems.push(wrong_balance(&account.to_string(), balance, entries));
            }
        }
        let mut steps = Steps::<String>::over("wallet_balances", "account");
        while let Some(step) = steps.next(self).await? {
            problems.extend(self.wrong_balances(BALANCES, &step).await?);
        }
        Ok(problems)
    }

    async fn wrong_balances<K: Key>(&mut self, sql: &'static str, step: &Step<K>) -> StoreResult<Vec<String>> {
        let describe = |row: &_| {
            let (balance, entries) = (row::int(row, "balance")?, row::int(row, "entries")?);
            Ok(wrong_balance(&row::text(row, "account")?, balance, entries))
        };
        self.all(query!(sql; &step.after, &step.upto), describe).await
    }

    async fn add_busy(&mut self, sums: &mut [i64; BUSY.len()], step: &Step<String>) -> StoreResult<()> {
        let sql = "SELECT account, CAST(SUM(amount) AS BIGINT) AS total FROM wallet_entries
             WHERE transfer_id > $1 AND transfer_id <= $2 AND account IN ('provider', 'shop') GROUP BY account";
        let found = self.all(query!(sql; &step.after, &step.upto), pair::<String, i64>("account", "total")).await?;
        for (account, total) in found {
            for (busy, sum) in BUSY.iter().zip(sums.iter_mut()) {
                *sum += if busy.to_string() == account { total } else { 0 };
            }
        }
        Ok(())
    }
}

fn wrong_balance(account: &str, balance: i64, entries: i64) -> String {
    format!("account {account} has balance {balance}, its entries sum to {entries}")
}

// Books: the sums of closed days.

/// A day is added up in this many steps.
const STEPS_OF_A_DAY: i64 = 4;

#[boxed]
impl Snapshot {
    /// Describes closed days whose sums are not the sums of their movements. Empty if a balance from the sums equals a
    /// balance from all movements.
    pub async fn book_mismatches(&mut self) -> StoreResult<Vec<String>> {
        let closed = self.all(query!(CLOSED), column("closed_before_ms")).await?;
        let closed = closed.first().copied().unwrap_or_default();
        let days = "SELECT DISTINCT day_ms FROM book_days WHERE day_ms < $1 ORDER BY day_ms";
        let mut days = self.all(query!(days; closed), column("day_ms")).await?;
        let (mut problems, mut end) = (Vec::new(), self.since().map_or(0, |since| since.div_euclid(DAY_MS) * DAY_MS));
        days.retain(|day| *day >= end);
        // Movements after the last day with sums would be missed otherwise.
        days.push(closed);
        for day in days {
            if let Some(at) = first_movement(&mut self.connection, end, day).await? {
                problems.push(format!("money moved on {}, which has no sums", date(at)));
            }
            if day < closed {
                let kept = sums_of_days(&mut self.connection, day, day + DAY_MS).await?;
                problems.extend(differences(day, &kept, &self.movements_of_day(day).await?));
            }
            end = day + DAY_MS;
        }
        Ok(problems)
    }

    async fn movements_of_day(&mut self, day: i64) -> StoreResult<Vec<AccountSum>> {
        let (mut sums, length) = (Vec::new(), DAY_MS / STEPS_OF_A_DAY);
        for from in (day..day + DAY_MS).step_by(length as usize) {
            sums.extend(movements(&mut self.connection, from, from + length).await?);
        }
        Ok(merged(sums))
    }
}

fn differences(day: i64, kept: &[AccountSum], moved: &[AccountSum]) -> Vec<String> {
    let of = |sums: &[AccountSum], like: &AccountSum| {
        let same = sums.iter().find(|sum| (sum.account, sum.currency) == (like.account, like.currency));
        same.map_or((0, 0), |sum| (sum.debits, sum.credits))
    };
    let only_kept = kept.iter().filter(|sum| of(moved, sum) == (0, 0));
    let lines = moved.iter().chain(only_kept).filter(|sum| of(kept, sum) != of(moved, sum));
    lines
        .map(|sum| {
            let ((kept_debits, kept_credits), (debits, credits)) = (of(kept, sum), of(moved, sum));
            let (account, currency) = (sum.account, sum.currency.as_str());
            format!(
                "{} of {account} in {currency}: {kept_debits} debits and {kept_credits} credits are kept, {debits} and \
                 {credits} moved",
                date(day)
            )
        })
        .collect()
}

/// The date of an instant in milliseconds, in UTC.
fn date(at_ms: i64) -> String {
    let at = Timestamp::from_millisecond(at_ms).unwrap_or_default();
    at.to_string().chars().take(10).collect()
}

// Deposits: the money set aside agrees with the ledger, and deposits are returned in time.

/// Accounts of a step whose ledger account of deposits does not have the sum of their deposits.
const WRONG_SUMS: &str =
    "SELECT 'account deposit:' || held.user_id || ' has ' || CAST(COALESCE(b.balance, 0) AS TEXT) || ', its deposits sum to '
       || CAST(held.total AS TEXT) AS problem
     FROM (SELECT user_id, CAST(SUM(CASE WHEN returned_at_ms IS NULL THEN amount ELSE 0 END) AS BIGINT) AS total
       FROM deposits WHERE user_id > $1 AND user_id <= $2 GROUP BY user_id) held
     LEFT JOIN wallet_balances b ON b.account = 'deposit:' || held.user_id
     WHERE COALESCE(b.balance, 0) <> held.total";

/// Deposits that are still held after their sale. Data control returns them within a second.
const AFTER_THE_SALE: &str = concat!(
    "SELECT 'sale ' || CAST(sales.id AS TEXT) || ' is over and still has a deposit of ' || d.user_id AS problem
     FROM deposits d JOIN sales ON sales.id = d.sale_id
     WHERE d.user_id > $1 AND d.user_id <= $2 AND d.returned_at_ms IS NULL AND (",
    is_over!(),
    " OR sales.state = 'draft')"
);

#[boxed]
impl Snapshot {
    /// Describes deposits without their money, money without its deposit, and deposits that outlast their sale.
    pub async fn deposit_mismatches(&mut self) -> StoreResult<Vec<String>> {
        self.problems_of(Steps::<String>::over("deposits", "user_id"), &[WRONG_SUMS, AFTER_THE_SALE]).await
    }
}

// Money that no account can move.

/// Money that comes to a deleted account's wallet is moved to the shop in the same transaction, so a balance there is
/// always wrong.
const LEFT_IN_WALLETS: &str =
    "SELECT 'account ' || u.id || ' is deleted and has ' || CAST(b.balance AS TEXT) || ' in its wallet' AS problem
     FROM users u JOIN wallet_balances b ON b.account = 'user:' || u.id
     WHERE u.deleted_at_ms IS NOT NULL AND u.id > $1 AND u.id <= $2 AND b.balance <> 0";

#[boxed]
impl Snapshot {
    /// Describes money of deleted accounts.
    pub async fn stranded_money(&mut self) -> StoreResult<Vec<String>> {
        let deleted = Steps::<String>::along("users WHERE deleted_at_ms IS NOT NULL AND".to_owned(), "id");
        self.problems_of(deleted, &[LEFT_IN_WALLETS]).await
    }
}
