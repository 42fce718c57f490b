pub mod api;
pub mod fields;
pub mod page;
pub mod query;
pub mod view;
pub mod words;
