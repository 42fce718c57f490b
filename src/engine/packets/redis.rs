//! Redis as the share backend. The scripts in `lua/` decide; this file encodes their arguments and decodes their answers.
//!
//! A bucket consists of the packet hash, the list of unclaimed shares, the hash of users with their shares, and the
//! outbox. The outbox is a stream in which a claim stays until it has been seen in the database.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use boxed::boxed;
use redis::{AsyncCommands, Cmd, Script, Value};

use crate::batching::{Batch, BatchKey, Reply, Unavailable};
use crate::packets::directory::PacketDirectory;
use crate::packets::{ShareBackend, ShareDecision};
use crate::redis::connection::RedisConnection;
use crate::redis::grant_log::GrantLog;
use crate::redis::keys::{self, ShortId};
use crate::redis::replay::{Generation, ReplayGrants, Replayed};
use crate::redis::{HotScript, malformed, parse};
use base::clock::Clock;
use domain::packet::{Packet, Share, ShareClaim};
use domain::{Bucket, PacketId, UserId};
use store::Store;

scripts! {
    struct Scripts {
        claim: HotScript = "claim.lua",
        keep: Script = "keep.lua",
        load: Script = "load.lua",
        set: Script = "set.lua",
    }
}

/// Shares on a Redis master. Clones share one connection.
#[derive(Clone)]
pub struct RedisShares {
    master: RedisConnection,
    scripts: Arc<Scripts>,
    grants: Arc<GrantLog<(UserId, Share)>>,
    store: Store,
    clock: Clock,
    directory: Arc<PacketDirectory>,
}

/// Shares or users per command; more would block the server for too long.
const PAGE_SIZE: usize = 1000;
/// Staging keys expire after this time, in case a load is never finished.
const STAGING_TTL_SECONDS: i64 = 600;

/// How many shares and users are staged for a bucket.
#[derive(Debug, Clone, Copy, Default)]
pub struct Staged {
    unclaimed: usize,
    users: i64,
}

/// The state of a bucket on the master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedShares {
    /// The server that has the keys now, and the epoch of the keys.
    pub generation: Generation,
    /// Whether this server may grant shares. After a recovery, or if it may have lost grants, it may not until grants
    /// have been replayed to it.
    pub is_granting: bool,
    /// `false` once the packet is being settled.
    pub open: bool,
    pub expires_ms: i64,
    pub unclaimed: i64,
    /// Number of users with a share.
    pub users: i64,
    /// Entries in the outbox.
    pub outbox: i64,
}

#[boxed]
impl RedisShares {
    /// The replay queries `store` for the grants that the database has already, as long as `directory` has open packets.
    pub fn new(master: RedisConnection, store: Store, clock: Clock, directory: Arc<PacketDirectory>) -> RedisShares {
        RedisShares { master, scripts: Arc::default(), grants: Arc::default(), store, clock, directory }
    }

    /// The shared connection to the master.
    pub fn connection(&self) -> RedisConnection {
        self.master.clone()
    }

    /// The state of each bucket; `None` where it is not loaded, and an error where its server does not answer.
    pub async fn survey(&self, buckets: &[Bucket]) -> Reply<Vec<Reply<Option<LoadedShares>>>> {
        let answers = self.master.each(buckets, |pipe, bucket| {
            pipe.hmget(keys::hash(bucket), &["Epoch", "State", "Expires", "Server"]);
            pipe.llen(keys::unclaimed(bucket)).hlen(keys::users(bucket)).xlen(keys::outbox(bucket));
            pipe.cmd("EVAL").arg(include_str!("server.lua")).arg(1).arg(keys::hash(bucket))
        });
        Ok(answers.await?.into_iter().map(|answers| loaded_shares(&answers?)).collect())
    }

