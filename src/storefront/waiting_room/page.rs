//! The waiting room of a sale: the form that takes a place, and the page of a shopper's turn.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use serde::Deserialize;

use crate::UserVisit;
use crate::eligibility::page as eligibility;
use crate::sales::token::purchase_token;
use crate::waiting_room::view::{LinePage, Turn};
use domain::{Line, Phase, Sale, SaleId, TurnState, UserId, WaitingRoomPlace};
use engine::waiting_rooms::{JoinRefusal, OwnTurn};
use web::Shop;
use web::extract::session::SignedIn;
use web::extract::{Form, PathIds};
use web::problem::{Code, Problem};
use web::shared::goods::goods_name_and_cover;
use web::shared::paths::line_path;
use web::shared::response::{personal, see_other};

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
) -> Result<Response, Problem> {
    let pass = Some(pass.as_str()).filter(|pass| !pass.is_empty());
    match shop.waiting_rooms.join(sale, session.user_id, pass).await {
        Ok(_) | Err(JoinRefusal::Closed(_)) => Ok(see_other(&line_path(visitor.locale, sale))),
        Err(refusal) => eligibility::refused(refusal, visitor.locale, sale),
    }
}

pub async fn show(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(id): PathIds<SaleId>,
) -> Result<Response, Problem> {
    let known = shop.catalogue.entry(id).await?.ok_or(Code::NoSuchWaitingRoom)?;
    let sale = known.sale.clone();
    let plan = sale.mode.waiting_room_plan().ok_or(Code::NoSuchWaitingRoom)?;
    let line = shop.waiting_rooms.line(id);
    let now = shop.store.now().await?;
    let own = shop.waiting_rooms.own(&sale, session.user_id, now).await?;
    let turn = match turn(&shop, &sale, (session.user_id, own), line.as_deref(), now).await {
        Ok(turn) => turn,
        Err(problem) => return eligibility::refused(problem, visitor.locale, id),
    };
    let place = own.map(|own| own.place);
    let (goods_name, picture) = goods_name_and_cover(Some(&*known), visitor.locale);
    let pass = place.map(|place| shop.waiting_rooms.pass(id, session.user_id, &place)).unwrap_or_default();
    let chrome = visitor.chrome();
    personal(StatusCode::OK, &LinePage { chrome, sale, plan, goods_name, picture, line, turn, place, pass, now })
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
    if until <= now {
        return Ok(Turn::Called { until, token: None });
    }
    match purchase_token(shop, sale.id, user, seat).await {
        Ok(issued) => Ok(Turn::Called { until, token: Some(issued.token) }),
        Err(problem) if problem.code() == Code::NotOpen => Ok(Turn::Called { until, token: None }),
        Err(problem) if problem.code() == Code::Ended => Ok(Turn::Ended),
        Err(problem) => Err(problem),
    }
}
