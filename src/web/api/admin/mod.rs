//! The staff's API: the actions of the console, for programs.

pub mod goods;
pub mod sales;

pub mod live;

pub mod dead_letters;

pub mod orders;

pub mod packets;

pub mod accounts;

pub mod audit_log;
