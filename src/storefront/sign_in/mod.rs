pub mod api;
pub mod contact;
pub mod page;
pub mod view;
