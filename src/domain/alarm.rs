//! Alarms: what staff should look at in a sale, and since when.

use jiff::Timestamp;
use serde::Serialize;

use super::wire::wire_enum;

wire_enum! {
    /// What staff should look at in a sale. The cockpit decides it for each sample.
    pub enum Alarm {
        /// Purchases are slow.
        Slow = "slow",
        /// Requests are turned away because the shop is overloaded.
        Errors = "errors",
        /// Redis and the database have disagreed for longer than an order takes to reach the database.
        Drift = "drift",
        /// Nine tenths of a live sale's stock are reserved.
        NearlySold = "nearly_sold",
    }
}

/// An alarm that rose, and ended or still stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AlarmEvent {
    pub alarm: Alarm,
    pub rose_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}
