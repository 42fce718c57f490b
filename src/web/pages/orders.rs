//! A shopper's purchase and orders, without scripts.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::order_address;
use crate::catalogue::Entry;
use crate::domain::order::OrderEvent;
use crate::domain::wallet::{Account, CURRENCY, money};
use crate::domain::{Locale, Order, OrderId, OrderStatus, Picture, SaleId, UserId};
use crate::orders::{Cancelled, Found};
use crate::purchase::Bought;
use crate::store::WALLET;
use crate::web::Shop;
use crate::web::extract::session::SignedIn;
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, PathIds, Query};
use crate::web::pages::{personal, see_other};
use crate::web::problem::{Code, Problem};
use crate::web::views::{AddressCard, AddressView, OrderCard, OrderPage, OrderView, OrdersPage};

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
    PathIds(sale): PathIds<SaleId>,
    Form(wanted): Form<Wanted>,
) -> Result<Response, Problem> {
    let quantity = wanted.quantity.trim().parse().map_err(|_| Code::BadQuantity)?;
    let again = |refusal| Problem::from(refusal).again(quantity);
    let request = shop.purchases.request_admission(session.user_id, sale).map_err(again)?;
    let order = match shop.purchases.buy(request, quantity, None).await.map_err(again)? {
        Bought::New { order, .. } | Bought::Again { order, .. } => order,
    };
    Ok(see_other(&order_path(visitor.locale, sale, order)))
}

pub fn order_path(locale: Locale, sale: SaleId, order: OrderId) -> String {
    format!("/{locale}/orders/{sale}/{order}")
}

/// Which of the orders, and from where.
#[derive(Deserialize)]
pub struct Which {
    before: Option<OrderId>,
    /// As [`statuses`] reads it.
    #[serde(default)]
    status: String,
}

/// Statuses with commas between them; nothing for all. `None` when one of them does not exist.
pub fn statuses(text: &str) -> Option<Vec<OrderStatus>> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(|name| name.parse().ok()).collect()
}

pub async fn list(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: Visitor,
    Query(which): Query<Which>,
) -> Result<Response, Problem> {
    // What no link of ours asks for is nothing in particular.
    let wanted = statuses(&which.status).unwrap_or_default();
    let (orders, older) = page_of_orders(&shop, session.user_id, &wanted, which.before).await?;
    let mut cards = Vec::with_capacity(orders.len());
    for order in orders {
        let entry = shop.catalogue.entry(order.sale_id).await?;
        let (goods_name, picture) = looks(entry.as_deref(), visitor.locale);
        cards.push(OrderCard { order, goods_name, picture });
    }
    let older = older.map(|id| id.to_string());
    let (filter, is_later) = (which.status, which.before.is_some());
    personal(StatusCode::OK, &OrdersPage { chrome: visitor.chrome(), orders: cards, older, filter, is_later })
}

/// One page of somebody's orders, newest first, and where the next one begins.
pub async fn page_of_orders(
    shop: &Shop,
    user: UserId,
    statuses: &[OrderStatus],
    before: Option<OrderId>,
) -> Result<(Vec<Order>, Option<OrderId>), Problem> {
    let mut orders = shop.orders.list(user, statuses, before, PAGE as i64 + 1).await?;
    let more = orders.len() > PAGE;
    orders.truncate(PAGE);
    let next = orders.last().filter(|_| more).map(|order| order.id);
    Ok((orders, next))
}

pub fn looks(entry: Option<&Entry>, locale: Locale) -> (String, Option<Picture>) {
    entry.map(|e| (e.goods.name.get(locale).to_owned(), e.goods.cover().cloned())).unwrap_or_default()
}

