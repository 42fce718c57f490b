//! Draws: their entries ([`entries`]), and their steps from the lock of the list to the last order ([`steps`]). A draw
//! needs neither gate nor Redis: entries are rows, and winners get their orders here (`docs/decisions/0044`).
//!
//! Transactions that change entries share the lock of the list, and a transaction that changes the draw holds it alone.
//! So no entry changes after the list is closed.
//!
//! The row of a draw follows its sale ([`follow_sale`]). It exists as long as the sale is announced, its rules come
//! from the sale's definition, and it is called off with the sale. Entries are taken only once the sale has opened.
//! From then on the definition is fixed, and so are the rules.

pub(super) mod entries;
pub(super) mod steps;

use std::collections::HashMap;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::any::AnyRow;

use crate::audit::Snapshot;
use crate::{DrawStore, ListLock, StoreResult, Tx, column, row};
use domain::draw::{
    DrawRules, DrawSecret, EntryId, EntryList, EntryStatus, Exclusion, ListedEntry, Proof, PublicRound, Randomness,
    RoundChange, root,
};
use domain::{DrawEntry, DrawStage, DrawState, EntryState, Sale, SaleId, SaleState, hex};

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

column_list!(columns: "sale_id, state, secret, rules, lock_at_ms, locked_at_ms, root, entries, round_changes,
     signature, drawn_at_ms, proof, next_rank, called_off_at_ms, called_off_reason, told_until, change_told_until,
     result_told_until");

/// Selects draws whose list is final.
const ALL_LOCKED: &str = select!(columns, "FROM draws WHERE state IN ('locked', 'drawn', 'settled') ORDER BY sale_id");

pub(super) fn draw(row: &AnyRow) -> sqlx::Result<Draw> {
    let changes: Option<Vec<RoundChange>> = row::json(row, "round_changes")?;
    read!(row => Draw {
        sale_id, state, secret, rules, lock_at: "lock_at_ms", locked_at: "locked_at_ms", root, entries,
        changes = changes.unwrap_or_default(), signature, drawn_at: "drawn_at_ms", proof, next_rank,
        called_off_at: "called_off_at_ms", called_off_reason, told_until, change_told_until, result_told_until,
    })
}

#[boxed]
impl DrawStore<'_> {
    /// The draw of a sale; `None` for a rush and for a draft.
    pub async fn get(self, sale: SaleId) -> StoreResult<Option<Draw>> {
        let sql = select!(columns, "FROM draws WHERE sale_id = $1");
        self.optional(query!(sql; sale), draw).await
    }
}

/// Locks the list of a draw until the end of the transaction, and reads the draw.
async fn lock(tx: &mut Tx, lock: ListLock, sale: SaleId) -> sqlx::Result<Option<Draw>> {
    tx.lock_list(lock, sale).await?;
    let sql = select!(columns, "FROM draws WHERE sale_id = $1");
    tx.optional(query!(sql; sale), draw).await
}

/// Updates the draw of a sale that is new (`before` is `None`) or was changed. The caller has locked the sale's row.
pub(crate) async fn follow_sale(tx: &mut Tx, before: Option<&Sale>, after: &Sale) -> sqlx::Result<()> {
    if before.is_none_or(|before| before.state.is_planned()) {
        let is_announced = matches!(after.state, SaleState::Scheduled | SaleState::Live);
        return if after.mode.is_draw() && is_announced {
            announce(tx, after).await
        } else if after.state == SaleState::Ended {
            call_off(tx, before, after).await
        } else {
            withdraw(tx, after).await
        };
    }
    if after.state == SaleState::Ended { call_off(tx, before, after).await } else { Ok(()) }
}

/// Publishes the rules. The secret is drawn with the first announcement and stays the same.
async fn announce(tx: &mut Tx, sale: &Sale) -> sqlx::Result<()> {
    let known = query!("SELECT secret FROM draws WHERE sale_id = $1"; sale.id);
    let known: Option<DrawSecret> = tx.optional(known, column("secret")).await?;
    let secret = known.unwrap_or_else(|| DrawSecret::new(rand::random()));
    let plan = sale.mode.draw_plan().zip(sale.window.closes_at);
    let (Some(rules), Some((plan, closes))) = (sale.draw_rules(&secret), plan) else {
        return Err(sqlx::Error::Protocol(format!("the draw of sale {} has no window", sale.id)));
    };
    let sql = "INSERT INTO draws (sale_id, state, secret, rules, lock_at_ms) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (sale_id) DO UPDATE SET rules = excluded.rules, lock_at_ms = excluded.lock_at_ms";
    tx.run(query!(sql; sale.id, DrawState::Announced, secret.to_hex(), rules.canonical(), plan.lock_at(closes))).await
}

/// Takes the announcement back, because the sale is a draft again or not a draw any more.
async fn withdraw(tx: &mut Tx, sale: &Sale) -> sqlx::Result<()> {
    tx.run(query!("DELETE FROM draws WHERE sale_id = $1"; sale.id)).await
}

