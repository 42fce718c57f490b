//! Entries of draws: one per account and sale.

use std::collections::HashSet;

use boxed::boxed;
use serde_json::json;
use sqlx::any::AnyRow;

use crate::draws::lock;
use crate::{DrawStore, ListLock, StoreResult, Tx, column, deposits, pair, row, sales};
use domain::draw::{EntryId, EntryStatus, Exclusion, ListedEntry};
use domain::{AuditAction, DrawEntry, DrawState, EntryState, Phase, SaleId, UserId};

/// Entries per page of the public list.
const LIST_PAGE_SIZE: i64 = 10_000;

/// The outcome of a request to enter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnterOutcome {
    Entered(DrawEntry),
    /// The account had entered before.
    Known(DrawEntry),
    /// The sale takes no entries now.
    Closed(Phase),
    /// The wallet's balance is below the deposit.
    DepositNeeded,
    NoSuchDraw,
}

/// The outcome of a request to take an entry back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WithdrawOutcome {
    Done,
    Closed(Phase),
    NoSuchEntry,
}

/// The outcome of an exclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExcludeOutcome {
    Done,
    /// The list is locked, or the draw was called off.
    Locked,
    /// There is no such entry, or its owner took it back.
    NoSuchEntry,
}

column_list!(columns: "entry, user_id, entered_at_ms, state, reason, rank, order_id");

pub(crate) fn entry(row: &AnyRow) -> sqlx::Result<DrawEntry> {
    read!(row => DrawEntry { id: "entry", user_id, entered_at: "entered_at_ms", state, reason, rank, order_id })
}

/// Selects a page of all entries of a draw, in the order of ids.
pub(crate) const AUDIT_PAGE: &str =
    select!(columns, "FROM draw_entries WHERE sale_id = $1 AND entry > $2 ORDER BY entry LIMIT $3");

const OWN: &str = select!(columns, "FROM draw_entries WHERE sale_id = $1 AND user_id = $2");