pub async fn show(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: Visitor,
    PathIds((sale, order)): PathIds<(SaleId, OrderId)>,
) -> Result<Response, Problem> {
    let found = shop.orders.find(session.user_id, sale, order).await?;
    let order = view(&shop, visitor.locale, (sale, order), found).await?;
    let proposed = match order.status == OrderStatus::Unpaid && order.address.is_none() {
        true => shop.store.addresses_of(session.user_id).await?.into_iter().find(|saved| saved.is_default),
        false => None,
    };
    let proposed = proposed.map(|saved| AddressCard::of(&saved, visitor.locale));
    let payable = order.status == OrderStatus::Unpaid && order.amount.currency == CURRENCY;
    let wallet = match payable {
        true => Some(money(shop.store.wallet_balance(Account::User(session.user_id)).await?)),
        false => None,
    };
    personal(StatusCode::OK, &OrderPage { chrome: visitor.chrome(), order, proposed, wallet })
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
            message: order.message,
            address: order.address.map(|address| AddressView::of(&address, locale)),
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
                message: None,
                address: None,
                pay_by: None,
                history: vec![OrderEvent { at: reserved_at, status: OrderStatus::Reserved }],
            })
        }
        Found::Nothing => Err(Code::NotFound.into()),
        Found::Unknown => Err(Code::Unavailable.into()),
    }
}

/// A saved address that the shopper saw next to the button; for an order without an address of its own.
#[derive(Deserialize)]
pub struct Payment {
    #[serde(default)]
    address: String,
    /// `wallet` to pay from it.
    #[serde(default)]
    from: String,
}

/// Pays from the wallet or leads to the payment provider; first to the address, if there is none.
pub async fn pay(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: Visitor,
    PathIds((sale, id)): PathIds<(SaleId, OrderId)>,
    Form(payment): Form<Payment>,
) -> Result<Response, Problem> {
    let order = payable(shop.orders.find(session.user_id, sale, id).await?)?;
    if order.address.is_some() || order.status != OrderStatus::Unpaid {
        return pay_by(&shop, &visitor, &order, &payment.from).await;
    }
    let seen = match payment.address.parse() {
        Ok(id) => shop.store.address(session.user_id, id).await?,
        Err(_) => None,
    };
    let Some(seen) = seen else {
        let asked = order_address::Asked::before_payment(&visitor, payment.from);
        return order_address::page(&shop, &session, &visitor, order, asked).await;
    };
    let given = shop.orders.deliver_to(session.user_id, sale, id, &seen.address).await?;
    pay_by(&shop, &visitor, &order_address::addressed(given)?, &payment.from).await
}

/// Pays from the wallet, or begins a payment and leads to where it is made.
pub async fn pay_by(shop: &Shop, visitor: &Visitor, order: &Order, from: &str) -> Result<Response, Problem> {
    if from != WALLET {
        return checkout(shop, visitor, order).await;
    }
    let here = order_path(visitor.locale, order.sale_id, order.id);
    let paid = shop.payments.pay_from_wallet(order).await;
    paid.map_err(|error| Problem::from(error).back(&here))?;
    Ok(see_other(&here))
}

async fn checkout(shop: &Shop, visitor: &Visitor, order: &Order) -> Result<Response, Problem> {
    let return_path = order_path(visitor.locale, order.sale_id, order.id);
    let (_, checkout_url) = shop.payments.start(order, return_path).await?;
    Ok(to_checkout(shop, &checkout_url))
}

/// Leads to where a payment is made.
pub fn to_checkout(shop: &Shop, checkout_url: &str) -> Response {
    // A provider on our own origin is reached by path, whatever name the shopper knows us by: the page's policy lets
    // forms lead nowhere else.
    let own = checkout_url.strip_prefix(&shop.config.public_url).filter(|path| path.starts_with('/'));
    see_other(own.unwrap_or(checkout_url))
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
    PathIds((sale, order)): PathIds<(SaleId, OrderId)>,
) -> Result<Response, Problem> {
    cancelled(shop.orders.cancel(session.user_id, sale, order).await?)?;
    Ok(see_other(&order_path(visitor.locale, sale, order)))
}

/// The order that was cancelled, or why none was.
pub fn cancelled(outcome: Cancelled) -> Result<Order, Problem> {
    match outcome {
        Cancelled::Done(order) => Ok(order),
        Cancelled::NotCancellable => Err(Code::NotCancellable.into()),
        Cancelled::NoSuchOrder => Err(Code::NotFound.into()),
    }
}
