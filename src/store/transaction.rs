//! Transactions, and the database's time.
//!
//! The database's clock decides everything that several processes must agree on, such as leases and payment windows,
//! because the clocks of hosts differ. PostgreSQL sends its time with the answer to `BEGIN`, so it costs no round trip.
//! An SQLite file belongs to one host, so the process's own clock is used, and tests can advance it.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use boxed::boxed;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use super::orders::changes::OrderChanges;
use super::pool::{ACQUIRE_TIMEOUT, Connection};
use super::wallet::BusyBalances;
use super::{Store, StoreResult, column, row};
use domain::{SaleId, UserId};

/// How long a writing transaction waits for earlier ones. SQLite has one writer at a time, so waiting is normal there.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the database's last answer about its time is used.
const TOLD_TIME_LIFETIME: Duration = Duration::from_secs(1);

macro_rules! now {
    () => {
        "SELECT CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT) AS now_ms"
    };
}

/// The first key of the advisory locks of lists; the second one is the sale.
const LIST_LOCKS: i32 = 1;

/// How a transaction begins on PostgreSQL.
const BEGIN: &str = concat!("BEGIN; ", now!());
/// Begins a transaction that fails after a second instead of waiting longer for a lock, because other work is due and
/// this part can be repeated.
const BEGIN_IMPATIENT: &str = concat!("BEGIN; SET LOCAL lock_timeout = '1s'; ", now!());
/// Takes SQLite's lock for writing at once, because a transaction that reads first could not get it later.
const BEGIN_SQLITE: &str = "BEGIN IMMEDIATE";

/// How long a transaction waits for a row's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockPatience {
    /// Waits until a frozen process has lost its locks.
    Long,
    /// Waits for a second.
    Short,
}

/// Whether a row is of none of the versions that its editor has read. `None` stands for any version.
pub(super) fn is_outdated(version: i64, expected: Option<&[i64]>) -> bool {
    expected.is_some_and(|expected| !expected.contains(&version))
}

/// Refuses an edit if the row [is outdated](is_outdated).
pub(super) fn expect_version<E>(version: i64, expected: Option<&[i64]>, refusal: E) -> Result<(), E> {
    if is_outdated(version, expected) { Err(refusal) } else { Ok(()) }
}

/// The time of a new version. It must increase even if two changes happen in one millisecond, or if clocks differ.
pub(super) fn next_version(before: Option<Timestamp>, now: Timestamp) -> Timestamp {
    before.map_or(now, |before| now.max(before + Duration::from_millis(1)))
}

/// How a transaction holds the list of a sale: its places in the waiting room, or its entries in the draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListLock {
    /// Together with other transactions that add to the list.
    Shared,
    /// Alone: no other transaction holds the list.
    Exclusive,
}

impl ListLock {
    /// The call that takes the lock on PostgreSQL. Its result is an empty text, not NULL.
    ///
    /// PostgreSQL grants advisory locks in turn. A shared row lock would never be free while a crowd joins.
    fn call(self, sale: SaleId) -> String {
        let function = match self {
            ListLock::Shared => "pg_advisory_xact_lock_shared",
            ListLock::Exclusive => "pg_advisory_xact_lock",
        };
        format!("{function}({LIST_LOCKS}, ({sale} % 2147483648)::INT)")
    }
}

/// A writing transaction. It is rolled back on drop unless it was committed.
pub(super) struct Tx {
    pub(super) inner: Connection,
    /// Whether no other transaction can write at the same time, as on SQLite.
    is_alone: bool,
    /// The database's time when the transaction began.
    pub(super) now: Timestamp,
    /// Changes of orders. The commit writes them.
    pub(super) changes: OrderChanges,
    /// Changes of busy balances. The commit writes them before `changes`.
    pub(super) busy_balances: BusyBalances,
}

impl Tx {
    /// Locks an account's row until the end of the transaction, so that transactions that count something per account
    /// run one after the other.
    pub(super) async fn lock_user(&mut self, user: UserId) -> sqlx::Result<()> {
        let sql = "UPDATE users SET role = role WHERE id = $1";
        self.run(query!(sql; user)).await
    }

    /// As [`Tx::lock_user`]. Locks nothing and returns `false` if the account was deleted.
    pub(super) async fn lock_kept_user(&mut self, user: UserId) -> sqlx::Result<bool> {
        let sql = "UPDATE users SET role = role WHERE id = $1 AND deleted_at_ms IS NULL";
        Ok(self.changed(query!(sql; user)).await? == 1)
    }

    /// Locks the list of a sale until the end of the transaction. A transaction that is alone needs no lock.
    pub(super) async fn lock_list(&mut self, lock: ListLock, sale: SaleId) -> sqlx::Result<()> {
        if !self.is_alone {
            let sql = format!("SELECT 1 WHERE {} IS NULL", lock.call(sale));
            self.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
        }
        Ok(())
    }

