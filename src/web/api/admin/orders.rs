//! Orders for those who help shoppers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::order::OrderStep;
use crate::domain::{Money, Order, OrderId, PaymentId, UserId};
use crate::store::{FoundOrder, Intervention, PaymentRecord, WebhookRecord};
use crate::web::Shop;
use crate::web::admin::orders::{check, intervene, page_of};
use crate::web::api::orders::{OrderJson, OrderList};
use crate::web::cache_policy::Cache;
use crate::web::extract;
use crate::web::extract::session::{HelpShoppers, Look, Staff};
use crate::web::extract::{PathIds, Query};
use crate::web::problem::{Code, FieldProblem, Problem};
use crate::web::shared::order_search::Typed;

#[derive(Serialize)]
struct Found {
    user_id: UserId,
    username: Option<String>,
    #[serde(flatten)]
    order: OrderJson,
}

impl From<FoundOrder> for Found {
    fn from(found: FoundOrder) -> Self {
        Found { user_id: found.order.user_id, username: found.username, order: OrderJson::of(found.order, None) }
    }
}

/// Orders that are looked for, newest first.
pub async fn search(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    Query(typed): Query<Typed>,
) -> Result<Response, Problem> {
    let wanted = typed.read(&shop.store).await?;
    let wanted = wanted.map_err(|errors| Problem::invalid(errors.into_iter().map(FieldProblem::from).collect()))?;
    let (found, next) = page_of(&shop, wanted.search, wanted.limit).await?;
    let orders: Vec<Found> = found.into_iter().map(Found::from).collect();
    Ok((Cache::Private, Json(OrderList { orders, next })).into_response())
}

#[derive(Serialize)]
struct Detail {
    order: DetailedOrder,
}

#[derive(Serialize)]
struct DetailedOrder {
    #[serde(flatten)]
    found: Found,
    history: Vec<OrderStep>,
    payments: Vec<PaymentJson>,
}

#[derive(Serialize)]
struct PaymentJson {
    id: PaymentId,
    provider: String,
    status: &'static str,
    amount: Money,
    created_at: Timestamp,
    captured_at: Option<Timestamp>,
    refunded_at: Option<Timestamp>,
    webhooks: Vec<WebhookRecord>,
}

impl From<PaymentRecord> for PaymentJson {
    fn from(record: PaymentRecord) -> Self {
        PaymentJson {
            id: record.payment.id,
            provider: record.payment.provider,
            status: record.payment.status.as_str(),
            amount: record.payment.amount,
            created_at: record.created_at,
            captured_at: record.captured_at,
            refunded_at: record.refunded_at,
            webhooks: record.webhooks,
        }
    }
}

/// One order with everything about it.
pub async fn show(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    PathIds(id): PathIds<OrderId>,
) -> Result<Response, Problem> {
    detail(&shop, id).await
}

async fn detail(shop: &Shop, id: OrderId) -> Result<Response, Problem> {
    let order = existing(shop, id).await?;
    let history = shop.store.steps(&order).await?;
    let payments = shop.store.payments_of(id).await?.into_iter().map(PaymentJson::from).collect();
    let username = shop.store.user(order.user_id).await?.map(|user| user.username);
    let order = DetailedOrder { found: FoundOrder { order, username }.into(), history, payments };
    Ok((Cache::Private, Json(Detail { order })).into_response())
}

async fn existing(shop: &Shop, id: OrderId) -> Result<Order, Problem> {
    shop.store.order_with_id(id).await?.ok_or(Code::NotFound.into())
}

/// Why, for the staff; and what its owner is told, if anything.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasons {
    reason: String,
    #[serde(default)]
    message: String,
}

pub async fn cancel(
    State(shop): State<Arc<Shop>>,
    staff: Staff<HelpShoppers>,
    PathIds(id): PathIds<OrderId>,
    extract::Json(reasons): extract::Json<Reasons>,
) -> Result<Response, Problem> {
    act(&shop, staff.actor(), id, Intervention::Cancel, reasons).await
}

pub async fn refund(
    State(shop): State<Arc<Shop>>,
    staff: Staff<HelpShoppers>,
    PathIds(id): PathIds<OrderId>,
    extract::Json(reasons): extract::Json<Reasons>,
) -> Result<Response, Problem> {
    act(&shop, staff.actor(), id, Intervention::Refund, reasons).await
}

async fn act(
    shop: &Shop,
    actor: &str,
    id: OrderId,
    what: Intervention,
    Reasons { reason, message }: Reasons,
) -> Result<Response, Problem> {
    let order = existing(shop, id).await?;
    check(&reason, &message)?;
    if intervene(shop, &order, what, actor, &reason, &message).await? {
        return detail(shop, id).await;
    }
    Err(Problem::new(match what {
        Intervention::Cancel => Code::NotCancellable,
        Intervention::Refund => Code::NotRefundable,
    }))
}
