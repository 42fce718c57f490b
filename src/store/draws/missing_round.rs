//! Draws whose public round never comes: they are called off, or a later round decides. Called off, the sale is retired as
//! after any draw, so what was set aside for it goes back. Data control writes to the entrants, some in each step.

use serde_json::json;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use super::lock;
use crate::audit_log::log;
use crate::sales::changes::touch;
use crate::{DrawStore, ListLock, LockPatience, StoreError, goods, mail, row, sales};
use domain::draw::{EntryId, RoundChange};
use domain::{AuditAction, DrawState, MailKind, SaleId, UserId};

/// Messages to entrants per transaction.
const MAX_TOLD: i64 = 1_000;

impl DrawStore<'_> {
    /// Calls off a draw whose public round is overdue, for a reason that entrants and visitors read. Returns `false` if
    /// the draw does not wait for its round, or the round is not overdue.
    pub async fn call_off(self, id: SaleId, reason: &str, actor: &str) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        touch(&mut tx).await?;
        let found = lock(&mut tx, ListLock::Exclusive, id).await?;
        let Some(draw) = found.filter(|draw| draw.may_be_called_off(tx.now)) else { return Ok(false) };
        let sql = "UPDATE draws SET state = $2, called_off_at_ms = $3, called_off_reason = $4, told_until = '',
               change_told_until = NULL
             WHERE sale_id = $1 AND state = 'locked' AND signature IS NULL";
        let query = sqlx::query(sql).bind(id.0).bind(DrawState::CalledOff.as_str()).bind(tx.now.as_millisecond());
        if query.bind(reason.to_owned()).execute(&mut *tx).await?.rows_affected() == 0 {
            return Ok(false);
        }
        let (now, round) = (tx.now, draw.round().map(|round| round.round));
        let after = json!({"round": round, "reason": reason});
        log(&mut tx, actor, AuditAction::CallOffDraw, &format!("sale {id}"), None, Some(&after), now).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Replaces the overdue public round of a draw by the later one that follows from the present time. Returns `false`
    /// if the draw does not wait for its round, or the round is not overdue.
    ///
    /// The list's lock orders this and [`give_randomness`](Self::give_randomness): the round that is given first decides,
    /// and after the change only the later one can be given.
    pub async fn await_later_round(self, id: SaleId, reason: &str, actor: &str) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        touch(&mut tx).await?;
        let found = lock(&mut tx, ListLock::Exclusive, id).await?;
        let Some(draw) = found.filter(|draw| draw.may_await_later_round(tx.now)) else { return Ok(false) };
        let Some((round, later)) = draw.round().and_then(|round| Some((round, round.later(tx.now)?))) else {
            return Ok(false);
        };
        let change = RoundChange { from: round.round, to: later.round, at: tx.now, reason: reason.to_owned() };
        let after = serde_json::to_value(&change).map_err(|error| sqlx::Error::Encode(error.into()))?;
        let changes = json!([&draw.changes[..], &[change]].concat()).to_string();
        let sql = "UPDATE draws SET round_changes = $2, change_told_until = '' WHERE sale_id = $1";
        sqlx::query(sql).bind(id.0).bind(changes).execute(&mut *tx).await?;
        let now = tx.now;
        log(&mut tx, actor, AuditAction::ChangeRound, &format!("sale {id}"), None, Some(&after), now).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Sales whose draw was called off, awaits a later round or was held, and whose entrants are not all told.
    pub async fn to_tell(self) -> Result<Vec<SaleId>, StoreError> {
        let sql = "SELECT sale_id FROM draws WHERE told_until IS NOT NULL OR change_told_until IS NOT NULL
             OR result_told_until IS NOT NULL ORDER BY sale_id";
        self.all(sqlx::query(sql), |row| Ok(SaleId(row::int(row, "sale_id")?))).await
    }

    /// Tells the next entrants of a draw that it was called off, awaits a later round or was held. Winners have a message
    /// with their order, and hear nothing else. Messages and how far they are share a transaction, so each entrant gets
    /// one message. Returns whether all have got theirs.
    pub async fn tell_entrants(self, id: SaleId) -> Result<bool, StoreError> {
        let mut tx = self.begin_with(LockPatience::Short).await?;
        let Some(draw) = lock(&mut tx, ListLock::Exclusive, id).await? else { return Ok(true) };
        let due = draw.round_due();
        let reason_of_change = draw.changes.last().map(|change| change.reason.clone());
        let (kind, after, reason, column) = match (draw.told_until, draw.change_told_until, draw.result_told_until) {
            (Some(after), ..) => (MailKind::DrawCalledOff, after, draw.called_off_reason, "told_until"),
            (None, Some(after), _) => (MailKind::DrawDelayed, after, reason_of_change, "change_told_until"),
            (None, None, Some(after)) => (MailKind::DrawResult, after, None, "result_told_until"),
            (None, None, None) => return Ok(true),
        };
        let told = match kind {
            MailKind::DrawResult => "state = 'in' AND order_id IS NULL",
            _ => "state <> 'withdrawn'",
        };
        let Some(sale) = sales::read(&mut tx, id).await? else { return Ok(true) };
        let sql = format!(
            "SELECT entry, user_id FROM draw_entries WHERE sale_id = $1 AND entry > $2 AND {told} ORDER BY entry LIMIT $3"
        );
        let rows = sqlx::query(AssertSqlSafe(sql)).bind(id.0).bind(after).bind(MAX_TOLD).fetch_all(&mut *tx).await?;
        let entrant = |row: &AnyRow| Ok((row::parsed(row, "entry")?, row::parsed(row, "user_id")?));
        let entrants: Vec<(EntryId, UserId)> = rows.iter().map(entrant).collect::<Result<_, sqlx::Error>>()?;
        let users: Vec<UserId> = entrants.iter().map(|(_, user)| *user).collect();
        let goods = goods::name(&mut tx, sale.goods_id).await?;
        let facts = json!({"goods": goods, "sale": id, "reason": reason, "at": due});
        mail::notify_all(&mut tx, &users, kind, &facts, None).await?;
        let last = entrants.last().filter(|_| entrants.len() as i64 == MAX_TOLD).map(|(entry, _)| entry.to_string());
        let is_done = last.is_none();
        let sql = format!("UPDATE draws SET {column} = $2 WHERE sale_id = $1");
        sqlx::query(AssertSqlSafe(sql)).bind(id.0).bind(last).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(is_done)
    }
}
