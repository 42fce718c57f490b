//! A model of one opening: people and scripts press, the first to arrive get the units. Times are milliseconds after the
//! opening. The moments of an enforced spread are those of the shop (`domain::spread`).

use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use seckill::domain::{Spread, SpreadSeed, UserId};
use uuid::Uuid;

/// Accounts of one kind, and how they press.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    pub accounts: usize,
    /// From pressing until the shop decides. Each account has its own, up to a fifth more or less.
    pub latency_ms: f64,
    /// Requests a second of one browser, from before the opening on. Zero: one request, at the account's own moment, which
    /// the shop has told.
    pub requests_per_second: u32,
    /// Browsers of one account that press independently.
    pub browsers: u32,
}

impl Group {
    /// The page waits for the account's moment and presses once.
    pub fn people(accounts: usize) -> Group {
        Group { accounts, latency_ms: 500.0, requests_per_second: 0, browsers: 1 }
    }

    pub fn bots(accounts: usize) -> Group {
        Group { accounts, latency_ms: 10.0, requests_per_second: 20, browsers: 1 }
    }

    /// When the account's first request that is not too early arrives.
    fn arrival(self, moment: f64, random: &mut StdRng) -> f64 {
        let latency = self.latency_ms * random.random_range(0.8..1.2);
        let pressed = match self.requests_per_second {
            0 => moment,
            rate => {
                let interval = 1000.0 / f64::from(rate);
                // Each browser presses at its own phase; the first press after the moment counts.
                let phases = (0..self.browsers).map(|_| interval * random.random::<f64>());
                moment + phases.fold(interval, f64::min)
            }
        };
        pressed + latency
    }
}

/// The wins of both groups over many openings.
#[derive(Debug, Clone, Copy)]
pub struct Wins {
    pub people: u64,
    pub bots: u64,
    /// Accounts that tried, over all openings.
    people_tries: u64,
    bot_tries: u64,
}

impl Wins {
    /// A = (wins per bot account) ÷ (wins per person).
    pub fn advantage(&self) -> f64 {
        (self.bots as f64 / self.bot_tries as f64) / (self.people as f64 / self.people_tries as f64)
    }

    /// The standard error of the logarithm of [`Wins::advantage`].
    pub fn log_error(&self) -> f64 {
        let part = |wins: u64, tries: u64| (1.0 / wins as f64 - 1.0 / tries as f64).max(0.0);
        (part(self.people, self.people_tries) + part(self.bots, self.bot_tries)).sqrt()
    }
}

/// Holds openings, each with new accounts and a new seed, until each group has `min_wins`, at most `max_openings`.
pub fn hold(
    (people, bots): (Group, Group),
    units: usize,
    spread_ms: i64,
    (min_wins, max_openings): (u64, u32),
    seed: u64,
) -> Wins {
    let mut random = StdRng::seed_from_u64(seed);
    let mut wins = Wins { people: 0, bots: 0, people_tries: 0, bot_tries: 0 };
    for _ in 0..max_openings {
        if wins.people >= min_wins && wins.bots >= min_wins {
            break;
        }
        let spread = Spread { seed: SpreadSeed::new(random.random()), width_ms: spread_ms };
        let mut arrivals = Vec::with_capacity(people.accounts + bots.accounts);
        for (group, is_bot) in [(people, false), (bots, true)] {
            for _ in 0..group.accounts {
                let user = UserId(Uuid::from_u128(random.random()));
                arrivals.push((group.arrival(moment(spread, user), &mut random), is_bot));
            }
        }
        arrivals.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let bot_wins = arrivals.iter().take(units).filter(|(_, is_bot)| *is_bot).count();
        wins.bots += bot_wins as u64;
        wins.people += (units.min(arrivals.len()) - bot_wins) as u64;
        wins.people_tries += people.accounts as u64;
        wins.bot_tries += bots.accounts as u64;
    }
    wins
}

fn moment(spread: Spread, user: UserId) -> f64 {
    if spread.width_ms == 0 {
        return 0.0;
    }
    spread.own_moment(Timestamp::UNIX_EPOCH, user).as_millisecond() as f64
}
