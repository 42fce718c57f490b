//! The database as the stock backend. A batch is one transaction that locks the sale, decides and inserts the orders.

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{DefineOutcome, FactSource, Facts, FreeUnits, Reply, Stock, Unavailable, WaitedStock, Winners};
use crate::batching::{Batch, BatchKey};
use domain::claim::{Claim, Decision, Hold};
use domain::{Bucket, OrderId, OrderStatus, Phase, Refusal, Reservation, Sale, SaleId, UserId};
use store::{Demand, HeldUnits, Store, StoreError};

impl From<StoreError> for Unavailable {
    fn from(error: StoreError) -> Self {
        Unavailable(error.to_string())
    }
}

/// Stock in the database, without Redis.
pub struct DatabaseStock {
    store: Store,
    payment_window: Duration,
}

impl DatabaseStock {
    pub fn new(store: Store, payment_window: Duration) -> DatabaseStock {
        DatabaseStock { store, payment_window }
    }

    async fn reserve_units(&self, bucket: Bucket, batch: &[Claim], claimants: Claimants) -> Reply<Vec<Decision>> {
        let Some(sale) = bucket.sale() else { return Ok(vec![Decision::NotLoaded; batch.len()]) };
        let users: Vec<UserId> = batch.iter().map(|claim| claim.user_id).collect();
        let decide = |sale: &Sale, demand: &Demand, now| decide(sale, demand, (batch, claimants), now);
        let decided = self.store.orders().reserve(sale, &users, self.payment_window, decide).await?;
        Ok(decided.unwrap_or_else(|| vec![Decision::NotLoaded; batch.len()]))
    }
}

#[async_trait]
impl Stock for DatabaseStock {
    async fn reserve(&self, batches: &[Batch<Claim>]) -> Vec<Reply<Vec<Decision>>> {
        let mut answers = Vec::with_capacity(batches.len());
        for of_sale in batches.chunk_by(|one, other| one.bucket.owner == other.bucket.owner) {
            let claims: Vec<Claim> = of_sale.iter().flat_map(|batch| &batch.claims).copied().collect();
            match self.reserve_units(of_sale[0].bucket, &claims, Claimants::Anyone).await {
                Ok(decisions) => {
                    let mut decisions = decisions.into_iter();
                    for batch in of_sale {
                        answers.push(Ok(decisions.by_ref().take(batch.claims.len()).collect()));
                    }
                }
                Err(error) => answers.extend(of_sale.iter().map(|_| Err(error.clone()))),
            }
        }
        answers
    }

    /// All buckets of a sale share one row, so their claims share one batch and one transaction.
    fn batch_key(&self, bucket: Bucket) -> BatchKey {
        BatchKey::Bucket(Bucket::whole(bucket.owner))
    }

    async fn hold(&self, _sale: SaleId, _user: UserId) -> Reply<Option<Hold>> {
        // Every hold is an order here, and the caller has already looked for the order.
        Ok(None)
    }

    async fn grant_again(&self, _sale: SaleId, _claim: Claim) -> Reply<bool> {
        // Every grant is an order in the database.
        Ok(false)
    }

    async fn define(&self, _sale: &Sale) -> DefineOutcome {
        // Every batch reads the definition from the database.
        DefineOutcome { parts: 1, applied: 1, ..DefineOutcome::default() }
    }

    async fn lower_total(&self, _sale: &Sale) -> Reply<bool> {
        // The transaction has compared the total with what is sold.
        Ok(true)
    }

    async fn release(&self, releases: &[HeldUnits]) -> Reply<Vec<OrderId>> {
        // The transaction that ended the order has returned its units.
        Ok(releases.iter().map(|release| release.order_id).collect())
    }

    async fn standing_still(&self, _sale: &Sale) -> Vec<Bucket> {
        // The stock is reachable whenever the database is.
        Vec::new()
    }
}

#[async_trait]
impl WaitedStock for DatabaseStock {
    async fn follow_waitlist(&self, _sale: &Sale) -> Reply<()> {
        // Nothing to do: every batch reads from the database how many units are waited for.
        Ok(())
    }

    async fn free_units(&self, sale: &Sale) -> Reply<FreeUnits> {
        let now = self.store.sales().get(sale.id).await?;
        Ok(FreeUnits { units: now.map_or(0, |sale| sale.total - sale.sold), standing_still: Vec::new() })
    }

    async fn offer(&self, sale: &Sale, claims: &[Claim]) -> Reply<Vec<Decision>> {
        self.reserve_units(Bucket::whole(sale.id), claims, Claimants::Waiters).await
    }
}

/// Which accounts the claims of a batch come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claimants {
    Anyone,
    /// Accounts on the waitlist whose turn it is.
    Waiters,
}

