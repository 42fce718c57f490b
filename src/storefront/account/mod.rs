pub mod api;
pub mod changes;
pub mod mail_address;
pub mod page;
pub mod push_api;
pub mod view;
