//! Go or no go: what was seen, held against what the shop promises and what its owner wants.

use std::collections::HashSet;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::http::CONNECTIONS;
use super::measure::{Milestone, Numbers, Step};
use crate::control::audit;
use crate::domain::OrderId;
use crate::rehearse::options::Limits;
use crate::rehearse::outcome::Outcome;

/// Later than this the generator itself was too slow to play the crowd; what it measured is worse than the shop was.
pub const LATE: Duration = Duration::from_millis(100);
/// Violations that are told of one kind.
const MOST: usize = 3;

/// How one point stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    Broken,
    /// Worth knowing; no reason not to go.
    Doubt,
    Replayed,
}

/// One point of the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Point {
    pub mark: Mark,
    pub what: &'static str,
    pub found: String,
}

/// How the sale stands in the database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SaleTotals {
    pub units: i64,
    pub sold: i64,
    pub live: HashSet<OrderId>,
}

/// Everything that is judged.
pub struct Evidence<'a> {
    pub limits: Limits,
    pub numbers: &'a Numbers,
    pub shoppers: &'a [Outcome],
    pub bots: &'a [Outcome],
    pub books: &'a SaleTotals,
    pub audit: &'a [audit::Check],
}

impl Evidence<'_> {
    fn stories(&self) -> impl Iterator<Item = &Outcome> {
        self.shoppers.iter().chain(self.bots)
    }

    /// Every point, the worst first; it is a go when none is broken.
    pub fn judge(&self) -> Vec<Point> {
        let mut points = vec![
            self.opened(),
            self.sold_exactly(),
            self.one_each(),
            self.promises(),
            self.landing(),
            self.payments(),
            self.errors(),
            self.slowest(),
            self.audited(),
            self.generator(),
        ];
        points.sort_by_key(|point| point.mark);
        points
    }

    fn opened(&self) -> Point {
        let pressed = self.numbers.at(Milestone::Pressed);
        let found = if pressed > 0 {
            format!("{pressed} pressed the button")
        } else {
            "nobody ever saw the sale open".to_owned()
        };
        point(pressed > 0, "the sale opened", found)
    }

    /// All units, or as many as were asked for; never more.
    fn sold_exactly(&self) -> Point {
        let SaleTotals { units, sold, live } = self.books;
        let wanted = (self.numbers.at(Milestone::Pressed) as i64).min(*units);
        let kept = *sold == live.len() as i64 && *sold <= *units && *sold >= wanted;
        point(kept, "sold exactly what there is", format!("{sold} of {units} units in {} live orders", live.len()))
    }

    fn one_each(&self) -> Point {
        let two: Vec<_> = self.stories().filter(|story| story.orders.len() > 1).collect();
        let mut orders = HashSet::new();
        let shared = self.stories().flat_map(|story| &story.orders).filter(|order| !orders.insert(**order)).count();
        let found = format!("{} users with two orders, {shared} orders with two users", two.len());
        point(two.is_empty() && shared == 0, "nobody has two orders", found)
    }

    /// What was promised one by one: repeated presses, orders that come, and none in the books that nobody was told of.
    fn promises(&self) -> Point {
        let told: HashSet<OrderId> = self.stories().flat_map(|story| story.orders.iter().copied()).collect();
        let mut broken: Vec<String> = self.stories().flat_map(|story| story.broken.clone()).collect();
        broken.extend(told.difference(&self.books.live).map(|order| format!("order {order} is not in the database")));
        let unheard = self.books.live.difference(&told).count();
        let found = match broken.as_slice() {
            [] if unheard > 0 => format!("{} kept; {unheard} orders whose answer never arrived", told.len()),
            [] => format!("{} promises, all kept", told.len()),
            broken => format!("{} broken: {}", broken.len(), some(broken)),
        };
        point(broken.is_empty(), "every 202 became one order", found)
    }

    fn landing(&self) -> Point {
        let slowest = self.stories().filter_map(|story| story.landed).max().unwrap_or_default();
        let never = self.stories().filter(|story| !story.orders.is_empty() && story.landed.is_none()).count();
        let kept = never == 0 && slowest <= self.limits.landed;
        let limit = humantime::format_duration(self.limits.landed);
        let found = match never {
            0 => format!("the slowest after {} of {limit}", ms(slowest)),
            never => format!("{never} could not be read within {limit}"),
        };
        point(kept, "winners soon have their order", found)
    }

    fn payments(&self) -> Point {
        let (sent, paid) = self
            .stories()
            .filter_map(|story| story.payment)
            .fold((0, 0), |(sent, paid), ok| (sent + 1, paid + i32::from(ok)));
        point(sent == paid, "whoever paid has a paid order", format!("{paid} of {sent}"))
    }

    fn errors(&self) -> Point {
        let errors: u64 = Step::ALL.iter().map(|step| self.numbers.of(*step).errors).sum();
        let mut kinds: Vec<String> = Vec::new();
        for step in Step::ALL {
            for (answer, count) in &self.numbers.of(step).answers {
                let (status, code) = answer.split_once(' ').unwrap_or((answer, ""));
                if step.judge(status.parse().unwrap_or(0), code) == super::measure::Worth::Error {
                    kinds.push(format!("{} {answer} × {count}", step.as_str()));
                }
            }
        }
        let found = if kinds.is_empty() { "none".to_owned() } else { format!("{errors}: {}", some(&kinds)) };
        point(errors <= self.limits.errors.into(), "no errors", found)
    }

    /// The step of shoppers with the highest 99th percentile.
    fn slowest(&self) -> Point {
        let people =
            Step::ALL.into_iter().filter(|step| *step != Step::Bot && !self.numbers.of(*step).times.is_empty());
        let p99 = |step: Step| at(&self.numbers.of(step).times, 0.99);
        let Some(slowest) = people.max_by_key(|step| p99(*step)) else {
            return point(false, "answers come in time", "there were none".into());
        };
        let took = p99(slowest);
        let limit = humantime::format_duration(self.limits.p99);
        let found = format!("the slowest step, {}, has a p99 of {} of {limit}", slowest.as_str(), ms(took));
        point(took <= self.limits.p99, "answers come in time", found)
    }

    fn audited(&self) -> Point {
        let violations: Vec<String> = self.audit.iter().flat_map(|check| check.violations.clone()).collect();
        let found = match violations.as_slice() {
            [] => format!("{} promises checked", self.audit.len()),
            all => format!("{} violations: {}", all.len(), some(all)),
        };
        point(violations.is_empty(), "the audit is clean", found)
    }

    fn generator(&self) -> Point {
        let late = at(&self.numbers.lag, 0.99);
        let found = format!("questions were sent at most {} late (p99), {CONNECTIONS} under way at a time", ms(late));
        let mark = if late <= LATE { Mark::Replayed } else { Mark::Doubt };
        Point { mark, what: "the generator kept up", found }
    }
}