/// Decides a batch against a locked sale, by the same rules as `lua/reserve.lua`.
fn decide(
    sale: &Sale,
    demand: &Demand,
    (batch, claimants): (&[Claim], Claimants),
    now: Timestamp,
) -> (Vec<Reservation>, Vec<Decision>) {
    let closed = match Phase::of(sale.state, sale.window, 1, now) {
        // Units of a draw are given by rank only. The gate refuses such claims as well.
        _ if sale.mode.is_draw() => Some(Decision::Refused(Refusal::NotOpen)),
        Phase::Open => None,
        Phase::Ended => Some(Decision::Refused(Refusal::Ended)),
        _ => Some(Decision::Refused(Refusal::NotOpen)),
    };
    let mut held = demand.held.clone();
    let mut left = match claimants {
        Claimants::Anyone => (sale.total - sale.sold - demand.waited_units).max(0),
        Claimants::Waiters => sale.total - sale.sold,
    };
    let mut granted = Vec::new();
    let mut decisions = Vec::with_capacity(batch.len());
    for claim in batch {
        let quantity = i64::from(claim.quantity);
        let decision = match (held.get(&claim.user_id), closed) {
            (Some(&(order_id, quantity)), _) => Decision::Repeated(Hold { order_id, quantity }),
            (None, Some(closed)) => closed,
            (None, None) if quantity > sale.per_user_limit => Decision::Refused(Refusal::OverLimit),
            (None, None) if quantity > left => Decision::Refused(Refusal::SoldOut),
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
    async fn facts(&self, buckets: &[Bucket]) -> Reply<Vec<(SaleId, Facts)>> {
        let sales: HashSet<SaleId> = buckets.iter().filter_map(|bucket| bucket.sale()).collect();
        if sales.is_empty() {
            return Ok(Vec::new());
        }
        let waited = self.store.waitlists().waited_for(&sales.iter().copied().collect::<Vec<_>>()).await?;
        let active = self.store.sales().active().await?.into_iter().filter(|sale| sales.contains(&sale.id));
        let facts = |sale: Sale| Facts {
            state: sale.state,
            window: sale.window,
            total: sale.total,
            booked: sale.sold,
            access: sale.sold,
            granted: sale.granted,
            per_user_limit: sale.per_user_limit,
            waited_units: waited.get(&sale.id).copied().unwrap_or(0),
        };
        Ok(active.map(|sale| (sale.id, facts(sale))).collect())
    }

    async fn winners(&self, buckets: &[Bucket]) -> Reply<Winners> {
        let Some(sale) = buckets.first().and_then(|bucket| bucket.sale()) else { return Ok(Winners::default()) };
        let granted = self.store.sales().get(sale).await?.map_or(0, |sale| sale.granted);
        let mut users = Vec::new();
        let mut after = None;
        loop {
            let page = self.store.orders().live_orders(sale, after, 1000).await?;
            users.extend(page.iter().map(|hold| hold.user_id));
            match page.last() {
                Some(last) => after = Some(last.order_id),
                None => return Ok(Winners { users, granted }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::store_with;
    use base::clock::Clock;
    use domain::{Currency, Money, Rush};
    use store::{SaleChange, SaleDraft};

    #[tokio::test]
    async fn buckets_of_a_sale_share_its_units() {
        let (price, rush) = (Money::new(100, Currency::CNY), Rush { buckets: 2, ..Rush::default() });
        let draft = SaleDraft { price, total: 3, per_user_limit: 2, rush, ..SaleDraft::blank() };
        let (_dir, store, sale) = store_with(draft).await;
        let now = Clock::system().now();
        let sale = store.sales().change(sale.id, &SaleChange::Start { at: now }, "test", now).await.unwrap();

        let stock = DatabaseStock::new(store.clone(), Duration::from_secs(60));
        let claim = |n, quantity| Claim {
            user_id: UserId(uuid::Uuid::from_u128(n)),
            order_id: OrderId(uuid::Uuid::from_u128(n + 100)),
            quantity,
        };
        let batches: Vec<_> = Bucket::of_sale(&sale)
            .zip([vec![claim(1, 2), claim(2, 3)], vec![claim(3, 2), claim(4, 1)]])
            .map(|(bucket, claims)| Batch { bucket, claims })
            .collect();
        let decided: Vec<_> = stock.reserve(&batches).await.into_iter().map(Result::unwrap).collect();
        let granted = Decision::Granted(OrderStatus::Unpaid);
        assert_eq!(
            decided,
            [[granted, Decision::Refused(Refusal::OverLimit)], [Decision::Refused(Refusal::SoldOut), granted]]
        );
        assert_eq!(store.sales().get(sale.id).await.unwrap().unwrap().sold, 3);
    }
}
