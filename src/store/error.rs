//! The error of a failed statement, and its cause: a passing condition, the data, or anything else.

use std::sync::Arc;

use base::revalidating_cache::ComputationError;

/// Why a statement failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database is down, restarting, full or read-only, or a lock timed out. The statement may have taken effect.
    /// The caller may repeat it later, because every write here is idempotent.
    #[error("the database is not available: {0}")]
    Unavailable(sqlx::Error),
    /// A repeated statement would fail again.
    #[error("the database refused: {0}")]
    Refused(sqlx::Error),
}

/// What the database answers, if it does.
pub type StoreResult<T> = Result<T, StoreError>;

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        if is_passing(&error) { StoreError::Unavailable(error) } else { StoreError::Refused(error) }
    }
}

/// Refusals of a change, one of which is that a statement failed.
macro_rules! refusals {
    ($($refusal:ident,)*) => {
        $(impl From<sqlx::Error> for crate::$refusal {
            fn from(error: sqlx::Error) -> Self {
                Self::Store(error.into())
            }
        })*
    };
}

refusals! { AccountChangeRefusal, AddressRefusal, CategoryRefusal, GoodsRefusal, QuestionRefusal, SaleRefusal, }

impl From<StoreError> for ComputationError<StoreError> {
    fn from(error: StoreError) -> Self {
        ComputationError::Failed(Arc::new(error))
    }
}

impl StoreError {
    /// Whether the rows of the statement are in use by another transaction, while the database itself works: a lock
    /// timeout, a deadlock, or a statement that waited too long.
    pub fn blames_a_lock(&self) -> bool {
        let StoreError::Unavailable(sqlx::Error::Database(error)) = self else { return false };
        error.code().is_some_and(|code| ["55P03", "40P01", "40001", "57014"].contains(&&*code))
    }

    /// Whether the data caused the failure. Otherwise the statement, the schema or a permission did, and once an
    /// operator has repaired it, the same data can be written.
    pub fn blames_the_data(&self) -> bool {
        match self {
            StoreError::Unavailable(_) => false,
            StoreError::Refused(sqlx::Error::Database(error)) => {
                Fault::of(&error.code().unwrap_or_default()) == Fault::Data
            }
            StoreError::Refused(error) => matches!(error, sqlx::Error::Encode(_)),
        }
    }
}

/// Whether the same statement may succeed later.
fn is_passing(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => Fault::of(&error.code().unwrap_or_default()) == Fault::Passing,
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        _ => false,
    }
}

/// The cause behind a database's error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A passing condition: the database is down, busy, full or read-only.
    Passing,
    /// The data that the statement writes.
    Data,
    /// Anything else.
    Lasting,
}

impl Fault {
    /// PostgreSQL's codes have five characters; the first two are the class. SQLite's codes are numbers; the low byte
    /// is the primary code.
    fn of(code: &str) -> Fault {
        match (code.len(), code.get(..2), code.parse::<u32>().map(|number| number & 0xff)) {
            // A lock timeout; a standby, or a primary that was made read-only because its disk is full; a session that
            // was ended because this process was frozen in a transaction.
            (5, ..) if matches!(code, "55P03" | "25006" | "25P03") => Fault::Passing,
            // Connection, deadlock and serialization, resources, shutdown, file system.
            (5, Some("08" | "40" | "53" | "57" | "58"), _) => Fault::Passing,
            // A value out of range, a violated constraint.
            (5, Some("22" | "23"), _) => Fault::Data,
            (5, ..) => Fault::Lasting,
            // Busy, locked, out of memory, interrupted, I/O error, disk full, locking protocol.
            (_, _, Ok(5..=7 | 9 | 10 | 13 | 15)) => Fault::Passing,
            // Too big, a constraint, a type mismatch.
            (_, _, Ok(18..=20)) => Fault::Data,
            _ => Fault::Lasting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_codes_are_classified_by_cause() {
        for passing in
            ["08006", "25006", "25P03", "40P01", "53100", "55P03", "57P01", "58030", "5", "261", "10", "778", "13"]
        {
            assert_eq!(Fault::of(passing), Fault::Passing, "{passing}");
        }
        for data in ["22003", "23503", "23505", "19", "1555", "2067", "20"] {
            assert_eq!(Fault::of(data), Fault::Data, "{data}");
        }
        for lasting in ["", "1", "8", "1032", "14", "28P01", "42501", "42P01", "55000", "XX000"] {
            assert_eq!(Fault::of(lasting), Fault::Lasting, "{lasting}");
        }
    }
}
