pub mod api;
pub mod mail;
pub mod mail_view;
pub mod page;
pub mod search;
pub mod staff;
pub mod view;
