//! How often one user may ask to buy. Nobody's limit depends on what others do.
//!
//! The generic cell rate algorithm (ITU-T I.371, annex A): of each user one moment is kept, the one at which all of the
//! burst will be there again. Users whose moment has passed need not be remembered, so a table of a fixed size does for any
//! number of them: one look at one cache line for a request, no lock, no allocation, nothing to clear up. governor's
//! map of users, which guards log-ins, has locks and grows until it is swept; here it took 0.6 of the 8 µs that a refusal
//! costs the program.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use foldhash::fast::RandomState;

use crate::domain::UserId;

/// Tries that a user may make at once before the rate counts: a double click, a reload and a second tab.
const BURST: u64 = 10;
/// A line of the table has places for eight users, all lines together for 32,768, in a quarter of a mebibyte. Where more
/// ask within the time of a burst, those who are closest to having all of it again are forgotten a little early.
const LINES: usize = 1 << 12;
/// The low bits of a place are its moment, in microseconds, which come again after twelve days; the others are of the
/// user's hash.
const MOMENT_BITS: u32 = 40;
const MOMENTS: u64 = (1 << MOMENT_BITS) - 1;

#[derive(Default)]
#[repr(align(64))]
struct Line([AtomicU64; 8]);

pub(crate) struct UserLimit {
    lines: Box<[Line]>,
    hasher: RandomState,
    began: Instant,
    /// Microseconds after which one more try is there.
    interval: u64,
    burst: u64,
}

impl UserLimit {
    pub(crate) fn new(per_second: u32) -> UserLimit {
        let per_second = u64::from(per_second.max(1));
        UserLimit {
            lines: (0..LINES).map(|_| Line::default()).collect(),
            hasher: RandomState::default(),
            began: Instant::now(),
            interval: 1_000_000 / per_second.min(1_000_000),
            burst: BURST.max(per_second),
        }
    }

    pub(crate) fn allows(&self, user: UserId) -> bool {
        self.allows_at(user, self.began.elapsed().as_micros() as u64)
    }

    fn allows_at(&self, user: UserId, now: u64) -> bool {
        let hash = self.hasher.hash_one(user);
        let Line(places) = &self.lines[hash as usize % LINES];
        loop {
            // The user's own place, or the one that can be done without most easily.
            let seen = places.iter().map(|place| self.look(place, hash, now));
            let best = seen.min_by_key(|seen| (!seen.own, seen.ahead)).expect("a line has eight places");
            let ahead = if best.own { best.ahead } else { 0 };
            if ahead > self.interval * (self.burst - 1) {
                return false;
            }
            let next = hash & !MOMENTS | (now + ahead + self.interval) & MOMENTS;
            // Whoever was quicker is seen at the second look.
            if best.place.compare_exchange_weak(best.bits, next, Relaxed, Relaxed).is_ok() {
                return true;
            }
        }
    }

    fn look<'a>(&self, place: &'a AtomicU64, hash: u64, now: u64) -> Seen<'a> {
        let bits = place.load(Relaxed);
        let ahead = (bits & MOMENTS).wrapping_sub(now) & MOMENTS;
        // No moment is further ahead than a burst takes: this one has passed.
        let ahead = if ahead > self.interval * self.burst { 0 } else { ahead };
        Seen { place, bits, ahead, own: bits & !MOMENTS == hash & !MOMENTS }
    }
}

/// A place in a line.
struct Seen<'a> {
    place: &'a AtomicU64,
    bits: u64,
    /// Microseconds until all of the burst is there.
    ahead: u64,
    /// Whether it is that of the user in question.
    own: bool,
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const SECOND: u64 = 1_000_000;

    fn user(n: u128) -> UserId {
        UserId(Uuid::from_u128(n))
    }

    fn allowed(limit: &UserLimit, user: UserId, now: u64, tries: usize) -> usize {
        (0..tries).filter(|_| limit.allows_at(user, now)).count()
    }

    #[test]
    fn a_burst_then_the_rate_and_after_a_while_a_burst_again() {
        let limit = UserLimit::new(5);
        // Also when the moments begin anew.
        for start in [0, 100 * SECOND, MOMENTS - SECOND / 2, 5 * (MOMENTS + 1) + 7] {
            assert_eq!(allowed(&limit, user(1), start, 50), 10);
            assert_eq!(allowed(&limit, user(1), start + SECOND / 5 - 1, 50), 0);
            assert_eq!(allowed(&limit, user(1), start + SECOND / 5, 50), 1);
            assert_eq!(allowed(&limit, user(1), start + SECOND, 50), 4);
            assert_eq!(allowed(&limit, user(1), start + 60 * SECOND, 50), 10);
        }
        assert_eq!(allowed(&UserLimit::new(1000), user(1), 0, 5000), 1000);
        assert_eq!(allowed(&UserLimit::new(0), user(1), SECOND, 50), 10);
    }

    #[test]
    fn nobody_is_refused_because_of_others() {
        let limit = UserLimit::new(5);
        // Three times as many as there are places for.
        for n in 0..3 * 8 * LINES as u128 {
            assert!(limit.allows_at(user(n), 3));
        }
    }

    #[test]
    fn many_users_are_each_held_to_the_limit() {
        let limit = UserLimit::new(5);
        // So few that no line is crowded.
        let users = LINES / 4;
        let allowed = |now| (0..users as u128).filter(|&n| limit.allows_at(user(n), now)).count();
        for tries in 0..10 {
            assert_eq!(allowed(tries), users);
        }
        assert_eq!(allowed(10), 0);
    }

    #[test]
    fn tries_at_the_same_time_are_all_counted() {
        let limit = UserLimit::new(500);
        let allowed: usize = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..8).map(|_| scope.spawn(|| allowed(&limit, user(7), SECOND, 1000))).collect();
            tries.into_iter().map(|tries| tries.join().unwrap()).sum()
        });
        assert_eq!(allowed, 500);
    }
}