    pub(super) async fn commit(self) -> sqlx::Result<()> {
        self.commit_with(None).await
    }

    /// Commits. Returns the outcome of the transaction.
    pub(super) async fn commit_and<T, E: From<sqlx::Error>>(self, outcome: T) -> Result<T, E> {
        self.commit().await?;
        Ok(outcome)
    }

    /// Carries out statements without parameters and commits, in one round trip. An error rolls back.
    pub(super) async fn commit_after(self, sql: String) -> sqlx::Result<()> {
        self.commit_with(Some(sql)).await
    }

    async fn commit_with(mut self, first: Option<String>) -> sqlx::Result<()> {
        let last = [first, self.busy_balances.sql(), self.changes.sql(self.now)];
        let last: Vec<String> = last.into_iter().flatten().collect();
        self.inner.commit_transaction((!last.is_empty()).then(|| last.join("; "))).await
    }
}

impl std::ops::Deref for Tx {
    type Target = Connection;
    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}

impl std::ops::DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.inner
    }
}

#[boxed]
impl Store {
    /// The database's time. It is asked once a second, and in between it is behind by the time that the answer took.
    pub async fn now(&self) -> StoreResult<Timestamp> {
        let told = *self.told_time.lock().unwrap_or_else(PoisonError::into_inner);
        match told.filter(|(at, _)| self.own_clock.is_none() && at.elapsed() < TOLD_TIME_LIFETIME) {
            Some((at, time)) => Ok(time + at.elapsed()),
            None => self.ask_time().await,
        }
    }

    /// Asks the database for its time.
    pub async fn ask_time(&self) -> StoreResult<Timestamp> {
        let Some(clock) = &self.own_clock else {
            let time = self.one(query!(now!()), column("now_ms")).await?;
            *self.told_time.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), time));
            return Ok(time);
        };
        Ok(clock.now())
    }

    /// Whether the database's clock is the process's own.
    pub fn shares_clock(&self) -> bool {
        self.own_clock.is_some()
    }

    /// The database's time at this step of a transaction, which may have waited for a lock.
    pub(super) async fn time_in(&self, tx: &mut Tx) -> sqlx::Result<Timestamp> {
        match &self.own_clock {
            Some(clock) => Ok(clock.now()),
            None => tx.one(query!(now!()), column("now_ms")).await,
        }
    }

    pub(super) async fn begin(&self) -> StoreResult<Tx> {
        self.begin_with(LockPatience::Long).await
    }

    pub(super) async fn begin_with(&self, patience: LockPatience) -> StoreResult<Tx> {
        Ok(self.begin_and(patience, "").await?.0)
    }

    /// Begins a transaction that locks the list of a sale and reads under this lock, all in one round trip. `reading`
    /// are statements without parameters. Returns the rows that were read.
    pub(super) async fn begin_with_list(
        &self,
        lock: ListLock,
        sale: SaleId,
        reading: &str,
    ) -> StoreResult<(Tx, Vec<AnyRow>)> {
        // The transaction's time is read after the lock is taken.
        let lock = if self.shares_clock() { String::new() } else { format!(" WHERE {} IS NOT NULL", lock.call(sale)) };
        self.begin_and(LockPatience::Long, &format!("{lock}; {reading}")).await
    }

    /// Begins a transaction. `rest` is appended to the statement that begins it, which on PostgreSQL selects the time.
    async fn begin_and(&self, patience: LockPatience, rest: &str) -> StoreResult<(Tx, Vec<AnyRow>)> {
        let queue = tokio::time::timeout(QUEUE_TIMEOUT, self.writer.clone().acquire_owned()).await;
        let permit = queue.map_err(|_| sqlx::Error::PoolTimedOut)?.map_err(|_| sqlx::Error::PoolClosed)?;
        let begin = match (&self.own_clock, patience) {
            (Some(_), _) => BEGIN_SQLITE,
            (None, LockPatience::Long) => BEGIN,
            (None, LockPatience::Short) => BEGIN_IMPATIENT,
        };
        let mut inner = self.pool.acquire().await?;
        let mut rows = inner.begin_transaction(format!("{begin}{rest}"), Some(permit)).await?;
        let now = match &self.own_clock {
            Some(clock) => clock.now(),
            None if rows.is_empty() => return Err(sqlx::Error::RowNotFound.into()),
            None => row::time(&rows.remove(0), "now_ms")?,
        };
        let is_alone = self.own_clock.is_some();
        Ok((
            Tx { inner, is_alone, now, changes: OrderChanges::default(), busy_balances: BusyBalances::default() },
            rows,
        ))
    }
}

const _: () = assert!(QUEUE_TIMEOUT.as_secs() > ACQUIRE_TIMEOUT.as_secs());
