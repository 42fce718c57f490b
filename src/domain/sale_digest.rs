//! The part of a sale's report that comes from its orders, places and entries, and a test of whether everyone had the same
//! chance. It has numbers only and names no account.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::OrderStatus;
use super::wire::wire_enum;

/// Widths of the slots of a plot, in milliseconds, from a second to a day.
const WIDTHS_MS: [i64; 11] =
    [1_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000];
/// Slots are as narrow as they can be with fewer than this many of them. [`MINUTE_MS`] bounds their width.
const MIN_SLOTS: i64 = 120;
/// Slots are no wider than this in sales of up to a week.
const MINUTE_MS: i64 = 60_000;
/// A sale is divided into at most this many slots, the minutes of a week. Payments after its end have as many slots
/// again.
const MAX_SLOTS: i64 = 7 * 24 * 60;

/// The upper bounds of an account's age at the opening, in milliseconds: an hour, a day, a week, 30 days. Older
/// accounts are in a last group.
pub const AGE_BOUNDS_MS: [i64; 4] = [3_600_000, 86_400_000, 604_800_000, 2_592_000_000];

/// An order of the sale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderFact {
    pub units: i64,
    pub status: OrderStatus,
    /// Why the order ended.
    pub reason: Option<String>,
    pub reserved_at: Timestamp,
    pub paid_at: Option<Timestamp>,
    /// When the order's units came back.
    pub ended_at: Option<Timestamp>,
    /// When the order's owner registered; `None` if the account is gone.
    pub registered_at: Option<Timestamp>,
}

/// Figures of a sale that need a look at each of its orders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SaleDigest {
    /// The opening, in Unix milliseconds.
    pub from_ms: i64,
    pub slot_ms: i64,
    /// Units that were reserved in each slot from the opening on, also if the order ended later.
    pub reserved: Vec<i64>,
    /// Units that were paid for in each slot.
    pub paid: Vec<i64>,
    /// When every unit of the sale was held for the first time, in milliseconds after the opening.
    pub sold_out_ms: Option<i64>,
    /// The number of ended orders by reason.
    pub ended: BTreeMap<String, i64>,
    /// Accounts by their age. In a rush only winners are known, so `all` is 0.
    pub ages: Vec<Group>,
    /// Tenths by the order of joining a waiting room or entering a draw.
    pub tenths: Vec<Group>,
    /// The number of accounts on the waitlist by state.
    pub waiters: BTreeMap<String, i64>,
    /// The last slot. Later payments are counted in it, too.
    #[serde(skip)]
    last_slot: i64,
    /// Units held at the last order, for [`SaleDigest::sold_out_ms`].
    #[serde(skip)]
    held: i64,
    /// The held units that come back later, by the time at which they do, in Unix milliseconds.
    #[serde(skip)]
    returning: BTreeMap<i64, i64>,
}

impl Default for SaleDigest {
    fn default() -> SaleDigest {
        SaleDigest::new(Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH)
    }
}

impl SaleDigest {
    /// An empty digest of a sale that opened at `opened`. `until` is its end, or the present if it has not closed yet.
    pub fn new(opened: Timestamp, until: Timestamp) -> SaleDigest {
        let lasted = until.as_millisecond() - opened.as_millisecond();
        let width = |slots: i64| WIDTHS_MS.into_iter().find(|width| lasted / width < slots).unwrap_or(WIDTHS_MS[10]);
        let slot_ms = width(MIN_SLOTS).min(MINUTE_MS.max(width(MAX_SLOTS + 1)));
        SaleDigest {
            from_ms: opened.as_millisecond(),
            slot_ms,
            reserved: Vec::new(),
            paid: Vec::new(),
            sold_out_ms: None,
            ended: BTreeMap::new(),
            ages: vec![Group::default(); AGE_BOUNDS_MS.len() + 1],
            tenths: Vec::new(),
            waiters: BTreeMap::new(),
            last_slot: 2 * (lasted / slot_ms).max(MIN_SLOTS) - 1,
            held: 0,
            returning: BTreeMap::new(),
        }
    }

