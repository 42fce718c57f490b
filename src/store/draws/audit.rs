//! Draws: lists, ranks and orders agree with the published proof.

use std::collections::HashMap;

use super::{ALL_LOCKED, Draw, draw, entries};
use crate::audit::Snapshot;
use crate::{StoreError, row};
use domain::draw::{EntryId, EntryList, EntryStatus, Exclusion, ListedEntry, Proof, root};
use domain::{DrawEntry, DrawState, EntryState, SaleId, hex};

/// Entries per statement.
const PAGE_SIZE: usize = 20_000;
/// Contradictions that are reported per draw.
const MAX_NAMED: usize = 20;

impl Snapshot {
    /// Describes draws whose list does not have the published root, whose ranks differ from the proof, or whose units
    /// were not offered to entries in the order of ranks.
    pub async fn draw_mismatches(&mut self) -> Result<Vec<String>, StoreError> {
        let mut problems = Vec::new();
        for draw in self.all(sqlx::query(ALL_LOCKED), draw).await? {
            let entries = self.draw_entries(draw.sale_id).await?;
            let mut found = contradictions(&draw, &entries);
            found.extend(self.orders_without_entry(draw.sale_id).await?);
            problems.extend(found.into_iter().take(MAX_NAMED).map(|what| format!("sale {}: {what}", draw.sale_id)));
        }
        Ok(problems)
    }

    async fn draw_entries(&mut self, sale: SaleId) -> Result<Vec<DrawEntry>, StoreError> {
        let mut all: Vec<DrawEntry> = Vec::new();
        loop {
            let after = all.last().map(|last| last.id.to_string()).unwrap_or_default();
            let query = sqlx::query(entries::AUDIT_PAGE).bind(sale.0).bind(after).bind(PAGE_SIZE as i64);
            let page = self.all(query, entries::entry).await?;
            self.progress.fetch_add(page.len() as u64, std::sync::atomic::Ordering::Relaxed);
            let is_last = page.len() < PAGE_SIZE;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    async fn orders_without_entry(&mut self, sale: SaleId) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT 'order ' || id || ' belongs to no entry of its user' AS problem FROM orders
             WHERE sale_id = $1 AND NOT EXISTS (SELECT 1 FROM draw_entries WHERE draw_entries.sale_id = orders.sale_id
               AND draw_entries.user_id = orders.user_id AND draw_entries.order_id = orders.id)";
        self.all(sqlx::query(sql).bind(sale.0), |row| row::text(row, "problem")).await
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
