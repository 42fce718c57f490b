//! How claims enter the database. As with orders there are two ways: on rung 1 `take_shares` decides and writes in one
//! transaction; on rungs 2 and 3 `persist_claims` writes the grants of Redis.

use std::collections::{BTreeMap, HashMap, HashSet};

use boxed::boxed;
use jiff::Timestamp;
use sqlx::any::AnyRow;

use crate::packets::*;
use crate::pool::Connection;
use crate::{LockPatience, PacketStore, StoreError, column, for_ids, for_rows, row};

/// The outcome of persisting one claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersistedClaim {
    /// The claim was created and its money moved.
    Created,
    /// The claim was persisted before.
    Known,
    /// The share belongs to another user, or the user has another share. No money moved.
    Rejected,
    /// The packet does not exist.
    NoSuchPacket,
}

/// A share that is granted to a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShareGrant {
    pub user_id: UserId,
    pub share: Share,
}

macro_rules! columns {
    () => {
        "packet_id, share, user_id, amount, claimed_at_ms"
    };
}
pub(super) use columns;

pub(super) fn claim(row: &AnyRow) -> sqlx::Result<ShareClaim> {
    read!(row => ShareClaim { packet_id, user_id, share, amount, claimed_at: "claimed_at_ms" })
}

#[boxed]
impl PacketStore<'_> {
    /// Claims shares of one packet in one transaction. `decide` receives the packet, whose row is locked, the shares
    /// that `users` already have, the next free shares, at most one per user, and the time. It returns the shares to
    /// grant and its answer. `None` if there is no such packet.
    pub async fn take_shares<T>(
        self,
        id: PacketId,
        users: &[UserId],
        decide: impl FnOnce(&Packet, &HashMap<UserId, Share>, &[Share], Timestamp) -> (Vec<ShareGrant>, T),
    ) -> StoreResult<Option<T>> {
        let mut tx = self.begin().await?;
        let Some(packet) = lock(&mut tx, id).await? else { return Ok(None) };
        let held = shares_of_users(&mut tx, id, users).await?;
        let free = free_shares(&mut tx, &packet, users.len() as i64).await?;
        let now = tx.now;
        let (grants, answer) = decide(&packet, &held, &free, now);
        let claims: Vec<ShareClaim> = grants
            .iter()
            .map(|ShareGrant { user_id, share }| ShareClaim {
                packet_id: id,
                user_id: *user_id,
                share: share.index,
                amount: share.amount,
                claimed_at: now,
            })
            .collect();
        if !claims.is_empty() {
            if !insert_claims(&mut tx, &claims).await? {
                return Err(StoreError::Refused(sqlx::Error::Protocol(
                    "claims changed under the packet's lock".into(),
                )));
            }
            let next = claims.iter().map(|claim| claim.share + 1).max().unwrap_or_default();
            tx.run(query!("UPDATE packets SET next_share = $2 WHERE id = $1"; id, next)).await?;
        }
        tx.commit_and(Some(answer)).await
    }

    /// Persists claims. Idempotent: may be repeated with the same claims in any order and in any batches.
    /// Does not wait for a locked packet.
    pub async fn persist_claims(self, batch: &[ShareClaim]) -> StoreResult<Vec<PersistedClaim>> {
        if self.persist_all_new_claims(batch).await? {
            return Ok(vec![PersistedClaim::Created; batch.len()]);
        }
        let known = self.persisted_claims(batch).await?;
        let new: Vec<ShareClaim> = batch.iter().filter(|claim| !known.contains(&claim.key())).copied().collect();
        let all_new = new.len() < batch.len() && self.persist_all_new_claims(&new).await?;
        let mut outcomes = Vec::with_capacity(batch.len());
        for claim in batch {
            outcomes.push(match known.contains(&claim.key()) {
                true => PersistedClaim::Known,
                false if all_new => PersistedClaim::Created,
                false => self.persist_claim(claim).await?,
            });
        }
        Ok(outcomes)
    }

    /// Persists a batch in the usual case: every claim is new. Otherwise writes nothing and returns `false`.
    async fn persist_all_new_claims(self, batch: &[ShareClaim]) -> StoreResult<bool> {
        let mut tx = self.begin_with(LockPatience::Short).await?;
        let done = !batch.is_empty() && insert_claims(&mut tx, batch).await?;
        if done {
            tx.commit().await?;
        }
        Ok(done)
    }

    async fn persist_claim(self, claim: &ShareClaim) -> StoreResult<PersistedClaim> {
        if self.persist_all_new_claims(std::slice::from_ref(claim)).await? {
            return Ok(PersistedClaim::Created);
        }
        let mut tx = self.begin_with(LockPatience::Short).await?;
        if lock(&mut tx, claim.packet_id).await?.is_none() {
            return Ok(PersistedClaim::NoSuchPacket);
        }
        // This answer is final, because every transaction that persists this claim takes the same lock.
        if persisted(&mut tx, std::slice::from_ref(claim)).await?.contains(&claim.key()) {
            return Ok(PersistedClaim::Known);
        }
        let sql = "INSERT INTO packet_rejections (packet_id, share, user_id, amount, at_ms) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT DO NOTHING";
        tx.run(query!(sql; claim.packet_id, claim.share, claim.user_id, claim.amount, tx.now)).await?;
        tx.commit_and(PersistedClaim::Rejected).await
    }

    /// The keys of the claims that were persisted or rejected already.
    pub async fn persisted_claims(self, claims: &[ShareClaim]) -> StoreResult<HashSet<(PacketId, i64, UserId)>> {
        Ok(persisted(&mut self.pool.acquire().await?, claims).await?)
    }

    /// A user's claim on a packet.
    pub async fn claim_of(self, id: PacketId, user: UserId) -> StoreResult<Option<ShareClaim>> {
        let sql = select!(columns, "FROM packet_claims WHERE packet_id = $1 AND user_id = $2");
        self.optional(query!(sql; id, user), claim).await
    }

    /// The claims of a packet in descending order of shares, below the share `before`.
    pub async fn claims(self, id: PacketId, before: Option<i64>, limit: i64) -> StoreResult<Vec<PacketClaim>> {
        let sql = "SELECT c.packet_id, c.share, c.user_id, c.amount, c.claimed_at_ms, u.username
             FROM packet_claims c LEFT JOIN users u ON u.id = c.user_id
             WHERE c.packet_id = $1 AND c.share < $2 ORDER BY c.share DESC LIMIT $3";
        let query = query!(sql; id, before.unwrap_or(i64::MAX), limit);
        self.all(query, |row| read!(row => PacketClaim { claim = claim(row)?, username })).await
    }

    /// The claims of a packet in ascending order of shares, above the share `after`.
    pub async fn claims_after(self, id: PacketId, after: Option<i64>, limit: i64) -> StoreResult<Vec<ShareClaim>> {
        let sql = select!(columns, "FROM packet_claims WHERE packet_id = $1 AND share > $2 ORDER BY share LIMIT $3");
        self.all(query!(sql; id, after.unwrap_or(-1), limit), claim).await
    }
}

