//! The administrator's pages.

mod calendar;
mod cockpit;
mod people;
mod sale_form;
mod sales;

pub use calendar::{CalendarDay, CalendarPage, CalendarSale};
pub use cockpit::{CockpitPage, DeadLettersPage};
pub use sale_form::{AdminSaleForm, AdminSaleLocked, CheckList};
pub use sales::{AdminSale, AdminSalesPage, SaleGroup, admin_notice};

use askama::Template;

pub use people::{AdminLogPage, StaffPage, UserPage, UsersPage};

use super::Chrome;
use crate::domain::GoodsId;
use crate::pages::filters;
use crate::pages::text::field_error;

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

/// Making or changing goods.
#[derive(Debug, Template)]
#[template(path = "admin/goods_form.html")]
pub struct AdminGoodsForm {
    pub chrome: Chrome,
    /// `None` for new goods.
    pub id: Option<GoodsId>,
    pub name_zh: String,
    pub name_en: String,
    pub description_zh: String,
    pub description_en: String,
    /// The present picture; posted back as `kept_image`, so that an accepted upload survives a mistake elsewhere.
    pub image: String,
    pub errors: Vec<FieldError>,
}

impl AdminGoodsForm {
    fn complaint(&self, field: &str) -> Option<&'static str> {
        complaint(&self.chrome, &self.errors, field)
    }

    fn label<'a>(&self, field: &'a str) -> &'a str {
        label(&self.chrome, field)
    }
}

#[cfg(test)]
pub(in crate::pages) mod tests;