fn point(kept: bool, what: &'static str, found: String) -> Point {
    Point { mark: if kept { Mark::Replayed } else { Mark::Broken }, what, found }
}

/// The first few of many.
fn some(all: &[String]) -> String {
    let more = if all.len() > MOST { format!(" and {} more", all.len() - MOST) } else { String::new() };
    format!("{}{more}", all.iter().take(MOST).cloned().collect::<Vec<_>>().join("; "))
}

/// A quantile of recorded microseconds.
pub fn at(times: &Histogram<u64>, quantile: f64) -> Duration {
    Duration::from_micros(times.value_at_quantile(quantile))
}

/// Milliseconds for people.
pub fn ms(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1000.0;
    if ms < 10.0 { format!("{ms:.1} ms") } else { format!("{ms:.0} ms") }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;
    use uuid::Uuid;

    use super::*;
    use crate::domain::UserId;
    use crate::rehearse::measure::Measure;
    use crate::rehearse::outcome::Ending;

    const LIMITS: Limits = Limits { p99: Duration::from_millis(500), landed: Duration::from_secs(2), errors: 0 };

    fn winner(n: u128) -> Outcome {
        let mut story = Outcome::of(UserId(Uuid::from_u128(n)));
        story.fate = Ending::OutboxItem;
        story.has_order(OrderId(Uuid::from_u128(n)));
        story.landed = Some(Duration::from_millis(900));
        story
    }

    fn answers(measure: &Measure, step: Step, ms: u64, status: u16, code: &str) {
        measure.answered(step, Duration::from_millis(ms), status, code);
    }

    /// A rehearsal in which everything went well, changed by the test; the answer is what is broken.
    fn broken(
        change: impl Fn(&Measure, &mut Vec<Outcome>, &mut SaleTotals, &mut Vec<audit::Check>),
    ) -> Vec<&'static str> {
        let measure = Measure::new(Instant::now());
        for _ in 0..5 {
            measure.reached(Milestone::Pressed);
            measure.answered(Step::Buy, Duration::from_millis(20), 202, "");
        }
        let mut stories = vec![winner(1), winner(2)];
        let mut books = SaleTotals { units: 2, sold: 2, live: [1, 2].map(|n| OrderId(Uuid::from_u128(n))).into() };
        let mut audit = vec![audit::Check { promise: "all is well", violations: vec![] }];
        change(&measure, &mut stories, &mut books, &mut audit);
        let numbers = measure.numbers();
        let evidence =
            Evidence { limits: LIMITS, numbers: &numbers, shoppers: &stories, bots: &[], books: &books, audit: &audit };
        evidence.judge().iter().filter(|point| point.mark == Mark::Broken).map(|point| point.what).collect()
    }

    #[tokio::test]
    async fn what_went_well_is_a_go() {
        assert!(broken(|_, _, _, _| {}).is_empty());
        assert!(broken(|measure, _, _, _| answers(measure, Step::Buy, 20, 429, "busy")).is_empty());
    }

    #[tokio::test]
    async fn every_fault_has_its_point() {
        let order = |n| OrderId(Uuid::from_u128(n));
        let exactly = "sold exactly what there is";
        assert_eq!(broken(|_, _, books, _| books.sold = 1), [exactly]);
        assert_eq!(broken(|_, _, books, _| books.units = 3), [exactly]);
        assert_eq!(broken(|_, _, books, _| books.live.extend([order(3)])), [exactly]);
        assert_eq!(broken(|_, stories, _, _| stories[0].has_order(order(2))), ["nobody has two orders"]);
        assert_eq!(broken(|_, stories, _, _| stories[0].broken.push("x".into())), ["every 202 became one order"]);
        let late = Some(Duration::from_secs(3));
        assert_eq!(broken(|_, stories, _, _| stories[1].landed = late), ["winners soon have their order"]);
        assert_eq!(broken(|_, stories, _, _| stories[1].payment = Some(false)), ["whoever paid has a paid order"]);
        let error = |measure: &Measure| answers(measure, Step::Page, 1, 503, "overloaded");
        assert_eq!(broken(|measure, _, _, _| error(measure)), ["no errors"]);
        let slow = |measure: &Measure| answers(measure, Step::Token, 1_000, 200, "");
        assert_eq!(broken(|measure, _, _, _| slow(measure)), ["answers come in time"]);
        assert_eq!(broken(|_, _, _, audit| audit[0].violations.push("x".into())), ["the audit is clean"]);
    }

    #[tokio::test]
    async fn scripts_may_be_slow_and_a_late_generator_is_a_doubt() {
        assert!(broken(|measure, _, _, _| answers(measure, Step::Bot, 9_000, 429, "")).is_empty());
        assert!(broken(|measure, _, _, _| measure.sent(Duration::from_secs(1))).is_empty());
    }
}
