//! What administrators do with goods, their categories and sales. A change is written to the database first, with an
//! entry in the audit log, and then passed on to the stock backend, the catalogue and the gate.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::Instant;
use tracing::warn;

use crate::stock_sync::StockSync;
use crate::today::Revenue;
use base::clock::Clock;
use domain::sale::SaleMove;
use domain::{Bilingual, Category, CategoryId, GalleryChange, Goods, GoodsId, OrderStatus, Page, Sale, SaleId};
use engine::catalogue::Catalogue;
use engine::gate::{Gate, SaleStatus};
use engine::health::Health;
use engine::pipeline::rabbit::Monitor;
use engine::stock::heartbeat::RedisProbe;
use engine::stock::{DefineOutcome, Stock};
use pages::Publisher;
use store::{
    CategoryDraft, CategoryRefusal, GoodsDraft, GoodsRefusal, OverlapPolicy, PastPage, PreviewFacts, Redefinition,
    RequestId, SaleChange, SaleDraft, SaleRefusal, SaveOptions, Store, StoreResult, WaitingCounts, preview_deletion,
};

/// How long a request waits for the stock backend to take a change. After that, stock sync passes it on.
const STOCK_TIMEOUT: Duration = Duration::from_secs(3);
const STOCK_RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// A change that an administrator makes to a sale.
#[derive(Debug, Clone)]
pub enum SaleCommand {
    /// Opens the sale now, whatever its opening time.
    Start,
    Pause,
    Resume,
    Stop,
    /// Adds units, or takes unsold ones back. Retries of the same request add them once.
    TopUp(i64, Option<RequestId>),
    /// Replaces the number of units, if the sale has one of these versions.
    SetTotal(i64, Option<Vec<i64>>),
    /// Announces a draft.
    Schedule(OverlapPolicy),
    /// Makes an announced sale a draft again.
    Unschedule,
    Edit(Box<Redefinition>, SaveOptions),
}

impl SaleCommand {
    /// The change that the command makes to the sale's row at `now`.
    pub(super) fn at(self, now: Timestamp) -> SaleChange {
        match self {
            SaleCommand::Start => SaleChange::Start { at: now },
            SaleCommand::Pause => SaleChange::Move(SaleMove::Pause),
            SaleCommand::Resume => SaleChange::Move(SaleMove::Resume),
            SaleCommand::Stop => SaleChange::Move(SaleMove::Stop),
            SaleCommand::TopUp(units, request) => SaleChange::TopUp { units, request },
            SaleCommand::SetTotal(total, versions) => SaleChange::SetTotal { total, versions },
            SaleCommand::Schedule(overlap) => SaleChange::Schedule(overlap),
            SaleCommand::Unschedule => SaleChange::Move(SaleMove::Unschedule),
            SaleCommand::Edit(definition, options) => SaleChange::Edit(definition, options),
        }
    }
}

/// Until when a request that begins now waits for the stock backend.
pub fn stock_deadline() -> Instant {
    Instant::now() + STOCK_TIMEOUT
}

/// A sale after a change, and how many parts of the stock already have the change.
#[derive(Debug, Clone)]
pub struct ChangedSale {
    pub sale: Sale,
    pub applied: AppliedParts,
}

/// How many parts of the stock (the buckets of a split sale) have a change. The others get it from stock sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AppliedParts {
    /// The buckets of the sale; 1 without a split.
    pub parts: usize,
    pub applied: usize,
}

/// One sale with its current numbers.
#[derive(Debug, Clone)]
pub struct SaleRow {
    pub sale: Sale,
    pub goods: Goods,
    /// `None` for drafts.
    pub status: Option<SaleStatus>,
    /// Entries in the outbox; `None` without Redis or while it does not answer.
    pub outbox: Option<i64>,
    pub unpaid: i64,
    pub paid: i64,
    /// The units of paid orders.
    pub paid_units: i64,
}

/// The list of sales, with everything else that their page shows.
#[derive(Debug, Clone)]
pub struct Overview {
    pub sales: Vec<SaleRow>,
    /// Messages waiting in RabbitMQ; `None` without it or while it does not answer.
    pub queue_ready: Option<i64>,
    pub goods: Vec<Goods>,
    /// Entries in the outbox of each loaded sale.
    outboxes: HashMap<SaleId, i64>,
    /// The sale after which the next page starts.
    pub next: Option<SaleId>,
}

