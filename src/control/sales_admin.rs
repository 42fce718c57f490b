//! What an administrator does: each change goes to the database first, with a line in the audit log, and from there to
//! whoever must know.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use crate::catalogue::Catalogue;
use crate::clock::Clock;
use crate::control::stock_sync::StockSync;
use crate::domain::sale::SaleMove;
use crate::domain::{GalleryChange, Goods, GoodsId, Sale, SaleId};
use crate::gate::{Gate, SaleStatus};
use crate::health::Health;
use crate::pages::Publisher;
use crate::pipeline::rabbit::Monitor;
use crate::stock::probe::RedisProbe;
use crate::stock::{Defined, Stock};
use crate::store::{
    GoodsDraft, GoodsRefusal, Overlap, PastPage, SaleChange, SaleDraft, SaleRefusal, SaveOptions, Store, StoreError,
};

/// How long an administrator waits for the backend of stock to follow. It follows by itself later too.
const FOLLOW_WITHIN: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What an administrator asks of a sale.
#[derive(Debug, Clone)]
pub enum DeskChange {
    /// Open now, whatever the opening time.
    Start,
    Pause,
    Resume,
    Stop,
    TopUp(i64),
    /// Announce a draft.
    Schedule(Overlap),
    /// Take the announcement back.
    Unschedule,
    Edit(SaleDraft, SaveOptions),
}

/// One sale with its present numbers.
#[derive(Debug, Clone)]
pub struct SaleRow {
    pub sale: Sale,
    pub goods: Goods,
    /// `None` for drafts.
    pub status: Option<SaleStatus>,
    /// Entries in the outbox; `None` without Redis or while it is away.
    pub outbox: Option<i64>,
    pub unpaid: i64,
    pub paid: i64,
}

/// Everything at a glance.
#[derive(Debug, Clone)]
pub struct Overview {
    pub sales: Vec<SaleRow>,
    /// Messages waiting in RabbitMQ; `None` without it or while it is away.
    pub queue_ready: Option<i64>,
    pub goods: Vec<Goods>,
}

/// Sales that ended, and where the next page of them begins.
#[derive(Debug, Clone)]
pub struct PastSales {
    pub sales: Vec<SaleRow>,
    pub next: Option<(i64, SaleId)>,
}

#[derive(Clone)]
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
}

impl SalesAdmin {
    /// Creates goods, or changes them; `None` when there are none with that id.
    pub async fn put_goods(
        &self,
        id: Option<GoodsId>,
        draft: GoodsDraft,
        actor: &str,
    ) -> Result<Option<Goods>, StoreError> {
        let goods = self.store.put_goods(id, draft, actor, self.clock.now()).await?;
        self.catalogue.refresh().await?;
        Ok(goods)
    }

    pub async fn change_gallery(&self, id: GoodsId, change: GalleryChange, actor: &str) -> Result<Goods, GoodsRefusal> {
        let goods = self.store.change_gallery(id, change, actor, self.clock.now()).await?;
        self.catalogue.refresh().await?;
        Ok(goods)
    }

    /// Puts goods away or brings them back; goods of a sale that is running or scheduled stay.
    pub async fn archive_goods(&self, id: GoodsId, archive: bool, actor: &str) -> Result<Goods, GoodsRefusal> {
        let goods = self.store.archive_goods(id, archive, actor, self.clock.now()).await?;
        self.catalogue.refresh().await?;
        Ok(goods)
    }

    pub async fn create_sale(&self, draft: SaleDraft, actor: &str) -> Result<Sale, SaleRefusal> {
        self.enter_sale(draft, &SaveOptions::default(), actor).await
    }

    pub async fn enter_sale(&self, draft: SaleDraft, filing: &SaveOptions, actor: &str) -> Result<Sale, SaleRefusal> {
        let sale = self.store.enter_sale(&draft, filing, actor, self.clock.now()).await?;
        self.catalogue.refresh().await?;
        self.gate.refresh().await;
        Ok(sale)
    }

    /// Deletes a draft; what the backend of stock had of it goes too.
    pub async fn delete_draft(&self, id: SaleId, actor: &str) -> Result<(), SaleRefusal> {
        let deleted = self.store.delete_draft(id, actor, self.clock.now()).await?;
        if let Some(stock_sync) = &self.stock_sync
            && let Err(error) = stock_sync.forget(&deleted).await
        {
            warn!(sale = %id, %error, "a few keys of a deleted draft stay in Redis");
        }
        self.catalogue.refresh().await?;
        self.gate.refresh().await;
        Ok(())
    }

