//! Which bucket is to have how much: a pure function of what everybody has now.

/// One bucket of a sale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Units it was given.
    pub allotted: i64,
    /// Of these, units that somebody holds.
    pub booked: i64,
    /// Somebody asked in vain since it was given something last.
    pub hungry: bool,
    /// It was given nothing for a while: whoever was told to come back could have come.
    pub rested: bool,
}

/// A bucket's new share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// Which of the shares.
    pub bucket: usize,
    pub target: i64,
}

impl Share {
    fn free(&self) -> i64 {
        (self.allotted - self.booked).max(0)
    }
}

/// What to do next. `lot` is what one bucket is given at a time; 0 gives out everything at once. Done again and again with
/// what came of it, it gives every unit to somebody who asks for it:
///
/// 1. What is in the pool goes out, to those first where people asked in vain.
/// 2. Once the pool is empty, and some were turned away while others have units lying idle, those let go of half of them.
pub fn plan(total: i64, lot: i64, shares: &[Share]) -> Vec<Move> {
    let pool = total - shares.iter().map(|share| share.allotted).sum::<i64>();
    let mut targets: Vec<i64> = shares.iter().map(|share| share.allotted).collect();
    match pool {
        ..0 => take_back(-pool, shares, &mut targets),
        0 => level(lot, shares, &mut targets),
        _ => give(pool, lot, shares, &mut targets),
    }
    let moved = targets.iter().zip(shares).enumerate().filter(|(_, (target, share))| **target != share.allotted);
    moved.map(|(bucket, (&target, _))| Move { bucket, target }).collect()
}

/// The total was lowered before the sale began.
fn take_back(mut units: i64, shares: &[Share], targets: &mut [i64]) {
    for n in by(shares, |share| -share.free()) {
        let back = shares[n].free().min(units);
        targets[n] -= back;
        units -= back;
    }
}

fn give(mut pool: i64, lot: i64, shares: &[Share], targets: &mut [i64]) {
    // GrantLog that were repeated to a master that had forgotten them may be more than the bucket was given.
    for (share, target) in shares.iter().zip(targets.iter_mut()) {
        let cover = (share.booked - share.allotted).clamp(0, pool);
        *target += cover;
        pool -= cover;
    }
    let count = shares.len() as i64;
    let mut hungry = by(shares, |share| -share.free());
    hungry.retain(|n| shares[*n].hungry);
    let mut waiting = hungry.len() as i64;
    // Little is left: all of it goes where somebody asked in vain, to few rather than in crumbs to many.
    let most = if lot > 0 { lot } else { ceil(pool, count) };
    let scarce = pool < count;
    for &n in &hungry {
        let fair = ceil(pool, waiting);
        let given = if scarce { fair } else { fair.min(most) };
        targets[n] += given;
        pool -= given;
        waiting -= 1;
    }
    if scarce && !hungry.is_empty() {
        return;
    }
    let free: Vec<i64> = targets.iter().zip(shares).map(|(target, share)| (target - share.booked).max(0)).collect();
    let below: Vec<usize> = (0..shares.len()).filter(|&n| lot == 0 || free[n] * 2 <= lot).collect();
    fill(pool, if lot > 0 { lot } else { i64::MAX }, &below, &free, targets);
}

/// Of two that are not negative.
fn ceil(units: i64, shares: i64) -> i64 {
    (units + shares - 1) / shares
}

/// Fills up from the lowest, like water, to `cap` at most.
fn fill(mut pool: i64, cap: i64, among: &[usize], free: &[i64], targets: &mut [i64]) {
    let missing = |level: i64| among.iter().map(|&n| (level - free[n]).max(0)).sum::<i64>();
    let (mut low, mut high) = (0, cap.min(free.iter().max().unwrap_or(&0) + pool));
    while low < high {
        let middle = low + (high - low + 1) / 2;
        if missing(middle) <= pool { low = middle } else { high = middle - 1 }
    }
    for &n in among {
        let given = (low - free[n]).max(0);
        targets[n] += given;
        pool -= given;
    }
    // What is left does not reach everybody.
    for &n in among.iter().filter(|n| free[**n] <= low && low < cap) {
        let given = pool.min(1);
        targets[n] += given;
        pool -= given;
    }
}

/// Takes from those with idle units for those who have too few. It is in the pool then, for the next time.
fn level(lot: i64, shares: &[Share], targets: &mut [i64]) {
    let hungry = shares.iter().filter(|share| share.hungry).count() as i64;
    let idle: i64 = shares.iter().map(Share::free).sum();
    if hungry == 0 || idle == 0 {
        return;
    }
    let most = if lot > 0 { lot } else { (idle / shares.len() as i64).max(1) };
    let mut need = hungry * most;
    let can_give = |share: &Share| share.rested && share.free() > 0;
    let mut givers = by(shares, |share| -share.free());
    givers.retain(|n| can_give(&shares[*n]) && !shares[*n].hungry);
    for &n in &givers {
        let given = (shares[n].free() + 1) / 2;
        let given = given.min(need);
        targets[n] -= given;
        need -= given;
    }
    // Only the hungry have something left, each of them too little: one gives all to the others.
    if givers.is_empty() && hungry > 1 {
        let least = by(shares, Share::free).into_iter().find(|n| can_give(&shares[*n]));
        least.into_iter().for_each(|n| targets[n] -= shares[n].free());
    }
}

