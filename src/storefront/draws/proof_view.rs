//! The page that proves a draw.

use askama::Template;
use jiff::Timestamp;

use domain::draw::{Beacon, EntryId, Exclusion, Proof};
use domain::{DrawStage, Sale};
use pages::filters;
use store::Draw;
use web::views::Chrome;
use words::fill;

/// The public facts of a draw, and how to check them.
#[derive(Debug, Template)]
#[template(path = "draws/draw.html")]
pub struct DrawPage {
    pub chrome: Chrome,
    pub origin: String,
    pub goods_name: String,
    pub sale: Sale,
    pub draw: Draw,
    pub stage: DrawStage,
    /// When the stage ends, if the clock ends it.
    pub until: Option<Timestamp>,
    pub excluded: Vec<(Exclusion, i64)>,
    /// `None` until the draw was held.
    pub proof: Option<Proof>,
    /// The visitor's own entry.
    pub own: Option<EntryId>,
}

impl DrawPage {
    fn files(&self) -> String {
        format!("/api/sales/{}/draw", self.sale.id)
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

    fn secret(&self) -> Option<&str> {
        Some(&self.proof.as_ref()?.secret)
    }

    fn seed(&self) -> Option<&str> {
        Some(&self.proof.as_ref()?.seed)
    }

    fn round_name(&self) -> Option<String> {
        let round = self.draw.rules.randomness?;
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
