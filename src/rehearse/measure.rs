//! What is measured while the load runs. Times count from the instant at which a request was due, not from when it was
//! sent: a delay in the generator is part of the response time, and is reported separately too.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::time::Instant;

use base::locked;
use domain::wire::wire_enum;
use domain::{OrderId, Refusal, UserId};

/// The upper end of the histograms. Longer times count as this long. No request waits that long for its response.
const MAX_TIME_US: u64 = 60_000_000;

wire_enum! {
    /// The kinds of requests.
    pub enum Step {
        Page = "page",
        Button = "button",
        /// In a waiting room or a draw: joining, and waiting for the turn.
        Turn = "turn",
        Token = "token",
        Buy = "buy",
        /// The second press of a double click.
        Repeat = "double click",
        Status = "status",
        Pay = "pay",
        /// Every request of a bot.
        Bot = "bots",
    }
}

impl Step {
    /// Whether a response is good, a refusal that the shop documents, or an error. Status 0 is no response.
    pub fn classify(self, status: u16, code: &str) -> ResponseClass {
        match (status, code) {
            (200..=399, _) => ResponseClass::Good,
            (429, _) if self != Step::Pay => ResponseClass::Refusal,
            // The sale is in another state. A refusal with another status shows that the request is wrong.
            (409, code) if self != Step::Pay && code.parse::<Refusal>().is_ok() => ResponseClass::Refusal,
            (403, "bad_token") if self == Step::Bot => ResponseClass::Refusal,
            _ => ResponseClass::Error,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseClass {
    Good,
    /// A refusal that the shop documents, such as `sold_out`.
    Refusal,
    Error,
}

wire_enum! {
    /// How far a shopper has come. Bots have no milestones.
    pub enum Milestone {
        Arrived = "arrived",
        SawPage = "saw the page",
        Pressed = "pressed the button",
        Granted = "got a unit (202)",
        Persisted = "has an order",
        Paid = "has paid",
    }
}

/// The responses to one kind of request.
#[derive(Clone)]
pub struct StepStats {
    pub times: Histogram<u64>,
    pub errors: u64,
    /// Responses by status and code, such as `409 sold_out`.
    pub answers: BTreeMap<String, u64>,
}

/// The counts of one second.
#[derive(Clone)]
pub struct SecondStats {
    pub arrived: u64,
    /// Responses by class.
    pub good: u64,
    pub refused: u64,
    pub errors: u64,
    pub granted: u64,
    /// Response times of shoppers, without bots.
    pub times: Histogram<u32>,
}

/// All measurements up to an instant.
#[derive(Clone)]
pub struct Measurements {
    pub steps: Vec<StepStats>,
    pub seconds: Vec<SecondStats>,
    pub milestones: [u64; Milestone::ALL.len()],
    /// How much later than their due instant requests were sent.
    pub lag: Histogram<u64>,
    /// Time from the 202 until the order was readable.
    pub persistence: Histogram<u64>,
}

/// Counts what shoppers and bots report; all of them share one.
pub struct LoadRecorder {
    began: Instant,
    measurements: Mutex<Measurements>,
}

fn histogram<T: hdrhistogram::Counter>(digits: u8) -> Histogram<T> {
    Histogram::new_with_bounds(1, MAX_TIME_US, digits).expect("the bounds are a valid range")
}

fn micros(time: Duration) -> u64 {
    (time.as_micros() as u64).clamp(1, MAX_TIME_US)
}

impl LoadRecorder {
    pub fn new(began: Instant) -> LoadRecorder {
        let measurements = Measurements {
            steps: Step::ALL.map(|_| StepStats { times: histogram(3), errors: 0, answers: BTreeMap::new() }).into(),
            seconds: Vec::new(),
            milestones: Default::default(),
            lag: histogram(3),
            persistence: histogram(3),
        };
        LoadRecorder { began, measurements: Mutex::new(measurements) }
    }

    /// Records how long after its due instant a request was sent.
    pub fn request_sent(&self, late: Duration) {
        locked(&self.measurements).lag.saturating_record(micros(late));
    }

    /// Records a response, or that there was none (status 0). `took` counts from the due instant.
    pub fn response(&self, step: Step, took: Duration, status: u16, code: &str) -> ResponseClass {
        let class = step.classify(status, code);
        let name = match (status, code) {
            (0, _) => code.to_owned(),
            (_, "") => status.to_string(),
            _ => format!("{status} {code}"),
        };
        let mut measurements = locked(&self.measurements);
        let stats = &mut measurements.steps[step as usize];
        stats.times.saturating_record(micros(took));
        stats.errors += u64::from(class == ResponseClass::Error);
        *stats.answers.entry(name).or_default() += 1;
        let second = self.current_second(&mut measurements);
        match class {
            ResponseClass::Good => second.good += 1,
            ResponseClass::Refusal => second.refused += 1,
            ResponseClass::Error => second.errors += 1,
        }
        if step != Step::Bot {
            second.times.saturating_record(micros(took));
        }
        class
    }

    pub fn reached(&self, milestone: Milestone) {
        let mut measurements = locked(&self.measurements);
        measurements.milestones[milestone as usize] += 1;
        match milestone {
            Milestone::Arrived => self.current_second(&mut measurements).arrived += 1,
            Milestone::Granted => self.current_second(&mut measurements).granted += 1,
            _ => {}
        }
    }

    /// Records the time from a 202 until its order was readable.
    pub(crate) fn order_persisted(&self, took: Duration) {
        locked(&self.measurements).persistence.saturating_record(micros(took));
    }

    fn current_second<'a>(&self, measurements: &'a mut Measurements) -> &'a mut SecondStats {
        let now = self.began.elapsed().as_secs() as usize;
        while measurements.seconds.len() <= now {
            let times = histogram(2);
            measurements.seconds.push(SecondStats { arrived: 0, good: 0, refused: 0, errors: 0, granted: 0, times });
        }
        &mut measurements.seconds[now]
    }

    pub fn snapshot(&self) -> Measurements {
        locked(&self.measurements).clone()
    }
}

impl Measurements {
    pub fn of(&self, step: Step) -> &StepStats {
        &self.steps[step as usize]
    }

