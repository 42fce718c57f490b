//! Proof of work: a puzzle that costs its solver time and its verifier little. A browser solves it with WebCrypto.
//!
//! A puzzle has [`PARTS`] parts. A part is solved by a number for which PBKDF2-HMAC-SHA256 (RFC 8018) of the challenge,
//! with the salt `part:number` and [`ITERATIONS`] iterations, begins with some zero bits. With several easy parts
//! instead of a hard one, the time that a solver needs varies less.

use std::num::NonZeroU32;

use ring::pbkdf2;

pub const PARTS: usize = 8;
pub const ITERATIONS: NonZeroU32 = NonZeroU32::new(1000).unwrap();
/// Zero bits of the easiest puzzle, about 64 tries for all parts together.
const MIN_BITS: u32 = 3;
/// Zero bits of the hardest puzzle, about 1,024 tries for all parts together: a million iterations, which may take a
/// slow phone two seconds.
pub const MAX_BITS: u32 = 7;

/// Zero bits of the proof of work for the next event after `count` events. The first `free` events need no proof
/// (`None`). The work doubles whenever the count does, up to [`MAX_BITS`].
pub fn due_bits(count: u64, free: u64) -> Option<u32> {
    let times = count / free.max(1);
    (times > 0).then(|| (MIN_BITS + times.ilog2()).min(MAX_BITS))
}

/// Whether the numbers solve the parts of a puzzle. The first wrong one ends the check.
pub fn is_solved(challenge: &str, bits: u32, numbers: &[u32]) -> bool {
    numbers.len() == PARTS && numbers.iter().enumerate().all(|(part, number)| solves(challenge, bits, part, *number))
}

fn solves(challenge: &str, bits: u32, part: usize, number: u32) -> bool {
    let key = derive(challenge, &format!("{part}:{number}"), ITERATIONS);
    u32::from_be_bytes(key).leading_zeros() >= bits
}

fn derive(password: &str, salt: &str, iterations: NonZeroU32) -> [u8; 4] {
    let mut key = [0; 4];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations, salt.as_bytes(), password.as_bytes(), &mut key);
    key
}

/// Solves a puzzle as a program would.
pub fn solve(challenge: &str, bits: u32) -> Vec<u32> {
    let first = |part| (0..u32::MAX).find(|number| solves(challenge, bits, part, *number)).unwrap_or_default();
    (0..PARTS).map(first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_bits_double_with_the_count_up_to_a_ceiling() {
        let due = [0, 9, 10, 19, 20, 39, 40, 80, 159, 160, 1_000_000].map(|count| due_bits(count, 10));
        let bits = [0, 0, 3, 3, 4, 4, 5, 6, 6, 7, 7];
        assert_eq!(due.map(Option::unwrap_or_default), bits);
        assert_eq!(due_bits(5, 0), Some(5), "nothing is free");
    }

    #[test]
    fn solution_belongs_to_one_challenge() {
        let solution = solve("a challenge", MIN_BITS);
        assert!(is_solved("a challenge", MIN_BITS, &solution));
        assert!(!is_solved("another challenge", MIN_BITS, &solution));
        assert!(!is_solved("a challenge", 32, &solution));
        assert!(!is_solved("a challenge", MIN_BITS, &solution[1..]) && !is_solved("a challenge", MIN_BITS, &[]));
    }

    /// A browser computes the same: `crypto.subtle.deriveBits({name: 'PBKDF2', hash: 'SHA-256', salt, iterations}, key,
    /// 32)`.
    #[test]
    fn key_is_that_of_the_standard() {
        let key = derive("password", "salt", NonZeroU32::new(4096).unwrap());
        assert_eq!(key, [0xc5, 0xe4, 0x78, 0xd5], "the test vector of RFC 6070 for SHA-256");
    }
}
