//! How much an enforced spread, a waiting room, a draw and a waitlist reduce the advantage of scripts, by the model of
//! `benches/fairness`, with fixed seeds and fewer openings.

#[path = "../benches/fairness/model.rs"]
mod model;

use domain::spread::advised_spread_ms;
use model::{Group, Wins, hold, hold_draws, hold_queues, hold_waitlists};

const UNITS: usize = 100;
const PEOPLE: usize = 1_500;
const BOTS: usize = 500;
const ENOUGH: (u64, u32) = (8_000, 1_000);

fn with(bots: Group, spread_ms: i64) -> Wins {
    hold((Group::people(PEOPLE), bots), UNITS, spread_ms, ENOUGH, 7)
}

fn advised() -> i64 {
    advised_spread_ms((PEOPLE + BOTS) as i64, UNITS as i64)
}

#[test]
fn without_a_spread_scripts_get_everything() {
    let wins = hold((Group::people(PEOPLE), Group::bots(BOTS)), UNITS, 0, (4_000, 50), 7);
    assert_eq!((wins.people, wins.bots), (0, 50 * UNITS as u64));
}

#[test]
fn advised_spread_bounds_the_advantage_of_scripts() {
    let short = with(Group::bots(BOTS), advised() / 10).advantage();
    assert!(short > 2.0, "a tenth of it is too short: {short}");
    for bots in [Group::bots(BOTS), Group { requests_per_second: 0, ..Group::bots(BOTS) }] {
        let wins = with(bots, advised());
        assert!(wins.advantage() <= 1.2 && wins.advantage() > 1.0, "{bots:?}: {} of {wins:?}", wins.advantage());
    }
}

/// Speed brings a small advantage; pressing more often or from more browsers adds nothing to it.
#[test]
fn more_requests_and_browsers_bring_no_moment_forward() {
    let exact = with(Group { requests_per_second: 0, ..Group::bots(BOTS) }, advised()).advantage();
    for (requests_per_second, browsers) in [(20, 1), (20, 20), (1, 20)] {
        let pressing = with(Group { requests_per_second, browsers, ..Group::bots(BOTS) }, advised());
        let most = exact * (3.0 * pressing.log_error()).exp();
        assert!(pressing.advantage() <= most, "{requests_per_second}/s, {browsers} browsers: {pressing:?}");
    }
    let same = Group { latency_ms: 500.0, ..Group::bots(BOTS) };
    let equal = with(Group { requests_per_second: 0, ..same }, advised());
    assert!(equal.advantage().ln().abs() < 3.0 * equal.log_error(), "as fast as people: {}", equal.advantage());
}

/// Neither requests, nor browsers, nor the connection matter to a waiting room or a draw. Each case rests on 16,500
/// wins of each group, so that the bounds are six standard errors away.
#[test]
fn waiting_room_and_draw_give_scripts_and_people_the_same_chance() {
    let people = Group { requests_per_second: 1, ..Group::people(1_000) };
    let same = Group { accounts: 1_000, ..people };
    for bots in [
        Group { requests_per_second: 20, ..same },
        Group { latency_ms: 10.0, ..same },
        Group { browsers: 20, ..same },
        Group { browsers: 20, ..Group::bots(1_000) },
    ] {
        for hold in [hold_queues, hold_draws] {
            let wins = hold((people, bots), 1_000, (16_500, 1_000), 7);
            assert!(wins.people >= 16_500 && wins.bots >= 16_500, "{wins:?}");
            let advantage = wins.advantage();
            assert!((0.95..=1.05).contains(&advantage), "{bots:?}: {advantage} of {wins:?}");
        }
    }
}

/// Scripts join a waitlist at once, people as fast as they read, at any moment of the wall clock.
#[test]
fn waitlist_gives_scripts_and_people_the_same_chance() {
    for after_ms in [800.0..4_000.0, 2_000.0..12_000.0] {
        let people = Group::people(150).joins_within(after_ms);
        let wins = hold_waitlists((people, Group::bots(50)), 40, (16_500, 4_000), 7);
        assert!(wins.people >= 16_500 && wins.bots >= 16_500, "{wins:?}");
        let advantage = wins.advantage();
        assert!((0.95..=1.05).contains(&advantage), "{people:?}: {advantage} of {wins:?}");
    }
}
