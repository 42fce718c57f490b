//! An account's own place on the waitlist of a sale.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use domain::{OrderId, OrderStatus, SaleId, WaiterState};
use engine::waitlist::OwnPlace;
use web::Shop;
use web::cache_policy::Cache;
use web::extract;
use web::extract::SalePath;
use web::extract::client::ClientAddress;
use web::extract::session::SignedIn;
use web::problem::{Code, Problem};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinBody {
    /// The most units that the account wants.
    #[serde(default = "one")]
    quantity: i64,
}

fn one() -> i64 {
    1
}

#[derive(Serialize)]
struct PlaceResponse {
    waitlist: PlaceJson,
}

#[derive(Serialize)]
struct PlaceJson {
    sale_id: SaleId,
    state: WaiterState,
    quantity: u32,
    joined_at: Timestamp,
    /// Counted from 1; `null` unless the account waits.
    position: Option<i64>,
    /// The accounts before it, as far as they are counted.
    ahead: Option<i64>,
    /// The order that was offered to the account.
    order_id: Option<OrderId>,
    /// Until when that order can be paid; `null` once it cannot.
    pay_by: Option<Timestamp>,
}

fn response(sale_id: SaleId, OwnPlace { waiter, ahead, order }: OwnPlace) -> PlaceResponse {
    PlaceResponse {
        waitlist: PlaceJson {
            sale_id,
            state: waiter.state,
            quantity: waiter.quantity,
            joined_at: waiter.joined_at,
            position: ahead.map(|ahead| ahead + 1),
            ahead,
            order_id: order.as_ref().map(|order| order.id),
            pay_by: order.filter(|order| order.status == OrderStatus::Unpaid).map(|order| order.pay_by),
        },
    }
}

/// Joins the waitlist of a sold-out sale. 201 with the new place; 200 with the same place if the account already waits.
pub async fn join(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    SalePath(sale): SalePath,
    ClientAddress(client): ClientAddress,
    extract::Json(body): extract::Json<JoinBody>,
) -> Result<Response, Problem> {
    let (place, is_new) = shop.waitlist.join(sale, session.user_id, body.quantity, client).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Cache::Private, Json(response(sale, place))).into_response())
}

/// The account's own place.
pub async fn own(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    SalePath(sale): SalePath,
) -> Result<Response, Problem> {
    let place = shop.waitlist.place(sale, session.user_id).await?.ok_or(Code::NotWaiting)?;
    Ok((Cache::Private, Json(response(sale, place))).into_response())
}

/// Takes the account off the waitlist.
pub async fn leave(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    SalePath(sale): SalePath,
    ClientAddress(client): ClientAddress,
) -> Result<Response, Problem> {
    shop.waitlist.leave(sale, session.user_id, client).await?;
    Ok((StatusCode::NO_CONTENT, Cache::Private, ()).into_response())
}
