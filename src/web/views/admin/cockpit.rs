//! The cockpit of a sale, and dead letters.

use std::sync::Arc;

use askama::Template;
use jiff::Timestamp;

use super::Chrome;
use crate::cockpit::Sample;
use crate::cockpit::drift::Drift;
use crate::cockpit::sample::Part;
use crate::domain::sale::SaleMove;
use crate::domain::{Phase, SaleId, SaleState};
use crate::i18n::fill;
use crate::pages::filters;
use crate::pipeline::dead_letters::{Found, Letter, Place};

/// How long Redis and the database may differ before that is called drift.
const SETTLED_AFTER_MS: i64 = 5_000;

/// A sale while it runs.
#[derive(Debug, Template)]
#[template(path = "admin/cockpit.html")]
pub struct CockpitPage {
    pub chrome: Chrome,
    pub id: SaleId,
    pub goods_name: String,
    pub state: SaleState,
    pub version: i64,
    pub sample: Arc<Sample>,
    pub may_run: bool,
    /// What was done.
    pub notice: Option<String>,
    pub warning: Option<String>,
}

/// One number with its bar.
struct Row {
    key: String,
    label: &'static str,
    value: Option<i64>,
    /// Of the group's first, 0 to 100.
    percent: f64,
    /// Part of the row above.
    inner: bool,
}

/// Where numbers come from.
struct Source {
    key: &'static str,
    label: &'static str,
    configured: bool,
    known: bool,
    at: Option<Timestamp>,
    unknown_since: Option<Timestamp>,
}

fn percent(part: Option<i64>, whole: Option<i64>) -> f64 {
    match (part, whole) {
        (Some(part), Some(whole)) if whole > 0 => (part as f64 / whole as f64 * 100.0).clamp(0.0, 100.0),
        _ => 0.0,
    }
}

fn source<T>(key: &'static str, label: &'static str, part: Option<&Part<T>>) -> Source {
    Source {
        key,
        label,
        configured: part.is_some(),
        known: part.is_some_and(|part| part.value.is_some()),
        at: part.and_then(|part| part.at),
        unknown_since: part.and_then(|part| part.unknown_since),
    }
}

