//! A simulated shopper in a sale with a waiting room or a draw: it takes a place and waits until it is called, or
//! enters and waits for the draw. It asks as often as the page does.

use std::time::Duration;

use rand::RngExt;
use tokio::time::Instant;

use super::measure::{Milestone, ResponseClass, Step};
use super::shopper::{PressOutcome, SimulatedShopper};
use crate::http::{EntryResponse, LineResponse, PlaceResponse};
use crate::measure::VisitOutcome;
use domain::waiting_room::Place;
use domain::{DrawState, Phase};

/// Failed requests in a row before a shopper gives up.
const MAX_FAILURES: u32 = 5;
/// Time between two polls of the entry, in milliseconds.
const DRAW_POLL_MS: u64 = 1_000;

impl SimulatedShopper<'_> {
    /// Takes a place, polls the waiting room and buys once the place is called.
    pub(super) async fn wait_for_call(&mut self, deadline: Instant) -> VisitOutcome {
        let sale = self.context.sale;
        if !self.join(&format!("/api/sales/{sale}/place")).await {
            return VisitOutcome::GaveUp;
        }
        let line_path = format!("/api/sales/{sale}/line");
        let mut own = None;
        let mut failures = 0;
        let mut due = Instant::now();
        while due < deadline && failures <= MAX_FAILURES {
            let answer = self.get(Step::Turn, due, &line_path).await;
            let Some(line) = answer.good::<LineResponse>() else {
                failures += 1;
                due = self.after(1_500, 1_500);
                continue;
            };
            if self.profile.leaves_early && line.locked_at.is_none() {
                return VisitOutcome::Left;
            }
            if own.is_none() && line.serving.is_some() {
                own = self.own_place().await;
            }
            match line.phase {
                Phase::Ended | Phase::Paused => return VisitOutcome::Closed,
                _ if own.as_ref().is_some_and(|own| Some(own) <= line.serving.as_ref()) => {
                    return self.buy_called().await;
                }
                _ if line.serving.is_some() && line.left + line.seats == 0 => return VisitOutcome::SoldOut,
                _ => {}
            }
            let pause = line.poll_after_ms.max(250) as f64 * (1.0 + self.dice.random::<f64>());
            due = Instant::now() + Duration::from_secs_f64(pause / 1000.0);
        }
        VisitOutcome::GaveUp
    }

    async fn buy_called(&mut self) -> VisitOutcome {
        self.context.recorder.reached(Milestone::Pressed);
        match self.press_until_settled().await {
            PressOutcome::Granted(order, at) => self.take(order, at).await,
            PressOutcome::SoldOut => {
                self.record.violations.push("a shopper who was called found no unit".into());
                VisitOutcome::SoldOut
            }
            PressOutcome::NotOpen => VisitOutcome::Closed,
            PressOutcome::GaveUp => VisitOutcome::GaveUp,
        }
    }

    /// The place, once the list is locked.
    async fn own_place(&mut self) -> Option<Place> {
        let path = format!("/api/sales/{}/place", self.context.sale);
        let answer = self.get(Step::Turn, Instant::now(), &path).await;
        let PlaceResponse { place } = answer.good()?;
        Some(Place { segment: place.segment, number: place.number? })
    }

    /// Enters once the draw is open, and takes the order if it is given one.
    pub(super) async fn enter_draw(&mut self, deadline: Instant) -> VisitOutcome {
        if let Some(outcome) = self.wait_until_open(&mut 0, deadline).await {
            return outcome;
        }
        let path = format!("/api/sales/{}/entry", self.context.sale);
        self.context.recorder.reached(Milestone::Pressed);
        if !self.join(&path).await {
            return VisitOutcome::GaveUp;
        }
        let mut failures = 0;
        let mut due = self.after(DRAW_POLL_MS, DRAW_POLL_MS);
        while due < deadline && failures <= MAX_FAILURES {
            let answer = self.get(Step::Turn, due, &path).await;
            match answer.good::<EntryResponse>() {
                Some(EntryResponse { entry, .. }) if entry.order_id.is_some() => {
                    let Some(order) = entry.order_id else { continue };
                    self.record.add_order(order);
                    return self.take(order, Instant::now()).await;
                }
                // Offers follow within moments. A rank beyond the units would have to wait for returned units, so the
                // visit ends.
                Some(EntryResponse { entry, draw: DrawState::Drawn | DrawState::Settled })
                    if entry.rank.is_some_and(|rank| rank > self.context.units) =>
                {
                    return VisitOutcome::SoldOut;
                }
                Some(_) => failures = 0,
                None => failures += 1,
            }
            due = self.after(DRAW_POLL_MS, DRAW_POLL_MS);
        }
        VisitOutcome::GaveUp
    }

    /// Takes a place or enters, and tries again while the shop is busy.
    async fn join(&mut self, path: &str) -> bool {
        let mut due = Instant::now();
        for _ in 0..=MAX_FAILURES {
            if self.post(Step::Turn, due, path, "{}".into()).await.class == ResponseClass::Good {
                return true;
            }
            due = self.after(500, 1_500);
        }
        false
    }
}
