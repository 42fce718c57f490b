//! Fixtures for tests: shops in processes of their own, shoppers, clients, proxies.

mod broker;
mod client;
mod fixture;
mod load;
mod nginx;
mod other_shop;
mod ports;
mod process;
mod proxy;
mod redis_server;
mod rung;
mod sale;
mod shop;
mod shopper;
mod stack;
mod wait;

pub use broker::{Broker, order_count};
pub use client::{Answer, Client, Connections, RequestBuilder};
pub use fixture::{Fixture, WAITS_FOR_A_LOCK, manage, on_database, on_postgres, sessions};
pub use load::{Load, ShopperOutcome};
pub use nginx::Nginx;
pub use other_shop::OtherShop;
pub use ports::free_address;
pub use process::{PROGRAM, Process, Settings, clock_library, program, run, set_clock};
pub use proxy::Proxy;
pub use redis_server::{RedisServer, redis_at, redis_words};
pub use rung::Rung;
pub use sale::{NewSale, joining};
pub use shop::{ADMIN_PASSWORD, Plan, SECRET, Shop};
pub use shopper::{Shopper, all_become, expired_token, forged_cookie, old_cookie, user_id};
pub use stack::Stack;
pub use wait::{eventually, pause, seed, until};
