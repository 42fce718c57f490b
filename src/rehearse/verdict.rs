//! Go or no go: the measurements, compared with what the shop promises and with the limits of the options.

use std::collections::HashSet;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::http::MAX_CONNECTIONS;
use super::measure::{Measurements, Milestone, ResponseClass, Step};
use crate::measure::AccountRecord;
use crate::options::VerdictLimits;
use control::audit::AuditCheck;
use domain::OrderId;

/// Above this p99 the generator itself was too slow for its load, and the measured times are worse than the shop's.
const MAX_GENERATOR_LAG: Duration = Duration::from_millis(100);
/// Violations of one kind that are listed.
const MAX_LISTED: usize = 3;

/// The result of one criterion, worst first. The names in JSON are older than the enum's names, and stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum CriterionStatus {
    #[serde(rename = "broken")]
    Fail,
    /// Worth knowing, but no reason for a "no go".
    #[serde(rename = "doubt")]
    Warn,
    #[serde(rename = "kept")]
    Ok,
}

impl CriterionStatus {
    /// Its class and accessible name in the page, its sign there, and its word on a terminal.
    pub(crate) fn shown(self) -> (&'static str, &'static str, &'static str) {
        match self {
            CriterionStatus::Ok => ("ok", "✓", "ok  "),
            CriterionStatus::Warn => ("warn", "!", "WARN"),
            CriterionStatus::Fail => ("fail", "✗", "FAIL"),
        }
    }
}

/// One criterion of the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Criterion {
    #[serde(rename = "mark")]
    pub status: CriterionStatus,
    pub what: &'static str,
    pub found: String,
}

/// The rehearsed sale as the database stores it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SaleTotals {
    pub units: i64,
    pub sold: i64,
    pub live: HashSet<OrderId>,
}

/// Everything that the verdict depends on.
pub struct VerdictInput<'a> {
    pub limits: VerdictLimits,
    pub measurements: &'a Measurements,
    pub shoppers: &'a [AccountRecord],
    pub bots: &'a [AccountRecord],
    pub totals: &'a SaleTotals,
    pub audit: &'a [AuditCheck],
}

