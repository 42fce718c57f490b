//! The list of places of a waiting room in Redis, while shoppers may join: places are taken there as fast as units are
//! bought, and data control writes them to the database soon after. Requests that arrive together are decided in one call.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use boxed::boxed;
use jiff::Timestamp;
use redis::{Script, Value};
use uuid::Uuid;

use crate::batching::{Batch, BatchHandler, BatchKey, Reply, Unavailable};
use crate::pipeline::outbox::{self, Entry};
use crate::redis::connection::RedisConnection;
use crate::redis::grant_log::GrantLog;
use crate::redis::keys::{self, ShortId};
use crate::redis::replay::{Generation, ReplayGrants, Replayed};
use crate::redis::{HotScript, malformed, parse, parse_time};
use domain::bucket::Owner;
use domain::draw::EntryId;
use domain::{Bucket, SaleId, UserId};
use store::{GatheredPlace, JoinOutcome, Joining, Store};

scripts! {
    struct Scripts {
        take: HotScript = "take.lua",
        read: Script = "read.lua",
        open: Script = "open.lua",
        close: Script = "close.lua",
    }
}

/// The lists of waiting rooms on a Redis master or a cluster. Clones share one connection.
#[derive(Clone)]
pub struct Gathering {
    master: RedisConnection,
    scripts: Arc<Scripts>,
    places: Arc<GrantLog<GatheredPlace>>,
    store: Store,
}

/// Redis's answer to a request for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathered {
    New(GatheredPlace),
    /// The account had a place before the request.
    Known(GatheredPlace),
    /// The account has no place, and the list opens later.
    Early,
}

/// A list that gives places.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListState {
    pub(super) places: i64,
    /// The place of the account in the request. `None` if it has none, or if no account was given.
    pub(super) place: Option<GatheredPlace>,
}

/// When a list takes places, and the epoch that it begins with.
#[derive(Debug, Clone, Copy)]
pub struct OpenList {
    pub from: Timestamp,
    pub until: Timestamp,
    /// The database's time. `None` if the database already has places of the sale.
    pub epoch: Option<Timestamp>,
}

/// A list that gives no more places.
#[derive(Debug, Clone, Copy)]
pub struct ClosedList {
    /// Whether the database has all places that Redis still has.
    pub is_written: bool,
    /// Whether Redis has lost no places. If so, no process has to write the places that it reported.
    pub is_whole: bool,
}

/// Places that the database does not have yet, with the ids of the stream entries that contain them.
#[derive(Debug, Default)]
pub struct Arrivals {
    ids: Vec<String>,
    pub places: Vec<GatheredPlace>,
}

/// How long after Redis lost places the processes have certainly written them to the database.
pub const HANDED_OVER_AFTER: Duration = Duration::from_secs(10);

/// Stream entries, each with a batch of places, per read.
const MAX_ARRIVALS: usize = 128;
/// The keys of a list expire this long after the list's end, in case data control does not delete them.
const KEPT_MS: i64 = 24 * 3_600_000;

#[boxed]
impl Gathering {
    pub fn new(master: RedisConnection, store: Store) -> Gathering {
        Gathering { master, scripts: Arc::default(), places: Arc::default(), store }
    }

    /// The bucket of a sale's list.
    pub fn bucket(sale: SaleId) -> Bucket {
        Bucket::whole(Owner::WaitingRoom(sale))
    }

    pub(super) fn batch_key(&self, bucket: Bucket) -> BatchKey {
        self.master.batch_key(bucket)
    }

