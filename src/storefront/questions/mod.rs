pub mod api;
pub mod draft;
pub mod page;
pub mod view;
