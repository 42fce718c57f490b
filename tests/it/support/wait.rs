//! Waiting by looking, never by hoping.

use std::time::{Duration, Instant};

/// Looks until it is so, and says what it saw last when it never was.
pub async fn eventually<T>(what: &str, within: Duration, mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + within;
    loop {
        match look().await {
            Ok(found) => return found,
            Err(seen) if Instant::now() >= deadline => panic!("not within {within:?}: {what}; last seen: {seen}"),
            Err(_) => pause(25).await,
        }
    }
}

/// Lets time pass between two looks, or two steps of people. Nothing may depend on it.
pub async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// The seed of this run's randomness; `SECKILL_TEST_SEED` repeats an earlier one. Tests print it when they fail, as
/// their output is only shown then.
pub fn seed() -> u64 {
    let given = std::env::var("SECKILL_TEST_SEED").ok().map(|text| text.parse().expect("SECKILL_TEST_SEED"));
    let seed = given.unwrap_or_else(rand::random);
    println!("SECKILL_TEST_SEED={seed}");
    seed
}
