//! The administrator's pages.

mod calendar;
mod cockpit;
mod goods;
mod orders;
mod packets;
mod people;
mod sale_form;
mod sales;
#[cfg(test)]
pub(in crate::web) mod tests;

pub use calendar::{CalendarDay, CalendarPage, CalendarSale};
pub use cockpit::{CockpitPage, DeadLettersPage};
pub use goods::{AdminGoodsForm, AdminGoodsList, GalleryRow, UploadComplaint};
pub use people::{AdminLogPage, StaffPage, UserPage, UsersPage};
pub use sale_form::{AdminSaleForm, AdminSaleLocked, CheckList};
pub use sales::{AdminSale, AdminSalesPage, SaleGroup, admin_notice};

use super::Chrome;
use crate::i18n::field_error;
use crate::web::shared::FieldError;

pub use packets::{AdminPacketForm, AdminPacketPage, AdminPacketsPage};

pub use orders::{AdminOrderPage, AdminOrdersPage, Asking, OrderFilter, OrderRow, PaymentLine};

/// What is wrong with a field, in words.
fn complaint(chrome: &Chrome, errors: &[FieldError], field: &str) -> Option<&'static str> {
    let error = errors.iter().find(|e| e.field == field)?;
    Some(field_error(chrome.locale, error.code))
}

/// What a field is called.
fn label<'a>(chrome: &Chrome, field: &'a str) -> &'a str {
    chrome.text().admin.entries().find(|(key, _)| *key == field).map_or(field, |(_, words)| words)
}
