//! The waiting room of a sale: the form that takes a place, and the page of a shopper's turn.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::Deserialize;

use super::moment;
use crate::{UserVisit, eligibility};
use domain::{Line, OrderId, Phase, Sale, SaleId, SaleMode, TurnState, UserId, WaitingRoomPlace, WaitingRoomPlan};
use engine::catalogue::CatalogueEntry;
use engine::waiting_rooms::{JoinRefusal, OwnTurn};
use pages::onward::OnwardSale;
use pages::sale_pages::quantities;
use pages::{Chrome, filters};
use web::extract::{Form, PathIds, SignedIn, State};
use web::shared::paths::line_path;
use web::shared::{onward_from, purchase_token};
use web::{Answer, Code, Problem, Shop, personal, see_other};
use words::fill;

#[derive(Deserialize)]
pub struct PlaceForm {
    /// The pass of an earlier place, which the browser has stored.
    #[serde(default)]
    pass: String,
}

/// Takes a place. If the waiting room takes in no one now, the page of the turn says so.
pub async fn join(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
    Form(PlaceForm { pass }): Form<PlaceForm>,
) -> Answer {
    let pass = Some(pass.as_str()).filter(|pass| !pass.is_empty());
    match shop.waiting_rooms.join(sale, session.user_id, pass).await {
        Ok(_) | Err(JoinRefusal::Closed(_)) => Ok(see_other(&line_path(visitor.locale, sale))),
        Err(refusal) => eligibility::refused(refusal, visitor.locale, sale),
    }
}

pub async fn show((State(shop), SignedIn(session), visitor): UserVisit, PathIds(id): PathIds<SaleId>) -> Answer {
    let known = shop.catalogue.entry(id).await?.ok_or(Code::NoSuchWaitingRoom)?;
    let sale = &known.sale;
    let leaves = shop.catalogue.front(id).is_some();
    if leaves && sale.mode == SaleMode::Rush {
        return moment::page(&shop, &visitor, session.user_id, known).await;
    }
    let plan = sale.mode.waiting_room_plan().ok_or(Code::NoSuchWaitingRoom)?;
    let line = shop.waiting_rooms.line(id);
    let now = shop.store.now().await?;
    let own = shop.waiting_rooms.own(sale, session.user_id, now).await?;
    let turn = match turn(&shop, sale, (session.user_id, own), line.as_deref(), now).await {
        Ok(turn) => turn,
        Err(problem) => return eligibility::refused(problem, visitor.locale, id),
    };
    let place = own.map(|own| own.place);
    let pass = place.map(|place| shop.waiting_rooms.pass(id, session.user_id, &place)).unwrap_or_default();
    let chrome = visitor.chrome();
    let onward = match turn {
        Turn::Missed | Turn::Ended => onward_from(&shop.catalogue, visitor.locale, &known),
        _ => Vec::new(),
    };
    let page = LinePage { leaves, chrome, known, plan, line, turn, place, pass, now, onward };
    personal(StatusCode::OK, &page)
}

async fn turn(
    shop: &Shop,
    sale: &Sale,
    (user, own): (UserId, Option<OwnTurn>),
    line: Option<&Line>,
    now: Timestamp,
) -> Result<Turn, Problem> {
    if let Some(order) = own.and_then(|own| own.order) {
        return Ok(Turn::Bought { order });
    }
    if line.map_or(sale.phase(now), |line| line.phase) == Phase::Ended {
        return Ok(Turn::Ended);
    }
    // A process that has just begun reads the waiting room within a second.
    let line = line.ok_or(Code::Unavailable)?;
    let Some(OwnTurn { place: own, state, .. }) = own else {
        let is_early = line.phase == Phase::Upcoming && line.joining_from.is_none_or(|from| now < from);
        return Ok(if is_early { Turn::Early } else { Turn::Outside });
    };
    Ok(match state {
        TurnState::Missed | TurnState::Bought => Turn::Missed,
        TurnState::Waiting if line.seed.is_none() => Turn::Gathering,
        // The shop restored this place from its pass after later places were called, so it is next.
        TurnState::Waiting if line.serving >= Some(own.place) => Turn::Waiting { ahead: Some(0) },
        TurnState::Waiting => Turn::Waiting { ahead: line.ahead(own.place) },
        TurnState::Called => called(shop, sale, user, &own, now).await?,
    })
}

/// The turn of a shopper who may buy, with the token that the form sends. For a moment after the turn there is none.
async fn called(
    shop: &Shop,
    sale: &Sale,
    user: UserId,
    own: &WaitingRoomPlace,
    now: Timestamp,
) -> Result<Turn, Problem> {
    let seat = sale.mode.waiting_room_plan().and_then(|plan| own.seat_ends(plan));
    let until = seat.ok_or(Code::NotCalled)?;
    // Of a turn that leads to another shop there is no token: nothing is bought here.
    if until <= now || shop.catalogue.front(sale.id).is_some() {
        return Ok(Turn::Called { until, token: None });
    }
    match purchase_token(shop, sale.id, user, seat).await {
        Ok(issued) => Ok(Turn::Called { until, token: Some(issued.token) }),
        Err(problem) if problem.code() == Code::NotOpen => Ok(Turn::Called { until, token: None }),
        Err(problem) if problem.code() == Code::Ended => Ok(Turn::Ended),
        Err(problem) => Err(problem),
    }
}

