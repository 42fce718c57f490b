//! HTTP: every address of the shop, and what surrounds the handlers.
//!
//! `server` takes connections, the `door` lets them in, `connection` answers on one. `router` shows all addresses, grouped by who calls. Around the handlers stands `guard`: one frame that every request
//! passes, with the request's id, the security headers, and what an error looks like to a program or to a person.
//! Handlers parse (`input`, `session`, `visitor`), call one function of the shop, and render; how long an answer may be
//! kept is said in terms of `cache`.

pub mod router;

mod connection;
pub mod door;
pub mod guard;
pub mod server;

pub mod client;
pub mod input;
pub mod session;
pub mod visitor;

pub mod cache;
pub mod negotiate;

pub mod account_pages;
pub mod address_pages;
pub mod cashier;
pub mod order_address;
pub mod order_pages;
pub mod own_pages;
pub mod packet_giving;
pub mod packet_pages;
pub mod pages;
pub mod wallet_pages;

pub mod api;

pub mod admin;

pub mod ops;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::accounts::Accounts;
use crate::catalogue::Catalogue;
use crate::clock::Clock;
use crate::cockpit::Cockpit;
use crate::config::WebConfig;
use crate::control::desk::Desk;
use crate::gate::Gate;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::orders::Orders;
use crate::orders::dead_letters::DeadLetters;
use crate::orders::payment::Payments;
use crate::packets::Packets;
use crate::pages::Publisher;
use crate::pictures::Pictures;
use crate::store::Store;
use crate::till::Till;

pub use router::router;
pub use server::serve;

/// Everything that handlers may use. Built in `app`.
pub struct Shop {
    pub config: WebConfig,
    pub clock: Clock,
    pub store: Store,
    pub catalogue: Arc<Catalogue>,
    pub gate: Arc<Gate>,
    pub till: Till,
    pub orders: Orders,
    pub payments: Payments,
    pub packets: Packets,
    pub desk: Desk,
    pub cockpit: Cockpit,
    pub dead_letters: DeadLetters,
    pub accounts: Arc<Accounts>,
    pub pages: Arc<Publisher>,
    pub metrics: Arc<Metrics>,
    pub health: Health,
    pub pictures: Pictures,
}
