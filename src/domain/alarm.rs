//! What about a sale needs a look, and since when.

use jiff::Timestamp;
use serde::Serialize;

use super::wire::wire_enum;

wire_enum! {
    /// What about a sale needs a look. The cockpit decides it for each sample.
    pub enum Alarm {
        /// Purchases are slow.
        Slow = "slow",
        /// Requests are turned away because the shop is overloaded.
        Errors = "errors",
        /// Redis and the database disagree for longer than orders are on their way.
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
