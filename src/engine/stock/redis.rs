//! Redis as the stock backend. The scripts in `lua/` decide; this file encodes their arguments and decodes their answers.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use boxed::boxed;
use futures::future::join_all;
use redis::{Cmd, Script, Value};

use crate::batching::{Batch, BatchKey};
use crate::catalogue::Catalogue;
use crate::redis::connection::RedisConnection;
use crate::redis::grant_log::GrantLog;
use crate::redis::keys::{self, ShortId, parse_hold};
use crate::redis::replay::{Generation, ReplayGrants, Replayed};
use crate::redis::{HotScript, malformed};
use crate::stock::{DefineOutcome, Reply, Stock, Unavailable, time_text};
use domain::claim::{Claim, Decision, Hold};
use domain::sale::SaleState;
use domain::wire::wire_enum;
use domain::{Bucket, OrderId, OrderStatus, Refusal, Reservation, Sale, SaleId, UserId};
use store::{HeldUnits, Store};

scripts! {
    pub(super) struct Scripts {
        reserve: HotScript = "lua/reserve.lua",
        hold: Script = "lua/hold.lua",
        define: Script = "lua/define.lua",
        lower: Script = "lua/lower.lua",
        release: Script = "lua/release.lua",
        pub(super) load: Script = "lua/load.lua",
        pub(super) repair: Script = "lua/repair.lua",
        pub(super) allot: Script = "lua/allot.lua",
        pub(super) waited: Script = "lua/waited.lua",
    }
}

/// Stock on a Redis master or a cluster. Clones share one connection.
#[derive(Clone)]
pub struct RedisStock {
    pub(super) master: RedisConnection,
    pub(super) scripts: Arc<Scripts>,
    grants: Arc<GrantLog<Claim>>,
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) store: Store,
    payment_window: Duration,
}

/// Holds released per call; more would block the server for too long.
const MAX_RELEASES_PER_CALL: usize = 500;

/// How long a bucket's server may take for a change of one of several buckets; the other buckets do not wait for it.
const BUCKET_TIMEOUT: Duration = Duration::from_secs(2);

/// Holds per page; more would block the server for too long.
const HOLDS_PER_PAGE: usize = 200;

/// Pause between two pages, so that reading a million holds leaves most of the server's time to purchases.
const PAGE_INTERVAL: Duration = Duration::from_millis(2);

wire_enum! {
    /// What the reserve script does with claims, by its name in the script.
    pub(super) enum Mode {
        Claim = "claim",
        /// Decides claims of accounts whose turn has come on the waitlist.
        Offer = "offer",
        /// Replays grants that the master may have forgotten, without checking stock or window.
        Replay = "keep",
    }
}

#[boxed]
impl RedisStock {
    /// `catalogue` provides the number of buckets of each sale. The replay queries `store` for the grants that the
    /// database has already, and writes grants of sales that are over there, with this payment window.
    pub fn new(
        master: RedisConnection,
        catalogue: Arc<Catalogue>,
        store: Store,
        payment_window: Duration,
    ) -> RedisStock {
        RedisStock { master, scripts: Arc::default(), grants: Arc::default(), catalogue, store, payment_window }
    }

    /// Calls the reserve script for each bucket. `None` if the bucket is not loaded.
    pub(super) async fn call_reserve(
        &self,
        mode: Mode,
        batches: &[Batch<Claim>],
    ) -> Vec<Reply<Option<BatchDecisions>>> {
        let calls = batches.iter().map(|batch| self.reserve_call(mode, batch)).collect();
        let answers = self.scripts.reserve.send(calls, &self.master).await;
        batches.iter().zip(answers).map(|(batch, answer)| batch_decisions(answer?, &batch.claims)).collect()
    }

    fn reserve_call(&self, mode: Mode, Batch { bucket, claims }: &Batch<Claim>) -> Cmd {
        let names = [keys::hash, keys::holders, keys::outbox, keys::start, keys::access];
        let mut call = self.scripts.reserve.call(&names.map(|name| name(*bucket)));
        call.arg(mode.as_str()).arg(units_of(claims));
        call.arg(claims.iter().map(|claim| claim.quantity).max().unwrap_or_default());
        let mut hold = String::new();
        for claim in claims {
            hold.clear();
            // Writing to a string cannot fail.
            let _ = write!(hold, "{}:{}", ShortId::of(claim.order_id.0), claim.quantity);
            call.arg(ShortId::of(claim.user_id.0)).arg(&hold);
        }
        call
    }

    /// The number of buckets of a sale. It never changes after the sale was loaded, so a stale copy is good enough.
    async fn bucket_count(&self, sale: SaleId) -> Reply<u8> {
        let entry = self.catalogue.entry(sale).await?;
        entry.map(|entry| entry.sale.rush.buckets).ok_or_else(|| Unavailable("there is no such sale".into()))
    }

