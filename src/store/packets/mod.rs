//! Red packets: the packets, their shares and their claims.
//!
//! Claiming and settling lock the packet's row first. Money in wallets moves last of all.

pub(super) mod claims;
pub(super) mod shop;

use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::audit::{Snapshot, Steps};
use crate::wallet::{Posted, post};
use crate::{PacketStore, StoreResult, Tx, column, for_rows, row};
pub use claims::{PersistedClaim, ShareGrant};
use domain::ledger::{LedgerAccount, Transfer, TransferKind};
use domain::packet::{Giver, Packet, PacketState, Share, ShareClaim};
use domain::{AuditAction, PacketId, RefundId, UserId};
pub use shop::{RequestedPacket, SettleOutcome, StopOutcome};

/// Shares in one row of `packet_shares`, which is one part of the packet.
pub const SHARES_PER_PART: i64 = 1000;

macro_rules! columns {
    () => {
        "id, giver, total, count, least, most, split, greeting, own, opens_at_ms, expires_at_ms, buckets, state, \
         claimed, claimed_amount, epoch, created_at_ms, settled_at_ms, best_user, best_amount"
    };
}
use columns;

fn packet(row: &AnyRow) -> sqlx::Result<Packet> {
    let giver = row::get::<Option<_>>(row, "giver")?.map_or(Giver::Shop, Giver::User);
    let best: Option<UserId> = row::get(row, "best_user")?;
    let best = best.map(|user| Ok::<_, sqlx::Error>((user, row::get(row, "best_amount")?))).transpose()?;
    read!(row => Packet {
        id, giver = giver, total, count, min: "least", max: "most", split, greeting, own, opens_at: "opens_at_ms",
        expires_at: "expires_at_ms", buckets, state, claimed, claimed_amount, epoch, created_at: "created_at_ms",
        settled_at: "settled_at_ms", best = best,
    })
}

/// The ledger account that funds a packet and gets the rest back.
pub(super) fn account(giver: Giver) -> LedgerAccount {
    match giver {
        Giver::User(user) => LedgerAccount::User(user),
        Giver::Shop => LedgerAccount::Shop,
    }
}

/// Reads a packet and locks its row until the end of the transaction.
async fn lock(tx: &mut Tx, id: PacketId) -> sqlx::Result<Option<Packet>> {
    let sql = concat!("UPDATE packets SET claimed = claimed WHERE id = $1 RETURNING ", columns!());
    tx.optional(query!(sql; id), packet).await
}

/// A member of the staff who gives from the shop's purse.
#[derive(Debug, Clone, Copy)]
pub struct ShopSpender<'a> {
    pub user: UserId,
    /// The name in the audit log.
    pub actor: &'a str,
    /// Minor units that this person may give within [`SPENDING_PERIOD`]; `None` if there is no limit.
    pub limit: Option<i64>,
    /// Minor units that this person may move within a day without a second person; `None` if there is no limit.
    pub alone: Option<i64>,
    /// The request, if it has to wait for a second person: its id, and as JSON what
    /// [`PacketStore::approve_packet`] gives later.
    pub request_id: RefundId,
    pub request: &'a str,
}

/// The time over which the packets that one person gave from the shop's purse are added up.
const SPENDING_PERIOD: Duration = Duration::from_secs(24 * 3600);

/// The outcome of giving a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GiveOutcome {
    Created(Packet),
    /// The same request was carried out before.
    Repeated(Packet),
    /// The giver used this key for another request.
    KeyReused,
    /// The giver's balance is too low.
    NotEnough,
    /// The member of the staff may not spend that much of the shop's money now.
    OverLimit,
    /// The packet waits for a second person.
    Waits(RefundId),
    /// The giver has as many open packets as one may have.
    TooMany,
    /// Another packet has this id. The caller tries another one.
    IdTaken,
}

/// A claim with the claimant's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketClaim {
    pub claim: ShareClaim,
    /// `None` when the account was deleted.
    pub username: Option<String>,
}

