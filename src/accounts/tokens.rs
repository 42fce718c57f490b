//! Tokens of programs. Every process keeps all of them in memory and reads them again each second, as it does with
//! revocations: a request with a token costs no query, a revoked token is refused everywhere within a second, and the
//! known ones are taken while the database is away.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use boxed::boxed;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::Accounts;
use crate::session::Session;
use base::config::Cidr;
use base::locked;
use base::rate_limit::CellRate;
use base::signing::key_for;
use domain::api_token::{is_token, token_of};
use domain::{ApiToken, Role, Scope, SecurityClass, UserId, hex};
use store::{LiveToken, NewTokenOutcome, RequestId, Store, StoreError, StoreResult, TOKEN_USE_INTERVAL};

/// How soon after one another two unknown tokens make a process read all tokens again: another process may just have
/// made one.
const LOOK_AGAIN_INTERVAL: Duration = Duration::from_millis(200);

/// Why a token is not taken.
#[derive(Debug, thiserror::Error)]
pub enum TokenRefusal {
    /// It is none of this shop's, or was revoked.
    #[error("the token is unknown or revoked")]
    Unknown,
    #[error("the token has expired")]
    Expired,
    /// Its maker is no longer of the staff, or is blocked.
    #[error("the account that made the token is no longer of the staff")]
    Orphaned,
    #[error("the token must not be used from this network")]
    ForeignNetwork,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is left of a program's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateState {
    /// Requests a second.
    pub limit: u64,
    pub remaining: u64,
    /// Seconds until all of them are there again; for a request that is refused, until the next one may come.
    pub reset: u64,
    pub is_allowed: bool,
}

/// A token in the memory of this process.
#[derive(Debug)]
pub struct Program {
    live: LiveToken,
    networks: Vec<Cidr>,
    session: Session,
    /// The rate in microseconds, and when the full burst is available, since `started`.
    rate: Option<(CellRate, Mutex<u64>)>,
    started: Instant,
    /// In milliseconds; 0: not used yet.
    used_at: AtomicI64,
    written_at: AtomicI64,
}

impl Program {
    fn new(live: LiveToken) -> Program {
        let burst = live.token.rate.map(|rate| u64::from(rate.max(1)));
        Program {
            // A network that does not parse admits no address.
            networks: live.token.networks.iter().filter_map(|text| Cidr::parse(text).ok()).collect(),
            session: Session::of_token(&live.token, live.role),
            rate: burst.map(|burst| (CellRate { interval: 1_000_000 / burst, burst }, Mutex::new(0))),
            started: Instant::now(),
            used_at: AtomicI64::new(0),
            written_at: AtomicI64::new(0),
            live,
        }
    }

    pub fn token(&self) -> &ApiToken {
        &self.live.token
    }

    pub fn has(&self, scope: Scope) -> bool {
        self.live.token.scopes.contains(&scope)
    }

    /// The present role of the account that made the token.
    pub fn role(&self) -> Role {
        self.live.role
    }

    /// What stands for a session in operations of the staff: the account that made the token, under the token's name.
    pub fn session(&self) -> &Session {
        &self.session
    }

    fn check(&self, client: IpAddr, now: Timestamp) -> Result<(), TokenRefusal> {
        let LiveToken { token, role, is_closed, .. } = &self.live;
        if token.expires_at.is_some_and(|end| end <= now) {
            return Err(TokenRefusal::Expired);
        }
        if !role.is_staff() || *is_closed {
            return Err(TokenRefusal::Orphaned);
        }
        if !token.networks.is_empty() && !self.networks.iter().any(|network| network.contains(client)) {
            return Err(TokenRefusal::ForeignNetwork);
        }
        Ok(())
    }

    /// Counts a request. `None` without a limit.
    pub fn charge(&self) -> Option<RateState> {
        let (rate, full_at) = self.rate.as_ref()?;
        let now = self.started.elapsed().as_micros() as u64;
        let mut full_at = locked(full_at);
        let seconds = |micros: u64| micros.div_ceil(1_000_000);
        Some(match rate.charge(full_at.saturating_sub(now)) {
            Ok(ahead) => {
                *full_at = now + ahead;
                let remaining = rate.burst - ahead.div_ceil(rate.interval).min(rate.burst);
                RateState { limit: rate.burst, remaining, reset: seconds(ahead), is_allowed: true }
            }
            Err(wait) => RateState { limit: rate.burst, remaining: 0, reset: seconds(wait), is_allowed: false },
        })
    }
}

/// The tokens that this process knows.
#[derive(Default)]
pub(crate) struct Tokens {
    by_digest: ArcSwap<HashMap<String, Arc<Program>>>,
    looked_again: tokio::sync::Mutex<Option<Instant>>,
}

impl Tokens {
    /// Reads all tokens. A token that has not changed keeps its counts.
    pub(crate) async fn refresh(&self, store: &Store) -> StoreResult<()> {
        let live = store.api_tokens().live().await?;
        let known = self.by_digest.load();
        let kept = |live: LiveToken| match known.get(&live.digest).filter(|program| program.live == live) {
            Some(program) => program.clone(),
            None => Arc::new(Program::new(live)),
        };
        self.by_digest.store(Arc::new(live.into_iter().map(|live| (live.digest.clone(), kept(live))).collect()));
        Ok(())
    }

    async fn look_again(&self, store: &Store) -> StoreResult<()> {
        let mut looked = self.looked_again.lock().await;
        if looked.is_none_or(|at| at.elapsed() >= LOOK_AGAIN_INTERVAL) {
            self.refresh(store).await?;
            *looked = Some(Instant::now());
        }
        Ok(())
    }

