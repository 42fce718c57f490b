//! The database: one set of portable statements over SQLite and PostgreSQL. It has the last word on everything.
//!
//! One file per aggregate. Portable means `$1` placeholders, BIGINT and TEXT columns, times in milliseconds. Whoever
//! changes units of a sale locks the sale's row first and order rows after it, so that nobody waits in a circle; money
//! in wallets ([`wallet`]) moves last of all.

mod addresses;
mod audit;
mod buckets;
mod catalogue;
mod export;
mod goods;
mod landing;
mod leases;
mod orders;
mod packets;
mod payments;
mod pictures;
mod plans;
mod rehearsals;
mod releases;
mod row;
mod sales;
mod sandbox;
mod second_factor;
mod sessions;
mod staff;
mod support;
mod tallies;
mod users;
mod wallet;

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{Any, AnyPool, Transaction};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use addresses::{Kept, MOST_ADDRESSES, SavedAddress};
pub use audit::{AuditFilter, AuditRow};
pub use buckets::{Allotment, Retarget};
pub use goods::{GoodsDraft, GoodsRefusal};
pub use landing::Landing;
pub use leases::Lease;
pub use orders::OrderTotals;
pub use packets::{ClaimLanding, Claimant, Given, PART, PacketClaim, Settled, Stopped};
pub use payments::{Captured, FromWallet, Payment, PaymentStatus, Purpose, WALLET};
pub use plans::PastPage;
pub use releases::Release;
pub use sales::{Announce, Filing, MOST_UNITS, Overlap, SaleChange, SaleDraft, SaleRefusal};
pub use sandbox::{SandboxPayment, SandboxWebhook};
pub use sessions::{NewSession, Revocation, SessionRow};
pub(crate) use staff::after;
pub use staff::{Actor, Deletion, PeopleRefusal, PersonChange};
pub use support::{Because, FoundOrder, Intervention, OrderSearch, PaymentRecord, WebhookRecord};
pub use tallies::{Counted, OrderCounts};
pub use users::{Role, User, UserSearch};
pub use wallet::{About, Mark, WalletEntry};

/// Rows of one statement; its parameters stay far below the limits of both databases.
const ROWS: usize = 500;

/// Why a statement did not work.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database is away, restarting, or lost patience with a lock. The statement may or may not have happened;
    /// asking again later is right, because every write here may run twice.
    #[error("the database is not available: {0}")]
    Unavailable(sqlx::Error),
    /// Asking again would fail again.
    #[error("the database refused: {0}")]
    Refused(sqlx::Error),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        if is_passing(&error) { StoreError::Unavailable(error) } else { StoreError::Refused(error) }
    }
}

/// Whether the same statement may well succeed later.
fn is_passing(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(e) => {
            let code = e.code().unwrap_or_default();
            // PostgreSQL: connection trouble, shutting down, out of resources, deadlock and serialisation, a lock or an
            // answer that took too long.
            // SQLite: busy and locked, whose extended codes keep the plain one in the low byte.
            let classes = ["08", "53", "57", "40", "55P03"];
            let sqlite = code.parse::<u32>().is_ok_and(|c| code.len() < 5 && matches!(c & 0xff, 5 | 6));
            sqlite || (code.len() == 5 && classes.iter().any(|class| code.starts_with(class)))
        }
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        _ => false,
    }
}

/// A handle to the database; clones share one pool.
#[derive(Clone)]
pub struct Store {
    pool: AnyPool,
    begin: &'static str,
    /// SQLite has one writer at a time: waiting in line here is fair, waiting in its busy loop is not.
    writer: Arc<Semaphore>,
}

/// A transaction that writes.
struct Tx {
    inner: Transaction<'static, Any>,
    _turn: OwnedSemaphorePermit,
}

impl Tx {
    async fn commit(self) -> Result<(), sqlx::Error> {
        self.inner.commit().await
    }
}

impl std::ops::Deref for Tx {
    type Target = sqlx::AnyConnection;
    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}

