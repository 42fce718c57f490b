//! Red packets: claimed + left + returned = funded, and a packet's balance is what is left.

use sqlx::any::AnyRow;

use crate::audit::{Snapshot, Steps};
use crate::{StoreError, row};

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

impl Snapshot {
    /// Describes shares of the shop's money that staff gave to themselves.
    pub async fn own_shares(&mut self) -> Result<Vec<String>, StoreError> {
        self.problems_of(Steps::<i64>::over("packets", "id"), &[OWN_SHARES]).await
    }

    /// Describes packets whose money does not add up.
    pub async fn packet_mismatches(&mut self) -> Result<Vec<String>, StoreError> {
        let (mut problems, mut steps) = (Vec::new(), Steps::<i64>::over("packets", "id"));
        while let Some(step) = steps.next(self).await? {
            problems.extend(self.all(step.bind(sqlx::query(MISMATCHES)), describe).await?);
        }
        Ok(problems)
    }
}

fn describe(row: &AnyRow) -> Result<String, sqlx::Error> {
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
