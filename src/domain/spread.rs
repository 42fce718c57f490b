//! The enforced spread of a sale: every account may buy from a moment of its own within some time after the opening. The
//! moment follows from the account and from a seed, so neither more requests, nor more browsers, nor a faster connection
//! bring it forward.
//!
//! The seed is drawn when the sale is created, and its commitment is public from then on. The seed is published once
//! the spread is over, and every moment can then be recomputed. Before that it is secret: otherwise people would
//! register accounts until one has an early moment.

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::UserId;
use super::calendar::shifted;
use super::secret::CommittedSecret;

/// [`advised_spread_ms`] gives a scripted account at most this many times the chance of a human one: 1.2, as a
/// fraction.
const ADVISED_RATIO: (i64, i64) = (6, 5);
/// How much earlier a script's request arrives than a human's, in milliseconds. Rehearsals measured 370. A script at 10
/// ms and a shopper at 500 ms are 490 apart. The rest is a margin, because the scripts' own accounts end a sale sooner.
const LATENCY_DIFFERENCE_MS: i64 = 600;
/// Few shoppers are willing to wait for their moment longer than this.
pub const LONG_SPREAD_MS: i64 = 120_000;

/// The seed of one sale's moments.
pub type SpreadSeed = CommittedSecret;

/// Milliseconds from the opening to the user's moment: the first 48 bits of SHA-256(seed ‖ user id), modulo the width.
/// Both inputs have a fixed length, and one block of SHA-256 holds them. 48 bits are exact in every language's numbers.
fn offset_ms(seed: &SpreadSeed, width_ms: i64, user: UserId) -> i64 {
    let digest = Sha256::new().chain_update(seed.as_bytes()).chain_update(user.0.as_bytes()).finalize();
    let bits = digest[..6].iter().fold(0, |bits, byte| (bits << 8) | i64::from(*byte));
    bits % width_ms.max(1)
}

/// The enforced spread of one sale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    pub seed: SpreadSeed,
    /// Width of the spread in milliseconds, above zero.
    pub width_ms: i64,
}

impl Spread {
    /// The time from which the user may buy. It is before [`Spread::end`].
    pub fn own_moment(&self, opens: Timestamp, user: UserId) -> Timestamp {
        shifted(opens, offset_ms(&self.seed, self.width_ms, user))
    }

    /// The time from which every user may buy.
    pub fn end(&self, opens: Timestamp) -> Timestamp {
        shifted(opens, self.width_ms)
    }
}

/// The shortest spread, in whole seconds, with which a scripted account has at most 1.2 times the chance of a human
/// one. `accounts` want one of the `units` each. The units are gone after `units ÷ accounts` of the spread, and until
/// then a script is ahead by the difference in latency.
pub fn advised_spread_ms(accounts: i64, units: i64) -> i64 {
    let (high, low) = ADVISED_RATIO;
    let ms = i128::from(LATENCY_DIFFERENCE_MS) * i128::from(accounts.max(0)) * i128::from(low)
        / (i128::from(units.max(1)) * i128::from(high - low));
    let seconds = (ms + 999) / 1000;
    i64::try_from(seconds * 1000).unwrap_or(i64::MAX)
}

/// The number of accounts up to which a spread is long enough by [`advised_spread_ms`].
pub fn fair_accounts(spread_ms: i64, units: i64) -> i64 {
    let (high, low) = ADVISED_RATIO;
    let accounts = i128::from(spread_ms.max(0)) * i128::from(units.max(0)) * i128::from(high - low)
        / i128::from(LATENCY_DIFFERENCE_MS * low);
    i64::try_from(accounts).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn user(n: u128) -> UserId {
        UserId(Uuid::from_u128(n))
    }

    #[test]
    fn moments_are_even_over_the_spread() {
        const TENTHS: usize = 10;
        const USERS: u32 = 100_000;
        for (number, width_ms) in [(1, 60_000), (2, 1_000), (3, 600_000), (4, 7_777)] {
            let seed = SpreadSeed::new([number; 32]);
            let mut counts = [0_u32; TENTHS];
            for n in 0..USERS {
                let offset = offset_ms(&seed, width_ms, user(n.into()));
                counts[(offset * TENTHS as i64 / width_ms) as usize] += 1;
            }
            let expected = f64::from(USERS) / TENTHS as f64;
            let chi2: f64 = counts.iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
            assert!(chi2 < 27.88, "χ² of nine degrees of freedom exceeds this once in a thousand: {chi2} {counts:?}");
        }
    }

    #[test]
    fn moment_belongs_to_the_account_and_lies_within_the_spread() {
        let opens = Timestamp::from_second(1_000_000).unwrap();
        let spread = Spread { seed: SpreadSeed::new([7; 32]), width_ms: 30_000 };
        for n in 0..1_000 {
            let moment = spread.own_moment(opens, user(n));
            assert!(opens <= moment && moment < spread.end(opens));
            assert_eq!(moment, spread.own_moment(opens, user(n)), "any other request of the account");
        }
        let other = Spread { seed: SpreadSeed::new([8; 32]), ..spread };
        assert_ne!(spread.own_moment(opens, user(1)), other.own_moment(opens, user(1)));
        assert_eq!(spread.end(Timestamp::MAX), Timestamp::MAX);
    }

    /// The same numbers as in `docs/api.md`, where another language computes them.
    #[test]
    fn moment_can_be_recomputed_elsewhere() {
        let seed: SpreadSeed = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f".parse().unwrap();
        assert_eq!(seed.commitment(), "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd");
        let user = UserId("0192f3a4-5b6c-7d8e-9fa0-b1c2d3e4f506".parse().unwrap());
        assert_eq!(offset_ms(&seed, 30_000, user), 14_229);
    }

    #[test]
    fn advised_spread_grows_with_demand_and_is_long_enough() {
        let advised = [(2_000, 100), (20_000, 100), (100, 100), (0, 100), (5, 0)];
        assert_eq!(
            advised.map(|(accounts, units)| advised_spread_ms(accounts, units)),
            [60_000, 600_000, 3_000, 0, 15_000]
        );
        for (accounts, units) in [(2_000, 100), (1_234, 7), (50, 50), (1_000_000_000, 1)] {
            assert!(fair_accounts(advised_spread_ms(accounts, units), units) >= accounts);
        }
        assert_eq!(advised_spread_ms(i64::MAX, 1), i64::MAX);
        assert_eq!(fair_accounts(i64::MAX, i64::MAX), i64::MAX);
    }
}
