//! Metrics for Prometheus. Every metric is a handle that was registered once; counting is one atomic addition.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry, Unit};
use tokio::time::Instant;

use crate::locked;
use domain::{CaseKind, Refusal, SecurityClass};

type Label = [(&'static str, &'static str); 1];

/// All metrics of this process.
pub struct Metrics {
    registry: Registry,
    pub button_reads: Counter,
    /// Buying requests that reached the gate.
    pub asked: Counter,
    /// Buying requests that the gate admitted to the stock backend.
    pub let_in: Counter,
    pub reserved: Counter,
    /// Requests answered with an earlier order of the user.
    pub repeated: Counter,
    refused: Vec<(Refusal, Counter)>,
    /// Time from the gate to the decision, of admitted requests.
    pub purchase_seconds: WaitHistogram,
    batch_size: Histogram,
    batch_seconds: Histogram,
    pub published: Counter,
    pub republished: Counter,
    pub persisted: Counter,
    pub rejected: Counter,
    pub dead_lettered: Counter,
    pub persist_size: Histogram,
    pub persist_seconds: Histogram,
    pub paid: Counter,
    pub refunded: Counter,
    payment_cases: Vec<Counter>,
    pub cancelled: Counter,
    /// New places in waiting rooms. Asking for a place that exists does not count.
    pub queue_joins: Counter,
    /// Shoppers who were called from waiting rooms.
    pub queue_calls: Counter,
    /// New entries in draws. Entering twice does not count.
    pub draw_entries: Counter,
    /// Orders given to winners of draws.
    pub drawn: Counter,
    /// Orders given to accounts on waitlists.
    pub offered: Counter,
    pub released: Counter,
    pub rebuilt: Counter,
    pub grants_dropped: Counter,
    pub packets_given: Counter,
    pub packets_loaded: Counter,
    pub packets_settled: Counter,
    pub claims_asked: Counter,
    pub claims_won: Counter,
    /// Claims answered with an earlier share of the user.
    pub claims_repeated: Counter,
    pub claims_refused: Counter,
    pub claims_persisted: Counter,
    pub claims_rejected: Counter,
    claim_batch_size: Histogram,
    claim_batch_seconds: Histogram,
    /// Entries in all outboxes.
    pub outbox_length: Measurement,
    /// Units of ended sales that Redis still holds: about 110 bytes for each order.
    pub ended_units: Measurement,
    pub queue_ready: Measurement,
    pub dead_letters: Measurement,
    /// Age of the gate's facts in milliseconds; -1 before the first read.
    pub facts_age_ms: Gauge<i64>,
    /// Replicas that the gate does not read, because they do not answer or do not keep up with the master.
    pub replicas_left: Gauge,
    /// How far the clock of this host is ahead of the Redis master's, or without Redis of the database's.
    pub clock_offset_seconds: Gauge<f64, AtomicU64>,
    /// Open connections of shoppers.
    pub connections: Gauge,
    /// Connections closed because the limit was reached.
    pub turned_away: Counter,
    /// Messages that the mail server accepted.
    pub mails_sent: Counter,
    /// Attempts that failed, and messages that are too old to be sent.
    pub mails_failed: Counter,
    pub mails_waiting: Measurement,
    /// Messages that push services accepted.
    pub pushes_sent: Counter,
    /// As `mails_failed`, for push messages.
    pub pushes_failed: Counter,
    /// Events that endpoints accepted.
    pub events_sent: Counter,
    pub events_failed: Counter,
    pub events_waiting: Measurement,
    security_events: Vec<Counter>,
    pub security_events_dropped: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut root = Registry::default();
        let registry = root.sub_registry_with_prefix("seckill");
        Metrics {
            button_reads: register(registry, "button_reads", "Answers about a sale's button"),
            asked: register(registry, "purchases_asked", "Buying requests of signed-in shoppers"),
            let_in: register(registry, "purchases_let_in", "Buying requests admitted to the stock"),
            reserved: register(registry, "purchases_reserved", "Buying requests that got units"),
            repeated: register(registry, "purchases_repeated", "Buying requests answered with an earlier order"),
            refused: refusals(registry),
            purchase_seconds: waits(registry, "purchase", "Time from the gate to the decision, of admitted requests"),
            batch_size: sizes(registry, "reserve_batch_size", "Claims per call to the stock"),
            batch_seconds: seconds(registry, "reserve_batch", "Time of a call to the stock"),
            published: register(registry, "orders_published", "Orders confirmed by RabbitMQ"),
            republished: register(registry, "orders_republished", "Orders published again because they were overdue"),
            persisted: register(registry, "orders_persisted", "Orders written to the database"),
            rejected: register(
                registry,
                "orders_rejected",
                "Reservations rejected because the sale had no units left in the database",
            ),
            dead_lettered: register(
                registry,
                "orders_dead_lettered",
                "Dead letters: messages that could not be parsed, orders that the database refuses",
            ),
            persist_size: sizes(registry, "persist_batch_size", "Orders per transaction"),
            persist_seconds: seconds(registry, "persist_batch", "Time of a transaction that persists orders"),
            paid: register(registry, "orders_paid", "Orders paid"),
            refunded: register(registry, "payments_refunded", "Payments refunded"),
            payment_cases: payment_cases(registry),
            cancelled: register(registry, "orders_cancelled", "Orders cancelled by their owner or unpaid"),
            queue_joins: register(registry, "queue_joins", "Places in waiting rooms"),
            queue_calls: register(registry, "queue_calls", "Shoppers who were called from waiting rooms"),
            draw_entries: register(registry, "draw_entries", "Entries of draws"),
            drawn: register(registry, "draw_orders", "Orders that winners of draws were given"),
            offered: register(registry, "waitlist_orders", "Orders that accounts on waitlists were given"),
            released: register(registry, "releases", "Holds released"),
            rebuilt: register(registry, "sales_loaded", "Sales loaded into Redis"),
            grants_dropped: register(
                registry,
                "grants_dropped",
                "Grants that a process stopped remembering before they were seen in the database",
            ),
            packets_given: register(registry, "packets_given", "Red packets given"),
            packets_loaded: register(registry, "packets_loaded", "Buckets of red packets loaded into Redis"),
            packets_settled: register(
                registry,
                "packets_settled",
                "Red packets that have ended, with the rest returned",
            ),
            claims_asked: register(registry, "claims_asked", "Claims on red packets"),
            claims_won: register(registry, "claims_won", "Claims that got a share"),
            claims_repeated: register(registry, "claims_repeated", "Claims answered with an earlier share"),
            claims_refused: register(registry, "claims_refused", "Claims that got nothing"),
            claims_persisted: register(registry, "claims_persisted", "Claims written to the database"),
            claims_rejected: register(
                registry,
                "claims_rejected",
                "Claims rejected because the share was taken in the database",
            ),
            claim_batch_size: sizes(registry, "claim_batch_size", "Claims per call to the share backend"),
            claim_batch_seconds: seconds(registry, "claim_batch", "Time of a call to the share backend"),
            outbox_length: register(registry, "outbox_entries", "Entries in the outboxes"),
            ended_units: register(registry, "ended_units", "Units of ended sales that Redis still holds"),
            queue_ready: register(registry, "queue_ready", "Messages ready in seckill.orders"),
            dead_letters: register(registry, "queue_dead", "Messages ready in seckill.orders.dead"),
            facts_age_ms: register(registry, "facts_age_ms", "Age of the facts that the gate checks requests against"),
            replicas_left: register(
                registry,
                "facts_replicas_left",
                "Replicas that the gate does not read because they do not answer or lag behind",
            ),
            clock_offset_seconds: offset(
                registry,
                "clock_offset",
                "How far this host's clock is ahead of the Redis master's, or without Redis of the database's",
            ),
            connections: register(registry, "connections", "Open connections of shoppers"),
            turned_away: register(
                registry,
                "connections_turned_away",
                "Connections closed because the limit was reached",
            ),
            mails_sent: register(registry, "mails_sent", "Messages that the mail server accepted"),
            mails_failed: register(registry, "mails_failed", "Attempts to send a message that failed"),
            pushes_sent: register(registry, "pushes_sent", "Messages that push services accepted"),
            pushes_failed: register(
                registry,
                "pushes_failed",
                "Attempts to send a message to a push service that failed",
            ),
            events_sent: register(registry, "events_sent", "Events that endpoints of the merchant accepted"),
            events_failed: register(registry, "events_failed", "Attempts to send an event that failed"),
            events_waiting: register(registry, "events_waiting", "Events that wait to be sent, up to 10,000"),
            mails_waiting: register(registry, "mails_waiting", "Messages that wait to be sent, up to 10,000"),
            security_events: security_events(registry),
            security_events_dropped: register(
                registry,
                "security_events_dropped",
                "Security events that are missing from the list, because the database was away for too long",
            ),
            registry: root,
        }
    }
}

