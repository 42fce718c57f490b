//! The report of a rehearsal: one set of numbers, as a table ([`text`]), as a page ([`html`], with the plots of
//! [`plot`](crate::plot)), and as JSON. The names in JSON are stable; where a field has another name, `serde(rename)`
//! says so.

pub mod html;

use std::collections::BTreeMap;
use std::fmt::Write;

use hdrhistogram::Histogram;
use jiff::Timestamp;
use serde::Serialize;

use crate::measure::{AccountRecord, Measurements, Milestone, SecondStats, Step, VisitOutcome};
use crate::verdict::{Criterion, CriterionStatus};
use control::audit::AuditCheck;
use domain::ModeName;

/// Where and how the rehearsal ran.
#[derive(Debug, Clone, Serialize)]
pub struct RunSettings {
    pub at: Timestamp,
    pub url: String,
    /// 1: the database alone; 2: with Redis; 3: with RabbitMQ.
    pub rung: u8,
    pub shoppers: u32,
    pub units: u32,
    pub mode: ModeName,
    pub spread_ms: i64,
    pub rps: u32,
    pub ramp_s: f64,
    pub bots: u32,
    pub seed: u64,
    /// Seconds from the beginning to the opening.
    pub opens_s: f64,
    pub lasted_s: f64,
    /// Cores of the machine that the generator ran on.
    pub cores: usize,
    /// Whether the shop ran on the generator's machine.
    pub shares_machine: bool,
}

/// A summary of a histogram, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Times {
    pub count: u64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

impl Times {
    fn of(times: &Histogram<u64>) -> Times {
        let [p50, p90, p99, p999, max] =
            [0.5, 0.9, 0.99, 0.999, 1.0].map(|quantile| times.value_at_quantile(quantile) as f64 / 1000.0);
        Times { count: times.len(), p50, p90, p99, p999, max }
    }
}

/// One kind of request.
#[derive(Debug, Clone, Serialize)]
pub struct StepRow {
    pub step: &'static str,
    #[serde(flatten)]
    pub times: Times,
    pub errors: u64,
    pub answers: BTreeMap<String, u64>,
}

/// One second of the run.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct SecondRow {
    pub arrived: u64,
    pub good: u64,
    pub refused: u64,
    pub errors: u64,
    #[serde(rename = "won")]
    pub granted: u64,
    /// Milliseconds; absent when there was no response.
    pub p50: Option<f64>,
    pub p99: Option<f64>,
}

/// The totals of all shoppers or of all bots.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct GroupTotals {
    pub accounts: usize,
    #[serde(rename = "questions")]
    pub requests: u64,
    pub refused: u64,
    /// The part of `refused` that the rate limit refused.
    pub rate_limited: u64,
    pub units: usize,
}

