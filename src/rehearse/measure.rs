//! What is measured while the crowd is there. Times count from the instant at which a question was due, not from when it
//! was sent: whatever keeps the generator from asking in time is part of the answer's time, and is told separately too.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::time::Instant;

/// Longer ones count as this long; no question waits so long for its answer.
const LONGEST_US: u64 = 60_000_000;

/// What a shopper does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Page,
    Button,
    Token,
    Buy,
    /// The second press of a double click.
    Repeat,
    Status,
    Pay,
    /// Whatever a scripted account asks for.
    Bot,
}

impl Step {
    pub const ALL: [Step; 8] =
        [Step::Page, Step::Button, Step::Token, Step::Buy, Step::Repeat, Step::Status, Step::Pay, Step::Bot];

    pub fn as_str(self) -> &'static str {
        match self {
            Step::Page => "page",
            Step::Button => "button",
            Step::Token => "token",
            Step::Buy => "buy",
            Step::Repeat => "double click",
            Step::Status => "status",
            Step::Pay => "pay",
            Step::Bot => "bots",
        }
    }

    /// What the answer is worth.
    pub fn judge(self, status: u16, code: &str) -> Worth {
        match (status, code) {
            (200..=399, _) => Worth::Good,
            (409, "sold_out" | "not_open" | "ended") | (429, _) if self != Step::Pay => Worth::Refusal,
            (403, "bad_token") if self == Step::Bot => Worth::Refusal,
            _ => Worth::Error,
        }
    }
}

/// What an answer is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worth {
    Good,
    /// As the shop promises to refuse.
    Refusal,
    Error,
}

/// Where a shopper has come to; scripts go no such way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Milestone {
    Arrived,
    SawPage,
    Pressed,
    OutboxItem,
    Landed,
    Paid,
}

impl Milestone {
    pub const ALL: [Milestone; 6] = [
        Milestone::Arrived,
        Milestone::SawPage,
        Milestone::Pressed,
        Milestone::OutboxItem,
        Milestone::Landed,
        Milestone::Paid,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Milestone::Arrived => "arrived",
            Milestone::SawPage => "saw the page",
            Milestone::Pressed => "pressed the button",
            Milestone::OutboxItem => "got a unit (202)",
            Milestone::Landed => "has an order",
            Milestone::Paid => "has paid",
        }
    }
}

/// One kind of question.
#[derive(Clone)]
pub struct Answered {
    pub times: Histogram<u64>,
    pub errors: u64,
    /// By status and code, such as `409 sold_out`.
    pub answers: BTreeMap<String, u64>,
}

/// What happened in one second.
#[derive(Clone)]
pub struct Second {
    pub arrived: u64,
    /// Answers of each worth.
    pub good: u64,
    pub refused: u64,
    pub errors: u64,
    pub won: u64,
    /// Of everybody but bots.
    pub times: Histogram<u32>,
}

/// Everything by now.
#[derive(Clone)]
pub struct Numbers {
    pub steps: Vec<Answered>,
    pub seconds: Vec<Second>,
    pub milestones: [u64; Milestone::ALL.len()],
    /// How much later than due questions were sent.
    pub lag: Histogram<u64>,
    /// From the 202 until the order could be read.
    pub landing: Histogram<u64>,
}

/// Counts; everybody shares one.
pub struct Measure {
    began: Instant,
    numbers: Mutex<Numbers>,
}

fn histogram<T: hdrhistogram::Counter>(digits: u8) -> Histogram<T> {
    Histogram::new_with_bounds(1, LONGEST_US, digits).expect("the bounds are a range")
}

fn micros(time: Duration) -> u64 {
    (time.as_micros() as u64).clamp(1, LONGEST_US)
}

impl Measure {
    pub fn new(began: Instant) -> Measure {
        let asked = || Answered { times: histogram(3), errors: 0, answers: BTreeMap::new() };
        let numbers = Numbers {
            steps: Step::ALL.map(|_| asked()).into(),
            seconds: Vec::new(),
            milestones: Default::default(),
            lag: histogram(3),
            landing: histogram(3),
        };
        Measure { began, numbers: Mutex::new(numbers) }
    }

