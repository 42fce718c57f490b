//! Red packets (红包): an amount of money that a user or the shop gives away in shares, and how it is split.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::wire::wire_enum;
use super::{PacketId, UserId};

/// The giver of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Giver {
    /// A user, from their wallet.
    User(UserId),
    /// The shop: a rain of red packets (红包雨).
    Shop,
}

impl Giver {
    pub fn user(self) -> Option<UserId> {
        match self {
            Giver::User(user) => Some(user),
            Giver::Shop => None,
        }
    }
}

wire_enum! {
    /// The stored state of a packet. A packet is `Open` before it opens, while it can be claimed, and after it is empty
    /// or expired, until it is settled. Users see [`PacketPhase`].
    pub enum PacketState {
        /// Shares can be claimed, or claims may still be on their way to the database.
        Open = "open",
        /// No claim is under way any more. The unclaimed rest has been returned to the giver.
        Settled = "settled",
    }
}

wire_enum! {
    /// The phase of a packet as users see it.
    pub enum PacketPhase {
        Upcoming = "upcoming",
        Open = "open",
        /// Every share is claimed.
        Empty = "empty",
        /// Its time is over, or staff stopped it.
        Expired = "expired",
    }
}

/// A packet as stored in the database. Amounts are minor units in the currency of wallets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    pub id: PacketId,
    pub giver: Giver,
    pub total: i64,
    /// Number of shares.
    pub count: i64,
    /// Bounds of one share.
    pub min: i64,
    pub max: i64,
    pub split: Split,
    /// The giver's plain text.
    pub greeting: String,
    /// Whether the giver may claim a share too.
    pub own: bool,
    pub opens_at: Timestamp,
    /// Moved forward when staff stop the packet.
    pub expires_at: Timestamp,
    /// Buckets over which the shares are spread: share `n` lies in bucket `n mod buckets`.
    pub buckets: u8,
    pub state: PacketState,
    /// Number of claimed shares, and their sum.
    pub claimed: i64,
    pub claimed_amount: i64,
    /// Number of loads into Redis.
    pub epoch: i64,
    pub created_at: Timestamp,
    pub settled_at: Option<Timestamp>,
    /// The luckiest user and their amount (手气最佳), known once the packet is settled. Among equal amounts the first claim
    /// wins.
    pub best: Option<(UserId, i64)>,
}

impl Packet {
    pub fn phase(&self, now: Timestamp) -> PacketPhase {
        if self.claimed >= self.count {
            PacketPhase::Empty
        } else if self.state == PacketState::Settled || now >= self.expires_at {
            PacketPhase::Expired
        } else if now < self.opens_at {
            PacketPhase::Upcoming
        } else {
            PacketPhase::Open
        }
    }

    /// A user's claim to a share. Its time is a placeholder: the opening time of the packet.
    pub fn claim_of(&self, user_id: UserId, share: Share) -> ShareClaim {
        let Share { index, amount } = share;
        ShareClaim { packet_id: self.id, user_id, share: index, amount, claimed_at: self.opens_at }
    }

    /// Whether the request that gave this packet is the same as the one that asks for `other`.
    pub fn is_asked_for_by(&self, other: &Packet) -> bool {
        // A request without an opening time opens the packet when it is given.
        let opening = |packet: &Packet| {
            let [opens, given] = [packet.opens_at, packet.created_at].map(Timestamp::as_millisecond);
            (opens != given).then_some(opens)
        };
        let request = |packet: &Packet| {
            (packet.giver, packet.total, packet.count, packet.min, packet.max, packet.split, packet.own)
        };
        request(self) == request(other) && self.greeting == other.greeting && opening(self) == opening(other)
    }

    /// The unclaimed amount.
    pub fn left(&self) -> i64 {
        self.total - self.claimed_amount
    }
}

/// One share of a packet. The index identifies it, because amounts can be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Share {
    pub index: i64,
    pub amount: i64,
}

impl fmt::Display for Share {
    /// The form stored in Redis: `index:amount`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.index, self.amount)
    }
}

impl FromStr for Share {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let (index, amount) = text.split_once(':').ok_or(())?;
        let share = Share { index: index.parse().map_err(|_| ())?, amount: amount.parse().map_err(|_| ())? };
        if share.index >= 0 && share.amount >= 1 { Ok(share) } else { Err(()) }
    }
}

