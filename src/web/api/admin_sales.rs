//! Sales, by an administrator's programs.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use crate::control::desk::{DeskChange, SaleRow};
use crate::domain::{GoodsId, Money, Phase, Sale, SaleId, SaleState, Window};
use crate::error::{Code, Problem};
use crate::store::MOST_UNITS;
use crate::store::SaleDraft;
use crate::web::Shop;
use crate::web::admin::input::check_sale;
use crate::web::cache::Cache;
use crate::web::input::{Ids, Json};
use crate::web::session::{Look, RunSales, Staff};

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
    };
    let sale = shop.desk.create_sale(checked(draft)?, admin.actor()).await?;
    Ok((StatusCode::CREATED, axum::Json(OneSale { sale })).into_response())
}

/// Changes what was entered, before the sale has begun.
pub async fn edit(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    Ids(id): Ids<SaleId>,
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
    };
    change(&shop, &admin, id, DeskChange::Edit(checked(draft)?)).await
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
    Ids(id): Ids<SaleId>,
) -> Result<Response, Problem> {
    change(&shop, &admin, id, DeskChange::Start).await
}

pub async fn pause(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    Ids(id): Ids<SaleId>,
) -> Result<Response, Problem> {
    change(&shop, &admin, id, DeskChange::Pause).await
}

pub async fn resume(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    Ids(id): Ids<SaleId>,
) -> Result<Response, Problem> {
    change(&shop, &admin, id, DeskChange::Resume).await
}

pub async fn stop(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    Ids(id): Ids<SaleId>,
) -> Result<Response, Problem> {
    change(&shop, &admin, id, DeskChange::Stop).await
}

pub async fn top_up(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    Ids(id): Ids<SaleId>,
    Json(TopUp { units }): Json<TopUp>,
) -> Result<Response, Problem> {
    if !(1..=MOST_UNITS).contains(&units) {
        return Err(Problem::invalid_field("units", "bad_number"));
    }
    change(&shop, &admin, id, DeskChange::TopUp(units)).await
}

async fn change(shop: &Shop, admin: &Staff<RunSales>, id: SaleId, change: DeskChange) -> Result<Response, Problem> {
    let sale = shop.desk.change(id, change, admin.actor()).await?;
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

/// All sales with their live numbers.
pub async fn list(State(shop): State<Arc<Shop>>, _: Staff<Look>) -> Result<Response, Problem> {
    let overview = shop.desk.overview().await?;
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
