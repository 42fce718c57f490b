//! Packets from the shop's purse. What one person gives alone within a day is added to the refunds that the person
//! makes alone; beyond the bound a packet waits for a second person ([`crate::payments::staff_refunds`]). Who gave or
//! approved a packet, and accounts that are linked to them, get no share of it.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use boxed::boxed;
use serde_json::json;

use crate::packets::*;
use crate::payments::approvals::Approval;
use crate::payments::staff_refunds::{APPROVAL_LIFETIME, log_decision, moved_alone};
use crate::{ApprovalOutcome, Bound, PacketStore, StoreError, StoreResult, bound, list, pair, row};
use domain::ledger::{CURRENCY, money};
use domain::linked_accounts::groups;
use domain::{ApprovalStatus, AuditAction, RefundKind, RefundTarget};

/// A packet that waits for a second person, or waited.
#[derive(Debug, Clone)]
pub struct RequestedPacket {
    pub id: PacketId,
    pub key: Option<String>,
    /// The request as JSON, as it was given to [`ShopSpender`].
    pub request: String,
}

/// Whether a packet has to wait. `None`: it may be given now. The caller commits if a request was made.
pub(super) async fn waits(
    tx: &mut Tx,
    new: &Packet,
    key: Option<&str>,
    spender: &ShopSpender<'_>,
) -> sqlx::Result<Option<GiveOutcome>> {
    let Some(alone) = spender.alone else { return Ok(None) };
    let now = tx.now;
    let moved = moved_alone(tx, spender.user, CURRENCY).await?;
    if moved.saturating_add(new.total) <= alone {
        return Ok(None);
    }
    let subject = format!("packet {}", new.id);
    let sql = "INSERT INTO staff_refunds (id, kind, subject, amount, currency, target, requested_by, actor, note,
           requested_at_ms, approval, expires_at_ms, packet_id, packet_key, packet)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '', $9, 'pending', $10, $11, $12, $13) ON CONFLICT DO NOTHING";
    let query = query!(sql; spender.request_id, RefundKind::Packet, &subject, new.total, CURRENCY, RefundTarget::Wallet,
        spender.user, spender.actor, now, now + APPROVAL_LIFETIME, new.id, key, spender.request);
    if tx.changed(query).await? == 0 {
        return Ok(Some(waiting(tx, key, spender).await?.unwrap_or(GiveOutcome::IdTaken)));
    }
    let after = json!({"request": spender.request_id, "approval": ApprovalStatus::Pending, "amount": money(new.total),
        "count": new.count, "greeting": new.greeting, "expires_at": now + APPROVAL_LIFETIME});
    tx.log(spender.actor, AuditAction::RequestPacket, &subject, None, Some(&after), now).await?;
    Ok(Some(GiveOutcome::Waits(spender.request_id)))
}

/// The request with this key, if it still waits.
pub(super) async fn waiting(
    tx: &mut Tx,
    key: Option<&str>,
    spender: &ShopSpender<'_>,
) -> sqlx::Result<Option<GiveOutcome>> {
    let Some(key) = key else { return Ok(None) };
    let expire = "UPDATE staff_refunds SET approval = 'expired'
         WHERE packet_key = $1 AND approval = 'pending' AND expires_at_ms <= $2";
    tx.run(query!(expire; key, tx.now)).await?;
    let sql = "SELECT id, packet FROM staff_refunds WHERE packet_key = $1 AND approval = 'pending'";
    tx.optional(query!(sql; key), |row| {
        Ok(match row::text(row, "packet")? == spender.request {
            true => GiveOutcome::Waits(row::get(row, "id")?),
            false => GiveOutcome::KeyReused,
        })
    })
    .await
}