    fn lock(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How late a question was sent.
    pub fn sent(&self, late: Duration) {
        self.lock().lag.saturating_record(micros(late));
    }

    /// An answer, or that there was none (status 0), so long after it was due.
    pub fn answered(&self, step: Step, took: Duration, status: u16, code: &str) -> Worth {
        let worth = step.judge(status, code);
        let name = match (status, code) {
            (0, _) => code.to_owned(),
            (_, "") => status.to_string(),
            _ => format!("{status} {code}"),
        };
        let mut numbers = self.lock();
        let asked = &mut numbers.steps[step as usize];
        asked.times.saturating_record(micros(took));
        asked.errors += u64::from(worth == Worth::Error);
        *asked.answers.entry(name).or_default() += 1;
        let second = self.second(&mut numbers);
        match worth {
            Worth::Good => second.good += 1,
            Worth::Refusal => second.refused += 1,
            Worth::Error => second.errors += 1,
        }
        if step != Step::Bot {
            second.times.saturating_record(micros(took));
        }
        worth
    }

    pub fn reached(&self, milestone: Milestone) {
        let mut numbers = self.lock();
        numbers.milestones[milestone as usize] += 1;
        match milestone {
            Milestone::Arrived => self.second(&mut numbers).arrived += 1,
            Milestone::OutboxItem => self.second(&mut numbers).won += 1,
            _ => {}
        }
    }

    /// An order could be read so long after its 202.
    pub fn landed(&self, took: Duration) {
        self.lock().landing.saturating_record(micros(took));
    }

    /// The present second.
    fn second<'a>(&self, numbers: &'a mut Numbers) -> &'a mut Second {
        let now = self.began.elapsed().as_secs() as usize;
        while numbers.seconds.len() <= now {
            let times = histogram(2);
            numbers.seconds.push(Second { arrived: 0, good: 0, refused: 0, errors: 0, won: 0, times });
        }
        &mut numbers.seconds[now]
    }

    pub fn numbers(&self) -> Numbers {
        self.lock().clone()
    }
}

impl Numbers {
    pub fn of(&self, step: Step) -> &Answered {
        &self.steps[step as usize]
    }

    pub fn at(&self, milestone: Milestone) -> u64 {
        self.milestones[milestone as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn percentiles_are_those_of_what_was_recorded() {
        let measure = Measure::new(Instant::now());
        for ms in 1..=1000 {
            measure.answered(Step::Buy, Duration::from_millis(ms), 202, "");
        }
        let numbers = measure.numbers();
        let times = &numbers.of(Step::Buy).times;
        for (quantile, ms) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0), (1.0, 1000.0)] {
            let found = times.value_at_quantile(quantile) as f64 / 1000.0;
            assert!((found - ms).abs() <= ms / 500.0, "{quantile}: {found} instead of {ms}");
        }
        assert_eq!(times.len(), 1000);
    }

    #[tokio::test(start_paused = true)]
    async fn what_happens_is_counted_in_its_second() {
        let measure = Measure::new(Instant::now());
        measure.reached(Milestone::Arrived);
        measure.answered(Step::Buy, Duration::from_millis(5), 409, "sold_out");
        tokio::time::advance(Duration::from_millis(2_500)).await;
        measure.answered(Step::Page, Duration::from_secs(100), 0, "no answer");
        measure.answered(Step::Bot, Duration::from_millis(1), 429, "rate_limited");
        let numbers = measure.numbers();
        assert_eq!(numbers.seconds.len(), 3);
        assert_eq!((numbers.seconds[0].arrived, numbers.seconds[0].refused), (1, 1));
        assert_eq!((numbers.seconds[2].errors, numbers.seconds[2].refused), (1, 1));
        assert_eq!(numbers.seconds[2].times.len(), 1, "bots have no part in shoppers' times");
        assert_eq!(numbers.of(Step::Page).answers["no answer"], 1);
        assert_eq!(numbers.of(Step::Buy).answers["409 sold_out"], 1);
    }

    #[test]
    fn refusals_are_no_errors_and_surprises_are() {
        for (status, code) in [(409, "sold_out"), (429, "busy"), (429, "rate_limited"), (409, "not_open")] {
            assert_eq!(Step::Buy.judge(status, code), Worth::Refusal);
            assert_eq!(Step::Pay.judge(status, code), Worth::Error);
        }
        for (status, code) in [(503, "overloaded"), (401, "not_signed_in"), (0, "no answer"), (403, "bad_token")] {
            assert_eq!(Step::Buy.judge(status, code), Worth::Error);
        }
        assert_eq!(Step::Bot.judge(403, "bad_token"), Worth::Refusal);
        assert_eq!(Step::Pay.judge(303, ""), Worth::Good);
    }
}