/// Seconds until a page without scripts is loaded again.
const REFRESH_S: i64 = 10;

/// How far the shopper is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// The waiting room is not open yet.
    Early,
    /// The account has no place and may take one.
    Outside,
    /// The account has a place, and the order is not drawn yet.
    Gathering,
    /// The account waits. `ahead` is how many are called before it; `None` until the segment of the place is closed.
    Waiting {
        ahead: Option<i64>,
    },
    /// The shopper may buy. Without a token the sale is paused, or the turn has just ended.
    Called {
        until: Timestamp,
        token: Option<String>,
    },
    Bought {
        order: OrderId,
    },
    Missed,
    Ended,
}

/// The page of a shopper's turn. In every state it is true as of its rendering. The script keeps it current.
#[derive(Debug, Template)]
#[template(path = "waiting_room/line.html")]
struct LinePage {
    chrome: Chrome,
    /// Whether called shoppers go on to another shop.
    leaves: bool,
    known: Arc<CatalogueEntry>,
    plan: WaitingRoomPlan,
    /// `None` once the sale has ended.
    line: Option<Arc<Line>>,
    turn: Turn,
    place: Option<WaitingRoomPlace>,
    /// The signed pass that proves the place. Empty without a place.
    pass: String,
    now: Timestamp,
    /// Sales to go on to, for those who get nothing here.
    onward: Vec<OnwardSale>,
}

