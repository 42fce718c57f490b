//! How much better a scripted account's chance is than a human's.

use serde::Serialize;

use super::GroupTotals;

/// Standard deviations of a normal distribution within which 95 % lie.
const WITHIN_95_PERCENT: f64 = 1.96;
/// If nothing was counted, fewer than this were to be expected with 95 % confidence ("rule of three", Hanley and
/// Lippman-Hand 1983).
const EXPECTED_AT_ZERO: f64 = 3.0;

/// A = (units per bot account) ÷ (units per shopper). 1 is fair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Advantage {
    pub ratio: f64,
    /// The bounds of the 95 % confidence interval.
    pub low: f64,
    pub high: f64,
}

impl Advantage {
    /// The risk ratio of two groups with its interval (Katz, on a logarithmic scale). `None` if a group is empty, or if
    /// shoppers got nothing: the ratio is then infinite.
    pub fn of(bots: &GroupTotals, shoppers: &GroupTotals) -> Option<Advantage> {
        if bots.accounts == 0 || shoppers.units == 0 {
            return None;
        }
        if bots.units == 0 {
            let high = EXPECTED_AT_ZERO / bots.accounts as f64 / shoppers.units_per_account();
            return Some(Advantage { ratio: 0.0, low: 0.0, high });
        }
        let spread = |group: &GroupTotals| (1.0 / group.units as f64 - 1.0 / group.accounts as f64).max(0.0);
        let ratio = bots.units_per_account() / shoppers.units_per_account();
        let factor = (WITHIN_95_PERCENT * (spread(bots) + spread(shoppers)).sqrt()).exp();
        Some(Advantage { ratio, low: ratio / factor, high: ratio * factor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(accounts: usize, units: usize) -> GroupTotals {
        GroupTotals { accounts, requests: 0, refused: 0, rate_limited: 0, units }
    }

    #[test]
    fn advantage_is_the_ratio_of_chances_with_an_interval() {
        let of = |bots, shoppers| Advantage::of(&bots, &shoppers);
        let all = of(group(20, 20), group(2_000, 80)).unwrap();
        assert!((all.ratio - 25.0).abs() < 1e-9 && all.low < 25.0 && 25.0 < all.high, "{all:?}");
        let fair = of(group(200, 10), group(2_000, 100)).unwrap();
        assert!(
            (fair.ratio - 1.0).abs() < 1e-9 && (0.5..0.6).contains(&fair.low) && (1.7..2.0).contains(&fair.high),
            "{fair:?}"
        );
        let none = of(group(20, 0), group(2_000, 100)).unwrap();
        assert!(none.ratio == 0.0 && none.low == 0.0 && (none.high - 3.0).abs() < 1e-9, "{none:?}");
        for (bots, shoppers) in [(group(0, 0), group(5, 5)), (group(5, 5), group(9, 0)), (group(5, 0), group(9, 0))] {
            assert_eq!(of(bots, shoppers), None);
        }
    }
}
