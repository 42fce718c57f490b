//! Buying, and what becomes of it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::addresses::checked;
use super::written;
use crate::accounts::Session;
use crate::domain::order::OrderEvent;
use crate::domain::{Address, AddressId, Money, Order, OrderId, OrderStatus, SaleId};
use crate::gate::AdmissionRequest;
use crate::orders::Found;
use crate::purchase::Bought;
use crate::web::Shop;
use crate::web::cache_policy::Cache;
use crate::web::extract::session::SignedIn;
use crate::web::extract::{PathIds, SalePath, from_json, json_body};
use crate::web::pages::order_address::addressed;
use crate::web::pages::orders::{cancelled, page_of_orders, statuses};
use crate::web::problem::{Code, Problem, lost};

/// `{"quantity":1,"token":"…"}`. Whatever stands for the quantity is looked at by [`quantity`], so that every wrong one
/// gets the same answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Purchase<'a> {
    #[serde(borrow)]
    quantity: Option<&'a RawValue>,
    token: Option<String>,
}

fn quantity(wanted: Option<&RawValue>) -> Result<i64, Problem> {
    wanted.and_then(|raw| raw.get().parse().ok()).ok_or(Code::BadQuantity.into())
}

/// The button was pressed. Nearly everybody loses before the request is read. 202: the units are held. The same user again: 200 with the first order.
pub async fn buy(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    SalePath(sale): SalePath,
    request: Request,
) -> Result<Response, Problem> {
    let admission = match shop.purchases.request_admission(session.user_id, sale) {
        Ok(admission) => admission,
        Err(refusal) => return Ok(lost(refusal)),
    };
    // Boxed, so that those who lose, which is nearly everybody, carry nothing of it.
    Box::pin(take(shop, session, sale, admission, request)).await
}

