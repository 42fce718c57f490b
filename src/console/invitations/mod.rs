pub mod api;
pub mod input;
pub mod page;
pub mod view;
