//! A model of one opening: people and scripts press the button. In a rush the first to arrive get the units; in a
//! waiting room, in a draw and on a waitlist, the first in its order. Times are milliseconds after the opening, or after
//! "sold out". The moments of an enforced spread and the orders come from the shop's own code (`domain::spread`,
//! `domain::waiting_room`, `domain::draw`, `domain::waitlist`).

use domain::draw::{EntryId, ranking};
use domain::{Place, Spread, SpreadSeed, UserId, WaitingRoomSeed, WaitlistSeed, waitlist};
use jiff::{SignedDuration, Timestamp};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use uuid::Uuid;

/// Accounts of one kind, and how they press.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    pub accounts: usize,
    /// From pressing until the shop decides. Each account has its own, more or less by up to `latency_varies` of it.
    pub latency_ms: f64,
    pub latency_varies: f64,
    /// Requests per second of one browser, starting before the opening. Zero means one request, at the account's own
    /// moment, which the shop has shown.
    pub requests_per_second: u32,
    /// Browsers of one account that press independently.
    pub browsers: u32,
}

impl Group {
    /// The page waits for the account's moment and presses once.
    pub fn people(accounts: usize) -> Group {
        Group { accounts, latency_ms: 500.0, latency_varies: 0.2, requests_per_second: 0, browsers: 1 }
    }

    /// Takes this long, evenly distributed, to notice that the sale is sold out and to join its waitlist.
    pub fn joins_within(self, after_ms: std::ops::Range<f64>) -> Group {
        let latency_ms = (after_ms.start + after_ms.end) / 2.0;
        Group { latency_ms, latency_varies: 1.0 - after_ms.start / latency_ms, ..self }
    }

    pub fn bots(accounts: usize) -> Group {
        Group { accounts, latency_ms: 10.0, latency_varies: 0.2, requests_per_second: 20, browsers: 1 }
    }

    /// When the account's first request that is not too early arrives.
    fn arrival(self, moment: f64, random: &mut StdRng) -> f64 {
        let latency = self.latency_ms * random.random_range(1.0 - self.latency_varies..1.0 + self.latency_varies);
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
pub fn hold(groups: (Group, Group), units: usize, spread_ms: i64, enough: (u64, u32), seed: u64) -> Wins {
    let mut random = StdRng::seed_from_u64(seed);
    repeat(groups, enough, || {
        let spread = Spread { seed: SpreadSeed::new(random.random()), width_ms: spread_ms };
        let arrived = arrivals(groups, &mut random, |user| moment(spread, user));
        arrived.into_iter().take(units).map(|(_, is_bot)| is_bot).collect()
    })
}

/// Holds draws in the same way. An account has one entry, however often and from however many browsers it presses; the
/// shop draws its id when it arrives.
pub fn hold_draws(groups: (Group, Group), units: usize, enough: (u64, u32), seed: u64) -> Wins {
    let mut random = StdRng::seed_from_u64(seed);
    repeat(groups, enough, || {
        let arrived = arrivals(groups, &mut random, |_| 0.0);
        let mut entries: Vec<(EntryId, bool)> =
            arrived.into_iter().map(|(_, is_bot)| (EntryId::new(random.random()), is_bot)).collect();
        entries.sort_unstable();
        let ids: Vec<EntryId> = entries.iter().map(|(id, _)| *id).collect();
        // The seed is a hash of what was published, so any random one serves.
        ranking(&random.random(), &ids).into_iter().take(units).map(|index| entries[index].1).collect()
    })
}

/// Opens waiting rooms in the same way. An account has one place, as it has one entry in a draw. The accounts called
/// first buy, since each has minutes for it.
pub fn hold_queues(groups: (Group, Group), units: usize, enough: (u64, u32), seed: u64) -> Wins {
    let mut random = StdRng::seed_from_u64(seed);
    repeat(groups, enough, || {
        let arrived = arrivals(groups, &mut random, |_| 0.0);
        let seed = WaitingRoomSeed::new(random.random());
        let place = |(_, is_bot)| (Place::of(&seed, 0, EntryId::new(random.random())), is_bot);
        first(units, arrived.into_iter().map(place).collect())
    })
}

/// Lets accounts join a waitlist in the same way, at any moment of the wall clock. Units come back after all have
/// joined.
pub fn hold_waitlists(groups: (Group, Group), units: usize, enough: (u64, u32), seed: u64) -> Wins {
    let mut random = StdRng::seed_from_u64(seed);
    repeat(groups, enough, || {
        let arrived = arrivals(groups, &mut random, |_| 0.0);
        let seed = WaitlistSeed::new(random.random());
        let sold_out: f64 = random.random_range(0.0..1e9);
        let (mut began, mut places) = (None, Vec::with_capacity(arrived.len()));
        for (after, is_bot) in arrived {
            let now = Timestamp::UNIX_EPOCH + SignedDuration::from_millis((sold_out + after) as i64);
            let began = *began.insert(began.filter(|began| !waitlist::is_over(*began, now)).unwrap_or(now));
            places.push((waitlist::place(&seed, began, UserId(Uuid::from_u128(random.random()))), is_bot));
        }
        first(units, places)
    })
}

/// Whether those with the first places are bots.
fn first<P: Ord>(units: usize, mut places: Vec<(P, bool)>) -> Vec<bool> {
    places.sort_unstable();
    places.into_iter().take(units).map(|(_, is_bot)| is_bot).collect()
}

/// Counts the wins of openings. `opening` says of each winner whether it is a bot.
fn repeat(
    (people, bots): (Group, Group),
    (min_wins, max_openings): (u64, u32),
    mut opening: impl FnMut() -> Vec<bool>,
) -> Wins {
    let mut wins = Wins { people: 0, bots: 0, people_tries: 0, bot_tries: 0 };
    for _ in 0..max_openings {
        if wins.people >= min_wins && wins.bots >= min_wins {
            break;
        }
        for is_bot in opening() {
            *(if is_bot { &mut wins.bots } else { &mut wins.people }) += 1;
        }
        wins.people_tries += people.accounts as u64;
        wins.bot_tries += bots.accounts as u64;
    }
    wins
}

/// When each account arrives, and whether it is a bot, in the order of their arrival.
fn arrivals((people, bots): (Group, Group), random: &mut StdRng, moment: impl Fn(UserId) -> f64) -> Vec<(f64, bool)> {
    let mut arrivals = Vec::with_capacity(people.accounts + bots.accounts);
    for (group, is_bot) in [(people, false), (bots, true)] {
        for _ in 0..group.accounts {
            let user = UserId(Uuid::from_u128(random.random()));
            arrivals.push((group.arrival(moment(user), random), is_bot));
        }
    }
    arrivals.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    arrivals
}

fn moment(spread: Spread, user: UserId) -> f64 {
    if spread.width_ms == 0 {
        return 0.0;
    }
    spread.own_moment(Timestamp::UNIX_EPOCH, user).as_millisecond() as f64
}