/// The gate has let the request in.
async fn take(
    shop: Arc<Shop>,
    session: Session,
    sale: SaleId,
    admission: AdmissionRequest,
    request: Request,
) -> Result<Response, Problem> {
    // Thousands wait for their decision at once: nothing of the request is kept meanwhile.
    let (quantity, decided) = {
        let body = json_body(request).await?;
        let wanted: Purchase = from_json(&body)?;
        let quantity = quantity(wanted.quantity)?;
        // No token is a bad token here: only the form without scripts gets one on the spot.
        (quantity, shop.purchases.buy(admission, quantity, Some(wanted.token.as_deref().unwrap_or_default())))
    };
    match decided.await? {
        Bought::New { order, status } => {
            Ok(written(StatusCode::ACCEPTED, receipt((sale, order), quantity, status, "")))
        }
        Bought::Again { order, quantity } => {
            let status = Box::pin(present_status(&shop, &session, sale, order)).await;
            Ok(written(StatusCode::OK, receipt((sale, order), quantity.into(), status, r#","repeated":true"#)))
        }
    }
}

/// Written by hand, because a winner is answered while everybody else is waiting. Nothing in it needs escaping.
fn receipt((sale, order): (SaleId, OrderId), quantity: i64, status: OrderStatus, more: &str) -> String {
    format!(
        r#"{{"order":{{"id":"{order}","sale_id":"{sale}","quantity":{quantity},"status":"{status}"}},"status_url":"/api/sales/{sale}/orders/{order}"{more}}}"#
    )
}

/// Where a first order stands by now. Whoever cannot be told at once is told to look: it is held in any case.
async fn present_status(shop: &Shop, session: &Session, sale: SaleId, order: OrderId) -> OrderStatus {
    match shop.orders.find(session.user_id, sale, order).await {
        Ok(Found::Order(order, _)) => order.status,
        _ => OrderStatus::Reserved,
    }
}

/// An order as the API shows it.
#[derive(Debug, Serialize)]
pub struct OrderJson {
    pub id: OrderId,
    pub sale_id: SaleId,
    pub quantity: u32,
    pub status: OrderStatus,
    pub amount: Option<Money>,
    pub pay_by: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the shop said when it cancelled or refunded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Box<Address>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<OrderEvent>>,
}

impl OrderJson {
    pub fn of(order: Order, history: Option<Vec<OrderEvent>>) -> OrderJson {
        OrderJson {
            id: order.id,
            sale_id: order.sale_id,
            quantity: order.quantity,
            status: order.status,
            amount: Some(order.amount),
            pay_by: Some(order.pay_by),
            reason: order.reason,
            message: order.message,
            address: order.address,
            history,
        }
    }
}

#[derive(Serialize)]
struct OneOrder {
    order: OrderJson,
}

/// One order, also while it is on its way to the database. 404 for anybody but its owner.
pub async fn show(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    PathIds((sale_id, id)): PathIds<(SaleId, OrderId)>,
) -> Result<Response, Problem> {
    let order = match shop.orders.find(session.user_id, sale_id, id).await? {
        Found::Order(order, history) => OrderJson::of(order, Some(history)),
        Found::Reserved { quantity, reserved_at } => {
            let entry = shop.catalogue.entry(sale_id).await?;
            let held = [OrderEvent { at: reserved_at, status: OrderStatus::Reserved }];
            OrderJson {
                id,
                sale_id,
                quantity,
                status: OrderStatus::Reserved,
                amount: entry.and_then(|entry| entry.sale.price.times(quantity)),
                pay_by: None,
                reason: None,
                message: None,
                address: None,
                history: Some(held.into()),
            }
        }
        Found::Nothing => return Err(Code::NotFound.into()),
        Found::Unknown => return Err(Code::Unavailable.into()),
    };
    Ok((Cache::Private, Json(OneOrder { order })).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    pub before: Option<String>,
    /// Statuses with commas between them; nothing for all.
    #[serde(default)]
    pub status: String,
}

impl Page {
    /// The statuses that are asked for.
    fn statuses(&self) -> Result<Vec<OrderStatus>, Problem> {
        statuses(&self.status).ok_or_else(|| Problem::invalid_field("status", "bad_status"))
    }

    /// The order that the page begins after.
    pub fn before(&self) -> Result<Option<OrderId>, Problem> {
        let parsed = self.before.as_deref().map(str::parse).transpose();
        parsed.map_err(|_| Problem::invalid_field("before", "bad_cursor"))
    }
}

#[derive(Serialize)]
pub struct OrderList<T> {
    pub orders: Vec<T>,
    /// For `?before=`; `null` on the last page.
    pub next: Option<OrderId>,
}

pub async fn list(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    crate::web::extract::Query(page): crate::web::extract::Query<Page>,
) -> Result<Response, Problem> {
    let (orders, next) = page_of_orders(&shop, session.user_id, &page.statuses()?, page.before()?).await?;
    let orders = orders.into_iter().map(|order| OrderJson::of(order, None)).collect();
    Ok((Cache::Private, Json(OrderList { orders, next })).into_response())
}

pub async fn cancel(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    PathIds((sale, order)): PathIds<(SaleId, OrderId)>,
) -> Result<Response, Problem> {
    let order = cancelled(shop.orders.cancel(session.user_id, sale, order).await?)?;
    Ok(Json(OneOrder { order: OrderJson::of(order, None) }).into_response())
}

/// One of the saved addresses, or one that is written here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Destination {
    address_id: Option<AddressId>,
    address: Option<Address>,
}

/// Says where an order goes, until it is paid. The order keeps a copy.
pub async fn set_address(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    PathIds((sale, id)): PathIds<(SaleId, OrderId)>,
    from_json: crate::web::extract::Json<Destination>,
) -> Result<Response, Problem> {
    let address = match (from_json.0.address_id, from_json.0.address) {
        (Some(saved), None) => {
            let saved = shop.store.address(session.user_id, saved).await?;
            saved.ok_or_else(|| Problem::invalid_field("address_id", "no_such_address"))?.address
        }
        (None, Some(address)) => checked(address, "address.")?,
        _ => return Err(Problem::invalid_field("address", "required")),
    };
    let order = addressed(shop.orders.deliver_to(session.user_id, sale, id, &address).await?)?;
    Ok(Json(OneOrder { order: OrderJson::of(order, None) }).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<i64, &'static str> {
        let wanted: Result<Purchase, Problem> = from_json(text.as_bytes());
        wanted.and_then(|wanted| quantity(wanted.quantity)).map_err(|problem| problem.code().as_str())
    }

    #[test]
    fn every_wrong_quantity_gets_the_same_answer() {
        assert_eq!(read(r#"{"quantity":2,"token":"x"}"#), Ok(2));
        // The purchases refuses what is not above zero.
        assert_eq!(read(r#"{"quantity":-1,"token":"x"}"#), Ok(-1));
        for wrong in ["1.5", "1e3", "1e400", "99999999999999999999", "\"1\"", "true", "null", "[1]", "{}"] {
            assert_eq!(read(&format!(r#"{{"quantity":{wrong},"token":"x"}}"#)), Err("bad_quantity"), "{wrong}");
        }
        assert_eq!(read(r#"{"token":"x"}"#), Err("bad_quantity"));
    }

    #[test]
    fn the_purchase_is_read_strictly() {
        assert_eq!(read(r#"{"quantity":1}"#), Ok(1));
        assert_eq!(read(r#"{"quantity":1,"token":7}"#), Err("invalid"));
        assert_eq!(read(r#"{"quantity":1,"user":"x"}"#), Err("invalid"));
        assert_eq!(read(r#"{"quantity":1"#), Err("bad_json"));
        assert_eq!(read("[1,\"x\"]"), Ok(1));
    }

    #[test]
    fn a_receipt_is_json() {
        let order: OrderId = "0198c0de-0000-7000-8000-000000000001".parse().unwrap();
        let text = receipt((SaleId(7), order), 2, OrderStatus::Reserved, r#","repeated":true"#);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let expected = serde_json::json!({
            "order": {"id": order, "sale_id": "7", "quantity": 2, "status": "reserved"},
            "status_url": format!("/api/sales/7/orders/{order}"),
            "repeated": true,
        });
        assert_eq!(json, expected);
    }
}
