//! Load on one sale: many shoppers who retry until they have an order or read that the sale is sold out.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::client::Answer;
use super::wait::pause;
use super::{Shop, Shopper};

/// Longer than any fault that a test injects.
const PATIENCE: Duration = Duration::from_secs(90);
/// Time between two tries, slightly longer than the rate limit of one user asks for.
const RETRY_INTERVAL_MS: u64 = 250;

/// The answers that one shopper got.
pub struct ShopperOutcome {
    pub shopper: Arc<Shopper>,
    /// Order ids in the answers, oldest first; usually one.
    pub orders: Vec<String>,
    /// Refusals by code, and `lost` for requests without an answer.
    pub refusals: BTreeMap<String, u32>,
}

/// The shoppers of one sale.
pub struct Load {
    sale: String,
    next: u64,
    shopping: JoinSet<ShopperOutcome>,
    done: Vec<ShopperOutcome>,
}

impl Load {
    pub fn new(sale: &str) -> Load {
        Load { sale: sale.into(), next: 0, shopping: JoinSet::new(), done: Vec::new() }
    }

    /// Starts `count` more shoppers, evenly over this time.
    pub fn arrive(&mut self, shop: &Shop, count: u64, over: Duration) {
        for n in 0..count {
            let shopper = Arc::new(shop.shopper(self.next));
            self.next += 1;
            let wait = over.mul_f64(n as f64 / count as f64);
            let sale = self.sale.clone();
            self.shopping.spawn(async move {
                tokio::time::sleep(wait).await;
                buy_until_settled(shopper, &sale).await
            });
        }
    }

    /// Waits until every shopper started so far is done.
    pub async fn finish(&mut self) {
        while let Some(outcome) = self.shopping.join_next().await {
            self.done.push(outcome.unwrap());
        }
    }

    /// Starts `count` more shoppers, evenly over this time, and waits until they are done.
    pub async fn serve(&mut self, shop: &Shop, count: u64, over: Duration) {
        self.arrive(shop, count, over);
        self.finish().await;
    }

    pub fn outcomes(&self) -> &[ShopperOutcome] {
        assert!(self.shopping.is_empty(), "shoppers are still running");
        &self.done
    }

    pub fn winners(&self) -> usize {
        self.outcomes().iter().filter(|outcome| !outcome.orders.is_empty()).count()
    }

    /// Refusals of all shoppers by code.
    pub fn refusals(&self) -> HashMap<&str, u32> {
        let mut all = HashMap::new();
        for (code, count) in self.outcomes().iter().flat_map(|outcome| &outcome.refusals) {
            *all.entry(code.as_str()).or_default() += count;
        }
        all
    }
}

/// Tries until there is an order or the sale is sold out. Panics after [`PATIENCE`].
async fn buy_until_settled(shopper: Arc<Shopper>, sale: &str) -> ShopperOutcome {
    let mut outcome = ShopperOutcome { shopper: shopper.clone(), orders: Vec::new(), refusals: BTreeMap::new() };
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = shopper.try_buy(sale, 1).await;
        let code = match &answer {
            Ok(answer) if matches!(answer.status, 200 | 202) => {
                outcome.orders.push(answer.order_id());
                return outcome;
            }
            Ok(answer) => refusal(answer),
            Err(_) => "lost".to_owned(),
        };
        *outcome.refusals.entry(code.clone()).or_default() += 1;
        if code == "sold_out" {
            return outcome;
        }
        assert!(Instant::now() < deadline, "a shopper lost patience after {:?}", outcome.refusals);
        pause(RETRY_INTERVAL_MS).await;
    }
}

/// The code of a refusal. Fails unless the code is documented and `Retry-After` is set exactly when a retry may help.
fn refusal(answer: &Answer) -> String {
    let code = answer.code();
    let known = ["sold_out", "not_open", "busy", "rate_limited", "overloaded", "too_early", "unavailable"];
    assert!(known.contains(&code.as_str()), "not a refusal: {answer:?}");
    let retryable = matches!(answer.status, 429 | 503);
    assert_eq!(!answer.header("retry-after").is_empty(), retryable, "Retry-After of {answer:?}");
    code
}
