//! Sales in front of another shop, the passes that called shoppers take there, and the decisions of that shop about the
//! units of a sale (shadow mode).

use std::collections::HashMap;

use boxed::boxed;
use jiff::{SignedDuration, Timestamp};
use sqlx::any::AnyRow;

use crate::sales::changes::touch;
use crate::{DecisionStore, FrontStore, StoreResult, column, for_rows, is_outdated, next_version, row};
use domain::front::{Comparison, DecisionCounts, Difference, NamedCustomer, ShopDecision};
use domain::{AuditAction, Sale, SaleFront, SaleId};

/// How many passes may be made for one turn: one may be lost on the way.
const MAX_PASSES: i64 = 3;
/// How long the turn of a pass is known after its end. Its pass is refused as expired then.
const KEPT_AFTER_TURN: SignedDuration = SignedDuration::from_hours(1);

/// The front of a sale as it was saved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SavedFront {
    /// `None` if the sale sells in this shop.
    pub front: Option<SaleFront>,
    /// When it was saved. It increases with every change.
    pub updated_at: Timestamp,
}

impl SavedFront {
    pub fn version(&self) -> i64 {
        self.updated_at.as_millisecond()
    }
}

fn front(row: &AnyRow) -> sqlx::Result<Option<SaleFront>> {
    row::json(row, "front")
}

fn saved(row: &AnyRow) -> sqlx::Result<SavedFront> {
    read!(row => SavedFront { front = front(row)?, updated_at: "updated_at_ms" })
}

const SAVED: &str = "SELECT front, updated_at_ms FROM sale_fronts WHERE sale_id = $1";

#[boxed]
impl FrontStore<'_> {
    pub async fn get(self, sale: SaleId) -> StoreResult<SavedFront> {
        Ok(self.optional(query!(SAVED; sale), saved).await?.unwrap_or_default())
    }

    /// All sales in front of another shop.
    pub async fn list(self) -> StoreResult<HashMap<SaleId, SaleFront>> {
        let read = |row: &AnyRow| Ok((row::get(row, "sale_id")?, front(row)?));
        let all = self.all(query!("SELECT sale_id, front FROM sale_fronts"), read).await?;
        Ok(all.into_iter().filter_map(|(sale, front)| Some((sale, front?))).collect())
    }

    /// Puts a sale in front of another shop, or takes it back with `None`. With `versions`, only if the saved version is
    /// one of them; otherwise the result is `None`.
    pub async fn put(
        self,
        sale: SaleId,
        front: Option<SaleFront>,
        versions: Option<&[i64]>,
        actor: &str,
        now: Timestamp,
    ) -> StoreResult<Option<SavedFront>> {
        let mut tx = self.begin().await?;
        touch(&mut tx).await?;
        let before = tx.optional(query!(SAVED; sale), saved).await?.unwrap_or_default();
        if is_outdated(before.version(), versions) {
            return Ok(None);
        }
        let after = SavedFront { front, updated_at: next_version(Some(before.updated_at), now) };
        let text = serde_json::to_string(&after.front).map_err(|e| sqlx::Error::Encode(e.into()))?;
        let sql = "INSERT INTO sale_fronts (sale_id, front, updated_at_ms) VALUES ($1, $2, $3)
             ON CONFLICT (sale_id) DO UPDATE SET front = excluded.front, updated_at_ms = excluded.updated_at_ms";
        tx.run(query!(sql; sale, text, after.version())).await?;
        let (old, new) = (before.front.as_ref(), after.front.as_ref());
        tx.log(actor, AuditAction::Edit, &format!("front {sale}"), old, new, now).await?;
        tx.commit_and(Some(after)).await
    }

    /// Counts a pass for a turn. Returns whether it may be made. A place whose last pass has expired has another turn.
    pub async fn count_pass(self, sale: SaleId, place: &str, expires: Timestamp) -> StoreResult<bool> {
        let sql = "INSERT INTO passes (sale_id, place, made, expires_at_ms) VALUES ($1, $2, 1, $3)
             ON CONFLICT (sale_id, place) DO UPDATE SET
               made = CASE WHEN passes.expires_at_ms <= $5 THEN 1 ELSE passes.made + 1 END,
               expires_at_ms = excluded.expires_at_ms, used_at_ms = NULL, used_by = NULL
             WHERE passes.expires_at_ms <= $5 OR (passes.made < $4 AND passes.used_at_ms IS NULL)";
        let mut tx = self.begin().await?;
        let counted = tx.changed(query!(sql; sale, place, expires, MAX_PASSES, tx.now)).await?;
        tx.commit_and(counted == 1).await
    }

    /// Uses the turn of a pass up, and with it frees the seat in the waiting room. Returns whether the turn was unused, or
    /// was used by the same pass within `grace`: the answer to that request may have been lost.
    pub async fn use_pass(
        self,
        sale: SaleId,
        (place, pass): (&str, &str),
        expires: Timestamp,
        grace: SignedDuration,
    ) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        // Without the row, the database has lost it: the signature still proves that the pass was made.
        let sql = "INSERT INTO passes (sale_id, place, made, expires_at_ms, used_at_ms, used_by) VALUES ($1, $2, 1, $3, $4, $5)
             ON CONFLICT (sale_id, place) DO UPDATE SET
               used_at_ms = COALESCE(passes.used_at_ms, excluded.used_at_ms), used_by = excluded.used_by
             WHERE passes.used_at_ms IS NULL OR (passes.used_by = excluded.used_by AND passes.used_at_ms > $6)";
        let used = tx.changed(query!(sql; sale, place, expires, tx.now, pass, tx.now - grace)).await?;
        tx.commit_and(used == 1).await
    }
    /// Deletes turns that ended long ago. Returns whether there may be more.
    pub async fn purge(self) -> StoreResult<bool> {
        let ended = values![self.now().await? - KEPT_AFTER_TURN];
        self.purge_rows(["passes", "sale_id, place"], "expires_at_ms < $1 ORDER BY expires_at_ms", ended).await
    }
}

