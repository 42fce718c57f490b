//! Seckill: a shop that sells a few units of something many people want, at one instant. Nearly every request must lose,
//! so the whole design is: lose cheaply, win exactly once, and never lose a winner.
//!
//! # One purchase, start to finish
//!
//! 1. The page is a file ([`pages`]); anybody may cache it.
//! 2. Its script asks about the button ([`gate`]), which answers from memory.
//! 3. Once the sale is open a shopper gets a token ([`gate`]) and asks to buy ([`till`]).
//! 4. The gate refuses most without I/O. What it lets in joins a batch ([`stock::batch`]), which Redis or the database
//!    decides as a whole ([`stock`]).
//! 5. The reserving script itself wrote the winners into the outbox; the relay carries them to RabbitMQ, the consumer to
//!    the database ([`orders`]).
//! 6. The order is paid, or cancelled and its units released ([`orders::payment`], [`orders::expiry`]).
//! 7. Data control keeps Redis in step with the database through all of it ([`control`]).
//! 8. Whoever runs the sale watches it live ([`cockpit`]); each sale is counted where it is sold ([`tally`]). Before the
//!    day all of it is tried with a simulated crowd ([`rehearse`]).
//!
//! Red packets go the same way: shares are claimed from [`packets`] as units are bought from [`stock`].
//!
//! Beside that way stand the people ([`accounts`]) and the pictures of the goods ([`pictures`]).
//!
//! Which keeper of stock and which source of orders work follows from the configured addresses alone ([`app`]).

pub mod app;
pub mod config;
pub mod lifecycle;

pub mod domain;

pub mod web;

pub mod accounts;
pub mod error;
pub mod pages;
pub mod pictures;

pub mod catalogue;
pub mod gate;
pub mod till;

pub mod stock;

pub mod orders;

pub mod packets;

pub mod store;

pub mod control;

pub mod cockpit;

pub mod rehearse;

pub mod commands;

pub mod clock;
pub mod health;
pub mod metrics;
pub mod seal;
pub mod tally;
