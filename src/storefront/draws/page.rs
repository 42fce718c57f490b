//! Draws: a shopper's entry, the forms that enter and take it back, and the page that proves the draw.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use jiff::Timestamp;

use crate::orders::payments::is_paid_elsewhere;
use crate::{UserVisit, eligibility};
use domain::draw::{Beacon, EntryId, Exclusion, Proof, PublicRound};
use domain::{DrawEntry, DrawStage, DrawState, EntryState, OrderId, OrderStatus, Phase, SaleId};
use engine::catalogue::CatalogueEntry;
use pages::onward::OnwardSale;
use pages::{Chrome, filters};
use store::Draw;
use web::extract::{ClientAddress, PathIds, SignedIn, State, Visitor};
use web::shared::onward_from;
use web::shared::paths::entry_path;
use web::{Answer, Code, Shop, personal, see_other};
use words::fill;

pub async fn show((State(shop), SignedIn(session), visitor): UserVisit, PathIds(sale): PathIds<SaleId>) -> Answer {
    let draw = shop.store.draws().get(sale).await?.ok_or(Code::NoSuchDraw)?;
    let known = shop.catalogue.entry(sale).await?.ok_or(Code::NoSuchSale)?;
    let entry = shop.store.draws().draw_entry(sale, session.user_id).await?;
    let (mut order_status, mut leaves) = (None, false);
    if let Some(order) = entry.as_ref().and_then(|entry| entry.order_id) {
        order_status = shop.store.orders().order_statuses(&[order]).await?.remove(&order);
        leaves = shop.catalogue.front(sale).is_some() && is_paid_elsewhere(&shop, sale, order).await?;
    }
    let now = shop.clock.now();
    let (stage, until) = draw.stage(&known.sale, now);
    let page = EntryPage {
        onward: onward_from(&shop.catalogue, visitor.locale, &known),
        order_status,
        stage,
        until,
        phase: known.sale.phase(now),
        draw: draw.state,
        delay_reason: draw.changes.last().filter(|_| draw.awaits_round()).map(|change| change.reason.clone()),
        result_at: (draw.drawn_at.is_none() && draw.called_off_at.is_none())
            .then(|| draw.round_due().unwrap_or(draw.lock_at)),
        called_off_reason: draw.called_off_reason,
        receipt: entry.as_ref().map(|entry| shop.entries.receipt(sale, entry)).unwrap_or_default(),
        entry,
        leaves,
        known,
        chrome: visitor.chrome(),
    };
    personal(StatusCode::OK, &page)
}

/// The rules, the published facts, and how to check them.
pub async fn proof(State(shop): State<Arc<Shop>>, visitor: Visitor, PathIds(sale): PathIds<SaleId>) -> Answer {
    let draw = shop.store.draws().get(sale).await?.ok_or(Code::NoSuchDraw)?;
    let known = shop.catalogue.entry(sale).await?.ok_or(Code::NoSuchSale)?;
    let own = match &visitor.session {
        Some(session) => shop.store.draws().draw_entry(sale, session.user_id).await?.map(|entry| entry.id),
        None => None,
    };
    let (stage, until) = draw.stage(&known.sale, shop.clock.now());
    let page = DrawPage {
        origin: shop.config.public_url.clone(),
        known,
        stage,
        until,
        excluded: shop.store.draws().exclusions(sale).await?,
        proof: draw.proof.as_deref().and_then(|proof| Proof::parse(proof.as_bytes()).ok()),
        draw,
        own,
        chrome: visitor.chrome(),
    };
    personal(StatusCode::OK, &page)
}

pub async fn enter(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
    ClientAddress(client): ClientAddress,
) -> Answer {
    match shop.entries.enter(sale, session.user_id, client).await {
        Ok(_) => Ok(see_other(&entry_path(visitor.locale, sale))),
        Err(refusal) => eligibility::refused(refusal, visitor.locale, sale),
    }
}

pub async fn withdraw(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
    ClientAddress(client): ClientAddress,
) -> Answer {
    shop.entries.withdraw(sale, session.user_id, client).await?;
    Ok(see_other(&entry_path(visitor.locale, sale)))
}