    /// Like [`Stock::define`], for one bucket. Returns `false` if the bucket is not loaded.
    pub async fn define_bucket(&self, sale: &Sale, bucket: Bucket) -> Reply<bool> {
        // The definition may add units, so accounts that wait for them must be marked first.
        self.keep_for_waiters(bucket).await?;
        let mut call = self.scripts.define.key(keys::hash(bucket));
        call.key(keys::start(bucket)).key(keys::count(bucket)).arg(sale.version).arg(sale.state.as_str());
        call.arg(time_text(sale.window.opens_at)).arg(time_text(sale.window.closes_at));
        call.arg(sale.total).arg(sale.per_user_limit).arg(start_flag(sale));
        call.arg(if bucket.part().is_some() { "part" } else { "whole" });
        let known: i64 = call.invoke_async(&mut self.master.clone()).await?;
        Ok(known == 1)
    }

    /// Like [`Stock::release`], for holds of one bucket. `waited`: units that accounts wait for, if any do.
    async fn release_from(&self, bucket: Bucket, waited: Option<i64>, releases: &[&HeldUnits]) -> Reply<Vec<OrderId>> {
        if let Some(units) = waited {
            self.keep(bucket, units, "").await?;
        }
        let mut done = Vec::with_capacity(releases.len());
        for chunk in releases.chunks(MAX_RELEASES_PER_CALL) {
            let mut call = self.scripts.release.key(keys::hash(bucket));
            call.key(keys::holders(bucket)).key(keys::access(bucket));
            for release in chunk {
                call.arg(ShortId::of(release.user_id.0)).arg(ShortId::of(release.order_id.0));
            }
            let units: i64 = call.invoke_async(&mut self.master.clone()).await?;
            if units >= 0 {
                done.extend(chunk.iter().map(|release| release.order_id));
            }
        }
        Ok(done)
    }

    /// The shared connection to the master.
    pub fn connection(&self) -> RedisConnection {
        self.master.clone()
    }

    pub async fn ping(&self) -> Reply<()> {
        Ok(redis::cmd("PING").query_async(&mut self.master.clone()).await?)
    }
}

/// Waits for one of several buckets, but not for long.
pub(super) async fn within_limit<T>(bucket: Bucket, change: impl Future<Output = Reply<T>>) -> Reply<T> {
    match tokio::time::timeout(BUCKET_TIMEOUT, change).await {
        Ok(changed) => changed,
        Err(_) => Err(Unavailable(format!("no answer about {bucket} within {BUCKET_TIMEOUT:?}"))),
    }
}

/// The results of the buckets that answered: a server that is away fails only its own buckets. An error if none did.
pub(super) fn unless_all_failed<T>(results: Vec<Reply<T>>) -> Reply<Vec<T>> {
    let (mut answered, mut failure) = (Vec::with_capacity(results.len()), None);
    for result in results {
        match result {
            Ok(answer) => answered.push(answer),
            Err(error) => failure = Some(error),
        }
    }
    failure.filter(|_| answered.is_empty()).map_or(Ok(answered), Err)
}

/// The answer of the reserve script.
pub(super) struct BatchDecisions {
    /// The generation that has the grants.
    generation: Generation,
    pub(super) decisions: Vec<Decision>,
}

/// `None` when the bucket is not loaded.
fn batch_decisions(answer: Vec<Value>, claims: &[Claim]) -> Reply<Option<BatchDecisions>> {
    let [epoch, server, decisions @ ..] = answer.as_slice() else { return Ok(None) };
    let (Value::Int(epoch), Value::BulkString(server)) = (epoch, server) else { return Err(malformed("a batch")) };
    let generation = Generation::parse(*epoch, server)?;
    if decisions.is_empty() {
        let decisions = vec![Decision::Granted(OrderStatus::Reserved); claims.len()];
        return Ok(Some(BatchDecisions { generation, decisions }));
    }
    if decisions.len() != claims.len() {
        return Err(malformed("a batch"));
    }
    let decisions = decisions.iter().map(decision).collect::<Result<_, _>>()?;
    Ok(Some(BatchDecisions { generation, decisions }))
}

/// The sum of units of all claims; 0 if a user occurs twice.
fn units_of(batch: &[Claim]) -> u64 {
    let users: HashSet<UserId> = batch.iter().map(|claim| claim.user_id).collect();
    if users.len() == batch.len() { batch.iter().map(|claim| u64::from(claim.quantity)).sum() } else { 0 }
}

