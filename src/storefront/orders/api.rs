//! Purchases, and a shopper's orders.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::timeout;

use crate::addresses::check_address;
use crate::{OrderCall, UserCall, json_response};
use accounts::Session;
use domain::claim::Claim;
use domain::ledger::money;
use domain::order::OrderEvent;
use domain::{
    Address, AddressId, GivenAddress, Money, Order, OrderHold, OrderId, OrderStatus, Refusal, SaleId, UserId,
};
use engine::gate::AdmissionRequest;
use engine::purchase::PurchaseOutcome;
use orders::OrderLookup;
use web::extract::{Json, PathIds, Query, SalePath, SignedIn, State, from_json, json_body};
use web::problem::refused_purchase;
use web::shared::orders::{
    HoldJson, InvoiceJson, OrderJson, OrderList, ParcelJson, PartialRefundJson, ReturnJson, parse_statuses,
};
use web::{Answer, Code, Cursor, DEFAULT_PAGE_SIZE, Problem, Shop, private};

/// How long a replay waits for the status of its order. Without the database a read would take seconds.
const STATUS_TIMEOUT: Duration = Duration::from_millis(300);

/// `{"quantity":1,"token":"…"}`
// [`quantity`] reads the quantity, so that every wrong value gets the same response.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PurchaseBody<'a> {
    #[serde(borrow)]
    #[schemars(with = "i64", range(min = 1))]
    quantity: Option<&'a RawValue>,
    #[schemars(with = "String")]
    token: Option<String>,
}

fn quantity(raw: Option<&RawValue>) -> Result<i64, Problem> {
    raw.and_then(|raw| raw.get().parse().ok()).ok_or(Code::BadQuantity.into())
}

/// A purchase. Nearly every request is refused before its body is read. 202 means that the units are held. A replay
/// gets 200 with the first order.
pub async fn buy(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    SalePath(sale): SalePath,
    request: Request,
) -> Answer {
    let admission = match shop.purchases.request_admission(session.user_id, sale) {
        Ok(admission) => admission,
        Err(Refusal::TooEarly) => return Err(too_early(&shop, &session, sale)),
        Err(refusal) => return Ok(refused_purchase(refusal)),
    };
    // Boxed, so that the future of a refused request, which is nearly every one, stays small.
    Box::pin(buy_admitted(shop, session, sale, admission, request)).await
}

/// Says when the account's own moment comes. It may have come since the refusal.
pub fn too_early(shop: &Shop, session: &Session, sale: SaleId) -> Problem {
    Problem::too_early(shop.gate.awaited_moment(sale, session.user_id), shop.clock.now())
}

