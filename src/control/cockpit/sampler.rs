//! Samples one sale. All engines are queried at the same time, each with its own deadline, so that one that is down
//! does not delay the others. Also what a process writes down for this: its counters, and the opening of each sale.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use serde::Serialize;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::info;
use uuid::Uuid;

use crate::cockpit::Sources;
use crate::cockpit::alarms::{Drift, StockTotals, alarms, drift, moods, verdict};
use crate::cockpit::sample::{
    BucketFacts, DriftSince, GateFacts, LineFacts, OrderFacts, Part, Point, Requests, SaleFacts, Sample, StockFacts,
};
use base::clock::Clock;
use base::counters::{CounterRegistry, CounterSnapshot, OPENING_SLOT_MS, OPENING_SLOTS, SaleCounters};
use base::locked;
use domain::{Bucket, SaleId, SaleState};
use engine::catalogue::Catalogue;
use engine::pipeline::rabbit::Depths;
use engine::stock::load::{BucketState, StockCounters};
use store::{Store, StoreResult};

/// How long one engine may take to answer: less than the interval between samples.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(700);
/// The gate reads its facts twenty times a second; older ones are shown as unknown.
const MAX_FACTS_AGE_MS: i64 = 2_000;
/// Alarms that the cockpit lists.
const MAX_EVENTS: i64 = 8;
/// Samples over which rates are averaged. Processes write their counters once a second, but not at the same instant.
pub(super) const RATE_SAMPLES: usize = 3;

/// Samples among which the slowest bounds how long orders are on their way.
const PACE_SAMPLES: usize = 10;

/// The counters at one sample, from which rates are computed.
struct CounterReading {
    when: Instant,
    /// `None` while the counters of the other processes are unknown.
    numbers: Option<CounterSnapshot>,
    persisted: Option<i64>,
    /// Calls of the waiting room.
    called: Option<i64>,
}

pub(super) struct Sampler {
    sources: Arc<Sources>,
    sale: SaleId,
    last: Option<Sample>,
    others: CounterSnapshot,
    readings: VecDeque<CounterReading>,
    /// The last rates at which orders were stored while some were on their way.
    paces: VecDeque<f64>,
}

/// The answer, or `None` after an error or [`ANSWER_TIMEOUT`].
pub(super) async fn within<T, E>(read: impl Future<Output = Result<T, E>>) -> Option<T> {
    timeout(ANSWER_TIMEOUT, read).await.ok()?.ok()
}

impl Sampler {
    pub(super) fn new(sources: Arc<Sources>, sale: SaleId) -> Sampler {
        Sampler {
            sources,
            sale,
            last: None,
            others: CounterSnapshot::default(),
            readings: VecDeque::new(),
            paces: VecDeque::new(),
        }
    }

