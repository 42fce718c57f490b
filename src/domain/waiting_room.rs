//! The waiting room of a sale (排队): the order in which shoppers are called. It depends on the account's entry and on a
//! seed that stays secret until the list is locked. When, how often or from how many browsers an account came does not
//! matter.
//!
//! All shoppers who join before the lock are in segment 0. After the lock every ten seconds begin a new segment. Within
//! a segment the numbers decide, and a number follows from the seed and the entry.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::calendar::shifted;
use super::draw::EntryId;
use super::secret::CommittedSecret;
use super::wire::wire_enum;
use super::{Phase, SaleId};

/// The seed of one waiting room.
pub type WaitingRoomSeed = CommittedSecret;

/// Length of a segment after the lock, in milliseconds.
const SEGMENT_MS: i64 = 10_000;
/// A segment counts as closed this long after its end: by then every transaction that began in it has ended.
const CLOSING_MS: i64 = 2_000;
/// A turn still counts as taken, and not as missed, for this long after its end: by then an order made at the last moment
/// is usually in the database.
pub const SEAT_GRACE_MS: i64 = 5_000;

/// How a waiting room is run. It is part of the sale's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WaitingRoomPlan {
    /// How long before the opening shoppers may join, in seconds.
    #[serde(rename = "queue_prequeue_s")]
    #[schemars(range(min = 0, max = 86400))]
    pub prequeue_s: i64,
    /// How long after the opening shoppers still join segment 0, in seconds. Then the list is locked.
    #[serde(rename = "queue_gather_s")]
    #[schemars(range(min = 0, max = 600))]
    pub gather_s: i64,
    /// How long a called shopper may buy, in seconds.
    #[serde(rename = "queue_seat_s")]
    #[schemars(range(min = 10, max = 3600))]
    pub seat_s: i64,
}

impl Default for WaitingRoomPlan {
    fn default() -> WaitingRoomPlan {
        WaitingRoomPlan::USUAL
    }
}

impl WaitingRoomPlan {
    pub const USUAL: WaitingRoomPlan = WaitingRoomPlan { prequeue_s: 1_800, gather_s: 10, seat_s: 180 };
    pub const PREQUEUE_S: std::ops::RangeInclusive<i64> = 0..=24 * 3600;
    pub const GATHER_S: std::ops::RangeInclusive<i64> = 0..=600;
    pub const SEAT_S: std::ops::RangeInclusive<i64> = 10..=3_600;

    /// Replaces the values that are given.
    pub fn with(self, prequeue_s: Option<i64>, gather_s: Option<i64>, seat_s: Option<i64>) -> WaitingRoomPlan {
        WaitingRoomPlan {
            prequeue_s: prequeue_s.unwrap_or(self.prequeue_s),
            gather_s: gather_s.unwrap_or(self.gather_s),
            seat_s: seat_s.unwrap_or(self.seat_s),
        }
    }

    pub fn joining_from(self, opens: Timestamp) -> Timestamp {
        shifted(opens, -self.prequeue_s * 1_000)
    }

    pub fn locks_at(self, opens: Timestamp) -> Timestamp {
        shifted(opens, self.gather_s * 1_000)
    }

    /// The end of a turn: how long a shopper who was called may buy.
    pub fn seat_ends(self, called: Timestamp) -> Timestamp {
        shifted(called, self.seat_s * 1_000)
    }
}

/// A place in the order of calls. The smaller one is called first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// 0 for all who came before the lock; then one for each ten seconds.
    #[schemars(range(min = 0))]
    pub segment: i64,
    /// The first 48 bits of SHA-256(seed ‖ entry), which are exact in every language's numbers.
    #[schemars(range(min = 0, max = 281_474_976_710_655_i64))]
    pub number: i64,
}

impl Place {
    pub fn of(seed: &WaitingRoomSeed, segment: i64, entry: EntryId) -> Place {
        let digest = Sha256::new().chain_update(seed.as_bytes()).chain_update(entry.as_bytes()).finalize();
        let number = digest[..6].iter().fold(0, |bits, byte| (bits << 8) | i64::from(*byte));
        Place { segment, number }
    }
}

