//! Sizes of pages, in items, and the cursor in a query.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::FieldError;

/// Lists of one shopper: orders, wallet entries, packets on pages.
pub const DEFAULT_PAGE_SIZE: usize = 20;

/// Lists of the console, and packets in the API.
pub const LARGE_PAGE_SIZE: usize = 50;

/// The largest size that a client may request with `limit`.
pub const MAX_PAGE_SIZE: usize = 200;

/// A cursor in a query: the `next` of the page before. Every list reads its cursor with this, so that a text that
/// cannot be a cursor of the list is refused in the same way everywhere. An empty cursor means the first page.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Cursor(String);

impl JsonSchema for Cursor {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Cursor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "description": "`next` of the page before."})
    }
}

impl Cursor {
    pub fn is_given(&self) -> bool {
        !self.0.is_empty()
    }

    /// The cursor, or the error of this field.
    pub fn read<T: FromStr>(&self, field: &'static str) -> Result<Option<T>, FieldError> {
        let given = Some(self.0.as_str()).filter(|text| !text.is_empty());
        given.map(str::parse).transpose().map_err(|_| FieldError::new(field, "bad_cursor"))
    }
}

/// The query of a list that has no other keys.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BeforeQuery {
    pub before: Cursor,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_cursor_is_the_first_page_and_a_malformed_one_an_error() {
        let read = |text: &str| Cursor(text.to_owned()).read::<u32>("before");
        assert_eq!(read(""), Ok(None));
        assert_eq!(read("7"), Ok(Some(7)));
        assert_eq!(read(" 7"), Err(FieldError::new("before", "bad_cursor")));
    }
}