/// The keys of the claims that are in the database, including rejected ones.
async fn persisted(
    connection: &mut Connection,
    claims: &[ShareClaim],
) -> sqlx::Result<HashSet<(PacketId, i64, UserId)>> {
    let mut by_packet: BTreeMap<PacketId, Vec<i64>> = BTreeMap::new();
    for claim in claims {
        by_packet.entry(claim.packet_id).or_default().push(claim.share);
    }
    let mut persisted = HashSet::with_capacity(claims.len());
    for (id, shares) in by_packet {
        for sql in [
            "SELECT share, user_id FROM packet_claims WHERE packet_id = $1 AND share IN $ids",
            "SELECT share, user_id FROM packet_rejections WHERE packet_id = $1 AND share IN $ids",
        ] {
            let claim = |row: &AnyRow| Ok((id, row::get(row, "share")?, row::get(row, "user_id")?));
            let found: Vec<_> = connection.all_of(sql, &values![id], &shares, claim).await?;
            persisted.extend(found);
        }
    }
    Ok(persisted)
}

/// Inserts claims and moves their money. Returns `false` if a claim is not new or does not fit; the caller must then
/// roll back the transaction.
async fn insert_claims(tx: &mut Tx, claims: &[ShareClaim]) -> sqlx::Result<bool> {
    let mut sums: BTreeMap<PacketId, (i64, i64)> = BTreeMap::new();
    for claim in claims {
        let (shares, amount) = sums.entry(claim.packet_id).or_default();
        *shares += 1;
        *amount = amount.saturating_add(claim.amount);
    }
    for (id, (shares, amount)) in sums {
        let sql = "UPDATE packets SET claimed = claimed + $2, claimed_amount = claimed_amount + $3
             WHERE id = $1 AND state = 'open' AND claimed + $2 <= count AND claimed_amount + $3 <= total";
        if tx.changed(query!(sql; id, shares, amount)).await? != 1 {
            return Ok(false);
        }
    }
    let sql = "INSERT INTO packet_claims (packet_id, share, user_id, amount, claimed_at_ms) VALUES $rows
         ON CONFLICT DO NOTHING";
    let mut written = 0;
    for query in for_rows(sql, claims, |of| values![of.packet_id, of.share, of.user_id, of.amount, of.claimed_at]) {
        written += tx.changed(query).await?;
    }
    if written != claims.len() as u64 {
        return Ok(false);
    }
    let transfers: Vec<Transfer> = claims.iter().map(transfer).collect();
    let now = tx.now;
    Ok(post(tx, &transfers, now).await? == Posted::Done { new: claims.len() })
}

