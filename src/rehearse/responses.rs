//! The parts of the shop's responses that simulated shoppers and bots read.

use jiff::Timestamp;
use serde::Deserialize;

use super::http::ApiResponse;
use super::measure::ResponseClass;
use domain::{DrawState, OrderId, OrderStatus, Phase};

#[derive(Deserialize)]
pub struct ButtonResponse {
    pub phase: Phase,
    pub opens_at: Option<Timestamp>,
    pub now: Timestamp,
    pub poll_after_ms: u64,
    pub spread_ms: u32,
}

#[derive(Deserialize)]
pub struct TokenResponse {
    pub token: String,
    /// The account's own moment in the spread, if it is still to come.
    pub not_before: Option<Timestamp>,
}

/// The account's place in a waiting room.
#[derive(Deserialize)]
pub struct PlaceResponse {
    pub place: PlaceBody,
}

#[derive(Deserialize)]
pub struct PlaceBody {
    pub segment: i64,
    /// `None` until the list is locked.
    pub number: Option<i64>,
}

/// The fields of the response about a waiting room that are used here.
#[derive(Deserialize)]
pub struct LineResponse {
    pub phase: Phase,
    pub locked_at: Option<Timestamp>,
    pub serving: Option<Serving>,
    pub left: i64,
    pub seats: i64,
    pub poll_after_ms: u64,
}

/// The account's entry in a draw.
#[derive(Deserialize)]
pub struct EntryResponse {
    pub entry: EntryBody,
    pub draw: DrawState,
}

#[derive(Deserialize)]
pub struct EntryBody {
    /// The rank, from 1, once the draw was held.
    pub rank: Option<i64>,
    pub order_id: Option<OrderId>,
}

/// A place, such as the last one that was called.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub struct Serving {
    pub segment: i64,
    pub number: i64,
}

/// The part of a refusal that contains the account's own moment.
#[derive(Deserialize)]
pub struct TooEarlyResponse {
    pub not_before: Option<Timestamp>,
}

/// The fields of a response about an order that are used here.
#[derive(Deserialize)]
pub struct OrderResponse {
    pub order: OrderBody,
    #[serde(default)]
    pub repeated: bool,
}

#[derive(Deserialize)]
pub struct OrderBody {
    pub id: OrderId,
    pub status: String,
}

impl OrderResponse {
    pub fn status(&self) -> Option<OrderStatus> {
        self.order.status.parse().ok()
    }
}

#[derive(Deserialize)]
pub struct PaymentResponse {
    pub checkout_url: String,
}

/// The order in a good response.
pub fn order_response(response: &ApiResponse) -> Option<OrderResponse> {
    response.read().filter(|_| response.class == ResponseClass::Good)
}

/// The id of the order in a good response to a purchase.
pub fn order_in(response: &ApiResponse) -> Option<OrderId> {
    order_response(response).map(|body| body.order.id)
}