#[boxed]
impl PacketStore<'_> {
    /// Creates a packet with its shares and takes the money from the giver. `key` is an idempotency key: one giver's
    /// key creates one packet. `spender` is the member of the staff when the shop gives. `max_open` bounds the giver's open
    /// packets; requests that overlap may exceed it by their number.
    pub async fn give(
        self,
        new: &Packet,
        shares: &[i64],
        key: Option<&str>,
        spender: Option<ShopSpender<'_>>,
        max_open: i64,
    ) -> StoreResult<GiveOutcome> {
        let mut tx = self.begin().await?;
        if let Some(known) = by_key(&mut tx, new.giver, key).await? {
            return Ok(repeated(known, new));
        }
        if claims::count_open(&mut tx, new.giver).await? >= max_open {
            return Ok(GiveOutcome::TooMany);
        }
        if let Some(spender) = &spender {
            // Serializes packets and refunds of one person, so that each sees what the other has spent.
            tx.lock_user(spender.user).await?;
            if let Some(known) = shop::waiting(&mut tx, key, spender).await? {
                return Ok(known);
            }
            let spent = spent(&mut tx, spender.user, new.created_at - SPENDING_PERIOD).await?;
            if spender.limit.is_some_and(|limit| spent.saturating_add(new.total) > limit) {
                return Ok(GiveOutcome::OverLimit);
            }
            if let Some(outcome) = shop::waits(&mut tx, new, key, spender).await? {
                return tx.commit_and(outcome).await;
            }
        }
        if !insert(&mut tx, new, key, spender.map(|spender| (spender.user, None))).await? {
            // A concurrent transaction, for which this one waited, may have created the packet.
            let known = by_key(&mut tx, new.giver, key).await?;
            return Ok(known.map_or(GiveOutcome::IdTaken, |known| repeated(known, new)));
        }
        if fund(&mut tx, new, shares, spender.map(|spender| spender.actor)).await? == Posted::NotEnough {
            return Ok(GiveOutcome::NotEnough);
        }
        tx.commit_and(GiveOutcome::Created(new.clone())).await
    }

    pub async fn get(self, id: PacketId) -> StoreResult<Option<Packet>> {
        self.optional(query!(select!(columns, "FROM packets WHERE id = $1"); id), packet).await
    }

    /// Packets that were settled in `from..to`.
    pub async fn settled(self, from: Timestamp, to: Timestamp) -> StoreResult<Vec<Packet>> {
        let sql = select!(columns, "FROM packets WHERE settled_at_ms >= $1 AND settled_at_ms < $2");
        self.all(query!(sql; from, to), packet).await
    }

    /// Packets of a giver, newest first, older than `before`.
    pub async fn given(self, giver: Giver, before: Option<&Packet>, limit: i64) -> StoreResult<Vec<Packet>> {
        let (at, id) = keyset(before.map(|packet| (packet.created_at, packet.id)));
        let whose = if giver == Giver::Shop { "giver IS NULL AND $1 = ''" } else { "giver = $1" };
        let sql = format!(
            select!(
                columns,
                "FROM packets WHERE {whose} AND created_at_ms <= $2 AND (created_at_ms < $2 OR id < $3)
                 ORDER BY created_at_ms DESC, id DESC LIMIT $4"
            ),
            whose = whose
        );
        let query =
            query!(AssertSqlSafe(sql); giver.user().map(|user| user.to_string()).unwrap_or_default(), at, id, limit);
        self.all(query, packet).await
    }

    /// All packets, newest first, older than `before`.
    pub async fn list(self, before: Option<&Packet>, limit: i64) -> StoreResult<Vec<Packet>> {
        let (at, id) = keyset(before.map(|packet| (packet.created_at, packet.id)));
        let sql = select!(
            columns,
            "FROM packets WHERE created_at_ms <= $1 AND (created_at_ms < $1 OR id < $2)
             ORDER BY created_at_ms DESC, id DESC LIMIT $3"
        );
        self.all(query!(sql; at, id, limit), packet).await
    }

    /// A user's claims with their packets, newest first, older than `before`.
    pub async fn received(
        self,
        user: UserId,
        before: Option<(Timestamp, PacketId)>,
        limit: i64,
    ) -> StoreResult<Vec<(ShareClaim, Packet)>> {
        let (at, id) = keyset(before);
        let sql = select!(
            claims::columns,
            "FROM packet_claims
             WHERE user_id = $1 AND claimed_at_ms <= $2 AND (claimed_at_ms < $2 OR packet_id < $3)
             ORDER BY claimed_at_ms DESC, packet_id DESC LIMIT $4"
        );
        let claims = self.all(query!(sql; user, at, id, limit), claims::claim).await?;
        let packets = self.with_ids(&claims.iter().map(|claim| claim.packet_id).collect::<Vec<_>>()).await?;
        let with_packets = claims.into_iter().filter_map(|claim| {
            let packet = packets.iter().find(|packet| packet.id == claim.packet_id)?;
            Some((claim, packet.clone()))
        });
        Ok(with_packets.collect())
    }

    pub async fn with_ids(self, ids: &[PacketId]) -> StoreResult<Vec<Packet>> {
        self.all_of(select!(columns, "FROM packets WHERE id IN $ids"), &[], ids, packet).await
    }

    /// Starts a new epoch of a packet's keys in Redis and returns its number.
    pub async fn next_epoch(self, id: PacketId) -> StoreResult<i64> {
        let row = query!("UPDATE packets SET epoch = epoch + 1 WHERE id = $1 RETURNING epoch"; id);
        self.one(row, column("epoch")).await
    }

    /// The shares of one part of a packet, whether claimed or not. Empty after the last part.
    pub async fn part(self, id: PacketId, part: i64) -> StoreResult<Vec<Share>> {
        let sql = "SELECT part, amounts FROM packet_shares WHERE packet_id = $1 AND part = $2";
        Ok(self.optional(query!(sql; id, part), shares_of_part).await?.unwrap_or_default())
    }
}