fn transfer(claim: &ShareClaim) -> Transfer {
    Transfer {
        id: format!("claim:{}:{}", claim.packet_id, claim.user_id),
        kind: TransferKind::Claim,
        reference: claim.packet_id.to_string(),
        moves: vec![
            (LedgerAccount::Packet(claim.packet_id), -claim.amount),
            (LedgerAccount::User(claim.user_id), claim.amount),
        ],
    }
}

async fn shares_of_users(tx: &mut Tx, id: PacketId, users: &[UserId]) -> sqlx::Result<HashMap<UserId, Share>> {
    let sql = "SELECT user_id, share, amount FROM packet_claims WHERE packet_id = $1 AND user_id IN $ids";
    let read = |row: &AnyRow| {
        let share = Share { index: row::int(row, "share")?, amount: row::int(row, "amount")? };
        Ok((row::get(row, "user_id")?, share))
    };
    tx.all_of(sql, &values![id], users, read).await
}

/// The first free shares of a locked packet, at most `limit`. Usually they are consecutive. If Redis granted shares of
/// this packet before, some in between are claimed.
async fn free_shares(tx: &mut Tx, packet: &Packet, limit: i64) -> sqlx::Result<Vec<Share>> {
    let next: i64 =
        tx.one(query!("SELECT next_share FROM packets WHERE id = $1"; packet.id), column("next_share")).await?;
    let limit = limit.min(packet.count - packet.claimed);
    let mut free = Vec::new();
    let mut part = next / SHARES_PER_PART;
    while (free.len() as i64) < limit && part * SHARES_PER_PART < packet.count {
        let row = query!("SELECT part, amounts FROM packet_shares WHERE packet_id = $1 AND part = $2"; packet.id, part);
        let Some(of_part) = tx.optional(row, shares_of_part).await? else { break };
        let from = next.max(part * SHARES_PER_PART);
        let rows = query!("SELECT share FROM packet_claims WHERE packet_id = $1 AND share >= $2 AND share < $3";
            packet.id, from, (part + 1) * SHARES_PER_PART);
        let taken: HashSet<i64> = tx.all(rows, column("share")).await?.into_iter().collect();
        free.extend(of_part.into_iter().filter(|share| share.index >= from && !taken.contains(&share.index)));
        part += 1;
    }
    free.truncate(limit.max(0) as usize);
    Ok(free)
}

