//! The cockpit's page of a sale. It renders one sample; its script updates the numbers from the event stream, and
//! without a script the page reloads itself.

use crate::prelude::*;
use crate::sales::view::{admin_notice, sale_tabs};
use control::cockpit::alarms::{DRIFT_AFTER_MS, Drift, MAX_P99_MS, MIN_LEFT_PERCENT, MIN_PAID_PERCENT};
use control::cockpit::sample::{Mood, Part, Sentence};
use control::cockpit::{RATE_WINDOW_S, Sample};
use domain::sale::SaleMove;
use domain::{Alarm, Line, Phase};
use store::WaitingRoom;
use web::shared::SaleNoticeQuery;
use words::refusal_reasons;

pub async fn show(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<ViewConsole, SaleId>,
    Query(SaleNoticeQuery { done, applied }): Query<SaleNoticeQuery>,
) -> Answer {
    let notice = admin_notice(visitor.locale, &done, Some(id), &applied);
    let may_run = staff.may::<ManageSales>();
    page(&shop, &visitor, id, may_run, (StatusCode::OK, notice, None)).await
}

/// The page after a refused action.
pub async fn show_with_warning(
    shop: &Shop,
    visitor: &Visitor,
    id: SaleId,
    status: StatusCode,
    warning: &'static str,
) -> Answer {
    page(shop, visitor, id, true, (status, None, Some(warning))).await
}

