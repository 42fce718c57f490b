//! The console's pages.

mod audit_log;
mod calendar;
mod cockpit;
mod dead_letters;
mod goods;
mod orders;
mod packets;
mod sale_form;
mod sales;
#[cfg(test)]
mod tests;
mod users;

pub use audit_log::AdminLogPage;
pub use calendar::{CalendarDay, CalendarPage, CalendarSale};
pub use cockpit::CockpitPage;
pub use dead_letters::DeadLettersPage;
pub use goods::{AdminGoodsForm, AdminGoodsList, GalleryRow, UploadError};
pub use orders::{AdminOrderPage, AdminOrdersPage, OrderFilter, OrderRow, PaymentLine, StaffActionFormState};
pub use packets::{AdminPacketForm, AdminPacketPage, AdminPacketsPage};
pub use sale_form::{AdminSaleForm, AdminSaleLocked, CheckList};
pub use sales::{AdminSale, AdminSalesPage, SaleGroup, admin_notice};
pub use users::{StaffPage, UserPage, UsersPage};

use super::Chrome;
use crate::i18n::field_error;
use crate::web::shared::FieldError;

/// The text of a field's error, if it has one.
fn error_text(chrome: &Chrome, errors: &[FieldError], field: &str) -> Option<&'static str> {
    let error = errors.iter().find(|error| error.field == field)?;
    Some(field_error(chrome.locale, error.code))
}

/// The label of a field.
fn label<'a>(chrome: &Chrome, field: &'a str) -> &'a str {
    chrome.text().admin.entries().find(|(key, _)| *key == field).map_or(field, |(_, words)| words)
}
