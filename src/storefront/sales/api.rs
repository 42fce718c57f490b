//! The public state of sales, and purchase tokens.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::json_response;
use domain::{Bilingual, CategoryId, GoodsId, ModeName, Money, Phase, SaleId, ShippingTable, Window};
use engine::gate::{Button, IssuedToken};
use pages::picture;
use web::extract::{AskingPage, Json, SalePath, SignedIn, State};
use web::shared::purchase_token;
use web::{Cache, Code, Problem, Shop};

/// The live state of the button: JSON text that `gate` prepared at its last refresh.
pub async fn button(
    State(shop): State<Arc<Shop>>,
    SalePath(sale): SalePath,
    page: AskingPage,
) -> Result<Response, Problem> {
    let text = shop.gate.button(sale).ok_or(Code::NoSuchSale)?;
    shop.metrics.button_reads.inc();
    let mut response = json_response(StatusCode::OK, text);
    response.headers_mut().insert(CACHE_CONTROL, Cache::Live.header());
    page.let_read(&shop, sale, &mut response);
    Ok(response)
}

/// A purchase token.
#[derive(Serialize, JsonSchema)]
pub struct TokenJson {
    token: String,
    expires_at: Timestamp,
    /// The account's own moment in the sale's spread, while it is still to come.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_before: Option<Timestamp>,
}

