pub mod api;
pub mod page;
pub mod query;
pub mod view;
