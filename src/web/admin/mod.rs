//! The console: pages for the shop's staff, who see and do what their duties allow ([`super::session::Staff`]).

pub mod calendar;
pub mod cockpit;
pub mod dead_letters;
pub mod desk;
pub mod goods;
pub mod goods_input;
pub mod input;
pub mod log;
pub mod order_search;
pub mod orders;
pub mod orders_csv;
pub mod packets;
pub mod sale_form;
pub mod sale_typed;
pub mod staff;
pub mod users;
