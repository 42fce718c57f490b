pub mod api;
pub mod page;
