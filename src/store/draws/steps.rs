//! The steps of a draw after its sale has closed. Each is one transaction, or may be repeated. If a process dies
//! between two steps, the next process continues.
//!
//! If the public round never comes, the draw is called off, or a later round decides. Called off, the sale is retired
//! as after any draw, so what was set aside for it goes back. Data control writes to the entrants, some in each step.

use boxed::boxed;
use jiff::Timestamp;
use serde_json::json;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::accounts::is_closed;
use crate::draws::{Draw, entries, lock};
use crate::orders::intake::sell;
use crate::sales::changes::touch;
use crate::{
    Bound, DrawStore, ListLock, LockPatience, MAX_ROWS, StoreResult, Tx, bound, column, goods, mail, pair, sales,
};
use domain::draw::{self, EntryId, EntryList, Exclusion, Randomness, RoundChange};
use domain::{
    AuditAction, DrawState, EntryState, MailKind, OrderId, Reservation, Sale, SaleId, SaleState, UserId, hex,
};

/// Orders per transaction. Few, so that the sale's lock is held only for a short time.
const MAX_OFFERS: i64 = 256;

/// The result of one step of offering.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offered {
    /// Orders that were created.
    pub orders: usize,
    /// Entries whose accounts could not buy.
    pub skipped: usize,
    /// Whether nothing is left to do.
    pub is_settled: bool,
}

/// An entry whose turn it is.
struct Turn {
    entry: EntryId,
    user_id: UserId,
    rank: i64,
    /// Whether the account is blocked or deleted and so cannot buy.
    is_closed: bool,
}

fn turn(row: &AnyRow) -> sqlx::Result<Turn> {
    read!(row => Turn { entry, user_id, rank, is_closed = is_closed(row)? })
}