fn register<M: Metric + Default + Clone>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

fn sizes(registry: &mut Registry, name: &str, help: &str) -> Histogram {
    let histogram = Histogram::new(exponential_buckets(1.0, 2.0, 11));
    registry.register(name, help, histogram.clone());
    histogram
}

fn seconds(registry: &mut Registry, name: &str, help: &str) -> Histogram {
    let histogram = Histogram::new(exponential_buckets(0.000_1, 2.0, 16));
    registry.register_with_unit(name, help, Unit::Seconds, histogram.clone());
    histogram
}

fn offset(registry: &mut Registry, name: &str, help: &str) -> Gauge<f64, AtomicU64> {
    let gauge = Gauge::default();
    registry.register_with_unit(name, help, Unit::Seconds, gauge.clone());
    gauge
}

fn waits(registry: &mut Registry, name: &str, help: &str) -> WaitHistogram {
    let waits = WaitHistogram::default();
    registry.register_with_unit(name, help, Unit::Seconds, waits.clone());
    waits
}

fn refusals(registry: &mut Registry) -> Vec<(Refusal, Counter)> {
    let family: Family<Label, Counter> = register(registry, "purchases_refused", "Buying requests refused, by reason");
    Refusal::ALL.map(|refusal| (refusal, family.get_or_create_owned(&[("reason", refusal.as_str())]))).to_vec()
}

