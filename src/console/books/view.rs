//! The console's page of the books.

use askama::Template;

use crate::books::query::BooksQuery;
use domain::ledger::{AccountKind, TrialBalanceLine};
use pages::filters;
use store::Period;
use web::shared::FieldError;
use web::shared::paths::link_query;
use web::views::{Chrome, error_text};

/// The trial balance of a period.
#[derive(Debug, Template)]
#[template(path = "books/books.html")]
pub struct BooksPage {
    pub chrome: Chrome,
    pub query: BooksQuery,
    /// `None` if it could not be read.
    pub period: Option<Period>,
    pub lines: Vec<TrialBalanceLine>,
    pub errors: Vec<FieldError>,
}

impl BooksPage {
    fn error_text(&self, field: &str) -> Option<&'static str> {
        error_text(&self.chrome, &self.errors, field)
    }

    /// A field's value: as entered, or the day of the period.
    fn value(&self, field: &str) -> String {
        let entered = if field == "from" { &self.query.from } else { &self.query.to };
        match self.period {
            Some(period) if entered.is_empty() && field == "from" => {
                period.from.to_zoned(self.chrome.shop.zone()).strftime("%Y-%m-%d").to_string()
            }
            _ => entered.clone(),
        }
    }

    fn name(&self, line: &TrialBalanceLine) -> &'static str {
        let t = &self.chrome.text().books;
        match line.account {
            AccountKind::User => t.account_user,
            AccountKind::Deposit => t.account_deposit,
            AccountKind::Packet => t.account_packet,
            AccountKind::Shop => t.account_shop,
            AccountKind::Held => t.account_held,
            AccountKind::Provider => t.account_provider,
        }
    }

    /// The path of the journal of the same period.
    fn export_path(&self) -> String {
        let query = link_query([("from", &self.query.from), ("to", &self.query.to)]);
        format!("/api/admin/books/journal.csv?{query}")
    }
}
