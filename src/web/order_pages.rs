//! A shopper's purchase and orders, without scripts.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::Shop;
use super::input::{Form, Ids, Query};
use super::pages::{personal, see_other};
use super::session::SignedIn;
use super::visitor::Visitor;
use crate::catalogue::Entry;
use crate::domain::order::OrderEvent;
use crate::domain::{Locale, Order, OrderId, OrderStatus, Picture, SaleId};
use crate::error::{Code, Problem};
use crate::orders::{Cancelled, Found};
use crate::pages::views::{OrderCard, OrderPage, OrderView, OrdersPage};
use crate::till::Bought;

/// Orders on one page.
pub const PAGE: usize = 20;

#[derive(Deserialize)]
pub struct Wanted {
    #[serde(default)]
    quantity: String,
}

/// The form on the page of a sale. The purchase token is made on the spot, for without a script nobody could ask for it.
pub async fn buy(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: Visitor,
    Ids(sale): Ids<SaleId>,
    Form(wanted): Form<Wanted>,
) -> Result<Response, Problem> {
    let quantity = wanted.quantity.trim().parse().map_err(|_| Code::BadQuantity)?;
    let bought = shop.till.buy(session.user_id, sale, quantity, None).await;
    let order = match bought.map_err(|refusal| Problem::from(refusal).again(quantity))? {
        Bought::New { order, .. } | Bought::Again { order, .. } => order,
    };
    Ok(see_other(&order_path(visitor.locale, sale, order)))
}

pub fn order_path(locale: Locale, sale: SaleId, order: OrderId) -> String {
    format!("/{locale}/orders/{sale}/{order}")
}

#[derive(Deserialize)]
pub struct Before {
    before: Option<OrderId>,
}

pub async fn list(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: Visitor,
    Query(Before { before }): Query<Before>,
) -> Result<Response, Problem> {
    let (orders, older) = page_of_orders(&shop, session.user_id, before).await?;
    let mut cards = Vec::with_capacity(orders.len());
    for order in orders {
        let entry = shop.catalogue.entry(order.sale_id).await?;
        let (goods_name, picture) = looks(entry.as_deref(), visitor.locale);
        cards.push(OrderCard { order, goods_name, picture });
    }
    let older = older.map(|id| id.to_string());
    personal(StatusCode::OK, &OrdersPage { chrome: visitor.chrome(), orders: cards, older })
}

/// One page of somebody's orders, newest first, and where the next one begins.
pub async fn page_of_orders(
    shop: &Shop,
    user: crate::domain::UserId,
    before: Option<OrderId>,
) -> Result<(Vec<Order>, Option<OrderId>), Problem> {
    let mut orders = shop.orders.list(user, before, PAGE as i64 + 1).await?;
    let more = orders.len() > PAGE;
    orders.truncate(PAGE);
    let next = orders.last().filter(|_| more).map(|order| order.id);
    Ok((orders, next))
}

fn looks(entry: Option<&Entry>, locale: Locale) -> (String, Option<Picture>) {
    entry.map(|e| (e.goods.name.get(locale).to_owned(), e.goods.cover().cloned())).unwrap_or_default()
}

pub async fn show(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: Visitor,
    Ids((sale, order)): Ids<(SaleId, OrderId)>,
) -> Result<Response, Problem> {
    let found = shop.orders.find(session.user_id, sale, order).await?;
    let order = view(&shop, visitor.locale, (sale, order), found).await?;
    personal(StatusCode::OK, &OrderPage { chrome: visitor.chrome(), order })
}

async fn view(
    shop: &Shop,
    locale: Locale,
    (sale_id, id): (SaleId, OrderId),
    found: Found,
) -> Result<OrderView, Problem> {
    let entry = shop.catalogue.entry(sale_id).await?;
    let (goods_name, picture) = looks(entry.as_deref(), locale);
    match found {
        Found::Order(order, history) => Ok(OrderView {
            id,
            sale_id,
            goods_name,
            picture,
            quantity: order.quantity,
            amount: order.amount,
            status: order.status,
            reason: order.reason,
            pay_by: Some(order.pay_by),
            history,
        }),
        Found::Reserved { quantity, reserved_at } => {
            let entry = entry.ok_or(Code::NotFound)?;
            Ok(OrderView {
                id,
                sale_id,
                goods_name,
                picture,
                quantity,
                amount: entry.sale.price.times(quantity).unwrap_or(entry.sale.price),
                status: OrderStatus::Reserved,
                reason: None,
                pay_by: None,
                history: vec![OrderEvent { at: reserved_at, status: OrderStatus::Reserved }],
            })
        }
        Found::Nothing => Err(Code::NotFound.into()),
        Found::Unknown => Err(Code::Unavailable.into()),
    }
}

/// Leads to the payment provider.
pub async fn pay(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: Visitor,
    Ids((sale, order)): Ids<(SaleId, OrderId)>,
) -> Result<Response, Problem> {
    let found = shop.orders.find(session.user_id, sale, order).await?;
    let order = payable(found)?;
    let return_path = order_path(visitor.locale, sale, order.id);
    let (_, checkout_url) = shop.payments.start(&order, return_path).await?;
    // A provider on our own origin is reached by path, whatever name the shopper knows us by: the page's policy lets
    // forms lead nowhere else.
    let own = checkout_url.strip_prefix(&shop.config.public_url).filter(|path| path.starts_with('/'));
    Ok(see_other(own.unwrap_or(&checkout_url)))
}

/// The order, if it has come far enough that somebody can pay it.
pub fn payable(found: Found) -> Result<Order, Problem> {
    match found {
        Found::Order(order, _) => Ok(order),
        Found::Reserved { .. } => Err(Code::NotPayable.into()),
        Found::Nothing => Err(Code::NotFound.into()),
        Found::Unknown => Err(Code::Unavailable.into()),
    }
}

pub async fn cancel(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: Visitor,
    Ids((sale, order)): Ids<(SaleId, OrderId)>,
) -> Result<Response, Problem> {
    match shop.orders.cancel(session.user_id, sale, order).await? {
        Cancelled::Done(_) => Ok(see_other(&order_path(visitor.locale, sale, order))),
        Cancelled::NotCancellable => Err(Code::NotCancellable.into()),
        Cancelled::NoSuchOrder => Err(Code::NotFound.into()),
    }
}