#[boxed]
impl DrawStore<'_> {
    /// Draws that have a step due or wait for their public round.
    pub async fn due(self) -> StoreResult<Vec<SaleId>> {
        let sql = "SELECT draws.sale_id FROM draws JOIN sales ON sales.id = draws.sale_id
             WHERE draws.state IN ('announced', 'locked', 'drawn') AND sales.state = 'ended'
               AND (draws.state <> 'announced' OR lock_at_ms <= $1)
               AND (draws.state <> 'drawn' OR (sales.sold < sales.total AND next_rank < entries) OR NOT EXISTS
                 (SELECT 1 FROM orders WHERE orders.sale_id = draws.sale_id AND orders.status = 'unpaid'))
             ORDER BY draws.sale_id";
        self.all(query!(sql; self.now().await?), column("sale_id")).await
    }

    /// Locks the list of entries: stores its root and its length. `None` if it is not time for this.
    pub async fn lock(self, id: SaleId) -> StoreResult<Option<Draw>> {
        let mut tx = self.begin_with(LockPatience::Short).await?;
        let Some(sale) = sales::lock(&mut tx, id).await? else { return Ok(None) };
        let found = lock(&mut tx, ListLock::Exclusive, id).await?.filter(|draw| draw.state == DrawState::Announced);
        let Some(draw) = found.filter(|draw| sale.state == SaleState::Ended && draw.lock_at <= tx.now) else {
            return Ok(None);
        };
        let list =
            EntryList::new(entries::list(&mut tx, id).await?).map_err(|e| sqlx::Error::Protocol(e.to_string()))?;
        let taking_part = list.taking_part();
        let locked = Draw {
            state: DrawState::Locked,
            locked_at: Some(tx.now),
            root: Some(hex::encode(&draw::root(&taking_part))),
            entries: Some(taking_part.len() as i64),
            ..draw
        };
        let sql = "UPDATE draws SET state = $2, locked_at_ms = $3, root = $4, entries = $5 WHERE sale_id = $1";
        tx.run(query!(sql; id, locked.state, tx.now, &locked.root, locked.entries)).await?;
        tx.commit_and(Some(locked)).await
    }

    /// Stores the verified signature of the public round. Returns `false` if the draw does not wait for it, or waits for
    /// a later round by now.
    pub async fn give_randomness(self, id: SaleId, given: &Randomness, actor: &str) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let found = lock(&mut tx, ListLock::Exclusive, id).await?;
        if found.and_then(|draw| draw.round()).is_none_or(|round| round.round != given.round) {
            return Ok(false);
        }
        let signature = given.signature_hex();
        let sql = "UPDATE draws SET signature = $2 WHERE sale_id = $1 AND state = 'locked' AND signature IS NULL";
        if tx.changed(query!(sql; id, &signature)).await? == 0 {
            return Ok(false);
        }
        let (now, after) = (tx.now, json!({"round": given.round, "signature": signature}));
        tx.log(actor, AuditAction::Draw, &format!("sale {id}"), None, Some(&after), now).await?;
        tx.commit_and(true).await
    }

    /// Writes the ranks, from 0, of the entries of a locked list. `order` has the entries in the order in which they
    /// win. May be repeated.
    pub async fn write_ranks(self, id: SaleId, order: &[EntryId]) -> StoreResult<()> {
        let mut ranks: Vec<(EntryId, usize)> = order.iter().copied().zip(0..).collect();
        // Sorted like the list, so that each statement reads only its part of the list, whatever the database plans.
        ranks.sort_unstable();
        for part in ranks.chunks(MAX_ROWS) {
            let ranked: Vec<String> =
                part.iter().enumerate().map(|(n, (_, rank))| format!("(${}, {rank})", n + 2)).collect();
            let sql = format!(
                "WITH ranked (entry, place) AS (VALUES {}) UPDATE draw_entries SET rank = ranked.place FROM ranked
                 WHERE draw_entries.sale_id = $1 AND draw_entries.entry = ranked.entry
                   AND draw_entries.entry BETWEEN $2 AND ${}",
                ranked.join(","),
                part.len() + 1
            );
            let entries = part.iter().map(|(entry, _)| entry.value());
            self.run(bound(query!(AssertSqlSafe(sql); id), entries)).await?;
        }
        Ok(())
    }

    /// Marks the draw as held: every entry has its rank. `proof` is the public document. The change of the catalogue
    /// makes lists show it.
    pub async fn finish(self, id: SaleId, proof: &str, now: Timestamp) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        touch(&mut tx).await?;
        let sql = "UPDATE draws SET state = 'drawn', proof = $2, drawn_at_ms = $3, change_told_until = NULL,
               result_told_until = '' WHERE sale_id = $1 AND state = 'locked'";
        tx.run(query!(sql; id, proof, now)).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Gives free units to the next entries in order, as unpaid orders. Settles the draw once nothing is left to do:
    /// every unit is paid for, or every rank had its turn.
    pub async fn offer_units(self, id: SaleId) -> StoreResult<Offered> {
        let mut tx = self.begin_with(LockPatience::Short).await?;
        let Some(sale) = sales::lock(&mut tx, id).await? else { return Ok(Offered::default()) };
        // Only this step, under the sale's lock, makes orders of a draw.
        let may_settle = !has_unpaid_orders(&mut tx, id).await?;
        if may_settle {
            // The draw may be settled, and the catalogue is locked before the list.
            touch(&mut tx).await?;
        }
        let Some(draw) = lock(&mut tx, ListLock::Exclusive, id).await?.filter(|draw| draw.state == DrawState::Drawn)
        else {
            return Ok(Offered::default());
        };
        let turns = next_turns(&mut tx, &draw, sale.total - sale.sold).await?;
        let Some(last) = turns.last() else {
            if may_settle {
                tx.run(query!("UPDATE draws SET state = 'settled' WHERE sale_id = $1"; id)).await?;
                tx.commit().await?;
            }
            return Ok(Offered { is_settled: may_settle, ..Offered::default() });
        };
        let next_rank = last.rank + 1;
        let orders = offer(&mut tx, &sale, &turns).await?;
        tx.run(query!("UPDATE draws SET next_rank = $2 WHERE sale_id = $1"; id, next_rank)).await?;
        tx.commit_and(Offered { orders, skipped: turns.len() - orders, is_settled: false }).await
    }

    /// Retires the sales of draws that are over.
    pub async fn retire(self) -> StoreResult<()> {
        let sql =
            "SELECT id FROM sales WHERE retired_at_ms IS NULL AND mode = 'draw' AND state = 'ended' AND NOT EXISTS
               (SELECT 1 FROM draws WHERE draws.sale_id = sales.id AND state IN ('announced', 'locked', 'drawn'))";
        let now = self.now().await?;
        for id in self.all(query!(sql), column("id")).await? {
            self.sales().retire(id, now).await?;
        }
        Ok(())
    }
}

async fn next_turns(tx: &mut Tx, draw: &Draw, free: i64) -> sqlx::Result<Vec<Turn>> {
    let sql = "SELECT entry, user_id, rank, deleted_at_ms, blocked_at_ms FROM draw_entries
         LEFT JOIN users ON users.id = draw_entries.user_id
         WHERE sale_id = $1 AND rank >= $2 ORDER BY rank LIMIT $3";
    tx.all(query!(sql; draw.sale_id, draw.next_rank, free.clamp(0, MAX_OFFERS)), turn).await
}

/// Creates orders for the accounts that can buy. Returns how many.
async fn offer(tx: &mut Tx, sale: &Sale, turns: &[Turn]) -> StoreResult<usize> {
    let mut granted = Vec::with_capacity(turns.len());
    for Turn { entry, user_id, is_closed, .. } in turns {
        let order_id = OrderId::new(tx.now);
        let (state, reason, order) = match is_closed {
            true => (EntryState::Skipped, Some(Exclusion::AccountClosed.as_str()), None),
            false => (EntryState::In, None, Some(order_id.to_string())),
        };
        let sql = "UPDATE draw_entries SET state = $3, reason = $4, order_id = $5 WHERE sale_id = $1 AND entry = $2";
        tx.run(query!(sql; sale.id, entry, state, reason, order)).await?;
        if !is_closed {
            let (user_id, reserved_at) = (*user_id, tx.now);
            granted.push(Reservation { order_id, sale_id: sale.id, user_id, quantity: 1, reserved_at });
        }
    }
    let window = sale.mode.draw_plan().map(|plan| plan.window()).unwrap_or_default();
    if !granted.is_empty() {
        // Data control, which holds draws, numbers orders as well.
        sell(tx, sale, &granted, &[], window).await?;
        tell(tx, sale, &granted, tx.now + window).await?;
    }
    Ok(granted.len())
}

