//! Connections with deadlines. sqlx waits for an answer without a limit, and a host that vanishes sends neither an
//! answer nor an error and does not close the socket. So every statement here has a deadline at the client. A
//! connection that missed one is thrown away instead of returned to the pool.
//!
//! On PostgreSQL the server gives up first, because its limits ([`SESSION`]) are shorter than the client's. So a missed
//! deadline means that the server is silent, not slow, and that the other connections from before are dead too. They
//! are discarded at their next use without waiting for each ([`Silence`]). sqlx does not set keepalives on its sockets.
//! The deadline replaces them, and also detects a dead host for a connection with a statement in flight.
//!
//! If the caller of a statement went away, its connection goes back to the pool once the server has answered, within
//! [`RETURN_TIMEOUT`].

use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions, AnyQueryResult, AnyRow};
use sqlx::pool::{PoolConnection, PoolConnectionMetadata};
use sqlx::{Any, AnyConnection, AnyPool, AssertSqlSafe, Execute, Executor};
use tokio::sync::OwnedSemaphorePermit;

/// How long a caller waits for a free connection, including the time to open one, before the database counts as
/// unavailable.
pub(super) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an unused connection stays open.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// How long the client waits for the answer to a statement. PostgreSQL cancels a statement earlier.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(12);
/// How long the client waits for PostgreSQL's answer to a ping before it uses a connection again.
const PING_TIMEOUT: Duration = Duration::from_secs(2);
/// A connection that was unused for longer is tested before its next use. Testing always would cost every statement a
/// round trip.
const TEST_AFTER: Duration = Duration::from_secs(1);
/// How long a connection may take to roll back and become idle.
const RETURN_TIMEOUT: Duration = Duration::from_secs(5);

/// The limits of every session of PostgreSQL.
///
/// - A statement runs for at most ten seconds; the slowest page takes less than one. Migrations have a limit of their own.
/// - A transaction whose client says nothing for four seconds ends, because a process that is frozen with a sale's lock
///   must not stop the sale. Transactions here pause for microseconds.
/// - A statement waits for a lock for longer than four seconds, so that it gets the lock of a frozen process.
const SESSION: &str = "SET statement_timeout = '10s'; SET idle_in_transaction_session_timeout = '4s'; \
     SET lock_timeout = '5s'";

/// PostgreSQL ends a session whose host has vanished, and releases its locks, after 10 + 3 × 5 seconds of silence, or
/// if an answer was not received for 15 seconds. A setting that the server does not know is left out.
const KEEPALIVES: &str = "SELECT set_config(name, value, false) FROM (VALUES ('tcp_keepalives_idle', '10'), \
     ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '3'), ('tcp_user_timeout', '15000')) \
     AS wanted(name, value) WHERE current_setting(name, true) IS NOT NULL";

/// A pool of connections.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    inner: AnyPool,
    /// `None` on SQLite. It is a file, so no host can vanish, and a call into it cannot be abandoned.
    answer_timeout: Option<Duration>,
    silence: Silence,
}

impl Pool {
    /// Opens a pool. Connections are opened on demand, so this succeeds while the database is down.
    pub(super) fn open(url: &str, sqlite: bool) -> sqlx::Result<Pool> {
        let silence = Silence::default();
        let tested = silence.clone();
        let inner = AnyPoolOptions::new()
            .max_connections(if sqlite { 8 } else { 16 })
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .idle_timeout(IDLE_TIMEOUT)
            .after_connect(move |connection, _| Box::pin(configure(connection, sqlite)))
            .test_before_acquire(false)
            .before_acquire(move |connection, metadata| {
                let silence = tested.clone();
                Box::pin(async move { Ok(sqlite || silence.is_usable(connection, metadata).await) })
            })
            .connect_lazy_with(AnyConnectOptions::from_str(url)?);
        Ok(Pool { inner, answer_timeout: (!sqlite).then_some(ANSWER_TIMEOUT), silence })
    }

    pub(super) async fn acquire(&self) -> sqlx::Result<Connection> {
        Ok(Connection {
            live: Some(self.inner.acquire().await?),
            answer_timeout: self.answer_timeout,
            silence: self.silence.clone(),
            is_lost: false,
            in_transaction: false,
            permit: None,
        })
    }

    /// A connection that does not return to the pool and has no deadline.
    pub(super) async fn acquire_detached(&self) -> sqlx::Result<AnyConnection> {
        Ok(self.inner.acquire().await?.detach())
    }

    pub(super) async fn close(&self) {
        // A connection that does not come back in time is closed with the process.
        let _ = tokio::time::timeout(RETURN_TIMEOUT, self.inner.close()).await;
    }
}

