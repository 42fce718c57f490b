//! Categories, into which the shop sorts its goods.

use jiff::Timestamp;
use serde::Serialize;

use super::{Bilingual, CategoryId};

/// Categories of one shop: they are one line of links on its pages.
pub const MAX_CATEGORIES: usize = 50;

/// A group of goods with a name and a page of its own. Goods are in one category or in none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Category {
    pub id: CategoryId,
    pub name: Bilingual,
    /// Later with every change of the name.
    pub updated_at: Timestamp,
}

impl Category {
    /// Changes with every change of the name. The order of the categories belongs to none of them.
    pub fn version(&self) -> i64 {
        self.updated_at.as_millisecond()
    }
}

/// The category with this id, if it is among them.
pub fn category_of(all: &[Category], id: Option<CategoryId>) -> Option<&Category> {
    let id = id?;
    all.iter().find(|category| category.id == id)
}
