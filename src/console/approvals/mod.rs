pub mod api;
mod decisions;
pub mod page;
pub mod view;
