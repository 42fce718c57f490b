//! Seckill: a shop that sells a few units of something many people want, at one instant. Nearly every request must lose,
//! so the design is: lose cheaply, win exactly once, and never lose a winner.
//!
//! # One purchase, start to finish
//!
//! 1. The page is a pre-rendered file ([`pages`]) that any cache may keep.
//! 2. Its script polls the button ([`gate`]), which is served from memory.
//! 3. Once the sale is open, a signed-in shopper gets a token ([`gate`]) and sends a buying request ([`purchase`]).
//! 4. The gate refuses most requests without I/O. The others become claims in a batch ([`batching`]), which Redis or the
//!    database decides as a whole ([`stock`]).
//! 5. The reserving script also appends the granted claims to the outbox. The relay publishes them to RabbitMQ, and the
//!    consumer persists them in the database ([`pipeline`]).
//! 6. The order is paid ([`payments`]), or it expires or is cancelled and its units return to the stock ([`orders`]).
//! 7. Data control keeps Redis in sync with the database throughout ([`control`]).
//! 8. Every process counts requests per sale ([`counters`]); the cockpit shows the totals live ([`cockpit`]). A rehearsal
//!    runs all of it beforehand with a simulated crowd ([`rehearse`]).
//!
//! Red packets take the same path: shares are claimed from [`packets`] as units are from [`stock`].
//!
//! # Layers
//!
//! A module imports only modules that are declared below it; `tests/layers.rs` checks this. The configured addresses alone
//! determine the backends of stock and orders.

// The process.
pub mod cli;

pub mod app;

pub mod rehearse;

// HTTP, monitoring, administration.
pub mod web;

pub mod cockpit;

pub mod control;

// One purchase: admission, then stock; red packets likewise.
pub mod packets;

pub mod purchase;

pub mod waitlist;

pub mod gate;

pub mod entries;

pub mod waiting_rooms;

// One order: its way to the database, payment, expiry.
pub mod payments;

pub mod orders;

pub mod health;

pub mod pipeline;

// Messages to the owners of accounts.
pub mod mail;

// Files for browsers.
pub mod pictures;

pub mod pages;

pub mod i18n;

pub mod plot;

// Units, accounts and rows.
pub mod stock;

pub mod eligibility;

pub mod questions;

pub mod accounts;

pub mod catalogue;

pub mod security_events;

pub mod store;

pub mod redis;

pub mod batching;

// Used everywhere.
pub mod counters;

pub mod metrics;

pub mod rate_limit;

pub mod slots;

pub mod revalidating_cache;

pub mod config;

pub mod tls;

pub mod domain;

pub mod cipher;

pub mod signing;

pub mod webauthn;

pub mod periodic;

pub mod lifecycle;

pub mod private_files;

pub mod clock;

#[cfg(test)]
mod fuzz;
