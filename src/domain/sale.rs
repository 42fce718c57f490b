//! A flash sale: its definition, the states that staff and the schedule move it through, and the phase a shopper sees.

use std::borrow::Cow;

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::draw::Beacon;
use crate::wire::wire_enum;
use crate::{DrawPlan, EligibilityRules, GoodsId, Money, SaleId, Spread, SpreadSeed, WaitingRoomPlan};

/// The times at which a sale opens and closes. `None` means that staff open or close it by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Window {
    pub opens_at: Option<Timestamp>,
    pub closes_at: Option<Timestamp>,
}

impl Window {
    /// Whether two windows overlap. A window without an opening time overlaps with none; one without a closing time
    /// never ends.
    pub fn overlaps(&self, other: &Window) -> bool {
        let (Some(opens), Some(others)) = (self.opens_at, other.opens_at) else { return false };
        self.closes_at.is_none_or(|closes| others < closes) && other.closes_at.is_none_or(|closes| opens < closes)
    }
}

wire_enum! {
    /// The administrative state of a sale: `draft → scheduled → live ⇄ paused → ended`.
    pub enum SaleState {
        /// In preparation; shoppers do not see it.
        Draft = "draft",
        /// Announced; opens at the start of its window, or when staff start it.
        Scheduled = "scheduled",
        Live = "live",
        Paused = "paused",
        /// Closed for good.
        Ended = "ended",
    }
}

wire_enum! {
    /// A state transition that staff or the schedule request.
    pub enum SaleMove {
        /// Announces a draft.
        Schedule = "schedule",
        /// Takes the announcement back.
        Unschedule = "unschedule",
        Start = "start",
        Pause = "pause",
        Resume = "resume",
        Stop = "stop",
    }
}

/// The current state does not allow the transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a sale that is {from} cannot {action}")]
pub struct WrongState {
    pub from: SaleState,
    pub action: SaleMove,
}

impl SaleState {
    /// Whether the sale has not begun. Its definition can then be changed freely.
    pub fn is_planned(self) -> bool {
        matches!(self, SaleState::Draft | SaleState::Scheduled)
    }

    /// The state after a transition, or why there is none.
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

wire_enum! {
    /// The phase of a sale as a shopper sees it.
    pub enum Phase {
        Upcoming = "upcoming",
        Open = "open",
        SoldOut = "sold_out",
        Paused = "paused",
        Ended = "ended",
    }
}

impl Phase {
    /// Derives the phase. `remaining` is the number of units that no user holds.
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
}

/// How much of a sale's stock is taken, in the order of the list of sales.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Demand {
    /// Nearly everything is taken.
    Hot,
    Calm,
    /// Everything is taken.
    Gone,
}

/// From this percentage on, a sale's stock counts as nearly taken. Twin of `HOT_PERCENT` in `static/list.js`.
const HOT_PERCENT: i64 = 80;

/// How a sale handles the load at its opening: the number of buckets, the size of the lots that buckets receive, and
/// the time over which accounts spread their first requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Rush {
    /// 1 to [`Rush::MAX_BUCKETS`]; 1 means unsplit. Fixed once the sale is loaded into Redis.
    #[schemars(range(min = 1, max = 64))]
    pub buckets: u8,
    /// Units of one allotment to one bucket; 0 allots everything at once.
    #[schemars(range(min = 0))]
    pub lot: i64,
    /// Width of the spread in milliseconds, at most [`Rush::MAX_SPREAD_MS`]. From [`Rush::MIN_ENFORCED_SPREAD_MS`] on each
    /// account has a moment of its own in it, and the gate refuses it before; a shorter one shapes the load of the shop's
    /// own pages only.
    #[schemars(range(min = 0, max = 600000))]
    pub spread_ms: i64,
}

impl Rush {
    pub const MAX_BUCKETS: u8 = 64;
    /// As long as the purchase tokens that pages fetch at the opening are valid.
    pub const MAX_SPREAD_MS: i64 = 600_000;
    /// Connections and reactions of people differ by about as much, so a shorter spread evens nothing out.
    pub const MIN_ENFORCED_SPREAD_MS: i64 = 1_000;

    pub fn enforces_spread(self) -> bool {
        self.spread_ms >= Rush::MIN_ENFORCED_SPREAD_MS
    }

    /// Replaces the values that are given.
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

/// A sale as stored in the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sale {
    pub id: SaleId,
    pub goods_id: GoodsId,
    pub price: Money,
    /// The regular price, shown for comparison. `None` when there is none.
    pub list_price: Option<Money>,
    #[schemars(range(min = 1))]
    pub total: i64,
    /// Units in live orders, counted by the database.
    pub sold: i64,
    /// Units ever sold, including cancelled ones. Never decreases.
    pub granted: i64,
    /// Units that one user may hold.
    #[schemars(range(min = 1))]
    pub per_user_limit: i64,
    #[serde(flatten)]
    pub window: Window,
    #[serde(flatten)]
    pub rush: Rush,
    #[serde(flatten)]
    pub mode: SaleMode,
    #[serde(flatten)]
    pub eligibility: EligibilityRules,
    pub state: SaleState,
    /// Rises with every change of the definition, so that an older version never overwrites a newer one.
    pub version: i64,
    /// Rises with every load into Redis.
    pub epoch: i64,
    /// Whether the sale belongs to a rehearsal. Such a sale is in no list, but its URL works.
    #[serde(skip_serializing_if = "is_false")]
    pub shadow: bool,
    /// `None` only for a sale of an earlier version of the shop that has not been changed since. Secret until the spread is
    /// over, so it is in no JSON.
    #[serde(skip)]
    pub spread_seed: Option<SpreadSeed>,
}

