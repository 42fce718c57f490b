//! The page with all sales and its search.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::site::archive_view::{ArchivePage, shown_states};
use domain::{CategoryId, Locale, SaleId};
use pages::categories::categories_of;
use web::Shop;
use web::extract::Query;
use web::extract::visitor::Visitor;
use web::problem::Problem;
use web::shared::pagination::Cursor;
use web::shared::response::personal;

/// Cards on one page. Rows of two, three and four are all full.
const PAGE_SIZE: usize = 24;
/// The longest search, in characters. No goods have a longer name in common use.
const MAX_QUERY_CHARS: usize = 100;

#[derive(Deserialize)]
pub struct ArchiveQuery {
    #[serde(default)]
    q: String,
    #[serde(default)]
    show: String,
    /// The id of a category; empty for all.
    #[serde(default)]
    category: String,
    #[serde(default)]
    before: Cursor,
}

pub async fn show(
    State(shop): State<Arc<Shop>>,
    visitor: Visitor,
    Query(asked): Query<ArchiveQuery>,
) -> Result<Response, Problem> {
    let before: Option<SaleId> = asked.before.read("before")?;
    let query: String = asked.q.trim().chars().take(MAX_QUERY_CHARS).collect();
    let wanted = query.to_lowercase();
    let states = shown_states(&asked.show);
    // A category that does not exist has no goods.
    let category: Option<Option<CategoryId>> = Some(asked.category.parse().ok()).filter(|_| !asked.category.is_empty());
    let mut sales = shop.catalogue.announced();
    let categories = shop.catalogue.categories();
    let choices = categories_of(&categories, sales.iter().map(|entry| entry.goods.category_id));
    let choices = choices.into_iter().cloned().collect();
    sales.retain(|entry| {
        let is_named = |locale| entry.goods.name.get(locale).to_lowercase().contains(&wanted);
        let is_here = category.is_none_or(|category| category.is_some() && entry.goods.category_id == category);
        is_here && states.contains(&entry.sale.state) && Locale::ALL.into_iter().any(is_named)
    });
    let found = sales.len();
    sales.retain(|entry| before.is_none_or(|before| entry.sale.id < before));
    let older = sales.get(PAGE_SIZE).and_then(|_| sales.get(PAGE_SIZE - 1)).map(|entry| entry.sale.id);
    sales.truncate(PAGE_SIZE);
    let (chrome, is_later) = (visitor.chrome(), before.is_some());
    let ArchiveQuery { show, category, .. } = asked;
    let page = ArchivePage { chrome, query, show, category, choices, sales, found, older, is_later };
    personal(StatusCode::OK, &page)
}
