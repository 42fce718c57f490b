//! Waiting for a condition instead of for a time.

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Polls `check` until it succeeds. Panics after `within`, with the last error.
pub async fn eventually<T>(what: &str, within: Duration, mut check: impl AsyncFnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + within;
    loop {
        match check().await {
            Ok(found) => return found,
            Err(seen) if Instant::now() >= deadline => panic!("not within {within:?}: {what}; last seen: {seen}"),
            Err(_) => pause(25).await,
        }
    }
}

/// Reads until what was read satisfies the condition, and returns it. Panics after `within`, with what was read last.
pub async fn until<T: Debug>(
    what: &str,
    within: Duration,
    mut read: impl AsyncFnMut() -> T,
    is_so: impl Fn(&T) -> bool,
) -> T {
    eventually(what, within, async || {
        let seen = read().await;
        if is_so(&seen) { Ok(seen) } else { Err(format!("{seen:?}")) }
    })
    .await
}

/// Waits between two polls or two steps of a shopper. No assertion may depend on its length.
pub async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// The seed of this run. `SECKILL_TEST_SEED` sets it, to run an earlier one again. It is printed, and nextest shows the
/// output of failed tests.
pub fn seed() -> u64 {
    let given = std::env::var("SECKILL_TEST_SEED").ok().map(|text| text.parse().expect("SECKILL_TEST_SEED"));
    let seed = given.unwrap_or_else(rand::random);
    println!("SECKILL_TEST_SEED={seed}");
    seed
}
