//! How claims come in. As with orders there are two ways: `take_shares` decides and writes in one transaction (the
//! database alone gives away), `land_claims` writes what Redis has decided.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe};

use super::*;

/// What became of a claim that was brought to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimLanding {
    /// It is in the books now.
    Created,
    /// It had been brought before.
    Known,
    /// The share is somebody else's, or the user has another one; nothing was credited.
    Rejected,
    /// Its packet does not exist.
    NoSuchPacket,
}

/// One row of a user and what the transaction says about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claimant {
    pub user_id: UserId,
    pub share: Share,
}

pub(super) fn claim(row: &AnyRow) -> Result<ShareClaim, sqlx::Error> {
    Ok(ShareClaim {
        packet_id: PacketId(row::int(row, "packet_id")?),
        user_id: row::parsed(row, "user_id")?,
        share: row::int(row, "share")?,
        amount: row::int(row, "amount")?,
        claimed_at: row::time(row, "claimed_at_ms")?,
    })
}

impl Store {
    /// Gives shares of one packet away in one transaction. `decide` sees the locked packet, the shares that some of
    /// `users` have, and as many free ones as there are users (or all there are), in their order; it answers with what is
    /// given to whom. `None` when there is no such packet.
    pub async fn take_shares<T>(
        &self,
        id: PacketId,
        users: &[UserId],
        now: Timestamp,
        decide: impl FnOnce(&Packet, &HashMap<UserId, Share>, &[Share]) -> (Vec<Claimant>, T),
    ) -> Result<Option<T>, StoreError> {
        let mut tx = self.begin().await?;
        let Some(packet) = lock(&mut tx, id).await? else { return Ok(None) };
        let held = shares_of_users(&mut tx, id, users).await?;
        let free = free_shares(&mut tx, &packet, users.len() as i64).await?;
        let (given, answer) = decide(&packet, &held, &free);
        let claims: Vec<ShareClaim> = given
            .iter()
            .map(|Claimant { user_id, share }| ShareClaim {
                packet_id: id,
                user_id: *user_id,
                share: share.index,
                amount: share.amount,
                claimed_at: now,
            })
            .collect();
        if !claims.is_empty() {
            if !book(&mut tx, &claims, now).await? {
                return Err(StoreError::Refused(sqlx::Error::Protocol(
                    "claims changed under the packet's lock".into(),
                )));
            }
            let next = claims.iter().map(|claim| claim.share + 1).max().unwrap_or_default();
            let passed = sqlx::query("UPDATE packets SET next_share = $2 WHERE id = $1").bind(id.0).bind(next);
            passed.execute(&mut *tx).await?;
        }
        tx.commit().await?;
        Ok(Some(answer))
    }

    /// Brings claims to the database. May be repeated with the same claims in any order and any batches.
    pub async fn land_claims(&self, batch: &[ShareClaim], now: Timestamp) -> Result<Vec<ClaimLanding>, StoreError> {
        if self.land_claims_together(batch, now).await? {
            return Ok(vec![ClaimLanding::Created; batch.len()]);
        }
        let known = self.claims_landed(batch).await?;
        let new: Vec<ShareClaim> = batch.iter().filter(|claim| !known.contains(&claim.key())).copied().collect();
        let together = new.len() < batch.len() && self.land_claims_together(&new, now).await?;
        let mut landings = Vec::with_capacity(batch.len());
        for claim in batch {
            landings.push(match known.contains(&claim.key()) {
                true => ClaimLanding::Known,
                false if together => ClaimLanding::Created,
                false => self.land_claim(claim, now).await?,
            });
        }
        Ok(landings)
    }

