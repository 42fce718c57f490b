//! The checklist before a sale begins: what was entered about it, and the services and processes that it depends on.
//!
//! The environment is read first, then evaluated by pure functions. A finding never blocks an administrator.

mod evaluate;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::LEASE;
use crate::sales_admin::SalesAdmin;
use domain::wire::wire_enum;
use domain::{Locale, Sale};
use engine::stock::probe::ProbeReport;
use store::StoreError;

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

impl SalesAdmin {
    /// Evaluates every check, in a fixed order.
    pub async fn checklist(&self, sale: &Sale) -> Result<Vec<ChecklistItem>, StoreError> {
        let goods = self.store.goods().get(sale.goods_id).await?;
        let now = self.clock.now();
        let environment = self.environment(sale).await?;
        let mut checks = evaluate::evaluate_sale(sale, goods.as_ref(), now);
        checks.extend(evaluate::evaluate_environment(sale, &environment));
        Ok(checks)
    }

    async fn environment(&self, sale: &Sale) -> Result<Environment, StoreError> {
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
