//! The report for a terminal.

use std::fmt::Write;

use super::{Report, Side, Times};
use crate::rehearse::verdict::Mark;

/// The whole text.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _ = write_all(&mut text, report);
    text
}

fn write_all(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(
        out,
        "\n{:<14}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>8}",
        "ms", "count", "p50", "p90", "p99", "p99.9", "max", "errors"
    )?;
    for row in &report.steps {
        line(out, row.step, &row.times, &row.errors.to_string())?;
    }
    line(out, "order landed", &report.landing, "")?;
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
    for (fate, count) in &report.fates {
        writeln!(out, "  {fate:<24}{count:>9}")?;
    }
    writeln!(out)?;
    side(out, "shoppers", &report.people)?;
    side(out, "bots", &report.bots)?;
    writeln!(out)?;
    for point in &report.points {
        let mark = match point.mark {
            Mark::Replayed => "kept  ",
            Mark::Doubt => "DOUBT ",
            Mark::Broken => "BROKEN",
        };
        writeln!(out, "{mark} {}: {}", point.what, point.found)?;
    }
    write!(out, "\n{}", if report.go { "GO" } else { "NO GO" })
}

fn line(out: &mut String, name: &str, times: &Times, errors: &str) -> std::fmt::Result {
    let Times { count, p50, p90, p99, p999, max } = times;
    writeln!(out, "{name:<14}{count:>9}{p50:>9.1}{p90:>9.1}{p99:>9.1}{p999:>9.1}{max:>9.1}{errors:>8}")
}

fn side(out: &mut String, name: &str, side: &Side) -> std::fmt::Result {
    let Side { accounts, questions, refused, rate_limited, units } = side;
    writeln!(
        out,
        "{name:<10}{accounts} accounts asked {questions} times, were refused {refused} times ({rate_limited} for asking \
         too often), got {units} units"
    )
}

#[cfg(test)]
mod tests {
    use crate::rehearse::report::tests::sample;

    #[tokio::test]
    async fn the_table_has_the_numbers_and_the_verdict() {
        let text = super::text(&sample(false));
        for part in ["1001", "409 sold_out × 1000", "202 × 1", "BROKEN no errors: <none>", "NO GO", "1000 for asking"]
        {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
        assert!(super::text(&sample(true)).ends_with("\nGO"));
    }
}
