//! Tests whether wins depend on something that should not matter, such as the order of arrival: Pearson's χ² over
//! groups.
//!
//! Accounts or requests are divided into groups, and winners and losers of each are counted. If a win is equally likely
//! in each of ten groups, χ² exceeds 16.9 once in twenty times, and 27.9 once in a thousand.

use serde::{Deserialize, Serialize};

use super::wire::wire_enum;

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