/// Decisions of one sale. A comparison reads all of them.
const MAX_DECISIONS: i64 = 100_000;
/// How long decisions are kept after they were received. Sales in shadow mode last hours or days.
const KEEP_DECISIONS: SignedDuration = SignedDuration::from_hours(90 * 24);
/// Rows per statement of a comparison and of a purge.
const BATCH_SIZE: i64 = 2_000;

fn decision(row: &AnyRow) -> sqlx::Result<(ShopDecision, Option<NamedCustomer>)> {
    let decision = read!(row => ShopDecision { id, shopper, quantity, decided, at: "at_ms", reference })?;
    let since: Option<Timestamp> = row::get(row, "created_at_ms")?;
    let is_verified = row::get::<Option<bool>>(row, "external_verified")? == Some(true);
    Ok((decision, since.map(|since| NamedCustomer { since, is_verified })))
}

#[boxed]
impl DecisionStore<'_> {
    /// Adds the decisions whose ids are new, at most 500. Returns their number; `None` if the sale has too many.
    pub async fn add(self, sale: SaleId, decisions: &[ShopDecision]) -> StoreResult<Option<u64>> {
        let counted =
            "SELECT COUNT(*) AS count FROM (SELECT 1 FROM shop_decisions WHERE sale_id = $1 LIMIT $2) AS counted";
        let counted: i64 = self.one(query!(counted; sale, MAX_DECISIONS), column("count")).await?;
        if counted + decisions.len() as i64 > MAX_DECISIONS {
            return Ok(None);
        }
        let now = self.now().await?.as_millisecond();
        let sql =
            "INSERT INTO shop_decisions (sale_id, id, shopper, quantity, decided, at_ms, reference, received_at_ms)
             VALUES $rows ON CONFLICT (sale_id, id) DO NOTHING";
        let mut added = 0;
        for query in for_rows(sql, decisions, |of| {
            values![sale, &of.id, &of.shopper, of.quantity, of.decided, of.at, &of.reference, now]
        }) {
            added += self.changed(query).await?;
        }
        Ok(Some(added))
    }

    /// Compares all decisions of a sale, in the order of their time, with what this shop would have decided.
    pub async fn compare(self, sale: &Sale, found: &mut (dyn FnMut(Difference) + Send)) -> StoreResult<DecisionCounts> {
        let sql = "SELECT d.id AS id, shopper, quantity, decided, at_ms, reference, created_at_ms, external_verified
             FROM shop_decisions AS d LEFT JOIN users ON external_id = shopper
             WHERE sale_id = $1 AND (at_ms, d.id) > ($2, $3) ORDER BY at_ms, d.id LIMIT $4";
        let mut comparison = Comparison::of(sale);
        let mut after = (i64::MIN, String::new());
        loop {
            let page = self.all(query!(sql; sale.id, after.0, &after.1, BATCH_SIZE), decision).await?;
            let is_last = (page.len() as i64) < BATCH_SIZE;
            if let Some((last, _)) = page.last() {
                after = (last.at.as_millisecond(), last.id.clone());
            }
            for (decision, customer) in page {
                if let Some(difference) = comparison.take(decision, customer) {
                    found(difference);
                }
            }
            if is_last {
                return Ok(comparison.counts);
            }
        }
    }

    /// Deletes a bounded number of old decisions. Returns whether there may be more.
    pub async fn purge(self) -> StoreResult<bool> {
        let horizon: Timestamp = self.now().await? - KEEP_DECISIONS;
        let sql = "DELETE FROM shop_decisions WHERE (sale_id, id) IN
             (SELECT sale_id, id FROM shop_decisions WHERE received_at_ms < $1 ORDER BY received_at_ms LIMIT $2)";
        Ok(self.changed(query!(sql; horizon, BATCH_SIZE)).await? == BATCH_SIZE as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SaleDraft;
    use crate::fixture::new_store;
    use base::clock::Clock;
    use domain::front::Decided;
    use domain::{GoodsId, SaleState};

    fn sale(total: i64) -> Sale {
        let draft = SaleDraft { goods_id: GoodsId(1), total, per_user_limit: 1, ..SaleDraft::blank() };
        draft.sale(SaleId(7), SaleState::Draft)
    }

    #[tokio::test]
    async fn decisions_are_kept_once_walked_in_the_order_of_their_time_and_purged() {
        let clock = Clock::manual(Clock::system().now());
        let (_dir, store) = new_store(&clock).await;
        let began = clock.now();
        // More than one page, told in the wrong order.
        let count = BATCH_SIZE + 10;
        let all: Vec<ShopDecision> = (0..count)
            .rev()
            .map(|n| ShopDecision {
                id: format!("d{n}"),
                shopper: format!("s{n}"),
                quantity: 1,
                decided: Decided::Sold,
                at: began + SignedDuration::from_millis(n / 3),
                reference: Some(format!("order {n}")),
            })
            .collect();
        for (chunk, new) in [&all[..500], &all[..500]].into_iter().zip([500, 0]) {
            assert_eq!(store.decisions().add(SaleId(7), chunk).await.unwrap(), Some(new));
        }
        for chunk in all[500..].chunks(500) {
            store.decisions().add(SaleId(7), chunk).await.unwrap();
        }
        store.decisions().add(SaleId(8), &all[..1]).await.unwrap();
        let mut found = Vec::new();
        let counts = store.decisions().compare(&sale(count - 9), &mut |found_one| found.push(found_one)).await.unwrap();
        assert_eq!((counts.decisions, counts.units_sold, counts.oversold), (count as u64, count, 9));
        let mut latest: Vec<String> = found.into_iter().filter_map(|found| found.decision.reference).collect();
        latest.sort();
        assert_eq!(latest, (count - 9..count).map(|n| format!("order {n}")).collect::<Vec<_>>());
        clock.advance(std::time::Duration::from_secs(90 * 24 * 3_600));
        assert!(!store.decisions().purge().await.unwrap(), "not a day too early");
        clock.advance(std::time::Duration::from_secs(1));
        assert!(store.decisions().purge().await.unwrap());
        assert!(!store.decisions().purge().await.unwrap());
        let counts = store.decisions().compare(&sale(1), &mut |_| {}).await.unwrap();
        assert_eq!(counts, DecisionCounts::default());
    }
}