    /// Gives places. `None` for an account to which the closed list gave none: the database gives it one.
    ///
    /// # Errors
    /// [`Unavailable`] if Redis does not answer, has no list of the sale, or may have lost places. It may then have given
    /// places, also through another process, if [`WaitingRoom::gathers`](store::WaitingRoom::gathers) says so.
    pub async fn take(&self, batches: &[Batch<Joining>]) -> Vec<Reply<Vec<Option<Gathered>>>> {
        let _unanswered = self.places.begin_call();
        let calls = batches.iter().map(|Batch { bucket, claims }| {
            let mut call = self.scripts.take.call(&list_keys(*bucket));
            for claim in claims {
                let entry = Uuid::from_bytes(*wished(claim).as_bytes());
                call.arg(ShortId::of(claim.user_id.0)).arg(ShortId::of(entry));
            }
            call
        });
        let answers = self.scripts.take.send(calls.collect(), &self.master).await;
        let gathered = batches.iter().zip(answers).map(|(Batch { bucket, claims }, answer)| {
            let (generation, gathered) = read_answer(&answer?, claims)?;
            let given = gathered.iter().flatten();
            let new = given.clone().filter_map(|one| if let Gathered::New(place) = one { Some(*place) } else { None });
            let known = given.filter_map(|one| if let Gathered::Known(place) = one { Some(*place) } else { None });
            self.places.remember((*bucket, generation), new, known);
            Ok(gathered)
        });
        gathered.collect()
    }

    /// The list, with the place of `user` if given. `None` if the database gives the places.
    pub(super) async fn read(&self, sale: SaleId, user: Option<UserId>) -> Reply<Option<ListState>> {
        let [hash, places, _] = list_keys(Gathering::bucket(sale));
        let mut call = self.scripts.read.key(hash);
        call.key(places);
        call.arg(user.map(|user| ShortId::of(user.0).to_string()).unwrap_or_default());
        let answer: Vec<Value> = call.invoke_async(&mut self.master.clone()).await?;
        let [places, place] = answer.as_slice() else { return Ok(None) };
        let place: Option<String> = parse(place, "a place")?;
        let place = user.zip(place).map(|(user, text)| parse_place(user, &text).ok_or_else(|| malformed("a place")));
        Ok(Some(ListState { places: parse(places, "a count")?, place: place.transpose()? }))
    }

    /// Opens the list for a time that has not come yet, or updates an open one. Returns `false` if the database has to
    /// give the places.
    pub async fn open(&self, sale: SaleId, list: OpenList) -> Reply<bool> {
        let mut call = self.scripts.open.key(&list_keys(Gathering::bucket(sale)));
        call.arg(list.from.as_millisecond()).arg(list.until.as_millisecond());
        call.arg(list.until.as_millisecond().saturating_add(KEPT_MS))
            .arg(list.epoch.map(|epoch| epoch.as_millisecond().to_string()).unwrap_or_default());
        let open: i64 = call.invoke_async(&mut self.master.clone()).await?;
        Ok(open == 1)
    }

    /// Stops Redis from giving places, and deletes the list once the database has all places that are left in it.
    pub async fn close(&self, sale: SaleId) -> Reply<ClosedList> {
        let call = self.scripts.close.key(&list_keys(Gathering::bucket(sale)));
        let (left, is_whole): (i64, bool) = call.invoke_async(&mut self.master.clone()).await?;
        Ok(ClosedList { is_written: left == 0, is_whole })
    }

    /// The oldest places that the database does not have yet. Reads batches until it has `enough` places, at most
    /// [`MAX_ARRIVALS`] batches. A batch that cannot be parsed is set aside for operators, so that it cannot keep the
    /// list from being locked.
    pub async fn arrivals(&self, sale: SaleId, enough: usize) -> Reply<Arrivals> {
        let bucket = Gathering::bucket(sale);
        let mut arrivals = Arrivals::default();
        let mut ask = redis::cmd("XRANGE");
        ask.arg(keys::outbox(bucket)).arg("-").arg("+").arg("COUNT").arg(MAX_ARRIVALS);
        let entries: Vec<(String, Vec<String>)> = ask.query_async(&mut self.master.clone()).await?;
        for (id, fields) in entries {
            match parse_places(&fields) {
                Some(places) => {
                    arrivals.places.extend(places);
                    arrivals.ids.push(id);
                }
                None => outbox::set_aside(&mut self.master.clone(), &Entry { bucket, id, items: None }).await?,
            }
            if arrivals.places.len() >= enough {
                break;
            }
        }
        Ok(arrivals)
    }

