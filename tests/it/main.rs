//! The program from outside: real processes, real services, HTTP.
//!
//! `cargo nextest run` runs what needs nothing but this crate. What needs services is in modules called `stack`, what
//! breaks them in `faults` (see `.config/nextest.toml`); `scripts/test` starts the services and runs everything.

mod support;

mod contract;

mod away;
mod buckets;
mod checklist;
mod crowded;
mod faults;
mod http;
mod messages;
mod migrations;
mod outbox;
mod rehearse;
mod stock;
mod wallet;

mod browser;
