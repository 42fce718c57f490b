//! The administrator's pages.

mod cockpit;
mod goods;

pub use cockpit::{CockpitPage, DeadLettersPage};
mod calendar;
mod sale_form;
mod sales;

pub use calendar::{CalendarDay, CalendarPage, CalendarSale};
pub use goods::{AdminGoodsForm, AdminGoodsList, GalleryRow, UploadComplaint};
pub use sale_form::{AdminSaleForm, AdminSaleLocked, CheckList};
pub use sales::{AdminSale, AdminSalesPage, SaleGroup, admin_notice};
mod orders;

use askama::Template;
use jiff::Timestamp;

use super::Chrome;
use crate::pages::filters;
use crate::pages::text::field_error;

pub use orders::{AdminOrderPage, AdminOrdersPage, Asking, OrderFilter, OrderRow, PaymentLine};

/// A mistake in one field of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldError {
    pub field: &'static str,
    pub code: &'static str,
}

/// What is wrong with a field, in words.
fn complaint(chrome: &Chrome, errors: &[FieldError], field: &str) -> Option<&'static str> {
    let error = errors.iter().find(|e| e.field == field)?;
    Some(field_error(chrome.locale, error.code))
}

/// What a field is called.
fn label<'a>(chrome: &Chrome, field: &'a str) -> &'a str {
    chrome.text().admin.entries().find(|(key, _)| *key == field).map_or(field, |(_, words)| words)
}

/// One action of an administrator.
#[derive(Debug)]
pub struct AuditRow {
    pub at: Timestamp,
    pub actor: String,
    pub action: String,
    pub subject: String,
    pub before: String,
    pub after: String,
}

/// Who did what, newest first.
#[derive(Debug, Template)]
#[template(path = "admin/log.html")]
pub struct AdminLogPage {
    pub chrome: Chrome,
    pub rows: Vec<AuditRow>,
}

#[cfg(test)]
pub(in crate::pages) mod tests;