    /// Deletes arrivals from the stream once the database has them.
    pub async fn forget(&self, sale: SaleId, arrivals: &Arrivals) -> Reply<()> {
        let mut delete = redis::cmd("XDEL");
        delete.arg(keys::outbox(Gathering::bucket(sale))).arg(&arrivals.ids);
        let _: i64 = delete.query_async(&mut self.master.clone()).await?;
        Ok(())
    }
}

impl Arrivals {
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// The hash of a list, the places by account, and the stream of places that are not in the database yet.
fn list_keys(bucket: Bucket) -> [String; 3] {
    [keys::hash, keys::places, keys::outbox].map(|name| name(bucket))
}

/// The entry for a request: the entry in its signed pass if it has one, otherwise the new one.
fn wished(request: &Joining) -> EntryId {
    request.signed.map_or(request.entry, |(entry, _)| entry)
}

/// Parses `entry:time`.
fn parse_place(user_id: UserId, text: &str) -> Option<GatheredPlace> {
    let (entry, time) = text.split_once(':')?;
    let entry = EntryId::new(ShortId::parse(entry)?.into_bytes());
    Some(GatheredPlace { user_id, entry, joined_at: parse_time(time)? })
}

/// Parses the fields of a stream entry: account, place, account, place, …
fn parse_places(fields: &[String]) -> Option<Vec<GatheredPlace>> {
    let [_, places] = fields else { return None };
    let words: Vec<&str> = places.split(' ').collect();
    let place = |pair: &[&str]| parse_place(UserId(ShortId::parse(pair[0])?), pair.get(1)?);
    words.chunks(2).map(place).collect()
}

/// The generation that has the places, and an answer for each claim.
fn read_answer(answer: &[Value], claims: &[Joining]) -> Reply<(Generation, Vec<Option<Gathered>>)> {
    let (epoch, server, now, of_each) = match answer {
        [] => return Err(Unavailable("Redis has no list of this sale, or may have lost places".into())),
        [Value::Int(epoch), Value::BulkString(server), Value::Int(now), of_each @ ..] => {
            (*epoch, server, *now, of_each)
        }
        _ => return Err(malformed("a batch")),
    };
    let generation = Generation::parse(epoch, server)?;
    let now = Timestamp::from_millisecond(now).map_err(|_| malformed("a time"))?;
    let gathered = |(n, claim): (usize, &Joining)| match of_each.get(n) {
        None | Some(Value::Int(1)) => {
            let place = GatheredPlace { user_id: claim.user_id, entry: wished(claim), joined_at: now };
            Ok(Some(Gathered::New(place)))
        }
        Some(Value::Int(0)) => Ok(Some(Gathered::Early)),
        Some(Value::Int(-1)) => Ok(None),
        Some(known) => {
            let place = parse_place(claim.user_id, &parse::<String>(known, "a place")?);
            let place = place.ok_or_else(|| malformed("a place"))?;
            // The same entry means that this request was sent twice.
            Ok(Some(if place.entry == wished(claim) { Gathered::New(place) } else { Gathered::Known(place) }))
        }
    };
    let all = claims.iter().enumerate().map(gathered).collect::<Reply<_>>()?;
    Ok((generation, all))
}

#[async_trait]
impl ReplayGrants for Gathering {
    type Grant = GatheredPlace;

    fn grant_log(&self) -> &GrantLog<GatheredPlace> {
        &self.places
    }

    fn master(&self) -> &RedisConnection {
        &self.master
    }

    async fn announced_buckets(&self) -> anyhow::Result<Vec<Bucket>> {
        Ok(Vec::new())
    }

