//! Texts about the whole shop that staff write, such as terms and returns.

use jiff::Timestamp;
use serde::Serialize;

use super::Bilingual;
use super::wire::wire_enum;

wire_enum! {
    /// The name of a text in its URL.
    pub enum ShopPageName {
        Returns = "returns",
        Contact = "contact",
        Terms = "terms",
        Privacy = "privacy",
        /// The licence line of a business, and the licences of what it uses.
        Licence = "licence",
    }
}

/// One text in Markdown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShopPage {
    pub name: ShopPageName,
    pub text: Bilingual,
    /// Time of the last change. It increases with every change. `None` for a page that is not written yet.
    pub updated_at: Option<Timestamp>,
}

impl ShopPage {
    pub fn unwritten(name: ShopPageName) -> ShopPage {
        ShopPage { name, text: Bilingual::new("", ""), updated_at: None }
    }

    /// Changes with every change of the page; 0 for one that is not written yet.
    pub fn version(&self) -> i64 {
        self.updated_at.map_or(0, Timestamp::as_millisecond)
    }
}
