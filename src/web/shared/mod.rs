//! Helpers that pages, console and API have in common. Handlers and [`super::views`] import from here; nothing here
//! imports from them.

pub mod approvals;
pub mod goods;
pub mod onward;
pub mod orders;
pub mod questions;
pub mod sessions;
pub mod wallet;

pub mod time_zone;
pub mod validation;

pub mod links;
pub mod pagination;
pub mod paths;

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
    /// How many parts of the stock have the change, such as `6-8`; empty if all have it.
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
