//! The administrator's pages.

mod cockpit;
mod goods;

pub use cockpit::{CockpitPage, DeadLettersPage};
pub use goods::{AdminGoodsForm, AdminGoodsList, GalleryRow, UploadComplaint};

use askama::Template;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Chrome;
use crate::domain::sale::SaleMove;
use crate::domain::{Goods, Phase, Sale, SaleState};
use crate::pages::filters;
use crate::pages::text::field_error;

/// A sale with its numbers, as far as they are known: `None` where no such engine is configured or it did not answer.
#[derive(Debug)]
pub struct AdminSale {
    pub sale: Sale,
    pub goods_name: String,
    pub phase: Phase,
    pub booked: Option<i64>,
    pub access: Option<i64>,
    pub outbox: Option<i64>,
    pub unpaid: i64,
    pub paid: i64,
}

impl AdminSale {
    /// The moves that the present state allows.
    fn moves(&self) -> impl Iterator<Item = SaleMove> {
        let state = self.sale.state;
        let all = [SaleMove::Start, SaleMove::Resume, SaleMove::Pause, SaleMove::Stop];
        all.into_iter().filter(move |action| state.after(*action).is_ok())
    }

    fn is_over(&self) -> bool {
        self.sale.state == SaleState::Ended
    }

    /// The numbers with the names that the script knows them by.
    fn numbers(&self, chrome: &Chrome) -> [(&'static str, &'static str, Option<i64>); 7] {
        let t = &chrome.text().admin;
        [
            ("total", t.col_total, Some(self.sale.total)),
            ("booked", t.col_booked, self.booked),
            ("sold", t.col_sold, Some(self.sale.sold)),
            ("access", t.col_access, self.access),
            ("outbox", t.col_outbox, self.outbox),
            ("unpaid", t.col_unpaid, Some(self.unpaid)),
            ("paid", t.col_paid, Some(self.paid)),
        ]
    }
}

/// All sales with their live numbers and what can be done with them.
#[derive(Debug, Template)]
#[template(path = "admin/sales.html")]
pub struct AdminSalesPage {
    pub chrome: Chrome,
    pub sales: Vec<AdminSale>,
    /// Something the administrator should know, shown on top.
    pub warning: Option<String>,
}

impl AdminSalesPage {
    fn verb(&self, action: &SaleMove) -> &'static str {
        let t = &self.chrome.text().admin;
        match action {
            SaleMove::Start => t.start,
            SaleMove::Pause => t.pause,
            SaleMove::Resume => t.resume,
            SaleMove::Stop => t.stop,
        }
    }

    fn consequence(&self, action: &SaleMove) -> &'static str {
        let t = &self.chrome.text().admin;
        match action {
            SaleMove::Start => t.start_text,
            SaleMove::Pause => t.pause_text,
            SaleMove::Resume => t.resume_text,
            SaleMove::Stop => t.stop_text,
        }
    }
}

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

/// Making a sale. All values are as typed.
#[derive(Debug, Template)]
#[template(path = "admin/sale_form.html")]
pub struct AdminSaleForm {
    pub chrome: Chrome,
    pub goods: Vec<Goods>,
    pub goods_id: String,
    pub price: String,
    pub list_price: String,
    pub total: String,
    pub per_user_limit: String,
    /// RFC 3339 in UTC from the script, or without it `2026-11-21T20:00`, which also means UTC.
    pub opens_at: String,
    pub closes_at: String,
    pub errors: Vec<FieldError>,
}

impl AdminSaleForm {
    fn complaint(&self, field: &str) -> Option<&'static str> {
        complaint(&self.chrome, &self.errors, field)
    }

    fn label<'a>(&self, field: &'a str) -> &'a str {
        label(&self.chrome, field)
    }

    fn chosen(&self, goods: &Goods) -> bool {
        self.goods_id == goods.id.to_string()
    }
}

/// What a `datetime-local` field can show, in UTC, of a time as it was posted.
fn for_time_field(posted: &str) -> String {
    match posted.parse::<Timestamp>() {
        Ok(at) => at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S").to_string(),
        Err(_) => posted.to_owned(),
    }
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