    /// Changes a sale. It is decided with the database; the backend of stock follows, usually before this returns.
    pub async fn change(&self, id: SaleId, change: DeskChange, actor: &str) -> Result<Sale, SaleRefusal> {
        let now = self.clock.now();
        let change = match change {
            DeskChange::Start => SaleChange::Start { at: now },
            DeskChange::Pause => SaleChange::Move(SaleMove::Pause),
            DeskChange::Resume => SaleChange::Move(SaleMove::Resume),
            DeskChange::Stop => SaleChange::Move(SaleMove::Stop),
            DeskChange::TopUp(units) => SaleChange::TopUp { units },
            DeskChange::Schedule(overlap) => SaleChange::Schedule(overlap),
            DeskChange::Unschedule => SaleChange::Move(SaleMove::Unschedule),
            DeskChange::Edit(draft, filing) => SaleChange::Edit(draft, filing),
        };
        let sale = self.store.change_sale(id, &change, actor, now).await?;
        self.make_stock_follow(&sale).await;
        self.catalogue.refresh().await?;
        self.gate.refresh().await;
        Ok(sale)
    }

    /// A sale that is not loaded yet is being loaded by data control at this moment.
    async fn make_stock_follow(&self, sale: &Sale) {
        let follow = async {
            while self.stock.define(sale).await? == Defined::NotLoaded {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            Ok::<(), crate::domain::claim::Unavailable>(())
        };
        match tokio::time::timeout(FOLLOW_WITHIN, follow).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(sale = %sale.id, %error, "the stock follows a change later"),
            Err(_) => warn!(sale = %sale.id, "the sale is not loaded; the stock follows a change later"),
        }
    }

    /// Every sale, newest first.
    pub async fn overview(&self) -> Result<Overview, StoreError> {
        self.overview_of(self.store.all_sales().await?).await
    }

    /// Sales that have not ended, newest first.
    pub async fn current(&self) -> Result<Overview, StoreError> {
        self.overview_of(self.store.current_sales().await?).await
    }

    async fn overview_of(&self, sales: Vec<Sale>) -> Result<Overview, StoreError> {
        let goods = self.store.all_goods().await?;
        let sales = self.rows(sales, &goods).await?;
        let queue_ready = match &self.monitor {
            Some(monitor) => monitor.depths().await.ok().map(|depths| depths.ready.into()),
            None => None,
        };
        Ok(Overview { sales, queue_ready, goods })
    }

    /// One page of sales that ended, the last to close first.
    pub async fn past(&self, page: &PastPage, goods: &[Goods]) -> Result<PastSales, StoreError> {
        let mut found = self.store.past_sales(&PastPage { most: page.most + 1, ..page.clone() }).await?;
        let more = found.len() as i64 > page.most;
        found.truncate(page.most as usize);
        let place = |sale: &Sale| Some((sale.window.closes_at?.as_millisecond(), sale.id));
        let next = found.last().filter(|_| more).and_then(place);
        Ok(PastSales { sales: self.rows(found, goods).await?, next })
    }

    async fn rows(&self, sales: Vec<Sale>, goods: &[Goods]) -> Result<Vec<SaleRow>, StoreError> {
        let totals = self.store.order_totals().await?;
        let by_id: HashMap<GoodsId, &Goods> = goods.iter().map(|g| (g.id, g)).collect();
        let outboxes = match &self.stock_sync {
            Some(stock_sync) => stock_sync.survey().await.unwrap_or_default(),
            None => HashMap::new(),
        };
        let row = |sale: Sale| {
            let goods = by_id.get(&sale.goods_id)?;
            let totals = totals.get(&sale.id).copied().unwrap_or_default();
            Some(SaleRow {
                status: self.gate.status(sale.id),
                outbox: outboxes.get(&sale.id).map(|loaded| loaded.outbox),
                unpaid: totals.unpaid,
                paid: totals.paid,
                goods: (*goods).clone(),
                sale,
            })
        };
        Ok(sales.into_iter().filter_map(row).collect())
    }
}
