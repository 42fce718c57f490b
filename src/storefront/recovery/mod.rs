pub mod api;
pub mod link;
pub mod page;
pub mod view;
