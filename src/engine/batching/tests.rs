use std::sync::Mutex;

use tokio::sync::Semaphore;

use super::*;
use domain::SaleId;

/// A claim that makes the backend panic.
const POISON: usize = usize::MAX;

/// Grants every claim. Each call waits for a permit.
struct Recorder {
    batch_key: fn(Bucket) -> BatchKey,
    calls: Mutex<Vec<Vec<(i64, usize)>>>,
    permits: Semaphore,
    max_calls: usize,
}

#[async_trait]
impl BatchHandler for Recorder {
    type Claim = usize;
    type Decision = usize;
    type Counters = ();

    async fn decide(&self, batches: &[Batch<usize>]) -> Vec<Result<Vec<usize>, Unavailable>> {
        let call = batches.iter().map(|batch| (batch.bucket.sale().unwrap().0, batch.claims.len()));
        self.calls.lock().unwrap().push(call.collect());
        self.permits.acquire().await.unwrap().forget();
        assert!(!batches.iter().any(|batch| batch.claims.contains(&POISON)), "panics on purpose");
        batches.iter().map(|batch| Ok(batch.claims.clone())).collect()
    }

    fn batch_key(&self, bucket: Bucket) -> BatchKey {
        (self.batch_key)(bucket)
    }

    fn max_calls(&self) -> usize {
        self.max_calls
    }

    fn count(_: &Metrics, _: Option<&()>, _: Option<&usize>, _: Duration) {}

    fn measure(_: &Metrics, _: usize, _: Duration) {}
}

fn batcher(batch_key: fn(Bucket) -> BatchKey) -> Batcher<Recorder> {
    let recorder = Recorder { batch_key, calls: Mutex::default(), permits: Semaphore::new(0), max_calls: 1 };
    Batcher::new(Arc::new(recorder), Arc::new(Metrics::default()))
}

/// Sale and number of claims in each call, when these numbers of claims on sales 1, 2, … arrive while a claim on sale 0 is
/// being decided.
async fn calls(batch_key: fn(Bucket) -> BatchKey, claims: &[usize]) -> Vec<Vec<(i64, usize)>> {
    let batcher = batcher(batch_key);
    let bucket = |sale: usize| Bucket::whole(SaleId(sale as i64));
    let claim = |sale, n| {
        let batcher = batcher.clone();
        tokio::spawn(async move { batcher.claim(bucket(sale), n, None).await })
    };
    let mut answers = vec![(0, claim(0, 0))];
    while batcher.backend.calls.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    for (sale, &count) in claims.iter().enumerate() {
        answers.extend((0..count).map(|n| (n, claim(sale + 1, n))));
    }
    tokio::task::yield_now().await;
    batcher.backend.permits.add_permits(100);
    for (n, answer) in answers {
        assert_eq!(answer.await.unwrap().unwrap(), n, "every caller gets the decision about its own claim");
    }
    batcher.finish().await;
    std::mem::take(&mut *batcher.backend.calls.lock().unwrap())
}

#[tokio::test]
async fn claims_on_many_sales_share_a_call_where_one_server_decides_them() {
    let together = calls(|_| BatchKey::Shared, &[2, 1, 3]).await;
    assert_eq!(together, [vec![(0, 1)], vec![(1, 2), (2, 1), (3, 3)]]);
    let mut apart = calls(BatchKey::Bucket, &[2, 1, 3]).await;
    apart.sort();
    assert_eq!(apart, [[(0, 1)], [(1, 2)], [(2, 1)], [(3, 3)]]);
}

#[tokio::test]
async fn busy_sale_does_not_delay_the_others() {
    let calls = calls(|_| BatchKey::Shared, &[Recorder::MAX_CLAIMS * 2 + 1, 1]).await;
    assert_eq!(
        calls[1..],
        [vec![(1, Recorder::MAX_CLAIMS)], vec![(2, 1), (1, Recorder::MAX_CLAIMS - 1)], vec![(1, 2)]]
    );
}

#[tokio::test]
async fn buckets_per_call_are_bounded() {
    let calls = calls(|_| BatchKey::Shared, &[1; MAX_BUCKETS_PER_CALL + 3]).await;
    assert_eq!(calls.iter().map(Vec::len).collect::<Vec<_>>(), [1, MAX_BUCKETS_PER_CALL, 3]);
}

#[tokio::test]
async fn full_queue_of_one_sale_refuses_only_its_own_claims() {
    let batcher = batcher(|_| BatchKey::Shared);
    let claim = |sale| batcher.claim(Bucket::whole(SaleId(sale)), 0, None);
    let mut waiting: Vec<_> = (0..MAX_PENDING_PER_BUCKET).map(|_| Box::pin(claim(1))).collect();
    for claim in &mut waiting {
        assert!(futures::poll!(claim).is_pending());
    }
    assert!(matches!(claim(1).await, Err(NoDecision::QueueFull)));
    assert!(futures::poll!(std::pin::pin!(claim(2))).is_pending());
}

#[tokio::test]
async fn queue_survives_a_panic() {
    let batcher = batcher(|_| BatchKey::Shared);
    batcher.backend.permits.add_permits(2);
    let claim = |n| batcher.claim(Bucket::whole(SaleId(1)), n, None);
    assert!(matches!(claim(POISON).await, Err(NoDecision::Unknown(_))));
    assert_eq!(claim(1).await.unwrap(), 1);
}

#[tokio::test]
async fn calls_of_one_queue_run_side_by_side_up_to_their_limit() {
    let recorder =
        Recorder { batch_key: |_| BatchKey::Shared, calls: Mutex::default(), permits: Semaphore::new(0), max_calls: 2 };
    let batcher = Batcher::new(Arc::new(recorder), Arc::new(Metrics::default()));
    let mut answers = Vec::new();
    for n in 0..5 {
        let one = batcher.clone();
        answers.push(tokio::spawn(async move { one.claim(Bucket::whole(SaleId(1)), n, None).await }));
        // Yields often enough for a call to begin.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
    let calls =
        || batcher.backend.calls.lock().unwrap().iter().flatten().map(|(_, claims)| *claims).collect::<Vec<_>>();
    assert_eq!(calls(), [1, 1], "the third claim waits");
    batcher.backend.permits.add_permits(100);
    for (n, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer.await.unwrap().unwrap(), n);
    }
    assert_eq!(calls(), [1, 1, 3]);
}
