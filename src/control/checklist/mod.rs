//! What should be looked at before a sale begins: everything that was entered about it, and everything that will carry it.
//!
//! Evidence is gathered first, then judged by pure functions. Nothing here forbids anything: an administrator may have
//! reasons.

mod judge;

use serde::{Serialize, Serializer};

use super::LEASE;
use crate::control::sales_admin::SalesAdmin;
use crate::domain::{Locale, Sale};
use crate::stock::probe::Reading;
use crate::store::StoreError;

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

impl SalesAdmin {
    /// Everything that should be looked at before the sale begins, worst things not first but each in its place.
    pub async fn checklist(&self, sale: &Sale) -> Result<Vec<Check>, StoreError> {
        let goods = self.store.goods(sale.goods_id).await?;
        let now = self.clock.now();
        let around = self.surroundings(sale).await?;
        let mut checks = judge::entered(sale, goods.as_ref(), now);
        checks.extend(judge::carried(sale, &around));
        Ok(checks)
    }

    async fn surroundings(&self, sale: &Sale) -> Result<Surroundings, StoreError> {
        let redis = futures::future::OptionFuture::from(self.probe.as_ref().map(|probe| probe.look(sale)));
        let outbox = async { self.stock_sync.as_ref()?.survey().await.ok() };
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
