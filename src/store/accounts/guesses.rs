//! Counts of guesses that all processes share, by the generic cell rate algorithm ([`CellRate`]).

use std::time::Duration;

use crate::{CredentialStore, StoreError, Tx, row};
use base::rate_limit::CellRate;

/// A count of guesses: a key for what they have in common, and the allowed rate.
#[derive(Debug, Clone)]
pub struct GuessCount {
    pub key: String,
    /// The allowed rate. Its interval is in milliseconds.
    pub rate: CellRate,
}

/// A count that allows no further guess for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuessLimitReached {
    /// The index of the count in the list that the caller passed.
    pub place: usize,
    pub wait: Duration,
}

impl CredentialStore<'_> {
    /// Adds a guess to each of the counts. If one of them allows no more, adds it to none.
    pub async fn take_guess(self, counts: &[GuessCount]) -> Result<Option<GuessLimitReached>, StoreError> {
        let mut tx = self.begin().await?;
        for (place, count) in counts.iter().enumerate() {
            let ahead = match count.rate.charge(lock_count(&mut tx, &count.key).await?) {
                Ok(ahead) => i64::try_from(ahead).unwrap_or(i64::MAX),
                Err(wait) => return Ok(Some(GuessLimitReached { place, wait: Duration::from_millis(wait) })),
            };
            set_count(&mut tx, &count.key, ahead).await?;
        }
        tx.commit().await?;
        Ok(None)
    }

    /// Takes a guess out of each of the counts.
    pub async fn give_back_guess(self, counts: &[GuessCount]) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        for count in counts {
            let sql = "UPDATE guesses SET restored_at_ms = restored_at_ms - $2 WHERE key = $1";
            let query = sqlx::query(sql).bind(count.key.clone()).bind(count.rate.interval as i64);
            query.execute(&mut *tx).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Deletes counts that have their full allowance.
    pub async fn purge_guesses(self) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now.as_millisecond();
        sqlx::query("DELETE FROM guesses WHERE restored_at_ms <= $1").bind(now).execute(&mut *tx).await?;
        Ok(tx.commit().await?)
    }
}

/// The milliseconds until a count is zero. Locks the count's row, so that parallel attempts come one after the other.
pub(super) async fn lock_count(tx: &mut Tx, key: &str) -> Result<u64, sqlx::Error> {
    let now = tx.now.as_millisecond();
    let sql = "INSERT INTO guesses (key, restored_at_ms) VALUES ($1, $2)
         ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING restored_at_ms";
    let row = sqlx::query(sql).bind(key.to_owned()).bind(now).fetch_one(&mut **tx).await?;
    Ok(u64::try_from(row::int(&row, "restored_at_ms")? - now).unwrap_or_default())
}

/// Sets a count so that it is zero after this many milliseconds.
pub(super) async fn set_count(tx: &mut Tx, key: &str, ahead_ms: i64) -> Result<(), sqlx::Error> {
    let until = tx.now.as_millisecond().saturating_add(ahead_ms);
    let query = sqlx::query("UPDATE guesses SET restored_at_ms = $2 WHERE key = $1").bind(key.to_owned());
    query.bind(until).execute(&mut **tx).await?;
    Ok(())
}