/// Buckets in the order of something; those in which it is the same in their own.
fn by(shares: &[Share], key: impl Fn(&Share) -> i64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by_key(|n| key(&shares[*n]));
    order
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    fn share(allotted: i64, booked: i64) -> Share {
        Share { allotted, booked, hungry: false, rested: true }
    }

    fn hungry(allotted: i64, booked: i64) -> Share {
        Share { hungry: true, ..share(allotted, booked) }
    }

    /// The shares after the moves.
    fn after(total: i64, lot: i64, shares: &[Share]) -> Vec<i64> {
        let mut now: Vec<i64> = shares.iter().map(|share| share.allotted).collect();
        plan(total, lot, shares).iter().for_each(|m| now[m.bucket] = m.target);
        now
    }

    #[test]
    fn all_at_once_is_given_out_evenly() {
        assert_eq!(after(10, 0, &[share(0, 0); 4]), [3, 3, 2, 2]);
        assert_eq!(after(3, 0, &[share(0, 0); 4]), [1, 1, 1, 0]);
        assert_eq!(after(0, 0, &[share(0, 0); 4]), [0; 4]);
        // More came: where least is left gets most of it.
        assert_eq!(after(16, 0, &[share(4, 4), share(4, 0), share(4, 2)]), [7, 4, 5]);
    }

    #[test]
    fn lots_are_given_out_as_they_are_used_up() {
        assert_eq!(after(1_000, 10, &[share(0, 0); 3]), [10; 3]);
        assert_eq!(after(1_000, 10, &[share(10, 4), share(10, 5), share(10, 10)]), [10, 15, 20]);
        assert_eq!(after(34, 10, &[share(10, 10), share(10, 10), share(10, 10)]), [12, 11, 11]);
    }

    #[test]
    fn the_last_units_go_where_somebody_asked_in_vain() {
        assert_eq!(after(7, 0, &[share(2, 2), hungry(2, 2), share(2, 2)]), [2, 3, 2]);
        assert_eq!(after(32, 10, &[share(10, 10), hungry(10, 10), share(10, 10)]), [10, 12, 10]);
    }

    #[test]
    fn idle_units_are_let_go_for_those_who_wait() {
        // Half of what is idle, once it has lain for a while.
        assert_eq!(after(20, 0, &[share(10, 2), hungry(10, 10)]), [6, 10]);
        assert_eq!(after(20, 0, &[Share { rested: false, ..share(10, 2) }, hungry(10, 10)]), [10, 10]);
        assert_eq!(after(20, 0, &[share(10, 2), share(10, 10)]), [10, 10], "nobody asks");
        // Two who want more than either bucket has.
        assert_eq!(after(4, 0, &[hungry(2, 1), hungry(2, 1)]), [1, 2]);
        assert_eq!(after(4, 0, &[hungry(1, 1), hungry(2, 1)]), [1, 3]);
    }

    #[test]
    fn promises_beyond_the_share_are_covered_and_a_lower_total_is_taken_back() {
        assert_eq!(after(12, 1, &[share(4, 7), share(4, 0)]), [8, 4]);
        assert_eq!(after(5, 0, &[share(4, 0), share(4, 0)]), [1, 4]);
    }

    /// People who ask until they have something, or nothing is left: whoever comes to whichever bucket, all is sold.
    #[test]
    fn whatever_happens_nothing_is_oversold_and_demand_finds_every_unit() {
        for seed in 0..400 {
            let mut random = StdRng::seed_from_u64(seed);
            let (buckets, lot) = (random.random_range(1..9), [0, 0, 1, 3, 10][random.random_range(0..5_usize)]);
            let (mut total, limit) = (random.random_range(1..200), random.random_range(1..4));
            let mut shares = vec![Share { rested: true, ..share(0, 0) }; buckets];
            for step in 0..4_000 {
                for m in plan(total, lot, &shares) {
                    let share = &mut shares[m.bucket];
                    // What is held cannot be taken.
                    let target = m.target.max(share.booked);
                    if target > share.allotted {
                        (share.hungry, share.rested) = (false, false);
                    }
                    share.allotted = target;
                }
                assert!(shares.iter().map(|s| s.allotted).sum::<i64>() <= total, "seed {seed}: {shares:?} of {total}");
                assert!(shares.iter().all(|s| s.booked <= s.allotted), "seed {seed}: {shares:?}");
                // Early on units come back and are added; in the end only those of one bucket still ask.
                let early = step < 200;
                let bucket = if early { random.random_range(0..buckets) } else { seed as usize % buckets };
                let units = if early { random.random_range(1..=limit) } else { 1 };
                let share = &mut shares[bucket];
                match share.free() >= units {
                    true => share.booked += units,
                    false => share.hungry = true,
                }
                if early && random.random_ratio(1, 8) && shares[bucket].booked > 0 {
                    shares[bucket].booked -= 1;
                }
                total += i64::from(early && random.random_ratio(1, 40));
                if step % 5 == 4 {
                    shares.iter_mut().for_each(|share| share.rested = true);
                }
            }
            assert_eq!(shares.iter().map(|s| s.booked).sum::<i64>(), total, "seed {seed}: {shares:?}");
        }
    }
}