/// The segment that shoppers join at `now`.
pub fn present_segment(locked: Option<Timestamp>, now: Timestamp) -> i64 {
    locked.map_or(0, |locked| 1 + now.duration_since(locked).as_millis().max(0) as i64 / SEGMENT_MS)
}

/// The last segment that takes no more shoppers. Only closed segments are called: in an open one, the next shopper may
/// have the smallest number.
pub fn closed_segment(locked: Timestamp, now: Timestamp) -> i64 {
    (now.duration_since(locked).as_millis() as i64 - CLOSING_MS).max(0) / SEGMENT_MS
}

/// A closed segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Segment {
    #[schemars(range(min = 0))]
    pub segment: i64,
    #[schemars(range(min = 0))]
    pub places: i64,
    #[schemars(range(min = 0))]
    pub called: i64,
    /// Numbers at evenly spaced ranks, from the first to the last. Between them a rank is estimated.
    #[schemars(inner(range(min = 0)))]
    pub marks: Vec<i64>,
}

/// Marks of the first segment, and of later ones. In a segment with at most this many people, places are exact. Among a
/// million they are right within some hundred.
const FIRST_MARKS: usize = 65;
const LATE_MARKS: usize = 9;

/// The rank, from 0, of mark `index` among `marks` of `places`.
fn marked_rank(index: usize, marks: usize, places: i64) -> i64 {
    index as i64 * (places - 1) / (marks as i64 - 1).max(1)
}

impl Segment {
    /// A segment that has just closed. `numbers` are sorted.
    pub fn closed(segment: i64, numbers: &[i64]) -> Segment {
        let most = if segment == 0 { FIRST_MARKS } else { LATE_MARKS };
        let (places, marks) = (numbers.len() as i64, numbers.len().min(most));
        let marks = (0..marks).map(|index| numbers[marked_rank(index, marks, places) as usize]).collect();
        Segment { segment, places, called: 0, marks }
    }

    /// How many places of the segment come before a number; between two marks an estimate.
    pub fn before(&self, number: i64) -> i64 {
        let rank = |index| marked_rank(index, self.marks.len(), self.places);
        let above = self.marks.partition_point(|mark| *mark <= number);
        if above == 0 {
            return 0;
        }
        let (low, low_rank) = (self.marks[above - 1], rank(above - 1));
        let Some(high) = self.marks.get(above) else { return low_rank };
        let share = i128::from(number - low) * i128::from(rank(above) - low_rank) / i128::from(high - low).max(1);
        low_rank + share as i64
    }
}

/// How many more shoppers may be called so that each can buy as much as the sale allows. So being fast brings nothing
/// among them.
pub fn calls(left: i64, seats: i64, per_user_limit: i64) -> i64 {
    let limit = per_user_limit.max(1);
    let free = (left - seats.saturating_mul(limit)).max(0);
    // With fewer units left than an account may buy, one shopper is called for them.
    if free < limit && seats == 0 { free.min(1) } else { free / limit }
}

wire_enum! {
    /// What a shopper in the waiting room may do.
    pub enum TurnState {
        /// The turn is still to come.
        Waiting = "waiting",
        /// The shopper may buy now, or the turn ended a moment ago and an order may still be on its way.
        Called = "called",
        /// The shopper has an order.
        Bought = "bought",
        /// The time to buy has passed without an order. Joining again takes a new place at the end.
        Missed = "missed",
    }
}

/// A shopper's place in the waiting room of one sale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingRoomPlace {
    pub entry: EntryId,
    pub place: Place,
    pub joined_at: Timestamp,
    pub called_at: Option<Timestamp>,
}

impl WaitingRoomPlace {
    /// When the shopper's turn ends; `None` before the call.
    pub fn seat_ends(&self, plan: WaitingRoomPlan) -> Option<Timestamp> {
        self.called_at.map(|called| plan.seat_ends(called))
    }

