//! Draws that are called off because their public round never came. The sale is then retired as after any draw, so what
//! was set aside for it goes back; its entrants are told, some of them in each step of data control.

use serde_json::json;
use sqlx::any::AnyRow;

use super::lock;
use crate::audit_log::log;
use crate::sales::changes::touch;
use crate::{DrawStore, ListLock, LockPatience, StoreError, goods, mail, row, sales};
use domain::draw::EntryId;
use domain::{AuditAction, DrawState, MailKind, SaleId, UserId};

/// Entrants who are told per transaction.
const MAX_TOLD: i64 = 1_000;

impl DrawStore<'_> {
    /// Calls off a draw whose public round is overdue, for a reason that entrants and visitors read. Returns `false` if
    /// the draw does not wait for its round, or the round is not overdue.
    pub async fn call_off(self, id: SaleId, reason: &str, actor: &str) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        touch(&mut tx).await?;
        let found = lock(&mut tx, ListLock::Exclusive, id).await?;
        let Some(draw) = found.filter(|draw| draw.may_be_called_off(tx.now)) else { return Ok(false) };
        let sql = "UPDATE draws SET state = $2, called_off_at_ms = $3, called_off_reason = $4, told_until = ''
             WHERE sale_id = $1 AND state = 'locked' AND signature IS NULL";
        let query = sqlx::query(sql).bind(id.0).bind(DrawState::CalledOff.as_str()).bind(tx.now.as_millisecond());
        if query.bind(reason.to_owned()).execute(&mut *tx).await?.rows_affected() == 0 {
            return Ok(false);
        }
        let (now, round) = (tx.now, draw.rules.randomness.map(|round| round.round));
        let after = json!({"round": round, "reason": reason});
        log(&mut tx, actor, AuditAction::CallOffDraw, &format!("sale {id}"), None, Some(&after), now).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Sales whose draw was called off and whose entrants are not all told.
    pub async fn to_tell(self) -> Result<Vec<SaleId>, StoreError> {
        let sql = "SELECT sale_id FROM draws WHERE told_until IS NOT NULL ORDER BY sale_id";
        self.all(sqlx::query(sql), |row| Ok(SaleId(row::int(row, "sale_id")?))).await
    }

    /// Tells the next entrants of a draw that it was called off. Messages and how far they are share a transaction, so
    /// each entrant is told once. Returns whether all are told.
    pub async fn tell_called_off(self, id: SaleId) -> Result<bool, StoreError> {
        let mut tx = self.begin_with(LockPatience::Short).await?;
        let Some(draw) = lock(&mut tx, ListLock::Exclusive, id).await? else { return Ok(true) };
        let Some(after) = draw.told_until else { return Ok(true) };
        let Some(sale) = sales::read(&mut tx, id).await? else { return Ok(true) };
        let sql = "SELECT entry, user_id FROM draw_entries
             WHERE sale_id = $1 AND entry > $2 AND state <> 'withdrawn' ORDER BY entry LIMIT $3";
        let rows = sqlx::query(sql).bind(id.0).bind(after).bind(MAX_TOLD).fetch_all(&mut *tx).await?;
        let entrant = |row: &AnyRow| Ok((row::parsed(row, "entry")?, row::parsed(row, "user_id")?));
        let entrants: Vec<(EntryId, UserId)> = rows.iter().map(entrant).collect::<Result<_, sqlx::Error>>()?;
        let users: Vec<UserId> = entrants.iter().map(|(_, user)| *user).collect();
        let goods = goods::name(&mut tx, sale.goods_id).await?;
        let facts = json!({"goods": goods, "sale": id, "reason": draw.called_off_reason});
        mail::notify_all(&mut tx, &users, MailKind::DrawCalledOff, &facts, None).await?;
        let last = entrants.last().filter(|_| entrants.len() as i64 == MAX_TOLD).map(|(entry, _)| entry.to_string());
        let is_done = last.is_none();
        let sql = "UPDATE draws SET told_until = $2 WHERE sale_id = $1";
        sqlx::query(sql).bind(id.0).bind(last).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(is_done)
    }
}