impl GroupTotals {
    pub fn units_per_account(&self) -> f64 {
        self.units as f64 / self.accounts.max(1) as f64
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct RehearsalReport {
    pub go: bool,
    #[serde(rename = "points")]
    pub criteria: Vec<Criterion>,
    #[serde(rename = "setting")]
    pub settings: RunSettings,
    pub funnel: Vec<(&'static str, u64)>,
    #[serde(rename = "fates")]
    pub outcomes: Vec<(&'static str, u64)>,
    pub steps: Vec<StepRow>,
    /// Time from the 202 until the order was readable.
    #[serde(rename = "landing")]
    pub persistence: Times,
    /// How late the generator sent requests.
    pub lag: Times,
    pub seconds: Vec<SecondRow>,
    #[serde(rename = "people")]
    pub shoppers: GroupTotals,
    pub bots: GroupTotals,
    /// `None` if a group is empty, or if no shopper got a unit.
    pub advantage: Option<Advantage>,
    pub audit: Vec<AuditCheck>,
}

impl RehearsalReport {
    pub fn new(
        settings: RunSettings,
        measurements: &Measurements,
        (shoppers, bots): (&[AccountRecord], &[AccountRecord]),
        criteria: Vec<Criterion>,
        audit: Vec<AuditCheck>,
    ) -> RehearsalReport {
        let of_shoppers = Step::ALL.into_iter().filter(|step| *step != Step::Bot);
        let outcomes = count_outcomes(shoppers);
        let shoppers = group_totals(measurements, of_shoppers, shoppers);
        let bots = group_totals(measurements, [Step::Bot].into_iter(), bots);
        RehearsalReport {
            go: criteria.iter().all(|criterion| criterion.status != CriterionStatus::Fail),
            criteria,
            settings,
            funnel: Milestone::ALL.map(|milestone| (milestone.as_str(), measurements.at(milestone))).into(),
            outcomes,
            steps: Step::ALL.into_iter().filter_map(|step| step_row(measurements, step)).collect(),
            persistence: Times::of(&measurements.persistence),
            lag: Times::of(&measurements.lag),
            seconds: measurements.seconds.iter().map(second_row).collect(),
            advantage: Advantage::of(&bots, &shoppers),
            shoppers,
            bots,
            audit,
        }
    }
}

fn count_outcomes(records: &[AccountRecord]) -> Vec<(&'static str, u64)> {
    let mut all: BTreeMap<VisitOutcome, u64> = BTreeMap::new();
    for record in records {
        *all.entry(record.outcome).or_default() += 1;
    }
    all.into_iter().map(|(outcome, count)| (outcome.as_str(), count)).collect()
}

fn step_row(measurements: &Measurements, step: Step) -> Option<StepRow> {
    let stats = measurements.of(step);
    let times = Times::of(&stats.times);
    let row = StepRow { step: step.as_str(), times, errors: stats.errors, answers: stats.answers.clone() };
    (times.count > 0).then_some(row)
}

fn second_row(second: &SecondStats) -> SecondRow {
    let has_times = !second.times.is_empty();
    let [p50, p99] =
        [0.5, 0.99].map(|quantile| has_times.then(|| second.times.value_at_quantile(quantile) as f64 / 1000.0));
    SecondRow {
        arrived: second.arrived,
        good: second.good,
        refused: second.refused,
        errors: second.errors,
        granted: second.granted,
        p50,
        p99,
    }
}

fn group_totals(
    measurements: &Measurements,
    steps: impl Iterator<Item = Step>,
    records: &[AccountRecord],
) -> GroupTotals {
    let mut totals = GroupTotals {
        accounts: records.len(),
        requests: 0,
        refused: 0,
        rate_limited: 0,
        units: records.iter().map(|record| record.orders.len()).sum(),
    };
    for stats in steps.map(|step| measurements.of(step)) {
        for (answer, count) in &stats.answers {
            totals.requests += count;
            totals.refused += if answer.starts_with('4') { *count } else { 0 };
            totals.rate_limited += if answer == "429 rate_limited" { *count } else { 0 };
        }
    }
    totals
}

// How much better a scripted account's chance is than a human's.

/// Standard deviations of a normal distribution within which 95 % lie.
const WITHIN_95_PERCENT: f64 = 1.96;
/// If nothing was counted, fewer than this were to be expected with 95 % confidence ("rule of three", Hanley and
/// Lippman-Hand 1983).
const EXPECTED_AT_ZERO: f64 = 3.0;

/// A = (units per bot account) ÷ (units per shopper). 1 is fair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Advantage {
    pub ratio: f64,
    /// The bounds of the 95 % confidence interval.
    pub low: f64,
    pub high: f64,
}

impl Advantage {
    /// The risk ratio of two groups with its interval (Katz, on a logarithmic scale). `None` if a group is empty, or if
    /// shoppers got nothing: the ratio is then infinite.
    pub fn of(bots: &GroupTotals, shoppers: &GroupTotals) -> Option<Advantage> {
        if bots.accounts == 0 || shoppers.units == 0 {
            return None;
        }
        if bots.units == 0 {
            let high = EXPECTED_AT_ZERO / bots.accounts as f64 / shoppers.units_per_account();
            return Some(Advantage { ratio: 0.0, low: 0.0, high });
        }
        let spread = |group: &GroupTotals| (1.0 / group.units as f64 - 1.0 / group.accounts as f64).max(0.0);
        let ratio = bots.units_per_account() / shoppers.units_per_account();
        let factor = (WITHIN_95_PERCENT * (spread(bots) + spread(shoppers)).sqrt()).exp();
        Some(Advantage { ratio, low: ratio / factor, high: ratio * factor })
    }
}

// The report for a terminal.

/// The whole text.
pub fn text(report: &RehearsalReport) -> String {
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    let _ = write_all(&mut text, report);
    text
}

fn write_all(out: &mut String, report: &RehearsalReport) -> std::fmt::Result {
    writeln!(
        out,
        "\n{:<15}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>8}",
        "ms", "count", "p50", "p90", "p99", "p99.9", "max", "errors"
    )?;
    for row in &report.steps {
        line(out, row.step, &row.times, &row.errors.to_string())?;
    }
    line(out, "order persisted", &report.persistence, "")?;
    line(out, "sent late by", &report.lag, "")?;
    writeln!(out, "\nanswers")?;
    for row in &report.steps {
        let answers: Vec<String> = row.answers.iter().map(|(answer, count)| format!("{answer} × {count}")).collect();
        writeln!(out, "  {:<14}{}", row.step, answers.join(", "))?;
    }
    writeln!(out, "\nfunnel")?;
    for (what, count) in &report.funnel {
        writeln!(out, "  {what:<24}{count:>9}")?;
    }
    writeln!(out, "\nshoppers")?;
    for (outcome, count) in &report.outcomes {
        writeln!(out, "  {outcome:<24}{count:>9}")?;
    }
    writeln!(out)?;
    group(out, "shoppers", &report.shoppers)?;
    group(out, "bots", &report.bots)?;
    match report.advantage {
        Some(Advantage { ratio, low, high }) => writeln!(
            out,
            "A bot's chance is {ratio:.2} times a shopper's (A; {low:.2} to {high:.2} with 95 % confidence), {}",
            order_of(&report.settings)
        )?,
        None => writeln!(out, "A bot's chance cannot be compared: a group is empty, or no shopper got a unit")?,
    }
    writeln!(out)?;
    for criterion in &report.criteria {
        writeln!(out, "{}  {}: {}", criterion.status.shown().2, criterion.what, criterion.found)?;
    }
    write!(out, "\n{}", if report.go { "GO" } else { "NO GO" })
}

fn line(out: &mut String, name: &str, times: &Times, errors: &str) -> std::fmt::Result {
    let Times { count, p50, p90, p99, p999, max } = times;
    writeln!(out, "{name:<15}{count:>9}{p50:>9.1}{p90:>9.1}{p99:>9.1}{p999:>9.1}{max:>9.1}{errors:>8}")
}

/// What decides the order of the shoppers.
fn order_of(settings: &RunSettings) -> String {
    match settings.mode {
        ModeName::Rush => format!("spread {} ms", settings.spread_ms),
        ModeName::WaitingRoom => "called from a waiting room".to_owned(),
        ModeName::Draw => "drawn by lot".to_owned(),
    }
}

fn group(out: &mut String, name: &str, totals: &GroupTotals) -> std::fmt::Result {
    let GroupTotals { accounts, requests, refused, rate_limited, units } = totals;
    writeln!(
        out,
        "{name:<10}{accounts} accounts sent {requests} requests, {refused} refused ({rate_limited} rate-limited), got \
         {units} units, {:.3} per account",
        totals.units_per_account()
    )
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;
    use crate::measure::LoadRecorder;

    /// The report of an invented rehearsal.
    pub fn sample(go: bool) -> RehearsalReport {
        let recorder = LoadRecorder::new(Instant::now());
        for n in 1..=1000 {
            recorder.reached(Milestone::Arrived);
            recorder.response(Step::Page, Duration::from_micros(n * 10), 200, "");
            recorder.response(Step::Buy, Duration::from_micros(n * 100), 409, "sold_out");
            recorder.response(Step::Bot, Duration::from_micros(n * 10), 429, "rate_limited");
        }
        recorder.response(Step::Buy, Duration::from_millis(123), 202, "");
        recorder.reached(Milestone::Granted);
        let status = if go { CriterionStatus::Ok } else { CriterionStatus::Fail };
        let criteria = vec![Criterion { status, what: "errors are within the limit", found: "<none>".into() }];
        let settings = RunSettings {
            at: "2026-11-21T12:00:00Z".parse().unwrap(),
            url: "http://127.0.0.1:8080".into(),
            rung: 3,
            shoppers: 1000,
            units: 7,
            mode: ModeName::Rush,
            spread_ms: 0,
            rps: 200,
            ramp_s: 5.0,
            bots: 20,
            seed: 42,
            opens_s: 0.4,
            lasted_s: 1.0,
            cores: 2,
            shares_machine: true,
        };
        let check = AuditCheck { promise: "no sale sells more than its total", violations: vec![], covers: None };
        RehearsalReport::new(settings, &recorder.snapshot(), (&[], &[]), criteria, vec![check])
    }

    #[tokio::test]
    async fn totals_are_per_group() {
        let report = sample(true);
        assert_eq!(report.shoppers.requests, 2001);
        assert_eq!(report.shoppers.refused, 1000);
        assert_eq!(report.bots.requests, 1000);
        assert_eq!(report.bots.rate_limited, 1000);
        assert_eq!(report.funnel[0], ("arrived", 1000));
        assert_eq!(report.steps.iter().map(|row| row.step).collect::<Vec<_>>(), ["page", "buy", "bots"]);
        assert!(report.go && !sample(false).go);
    }

    #[tokio::test]
    async fn json_names_are_stable() {
        let json = serde_json::to_value(sample(true)).unwrap();
        assert_eq!(json["go"], true);
        assert_eq!(json["setting"]["seed"], 42);
        assert_eq!(json["steps"][1]["count"], 1001);
        assert_eq!(json["points"][0]["mark"], "kept");
        assert_eq!(json["people"]["questions"], 2001);
        assert_eq!(json["seconds"][0]["won"], 1);
        assert!(json["fates"].is_array());
        assert!(json["landing"].is_object());
    }

    fn group(accounts: usize, units: usize) -> GroupTotals {
        GroupTotals { accounts, requests: 0, refused: 0, rate_limited: 0, units }
    }

    #[test]
    fn advantage_is_the_ratio_of_chances_with_an_interval() {
        let of = |bots, shoppers| Advantage::of(&bots, &shoppers);
        let all = of(group(20, 20), group(2_000, 80)).unwrap();
        assert!((all.ratio - 25.0).abs() < 1e-9 && all.low < 25.0 && 25.0 < all.high, "{all:?}");
        let fair = of(group(200, 10), group(2_000, 100)).unwrap();
        assert!(
            (fair.ratio - 1.0).abs() < 1e-9 && (0.5..0.6).contains(&fair.low) && (1.7..2.0).contains(&fair.high),
            "{fair:?}"
        );
        let none = of(group(20, 0), group(2_000, 100)).unwrap();
        assert!(none.ratio == 0.0 && none.low == 0.0 && (none.high - 3.0).abs() < 1e-9, "{none:?}");
        for (bots, shoppers) in [(group(0, 0), group(5, 5)), (group(5, 5), group(9, 0)), (group(5, 0), group(9, 0))] {
            assert_eq!(of(bots, shoppers), None);
        }
    }

    #[tokio::test]
    async fn table_has_the_numbers_and_the_verdict() {
        let table = text(&sample(false));
        let parts = [
            "1001",
            "409 sold_out × 1000",
            "202 × 1",
            "FAIL  errors are within the limit: <none>",
            "NO GO",
            "1000 rate",
        ];
        for part in parts {
            assert!(table.contains(part), "{part} is not in:\n{table}");
        }
        assert!(text(&sample(true)).ends_with("\nGO"));
    }
}