/// Calls the draw off if the sale ends before its closing time. It is then not the sale that was announced, so no entry
/// wins.
async fn call_off(tx: &mut Tx, before: Option<&Sale>, after: &Sale) -> sqlx::Result<()> {
    let announced = before.and_then(|before| before.window.closes_at);
    if announced <= after.window.closes_at {
        return Ok(());
    }
    tx.lock_list(ListLock::Exclusive, after.id).await?;
    let sql = "UPDATE draws SET state = $2, called_off_at_ms = $4, told_until = '' WHERE sale_id = $1 AND state = $3";
    let (called_off, announced) = (DrawState::CalledOff.as_str(), DrawState::Announced.as_str());
    tx.run(query!(sql; after.id, called_off, announced, tx.now)).await
}

/// Deletes the draw of a draft that is deleted.
pub(crate) async fn delete(tx: &mut Tx, sale: &Sale) -> sqlx::Result<()> {
    withdraw(tx, sale).await
}

/// Entries per statement.
const PAGE_SIZE: usize = 20_000;
/// Contradictions that are reported per draw.
const MAX_NAMED: usize = 20;

#[boxed]
impl Snapshot {
    /// Describes draws whose list does not have the published root, whose ranks differ from the proof, or whose units
    /// were not offered to entries in the order of ranks.
    pub async fn draw_mismatches(&mut self) -> StoreResult<Vec<String>> {
        let mut problems = Vec::new();
        for draw in self.all(query!(ALL_LOCKED), draw).await? {
            if !self.reads(draw.sale_id) {
                continue;
            }
            let entries = self.draw_entries(draw.sale_id).await?;
            let mut found = contradictions(&draw, &entries);
            found.extend(self.orders_without_entry(draw.sale_id).await?);
            problems.extend(found.into_iter().take(MAX_NAMED).map(|what| format!("sale {}: {what}", draw.sale_id)));
        }
        Ok(problems)
    }

    async fn draw_entries(&mut self, sale: SaleId) -> StoreResult<Vec<DrawEntry>> {
        let mut all: Vec<DrawEntry> = Vec::new();
        loop {
            let after = all.last().map(|last| last.id.to_string()).unwrap_or_default();
            let page = self.all(query!(entries::AUDIT_PAGE; sale, after, PAGE_SIZE as i64), entries::entry).await?;
            self.progress.fetch_add(page.len() as u64, std::sync::atomic::Ordering::Relaxed);
            let is_last = page.len() < PAGE_SIZE;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    async fn orders_without_entry(&mut self, sale: SaleId) -> StoreResult<Vec<String>> {
        let sql = "SELECT 'order ' || id || ' belongs to no entry of its user' AS problem FROM orders
             WHERE sale_id = $1 AND NOT EXISTS (SELECT 1 FROM draw_entries WHERE draw_entries.sale_id = orders.sale_id
               AND draw_entries.user_id = orders.user_id AND draw_entries.order_id = orders.id)";
        self.all(query!(sql; sale), column("problem")).await
    }
}

/// How a locked draw contradicts what was published about it. `entries` are all its entries, sorted by id.
fn contradictions(draw: &Draw, entries: &[DrawEntry]) -> Vec<String> {
    let listed = entries.iter().filter(|entry| entry.state != EntryState::Withdrawn).map(|entry| {
        let status = match entry.state {
            EntryState::Excluded => EntryStatus::Excluded(entry.reason.unwrap_or(Exclusion::Other)),
            _ => EntryStatus::In,
        };
        ListedEntry { id: entry.id, status }
    });
    let list = match EntryList::new(listed.collect()) {
        Ok(list) => list,
        Err(wrong) => return vec![wrong.to_string()],
    };
    if draw.state == DrawState::Locked {
        let is_published = draw.root.as_deref() == Some(&*hex::encode(&root(&list.taking_part())));
        return if is_published { vec![] } else { vec!["the list of entries has not the published root".to_owned()] };
    }
    let Some(proof) = draw.proof.as_deref().and_then(|proof| Proof::parse(proof.as_bytes()).ok()) else {
        return vec!["the draw was held and has no readable proof".to_owned()];
    };
    let mut found = Vec::new();
    if draw.root.as_deref() != Some(&*proof.root)
        || draw.rules.canonical() != proof.rules
        || draw.changes != proof.changes
    {
        found.push("the proof has not the published root, rules and changes of the round".to_owned());
    }
    match proof.verify(list.to_csv().as_bytes()) {
        Ok(verification) => {
            let failed = verification.checks.iter().filter(|check| check.failure.is_some());
            found.extend(failed.map(|check| format!("it does not hold that {}", check.promise)));
            found.extend(wrong_ranks(draw, entries, &verification.order));
        }
        Err(wrong) => found.push(wrong.to_string()),
    }
    found
}

/// Entries whose rank differs from `order`, entries that had their turn and got no order, and entries that got an order
/// before their turn.
fn wrong_ranks(draw: &Draw, entries: &[DrawEntry], order: &[EntryId]) -> Vec<String> {
    let ranks: HashMap<EntryId, i64> = order.iter().copied().zip(0..).collect();
    let wrong = entries.iter().filter_map(|entry| {
        let rank = ranks.get(&entry.id).copied();
        let had_turn = rank.is_some_and(|rank| rank < draw.next_rank);
        let was_offered = entry.order_id.is_some() || entry.state == EntryState::Skipped;
        if entry.rank != rank {
            Some(format!("entry {} has rank {:?} instead of {rank:?}", entry.id, entry.rank))
        } else if had_turn != was_offered {
            Some(format!("entry {} was {}", entry.id, if had_turn { "passed over" } else { "served before its turn" }))
        } else {
            None
        }
    });
    wrong.collect()
}
