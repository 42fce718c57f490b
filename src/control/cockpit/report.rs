//! The report of a sale: its figures while it runs, and for ever after it.
//!
//! Totals, counters and the opening are kept as long as the sale. Figures that need every order to be read are in the
//! digest, which is stored once the sale is over ([`Digests`]).

use std::sync::Arc;
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use tracing::info;

use super::Cockpit;
use super::sample::{OrderFacts, Requests};
use super::sampler::OpeningCounts;
use base::clock::Clock;
use base::revalidating_cache::{ComputationError, Known, RevalidatingCache};
use domain::sale_digest::{ArrivalGroup, by_arrival};
use domain::wire::wire_enum;
use domain::{AlarmEvent, Money, Sale, SaleDigest, SaleId, SaleState};
use store::{Store, StoreError, StoreResult, WaitingRoom};

/// Alarms that a report lists.
const MAX_ALARMS: i64 = 50;

/// The entries of a draw, and how many of them were offered a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawFigures {
    pub entries: i64,
    pub offered: i64,
}

#[derive(Debug, Clone)]
pub struct SaleReport {
    pub sale: Sale,
    /// When the oldest figures were read.
    pub at: Timestamp,
    /// Whether the figures can no longer change.
    pub is_final: bool,
    /// Whether newer figures are being read.
    pub is_renewing: bool,
    pub orders: OrderFacts,
    pub refunded_in_parts: Money,
    /// What paid orders paid for shipping.
    pub paid_shipping: Money,
    pub requests: Requests,
    /// Time from the gate to the decision, of requests that got units.
    pub p99_ms: Option<f64>,
    pub median_ms: Option<f64>,
    pub opening: Option<OpeningCounts>,
    pub digest: Arc<SaleDigest>,
    pub waiting_room: Option<WaitingRoom>,
    pub draw: Option<DrawFigures>,
    /// Alarms, newest first.
    pub alarms: Vec<AlarmEvent>,
}

/// How the stock was sold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaleOutcome {
    NotBegun,
    /// Every unit was reserved once. Holds the milliseconds from the opening to that moment.
    SoldOut(i64),
    /// Holds the percentage of units that are sold.
    Partly(i64),
    Nothing,
}

wire_enum! {
    /// A figure of a report. The texts are keys of the words, and names in the CSV file.
    pub enum FigureName {
        Total = "total",
        Sold = "sold",
        Revenue = "revenue",
        RefundedInParts = "refunded_in_parts",
        SoldOut = "sold_out",
        Orders = "orders",
        PaidShare = "paid_share",
        Unpaid = "unpaid",
        Expired = "expired",
        CancelledByOwner = "cancelled_by_owner",
        CancelledByShop = "cancelled_by_shop",
        Refunded = "refunded",
        ReturnedUnits = "returned_units",
        SoldAgain = "sold_again",
        Waitlist = "waitlist",
        Offers = "offers",
        Joined = "joined",
        Called = "called",
        MissedTurn = "missed_turn",
        Entries = "entries",
        Offered = "offered",
        Asked = "asked",
        Refused = "refused",
        P99 = "p99",
    }
}

/// The value of a figure in its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FigureValue {
    Count(i64),
    Amount(Money),
    /// A percentage, 0 to 100.
    Percent(f64),
    Milliseconds(f64),
}

impl FigureValue {
    /// This value minus an earlier one; `None` if they cannot be compared.
    pub fn minus(self, earlier: FigureValue) -> Option<FigureValue> {
        use FigureValue::*;
        match (self, earlier) {
            (Count(now), Count(then)) => Some(Count(now - then)),
            (Percent(now), Percent(then)) => Some(Percent(now - then)),
            (Milliseconds(now), Milliseconds(then)) => Some(Milliseconds(now - then)),
            (Amount(now), Amount(then)) if now.currency == then.currency => {
                Some(Amount(Money { amount: now.amount - then.amount, ..now }))
            }
            _ => None,
        }
    }
}

