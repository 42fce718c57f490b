//! Compares the chances of a scripted and a human account: `cargo bench --bench fairness`. The seeds are fixed, so the
//! table is always the same.

mod model;

use domain::spread::advised_spread_ms;
use model::{Group, Wins, hold, hold_draws, hold_queues, hold_waitlists};

/// Wins of each group that a row rests on. The 95 % interval of A is then within 2 %.
const MIN_WINS: u64 = 16_500;
/// A row ends after this many openings, because a group may win next to nothing.
const MAX_OPENINGS: u32 = 4_000;

/// People, bots and units: 20 accounts a unit with few bots and with many, and 200 accounts a unit.
const SALES: [(usize, usize, usize); 3] = [(1_900, 100, 100), (1_000, 1_000, 100), (1_000, 1_000, 10)];

fn main() {
    println!("people: 500 ms from pressing to decision, bots: 10 ms; {MIN_WINS} wins per group\n");
    println!("| people, bots, units | sale | bots press | A | 95 % interval | wins of bots and people |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for sale in SALES {
        let (people, bots, units) = sale;
        let advised = advised_spread_ms((people + bots) as i64, units as i64);
        for spread_ms in [0, 10_000, advised] {
            row(sale, Group::bots(bots), (spread_ms, advised));
        }
    }
    let sale = SALES[0];
    let advised = advised_spread_ms((sale.0 + sale.1) as i64, sale.2 as i64);
    let pressing = Group::bots(sale.1);
    for bots in [
        Group { requests_per_second: 1, ..pressing },
        Group { browsers: 20, ..pressing },
        Group { requests_per_second: 0, ..pressing },
    ] {
        row(sale, bots, (advised, advised));
    }
    for (name, hold) in [("waiting room", hold_queues as Hold), ("draw", hold_draws)] {
        for sale in SALES {
            lot_row(sale, (Group::people(sale.0), Group::bots(sale.1)), name, hold);
        }
        for bots in
            [Group { browsers: 20, ..pressing }, Group { latency_ms: 500.0, requests_per_second: 0, ..pressing }]
        {
            lot_row(SALES[0], (Group::people(SALES[0].0), bots), name, hold);
        }
    }
    for (after_ms, name) in [(800.0..4_000.0, "0.8 to 4 s"), (2_000.0..12_000.0, "2 to 12 s")] {
        let groups = (Group::people(150).joins_within(after_ms), Group::bots(50));
        lot_row((150, 50, 40), groups, &format!("waitlist, people join after {name}"), hold_waitlists);
    }
}

/// Holds openings of a sale whose order does not depend on arrival.
type Hold = fn((Group, Group), usize, (u64, u32), u64) -> Wins;

fn row(sale: (usize, usize, usize), bots: Group, (spread_ms, advised): (i64, i64)) {
    let wins = hold((Group::people(sale.0), bots), sale.2, spread_ms, (MIN_WINS, MAX_OPENINGS), 1);
    let name = match spread_ms / 1000 {
        0 => "plain rush".to_owned(),
        seconds if spread_ms == advised => format!("spread {seconds} s, as advised"),
        seconds => format!("spread {seconds} s"),
    };
    print(sale, &name, bots, &wins);
}

fn lot_row(sale: (usize, usize, usize), groups: (Group, Group), name: &str, hold: Hold) {
    let wins = hold(groups, sale.2, (MIN_WINS, MAX_OPENINGS), 1);
    print(sale, name, groups.1, &wins);
}

fn print((people, bot_accounts, units): (usize, usize, usize), name: &str, bots: Group, wins: &Wins) {
    let presses = match bots {
        Group { requests_per_second: 0, .. } => "once, at their moment".to_owned(),
        Group { requests_per_second, browsers: 1, .. } => format!("{requests_per_second}/s"),
        Group { requests_per_second, browsers, .. } => {
            format!("{requests_per_second}/s in each of {browsers} browsers")
        }
    };
    let (advantage, bot_wins, people_wins) = (advantage(wins), wins.bots, wins.people);
    println!("| {people}, {bot_accounts}, {units} | {name} | {presses} | {advantage} | {bot_wins}, {people_wins} |");
}

fn advantage(wins: &Wins) -> String {
    if wins.people == 0 {
        return "∞ | people get nothing".to_owned();
    }
    let (ratio, factor) = (wins.advantage(), (1.96 * wins.log_error()).exp());
    format!("{ratio:.2} | {:.2} to {:.2}", ratio / factor, ratio * factor)
}
