//! How the money of a packet is split into shares, before anybody claims one.
//!
//! All three kinds are exact: the sum is the total, every share is within the bounds, the work grows with the number of
//! shares alone. In the end the shares are shuffled, so that coming early or late is worth nothing.

use rand::Rng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

/// More shares than any packet has.
pub const MOST_SHARES: i64 = 1_000_000;
/// More minor units than any packet holds: beyond it floating point, and other people's programs, lose units.
pub const MOST_MONEY: i64 = (1 << 53) - 1;

/// How the money is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Within the bounds, and most near the average.
    #[default]
    Bounded,
    /// As equal as whole units allow.
    Equal,
    /// As messengers do it: one after the other, evenly between the least and twice the average of what is left.
    DoubleAverage,
}

impl Split {
    pub const ALL: [Split; 3] = [Split::Bounded, Split::Equal, Split::DoubleAverage];

    pub fn as_str(self) -> &'static str {
        match self {
            Split::Bounded => "bounded",
            Split::Equal => "equal",
            Split::DoubleAverage => "double_average",
        }
    }
}

impl std::str::FromStr for Split {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        Split::ALL.into_iter().find(|split| split.as_str() == text).ok_or(())
    }
}

/// What is to be split: so many minor units into so many shares, each from `min` to `max`. It can be done: whoever holds
/// one knows that `count × min ≤ total ≤ count × max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    total: i64,
    count: i64,
    min: i64,
    max: i64,
}

/// Why there is no way to split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    #[error("the total must be from 1 to 9007199254740991 minor units")]
    Total,
    #[error("the number of shares must be from 1 to 1000000")]
    Count,
    #[error("the least share must be at least one minor unit, and so many of them must not be more than the total")]
    Min,
    #[error("the greatest share must not be below the least, and so many of them must reach the total")]
    Max,
}

impl Plan {
    /// # Errors
    /// Says which value cannot be; of several, the first.
    pub fn new(total: i64, count: i64, min: i64, max: i64) -> Result<Plan, Impossible> {
        if !(1..=MOST_MONEY).contains(&total) {
            return Err(Impossible::Total);
        }
        if !(1..=MOST_SHARES).contains(&count) {
            return Err(Impossible::Count);
        }
        let all = |share: i64| i128::from(share) * i128::from(count);
        if min < 1 || all(min) > i128::from(total) {
            return Err(Impossible::Min);
        }
        if max < min || all(max) < i128::from(total) {
            return Err(Impossible::Max);
        }
        // A share is never more than everything, so that nothing below can overflow.
        Ok(Plan { total, count, min, max: max.min(total) })
    }

    pub fn total(&self) -> i64 {
        self.total
    }

    pub fn count(&self) -> i64 {
        self.count
    }

    pub fn min(&self) -> i64 {
        self.min
    }

    pub fn max(&self) -> i64 {
        self.max
    }

    /// The shares, in the order in which they are given away.
    pub fn split(&self, split: Split, random: &mut impl Rng) -> Vec<i64> {
        let mut shares = match split {
            Split::Bounded => self.bounded(random),
            Split::Equal => self.equal(),
            Split::DoubleAverage => self.double_average(random),
        };
        shares.shuffle(random);
        shares
    }

    /// Each share lies below or above the average, with odds that make the mean right, and at a distance from the far
    /// end whose density grows towards the average. What is over or missing then is a matter of chance, and small.
    fn bounded(&self, random: &mut impl Rng) -> Vec<i64> {
        let (min, max) = (self.min as f64, self.max as f64);
        let average = self.total as f64 / self.count as f64;
        let below = if self.max > self.min { (max - average) / (max - min) } else { 0.0 };
        let draw = |_| {
            // The square root of an even draw: its density grows in proportion to it.
            let distance = random.random::<f64>().sqrt();
            let share = if random.random::<f64>() < below {
                min + (average - min) * distance
            } else {
                max - (max - average) * distance
            };
            (share.round() as i64).clamp(self.min, self.max)
        };
        let mut shares: Vec<i64> = (0..self.count).map(draw).collect();
        self.settle(&mut shares);
        shares
    }

    /// Moves what is over or missing over all shares, to each in proportion to its room, to the last unit.
    fn settle(&self, shares: &mut [i64]) {
        let missing = i128::from(self.total) - shares.iter().map(|share| i128::from(*share)).sum::<i128>();
        let room = |share: i64| i128::from(if missing > 0 { self.max - share } else { share - self.min });
        let rooms: i128 = shares.iter().map(|share| room(*share)).sum();
        if missing == 0 || rooms == 0 {
            return;
        }
        // What all shares so far get together, rounded down: the difference of two is what one gets, never more than its
        // room, because all that is missing is never more than all room.
        let (mut passed, mut given) = (0, 0);
        for share in shares {
            passed += room(*share);
            let until_here = missing.abs() * passed / rooms;
            let units = (until_here - given) as i64;
            *share += if missing > 0 { units } else { -units };
            given = until_here;
        }
    }

