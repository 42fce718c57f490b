//! Helpers that pages, console and API have in common. Handlers and [`super::views`] import from here; nothing here imports
//! from them.

pub mod account;
pub mod goods;
pub mod invitations;
pub mod onward;
pub mod packet_form;
pub mod question_draft;
pub mod reveal;
pub mod sale_form;
pub mod token;
pub mod user_search;
pub mod wallet;

pub mod audit_log_query;
pub mod books_query;
pub mod checklist_text;
pub mod order_search;
pub mod security_query;

pub mod time_zone;
pub mod validation;

pub mod links;
pub mod list_view;
pub mod pagination;
pub mod paths;

pub mod csv;
pub mod negotiation;
pub mod response;

use serde::Deserialize;

use crate::problem::Problem;

/// The query of a page after a redirect: the action that it reports as done. Unknown values show nothing.
#[derive(Deserialize)]
pub struct NoticeQuery {
    #[serde(default)]
    pub done: String,
}

/// As [`NoticeQuery`], after an action on a sale.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct SaleNoticeQuery {
    pub done: String,
    /// How far the stock has the change, such as `6-8` parts; empty when it is complete.
    pub applied: String,
}

/// A form's error in one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldError {
    pub field: &'static str,
    pub code: &'static str,
}

impl FieldError {
    pub fn new(field: &'static str, code: &'static str) -> FieldError {
        FieldError { field, code }
    }
}

impl From<FieldError> for Problem {
    fn from(FieldError { field, code }: FieldError) -> Self {
        Problem::invalid_field(field, code)
    }
}
