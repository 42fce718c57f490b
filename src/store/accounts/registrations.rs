//! How many accounts networks have registered recently, counted for all processes together, and which proofs of work
//! were spent. A count falls by one after each of its intervals. It is stored in the table of guesses as the time at
//! which it will be zero.

use jiff::Timestamp;

use super::credentials::{lock_count, set_count};
use crate::{AccountStore, StoreError, Tx, row};

/// A count of registrations.
#[derive(Debug, Clone)]
pub struct RegistrationCount {
    pub key: String,
    /// Milliseconds after which one registration is forgotten.
    pub interval_ms: i64,
    /// The count grows up to this number.
    pub most: i64,
}

/// The outcome of counting a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountOutcome {
    Counted,
    /// The counts have grown since the challenge was issued, and its proof of work is too small for them.
    TooEasy,
    /// The proof was already spent on another account.
    Spent,
}

impl AccountStore<'_> {
    /// The present counts, in the order of `of`.
    pub async fn registrations(self, of: &[RegistrationCount]) -> Result<Vec<u64>, StoreError> {
        let now = self.now().await?.as_millisecond();
        let mut counts = Vec::with_capacity(of.len());
        for count in of {
            let query = sqlx::query("SELECT restored_at_ms FROM guesses WHERE key = $1").bind(count.key.clone());
            let until = self.optional(query, |row| row::int(row, "restored_at_ms")).await?.unwrap_or(now);
            counts.push(counted(until - now, count));
        }
        Ok(counts)
    }

    /// Counts a registration and spends its proof, if `is_enough` says that the proof is enough for the counts before it.
    pub async fn count_registration(
        self,
        of: &[RegistrationCount],
        is_enough: impl Fn(&[u64]) -> bool,
        proof: Option<(&str, Timestamp)>,
    ) -> Result<CountOutcome, StoreError> {
        let mut tx = self.begin().await?;
        let mut counts = Vec::with_capacity(of.len());
        for count in of {
            let ahead = i64::try_from(lock_count(&mut tx, &count.key).await?).unwrap_or(i64::MAX);
            counts.push(counted(ahead, count));
            let next = ahead.saturating_add(count.interval_ms).min(count.interval_ms * count.most);
            set_count(&mut tx, &count.key, next).await?;
        }
        if !is_enough(&counts) {
            return Ok(CountOutcome::TooEasy);
        }
        if let Some((id, expires_at)) = proof
            && !spend(&mut tx, id, expires_at).await?
        {
            return Ok(CountOutcome::Spent);
        }
        tx.commit().await?;
        Ok(CountOutcome::Counted)
    }

    /// Marks what works once as spent until it expires. Returns `false` if it was spent before.
    pub async fn spend(self, id: &str, expires_at: Timestamp) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let is_first = spend(&mut tx, id, expires_at).await?;
        tx.commit().await?;
        Ok(is_first)
    }

    /// Deletes expired challenges, which are refused anyway.
    pub async fn purge_spent_proofs(self) -> Result<(), StoreError> {
        let now = self.now().await?.as_millisecond();
        sqlx::query("DELETE FROM spent_proofs WHERE expires_at_ms <= $1").bind(now).execute(&self.pool).await?;
        Ok(())
    }
}

/// Marks a challenge as spent until it expires. Returns `false` if it was spent before.
pub(super) async fn spend(tx: &mut Tx, challenge: &str, expires_at: Timestamp) -> Result<bool, sqlx::Error> {
    let sql = "INSERT INTO spent_proofs (id, expires_at_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    let query = sqlx::query(sql).bind(challenge.to_owned()).bind(expires_at.as_millisecond());
    Ok(query.execute(&mut **tx).await?.rows_affected() == 1)
}

fn counted(ahead_ms: i64, count: &RegistrationCount) -> u64 {
    u64::try_from(ahead_ms).unwrap_or_default().div_ceil(count.interval_ms.max(1).unsigned_abs())
}
