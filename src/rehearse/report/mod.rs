//! What a rehearsal tells in the end: one set of numbers, as a table ([`table`]), as a page ([`html`], with the plots of
//! [`plot`]), and as JSON.

pub mod html;
pub mod plot;
pub mod table;

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use jiff::Timestamp;
use serde::Serialize;

use super::measure::{Milestone, Numbers, Step};
use super::verdict::{Mark, Point};
use crate::control::audit;
use crate::rehearse::outcome::{Ending, Outcome};

/// Where and how it was held.
#[derive(Debug, Clone, Serialize)]
pub struct Setting {
    pub at: Timestamp,
    pub url: String,
    /// 1: the database alone; 2: with Redis; 3: with RabbitMQ.
    pub rung: u8,
    pub shoppers: u32,
    pub units: u32,
    pub rps: u32,
    pub ramp_s: f64,
    pub bots: u32,
    pub seed: u64,
    /// From the beginning.
    pub opens_s: f64,
    pub lasted_s: f64,
    /// Of the machine that the generator ran on.
    pub cores: usize,
    /// The shop is on the machine of the generator.
    pub shares_machine: bool,
}

/// Milliseconds.
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
        let at = |quantile| times.value_at_quantile(quantile) as f64 / 1000.0;
        Times { count: times.len(), p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max: at(1.0) }
    }
}

/// One kind of question.
#[derive(Debug, Clone, Serialize)]
pub struct StepRow {
    pub step: &'static str,
    #[serde(flatten)]
    pub times: Times,
    pub errors: u64,
    pub answers: BTreeMap<String, u64>,
}

/// One second of it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct SecondRow {
    pub arrived: u64,
    pub good: u64,
    pub refused: u64,
    pub errors: u64,
    pub won: u64,
    /// Milliseconds; absent when nobody asked.
    pub p50: Option<f64>,
    pub p99: Option<f64>,
}

/// People or scripts.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Side {
    pub accounts: usize,
    pub questions: u64,
    pub refused: u64,
    /// Of those, for asking too often.
    pub rate_limited: u64,
    pub units: usize,
}

/// Everything that is told.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub go: bool,
    pub points: Vec<Point>,
    pub setting: Setting,
    pub funnel: Vec<(&'static str, u64)>,
    pub fates: Vec<(&'static str, u64)>,
    pub steps: Vec<StepRow>,
    /// From the 202 until the order could be read.
    pub landing: Times,
    /// How late the generator was.
    pub lag: Times,
    pub seconds: Vec<SecondRow>,
    pub people: Side,
    pub bots: Side,
    pub audit: Vec<AuditRow>,
}

/// A promise that the audit checked.
#[derive(Debug, Clone, Serialize)]
pub struct AuditRow {
    pub promise: &'static str,
    pub violations: Vec<String>,
}

impl Report {
    pub fn new(
        setting: Setting,
        numbers: &Numbers,
        (shoppers, bots): (&[Outcome], &[Outcome]),
        points: Vec<Point>,
        audit: &[audit::Check],
    ) -> Report {
        let people = Step::ALL.into_iter().filter(|step| *step != Step::Bot);
        let row = |check: &audit::Check| AuditRow { promise: check.promise, violations: check.violations.clone() };
        Report {
            go: points.iter().all(|point| point.mark != Mark::Broken),
            points,
            setting,
            funnel: Milestone::ALL.map(|milestone| (milestone.as_str(), numbers.at(milestone))).into(),
            fates: fates(shoppers),
            steps: Step::ALL.into_iter().filter_map(|step| step_row(numbers, step)).collect(),
            landing: Times::of(&numbers.landing),
            lag: Times::of(&numbers.lag),
            seconds: numbers.seconds.iter().map(second_row).collect(),
            people: side(numbers, people, shoppers),
            bots: side(numbers, [Step::Bot].into_iter(), bots),
            audit: audit.iter().map(row).collect(),
        }
    }
}

/// How often each fate met somebody.
fn fates(stories: &[Outcome]) -> Vec<(&'static str, u64)> {
    let mut all: BTreeMap<Ending, u64> = BTreeMap::new();
    for story in stories {
        *all.entry(story.fate).or_default() += 1;
    }
    all.into_iter().map(|(fate, count)| (fate_text(fate), count)).collect()
}

fn fate_text(fate: Ending) -> &'static str {
    match fate {
        Ending::Left => "left before the start",
        Ending::SoldOut => "heard that all was gone",
        Ending::GaveUp => "gave up",
        Ending::Closed => "found it closed",
        Ending::OutboxItem => "got a unit",
    }
}