#[boxed]
impl Cockpit {
    /// The current figures of a sale, together with the figures of its digest.
    pub async fn report(&self, sale: Sale, read: ReadDigest) -> StoreResult<SaleReport> {
        let (store, counters) = (&self.sources.store, &self.sources.counter_store);
        let counters = counters.mine(sale.id).plus(&counters.others(sale.id).await?);
        let counts = store.sales().count_orders(sale.id).await?;
        let draw = match store.draws().get(sale.id).await? {
            Some(draw) => {
                let entries = match draw.entries {
                    Some(entries) => entries,
                    None => store.draws().count_entries(sale.id).await?,
                };
                Some(DrawFigures { entries, offered: draw.next_rank.min(entries) })
            }
            None => None,
        };
        Ok(SaleReport {
            at: read.read_at.unwrap_or_else(|| self.sources.clock.now()),
            is_final: read.read_at.is_none(),
            is_renewing: read.is_renewing,
            orders: OrderFacts::of(&counts),
            refunded_in_parts: store.sales().refunded_in_parts(&sale).await?,
            paid_shipping: store.sales().paid_shipping(&sale).await?,
            requests: Requests::of(&counters),
            p99_ms: counters.wait_ms(0.99),
            median_ms: counters.wait_ms(0.5),
            opening: OpeningCounts::of(&counters),
            waiting_room: store.waiting_rooms().get(sale.id).await?,
            draw,
            alarms: store.sales().alarms(sale.id, MAX_ALARMS).await?,
            digest: read.digest,
            sale,
        })
    }
}

impl SaleReport {
    pub fn outcome(&self) -> SaleOutcome {
        match self.digest.sold_out_ms {
            _ if self.sale.state.is_planned() => SaleOutcome::NotBegun,
            Some(ms) => SaleOutcome::SoldOut(ms),
            None if self.sale.sold == 0 => SaleOutcome::Nothing,
            None => SaleOutcome::Partly(self.sale.sold * 100 / self.sale.total.max(1)),
        }
    }

    /// Whether the sale itself is over. Orders may still be open.
    pub fn has_ended(&self) -> bool {
        self.sale.state == SaleState::Ended
    }

    /// What paid orders brought in with their shipping, less refunds of parts of them.
    pub fn revenue(&self) -> Money {
        let gross = self.sale.price.amount.saturating_mul(self.orders.paid_units);
        let amount = gross + self.paid_shipping.amount - self.refunded_in_parts.amount;
        Money::new(amount, self.sale.price.currency)
    }

    /// Orders that ever held units.
    fn held(&self) -> i64 {
        self.orders.persisted - self.orders.rejected
    }

    /// The percentage of orders that were paid and not refunded, of all that ever held units.
    pub fn paid_share(&self) -> Option<f64> {
        self.orders.paid_share()
    }

    /// Units that came back and were sold again.
    pub fn sold_again(&self) -> i64 {
        (self.sale.granted - self.sale.total).max(0)
    }

    /// The requests of the opening in the order of their arrival, with the wins that were decided a median time later.
    /// Empty if the sale has no recorded opening.
    pub fn arrivals(&self) -> Vec<ArrivalGroup> {
        let Some(opening) = &self.opening else { return Vec::new() };
        let delay = self.median_ms.unwrap_or_default() / opening.slot_ms as f64;
        by_arrival(&opening.asked, &opening.accepted, delay as usize)
    }

    /// The value of a figure; `None` if the sale has none.
    pub fn figure(&self, name: FigureName) -> Option<FigureValue> {
        use FigureValue::*;
        let mode = self.sale.mode;
        let ended = |reason: &str| self.digest.ended.get(reason).copied().unwrap_or_default();
        let requests = (!mode.is_draw()).then_some(&self.requests);
        let waiters = mode.has_waitlist().then_some(&self.digest.waiters);
        match name {
            FigureName::Total => Some(Count(self.sale.total)),
            FigureName::Sold => Some(Count(self.sale.sold)),
            FigureName::Revenue => Some(Amount(self.revenue())),
            FigureName::RefundedInParts => Some(Amount(self.refunded_in_parts)),
            FigureName::SoldOut => self.digest.sold_out_ms.map(|ms| Milliseconds(ms as f64)),
            FigureName::Orders => Some(Count(self.held())),
            FigureName::PaidShare => self.paid_share().map(Percent),
            FigureName::Unpaid => Some(Count(self.orders.unpaid)),
            FigureName::Expired => Some(Count(ended("unpaid"))),
            FigureName::CancelledByOwner => Some(Count(ended("by_owner"))),
            FigureName::CancelledByShop => Some(Count(ended("by_shop"))),
            FigureName::Refunded => Some(Count(self.orders.refunded)),
            FigureName::ReturnedUnits => Some(Count(self.orders.returned_units)),
            FigureName::SoldAgain => Some(Count(self.sold_again())),
            FigureName::Waitlist => waiters.map(|states| Count(states.values().sum())),
            FigureName::Offers => waiters.map(|states| Count(states.get("offered").copied().unwrap_or_default())),
            FigureName::Joined => self.waiting_room.as_ref().map(|room| Count(room.joined)),
            FigureName::Called => self.waiting_room.as_ref().map(|room| Count(room.called)),
            FigureName::MissedTurn => self.waiting_room.as_ref().map(|room| Count((room.called - self.held()).max(0))),
            FigureName::Entries => self.draw.map(|draw| Count(draw.entries)),
            FigureName::Offered => self.draw.map(|draw| Count(draw.offered)),
            FigureName::Asked => requests.map(|requests| Count(requests.asked as i64)),
            FigureName::Refused => requests.map(|requests| Count(requests.refused_in_all() as i64)),
            FigureName::P99 => self.p99_ms.map(Milliseconds),
        }
    }

