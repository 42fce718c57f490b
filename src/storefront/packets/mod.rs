pub mod api;
pub mod giving;
pub mod page;
pub mod view;
