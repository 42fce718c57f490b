//! Counts of guesses that all processes share, by the generic cell rate algorithm ([`CellRate`]).

use std::time::Duration;

use crate::rate_limit::CellRate;
use crate::store::{Store, StoreError, row};

/// A count of guesses: what they have in common, and how many are allowed.
#[derive(Debug, Clone)]
pub struct GuessCount {
    pub key: String,
    /// In milliseconds.
    pub rate: CellRate,
}

/// A count that allows no further guess for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuessLimitReached {
    /// The place of the count among those that were given.
    pub place: usize,
    pub wait: Duration,
}

impl Store {
    /// Adds a guess to each of the counts, or to none if one of them allows no more.
    pub async fn take_guess(&self, counts: &[GuessCount]) -> Result<Option<GuessLimitReached>, StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now.as_millisecond();
        for (place, count) in counts.iter().enumerate() {
            // Locks the row, so that parallel guesses come one after the other.
            let sql = "INSERT INTO guesses (key, restored_at_ms) VALUES ($1, $2)
                 ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING restored_at_ms";
            let row = sqlx::query(sql).bind(count.key.clone()).bind(now).fetch_one(&mut *tx).await?;
            let ahead = u64::try_from(row::int(&row, "restored_at_ms")? - now).unwrap_or_default();
            let ahead = match count.rate.add(ahead) {
                Ok(ahead) => i64::try_from(ahead).unwrap_or(i64::MAX),
                Err(wait) => return Ok(Some(GuessLimitReached { place, wait: Duration::from_millis(wait) })),
            };
            let sql = "UPDATE guesses SET restored_at_ms = $2 WHERE key = $1";
            let query = sqlx::query(sql).bind(count.key.clone()).bind(now.saturating_add(ahead));
            query.execute(&mut *tx).await?;
        }
        tx.commit().await?;
        Ok(None)
    }

    /// Takes a guess out of each of the counts.
    pub async fn give_back_guess(&self, counts: &[GuessCount]) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        for count in counts {
            let sql = "UPDATE guesses SET restored_at_ms = restored_at_ms - $2 WHERE key = $1";
            let query = sqlx::query(sql).bind(count.key.clone()).bind(count.rate.interval as i64);
            query.execute(&mut *tx).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Deletes counts that have their full allowance.
    pub async fn purge_guesses(&self) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now.as_millisecond();
        sqlx::query("DELETE FROM guesses WHERE restored_at_ms <= $1").bind(now).execute(&mut *tx).await?;
        Ok(tx.commit().await?)
    }
}