    /// Adds an order. Orders are added in the order of their reservation. `total` is the number of units of the sale.
    pub fn add(&mut self, order: &OrderFact, total: i64) {
        if let Some(reason) = &order.reason {
            *self.ended.entry(reason.clone()).or_default() += 1;
        }
        if order.status == OrderStatus::Rejected {
            return;
        }
        self.count(order.reserved_at, order.units, |digest| &mut digest.reserved);
        if let Some(paid_at) = order.paid_at {
            self.count(paid_at, order.units, |digest| &mut digest.paid);
        }
        self.hold(order);
        if self.held >= total && self.sold_out_ms.is_none() {
            self.sold_out_ms = Some((order.reserved_at.as_millisecond() - self.from_ms).max(0));
        }
        if let Some(registered) = order.registered_at {
            self.ages[age_group(self.from_ms - registered.as_millisecond())].won += 1;
        }
    }

    /// Adds the units of an order to `held`, and first subtracts units that came back before it.
    fn hold(&mut self, order: &OrderFact) {
        let now = order.reserved_at.as_millisecond();
        while let Some(entry) = self.returning.first_entry().filter(|entry| *entry.key() <= now) {
            self.held -= entry.remove();
        }
        self.held += order.units;
        if let Some(ended_at) = order.ended_at {
            *self.returning.entry(ended_at.as_millisecond()).or_default() += order.units;
        }
    }

    fn count(&mut self, at: Timestamp, units: i64, slots: impl Fn(&mut SaleDigest) -> &mut Vec<i64>) {
        let slot = ((at.as_millisecond() - self.from_ms).max(0) / self.slot_ms).min(self.last_slot) as usize;
        let slots = slots(self);
        slots.resize(slots.len().max(slot + 1), 0);
        slots[slot] += units;
    }
}

/// The group of an account of this age in milliseconds.
pub fn age_group(age_ms: i64) -> usize {
    AGE_BOUNDS_MS.iter().position(|bound| age_ms < *bound).unwrap_or(AGE_BOUNDS_MS.len())
}

// Tests whether wins depend on something that should not matter, such as the order of arrival: Pearson's χ² over
// groups.
//
// Accounts or requests are divided into groups, and winners and losers of each are counted. If a win is equally likely
// in each of ten groups, χ² exceeds 16.9 once in twenty times, and 27.9 once in a thousand.

/// Some of the accounts or requests that took part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Number of accounts, or of requests where accounts are not counted.
    pub all: i64,
    pub won: i64,
}

impl Group {
    /// The share that won, from 0 to 1.
    pub fn chance(self) -> f64 {
        if self.all > 0 { self.won as f64 / self.all as f64 } else { 0.0 }
    }
}

/// The result of a test whether all groups had the same chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evenness {
    pub chi2: f64,
    pub degrees: u32,
    /// The probability of such a χ², or a greater one, if all had the same chance.
    pub p: f64,
}

wire_enum! {
    /// What the test says.
    pub enum EvennessVerdict {
        /// Chance alone explains the differences.
        Even = "even",
        /// Chance alone would differ as much once in 20 to 1,000 times.
        Doubtful = "doubtful",
        Uneven = "uneven",
    }
}

/// χ² is not distributed as it should be where fewer wins than this are expected in a group.
const MIN_EXPECTED: f64 = 5.0;