fn is_false(shadow: &bool) -> bool {
    !shadow
}

impl Sale {
    /// The phase according to the database alone.
    pub fn phase(&self, now: Timestamp) -> Phase {
        // A draw takes entries as long as it is open; it has no units to run out of.
        let remaining = if self.mode.is_draw() { 1 } else { self.total - self.sold };
        Phase::of(self.state, self.window, remaining, now)
    }

    /// The demand according to the database alone. A draw never runs out.
    pub fn demand(&self) -> Demand {
        match self.mode.is_draw() {
            false if self.sold >= self.total => Demand::Gone,
            false if self.sold * 100 >= self.total * HOT_PERCENT => Demand::Hot,
            _ => Demand::Calm,
        }
    }

    /// When shoppers may join the sale's waiting room, and when its list is locked.
    pub fn waiting_room_times(&self) -> Option<(Timestamp, Timestamp)> {
        let (plan, opens) = self.mode.waiting_room_plan().zip(self.window.opens_at)?;
        Some((plan.joining_from(opens), plan.locks_at(opens)))
    }

    /// When shoppers may first take part: join the waiting room, enter the draw or buy.
    pub fn starts_at(&self) -> Option<Timestamp> {
        self.waiting_room_times().map(|(joining, _)| joining).or(self.window.opens_at)
    }

    /// Whether shoppers may have taken places in the waiting room of an announced sale.
    pub fn is_joined(&self, now: Timestamp) -> bool {
        self.state == SaleState::Scheduled && self.waiting_room_times().is_some_and(|(joining, _)| joining <= now)
    }

    /// The spread that the gate enforces. A waiting room and a draw have orders of their own.
    pub fn spread(&self) -> Option<Spread> {
        let is_enforced = self.mode == SaleMode::Rush && self.rush.enforces_spread();
        let seed = self.spread_seed.filter(|_| is_enforced)?;
        Some(Spread { seed, width_ms: self.rush.spread_ms })
    }

    /// The move that the schedule makes with the sale at `now`.
    pub fn due_move(&self, now: Timestamp) -> Option<SaleMove> {
        let has_come = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        match self.state {
            SaleState::Scheduled | SaleState::Live | SaleState::Paused if has_come(self.window.closes_at) => {
                Some(SaleMove::Stop)
            }
            SaleState::Scheduled if has_come(self.window.opens_at) => Some(SaleMove::Start),
            _ => None,
        }
    }
}

// How the buyers of a sale are found.

/// How the buyers of a sale are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum SaleMode {
    /// The first requests get the units.
    #[default]
    Rush,
    /// A waiting room: shoppers are called in an order that is shuffled once its list is locked.
    #[serde(rename = "queue")]
    WaitingRoom(WaitingRoomPlan),
    /// A draw among the entries.
    Draw(DrawPlan),
}

wire_enum! {
    /// The name of a mode, as staff choose it.
    pub enum ModeName {
        Rush = "rush",
        WaitingRoom = "queue",
        Draw = "draw",
    }
}

