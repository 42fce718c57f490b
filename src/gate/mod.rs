//! Admission. The gate judges by facts that a replica told a moment ago, kept in memory; it does no I/O for a request.
//! It may refuse; it never grants: what it lets in is decided by the master.

mod board;
mod status;
mod token;

use std::sync::Arc;

use axum::body::Bytes;
use jiff::Timestamp;
use secrecy::SecretString;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use status::SaleStatus;

use crate::catalogue::Catalogue;
use crate::clock::Clock;
use crate::config::WebConfig;
use crate::counters::{CounterRegistry, SaleCounters};
use crate::domain::Bucket;
use crate::domain::{Phase, Refusal, SaleId, UserId};
use crate::metrics::Metrics;
pub(crate) use crate::rate_limit::UserLimit;
use crate::stock::FactSource;
use board::SaleBoard;
use token::Tokens;

/// A shopper before the gate whom neither the flags nor the rate limit turn away. Nothing of the request but its address
/// and its sender was looked at so far.
#[derive(Debug)]
pub struct AdmissionRequest {
    pub user: UserId,
    sale: SaleId,
    /// Where the user is served.
    bucket: Bucket,
    per_user_limit: i64,
    counters: Option<Arc<SaleCounters>>,
}

/// A request that may go on to the backend of stock.
#[derive(Debug)]
pub struct Admitted {
    pub quantity: u32,
    /// Where the user is served.
    pub bucket: Bucket,
    /// Where to count what becomes of it.
    pub counters: Option<Arc<SaleCounters>>,
}

/// The gate of one process.
pub struct Gate {
    board: SaleBoard,
    limit: UserLimit,
    tokens: Tokens,
    admission_percent: i64,
    clock: Clock,
}

impl Gate {
    pub fn new(
        source: Arc<dyn FactSource>,
        catalogue: Arc<Catalogue>,
        config: &WebConfig,
        secret: &SecretString,
        clock: Clock,
        metrics: Arc<Metrics>,
        registry: Arc<CounterRegistry>,
    ) -> Gate {
        Gate {
            board: SaleBoard::new(source, catalogue, clock.clone(), metrics, registry),
            limit: UserLimit::new(config.user_rate),
            tokens: Tokens::new(secret),
            admission_percent: config.admission_percent,
            clock,
        }
    }

    /// The answer about a sale's button, ready to be sent; `None` when there is no such sale.
    pub fn button(&self, sale: SaleId) -> Option<Bytes> {
        self.board.button(sale)
    }

    /// What the gate knows of a sale.
    pub fn status(&self, sale: SaleId) -> Option<SaleStatus> {
        self.board.status(sale, self.clock.now())
    }

    /// When the facts were read last; what the gate knows is as old.
    pub fn facts_at(&self) -> Option<Timestamp> {
        self.board.read_at()
    }

    /// A purchase token for a user, once the sale is open. Sold out counts as open: units may come back.
    pub fn issue_token(&self, sale: SaleId, user: UserId) -> Result<(String, Timestamp), Refusal> {
        let now = self.clock.now();
        let status = self.board.status(sale, now).ok_or(Refusal::NoSuchSale)?;
        match status.phase {
            Phase::Open | Phase::SoldOut => Ok(self.tokens.issue(sale, user, now)),
            Phase::Upcoming | Phase::Paused => Err(Refusal::NotOpen),
            Phase::Ended => Err(Refusal::Ended),
        }
    }

    /// Judges a buying request by what costs least: how often the user asks, and the flags. Nearly everybody is turned
    /// away here, before the request is read. Every refusal is counted.
    pub fn request_admission(&self, user: UserId, sale: SaleId) -> Result<AdmissionRequest, Refusal> {
        let (status, counters) = self.board.see(sale, self.clock.now()).unzip();
        let counters = counters.flatten();
        match self.judge_flags(user, sale, status) {
            Ok(SaleStatus { per_user_limit, buckets, .. }) => Ok(AdmissionRequest {
                user,
                sale,
                bucket: Bucket::of_user(sale, buckets, user),
                per_user_limit,
                counters,
            }),
            Err(refusal) => {
                if let Some(counters) = &counters {
                    counters.judged(Some(refusal));
                }
                Err(refusal)
            }
        }
    }

    /// Judges what the request says. `token` is `None` for a form that was sent without a script, which could not fetch
    /// one; the sale must be open for it all the same. Every request is counted.
    pub fn admit(&self, request: AdmissionRequest, quantity: i64, token: Option<&str>) -> Result<Admitted, Refusal> {
        let judged = self.judge_words(&request, quantity, token);
        if let Some(counters) = &request.counters {
            counters.judged(judged.err());
        }
        judged.map(|quantity| Admitted { quantity, bucket: request.bucket, counters: request.counters })
    }

