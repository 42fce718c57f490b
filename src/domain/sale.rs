//! One flash sale: its definition, the states an administrator moves it through, and the phase a shopper sees.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use super::{GoodsId, Money, SaleId};

/// When a sale opens and closes; `None` means that only an administrator does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Window {
    pub opens_at: Option<Timestamp>,
    pub closes_at: Option<Timestamp>,
}

impl Window {
    /// Whether two windows that both have an opening time share a moment. One without a closing time never ends.
    pub fn overlaps(&self, other: &Window) -> bool {
        let (Some(opens), Some(others)) = (self.opens_at, other.opens_at) else { return false };
        self.closes_at.is_none_or(|closes| others < closes) && other.closes_at.is_none_or(|closes| opens < closes)
    }
}

/// What was decided about a sale: `draft → scheduled → live ⇄ paused → ended`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SaleState {
    /// Being written; shoppers do not see it.
    Draft,
    /// Announced; opens by itself at the start of its window, or when an administrator starts it.
    Scheduled,
    Live,
    Paused,
    /// Over for good.
    Ended,
}

/// What an administrator or the schedule asks of a sale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaleMove {
    /// Announce a draft.
    Schedule,
    /// Take the announcement back.
    Unschedule,
    Start,
    Pause,
    Resume,
    Stop,
}

/// A move that the present state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a sale that is {from} cannot {action}")]
pub struct WrongState {
    pub from: SaleState,
    pub action: SaleMove,
}

impl SaleState {
    pub const ALL: [SaleState; 5] =
        [SaleState::Draft, SaleState::Scheduled, SaleState::Live, SaleState::Paused, SaleState::Ended];

    pub fn as_str(self) -> &'static str {
        match self {
            SaleState::Draft => "draft",
            SaleState::Scheduled => "scheduled",
            SaleState::Live => "live",
            SaleState::Paused => "paused",
            SaleState::Ended => "ended",
        }
    }

    /// Whether the sale has not begun: everything about it can be changed.
    pub fn is_planned(self) -> bool {
        matches!(self, SaleState::Draft | SaleState::Scheduled)
    }

    /// The state after a move, or why there is none.
    pub fn after(self, action: SaleMove) -> Result<SaleState, WrongState> {
        use SaleState::*;
        match (self, action) {
            (Draft, SaleMove::Schedule) => Ok(Scheduled),
            (Scheduled, SaleMove::Unschedule) => Ok(Draft),
            (Draft | Scheduled, SaleMove::Start) => Ok(Live),
            (Live, SaleMove::Pause) => Ok(Paused),
            (Paused, SaleMove::Resume) => Ok(Live),
            (Scheduled | Live | Paused, SaleMove::Stop) => Ok(Ended),
            (from, action) => Err(WrongState { from, action }),
        }
    }
}

impl fmt::Display for SaleState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for SaleState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl FromStr for SaleState {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        SaleState::ALL.into_iter().find(|s| s.as_str() == text).ok_or(())
    }
}

impl SaleMove {
    pub const ALL: [SaleMove; 6] =
        [SaleMove::Schedule, SaleMove::Unschedule, SaleMove::Start, SaleMove::Pause, SaleMove::Resume, SaleMove::Stop];

    pub fn as_str(self) -> &'static str {
        match self {
            SaleMove::Schedule => "schedule",
            SaleMove::Unschedule => "unschedule",
            SaleMove::Start => "start",
            SaleMove::Pause => "pause",
            SaleMove::Resume => "resume",
            SaleMove::Stop => "stop",
        }
    }
}

impl fmt::Display for SaleMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a shopper sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Upcoming,
    Open,
    SoldOut,
    Paused,
    Ended,
}

impl Phase {
    /// The phase that follows from the facts. `remaining` counts units that nobody holds.
    pub fn of(state: SaleState, window: Window, remaining: i64, now: Timestamp) -> Phase {
        if state == SaleState::Ended || window.closes_at.is_some_and(|closes| now >= closes) {
            Phase::Ended
        } else if matches!(state, SaleState::Draft | SaleState::Scheduled)
            || window.opens_at.is_some_and(|opens| now < opens)
        {
            Phase::Upcoming
        } else if state == SaleState::Paused {
            Phase::Paused
        } else if remaining <= 0 {
            Phase::SoldOut
        } else {
            Phase::Open
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Upcoming => "upcoming",
            Phase::Open => "open",
            Phase::SoldOut => "sold_out",
            Phase::Paused => "paused",
            Phase::Ended => "ended",
        }
    }
}

