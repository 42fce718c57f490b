pub mod api;
pub mod changes;
pub mod page;
pub mod upload;
pub mod view;