    pub fn at(&self, milestone: Milestone) -> u64 {
        self.milestones[milestone as usize]
    }
}

// The record of one test account.

wire_enum! {
    /// How a visit ended, as the report tells it.
    pub enum VisitOutcome {
        Left = "left before the opening",
        /// The shop answered that all units were sold.
        SoldOut = "found it sold out",
        /// The shopper ran out of patience, or no request succeeded.
        GaveUp = "gave up",
        /// The sale was paused or over.
        Closed = "found it closed",
        Granted = "got a unit",
    }
}

/// What one account was granted and how its visit ended.
#[derive(Debug, Clone)]
pub struct AccountRecord {
    pub user: UserId,
    pub outcome: VisitOutcome,
    /// All different order ids in responses. More than one is a violation.
    pub orders: Vec<OrderId>,
    /// Time from the 202 until the order was readable as unpaid; `None` if it never was.
    pub persisted_after: Option<Duration>,
    /// `Some` once money was sent: whether the order became paid.
    pub paid: Option<bool>,
    /// Status and code of the answer if no payment could be started. The purchase itself was kept.
    pub payment_refused: Option<String>,
    /// Promises of the shop that were not kept, in words.
    pub violations: Vec<String>,
}

impl AccountRecord {
    pub fn new(user: UserId) -> AccountRecord {
        AccountRecord {
            user,
            outcome: VisitOutcome::GaveUp,
            orders: Vec::new(),
            persisted_after: None,
            paid: None,
            payment_refused: None,
            violations: Vec::new(),
        }
    }

    /// Adds an order id from a response; repeats are ignored.
    pub fn add_order(&mut self, order: OrderId) {
        if !self.orders.contains(&order) {
            self.orders.push(order);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn percentiles_match_the_recorded_times() {
        let recorder = LoadRecorder::new(Instant::now());
        for ms in 1..=1000 {
            recorder.response(Step::Buy, Duration::from_millis(ms), 202, "");
        }
        let measured = recorder.snapshot();
        let times = &measured.of(Step::Buy).times;
        for (quantile, ms) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0), (1.0, 1000.0)] {
            let found = times.value_at_quantile(quantile) as f64 / 1000.0;
            assert!((found - ms).abs() <= ms / 500.0, "{quantile}: {found} instead of {ms}");
        }
        assert_eq!(times.len(), 1000);
    }

    #[tokio::test(start_paused = true)]
    async fn events_are_counted_in_their_second() {
        let recorder = LoadRecorder::new(Instant::now());
        recorder.reached(Milestone::Arrived);
        recorder.response(Step::Buy, Duration::from_millis(5), 409, "sold_out");
        tokio::time::advance(Duration::from_millis(2_500)).await;
        recorder.response(Step::Page, Duration::from_secs(100), 0, "no answer");
        recorder.response(Step::Bot, Duration::from_millis(1), 429, "rate_limited");
        let measured = recorder.snapshot();
        assert_eq!(measured.seconds.len(), 3);
        assert_eq!(measured.seconds[0].arrived, 1);
        assert_eq!(measured.seconds[0].refused, 1);
        assert_eq!(measured.seconds[2].errors, 1);
        assert_eq!(measured.seconds[2].refused, 1);
        assert_eq!(measured.seconds[2].times.len(), 1, "bots are not part of shoppers' times");
        assert_eq!(measured.of(Step::Page).answers["no answer"], 1);
        assert_eq!(measured.of(Step::Buy).answers["409 sold_out"], 1);
    }

    #[test]
    fn documented_refusals_are_not_errors() {
        for (status, code) in [(409, "sold_out"), (429, "busy"), (429, "rate_limited"), (409, "not_open")] {
            assert_eq!(Step::Buy.classify(status, code), ResponseClass::Refusal);
            assert_eq!(Step::Pay.classify(status, code), ResponseClass::Error);
        }
        for (status, code) in [(503, "overloaded"), (401, "not_signed_in"), (0, "no answer"), (403, "bad_token")] {
            assert_eq!(Step::Buy.classify(status, code), ResponseClass::Error);
        }
        assert_eq!(Step::Bot.classify(403, "bad_token"), ResponseClass::Refusal);
        assert_eq!(Step::Pay.classify(303, ""), ResponseClass::Good);
    }
}
