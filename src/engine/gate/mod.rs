//! Admission. The gate checks buying requests against facts that were read from a replica moments ago and are kept in
//! memory, without I/O. It may refuse a request, but it never grants units: the master decides about the requests that
//! it admits.

mod board;
mod status;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use board::SaleBoard;
use jiff::Timestamp;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::catalogue::Catalogue;
use crate::stock::FactSource;
use base::clock::Clock;
use base::config::WebConfig;
use base::counters::{CounterRegistry, SaleCounters};
use base::metrics::Metrics;
use base::periodic::Periodic;
use base::signing::{ShopSecret, Signer};
use domain::{Bucket, ModeName, Phase, Refusal, SaleId, UserId};

pub use status::{Button, SaleStatus};

pub use base::rate_limit::UserLimit;

/// A buying request that passed the rate limit and the sale's flags. Only its URL and its user have been examined so
/// far.
#[derive(Debug)]
pub struct AdmissionRequest {
    pub user: UserId,
    sale: SaleId,
    /// The bucket that serves the user.
    bucket: Bucket,
    per_user_limit: i64,
    /// How a request without a token is refused, if only a token proves that the user may buy.
    without_token: Option<Refusal>,
    counters: Option<Arc<SaleCounters>>,
}

/// A request that may go on to the stock backend.
#[derive(Debug)]
pub struct Admitted {
    pub quantity: u32,
    /// The bucket that serves the user.
    pub bucket: Bucket,
    /// The caller counts the stock backend's decision here.
    pub counters: Option<Arc<SaleCounters>>,
    /// When it was admitted.
    pub at: Timestamp,
}

/// A purchase token.
#[derive(Debug)]
pub struct IssuedToken {
    pub token: String,
    pub expires_at: Timestamp,
    /// The user's own moment in the sale's spread, if it is still to come.
    pub not_before: Option<Timestamp>,
}

/// The gate of one process.
pub struct Gate {
    board: SaleBoard,
    limit: UserLimit,
    /// Limits requests for tokens. It is separate from the limit on buying, so that fetching a token costs no attempt
    /// to buy.
    token_limit: UserLimit,
    tokens: Tokens,
    admission_percent: i64,
    clock: Clock,
}

impl Gate {
    pub fn new(
        source: Arc<dyn FactSource>,
        catalogue: Arc<Catalogue>,
        config: &WebConfig,
        secret: &ShopSecret,
        clock: Clock,
        metrics: Arc<Metrics>,
        registry: Arc<CounterRegistry>,
    ) -> Gate {
        Gate {
            board: SaleBoard::new(source, catalogue, clock.clone(), metrics, registry),
            limit: UserLimit::new(config.user_rate),
            token_limit: UserLimit::new(config.user_rate),
            tokens: Tokens::new(secret),
            admission_percent: config.admission_percent,
            clock,
        }
    }

    /// The JSON body of a sale's button; `None` when there is no such sale.
    pub fn button(&self, sale: SaleId) -> Option<Bytes> {
        self.board.button(sale)
    }

    /// The present status of a sale; `None` when there is no such sale.
    pub fn status(&self, sale: SaleId) -> Option<SaleStatus> {
        self.board.status(sale, self.clock.now())
    }

    /// When the facts were last read.
    pub fn facts_at(&self) -> Option<Timestamp> {
        self.board.read_at()
    }

    /// From when the user may buy, if the sale makes the user wait.
    pub fn awaited_moment(&self, sale: SaleId, user: UserId) -> Option<Timestamp> {
        let now = self.clock.now();
        self.board.status(sale, now)?.awaited_moment(user, now)
    }

    /// Issues a purchase token once the sale is open. A sold-out sale counts as open, because units may return. Before
    /// the opening no moment is revealed: otherwise people would drop accounts with a late moment and register new
    /// ones. In a sale with a waiting room, `seat` is the end of the called user's turn.
    pub fn issue_token(&self, sale: SaleId, user: UserId, seat: Option<Timestamp>) -> Result<IssuedToken, Refusal> {
        if !self.token_limit.allows(user) {
            return Err(Refusal::RateLimited);
        }
        let now = self.clock.now();
        let status = self.board.status(sale, now).ok_or(Refusal::NoSuchSale)?;
        if status.mode == ModeName::Draw {
            return Err(Refusal::ByDraw);
        }
        if status.mode == ModeName::WaitingRoom && seat.is_none() {
            return Err(Refusal::NotCalled);
        }
        match status.phase {
            Phase::Open | Phase::SoldOut => {
                let (token, expires_at) = self.tokens.issue(sale, user, now, seat);
                Ok(IssuedToken { token, expires_at, not_before: status.awaited_moment(user, now) })
            }
            Phase::Upcoming | Phase::Paused => Err(Refusal::NotOpen),
            Phase::Ended => Err(Refusal::Ended),
        }
    }