impl LinePage {
    /// The state's name for the style sheet and the script.
    fn state(&self) -> &'static str {
        match self.turn {
            Turn::Early => "early",
            Turn::Outside => "outside",
            Turn::Gathering => "gathering",
            Turn::Waiting { .. } => "waiting",
            Turn::Called { .. } => "called",
            Turn::Bought { .. } => "bought",
            Turn::Missed => "missed",
            Turn::Ended => "ended",
        }
    }

    fn heading(&self) -> &'static str {
        let t = &self.chrome.text().waiting_room;
        match self.turn {
            Turn::Early => t.early,
            Turn::Outside => t.outside,
            Turn::Gathering if self.is_drawing() => t.drawing,
            Turn::Gathering => t.gathering,
            Turn::Waiting { ahead: None } => t.late,
            Turn::Waiting { ahead: Some(0) } if self.notice().is_none() => t.next,
            Turn::Waiting { ahead: Some(_) } => t.gathering,
            Turn::Called { .. } => t.called,
            Turn::Bought { .. } => t.bought,
            Turn::Missed => t.missed,
            Turn::Ended => t.ended,
        }
    }

    /// One sentence about what comes next.
    fn sentence(&self) -> &'static str {
        let t = &self.chrome.text().waiting_room;
        match self.turn {
            Turn::Early => t.early_text,
            Turn::Outside if self.is_locked() => t.outside_late,
            Turn::Outside => t.outside_text,
            Turn::Gathering if self.is_drawing() => t.drawing_text,
            Turn::Gathering => t.gathering_text,
            Turn::Waiting { ahead: None } => t.late_text,
            Turn::Waiting { ahead: Some(0) } if self.notice().is_none() => t.next_text,
            Turn::Waiting { ahead: Some(_) } => "",
            Turn::Called { .. } if self.leaves => t.called_to_shop,
            Turn::Called { .. } => t.called_text,
            Turn::Bought { .. } => t.bought_text,
            Turn::Missed => t.missed_text,
            Turn::Ended => t.ended_text,
        }
    }

    /// Why calls have stopped, if they have.
    fn notice(&self) -> Option<String> {
        let t = &self.chrome.text().waiting_room;
        let line = self.line.as_ref()?;
        let is_waiting = matches!(self.turn, Turn::Gathering | Turn::Waiting { .. } | Turn::Outside | Turn::Missed);
        match line.phase {
            Phase::Paused if is_waiting || self.is_called() => Some(t.paused.to_owned()),
            Phase::Ended | Phase::Upcoming | Phase::Paused => None,
            _ if !is_waiting => None,
            _ if line.held => Some(t.held.to_owned()),
            _ if line.left == 0 && line.unpaid > 0 => Some(fill(t.all_taken, line.unpaid)),
            _ if line.left == 0 => Some(t.sold_out.to_owned()),
            _ => None,
        }
    }

    fn is_locked(&self) -> bool {
        self.line.as_ref().is_some_and(|line| line.locked_at.is_some())
    }

    /// Whether the drawing of the order is due but not done yet.
    fn is_drawing(&self) -> bool {
        self.line.as_ref().is_some_and(|line| line.locks_at.is_some_and(|locks| locks <= self.now))
    }

    fn is_called(&self) -> bool {
        matches!(self.turn, Turn::Called { .. })
    }

    /// Whether the account may take a place.
    fn can_join(&self) -> bool {
        matches!(self.turn, Turn::Outside | Turn::Missed)
    }

    /// Whether the shopper waits for a turn, and so may want a sound when it comes.
    fn is_awaiting(&self) -> bool {
        matches!(self.turn, Turn::Gathering | Turn::Waiting { .. })
    }

    fn ahead(&self) -> Option<i64> {
        match self.turn {
            Turn::Waiting { ahead } => ahead,
            _ => None,
        }
    }

    /// How many were called, for a place that still waits although later places were called. The shop restored such a
    /// place from its pass, and calls it next.
    fn passed(&self) -> Option<i64> {
        let (line, own) = self.line.as_ref().zip(self.place)?;
        let is_passed = matches!(self.turn, Turn::Waiting { .. }) && line.serving >= Some(own.place);
        is_passed.then_some(line.called)
    }

    /// When the present step ends: the wait for joining, the time until the list is locked, or the turn itself.
    fn until(&self) -> Option<Timestamp> {
        let line = self.line.as_ref()?;
        match self.turn {
            Turn::Early => line.joining_from,
            Turn::Outside | Turn::Gathering => line.locks_at.filter(|locks| *locks > self.now),
            Turn::Called { until, .. } => Some(until),
            _ => None,
        }
    }

    /// How many wait. The public state may be a second old and not count this shopper yet.
    fn in_room(&self) -> i64 {
        let waiting = self.line.as_ref().map_or(0, |line| line.waiting());
        waiting.max(i64::from(self.is_awaiting()))
    }

    /// The progress, in percent: for a waiting place, the share of places up to it that were called; for a turn and
    /// before the lock, the time that is left.
    fn percent(&self) -> i64 {
        match (&self.turn, &self.line) {
            (Turn::Waiting { ahead: Some(ahead) }, Some(line)) => line.called * 100 / (line.called + ahead + 1),
            (Turn::Called { until, .. }, _) => {
                let ms = until.as_millisecond() - self.now.as_millisecond();
                (ms / (self.plan.seat_s * 10)).clamp(0, 100)
            }
            (Turn::Gathering, Some(line)) => line.locks_at.zip(line.joining_from).map_or(0, |(locks, from)| {
                let all = locks.as_millisecond() - from.as_millisecond();
                ((locks.as_millisecond() - self.now.as_millisecond()) * 100 / all.max(1)).clamp(0, 100)
            }),
            _ => 0,
        }
    }

    /// What is left of the shopper's turn, as `2:41`.
    fn time_left(&self) -> Option<String> {
        let Turn::Called { until, .. } = self.turn else { return None };
        let seconds = (until.as_millisecond() - self.now.as_millisecond()).max(0) / 1000;
        Some(format!("{}:{:02}", seconds / 60, seconds % 60))
    }

    /// The estimated wait, in words. The script uses the same words.
    fn wait(&self) -> String {
        let t = &self.chrome.text().waiting_room;
        // While no place can be called, no wait is promised.
        let line = self.line.as_ref().filter(|_| self.notice().is_none());
        let place = self.ahead().zip(line);
        match place.and_then(|(ahead, line)| line.seconds_until(ahead)) {
            // Only a unit that comes back can reach this place: no time is promised.
            _ if place.is_some_and(|(ahead, line)| !line.reaches(ahead)) => t.wait_returns.to_owned(),
            None => t.wait_unknown.to_owned(),
            Some(seconds) if seconds < 60 => t.wait_soon.to_owned(),
            Some(seconds) if seconds < 7200 => fill(t.wait_minutes, (seconds + 59) / 60),
            Some(seconds) => fill(t.wait_hours, (seconds + 3599) / 3600),
        }
    }

    fn quantities(&self) -> std::ops::RangeInclusive<i64> {
        quantities(&self.known.sale)
    }

    /// The number of the place, once the order is drawn.
    fn number(&self) -> Option<i64> {
        let is_drawn = self.line.as_ref().is_some_and(|line| line.seed.is_some());
        self.place.filter(|_| is_drawn).map(|place| place.place.number)
    }

    /// After how many seconds a page without scripts is loaded again. A form that the shopper may be filling in is not
    /// reloaded.
    fn refresh_s(&self) -> Option<i64> {
        match self.turn {
            Turn::Called { until, .. } => Some((until.as_millisecond() - self.now.as_millisecond()) / 1000 + 1),
            Turn::Bought { .. } | Turn::Ended | Turn::Missed => None,
            _ => Some(REFRESH_S),
        }
    }
}
