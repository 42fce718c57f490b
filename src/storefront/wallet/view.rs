//! The wallet of a signed-in user.

use askama::Template;
use jiff::Timestamp;

use domain::ledger::money;
use domain::{Money, SaleId};
use pages::filters;
use store::{EntrySubject, WalletEntry};
use web::shared::FieldError;
use web::views::Chrome;
use words::field_error;

/// Money that is set aside for a sale.
#[derive(Debug)]
pub struct HeldDeposit {
    pub sale_id: SaleId,
    /// Empty for a sale that is not in the catalogue.
    pub goods_name: String,
    pub amount: Money,
    pub held_at: Timestamp,
}

/// The balance, the top-up form, and the entries, newest first.
#[derive(Debug, Template)]
#[template(path = "wallet/wallet.html")]
pub struct WalletPage {
    pub chrome: Chrome,
    pub balance: Money,
    /// The deposits for sales, and their sum.
    pub deposits: Vec<HeldDeposit>,
    pub set_aside: Money,
    /// The sale that the top-up is for. The page leads back there.
    pub sale: Option<SaleId>,
    /// The names of the providers that take top-ups. Without one the wallet cannot be topped up.
    pub offers: Vec<&'static str>,
    pub entries: Vec<WalletEntry>,
    /// A cursor for `?before=`; `None` on the last page.
    pub older: Option<String>,
    /// Whether this is not the first page.
    pub is_later: bool,
    /// The amount of the form, as entered.
    pub typed: String,
    pub errors: Vec<FieldError>,
}

impl WalletPage {
    fn error_text(&self) -> Option<&'static str> {
        self.errors.first().map(|error| field_error(self.chrome.locale, error.code))
    }

    /// The amount with its sign, even if positive.
    fn signed(&self, entry: &WalletEntry) -> String {
        let sign = if entry.amount > 0 { "+" } else { "" };
        format!("{sign}{}", money(entry.amount))
    }

    /// The path of the thing that the entry is about, and the text of the link.
    fn link(&self, entry: &WalletEntry) -> Option<(String, &'static str)> {
        let (l, t) = (self.chrome.locale, &self.chrome.text().wallet);
        match entry.about? {
            EntrySubject::Order { sale_id, id } => Some((format!("/{l}/orders/{sale_id}/{id}"), t.see_order)),
            EntrySubject::Packet { id } => Some((format!("/{l}/packets/{id}"), t.see_packet)),
            EntrySubject::Sale { id } => Some((format!("/{l}/sales/{id}"), t.see_sale)),
            EntrySubject::Payment { .. } => None,
        }
    }
}