async fn page(
    shop: &Shop,
    visitor: &Visitor,
    id: SaleId,
    may_run: bool,
    (status, notice, warning): (StatusCode, Option<String>, Option<&'static str>),
) -> Answer {
    let entry = shop.catalogue.entry(id).await?.ok_or(Code::NoSuchSale)?;
    let sample = shop.cockpit.sample_now(id, entry.sale.version).await;
    let chrome = visitor.chrome_at(format!("/admin/sales/{id}?lang={}", visitor.locale));
    let goods_name = entry.goods.name.get(visitor.locale).to_owned();
    let (state, version) =
        sample.sale.value.map_or((entry.sale.state, entry.sale.version), |sale| (sale.state, sale.version));
    let tabs = sale_tabs(&chrome, &entry.sale, "");
    let is_draw = entry.sale.mode.is_draw() && state != SaleState::Draft;
    let waiting_room = shop.store.waiting_rooms().get(id).await?;
    let line = shop.waiting_rooms.line(id);
    let page = CockpitPage {
        chrome,
        id,
        goods_name,
        state,
        version,
        price: entry.sale.price,
        sample,
        waiting_room,
        line,
        may_run,
        tabs,
        is_draw,
        notice,
        warning,
    };
    personal(status, &page)
}

/// The counters of a sale while it runs.
#[derive(Debug, Template)]
#[template(path = "cockpit/cockpit.html")]
struct CockpitPage {
    chrome: Chrome,
    id: SaleId,
    goods_name: String,
    state: SaleState,
    version: i64,
    price: Money,
    sample: Arc<Sample>,
    /// The sale's waiting room, and its public state.
    waiting_room: Option<WaitingRoom>,
    line: Option<Arc<Line>>,
    may_run: bool,
    tabs: Vec<Tab>,
    /// Whether the sale is a draw that was announced, so that it has a page of its own.
    is_draw: bool,
    /// The action that the page reports as done.
    notice: Option<String>,
    warning: Option<&'static str>,
}

/// One counter with its bar.
struct CounterRow {
    key: String,
    label: &'static str,
    value: Option<i64>,
    /// The share of the group's first counter, 0 to 100 percent.
    percent: f64,
    /// Whether it is a part of the row above.
    inner: bool,
}

/// A source of counters, and whether it answers.
struct SampleSource {
    key: &'static str,
    label: &'static str,
    known: bool,
    at: Option<Timestamp>,
    unknown_since: Option<Timestamp>,
}

impl CounterRow {
    /// `whole` is the first counter of the group.
    fn new(key: impl Into<String>, label: &'static str, value: Option<i64>, whole: Option<i64>) -> CounterRow {
        let percent = match (value, whole) {
            (Some(part), Some(whole)) if whole > 0 => (part as f64 / whole as f64 * 100.0).clamp(0.0, 100.0),
            _ => 0.0,
        };
        CounterRow { key: key.into(), label, value, percent, inner: false }
    }
}

fn source<T>(key: &'static str, label: &'static str, part: &Part<T>) -> SampleSource {
    SampleSource { key, label, known: part.value.is_some(), at: part.at, unknown_since: part.unknown_since }
}

/// A large figure. The script keeps it current and draws its curve.
struct Tile {
    name: &'static str,
    label: &'static str,
    value: Option<String>,
    /// Its limit, or how it is computed.
    note: Option<String>,
    mood: Option<Mood>,
}

/// Longer values of tiles are written smaller. `static/cockpit_tiles.js` has the same constant.
const MAX_LARGE_CHARS: usize = 7;

impl Tile {
    fn is_long(&self) -> bool {
        self.value.as_ref().is_some_and(|value| value.chars().count() > MAX_LARGE_CHARS)
    }
}

/// Fills numbers into words, one after the other.
fn fill_all(words: &str, numbers: &[f64]) -> String {
    let number = |n: f64| if n.fract() == 0.0 { grouped(n as i64) } else { n.to_string() };
    numbers.iter().fold(words.to_owned(), |text, n| fill(&text, number(*n)))
}

impl CockpitPage {
    fn text(&self) -> &'static words::CockpitText {
        &self.chrome.text().cockpit
    }

    fn phase(&self) -> Phase {
        self.sample.phase().unwrap_or(Phase::Paused)
    }

    fn phase_words(&self) -> &'static str {
        match self.phase() {
            Phase::Open if self.is_draw => self.text().phase_draw_open,
            phase => self.chrome.text().phase(&phase),
        }
    }

    /// One sentence about the state. The script finds it by the same names.
    fn meaning(&self) -> &'static str {
        let t = self.text();
        match (self.state, self.phase()) {
            (SaleState::Draft, _) => t.mean_draft,
            (_, Phase::Upcoming) if self.is_draw => t.mean_draw_upcoming,
            (_, Phase::Upcoming) => t.mean_upcoming,
            (_, Phase::Open) if self.is_draw => t.mean_draw_open,
            (_, Phase::Open) => t.mean_open,
            (_, Phase::SoldOut) if self.is_draw => t.mean_draw_sold_out,
            (_, Phase::SoldOut) => t.mean_sold_out,
            (_, Phase::Paused) if self.is_draw => t.mean_draw_paused,
            (_, Phase::Paused) => t.mean_paused,
            (_, Phase::Ended) if self.is_draw => t.mean_draw_ended,
            (_, Phase::Ended) => t.mean_ended,
        }
    }

    /// What stands large above the numbers: how fast the sale sold out, otherwise its phase.
    fn headline(&self) -> String {
        let sold = self.sample.verdict.iter().find(|sentence| sentence.key == "verdict_sold_within");
        match sold.filter(|_| self.phase() == Phase::SoldOut && !self.is_draw) {
            Some(sold) => fill_all(self.text().sold_out_in, &sold.numbers[..3]),
            None => self.phase_words().to_owned(),
        }
    }

    /// Whether nothing is wrong but that the stock runs out, which is what a sale is for.
    fn is_only_nearly_sold(&self) -> bool {
        self.sample.alarms == [Alarm::NearlySold]
    }

    /// How many were called in the waiting room and bought nothing.
    fn missed(&self) -> i64 {
        let missed = self.waiting_room_rows().into_iter().find(|row| row.key == "missed");
        missed.and_then(|row| row.value).unwrap_or_default()
    }

    fn moves(&self) -> impl Iterator<Item = SaleMove> {
        let state = self.state;
        let all = [SaleMove::Start, SaleMove::Resume, SaleMove::Pause, SaleMove::Stop];
        all.into_iter().filter(move |action| state.after(*action).is_ok())
    }

    fn tiles(&self) -> [Tile; 6] {
        let (t, point) = (self.text(), &self.sample.point);
        let revenue =
            point.paid_units.map(|units| Money { amount: self.price.amount.saturating_mul(units), ..self.price });
        let (waiting, of_waiting) = match self.is_draw {
            true => (t.tile_entries, None),
            false => (t.tile_waiting, Some(t.bound_waiting.to_owned())),
        };
        [
            ("left", t.tile_left, point.left.map(grouped), Some(fill(t.bound_left, MIN_LEFT_PERCENT))),
            ("revenue", t.tile_revenue, revenue.map(|revenue| revenue.to_string()), None),
            (
                "paid_share",
                t.tile_paid,
                point.paid_share.map(|share| format!("{share}%")),
                Some(fill(t.bound_paid, MIN_PAID_PERCENT)),
            ),
            ("waiting", waiting, point.waiting.map(grouped), of_waiting),
            ("rate", t.tile_rate, point.accepted.map(|rate| rate.to_string()), Some(fill(t.bound_rate, RATE_WINDOW_S))),
            ("p99", t.tile_p99, point.p99_ms.map(|ms| format!("{ms:.0}")), Some(fill(t.bound_p99, MAX_P99_MS))),
        ]
        .map(|(name, label, value, note)| Tile {
            name,
            label,
            value,
            note,
            mood: self.sample.moods.get(name).copied(),
        })
    }

    /// What the numbers mean. The script finds the words by the same names.
    fn verdict(&self) -> String {
        let sentence = |s: &Sentence| fill_all(self.words(s.key), &s.numbers);
        self.sample.verdict.iter().map(sentence).collect::<Vec<_>>().join(" ")
    }

    /// The text of a key that only a sample names.
    fn words(&self, key: &str) -> &'static str {
        self.text().entries().find(|(known, _)| *known == key).map_or("", |(_, words)| words)
    }

    /// The alarms that need a look.
    fn alarms(&self) -> String {
        let all: Vec<&str> = self.sample.alarms.iter().map(|alarm| self.chrome.text().alarm(alarm)).collect();
        if all.is_empty() { self.text().no_alarms.to_owned() } else { all.join(" · ") }
    }

    /// The price of a unit, for the script.
    fn price_json(&self) -> String {
        serde_json::to_string(&self.price).unwrap_or_default()
    }

    /// Where the orders are downloaded, after the password was entered.
    fn export_path(&self) -> String {
        format!("/api/admin/orders.csv?lang={}&sale={}", self.chrome.locale, self.id)
    }

    /// Whether there are services besides the database, so that the numbers may differ.
    fn has_services(&self) -> bool {
        self.sample.stock.is_some() || self.sample.queue.is_some()
    }

    /// Units sold, reserved but not persisted, and left, which add up to the total.
    fn stock(&self) -> [CounterRow; 5] {
        let (t, sample) = (self.text(), &self.sample);
        let (total, booked) = (sample.total(), sample.booked());
        let sold = sample.sale.value.map(|sale| sale.sold);
        let in_transit = booked.zip(sold).map(|(booked, sold)| (booked - sold).max(0));
        let left = sample.left();
        [
            ("sold", t.sold, sold),
            ("on_the_way", t.on_the_way, in_transit),
            ("left", t.left, left),
            ("booked", t.booked, booked),
            ("total", t.total, total),
        ]
        .map(|(key, label, value)| CounterRow::new(key, label, value, total))
    }

    /// The ends of the bars of sold units and of sold or reserved units, in percent.
    fn stock_percents(&self) -> (f64, f64) {
        let [sold, in_transit, ..] = self.stock();
        (sold.percent, sold.percent + in_transit.percent)
    }

    /// Shoppers of the waiting room by how far they are. Called shoppers who are neither buying nor have an order have
    /// missed their turn.
    fn waiting_room_rows(&self) -> [CounterRow; 6] {
        let t = &self.chrome.text().waiting_room_console;
        let line = self.line.as_deref();
        let bought = self.sample.orders.value.map(|orders| orders.unpaid + orders.paid);
        let missed = line.zip(bought).map(|(line, bought)| (line.called - line.seats - bought).max(0));
        [
            ("waiting", t.waiting, line.map(Line::waiting)),
            ("called", t.called, line.map(|line| line.called)),
            ("seats", t.seats, line.map(|line| line.seats)),
            ("bought", t.bought, bought),
            ("missed", t.missed, missed),
            ("called_last_minute", t.per_minute, line.map(|line| line.called_last_minute)),
        ]
        .map(|(key, label, value)| CounterRow::new(key, label, value, None))
    }

    /// Title, name and rows of both funnels.
    fn funnels(&self) -> [(&'static str, &'static str, Vec<CounterRow>); 2] {
        let t = self.text();
        [(t.requests, "requests", self.requests()), (t.orders, "orders", self.orders())]
    }

    fn reasons(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        refusal_reasons(self.chrome.locale)
    }

    fn requests(&self) -> Vec<CounterRow> {
        let t = self.text();
        let requests = self.sample.requests.value.as_ref();
        let asked = requests.map(|r| r.asked as i64);
        let refused = requests.map(|r| r.refused_in_all() as i64);
        let mut rows = vec![
            CounterRow::new("asked", t.asked, asked, asked),
            CounterRow::new("refused", t.refused, refused, asked),
        ];
        for (code, reason) in self.reasons() {
            let count = requests.map(|r| r.refused.get(code).copied().unwrap_or(0) as i64);
            rows.push(CounterRow { inner: true, ..CounterRow::new(format!("reason_{code}"), reason, count, asked) });
        }
        rows.push(CounterRow::new("let_in", t.let_in, requests.map(|r| r.let_in as i64), asked));
        rows.push(CounterRow::new("reserved", t.reserved, requests.map(|r| r.reserved as i64), asked));
        rows.push(CounterRow::new("repeated", t.repeated, requests.map(|r| r.repeated as i64), asked));
        rows
    }

    fn orders(&self) -> Vec<CounterRow> {
        let t = self.text();
        let orders = self.sample.orders.value;
        let all = orders.map(|o| o.persisted);
        [
            ("persisted", t.persisted, all),
            ("unpaid", t.unpaid, orders.map(|o| o.unpaid)),
            ("paid", t.paid, orders.map(|o| o.paid)),
            ("cancelled", t.cancelled, orders.map(|o| o.cancelled)),
            ("rejected", t.rejected, orders.map(|o| o.rejected)),
            ("refunded", t.refunded, orders.map(|o| o.refunded)),
            ("returned_units", t.returned, orders.map(|o| o.returned_units)),
        ]
        .map(|(key, label, value)| CounterRow::new(key, label, value, all))
        .into()
    }

    fn sources(&self) -> impl Iterator<Item = SampleSource> {
        let (t, s) = (self.text(), &self.sample);
        let always = [
            source("gate", t.source_gate, &s.gate),
            source("requests", t.source_requests, &s.requests),
            source("sale", t.source_database, &s.sale),
            source("orders", t.source_orders, &s.orders),
        ];
        let redis = s.stock.as_ref().map(|part| source("keeper", t.source_redis, part));
        always.into_iter().chain(redis).chain(s.queue.as_ref().map(|part| source("queue", t.source_rabbit, part)))
    }

    /// How far Redis and the database agree: a sentence, and a class of the style sheet.
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
            Drift::Apart { units } if lasted < DRIFT_AFTER_MS => (fill(t.drift_settling, units), "calm"),
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

    /// The titles of the plots by their names in the script.
    fn plots(&self) -> Vec<(&'static str, &'static str)> {
        let t = self.text();
        let all = [
            ("requests", t.plot_requests),
            ("refusals", t.plot_refusals),
            ("latency", t.plot_latency),
            ("queues", t.plot_queues),
            ("persisted", t.plot_persisted),
            ("calls", t.plot_calls),
        ];
        let is_here = |name: &str| match name {
            "queues" => self.has_services(),
            "calls" => self.waiting_room.is_some(),
            _ => true,
        };
        all.into_iter().filter(|(name, _)| is_here(name)).collect()
    }
}