/// A page of ended sales, and the mark after which the next page starts.
#[derive(Debug, Clone, Default)]
pub struct PastSales {
    pub sales: Vec<SaleRow>,
    pub next: Option<(i64, SaleId)>,
}

pub struct SalesAdmin {
    pub store: Store,
    pub stock: Arc<dyn Stock>,
    pub catalogue: Arc<Catalogue>,
    pub gate: Arc<Gate>,
    pub stock_sync: Option<Arc<StockSync>>,
    pub monitor: Option<Arc<Monitor>>,
    pub probe: Option<RedisProbe>,
    pub health: Health,
    pub pages: Arc<Publisher>,
    pub clock: Clock,
    pub revenue: Arc<Revenue>,
}

#[boxed]
impl SalesAdmin {
    /// Creates or changes goods. `None` if no goods have that id.
    pub async fn put_goods(
        &self,
        id: Option<GoodsId>,
        draft: GoodsDraft,
        actor: &str,
    ) -> Result<Option<Goods>, GoodsRefusal> {
        self.announced(self.store.goods().put(id, draft, actor, self.clock.now())).await
    }

    /// Changes the gallery of goods. With `versions`, only if the goods are in one of these versions.
    pub async fn change_gallery(
        &self,
        id: GoodsId,
        versions: Option<&[i64]>,
        change: GalleryChange,
        actor: &str,
    ) -> Result<Goods, GoodsRefusal> {
        self.announced(self.store.goods().change_gallery(id, versions, change, actor, self.clock.now())).await
    }

    /// Archives or restores goods. Goods of a running or scheduled sale cannot be archived.
    pub async fn archive_goods(&self, id: GoodsId, archive: bool, actor: &str) -> Result<Goods, GoodsRefusal> {
        self.announced(self.store.goods().archive(id, archive, actor, self.clock.now())).await
    }

    /// Creates or renames a category.
    pub async fn put_category(
        &self,
        id: Option<CategoryId>,
        draft: CategoryDraft,
        actor: &str,
    ) -> Result<Category, CategoryRefusal> {
        self.announced(self.store.categories().put(id, draft, actor, self.clock.now())).await
    }

    /// Puts the categories in this order. `ids` must name each category once.
    pub async fn order_categories(&self, ids: &[CategoryId], actor: &str) -> Result<Vec<Category>, CategoryRefusal> {
        self.announced(self.store.categories().reorder(ids, actor, self.clock.now())).await
    }

    /// Deletes a category. Its goods stay, without a category. With `only_unused`, a category with goods is not
    /// deleted.
    pub async fn delete_category(
        &self,
        id: CategoryId,
        versions: Option<&[i64]>,
        only_unused: bool,
        actor: &str,
    ) -> Result<(), CategoryRefusal> {
        self.announced(self.store.categories().delete(id, versions, only_unused, actor, self.clock.now())).await
    }

    /// Makes a change, and reads the catalogue after it.
    async fn announced<T, E>(&self, change: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let changed = change.await?;
        self.announce().await;
        Ok(changed)
    }

    /// Reads the catalogue after a change. The change is already committed, so a failure here is only logged: every
    /// process reads the catalogue again within moments.
    async fn announce(&self) {
        if let Err(error) = self.catalogue.refresh().await {
            warn!(%error, "the catalogue could not be read after a change; it is read again");
        }
    }

    pub async fn create_sale(&self, draft: SaleDraft, options: &SaveOptions, actor: &str) -> Result<Sale, SaleRefusal> {
        let sale = self.store.sales().create_with(&draft, options, actor, self.clock.now()).await?;
        self.announce_sales().await;
        Ok(sale)
    }

    /// Reads the catalogue and the gate's sales after a change.
    pub async fn announce_sales(&self) {
        self.announce().await;
        self.gate.refresh().await;
    }

    /// Deletes a draft and its keys in Redis.
    pub async fn delete_draft(&self, id: SaleId, actor: &str) -> Result<(), SaleRefusal> {
        self.delete_draft_in_batch(id, actor).await?;
        self.announce_sales().await;
        Ok(())
    }

