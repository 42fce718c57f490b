//! The waitlist on Redis: every bucket of a sale has the number of units that are kept for accounts on the waitlist.
//!
//! **Only waiting accounts get these units.** An account is on the waitlist in the database before its request is
//! answered. Every operation that adds free units to a bucket first reads from the database how many units are waited
//! for, and raises the number in that bucket: a release, a new definition, a load, an allotment, and the opening of a
//! master that may have forgotten the number. No operation needs a second bucket, so a server that is away delays only
//! its own buckets. Units move between buckets, so each bucket keeps as many as the sale has to keep. A bucket of a split
//! sale may thus keep more than its share, for as long as a segment lasts.
//!
//! **The number is lowered** once fewer units are waited for. It is read with its mark before the database is asked, and
//! lowered only if the mark is still the same, because between the answer and the change an account may have joined and
//! a unit may have come back.

use std::collections::BTreeMap;

use async_trait::async_trait;
use boxed::boxed;
use futures::future::join_all;

use super::load::BucketState;
use super::redis::{Mode, RedisStock, unless_all_failed, within_limit};
use super::{FreeUnits, Reply, WaitedStock};
use crate::batching::Batch;
use crate::redis::keys;
use domain::claim::{Claim, Decision};
use domain::{Bucket, Sale};
use store::Allotment;

/// How many units a loaded bucket keeps.
struct Kept {
    units: i64,
    /// Identifies the moment: the epoch and the number of times that the number was raised.
    mark: String,
}

#[boxed]
impl RedisStock {
    /// Keeps units in a bucket whose sale has waiting accounts. Must precede every operation that adds free units to the
    /// bucket.
    pub async fn keep_for_waiters(&self, bucket: Bucket) -> Reply<()> {
        let Some(sale) = bucket.sale() else { return Ok(()) };
        match self.store.waitlists().waited_for(&[sale]).await?.get(&sale) {
            Some(units) => self.keep(bucket, *units, "").await,
            None => Ok(()),
        }
    }

    /// Keeps at least so many units, or exactly so many if the bucket still has this mark.
    pub(super) async fn keep(&self, bucket: Bucket, units: i64, mark: &str) -> Reply<()> {
        let mut call = self.scripts.waited.key(keys::hash(bucket));
        let _: i64 = call.arg(units).arg(mark).invoke_async(&mut self.master.clone()).await?;
        Ok(())
    }

    /// What each bucket keeps; `None` if it is not loaded or its server does not answer.
    async fn kept(&self, buckets: &[Bucket]) -> Reply<Vec<Option<Kept>>> {
        let kept = |[epoch, waits, waited]: [Option<i64>; 3]| {
            Some(Kept { units: waited.unwrap_or(0), mark: format!("{}:{}", epoch?, waits.unwrap_or(0)) })
        };
        self.numbers(buckets, ["Epoch", "Waits", "Waited"], kept).await
    }
}

#[async_trait]
impl WaitedStock for RedisStock {
    async fn follow_waitlist(&self, sale: &Sale) -> Reply<()> {
        let buckets: Vec<Bucket> = Bucket::of_sale(sale).collect();
        let all = self.kept(&buckets).await?;
        let units = self.store.waitlists().waited_units(sale.id).await?;
        let changes = buckets.into_iter().zip(all).filter_map(|(bucket, kept)| match kept? {
            kept if kept.units < units => Some((bucket, String::new())),
            kept if kept.units > units => Some((bucket, kept.mark)),
            _ => None,
        });
        let kept = changes.map(async |(bucket, mark)| within_limit(bucket, self.keep(bucket, units, &mark)).await);
        unless_all_failed(join_all(kept).await).map(drop)
    }

    async fn free_units(&self, sale: &Sale) -> Reply<FreeUnits> {
        let survey = self.survey(&Bucket::of_sale(sale).collect::<Vec<_>>()).await?;
        // Read after the survey: what a bucket was given since it was seen counts as sold.
        let allotments = match sale.rush.buckets {
            1 => Vec::new(),
            count => self.store.sales().allotments(sale.id, count).await?,
        };
        Ok(free_units(sale.total, &survey, &allotments))
    }

