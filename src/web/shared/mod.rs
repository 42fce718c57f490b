//! What pages, console and API share.

pub mod negotiation;
pub mod order_search;
pub mod validation;

/// A mistake in one field of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldError {
    pub field: &'static str,
    pub code: &'static str,
}