fn payment_cases(registry: &mut Registry) -> Vec<Counter> {
    let family: Family<Label, Counter> = register(registry, "payment_cases", "Payments that need attention, by kind");
    CaseKind::ALL.map(|kind| family.get_or_create_owned(&[("kind", kind.as_str())])).to_vec()
}

fn security_events(registry: &mut Registry) -> Vec<Counter> {
    let family: Family<Label, Counter> = register(registry, "security_events", "Security events, by class");
    SecurityClass::ALL.map(|class| family.get_or_create_owned(&[("class", class.as_str())])).to_vec()
}

impl Metrics {
    pub fn security_event(&self, class: SecurityClass) {
        if let Some(counter) = self.security_events.get(class as usize) {
            counter.inc();
        }
    }

    pub fn payment_case(&self, kind: CaseKind) {
        if let Some(counter) = self.payment_cases.get(kind as usize) {
            counter.inc();
        }
    }

    pub fn refused(&self, refusal: Refusal) {
        if let Some((_, counter)) = self.refused.get(refusal as usize) {
            counter.inc();
        }
    }

    pub fn batch(&self, claims: usize, took: Duration) {
        self.batch_size.observe(claims as f64);
        self.batch_seconds.observe(took.as_secs_f64());
    }

    pub fn claim_batch(&self, users: usize, took: Duration) {
        self.claim_batch_size.observe(users as f64);
        self.claim_batch_seconds.observe(took.as_secs_f64());
    }

    /// The metrics in the text format of Prometheus.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            let _ = writeln!(text, "# the metrics could not be encoded");
        }
        text
    }
}

/// How long a measurement counts. Longer than the slowest job takes that measures, so that its value does not come and go.
const MAX_MEASUREMENT_AGE: Duration = Duration::from_secs(60);

/// A gauge that one process sets for all: the one with the lease. It has no value before the first measurement, and none
/// after the last one, so that a process that lost the lease does not report for ever what it saw last.
#[derive(Debug, Clone, Default)]
pub struct Measurement(Arc<Mutex<Option<(i64, Instant)>>>);

impl Measurement {
    pub fn set(&self, value: i64) {
        *locked(&self.0) = Some((value, Instant::now()));
    }

    fn current(&self) -> Option<i64> {
        let measured = *locked(&self.0);
        measured.filter(|(_, at)| at.elapsed() < MAX_MEASUREMENT_AGE).map(|(value, _)| value)
    }
}

