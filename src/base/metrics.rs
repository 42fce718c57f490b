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

/// Declares [`Metrics`] from one list: of each field its type, the function that registers it, and the name and help that
/// Prometheus shows. The prefix `seckill_` and the ends `_total` and `_seconds` are added.
macro_rules! metrics {
    ($(
        $(#[$meta:meta])*
        $vis:vis $field:ident: $type:ty = $register:ident($name:literal, $help:literal $(, $more:expr)*);
    )+) => {
        /// All metrics of this process.
        pub struct Metrics {
            registry: Registry,
            $(#[doc = $help] $(#[$meta])* $vis $field: $type,)+
        }

        impl Default for Metrics {
            fn default() -> Self {
                let mut root = Registry::default();
                let registry = root.sub_registry_with_prefix("seckill");
                $(let $field: $type = $register(registry, $name, $help $(, $more)*);)+
                Metrics { registry: root, $($field,)+ }
            }
        }
    };
}

metrics! {
    pub button_reads: Counter = register("button_reads", "Answers about a sale's button");
    /// They reached the gate.
    pub asked: Counter = register("purchases_asked", "Buying requests of signed-in shoppers");
    pub let_in: Counter = register("purchases_let_in", "Buying requests admitted to the stock");
    pub reserved: Counter = register("purchases_reserved", "Buying requests that got units");
    pub repeated: Counter = register("purchases_repeated", "Buying requests answered with an earlier order");
    refused: Vec<Counter> = labelled("purchases_refused", "Buying requests refused, by reason", "reason",
        Refusal::ALL.map(Refusal::as_str));
    pub purchase_seconds: WaitHistogram =
        in_seconds("purchase", "Time from the gate to the decision, of admitted requests");
    batch_size: Histogram = sizes("reserve_batch_size", "Claims per call to the stock");
    batch_seconds: Histogram = times("reserve_batch", "Time of a call to the stock");
    pub published: Counter = register("orders_published", "Orders confirmed by RabbitMQ");
    pub republished: Counter = register("orders_republished", "Orders published again because they were overdue");
    pub persisted: Counter = register("orders_persisted", "Orders written to the database");
    pub rejected: Counter =
        register("orders_rejected", "Reservations rejected because the sale had no units left in the database");
    pub dead_lettered: Counter = register("orders_dead_lettered",
        "Dead letters: messages that could not be parsed, orders that the database refuses");
    pub persist_size: Histogram = sizes("persist_batch_size", "Orders per transaction");
    pub persist_seconds: Histogram = times("persist_batch", "Time of a transaction that persists orders");
    pub paid: Counter = register("orders_paid", "Orders paid");
    pub refunded: Counter = register("payments_refunded", "Payments refunded");
    payment_cases: Vec<Counter> = labelled("payment_cases", "Payments that need attention, by kind", "kind",
        CaseKind::ALL.map(CaseKind::as_str));
    pub cancelled: Counter = register("orders_cancelled", "Orders cancelled by their owner or unpaid");
    /// Asking for a place that exists does not count.
    pub queue_joins: Counter = register("queue_joins", "Places in waiting rooms");
    pub queue_calls: Counter = register("queue_calls", "Shoppers who were called from waiting rooms");
    /// Entering twice does not count.
    pub draw_entries: Counter = register("draw_entries", "Entries of draws");
    pub drawn: Counter = register("draw_orders", "Orders that winners of draws were given");
    pub offered: Counter = register("waitlist_orders", "Orders that accounts on waitlists were given");
    pub released: Counter = register("releases", "Holds released");
    pub rebuilt: Counter = register("sales_loaded", "Sales loaded into Redis");
    pub grants_dropped: Counter = register("grants_dropped",
        "Grants that a process stopped remembering before they were seen in the database");
    pub packets_given: Counter = register("packets_given", "Red packets given");
    pub packets_loaded: Counter = register("packets_loaded", "Buckets of red packets loaded into Redis");
    pub packets_settled: Counter =
        register("packets_settled", "Red packets that have ended, with the rest returned");
    pub claims_asked: Counter = register("claims_asked", "Claims on red packets");
    pub claims_won: Counter = register("claims_won", "Claims that got a share");
    pub claims_repeated: Counter = register("claims_repeated", "Claims answered with an earlier share");
    pub claims_refused: Counter = register("claims_refused", "Claims that got nothing");
    pub claims_persisted: Counter = register("claims_persisted", "Claims written to the database");
    pub claims_rejected: Counter =
        register("claims_rejected", "Claims rejected because the share was taken in the database");
    claim_batch_size: Histogram = sizes("claim_batch_size", "Claims per call to the share backend");
    claim_batch_seconds: Histogram = times("claim_batch", "Time of a call to the share backend");
    pub outbox_length: Measurement = register("outbox_entries", "Entries in the outboxes");
    /// About 110 bytes for each order.
    pub ended_units: Measurement = register("ended_units", "Units of ended sales that Redis still holds");
    pub queue_ready: Measurement = register("queue_ready", "Messages ready in seckill.orders");
    pub dead_letters: Measurement = register("queue_dead", "Messages ready in seckill.orders.dead");
    /// In milliseconds; -1 before the first read.
    pub facts_age_ms: Gauge<i64> = register("facts_age_ms", "Age of the facts that the gate checks requests against");
    pub replicas_left: Gauge = register("facts_replicas_left",
        "Replicas that the gate does not read because they do not answer or lag behind");
    pub clock_offset_seconds: Gauge<f64, AtomicU64> = in_seconds("clock_offset",
        "How far this host's clock is ahead of the Redis master's, or without Redis of the database's");
    pub connections: Gauge = register("connections", "Open connections of shoppers");
    pub turned_away: Counter =
        register("connections_turned_away", "Connections closed because the limit was reached");
    pub mails_sent: Counter = register("mails_sent", "Messages that the mail server accepted");
    /// And messages that are too old to be sent.
    pub mails_failed: Counter = register("mails_failed", "Attempts to send a message that failed");
    pub pushes_sent: Counter = register("pushes_sent", "Messages that push services accepted");
    /// And messages that are too old to be sent.
    pub pushes_failed: Counter =
        register("pushes_failed", "Attempts to send a message to a push service that failed");
    pub events_sent: Counter = register("events_sent", "Events that endpoints of the merchant accepted");
    pub events_failed: Counter = register("events_failed", "Attempts to send an event that failed");
    pub events_waiting: Measurement = register("events_waiting", "Events that wait to be sent, up to 10,000");
    pub mails_waiting: Measurement = register("mails_waiting", "Messages that wait to be sent, up to 10,000");
    security_events: Vec<Counter> = labelled("security_events", "Security events, by class", "class",
        SecurityClass::ALL.map(SecurityClass::as_str));
    pub security_events_dropped: Counter = register("security_events_dropped",
        "Security events that are missing from the list, because the database was away for too long");
}

fn register<M: Metric + Default + Clone>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

fn in_seconds<M: Metric + Default + Clone>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register_with_unit(name, help, Unit::Seconds, metric.clone());
    metric
}

fn sizes(registry: &mut Registry, name: &str, help: &str) -> Histogram {
    let histogram = Histogram::new(exponential_buckets(1.0, 2.0, 11));
    registry.register(name, help, histogram.clone());
    histogram
}

fn times(registry: &mut Registry, name: &str, help: &str) -> Histogram {
    let histogram = Histogram::new(exponential_buckets(0.000_1, 2.0, 16));
    registry.register_with_unit(name, help, Unit::Seconds, histogram.clone());
    histogram
}

/// A counter for each value of a label, in their order.
fn labelled<const N: usize>(
    registry: &mut Registry,
    name: &str,
    help: &str,
    label: &'static str,
    values: [&'static str; N],
) -> Vec<Counter> {
    let family: Family<[(&'static str, &'static str); 1], Counter> = register(registry, name, help);
    values.map(|value| family.get_or_create_owned(&[(label, value)])).to_vec()
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
        if let Some(counter) = self.refused.get(refusal as usize) {
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
