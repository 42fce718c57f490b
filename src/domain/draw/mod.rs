//! A verifiable draw (抽签): who may buy follows from an order that could not be known beforehand and can be
//! recomputed afterwards.
//!
//! Before entries open the shop publishes the [`DrawRules`], with a commitment to a secret and the round of a public source
//! of randomness. After the closing it locks the [`EntryList`] and publishes the Merkle [`root`] of its entries. Then the
//! public round appears, the secret is revealed, and [`seed`] and [`ranking`] give the order. A [`Proof`] holds all of it.
//! If the round does not appear, a later one that follows from a rule may decide instead ([`RoundChange`]).
//!
//! `docs/draw.md` has the protocol byte by byte, `scripts/verify_draw.py` a second implementation.

mod list;
mod proof;
mod rules;
#[cfg(test)]
mod tests;

pub use list::{EntryId, EntryList, EntryStatus, Exclusion, ListedEntry, WrongList, root};
pub use proof::{Check, Proof, RoundChange, UnreadableProof, Verification};
pub use rules::{Beacon, DrawRules, PublicRound, Randomness, WrongRandomness, WrongRules, ranking, seed};

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::calendar::shifted;
use super::secret::CommittedSecret;
use crate::wire::wire_enum;
use crate::{OrderId, Phase, Sale, UserId};

/// Name and version of the protocol. The rules begin with it, and it separates the seed from other hashes.
pub const PROTOCOL: &str = "seckill-draw/1";

/// The shop's part of the seed. The shop draws it with the rules, which have its commitment, and reveals it after the draw.
pub type DrawSecret = CommittedSecret;

// What a sale by draw (抽签) has besides the mathematics in [`super`]: its plan, its states, and the states of its
// entries.

/// How a draw is held. It is part of the sale's definition, so it is fixed once the sale has opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DrawPlan {
    /// How long winners have to pay, in seconds.
    #[serde(rename = "draw_window_s")]
    #[schemars(range(min = 60, max = 2592000))]
    pub window_s: i64,
    /// How long staff review the entries after the closing, in seconds. Then the list is locked.
    #[serde(rename = "draw_review_s")]
    #[schemars(range(min = 0, max = 604800))]
    pub review_s: i64,
    /// Where the public randomness comes from. With `None` the shop's secret alone decides.
    #[serde(rename = "draw_beacon")]
    #[schemars(with = "Value", extend("enum" = ["quicknet", "sandbox", null]))]
    pub beacon: Option<Beacon>,
}

impl DrawPlan {
    const DEFAULT_WINDOW_S: i64 = 24 * 3600;
    const DEFAULT_REVIEW_S: i64 = 600;
    pub const WINDOW_S: std::ops::RangeInclusive<i64> = 60..=30 * 24 * 3600;
    pub const REVIEW_S: std::ops::RangeInclusive<i64> = 0..=7 * 24 * 3600;

    pub fn new(beacon: Option<Beacon>) -> DrawPlan {
        DrawPlan { window_s: DrawPlan::DEFAULT_WINDOW_S, review_s: DrawPlan::DEFAULT_REVIEW_S, beacon }
    }

    /// Replaces the values that are given.
    pub fn with(self, window_s: Option<i64>, review_s: Option<i64>) -> DrawPlan {
        DrawPlan {
            window_s: window_s.unwrap_or(self.window_s),
            review_s: review_s.unwrap_or(self.review_s),
            beacon: self.beacon,
        }
    }

    pub fn window(self) -> Duration {
        Duration::from_secs(u64::try_from(self.window_s).unwrap_or_default())
    }

    /// When the list of entries is locked.
    pub fn lock_at(self, closes: Timestamp) -> Timestamp {
        shifted(closes, self.review_s.saturating_mul(1_000))
    }

    /// The public round: the first one after twice the review. It is still unknown when the list is locked, even if
    /// locking is somewhat late.
    pub fn round(self, closes: Timestamp) -> Option<PublicRound> {
        Some(PublicRound::first_after(self.beacon?, shifted(closes, self.review_s.saturating_mul(2_000))))
    }

