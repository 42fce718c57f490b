//! Sales, by an administrator's programs.

use std::sync::Arc;

use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use crate::control::checklist::{Check, CheckState};
use crate::control::sales_admin::{DeskChange, SaleRow};
use crate::domain::{GoodsId, Money, Phase, Rush, Sale, SaleId, SaleState, Window};
use crate::store::{Announce, MOST_UNITS, Overlap, SaleDraft, SaveOptions};
use crate::web::Shop;
use crate::web::cache_policy::Cache;
use crate::web::extract::session::{Look, RunSales, Staff};
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Json, PathIds, Query};
use crate::web::problem::{Code, Problem};
use crate::web::shared::FieldError;
use crate::web::shared::validation::{check_sale, check_window, doubts};
use crate::web::views::CheckList;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewSale {
    goods_id: GoodsId,
    price: Money,
    list_price: Option<Money>,
    total: i64,
    per_user_limit: i64,
    opens_at: Option<Timestamp>,
    closes_at: Option<Timestamp>,
    buckets: Option<u8>,
    lot: Option<i64>,
    spread_ms: Option<i64>,
    /// Keep it from shoppers, whatever its window. Otherwise it is scheduled if it has an opening time.
    #[serde(default)]
    draft: bool,
    #[serde(default = "yes")]
    allow_overlap: bool,
}

fn yes() -> bool {
    true
}

/// What is absent stays as it is; `null` takes away.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaleEdit {
    goods_id: Option<GoodsId>,
    price: Option<Money>,
    #[serde(default, deserialize_with = "present")]
    list_price: Option<Option<Money>>,
    total: Option<i64>,
    per_user_limit: Option<i64>,
    #[serde(default, deserialize_with = "present")]
    opens_at: Option<Option<Timestamp>>,
    #[serde(default, deserialize_with = "present")]
    closes_at: Option<Option<Timestamp>>,
    buckets: Option<u8>,
    lot: Option<i64>,
    spread_ms: Option<i64>,
    /// `true` takes it from shoppers, `false` announces it. When absent, it stays as it is
    /// unless an opening time was given or taken away.
    draft: Option<bool>,
    #[serde(default = "yes")]
    allow_overlap: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheduling {
    allow_overlap: Option<bool>,
}

/// Tells `null` from nothing.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopUp {
    units: i64,
}

#[derive(Serialize)]
struct OneSale {
    sale: Sale,
}

/// A sale as it was planned, with what is odd about it.
#[derive(Serialize)]
struct PlannedSale {
    sale: Sale,
    warnings: Vec<Oddity>,
}

/// Accepted, but hardly meant.
#[derive(Serialize)]
struct Oddity {
    field: &'static str,
    code: &'static str,
    /// The other sale, when it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    sale_id: Option<SaleId>,
}

pub async fn create(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    Json(new): Json<NewSale>,
) -> Result<Response, Problem> {
    let draft = SaleDraft {
        goods_id: new.goods_id,
        price: new.price,
        list_price: new.list_price,
        total: new.total,
        per_user_limit: new.per_user_limit,
        window: Window { opens_at: new.opens_at, closes_at: new.closes_at },
        rush: Rush::default().with(new.buckets, new.lot, new.spread_ms),
    };
    let announce = if new.draft { Announce::Draft } else { Announce::ByWindow };
    let filing = SaveOptions { announce, overlap: overlap(new.allow_overlap), ..SaveOptions::default() };
    let draft = checked(draft)?;
    let oddities = oddities(&draft, new.draft, shop.clock.now());
    let sale = shop.sales_admin.enter_sale(draft, &filing, admin.actor()).await?;
    Ok((StatusCode::CREATED, planned(&shop, sale, oddities).await?).into_response())
}

fn overlap(allowed: bool) -> Overlap {
    if allowed { Overlap::Allowed } else { Overlap::Refused }
}

