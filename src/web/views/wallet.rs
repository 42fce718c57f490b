//! The wallet of whoever looks.

use askama::Template;

use super::Chrome;
use crate::domain::Money;
use crate::domain::wallet::money;
use crate::i18n::field_error;
use crate::pages::filters;
use crate::store::{About, WalletEntry};
use crate::web::shared::FieldError;

/// Balance, a form to fill it, and what came and went, newest first.
#[derive(Debug, Template)]
#[template(path = "wallet.html")]
pub struct WalletPage {
    pub chrome: Chrome,
    pub balance: Money,
    pub entries: Vec<WalletEntry>,
    /// A cursor for `?before=`; `None` on the last page.
    pub older: Option<String>,
    /// Whether there are newer ones than on this page.
    pub is_later: bool,
    /// The amount of the form, as typed.
    pub typed: String,
    pub errors: Vec<FieldError>,
}

impl WalletPage {
    fn complaint(&self) -> Option<&'static str> {
        self.errors.first().map(|error| field_error(self.chrome.locale, error.code))
    }

    /// With its sign: what came in has one too.
    fn signed(&self, entry: &WalletEntry) -> String {
        let sign = if entry.amount > 0 { "+" } else { "" };
        format!("{sign}{}", money(entry.amount))
    }

    /// Where more can be read about it, and how the link says so.
    fn link(&self, entry: &WalletEntry) -> Option<(String, &'static str)> {
        let (l, t) = (self.chrome.locale, &self.chrome.text().wallet);
        match entry.about? {
            About::Order { sale_id, id } => Some((format!("/{l}/orders/{sale_id}/{id}"), t.see_order)),
            About::Packet { id } => Some((format!("/{l}/packets/{id}"), t.see_packet)),
            About::Payment { .. } => None,
        }
    }
}
