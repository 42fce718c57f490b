//! The console's pages.

mod approvals;
mod audit_fields;
mod audit_log;
mod audit_words;
mod books;
mod bulk;
mod calendar;
mod categories;
mod clusters;
mod cockpit;
mod computing;
mod dead_letters;
mod draws;
mod goods;
mod invitations;
mod mail;
mod orders;
mod overview;
mod packets;
mod payment_cases;
mod questions;
mod report;
mod review;
mod sale_form;
mod sales;
mod saved_views;
mod search;
mod security;
mod step_up;
#[cfg(test)]
mod tests;
mod users;

pub use approvals::ApprovalsPage;
pub use audit_log::AdminLogPage;
pub use audit_words::{LogNames, LogWords};
pub use books::BooksPage;
pub use bulk::{BulkFields, BulkItem, BulkOrderAction, BulkPage, BulkSaleAction, BulkUserAction, BulkVerdict};
pub use calendar::{CalendarCell, CalendarDay, CalendarPage, CalendarSale, CalendarWeek};
pub use categories::{CategoriesPage, CategoryForm, CategoryRow};
pub use clusters::{ClusterPage, ClustersPage, MAX_REVIEWED_ORDERS};
pub use cockpit::CockpitPage;
pub use computing::ComputingPage;
pub use dead_letters::DeadLettersPage;
pub use draws::{AdminDrawPage, RoundFormState};
pub use goods::{AdminGoodsForm, AdminGoodsList, OtherChanges, UploadError};
pub use invitations::{AdminInvitationsPage, InvitationsFormState};
pub use mail::{MailPage, ShownMail};
pub use orders::{AdminOrderPage, AdminOrdersPage, PartialRefundFormState, RevealFormState, StaffActionFormState};
pub use packets::{AdminPacketForm, AdminPacketPage, AdminPacketsPage};
pub use payment_cases::PaymentCasesPage;
pub use questions::{AdminQuestionsPage, AnswerFormState, QuestionNotice};
pub use report::ReportPage;
pub use review::{ReviewForm, ReviewFormState, ReviewNotice};
pub use sale_form::{AdminSaleForm, AdminSaleLocked, CheckList};
pub use sales::{AdminSale, AdminSalesPage, SaleGroup, SaleScope, SaleTabCounts, admin_notice};
pub use saved_views::ListBar;
pub use search::{HitKind, SearchHit, SearchPage};
pub use security::{SecurityPage, SecurityPlot};
pub use step_up::{AdminStepUpPage, SteppedUpPage};
pub use users::{StaffPage, TemporaryPassword, UserPage, UsersPage};

use super::{Chrome, error_text};
use crate::shared::FieldError;

/// The label of a field.
fn label<'a>(chrome: &Chrome, field: &'a str) -> &'a str {
    let t = chrome.text();
    let mut names = t.admin.entries().chain(t.queue_console.entries()).chain(t.eligibility_console.entries());
    names.find(|(key, _)| *key == field).map_or(field, |(_, words)| words)
}
