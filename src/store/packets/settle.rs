//! The end of packets: stopping by staff, and settlement.

use super::*;
use crate::PacketStore;
use domain::AuditAction;

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

impl PacketStore<'_> {
    /// Settles a packet that has no claim under way: records the luckiest claim (the first among equal ones) and
    /// returns the unclaimed rest. `claimed` is the number of claimed shares that the caller read. If it has changed,
    /// nothing is done. Idempotent.
    pub async fn settle(self, id: PacketId, claimed: i64) -> Result<SettleOutcome, StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        let Some(packet) = lock(&mut tx, id).await? else { return Ok(SettleOutcome::Unchanged) };
        if packet.state == PacketState::Settled || packet.claimed != claimed {
            return Ok(SettleOutcome::Unchanged);
        }
        let best = sqlx::query(
            "SELECT user_id, amount FROM packet_claims WHERE packet_id = $1
             ORDER BY amount DESC, claimed_at_ms, share LIMIT 1",
        );
        let best = best.bind(id.0).fetch_optional(&mut *tx).await?;
        let (user, amount) = match &best {
            Some(row) => (Some(row::text(row, "user_id")?), Some(row::int(row, "amount")?)),
            None => (None, None),
        };
        sqlx::query(
            "UPDATE packets SET state = 'settled', settled_at_ms = $2, best_user = $3, best_amount = $4 WHERE id = $1",
        )
        .bind(id.0)
        .bind(now.as_millisecond())
        .bind(user)
        .bind(amount)
        .execute(&mut *tx)
        .await?;
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
        tx.commit().await?;
        Ok(SettleOutcome::Done { returned })
    }

    /// Makes a packet expire now. Settlement then returns the rest.
    pub async fn stop(self, id: PacketId, actor: &str) -> Result<StopOutcome, StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        let Some(packet) = lock(&mut tx, id).await? else { return Ok(StopOutcome::NoSuchPacket) };
        if packet.state == PacketState::Settled || now >= packet.expires_at {
            return Ok(StopOutcome::Over(packet));
        }
        let stop = sqlx::query("UPDATE packets SET expires_at_ms = $2 WHERE id = $1");
        stop.bind(id.0).bind(now.as_millisecond()).execute(&mut *tx).await?;
        let before = serde_json::json!({"expires_at": packet.expires_at});
        let after = serde_json::json!({"expires_at": now});
        log(&mut tx, actor, AuditAction::Stop, &format!("packet {id}"), Some(&before), Some(&after), now).await?;
        tx.commit().await?;
        Ok(StopOutcome::Done(Packet { expires_at: now, ..packet }))
    }
}