    /// What the account may do if it has no order.
    pub fn state(&self, plan: WaitingRoomPlan, now: Timestamp) -> TurnState {
        match self.seat_ends(plan) {
            None => TurnState::Waiting,
            Some(end) if now < shifted(end, SEAT_GRACE_MS) => TurnState::Called,
            Some(_) => TurnState::Missed,
        }
    }
}

/// The public state of a waiting room. It is the same for everyone, so a cache may answer it. A page finds its own turn
/// in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Line {
    pub sale_id: SaleId,
    /// The version of the sale's definition.
    #[serde(skip)]
    pub version: i64,
    pub phase: Phase,
    /// When shoppers may join, and when the list of segment 0 is locked. `None` until the sale has an opening time.
    pub joining_from: Option<Timestamp>,
    pub locks_at: Option<Timestamp>,
    pub locked_at: Option<Timestamp>,
    pub closes_at: Option<Timestamp>,
    /// SHA-256 of the seed.
    #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
    pub commitment: String,
    /// `None` until the list is locked.
    pub seed: Option<String>,
    /// The Merkle root over the entries of segment 0, sorted by id, computed as in a draw. `None` until the list is
    /// locked.
    pub root: Option<String>,
    /// How many places were taken.
    #[schemars(range(min = 0))]
    pub joined: i64,
    /// How many places were called.
    #[schemars(range(min = 0))]
    pub called: i64,
    /// The last place that was called.
    pub serving: Option<Place>,
    /// Closed segments with shoppers who are not called yet, in order.
    pub segments: Vec<Segment>,
    /// Shoppers who are called now and have neither bought nor missed their turn.
    #[schemars(range(min = 0))]
    pub seats: i64,
    /// Units that are in no order.
    #[schemars(range(min = 0))]
    pub left: i64,
    /// Orders that are not paid yet. Their units may come back.
    #[schemars(range(min = 0))]
    pub unpaid: i64,
    /// No unit of these orders comes back later than this; `None` without such orders.
    pub free_by: Option<Timestamp>,
    /// Calls in the last minute.
    #[schemars(range(min = 0))]
    pub called_last_minute: i64,
    /// Whether staff hold the calls.
    pub held: bool,
    #[schemars(range(min = 10))]
    pub seat_s: i64,
    pub now: Timestamp,
    #[schemars(range(min = 0))]
    pub poll_after_ms: i64,
}

impl Line {
    /// Whether the state stays as it is until the sale's definition changes, because the waiting room does not open
    /// soon or is over.
    pub fn rests(&self) -> bool {
        const SOON_S: i64 = 60;
        let opens_soon = self.joining_from.is_some_and(|from| from <= shifted(self.now, SOON_S * 1_000));
        self.phase == Phase::Ended || !opens_soon
    }

    pub fn waiting(&self) -> i64 {
        (self.joined - self.called).max(0)
    }

    /// How many shoppers are called before the owner of this place; `None` until its segment is closed.
    pub fn ahead(&self, place: Place) -> Option<i64> {
        let own = self.segments.iter().find(|segment| segment.segment == place.segment)?;
        let earlier = self.segments.iter().take_while(|segment| segment.segment < place.segment);
        let earlier: i64 = earlier.map(|segment| segment.places - segment.called).sum();
        Some(earlier + (own.before(place.number) - own.called).max(0))
    }

    /// Whether a unit is left for a place with `ahead` shoppers before it, if each of them and of those who are buying
    /// takes one.
    pub fn reaches(&self, ahead: i64) -> bool {
        ahead + self.seats < self.left
    }

    /// Seconds until `ahead` shoppers are called at the pace of the last minute; `None` if it had no calls.
    pub fn seconds_until(&self, ahead: i64) -> Option<i64> {
        (self.called_last_minute > 0).then(|| ahead.saturating_mul(60) / self.called_last_minute)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(ms).unwrap()
    }

