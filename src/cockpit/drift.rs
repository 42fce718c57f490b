//! Whether Redis and the database tell the same story about a sale.

use serde::Serialize;

/// What both sides say, in units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StockTotals {
    /// Held, says the master.
    pub booked: i64,
    /// In live orders, says the database.
    pub sold: i64,
    /// Of ended orders, which the master has not let go of yet.
    pub unreleased: i64,
    /// Entries between the two.
    pub outbox: i64,
}

/// How the two differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Drift {
    InStep,
    /// The difference is explained by orders on their way to the database.
    OnTheWay {
        units: i64,
    },
    /// Nothing explains the difference. Both sides are not read in the same instant, so a moment of this means nothing;
    /// what stays is mended by data control. Below zero: the database has sold what the master does not hold.
    Apart {
        units: i64,
    },
}

pub fn drift(books: StockTotals) -> Drift {
    let units = books.booked - books.sold - books.unreleased;
    match units {
        0 => Drift::InStep,
        1.. if books.outbox > 0 => Drift::OnTheWay { units },
        _ => Drift::Apart { units },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_drift_only_if_nothing_explains_it() {
        let told = |booked, sold, unreleased, outbox| drift(StockTotals { booked, sold, unreleased, outbox });
        assert_eq!(told(10, 10, 0, 0), Drift::InStep);
        assert_eq!(told(10, 7, 3, 0), Drift::InStep, "cancelled, and not given back yet");
        assert_eq!(told(10, 7, 0, 2), Drift::OnTheWay { units: 3 });
        assert_eq!(told(10, 7, 1, 2), Drift::OnTheWay { units: 2 });
        assert_eq!(told(10, 7, 0, 0), Drift::Apart { units: 3 });
        assert_eq!(told(7, 10, 0, 5), Drift::Apart { units: -3 }, "an outbox cannot explain too few holds");
        assert_eq!(told(10, 10, 1, 0), Drift::Apart { units: -1 });
    }
}
