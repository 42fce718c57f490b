//! Categories, into which the shop sorts its goods.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Bilingual, CategoryId};

/// Categories of one shop: they are one line of links on its pages.
pub const MAX_CATEGORIES: usize = 50;

/// A group of goods with a name and a page of its own. Goods are in one category or in none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Category {
    pub id: CategoryId,
    pub name: Bilingual,
    /// Time of the last change of the name. It increases with every change.
    pub updated_at: Timestamp,
}

impl Category {
    /// Changes with every change of the name. Reordering the categories changes no version.
    pub fn version(&self) -> i64 {
        self.updated_at.as_millisecond()
    }
}

/// The category with this id; `None` if `all` does not contain it.
pub fn category_of(all: &[Category], id: Option<CategoryId>) -> Option<&Category> {
    let id = id?;
    all.iter().find(|category| category.id == id)
}