impl VerdictInput<'_> {
    fn records(&self) -> impl Iterator<Item = &AccountRecord> {
        self.shoppers.iter().chain(self.bots)
    }

    /// Every criterion, the worst first. The verdict is "go" if none has failed.
    pub fn evaluate(&self) -> Vec<Criterion> {
        let mut criteria = vec![
            self.sale_opened(),
            self.sold_exactly(),
            self.one_order_per_user(),
            self.promises(),
            self.persistence(),
            self.payment_starts(),
            self.payments(),
            self.errors(),
            self.slowest_step(),
            self.audited(),
            self.generator(),
        ];
        criteria.sort_by_key(|criterion| criterion.status);
        criteria
    }

    fn sale_opened(&self) -> Criterion {
        let pressed = self.measurements.at(Milestone::Pressed);
        let found = if pressed > 0 {
            format!("{pressed} pressed the button")
        } else {
            "no shopper saw the sale open".to_owned()
        };
        criterion(pressed > 0, "the sale opened", found)
    }

    /// Checks that all units are sold, or as many as shoppers pressed for, and never more.
    fn sold_exactly(&self) -> Criterion {
        let SaleTotals { units, sold, live } = self.totals;
        let wanted = (self.measurements.at(Milestone::Pressed) as i64).min(*units);
        let ok = *sold == live.len() as i64 && *sold <= *units && *sold >= wanted;
        criterion(ok, "sold exactly the stock", format!("{sold} of {units} units in {} live orders", live.len()))
    }

    fn one_order_per_user(&self) -> Criterion {
        let two = self.records().filter(|record| record.orders.len() > 1).count();
        let mut orders = HashSet::new();
        let shared = self.records().flat_map(|record| &record.orders).filter(|order| !orders.insert(**order)).count();
        let found = format!("{two} users with two orders, {shared} orders with two users");
        criterion(two == 0 && shared == 0, "one order per user", found)
    }

    /// Checks every promise to a single user: repeated presses return the first order, and granted orders are
    /// persisted. Orders in the database whose 202 never reached the client are counted but are not a failure.
    fn promises(&self) -> Criterion {
        let granted: HashSet<OrderId> = self.records().flat_map(|record| record.orders.iter().copied()).collect();
        let mut violations: Vec<String> = self.records().flat_map(|record| record.violations.clone()).collect();
        let missing = granted.difference(&self.totals.live);
        violations.extend(missing.map(|order| format!("order {order} is not in the database")));
        let unanswered = self.totals.live.difference(&granted).count();
        let found = match violations.as_slice() {
            [] if unanswered > 0 => format!("{} kept; {unanswered} orders whose answer never arrived", granted.len()),
            [] => format!("{} promises, all kept", granted.len()),
            violations => format!("{} violations: {}", violations.len(), first_of(violations)),
        };
        criterion(violations.is_empty(), "every 202 became one order", found)
    }

    fn persistence(&self) -> Criterion {
        let slowest = self.records().filter_map(|record| record.persisted_after).max().unwrap_or_default();
        let granted = self.records().filter(|record| !record.orders.is_empty());
        let never = granted.filter(|record| record.persisted_after.is_none()).count();
        let ok = never == 0 && slowest <= self.limits.persisted;
        let limit = humantime::format_duration(self.limits.persisted);
        let found = match never {
            0 => format!("the slowest after {} of {limit}", ms(slowest)),
            never => format!("{never} could not be read within {limit}"),
        };
        criterion(ok, "orders are persisted in time", found)
    }

    /// Apart from [`VerdictInput::promises`]: a provider that is away breaks no promise of a purchase. A shop without a provider
    /// takes no payments on purpose.
    fn payment_starts(&self) -> Criterion {
        let refused: Vec<&str> = self.records().filter_map(|record| record.payment_refused.as_deref()).collect();
        let found = match refused.first() {
            None => "all".to_owned(),
            Some(first) => format!("{} were refused, the first with {first}", refused.len()),
        };
        let is_off = refused.iter().all(|answer| answer.ends_with(" payments_off"));
        let status = match (refused.is_empty(), is_off) {
            (true, _) => CriterionStatus::Ok,
            (false, true) => CriterionStatus::Warn,
            (false, false) => CriterionStatus::Fail,
        };
        Criterion { status, what: "payments could be started", found }
    }

    fn payments(&self) -> Criterion {
        let (sent, paid) = self
            .records()
            .filter_map(|record| record.paid)
            .fold((0, 0), |(sent, paid), ok| (sent + 1, paid + i32::from(ok)));
        criterion(sent == paid, "every payment made its order paid", format!("{paid} of {sent}"))
    }

    fn errors(&self) -> Criterion {
        let errors: u64 = Step::ALL.iter().map(|step| self.measurements.of(*step).errors).sum();
        let mut kinds: Vec<String> = Vec::new();
        for step in Step::ALL {
            for (answer, count) in &self.measurements.of(step).answers {
                let (status, code) = answer.split_once(' ').unwrap_or((answer, ""));
                if step.classify(status.parse().unwrap_or(0), code) == ResponseClass::Error {
                    kinds.push(format!("{} {answer} × {count}", step.as_str()));
                }
            }
        }
        let found = if kinds.is_empty() { "none".to_owned() } else { format!("{errors}: {}", first_of(&kinds)) };
        criterion(errors <= self.limits.errors.into(), "errors are within the limit", found)
    }

    /// The step of shoppers with the highest 99th percentile.
    fn slowest_step(&self) -> Criterion {
        const WHAT: &str = "response times are within the limit";
        let steps = Step::ALL.into_iter().filter(|step| *step != Step::Bot);
        let measured = steps.filter(|step| !self.measurements.of(*step).times.is_empty());
        let p99s = measured.map(|step| (step, quantile(&self.measurements.of(step).times, 0.99)));
        let Some((slowest, took)) = p99s.max_by_key(|(_, p99)| *p99) else {
            return criterion(false, WHAT, "there were none".into());
        };
        let limit = humantime::format_duration(self.limits.p99);
        let found = format!("the slowest step, {}, has a p99 of {} of {limit}", slowest.as_str(), ms(took));
        criterion(took <= self.limits.p99, WHAT, found)
    }

    fn audited(&self) -> Criterion {
        let violations: Vec<String> = self.audit.iter().flat_map(|check| check.violations.clone()).collect();
        let found = match violations.as_slice() {
            [] => format!("{} promises checked", self.audit.len()),
            all => format!("{} violations: {}", all.len(), first_of(all)),
        };
        criterion(violations.is_empty(), "the audit is clean", found)
    }

    fn generator(&self) -> Criterion {
        let late = quantile(&self.measurements.lag, 0.99);
        let found =
            format!("requests were sent at most {} late (p99), {MAX_CONNECTIONS} in flight at a time", ms(late));
        let status = if late <= MAX_GENERATOR_LAG { CriterionStatus::Ok } else { CriterionStatus::Warn };
        Criterion { status, what: "the load generator kept up", found }
    }
}

fn criterion(ok: bool, what: &'static str, found: String) -> Criterion {
    Criterion { status: if ok { CriterionStatus::Ok } else { CriterionStatus::Fail }, what, found }
}

/// The first [`MAX_LISTED`] texts, and how many more there are.
fn first_of(all: &[String]) -> String {
    let more = if all.len() > MAX_LISTED { format!(" and {} more", all.len() - MAX_LISTED) } else { String::new() };
    format!("{}{more}", all.iter().take(MAX_LISTED).cloned().collect::<Vec<_>>().join("; "))
}