    /// The usual case: all are new. Otherwise nothing is written and the answer is `false`.
    async fn land_claims_together(&self, batch: &[ShareClaim], now: Timestamp) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let done = !batch.is_empty() && book(&mut tx, batch, now).await?;
        if done {
            tx.commit().await?;
        }
        Ok(done)
    }

    async fn land_claim(&self, claim: &ShareClaim, now: Timestamp) -> Result<ClaimLanding, StoreError> {
        if self.land_claims_together(std::slice::from_ref(claim), now).await? {
            return Ok(ClaimLanding::Created);
        }
        let mut tx = self.begin().await?;
        if lock(&mut tx, claim.packet_id).await?.is_none() {
            return Ok(ClaimLanding::NoSuchPacket);
        }
        // The lock makes this answer final: whoever brings the same claim waits for it too.
        if landed(&mut tx, std::slice::from_ref(claim)).await?.contains(&claim.key()) {
            return Ok(ClaimLanding::Known);
        }
        sqlx::query(
            "INSERT INTO packet_rejections (packet_id, share, user_id, amount, at_ms) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT DO NOTHING",
        )
        .bind(claim.packet_id.0)
        .bind(claim.share)
        .bind(claim.user_id.to_string())
        .bind(claim.amount)
        .bind(now.as_millisecond())
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(ClaimLanding::Rejected)
    }

    /// Those of the claims that the database has had, those included that it rejected.
    pub async fn claims_landed(&self, claims: &[ShareClaim]) -> Result<HashSet<(PacketId, i64, UserId)>, StoreError> {
        Ok(landed(&mut *self.pool.acquire().await?, claims).await?)
    }

    /// The share that a user has in the books.
    pub async fn packet_claim_of(&self, id: PacketId, user: UserId) -> Result<Option<ShareClaim>, StoreError> {
        let row = sqlx::query(
            "SELECT packet_id, share, user_id, amount, claimed_at_ms FROM packet_claims
             WHERE packet_id = $1 AND user_id = $2",
        )
        .bind(id.0)
        .bind(user.to_string())
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.as_ref().map(claim).transpose()?)
    }

    /// The claims of a packet, latest share first, from before a share.
    pub async fn packet_claims(
        &self,
        id: PacketId,
        before: Option<i64>,
        most: i64,
    ) -> Result<Vec<PacketClaim>, StoreError> {
        let rows = sqlx::query(
            "SELECT c.packet_id, c.share, c.user_id, c.amount, c.claimed_at_ms, u.username
             FROM packet_claims c LEFT JOIN users u ON u.id = c.user_id
             WHERE c.packet_id = $1 AND c.share < $2 ORDER BY c.share DESC LIMIT $3",
        )
        .bind(id.0)
        .bind(before.unwrap_or(i64::MAX))
        .bind(most)
        .fetch_all(&self.pool)
        .await?;
        let read = |row| Ok(PacketClaim { claim: claim(row)?, username: row.try_get("username")? });
        Ok(rows.iter().map(read).collect::<Result<_, sqlx::Error>>()?)
    }

    /// All claims of a packet after a share, by share.
    pub async fn packet_claims_after(
        &self,
        id: PacketId,
        after: Option<i64>,
        most: i64,
    ) -> Result<Vec<ShareClaim>, StoreError> {
        let rows = sqlx::query(
            "SELECT packet_id, share, user_id, amount, claimed_at_ms FROM packet_claims
             WHERE packet_id = $1 AND share > $2 ORDER BY share LIMIT $3",
        )
        .bind(id.0)
        .bind(after.unwrap_or(-1))
        .bind(most)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.iter().map(claim).collect::<Result<_, _>>()?)
    }
}

async fn landed(
    connection: &mut AnyConnection,
    claims: &[ShareClaim],
) -> Result<HashSet<(PacketId, i64, UserId)>, sqlx::Error> {
    let mut by_packet: BTreeMap<PacketId, Vec<i64>> = BTreeMap::new();
    for claim in claims {
        by_packet.entry(claim.packet_id).or_default().push(claim.share);
    }
    let mut landed = HashSet::with_capacity(claims.len());
    for (id, shares) in by_packet {
        for (chunk, table) in padded(&shares).flat_map(|c| [(c.clone(), "packet_claims"), (c, "packet_rejections")]) {
            let wanted = list(chunk.len(), 1);
            let sql = format!("SELECT share, user_id FROM {table} WHERE packet_id = $1 AND share IN {wanted}");
            let mut query = sqlx::query(AssertSqlSafe(sql)).bind(id.0);
            for share in chunk {
                query = query.bind(*share);
            }
            for row in query.fetch_all(&mut *connection).await? {
                landed.insert((id, row::int(&row, "share")?, row::parsed(&row, "user_id")?));
            }
        }
    }
    Ok(landed)
}