    /// Checks what costs least: the user's rate limit and the sale's flags. Nearly all requests are refused here,
    /// before their bodies are read. Counts every refusal.
    pub fn request_admission(&self, user: UserId, sale: SaleId) -> Result<AdmissionRequest, Refusal> {
        let now = self.clock.now();
        let (status, counters) = self.board.status_with_counters(sale, now).unzip();
        let counters = counters.flatten();
        match self.check_flags(user, sale, status, now) {
            Ok(SaleStatus { per_user_limit, buckets, without_token, .. }) => Ok(AdmissionRequest {
                user,
                sale,
                bucket: Bucket::of_user(sale, buckets, user),
                per_user_limit,
                without_token,
                counters,
            }),
            Err(refusal) => {
                if let Some(counters) = &counters {
                    counters.record_admission(Some(refusal));
                }
                Err(refusal)
            }
        }
    }

    /// Checks the content of the request. `token` is `None` for a form that was submitted without JavaScript, which
    /// cannot fetch one; the sale must be open, and must have neither a waiting room nor rules about who may take part.
    /// Counts every request.
    pub fn admit(&self, request: AdmissionRequest, quantity: i64, token: Option<&str>) -> Result<Admitted, Refusal> {
        let now = self.clock.now();
        let checked = self.check_content(&request, quantity, token, now);
        if let Some(counters) = &request.counters {
            counters.record_admission(checked.err());
        }
        checked.map(|quantity| Admitted { quantity, bucket: request.bucket, counters: request.counters, at: now })
    }

    fn check_flags(
        &self,
        user: UserId,
        sale: SaleId,
        status: Option<SaleStatus>,
        now: Timestamp,
    ) -> Result<SaleStatus, Refusal> {
        if !self.limit.allows(user) {
            return Err(Refusal::RateLimited);
        }
        let status = status.ok_or(Refusal::NoSuchSale)?;
        if status.mode == ModeName::Draw {
            return Err(Refusal::ByDraw);
        }
        let closed = match status.phase {
            Phase::Open => None,
            Phase::Upcoming => return Err(Refusal::NotOpen),
            Phase::SoldOut => Some(Refusal::SoldOut),
            Phase::Paused => Some(Refusal::NotOpen),
            Phase::Ended => Some(Refusal::Ended),
        };
        if let Some(refusal) = closed {
            // A user who may hold units is admitted, so that the answer is the order and never "sold out".
            return if self.board.may_have_won(sale, user) { Ok(status) } else { Err(refusal) };
        }
        if status.awaited_moment(user, now).is_some() {
            return Err(Refusal::TooEarly);
        }
        let admitted = status.access.unwrap_or(0);
        if admitted >= status.total.saturating_mul(self.admission_percent) / 100 {
            return Err(Refusal::Busy);
        }
        Ok(status)
    }

    /// Returns the quantity.
    fn check_content(
        &self,
        request: &AdmissionRequest,
        quantity: i64,
        token: Option<&str>,
        now: Timestamp,
    ) -> Result<u32, Refusal> {
        let quantity = u32::try_from(quantity).ok().filter(|q| *q > 0).ok_or(Refusal::BadQuantity)?;
        match token {
            None => request.without_token.map_or(Ok(()), Err)?,
            Some(token) if !self.tokens.verify(token, request.sale, request.user, now) => {
                return Err(Refusal::BadToken);
            }
            _ => {}
        }
        if i64::from(quantity) > request.per_user_limit {
            return Err(Refusal::OverLimit);
        }
        Ok(quantity)
    }

