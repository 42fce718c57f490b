//! A shopper's entry in a draw.

use askama::Template;
use jiff::Timestamp;

use domain::draw::Exclusion;
use domain::{DrawEntry, DrawStage, DrawState, EntryState, OrderId, OrderStatus, Phase, Picture, Sale};
use pages::filters;
use pages::onward::OnwardSale;
use web::views::Chrome;
use words::fill;

/// The state of the account's entry, and the actions that it allows.
#[derive(Debug, Template)]
#[template(path = "draws/entry.html")]
pub struct EntryPage {
    pub chrome: Chrome,
    pub sale: Sale,
    pub goods_name: String,
    pub picture: Option<Picture>,
    /// The phase of the sale.
    pub phase: Phase,
    pub draw: DrawState,
    /// Why staff called the draw off.
    pub called_off_reason: Option<String>,
    pub stage: DrawStage,
    /// When the stage ends, if the clock ends it.
    pub until: Option<Timestamp>,
    /// `None` if the account has not entered.
    pub entry: Option<DrawEntry>,
    /// The status of the order that the entry won.
    pub order_status: Option<OrderStatus>,
    /// The receipt of the entry; empty without one.
    pub receipt: String,
    /// Sales to go on to.
    pub onward: Vec<OnwardSale>,
}

impl EntryPage {
    fn state(&self) -> Option<EntryState> {
        self.entry.as_ref().map(|entry| entry.state)
    }

    fn is_open(&self) -> bool {
        self.draw == DrawState::Announced && self.phase == Phase::Open
    }

    fn can_enter(&self) -> bool {
        self.is_open() && matches!(self.state(), None | Some(EntryState::Withdrawn))
    }

    fn can_withdraw(&self) -> bool {
        self.is_open() && self.state() == Some(EntryState::In)
    }

    /// The rank, counted from 1.
    fn rank(&self) -> Option<i64> {
        self.entry.as_ref()?.rank.filter(|_| self.stage.is_held()).map(|rank| rank + 1)
    }

    fn order(&self) -> Option<OrderId> {
        self.entry.as_ref()?.order_id
    }

    /// Whether the entry has a unit.
    fn has_won(&self) -> bool {
        let is_lost = matches!(
            self.order_status,
            Some(OrderStatus::Cancelled | OrderStatus::Refunded | OrderStatus::RefundPending)
        );
        self.state() == Some(EntryState::In) && self.order().is_some() && !is_lost && self.draw != DrawState::CalledOff
    }

    /// The look of the state. The looks belong to the states on the page of a turn in a waiting room.
    fn look(&self) -> &'static str {
        match self.state() {
            _ if self.has_won() && self.order_status == Some(OrderStatus::Paid) => "bought",
            _ if self.has_won() => "called",
            Some(EntryState::Excluded | EntryState::Skipped) => "missed",
            _ => "waiting",
        }
    }

    fn heading(&self) -> &'static str {
        let text = self.chrome.text();
        let t = &text.draws;
        match (self.state(), self.draw) {
            _ if self.has_won() => text.outcome.won_draw,
            (_, DrawState::CalledOff) => t.head_called_off,
            (Some(EntryState::Excluded), _) => t.head_excluded,
            (Some(EntryState::Skipped), _) => t.head_passed,
            (Some(EntryState::In), _) if self.order().is_some() => t.head_passed,
            (Some(EntryState::In), DrawState::Drawn) => t.head_waiting,
            (Some(EntryState::In), DrawState::Settled) => t.head_over,
            (Some(EntryState::In), _) => t.head_in,
            _ if self.is_open() => t.head_out,
            _ if self.draw == DrawState::Announced && self.phase != Phase::Ended => t.head_not_open,
            _ => t.head_missed,
        }
    }

    fn state_text(&self) -> String {
        let t = &self.chrome.text().draws;
        let text = match (self.state(), self.draw) {
            (_, DrawState::CalledOff) => t.called_off,
            (Some(EntryState::Excluded), _) => return fill(t.excluded, self.reason()),
            (Some(EntryState::Skipped), _) => t.skipped,
            (Some(EntryState::In), _) if self.order().is_some() => self.won_text(),
            (Some(EntryState::In), DrawState::Drawn) => t.waiting,
            (Some(EntryState::In), DrawState::Settled) => t.over,
            (Some(EntryState::In), _) if self.is_open() => t.entered,
            (Some(EntryState::In), _) => t.closed,
            (Some(EntryState::Withdrawn), _) if self.is_open() => t.withdrawn,
            (None, _) if self.is_open() => t.not_entered,
            _ if self.draw == DrawState::Announced && self.phase != Phase::Ended => t.not_open,
            _ => t.missed,
        };
        text.to_owned()
    }

    /// Words about the order that the entry won.
    fn won_text(&self) -> &'static str {
        let t = &self.chrome.text().draws;
        match self.order_status {
            Some(OrderStatus::Paid) => t.won_paid,
            Some(OrderStatus::Cancelled | OrderStatus::Refunded | OrderStatus::RefundPending) => t.won_lapsed,
            _ => t.won,
        }
    }

    fn reason(&self) -> &'static str {
        let reason = self.entry.as_ref().and_then(|entry| entry.reason).unwrap_or(Exclusion::Other);
        self.chrome.text().draws.reason(&reason)
    }
}