    /// Adds shares and users to staging keys, which [`RedisShares::load`] renames into place.
    pub async fn stage(
        &self,
        bucket: Bucket,
        epoch: i64,
        staged: &mut Staged,
        unclaimed: &[Share],
        users: &[(UserId, Share)],
    ) -> Reply<()> {
        let (list, hash) = (keys::loading(bucket, epoch), keys::loading_users(bucket, epoch));
        for chunk in unclaimed.chunks(PAGE_SIZE) {
            let mut pipe = redis::pipe();
            let words: Vec<String> = chunk.iter().map(Share::to_string).collect();
            pipe.rpush(&list, words).expire(&list, STAGING_TTL_SECONDS);
            let _: Value = pipe.query_async(&mut self.master.clone()).await?;
            staged.unclaimed += chunk.len();
        }
        for chunk in users.chunks(PAGE_SIZE) {
            let mut pipe = redis::pipe();
            let fields: Vec<(ShortId, String)> = chunk.iter().map(|(u, s)| (ShortId::of(u.0), s.to_string())).collect();
            pipe.cmd("HSET").arg(&hash).arg(&fields).expire(&hash, STAGING_TTL_SECONDS).ignore();
            // A user may be in the outbox with another share than in the database.
            let (new,): (i64,) = pipe.query_async(&mut self.master.clone()).await?;
            staged.users += new;
        }
        Ok(())
    }

    /// Creates a bucket from its staging keys. Returns `false` if another process has created it already. A bucket that
    /// is loaded `closed` grants nothing until [`crate::redis::replay::open`] is called.
    pub async fn load(&self, bucket: Bucket, packet: &Packet, epoch: i64, closed: bool, staged: Staged) -> Reply<bool> {
        let mut call = self.scripts.load.key(keys::hash(bucket));
        call.key(keys::unclaimed(bucket)).key(keys::users(bucket));
        call.key(keys::loading(bucket, epoch)).key(keys::loading_users(bucket, epoch));
        call.arg(epoch)
            .arg(packet.opens_at.as_millisecond())
            .arg(packet.expires_at.as_millisecond())
            .arg(i64::from(!closed))
            .arg(staged.unclaimed)
            .arg(staged.users);
        match call.invoke_async(&mut self.master.clone()).await? {
            1 => Ok(true),
            0 => Ok(false),
            _ => Err(Unavailable("the staged shares are incomplete".into())),
        }
    }

    pub(crate) async fn set_expiry(&self, bucket: Bucket, epoch: i64, packet: &Packet) -> Reply<()> {
        self.set(bucket, epoch, "Expires", &packet.expires_at.as_millisecond().to_string()).await
    }

    /// Ends the granting of shares for good.
    pub async fn close(&self, bucket: Bucket, epoch: i64) -> Reply<()> {
        self.set(bucket, epoch, "State", "closed").await
    }

    async fn set(&self, bucket: Bucket, epoch: i64, field: &str, value: &str) -> Reply<()> {
        let mut call = self.scripts.set.key(keys::hash(bucket));
        let _: i64 = call.arg(epoch).arg(field).arg(value).invoke_async(&mut self.master.clone()).await?;
        Ok(())
    }

    /// One page of users, and the cursor of the next page or 0. A user may appear twice.
    pub async fn users(&self, bucket: Bucket, cursor: u64) -> Reply<(u64, Vec<(UserId, Share)>)> {
        let mut scan = redis::cmd("HSCAN");
        scan.arg(keys::users(bucket)).arg(cursor).arg("COUNT").arg(PAGE_SIZE);
        let (next, fields): (u64, Vec<(String, String)>) = scan.query_async(&mut self.master.clone()).await?;
        let parsed = fields.iter().map(|(user, share)| Some((UserId(ShortId::parse(user)?), share.parse().ok()?)));
        Ok((next, parsed.collect::<Option<_>>().ok_or_else(|| malformed("users"))?))
    }