/// A quantile of a histogram in microseconds.
pub fn quantile(times: &Histogram<u64>, quantile: f64) -> Duration {
    Duration::from_micros(times.value_at_quantile(quantile))
}

/// A time as text in milliseconds.
pub fn ms(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1000.0;
    if ms < 10.0 { format!("{ms:.1} ms") } else { format!("{ms:.0} ms") }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;
    use uuid::Uuid;

    use super::*;
    use crate::measure::{LoadRecorder, VisitOutcome};
    use domain::UserId;

    const LIMITS: VerdictLimits =
        VerdictLimits { p99: Duration::from_millis(500), persisted: Duration::from_secs(2), errors: 0 };

    fn winner(n: u128) -> AccountRecord {
        let mut record = AccountRecord::new(UserId(Uuid::from_u128(n)));
        record.outcome = VisitOutcome::Granted;
        record.add_order(OrderId(Uuid::from_u128(n)));
        record.persisted_after = Some(Duration::from_millis(900));
        record
    }

    fn response(recorder: &LoadRecorder, step: Step, ms: u64, status: u16, code: &str) {
        recorder.response(step, Duration::from_millis(ms), status, code);
    }

    /// Evaluates a perfect rehearsal with one change, and returns the criteria that fail.
    fn failures(
        change: impl Fn(&LoadRecorder, &mut Vec<AccountRecord>, &mut SaleTotals, &mut Vec<AuditCheck>),
    ) -> Vec<&'static str> {
        let recorder = LoadRecorder::new(Instant::now());
        for _ in 0..5 {
            recorder.reached(Milestone::Pressed);
            recorder.response(Step::Buy, Duration::from_millis(20), 202, "");
        }
        let mut records = vec![winner(1), winner(2)];
        let mut totals = SaleTotals { units: 2, sold: 2, live: [1, 2].map(|n| OrderId(Uuid::from_u128(n))).into() };
        let mut audit =
            vec![AuditCheck { promise: "no sale sells more than its total", violations: vec![], covers: None }];
        change(&recorder, &mut records, &mut totals, &mut audit);
        let input = VerdictInput {
            limits: LIMITS,
            measurements: &recorder.snapshot(),
            shoppers: &records,
            bots: &[],
            totals: &totals,
            audit: &audit,
        };
        let criteria = input.evaluate();
        let failed = criteria.iter().filter(|criterion| criterion.status == CriterionStatus::Fail);
        failed.map(|criterion| criterion.what).collect()
    }

    #[tokio::test]
    async fn rehearsal_without_faults_is_a_go() {
        assert!(failures(|_, _, _, _| {}).is_empty());
        assert!(failures(|recorder, _, _, _| response(recorder, Step::Buy, 20, 429, "busy")).is_empty());
    }

    #[tokio::test]
    async fn every_fault_fails_its_criterion() {
        let order = |n| OrderId(Uuid::from_u128(n));
        let exactly = "sold exactly the stock";
        assert_eq!(failures(|_, _, totals, _| totals.sold = 1), [exactly]);
        assert_eq!(failures(|_, _, totals, _| totals.units = 3), [exactly]);
        assert_eq!(failures(|_, _, totals, _| totals.live.extend([order(3)])), [exactly]);
        assert_eq!(failures(|_, records, _, _| records[0].add_order(order(2))), ["one order per user"]);
        let violation = "every 202 became one order";
        assert_eq!(failures(|_, records, _, _| records[0].violations.push("x".into())), [violation]);
        let late = Some(Duration::from_secs(3));
        assert_eq!(failures(|_, records, _, _| records[1].persisted_after = late), ["orders are persisted in time"]);
        assert_eq!(failures(|_, records, _, _| records[1].paid = Some(false)), ["every payment made its order paid"]);
        let refused = |answer: &str| failures(|_, records, _, _| records[1].payment_refused = Some(answer.to_owned()));
        assert_eq!(refused("503 overloaded"), ["payments could be started"]);
        assert!(refused("409 payments_off").is_empty());
        let error = |recorder: &LoadRecorder| response(recorder, Step::Page, 1, 503, "overloaded");
        assert_eq!(failures(|recorder, _, _, _| error(recorder)), ["errors are within the limit"]);
        let slow = |recorder: &LoadRecorder| response(recorder, Step::Token, 1_000, 200, "");
        assert_eq!(failures(|recorder, _, _, _| slow(recorder)), ["response times are within the limit"]);
        assert_eq!(failures(|_, _, _, audit| audit[0].violations.push("x".into())), ["the audit is clean"]);
    }

    #[tokio::test]
    async fn slow_bots_and_a_late_generator_do_not_fail() {
        assert!(failures(|recorder, _, _, _| response(recorder, Step::Bot, 9_000, 429, "")).is_empty());
        assert!(failures(|recorder, _, _, _| recorder.request_sent(Duration::from_secs(1))).is_empty());
    }
}
