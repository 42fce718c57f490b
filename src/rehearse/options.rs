//! What an owner asks of a rehearsal: the flags of `seckill rehearse`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, value_parser};

use crate::domain::Rush;

/// The flags with their values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Origin of the shop, without a trailing slash; `None`: what shoppers see.
    pub url: Option<String>,
    pub shoppers: u32,
    pub units: u32,
    /// How the sale is split.
    pub rush: Rush,
    /// Shoppers who arrive per second once the ramp is over.
    pub rps: u32,
    pub ramp: Duration,
    /// Scripted accounts.
    pub bots: u32,
    pub seed: u64,
    pub limits: Limits,
    /// Where the report goes; `None`: into the data directory.
    pub report: Option<PathBuf>,
    pub json: Option<PathBuf>,
    /// Only remove what an earlier rehearsal left.
    pub clean: bool,
}

/// What the shop has to keep for a "go".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Of every step of a shopper.
    pub p99: Duration,
    /// From the 202 until the order can be read.
    pub landed: Duration,
    /// Questions without an answer, or with one that should not be.
    pub errors: u32,
}

/// Name, placeholder, default and meaning of every flag that has a value.
const FLAGS: [(&str, &str, &str, &str); 14] = [
    ("url", "ORIGIN", "", "Where the shoppers go, http only [SECKILL_PUBLIC_URL]"),
    ("shoppers", "N", "2000", "How many come"),
    ("units", "N", "100", "Units on sale"),
    ("buckets", "N", "1", "Into how many buckets the sale is split"),
    ("lot", "N", "0", "Units handed to a bucket at a time; 0: everything at once"),
    ("rps", "N", "200", "Shoppers who arrive per second at the peak; each makes some five requests"),
    ("ramp", "TIME", "5s", "How long the arrivals take to reach the peak"),
    ("bots", "N", "20", "Scripted accounts, each asking 20 times a second"),
    ("seed", "N", "1", "The same seed makes the same crowd"),
    ("p99", "TIME", "1s", "No go when the 99th percentile of a step takes longer"),
    ("landed", "TIME", "10s", "No go when a winner's order takes longer to be readable"),
    ("errors", "N", "0", "No go when more questions go wrong"),
    ("report", "FILE", "", "The report [rehearsal-<time>.html in the data directory]"),
    ("json", "FILE", "", "The numbers of the report, for programs"),
];

const CLEAN: &str = "clean";

/// The flags for the command line.
pub fn flags() -> Vec<Arg> {
    let arg = |(name, value, default, help): (&'static str, &'static str, &'static str, &'static str)| {
        let arg = Arg::new(name).long(name).value_name(value).help(help).help_heading("For the command rehearse");
        let arg = if default.is_empty() { arg } else { arg.default_value(default) };
        match (name, value) {
            ("seed", _) => arg.value_parser(value_parser!(u64)),
            ("bots", _) => arg.value_parser(value_parser!(u32).range(0..=1_000)),
            ("errors" | "lot", _) => arg.value_parser(value_parser!(u32)),
            ("buckets", _) => arg.value_parser(value_parser!(u8).range(1..=i64::from(Rush::MOST_BUCKETS))),
            ("rps", _) => arg.value_parser(value_parser!(u32).range(1..=100_000)),
            (_, "N") => arg.value_parser(value_parser!(u32).range(1..=1_000_000)),
            (_, "TIME") => arg.value_parser(time),
            (_, "FILE") => arg.value_parser(value_parser!(PathBuf)),
            _ => arg.value_parser(origin),
        }
    };
    let clean = Arg::new(CLEAN).long(CLEAN).action(ArgAction::SetTrue).help_heading("For the command rehearse");
    let mut all: Vec<Arg> = FLAGS.map(arg).into();
    all.push(clean.help("Hold no rehearsal; remove what one that was killed has left"));
    all
}

fn time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let sensible = Duration::from_millis(1)..=Duration::from_secs(3600);
    if sensible.contains(&time) { Ok(time) } else { Err("expected 1ms to 1h".into()) }
}

fn origin(text: &str) -> Result<String, String> {
    let origin = crate::config::origin(text).map_err(|error| format!("{error:#}"))?;
    only_http(&origin).map_err(|error| error.to_string())?;
    Ok(origin)
}

/// Simulated shoppers speak no TLS: it would measure the generator's ciphers.
pub(super) fn only_http(origin: &str) -> anyhow::Result<()> {
    anyhow::ensure!(
        origin.starts_with("http://"),
        "simulated shoppers speak plain http only; name an address behind the TLS with --url http://…, not {origin}"
    );
    Ok(())
}

/// What is asked for, if the command is `rehearse`. With any other the flags make no sense.
pub fn read(named: &[&str], matches: &ArgMatches) -> anyhow::Result<Option<Options>> {
    if *named == ["rehearse"] {
        return Options::read(matches).map(Some);
    }
    let mut names = FLAGS.iter().map(|(name, ..)| *name).chain([CLEAN]);
    match names.find(|name| matches.value_source(name) == Some(ValueSource::CommandLine)) {
        Some(misplaced) => anyhow::bail!("--{misplaced} is for the command rehearse"),
        None => Ok(None),
    }
}

impl Options {
    fn read(matches: &ArgMatches) -> anyhow::Result<Options> {
        Ok(Options {
            url: matches.get_one("url").cloned(),
            shoppers: value(matches, "shoppers")?,
            units: value(matches, "units")?,
            rush: Rush {
                buckets: value(matches, "buckets")?,
                lot: value::<u32>(matches, "lot")?.into(),
                ..Rush::default()
            },
            rps: value(matches, "rps")?,
            ramp: value(matches, "ramp")?,
            bots: value(matches, "bots")?,
            seed: value(matches, "seed")?,
            limits: Limits {
                p99: value(matches, "p99")?,
                landed: value(matches, "landed")?,
                errors: value(matches, "errors")?,
            },
            report: matches.get_one("report").cloned(),
            json: matches.get_one("json").cloned(),
            clean: matches.get_flag(CLEAN),
        })
    }
}

fn value<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> anyhow::Result<T> {
    matches.get_one(name).cloned().with_context(|| format!("--{name} is missing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Options, clap::Error> {
        let command = clap::Command::new("seckill").args(flags());
        let matches = command.try_get_matches_from([&["seckill"], words].concat())?;
        Ok(Options::read(&matches).unwrap())
    }

    #[test]
    fn everything_has_a_sensible_default() {
        let asked = read(&[]).unwrap();
        assert_eq!((asked.shoppers, asked.units, asked.rps, asked.bots, asked.seed), (2000, 100, 200, 20, 1));
        assert_eq!((asked.ramp, asked.limits.p99), (Duration::from_secs(5), Duration::from_secs(1)));
        assert_eq!((asked.url, asked.report, asked.json, asked.clean), (None, None, None, false));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in [
            ["--shoppers", "0"],
            ["--rps", "fast"],
            ["--ramp", "soon"],
            ["--ramp", "2h"],
            ["--url", "shop.example"],
            ["--url", "https://shop.example"],
            ["--units", "-1"],
        ] {
            assert!(read(&wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(read(&["--url", "http://127.0.0.1:80/"]).unwrap().url.as_deref(), Some("http://127.0.0.1"));
    }
}