fn decision(value: &Value) -> Reply<Decision> {
    match value {
        Value::Int(1) => Ok(Decision::Granted(OrderStatus::Reserved)),
        Value::Int(0) => Ok(Decision::Refused(Refusal::SoldOut)),
        Value::Int(-1) => Ok(Decision::Refused(Refusal::OverLimit)),
        Value::Int(-2) => Ok(Decision::Refused(Refusal::NotOpen)),
        Value::Int(-3) => Ok(Decision::Refused(Refusal::Ended)),
        Value::Int(-4) => Ok(Decision::Refused(Refusal::Busy)),
        Value::BulkString(text) => std::str::from_utf8(text)
            .ok()
            .and_then(parse_hold)
            .map(Decision::Repeated)
            .ok_or_else(|| malformed("a hold")),
        _ => Err(malformed("a decision")),
    }
}

/// The start flag: `1` while the sale is live.
pub(super) fn start_flag(sale: &Sale) -> i64 {
    i64::from(sale.state == SaleState::Live)
}

#[async_trait]
impl Stock for RedisStock {
    async fn reserve(&self, batches: &[Batch<Claim>]) -> Vec<Reply<Vec<Decision>>> {
        let _unanswered = self.grants.begin_call();
        let answers = self.call_reserve(Mode::Claim, batches).await;
        let decisions = batches.iter().zip(answers).map(|(Batch { bucket, claims }, answer)| {
            let Some(BatchDecisions { generation, decisions }) = answer? else {
                return Ok(vec![Decision::NotLoaded; claims.len()]);
            };
            let granted = claims.iter().zip(&decisions).filter(|(_, d)| matches!(d, Decision::Granted(_)));
            let repeated = claims.iter().zip(&decisions).filter_map(|(claim, decision)| match decision {
                Decision::Repeated(hold) => Some(hold.claim_of(claim.user_id)),
                _ => None,
            });
            self.grants.remember((*bucket, generation), granted.map(|(claim, _)| *claim), repeated);
            Ok(decisions)
        });
        decisions.collect()
    }

    fn batch_key(&self, bucket: Bucket) -> BatchKey {
        self.master.batch_key(bucket)
    }

    async fn hold(&self, sale: SaleId, user: UserId) -> Reply<Option<Hold>> {
        let bucket = Bucket::of_user(sale, self.bucket_count(sale).await?, user);
        let mut call = self.scripts.hold.key(keys::hash(bucket));
        call.key(keys::holders(bucket)).arg(ShortId::of(user.0));
        let answer: Vec<Value> = call.invoke_async(&mut self.master.clone()).await?;
        match answer.as_slice() {
            [_, Value::BulkString(text)] => {
                let hold = std::str::from_utf8(text).ok().and_then(parse_hold);
                Ok(Some(hold.ok_or_else(|| malformed("a hold"))?))
            }
            [Value::Int(1), ..] => Ok(None),
            // The hold may be a grant that is about to be replayed.
            _ => Err(Unavailable("the sale is being loaded".into())),
        }
    }

    async fn grant_again(&self, sale: SaleId, claim: Claim) -> Reply<bool> {
        let bucket = Bucket::of_user(sale, self.bucket_count(sale).await?, claim.user_id);
        match self.replay(bucket, &[claim]).await? {
            Replayed::Forgotten(_, generation) => {
                self.grants.remember((bucket, generation), [], [claim]);
                Ok(true)
            }
            Replayed::NotLoaded if self.is_active(bucket) => Err(Unavailable("the sale is being loaded".into())),
            Replayed::NotLoaded => Ok(false),
        }
    }

    async fn define(&self, sale: &Sale) -> DefineOutcome {
        let buckets =
            Bucket::of_sale(sale).map(async |bucket| within_limit(bucket, self.define_bucket(sale, bucket)).await);
        let mut outcome = DefineOutcome::default();
        for defined in join_all(buckets).await {
            outcome.parts += 1;
            match defined {
                Ok(true) => outcome.applied += 1,
                Ok(false) => outcome.not_loaded += 1,
                Err(error) => outcome.failure = Some(error),
            }
        }
        outcome
    }

    async fn lower_total(&self, sale: &Sale) -> Reply<bool> {
        // No bucket of a split sale has these units: the transaction has looked.
        if sale.rush.buckets > 1 {
            return Ok(true);
        }
        let bucket = Bucket::whole(sale.id);
        let mut call = self.scripts.lower.key(keys::hash(bucket));
        call.key(keys::count(bucket)).arg(sale.version).arg(sale.total);
        let mut master = self.master.clone();
        let lowered = within_limit(bucket, async { Ok(call.invoke_async::<i64>(&mut master).await?) }).await?;
        match lowered {
            0 | 1 => Ok(lowered == 1),
            _ => Err(Unavailable(format!("{bucket} is being loaded"))),
        }
    }

