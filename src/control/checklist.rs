//! What should be looked at before a sale begins: everything that was entered about it, and everything that will carry it.
//!
//! Evidence is gathered first, then judged by pure functions. Nothing here forbids anything: an administrator may have
//! reasons.

use serde::{Serialize, Serializer};

use super::LEASE;
use super::desk::Desk;
use crate::domain::{Goods, Locale, Sale, SaleState};
use crate::stock::probe::Reading;
use crate::store::StoreError;

/// Entries of the outbox below which orders are simply on their way.
const OUTBOX_BUSY: i64 = 1000;
/// Clocks that differ more open the sale at an odd moment, in milliseconds.
const CLOCK_ODD_MS: i64 = 500;
const CLOCK_WRONG_MS: i64 = 2000;
/// A sale that so many users could empty is hardly one for a crowd.
const FEW_USERS: i64 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    Ok,
    Warning,
    NotOk,
}

impl CheckState {
    pub fn as_str(self) -> &'static str {
        match self {
            CheckState::Ok => "ok",
            CheckState::Warning => "warning",
            CheckState::NotOk => "not_ok",
        }
    }
}

/// One line of the list. On the wire: what was checked, the verdict, a stable code, and a number or name that belongs
/// to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub check: &'static str,
    pub state: CheckState,
    #[serde(rename = "code")]
    pub finding: Finding,
    pub value: Option<String>,
}