/// How a rush is met: over how many buckets the units are spread, in what lots they are handed out, and over which time
/// those who wait for the opening spread themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rush {
    /// 1 to [`Rush::MOST_BUCKETS`]; 1 is not split. Fixed once the sale is loaded into Redis.
    pub buckets: u8,
    /// Units of one allotment to one bucket; 0 hands out everything at once.
    pub lot: i64,
    /// At most [`Rush::MOST_SPREAD_MS`].
    pub spread_ms: i64,
}

impl Rush {
    pub const MOST_BUCKETS: u8 = 64;
    pub const MOST_SPREAD_MS: i64 = 60_000;

    /// What is given in place of what was.
    pub fn with(self, buckets: Option<u8>, lot: Option<i64>, spread_ms: Option<i64>) -> Rush {
        Rush {
            buckets: buckets.unwrap_or(self.buckets),
            lot: lot.unwrap_or(self.lot),
            spread_ms: spread_ms.unwrap_or(self.spread_ms),
        }
    }
}

impl Default for Rush {
    fn default() -> Rush {
        Rush { buckets: 1, lot: 0, spread_ms: 600 }
    }
}

/// The definition of a sale as the database has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sale {
    pub id: SaleId,
    pub goods_id: GoodsId,
    pub price: Money,
    /// The price outside the sale, to compare with; `None` when there is none to show.
    pub list_price: Option<Money>,
    pub total: i64,
    /// Units in live orders, as the database counts them.
    pub sold: i64,
    /// Units ever sold, cancelled ones included; it only rises.
    pub granted: i64,
    /// Units that one user may hold.
    pub per_user_limit: i64,
    #[serde(flatten)]
    pub window: Window,
    #[serde(flatten)]
    pub rush: Rush,
    pub state: SaleState,
    /// Rises with every change of the definition, so that an older one is never applied over a newer one.
    pub version: i64,
    /// Rises whenever Redis is loaded anew.
    pub epoch: i64,
    /// Of a rehearsal: works for whoever knows its address, and is in no list.
    #[serde(skip_serializing_if = "is_false")]
    pub shadow: bool,
}

fn is_false(shadow: &bool) -> bool {
    !shadow
}

impl Sale {
    /// What shoppers see of it, judged by the database alone.
    pub fn phase(&self, now: Timestamp) -> Phase {
        Phase::of(self.state, self.window, self.total - self.sold, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn phases_follow_from_state_window_and_stock() {
        let window = Window { opens_at: Some(at(100)), closes_at: Some(at(200)) };
        let phase = |state, remaining, now| Phase::of(state, window, remaining, at(now));
        assert_eq!(phase(SaleState::Scheduled, 5, 150), Phase::Upcoming);
        assert_eq!(phase(SaleState::Live, 5, 99), Phase::Upcoming);
        assert_eq!(phase(SaleState::Live, 5, 100), Phase::Open);
        assert_eq!(phase(SaleState::Live, 0, 100), Phase::SoldOut);
        assert_eq!(phase(SaleState::Paused, 0, 100), Phase::Paused);
        assert_eq!(phase(SaleState::Live, 5, 200), Phase::Ended);
        assert_eq!(phase(SaleState::Ended, 5, 50), Phase::Ended);
    }

    #[test]
    fn windows_overlap_only_when_both_are_known_to_open() {
        let window =
            |opens: Option<i64>, closes: Option<i64>| Window { opens_at: opens.map(at), closes_at: closes.map(at) };
        let noon = window(Some(100), Some(200));
        for (other, shared) in [
            (window(Some(200), Some(300)), false),
            (window(Some(0), Some(100)), false),
            (window(Some(199), Some(300)), true),
            (window(Some(120), Some(130)), true),
            (window(Some(0), None), true),
            (window(Some(200), None), false),
            (window(None, Some(150)), false),
            (window(None, None), false),
        ] {
            assert_eq!((noon.overlaps(&other), other.overlaps(&noon)), (shared, shared), "{other:?}");
        }
    }

    #[test]
    fn only_the_drawn_moves_exist() {
        let allowed: Vec<_> = SaleState::ALL
            .into_iter()
            .flat_map(|s| SaleMove::ALL.map(|m| (s, m)))
            .filter_map(|(s, m)| s.after(m).ok().map(|to| format!("{s} {m} {to}")))
            .collect();
        assert_eq!(
            allowed,
            [
                "draft schedule scheduled",
                "draft start live",
                "scheduled unschedule draft",
                "scheduled start live",
                "scheduled stop ended",
                "live pause paused",
                "live stop ended",
                "paused resume live",
                "paused stop ended",
            ]
        );
    }
}
