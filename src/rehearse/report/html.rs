//! The report as one HTML page without external resources: style and plots are inline.

use askama::Template;

use super::{GroupTotals, RehearsalReport, SecondRow, StepRow, Times};
use crate::options::VerdictLimits;
use pages::filters;
use pages::plot::{DotRow, LinePlot, QUANTILES, Scale, Series, bars, dots};

#[derive(Template)]
#[template(path = "rehearsal/rehearsal.html")]
struct ReportPage<'a> {
    report: &'a RehearsalReport,
    rates: String,
    times: String,
    steps: String,
    funnel: String,
    quantiles: [(&'static str, &'static str); 4],
    more_times: [(&'static str, Times); 2],
    groups: [(&'static str, GroupTotals); 2],
    /// Responses in the busiest second.
    peak: u64,
}

/// The whole page.
pub fn page(report: &RehearsalReport, limits: VerdictLimits) -> askama::Result<String> {
    let peak = report.seconds.iter().map(responses).max().unwrap_or(0);
    ReportPage {
        rates: rates(report),
        times: times(report, limits),
        steps: steps(report, limits),
        quantiles: QUANTILES,
        more_times: [("order persisted", report.persistence), ("sent late by", report.lag)],
        groups: [("shoppers", report.shoppers), ("bots", report.bots)],
        funnel: bars("Funnel", &report.funnel),
        peak,
        report,
    }
    .render()
}

fn responses(second: &SecondRow) -> u64 {
    second.good + second.refused + second.errors
}

fn rates(report: &RehearsalReport) -> String {
    let over = |value: fn(&SecondRow) -> u64| report.seconds.iter().map(|second| Some(value(second) as f64)).collect();
    let series = |class, name, value, filled| Series { class, name, values: over(value), filled };
    let plot = LinePlot {
        title: "Answers and arrivals per second",
        step: 1.0,
        unit: "s",
        scale: Scale::Linear,
        series: vec![
            series("good", "successful answers", |second| second.good, true),
            series("refused", "refusals", |second| second.refused, false),
            series("errors", "errors", |second| second.errors, false),
            series("arrived", "arrivals", |second| second.arrived, false),
        ],
        marks: vec![(report.settings.opens_s, "the sale opens")],
        limit: None,
    };
    plot.draw()
}

fn times(report: &RehearsalReport, limits: VerdictLimits) -> String {
    let over = |value: fn(&SecondRow) -> Option<f64>| report.seconds.iter().map(value).collect();
    let limit = limits.p99.as_secs_f64() * 1000.0;
    let plot = LinePlot {
        title: "Time to answer shoppers, in milliseconds",
        step: 1.0,
        unit: "s",
        scale: Scale::Log,
        series: vec![
            Series { class: "q99", name: "p99 ms", values: over(|second| second.p99), filled: false },
            Series { class: "q50", name: "p50 ms", values: over(|second| second.p50), filled: false },
        ],
        marks: vec![(report.settings.opens_s, "the sale opens")],
        limit: Some((limit, "limit")),
    };
    plot.draw()
}

fn steps(report: &RehearsalReport, limits: VerdictLimits) -> String {
    let steps = report.steps.iter().map(|row| (row.step, row.times));
    let persistence = Some(("order persisted", report.persistence)).filter(|(_, times)| times.count > 0);
    let rows = steps
        .chain(persistence)
        .map(|(name, times)| DotRow { name, values: [times.p50, times.p90, times.p99, times.p999] });
    let rows: Vec<DotRow> = rows.collect();
    dots("Time of each step at four percentiles, in milliseconds", &rows, Some(limits.p99.as_secs_f64() * 1000.0))
}

impl ReportPage<'_> {
    fn rung(&self) -> &'static str {
        match self.report.settings.rung {
            1 => "the database alone",
            2 => "Redis and the database",
            _ => "Redis, RabbitMQ and the database",
        }
    }

    /// Milliseconds for a table cell.
    fn ms(&self, ms: &f64) -> String {
        if *ms < 10.0 { format!("{ms:.1}") } else { format!("{ms:.0}") }
    }

    fn errors(&self) -> u64 {
        self.report.steps.iter().map(|row| row.errors).sum()
    }

    fn buying(&self) -> Option<&StepRow> {
        self.report.steps.iter().find(|row| row.step == "buy")
    }

    fn sold(&self) -> usize {
        self.report.shoppers.units + self.report.bots.units
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::report::tests::sample;

    const LIMITS: VerdictLimits =
        VerdictLimits { p99: Duration::from_secs(1), persisted: Duration::from_secs(10), errors: 0 };

    #[tokio::test]
    async fn page_has_the_numbers_and_the_verdict() {
        let html = page(&sample(false), LIMITS).unwrap();
        for part in ["No go", "1,001", "409 sold_out", "rate_limited", "no sale sells more than its total", "--seed 42"]
        {
            assert!(html.contains(part), "{part}");
        }
        assert!(html.contains("&#60;none&#62;") && !html.contains("<none>"), "findings are escaped");
        assert_eq!(html.matches("<svg").count(), 4);
        assert!(page(&sample(true), LIMITS).unwrap().contains(">Go<"));
    }

    #[tokio::test]
    async fn keyboard_reaches_what_scrolls() {
        let html = page(&sample(true), LIMITS).unwrap();
        for (class, count) in [("plot", 4), ("table", 4)] {
            let region = format!(r#"<div class="{class}" tabindex="0" role="region" aria-label=""#);
            assert_eq!(html.matches(&region).count(), count, "{class}");
            assert_eq!(html.matches(&format!(r#"<div class="{class}""#)).count(), count, "{class}");
        }
    }

    #[tokio::test]
    async fn page_loads_no_external_resource() {
        let html = page(&sample(true), LIMITS).unwrap();
        let own = html.replace("http://127.0.0.1:8080", "");
        for outside in ["http:", "https:", "src=", "url(", "@import", "<link", "<script"] {
            assert!(!own.contains(outside), "{outside}");
        }
    }
}
