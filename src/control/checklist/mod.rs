//! The checklist before a sale begins: what was entered about it, and the services and processes that it depends on.
//!
//! The environment is read first, then evaluated by pure functions. A finding never blocks an administrator.

use boxed::boxed;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::LEASE;
use crate::sales_admin::SalesAdmin;
use domain::spread::{LONG_SPREAD_MS, fair_accounts};
use domain::wire::wire_enum;
use domain::{Goods, Locale, Sale, SaleState};
use engine::stock::heartbeat::ProbeReport;
use store::StoreResult;

wire_enum! {
    /// The verdict on one check.
    pub enum CheckState {
        Ok = "ok",
        Warning = "warning",
        NotOk = "not_ok",
    }
}

/// One item of the list. As JSON: what was checked, the verdict, a stable code, and a number or name that belongs to
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChecklistItem {
    pub check: &'static str,
    pub state: CheckState,
    #[serde(rename = "code")]
    #[schemars(with = "String")]
    pub finding: Finding,
    pub value: Option<String>,
}

macro_rules! findings {
    ($($variant:ident $check:literal $state:ident $code:literal;)*) => {
        /// The result of a check.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Finding { $($variant,)* }

        impl Finding {
            pub const ALL: &[Finding] = &[$(Finding::$variant,)*];

            /// The stable code that clients see.
            pub fn as_str(self) -> &'static str {
                match self { $(Finding::$variant => $code,)* }
            }

            pub fn check(self) -> &'static str {
                match self { $(Finding::$variant => $check,)* }
            }

            pub fn state(self) -> CheckState {
                match self { $(Finding::$variant => CheckState::$state,)* }
            }
        }
    };
}