    /// Appends claims that were lost before they reached the database to the outbox again.
    pub async fn send_again(&self, bucket: Bucket, claims: &[(UserId, Share)], at_ms: i64) -> Reply<()> {
        let words: Vec<String> =
            claims.iter().map(|(user, share)| format!("{} {share}", ShortId::of(user.0))).collect();
        let mut add = redis::cmd("XADD");
        add.arg(keys::outbox(bucket)).arg("*").arg("at").arg(at_ms).arg("claims").arg(words.join(" "));
        let _: Value = add.query_async(&mut self.master.clone()).await?;
        Ok(())
    }

    fn claims(&self, bucket: Bucket, grants: &[(UserId, Share)]) -> Vec<ShareClaim> {
        let claimed_at = self.clock.now();
        let packet_id = bucket.packet();
        let claim = |&(user_id, share): &(UserId, Share)| {
            Some(ShareClaim { packet_id: packet_id?, user_id, share: share.index, amount: share.amount, claimed_at })
        };
        grants.iter().filter_map(claim).collect()
    }

    fn claim_call(&self, Batch { bucket, claims: users }: &Batch<UserId>) -> Cmd {
        let distinct = users.iter().collect::<HashSet<_>>().len() == users.len();
        let names = [keys::hash, keys::unclaimed, keys::users, keys::outbox];
        let mut call = self.scripts.claim.call(&names.map(|name| name(*bucket)));
        call.arg(if distinct { users.len() } else { 0 });
        for user in users {
            call.arg(ShortId::of(user.0));
        }
        call
    }

    fn decisions(&self, batch: &Batch<UserId>, answer: Vec<Value>) -> Reply<Vec<ShareDecision>> {
        let users = &batch.claims;
        let [answers @ .., Value::BulkString(server), Value::Int(epoch)] = answer.as_slice() else {
            return Ok(vec![ShareDecision::NotLoaded; users.len()]);
        };
        if answers.len() != users.len() {
            return Err(malformed("a batch"));
        }
        let decisions: Vec<ShareDecision> = answers.iter().map(decision).collect::<Result<_, _>>()?;
        let generation = Generation::parse(*epoch, server)?;
        let granted = users.iter().zip(&decisions).filter_map(|(user, decision)| match decision {
            ShareDecision::Granted(share) => Some((*user, *share)),
            _ => None,
        });
        let repeated = users.iter().zip(&decisions).filter_map(|(user, decision)| match decision {
            ShareDecision::Repeated(share) => Some((*user, *share)),
            _ => None,
        });
        self.grants.remember((batch.bucket, generation), granted, repeated);
        Ok(decisions)
    }

    /// Deletes a bucket's keys.
    pub async fn unload(&self, bucket: Bucket) -> Reply<()> {
        let names = [keys::hash, keys::unclaimed, keys::users, keys::outbox, keys::replayed];
        let _: i64 = self.master.clone().unlink(&names.map(|name| name(bucket))).await?;
        Ok(())
    }
}

fn loaded_shares(answers: &[Value]) -> Reply<Option<LoadedShares>> {
    let [fields, unclaimed, users, outbox, server] = answers else { return Err(malformed("a survey")) };
    let fields: Vec<Option<String>> = parse(fields, "a packet")?;
    let [Some(epoch), Some(state), Some(expires), Some(granting)] = fields.as_slice() else { return Ok(None) };
    let server: String = parse(server, "a replication id")?;
    let epoch = epoch.parse().map_err(|_| malformed("an epoch"))?;
    Ok(Some(LoadedShares {
        generation: Generation::parse(epoch, server.as_bytes())?,
        is_granting: *granting == server,
        open: state == "open",
        expires_ms: expires.parse().map_err(|_| malformed("a time"))?,
        unclaimed: parse(unclaimed, "a length")?,
        users: parse(users, "a length")?,
        outbox: parse(outbox, "a length")?,
    }))
}

#[async_trait]
impl ShareBackend for RedisShares {
    fn buckets_for(&self, packet: PacketId, buckets: u8, user: UserId) -> Vec<Bucket> {
        let all: Vec<Bucket> = Bucket::all(packet, buckets).collect();
        let home = Bucket::of_user(packet, buckets, user);
        let first = all.iter().position(|bucket| *bucket == home).unwrap_or_default();
        all[first..].iter().chain(&all[..first]).copied().collect()
    }