/// A share that was granted to a user. The outbox and RabbitMQ carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareClaim {
    pub packet_id: PacketId,
    pub user_id: UserId,
    /// The index of the share; see [`Share::index`].
    pub share: i64,
    pub amount: i64,
    pub claimed_at: Timestamp,
}

impl ShareClaim {
    pub fn share(&self) -> Share {
        Share { index: self.share, amount: self.amount }
    }

    /// The identity of a claim: packet, share and user.
    pub fn key(&self) -> (PacketId, i64, UserId) {
        (self.packet_id, self.share, self.user_id)
    }
}

// Splitting the money of a packet into shares, before the first claim.
//
// All three kinds are exact: the sum is the total, and every share is within the bounds. The work is linear in the
// number of shares. The shares are shuffled at the end, so that claiming early or late has no advantage.

/// The largest number of shares of one packet.
pub const MAX_SHARES: i64 = 1_000_000;
/// The largest total in minor units, 2⁵³ − 1: beyond it `f64`, here and in JSON clients, loses units.
pub const MAX_PACKET_TOTAL: i64 = (1 << 53) - 1;

wire_enum! {
    /// The method of splitting.
    #[derive(Default)]
    pub enum Split {
        /// Within the bounds, with most shares near the average.
        #[default]
        Bounded = "bounded",
        /// As equal as whole minor units allow.
        Equal = "equal",
        /// One share after the other, uniform between the minimum and twice the average of the rest (二倍均值法), as
        /// messengers do it.
        DoubleAverage = "double_average",
    }
}

/// A feasible split: `total` minor units into `count` shares, each from `min` to `max`. Invariant:
/// `count × min ≤ total ≤ count × max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitPlan {
    total: i64,
    count: i64,
    min: i64,
    max: i64,
}

/// Why a split is not feasible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitError {
    Total,
    Count,
    /// The smallest share must be at least one minor unit, and the smallest shares together at most the total.
    Min,
    /// The largest share must not be below the smallest, and the largest shares together must reach the total.
    Max,
}

