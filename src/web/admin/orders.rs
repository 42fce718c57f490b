//! Orders for those who help shoppers: search, one order with everything about it, and what can be done to it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::domain::address::tidy;
use crate::domain::{Order, OrderId};
use crate::store::{AuditReason, Intervention};
use crate::web::Shop;
use crate::web::extract::session::{HelpShoppers, Look, Staff};
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, PathIds, Query};
use crate::web::pages::orders::looks;
use crate::web::pages::{personal, see_other};
use crate::web::problem::{Code, FieldProblem, Problem};
use crate::web::shared::FieldError;
use crate::web::shared::order_search::Typed;
use crate::web::views::{AddressView, AdminOrderPage, AdminOrdersPage, Asking, OrderRow, PaymentLine};

const NOTE_CHARS: usize = 500;
const MESSAGE_CHARS: usize = 300;

pub async fn list(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    visitor: Visitor,
    Query(typed): Query<Typed>,
) -> Result<Response, Problem> {
    let (status, rows, older, errors) = match typed.read(&shop.store).await? {
        Ok(wanted) => {
            let (found, next) = page_of(&shop, wanted.search, wanted.limit).await?;
            (StatusCode::OK, found, next, Vec::new())
        }
        Err(errors) => (StatusCode::UNPROCESSABLE_ENTITY, Vec::new(), None, errors),
    };
    let mut sales = Vec::new();
    for sale in shop.store.all_sales().await? {
        let entry = shop.catalogue.entry(sale.id).await?;
        sales.push((sale.id, looks(entry.as_deref(), visitor.locale).0));
    }
    let mut chrome = visitor.chrome();
    chrome.path = format!("/admin/orders?lang={}", visitor.locale);
    let is_later = !typed.before.is_empty();
    let older = older.map(|id| id.to_string());
    let rows = rows.into_iter().map(|found| OrderRow { order: found.order, username: found.username }).collect();
    personal(status, &AdminOrdersPage { chrome, rows, older, sales, filter: typed.filter(errors), is_later })
}

/// One page of what is looked for, and where the next one begins.
pub async fn page_of(
    shop: &Shop,
    search: Option<crate::store::OrderSearch>,
    limit: usize,
) -> Result<(Vec<crate::store::FoundOrder>, Option<OrderId>), Problem> {
    let Some(search) = search else { return Ok((Vec::new(), None)) };
    let mut found = shop.store.find_orders(&search, limit as i64 + 1).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|found| found.order.id);
    Ok((found, next))
}

#[derive(Deserialize)]
pub struct Done {
    done: Option<String>,
}

pub async fn show(
    State(shop): State<Arc<Shop>>,
    staff: Staff<Look>,
    visitor: Visitor,
    PathIds(id): PathIds<OrderId>,
    Query(Done { done }): Query<Done>,
) -> Result<Response, Problem> {
    let order = shop.store.order_with_id(id).await?.ok_or(Code::NotFound)?;
    let may_act = staff.may::<HelpShoppers>();
    page(&shop, &visitor, order, StatusCode::OK, Shown { done, may_act, ..Shown::default() }).await
}

/// What the page shows besides the order.
#[derive(Default)]
struct Shown {
    done: Option<String>,
    may_act: bool,
    asking: Option<Asking>,
}

async fn page(
    shop: &Shop,
    visitor: &Visitor,
    order: Order,
    status: StatusCode,
    shown: Shown,
) -> Result<Response, Problem> {
    let entry = shop.catalogue.entry(order.sale_id).await?;
    let payments = shop.store.payments_of(order.id).await?;
    let mut chrome = visitor.chrome();
    chrome.path = format!("/admin/orders/{}?lang={}", order.id, visitor.locale);
    let page = AdminOrderPage {
        chrome,
        goods_name: looks(entry.as_deref(), visitor.locale).0,
        username: shop.store.user(order.user_id).await?.map(|user| user.username),
        steps: shop.store.steps(&order).await?,
        payments: payments.into_iter().map(PaymentLine::from).collect(),
        address: order.address.as_deref().map(|address| AddressView::of(address, visitor.locale)),
        order,
        done: shown.done,
        may_act: shown.may_act,
        asking: shown.asking.unwrap_or_default(),
    };
    personal(status, &page)
}

/// The form of an action.
#[derive(Deserialize)]
pub struct Reasons {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    confirm: String,
}

pub async fn cancel(
    shop: State<Arc<Shop>>,
    staff: Staff<HelpShoppers>,
    visitor: Visitor,
    PathIds(id): PathIds<OrderId>,
    Form(form): Form<Reasons>,
) -> Result<Response, Problem> {
    act(shop, &staff, &visitor, id, Intervention::Cancel, form).await
}

pub async fn refund(
    shop: State<Arc<Shop>>,
    staff: Staff<HelpShoppers>,
    visitor: Visitor,
    PathIds(id): PathIds<OrderId>,
    Form(form): Form<Reasons>,
) -> Result<Response, Problem> {
    act(shop, &staff, &visitor, id, Intervention::Refund, form).await
}

async fn act(
    State(shop): State<Arc<Shop>>,
    staff: &Staff<HelpShoppers>,
    visitor: &Visitor,
    id: OrderId,
    what: Intervention,
    form: Reasons,
) -> Result<Response, Problem> {
    let order = shop.store.order_with_id(id).await?.ok_or(Code::NotFound)?;
    let mut errors = mistakes(&form.reason, &form.message);
    if form.confirm != "yes" {
        errors.push(FieldError { field: "sure", code: "not_confirmed" });
    }
    let asking = Asking { reason: form.reason, message: form.message, errors, ..Asking::default() };
    let shown = |asking| Shown { may_act: true, asking: Some(asking), done: None };
    if !asking.errors.is_empty() {
        return page(&shop, visitor, order, StatusCode::UNPROCESSABLE_ENTITY, shown(asking)).await;
    }
    if intervene(&shop, &order, what, staff.actor(), &asking.reason, &asking.message).await? {
        let done = if what == Intervention::Cancel { "cancel" } else { "refund" };
        return Ok(see_other(&format!("/admin/orders/{id}?lang={}&done={done}", visitor.locale)));
    }
    let order = shop.store.order_with_id(id).await?.ok_or(Code::NotFound)?;
    let asking = Asking { changed: true, ..asking };
    page(&shop, visitor, order, StatusCode::CONFLICT, shown(asking)).await
}

/// What is wrong with the words of somebody who cancels or refunds.
pub fn mistakes(reason: &str, message: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if tidy(reason).is_empty() {
        errors.push(FieldError { field: "reason", code: "required" });
    }
    for (field, text, most) in [("reason", reason, NOTE_CHARS), ("message", message, MESSAGE_CHARS)] {
        if tidy(text).chars().count() > most {
            errors.push(FieldError { field, code: "too_long" });
        }
    }
    errors
}

/// The same, for programs.
pub fn check(reason: &str, message: &str) -> Result<(), Problem> {
    let fields: Vec<FieldProblem> = mistakes(reason, message).into_iter().map(FieldProblem::from).collect();
    if fields.is_empty() { Ok(()) } else { Err(Problem::invalid(fields)) }
}

/// Cancels or refunds; `false` when the order stands elsewhere.
pub async fn intervene(
    shop: &Shop,
    order: &Order,
    what: Intervention,
    actor: &str,
    reason: &str,
    message: &str,
) -> Result<bool, Problem> {
    let (note, message) = (tidy(reason), tidy(message));
    let because = AuditReason { actor, note: &note, message: Some(message.as_str()).filter(|text| !text.is_empty()) };
    Ok(shop.orders.intervene(order, what, because).await?)
}