impl EncodeMetric for Measurement {
    fn encode(&self, mut encoder: MetricEncoder) -> std::fmt::Result {
        self.current().map_or(Ok(()), |value| encoder.encode_gauge(&value))
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

/// Buckets of [`WaitHistogram`]: the first up to 0.1 ms, then each twice as long as the previous one. The last bucket
/// has no upper bound.
const WAIT_BUCKETS: usize = 17;
const MIN_BUCKET_MICROS: u64 = 100;

/// A histogram of durations without a lock, so that requests never wait for each other to count.
#[derive(Debug, Clone, Default)]
pub struct WaitHistogram(Arc<WaitCounts>);

#[derive(Debug, Default)]
struct WaitCounts {
    buckets: [AtomicU64; WAIT_BUCKETS],
    micros: AtomicU64,
}

impl WaitHistogram {
    pub fn observe(&self, took: Duration) {
        let micros = took.as_micros() as u64;
        let doublings =
            (micros.saturating_sub(1) / MIN_BUCKET_MICROS).checked_ilog2().map_or(0, |log| log as usize + 1);
        self.0.buckets[doublings.min(WAIT_BUCKETS - 1)].fetch_add(1, Relaxed);
        self.0.micros.fetch_add(micros, Relaxed);
    }

    /// The upper bound of each bucket in seconds, and its count.
    fn read(&self) -> Vec<(f64, u64)> {
        let bounds = (0..WAIT_BUCKETS - 1).map(|n| (MIN_BUCKET_MICROS << n) as f64 / 1e6).chain([f64::INFINITY]);
        bounds.zip(&self.0.buckets).map(|(bound, count)| (bound, count.load(Relaxed))).collect()
    }
}

impl EncodeMetric for WaitHistogram {
    fn encode(&self, mut encoder: MetricEncoder) -> std::fmt::Result {
        let buckets = self.read();
        let count = buckets.iter().map(|(_, count)| count).sum();
        let seconds = self.0.micros.load(Relaxed) as f64 / 1e6;
        encoder.encode_histogram::<NoLabelSet>(seconds, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_is_counted_in_the_first_bucket_that_is_long_enough() {
        let metrics = Metrics::default();
        for micros in [0, 100, 101, 200, 201, 3_276_801, u64::MAX] {
            metrics.purchase_seconds.observe(Duration::from_micros(micros));
        }
        let counts: Vec<u64> = metrics.purchase_seconds.read().iter().map(|(_, count)| *count).collect();
        assert_eq!((counts[0], counts[1], counts[2], counts[16], counts[3..16].iter().sum::<u64>()), (2, 2, 1, 2, 0));
        let text = metrics.encode();
        assert!(text.contains("seckill_purchase_seconds_bucket{le=\"0.0002\"} 4"), "{text}");
        assert!(text.contains("seckill_purchase_seconds_bucket{le=\"+Inf\"} 7"), "{text}");
    }

    /// Otherwise an alert on dead letters never ends once another process has the lease and empties the queue.
    #[tokio::test(start_paused = true)]
    async fn gauges_of_the_lease_end_with_it() {
        let metrics = Metrics::default();
        let all = [
            &metrics.outbox_length,
            &metrics.ended_units,
            &metrics.queue_ready,
            &metrics.dead_letters,
            &metrics.mails_waiting,
            &metrics.events_waiting,
        ];
        let names = ["outbox_entries", "ended_units", "queue_ready", "queue_dead", "mails_waiting", "events_waiting"];
        let shown = || {
            let text = metrics.encode();
            names.map(|name| {
                text.lines().find_map(|line| line.strip_prefix(&format!("seckill_{name} ")).map(str::to_owned))
            })
        };
        assert_eq!(shown(), [const { None }; 6]);
        for gauge in all {
            gauge.set(3);
        }
        assert_eq!(shown(), [const { "3" }; 6].map(|value| Some(value.to_owned())));
        tokio::time::advance(MAX_MEASUREMENT_AGE).await;
        assert_eq!(shown(), [const { None }; 6]);
    }

    #[test]
    fn document_has_every_metric_and_no_other() {
        let document = include_str!("../../docs/operations.md").split("| metrics | what |").nth(1).unwrap();
        let rows = document.split("\n\n").next().unwrap().lines().filter_map(|row| row.split('|').nth(1));
        let mut named: Vec<&str> = rows.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        named.iter_mut().for_each(|name| *name = name.split('{').next().unwrap_or_default());
        let text = Metrics::default().encode();
        let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE seckill_"));
        let mut known: Vec<&str> = types.filter_map(|line| line.split(' ').next()).collect();
        named.sort_unstable();
        known.sort_unstable();
        assert_eq!(named, known);
    }

    #[test]
    fn refusals_are_counted_by_reason() {
        let metrics = Metrics::default();
        metrics.refused(Refusal::SoldOut);
        let text = metrics.encode();
        assert!(text.contains("seckill_purchases_refused_total{reason=\"sold_out\"} 1"), "{text}");
        assert!(text.contains("seckill_purchases_refused_total{reason=\"busy\"} 0"), "{text}");
    }
}
