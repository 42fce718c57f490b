//! The waitlist of a sold-out rush: accounts that wait for units to come back.
//!
//! A segment begins when an account joins and no segment is running, and lasts [`SEGMENT`]. Accounts that joined in an
//! earlier segment are served first; within a segment the order follows from the account and a secret seed. So nothing
//! is won by being a moment faster, by more requests or by another browser. A segment has its turn once it is over.
//!
//! Units are kept for accounts whose segment is over, and for accounts of the running segment that are on the waitlist
//! for the first time. So an account that leaves and joins again, as often as it likes, keeps no unit from the others.

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::secret::CommittedSecret;
use super::wire::wire_enum;
use super::{OrderId, UserId};

/// A person takes 2 to 12 s to read that the sale is sold out and to join. A script gains nothing by being faster.
pub const SEGMENT: SignedDuration = SignedDuration::from_secs(15);

/// A segment's number is its beginning in this unit. Segments begin at least [`SEGMENT`] apart, so no two of a waitlist
/// have the same number. Stored places depend on this unit.
const NUMBER_UNIT_MS: i64 = 10_000;

/// The bits of a place below its segment's number.
const SHUFFLE_BITS: u32 = 32;

/// More than any sale has.
pub const ALL_UNITS: i64 = u32::MAX as i64;

/// When that many accounts wait, every unit is kept and no more accounts are counted.
pub const MAX_KEEPING_WAITERS: i64 = 1_000;

/// The seed of one waitlist's shuffle. It stays secret. Otherwise people would drop accounts with a late place and
/// register new ones.
pub type WaitlistSeed = CommittedSecret;

wire_enum! {
    pub enum WaiterState {
        Waiting = "waiting",
        /// The account's turn came, and it has an order.
        Offered = "offered",
        /// The account left the waitlist.
        Left = "left",
        /// The account's turn came, but it could not buy: it is closed, or had an order of the sale.
        Skipped = "skipped",
    }
}

/// An account on a waitlist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiter {
    pub user_id: UserId,
    /// Units that the account wants at most. An offer has as many of them as there are, and at least one.
    pub quantity: u32,
    pub joined_at: Timestamp,
    pub place: i64,
    pub state: WaiterState,
    /// Set once the account's turn has come. Until the order is in the database, the account still waits.
    pub order_id: Option<OrderId>,
}

/// The place of an account in the segment that began at this time. Lower places come first.
pub fn place(seed: &WaitlistSeed, began: Timestamp, user: UserId) -> i64 {
    let first = first_place(began);
    let digest = Sha256::new()
        .chain_update(seed.as_bytes())
        .chain_update(first.to_be_bytes())
        .chain_update(user.0.as_bytes())
        .finalize();
    let shuffle = digest[..4].iter().fold(0, |bits, byte| (bits << 8) | i64::from(*byte));
    first + shuffle
}

/// The lowest place in the segment that began at this time. All places of earlier segments are lower.
pub fn first_place(began: Timestamp) -> i64 {
    began.as_millisecond().div_euclid(NUMBER_UNIT_MS) << SHUFFLE_BITS
}

/// Whether the segment that began at this time is over. Then the next account that joins begins another one.
pub fn is_over(began: Timestamp, now: Timestamp) -> bool {
    now.duration_since(began) >= SEGMENT
}

/// Places below this one have their turn: their segments are over.
pub fn due_below(latest_began: Timestamp, now: Timestamp) -> i64 {
    if is_over(latest_began, now) { i64::MAX } else { first_place(latest_began) }
}

/// Units to keep for so many accounts that want `wanted` units together.
pub fn units_kept(accounts: i64, wanted: i64) -> i64 {
    if accounts < MAX_KEEPING_WAITERS { wanted } else { ALL_UNITS }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn user(n: u128) -> UserId {
        UserId(Uuid::from_u128(n))
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
    }

    #[test]
    fn later_segment_stands_behind_every_account_of_an_earlier_one() {
        let seed = WaitlistSeed::new([3; 32]);
        // The first segment begins at any moment of the unit in which segments are numbered.
        for n in 0..1_000 {
            let (first, next) = (at(n * 10), at(n * 10 + SEGMENT.as_millis() as i64));
            let (early, late) = (place(&seed, first, user(n as u128)), place(&seed, next, user(n as u128 + 1_000)));
            assert!(early < first_place(next) && first_place(next) <= late);
        }
    }

    /// Joining early within a segment brings no better place: χ² over deciles.
    #[test]
    fn order_of_joining_within_a_segment_does_not_matter() {
        const ACCOUNTS: i64 = 10_000;
        for number in 1..=4 {
            let seed = WaitlistSeed::new([number; 32]);
            let mut line: Vec<(i64, i64)> = (0..ACCOUNTS).map(|n| (place(&seed, at(0), user(n as u128)), n)).collect();
            line.sort_unstable();
            let mut served = [0_u32; 10];
            for (_, joined) in &line[..1_000] {
                served[(joined * 10 / ACCOUNTS) as usize] += 1;
            }
            let chi2: f64 = served.iter().map(|n| (f64::from(*n) - 100.0).powi(2) / 100.0).sum();
            assert!(chi2 < 27.88, "χ² of nine degrees of freedom exceeds this once in a thousand: {chi2} {served:?}");
        }
    }

    #[test]
    fn place_within_a_segment_follows_from_the_account_and_the_seed() {
        let seed = WaitlistSeed::new([5; 32]);
        assert_eq!(place(&seed, at(1), user(1)), place(&seed, at(1), user(1)));
        assert_ne!(place(&seed, at(1), user(1)), place(&WaitlistSeed::new([6; 32]), at(1), user(1)));
    }

    #[test]
    fn accounts_of_a_segment_have_their_turn_once_it_is_over() {
        let (began, user) = (at(9_900), user(1));
        let own = place(&WaitlistSeed::new([5; 32]), began, user);
        let length = SEGMENT.as_millis() as i64;
        assert!(own >= due_below(began, at(9_900 + length - 1)), "it lasts its whole length, wherever it begins");
        assert!(own < due_below(began, at(9_900 + length)));
    }
}
