//! Draws: their entries ([`entries`]), their steps from the lock of the list to the last order ([`steps`]), and draws whose
//! public round never comes ([`missing_round`]). A draw needs neither gate nor Redis: entries are rows, and winners get their orders here (`docs/decisions/0044`).
//!
//! Transactions that change entries share the lock of the list, and a transaction that changes the draw holds it alone.
//! So no entry changes after the list is closed.

pub(super) mod announced;
mod audit;
pub(super) mod entries;
mod missing_round;
pub(super) mod reading;
pub(super) mod steps;

use jiff::Timestamp;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::{DrawStore, ListLock, StoreError, Tx, row};
use domain::draw::{DrawRules, DrawSecret, PublicRound, Randomness, RoundChange};
use domain::{DrawStage, DrawState, Sale, SaleId};

/// A draw as stored.
#[derive(Debug, Clone)]
pub struct Draw {
    pub sale_id: SaleId,
    pub state: DrawState,
    /// The shop's secret. It is published once the draw is held.
    pub secret: DrawSecret,
    /// The rules as they were announced.
    pub rules: DrawRules,
    pub lock_at: Timestamp,
    pub locked_at: Option<Timestamp>,
    /// The root of the locked list, in hexadecimal digits.
    pub root: Option<String>,
    /// Number of entries in the locked list.
    pub entries: Option<i64>,
    /// What replaced public rounds that did not appear.
    pub changes: Vec<RoundChange>,
    /// The signature of the public round, in hexadecimal digits.
    pub signature: Option<String>,
    pub drawn_at: Option<Timestamp>,
    /// The public document that proves the draw, as JSON.
    pub proof: Option<String>,
    /// The first rank that has had no offer yet.
    pub next_rank: i64,
    pub called_off_at: Option<Timestamp>,
    /// Why staff called it off; `None` if the sale ended early.
    pub called_off_reason: Option<String>,
    /// The last entry whose owner was told that the draw is called off.
    told_until: Option<String>,
    /// The last entry whose owner was told of the latest of the changes.
    change_told_until: Option<String>,
    /// The last entry whose owner was told that the result is there.
    result_told_until: Option<String>,
}

/// Changes of a draw's round, at most: a proof stays small enough to be read.
const MAX_ROUND_CHANGES: usize = 10;

impl Draw {
    /// The public round that decides: the announced one, or the one that replaced it.
    pub fn round(&self) -> Option<PublicRound> {
        Some(RoundChange::last(self.rules.randomness?, &self.changes))
    }

    /// The public round, once it is known. It was verified before it was stored.
    pub fn randomness(&self) -> Option<Randomness> {
        self.round()?.verify(self.signature.as_deref()?).ok()
    }

    /// When the public round appears. `None` if the draw needs none.
    pub fn round_due(&self) -> Option<Timestamp> {
        self.round().map(|round| round.at())
    }

    /// The stage of the draw, and when it ends if the clock decides that.
    pub fn stage(&self, sale: &Sale, now: Timestamp) -> (DrawStage, Option<Timestamp>) {
        let stage = DrawStage::of(self.state, sale.phase(now), self.round_due(), now);
        let until = match stage {
            DrawStage::Announced => sale.window.opens_at,
            DrawStage::Entries => sale.window.closes_at,
            DrawStage::Review => Some(self.lock_at),
            DrawStage::Locked => self.round_due(),
            _ => None,
        };
        (stage, until)
    }

    /// Whether entries may be excluded. A lock that is overdue counts as done, because from its time on only the
    /// published list may decide.
    pub fn takes_exclusions(&self, now: Timestamp) -> bool {
        self.state == DrawState::Announced && now < self.lock_at
    }

    /// Whether the draw waits for its public round.
    pub fn awaits_round(&self) -> bool {
        self.state == DrawState::Locked && self.signature.is_none()
    }

    /// Whether staff may call the draw off: it waits for a public round that is overdue.
    pub fn may_be_called_off(&self, now: Timestamp) -> bool {
        self.awaits_round() && self.round().is_some_and(|round| round.is_overdue(now))
    }

    /// Whether a later round may replace the public round.
    pub fn may_await_later_round(&self, now: Timestamp) -> bool {
        self.may_be_called_off(now) && self.changes.len() < MAX_ROUND_CHANGES
    }

    /// Whether the list was locked after its round had appeared. Entries could then have been chosen by the round.
    pub fn was_locked_late(&self) -> bool {
        self.locked_at.zip(self.round_due()).is_some_and(|(locked, due)| locked >= due)
    }
}

macro_rules! columns {
    () => {
        "sale_id, state, secret, rules, lock_at_ms, locked_at_ms, root, entries, round_changes, signature, \
         drawn_at_ms, proof, next_rank, called_off_at_ms, called_off_reason, told_until, change_told_until, \
         result_told_until"
    };
}

/// Selects draws whose list is final.
pub(super) const ALL_LOCKED: &str =
    concat!("SELECT ", columns!(), " FROM draws WHERE state IN ('locked', 'drawn', 'settled') ORDER BY sale_id");

pub(super) fn draw(row: &AnyRow) -> Result<Draw, sqlx::Error> {
    Ok(Draw {
        sale_id: SaleId(row::int(row, "sale_id")?),
        state: row::parsed(row, "state")?,
        secret: row::parsed(row, "secret")?,
        rules: row::parsed(row, "rules")?,
        lock_at: row::time(row, "lock_at_ms")?,
        locked_at: row::optional_time(row, "locked_at_ms")?,
        root: row.try_get("root")?,
        entries: row.try_get("entries")?,
        changes: match row.try_get::<Option<&str>, _>("round_changes")? {
            Some(changes) => serde_json::from_str(changes).map_err(|_| row::undecodable("round_changes"))?,
            None => Vec::new(),
        },
        signature: row.try_get("signature")?,
        drawn_at: row::optional_time(row, "drawn_at_ms")?,
        proof: row.try_get("proof")?,
        next_rank: row::int(row, "next_rank")?,
        called_off_at: row::optional_time(row, "called_off_at_ms")?,
        called_off_reason: row.try_get("called_off_reason")?,
        told_until: row.try_get("told_until")?,
        change_told_until: row.try_get("change_told_until")?,
        result_told_until: row.try_get("result_told_until")?,
    })
}

impl DrawStore<'_> {
    /// The draw of a sale; `None` for a rush and for a draft.
    pub async fn get(self, sale: SaleId) -> Result<Option<Draw>, StoreError> {
        let sql = concat!("SELECT ", columns!(), " FROM draws WHERE sale_id = $1");
        self.optional(sqlx::query(sql).bind(sale.0), draw).await
    }
}

/// Locks the list of a draw until the end of the transaction, and reads the draw.
async fn lock(tx: &mut Tx, lock: ListLock, sale: SaleId) -> Result<Option<Draw>, sqlx::Error> {
    tx.lock_list(lock, sale).await?;
    let sql = concat!("SELECT ", columns!(), " FROM draws WHERE sale_id = $1");
    sqlx::query(sql).bind(sale.0).fetch_optional(&mut **tx).await?.as_ref().map(draw).transpose()
}