/// A purchase that the gate has admitted.
async fn buy_admitted(
    shop: Arc<Shop>,
    session: Session,
    sale: SaleId,
    admission: AdmissionRequest,
    request: Request,
) -> Answer {
    // Thousands of requests wait for a decision at once, so the request is dropped before the wait.
    let (quantity, decision) = {
        let bytes = json_body(request).await?;
        let body: PurchaseBody = from_json(&bytes)?;
        let quantity = quantity(body.quantity)?;
        // A missing token counts as a bad token here. Only the form without scripts gets a token from the shop itself.
        (quantity, shop.purchases.buy(admission, quantity, Some(body.token.as_deref().unwrap_or_default())))
    };
    match decision.await? {
        PurchaseOutcome::New { order, status } => {
            // The quantity was granted, so it is small.
            let claim = Claim { user_id: session.user_id, order_id: order, quantity: quantity as u32 };
            let receipt = shop.orders.receipt(sale, &claim);
            Ok(json_response(StatusCode::ACCEPTED, order_text(sale, &claim, status, &receipt, "")))
        }
        PurchaseOutcome::Repeated { order, quantity } => {
            let status = Box::pin(current_status(&shop, &session, sale, order)).await;
            let claim = Claim { user_id: session.user_id, order_id: order, quantity };
            let receipt = shop.orders.receipt(sale, &claim);
            Ok(json_response(StatusCode::OK, order_text(sale, &claim, status, &receipt, r#","repeated":true"#)))
        }
    }
}

/// The answer to a purchase.
#[derive(Serialize, JsonSchema)]
pub struct Receipt {
    order: HeldOrder,
    status_url: String,
    /// Signed. If the order becomes unknown, asking for it with `?receipt=` grants it again.
    receipt: String,
    /// The answer to an earlier purchase.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repeated: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct HeldOrder {
    id: OrderId,
    sale_id: SaleId,
    quantity: u32,
    status: OrderStatus,
}

/// The text of a [`Receipt`], formatted without a serializer: winners are answered at the peak of load. No value in it needs escaping.
fn order_text(sale: SaleId, claim: &Claim, status: OrderStatus, receipt: &str, more: &str) -> String {
    let Claim { order_id, quantity, .. } = claim;
    format!(
        r#"{{"order":{{"id":"{order_id}","sale_id":"{sale}","quantity":{quantity},"status":"{status}"}},"status_url":"/api/sales/{sale}/orders/{order_id}","receipt":"{receipt}"{more}}}"#
    )
}

/// The status of the first order. If it cannot be read now, it is `reserved`: the units are held in any case.
async fn current_status(shop: &Shop, session: &Session, sale: SaleId, order: OrderId) -> OrderStatus {
    match timeout(STATUS_TIMEOUT, shop.orders.find(session.user_id, sale, order)).await {
        Ok(Ok(OrderLookup::Order(order, _))) => order.status,
        _ => OrderStatus::Reserved,
    }
}

/// The order of units that were granted a moment ago. It is on its way to the database.
pub fn on_its_way(
    user_id: UserId,
    (sale_id, id): (SaleId, OrderId),
    quantity: u32,
    price: Money,
    reserved_at: Timestamp,
) -> Order {
    Order {
        id,
        number: None,
        sale_id,
        user_id,
        quantity,
        amount: price.times(quantity).unwrap_or(price),
        shipping: Money { amount: 0, ..price },
        status: OrderStatus::Reserved,
        reason: None,
        message: None,
        address: None,
        reserved_at,
        created_at: reserved_at,
        pay_by: reserved_at,
    }
}

#[derive(Serialize, JsonSchema)]
struct OwnOrderResponse {
    order: OrderJson,
}

#[derive(Deserialize, JsonSchema)]
pub struct OrderQuery {
    /// The receipt from the answer to the purchase.
    receipt: Option<String>,
}

/// One order, even while it is on its way to the database. 404 for every user but its owner. With its receipt, a lost
/// order is granted again.
pub async fn show(
    (State(shop), SignedIn(session), PathIds((sale_id, id))): OrderCall,
    Query(query): Query<OrderQuery>,
) -> Answer {
    let found = shop.orders.find_with_receipt(session.user_id, sale_id, id, query.receipt.as_deref());
    let order = match found.await? {
        OrderLookup::Order(order, history) => {
            let refunds = shop.orders.partial_refunds(&order).await?;
            let partial_refunds = refunds.into_iter().map(PartialRefundJson::from).collect();
            let payment_declined = shop.orders.is_declined(&order).await?;
            let hold =
                shop.orders.hold(&order).await?.map(|OrderHold { held_at, reason, .. }| HoldJson { held_at, reason });
            let parcel = shop.orders.parcels(std::slice::from_ref(&order)).await?.get(&id).map(ParcelJson::from);
            let invoice = shop.orders.invoice(&order).await?.map(InvoiceJson::from);
            let returned = shop.orders.goods_return(&order).await?.map(ReturnJson::from);
            OrderJson {
                partial_refunds,
                payment_declined,
                hold,
                parcel,
                returned,
                invoice,
                ..OrderJson::of(order, Some(history))
            }
        }
        OrderLookup::Reserved { quantity, reserved_at } => {
            let price = shop.catalogue.entry(sale_id).await?.map(|entry| entry.sale.price);
            let known = price.unwrap_or(money(0));
            let order = on_its_way(session.user_id, (sale_id, id), quantity, known, reserved_at);
            let held = [OrderEvent { at: reserved_at, status: order.status }];
            let amount = price.and_then(|price| price.times(quantity));
            OrderJson { amount, pay_by: None, ..OrderJson::of(order, Some(held.into())) }
        }
        OrderLookup::NotFound => return Err(Code::NotFound.into()),
        OrderLookup::Unknown => return Err(Code::Unavailable.into()),
    };
    Ok(private(OwnOrderResponse { order }))
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OrderListQuery {
    pub before: Cursor,
    /// Statuses, separated by commas.
    pub status: String,
}

impl OrderListQuery {
    fn statuses(&self) -> Result<Vec<OrderStatus>, Problem> {
        parse_statuses(&self.status).ok_or_else(|| Problem::invalid_field("status", "bad_status"))
    }
}

pub async fn list((State(shop), SignedIn(session)): UserCall, Query(query): Query<OrderListQuery>) -> Answer {
    let (statuses, before) = (query.statuses()?, query.before.read("before")?);
    let page = shop.orders.list(session.user_id, &statuses, before, DEFAULT_PAGE_SIZE).await?;
    let parcels = shop.orders.parcels(&page.items).await?;
    let json =
        |order: Order| OrderJson { parcel: parcels.get(&order.id).map(ParcelJson::from), ..OrderJson::of(order, None) };
    let orders = page.items.into_iter().map(json).collect();
    Ok(private(OrderList { orders, next: page.next }))
}

pub async fn cancel((State(shop), SignedIn(session), PathIds((sale, order))): OrderCall) -> Answer {
    let order = shop.orders.cancel(session.user_id, sale, order).await?;
    Ok(Json(OwnOrderResponse { order: OrderJson::of(order, None) }).into_response())
}

/// The owner confirms that the parcel came.
pub async fn confirm_receipt((State(shop), SignedIn(session), PathIds((sale, id))): OrderCall) -> Answer {
    shop.orders.confirm_receipt(session.user_id, sale, id).await??;
    let order = shop.orders.find_persisted(session.user_id, sale, id).await?;
    let parcel = shop.orders.parcels(std::slice::from_ref(&order)).await?.get(&id).map(ParcelJson::from);
    Ok(Json(OwnOrderResponse { order: OrderJson { parcel, ..OrderJson::of(order, None) } }).into_response())
}

/// A saved address, or a new one: exactly one of the two.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryBody {
    address_id: Option<AddressId>,
    #[schemars(with = "Option<GivenAddress>")]
    address: Option<Address>,
}

/// Sets the address of an unpaid order, or the missing one of a paid order. The order keeps a copy.
pub async fn set_address(
    (State(shop), SignedIn(session), PathIds((sale, id))): OrderCall,
    Json(body): Json<DeliveryBody>,
) -> Answer {
    let address = match (body.address_id, body.address) {
        (Some(saved), None) => {
            let saved = shop.store.accounts().address(session.user_id, saved).await?;
            saved.ok_or_else(|| Problem::invalid_field("address_id", "no_such_address"))?.address
        }
        (None, Some(address)) => check_address(address, "address.")?,
        _ => return Err(Problem::invalid_field("address", "required")),
    };
    let order = shop.orders.deliver_to(session.user_id, sale, id, &address).await?;
    Ok(Json(OwnOrderResponse { order: OrderJson::of(order, None) }).into_response())
}

web::operations! { "orders"
    /// The user's orders, newest first
    GET "/api/orders" listOrders = list, limited;
        200 OrderList<OrderJson>;
    /// Buy
    ///
    /// Safe to repeat: a user who holds units gets the same order again.
    POST "/api/sales/{sale}/orders" buy = buy, body<PurchaseBody<'_>>, tag("buying");
        200 Receipt, "A repeated purchase: the first order, with `repeated`.";
        202 Receipt;
        refuses BadToken NotOpen SoldOut Ended NotCalled ByDraw BadQuantity OverLimit RateLimited Busy TooEarly
            Overloaded;
    /// An order of the user
    GET "/api/sales/{sale}/orders/{order}" showOrder = show;
        200 OwnOrderResponse, "Also before the order is stored in the database.";
    /// Set the delivery address of an unpaid order
    ///
    /// Or the missing one of a paid order: a saved address or a new one. The amount of an unpaid order changes by what
    /// shipping costs there, and its open payments are closed if it does.
    PUT "/api/sales/{sale}/orders/{order}/address" setAddress = set_address;
        200 OwnOrderResponse, "The order, with a copy of the address.";
        refuses AddressFixed OtherAddress;
    /// Confirm that the parcel of an order came
    ///
    /// Safe to repeat. The parcel has to be on its way, or lost.
    POST "/api/sales/{sale}/orders/{order}/received" confirmReceipt = confirm_receipt;
        200 OwnOrderResponse, "The parcel is delivered.";
        refuses NotPaid NotPayable OrderEnded NoSuchStep;
    /// Cancel an unpaid order
    POST "/api/sales/{sale}/orders/{order}/cancel" cancelOrder = cancel;
        200 OwnOrderResponse, "Cancelled; the units go back on sale.";
        refuses NotCancellable;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<i64, &'static str> {
        let body: Result<PurchaseBody, Problem> = from_json(text.as_bytes());
        body.and_then(|body| quantity(body.quantity)).map_err(|problem| problem.code().as_str())
    }

    #[test]
    fn every_wrong_quantity_gets_the_same_code() {
        assert_eq!(read(r#"{"quantity":2,"token":"x"}"#), Ok(2));
        // `Purchases` refuses numbers that are not above zero.
        assert_eq!(read(r#"{"quantity":-1,"token":"x"}"#), Ok(-1));
        for wrong in ["1.5", "1e3", "1e400", "99999999999999999999", "\"1\"", "true", "null", "[1]", "{}"] {
            assert_eq!(read(&format!(r#"{{"quantity":{wrong},"token":"x"}}"#)), Err("bad_quantity"), "{wrong}");
        }
        assert_eq!(read(r#"{"token":"x"}"#), Err("bad_quantity"));
    }

    #[test]
    fn purchase_body_is_parsed_strictly() {
        assert_eq!(read(r#"{"quantity":1}"#), Ok(1));
        assert_eq!(read(r#"{"quantity":1,"token":7}"#), Err("invalid"));
        assert_eq!(read(r#"{"quantity":1,"user":"x"}"#), Err("invalid"));
        assert_eq!(read(r#"{"quantity":1"#), Err("bad_json"));
        assert_eq!(read("[1,\"x\"]"), Ok(1));
    }

    #[test]
    fn answer_to_a_purchase_is_valid_json() {
        let order: OrderId = "0198c0de-0000-7000-8000-000000000001".parse().unwrap();
        let claim = Claim { user_id: UserId(order.0), order_id: order, quantity: 2 };
        let text = order_text(SaleId(7), &claim, OrderStatus::Reserved, "abc.def", r#","repeated":true"#);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let expected = serde_json::json!({
            "order": {"id": order, "sale_id": "7", "quantity": 2, "status": "reserved"},
            "status_url": format!("/api/sales/7/orders/{order}"),
            "receipt": "abc.def",
            "repeated": true,
        });
        assert_eq!(json, expected);
    }
}