/// A purchase token for this user. 409 before the sale is open, and in a waiting room outside the user's turn; 403 or
/// 409 for an account that may not take part.
pub async fn token(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    SalePath(sale): SalePath,
) -> Result<Response, Problem> {
    if shop.catalogue.front(sale).is_some() {
        return Err(Code::SoldElsewhere.into());
    }
    let seat = shop.waiting_rooms.seat(sale, session.user_id).await?;
    let IssuedToken { token, expires_at, not_before } = purchase_token(&shop, sale, session.user_id, seat).await?;
    let not_before = not_before.map(|moment| format!(r#","not_before":"{moment}""#)).unwrap_or_default();
    // Tokens consist of characters that need no escaping.
    Ok(json_response(StatusCode::OK, format!(r#"{{"token":"{token}","expires_at":"{expires_at}"{not_before}}}"#)))
}

#[derive(Serialize, JsonSchema)]
struct SaleSpread {
    #[schemars(range(min = 0))]
    spread_ms: i64,
    /// Whether the gate enforces it.
    enforced: bool,
    opens_at: Option<Timestamp>,
    /// SHA-256 of the seed; `None` until the seed is drawn.
    commitment: Option<String>,
    /// `None` until every account's moment has passed.
    seed: Option<String>,
}

/// The proof that a sale's moments were drawn before anyone came.
pub async fn spread(State(shop): State<Arc<Shop>>, SalePath(sale): SalePath) -> Result<Response, Problem> {
    let status = shop.gate.status(sale).ok_or(Code::NoSuchSale)?;
    let reveals_seed = status.reveals_seed(shop.clock.now());
    let spread = SaleSpread {
        spread_ms: status.spread_ms,
        enforced: status.spread.is_some(),
        opens_at: status.window.opens_at,
        commitment: status.spread.map(|spread| spread.seed.commitment()),
        seed: status.spread.filter(|_| reveals_seed).map(|spread| spread.seed.to_hex()),
    };
    Ok((Cache::Live, Json(spread)).into_response())
}

/// The path of every request, without any work. It is the baseline of benchmarks.
pub async fn ping() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// As [`ping`], with the check of the session.
pub async fn ping_signed_in(SignedIn(_): SignedIn) -> StatusCode {
    StatusCode::NO_CONTENT
}

#[derive(Serialize, JsonSchema)]
struct ListedSales<'a> {
    sales: Vec<ListedSale<'a>>,
    now: Timestamp,
    poll_after_ms: i64,
}

/// Bounds of the list's poll interval, which is the interval of its soonest sale. Lists may lag, because nothing is
/// bought from them.
const LIST_POLL_MS: std::ops::RangeInclusive<i64> = 2_000..=5_000;

/// A sale as lists show it.
#[derive(Serialize, JsonSchema)]
struct ListedSale<'a> {
    id: SaleId,
    goods: ListedGoods<'a>,
    price: Money,
    list_price: Option<Money>,
    #[schemars(range(min = 1))]
    total: i64,
    #[schemars(range(min = 1))]
    per_user_limit: i64,
    #[serde(flatten)]
    window: Window,
    phase: Phase,
    remaining: i64,
    /// How the buyers are chosen.
    mode: ModeName,
    /// For a draw, whether it was held.
    #[serde(skip_serializing_if = "Option::is_none")]
    drawn: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
struct ListedGoods<'a> {
    id: GoodsId,
    name: &'a Bilingual,
    /// The category
    category_id: Option<CategoryId>,
    /// The goods of which these are a variant
    variant_of: Option<GoodsId>,
    /// What tells it from other variants; empty texts where nothing does
    variant: &'a Bilingual,
    /// The URL of the cover.
    image: String,
}

/// All sales that shoppers may see. Without live state at the gate, the catalogue's state is shown.
pub async fn list(State(shop): State<Arc<Shop>>) -> Response {
    let now = shop.clock.now();
    let entries = shop.catalogue.listed();
    let mut poll_after_ms = *LIST_POLL_MS.end();
    let sales = entries.iter().map(|entry| {
        let (sale, goods) = (&entry.sale, &entry.goods);
        let status = shop.gate.status(sale.id);
        if let Some(status) = &status {
            poll_after_ms = poll_after_ms.min(status.poll_after_ms(now));
        }
        ListedSale {
            id: sale.id,
            goods: ListedGoods {
                id: goods.id,
                name: &goods.name,
                category_id: goods.category_id,
                variant_of: goods.variant_of,
                variant: &goods.variant,
                image: picture::address(goods.cover()),
            },
            price: sale.price,
            list_price: sale.list_price,
            total: status.map_or(sale.total, |s| s.total),
            per_user_limit: sale.per_user_limit,
            window: sale.window,
            phase: status.map_or_else(|| sale.phase(now), |s| s.phase),
            remaining: status.map_or(sale.total - sale.sold, |s| s.remaining),
            mode: sale.mode.name(),
            drawn: sale.mode.is_draw().then_some(entry.is_drawn),
        }
    });
    let sales = sales.collect();
    let poll_after_ms = poll_after_ms.max(*LIST_POLL_MS.start());
    (Cache::Live, Json(ListedSales { sales, now, poll_after_ms })).into_response()
}

#[derive(Serialize, JsonSchema)]
struct ListedCategories<'a> {
    categories: Vec<ListedCategory<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct ListedCategory<'a> {
    id: CategoryId,
    name: &'a Bilingual,
}

/// The categories of goods, in the order of the shop.
pub async fn categories(State(shop): State<Arc<Shop>>) -> Response {
    let categories = shop.catalogue.categories();
    let categories = categories.iter().map(|category| ListedCategory { id: category.id, name: &category.name });
    (Cache::Page, Json(ListedCategories { categories: categories.collect() })).into_response()
}

/// What shipping costs.
pub async fn shipping(State(shop): State<Arc<Shop>>) -> Response {
    (Cache::Page, Json(&*shop.catalogue.shipping())).into_response()
}

/// The OpenAPI description of this API.
pub async fn openapi(State(shop): State<Arc<Shop>>) -> Response {
    (Cache::Page, json_response(StatusCode::OK, shop.document.text())).into_response()
}

web::operations! { "sales"
    /// This document
    GET "/api/openapi.json" showDocument = openapi;
        200 Map<String, Value>;
    /// Categories of goods, in the order of the shop
    GET "/api/categories" listCategories = categories;
        200 ListedCategories<'_>, "The categories. May be cached for five seconds.";
    /// What shipping costs by currency, country and region
    ///
    /// Empty if it costs nothing. Of the rates in an order's currency the closest one counts.
    GET "/api/shipping" showShipping = shipping;
        200 ShippingTable, "May be cached for five seconds.";
    /// Nothing
    GET "/api/ping" ping = ping, tag("benchmarks");
        204 ();
    /// Nothing, with authentication
    POST "/api/ping" pingSignedIn = ping_signed_in, tag("benchmarks");
        204 ();
    /// Sales that shoppers see: all that have not ended, and the last 50 that ended
    GET "/api/sales" listSales = list;
        200 ListedSales<'_>, "The sales, newest first. May be cached for one second.";
    /// The live state of a sale's button
    GET "/api/sales/{sale}/button" showButton = button;
        200 Button, "May be cached for one second.";
    /// How the sale spreads its accounts, and what proves it
    ///
    /// An account's moment is `opens_at` plus as many milliseconds as the first 48 bits (big-endian) of SHA-256(seed ‖
    /// user id) modulo `spread_ms`, where the seed has 32 bytes and the user id the 16 bytes of the UUID.
    GET "/api/sales/{sale}/spread" showSpread = spread;
        200 SaleSpread, "May be cached for one second.";
    /// A purchase token, once the sale is open
    POST "/api/sales/{sale}/token" createToken = token, tag("buying");
        200 TokenJson, "For this user and this sale only.";
        refuses AccountTooNew ContactNotVerified InvitationNeeded NotOpen Ended ByDraw NotCalled SoldElsewhere AddressNeeded
            AddressTaken ContactTaken DepositNeeded RateLimited;
}
