//! The report for a terminal.

use std::fmt::Write;

use super::Advantage;
use super::{GroupTotals, RehearsalReport, RunSettings, Times};
use crate::verdict::CriterionStatus;
use domain::ModeName;

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
        let status = match criterion.status {
            CriterionStatus::Ok => "ok  ",
            CriterionStatus::Warn => "WARN",
            CriterionStatus::Fail => "FAIL",
        };
        writeln!(out, "{status}  {}: {}", criterion.what, criterion.found)?;
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
mod tests {
    use crate::report::tests::sample;

    #[tokio::test]
    async fn table_has_the_numbers_and_the_verdict() {
        let text = super::text(&sample(false));
        let parts = [
            "1001",
            "409 sold_out × 1000",
            "202 × 1",
            "FAIL  errors are within the limit: <none>",
            "NO GO",
            "1000 rate",
        ];
        for part in parts {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
        assert!(super::text(&sample(true)).ends_with("\nGO"));
    }
}