    async fn offer(&self, sale: &Sale, claims: &[Claim]) -> Reply<Vec<Decision>> {
        let mut by_bucket: BTreeMap<Bucket, Vec<(usize, Claim)>> = BTreeMap::new();
        for (number, claim) in claims.iter().enumerate() {
            let bucket = Bucket::of_user(sale.id, sale.rush.buckets, claim.user_id);
            by_bucket.entry(bucket).or_default().push((number, *claim));
        }
        // These grants need no grant log: the waitlist in the database records which accounts got an offer.
        let mut decisions = vec![Decision::NotLoaded; claims.len()];
        let answers = by_bucket.into_iter().map(async |(bucket, numbered)| {
            let (numbers, claims): (Vec<usize>, Vec<Claim>) = numbered.into_iter().unzip();
            let batch = [Batch { bucket, claims }];
            let answer = within_limit(bucket, async {
                Ok(self.call_reserve(Mode::Offer, &batch).await.pop().transpose()?.flatten())
            });
            Ok((numbers, answer.await?))
        });
        for (numbers, answer) in unless_all_failed(join_all(answers).await)? {
            for (number, decision) in numbers.into_iter().zip(answer.into_iter().flat_map(|a| a.decisions)) {
                decisions[number] = decision;
            }
        }
        Ok(decisions)
    }
}

/// The free units of a sale. A bucket that stands still may have sold everything that it was allotted, so all of it
/// counts as sold. `allotments` is empty if the sale is not split.
fn free_units(total: i64, survey: &[(Bucket, BucketState)], allotments: &[Allotment]) -> FreeUnits {
    let mut free = FreeUnits { units: total, standing_still: Vec::new() };
    for (number, (bucket, state)) in survey.iter().enumerate() {
        let booked = state.loaded().map(|loaded| loaded.booked);
        free.units -= match booked.filter(|_| state.decides()) {
            Some(booked) => booked,
            None => {
                free.standing_still.push(*bucket);
                let allotted = allotments.get(number).map_or(total, |row| row.allotted);
                allotted.max(booked.unwrap_or_default())
            }
        };
    }
    free
}

#[cfg(test)]
mod tests {
    use domain::SaleId;
    use domain::sale::SaleState;

    use super::*;
    use crate::redis::replay::{Generation, LoadedGeneration};
    use crate::stock::load::StockCounters;

    fn loaded(booked: i64, open: bool) -> BucketState {
        let present = Generation::parse(1, &[b'0'; 40]).unwrap();
        let generation = LoadedGeneration { present, open };
        BucketState::Loaded(StockCounters {
            generation,
            version: 1,
            state: SaleState::Live,
            booked,
            share: 0,
            outbox: 0,
        })
    }

    /// The free units of a sale of 12 with these buckets, each with four units allotted, and the numbers of those that
    /// stand still.
    fn free(states: &[BucketState]) -> (i64, Vec<usize>) {
        let buckets: Vec<Bucket> = Bucket::all(SaleId(7), states.len() as u8).collect();
        let survey: Vec<_> = buckets.iter().copied().zip(states.iter().copied()).collect();
        let rows = (0..).map(|part| Allotment { part, allotted: 4, target: 4, fence: 1 });
        let rows: Vec<Allotment> = rows.take(if states.len() > 1 { states.len() } else { 0 }).collect();
        let FreeUnits { units, standing_still } = free_units(12, &survey, &rows);
        let number = |bucket: &Bucket| buckets.iter().position(|other| other == bucket).unwrap();
        (units, standing_still.iter().map(number).collect())
    }

    #[test]
    fn bucket_that_stands_still_counts_as_sold() {
        use BucketState::{NotLoaded, Unreachable};
        assert_eq!(free(&[loaded(4, true), loaded(3, true), loaded(4, true)]), (1, vec![]));
        for still in [Unreachable, NotLoaded, loaded(1, false)] {
            assert_eq!(free(&[loaded(4, true), still, loaded(2, true)]), (2, vec![1]), "{still:?}");
            assert_eq!(free(&[still]), (0, vec![0]), "{still:?} is the whole sale");
        }
        assert_eq!(
            free(&[loaded(4, true), loaded(6, false), Unreachable]),
            (-2, vec![1, 2]),
            "forgotten grants came back"
        );
    }

    #[test]
    fn units_of_the_pool_are_free() {
        // 12 units, of which two buckets were allotted 8.
        assert_eq!(free(&[BucketState::Unreachable, loaded(4, true)]), (4, vec![0]));
    }
}
