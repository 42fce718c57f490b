//! Everything HTTP.
//!
//! [`server`] accepts connections within the limits of [`server::limits`]. [`router`] wraps the routes of the storefront and
//! the console in the [`middleware`]: request id, same-origin check, security headers, panics, and the form of an error for
//! a program or a browser; [`security`] tells it which answers are security events. [`idempotency`] stores the answers of
//! requests that may be sent again, and [`step_up`] asks for the password before some. A handler parses ([`extract`]),
//! calls one function, and renders. [`problem`] is the one table from errors to statuses, [`cache_policy`] the one place for
//! cache headers. What the crates above have in common is in [`shared`] and [`views`]; what most handlers need of all this
//! is exported here, and every extractor by [`extract`].

pub mod account_limits;
pub mod cache_policy;
pub mod document;
pub mod extract;
pub mod idempotency;
pub mod middleware;
pub mod ops;
pub mod packets;
pub mod problem;
pub mod query_keys;
pub mod questions;
pub mod receipts;
pub mod router;
pub mod security;
pub mod server;
pub mod shared;
pub mod step_up;
pub mod views;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::response::Response;

use crate::document::Document;
use crate::extract::client::UnnamedProxies;
use crate::questions::Questions;
use ::pages::Publisher;
use ::pages::pictures::Pictures;
use accounts::Accounts;
use accounts::security_events::SecurityEvents;
use base::clock::Clock;
use base::config::WebConfig;
use base::jws::JsonSigner;
use base::metrics::Metrics;
use base::rate_limit::UserLimit;
use base::revalidating_cache::RevalidatingCache;
use base::signing::Signer;
use control::cockpit::Cockpit;
use control::cockpit::report::Digests;
use control::sales_admin::SalesAdmin;
use domain::SaleId;
use engine::catalogue::Catalogue;
use engine::eligibility::Eligibility;
use engine::entries::Entries;
use engine::gate::Gate;
use engine::health::Health;
use engine::packets::Packets;
use engine::pipeline::dead_letters::DeadLetters;
use engine::purchase::Purchases;
use engine::waiting_rooms::WaitingRooms;
use engine::waitlist::WaitlistRequests;
use futures::future::BoxFuture;
use mail::Letters;
use mail::push::VapidKeys;
use mail::webhooks::Webhooks;
use orders::Orders;
use payments::staff_refunds::StaffRefunds;
use payments::{Payments, Sandbox};
use store::{Store, StoreError};

pub use account_limits::EventStreams;
pub use cache_policy::Cache;
pub use idempotency::{NotKept, Repeatable};
pub use problem::{Code, FieldProblem, Problem};
pub use router::router;
pub use shared::negotiation::{created, no_content, personal, private, see_other, versioned};
pub use shared::pagination::{Cursor, DEFAULT_PAGE_SIZE, LARGE_PAGE_SIZE};
pub use shared::{FieldError, NoticeQuery, goods_name_and_cover};
pub use views::error_text;

/// What a handler gives: a response, or the problem that is answered instead.
pub type Answer<T = Response> = Result<T, Problem>;

/// What handlers use. The program builds it (`app`).
pub struct Shop {
    pub config: WebConfig,
    pub document: &'static LazyLock<Document>,
    pub clock: Clock,
    pub store: Store,
    pub catalogue: Arc<Catalogue>,
    pub gate: Arc<Gate>,
    pub purchases: Purchases,
    pub eligibility: Arc<Eligibility>,
    pub waiting_rooms: Arc<WaitingRooms>,
    pub entries: Entries,
    pub waitlist: WaitlistRequests,
    pub questions: Questions,
    pub orders: Orders,
    pub payments: Payments,
    pub staff_refunds: StaffRefunds,
    /// The sandbox provider, whose cashier this shop has while it is on.
    pub sandbox: Option<Arc<Sandbox>>,
    pub packets: Packets,
    pub sales_admin: SalesAdmin,
    pub cockpit: Cockpit,
    pub digests: Arc<Digests>,
    pub dead_letters: DeadLetters,
    pub accounts: Arc<Accounts>,
    pub security: SecurityEvents,
    pub pages: Arc<Publisher>,
    pub metrics: Arc<Metrics>,
    pub health: Health,
    pub pictures: Pictures,
    pub streams: EventStreams,
    pub letters: Letters,
    /// Signs the passes with which called shoppers go to another shop.
    pub passes: JsonSigner,
    /// Signs the cookies of browsers that a proxy let into another shop.
    pub admissions: Signer,
    /// The key that browsers subscribe to.
    pub push: Arc<VapidKeys>,
    /// Signs events for programs of the merchant.
    pub webhooks: Arc<Webhooks>,
    /// Whether a mail server is configured. Without one, owners read links in the console.
    pub sends_mail: bool,
    /// How many accounts have a reminder of a sale.
    pub reminder_counts: ReminderCounts,
    /// How long an order waits for its payment.
    pub payment_window: Duration,
    pub unnamed_proxies: UnnamedProxies,
    /// How often an account reads its lists.
    pub lists: UserLimit,
    /// `None` where real money is taken.
    pub send_crowd: Option<SendCrowd>,
}

/// Sends a simulated crowd through the shop, and returns the sale to which it comes.
pub type SendCrowd = Arc<dyn Fn() -> BoxFuture<'static, anyhow::Result<SaleId>> + Send + Sync>;

/// How many accounts have a reminder, by sale.
pub type ReminderCounts = RevalidatingCache<SaleId, i64, StoreError>;

/// Sales whose count is kept. Few are awaited at a time.
const MAX_COUNTED_SALES: usize = 256;

pub fn reminder_counts(clock: Clock) -> ReminderCounts {
    RevalidatingCache::new("reminders of sales", MAX_COUNTED_SALES, clock)
}
