//! The waitlist on Redis: every bucket of a sale has a mark that says whether accounts wait for its units.
//!
//! **Only waiting accounts get units.** An account is on the waitlist in the database before its request is answered.
//! Every operation that adds free units to a bucket first reads the waitlist from the database, and marks every bucket
//! if accounts wait: a release, a new definition, a load, and the opening of a master that may have forgotten the mark.
//! Units move between buckets, so one mark per sale is not enough.
//!
//! **The mark is removed** when no account waits any more. It is read before the database is asked, and removed only if
//! it is still the same, because between the answer and the removal an account may have joined and a unit may have come
//! back.

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

/// The mark of a loaded bucket.
struct Mark {
    is_set: bool,
    /// Identifies the mark: the epoch and the number of times that the bucket was marked.
    text: String,
}

impl RedisStock {
    /// Marks the buckets whose sale has waiting accounts.
    pub async fn keep_for_waiters(&self, sales: &[SaleId], buckets: &[Bucket]) -> Result<(), Unavailable> {
        let waited = self.store.waitlists().waited_for(sales).await?;
        for bucket in buckets.iter().filter(|bucket| bucket.sale().is_some_and(|sale| waited.contains(&sale))) {
            self.mark(*bucket, "wait", "").await?;
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

    async fn mark(&self, bucket: Bucket, word: &str, read: &str) -> Result<(), Unavailable> {
        let mut call = self.scripts.waited.key(keys::hash(bucket));
        let _: i64 = call.arg(word).arg(read).invoke_async(&mut self.master.clone()).await?;
        Ok(())
    }

    /// The mark of each bucket; `None` if it is not loaded or its server does not answer.
    async fn marks(&self, buckets: &[Bucket]) -> Result<Vec<Option<Mark>>, Unavailable> {
        let answers =
            self.master.each(buckets, |pipe, bucket| pipe.hmget(keys::hash(bucket), &["Epoch", "Waits", "Waited"]));
        let mut marks = Vec::with_capacity(buckets.len());
        for answer in answers.await? {
            let Ok(answer) = answer else {
                marks.push(None);
                continue;
            };
            let [fields] = answer.as_slice() else { return Err(malformed("a mark")) };
            marks.push(match parse::<Vec<Option<i64>>>(fields, "a mark")?.as_slice() {
                &[Some(epoch), waits, waited] => {
                    Some(Mark { is_set: waited == Some(1), text: format!("{epoch}:{}", waits.unwrap_or(0)) })
                }
                _ => None,
            });
        }
        Ok(marks)
    }
}

#[async_trait]
impl WaitedStock for RedisStock {
    async fn follow_waitlist(&self, sale: &Sale) -> Result<(), Unavailable> {
        let buckets: Vec<Bucket> = Bucket::of_sale(sale).collect();
        let marks = self.marks(&buckets).await?;
        let is_waited_for = self.store.waitlists().is_waited_for(sale.id).await?;
        for (bucket, mark) in buckets.into_iter().zip(marks) {
            match mark {
                Some(mark) if is_waited_for && !mark.is_set => self.mark(bucket, "wait", "").await?,
                Some(mark) if !is_waited_for && mark.is_set => self.mark(bucket, "none", &mark.text).await?,
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