/// Sends mail to the owners of new orders that says until when they may pay. It is in the transaction that creates the
/// orders, so it is sent once.
async fn tell(tx: &mut Tx, sale: &Sale, granted: &[Reservation], pay_by: Timestamp) -> sqlx::Result<()> {
    let goods = goods::name(tx, sale.goods_id).await?;
    for Reservation { user_id, order_id, .. } in granted {
        let facts = json!({"goods": goods, "sale": sale.id, "order": order_id, "pay_by": pay_by});
        mail::notify_all(tx, &[*user_id], MailKind::DrawWon, &facts, Some(pay_by)).await?;
    }
    Ok(())
}

/// An unpaid order may still return its unit, so its draw is not settled.
async fn has_unpaid_orders(tx: &mut Tx, id: SaleId) -> sqlx::Result<bool> {
    tx.exists(query!("SELECT 1 FROM orders WHERE sale_id = $1 AND status = 'unpaid' LIMIT 1"; id)).await
}

/// Messages to entrants per transaction.
const MAX_TOLD: i64 = 1_000;

#[boxed]
impl DrawStore<'_> {
    /// Calls off a draw whose public round is overdue, for a reason that entrants and visitors read. Returns `false` if
    /// the draw does not wait for its round, or the round is not overdue.
    pub async fn call_off(self, id: SaleId, reason: &str, actor: &str) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        touch(&mut tx).await?;
        let found = lock(&mut tx, ListLock::Exclusive, id).await?;
        let Some(draw) = found.filter(|draw| draw.may_be_called_off(tx.now)) else { return Ok(false) };
        let sql = "UPDATE draws SET state = $2, called_off_at_ms = $3, called_off_reason = $4, told_until = '',
               change_told_until = NULL
             WHERE sale_id = $1 AND state = 'locked' AND signature IS NULL";
        if tx.changed(query!(sql; id, DrawState::CalledOff, tx.now, reason)).await? == 0 {
            return Ok(false);
        }
        let (now, round) = (tx.now, draw.round().map(|round| round.round));
        let after = json!({"round": round, "reason": reason});
        tx.log(actor, AuditAction::CallOffDraw, &format!("sale {id}"), None, Some(&after), now).await?;
        tx.commit_and(true).await
    }

    /// Replaces the overdue public round of a draw by the later one that follows from the present time. Returns `false`
    /// if the draw does not wait for its round, or the round is not overdue.
    ///
    /// The list's lock orders this and [`give_randomness`](Self::give_randomness): the round that is given first decides,
    /// and after the change only the later one can be given.
    pub async fn await_later_round(self, id: SaleId, reason: &str, actor: &str) -> StoreResult<bool> {
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
        tx.run(query!(sql; id, changes)).await?;
        tx.log(actor, AuditAction::ChangeRound, &format!("sale {id}"), None, Some(&after), tx.now).await?;
        tx.commit_and(true).await
    }

    /// Sales whose draw was called off, awaits a later round or was held, and whose entrants are not all told.
    pub async fn to_tell(self) -> StoreResult<Vec<SaleId>> {
        let sql = "SELECT sale_id FROM draws WHERE told_until IS NOT NULL OR change_told_until IS NOT NULL
             OR result_told_until IS NOT NULL ORDER BY sale_id";
        self.all(query!(sql), column("sale_id")).await
    }

    /// Tells the next entrants of a draw that it was called off, awaits a later round or was held. Winners have a message
    /// with their order, and hear nothing else. Messages and how far they are share a transaction, so each entrant gets
    /// one message. Returns whether all have got theirs.
    pub async fn tell_entrants(self, id: SaleId) -> StoreResult<bool> {
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
        let entrants: Vec<(EntryId, UserId)> =
            tx.all(query!(AssertSqlSafe(sql); id, after, MAX_TOLD), pair("entry", "user_id")).await?;
        let users: Vec<UserId> = entrants.iter().map(|(_, user)| *user).collect();
        let goods = goods::name(&mut tx, sale.goods_id).await?;
        let facts = json!({"goods": goods, "sale": id, "reason": reason, "at": due});
        mail::notify_all(&mut tx, &users, kind, &facts, None).await?;
        let last = entrants.last().filter(|_| entrants.len() as i64 == MAX_TOLD).map(|(entry, _)| entry.to_string());
        let is_done = last.is_none();
        let sql = format!("UPDATE draws SET {column} = $2 WHERE sale_id = $1");
        tx.run(query!(AssertSqlSafe(sql); id, last)).await?;
        tx.commit_and(is_done).await
    }
}