/// Values of a sale's definition. Absent fields stay as they are; `null` removes a value. A new sale is a patch of
/// the defaults.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SalePatch {
    pub goods_id: Option<GoodsId>,
    pub price: Option<Money>,
    #[serde(default, deserialize_with = "present")]
    pub list_price: Option<Option<Money>>,
    #[schemars(range(min = 1))]
    pub total: Option<i64>,
    #[schemars(range(min = 1))]
    pub per_user_limit: Option<i64>,
    #[serde(default, deserialize_with = "present")]
    pub opens_at: Option<Option<Timestamp>>,
    #[serde(default, deserialize_with = "present")]
    pub closes_at: Option<Option<Timestamp>>,
    /// Number of Redis buckets that the stock is split into; 1 means no split. Fixed once the sale is loaded (422
    /// `split_fixed`).
    #[schemars(range(min = 1, max = 64))]
    pub buckets: Option<u8>,
    /// Units that a bucket gets at a time; 0 distributes everything at once.
    #[schemars(range(min = 0))]
    pub lot: Option<i64>,
    /// Milliseconds after the start over which accounts spread their first requests. From 1000 on the shop enforces it:
    /// each account has a moment of its own.
    #[schemars(range(min = 0, max = 600000))]
    pub spread_ms: Option<i64>,
    /// `rush` is the default. `queue`: a waiting room, whose order is shuffled after the opening; needs an opening time.
    /// `draw`: people enter, and a draw decides; needs both times and a limit of one.
    pub mode: Option<ModeName>,
    /// Seconds before the opening from which shoppers may join a waiting room; by default half an hour.
    #[schemars(range(min = 0, max = 86400))]
    pub queue_prequeue_s: Option<i64>,
    /// Seconds after the opening in which shoppers who join still count as come at once; by default ten.
    #[schemars(range(min = 0, max = 600))]
    pub queue_gather_s: Option<i64>,
    /// Seconds that a shopper who is called has to buy; by default three minutes.
    #[schemars(range(min = 10, max = 3600))]
    pub queue_seat_s: Option<i64>,
    /// Seconds that winners of a draw have to pay; by default a day.
    #[schemars(range(min = 60, max = 2592000))]
    pub draw_window_s: Option<i64>,
    /// Seconds between the closing and the lock of the list; by default ten minutes.
    #[schemars(range(min = 0, max = 604800))]
    pub draw_review_s: Option<i64>,
    /// The source of randomness if the sale becomes a draw. The shop sets it.
    #[serde(skip)]
    pub draw_beacon: Option<Beacon>,
    /// Accounts that were registered later may not take part.
    #[serde(default, deserialize_with = "present")]
    pub accounts_before: Option<Option<Timestamp>>,
    /// Whether the sale asks for a verified mail address.
    pub verified_contact: Option<bool>,
    /// Whether one account takes part for each mailbox.
    pub one_per_contact: Option<bool>,
    /// Whether one account takes part for each delivery address.
    pub one_per_address: Option<bool>,
    /// Whether the sale asks for an invitation code.
    pub invitation: Option<bool>,
    /// ¥1 to ¥10,000, set aside from the wallet of an account that takes part, and given back in full.
    #[serde(default, deserialize_with = "present")]
    pub deposit: Option<Option<Money>>,
    /// `true` hides the sale from shoppers, `false` schedules it. When absent, an opening time that is given schedules
    /// the sale, and one that is removed makes it a draft.
    pub draft: Option<bool>,
    /// `false`: refused if another sale of the same product overlaps.
    pub allow_overlap: Option<bool>,
}

/// Distinguishes `null` from an absent field.
pub fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// One object with the fields of both plans, instead of one of three: programs read it more easily.
impl JsonSchema for SaleMode {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SaleMode".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut fields = json_schema!({"mode": ModeName::json_schema(generator)});
        for plan in [WaitingRoomPlan::json_schema(generator), DrawPlan::json_schema(generator)] {
            let plan = plan.get("properties").and_then(|fields| fields.as_object()).cloned();
            fields.ensure_object().extend(plan.into_iter().flatten());
        }
        json_schema!({"type": "object", "properties": fields, "required": ["mode"]})
    }
}

impl SaleMode {
    /// Replaces the values that the patch contains.
    pub fn with(self, patch: &SalePatch) -> SaleMode {
        let SalePatch { queue_prequeue_s, queue_gather_s, queue_seat_s, draw_window_s, draw_review_s, .. } = *patch;
        match patch.mode.unwrap_or(self.name()) {
            ModeName::Rush => SaleMode::Rush,
            ModeName::WaitingRoom => {
                let plan = self.waiting_room_plan().unwrap_or_default();
                SaleMode::WaitingRoom(plan.with(queue_prequeue_s, queue_gather_s, queue_seat_s))
            }
            ModeName::Draw => {
                let plan = self.draw_plan().unwrap_or(DrawPlan::new(patch.draw_beacon));
                SaleMode::Draw(plan.with(draw_window_s, draw_review_s))
            }
        }
    }

    pub fn name(self) -> ModeName {
        match self {
            SaleMode::Rush => ModeName::Rush,
            SaleMode::WaitingRoom(_) => ModeName::WaitingRoom,
            SaleMode::Draw(_) => ModeName::Draw,
        }
    }

    pub fn is_draw(self) -> bool {
        matches!(self, SaleMode::Draw(_))
    }

    pub fn is_waiting_room(self) -> bool {
        matches!(self, SaleMode::WaitingRoom(_))
    }

    /// Whether accounts may wait for units that come back. A waiting room and a draw have their own orders.
    pub fn has_waitlist(self) -> bool {
        self == SaleMode::Rush
    }

    pub fn waiting_room_plan(self) -> Option<WaitingRoomPlan> {
        match self {
            SaleMode::WaitingRoom(plan) => Some(plan),
            SaleMode::Rush | SaleMode::Draw(_) => None,
        }
    }

    pub fn draw_plan(self) -> Option<DrawPlan> {
        match self {
            SaleMode::Draw(plan) => Some(plan),
            SaleMode::Rush | SaleMode::WaitingRoom(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn phase_follows_from_state_window_and_stock() {
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
    fn windows_without_an_opening_time_do_not_overlap() {
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
    fn only_the_documented_transitions_exist() {
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