    /// A list whose server has another history is closed. Its places go to the database once data control has deleted
    /// it, so nothing is replayed.
    async fn replay(&self, _bucket: Bucket, _places: &[GatheredPlace]) -> Reply<Replayed> {
        Ok(Replayed::NotLoaded)
    }

    /// Data control loads no list, so lost places go to the database.
    fn is_active(&self, _bucket: Bucket) -> bool {
        false
    }

    async fn persist(&self, bucket: Bucket, places: &[GatheredPlace]) -> anyhow::Result<()> {
        if let Some(sale) = bucket.waiting_room() {
            self.store.waiting_rooms().keep_places(sale, places).await?;
        }
        Ok(())
    }

    async fn are_persisted(&self, bucket: Bucket, places: &[GatheredPlace]) -> anyhow::Result<Vec<bool>> {
        let Some(sale) = bucket.waiting_room() else { return Ok(vec![true; places.len()]) };
        let users: Vec<UserId> = places.iter().map(|place| place.user_id).collect();
        let known: HashSet<UserId> = self.store.waiting_rooms().users_with_place(sale, &users).await?;
        Ok(users.iter().map(|user| known.contains(user)).collect())
    }
}

// Decides requests for places that arrive together in one call.

/// Calls that run side by side in this process.
const MAX_CALLS: usize = 2;

/// Takes places, a batch at a time: from Redis as long as it gives them, otherwise from the database.
pub struct Joins {
    pub store: Store,
    /// `None` if the database gives all places.
    pub gathering: Option<Gathering>,
}

impl Joins {
    /// Decides a batch for which Redis has answered, or not: what Redis leaves open, the database decides.
    async fn decide_batch(
        &self,
        Batch { bucket, claims }: &Batch<Joining>,
        gathered: Reply<Vec<Option<Gathered>>>,
    ) -> Reply<Vec<JoinDecision>> {
        let may_be_gathered = gathered.is_err();
        let gathered = gathered.unwrap_or_else(|_| vec![None; claims.len()]);
        let left = claims.iter().zip(&gathered).filter(|(_, gathered)| gathered.is_none());
        let left: Vec<Joining> = left.map(|(claim, _)| Joining { may_be_gathered, ..*claim }).collect();
        let mut outcomes = Vec::new();
        if !left.is_empty() {
            let sale = bucket.waiting_room().ok_or_else(|| Unavailable(format!("{bucket} is no waiting room")))?;
            outcomes = self.store.waiting_rooms().join(sale, &left).await?;
        }
        let mut outcomes = outcomes.into_iter();
        let decision = |gathered: Option<Gathered>| match gathered {
            Some(gathered) => Some(JoinDecision::Redis(gathered)),
            None => outcomes.next().map(JoinDecision::Database),
        };
        Ok(gathered.into_iter().filter_map(decision).collect())
    }
}

/// Who decided about a request, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinDecision {
    Redis(Gathered),
    Database(JoinOutcome),
}

#[async_trait]
impl BatchHandler for Joins {
    type Claim = Joining;
    type Decision = JoinDecision;
    type Counters = ();

    async fn decide(&self, batches: &[Batch<Joining>]) -> Vec<Reply<Vec<JoinDecision>>> {
        let gathered = match &self.gathering {
            Some(gathering) => gathering.take(batches).await,
            None => batches.iter().map(|batch| Ok(vec![None; batch.claims.len()])).collect(),
        };
        let mut decisions = Vec::with_capacity(batches.len());
        for (batch, gathered) in batches.iter().zip(gathered) {
            decisions.push(self.decide_batch(batch, gathered).await);
        }
        decisions
    }

    fn batch_key(&self, bucket: Bucket) -> BatchKey {
        self.gathering.as_ref().map_or(BatchKey::Shared, |gathering| gathering.batch_key(bucket))
    }

    fn max_calls(&self) -> usize {
        // With two calls, one is written while the other waits for the disk. An SQLite file has one writer.
        if self.store.shares_clock() { 1 } else { MAX_CALLS }
    }
}