    fn entry(n: u32) -> EntryId {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&n.to_be_bytes());
        EntryId::new(bytes)
    }

    /// The same numbers as in `docs/api.md`, where another language computes them.
    #[test]
    fn number_can_be_recomputed_elsewhere() {
        let seed: WaitingRoomSeed = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f".parse().unwrap();
        let entry: EntryId = "202122232425262728292a2b2c2d2e2f".parse().unwrap();
        let place = Place::of(&seed, 0, entry);
        assert_eq!(place, Place { segment: 0, number: 0x4dbd_c2b2_b62c });
    }

    #[test]
    fn everyone_before_the_lock_is_in_one_segment() {
        assert_eq!(present_segment(None, at(5)), 0);
        let segments = [0, 9_999, 10_000, 25_000, -5].map(|ms| present_segment(Some(at(1_000)), at(1_000 + ms)));
        assert_eq!(segments, [1, 1, 2, 3, 1]);
    }

    #[test]
    fn open_segment_is_never_closed_at_the_same_time() {
        for ms in 0..60_000 {
            let (locked, now) = (at(1_000), at(1_000 + ms));
            assert!(closed_segment(locked, now) < present_segment(Some(locked), now));
        }
        assert_eq!([0, 11_999, 12_000, 22_000].map(|ms| closed_segment(at(0), at(ms))), [0, 0, 1, 2]);
    }

    #[test]
    fn ranks_are_exact_for_a_few_and_close_for_many() {
        let seed = WaitingRoomSeed::new([3; 32]);
        for people in [1_u32, 2, 64, 65, 66, 1_000, 50_000] {
            let mut numbers: Vec<i64> = (0..people).map(|n| Place::of(&seed, 0, entry(n)).number).collect();
            numbers.sort_unstable();
            let segment = Segment::closed(0, &numbers);
            let off = (0..).zip(&numbers).map(|(rank, number)| (segment.before(*number) - rank).abs()).max();
            let bound = if people <= 65 { 0 } else { i64::from(people) / 100 + 10 };
            assert!(off.unwrap() <= bound, "{people}: {off:?}");
            assert_eq!(segment.before(0), 0);
            assert_eq!(segment.before(i64::MAX), i64::from(people) - 1);
        }
        assert_eq!(Segment::closed(3, &[]).before(5), 0);
    }

    #[test]
    fn arrival_does_not_matter_for_the_order() {
        const TENTHS: usize = 10;
        for number in 1..=3 {
            let seed = WaitingRoomSeed::new([number; 32]);
            let mut counts = [0_u32; TENTHS];
            for n in 0..100_000 {
                let tenth = (Place::of(&seed, 0, entry(n)).number as u64 * TENTHS as u64) >> 48;
                counts[tenth as usize] += 1;
            }
            let chi2: f64 = counts.iter().map(|n| (f64::from(*n) - 10_000.0).powi(2) / 10_000.0).sum();
            assert!(chi2 < 27.88, "χ² of nine degrees of freedom exceeds this once in a thousand: {chi2} {counts:?}");
        }
    }

    #[test]
    fn no_more_are_called_than_can_buy() {
        assert_eq!(
            [(10, 0, 1), (10, 7, 1), (10, 10, 1), (3, 9, 1), (0, 0, 1)].map(|(l, s, q)| calls(l, s, q)),
            [10, 3, 0, 0, 0]
        );
        assert_eq!([(10, 0, 3), (10, 2, 3), (2, 0, 3), (2, 1, 3)].map(|(l, s, q)| calls(l, s, q)), [3, 1, 1, 0]);
    }

    #[test]
    fn turn_comes_with_the_call_and_is_missed_after_the_grace() {
        let plan = WaitingRoomPlan { seat_s: 60, ..WaitingRoomPlan::default() };
        let place = Place { segment: 0, number: 7 };
        let waiting = WaitingRoomPlace { entry: entry(1), place, joined_at: at(0), called_at: None };
        assert_eq!(waiting.state(plan, at(9)), TurnState::Waiting);
        let called = WaitingRoomPlace { called_at: Some(at(1_000)), ..waiting };
        assert_eq!(
            [1_000, 61_000, 60_999 + SEAT_GRACE_MS, 61_000 + SEAT_GRACE_MS].map(|ms| called.state(plan, at(ms))),
            {
                use TurnState::*;
                [Called, Called, Called, Missed]
            }
        );
    }
}