findings! {
    TextGiven "goods_text" Ok "text_given";
    TextMissing "goods_text" Warning "text_missing";
    GoodsGone "goods_text" NotOk "goods_gone";
    PictureGiven "picture" Ok "picture_given";
    PictureMissing "picture" Warning "picture_missing";
    PriceGood "price" Ok "price_good";
    PriceAlone "price" Ok "price_alone";
    PriceNotLower "price" Warning "price_not_lower";
    PriceZero "price" Warning "price_zero";
    LimitsGood "limits" Ok "limits_good";
    LimitsWide "limits" Warning "limits_wide";
    SpreadOff "spread" Ok "spread_off";
    SpreadFair "spread" Ok "spread_fair";
    SpreadLong "spread" Warning "spread_long";
    WindowGood "window" Ok "window_good";
    WindowBegun "window" Ok "window_begun";
    WindowEndless "window" Warning "window_endless";
    WindowByHand "window" Warning "window_by_hand";
    WindowPast "window" NotOk "window_past";
    WindowDraft "window" Warning "window_draft";
    PageCurrent "page" Ok "page_current";
    PageOld "page" NotOk "page_old";
    PageDraft "page" Warning "page_draft";
    StockNotNeeded "stock" Ok "stock_not_needed";
    StockLoaded "stock" Ok "stock_loaded";
    StockBehind "stock" Warning "stock_behind";
    StockNotLoaded "stock" NotOk "stock_not_loaded";
    StockUnknown "stock" NotOk "stock_unknown";
    ReplicaNone "replica" Ok "replica_none";
    ReplicaInStep "replica" Ok "replica_in_step";
    ReplicaBehind "replica" Warning "replica_behind";
    ServicesWell "services" Ok "services_well";
    ServicesAway "services" NotOk "services_away";
    OutboxQuiet "outbox" Ok "outbox_quiet";
    OutboxBusy "outbox" Warning "outbox_busy";
    ControlWorks "control" Ok "control_works";
    ControlMissing "control" NotOk "control_missing";
    ConsumerPresent "consumer" Ok "consumer_present";
    ConsumerMissing "consumer" NotOk "consumer_missing";
    ClockTrue "clock" Ok "clock_true";
    ClockOdd "clock" Warning "clock_odd";
    ClockWrong "clock" NotOk "clock_wrong";
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl From<Finding> for ChecklistItem {
    fn from(finding: Finding) -> Self {
        ChecklistItem { check: finding.check(), state: finding.state(), finding, value: None }
    }
}

impl Finding {
    fn with(self, value: impl ToString) -> ChecklistItem {
        ChecklistItem { value: Some(value.to_string()), ..self.into() }
    }
}

/// The services and processes that the sale depends on, as far as they could be read.
#[derive(Debug, Clone, Default)]
struct Environment {
    /// Whether the rendered page of the sale is current in every language.
    page: bool,
    /// `None` where no Redis is configured.
    redis: Option<ProbeReport>,
    /// Services that report a problem.
    unavailable: Vec<&'static str>,
    /// Entries in all outboxes; `None` without Redis or while it does not answer.
    outbox: Option<i64>,
    /// Whether a process holds the lease of data control.
    control: bool,
    /// Consumers of the queue; the outer `None` without RabbitMQ, the inner while it does not answer.
    consumers: Option<Option<u32>>,
}

#[boxed]
impl SalesAdmin {
    /// Evaluates every check, in a fixed order.
    pub async fn checklist(&self, sale: &Sale) -> StoreResult<Vec<ChecklistItem>> {
        let goods = self.store.goods().get(sale.goods_id).await?;
        let now = self.clock.now();
        let environment = self.environment(sale).await?;
        let mut checks = evaluate_sale(sale, goods.as_ref(), now);
        checks.extend(evaluate_environment(sale, &environment));
        Ok(checks)
    }

    async fn environment(&self, sale: &Sale) -> StoreResult<Environment> {
        // A draw has no stock in Redis.
        let probe = self.probe.as_ref().filter(|_| !sale.mode.is_draw());
        let redis = futures::future::OptionFuture::from(probe.map(|probe| probe.read(sale)));
        let outbox = async { self.stock_sync.as_ref()?.survey().await.ok() };
        let depths = futures::future::OptionFuture::from(self.monitor.as_ref().map(|monitor| monitor.depths()));
        let (redis, outbox, depths, report, page) =
            tokio::join!(redis, outbox, depths, self.health.report(), self.page_is_current(sale));
        Ok(Environment {
            page,
            redis,
            unavailable: report.iter().filter(|part| part.problem.is_some()).map(|part| part.name).collect(),
            outbox: outbox.map(|loaded| loaded.values().map(|l| l.outbox).sum()),
            control: self.store.leases().is_held(LEASE).await?,
            consumers: depths.map(|depths| depths.ok().map(|depths| depths.consumers)),
        })
    }

    /// Pages are rendered from this process's copy of the catalogue, so the copy must have the sale's current version.
    async fn page_is_current(&self, sale: &Sale) -> bool {
        if self.catalogue.known(sale.id).is_none_or(|entry| entry.sale.version != sale.version) {
            return false;
        }
        let pages = self.pages.clone();
        let mut paths = Locale::ALL.map(|locale| format!("/{locale}/sales/{}", sale.id)).into_iter();
        tokio::task::spawn_blocking(move || paths.all(|path| pages.is_on_disk(&path))).await.unwrap_or(false)
    }
}

// Pure functions from a sale and its environment to findings.

/// With this many outbox entries the pipeline counts as busy.
const MIN_BUSY_OUTBOX: i64 = 1000;
/// Differences from the clock by which the sale opens, the master's: from the first on it is a warning, from the second
/// a failure.
const MIN_ODD_CLOCK_MS: i64 = 500;
const MIN_WRONG_CLOCK_MS: i64 = 2000;
/// A per-user limit that lets this many users buy everything is probably a mistake.
const FEW_USERS: i64 = 3;

/// Evaluates what was entered about the sale.
fn evaluate_sale(sale: &Sale, goods: Option<&Goods>, now: Timestamp) -> Vec<ChecklistItem> {
    let text = match goods {
        None => Finding::GoodsGone,
        Some(goods) => {
            let texts = [&goods.name.zh, &goods.name.en, &goods.description.zh, &goods.description.en];
            let missing = texts.into_iter().any(|text| text.trim().is_empty());
            if missing { Finding::TextMissing } else { Finding::TextGiven }
        }
    };
    let pictured = goods.is_some_and(|goods| !goods.pictures.is_empty());
    let picture = if pictured { Finding::PictureGiven } else { Finding::PictureMissing };
    let price = match sale.list_price {
        _ if sale.price.amount == 0 => Finding::PriceZero,
        None => Finding::PriceAlone,
        Some(list) if sale.price.amount >= list.amount => Finding::PriceNotLower,
        Some(_) => Finding::PriceGood,
    };
    let wide = sale.total > FEW_USERS && sale.per_user_limit.saturating_mul(FEW_USERS) >= sale.total;
    let limits = if wide { Finding::LimitsWide } else { Finding::LimitsGood };
    vec![text.into(), picture.into(), price.into(), limits.into(), spread(sale), window(sale, now).into()]
}

/// Whether scripts gain from being fast, and up to how many accounts the spread prevents that.
fn spread(sale: &Sale) -> ChecklistItem {
    let width_ms = sale.rush.spread_ms;
    if !sale.rush.enforces_spread() {
        return Finding::SpreadOff.into();
    }
    let finding = if width_ms > LONG_SPREAD_MS { Finding::SpreadLong } else { Finding::SpreadFair };
    finding.with(fair_accounts(width_ms, sale.total))
}

fn window(sale: &Sale, now: Timestamp) -> Finding {
    match (sale.window.opens_at, sale.window.closes_at) {
        (_, Some(closes)) if closes <= now => Finding::WindowPast,
        _ if !sale.state.is_planned() => Finding::WindowBegun,
        (Some(opens), _) if opens <= now => Finding::WindowPast,
        _ if sale.state == SaleState::Draft => Finding::WindowDraft,
        (None, _) => Finding::WindowByHand,
        (Some(_), None) => Finding::WindowEndless,
        (Some(_), Some(_)) => Finding::WindowGood,
    }
}

/// Evaluates the services and processes that the sale depends on.
fn evaluate_environment(sale: &Sale, environment: &Environment) -> Vec<ChecklistItem> {
    let page = match environment.page {
        _ if sale.state == SaleState::Draft => Finding::PageDraft,
        true => Finding::PageCurrent,
        false => Finding::PageOld,
    };
    let mut checks = vec![page.into()];
    checks.push(match &environment.redis {
        None => Finding::StockNotNeeded.into(),
        Some(reading) => stock(sale, reading).into(),
    });
    if let Some(reading) = &environment.redis {
        checks.push(replica(reading));
        checks.push(clock(reading));
    }
    checks.push(match environment.unavailable.as_slice() {
        [] => Finding::ServicesWell.into(),
        names => Finding::ServicesAway.with(names.join(", ")),
    });
    if let Some(entries) = environment.outbox {
        let finding = if entries < MIN_BUSY_OUTBOX { Finding::OutboxQuiet } else { Finding::OutboxBusy };
        checks.push(finding.with(entries));
    }
    checks.push(if environment.control { Finding::ControlWorks } else { Finding::ControlMissing }.into());
    match environment.consumers {
        None => {}
        Some(Some(count)) if count > 0 => checks.push(Finding::ConsumerPresent.with(count)),
        Some(_) => checks.push(Finding::ConsumerMissing.into()),
    }
    checks
}

fn stock(sale: &Sale, reading: &ProbeReport) -> Finding {
    match reading.master {
        None => Finding::StockUnknown,
        Some(None) => Finding::StockNotLoaded,
        Some(Some(loaded)) if loaded.version < sale.version => Finding::StockBehind,
        Some(Some(_)) => Finding::StockLoaded,
    }
}

/// Compares replicas with the master, as both may lag behind the database for a moment.
fn replica(reading: &ProbeReport) -> ChecklistItem {
    let master = reading.master.flatten().map(|loaded| loaded.version);
    let behind = reading.replicas.iter().filter(|replica| **replica != Some(master)).count();
    match (reading.replicas.len(), behind) {
        (0, _) => Finding::ReplicaNone.into(),
        (all, 0) => Finding::ReplicaInStep.with(all),
        (_, behind) => Finding::ReplicaBehind.with(behind),
    }
}

fn clock(reading: &ProbeReport) -> ChecklistItem {
    match reading.clock_ahead_ms {
        Some(ahead) if ahead.abs() >= MIN_WRONG_CLOCK_MS => Finding::ClockWrong.with(ahead),
        Some(ahead) if ahead.abs() >= MIN_ODD_CLOCK_MS => Finding::ClockOdd.with(ahead),
        Some(ahead) => Finding::ClockTrue.with(ahead),
        None => Finding::ClockOdd.with("?"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checklist::CheckState;
    use domain::{Bilingual, Currency, GoodsId, Money, Rush, SaleId, SaleMode, Window};
    use engine::redis::replay::{Generation, LoadedGeneration};
    use engine::stock::load::StockCounters;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn sale() -> Sale {
        Sale {
            id: SaleId(7),
            goods_id: GoodsId(1),
            price: Money::new(5, Currency::CNY),
            list_price: Some(Money::new(9, Currency::CNY)),
            total: 100,
            sold: 0,
            granted: 0,
            per_user_limit: 1,
            window: Window { opens_at: Some(at(100)), closes_at: Some(at(200)) },
            rush: Rush::default(),
            mode: SaleMode::Rush,
            state: SaleState::Scheduled,
            version: 3,
            epoch: 1,
            shadow: false,
            eligibility: Default::default(),
            spread_seed: None,
        }
    }

    fn goods() -> Goods {
        let text = Bilingual::new("手机", "Phone");
        Goods {
            id: GoodsId(1),
            name: text.clone(),
            description: text,
            category_id: None,
            variant_of: None,
            variant: Bilingual::new("", ""),
            pictures: vec![domain::Picture::drawing("phone-640.webp")],
            updated_at: at(0),
            archived_at: None,
        }
    }

    fn counters(version: i64) -> StockCounters {
        let server = "0".repeat(40).parse().unwrap();
        let generation = LoadedGeneration { present: Generation { epoch: 1, server }, open: true };
        StockCounters { generation, version, state: SaleState::Scheduled, booked: 0, share: 100, outbox: 0 }
    }

    fn reading(version: i64, replica: i64, ahead: i64) -> ProbeReport {
        ProbeReport {
            master: Some(Some(counters(version))),
            replicas: vec![Some(Some(replica))],
            clock_ahead_ms: Some(ahead),
        }
    }

    fn problems(checks: &[ChecklistItem]) -> Vec<&'static str> {
        checks.iter().filter(|c| c.state != CheckState::Ok).map(|c| c.finding.as_str()).collect()
    }

    #[test]
    fn mistakes_in_a_sale_are_found() {
        assert_eq!(problems(&evaluate_sale(&sale(), Some(&goods()), at(50))), [""; 0]);
        let mut incomplete = goods();
        incomplete.pictures.clear();
        incomplete.description.en = " ".into();
        let mispriced = Sale { price: Money::new(9, Currency::CNY), per_user_limit: 50, ..sale() };
        assert_eq!(
            problems(&evaluate_sale(&mispriced, Some(&incomplete), at(150))),
            ["text_missing", "picture_missing", "price_not_lower", "limits_wide", "window_past"]
        );
        assert_eq!(problems(&evaluate_sale(&sale(), None, at(50)))[0], "goods_gone");
    }

    #[test]
    fn spread_says_for_how_many_accounts_it_is_long_enough() {
        let found = |spread_ms: i64| {
            let item = super::spread(&Sale { rush: Rush { spread_ms, ..Rush::default() }, ..sale() });
            (item.finding.as_str(), item.value)
        };
        assert_eq!(found(600), ("spread_off", None));
        assert_eq!(found(60_000), ("spread_fair", Some("2000".into())));
        assert_eq!(found(600_000), ("spread_long", Some("20000".into())));
    }

    #[test]
    fn window_is_evaluated_by_state_and_time() {
        let finding = |opens: Option<i64>, closes: Option<i64>, state| {
            let window = Window { opens_at: opens.map(at), closes_at: closes.map(at) };
            super::window(&Sale { window, state, ..sale() }, at(50)).as_str()
        };
        assert_eq!(finding(Some(100), Some(200), SaleState::Scheduled), "window_good");
        assert_eq!(finding(Some(100), None, SaleState::Scheduled), "window_endless");
        assert_eq!(finding(None, None, SaleState::Scheduled), "window_by_hand");
        assert_eq!(finding(Some(100), None, SaleState::Draft), "window_draft");
        assert_eq!(finding(Some(50), None, SaleState::Draft), "window_past");
        assert_eq!(finding(Some(10), Some(90), SaleState::Live), "window_begun");
        assert_eq!(finding(Some(10), Some(50), SaleState::Live), "window_past");
    }

    #[test]
    fn problems_of_the_environment_are_found() {
        let healthy = Environment {
            page: true,
            redis: Some(reading(3, 3, 4)),
            control: true,
            outbox: Some(3),
            consumers: Some(Some(2)),
            ..Environment::default()
        };
        assert_eq!(problems(&evaluate_environment(&sale(), &healthy)), [""; 0]);
        let broken = Environment {
            redis: Some(reading(2, 1, -600)),
            unavailable: vec!["rabbitmq"],
            outbox: Some(5000),
            consumers: Some(None),
            ..Environment::default()
        };
        assert_eq!(
            problems(&evaluate_environment(&sale(), &broken)),
            [
                "page_old",
                "stock_behind",
                "replica_behind",
                "clock_odd",
                "services_away",
                "outbox_busy",
                "control_missing",
                "consumer_missing"
            ]
        );
        let lost = ProbeReport { master: Some(None), replicas: vec![None], clock_ahead_ms: None };
        let checks = evaluate_environment(&sale(), &Environment { redis: Some(lost), ..Environment::default() });
        assert!(problems(&checks).contains(&"stock_not_loaded"));
        let unreachable = Environment { redis: Some(ProbeReport::default()), ..Environment::default() };
        assert!(problems(&evaluate_environment(&sale(), &unreachable)).contains(&"stock_unknown"));
        let without_services =
            evaluate_environment(&sale(), &Environment { page: true, control: true, ..Environment::default() });
        assert_eq!(problems(&without_services), [""; 0], "the lowest rung needs neither Redis nor RabbitMQ");
        assert_eq!(without_services.len(), 4);
    }
}
