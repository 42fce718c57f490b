//! The console's page of a draw.

use askama::Template;
use jiff::Timestamp;

use crate::Chrome;
use control::draws::DryRun;
use domain::draw::{Beacon, Exclusion, PublicRound, WrongRandomness};
use domain::{DrawStage, DrawState, EntryState, OrderStatus, Sale};
use pages::filters;
use store::{Draw, MAX_COUNTED_ENTRIES, OrderTotals, StaffEntry};
use words::fill;

/// The form of the public round after a refusal.
#[derive(Debug, Default)]
pub struct RoundFormState {
    pub typed: String,
    pub wrong: Option<WrongRandomness>,
}

/// A draw as staff see it.
#[derive(Debug, Template)]
#[template(path = "draws/console_draw.html")]
pub struct AdminDrawPage {
    pub chrome: Chrome,
    pub goods_name: String,
    pub sale: Sale,
    pub draw: Draw,
    pub stage: DrawStage,
    /// When the stage ends, if the clock ends it.
    pub until: Option<Timestamp>,
    /// Entries of all states, up to a limit.
    pub counted: i64,
    pub excluded: i64,
    pub orders: OrderTotals,
    pub may_act: bool,
    pub may_exclude: bool,
    pub may_call_off: bool,
    pub rows: Vec<StaffEntry>,
    /// The first row of the next page.
    pub next: Option<StaffEntry>,
    /// Where the table begins, as typed.
    pub from: String,
    pub notice: Option<&'static str>,
    pub warning: Option<&'static str>,
    pub round: RoundFormState,
    pub dry_run: Option<DryRun>,
}

/// A step of a draw, and its time if it has one.
struct DrawStep {
    label: &'static str,
    at: Option<Timestamp>,
    is_done: bool,
    is_now: bool,
}

impl AdminDrawPage {
    fn text(&self) -> &'static words::DrawConsoleText {
        &self.chrome.text().draw_console
    }

    fn steps(&self) -> Vec<DrawStep> {
        let (t, draw) = (self.text(), &self.draw);
        let all = [
            (t.step_announced, None, DrawStage::Announced),
            (t.step_entries, Some(draw.rules.opens_at), DrawStage::Entries),
            (t.step_review, Some(draw.rules.closes_at), DrawStage::Review),
            (t.step_locked, Some(draw.locked_at.unwrap_or(draw.lock_at)), DrawStage::Locked),
            (t.step_round, draw.round_due(), DrawStage::Due),
            (t.step_drawn, draw.drawn_at, DrawStage::Drawn),
            (t.step_offers, None, DrawStage::Drawn),
            (t.step_settled, None, DrawStage::Settled),
        ];
        let now = match self.stage {
            DrawStage::Paused => DrawStage::Entries,
            stage => stage,
        };
        let is_past = |stage: DrawStage| stage < now || (stage == now && stage == DrawStage::Settled);
        let steps = all.into_iter().map(|(label, at, stage)| {
            let is_drawn = label == t.step_drawn && now == DrawStage::Drawn;
            DrawStep { label, at, is_done: is_past(stage) || is_drawn, is_now: stage == now && !is_drawn }
        });
        steps.filter(|step| draw.rules.randomness.is_some() || step.label != t.step_round).collect()
    }

    fn is_called_off(&self) -> bool {
        self.draw.state == DrawState::CalledOff
    }

    /// The numbers, with their names.
    fn numbers(&self) -> Vec<(&'static str, String)> {
        let t = self.text();
        let counted = match self.counted {
            MAX_COUNTED_ENTRIES => fill(t.entries_many, MAX_COUNTED_ENTRIES - 1),
            few => few.to_string(),
        };
        let orders = |status| self.orders.of(status).orders.to_string();
        let mut numbers = vec![(t.units, self.sale.total.to_string()), (t.entries, counted)];
        if let Some(entries) = self.draw.entries {
            numbers.push((t.taking_part, entries.to_string()));
        }
        numbers.push((t.excluded, self.excluded.to_string()));
        if self.stage.is_held() {
            numbers.extend([
                (t.offered, self.draw.next_rank.to_string()),
                (t.paid, orders(OrderStatus::Paid)),
                (t.unpaid, orders(OrderStatus::Unpaid)),
                (t.lapsed, orders(OrderStatus::Cancelled)),
                (t.refunded, orders(OrderStatus::Refunded)),
            ]);
        }
        numbers
    }

    /// The round of quicknet that is awaited.
    fn awaited(&self) -> Option<PublicRound> {
        let is_awaited = self.draw.state == DrawState::Locked && self.draw.signature.is_none();
        self.draw.rules.randomness.filter(|round| is_awaited && round.beacon == Beacon::Quicknet)
    }

    fn wrong_round(&self) -> Option<String> {
        self.round.wrong.as_ref().map(|wrong| self.text().wrong(wrong))
    }

    fn state(&self, row: &StaffEntry) -> String {
        let t = self.text();
        let words = match row.entry.state {
            EntryState::In => t.state_in,
            EntryState::Withdrawn => t.state_withdrawn,
            EntryState::Excluded => t.state_excluded,
            EntryState::Skipped => t.state_skipped,
        };
        match &row.entry.reason {
            Some(reason) => format!("{words}: {}", self.reason(reason)),
            None => words.to_owned(),
        }
    }

    fn reason(&self, reason: &Exclusion) -> &'static str {
        self.chrome.text().draws.reason(reason)
    }

    fn is_reason(&self, row: &StaffEntry, reason: &Exclusion) -> bool {
        row.entry.reason == Some(*reason)
    }

    fn can_exclude(&self, row: &StaffEntry) -> bool {
        self.may_exclude && matches!(row.entry.state, EntryState::In | EntryState::Excluded)
    }

    /// The rank, counted from 1.
    fn rank(&self, row: &StaffEntry) -> Option<i64> {
        row.entry.rank.filter(|_| self.stage.is_held()).map(|rank| rank + 1)
    }

    /// Where the next page of the table begins.
    fn next_from(&self) -> Option<String> {
        let next = self.next.as_ref()?;
        Some(self.rank(next).map_or_else(|| next.entry.id.to_string(), |rank| rank.to_string()))
    }
}
