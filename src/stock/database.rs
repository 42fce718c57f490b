//! The database as the keeper of stock: a batch is one transaction that locks the sale, decides and writes the orders.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{Asked, Bucket, Claim, Decision, Defined, FactSource, Facts, Hold, Lane, Stock, Unavailable};
use crate::clock::Clock;
use crate::domain::{OrderId, OrderStatus, Phase, Reservation, Sale, SaleId, UserId};
use crate::store::{Release, Store, StoreError};

impl From<StoreError> for Unavailable {
    fn from(error: StoreError) -> Self {
        Unavailable(error.to_string())
    }
}

/// Stock in the database alone.
#[derive(Clone)]
pub struct DatabaseStock {
    store: Store,
    clock: Clock,
    payment_window: Duration,
}

impl DatabaseStock {
    pub fn new(store: Store, clock: Clock, payment_window: Duration) -> DatabaseStock {
        DatabaseStock { store, clock, payment_window }
    }

    async fn reserve_units(&self, bucket: Bucket, batch: &[Claim]) -> Result<Vec<Decision>, Unavailable> {
        let Some(sale) = bucket.sale() else { return Ok(vec![Decision::NotLoaded; batch.len()]) };
        let users: Vec<UserId> = batch.iter().map(|claim| claim.user_id).collect();
        let now = self.clock.now();
        let decided = self
            .store
            .reserve(sale, &users, now, now + self.payment_window, |sale, held| decide(sale, held, batch, now))
            .await?;
        Ok(decided.unwrap_or_else(|| vec![Decision::NotLoaded; batch.len()]))
    }
}

#[async_trait]
impl Stock for DatabaseStock {
    async fn reserve(&self, asked: &[Asked<Claim>]) -> Vec<Result<Vec<Decision>, Unavailable>> {
        let mut answers = Vec::with_capacity(asked.len());
        for Asked { bucket, claims } in asked {
            answers.push(self.reserve_units(*bucket, claims).await);
        }
        answers
    }

    /// A sale is one row, whichever of its buckets is asked.
    fn lane(&self, bucket: Bucket) -> Lane {
        Lane::Of(Bucket::whole(bucket.owner))
    }

    async fn hold(&self, _sale: SaleId, _user: UserId) -> Result<Option<Hold>, Unavailable> {
        // Every hold is an order here, which was asked for first.
        Ok(None)
    }

    async fn define(&self, _sale: &Sale) -> Result<Defined, Unavailable> {
        // The definition is read with every batch.
        Ok(Defined::Yes)
    }

    async fn release(&self, releases: &[Release]) -> Result<Vec<OrderId>, Unavailable> {
        // The transaction that ended the order gave its units back.
        Ok(releases.iter().map(|release| release.order_id).collect())
    }
}

/// Decides a batch against a locked sale; the same rules as `lua/reserve.lua`.
fn decide(
    sale: &Sale,
    held: &HashMap<UserId, (OrderId, u32)>,
    batch: &[Claim],
    now: Timestamp,
) -> (Vec<Reservation>, Vec<Decision>) {
    let closed = match Phase::of(sale.state, sale.window, 1, now) {
        Phase::Open => None,
        Phase::Ended => Some(Decision::Ended),
        _ => Some(Decision::NotOpen),
    };
    let mut held = held.clone();
    let mut left = sale.total - sale.sold;
    let mut granted = Vec::new();
    let mut decisions = Vec::with_capacity(batch.len());
    for claim in batch {
        let quantity = i64::from(claim.quantity);
        let decision = match (held.get(&claim.user_id), closed) {
            (Some(&(order_id, quantity)), _) => Decision::Repeated(Hold { order_id, quantity }),
            (None, Some(closed)) => closed,
            (None, None) if quantity > sale.per_user_limit => Decision::OverLimit,
            (None, None) if quantity > left => Decision::SoldOut,
            (None, None) => {
                left -= quantity;
                held.insert(claim.user_id, (claim.order_id, claim.quantity));
                granted.push(Reservation {
                    order_id: claim.order_id,
                    sale_id: sale.id,
                    user_id: claim.user_id,
                    quantity: claim.quantity,
                    reserved_at: now,
                });
                Decision::Granted(OrderStatus::Unpaid)
            }
        };
        decisions.push(decision);
    }
    (granted, decisions)
}

#[async_trait]
impl FactSource for DatabaseStock {
    async fn facts(&self, buckets: &[Bucket]) -> Result<Vec<(SaleId, Facts)>, Unavailable> {
        let wanted: HashSet<SaleId> = buckets.iter().filter_map(|bucket| bucket.sale()).collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let active = self.store.active_sales().await?.into_iter().filter(|sale| wanted.contains(&sale.id));
        let facts = |sale: Sale| Facts {
            state: sale.state,
            window: sale.window,
            total: sale.total,
            booked: sale.sold,
            access: sale.sold,
            granted: sale.granted,
            per_user_limit: sale.per_user_limit,
        };
        Ok(active.map(|sale| (sale.id, facts(sale))).collect())
    }

    async fn winners(&self, bucket: Bucket) -> Result<Vec<UserId>, Unavailable> {
        let mut winners = Vec::new();
        let Some(sale) = bucket.sale() else { return Ok(winners) };
        let mut after = None;
        loop {
            let page = self.store.live_orders(sale, after, 1000).await?;
            winners.extend(page.iter().map(|hold| hold.user_id));
            match page.last() {
                Some(last) => after = Some(last.order_id),
                None => return Ok(winners),
            }
        }
    }
}
