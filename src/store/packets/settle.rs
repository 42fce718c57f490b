//! How packets end: stopped early, settled once nothing is under way; and what the audit asks.

use super::*;

/// What became of a wish to settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It is over; so much went back to the giver.
    Done { returned: i64 },
    /// It was settled before, or something has been claimed since it was looked at.
    Not,
}

/// What became of a wish to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// Nobody claims from now on.
    Done(Packet),
    /// It was over already.
    Over(Packet),
    NoSuchPacket,
}

impl Store {
    /// Ends a packet of which nothing is under way: names the luckiest (of several, who claimed first), and gives back
    /// what nobody claimed. `claimed` is how many shares the caller has seen claimed: when it is another number by now,
    /// nothing is done. Doing it again changes nothing.
    pub async fn settle_packet(&self, id: PacketId, claimed: i64, now: Timestamp) -> Result<Settled, StoreError> {
        let mut tx = self.begin().await?;
        let Some(packet) = lock(&mut tx, id).await? else { return Ok(Settled::Not) };
        if packet.state == State::Settled || packet.claimed != claimed {
            return Ok(Settled::Not);
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
            let back = Transfer::simple(Kind::Return, id, returned, Account::Packet(id), account(packet.giver));
            if post(&mut tx, &[back], now).await? == Posted::NotEnough {
                return Err(StoreError::Refused(sqlx::Error::Protocol("a packet holds less than it should".into())));
            }
        }
        tx.commit().await?;
        Ok(Settled::Done { returned })
    }

    /// Ends the time of a packet now. What is left goes back soon.
    pub async fn stop_packet(&self, id: PacketId, actor: &str, now: Timestamp) -> Result<Stopped, StoreError> {
        let mut tx = self.begin().await?;
        let Some(packet) = lock(&mut tx, id).await? else { return Ok(Stopped::NoSuchPacket) };
        if packet.state == State::Settled || now >= packet.expires_at {
            return Ok(Stopped::Over(packet));
        }
        let stop = sqlx::query("UPDATE packets SET expires_at_ms = $2 WHERE id = $1");
        stop.bind(id.0).bind(now.as_millisecond()).execute(&mut *tx).await?;
        let about = |at: Timestamp| serde_json::json!({"expires_at": at});
        let (before, after) = (about(packet.expires_at), about(now));
        log(&mut tx, actor, "stop", &format!("packet {id}"), Some(&before), Some(&after), now).await?;
        tx.commit().await?;
        Ok(Stopped::Done(Packet { expires_at: now, ..packet }))
    }

    /// Packets whose money does not add up, in words: claimed + left + returned = funded, and the packet's account holds
    /// what is left.
    pub async fn packet_mismatches(&self) -> Result<Vec<String>, StoreError> {
        let rows = sqlx::query(
            "SELECT p.id, p.total, p.claimed, p.claimed_amount, p.state,
               CAST(COALESCE(c.shares, 0) AS BIGINT) AS shares, CAST(COALESCE(c.amount, 0) AS BIGINT) AS amount,
               CAST(COALESCE(b.balance, 0) AS BIGINT) AS balance, CAST(COALESCE(f.amount, 0) AS BIGINT) AS funded,
               CAST(COALESCE(r.amount, 0) AS BIGINT) AS returned
             FROM packets p
             LEFT JOIN (SELECT packet_id, COUNT(*) AS shares, SUM(amount) AS amount FROM packet_claims
               GROUP BY packet_id) c ON c.packet_id = p.id
             LEFT JOIN wallet_balances b ON b.account = 'packet:' || CAST(p.id AS TEXT)
             LEFT JOIN wallet_entries f ON f.transfer_id = 'fund:' || CAST(p.id AS TEXT) AND f.amount > 0
             LEFT JOIN wallet_entries r ON r.transfer_id = 'return:' || CAST(p.id AS TEXT) AND r.amount > 0
             WHERE p.claimed <> COALESCE(c.shares, 0) OR p.claimed_amount <> COALESCE(c.amount, 0)
               OR p.total <> COALESCE(f.amount, 0)
               OR COALESCE(b.balance, 0) <> p.total - p.claimed_amount - COALESCE(r.amount, 0)
               OR (p.state = 'settled' AND COALESCE(b.balance, 0) <> 0)
               OR (p.state = 'open' AND r.amount IS NOT NULL)
             ORDER BY p.id",
        )
        .fetch_all(&self.pool)
        .await?;
        let line = |row: &AnyRow| {
            let int = |column| row::int(row, column);
            Ok(format!(
                "packet {} ({}): funded {} of {}, says {} shares with {} claimed, its claims are {} with {}, \
                 returned {}, holds {}",
                int("id")?,
                row::text(row, "state")?,
                int("funded")?,
                int("total")?,
                int("claimed")?,
                int("claimed_amount")?,
                int("shares")?,
                int("amount")?,
                int("returned")?,
                int("balance")?,
            ))
        };
        Ok(rows.iter().map(line).collect::<Result<_, sqlx::Error>>()?)
    }
}