macro_rules! findings {
    ($($variant:ident $check:literal $state:ident $code:literal;)*) => {
        /// What was found.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Finding { $($variant,)* }

        impl Finding {
            pub const ALL: &[Finding] = &[$(Finding::$variant,)*];

            /// The stable code.
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

impl From<Finding> for Check {
    fn from(finding: Finding) -> Self {
        Check { check: finding.check(), state: finding.state(), finding, value: None }
    }
}

impl Finding {
    fn with(self, value: impl ToString) -> Check {
        Check { value: Some(value.to_string()), ..self.into() }
    }
}

/// What carries the sale, as far as it could be seen.
#[derive(Debug, Clone, Default)]
struct Surroundings {
    /// Whether the sale's page lies in the folder as it should, in both languages.
    page: bool,
    /// `None` where no Redis is configured.
    redis: Option<Reading>,
    unwell: Vec<&'static str>,
    /// Entries in all outboxes; `None` without Redis or while it is away.
    outbox: Option<i64>,
    control: bool,
    /// Consumers of the orders; the outer `None` without RabbitMQ, the inner while it is away.
    consumers: Option<Option<u32>>,
}

impl Desk {
    /// Everything that should be looked at before the sale begins, worst things not first but each in its place.
    pub async fn checklist(&self, sale: &Sale) -> Result<Vec<Check>, StoreError> {
        let goods = self.store.goods(sale.goods_id).await?;
        let now = self.clock.now();
        let around = self.surroundings(sale).await?;
        let mut checks = entered(sale, goods.as_ref(), now);
        checks.extend(carried(sale, &around));
        Ok(checks)
    }

    async fn surroundings(&self, sale: &Sale) -> Result<Surroundings, StoreError> {
        let redis = futures::future::OptionFuture::from(self.probe.as_ref().map(|probe| probe.look(sale.id)));
        let outbox = async { self.ledger.as_ref()?.survey().await.ok() };
        let depths = futures::future::OptionFuture::from(self.monitor.as_ref().map(|monitor| monitor.depths()));
        let (redis, outbox, depths, report, page) =
            tokio::join!(redis, outbox, depths, self.health.report(), self.page_is_current(sale));
        Ok(Surroundings {
            page,
            redis,
            unwell: report.iter().filter(|part| part.problem.is_some()).map(|part| part.name).collect(),
            outbox: outbox.map(|loaded| loaded.values().map(|l| l.outbox).sum()),
            control: self.store.is_leased(LEASE, self.clock.now()).await?,
            consumers: depths.map(|depths| depths.ok().map(|depths| depths.consumers)),
        })
    }

    /// Pages are rendered from this process's copy of the catalogue: that has to know the sale as it is.
    async fn page_is_current(&self, sale: &Sale) -> bool {
        if self.catalogue.known(sale.id).is_none_or(|entry| entry.sale.version != sale.version) {
            return false;
        }
        let (pages, id) = (self.pages.clone(), sale.id);
        let look = move || Locale::ALL.iter().all(|locale| pages.is_on_disk(&format!("/{locale}/sales/{id}")));
        tokio::task::spawn_blocking(look).await.unwrap_or(false)
    }
}

/// Judges what was entered.
fn entered(sale: &Sale, goods: Option<&Goods>, now: jiff::Timestamp) -> Vec<Check> {
    let given = |text: &str| !text.trim().is_empty();
    let text = match goods {
        None => Finding::GoodsGone,
        Some(goods) => {
            let texts = [&goods.name.zh, &goods.name.en, &goods.description.zh, &goods.description.en];
            if texts.into_iter().all(|text| given(text)) { Finding::TextGiven } else { Finding::TextMissing }
        }
    };
    let pictured = goods.is_some_and(|goods| given(&goods.image));
    let picture = if pictured { Finding::PictureGiven } else { Finding::PictureMissing };
    let price = match sale.list_price {
        _ if sale.price.amount == 0 => Finding::PriceZero,
        None => Finding::PriceAlone,
        Some(list) if sale.price.amount >= list.amount => Finding::PriceNotLower,
        Some(_) => Finding::PriceGood,
    };
    let wide = sale.total > FEW_USERS && sale.per_user_limit.saturating_mul(FEW_USERS) >= sale.total;
    let limits = if wide { Finding::LimitsWide } else { Finding::LimitsGood };
    vec![text.into(), picture.into(), price.into(), limits.into(), window(sale, now).into()]
}

fn window(sale: &Sale, now: jiff::Timestamp) -> Finding {
    let passed = |at: Option<jiff::Timestamp>| at.is_some_and(|at| at <= now);
    match (sale.window.opens_at, sale.window.closes_at) {
        (_, closes) if passed(closes) => Finding::WindowPast,
        _ if !sale.state.is_planned() => Finding::WindowBegun,
        (opens, _) if passed(opens) => Finding::WindowPast,
        _ if sale.state == SaleState::Draft => Finding::WindowDraft,
        (None, _) => Finding::WindowByHand,
        (Some(_), None) => Finding::WindowEndless,
        (Some(_), Some(_)) => Finding::WindowGood,
    }
}

/// Judges what carries the sale.
fn carried(sale: &Sale, around: &Surroundings) -> Vec<Check> {
    let page = match around.page {
        _ if sale.state == SaleState::Draft => Finding::PageDraft,
        true => Finding::PageCurrent,
        false => Finding::PageOld,
    };
    let mut checks = vec![page.into()];
    checks.push(match &around.redis {
        None => Finding::StockNotNeeded.into(),
        Some(reading) => stock(sale, reading).into(),
    });
    if let Some(reading) = &around.redis {
        checks.push(replica(reading));
        checks.push(clock(reading));
    }
    checks.push(match around.unwell.as_slice() {
        [] => Finding::ServicesWell.into(),
        names => Finding::ServicesAway.with(names.join(", ")),
    });
    if let Some(entries) = around.outbox {
        let finding = if entries < OUTBOX_BUSY { Finding::OutboxQuiet } else { Finding::OutboxBusy };
        checks.push(finding.with(entries));
    }
    checks.push(if around.control { Finding::ControlWorks } else { Finding::ControlMissing }.into());
    match around.consumers {
        None => {}
        Some(Some(count)) if count > 0 => checks.push(Finding::ConsumerPresent.with(count)),
        Some(_) => checks.push(Finding::ConsumerMissing.into()),
    }
    checks
}

fn stock(sale: &Sale, reading: &Reading) -> Finding {
    match reading.master {
        None => Finding::StockUnknown,
        Some(None) => Finding::StockNotLoaded,
        Some(Some(loaded)) if loaded.version < sale.version => Finding::StockBehind,
        Some(Some(_)) => Finding::StockLoaded,
    }
}

/// Replicas against the master, since both may be behind the database for a moment.
fn replica(reading: &Reading) -> Check {
    let master = reading.master.flatten().map(|loaded| loaded.version);
    let behind = reading.replicas.iter().filter(|replica| **replica != Some(master)).count();
    match (reading.replicas.len(), behind) {
        (0, _) => Finding::ReplicaNone.into(),
        (all, 0) => Finding::ReplicaInStep.with(all),
        (_, behind) => Finding::ReplicaBehind.with(behind),
    }
}

fn clock(reading: &Reading) -> Check {
    match reading.clock_ahead_ms {
        Some(ahead) if ahead.abs() >= CLOCK_WRONG_MS => Finding::ClockWrong.with(ahead),
        Some(ahead) if ahead.abs() >= CLOCK_ODD_MS => Finding::ClockOdd.with(ahead),
        Some(ahead) => Finding::ClockTrue.with(ahead),
        None => Finding::ClockOdd.with("?"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Bilingual, Currency, GoodsId, Money, SaleId, Window};
    use crate::stock::load::Loaded;

    fn at(second: i64) -> jiff::Timestamp {
        jiff::Timestamp::from_second(second).unwrap()
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
            state: SaleState::Scheduled,
            version: 3,
            epoch: 1,
        }
    }

    fn goods() -> Goods {
        let text = Bilingual::new("手机", "Phone");
        Goods {
            id: GoodsId(1),
            name: text.clone(),
            description: text,
            image: "phone.svg".into(),
            updated_at: at(0),
        }
    }

    fn reading(version: i64, replica: i64, ahead: i64) -> Reading {
        Reading {
            master: Some(Some(Loaded { epoch: 1, version, booked: 0, outbox: 0 })),
            replicas: vec![Some(Some(replica))],
            clock_ahead_ms: Some(ahead),
        }
    }

    fn bad(checks: &[Check]) -> Vec<&'static str> {
        checks.iter().filter(|c| c.state != CheckState::Ok).map(|c| c.finding.as_str()).collect()
    }

    #[test]
    fn what_was_entered_is_judged() {
        assert_eq!(bad(&entered(&sale(), Some(&goods()), at(50))), [""; 0]);
        let mut poor = goods();
        (poor.image, poor.description.en) = (String::new(), " ".into());
        let dear = Sale { price: Money::new(9, Currency::CNY), per_user_limit: 50, ..sale() };
        assert_eq!(
            bad(&entered(&dear, Some(&poor), at(150))),
            ["text_missing", "picture_missing", "price_not_lower", "limits_wide", "window_past"]
        );
        assert_eq!(bad(&entered(&sale(), None, at(50)))[0], "goods_gone");
    }

    #[test]
    fn windows_are_judged_by_state_and_time() {
        let judged = |opens: Option<i64>, closes: Option<i64>, state| {
            let window = Window { opens_at: opens.map(at), closes_at: closes.map(at) };
            super::window(&Sale { window, state, ..sale() }, at(50)).as_str()
        };
        assert_eq!(judged(Some(100), Some(200), SaleState::Scheduled), "window_good");
        assert_eq!(judged(Some(100), None, SaleState::Scheduled), "window_endless");
        assert_eq!(judged(None, None, SaleState::Scheduled), "window_by_hand");
        assert_eq!(judged(Some(100), None, SaleState::Draft), "window_draft");
        assert_eq!(judged(Some(50), None, SaleState::Draft), "window_past");
        assert_eq!(judged(Some(10), Some(90), SaleState::Live), "window_begun");
        assert_eq!(judged(Some(10), Some(50), SaleState::Live), "window_past");
    }

    #[test]
    fn what_carries_the_sale_is_judged() {
        let well = Surroundings {
            page: true,
            redis: Some(reading(3, 3, 4)),
            control: true,
            outbox: Some(3),
            consumers: Some(Some(2)),
            ..Surroundings::default()
        };
        assert_eq!(bad(&carried(&sale(), &well)), [""; 0]);
        let ill = Surroundings {
            redis: Some(reading(2, 1, -600)),
            unwell: vec!["rabbitmq"],
            outbox: Some(5000),
            consumers: Some(None),
            ..Surroundings::default()
        };
        assert_eq!(
            bad(&carried(&sale(), &ill)),
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
        let lost = Reading { master: Some(None), replicas: vec![None], clock_ahead_ms: None };
        let checks = carried(&sale(), &Surroundings { redis: Some(lost), ..Surroundings::default() });
        assert!(bad(&checks).contains(&"stock_not_loaded"));
        let away = Surroundings { redis: Some(Reading::default()), ..Surroundings::default() };
        assert!(bad(&carried(&sale(), &away)).contains(&"stock_unknown"));
        let small = carried(&sale(), &Surroundings { page: true, control: true, ..Surroundings::default() });
        assert_eq!(bad(&small), [""; 0], "the lowest rung needs neither Redis nor RabbitMQ");
        assert_eq!(small.len(), 4);
    }
}
