//! The console: pages for the shop's staff, who see and do what their duties allow ([`super::session::Staff`]).

pub mod calendar;
pub mod cockpit;
pub mod dead_letters;
pub mod desk;
pub mod goods;
pub mod goods_input;
pub mod input;
pub mod log;
pub mod sale_form;
pub mod sale_typed;
pub mod staff;
pub mod users;