fn oddities(draft: &SaleDraft, kept_back: bool, now: Timestamp) -> Vec<Oddity> {
    let found = check_window(draft.window, kept_back, now).into_iter().chain(doubts(draft));
    found.map(|FieldError { field, code }| Oddity { field, code, sale_id: None }).collect()
}

async fn planned(shop: &Shop, sale: Sale, mut warnings: Vec<Oddity>) -> Result<impl IntoResponse, Problem> {
    if let Some(other) = shop.store.overlapping(&sale).await? {
        warnings.push(Oddity { field: "opens_at", code: "overlap", sale_id: Some(other) });
    }
    Ok(axum::Json(PlannedSale { sale, warnings }))
}

/// Changes what was entered, before the sale has begun.
pub async fn edit(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    PathIds(id): PathIds<SaleId>,
    Json(edit): Json<SaleEdit>,
) -> Result<Response, Problem> {
    let sale = shop.store.sale(id).await?.ok_or(Code::NoSuchSale)?;
    let draft = SaleDraft {
        goods_id: edit.goods_id.unwrap_or(sale.goods_id),
        price: edit.price.unwrap_or(sale.price),
        list_price: edit.list_price.unwrap_or(sale.list_price),
        total: edit.total.unwrap_or(sale.total),
        per_user_limit: edit.per_user_limit.unwrap_or(sale.per_user_limit),
        window: Window {
            opens_at: edit.opens_at.unwrap_or(sale.window.opens_at),
            closes_at: edit.closes_at.unwrap_or(sale.window.closes_at),
        },
        rush: sale.rush.with(edit.buckets, edit.lot, edit.spread_ms),
    };
    let announce = match edit.draft {
        None => Announce::ByWindow,
        Some(true) => Announce::Draft,
        Some(false) => Announce::Schedule,
    };
    let filing = SaveOptions { announce, overlap: overlap(edit.allow_overlap), ..SaveOptions::default() };
    let draft = checked(draft)?;
    let mut oddities = oddities(&draft, edit.draft == Some(true), shop.clock.now());
    let sale = shop.sales_admin.change(id, DeskChange::Edit(draft, filing), admin.actor()).await?;
    if sale.state == SaleState::Draft {
        oddities.retain(|oddity| oddity.code != "in_past");
    }
    Ok(planned(&shop, sale, oddities).await?.into_response())
}

/// Announces a draft.
pub async fn schedule(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    PathIds(id): PathIds<SaleId>,
    request: Request,
) -> Result<Response, Problem> {
    let body = match request.headers().contains_key(CONTENT_TYPE) {
        true => Json::<Scheduling>::from_request(request, &shop).await?.0,
        false => Scheduling::default(),
    };
    let overlap = overlap(body.allow_overlap.unwrap_or(true));
    let sale = shop.sales_admin.change(id, DeskChange::Schedule(overlap), admin.actor()).await?;
    Ok(planned(&shop, sale, Vec::new()).await?.into_response())
}

/// Takes an announcement back.
pub async fn unschedule(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    PathIds(id): PathIds<SaleId>,
) -> Result<Response, Problem> {
    change(&shop, &admin, id, DeskChange::Unschedule).await
}

/// Deletes a draft.
pub async fn delete(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    PathIds(id): PathIds<SaleId>,
) -> Result<Response, Problem> {
    shop.sales_admin.delete_draft(id, admin.actor()).await?;
    Ok((StatusCode::NO_CONTENT, Cache::Private, ()).into_response())
}

#[derive(Serialize)]
struct Readiness {
    sale_id: SaleId,
    /// Nothing is wrong; there may be warnings.
    ready: bool,
    checks: Vec<SaidCheck>,
}

#[derive(Serialize)]
struct SaidCheck {
    #[serde(flatten)]
    check: Check,
    /// One sentence, in the language of the request.
    text: String,
}

