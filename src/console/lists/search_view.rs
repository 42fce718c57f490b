//! The console's search across pages, sales, orders, users and questions.

use askama::Template;
use serde::Serialize;

use crate::Chrome;
use domain::wire::wire_enum;
use pages::filters;

wire_enum! {
    /// The kinds of hits, in the order in which they are listed.
    pub enum HitKind {
        Page = "page",
        Sale = "sale",
        Order = "order",
        User = "user",
        Question = "question",
    }
}

/// Something that was found, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SearchHit {
    pub kind: HitKind,
    /// The kind in words.
    pub label: &'static str,
    pub title: String,
    /// What distinguishes it from other hits with the same title.
    pub detail: String,
    pub path: String,
}

/// The search results for browsers without scripts.
#[derive(Debug, Template)]
#[template(path = "lists/search.html")]
pub struct SearchPage {
    pub chrome: Chrome,
    /// The search as entered.
    pub q: String,
    pub hits: Vec<SearchHit>,
}