#[boxed]
impl DrawStore<'_> {
    pub async fn draw_entry(self, sale: SaleId, user: UserId) -> StoreResult<Option<DrawEntry>> {
        self.optional(query!(OWN; sale, user), entry).await
    }

    /// The entries of an account in all draws, for its export.
    pub(crate) async fn draw_entries_of(self, user: UserId) -> StoreResult<Vec<(SaleId, DrawEntry)>> {
        let sql = concat!("SELECT sale_id, ", columns!(), " FROM draw_entries WHERE user_id = $1 ORDER BY sale_id");
        let read = |row: &AnyRow| Ok((row::get(row, "sale_id")?, entry(row)?));
        self.all(query!(sql; user), read).await
    }

    /// Enters an account. If it has an entry already, the entry stays; an entry that its owner took back counts again.
    pub async fn enter(self, sale: SaleId, user: UserId, id: EntryId) -> StoreResult<EnterOutcome> {
        if let Some(known) = self.draw_entry(sale, user).await?.filter(|known| known.state != EntryState::Withdrawn) {
            return Ok(EnterOutcome::Known(known));
        }
        let mut tx = self.begin().await?;
        let Some((phase, deposit)) = open_phase(&mut tx, sale).await? else { return Ok(EnterOutcome::NoSuchDraw) };
        if phase != Phase::Open {
            return Ok(EnterOutcome::Closed(phase));
        }
        let sql =
            "INSERT INTO draw_entries (sale_id, user_id, entry, entered_at_ms, state) VALUES ($1, $2, $3, $4, 'in')
             ON CONFLICT (sale_id, user_id) DO UPDATE SET state = 'in' WHERE draw_entries.state = 'withdrawn'";
        let written = tx.changed(query!(sql; sale, user, id, tx.now)).await?;
        let own = tx.one(query!(OWN; sale, user), entry).await?;
        if !deposits::take(&mut tx, sale, deposit, &[user]).await?.is_empty() {
            return Ok(EnterOutcome::DepositNeeded);
        }
        tx.commit_and(if written == 1 { EnterOutcome::Entered(own) } else { EnterOutcome::Known(own) }).await
    }

    /// Takes an entry back if the sale is open. Safe to repeat.
    pub async fn withdraw(self, sale: SaleId, user: UserId) -> StoreResult<WithdrawOutcome> {
        let mut tx = self.begin().await?;
        match open_phase(&mut tx, sale).await? {
            None => return Ok(WithdrawOutcome::NoSuchEntry),
            Some((Phase::Open, _)) => {}
            Some((phase, _)) => return Ok(WithdrawOutcome::Closed(phase)),
        }
        let sql = "UPDATE draw_entries SET state = 'withdrawn' WHERE sale_id = $1 AND user_id = $2 AND state = 'in'";
        tx.run(query!(sql; sale, user)).await?;
        let is_known = tx.exists(query!(OWN; sale, user)).await?;
        deposits::withdraw(&mut tx, sale, user).await?;
        tx.commit_and(if is_known { WithdrawOutcome::Done } else { WithdrawOutcome::NoSuchEntry }).await
    }

    /// Excludes an entry if the list is not locked yet, with a line in the audit log.
    pub async fn exclude(
        self,
        sale: SaleId,
        id: EntryId,
        reason: Exclusion,
        actor: &str,
    ) -> StoreResult<ExcludeOutcome> {
        let mut tx = self.begin().await?;
        let draw = lock(&mut tx, ListLock::Shared, sale).await?;
        if !draw.is_some_and(|draw| draw.takes_exclusions(tx.now)) {
            return Ok(ExcludeOutcome::Locked);
        }
        let sql = "UPDATE draw_entries SET state = 'excluded', reason = $3 WHERE sale_id = $1 AND entry = $2
               AND state IN ('in', 'excluded') RETURNING user_id";
        let user: Option<UserId> = tx.optional(query!(sql; sale, id, reason), column("user_id")).await?;
        let Some(user) = user else { return Ok(ExcludeOutcome::NoSuchEntry) };
        let after = json!({"entry": id.to_string(), "user_id": user, "reason": reason});
        tx.log(actor, AuditAction::Exclude, &format!("sale {sale}"), None, Some(&after), tx.now).await?;
        deposits::withdraw(&mut tx, sale, user).await?;
        tx.commit_and(ExcludeOutcome::Done).await
    }

    /// The number of excluded entries by reason.
    pub async fn exclusions(self, sale: SaleId) -> StoreResult<Vec<(Exclusion, i64)>> {
        let sql = "SELECT reason, COUNT(*) AS entries FROM draw_entries WHERE sale_id = $1 AND state = 'excluded'
             GROUP BY reason ORDER BY reason";
        self.all(query!(sql; sale), pair("reason", "entries")).await
    }

    /// A page of the public list, in the order of ids. It is final once the list is locked.
    pub async fn listed_entries(self, sale: SaleId, after: Option<EntryId>) -> StoreResult<Vec<ListedEntry>> {
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        self.all(query!(LIST_PAGE; sale, after, LIST_PAGE_SIZE), listed).await
    }
}

/// The phase of a sale, which takes entries only if it is open, and its deposit. The list cannot be closed before the end
/// of the transaction.
async fn open_phase(tx: &mut Tx, id: SaleId) -> sqlx::Result<Option<(Phase, Option<i64>)>> {
    let Some(draw) = lock(tx, ListLock::Shared, id).await? else { return Ok(None) };
    let Some(sale) = sales::read(tx, id).await? else { return Ok(None) };
    let phase = if draw.state == DrawState::Announced { sale.phase(tx.now) } else { Phase::Ended };
    Ok(Some((phase, sale.eligibility.deposit_amount())))
}

