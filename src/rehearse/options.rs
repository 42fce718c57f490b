//! The flags of `seckill rehearse`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, value_parser};

use domain::{ModeName, Rush};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Origin of the shop, without a trailing slash; `None`: `SECKILL_PUBLIC_URL`.
    pub url: Option<String>,
    pub shoppers: u32,
    pub units: u32,
    /// How the sale's buyers are found.
    pub mode: ModeName,
    /// How the sale is split.
    pub rush: Rush,
    /// Arrivals per second once the ramp is over.
    pub rps: u32,
    pub ramp: Duration,
    /// Scripted accounts.
    pub bots: u32,
    pub seed: u64,
    pub limits: VerdictLimits,
    /// File of the report; `None`: a file in the data directory.
    pub report: Option<PathBuf>,
    pub json: Option<PathBuf>,
    /// Only remove what an earlier rehearsal left.
    pub clean: bool,
}

/// The limits for a "go".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerdictLimits {
    /// The limit for the p99 response time of every step of shoppers.
    pub p99: Duration,
    /// The limit for the time from the 202 until the order is readable.
    pub persisted: Duration,
    /// Requests without a response, or with one that is neither good nor a documented refusal.
    pub errors: u32,
}

/// Name, placeholder, default and help of every flag that has a value.
const FLAGS: [(&str, &str, &str, &str); 16] = [
    ("url", "ORIGIN", "", "Origin of the shop, http only [SECKILL_PUBLIC_URL]"),
    ("shoppers", "N", "2000", "Number of shoppers"),
    ("units", "N", "100", "Units on sale"),
    ("mode", "MODE", "rush", "How buyers are found: rush, queue or draw"),
    ("buckets", "N", "1", "Buckets that the sale is split into"),
    ("lot", "N", "0", "Units allotted to a bucket at a time; 0: everything at once"),
    ("spread", "TIME", "600ms", "Spread of the sale, 0s to 10m; enforced from 1s on"),
    ("rps", "N", "200", "Arrivals per second at the peak; a shopper sends about five requests"),
    ("ramp", "TIME", "5s", "Time until the arrivals reach the peak"),
    ("bots", "N", "20", "Scripted accounts, each trying 20 times a second"),
    ("seed", "N", "1", "The same seed gives the same arrivals and shoppers"),
    ("p99", "TIME", "1s", "No go when the p99 of a step is higher"),
    ("landed", "TIME", "10s", "No go when an order takes longer from 202 to readable"),
    ("errors", "N", "0", "No go when more requests fail"),
    ("report", "FILE", "", "File of the report [rehearsal-<time>.html in the data directory]"),
    ("json", "FILE", "", "File for the numbers of the report as JSON"),
];

const CLEAN: &str = "clean";

fn flag((name, value, default, help): (&'static str, &'static str, &'static str, &'static str)) -> Arg {
    let arg = Arg::new(name).long(name).value_name(value).help(help).help_heading("For the command rehearse");
    let arg = if default.is_empty() { arg } else { arg.default_value(default) };
    match (name, value) {
        ("seed", _) => arg.value_parser(value_parser!(u64)),
        ("bots", _) => arg.value_parser(value_parser!(u32).range(0..=1_000)),
        ("mode", _) => arg.value_parser(mode),
        ("errors" | "lot", _) => arg.value_parser(value_parser!(u32)),
        ("buckets", _) => arg.value_parser(value_parser!(u8).range(1..=i64::from(Rush::MAX_BUCKETS))),
        ("rps", _) => arg.value_parser(value_parser!(u32).range(1..=100_000)),
        ("spread", _) => arg.value_parser(spread),
        (_, "N") => arg.value_parser(value_parser!(u32).range(1..=1_000_000)),
        (_, "TIME") => arg.value_parser(time),
        (_, "FILE") => arg.value_parser(value_parser!(PathBuf)),
        _ => arg.value_parser(origin),
    }
}

/// The flags for the command line.
pub fn flags() -> Vec<Arg> {
    let clean = Arg::new(CLEAN).long(CLEAN).action(ArgAction::SetTrue).help_heading("For the command rehearse");
    let mut all: Vec<Arg> = FLAGS.map(flag).into();
    all.push(clean.help("Only remove what a killed rehearsal has left"));
    all
}

