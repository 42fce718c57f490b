//! Whether Redis and the database agree about a sale.

use serde::Serialize;

/// The totals of both sides, in units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StockTotals {
    /// Units that are held, according to the master.
    pub booked: i64,
    /// Units in live orders, according to the database.
    pub sold: i64,
    /// Units in ended orders that the master has not released yet.
    pub unreleased: i64,
    /// Outbox entries between the two.
    pub outbox: i64,
}

/// How the two sides differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Drift {
    InStep,
    /// Orders on their way to the database explain the difference.
    OnTheWay {
        units: i64,
    },
    /// Nothing explains the difference. The two sides are not read at the same instant, so a short difference is
    /// normal. Data control repairs a difference that stays. Negative: the database has sold units that the master does
    /// not hold.
    Apart {
        units: i64,
    },
}

pub fn drift(totals: StockTotals) -> Drift {
    let units = totals.booked - totals.sold - totals.unreleased;
    match units {
        0 => Drift::InStep,
        1.. if totals.outbox > 0 => Drift::OnTheWay { units },
        _ => Drift::Apart { units },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_is_drift_only_if_unexplained() {
        let drift_of = |booked, sold, unreleased, outbox| drift(StockTotals { booked, sold, unreleased, outbox });
        assert_eq!(drift_of(10, 10, 0, 0), Drift::InStep);
        assert_eq!(drift_of(10, 7, 3, 0), Drift::InStep, "cancelled, not released yet");
        assert_eq!(drift_of(10, 7, 0, 2), Drift::OnTheWay { units: 3 });
        assert_eq!(drift_of(10, 7, 1, 2), Drift::OnTheWay { units: 2 });
        assert_eq!(drift_of(10, 7, 0, 0), Drift::Apart { units: 3 });
        assert_eq!(drift_of(7, 10, 0, 5), Drift::Apart { units: -3 }, "an outbox cannot explain too few holds");
        assert_eq!(drift_of(10, 10, 1, 0), Drift::Apart { units: -1 });
    }
}