impl Evenness {
    /// `None` if the groups allow no statement: there are fewer than two, all or none won, or too few.
    pub fn of(groups: &[Group]) -> Option<Evenness> {
        let all: i64 = groups.iter().map(|group| group.all).sum();
        let won: i64 = groups.iter().map(|group| group.won.min(group.all)).sum();
        if groups.len() < 2 || won == 0 || won >= all {
            return None;
        }
        let share = won as f64 / all as f64;
        let mut chi2 = 0.0;
        for group in groups {
            let (wins, losses) = (group.all as f64 * share, group.all as f64 * (1.0 - share));
            if wins.min(losses) < MIN_EXPECTED {
                return None;
            }
            let off = group.won.min(group.all) as f64 - wins;
            chi2 += off * off / wins + off * off / losses;
        }
        let degrees = groups.len() as u32 - 1;
        Some(Evenness { chi2, degrees, p: upper_tail(chi2, degrees) })
    }

    pub fn verdict(self) -> EvennessVerdict {
        match self.p {
            p if p >= 0.05 => EvennessVerdict::Even,
            p if p >= 0.001 => EvennessVerdict::Doubtful,
            _ => EvennessVerdict::Uneven,
        }
    }
}

/// The probability that χ² with this many degrees of freedom is at least `chi2`: the regularized upper incomplete gamma
/// function Q(degrees ÷ 2, chi2 ÷ 2), by its recurrence from Q(½) or Q(1).
fn upper_tail(chi2: f64, degrees: u32) -> f64 {
    let x = chi2 / 2.0;
    if x <= 0.0 {
        return 1.0;
    }
    let is_odd = degrees % 2 == 1;
    let (mut a, mut tail) = if is_odd { (0.5, erfc(x.sqrt())) } else { (1.0, (-x).exp()) };
    // x^a e^(-x) ÷ Γ(a + 1), by which Q(a + 1) exceeds Q(a).
    let mut step = if is_odd { 2.0 * (x / std::f64::consts::PI).sqrt() * (-x).exp() } else { x * (-x).exp() };
    while a + 0.25 < f64::from(degrees) / 2.0 {
        tail += step;
        a += 1.0;
        step *= x / a;
    }
    tail.clamp(0.0, 1.0)
}

/// The complementary error function of a number that is not negative, with a relative error below 1.2 · 10⁻⁷ (Press et al.,
/// Numerical Recipes, 6.2).
fn erfc(z: f64) -> f64 {
    const COEFFICIENTS: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let t = 1.0 / (1.0 + 0.5 * z);
    let polynomial = COEFFICIENTS.iter().rev().fold(0.0, |sum, coefficient| sum * t + coefficient);
    t * (polynomial - z * z).exp()
}

/// Requests that arrived in adjacent slots, and how many of them won.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrivalGroup {
    /// The first slot after the group.
    pub until: usize,
    pub group: Group,
}

