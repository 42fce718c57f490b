//! The list of a waiting room while it is open, in Redis: the crowd takes places there as fast as it buys units, and data control
//! writes them into the database soon after ([`crate::control::queues`]).
//!
//! Redis gives places only while it certainly knows every account that has one: the list is opened before shoppers may join, and closed
//! for good when the server may have lost writes ([`crate::redis::generation`]). Otherwise, and once the list is locked, the database gives
//! them. Where both have given a place to an account, its row stands: before the lock one place is worth as much as another.
//!
//! A process remembers the places that it has told until the database has them, and writes them itself when Redis has forgotten them.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use redis::{Script, Value};
use uuid::Uuid;

use crate::batching::{Batch, BatchKey};
use crate::domain::bucket::Owner;
use crate::domain::claim::Unavailable;
use crate::domain::draw::EntryId;
use crate::domain::{Bucket, SaleId, UserId};
use crate::redis::connection::RedisConnection;
use crate::redis::generation::{Generation, ServerId};
use crate::redis::grant_log::GrantLog;
use crate::redis::replay::{ReplayGrants, Replayed};
use crate::redis::script::HotScript;
use crate::redis::short_id::ShortId;
use crate::redis::{keys, malformed, parse, parse_time};
use crate::store::{GatheredPlace, Joining, Store};

struct Scripts {
    take: HotScript,
    read: Script,
    open: Script,
    close: Script,
}

/// The lists of waiting rooms on a Redis master or a cluster. Clones share one connection.
#[derive(Clone)]
pub struct Gathering {
    master: RedisConnection,
    scripts: Arc<Scripts>,
    places: Arc<GrantLog<GatheredPlace>>,
    store: Store,
}

/// The answer to a request for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    pub place: GatheredPlace,
    /// Whether the account had no place before the request.
    pub is_new: bool,
}

/// A list that gives places.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListState {
    pub(super) places: i64,
    /// Of the account that was asked for.
    pub(super) place: Option<GatheredPlace>,
}

/// What Redis says to a batch of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gathered {
    Taken(Vec<Taken>),
    /// The list opens later.
    Early,
}

/// When a list takes places, and what it begins with.
#[derive(Debug, Clone, Copy)]
pub struct OpenList {
    pub from: Timestamp,
    pub until: Timestamp,
    /// The database's time, if it has no places of the list.
    pub epoch: Option<Timestamp>,
}

/// Places that the database does not have yet, with the stream entries that name them.
#[derive(Debug, Default)]
pub struct Arrivals {
    ids: Vec<String>,
    pub places: Vec<GatheredPlace>,
}

/// Batches of places that are read at once.
const MAX_ARRIVALS: usize = 128;
/// How long after its end a list is kept at least, should data control not delete it.
const KEPT_MS: i64 = 24 * 3_600_000;

impl Gathering {
    pub fn new(master: RedisConnection, store: Store) -> Gathering {
        let scripts = Scripts {
            take: HotScript::new(include_str!("lua/take.lua")),
            read: Script::new(include_str!("lua/read.lua")),
            open: Script::new(include_str!("lua/open.lua")),
            close: Script::new(include_str!("lua/close.lua")),
        };
        Gathering { master, scripts: Arc::new(scripts), places: Arc::default(), store }
    }

    /// The bucket of a sale's list.
    pub fn bucket(sale: SaleId) -> Bucket {
        Bucket::whole(Owner::Queue(sale))
    }

    pub(super) fn batch_key(&self, bucket: Bucket) -> BatchKey {
        self.master.batch_key(bucket)
    }

    /// Gives places. `None` for a batch that the database has to decide, also where it is not known what Redis did: a place with the
    /// same entry is the same place.
    pub async fn take(&self, batches: &[Batch<Joining>]) -> Vec<Option<Gathered>> {
        let _unanswered = self.places.begin_call();
        let calls = batches.iter().map(|Batch { bucket, claims }| {
            let mut call = self.scripts.take.call(&[keys::hash, keys::places, keys::outbox].map(|name| name(*bucket)));
            for claim in claims {
                let entry = Uuid::from_bytes(*wished(claim).as_bytes());
                call.arg(ShortId::of(claim.user_id.0)).arg(ShortId::of(entry));
            }
            call
        });
        let answers = self.scripts.take.send(calls.collect(), &self.master).await;
        let Ok(answers) = answers else { return vec![None; batches.len()] };
        let gathered = batches.iter().zip(answers).map(|(Batch { bucket, claims }, answer)| {
            let answer = answer.ok()?;
            if answer == [Value::Int(0)] {
                return Some(Gathered::Early);
            }
            let (generation, taken) = read_answer(&answer, claims).ok().flatten()?;
            let of_kind = |is_new| taken.iter().filter(move |taken| taken.is_new == is_new).map(|taken| taken.place);
            self.places.remember((*bucket, generation), of_kind(true), of_kind(false));
            Some(Gathered::Taken(taken))
        });
        gathered.collect()
    }

    /// The list, with the place of an account if one is asked for; `None` where the database gives the places.
    pub(super) async fn read(&self, sale: SaleId, user: Option<UserId>) -> Result<Option<ListState>, Unavailable> {
        let mut call = self.scripts.read.key(keys::hash(Gathering::bucket(sale)));
        call.key(keys::places(Gathering::bucket(sale)));
        call.arg(user.map(|user| ShortId::of(user.0).to_string()).unwrap_or_default());
        let answer: Vec<Value> = call.invoke_async(&mut self.master.clone()).await?;
        let [places, place] = answer.as_slice() else { return Ok(None) };
        let place: Option<String> = parse(place, "a place")?;
        let place = user.zip(place).map(|(user, text)| parse_place(user, &text).ok_or_else(|| malformed("a place")));
        Ok(Some(ListState { places: parse(places, "a count")?, place: place.transpose()? }))
    }