/// Settings of every new connection.
async fn configure(connection: &mut AnyConnection, sqlite: bool) -> sqlx::Result<()> {
    let settings: &[&'static str] = if sqlite {
        &[
            "PRAGMA busy_timeout = 5000",
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = FULL",
            "PRAGMA foreign_keys = ON",
        ]
    } else {
        &[SESSION, KEEPALIVES]
    };
    for &setting in settings {
        sqlx::raw_sql(setting).execute(&mut *connection).await?;
    }
    Ok(())
}

/// When the server was last silent. Connections that are older are not used again.
#[derive(Debug, Clone, Default)]
struct Silence(Arc<Mutex<Option<Instant>>>);

impl Silence {
    fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn has_met(&self, opened: Instant) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|silent| opened <= silent)
    }

    async fn is_usable(&self, connection: &mut AnyConnection, metadata: PoolConnectionMetadata) -> bool {
        use sqlx::Connection;
        if Instant::now().checked_sub(metadata.age).is_some_and(|opened| self.has_met(opened)) {
            return false;
        }
        if metadata.idle_for < TEST_AFTER {
            return true;
        }
        let Ok(answer) = tokio::time::timeout(PING_TIMEOUT, connection.ping()).await else {
            self.note();
            return false;
        };
        answer.is_ok()
    }
}

/// A connection of the pool, to which it returns on drop.
#[derive(Debug)]
pub(super) struct Connection {
    /// `None` only during the drop.
    live: Option<PoolConnection<Any>>,
    answer_timeout: Option<Duration>,
    silence: Silence,
    /// Whether an answer is missing, so that the state of this connection at the server is unknown.
    is_lost: bool,
    in_transaction: bool,
    /// The permit of the writing transaction, released when the transaction has ended.
    permit: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// Begins a transaction with `begin`. It is rolled back on drop unless `end_transaction` follows.
    pub(super) async fn begin_transaction(
        &mut self,
        begin: String,
        permit: Option<OwnedSemaphorePermit>,
    ) -> sqlx::Result<Vec<AnyRow>> {
        self.in_transaction = true;
        self.permit = permit;
        self.fetch_all(sqlx::raw_sql(AssertSqlSafe(begin))).await
    }

    /// Commits. `last` is carried out before the commit, in the same round trip.
    pub(super) async fn commit_transaction(&mut self, last: Option<String>) -> sqlx::Result<()> {
        let sql = last.map_or_else(|| "COMMIT".to_owned(), |last| format!("{last}; COMMIT"));
        self.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
        self.in_transaction = false;
        Ok(())
    }

    pub(super) async fn execute<'a, 'q: 'a>(
        &'a mut self,
        query: impl Execute<'q, Any> + 'q,
    ) -> sqlx::Result<AnyQueryResult> {
        self.answer(|connection| connection.execute(query)).await
    }

    pub(super) async fn fetch_all<'a, 'q: 'a>(
        &'a mut self,
        query: impl Execute<'q, Any> + 'q,
    ) -> sqlx::Result<Vec<AnyRow>> {
        self.answer(|connection| connection.fetch_all(query)).await
    }

    pub(super) async fn fetch_optional<'a, 'q: 'a>(
        &'a mut self,
        query: impl Execute<'q, Any> + 'q,
    ) -> sqlx::Result<Option<AnyRow>> {
        self.answer(|connection| connection.fetch_optional(query)).await
    }

    /// Waits for the answer to a statement, at most until the deadline.
    async fn answer<'a, T>(
        &'a mut self,
        call: impl FnOnce(&'a mut AnyConnection) -> BoxFuture<'a, sqlx::Result<T>>,
    ) -> sqlx::Result<T> {
        let Connection { live, answer_timeout, silence, is_lost, .. } = self;
        let answer = call(live.as_mut().expect("a connection until its drop"));
        let Some(timeout) = *answer_timeout else { return answer.await };
        tokio::time::timeout(timeout, answer).await.unwrap_or_else(|_| {
            *is_lost = true;
            silence.note();
            let text = format!("the database did not answer within {} s", timeout.as_secs());
            Err(std::io::Error::new(std::io::ErrorKind::TimedOut, text).into())
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let Some(mut live) = self.live.take() else { return };
        if self.is_lost {
            // Dropped without a message to the silent server.
            drop(live.detach());
            return;
        }
        let (in_transaction, permit) = (self.in_transaction, self.permit.take());
        let end = async move {
            let rolled_back = match in_transaction {
                true => sqlx::raw_sql("ROLLBACK").execute(&mut *live).await.is_ok(),
                false => true,
            };
            match rolled_back {
                true => live.return_to_pool().await,
                // SQLite ends a transaction by itself if the disk is full. The state of the connection is then unknown.
                false => drop(live.detach()),
            }
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            // After the time-out the connection is dropped, which closes it.
            let _ = tokio::time::timeout(RETURN_TIMEOUT, end).await;
            drop(permit);
        });
    }
}
