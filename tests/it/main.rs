//! Integration tests: real processes, real services, HTTP.
//!
//! `cargo nextest run` runs the tests that need nothing but the workspace. Tests that need services are in modules named
//! `stack`, tests that break services in `faults` (see `.config/nextest.toml`). `scripts/test` starts the services and
//! runs everything.

#[macro_use]
mod cases;

mod support;

mod contract;

mod audit;
mod books;
mod buckets;
mod chances;
mod checklist;
mod clocks;
mod connections;
mod dead_letters;
mod deposits;
mod edge;
mod faults;
mod gathering;
mod grants;
mod http;
mod intake;
mod isolation;
mod lists;
mod mail;
mod master;
mod messages;
mod migrations;
mod open_packets;
mod order_changes;
mod outages;
mod outbox;
mod packet_sync;
mod payment_provider;
mod plans;
mod ports;
mod rehearse;
mod sessions;
mod stock;
mod tls;
mod torture;
mod wallet;

mod browser;
