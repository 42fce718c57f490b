//! What the program does besides running the shop.

pub mod audit;
pub mod demo;
pub mod doctor;