    fn find(&self, digest: &str) -> Option<Arc<Program>> {
        self.by_digest.load().get(digest).cloned()
    }

    /// Last uses that are due to be written.
    fn due_uses(&self) -> Vec<(Arc<Program>, Timestamp)> {
        let known = self.by_digest.load();
        let due = known.values().filter_map(|program| {
            let (used, written) = (program.used_at.load(Ordering::Relaxed), program.written_at.load(Ordering::Relaxed));
            let is_due = used > written && (written == 0 || used - written >= TOKEN_USE_INTERVAL.as_millis() as i64);
            is_due.then_some(())?;
            Some((program.clone(), Timestamp::from_millisecond(used).ok()?))
        });
        due.collect()
    }
}

/// What a new token is to be.
#[derive(Debug, Clone, Default)]
pub struct TokenDraft {
    pub name: String,
    pub scopes: Vec<Scope>,
    pub networks: Vec<String>,
    pub rate: Option<u32>,
    pub expires_at: Option<Timestamp>,
}

impl TokenDraft {
    /// The fields that are wrong, each with an error.
    pub fn mistakes(&self, now: Timestamp) -> Vec<(&'static str, &'static str)> {
        let mut wrong = Vec::new();
        let mut check = |is_right: bool, field, code| wrong.extend((!is_right).then_some((field, code)));
        check(ApiToken::is_name(&self.name), "name", if self.name.is_empty() { "required" } else { "bad_text" });
        check(!self.scopes.is_empty(), "scopes", "required");
        let are_networks = self.networks.iter().all(|text| Cidr::parse(text).is_ok());
        check(are_networks && self.networks.len() <= ApiToken::MAX_NETWORKS, "networks", "bad_networks");
        check(self.rate.is_none_or(|rate| (1..=ApiToken::MAX_RATE).contains(&rate)), "rate", "out_of_range");
        check(self.expires_at.is_none_or(|end| end > now), "expires_at", "not_in_future");
        wrong
    }
}

#[boxed]
impl Accounts {
    /// The program that sends this token, if the shop takes it from there. No I/O, unless the token is unknown.
    pub async fn program(&self, text: &str, client: IpAddr) -> Result<Arc<Program>, TokenRefusal> {
        if !is_token(text) {
            return Err(TokenRefusal::Unknown);
        }
        let digest = digest(text);
        let mut known = self.tokens.find(&digest);
        if known.is_none() {
            self.tokens.look_again(&self.store).await?;
            known = self.tokens.find(&digest);
        }
        let program = known.ok_or(TokenRefusal::Unknown)?;
        let now = self.clock.now();
        program.check(client, now)?;
        program.used_at.store(now.as_millisecond(), Ordering::Relaxed);
        Ok(program)
    }

    /// Makes a token that stands for this owner of the shop. Returns it with its text, which is stored nowhere. Retries of
    /// one request make one token, and return the same text as long as the shop's secret is the same.
    pub async fn create_token(
        &self,
        (owner, actor): (UserId, &str),
        draft: TokenDraft,
        request: Option<RequestId>,
    ) -> StoreResult<Result<(ApiToken, String), NewTokenOutcome>> {
        let (id, bits) = match request {
            Some(RequestId(id)) => (id, key_for(&self.secret, &format!("token of request {id}"))),
            None => (Uuid::now_v7(), rand::random()),
        };
        let TokenDraft { name, mut scopes, networks, rate, expires_at } = draft;
        scopes.sort_unstable();
        scopes.dedup();
        let token = ApiToken {
            id,
            name,
            scopes,
            networks,
            rate,
            expires_at,
            created_by: owner,
            created_at: self.store.now().await?,
            used_at: None,
            revoked_at: None,
        };
        let text = token_of(bits);
        let token = match self.store.api_tokens().create(actor, &token, &digest(&text)).await? {
            NewTokenOutcome::Created => token,
            // The first attempt may have had another time.
            NewTokenOutcome::Repeated => self.store.api_tokens().get(id).await?.unwrap_or(token),
            refused => return Ok(Err(refused)),
        };
        self.events.record(SecurityClass::TokenCreated, Some(owner), None, "");
        self.tokens.refresh(&self.store).await?;
        Ok(Ok((token, text)))
    }

    /// Revokes a token, in this process at once and in the others within a second. `None`: there is no such token.
    pub async fn revoke_token(&self, actor: &str, id: Uuid) -> StoreResult<Option<ApiToken>> {
        let revoked = self.store.api_tokens().revoke(actor, id).await?;
        if let Some(token) = &revoked {
            self.events.record(SecurityClass::TokenRevoked, Some(token.created_by), None, "");
            self.tokens.refresh(&self.store).await?;
        }
        Ok(revoked)
    }

    /// Whether a program has a token, as far as this process knows.
    pub fn has_tokens(&self) -> bool {
        !self.tokens.by_digest.load().is_empty()
    }

    pub(super) async fn write_token_uses(&self) -> StoreResult<()> {
        let due = self.tokens.due_uses();
        let uses: Vec<_> = due.iter().map(|(program, at)| (program.live.token.id, *at)).collect();
        self.store.api_tokens().used(&uses).await?;
        due.iter().for_each(|(program, at)| program.written_at.store(at.as_millisecond(), Ordering::Relaxed));
        Ok(())
    }
}

fn digest(text: &str) -> String {
    hex::encode(&Sha256::digest(text))
}