    fn equal(&self) -> Vec<i64> {
        let (share, rest) = (self.total / self.count, self.total % self.count);
        (0..self.count).map(|n| share + i64::from(n < rest)).collect()
    }

    /// The widest even range around the average of what is left that keeps the bounds, so that the mean stays right.
    fn double_average(&self, random: &mut impl Rng) -> Vec<i64> {
        let mut left = self.total;
        let mut shares = Vec::with_capacity(self.count as usize);
        for of in (1..=self.count).rev() {
            let twice = 2 * i128::from(left);
            let of = i128::from(of);
            let (min, max) = (i128::from(self.min), i128::from(self.max));
            let (low, high) = if twice <= of * (min + max) {
                (min, (twice - of * min) / of)
            } else {
                ((twice - of * max + of - 1) / of, max)
            };
            let share = if of == 1 { left } else { random.random_range(low as i64..=high as i64) };
            shares.push(share);
            left -= share;
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    fn shares(plan: Plan, split: Split, seed: u64) -> Vec<i64> {
        plan.split(split, &mut StdRng::seed_from_u64(seed))
    }

    #[track_caller]
    fn is_right(plan: Plan, split: Split, seed: u64) {
        let shares = shares(plan, split, seed);
        assert_eq!(shares.len() as i64, plan.count, "{plan:?}");
        assert_eq!(shares.iter().map(|s| i128::from(*s)).sum::<i128>(), i128::from(plan.total), "{plan:?} {split:?}");
        let within = shares.iter().all(|share| (plan.min..=plan.max).contains(share));
        assert!(within, "{plan:?} {split:?}: {:?} to {:?}", shares.iter().min(), shares.iter().max());
    }

    /// Any plan that can be: small and large counts and amounts, wide and narrow bounds, totals anywhere between them
    /// and at both ends.
    fn plans() -> impl Strategy<Value = Plan> {
        let count = prop_oneof![Just(1), 2..=20_i64, 21..=3_000_i64];
        let least = prop_oneof![Just(1), 1..=100_i64, 1..=1_000_000_i64];
        let width = prop_oneof![Just(0), 0..=10_i64, 0..=1_000_000_000_i64];
        let place = prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0];
        (count, least, width, place).prop_map(|(count, min, width, place)| {
            let total = count * min + ((count * width) as f64 * place) as i64;
            Plan::new(total.clamp(count * min, count * (min + width)), count, min, min + width).unwrap()
        })
    }

    proptest! {
        #[test]
        fn every_split_is_exact_and_within_bounds(plan in plans(), seed: u64) {
            for split in Split::ALL {
                is_right(plan, split, seed);
            }
        }

        #[test]
        fn the_same_seed_splits_the_same_way(plan in plans(), seed: u64) {
            for split in Split::ALL {
                prop_assert_eq!(shares(plan, split, seed), shares(plan, split, seed));
            }
        }

        #[test]
        fn a_plan_exists_exactly_when_it_can_be(
            total in -5..200_i64, count in -2..20_i64, min in -2..20_i64, max in -2..30_i64,
        ) {
            let can_be = total >= 1 && count >= 1 && min >= 1 && max >= min && count * min <= total && total <= count * max;
            prop_assert_eq!(Plan::new(total, count, min, max).is_ok(), can_be);
        }
    }

    #[test]
    fn the_largest_and_the_smallest_are_right_too() {
        let trillion = 1_000_000_000_000;
        let (million, many) = (MOST_SHARES, 10_000);
        for (total, count, min, max) in [
            (1, 1, 1, 1),
            (1, 1, 1, i64::MAX),
            (many, many, 1, 1),
            (many, many, 1, i64::MAX),
            (trillion, many, 99_999_999, 100_000_001),
            (2 * many, many, 1, 2),
            (2 * many - 1, many, 1, 2),
            (trillion, 1, 1, trillion),
            (MOST_MONEY, many, 1, MOST_MONEY),
            (MOST_MONEY, 3, 1, MOST_MONEY),
        ] {
            let plan = Plan::new(total, count, min, max).unwrap();
            for split in Split::ALL {
                is_right(plan, split, 7);
            }
        }
        is_right(Plan::new(trillion, million, 1, trillion).unwrap(), Split::Bounded, 7);
        is_right(Plan::new(million, million, 1, 1).unwrap(), Split::Equal, 7);
    }

    #[test]
    fn what_cannot_be_is_named() {
        let why = |total, count, min, max| Plan::new(total, count, min, max).unwrap_err();
        assert_eq!(why(0, 1, 1, 1), Impossible::Total);
        assert_eq!(why(-5, 1, 1, 1), Impossible::Total);
        assert_eq!(why(MOST_MONEY + 1, 1, 1, i64::MAX), Impossible::Total);
        assert_eq!(why(5, 0, 1, 1), Impossible::Count);
        assert_eq!(why(MOST_MONEY, MOST_SHARES + 1, 1, i64::MAX), Impossible::Count);
        assert_eq!(why(5, 2, 0, 5), Impossible::Min);
        assert_eq!(why(5, 6, 1, 5), Impossible::Min);
        assert_eq!(why(5, 2, i64::MAX, i64::MAX), Impossible::Min);
        assert_eq!(why(5, 2, 2, 1), Impossible::Max);
        assert_eq!(why(5, 2, 1, 2), Impossible::Max);
    }

    /// Ten thousand packets of twenty shares.
    fn many(split: Split) -> (Plan, Vec<Vec<i64>>) {
        let plan = Plan::new(20_000, 20, 100, 4_000).unwrap();
        let mut random = StdRng::seed_from_u64(42);
        (plan, (0..10_000).map(|_| plan.split(split, &mut random)).collect())
    }

    #[test]
    fn coming_early_or_late_is_worth_nothing() {
        for split in [Split::Bounded, Split::DoubleAverage] {
            let (plan, packets) = many(split);
            let average = plan.total as f64 / plan.count as f64;
            let (mut means, mut best) = (vec![0.0; 20], vec![0; 20]);
            for packet in &packets {
                let most = packet.iter().max().unwrap();
                best[packet.iter().position(|share| share == most).unwrap()] += 1;
                packet.iter().zip(&mut means).for_each(|(share, mean)| *mean += *share as f64 / packets.len() as f64);
            }
            // Standard errors are about 7 units and 22 packets.
            let fair = means.iter().all(|mean| (mean - average).abs() < 40.0);
            assert!(fair, "{split:?}: the mean of some place is far from {average}: {means:?}");
            assert!(best.iter().all(|n| (380..=620).contains(n)), "{split:?}: the luckiest by place: {best:?}");
        }
    }

    /// How many shares of many packets fell into each of the bins of a hundred units, with the one that the average lies in.
    fn bins(plan: Plan, packets: usize) -> (Vec<i64>, usize) {
        let mut random = StdRng::seed_from_u64(42);
        let mut bins = vec![0; ((plan.max - plan.min) / 100 + 1) as usize];
        for _ in 0..packets {
            for share in plan.split(Split::Bounded, &mut random) {
                bins[((share - plan.min) / 100) as usize] += 1;
            }
        }
        (bins, ((plan.total / plan.count - plan.min) / 100) as usize)
    }

    /// Rising up to the top and falling after it, but for chance.
    fn has_one_peak(bins: &[i64], top: usize) -> bool {
        let slack = |n: i64| 4.0 * (n.max(1) as f64).sqrt() + 20.0;
        bins.windows(2).enumerate().all(|(n, pair)| {
            let (left, right) = (pair[0] as f64, pair[1] as f64);
            if n < top { right > left - slack(pair[0]) } else { right < left + slack(pair[0]) }
        })
    }

    #[test]
    fn most_shares_are_near_the_average() {
        // As far up as down from the average; then far more up, where a few shares that must make up for one large one
        // pull the top a little below the average, and many do not.
        for (total, count, min, max, packets, below) in [
            (20_000, 20, 100, 1_900, 10_000, 1),
            (20_000, 20, 100, 4_000, 10_000, 3),
            (2_000_000, 2_000, 100, 4_000, 100, 1),
        ] {
            let plan = Plan::new(total, count, min, max).unwrap();
            let (bins, average) = bins(plan, packets);
            let top = bins.iter().enumerate().max_by_key(|(_, n)| **n).unwrap().0;
            assert!((average - below..=average).contains(&top), "{plan:?}: the top is at {top}: {bins:?}");
            assert!(has_one_peak(&bins, top), "{plan:?}: not single-peaked: {bins:?}");
            let near = bins[average / 2..=average + average / 2].iter().sum::<i64>();
            assert!(near * 2 > bins.iter().sum::<i64>(), "{plan:?}: most are within half the average of it: {bins:?}");
        }
    }
}
