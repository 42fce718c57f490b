//! An account's own place on the waitlist of a sale.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
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

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WaitlistBody")]
pub struct JoinBody {
    /// The most units that the account wants.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    quantity: i64,
}

fn one() -> i64 {
    1
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WaitlistPlaceResponse")]
struct PlaceResponse {
    waitlist: PlaceJson,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WaitlistPlace")]
struct PlaceJson {
    sale_id: SaleId,
    /// `offered`: the turn came, and there is an order. `skipped`: the turn came, and the account could not buy.
    state: WaiterState,
    /// The most units that the account wants.
    #[schemars(range(min = 1))]
    quantity: u32,
    joined_at: Timestamp,
    /// Counted from 1; `null` unless the account waits.
    #[schemars(range(min = 1))]
    position: Option<i64>,
    /// The accounts before it, as far as they are counted.
    #[schemars(range(min = 0, max = 10000))]
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

web::operations! { "buying"
    /// The account's place on the waitlist of a sale
    GET "/api/sales/{sale}/waitlist" showWaitlistPlace = own;
        200 PlaceResponse, "The place, or the order that it led to.";
        refuses NotWaiting;
    /// Wait for units of a sold-out sale
    ///
    /// One place per account, safe to repeat on any device. Accounts that join within 15 s of the first of them are
    /// shuffled. A unit that comes back becomes an unpaid order of the next account.
    POST "/api/sales/{sale}/waitlist" joinWaitlist = join, example(r#"{"quantity": 1}"#);
        200 PlaceResponse, "The account waits already: the same place.";
        201 PlaceResponse;
        refuses AccountTooNew ContactNotVerified InvitationNeeded NoWaitlist NotSoldOut HasOrder NotOpen Ended
            AddressNeeded AddressTaken ContactTaken DepositNeeded BadQuantity OverLimit RateLimited;
    /// Leave the waitlist
    DELETE "/api/sales/{sale}/waitlist" leaveWaitlist = leave;
        204 (), "The account does not wait any more. It may join again, behind those who wait.";
        refuses NotWaiting RateLimited;
}