/// Divides the slots of an opening into at most ten groups with about equally many requests. A slot is not divided,
/// because the order within it is not known. Wins are counted in the slot in which they were decided, `delay` slots
/// after the request. A group with more wins than requests passes the rest on.
pub fn by_arrival(asked: &[u64], won: &[u64], delay: usize) -> Vec<ArrivalGroup> {
    let all: u64 = asked.iter().sum();
    let mut groups: Vec<ArrivalGroup> = Vec::new();
    let (mut seen, mut current) = (0, Group::default());
    for (slot, asked) in asked.iter().enumerate() {
        seen += asked;
        current.all += *asked as i64;
        if current.all > 0 && seen * 10 >= all * (groups.len() as u64 + 1) {
            groups.push(ArrivalGroup { until: slot + 1, group: std::mem::take(&mut current) });
        }
    }
    let Some(last) = groups.len().checked_sub(1) else { return groups };
    for (slot, won) in won.iter().enumerate() {
        let asked_at = slot.saturating_sub(delay);
        let group = groups.iter().position(|part| asked_at < part.until).unwrap_or(last);
        groups[group].group.won += *won as i64;
    }
    // The rest goes to later groups first. What is still left at the end goes back to earlier groups.
    let (forth, back) = ((0..last).map(|n| (n, n + 1)), (0..last).rev().map(|n| (n + 1, n)));
    for (from, to) in forth.chain(back) {
        let rest = (groups[from].group.won - groups[from].group.all).max(0);
        groups[from].group.won -= rest;
        groups[to].group.won += rest;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
    }

    fn order(ms: i64, units: i64, status: OrderStatus) -> OrderFact {
        OrderFact {
            units,
            status,
            reason: None,
            reserved_at: at(ms),
            paid_at: None,
            ended_at: None,
            registered_at: None,
        }
    }

    #[test]
    fn slots_are_as_wide_as_the_sale_needs() {
        let width = |seconds: i64| SaleDigest::new(at(0), at(seconds * 1_000)).slot_ms;
        assert_eq!([0, 119, 120, 3_600, 86_400].map(width), [1_000, 1_000, 5_000, 60_000, 60_000]);
        assert_eq!([7, 8].map(|days| width(days * 86_400)), [60_000, 300_000], "a week is kept by the minute");
        assert_eq!(width(10_000 * 86_400), 86_400_000);
    }

    #[test]
    fn orders_are_counted_in_their_slots_and_the_last_unit_ends_the_stock() {
        let mut digest = SaleDigest::new(at(0), at(60_000));
        let paid = OrderFact { paid_at: Some(at(30_500)), ..order(40, 2, OrderStatus::Paid) };
        let ended = OrderFact { reason: Some("unpaid".to_owned()), ..order(1_500, 1, OrderStatus::Cancelled) };
        let refused = OrderFact { reason: Some("sold_out".to_owned()), ..order(1_600, 9, OrderStatus::Rejected) };
        for order in [paid, ended, refused, order(1_700, 1, OrderStatus::Unpaid), order(1_800, 1, OrderStatus::Unpaid)]
        {
            digest.add(&order, 4);
        }
        assert_eq!(digest.reserved, [2, 3]);
        assert_eq!((digest.paid.len(), digest.paid[30]), (31, 2));
        assert_eq!(digest.sold_out_ms, Some(1_700));
        assert_eq!(digest.ended, BTreeMap::from([("sold_out".to_owned(), 1), ("unpaid".to_owned(), 1)]));
        let kept = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<SaleDigest>(&kept).unwrap().reserved, digest.reserved);
    }

    #[test]
    fn units_that_were_sold_twice_do_not_end_the_stock() {
        let mut digest = SaleDigest::new(at(0), at(60_000));
        let returned = OrderFact { ended_at: Some(at(2_000)), ..order(100, 2, OrderStatus::Cancelled) };
        for order in [returned, order(2_000, 2, OrderStatus::Paid), order(3_000, 1, OrderStatus::Paid)] {
            digest.add(&order, 4);
        }
        assert_eq!(digest.sold_out_ms, None, "three of four units are held");
        digest.add(&order(4_000, 1, OrderStatus::Unpaid), 4);
        assert_eq!(digest.sold_out_ms, Some(4_000));
    }

    #[test]
    fn late_payment_falls_into_the_last_slot_and_an_early_clock_into_the_first() {
        let mut digest = SaleDigest::new(at(0), at(60_000));
        digest.add(&OrderFact { paid_at: Some(at(9_000_000)), ..order(-30, 1, OrderStatus::Paid) }, 5);
        assert_eq!((digest.reserved.as_slice(), digest.paid.len(), digest.sold_out_ms), (&[1][..], 240, None));
    }

    #[test]
    fn buyers_are_grouped_by_the_age_of_their_accounts() {
        let ages = [-5, 0, 3_599_999, 3_600_000, 86_400_000, 700_000_000, 2_592_000_000].map(age_group);
        assert_eq!(ages, [0, 0, 0, 1, 2, 3, 4]);
        let mut digest = SaleDigest::new(at(0), at(60_000));
        digest.add(&OrderFact { registered_at: Some(at(-4_000_000)), ..order(1, 1, OrderStatus::Paid) }, 5);
        assert_eq!(digest.ages[1], Group { all: 0, won: 1 });
    }

    fn groups(all: i64, won: &[i64]) -> Vec<Group> {
        won.iter().map(|won| Group { all, won: *won }).collect()
    }

    /// Compares with a table of the χ² distribution.
    #[test]
    fn tail_is_that_of_the_table() {
        for (degrees, chi2, p) in [
            (1, 3.841, 0.05),
            (2, 5.991, 0.05),
            (3, 7.815, 0.05),
            (4, 9.488, 0.05),
            (9, 4.168, 0.9),
            (9, 8.343, 0.5),
            (9, 16.919, 0.05),
            (9, 27.877, 0.001),
            (10, 29.588, 0.001),
        ] {
            let found = upper_tail(chi2, degrees);
            assert!((found / p - 1.0).abs() < 0.002, "{degrees} {chi2}: {found} for {p}");
        }
        assert_eq!(upper_tail(0.0, 9), 1.0);
        assert!(upper_tail(4_000.0, 9) < 1e-100);
    }

    #[test]
    fn chi2_is_that_of_the_table_of_wins_and_losses() {
        // Expected 10 wins and 90 losses each: 3² · (1/10 + 1/90) for two of the groups.
        let found = Evenness::of(&groups(100, &[13, 7, 10, 10])).unwrap();
        assert!((found.chi2 - 2.0).abs() < 1e-9, "{found:?}");
        assert_eq!((found.degrees, found.verdict()), (3, EvennessVerdict::Even));
        let doubtful = Evenness::of(&groups(100, &[20, 8, 8, 8])).unwrap();
        assert_eq!(doubtful.verdict(), EvennessVerdict::Doubtful, "{doubtful:?}");
        let first_come = Evenness::of(&groups(100, &[90, 10, 0, 0, 0, 0, 0, 0, 0, 0])).unwrap();
        assert_eq!(first_come.verdict(), EvennessVerdict::Uneven);
    }

    #[test]
    fn groups_that_say_nothing_are_not_judged() {
        let few = [groups(100, &[]), groups(100, &[9]), groups(100, &[0, 0]), groups(9, &[9, 9]), groups(40, &[3, 4])];
        for groups in few {
            assert_eq!(Evenness::of(&groups), None, "{groups:?}");
        }
    }

    #[test]
    fn arrivals_are_divided_between_slots() {
        assert_eq!(by_arrival(&[], &[], 0), []);
        let one = by_arrival(&[0, 50], &[0, 7], 0);
        assert_eq!(
            one,
            [ArrivalGroup { until: 2, group: Group { all: 50, won: 7 } }],
            "within a slot nothing is known"
        );
        let two = by_arrival(&[0, 50, 0, 50, 0], &[0, 7, 1], 0);
        assert_eq!(
            two,
            [
                ArrivalGroup { until: 2, group: Group { all: 50, won: 7 } },
                ArrivalGroup { until: 4, group: Group { all: 50, won: 1 } },
            ]
        );
        let many = by_arrival(&[1; 1000], &[1; 30], 0);
        assert_eq!(many.len(), 10);
        assert!(many.iter().all(|part| part.group.all == 100), "{many:?}");
        assert_eq!(many.iter().map(|part| part.group.won).sum::<i64>(), 30);
    }

    #[test]
    fn win_belongs_to_the_request_that_it_was_decided_for() {
        let won = |asked: &[u64], won: &[u64], delay| -> Vec<i64> {
            by_arrival(asked, won, delay).iter().map(|part| part.group.won).collect()
        };
        let asked = [10, 10, 0, 0, 0];
        assert_eq!(won(&asked, &[0, 0, 0, 8, 0], 3), [8, 0], "decided 30 ms after the first requests");
        assert_eq!(won(&asked, &[0, 0, 0, 0, 8], 3), [0, 8]);
        assert_eq!(won(&asked, &[0, 0, 0, 0, 15], 0), [5, 10], "no more than were asked for");
        assert_eq!(won(&asked, &[14, 0, 0, 0, 0], 0), [10, 4]);
    }
}