    /// Takes one sample.
    pub(super) async fn sample(&mut self) -> Sample {
        let sources = self.sources.clone();
        let stock = async { Some(within(sources.stock_sync.as_ref()?.survey_sale(self.sale)).await) };
        let queue = async { Some(within(sources.monitor.as_ref()?.depths()).await) };
        let (sale, orders, others, events, stock, queue) = tokio::join!(
            within(sale_facts(&sources, self.sale)),
            within(sources.store.sales().count_orders(self.sale)),
            within(sources.counter_store.others(self.sale)),
            within(sources.store.sales().alarms(self.sale, MAX_EVENTS)),
            stock,
            queue,
        );
        let now = sources.clock.now();
        let numbers = self.add_up(others);
        let last = self.last.take().unwrap_or_default();
        let buckets = buckets(stock.as_ref().and_then(Option::as_ref));
        let stock = stock.map(|read| {
            let facts = read.map(|survey| StockCounters::of_sale(&survey)).map(|loaded| StockFacts {
                booked: loaded.map(|loaded| loaded.booked),
                outbox: loaded.map_or(0, |loaded| loaded.outbox),
            });
            last.stock.unwrap_or_default().after(facts, now)
        });
        let queue = queue.map(|read| last.queue.unwrap_or_default().after(read, now));
        let requests = numbers.as_ref().map(Requests::of);
        let p99_ms = numbers.as_ref().and_then(|numbers| numbers.wait_ms(0.99));
        let opening = numbers.as_ref().and_then(OpeningCounts::of);
        let orders = orders.as_ref().map(OrderFacts::of);
        let mut sample = Sample {
            at: now,
            gate: self.gate_facts(now),
            sale: last.sale.after(sale, now),
            requests: last.requests.after(requests, now),
            orders: last.orders.after(orders, now),
            drift: drift_since(sale, stock.as_ref(), last.drift, now),
            point: self.point(numbers, sale, stock.as_ref(), queue.as_ref(), now),
            stock,
            buckets,
            queue,
            events: events.unwrap_or(last.events),
            opening,
            ..Sample::default()
        };
        sample.point.left = sample.left();
        sample.point.paid_units = orders.map(|orders| orders.paid_units);
        sample.point.paid_share = orders.and_then(|orders| orders.paid_share());
        sample.point.waiting = sale.map(|sale| sale.waiting());
        sample.alarms = alarms(&sample);
        sample.moods = moods(&sample);
        sample.verdict = verdict(&sample, p99_ms, self.slowest_pace(&sample));
        self.last = Some(sample.clone());
        sample
    }

    /// The lowest rate at which orders were stored in the last seconds, while some were on their way all the time.
    fn slowest_pace(&mut self, sample: &Sample) -> Option<f64> {
        match (sample.drift.map(|since| since.drift), sample.point.persisted) {
            (Some(Drift::OnTheWay { .. }), Some(pace)) if pace > 0.0 => self.paces.push_back(pace),
            (Some(Drift::OnTheWay { .. }), _) => {}
            _ => self.paces.clear(),
        }
        if self.paces.len() > PACE_SAMPLES {
            self.paces.pop_front();
        }
        self.paces.iter().copied().reduce(f64::min)
    }

    fn gate_facts(&self, now: Timestamp) -> Part<GateFacts> {
        let at = self.sources.gate.facts_at();
        let fresh = at.is_some_and(|at| now.as_millisecond() - at.as_millisecond() <= MAX_FACTS_AGE_MS);
        let facts = self.sources.gate.status(self.sale).map(|status| GateFacts {
            phase: status.phase,
            total: status.total,
            remaining: status.remaining,
            booked: status.booked,
            access: status.access,
        });
        Part { value: facts.filter(|_| fresh), at, unknown_since: if fresh { None } else { Some(at.unwrap_or(now)) } }
    }

    /// The sum over all processes. `None` while the counters of the others are unknown, because a partial sum would
    /// look like a loss.
    fn add_up(&mut self, others: Option<CounterSnapshot>) -> Option<CounterSnapshot> {
        let mine = self.sources.counter_store.mine(self.sale);
        match others {
            Some(others) => {
                self.others = others;
                Some(mine.plus(&self.others))
            }
            None if self.others == CounterSnapshot::default() && self.last.is_some() => Some(mine),
            None => None,
        }
    }

    fn point(
        &mut self,
        numbers: Option<CounterSnapshot>,
        sale: Option<SaleFacts>,
        stock: Option<&Part<StockFacts>>,
        queue: Option<&Part<Depths>>,
        now: Timestamp,
    ) -> Point {
        let reading = CounterReading {
            when: Instant::now(),
            numbers,
            persisted: sale.map(|sale| sale.persisted),
            called: sale.and_then(|sale| Some(sale.line?.called)),
        };
        let mut point = Point {
            at: now.as_millisecond(),
            outbox: stock.and_then(|stock| stock.value).map(|stock| stock.outbox),
            ready: queue.and_then(|queue| queue.value).map(|queue| queue.ready),
            dead: queue.and_then(|queue| queue.value).map(|queue| queue.dead),
            ..Point::default()
        };
        if let Some(before) = self.readings.front() {
            rates(before, &reading, &mut point);
        }
        self.readings.push_back(reading);
        if self.readings.len() > RATE_SAMPLES {
            self.readings.pop_front();
        }
        point
    }
}