    /// Keeps the facts up to date until `stop` is cancelled, and in parallel the lists of winners.
    pub async fn follow(&self, stop: CancellationToken) {
        let refresh_facts = async {
            let mut periodic = Periodic::new("gate", board::REFRESH_INTERVAL, &stop);
            while periodic.tick().await {
                self.board.refresh_due().await;
                self.board.rest().await;
            }
        };
        let read_winners = async {
            loop {
                let began = Instant::now();
                self.board.read_winners().await;
                // Pause at least as long as the read took, so that the source serves others half of the time.
                tokio::time::sleep(board::REFRESH_INTERVAL.max(began.elapsed())).await;
                self.board.rest().await;
            }
        };
        stop.run_until_cancelled(futures::future::join(refresh_facts, read_winners)).await;
    }

    /// Reads all facts now, after a change to them.
    pub async fn refresh(&self) {
        self.board.refresh().await;
    }

    /// As `refresh`, including the lists of winners.
    pub async fn refresh_winners(&self) {
        self.board.refresh().await;
        self.board.read_winners().await;
        self.board.refresh().await;
    }
}

// Purchase tokens: proof that a user sent a request after the sale had opened. Verified without I/O, and valid for
// that user only.

/// Long enough to fill in a form; the script fetches a new token when needed.
const TOKEN_LIFETIME: Duration = Duration::from_secs(10 * 60);

struct Tokens {
    signer: Signer,
}

impl Tokens {
    fn new(secret: &ShopSecret) -> Tokens {
        Tokens { signer: Signer::new(secret, "purchase token") }
    }

    /// Issues a token. If `until` is given, the token is not valid longer than that.
    fn issue(&self, sale: SaleId, user: UserId, now: Timestamp, until: Option<Timestamp>) -> (String, Timestamp) {
        let expires = until.unwrap_or(Timestamp::MAX).min(now + TOKEN_LIFETIME);
        (self.signer.sign(&format!("{sale} {user} {}", expires.as_millisecond())), expires)
    }

    /// Whether the token was issued for this sale and user and is still valid.
    fn verify(&self, token: &str, sale: SaleId, user: UserId, now: Timestamp) -> bool {
        let Some(payload) = self.signer.verify(token) else { return false };
        let mut parts = payload.splitn(3, ' ');
        let for_sale = parts.next().and_then(|text| text.parse::<SaleId>().ok());
        let for_user = parts.next().and_then(|text| text.parse::<UserId>().ok());
        let expires = parts.next().and_then(|text| text.parse::<i64>().ok());
        for_sale == Some(sale) && for_user == Some(user) && expires.is_some_and(|ms| now.as_millisecond() < ms)
    }
}

#[cfg(test)]
mod fuzz {
    use secrecy::SecretString;
    use uuid::Uuid;

    use super::*;
    use testing::fuzz::texts;