impl SplitPlan {
    /// # Errors
    /// Names the first value that is out of range.
    pub fn new(total: i64, count: i64, min: i64, max: i64) -> Result<SplitPlan, SplitError> {
        if !(1..=MAX_PACKET_TOTAL).contains(&total) {
            return Err(SplitError::Total);
        }
        if !(1..=MAX_SHARES).contains(&count) {
            return Err(SplitError::Count);
        }
        let [least, most] = [min, max].map(|share| i128::from(share) * i128::from(count));
        if min < 1 || least > i128::from(total) {
            return Err(SplitError::Min);
        }
        if max < min || most < i128::from(total) {
            return Err(SplitError::Max);
        }
        // A share is at most the total, so nothing below can overflow.
        Ok(SplitPlan { total, count, min, max: max.min(total) })
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

    /// The shares, in the order in which they are claimed.
    pub fn split(&self, split: Split, random: &mut impl Rng) -> Vec<i64> {
        let mut shares = match split {
            Split::Bounded => self.bounded(random),
            Split::Equal => self.equal(),
            Split::DoubleAverage => self.double_average(random),
        };
        shares.shuffle(random);
        shares
    }

    /// Draws each share below or above the average, with odds that keep the mean, and at a distance from the bound
    /// whose density grows towards the average. The sum misses the total by a small random amount, which
    /// `distribute_difference` corrects.
    fn bounded(&self, random: &mut impl Rng) -> Vec<i64> {
        let (min, max) = (self.min as f64, self.max as f64);
        let average = self.total as f64 / self.count as f64;
        let below = if self.max > self.min { (max - average) / (max - min) } else { 0.0 };
        let shares = (0..self.count).map(|_| {
            // The square root of a uniform draw has a density that grows linearly.
            let distance = random.random::<f64>().sqrt();
            let share = if random.random::<f64>() < below {
                min + (average - min) * distance
            } else {
                max - (max - average) * distance
            };
            (share.round() as i64).clamp(self.min, self.max)
        });
        let mut shares: Vec<i64> = shares.collect();
        self.distribute_difference(&mut shares);
        shares
    }

    /// Distributes the difference to the total over all shares, in proportion to each share's room, to the last unit.
    fn distribute_difference(&self, shares: &mut [i64]) {
        let missing = i128::from(self.total) - shares.iter().map(|share| i128::from(*share)).sum::<i128>();
        let room = |share: i64| i128::from(if missing > 0 { self.max - share } else { share - self.min });
        let rooms: i128 = shares.iter().map(|share| room(*share)).sum();
        if missing == 0 || rooms == 0 {
            return;
        }
        // Each share gets the difference of two running sums that are rounded down. That is never more than its room,
        // because the whole difference is never more than all room.
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

    /// Draws from the widest uniform range around the average of the rest that keeps the bounds, so that the mean stays
    /// right.
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

    #[test]
    fn share_is_parsed_from_its_text() {
        let share = Share { index: 0, amount: 250 };
        assert_eq!(share.to_string(), "0:250");
        assert_eq!("0:250".parse(), Ok(share));
        for wrong in ["", "0", "0:", ":5", "0:0", "-1:5", "1:-5", "1:2:3", "x:y"] {
            assert_eq!(wrong.parse::<Share>(), Err(()), "{wrong:?}");
        }
    }

    fn shares(plan: SplitPlan, split: Split, seed: u64) -> Vec<i64> {
        plan.split(split, &mut StdRng::seed_from_u64(seed))
    }

    #[track_caller]
    fn assert_exact(plan: SplitPlan, split: Split, seed: u64) {
        let shares = shares(plan, split, seed);
        assert_eq!(shares.len() as i64, plan.count, "{plan:?}");
        assert_eq!(shares.iter().map(|s| i128::from(*s)).sum::<i128>(), i128::from(plan.total), "{plan:?} {split:?}");
        let within = shares.iter().all(|share| (plan.min..=plan.max).contains(share));
        assert!(within, "{plan:?} {split:?}: {:?} to {:?}", shares.iter().min(), shares.iter().max());
    }

    /// Feasible plans: small and large counts and amounts, wide and narrow bounds, totals between the bounds and at
    /// both ends.
    fn plans() -> impl Strategy<Value = SplitPlan> {
        let count = prop_oneof![Just(1), 2..=20_i64, 21..=3_000_i64];
        let least = prop_oneof![Just(1), 1..=100_i64, 1..=1_000_000_i64];
        let width = prop_oneof![Just(0), 0..=10_i64, 0..=1_000_000_000_i64];
        let place = prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0];
        (count, least, width, place).prop_map(|(count, min, width, place)| {
            let total = count * min + ((count * width) as f64 * place) as i64;
            SplitPlan::new(total.clamp(count * min, count * (min + width)), count, min, min + width).unwrap()
        })
    }

    proptest! {
        #[test]
        fn every_split_is_exact_and_within_bounds(plan in plans(), seed: u64) {
            for split in Split::ALL {
                assert_exact(plan, split, seed);
            }
        }

        #[test]
        fn equal_seeds_give_equal_splits(plan in plans(), seed: u64) {
            for split in Split::ALL {
                prop_assert_eq!(shares(plan, split, seed), shares(plan, split, seed));
            }
        }

        #[test]
        fn plan_exists_exactly_when_it_is_feasible(
            total in -5..200_i64, count in -2..20_i64, min in -2..20_i64, max in -2..30_i64,
        ) {
            let feasible = total >= 1 && count >= 1 && min >= 1 && max >= min && count * min <= total && total <= count * max;
            prop_assert_eq!(SplitPlan::new(total, count, min, max).is_ok(), feasible);
        }
    }

    #[test]
    fn extreme_plans_are_split_exactly() {
        let trillion = 1_000_000_000_000;
        let (million, many) = (MAX_SHARES, 10_000);
        for (total, count, min, max) in [
            (1, 1, 1, 1),
            (1, 1, 1, i64::MAX),
            (many, many, 1, 1),
            (many, many, 1, i64::MAX),
            (trillion, many, 99_999_999, 100_000_001),
            (2 * many, many, 1, 2),
            (2 * many - 1, many, 1, 2),
            (trillion, 1, 1, trillion),
            (MAX_PACKET_TOTAL, many, 1, MAX_PACKET_TOTAL),
            (MAX_PACKET_TOTAL, 3, 1, MAX_PACKET_TOTAL),
        ] {
            let plan = SplitPlan::new(total, count, min, max).unwrap();
            for split in Split::ALL {
                assert_exact(plan, split, 7);
            }
        }
        assert_exact(SplitPlan::new(trillion, million, 1, trillion).unwrap(), Split::Bounded, 7);
        assert_exact(SplitPlan::new(million, million, 1, 1).unwrap(), Split::Equal, 7);
    }

    #[test]
    fn infeasible_value_is_named() {
        let why = |total, count, min, max| SplitPlan::new(total, count, min, max).unwrap_err();
        assert_eq!(why(0, 1, 1, 1), SplitError::Total);
        assert_eq!(why(-5, 1, 1, 1), SplitError::Total);
        assert_eq!(why(MAX_PACKET_TOTAL + 1, 1, 1, i64::MAX), SplitError::Total);
        assert_eq!(why(5, 0, 1, 1), SplitError::Count);
        assert_eq!(why(MAX_PACKET_TOTAL, MAX_SHARES + 1, 1, i64::MAX), SplitError::Count);
        assert_eq!(why(5, 2, 0, 5), SplitError::Min);
        assert_eq!(why(5, 6, 1, 5), SplitError::Min);
        assert_eq!(why(5, 2, i64::MAX, i64::MAX), SplitError::Min);
        assert_eq!(why(5, 2, 2, 1), SplitError::Max);
        assert_eq!(why(5, 2, 1, 2), SplitError::Max);
    }

    /// Ten thousand packets of twenty shares.
    fn many(split: Split) -> (SplitPlan, Vec<Vec<i64>>) {
        let plan = SplitPlan::new(20_000, 20, 100, 4_000).unwrap();
        let mut random = StdRng::seed_from_u64(42);
        (plan, (0..10_000).map(|_| plan.split(split, &mut random)).collect())
    }

    #[test]
    fn position_in_the_order_has_no_advantage() {
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
            assert!(fair, "{split:?}: the mean of a position is far from {average}: {means:?}");
            assert!(best.iter().all(|n| (380..=620).contains(n)), "{split:?}: the luckiest by position: {best:?}");
        }
    }