    async fn claim(&self, batches: &[Batch<UserId>]) -> Vec<Reply<Vec<ShareDecision>>> {
        let _unanswered = self.grants.begin_call();
        let calls = batches.iter().map(|batch| self.claim_call(batch)).collect();
        let answers = self.scripts.claim.send(calls, &self.master).await;
        batches.iter().zip(answers).map(|(batch, answer)| self.decisions(batch, answer?)).collect()
    }

    fn batch_key(&self, bucket: Bucket) -> BatchKey {
        self.master.batch_key(bucket)
    }

    async fn share_of(&self, bucket: Bucket, user: UserId) -> Reply<Option<Share>> {
        let share: Option<String> = self.master.clone().hget(keys::users(bucket), ShortId::of(user.0)).await?;
        share.map(|share| share.parse().map_err(|()| malformed("a share"))).transpose()
    }
}

fn decision(value: &Value) -> Reply<ShareDecision> {
    let text = match value {
        Value::Int(0) => return Ok(ShareDecision::Empty),
        Value::Int(-1) => return Ok(ShareDecision::NotOpen),
        Value::Int(-2) => return Ok(ShareDecision::Expired),
        Value::BulkString(text) => std::str::from_utf8(text).map_err(|_| malformed("a share"))?,
        _ => return Err(malformed("a claim")),
    };
    let repeated = text.strip_prefix('=');
    let share = repeated.unwrap_or(text).parse().map_err(|()| malformed("a share"))?;
    Ok(if repeated.is_some() { ShareDecision::Repeated(share) } else { ShareDecision::Granted(share) })
}

#[async_trait]
impl ReplayGrants for RedisShares {
    type Grant = (UserId, Share);

    fn grant_log(&self) -> &GrantLog<(UserId, Share)> {
        &self.grants
    }

    fn master(&self) -> &RedisConnection {
        &self.master
    }

    async fn replay(&self, bucket: Bucket, grants: &[(UserId, Share)]) -> Reply<Replayed> {
        let mut call = self.scripts.keep.key(keys::hash(bucket));
        call.key(keys::unclaimed(bucket)).key(keys::users(bucket)).key(keys::outbox(bucket));
        for (user, share) in grants {
            call.arg(ShortId::of(user.0)).arg(share.to_string());
        }
        let answer: Vec<Value> = call.invoke_async(&mut self.master.clone()).await?;
        match answer.as_slice() {
            [] => Ok(Replayed::NotLoaded),
            [Value::Int(epoch), Value::BulkString(server), Value::Int(forgotten)] => {
                Ok(Replayed::Forgotten((*forgotten).max(0) as usize, Generation::parse(*epoch, server)?))
            }
            _ => Err(malformed("a replay")),
        }
    }

    async fn announced_buckets(&self) -> anyhow::Result<Vec<Bucket>> {
        if self.directory.is_empty() {
            return Ok(Vec::new());
        }
        let packets = self.store.packets().recovering_packets().await?;
        Ok(packets.iter().flat_map(|packet| Bucket::all(packet.id, packet.buckets)).collect())
    }

    /// Always active: a packet is unloaded only after the database has every claim.
    fn is_active(&self, _bucket: Bucket) -> bool {
        true
    }

    async fn persist(&self, bucket: Bucket, grants: &[(UserId, Share)]) -> anyhow::Result<()> {
        self.store.packets().persist_claims(&self.claims(bucket, grants)).await?;
        Ok(())
    }

    async fn are_persisted(&self, bucket: Bucket, grants: &[(UserId, Share)]) -> anyhow::Result<Vec<bool>> {
        let claims = self.claims(bucket, grants);
        let known = self.store.packets().persisted_claims(&claims).await?;
        Ok(claims.iter().map(|claim| known.contains(&claim.key())).collect())
    }
}