/// The loaded buckets of a split sale.
fn buckets(survey: Option<&Vec<(Bucket, BucketState)>>) -> Vec<BucketFacts> {
    let split = survey.into_iter().flatten().filter(|(bucket, _)| bucket.part().is_some());
    let facts = split.filter_map(|&(bucket, state)| {
        let &StockCounters { share, booked, .. } = state.loaded()?;
        Some(BucketFacts { bucket, allotted: share, booked })
    });
    facts.collect()
}

async fn sale_facts(sources: &Sources, id: SaleId) -> anyhow::Result<SaleFacts> {
    let sale = sources.store.sales().get(id).await?.ok_or_else(|| anyhow::anyhow!("no such sale"))?;
    let line = match sale.mode.is_waiting_room() {
        true => sources.store.waiting_rooms().get(id).await?,
        false => None,
    };
    let entries = match sale.mode.is_draw() {
        true => Some(sources.store.draws().count_entries(id).await?),
        false => None,
    };
    Ok(SaleFacts {
        state: sale.state,
        version: sale.version,
        phase: sale.phase(sources.clock.now()),
        total: sale.total,
        sold: sale.sold,
        persisted: sale.granted,
        unreleased: sources.store.sales().unreleased(id).await?,
        waiting: sources.store.waitlists().count_waiters(id).await?,
        open_offers: sources.store.waitlists().count_open_offers(id).await?,
        entries,
        line: line.map(|room| LineFacts { joined: room.joined, called: room.called }),
    })
}

/// Fills in the rates between two readings.
fn rates(before: &CounterReading, now: &CounterReading, point: &mut Point) {
    let seconds = now.when.duration_since(before.when).as_secs_f64().max(0.001);
    let per_second = |n: f64| (n / seconds * 10.0).round() / 10.0;
    if let (Some(then), Some(now)) = (&before.numbers, &now.numbers) {
        let new = now.since(then);
        point.asked = Some(per_second(new.asked as f64));
        point.accepted = Some(per_second(new.reserved as f64));
        point.refused =
            new.refused().filter(|(_, n)| *n > 0).map(|(r, n)| (r.as_str(), per_second(n as f64))).collect();
        (point.p50_ms, point.p99_ms) = (new.wait_ms(0.5), new.wait_ms(0.99));
    }
    if let (Some(then), Some(now)) = (before.persisted, now.persisted) {
        point.persisted = Some(per_second((now - then).max(0) as f64));
    }
    if let (Some(then), Some(now)) = (before.called, now.called) {
        point.called = Some(per_second((now - then).max(0) as f64));
    }
}

fn drift_since(
    sale: Option<SaleFacts>,
    stock: Option<&Part<StockFacts>>,
    before: Option<DriftSince>,
    now: Timestamp,
) -> Option<DriftSince> {
    let (sale, stock) = (sale?, stock?.value?);
    let totals =
        StockTotals { booked: stock.booked?, sold: sale.sold, unreleased: sale.unreleased, outbox: stock.outbox };
    let drift = drift(totals);
    let same = before.filter(|before| std::mem::discriminant(&before.drift) == std::mem::discriminant(&drift));
    Some(DriftSince { drift, since: same.map_or(now, |before| before.since) })
}

// Stores the counters of one process in the database once a second, so that any process can add up all of them. A
// failure costs freshness, never a sale.

/// A row that was not written for this long belongs to a process that has ended. Its counters are merged.
const STALE_ROW_AGE: Duration = Duration::from_secs(60 * 60);
/// After this long without a write another process may have merged this process's rows. It continues under a new name.
const MAX_WRITE_GAP: Duration = Duration::from_secs(20 * 60);
/// How often unchanged rows are written again, so that they do not become stale.
const REFRESH_INTERVAL: Duration = Duration::from_secs(60);
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// Writes and reads stored counters.
pub(super) struct CounterStore {
    store: Store,
    registry: Arc<CounterRegistry>,
    clock: Clock,
    state: tokio::sync::Mutex<WriteState>,
    /// The name under which this process writes, and what it wrote under earlier names.
    name: std::sync::Mutex<(String, HashMap<SaleId, CounterSnapshot>)>,
}

