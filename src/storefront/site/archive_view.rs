//! All sales that were ever announced, with a search.

use std::sync::Arc;

use askama::Template;

use domain::{Category, SaleId, SaleState};
use engine::catalogue::CatalogueEntry;
use pages::action::action;
use pages::discount::discount_label;
use pages::filters;
use web::shared::links::link_query;
use web::views::Chrome;

#[derive(Template)]
#[template(path = "site/archive.html")]
pub struct ArchivePage {
    pub chrome: Chrome,
    /// The search as entered.
    pub query: String,
    /// The states that are shown, as in the query; empty for all.
    pub show: String,
    /// The category that is shown, as in the query; empty for all.
    pub category: String,
    /// The categories to choose from.
    pub choices: Vec<Category>,
    /// Newest first.
    pub sales: Vec<Arc<CatalogueEntry>>,
    /// Sales that were found on all pages.
    pub found: usize,
    /// A cursor for `?before=`; `None` on the last page.
    pub older: Option<SaleId>,
    /// Whether this is not the first page.
    pub is_later: bool,
}

/// The states behind the value of a filter; all for an unknown one.
pub fn shown_states(show: &str) -> &'static [SaleState] {
    match show {
        "now" => &[SaleState::Live, SaleState::Paused],
        "next" => &[SaleState::Scheduled],
        "ended" => &[SaleState::Ended],
        _ => &[SaleState::Live, SaleState::Paused, SaleState::Scheduled, SaleState::Ended],
    }
}

impl ArchivePage {
    fn filters(&self) -> [(&'static str, &'static str); 4] {
        let t = &self.chrome.text().archive;
        [("", t.show_all), ("now", t.show_now), ("next", t.show_next), ("ended", t.show_ended)]
    }

    fn is_current(&self, filter: &str) -> bool {
        self.show == filter
    }

    /// The categories as values of the query, with their names.
    fn categories(&self) -> Vec<(String, &str)> {
        let named = self.choices.iter().map(|category| (category.id.to_string(), self.chrome.say(&category.name)));
        std::iter::once((String::new(), self.chrome.text().categories.all)).chain(named).collect()
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
