//! The waitlist on Redis: every bucket of a sale has the number of units that are kept for accounts on the waitlist.
//!
//! **Only waiting accounts get these units.** An account is on the waitlist in the database before its request is
//! answered. Every operation that adds free units to a bucket first reads from the database how many units are waited
//! for, and raises the number in every bucket: a release, a new definition, a load, and the opening of a master that may
//! have forgotten the number. Units move between buckets, so each bucket keeps as many as the sale has to keep. A bucket
//! of a split sale may thus keep more than its share, for as long as a segment lasts.
//!
//! **The number is lowered** once fewer units are waited for. It is read with its mark before the database is asked, and
//! lowered only if the mark is still the same, because between the answer and the change an account may have joined and
//! a unit may have come back.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::load::StockCounters;
use super::redis::{Mode, RedisStock};
use super::{Unavailable, WaitedStock};
use crate::batching::Batch;
use crate::redis::{keys, malformed, parse};
use domain::claim::{Claim, Decision};
use domain::{Bucket, Sale, SaleId};
use store::HeldUnits;

/// How many units a loaded bucket keeps.
struct Kept {
    units: i64,
    /// Identifies the moment: the epoch and the number of times that the number was raised.
    mark: String,
}

impl RedisStock {
    /// Keeps units in the buckets whose sale has waiting accounts.
    pub async fn keep_for_waiters(&self, sales: &[SaleId], buckets: &[Bucket]) -> Result<(), Unavailable> {
        let waited = self.store.waitlists().waited_for(sales).await?;
        for bucket in buckets {
            if let Some(units) = bucket.sale().and_then(|sale| waited.get(&sale)) {
                self.keep(*bucket, *units, "").await?;
            }
        }
        Ok(())
    }

    /// Like [`RedisStock::keep_for_waiters`], for all buckets of sales whose units are about to be released. The
    /// releases are already in the database, so accounts that waited when they were requested are found.
    pub(super) async fn keep_releases_for_waiters(&self, releases: &[HeldUnits]) -> Result<(), Unavailable> {
        let mut sales: Vec<SaleId> = releases.iter().map(|release| release.sale_id).collect();
        sales.sort_unstable();
        sales.dedup();
        let mut buckets = Vec::with_capacity(sales.len());
        for &sale in &sales {
            buckets.extend(Bucket::all(sale, self.bucket_count(sale).await?));
        }
        self.keep_for_waiters(&sales, &buckets).await
    }

    /// Keeps at least so many units, or exactly so many if the bucket still has this mark.
    async fn keep(&self, bucket: Bucket, units: i64, mark: &str) -> Result<(), Unavailable> {
        let mut call = self.scripts.waited.key(keys::hash(bucket));
        let _: i64 = call.arg(units).arg(mark).invoke_async(&mut self.master.clone()).await?;
        Ok(())
    }

    /// What each bucket keeps; `None` if it is not loaded or its server does not answer.
    async fn kept(&self, buckets: &[Bucket]) -> Result<Vec<Option<Kept>>, Unavailable> {
        let answers =
            self.master.each(buckets, |pipe, bucket| pipe.hmget(keys::hash(bucket), &["Epoch", "Waits", "Waited"]));
        let mut all = Vec::with_capacity(buckets.len());
        for answer in answers.await? {
            let Ok(answer) = answer else {
                all.push(None);
                continue;
            };
            let [fields] = answer.as_slice() else { return Err(malformed("a mark")) };
            all.push(match parse::<Vec<Option<i64>>>(fields, "a mark")?.as_slice() {
                &[Some(epoch), waits, waited] => {
                    Some(Kept { units: waited.unwrap_or(0), mark: format!("{epoch}:{}", waits.unwrap_or(0)) })
                }
                _ => None,
            });
        }
        Ok(all)
    }
}

#[async_trait]
impl WaitedStock for RedisStock {
    async fn follow_waitlist(&self, sale: &Sale) -> Result<(), Unavailable> {
        let buckets: Vec<Bucket> = Bucket::of_sale(sale).collect();
        let all = self.kept(&buckets).await?;
        let units = self.store.waitlists().waited_units(sale.id).await?;
        for (bucket, kept) in buckets.into_iter().zip(all) {
            match kept {
                Some(kept) if kept.units < units => self.keep(bucket, units, "").await?,
                Some(kept) if kept.units > units => self.keep(bucket, units, &kept.mark).await?,
                _ => {}
            }
        }
        Ok(())
    }

    async fn free_units(&self, sale: &Sale) -> Result<i64, Unavailable> {
        let survey = self.survey(&Bucket::of_sale(sale).collect::<Vec<_>>()).await?;
        Ok(StockCounters::of_sale(&survey).map_or(0, |loaded| sale.total - loaded.booked))
    }

    async fn offer(&self, sale: &Sale, claims: &[Claim]) -> Result<Vec<Decision>, Unavailable> {
        let mut by_bucket: BTreeMap<Bucket, Vec<(usize, Claim)>> = BTreeMap::new();
        for (number, claim) in claims.iter().enumerate() {
            let bucket = Bucket::of_user(sale.id, sale.rush.buckets, claim.user_id);
            by_bucket.entry(bucket).or_default().push((number, *claim));
        }
        // These grants need no grant log: the waitlist in the database records which accounts got an offer.
        let mut decisions = vec![Decision::NotLoaded; claims.len()];
        for (bucket, numbered) in by_bucket {
            let batch = Batch { bucket, claims: numbered.iter().map(|(_, claim)| *claim).collect() };
            let answer = self.call_reserve(Mode::Offer, &[batch]).await.pop().transpose()?.flatten();
            let Some(answer) = answer else { continue };
            for ((number, _), decision) in numbered.iter().zip(answer.decisions) {
                decisions[*number] = decision;
            }
        }
        Ok(decisions)
    }
}