/// What should be looked at before the sale begins.
pub async fn checklist(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    visitor: Visitor,
    PathIds(id): PathIds<SaleId>,
) -> Result<Response, Problem> {
    let sale = shop.store.sale(id).await?.ok_or(Code::NoSuchSale)?;
    let checks = shop.sales_admin.checklist(&sale).await?;
    let ready = checks.iter().all(|check| check.state != CheckState::NotOk);
    let words = CheckList { locale: visitor.locale, checks: &checks };
    let said = checks.iter().map(|check| SaidCheck { text: words.sentence(check), check: check.clone() }).collect();
    Ok((Cache::Private, axum::Json(Readiness { sale_id: id, ready, checks: said })).into_response())
}

fn checked(draft: SaleDraft) -> Result<SaleDraft, Problem> {
    let errors = check_sale(&draft);
    match errors.is_empty() {
        true => Ok(draft),
        false => Err(Problem::invalid(errors.into_iter().map(Into::into).collect())),
    }
}

pub async fn start(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    PathIds(id): PathIds<SaleId>,
) -> Result<Response, Problem> {
    change(&shop, &admin, id, DeskChange::Start).await
}

pub async fn pause(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    PathIds(id): PathIds<SaleId>,
) -> Result<Response, Problem> {
    change(&shop, &admin, id, DeskChange::Pause).await
}

pub async fn resume(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    PathIds(id): PathIds<SaleId>,
) -> Result<Response, Problem> {
    change(&shop, &admin, id, DeskChange::Resume).await
}

pub async fn stop(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    PathIds(id): PathIds<SaleId>,
) -> Result<Response, Problem> {
    change(&shop, &admin, id, DeskChange::Stop).await
}

pub async fn top_up(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    PathIds(id): PathIds<SaleId>,
    Json(TopUp { units }): Json<TopUp>,
) -> Result<Response, Problem> {
    if !(1..=MOST_UNITS).contains(&units) {
        return Err(Problem::invalid_field("units", "bad_number"));
    }
    change(&shop, &admin, id, DeskChange::TopUp(units)).await
}

async fn change(shop: &Shop, admin: &Staff<RunSales>, id: SaleId, change: DeskChange) -> Result<Response, Problem> {
    let sale = shop.sales_admin.change(id, change, admin.actor()).await?;
    Ok(axum::Json(OneSale { sale }).into_response())
}

#[derive(Serialize)]
struct Desk {
    sales: Vec<DeskSale>,
    queue: Queue,
}

#[derive(Serialize)]
struct Queue {
    ready: Option<i64>,
}

/// A sale with its numbers; `null` where no such engine is configured or it did not answer.
#[derive(Serialize)]
struct DeskSale {
    id: SaleId,
    state: SaleState,
    phase: Phase,
    total: i64,
    sold: i64,
    booked: Option<i64>,
    access: Option<i64>,
    outbox: Option<i64>,
    unpaid: i64,
    paid: i64,
}

#[derive(Deserialize)]
pub struct Which {
    /// Only sales that have not ended.
    #[serde(default)]
    current: bool,
}

/// All sales with their live numbers.
pub async fn list(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    Query(which): Query<Which>,
) -> Result<Response, Problem> {
    let overview = if which.current { shop.sales_admin.current().await? } else { shop.sales_admin.overview().await? };
    let now = shop.clock.now();
    let row = |row: SaleRow| DeskSale {
        id: row.sale.id,
        state: row.sale.state,
        phase: row.status.map_or_else(|| row.sale.phase(now), |status| status.phase),
        total: row.sale.total,
        sold: row.sale.sold,
        booked: row.status.and_then(|status| status.booked),
        access: row.status.and_then(|status| status.access),
        outbox: row.outbox,
        unpaid: row.unpaid,
        paid: row.paid,
    };
    let sales = overview.sales.into_iter().map(row).collect();
    Ok((Cache::Private, axum::Json(Desk { sales, queue: Queue { ready: overview.queue_ready } })).into_response())
}