/// Writes claims and moves their money. `false` when not all of them are new and fit; then the transaction has to be
/// given up.
async fn book(tx: &mut Tx, claims: &[ShareClaim], now: Timestamp) -> Result<bool, sqlx::Error> {
    let mut sums: BTreeMap<PacketId, (i64, i64)> = BTreeMap::new();
    for claim in claims {
        let (shares, amount) = sums.entry(claim.packet_id).or_default();
        *shares += 1;
        *amount = amount.saturating_add(claim.amount);
    }
    for (id, (shares, amount)) in sums {
        let done = sqlx::query(
            "UPDATE packets SET claimed = claimed + $2, claimed_amount = claimed_amount + $3
             WHERE id = $1 AND state = 'open' AND claimed + $2 <= count AND claimed_amount + $3 <= total",
        );
        if done.bind(id.0).bind(shares).bind(amount).execute(&mut **tx).await?.rows_affected() != 1 {
            return Ok(false);
        }
    }
    for chunk in claims.chunks(ROWS) {
        let sql = format!(
            "INSERT INTO packet_claims (packet_id, share, user_id, amount, claimed_at_ms) VALUES {}
             ON CONFLICT DO NOTHING",
            placeholders(chunk.len(), 5)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for claim in chunk {
            query = query
                .bind(claim.packet_id.0)
                .bind(claim.share)
                .bind(claim.user_id.to_string())
                .bind(claim.amount)
                .bind(claim.claimed_at.as_millisecond());
        }
        if query.execute(&mut **tx).await?.rows_affected() != chunk.len() as u64 {
            return Ok(false);
        }
    }
    let transfers: Vec<Transfer> = claims.iter().map(transfer).collect();
    Ok(post(tx, &transfers, now).await? == Posted::Done { new: claims.len() })
}

fn transfer(claim: &ShareClaim) -> Transfer {
    Transfer {
        id: format!("claim:{}:{}", claim.packet_id, claim.user_id),
        kind: Kind::Claim,
        reference: claim.packet_id.to_string(),
        moves: vec![(Account::Packet(claim.packet_id), -claim.amount), (Account::User(claim.user_id), claim.amount)],
    }
}

async fn shares_of_users(tx: &mut Tx, id: PacketId, users: &[UserId]) -> Result<HashMap<UserId, Share>, sqlx::Error> {
    let mut held = HashMap::new();
    for chunk in padded(users) {
        let sql = format!(
            "SELECT user_id, share, amount FROM packet_claims WHERE packet_id = $1 AND user_id IN {}",
            list(chunk.len(), 1)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(id.0);
        for user in chunk {
            query = query.bind(user.to_string());
        }
        for row in query.fetch_all(&mut **tx).await? {
            let share = Share { index: row::int(&row, "share")?, amount: row::int(&row, "amount")? };
            held.insert(row::parsed(&row, "user_id")?, share);
        }
    }
    Ok(held)
}

/// The first free shares of a locked packet, as many as are wanted or there are. Usually they follow each other; where
/// Redis had decided before, some between them are claimed.
async fn free_shares(tx: &mut Tx, packet: &Packet, wanted: i64) -> Result<Vec<Share>, sqlx::Error> {
    let row = sqlx::query("SELECT next_share FROM packets WHERE id = $1").bind(packet.id.0);
    let next = row::int(&row.fetch_one(&mut **tx).await?, "next_share")?;
    let wanted = wanted.min(packet.count - packet.claimed);
    let mut free = Vec::new();
    let mut part = next / PART;
    while (free.len() as i64) < wanted && part * PART < packet.count {
        let row = sqlx::query("SELECT part, amounts FROM packet_shares WHERE packet_id = $1 AND part = $2");
        let Some(row) = row.bind(packet.id.0).bind(part).fetch_optional(&mut **tx).await? else { break };
        let from = next.max(part * PART);
        let rows = sqlx::query("SELECT share FROM packet_claims WHERE packet_id = $1 AND share >= $2 AND share < $3");
        let rows = rows.bind(packet.id.0).bind(from).bind((part + 1) * PART).fetch_all(&mut **tx).await?;
        let taken: HashSet<i64> = rows.iter().map(|row| row::int(row, "share")).collect::<Result<_, _>>()?;
        let of_part = shares_of_part(&row)?;
        free.extend(of_part.into_iter().filter(|share| share.index >= from && !taken.contains(&share.index)));
        part += 1;
    }
    free.truncate(wanted.max(0) as usize);
    Ok(free)
}