    fn judge_flags(&self, user: UserId, sale: SaleId, status: Option<SaleStatus>) -> Result<SaleStatus, Refusal> {
        if !self.limit.allows(user) {
            return Err(Refusal::RateLimited);
        }
        let status = status.ok_or(Refusal::NoSuchSale)?;
        let closed = match status.phase {
            Phase::Open => None,
            Phase::Upcoming => return Err(Refusal::NotOpen),
            Phase::SoldOut => Some(Refusal::SoldOut),
            Phase::Paused => Some(Refusal::NotOpen),
            Phase::Ended => Some(Refusal::Ended),
        };
        if let Some(refusal) = closed {
            // Whoever may hold units is let through to hear of them: a winner is never told that all are gone.
            return if self.board.may_have_won(sale, user) { Ok(status) } else { Err(refusal) };
        }
        let let_in = status.access.unwrap_or(0);
        if let_in >= status.total.saturating_mul(self.admission_percent) / 100 {
            return Err(Refusal::Busy);
        }
        Ok(status)
    }

    /// The answer is the quantity.
    fn judge_words(&self, request: &AdmissionRequest, quantity: i64, token: Option<&str>) -> Result<u32, Refusal> {
        let quantity = u32::try_from(quantity).ok().filter(|q| *q > 0).ok_or(Refusal::BadQuantity)?;
        if let Some(token) = token
            && !self.tokens.holds(token, request.sale, request.user, self.clock.now())
        {
            return Err(Refusal::BadToken);
        }
        if i64::from(quantity) > request.per_user_limit {
            return Err(Refusal::OverLimit);
        }
        Ok(quantity)
    }

    /// ReplayGrants the facts fresh until it is stopped, and beside them the lists of winners.
    pub async fn follow(&self, stop: CancellationToken) {
        let looks = async {
            let mut tick = tokio::time::interval(board::EVERY);
            tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                tick.tick().await;
                self.board.look().await;
            }
        };
        let lists = async {
            loop {
                let began = Instant::now();
                self.board.read_winners().await;
                tokio::time::sleep(board::EVERY.max(began.elapsed())).await;
            }
        };
        stop.run_until_cancelled(futures::future::join(looks, lists)).await;
    }

    /// Looks at all facts now, for somebody who has just changed them.
    pub async fn refresh(&self) {
        self.board.refresh().await;
    }

    /// Also reads who has won.
    pub async fn refresh_winners(&self) {
        self.board.refresh().await;
        self.board.read_winners().await;
        self.board.refresh().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use async_trait::async_trait;
    use uuid::Uuid;

    use super::*;
    use crate::app::demo;
    use crate::config::{Config, sqlite_in};
    use crate::domain::Window;
    use crate::domain::claim::Unavailable;
    use crate::domain::sale::SaleState;
    use crate::stock::Facts;
    use crate::store::Store;

    /// Everything is sold out, and who has won takes for ever to read.
    #[derive(Default)]
    struct Endless {
        looks: AtomicU32,
    }

    #[async_trait]
    impl FactSource for Endless {
        async fn facts(&self, buckets: &[Bucket]) -> Result<Vec<(SaleId, Facts)>, Unavailable> {
            self.looks.fetch_add(1, Ordering::Relaxed);
            let facts = Facts {
                state: SaleState::Live,
                window: Window { opens_at: None, closes_at: None },
                total: 9,
                booked: 9,
                access: 9,
                granted: 9,
                per_user_limit: 1,
            };
            Ok(buckets.iter().filter_map(|bucket| Some((bucket.sale()?, facts))).collect())
        }

        async fn winners(&self, _: Bucket) -> Result<Vec<UserId>, Unavailable> {
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn a_long_list_of_winners_delays_no_look() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&sqlite_in(dir.path())).unwrap();
        store.migrate().await.unwrap();
        demo::stock_up(&store, Clock::system().now()).await.unwrap();
        let catalogue = Arc::new(Catalogue::new(store));
        catalogue.refresh().await.unwrap();
        let source = Arc::new(Endless::default());
        let (web, secret) = (Config::defaults().web, SecretString::from("s".repeat(64)));
        let (clock, metrics, registry) = (Clock::system(), Arc::default(), Arc::default());
        let gate = Gate::new(source.clone(), catalogue.clone(), &web, &secret, clock, metrics, registry);
        let stop = CancellationToken::new();
        let looked = async {
            while source.looks.load(Ordering::Relaxed) < 5 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            stop.cancel();
        };
        let both = futures::future::join(gate.follow(stop.clone()), looked);
        tokio::time::timeout(Duration::from_secs(20), both).await.expect("looks go on");
        let sale = catalogue.active()[0];
        assert_eq!(gate.status(sale).map(|status| status.phase), Some(Phase::SoldOut));
        assert!(
            gate.request_admission(UserId(Uuid::now_v7()), sale).is_ok(),
            "meanwhile the master is asked about everybody"
        );
    }
}
