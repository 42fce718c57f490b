//! Waiting rooms: an account's own place, and the public state of the room.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::IntoResponse;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{SaleCall, json_response};
use domain::draw::EntryId;
use domain::{Line, Sale, SaleId, TurnState, UserId, WaitingRoomPlace};
use engine::catalogue::CatalogueEntry;
use engine::waiting_rooms::{Joined, OwnTurn};
use web::extract::{AskingPage, Json, SalePath, SignedIn, State};
use web::{Answer, Cache, Code, Problem, Shop, private};

/// A place as its owner sees it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WaitingRoomPlace")]
struct PlaceJson {
    sale_id: SaleId,
    state: TurnState,
    entry: EntryId,
    #[schemars(range(min = 0))]
    segment: i64,
    /// `null` until the list is locked.
    #[schemars(range(min = 0))]
    number: Option<i64>,
    joined_at: Timestamp,
    called_at: Option<Timestamp>,
    /// Until when the account may buy; `null` unless it is called.
    buy_until: Option<Timestamp>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WaitingRoomPlaceResponse")]
struct PlaceResponse {
    place: PlaceJson,
    /// Proof of the place. Sent with a later request, it restores a place that the shop has lost.
    pass: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "QueueBody")]
pub struct JoinBody {
    /// The pass of an earlier answer: restores a place that the shop has lost.
    pass: Option<String>,
}

/// Takes a place: 201 with the new place, 200 with the place that the account already has.
pub async fn join((State(shop), SignedIn(session), SalePath(sale)): SaleCall, Json(body): Json<JoinBody>) -> Answer {
    let known = waiting_room_sale(&shop, sale).await?;
    let Joined { place, state, is_new } = shop.waiting_rooms.join(sale, session.user_id, body.pass.as_deref()).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let response = place_response(&shop, &known.sale, session.user_id, &place, state);
    Ok((status, Cache::Private, Json(response)).into_response())
}

/// The account's own place.
pub async fn own((State(shop), SignedIn(session), SalePath(sale)): SaleCall) -> Answer {
    let known = waiting_room_sale(&shop, sale).await?;
    let own = shop.waiting_rooms.own(&known.sale, session.user_id, shop.store.now().await?).await?;
    let OwnTurn { place, state, .. } = own.ok_or(Code::NotInWaitingRoom)?;
    let response = place_response(&shop, &known.sale, session.user_id, &place, state);
    Ok(private(response))
}

async fn waiting_room_sale(shop: &Shop, id: SaleId) -> Result<Arc<CatalogueEntry>, Problem> {
    let known = shop.catalogue.entry(id).await?;
    known.filter(|known| known.sale.mode.is_waiting_room()).ok_or(Code::NoSuchWaitingRoom.into())
}

fn place_response(shop: &Shop, sale: &Sale, user: UserId, own: &WaitingRoomPlace, state: TurnState) -> PlaceResponse {
    // Before the list is locked, a number would show which accounts are worth keeping.
    let is_locked = shop.waiting_rooms.line(sale.id).is_some_and(|line| line.seed.is_some());
    let seat_end = sale.mode.waiting_room_plan().and_then(|plan| own.seat_ends(plan));
    let place = PlaceJson {
        sale_id: sale.id,
        state,
        entry: own.entry,
        segment: own.place.segment,
        number: is_locked.then_some(own.place.number),
        joined_at: own.joined_at,
        called_at: own.called_at,
        buy_until: seat_end.filter(|_| state == TurnState::Called),
    };
    PlaceResponse { place, pass: shop.waiting_rooms.pass(sale.id, user, own) }
}

/// The public state of the waiting room: the same bytes for everyone, prepared once a second.
pub async fn line(State(shop): State<Arc<Shop>>, SalePath(sale): SalePath, page: AskingPage) -> Answer {
    let body = shop.waiting_rooms.line_body(sale).ok_or(Code::NoSuchWaitingRoom)?;
    let mut response = json_response(StatusCode::OK, body);
    response.headers_mut().insert(CACHE_CONTROL, Cache::Live.header());
    page.let_read(&shop, sale, &mut response);
    Ok(response)
}

web::operations! { "buying"
    /// The line of a waiting room
    ///
    /// The same for everyone, and prepared once a second, so that caches answer it. A client finds its own turn with
    /// the marks of its segment.
    GET "/api/sales/{sale}/line" showLine = line;
        200 Line, "The line, as it was at most a second ago.";
        refuses NoSuchWaitingRoom;
    /// The account's place in a waiting room
    GET "/api/sales/{sale}/place" showPlace = own;
        200 PlaceResponse;
        refuses NoSuchWaitingRoom NotInWaitingRoom;
    /// Take a place in a waiting room
    ///
    /// One place per account. Safe to repeat, on any device: the place stays the same until its turn was missed. No
    /// order of arrival counts among those who come before the lock.
    POST "/api/sales/{sale}/place" joinQueue = join, example("{}");
        200 PlaceResponse, "The account has a place already: the same one.";
        201 PlaceResponse;
        refuses AccountTooNew ContactNotVerified InvitationNeeded NoSuchWaitingRoom NotOpen Ended AddressNeeded
            AddressTaken ContactTaken DepositNeeded RateLimited;
}
