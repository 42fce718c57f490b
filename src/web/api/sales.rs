//! What everybody may know about sales, and the token that lets one shopper buy.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::Serialize;

use super::written;
use crate::domain::{Bilingual, GoodsId, Money, Phase, SaleId, Window};
use crate::pages::picture;
use crate::web::Shop;
use crate::web::cache_policy::Cache;
use crate::web::extract::SalePath;
use crate::web::extract::session::SignedIn;
use crate::web::problem::{Code, Problem};

/// The live state of the button, as `gate` wrote it down when it last looked.
pub async fn button(State(shop): State<Arc<Shop>>, SalePath(sale): SalePath) -> Result<Response, Problem> {
    let text = shop.gate.button(sale).ok_or(Code::NoSuchSale)?;
    shop.metrics.button_reads.inc();
    let mut response = written(StatusCode::OK, text);
    response.headers_mut().insert(CACHE_CONTROL, Cache::Live.header());
    Ok(response)
}

/// A purchase token: 409 before the sale is open.
pub async fn token(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    SalePath(sale): SalePath,
) -> Result<Response, Problem> {
    let (token, expires_at) = shop.gate.issue_token(sale, session.user_id)?;
    // Tokens are of characters that need no escaping.
    Ok(written(StatusCode::OK, format!(r#"{{"token":"{token}","expires_at":"{expires_at}"}}"#)))
}

/// The way of every request with nothing at its end, for benchmarks to compare with.
pub async fn ping() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// As `ping`, for somebody who is signed in.
pub async fn ping_signed_in(SignedIn(_): SignedIn) -> StatusCode {
    StatusCode::NO_CONTENT
}

#[derive(Serialize)]
struct Listing<'a> {
    sales: Vec<Listed<'a>>,
    now: Timestamp,
    poll_after_ms: i64,
}

/// For a list the soonest of its sales counts, but nobody buys from a list.
const POLL_LIST_MS: std::ops::RangeInclusive<i64> = 2_000..=5_000;

#[derive(Serialize)]
struct Listed<'a> {
    id: SaleId,
    goods: ListedGoods<'a>,
    price: Money,
    list_price: Option<Money>,
    total: i64,
    per_user_limit: i64,
    #[serde(flatten)]
    window: Window,
    phase: Phase,
    remaining: i64,
}

#[derive(Serialize)]
struct ListedGoods<'a> {
    id: GoodsId,
    name: &'a Bilingual,
    /// Its address.
    image: String,
}

/// All sales that shoppers may see. Where the gate has no live state of a sale, the catalogue's copy stands in.
pub async fn list(State(shop): State<Arc<Shop>>) -> Response {
    let now = shop.clock.now();
    let entries = shop.catalogue.listed();
    let mut poll_after_ms = *POLL_LIST_MS.end();
    let sales = entries.iter().map(|entry| {
        let (sale, goods) = (&entry.sale, &entry.goods);
        let status = shop.gate.status(sale.id);
        if let Some(status) = &status {
            poll_after_ms = poll_after_ms.min(status.poll_after_ms(now));
        }
        Listed {
            id: sale.id,
            goods: ListedGoods { id: goods.id, name: &goods.name, image: picture::address(goods.cover()) },
            price: sale.price,
            list_price: sale.list_price,
            total: status.map_or(sale.total, |s| s.total),
            per_user_limit: sale.per_user_limit,
            window: sale.window,
            phase: status.map_or_else(|| sale.phase(now), |s| s.phase),
            remaining: status.map_or(sale.total - sale.sold, |s| s.remaining),
        }
    });
    let sales = sales.collect();
    let poll_after_ms = poll_after_ms.max(*POLL_LIST_MS.start());
    (Cache::Live, Json(Listing { sales, now, poll_after_ms })).into_response()
}

/// The description of this API for programs.
pub async fn openapi() -> Response {
    (Cache::Page, written(StatusCode::OK, include_str!("../openapi.json"))).into_response()
}