fn step_row(numbers: &Numbers, step: Step) -> Option<StepRow> {
    let asked = numbers.of(step);
    let times = Times::of(&asked.times);
    let row = StepRow { step: step.as_str(), times, errors: asked.errors, answers: asked.answers.clone() };
    (times.count > 0).then_some(row)
}

fn second_row(second: &super::measure::Second) -> SecondRow {
    let asked = !second.times.is_empty();
    let at = |quantile| asked.then(|| second.times.value_at_quantile(quantile) as f64 / 1000.0);
    SecondRow {
        arrived: second.arrived,
        good: second.good,
        refused: second.refused,
        errors: second.errors,
        won: second.won,
        p50: at(0.5),
        p99: at(0.99),
    }
}

fn side(numbers: &Numbers, steps: impl Iterator<Item = Step>, stories: &[Outcome]) -> Side {
    let mut side = Side {
        accounts: stories.len(),
        questions: 0,
        refused: 0,
        rate_limited: 0,
        units: stories.iter().map(|story| story.orders.len()).sum(),
    };
    for asked in steps.map(|step| numbers.of(step)) {
        for (answer, count) in &asked.answers {
            side.questions += count;
            side.refused += if answer.starts_with('4') { *count } else { 0 };
            side.rate_limited += if answer == "429 rate_limited" { *count } else { 0 };
        }
    }
    side
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;
    use crate::rehearse::measure::Measure;

    /// A report of a made-up rehearsal.
    pub fn sample(go: bool) -> Report {
        let measure = Measure::new(Instant::now());
        for n in 1..=1000 {
            measure.reached(Milestone::Arrived);
            measure.answered(Step::Page, Duration::from_micros(n * 10), 200, "");
            measure.answered(Step::Buy, Duration::from_micros(n * 100), 409, "sold_out");
            measure.answered(Step::Bot, Duration::from_micros(n * 10), 429, "rate_limited");
        }
        measure.answered(Step::Buy, Duration::from_millis(123), 202, "");
        measure.reached(Milestone::OutboxItem);
        let mark = if go { Mark::Replayed } else { Mark::Broken };
        let points = vec![Point { mark, what: "no errors", found: "<none>".into() }];
        let setting = Setting {
            at: "2026-11-21T12:00:00Z".parse().unwrap(),
            url: "http://127.0.0.1:8080".into(),
            rung: 3,
            shoppers: 1000,
            units: 7,
            rps: 200,
            ramp_s: 5.0,
            bots: 20,
            seed: 42,
            opens_s: 0.4,
            lasted_s: 1.0,
            cores: 2,
            shares_machine: true,
        };
        let check = audit::Check { promise: "no sale sells more than its total", violations: vec![] };
        Report::new(setting, &measure.numbers(), (&[], &[]), points, &[check])
    }

    #[tokio::test]
    async fn numbers_are_gathered_by_side() {
        let report = sample(true);
        assert_eq!((report.people.questions, report.people.refused), (2001, 1000));
        assert_eq!((report.bots.questions, report.bots.rate_limited), (1000, 1000));
        assert_eq!(report.funnel[0], ("arrived", 1000));
        assert_eq!(report.steps.iter().map(|row| row.step).collect::<Vec<_>>(), ["page", "buy", "bots"]);
        assert!(report.go && !sample(false).go);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(
            (&json["go"], &json["setting"]["seed"], &json["steps"][1]["count"]),
            (&true.into(), &42.into(), &1001.into())
        );
    }
}