    /// When the draw is held, unless its public round is late: the result follows within moments.
    pub fn result_at(self, closes: Timestamp) -> Timestamp {
        self.round(closes).map_or_else(|| self.lock_at(closes), |round| round.at())
    }
}

impl Sale {
    /// The rules of the sale's draw. `None` for another mode, and for a draft whose window is not complete yet.
    pub fn draw_rules(&self, secret: &DrawSecret) -> Option<DrawRules> {
        let plan = self.mode.draw_plan()?;
        let (opens_at, closes_at) = self.window.opens_at.zip(self.window.closes_at)?;
        Some(DrawRules {
            sale: self.id,
            units: self.total,
            opens_at,
            closes_at,
            window_s: plan.window_s,
            randomness: plan.round(closes_at),
            commitment: secret.commitment(),
        })
    }
}

wire_enum! {
    /// The state of a draw: `announced → locked → drawn → settled`, or `announced → called_off`, or
    /// `locked → called_off`.
    pub enum DrawState {
        /// The rules are public. Entries are taken while the sale is open.
        Announced = "announced",
        /// The list of entries is final; the draw waits for its public round.
        Locked = "locked",
        /// Every entry has its rank; units go to the next in order.
        Drawn = "drawn",
        /// Every unit is paid for, or every rank had its turn.
        Settled = "settled",
        /// Staff ended the sale before its closing time, or the public round never came. No entry wins.
        CalledOff = "called_off",
    }
}

wire_enum! {
    /// Where a draw stands at one moment: its state, refined by the clock.
    pub enum DrawStage {
        /// Entries are not open yet.
        Announced = "announced",
        Entries = "entries",
        /// Staff paused the sale. No entries are taken until it resumes.
        Paused = "paused",
        /// Entries are closed, but the list is not locked yet.
        Review = "review",
        /// The list is locked, but the public round has not appeared yet.
        Locked = "locked",
        /// The round is due, or none is needed: the draw is about to be held.
        Due = "due",
        /// Units are offered to the next in order.
        Drawn = "drawn",
        Settled = "settled",
        CalledOff = "called_off",
    }
}

impl DrawStage {
    /// `phase` is the sale's phase, `due` the time of the public round.
    pub fn of(state: DrawState, phase: Phase, due: Option<Timestamp>, now: Timestamp) -> DrawStage {
        match (state, phase) {
            (DrawState::Announced, Phase::Upcoming) => DrawStage::Announced,
            (DrawState::Announced, Phase::Open | Phase::SoldOut) => DrawStage::Entries,
            (DrawState::Announced, Phase::Paused) => DrawStage::Paused,
            (DrawState::Announced, Phase::Ended) => DrawStage::Review,
            (DrawState::Locked, _) if due.is_some_and(|due| now < due) => DrawStage::Locked,
            (DrawState::Locked, _) => DrawStage::Due,
            (DrawState::Drawn, _) => DrawStage::Drawn,
            (DrawState::Settled, _) => DrawStage::Settled,
            (DrawState::CalledOff, _) => DrawStage::CalledOff,
        }
    }

    /// Whether the order of the entries is known.
    pub fn is_held(self) -> bool {
        matches!(self, DrawStage::Drawn | DrawStage::Settled)
    }
}

wire_enum! {
    /// The state of an entry.
    pub enum EntryState {
        In = "in",
        /// The account took the entry back. It may enter again while the sale is open.
        Withdrawn = "withdrawn",
        /// Staff excluded the entry before the list was locked.
        Excluded = "excluded",
        /// The entry's turn came, but its account could not buy.
        Skipped = "skipped",
    }
}

/// An entry of a draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawEntry {
    pub id: EntryId,
    pub user_id: UserId,
    pub entered_at: Timestamp,
    pub state: EntryState,
    /// Why the entry was excluded or skipped.
    pub reason: Option<Exclusion>,
    /// The rank, from 0. `None` until the draw is held.
    pub rank: Option<i64>,
    pub order_id: Option<OrderId>,
}
