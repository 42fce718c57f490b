//! Many shoppers at once, who do not give up before they have an order or hear that nothing is left.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::client::Answer;
use super::wait::pause;
use super::{Shop, Shopper};

/// Longer than anything that is broken by a test stays broken.
const PATIENCE: Duration = Duration::from_secs(90);
/// Between two tries: a little less often than one user may ask.
const BETWEEN_TRIES_MS: u64 = 250;

/// What one shopper was told.
pub struct Outcome {
    pub shopper: Arc<Shopper>,
    /// Orders that were answered, in the order of the answers; usually one.
    pub orders: Vec<String>,
    /// The codes of refusals, and `lost` for questions without an answer.
    pub refusals: BTreeMap<String, u32>,
}

/// Shoppers of one sale.
pub struct Crowd {
    sale: String,
    next: u64,
    shopping: JoinSet<Outcome>,
    done: Vec<Outcome>,
}

impl Crowd {
    pub fn new(sale: &str) -> Crowd {
        Crowd { sale: sale.into(), next: 0, shopping: JoinSet::new(), done: Vec::new() }
    }

    /// So many more shoppers come, evenly over this time.
    pub fn arrive(&mut self, shop: &Shop, count: u64, over: Duration) {
        for n in 0..count {
            let shopper = Arc::new(shop.shopper(self.next));
            self.next += 1;
            let wait = over.mul_f64(n as f64 / count as f64);
            let sale = self.sale.clone();
            self.shopping.spawn(async move {
                tokio::time::sleep(wait).await;
                insist(shopper, &sale).await
            });
        }
    }

    /// Waits until everybody who has come so far is done.
    pub async fn served(&mut self) {
        while let Some(outcome) = self.shopping.join_next().await {
            self.done.push(outcome.unwrap());
        }
    }

    pub fn outcomes(&self) -> &[Outcome] {
        assert!(self.shopping.is_empty(), "somebody is still shopping");
        &self.done
    }

    pub fn winners(&self) -> usize {
        self.outcomes().iter().filter(|outcome| !outcome.orders.is_empty()).count()
    }

    /// How often each refusal was heard.
    pub fn refusals(&self) -> HashMap<&str, u32> {
        let mut all = HashMap::new();
        for (code, count) in self.outcomes().iter().flat_map(|outcome| &outcome.refusals) {
            *all.entry(code.as_str()).or_default() += count;
        }
        all
    }
}

/// Asks until there is an order, or nothing left, or no patience.
async fn insist(shopper: Arc<Shopper>, sale: &str) -> Outcome {
    let mut outcome = Outcome { shopper: shopper.clone(), orders: Vec::new(), refusals: BTreeMap::new() };
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
        pause(BETWEEN_TRIES_MS).await;
    }
}

/// Refusals are problems that say whether another try may help.
fn refusal(answer: &Answer) -> String {
    let code = answer.code();
    let known = ["sold_out", "not_open", "busy", "rate_limited", "overloaded", "unavailable"];
    assert!(known.contains(&code.as_str()), "not a refusal: {answer:?}");
    let may_help = matches!(answer.status, 429 | 503);
    assert_eq!(!answer.header("retry-after").is_empty(), may_help, "Retry-After of {answer:?}");
    code
}
