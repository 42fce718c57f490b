pub mod api;
pub mod page;
pub mod view;