    /// Figures that at least one of two sales has, with both values.
    pub fn beside(&self, earlier: Option<&SaleReport>) -> Vec<(FigureName, Option<FigureValue>, Option<FigureValue>)> {
        let both = FigureName::ALL.map(|name| (name, self.figure(name), earlier.and_then(|other| other.figure(name))));
        both.into_iter().filter(|(_, now, then)| now.is_some() || then.is_some()).collect()
    }
}

// Digests of sales for their reports. While a sale runs, its digest is read on demand. Nothing changes a sale that is
// over, so its digest is stored for ever.

/// Sales per step. Others follow a minute later.
const BATCH_SIZE: i64 = 10;
/// Digests in memory: several, because a report shows an earlier sale beside its own.
const MAX_KEPT: usize = 16;

/// The digest of a sale for its report.
#[derive(Debug, Clone)]
pub struct ReadDigest {
    pub digest: Arc<SaleDigest>,
    /// When the orders were read. `None` for a digest that is final.
    pub read_at: Option<Timestamp>,
    /// Whether a newer one is being read.
    pub is_renewing: bool,
}

/// The digests that this process has read. They are cached, because reading a million orders takes seconds.
pub struct Digests {
    store: Store,
    clock: Clock,
    running: RevalidatingCache<SaleId, SaleDigest, StoreError>,
}

#[boxed]
impl Digests {
    pub fn new(store: Store, clock: Clock) -> Digests {
        Digests { store, running: RevalidatingCache::new("digests of sales", MAX_KEPT, clock.clone()), clock }
    }

    /// The digest of a sale. `None` when `patience` ends before the first one is read.
    pub async fn within(
        &self,
        patience: Duration,
        sale: &Sale,
    ) -> Result<Option<ReadDigest>, ComputationError<StoreError>> {
        match self.store.sales().kept_digest(sale.id).await? {
            Some(kept) => Ok(Some(ReadDigest::last(kept))),
            None => Ok(self.running.get(sale.id, patience, self.read(sale)).await?.map(ReadDigest::of)),
        }
    }

    /// The digest of a sale, however long it takes.
    pub async fn wait(&self, sale: &Sale) -> Result<ReadDigest, ComputationError<StoreError>> {
        match self.store.sales().kept_digest(sale.id).await? {
            Some(kept) => Ok(ReadDigest::last(kept)),
            None => Ok(ReadDigest::of(self.running.wait(sale.id, self.read(sale)).await?)),
        }
    }

    fn read(&self, sale: &Sale) -> impl Future<Output = StoreResult<SaleDigest>> + use<> {
        let (store, clock, sale) = (self.store.clone(), self.clock.clone(), sale.clone());
        async move { store.sales().digest_sale(&sale, clock.now()).await }
    }

    /// Stores the digests of sales that are over and have none yet.
    pub async fn keep(&self) -> StoreResult<()> {
        for sale in self.store.sales().sales_without_digest(BATCH_SIZE).await? {
            let now = self.clock.now();
            let digest = self.store.sales().digest_sale(&sale, now).await?;
            self.store.sales().keep_digest(sale.id, &digest, now).await?;
            info!(sale = %sale.id, "the digest of a sale that is over was kept");
        }
        Ok(())
    }
}

impl ReadDigest {
    fn last(kept: SaleDigest) -> ReadDigest {
        ReadDigest { digest: Arc::new(kept), read_at: None, is_renewing: false }
    }

    fn of(known: Known<SaleDigest>) -> ReadDigest {
        ReadDigest { digest: known.value, read_at: Some(known.read_at), is_renewing: known.is_renewing }
    }
}
