//! The page with all sales and its search.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use serde::Deserialize;

use domain::{Category, CategoryId, Locale, SaleId, SaleState};
use engine::catalogue::CatalogueEntry;
use pages::Chrome;
use pages::filters::{self, action, categories_of, discount_label};
use web::extract::{Query, State, Visitor};
use web::shared::paths::link_query;
use web::{Answer, Cursor, Shop, personal};

/// Cards on one page. Rows of two, three and four are all full.
const PAGE_SIZE: usize = 24;
/// The longest search, in characters. No goods have a longer name in common use.
const MAX_QUERY_CHARS: usize = 100;

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ArchiveQuery {
    q: String,
    show: String,
    /// The id of a category; empty for all.
    category: String,
    before: Cursor,
}

pub async fn show(State(shop): State<Arc<Shop>>, visitor: Visitor, Query(asked): Query<ArchiveQuery>) -> Answer {
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

#[derive(Template)]
#[template(path = "site/archive.html")]
struct ArchivePage {
    chrome: Chrome,
    /// The search as entered.
    query: String,
    /// The states that are shown, as in the query; empty for all.
    show: String,
    /// The category that is shown, as in the query; empty for all.
    category: String,
    /// The categories to choose from.
    choices: Vec<Category>,
    /// Newest first.
    sales: Vec<Arc<CatalogueEntry>>,
    /// Sales that were found on all pages.
    found: usize,
    /// A cursor for `?before=`; `None` on the last page.
    older: Option<SaleId>,
    /// Whether this is not the first page.
    is_later: bool,
}

/// The states behind the value of a filter; all for an unknown one.
fn shown_states(show: &str) -> &'static [SaleState] {
    match show {
        "now" => &[SaleState::Live, SaleState::Paused],
        "next" => &[SaleState::Scheduled],
        "ended" => &[SaleState::Ended],
        _ => &[SaleState::Live, SaleState::Paused, SaleState::Scheduled, SaleState::Ended],
    }
}

impl ArchivePage {
    fn filters(&self) -> [(&'static str, &'static str); 4] {
        let t = self.chrome.text();
        [("", t.common.all), ("now", t.shop.list_live), ("next", t.shop.list_next), ("ended", t.admin.state_ended)]
    }

    fn is_current(&self, filter: &str) -> bool {
        self.show == filter
    }

    /// The categories as values of the query, with their names.
    fn categories(&self) -> Vec<(String, &str)> {
        let named = self.choices.iter().map(|category| (category.id.to_string(), self.chrome.say(&category.name)));
        std::iter::once((String::new(), self.chrome.text().common.all)).chain(named).collect()
    }

    fn is_category(&self, category: &str) -> bool {
        self.category == category
    }

    /// The address of this search with another filter, or of its next page.
    fn link(&self, show: &str, before: Option<&SaleId>) -> String {
        self.address(show, &self.category, before)
    }

    fn category_link(&self, category: &str) -> String {
        self.address(&self.show, category, None)
    }

    fn address(&self, show: &str, category: &str, before: Option<&SaleId>) -> String {
        let before = before.map(ToString::to_string).unwrap_or_default();
        let query = link_query([("q", &self.query), ("show", show), ("category", category), ("before", &before)]);
        let mark = if query.is_empty() { "" } else { "?" };
        format!("/{}/archive{mark}{query}", self.chrome.locale)
    }
}