#[derive(Default)]
struct WriteState {
    /// What this process has written, under any of its names.
    written: HashMap<SaleId, CounterSnapshot>,
    written_at: Option<Instant>,
    refreshed_at: Option<Instant>,
}

fn new_name() -> String {
    Uuid::now_v7().simple().to_string()
}

impl CounterStore {
    pub(super) fn new(store: Store, registry: Arc<CounterRegistry>, clock: Clock) -> CounterStore {
        let name = std::sync::Mutex::new((new_name(), HashMap::new()));
        CounterStore { store, registry, clock, state: Default::default(), name }
    }

    pub(super) fn registry(&self) -> &CounterRegistry {
        &self.registry
    }

    /// The current name of this process, and what it wrote about a sale under earlier names.
    fn named(&self, sale: SaleId) -> (String, CounterSnapshot) {
        let name = locked(&self.name);
        (name.0.clone(), name.1.get(&sale).cloned().unwrap_or_default())
    }

    /// What this process has counted for a sale under its current name.
    pub(super) fn mine(&self, sale: SaleId) -> CounterSnapshot {
        self.registry.read(sale).since(&self.named(sale).1)
    }

    /// What all other processes have counted, and this process under earlier names.
    pub(super) async fn others(&self, sale: SaleId) -> StoreResult<CounterSnapshot> {
        self.store.sales().counters_of_others(sale, &self.named(sale).0).await
    }

    /// Writes the counters that have changed.
    pub(super) async fn write(&self) -> anyhow::Result<()> {
        let mut state = self.state.lock().await;
        if state.written_at.is_some_and(|at| at.elapsed() >= MAX_WRITE_GAP) {
            self.rename(&mut state);
        }
        let refresh = state.refreshed_at.is_none_or(|at| at.elapsed() >= REFRESH_INTERVAL);
        let mut all = self.registry.read_all();
        all.retain(|(sale, numbers)| {
            let known = state.written.get(sale);
            numbers.asked > 0 && (refresh || known != Some(numbers))
        });
        if all.is_empty() {
            return Ok(());
        }
        let rows: Vec<_> = all.iter().map(|(sale, n)| (*sale, n.since(&self.named(*sale).1).trimmed())).collect();
        let name = self.named(rows[0].0).0;
        let saved = timeout(WRITE_TIMEOUT, self.store.sales().save_counters(&name, &rows, self.clock.now())).await;
        saved.context("the database does not answer in time")??;
        state.written.extend(all);
        state.written_at = Some(Instant::now());
        if refresh {
            state.refreshed_at = Some(Instant::now());
        }
        Ok(())
    }

    /// Continues under a new name: the old rows may have been merged, so only later counts belong to this process.
    fn rename(&self, state: &mut WriteState) {
        let mut name = locked(&self.name);
        *name = (new_name(), state.written.clone());
        state.written_at = None;
    }

    /// Merges the counters of ended processes.
    pub(super) async fn fold(&self) -> StoreResult<()> {
        let now = self.clock.now();
        let rows = self.store.sales().fold_counters(now - STALE_ROW_AGE, now).await?;
        if rows > 0 {
            info!(rows, "merged the counters of ended processes");
        }
        Ok(())
    }
}

// Records the opening of every sale in slots of ten milliseconds, in each process that serves, watched or not.
//
// Most of a sale is decided within its first moments, where one sample per second shows nothing. The recorder reads
// two counters of a sale at the end of each slot, so requests are not slowed down. The slots are a part of the sale's
// counters: they are stored, added up over the processes and kept with them.