#[boxed]
impl PacketStore<'_> {
    /// Approves the request `of` under the name `actor` and gives its packet, in one transaction. `by` is the account
    /// of `actor`, and must not be the account that asked.
    pub async fn approve_packet(
        self,
        of: &Approval,
        new: &Packet,
        shares: &[i64],
        by: UserId,
        actor: &str,
    ) -> StoreResult<ApprovalOutcome> {
        let key = of.packet.as_ref().and_then(|packet| packet.key.as_deref());
        let mut tx = self.begin().await?;
        let sql = "UPDATE staff_refunds SET approval = 'approved', decided_at_ms = $2, decided_by = $3
             WHERE id = $1 AND kind = 'packet' AND approval = 'pending' AND expires_at_ms > $2 AND requested_by <> $4";
        if tx.changed(query!(sql; of.id, tx.now, actor, by)).await? == 0 {
            return Ok(ApprovalOutcome::Closed);
        }
        log_decision(&mut tx, of, actor, AuditAction::ApprovePacket, ApprovalStatus::Approved, None).await?;
        if !insert(&mut tx, new, key, Some((of.requested_by, Some(by)))).await? {
            drop(tx);
            return self.payments().end_request(of, ApprovalStatus::Void, actor, None).await;
        }
        fund(&mut tx, new, shares, Some(&of.requester)).await?;
        tx.commit_and(ApprovalOutcome::Approved(None)).await
    }

    /// For each of these packets from the shop's purse, the accounts that get no share of it: who gave or approved it,
    /// and accounts that are linked to them.
    pub async fn excluded_from(self, packets: &[PacketId]) -> StoreResult<HashMap<PacketId, HashSet<UserId>>> {
        let mut excluded: HashMap<PacketId, HashSet<UserId>> = HashMap::new();
        if packets.is_empty() {
            return Ok(excluded);
        }
        let sql = format!(
            "SELECT id, given_by, approved_by FROM packets WHERE giver IS NULL AND id IN {}",
            list(packets.len(), 0)
        );
        let query = bound(query!(AssertSqlSafe(sql)), packets.iter().map(Bound::value));
        let people = self
            .all(query, |row| {
                let [given, approved] =
                    ["given_by", "approved_by"].map(|column| row::get::<Option<String>>(row, column));
                let people: Vec<UserId> =
                    [given?, approved?].into_iter().flatten().filter_map(|id| id.parse().ok()).collect();
                Ok((row::get(row, "id")?, people))
            })
            .await?;
        let mut linked: HashMap<UserId, HashSet<UserId>> = HashMap::new();
        for (packet, people) in people {
            for person in people {
                if let Entry::Vacant(unknown) = linked.entry(person) {
                    unknown.insert(self.linked_to(person).await?);
                }
                excluded.entry(packet).or_default().extend(&linked[&person]);
            }
        }
        Ok(excluded)
    }

    /// The account and the accounts that are linked to it in any sale.
    async fn linked_to(self, user: UserId) -> StoreResult<HashSet<UserId>> {
        let links = self.linked_accounts().links_near(user).await?;
        let groups = groups(&links).into_iter().filter(|group| group.members.contains(&user));
        Ok(groups.flat_map(|group| group.members).chain([user]).collect())
    }
}

// The end of packets: stopping by staff, and settlement.

/// The outcome of settling a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleOutcome {
    /// The packet is settled; `returned` minor units went back to the giver.
    Done { returned: i64 },
    /// The packet was settled before, or a share was claimed since the caller read it.
    Unchanged,
}

/// The outcome of stopping a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopOutcome {
    /// No share can be claimed from now on.
    Done(Packet),
    /// The packet had expired or was settled already.
    Over(Packet),
    NoSuchPacket,
}

#[boxed]
impl PacketStore<'_> {
    /// Settles a packet that has no claim under way: records the luckiest claim (the first among equal ones) and
    /// returns the unclaimed rest. `claimed` is the number of claimed shares that the caller read. If it has changed,
    /// nothing is done. Idempotent.
    pub async fn settle(self, id: PacketId, claimed: i64) -> StoreResult<SettleOutcome> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        let Some(packet) = lock(&mut tx, id).await? else { return Ok(SettleOutcome::Unchanged) };
        if packet.state == PacketState::Settled || packet.claimed != claimed {
            return Ok(SettleOutcome::Unchanged);
        }
        let sql = "SELECT user_id, amount FROM packet_claims WHERE packet_id = $1
             ORDER BY amount DESC, claimed_at_ms, share LIMIT 1";
        let (user, amount) = tx.optional(query!(sql; id), pair::<String, i64>("user_id", "amount")).await?.unzip();
        let sql =
            "UPDATE packets SET state = 'settled', settled_at_ms = $2, best_user = $3, best_amount = $4 WHERE id = $1";
        tx.run(query!(sql; id, now, user, amount)).await?;
        let returned = packet.left();
        if returned > 0 {
            let back =
                Transfer::simple(TransferKind::Return, id, returned, LedgerAccount::Packet(id), account(packet.giver));
            if post(&mut tx, &[back], now).await? == Posted::NotEnough {
                return Err(StoreError::Refused(sqlx::Error::Protocol(
                    "a packet's balance is below its unclaimed rest".into(),
                )));
            }
        }
        tx.commit_and(SettleOutcome::Done { returned }).await
    }

    /// Makes a packet expire now. Settlement then returns the rest.
    pub async fn stop(self, id: PacketId, actor: &str) -> StoreResult<StopOutcome> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        let Some(packet) = lock(&mut tx, id).await? else { return Ok(StopOutcome::NoSuchPacket) };
        if packet.state == PacketState::Settled || now >= packet.expires_at {
            return Ok(StopOutcome::Over(packet));
        }
        tx.run(query!("UPDATE packets SET expires_at_ms = $2 WHERE id = $1"; id, now)).await?;
        let before = serde_json::json!({"expires_at": packet.expires_at});
        let after = serde_json::json!({"expires_at": now});
        tx.log(actor, AuditAction::Stop, &format!("packet {id}"), Some(&before), Some(&after), now).await?;
        tx.commit_and(StopOutcome::Done(Packet { expires_at: now, ..packet })).await
    }
}