impl CockpitPage {
    fn text(&self) -> &'static crate::i18n::CockpitText {
        &self.chrome.text().cockpit
    }

    fn phase(&self) -> Phase {
        self.sample.phase().unwrap_or(Phase::Paused)
    }

    fn phase_words(&self) -> &'static str {
        self.chrome.text().phase(&self.phase())
    }

    /// The state in a sentence.
    fn meaning(&self) -> &'static str {
        let t = self.text();
        match (self.state, self.phase()) {
            (SaleState::Draft, _) => t.mean_draft,
            (_, Phase::Upcoming) => t.mean_upcoming,
            (_, Phase::Open) => t.mean_open,
            (_, Phase::SoldOut) => t.mean_sold_out,
            (_, Phase::Paused) => t.mean_paused,
            (_, Phase::Ended) => t.mean_ended,
        }
    }

    fn moves(&self) -> impl Iterator<Item = SaleMove> {
        let state = self.state;
        let all = [SaleMove::Start, SaleMove::Resume, SaleMove::Pause, SaleMove::Stop];
        all.into_iter().filter(move |action| state.after(*action).is_ok())
    }

    fn is_over(&self) -> bool {
        self.state == SaleState::Ended
    }

    /// Sold, on their way, and left, which make up the total.
    fn stock(&self) -> [Row; 5] {
        let (t, sample) = (self.text(), &self.sample);
        let (total, booked) = (sample.total(), sample.booked());
        let sold = sample.sale.value.map(|sale| sale.sold);
        let way = booked.zip(sold).map(|(booked, sold)| (booked - sold).max(0));
        let left = total.zip(booked).map(|(total, booked)| (total - booked).max(0));
        let row = |key: &str, label, value| Row {
            key: key.to_owned(),
            label,
            value,
            percent: percent(value, total),
            inner: false,
        };
        [
            row("sold", t.sold, sold),
            row("on_the_way", t.on_the_way, way),
            row("left", t.left, left),
            row("booked", t.booked, booked),
            row("total", t.total, total),
        ]
    }

    /// How far the bars of what is sold, and of what is sold or on its way, reach.
    fn stock_percents(&self) -> (f64, f64) {
        let [sold, way, ..] = self.stock();
        (sold.percent, sold.percent + way.percent)
    }

    /// Title, name and rows of each funnel.
    fn funnels(&self) -> [(&'static str, &'static str, Vec<Row>); 2] {
        let t = self.text();
        [(t.requests, "requests", self.requests()), (t.orders, "orders", self.orders())]
    }

    fn requests(&self) -> Vec<Row> {
        let t = self.text();
        let requests = self.sample.requests.value.as_ref();
        let asked = requests.map(|r| r.asked as i64);
        let row = |key: String, label, value: Option<i64>, inner| Row {
            percent: percent(value, asked),
            key,
            label,
            value,
            inner,
        };
        let mut rows = vec![
            row("asked".into(), t.asked, asked, false),
            row("refused".into(), t.refused, requests.map(|r| r.refused_in_all() as i64), false),
        ];
        for reason in crate::domain::Refusal::ALL {
            let key = format!("reason_{}", reason.code());
            let label = t.entries().find(|(name, _)| *name == key).map_or(reason.code(), |(_, label)| label);
            let count = requests.map(|r| r.refused.get(reason.code()).copied().unwrap_or(0) as i64);
            rows.push(row(key, label, count, true));
        }
        rows.push(row("let_in".into(), t.let_in, requests.map(|r| r.let_in as i64), false));
        rows.push(row("reserved".into(), t.reserved, requests.map(|r| r.reserved as i64), false));
        rows.push(row("repeated".into(), t.repeated, requests.map(|r| r.repeated as i64), false));
        rows
    }

    fn orders(&self) -> Vec<Row> {
        let t = self.text();
        let orders = self.sample.orders.value;
        let all = orders.map(|o| o.persisted);
        let row = |key: &str, label, value: Option<i64>| Row {
            percent: percent(value, all),
            key: key.to_owned(),
            label,
            value,
            inner: false,
        };
        vec![
            row("persisted", t.persisted, all),
            row("unpaid", t.unpaid, orders.map(|o| o.unpaid)),
            row("paid", t.paid, orders.map(|o| o.paid)),
            row("cancelled", t.cancelled, orders.map(|o| o.cancelled)),
            row("rejected", t.rejected, orders.map(|o| o.rejected)),
            row("refunded", t.refunded, orders.map(|o| o.refunded)),
            row("returned_units", t.returned, orders.map(|o| o.returned_units)),
        ]
    }

    fn sources(&self) -> [Source; 6] {
        let (t, s) = (self.text(), &self.sample);
        [
            source("gate", t.source_gate, Some(&s.gate)),
            source("requests", t.source_requests, Some(&s.requests)),
            source("sale", t.source_database, Some(&s.sale)),
            source("orders", t.source_orders, Some(&s.orders)),
            source("keeper", t.source_redis, s.stock.as_ref()),
            source("queue", t.source_rabbit, s.queue.as_ref()),
        ]
    }

    /// How the two books agree, in words, and whether somebody should mind.
    fn drift(&self) -> (String, &'static str) {
        let t = self.text();
        if self.sample.stock.is_none() {
            return (t.drift_none.to_owned(), "calm");
        }
        let Some(drift) = self.sample.drift else { return (t.drift_unknown.to_owned(), "unknown") };
        let lasted = self.sample.at.as_millisecond() - drift.since.as_millisecond();
        match drift.drift {
            Drift::InStep => (t.drift_in_step.to_owned(), "good"),
            Drift::OnTheWay { units } => (fill(t.drift_on_the_way, units), "calm"),
            Drift::Apart { units } if lasted < SETTLED_AFTER_MS => (fill(t.drift_settling, units), "calm"),
            Drift::Apart { units } => (fill(t.drift_apart, units), "bad"),
        }
    }

    fn dead(&self) -> Option<i64> {
        Some(self.sample.queue.as_ref()?.value?.dead.into())
    }

    fn outbox(&self) -> Option<i64> {
        Some(self.sample.stock.as_ref()?.value?.outbox)
    }

    fn ready(&self) -> Option<i64> {
        Some(self.sample.queue.as_ref()?.value?.ready.into())
    }

    fn access(&self) -> Option<i64> {
        self.sample.gate.value?.access
    }

    /// Titles of the plots, by the names that the script knows them by.
    fn plots(&self) -> [(&'static str, &'static str); 5] {
        let t = self.text();
        [
            ("requests", t.plot_requests),
            ("refusals", t.plot_refusals),
            ("latency", t.plot_latency),
            ("queues", t.plot_queues),
            ("persisted", t.plot_persisted),
        ]
    }
}

/// What nobody could read, and what can be done about it.
#[derive(Debug, Template)]
#[template(path = "admin/dead_letters.html")]
pub struct DeadLettersPage {
    pub chrome: Chrome,
    pub letters: Vec<Letter>,
    pub may_act: bool,
    pub notice: Option<String>,
    pub warning: Option<String>,
    /// What cannot be seen, in words.
    pub notes: Vec<&'static str>,
}

impl DeadLettersPage {
    pub fn new(
        chrome: Chrome,
        found: Found,
        may_act: bool,
        notice: Option<String>,
        warning: Option<String>,
    ) -> DeadLettersPage {
        let t = &chrome.text().cockpit;
        let notes = match (&found.queue, &found.outboxes) {
            (None, None) => vec![t.letters_none_here],
            (queue, outboxes) => {
                let queue = match queue {
                    None => Some(t.letters_no_queue),
                    Some(Err(_)) => Some(t.letters_queue_away),
                    Some(Ok(_)) => None,
                };
                queue.into_iter().chain(matches!(outboxes, Some(Err(_))).then_some(t.letters_outbox_away)).collect()
            }
        };
        let lists = [found.queue, found.outboxes];
        let letters = lists.into_iter().flatten().filter_map(Result::ok).flatten().collect();
        DeadLettersPage { chrome, letters, may_act, notice, warning, notes }
    }

    /// Whether an empty list means that there are none.
    fn is_clean(&self) -> bool {
        let t = &self.chrome.text().cockpit;
        self.letters.is_empty() && !self.notes.iter().any(|n| [t.letters_queue_away, t.letters_outbox_away].contains(n))
    }

    fn place(&self, letter: &Letter) -> String {
        let t = &self.chrome.text().cockpit;
        match &letter.place {
            Place::Queue => t.letter_queue.to_owned(),
            Place::Outbox { bucket, .. } => fill(t.letter_outbox, bucket),
        }
    }
}