    /// As [`SalesAdmin::delete_draft`]. [`SalesAdmin::announce_sales`] follows once, after the last change of the
    /// batch.
    pub async fn delete_draft_in_batch(&self, id: SaleId, actor: &str) -> Result<(), SaleRefusal> {
        let deleted = self.store.sales().delete_draft(id, actor, self.clock.now()).await?;
        if let Some(stock_sync) = &self.stock_sync
            && let Err(error) = stock_sync.unload(&deleted).await
        {
            warn!(sale = %id, %error, "cannot unload a deleted draft; its keys stay in Redis");
        }
        Ok(())
    }

    /// Changes a sale in the database, which decides, and usually in the stock backend before this returns.
    pub async fn change(&self, id: SaleId, command: SaleCommand, actor: &str) -> Result<ChangedSale, SaleRefusal> {
        let changed = self.change_in_batch(id, command, actor, stock_deadline()).await?;
        self.announce_sales().await;
        Ok(changed)
    }

    /// As [`SalesAdmin::change`], but waits for the stock backend until `deadline`, which the sales of a batch share.
    /// [`SalesAdmin::announce_sales`] follows once, after the last change of the batch.
    pub async fn change_in_batch(
        &self,
        id: SaleId,
        command: SaleCommand,
        actor: &str,
        deadline: Instant,
    ) -> Result<ChangedSale, SaleRefusal> {
        let now = self.store.now().await?;
        let pending = self.store.sales().begin_change(id, &command.at(now), actor, now).await?;
        // Units are taken where they are sold, before the database has fewer.
        if pending.takes_units() {
            let lowered = self.stock.lower_total(pending.sale()).await;
            if !lowered.map_err(|away| SaleRefusal::StockAway(away.to_string()))? {
                return Err(SaleRefusal::BelowSold);
            }
        }
        let sale = pending.commit().await?;
        let applied = self.apply_to_stock(&sale, deadline).await;
        Ok(ChangedSale { sale, applied })
    }

    /// Retries while a part is not loaded: stock sync loads it within moments. A part that fails is left to stock sync.
    /// A draw has no stock.
    async fn apply_to_stock(&self, sale: &Sale, deadline: Instant) -> AppliedParts {
        if sale.mode.is_draw() {
            return AppliedParts { parts: 0, applied: 0 };
        }
        let defined = loop {
            let defined = self.stock.define(sale).await;
            if defined.is_complete() || defined.failure.is_some() || Instant::now() >= deadline {
                break defined;
            }
            tokio::time::sleep(STOCK_RETRY_INTERVAL).await;
        };
        if !defined.is_complete() {
            let DefineOutcome { parts, applied, not_loaded, failure } = &defined;
            let error = failure.as_ref().map(ToString::to_string);
            warn!(sale = %sale.id, parts, applied, not_loaded, error, "a change has not reached every part of the stock; stock sync passes it on");
        }
        AppliedParts { parts: defined.parts, applied: defined.applied }
    }

    /// One page of all sales, newest first, of sales before `before`.
    pub async fn overview(&self, before: Option<SaleId>, limit: usize) -> StoreResult<Overview> {
        let sales = self.store.sales().sales_before(before, limit as i64 + 1).await?;
        let Page { items, next } = Page::cut(sales, limit, |sale| sale.id);
        Ok(Overview { next, ..self.overview_of(items).await? })
    }

    /// Sales that have not ended, newest first.
    pub async fn current(&self) -> StoreResult<Overview> {
        self.overview_of(self.store.sales().current_sales().await?).await
    }

    async fn overview_of(&self, sales: Vec<Sale>) -> StoreResult<Overview> {
        let goods = self.store.goods().list().await?;
        let outboxes = match &self.stock_sync {
            Some(stock_sync) => stock_sync.survey().await.unwrap_or_default(),
            None => HashMap::new(),
        };
        let outboxes = outboxes.into_iter().map(|(sale, loaded)| (sale, loaded.outbox)).collect();
        let sales = self.rows(sales, &goods, &outboxes).await?;
        let queue_ready = match &self.monitor {
            Some(monitor) => monitor.depths().await.ok().map(|depths| depths.ready.into()),
            None => None,
        };
        Ok(Overview { sales, queue_ready, goods, outboxes, next: None })
    }