/// The keyset condition of a page: only rows older than this.
fn keyset(before: Option<(Timestamp, PacketId)>) -> (i64, i64) {
    before.map_or((i64::MAX, i64::MAX), |(at, id)| (at.as_millisecond(), id.0))
}

fn shares_of_part(row: &AnyRow) -> sqlx::Result<Vec<Share>> {
    let first = row::int(row, "part")? * SHARES_PER_PART;
    let amounts = row::text(row, "amounts")?;
    let shares = (first..)
        .zip(amounts.split(' '))
        .map(|(index, amount)| Ok(Share { index, amount: amount.parse().map_err(|_| row::undecodable("amounts"))? }));
    shares.collect()
}

/// The packet that was created with this idempotency key.
async fn by_key(tx: &mut Tx, giver: Giver, key: Option<&str>) -> sqlx::Result<Option<Packet>> {
    let Some(key) = key else { return Ok(None) };
    let query = match giver {
        Giver::User(user) => query!(select!(columns, "FROM packets WHERE wish_key = $1 AND giver = $2"); key, user),
        Giver::Shop => query!(select!(columns, "FROM packets WHERE wish_key = $1 AND giver IS NULL"); key),
    };
    tx.optional(query, packet).await
}

/// The outcome of a request whose key gave a packet before.
fn repeated(known: Packet, new: &Packet) -> GiveOutcome {
    if known.is_asked_for_by(new) { GiveOutcome::Repeated(known) } else { GiveOutcome::KeyReused }
}

/// The sum that a member of the staff gave from the shop's purse since this time, in minor units.
async fn spent(tx: &mut Tx, user: UserId, since: Timestamp) -> sqlx::Result<i64> {
    let sql = "SELECT CAST(COALESCE(SUM(total), 0) AS BIGINT) AS spent FROM packets
         WHERE giver IS NULL AND given_by = $1 AND created_at_ms > $2";
    tx.one(query!(sql; user, since), column("spent")).await
}

/// Writes the shares of a new packet and takes its money from the giver. `actor` is the member of the staff who gives
/// from the shop's purse.
async fn fund(tx: &mut Tx, new: &Packet, shares: &[i64], actor: Option<&str>) -> sqlx::Result<Posted> {
    insert_shares(tx, new.id, shares).await?;
    if let Some(actor) = actor {
        let details = serde_json::json!({"total": new.total, "count": new.count, "greeting": new.greeting});
        tx.log(actor, AuditAction::Give, &format!("packet {}", new.id), None, Some(&details), new.created_at).await?;
    }
    let fund =
        Transfer::simple(TransferKind::Fund, new.id, new.total, account(new.giver), LedgerAccount::Packet(new.id));
    post(tx, &[fund], new.created_at).await
}

/// Inserts a packet. `staff` are who gave it from the shop's purse, and who approved it. Returns `false` if the id or the
/// idempotency key is taken.
async fn insert(
    tx: &mut Tx,
    new: &Packet,
    key: Option<&str>,
    staff: Option<(UserId, Option<UserId>)>,
) -> sqlx::Result<bool> {
    let (given_by, approved_by) = staff.unzip();
    let sql = "INSERT INTO packets (id, giver, wish_key, total, count, least, most, split, greeting, own, opens_at_ms,
           expires_at_ms, buckets, state, created_at_ms, given_by, approved_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) ON CONFLICT DO NOTHING";
    let query = query!(sql; new.id, new.giver.user(), key, new.total, new.count, new.min, new.max, new.split,
        &new.greeting, new.own, new.opens_at, new.expires_at, new.buckets, PacketState::Open, new.created_at, given_by,
        approved_by.flatten());
    Ok(tx.changed(query).await? == 1)
}

