//! Pages that are the same for everybody, files, and the front limiter.

pub mod account;
pub mod addresses;
pub mod cashier;
pub mod order_address;
pub mod orders;
pub mod packet_giving;
pub mod packets;
pub mod sign_in;
pub mod wallet;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header::{CONTENT_TYPE, LOCATION, VARY};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Redirect, Response};

use super::Shop;
use crate::pages::assets;
use crate::web::cache_policy::Cache;
use crate::web::extract::visitor::locale;
use crate::web::problem::{Code, Problem};
use crate::web::shared::negotiation::Content;
use crate::web::views::Template;

/// A rendered page of the list or of a sale, or a sale's reminder, from memory.
pub async fn shared(State(shop): State<Arc<Shop>>, uri: Uri, headers: HeaderMap) -> Result<Response, Problem> {
    let page = shop.pages.get(uri.path()).ok_or(Code::NotFound)?;
    let content = Content {
        content_type: page.content_type,
        etag: &page.etag,
        plain: &page.body,
        br: Some(&page.br),
        gzip: Some(&page.gzip),
    };
    Ok(content.answer(&headers, Cache::Page))
}

/// `/` leads to the list in the language that the browser prefers.
pub async fn front_door(uri: Uri, headers: HeaderMap) -> Response {
    let list = format!("/{}/", locale(&uri, &headers));
    (StatusCode::FOUND, Cache::Redirect, [(LOCATION, list), (VARY, "accept-language".to_owned())]).into_response()
}

/// `/zh` is `/zh/`.
pub async fn to_list(uri: Uri) -> Response {
    (Cache::Redirect, Redirect::permanent(&format!("{}/", uri.path()))).into_response()
}

/// What lies under `static/`, at an address that changes with its content.
pub async fn asset(uri: Uri, headers: HeaderMap) -> Result<Response, Problem> {
    let asset = assets::find(uri.path()).ok_or(Code::NotFound)?;
    let content = Content {
        content_type: asset.content_type,
        etag: &asset.etag,
        plain: &asset.bytes,
        br: asset.br(),
        gzip: asset.gzip(),
    };
    Ok(content.answer(&headers, Cache::Forever))
}

/// A copy of a picture that staff uploaded; its name comes from its content's hash.
pub async fn upload(State(shop): State<Arc<Shop>>, Path(name): Path<String>) -> Result<Response, Problem> {
    let (content_type, bytes) = shop.pictures.file(&name).await.map_err(Problem::internal)?.ok_or(Code::NotFound)?;
    Ok((Cache::Forever, [(CONTENT_TYPE, content_type)], bytes).into_response())
}

/// A page that was made for one visitor.
pub fn personal(status: StatusCode, page: &impl Template) -> Result<Response, Problem> {
    Ok((status, Cache::Private, Html(page.render()?)).into_response())
}

/// Post, redirect, get: where a form's success leads.
pub fn see_other(path: &str) -> Response {
    (Cache::Private, Redirect::to(path)).into_response()
}