fn time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let sensible = Duration::from_millis(1)..=Duration::from_secs(3600);
    if sensible.contains(&time) { Ok(time) } else { Err("expected 1ms to 1h".into()) }
}

fn spread(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let longest = Duration::from_millis(Rush::MAX_SPREAD_MS as u64);
    if time <= longest { Ok(time) } else { Err("expected 0s to 10m".into()) }
}

fn mode(text: &str) -> Result<ModeName, String> {
    text.parse().map_err(|()| format!("expected {}", ModeName::ALL.map(ModeName::as_str).join(", ")))
}

fn origin(text: &str) -> Result<String, String> {
    let origin = base::config::origin(text).map_err(|error| format!("{error:#}"))?;
    only_http(&origin).map_err(|error| error.to_string())?;
    Ok(origin)
}

/// Fails unless the origin is plain http: with TLS, a rehearsal would measure the generator's ciphers.
pub(super) fn only_http(origin: &str) -> anyhow::Result<()> {
    anyhow::ensure!(
        origin.starts_with("http://"),
        "simulated shoppers use plain http only; give --url http://… an address behind the TLS termination, not {origin}"
    );
    Ok(())
}

/// The options, if the command is `rehearse`. Its flags are an error with any other command.
pub fn read(command: &[&str], matches: &ArgMatches) -> anyhow::Result<Option<Options>> {
    if *command == ["rehearse"] {
        return Options::read(matches).map(Some);
    }
    let mut names = FLAGS.iter().map(|(name, ..)| *name).chain([CLEAN]);
    match names.find(|name| matches.value_source(name) == Some(ValueSource::CommandLine)) {
        Some(misplaced) => anyhow::bail!("--{misplaced} is for the command rehearse"),
        None => Ok(None),
    }
}

impl Options {
    /// The crowd that staff send from the console: small enough for a laptop, large enough for the cockpit to move.
    pub(crate) const CONSOLE: Options = Options {
        url: None,
        shoppers: 600,
        units: 60,
        mode: ModeName::Rush,
        rush: Rush { buckets: 1, lot: 0, spread_ms: 600 },
        rps: 60,
        ramp: Duration::from_secs(4),
        bots: 4,
        seed: 1,
        limits: VerdictLimits { p99: Duration::from_secs(1), persisted: Duration::from_secs(10), errors: 0 },
        report: None,
        json: None,
        clean: false,
    };

    fn read(matches: &ArgMatches) -> anyhow::Result<Options> {
        Ok(Options {
            url: matches.get_one("url").cloned(),
            shoppers: value(matches, "shoppers")?,
            units: value(matches, "units")?,
            mode: value(matches, "mode")?,
            rush: Rush {
                buckets: value(matches, "buckets")?,
                lot: value::<u32>(matches, "lot")?.into(),
                spread_ms: value::<Duration>(matches, "spread")?.as_millis() as i64,
            },
            rps: value(matches, "rps")?,
            ramp: value(matches, "ramp")?,
            bots: value(matches, "bots")?,
            seed: value(matches, "seed")?,
            limits: VerdictLimits {
                p99: value(matches, "p99")?,
                persisted: value(matches, "landed")?,
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
    fn every_flag_has_a_default() {
        let options = read(&[]).unwrap();
        assert_eq!(options.shoppers, 2000);
        assert_eq!(options.units, 100);
        assert_eq!((options.mode, options.rush), (ModeName::Rush, Rush::default()));
        assert_eq!(options.rps, 200);
        assert_eq!(options.bots, 20);
        assert_eq!(options.seed, 1);
        assert_eq!(options.ramp, Duration::from_secs(5));
        assert_eq!(options.limits.p99, Duration::from_secs(1));
        assert_eq!(options.url, None);
        assert_eq!(options.report, None);
        assert_eq!(options.json, None);
        assert!(!options.clean);
    }

    #[test]
    fn invalid_values_are_refused() {
        for wrong in [
            ["--shoppers", "0"],
            ["--rps", "fast"],
            ["--ramp", "soon"],
            ["--ramp", "2h"],
            ["--url", "shop.example"],
            ["--url", "https://shop.example"],
            ["--units", "-1"],
            ["--spread", "11m"],
            ["--mode", "lottery"],
        ] {
            assert!(read(&wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(read(&["--url", "http://127.0.0.1:80/"]).unwrap().url.as_deref(), Some("http://127.0.0.1"));
    }
}
