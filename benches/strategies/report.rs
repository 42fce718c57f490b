//! The results as a table, for the terminal and for `benches/results`.

use std::fmt::Write;

use serde::Serialize;

use crate::crash::Crash;
use crate::race::Cell;
use crate::strategy::Strategy;
use crate::{BUYERS, STOCKS, machine};

#[derive(Serialize)]
pub struct Report {
    pub machine: String,
    pub servers: Vec<(&'static str, String)>,
    pub seconds_per_cell: u64,
    pub rows: Vec<Row>,
}

#[derive(Serialize)]
pub struct Row {
    pub key: &'static str,
    pub name: &'static str,
    pub order_in: &'static str,
    pub one_per_user: bool,
    pub cells: Vec<Cell>,
    pub crash: Crash,
}

impl Row {
    pub fn new(strategy: &Strategy, cells: Vec<Cell>, crash: Crash) -> Row {
        let &Strategy { key, name, order_in, one_per_user, .. } = strategy;
        Row { key, name, order_in, one_per_user, cells, crash }
    }

    pub fn cell(&self, stock: u64, buyers: u64) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.stock == stock && cell.buyers == buyers)
    }
}

impl Report {
    pub fn new(servers: Vec<(&'static str, String)>, seconds_per_cell: u64) -> Report {
        Report { machine: machine::describe(), servers, seconds_per_cell, rows: Vec::new() }
    }

    /// One line about the machine and the servers.
    pub fn place(&self) -> String {
        let servers: Vec<String> = self.servers.iter().map(|(name, version)| format!("{name} {version}")).collect();
        format!("{}; {}; buyers and servers on the same machine", self.machine, servers.join(", "))
    }

    /// The table: rates and losses of each strategy.
    pub fn text(&self) -> String {
        let mut lines = vec![TITLES.map(str::to_owned)];
        lines.extend(self.rows.iter().map(Row::words));
        let widths: [usize; TITLES.len()] =
            std::array::from_fn(|n| lines.iter().map(|line| line[n].chars().count()).max().unwrap_or_default());
        let mut text = String::new();
        for line in &lines {
            let cells: Vec<String> = line.iter().zip(widths).map(|(word, width)| format!("{word:<width$}")).collect();
            // Writing to a `String` cannot fail, here and below.
            let _ = writeln!(text, "{}", cells.join("  ").trim_end());
        }
        text + &self.place()
    }

    pub fn markdown(&self) -> String {
        let mut text = String::from("# The strategies side by side\n\n");
        let _ = writeln!(text, "Written by `cargo bench --bench strategies`. {}. {EXPLAINED}\n", self.place());
        let _ = writeln!(text, "![Grants a second](strategies.svg)\n");
        table(&mut text, &TITLES.map(str::to_owned), self.rows.iter().map(|row| row.words().to_vec()));
        let _ = writeln!(text, "\n## Every cell\n");
        let titles = ["strategy", "stock", "buyers", "grants/s", "p50 ms", "p99 ms", "oversold", "undersold", "twice"];
        let cells = self.rows.iter().flat_map(|row| row.cells.iter().map(move |cell| every(row, cell)));
        table(&mut text, &titles.map(str::to_owned), cells);
        text
    }
}

const TITLES: [&str; 12] = [
    "strategy",
    "order is in",
    "20 buyers",
    "200 buyers",
    "1,000 buyers",
    "p50 ms",
    "p99 ms",
    "oversold",
    "undersold",
    "bought twice",
    "lost in a crash",
    "units leaked",
];

const EXPLAINED: &str = "Grants per second with a stock of 100,000; wait of a claim with 200 buyers; oversold, undersold and bought twice \
    over all cells; for a process killed while it sold: how many buyers with a granted unit have no order, and how many \
    units were deducted without an order. Strategies where users may buy twice do not record users; undersold is known \
    only for sales that finished in time. Each figure is from one run";

impl Row {
    fn words(&self) -> [String; TITLES.len()] {
        let most = STOCKS[STOCKS.len() - 1];
        let rate = |buyers| self.cell(most, buyers).map_or_else(String::new, |cell| grouped(cell.grants_per_second));
        let wait = |us: fn(&Cell) -> u64| self.cell(most, BUYERS[1]).map_or_else(String::new, |cell| ms(us(cell)));
        let sum = |count: fn(&Cell) -> u64| grouped(self.cells.iter().map(count).sum::<u64>() as f64);
        let undersold: Vec<u64> = self.cells.iter().filter_map(|cell| cell.undersold).collect();
        let undersold = if undersold.is_empty() { "unknown".into() } else { undersold.iter().sum::<u64>().to_string() };
        [
            self.name.to_owned(),
            self.order_in.to_owned(),
            rate(BUYERS[0]),
            rate(BUYERS[1]),
            rate(BUYERS[2]),
            wait(|cell| cell.p50_us),
            wait(|cell| cell.p99_us),
            sum(|cell| cell.oversold),
            undersold,
            sum(|cell| cell.twice),
            format!("{} of {}", grouped(self.crash.lost as f64), grouped(self.crash.answered as f64)),
            grouped(self.crash.leaked as f64),
        ]
    }
}

fn every(row: &Row, cell: &Cell) -> Vec<String> {
    vec![
        row.name.to_owned(),
        grouped(cell.stock as f64),
        grouped(cell.buyers as f64),
        grouped(cell.grants_per_second),
        ms(cell.p50_us),
        ms(cell.p99_us),
        grouped(cell.oversold as f64),
        cell.undersold.map_or_else(|| "–".to_owned(), |units| grouped(units as f64)),
        grouped(cell.twice as f64),
    ]
}

fn table(text: &mut String, titles: &[String], rows: impl Iterator<Item = Vec<String>>) {
    let _ = writeln!(text, "| {} |", titles.join(" | "));
    let _ = writeln!(text, "|{}", " --- |".repeat(titles.len()));
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
}

fn ms(us: u64) -> String {
    format!("{:.2}", us as f64 / 1000.0)
}

/// A number with separated thousands: `12,345`.
pub fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