/// Selects a page of the public list.
const LIST_PAGE: &str = "SELECT entry, state, reason FROM draw_entries WHERE sale_id = $1 AND entry > $2
       AND state <> 'withdrawn' ORDER BY entry LIMIT $3";

/// The whole list of entries.
pub(super) async fn list(tx: &mut Tx, sale: SaleId) -> sqlx::Result<Vec<ListedEntry>> {
    let mut all: Vec<ListedEntry> = Vec::new();
    loop {
        let after = all.last().map(|last| last.id.to_string()).unwrap_or_default();
        let page = tx.all(query!(LIST_PAGE; sale, after, LIST_PAGE_SIZE), listed).await?;
        let is_last = (page.len() as i64) < LIST_PAGE_SIZE;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}

/// A skipped entry took part, so it stays in the list.
fn listed(row: &AnyRow) -> sqlx::Result<ListedEntry> {
    let status = match row::get(row, "state")? {
        EntryState::Excluded => EntryStatus::Excluded(row::get(row, "reason")?),
        EntryState::In | EntryState::Withdrawn | EntryState::Skipped => EntryStatus::In,
    };
    Ok(ListedEntry { id: row::get(row, "entry")?, status })
}

/// Up to this many entries are counted before the list is locked, so that a page stays cheap.
pub const MAX_COUNTED_ENTRIES: i64 = 5_000;

/// An entry with its account's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaffEntry {
    pub entry: DrawEntry,
    /// `None` once the account is deleted.
    pub username: Option<String>,
}

fn staff_entry(row: &AnyRow) -> sqlx::Result<StaffEntry> {
    read!(row => StaffEntry { entry = entry(row)?, username })
}

#[boxed]
impl DrawStore<'_> {
    /// Entries from an id on, in the order of ids.
    pub async fn entries_from(self, sale: SaleId, from: &str, limit: usize) -> StoreResult<Vec<StaffEntry>> {
        let sql = select!(
            columns,
            ", username FROM draw_entries LEFT JOIN users ON users.id = draw_entries.user_id
             WHERE sale_id = $1 AND entry >= $2 ORDER BY entry LIMIT $3"
        );
        self.all(query!(sql; sale, from, limit as i64), staff_entry).await
    }

    /// Entries from a rank on, which is counted from 0, in the order of ranks.
    pub async fn ranked_entries(self, sale: SaleId, from: i64, limit: usize) -> StoreResult<Vec<StaffEntry>> {
        let sql = select!(
            columns,
            ", username FROM draw_entries LEFT JOIN users ON users.id = draw_entries.user_id
             WHERE sale_id = $1 AND rank >= $2 ORDER BY rank LIMIT $3"
        );
        self.all(query!(sql; sale, from, limit as i64), staff_entry).await
    }

    /// The sales whose draw was held.
    pub async fn held(self) -> StoreResult<HashSet<SaleId>> {
        let query = query!("SELECT sale_id FROM draws WHERE state IN ('drawn', 'settled')");
        Ok(self.all(query, column("sale_id")).await?.into_iter().collect())
    }

    /// The rank of an entry, from 0, once the draw was held.
    pub async fn rank_of_entry(self, sale: SaleId, id: EntryId) -> StoreResult<Option<i64>> {
        let sql = "SELECT rank FROM draw_entries WHERE sale_id = $1 AND entry = $2 AND rank IS NOT NULL";
        self.optional(query!(sql; sale, id), column("rank")).await
    }

    /// The number of entries, including entries that were taken back, up to [`MAX_COUNTED_ENTRIES`].
    pub async fn count_entries(self, sale: SaleId) -> StoreResult<i64> {
        let sql = "SELECT COUNT(*) AS entries FROM (SELECT 1 FROM draw_entries WHERE sale_id = $1 LIMIT $2) AS counted";
        Ok(self.optional(query!(sql; sale, MAX_COUNTED_ENTRIES), column("entries")).await?.unwrap_or_default())
    }
}
