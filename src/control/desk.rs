//! What an administrator does: each change goes to the database first, with a line in the audit log, and from there to
//! whoever must know.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use super::ledger::Ledger;
use crate::catalogue::Catalogue;
use crate::clock::Clock;
use crate::domain::sale::SaleMove;
use crate::domain::{GalleryChange, Goods, GoodsId, Sale, SaleId};
use crate::gate::{Gate, SaleStatus};
use crate::orders::rabbit::Monitor;
use crate::stock::{Defined, Stock};
use crate::store::{GoodsDraft, GoodsRefusal, SaleChange, SaleDraft, SaleRefusal, Store, StoreError};

/// How long an administrator waits for the keeper of stock to follow. It follows by itself later too.
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
    Edit(SaleDraft),
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
}

#[derive(Clone)]
pub struct Desk {
    pub store: Store,
    pub stock: Arc<dyn Stock>,
    pub catalogue: Arc<Catalogue>,
    pub gate: Arc<Gate>,
    pub ledger: Option<Arc<Ledger>>,
    pub monitor: Option<Arc<Monitor>>,
    pub clock: Clock,
}

impl Desk {
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
        let sale = self.store.create_sale(&draft, actor, self.clock.now()).await?;
        self.catalogue.refresh().await?;
        self.gate.refresh().await;
        Ok(sale)
    }

    /// Changes a sale. It is decided with the database; the keeper of stock follows, usually before this returns.
    pub async fn change(&self, id: SaleId, change: DeskChange, actor: &str) -> Result<Sale, SaleRefusal> {
        let now = self.clock.now();
        let change = match change {
            DeskChange::Start => SaleChange::Start { at: now },
            DeskChange::Pause => SaleChange::Move(SaleMove::Pause),
            DeskChange::Resume => SaleChange::Move(SaleMove::Resume),
            DeskChange::Stop => SaleChange::Move(SaleMove::Stop),
            DeskChange::TopUp(units) => SaleChange::TopUp { units },
            DeskChange::Edit(draft) => SaleChange::Edit(draft),
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
            Ok::<(), crate::stock::Unavailable>(())
        };
        match tokio::time::timeout(FOLLOW_WITHIN, follow).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(sale = %sale.id, %error, "the stock follows a change later"),
            Err(_) => warn!(sale = %sale.id, "the sale is not loaded; the stock follows a change later"),
        }
    }

    pub async fn overview(&self) -> Result<Overview, StoreError> {
        let goods = self.store.all_goods().await?;
        let totals = self.store.order_totals().await?;
        let by_id: HashMap<GoodsId, &Goods> = goods.iter().map(|g| (g.id, g)).collect();
        let outboxes = match &self.ledger {
            Some(ledger) => ledger.survey().await.unwrap_or_default(),
            None => HashMap::new(),
        };
        let mut sales = Vec::new();
        for sale in self.store.all_sales().await? {
            let Some(goods) = by_id.get(&sale.goods_id) else { continue };
            let totals = totals.get(&sale.id).copied().unwrap_or_default();
            sales.push(SaleRow {
                status: self.gate.status(sale.id),
                outbox: outboxes.get(&sale.id).map(|loaded| loaded.outbox),
                unpaid: totals.unpaid,
                paid: totals.paid,
                goods: (*goods).clone(),
                sale,
            });
        }
        let queue_ready = match &self.monitor {
            Some(monitor) => monitor.depths().await.ok().map(|depths| depths.ready.into()),
            None => None,
        };
        Ok(Overview { sales, queue_ready })
    }
}