    async fn release(&self, releases: &[HeldUnits]) -> Reply<Vec<OrderId>> {
        let mut by_bucket: BTreeMap<Bucket, Vec<&HeldUnits>> = BTreeMap::new();
        for release in releases {
            let bucket = Bucket::of_user(release.sale_id, self.bucket_count(release.sale_id).await?, release.user_id);
            by_bucket.entry(bucket).or_default().push(release);
        }
        let mut sales: Vec<SaleId> = by_bucket.keys().filter_map(|bucket| bucket.sale()).collect();
        sales.dedup();
        // The releases are already in the database, so accounts that waited when they were requested are found.
        let waited = self.store.waitlists().waited_for(&sales).await?;
        let released = by_bucket.into_iter().map(async |(bucket, releases)| {
            let waited = bucket.sale().and_then(|sale| waited.get(&sale)).copied();
            within_limit(bucket, self.release_from(bucket, waited, &releases)).await
        });
        Ok(unless_all_failed(join_all(released).await)?.concat())
    }

    async fn standing_still(&self, sale: &Sale) -> Vec<Bucket> {
        let buckets: Vec<Bucket> = Bucket::of_sale(sale).collect();
        let Ok(mut survey) = self.survey(&buckets).await else { return buckets };
        survey.retain(|(_, state)| !state.decides());
        survey.into_iter().map(|(bucket, _)| bucket).collect()
    }
}

#[async_trait]
impl ReplayGrants for RedisStock {
    type Grant = Claim;

    fn grant_log(&self) -> &GrantLog<Claim> {
        &self.grants
    }

    fn master(&self) -> &RedisConnection {
        &self.master
    }

    async fn announced_buckets(&self) -> anyhow::Result<Vec<Bucket>> {
        Ok(self.catalogue.active_buckets())
    }

    fn is_active(&self, bucket: Bucket) -> bool {
        self.catalogue.active_buckets().contains(&bucket)
    }

    async fn replay(&self, bucket: Bucket, grants: &[Claim]) -> Reply<Replayed> {
        let batches = [Batch { bucket, claims: grants.to_vec() }];
        match self.call_reserve(Mode::Replay, &batches).await.pop().transpose()?.flatten() {
            Some(BatchDecisions { generation, decisions }) => {
                let forgotten = decisions.iter().filter(|d| matches!(d, Decision::Granted(_))).count();
                Ok(Replayed::Forgotten(forgotten, generation))
            }
            None => Ok(Replayed::NotLoaded),
        }
    }

    async fn persist(&self, bucket: Bucket, grants: &[Claim]) -> anyhow::Result<()> {
        let Some(sale_id) = bucket.sale() else { return Ok(()) };
        let reservations: Vec<Reservation> = grants.iter().map(|claim| claim.reservation(sale_id)).collect();
        self.store.orders().persist_orders(&reservations, self.payment_window).await?;
        Ok(())
    }

    async fn are_persisted(&self, _bucket: Bucket, grants: &[Claim]) -> anyhow::Result<Vec<bool>> {
        let ids: Vec<OrderId> = grants.iter().map(|claim| claim.order_id).collect();
        let known = self.store.orders().order_statuses(&ids).await?;
        Ok(ids.iter().map(|id| known.contains_key(id)).collect())
    }
}

/// A page of a bucket's holds.
#[derive(Debug, Default)]
pub struct HoldsPage {
    /// A hold may occur twice.
    pub holds: Vec<(UserId, Hold)>,
    /// Fields of the hash that are not a user with a hold, escaped. The shop never writes any.
    pub unreadable: Vec<String>,
    /// The cursor of the next page, which is 0 after the last one.
    pub next: u64,
}

pub(super) async fn holds_page(server: &RedisConnection, bucket: Bucket, cursor: u64) -> Reply<HoldsPage> {
    let mut scan = redis::cmd("HSCAN");
    scan.arg(keys::holders(bucket)).arg(cursor).arg("COUNT").arg(HOLDS_PER_PAGE);
    if cursor != 0 {
        tokio::time::sleep(PAGE_INTERVAL).await;
    }
    type Bytes = Vec<u8>;
    let (next, fields): (u64, Vec<(Bytes, Bytes)>) = scan.query_async(&mut server.clone()).await?;
    let mut page = HoldsPage { holds: Vec::with_capacity(fields.len()), next, ..HoldsPage::default() };
    for (user, hold) in fields {
        let known = std::str::from_utf8(&user).ok().and_then(ShortId::parse).map(UserId);
        match known.zip(std::str::from_utf8(&hold).ok().and_then(parse_hold)) {
            Some(hold) => page.holds.push(hold),
            None => page.unreadable.push(format!("{}: {}", shown(&user), shown(&hold))),
        }
    }
    Ok(page)
}

/// The beginning of some bytes, as a person can read them.
fn shown(bytes: &[u8]) -> String {
    const MAX_BYTES: usize = 64;
    bytes[..bytes.len().min(MAX_BYTES)].escape_ascii().to_string()
}