impl std::ops::DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.inner
    }
}

impl Store {
    /// Opens a pool. Connections are made when they are needed, so this succeeds while the database is away; an
    /// address that cannot be understood fails at once.
    pub fn open(url: &str) -> Result<Store, StoreError> {
        sqlx::any::install_default_drivers();
        let sqlite = url.starts_with("sqlite:");
        let url = if sqlite && !url.contains('?') { format!("{url}?mode=rwc") } else { url.to_owned() };
        let pool = AnyPoolOptions::new()
            .max_connections(if sqlite { 8 } else { 16 })
            .acquire_timeout(Duration::from_secs(5))
            .idle_timeout(Duration::from_secs(300))
            .after_connect(move |connection, _| Box::pin(tune(connection, sqlite)))
            .connect_lazy_with(AnyConnectOptions::from_str(&url)?);
        let (begin, writers) = if sqlite { ("BEGIN IMMEDIATE", 1) } else { ("BEGIN", 16) };
        Ok(Store { pool, begin, writer: Arc::new(Semaphore::new(writers)) })
    }

    /// Brings the schema up to date.
    pub async fn migrate(&self) -> Result<(), sqlx::migrate::MigrateError> {
        sqlx::migrate!("./migrations").run(&self.pool).await
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("SELECT 1").fetch_one(&self.pool).await?;
        Ok(())
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }

    async fn begin(&self) -> Result<Tx, StoreError> {
        let turn = self.writer.clone().acquire_owned().await.map_err(|_| sqlx::Error::PoolClosed)?;
        Ok(Tx { inner: self.pool.begin_with(self.begin).await?, _turn: turn })
    }
}

async fn tune(connection: &mut sqlx::AnyConnection, sqlite: bool) -> Result<(), sqlx::Error> {
    let settings: &[&'static str] = if sqlite {
        &[
            "PRAGMA busy_timeout = 5000",
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = FULL",
            "PRAGMA foreign_keys = ON",
        ]
    } else {
        &["SET lock_timeout = '5s'", "SET statement_timeout = '30s'"]
    };
    for &setting in settings {
        sqlx::query(setting).execute(&mut *connection).await?;
    }
    Ok(())
}

/// `($1,$2),($3,$4)` for two rows of two columns.
fn placeholders(rows: usize, columns: usize) -> String {
    let mut text = String::with_capacity(rows * columns * 6);
    for row in 0..rows {
        text.push_str(if row == 0 { "(" } else { ",(" });
        for column in 1..=columns {
            if column > 1 {
                text.push(',');
            }
            text.push('$');
            text.push_str(&(row * columns + column).to_string());
        }
        text.push(')');
    }
    text
}

/// `($2,$3,$4)` for a list of three that starts after the first parameter.
fn list(count: usize, after: usize) -> String {
    let numbers: Vec<String> = (1..=count).map(|n| format!("${}", after + n)).collect();
    format!("({})", numbers.join(","))
}

/// Chunks for lists. The last item comes again until there are 1, 2, 4, … or `ROWS` of them: few statements to prepare and
/// plan, whatever the number.
fn padded<T>(all: &[T]) -> impl Iterator<Item = Vec<&T>> {
    all.chunks(ROWS).map(|chunk| {
        let size = chunk.len().next_power_of_two().min(ROWS);
        chunk.iter().chain(std::iter::repeat(&chunk[chunk.len() - 1])).take(size).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_count_through() {
        assert_eq!(placeholders(2, 2), "($1,$2),($3,$4)");
        assert_eq!(list(3, 1), "($2,$3,$4)");
        let all: Vec<usize> = (0..ROWS + 3).collect();
        let chunks: Vec<Vec<&usize>> = padded(&all).collect();
        assert_eq!((chunks.len(), chunks[0].len()), (2, ROWS));
        assert_eq!(chunks[1], [&ROWS, &(ROWS + 1), &(ROWS + 2), &(ROWS + 2)]);
        assert_eq!(padded::<usize>(&[]).count(), 0);
    }
}
