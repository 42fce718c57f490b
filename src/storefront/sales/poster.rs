//! The poster of a sale.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::sales::poster_view::Poster;
use domain::{Picture, SaleId, SaleState};
use pages::{assets, picture};
use web::Shop;
use web::cache_policy::Cache;
use web::extract::PathIds;
use web::extract::visitor::Visitor;
use web::problem::{Code, Problem};
use web::shared::paths::sale_path;

/// The picture is 780 wide on the poster. A smaller one keeps the saved file small.
const PICTURE_WIDTH: u32 = 640;

pub async fn show(
    State(shop): State<Arc<Shop>>,
    visitor: Visitor,
    PathIds(id): PathIds<SaleId>,
) -> Result<Response, Problem> {
    let entry = shop.catalogue.known(id).filter(|entry| entry.sale.state != SaleState::Draft).ok_or(Code::NotFound)?;
    let link = format!("{}{}", shop.config.public_url, sale_path(visitor.locale, id));
    let picture = embedded(&shop, entry.goods.cover()).await?;
    let name = entry.goods.name.get(visitor.locale);
    let poster = Poster::new(visitor.locale, name, entry.sale.clone(), link, picture);
    let svg = poster.render().map_err(Problem::internal)?;
    Ok((Cache::Page, [(CONTENT_TYPE, "image/svg+xml")], svg).into_response())
}

/// A picture as a `data:` URL.
async fn embedded(shop: &Shop, cover: Option<&Picture>) -> Result<Option<String>, Problem> {
    let address = match cover.filter(|cover| cover.has_copies()) {
        Some(cover) => {
            let width = cover.widths().find(|width| *width >= PICTURE_WIDTH).unwrap_or(cover.width);
            format!("/uploads/{}", cover.copy(width, "jpg"))
        }
        None => picture::address(cover),
    };
    let (content_type, bytes) = match address.strip_prefix("/uploads/") {
        Some(name) => match shop.pictures.file(name).await.map_err(Problem::internal)? {
            Some(file) => file,
            None => return Ok(None),
        },
        None => match assets::find(&address) {
            Some(asset) => (asset.content_type, asset.bytes.to_vec()),
            None => return Ok(None),
        },
    };
    Ok(Some(format!("data:{content_type};base64,{}", STANDARD.encode(bytes))))
}
