//! Who gets units. One trait, two keepers: Redis (a Lua script decides) and the database (a transaction decides).
//!
//! Requests never come alone: [`batch::Lanes`] gathers what arrives while the previous call is under way and asks for all
//! of it at once. A keeper decides a bucket's batch atomically: every check precedes the first write.
//! A user has one hold per sale; asking again is answered with the first order, so a time-out means "ask again".

pub mod batch;
mod bucket;
pub mod database;
pub mod keys;
pub mod link;
pub mod load;
pub mod probe;
pub mod promises;
pub mod redis;
pub(crate) mod script;
pub mod short;

use async_trait::async_trait;
use jiff::Timestamp;

pub use batch::{Asked, Lane};
pub use bucket::{Bucket, Owner};

use crate::domain::{OrderId, OrderStatus, Sale, SaleId, UserId, Window, sale::SaleState};
use crate::store::Release;

/// One user's wish for units of a sale. The order id becomes the order's if the wish is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    pub user_id: UserId,
    pub order_id: OrderId,
    pub quantity: u32,
}

/// Units that a user holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    pub order_id: OrderId,
    pub quantity: u32,
}

/// What was decided about one claim. Losing is not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The units are held: the order is `reserved`, or `unpaid` where the database itself decided.
    Granted(OrderStatus),
    /// The user held units already; this is the first order.
    Repeated(Hold),
    SoldOut,
    /// None left in the user's bucket, but in others or in the pool: worth another try.
    Busy,
    OverLimit,
    /// Outside the window by the keeper's own clock, or not live.
    NotOpen,
    Ended,
    /// The keeper does not know the sale (yet, or any more); nothing can be said now.
    NotLoaded,
}

/// Nobody can tell what happened: the call may have been carried out. Asking again finds out.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the stock is not available: {0}")]
pub struct Unavailable(pub String);

/// The facts about a sale that the gate judges by. They may be old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    pub state: SaleState,
    pub window: Window,
    pub total: i64,
    pub booked: i64,
    /// Requests let through to the master since the last sync; equals `booked` where there is no such counter.
    pub access: i64,
    /// Rises with every unit that somebody gets to hold, and with every new life of the sale. Says nothing else.
    pub granted: i64,
    pub per_user_limit: i64,
}

impl Facts {
    /// Adds those of another bucket of the same sale. The total is the sale's, in each of them.
    fn add(&mut self, other: &Facts) {
        self.booked += other.booked;
        self.access += other.access;
        self.granted += other.granted;
    }
}

/// Whether the keeper took a sale's new definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defined {
    Yes,
    /// The keeper does not hold the sale; it has to be loaded first.
    NotLoaded,
}

#[async_trait]
pub trait Stock: Send + Sync {
    /// Decides batches of claims, each on one bucket. An answer for each: one decision per claim, in their order.
    async fn reserve(&self, asked: &[Asked<Claim>]) -> Vec<Result<Vec<Decision>, Unavailable>>;

    /// Whose claims are gathered with those of this bucket.
    fn lane(&self, bucket: Bucket) -> Lane;

    /// What the user holds of the sale; `Err` as well when the sale is not loaded, because then nobody can tell.
    async fn hold(&self, sale: SaleId, user: UserId) -> Result<Option<Hold>, Unavailable>;

    /// Takes the new definition of a sale (state, window, total, limit) unless it knows a newer one.
    async fn define(&self, sale: &Sale) -> Result<Defined, Unavailable>;

    /// Gives units back, of each hold that still belongs to the order. The answer are the orders that need no further
    /// call.
    async fn release(&self, releases: &[Release]) -> Result<Vec<OrderId>, Unavailable>;
}

/// Where the gate reads the facts: a replica, or the database.
#[async_trait]
pub trait FactSource: Send + Sync {
    /// The facts about those sales that are known here, of whose buckets these are all, those of one sale beside each
    /// other.
    async fn facts(&self, buckets: &[Bucket]) -> Result<Vec<(SaleId, Facts)>, Unavailable>;

    /// Everybody who holds units of the bucket.
    async fn winners(&self, bucket: Bucket) -> Result<Vec<UserId>, Unavailable>;
}

/// Milliseconds as the scripts write them; an empty text is no time.
fn time_text(at: Option<Timestamp>) -> String {
    at.map(|at| at.as_millisecond().to_string()).unwrap_or_default()
}