async fn insert_shares(tx: &mut Tx, id: PacketId, shares: &[i64]) -> sqlx::Result<()> {
    let parts: Vec<String> = shares
        .chunks(SHARES_PER_PART as usize)
        .map(|part| part.iter().map(i64::to_string).collect::<Vec<_>>().join(" "))
        .collect();
    let parts: Vec<(i64, String)> = (0..).zip(parts).collect();
    let sql = "INSERT INTO packet_shares (packet_id, part, amounts) VALUES $rows";
    // Rows are long: a hundred of them at a time.
    for parts in parts.chunks(100) {
        tx.run_all(for_rows(sql, parts, |(part, amounts)| values![id, *part, amounts])).await?;
    }
    Ok(())
}

const MISMATCHES: &str = "SELECT * FROM (
       SELECT p.id, p.total, p.claimed, p.claimed_amount, p.state,
         CAST(COALESCE(c.shares, 0) AS BIGINT) AS shares, CAST(COALESCE(c.amount, 0) AS BIGINT) AS amount,
         CAST(COALESCE(b.balance, 0) AS BIGINT) AS balance, CAST(COALESCE(f.amount, 0) AS BIGINT) AS funded,
         CAST(COALESCE(r.amount, 0) AS BIGINT) AS returned
       FROM packets p
       LEFT JOIN (SELECT packet_id, COUNT(*) AS shares, SUM(amount) AS amount FROM packet_claims
         WHERE packet_id > $1 AND packet_id <= $2 GROUP BY packet_id) c ON c.packet_id = p.id
       LEFT JOIN wallet_balances b ON b.account = 'packet:' || CAST(p.id AS TEXT)
       LEFT JOIN wallet_entries f ON f.transfer_id = 'fund:' || CAST(p.id AS TEXT) AND f.amount > 0
       LEFT JOIN wallet_entries r ON r.transfer_id = 'return:' || CAST(p.id AS TEXT) AND r.amount > 0
       WHERE p.id > $1 AND p.id <= $2) sums
     WHERE claimed <> shares OR claimed_amount <> amount OR total <> funded
       OR balance <> total - claimed_amount - returned OR (state = 'settled' AND balance <> 0)
       OR (state = 'open' AND returned <> 0)
     ORDER BY id";

/// Shares that went to who gave or approved the packet, or to an account that was linked to them by then. Packets that
/// were given before this rule let their giver claim (`own`).
const OWN_SHARES: &str =
    "SELECT 'packet ' || CAST(p.id AS TEXT) || ': share ' || CAST(c.share AS TEXT) || ' went to ' || c.user_id
         || ', who gave it or is linked to who gave it' AS problem
       FROM packets p JOIN packet_claims c ON c.packet_id = p.id
       WHERE p.id > $1 AND p.id <= $2 AND p.giver IS NULL AND p.own = 0
         AND (c.user_id = p.given_by OR c.user_id = p.approved_by OR EXISTS (SELECT 1 FROM account_signals theirs
           JOIN account_signals own ON own.digest = theirs.digest AND own.user_id IN (p.given_by, p.approved_by)
           WHERE theirs.user_id = c.user_id AND theirs.kind IN ('address', 'contact', 'instrument')
             AND theirs.at_ms < p.created_at_ms AND own.at_ms < p.created_at_ms))
       ORDER BY p.id, c.share";

#[boxed]
impl Snapshot {
    /// Describes shares of the shop's money that staff gave to themselves.
    pub async fn own_shares(&mut self) -> StoreResult<Vec<String>> {
        self.problems_of(Steps::<i64>::over("packets", "id"), &[OWN_SHARES]).await
    }

    /// Describes packets whose money does not add up.
    pub async fn packet_mismatches(&mut self) -> StoreResult<Vec<String>> {
        let (mut problems, mut steps) = (Vec::new(), Steps::<i64>::over("packets", "id"));
        while let Some(step) = steps.next(self).await? {
            problems.extend(self.all(query!(MISMATCHES; &step.after, &step.upto), describe).await?);
        }
        Ok(problems)
    }
}

fn describe(row: &AnyRow) -> sqlx::Result<String> {
    Ok(format!(
        "packet {} ({}): funded {} of {}, records {} shares with {} as claimed, its claims are {} with {}, returned {}, \
         balance {}",
        row::int(row, "id")?,
        row::text(row, "state")?,
        row::int(row, "funded")?,
        row::int(row, "total")?,
        row::int(row, "claimed")?,
        row::int(row, "claimed_amount")?,
        row::int(row, "shares")?,
        row::int(row, "amount")?,
        row::int(row, "returned")?,
        row::int(row, "balance")?,
    ))
}
