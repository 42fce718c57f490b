//! Why a statement did not work, and what is to blame: the moment, the data, or anything else.

/// Why a statement did not work.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database is away, restarting, full, may only be read for now, or lost patience with a lock. The statement may
    /// or may not have happened; asking again later is right, because every write here may run twice.
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

impl StoreError {
    /// Whether what was to be written is at fault. Otherwise it is the statement, the schema or a permission: somebody
    /// will mend that, and what was to be written is as good as before.
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

/// Whether the same statement may well succeed later.
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

/// What an error code of a database puts the blame on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The moment: the database is away, busy, full, or may only be read for now.
    Passing,
    /// What was to be written.
    Data,
    /// Anything else.
    Lasting,
}

impl Fault {
    /// PostgreSQL's codes have five characters, of which the first two are the class. SQLite's are numbers, of which the
    /// low byte is the plain code.
    fn of(code: &str) -> Fault {
        match (code.len(), code.get(..2), code.parse::<u32>().map(|number| number & 0xff)) {
            // A lock that took too long; a standby, or a primary that was closed for writing because its disk is full.
            (5, ..) if matches!(code, "55P03" | "25006") => Fault::Passing,
            // Connection trouble, deadlock and serialisation, out of resources, shutting down, trouble with files.
            (5, Some("08" | "40" | "53" | "57" | "58"), _) => Fault::Passing,
            // A value that does not fit, a constraint that is violated.
            (5, Some("22" | "23"), _) => Fault::Data,
            (5, ..) => Fault::Lasting,
            // Busy, locked, out of memory, interrupted, trouble with the disk, full, somebody else begins.
            (_, _, Ok(5..=7 | 9 | 10 | 13 | 15)) => Fault::Passing,
            // Too big, a constraint, a wrong type.
            (_, _, Ok(18..=20)) => Fault::Data,
            _ => Fault::Lasting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_full_or_may_only_be_read_blames_neither_statement_nor_data() {
        for passing in ["08006", "25006", "40P01", "53100", "55P03", "57P01", "58030", "5", "261", "10", "778", "13"] {
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