    /// A histogram of shares in bins of a hundred units, and the bin of the average.
    fn bins(plan: SplitPlan, packets: usize) -> (Vec<i64>, usize) {
        let mut random = StdRng::seed_from_u64(42);
        let mut bins = vec![0; ((plan.max - plan.min) / 100 + 1) as usize];
        for _ in 0..packets {
            for share in plan.split(Split::Bounded, &mut random) {
                bins[((share - plan.min) / 100) as usize] += 1;
            }
        }
        (bins, ((plan.total / plan.count - plan.min) / 100) as usize)
    }

    /// Whether the histogram rises up to the top and falls after it, within random noise.
    fn has_one_peak(bins: &[i64], top: usize) -> bool {
        let slack = |n: i64| 4.0 * (n.max(1) as f64).sqrt() + 20.0;
        bins.windows(2).enumerate().all(|(n, pair)| {
            let (left, right) = (pair[0] as f64, pair[1] as f64);
            if n < top { right > left - slack(pair[0]) } else { right < left + slack(pair[0]) }
        })
    }

    #[test]
    fn most_shares_are_near_the_average() {
        // The bounds are symmetric around the average at first; then there is far more room above. With few shares, one
        // large share makes the others smaller and moves the peak a little below the average; with many shares it does
        // not.
        for (total, count, min, max, packets, below) in [
            (20_000, 20, 100, 1_900, 10_000, 1),
            (20_000, 20, 100, 4_000, 10_000, 3),
            (2_000_000, 2_000, 100, 4_000, 100, 1),
        ] {
            let plan = SplitPlan::new(total, count, min, max).unwrap();
            let (bins, average) = bins(plan, packets);
            let top = bins.iter().enumerate().max_by_key(|(_, n)| **n).unwrap().0;
            assert!((average - below..=average).contains(&top), "{plan:?}: the peak is at {top}: {bins:?}");
            assert!(has_one_peak(&bins, top), "{plan:?}: not single-peaked: {bins:?}");
            let near = bins[average / 2..=average + average / 2].iter().sum::<i64>();
            assert!(
                near * 2 > bins.iter().sum::<i64>(),
                "{plan:?}: most shares are within half the average of it: {bins:?}"
            );
        }
    }
}
