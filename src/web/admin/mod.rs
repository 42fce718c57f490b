//! The console: pages for the shop's staff, who see and do what their duties allow ([`crate::web::extract::session::Staff`]).

pub mod goods_upload;
pub mod sale_input;
pub mod sales;

pub mod calendar;
pub mod cockpit;
pub mod dead_letters;
pub mod goods;
pub mod log;
pub mod orders;
pub mod orders_csv;
pub mod packets;
pub mod sale_form;
pub mod staff;
pub mod users;