// Packets that are not settled. There may be a hundred thousand of them, so no periodic reader should read all of
// them.

/// The unclaimed money in open packets of the giver `$1`.
pub(crate) const UNCLAIMED: &str = "SELECT CAST(COALESCE(SUM(total - claimed_amount), 0) AS BIGINT) AS amount
     FROM packets WHERE state = 'open' AND giver = $1";

#[boxed]
impl PacketStore<'_> {
    /// The unclaimed money in a user's open packets, in minor units.
    pub async fn unclaimed_money(self, giver: UserId) -> StoreResult<i64> {
        self.one(query!(UNCLAIMED; giver), column("amount")).await
    }

    /// Every packet that is not settled.
    pub async fn open(self) -> StoreResult<Vec<Packet>> {
        let sql = select!(super::columns, "FROM packets WHERE state = 'open' ORDER BY id");
        self.all(query!(sql), packet).await
    }

    /// Packets that are not settled, and whose time is over at `now` or whose shares all have a claim in the database.
    pub async fn over(self, now: Timestamp) -> StoreResult<Vec<Packet>> {
        let sql = select!(
            super::columns,
            "FROM packets WHERE state = 'open' AND expires_at_ms <= $1 UNION SELECT ",
            super::columns!(),
            " FROM packets WHERE state = 'open' AND claimed >= count ORDER BY id"
        );
        self.all(query!(sql; now), packet).await
    }

    /// Packets that are not settled and were never loaded into Redis.
    pub async fn unloaded_packets(self) -> StoreResult<Vec<Packet>> {
        let sql = select!(super::columns, "FROM packets WHERE state = 'open' AND epoch = 0 ORDER BY id");
        self.all(query!(sql), packet).await
    }

    /// Whether a packet is open or waits for the replay of grants.
    pub async fn has_unsettled(self) -> StoreResult<bool> {
        let sql =
            "SELECT 1 FROM packets WHERE state = 'open' UNION ALL SELECT 1 FROM packets WHERE recovering = 1 LIMIT 1";
        self.exists(query!(sql)).await
    }

    /// Packets that grant nothing until every `serve` process has replayed its grants.
    pub async fn recovering_packets(self) -> StoreResult<Vec<Packet>> {
        let sql = select!(super::columns, "FROM packets WHERE recovering = 1 ORDER BY id");
        self.all(query!(sql), packet).await
    }

    /// Records that packets wait for the replay of grants, or do not wait any more.
    pub async fn set_recovering(self, ids: &[PacketId], recovering: bool) -> StoreResult<()> {
        self.run_all(for_ids("UPDATE packets SET recovering = $1 WHERE id IN $ids", &values![recovering], ids)).await
    }

    /// Packets that are not settled, by id, after `after`.
    pub async fn open_after(self, after: PacketId, limit: i64) -> StoreResult<Vec<Packet>> {
        let sql = select!(super::columns, "FROM packets WHERE state = 'open' AND id > $1 ORDER BY id LIMIT $2");
        self.all(query!(sql; after.0, limit), packet).await
    }

    /// Packets that were given or settled at `since` or later.
    pub async fn changed_since(self, since: Timestamp) -> StoreResult<Vec<Packet>> {
        let sql = select!(
            super::columns,
            "FROM packets WHERE created_at_ms >= $1 UNION SELECT ",
            super::columns!(),
            " FROM packets WHERE settled_at_ms >= $1"
        );
        self.all(query!(sql; since), packet).await
    }
}

/// The number of a giver's packets that are not settled.
pub(super) async fn count_open(tx: &mut Tx, giver: Giver) -> sqlx::Result<i64> {
    let query = match giver {
        Giver::User(user) => {
            query!("SELECT COUNT(*) AS n FROM packets WHERE state = 'open' AND giver = $1"; user)
        }
        Giver::Shop => query!("SELECT COUNT(*) AS n FROM packets WHERE state = 'open' AND giver IS NULL"),
    };
    tx.one(query, column("n")).await
}