    /// Lets Redis give places from a time that has not come, or goes on doing so. `false` where the database has to.
    pub async fn open(&self, sale: SaleId, list: OpenList) -> Result<bool, Unavailable> {
        let mut call = self.scripts.open.key(keys::hash(Gathering::bucket(sale)));
        call.key(keys::places(Gathering::bucket(sale))).key(keys::outbox(Gathering::bucket(sale)));
        call.arg(list.from.as_millisecond()).arg(list.until.as_millisecond());
        call.arg(list.until.as_millisecond().saturating_add(KEPT_MS))
            .arg(list.epoch.map(|epoch| epoch.as_millisecond().to_string()).unwrap_or_default());
        let open: i64 = call.invoke_async(&mut self.master.clone()).await?;
        Ok(open == 1)
    }

    /// Has no more places given, and deletes the list once the database has all. Returns whether it has.
    pub async fn close(&self, sale: SaleId) -> Result<bool, Unavailable> {
        let mut call = self.scripts.close.key(keys::hash(Gathering::bucket(sale)));
        call.key(keys::places(Gathering::bucket(sale))).key(keys::outbox(Gathering::bucket(sale)));
        let left: i64 = call.invoke_async(&mut self.master.clone()).await?;
        Ok(left == 0)
    }

    /// The oldest places that the database does not have yet: `enough` or a batch more, or what there is.
    pub async fn arrivals(&self, sale: SaleId, enough: usize) -> Result<Arrivals, Unavailable> {
        let mut ask = redis::cmd("XRANGE");
        ask.arg(keys::outbox(Gathering::bucket(sale))).arg("-").arg("+").arg("COUNT").arg(MAX_ARRIVALS);
        let entries: Vec<(String, Vec<String>)> = ask.query_async(&mut self.master.clone()).await?;
        let mut arrivals = Arrivals::default();
        for (id, fields) in entries {
            let words: Vec<&str> = fields.last().map(|places| places.split(' ').collect()).unwrap_or_default();
            for pair in words.chunks(2) {
                arrivals.places.push(parse_pair(pair).ok_or_else(|| malformed("a place"))?);
            }
            arrivals.ids.push(id);
            if arrivals.places.len() >= enough {
                break;
            }
        }
        Ok(arrivals)
    }

    /// Forgets arrivals that the database has.
    pub async fn forget(&self, sale: SaleId, arrivals: &Arrivals) -> Result<(), Unavailable> {
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

/// The entry that a request asks for: one that the shop has signed before a new one.
fn wished(request: &Joining) -> EntryId {
    request.signed.map_or(request.entry, |(entry, _)| entry)
}

/// Parses `entry:time`.
fn parse_place(user_id: UserId, text: &str) -> Option<GatheredPlace> {
    let (entry, time) = text.split_once(':')?;
    let entry = EntryId::new(ShortId::parse(entry)?.into_bytes());
    Some(GatheredPlace { user_id, entry, joined_at: parse_time(time)? })
}

/// Parses an account and its place, as the stream has them.
fn parse_pair(pair: &[&str]) -> Option<GatheredPlace> {
    let [user, place] = pair else { return None };
    parse_place(UserId(ShortId::parse(user)?), place)
}

/// The generation that has the places, and an answer for each; `None` when no places are given.
fn read_answer(answer: &[Value], claims: &[Joining]) -> Result<Option<(Generation, Vec<Taken>)>, Unavailable> {
    let [epoch, server, now, of_each @ ..] = answer else { return Ok(None) };
    let server = ServerId::parse(&parse::<String>(server, "a replication id")?);
    let generation =
        Generation { epoch: parse(epoch, "an epoch")?, server: server.ok_or_else(|| malformed("a replication id"))? };
    let now = Timestamp::from_millisecond(parse(now, "a time")?).map_err(|_| malformed("a time"))?;
    let taken = |(n, claim): (usize, &Joining)| match of_each.get(n) {
        None | Some(Value::Int(1)) => {
            let place = GatheredPlace { user_id: claim.user_id, entry: wished(claim), joined_at: now };
            Ok(Taken { place, is_new: true })
        }
        Some(known) => {
            let place = parse_place(claim.user_id, &parse::<String>(known, "a place")?);
            let place = place.ok_or_else(|| malformed("a place"))?;
            Ok(Taken { place, is_new: place.entry == wished(claim) })
        }
    };
    let all = claims.iter().enumerate().map(taken).collect::<Result<_, Unavailable>>()?;
    Ok(Some((generation, all)))
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

    /// A list under another history of the server has been closed: its places go to the database once data control has deleted it.
    async fn replay(&self, _bucket: Bucket, _places: &[GatheredPlace]) -> Result<Replayed, Unavailable> {
        Ok(Replayed::NotLoaded)
    }

    /// Data control loads no list, so what a list lacks goes to the database.
    fn is_active(&self, _bucket: Bucket) -> bool {
        false
    }

    async fn persist(&self, bucket: Bucket, places: &[GatheredPlace]) -> anyhow::Result<()> {
        if let Some(sale) = bucket.queue() {
            self.store.keep_places(sale, places).await?;
        }
        Ok(())
    }

    async fn are_persisted(&self, bucket: Bucket, places: &[GatheredPlace]) -> anyhow::Result<Vec<bool>> {
        let Some(sale) = bucket.queue() else { return Ok(vec![true; places.len()]) };
        let users: Vec<UserId> = places.iter().map(|place| place.user_id).collect();
        let known: HashSet<UserId> = self.store.users_with_place(sale, &users).await?;
        Ok(users.iter().map(|user| known.contains(user)).collect())
    }
}
