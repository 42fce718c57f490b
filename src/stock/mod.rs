//! Who gets units. One trait, two backends: Redis (a Lua script decides) and the database (a transaction decides).
//!
//! Requests never come alone: [`batch::Batcher`] gathers what arrives while the previous call is under way and asks for all
//! of it at once. A backend decides a bucket's batch atomically: every check precedes the first write.
//! A user has one hold per sale; asking again is answered with the first order, so a time-out means "ask again".

pub mod probe;

pub mod database;
pub mod load;
pub mod redis;
pub mod units;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::batching::{Batch, BatchKey};
use crate::domain::claim::{Claim, Decision, Hold, Unavailable};
use crate::domain::{Bucket, OrderId, Sale, SaleId, UserId, Window, sale::SaleState};
use crate::store::HeldUnits;

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

/// Whether the backend took a sale's new definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defined {
    Yes,
    /// The backend does not hold the sale; it has to be loaded first.
    NotLoaded,
}

#[async_trait]
pub trait Stock: Send + Sync {
    /// BatchHandler batches of claims, each on one bucket. An answer for each: one decision per claim, in their order.
    async fn reserve(&self, asked: &[Batch<Claim>]) -> Vec<Result<Vec<Decision>, Unavailable>>;

    /// Whose claims are gathered with those of this bucket.
    fn batch_key(&self, bucket: Bucket) -> BatchKey;

    /// What the user holds of the sale; `Err` as well when the sale is not loaded, because then nobody can tell.
    async fn hold(&self, sale: SaleId, user: UserId) -> Result<Option<Hold>, Unavailable>;

    /// Takes the new definition of a sale (state, window, total, limit) unless it knows a newer one.
    async fn define(&self, sale: &Sale) -> Result<Defined, Unavailable>;

    /// Gives units back, of each hold that still belongs to the order. The answer are the orders that need no further
    /// call.
    async fn release(&self, releases: &[HeldUnits]) -> Result<Vec<OrderId>, Unavailable>;
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