/// The state of the account's entry, and the actions that it allows.
#[derive(Debug, Template)]
#[template(path = "draws/entry.html")]
struct EntryPage {
    chrome: Chrome,
    /// Whether winners go on to another shop, and pay there.
    leaves: bool,
    known: Arc<CatalogueEntry>,
    /// The phase of the sale.
    phase: Phase,
    draw: DrawState,
    /// Why the draw awaits a later public round.
    delay_reason: Option<String>,
    /// Why staff called the draw off.
    called_off_reason: Option<String>,
    stage: DrawStage,
    /// When the stage ends, if the clock ends it.
    until: Option<Timestamp>,
    /// When the result is known, until it is.
    result_at: Option<Timestamp>,
    /// `None` if the account has not entered.
    entry: Option<DrawEntry>,
    /// The status of the order that the entry won.
    order_status: Option<OrderStatus>,
    /// The receipt of the entry; empty without one.
    receipt: String,
    /// Sales to go on to.
    onward: Vec<OnwardSale>,
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
            Some(EntryState::In) if self.order().is_some() || self.draw == DrawState::Settled => "lost",
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
            _ if self.leaves => t.won_elsewhere,
            _ => t.won,
        }
    }

    fn reason(&self) -> &'static str {
        let reason = self.entry.as_ref().and_then(|entry| entry.reason).unwrap_or(Exclusion::Other);
        self.chrome.text().draws.reason(&reason)
    }
}

/// The public facts of a draw, and how to check them.
#[derive(Debug, Template)]
#[template(path = "draws/draw.html")]
struct DrawPage {
    chrome: Chrome,
    origin: String,
    known: Arc<CatalogueEntry>,
    draw: Draw,
    stage: DrawStage,
    /// When the stage ends, if the clock ends it.
    until: Option<Timestamp>,
    excluded: Vec<(Exclusion, i64)>,
    /// `None` until the draw was held.
    proof: Option<Proof>,
    /// The visitor's own entry.
    own: Option<EntryId>,
}

impl DrawPage {
    fn files(&self) -> String {
        format!("/api/sales/{}/draw", self.known.sale.id)
    }

    fn is_locked(&self) -> bool {
        self.draw.locked_at.is_some()
    }

    /// Reasons to trust the draw less.
    fn caveats(&self) -> impl Iterator<Item = &'static str> {
        let t = &self.chrome.text().draw_proof;
        let source = match self.draw.rules.randomness.map(|round| round.beacon) {
            Some(Beacon::Quicknet) => None,
            Some(Beacon::Sandbox) => Some(t.sandbox),
            None => Some(t.no_round),
        };
        source.into_iter().chain(self.draw.was_locked_late().then_some(t.late))
    }

    /// Where a round that was given up can be looked up.
    fn url(&self, round: &i64) -> Option<String> {
        PublicRound { round: *round, ..self.draw.rules.randomness? }.url()
    }

    fn secret(&self) -> Option<&str> {
        Some(&self.proof.as_ref()?.secret)
    }

    fn seed(&self) -> Option<&str> {
        Some(&self.proof.as_ref()?.seed)
    }

    fn round_name(&self) -> Option<String> {
        let round = self.draw.round()?;
        Some(fill(&fill(self.chrome.text().draw_proof.round_of, round.beacon), round.round))
    }

    /// How long winners have to pay, in the largest unit without a remainder.
    fn window(&self) -> String {
        let t = &self.chrome.text().draw_proof;
        let seconds = self.draw.rules.window_s;
        let (words, n) = match seconds {
            s if s % 3600 == 0 => (t.hours, s / 3600),
            s if s % 60 == 0 => (t.minutes, s / 60),
            s => (t.seconds, s),
        };
        fill(words, n)
    }

    fn rules(&self) -> String {
        self.draw.rules.canonical()
    }

    fn reason(&self, reason: &Exclusion) -> &'static str {
        self.chrome.text().draws.reason(reason)
    }
}