    /// One page of ended sales, the latest first. Goods and outboxes are taken from `overview`.
    pub async fn past(&self, page: &PastPage, overview: &Overview) -> StoreResult<PastSales> {
        let mut found = self.store.sales().past_sales(&PastPage { limit: page.limit + 1, ..page.clone() }).await?;
        let more = found.len() as i64 > page.limit;
        found.truncate(page.limit as usize);
        let last = found.last().filter(|_| more);
        let next = last.and_then(|sale| Some((sale.window.closes_at?.as_millisecond(), sale.id)));
        Ok(PastSales { sales: self.rows(found, &overview.goods, &overview.outboxes).await?, next })
    }

    async fn rows(
        &self,
        sales: Vec<Sale>,
        goods: &[Goods],
        outboxes: &HashMap<SaleId, i64>,
    ) -> StoreResult<Vec<SaleRow>> {
        let ids: Vec<SaleId> = sales.iter().map(|sale| sale.id).collect();
        let totals = self.store.orders().order_totals(&ids).await?;
        let by_id: HashMap<GoodsId, &Goods> = goods.iter().map(|g| (g.id, g)).collect();
        let rows = sales.into_iter().filter_map(|sale| {
            let goods = by_id.get(&sale.goods_id)?;
            let of = |status| totals.get(&sale.id).map(|totals| totals.of(status)).unwrap_or_default();
            Some(SaleRow {
                status: self.gate.status(sale.id),
                outbox: outboxes.get(&sale.id).copied(),
                unpaid: of(OrderStatus::Unpaid).orders,
                paid: of(OrderStatus::Paid).orders,
                paid_units: of(OrderStatus::Paid).units,
                goods: (*goods).clone(),
                sale,
            })
        });
        Ok(rows.collect())
    }
}

// Shows staff what depends on the sales that a command is about to end or hide from shoppers, and whether the command
// is possible.

/// Counts of a sale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaleStakes {
    /// Units that no user holds.
    pub unsold: i64,
    pub unpaid: i64,
    pub waiting: WaitingCounts,
}

/// A sale of a batch, and what the batch would do to it.
#[derive(Debug)]
pub struct SalePreview {
    pub sale: Sale,
    pub goods_name: Option<Bilingual>,
    /// What depends on the sale, or why it would stay as it is.
    pub outcome: Result<SaleStakes, SaleRefusal>,
}

#[boxed]
impl SalesAdmin {
    /// What a command would do to each of these sales, in the given order. Without a command, previews the deletion of
    /// drafts. `None` for a sale that does not exist. The number of statements does not grow with the number of sales.
    pub async fn preview_batch(
        &self,
        ids: &[SaleId],
        command: Option<&SaleCommand>,
    ) -> StoreResult<Vec<Option<SalePreview>>> {
        let facts = self.store.sales().preview_facts(ids).await?;
        let orders = self.store.orders().order_totals(ids).await?;
        let waiting = self.store.sales().waiting_counts(ids).await?;
        let stakes = |sale: &Sale| {
            let booked = self.gate.status(sale.id).and_then(|status| status.booked);
            SaleStakes {
                unsold: (sale.total - booked.unwrap_or(sale.sold)).max(0),
                unpaid: orders.get(&sale.id).map_or(0, |totals| totals.of(OrderStatus::Unpaid).orders),
                waiting: waiting.get(&sale.id).copied().unwrap_or_default(),
            }
        };
        // Two drafts of the same goods at the same time cannot both be announced.
        let mut planned = Vec::new();
        let preview = |id: &SaleId| {
            let sale = facts.sale(*id)?.clone();
            let goods_name = facts.goods(sale.goods_id).map(|goods| goods.name.clone());
            let outcome = after(&facts, &sale, command, &planned).map(|after| {
                planned.extend(after);
                stakes(&sale)
            });
            Some(SalePreview { sale, goods_name, outcome })
        };
        Ok(ids.iter().map(preview).collect())
    }
}

/// The sale after the command; `None` after its deletion.
fn after(
    facts: &PreviewFacts,
    sale: &Sale,
    command: Option<&SaleCommand>,
    planned: &[Sale],
) -> Result<Option<Sale>, SaleRefusal> {
    match command {
        Some(command) => facts.change(sale, &command.clone().at(facts.now()), planned).map(Some),
        None => preview_deletion(sale).map(|()| None),
    }
}