const SLOT: Duration = Duration::from_millis(OPENING_SLOT_MS as u64);
const OPENING_MS: i64 = OPENING_SLOT_MS * OPENING_SLOTS as i64;
/// How often the recorder looks for openings. A sale that staff start is noticed this late, so its first slot may have
/// more.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// How often it looks while no sale is active. A change of the catalogue ends the rest.
const REST: Duration = Duration::from_secs(1);
const SLOTS_PER_LOOK: usize = 5;
/// The recorder begins before the start, so that earlier requests are not counted as a part of the opening.
const LEAD_TIME_MS: i64 = 500;
/// How long the recorder goes on after the last slot, so that this slot is read too.
const REST_MS: i64 = 100;

/// The opening as the cockpit shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpeningCounts {
    pub slot_ms: i64,
    /// Requests in each slot, from the start of the sale on.
    pub asked: Vec<u64>,
    /// Requests that got units.
    pub accepted: Vec<u64>,
}

impl OpeningCounts {
    /// `None` while nothing was counted.
    pub(super) fn of(numbers: &CounterSnapshot) -> Option<OpeningCounts> {
        let (asked, accepted) = (numbers.opening_asked.clone(), numbers.opening_reserved.clone());
        (!asked.is_empty()).then_some(OpeningCounts { slot_ms: OPENING_SLOT_MS, asked, accepted })
    }
}

/// A sale that opens or has just opened: its counters, and the start in Unix milliseconds.
type NearOpening = (Arc<SaleCounters>, i64);

/// Records until stopped.
pub(super) async fn record_openings(
    catalogue: &Catalogue,
    registry: &CounterRegistry,
    clock: &Clock,
    stop: &CancellationToken,
) {
    let mut due = Instant::now();
    loop {
        stop.run_until_cancelled(catalogue.rest_between_sales(REST)).await;
        let openings = near(catalogue, registry, clock.now().as_millisecond());
        let (slots, pause) = if openings.is_empty() { (1, LOOK_INTERVAL) } else { (SLOTS_PER_LOOK, SLOT) };
        for _ in 0..slots {
            record_slot(&openings, clock.now().as_millisecond());
            // Slots do not drift: after a late slot the wait is shorter.
            due = (due + pause).max(Instant::now());
            if stop.run_until_cancelled(sleep_until(due)).await.is_none() {
                return;
            }
        }
    }
}

/// Sales whose opening is being recorded at `now`.
fn near(catalogue: &Catalogue, registry: &CounterRegistry, now: i64) -> Vec<NearOpening> {
    let sales = catalogue.active().into_iter().filter_map(|sale| catalogue.known(sale));
    let opening = sales.filter(|entry| matches!(entry.sale.state, SaleState::Scheduled | SaleState::Live));
    let near = opening.filter_map(|entry| {
        let opens = entry.sale.window.opens_at?.as_millisecond();
        let is_near = (-LEAD_TIME_MS..OPENING_MS + REST_MS).contains(&(now - opens));
        is_near.then(|| (registry.of(entry.sale.id), opens))
    });
    near.collect()
}

/// Adds what was counted since the last call to the slot that has just ended.
fn record_slot(openings: &[NearOpening], now: i64) {
    for (counters, opens) in openings {
        counters.record_opening(usize::try_from((now - opens - 1).div_euclid(OPENING_SLOT_MS)).ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::OrderStatus;
    use domain::claim::Decision;

    #[test]
    fn twenty_purchases_within_85_ms_leave_their_slots() {
        let counters = Arc::new(SaleCounters::default());
        let openings = [(counters.clone(), 1_000)];
        for now in (500..1_200).step_by(10) {
            record_slot(&openings, now);
            // Two purchases in each slot from 10 ms after the start on.
            if (1_010..1_110).contains(&now) {
                for _ in 0..2 {
                    counters.record_admission(None);
                    counters.record_decision(Some(&Decision::Granted(OrderStatus::Unpaid)), SLOT);
                }
            }
        }
        let opening = OpeningCounts::of(&counters.read()).unwrap();
        assert_eq!(opening.accepted, [0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
        assert_eq!(opening.asked, opening.accepted);
        assert_eq!(OpeningCounts::of(&SaleCounters::default().read()), None);
    }
}