    #[test]
    fn only_tokens_of_the_user_verify() {
        let secret = ShopSecret::from(SecretString::from("k".repeat(64)));
        let (tokens, now) = (Tokens::new(&secret), Timestamp::from_second(1_000).unwrap());
        let [mine, other] = [1, 2].map(|n| UserId(Uuid::from_u128(n)));
        let issued = [mine, other].map(|user| tokens.issue(SaleId(7), user, now, None).0);
        texts(&issued, |text| assert_eq!(tokens.verify(text, SaleId(7), mine, now), text == issued[0]));
        // Even a payload that is signed with a leaked key must be parsed without a panic.
        texts(&["7 00000000-0000-0000-0000-000000000001 1000"], |payload| {
            let signed = Signer::new(&secret, "purchase token").sign(payload);
            tokens.verify(&signed, SaleId(7), mine, now);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use async_trait::async_trait;
    use secrecy::SecretString;
    use uuid::Uuid;

    use super::*;
    use crate::batching::Reply;
    use crate::fixture::store_with;
    use crate::stock::{Facts, Winners};
    use base::config::Config;
    use domain::sale::SaleState;
    use domain::{Currency, Money, Window};
    use store::SaleDraft;

    /// Facts of a sold-out sale.
    const SOLD_OUT: Facts = Facts {
        state: SaleState::Live,
        window: Window { opens_at: None, closes_at: None },
        total: 9,
        booked: 9,
        access: 9,
        granted: 9,
        per_user_limit: 1,
        waited_units: 0,
    };

    /// A source of sold-out sales with an empty list of winners, which never arrives or is from a server that had granted
    /// this many units.
    #[derive(Default)]
    struct SoldOut {
        reads: AtomicU32,
        granted: Option<AtomicU32>,
    }

    #[async_trait]
    impl FactSource for SoldOut {
        async fn facts(&self, buckets: &[Bucket]) -> Reply<Vec<(SaleId, Facts)>> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            Ok(buckets.iter().filter_map(|bucket| Some((bucket.sale()?, SOLD_OUT))).collect())
        }

        async fn winners(&self, _: &[Bucket]) -> Reply<Winners> {
            let Some(granted) = &self.granted else { return std::future::pending().await };
            Ok(Winners { users: Vec::new(), granted: granted.load(Ordering::Relaxed).into() })
        }
    }

    /// A gate for one sale.
    async fn gate_on(source: Arc<dyn FactSource>) -> (Gate, SaleId) {
        let window = Window { opens_at: Some(Clock::system().now()), closes_at: None };
        let price = Money::new(1, Currency::CNY);
        let draft = SaleDraft { price, total: 9, per_user_limit: 1, window, ..SaleDraft::blank() };
        let (_dir, store, _) = store_with(draft).await;
        let catalogue = Arc::new(Catalogue::new(store));
        catalogue.refresh().await.unwrap();
        let sale = catalogue.active()[0];
        let (web, secret) = (Config::defaults().web, secrecy::SecretString::from("s".repeat(64)).into());
        let (clock, metrics, registry) = (Clock::system(), Arc::default(), Arc::default());
        (Gate::new(source, catalogue, &web, &secret, clock, metrics, registry), sale)
    }

    /// The facts and the list may come from different servers.
    #[tokio::test]
    async fn list_of_winners_from_a_server_that_lags_excludes_no_one() {
        let source = Arc::new(SoldOut { granted: Some(AtomicU32::new(8)), ..SoldOut::default() });
        let (gate, sale) = gate_on(source.clone()).await;
        gate.refresh_winners().await;
        assert!(gate.request_admission(UserId(Uuid::now_v7()), sale).is_ok(), "the ninth unit may be this user's");
        source.granted.as_ref().unwrap().store(9, Ordering::Relaxed);
        gate.refresh_winners().await;
        assert_eq!(gate.request_admission(UserId(Uuid::now_v7()), sale).err(), Some(Refusal::SoldOut));
    }

    #[tokio::test]
    async fn long_list_of_winners_does_not_delay_facts() {
        let source = Arc::new(SoldOut::default());
        let (gate, sale) = gate_on(source.clone()).await;
        let stop = CancellationToken::new();
        let read = async {
            while source.reads.load(Ordering::Relaxed) < 5 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            stop.cancel();
        };
        let both = futures::future::join(gate.follow(stop.clone()), read);
        tokio::time::timeout(Duration::from_secs(20), both).await.expect("facts are still read");
        assert_eq!(gate.status(sale).map(|status| status.phase), Some(Phase::SoldOut));
        assert!(
            gate.request_admission(UserId(Uuid::now_v7()), sale).is_ok(),
            "until then the master decides about every user"
        );
    }

    #[test]
    fn token_is_valid_for_one_sale_one_user_and_a_limited_time() {
        let tokens = Tokens::new(&SecretString::from("k".repeat(64)).into());
        let (user, other) = (UserId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
        let now = Timestamp::from_second(1_000).unwrap();
        let (token, expires) = tokens.issue(SaleId(7), user, now, None);
        assert!(tokens.verify(&token, SaleId(7), user, now));
        assert!(!tokens.verify(&token, SaleId(8), user, now));
        assert!(!tokens.verify(&token, SaleId(7), other, now));
        assert!(!tokens.verify(&token, SaleId(7), user, expires));
        assert!(!tokens.verify(&format!("{token}A"), SaleId(7), user, now));
        assert!(!tokens.verify("", SaleId(7), user, now));
        let seat_end = now + Duration::from_secs(60);
        let (token, expires) = tokens.issue(SaleId(7), user, now, Some(seat_end));
        assert_eq!(expires, seat_end);
        assert!(!tokens.verify(&token, SaleId(7), user, seat_end));
    }
}
