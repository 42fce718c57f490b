//! The waitlist of a sold-out rush: accounts that wait for units to come back.
//!
//! Time is divided into segments of [`SEGMENT`]. Accounts that joined in an earlier segment are served first; within a
//! segment the order follows from the account and a secret seed. So nothing is won by being a moment faster, by more
//! requests or by another browser. A segment has its turn once it is over.

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::secret::CommittedSecret;
use super::wire::wire_enum;
use super::{OrderId, UserId};

/// A person needs less than this to read that the sale is sold out and to join, so a script gains nothing by being
/// faster.
pub const SEGMENT: SignedDuration = SignedDuration::from_secs(10);

/// The bits of a place below its segment.
const SHUFFLE_BITS: u32 = 32;

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

/// The place of an account that joined at this time. Lower places come first.
pub fn place(seed: &WaitlistSeed, joined: Timestamp, user: UserId) -> i64 {
    let first = first_place_at(joined);
    let digest = Sha256::new()
        .chain_update(seed.as_bytes())
        .chain_update(first.to_be_bytes())
        .chain_update(user.0.as_bytes())
        .finalize();
    let shuffle = digest[..4].iter().fold(0, |bits, byte| (bits << 8) | i64::from(*byte));
    first + shuffle
}

/// The lowest place in the segment that contains `now`. All places of earlier segments are lower.
pub fn first_place_at(now: Timestamp) -> i64 {
    now.as_millisecond().div_euclid(SEGMENT.as_millis() as i64) << SHUFFLE_BITS
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
        for n in 0..1_000 {
            let (early, late) = (place(&seed, at(9_999), user(n)), place(&seed, at(10_000), user(n + 1_000)));
            assert!(early < first_place_at(at(10_000)) && first_place_at(at(10_000)) <= late);
        }
    }

    /// Joining early within a segment brings no better place: χ² over deciles.
    #[test]
    fn order_of_joining_within_a_segment_does_not_matter() {
        const ACCOUNTS: i64 = 10_000;
        for number in 1..=4 {
            let seed = WaitlistSeed::new([number; 32]);
            let mut line: Vec<(i64, i64)> = (0..ACCOUNTS).map(|n| (place(&seed, at(n), user(n as u128)), n)).collect();
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
    fn joining_again_within_a_segment_changes_nothing() {
        let seed = WaitlistSeed::new([5; 32]);
        assert_eq!(place(&seed, at(1), user(1)), place(&seed, at(9_998), user(1)));
        assert_ne!(place(&seed, at(1), user(1)), place(&WaitlistSeed::new([6; 32]), at(1), user(1)));
    }
}
