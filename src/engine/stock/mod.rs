//! Stock: decides which users get units. One trait, two backends: Redis, where a Lua script decides, and the database, where
//! a transaction decides.
//!
//! Claims arrive in batches from [`crate::batching::Batcher`]. A backend decides a bucket's batch atomically: every check
//! precedes the first write. A user has at most one hold per sale. A repeated claim returns the order of the first one, so
//! a client that timed out repeats its request.

pub mod database;
pub mod facts;
mod heartbeat;
pub mod load;
pub mod probe;
pub mod redis;
pub mod units;
mod waited;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::batching::Unavailable;
use crate::batching::{Batch, BatchKey};
use domain::claim::{Claim, Decision, Hold};
use domain::{Bucket, OrderId, Sale, SaleId, UserId, Window, sale::SaleState};
use store::HeldUnits;

/// The facts about a sale that the gate checks requests against. They may be stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    pub state: SaleState,
    pub window: Window,
    pub total: i64,
    pub booked: i64,
    /// `booked` at the last sync plus the requests admitted since; equals `booked` where the backend has no such counter.
    pub access: i64,
    /// Increases with every unit granted and with every epoch of the sale. Only useful to detect changes.
    pub granted: i64,
    pub per_user_limit: i64,
    /// Whether accounts wait for units that come back: others get none, as if the sale were sold out.
    pub is_waited_for: bool,
}

impl Facts {
    /// Adds another bucket of the same sale. `total` is the whole sale's in each bucket.
    fn add(&mut self, other: &Facts) {
        self.booked += other.booked;
        self.access += other.access;
        self.granted += other.granted;
        self.is_waited_for |= other.is_waited_for;
    }
}

/// A list of users who hold units of a sale.
#[derive(Debug, Clone, Default)]
pub struct Winners {
    pub users: Vec<UserId>,
    /// [`Facts::granted`] as the server that gave the list had it before: the list contains everyone who had units then.
    pub granted: i64,
}

impl Winners {
    /// Adds another bucket of the same sale.
    fn and(mut self, other: Winners) -> Winners {
        self.users.extend(other.users);
        Winners { granted: self.granted + other.granted, ..self }
    }
}

/// How far the backend has applied a sale's new definition. Parts are the buckets of a split sale.
#[derive(Debug, Clone, Default)]
pub struct DefineOutcome {
    pub parts: usize,
    pub applied: usize,
    /// Parts that have to be loaded first.
    pub not_loaded: usize,
    /// Why another part has not taken the definition, if any.
    pub failure: Option<Unavailable>,
}

impl DefineOutcome {
    pub fn is_complete(&self) -> bool {
        self.applied == self.parts
    }
}

/// A backend that grants units.
#[async_trait]
pub trait Stock: WaitedStock {
    /// Decides batches of claims, each on one bucket. Returns a result per batch: one decision per claim, in their order.
    async fn reserve(&self, batches: &[Batch<Claim>]) -> Vec<Result<Vec<Decision>, Unavailable>>;

    /// The queue in which claims on this bucket are batched.
    fn batch_key(&self, bucket: Bucket) -> BatchKey;

    /// What the user holds of the sale. An error also when the sale is not loaded, because then the answer is unknown.
    async fn hold(&self, sale: SaleId, user: UserId) -> Result<Option<Hold>, Unavailable>;

    /// Grants a lost claim once more, in disregard of stock and window: the database decides about it in the end. `false` when
    /// the backend has nothing to do with the sale any more.
    async fn grant_again(&self, sale: SaleId, claim: Claim) -> Result<bool, Unavailable>;

    /// Applies the definition of a sale (state, window, total, limit) unless the backend has a newer one.
    /// Goes on past a part that fails.
    async fn define(&self, sale: &Sale) -> DefineOutcome;

    /// Returns the units of each hold that still belongs to its order. The result is the orders that are done; call again
    /// for the others.
    async fn release(&self, releases: &[HeldUnits]) -> Result<Vec<OrderId>, Unavailable>;

    /// The buckets of a sale that decide no claims at present: their server is away, or may have forgotten grants.
    async fn standing_still(&self, sale: &Sale) -> Vec<Bucket>;
}

/// What the waitlist of a sale needs of a backend. While accounts wait for its units, only they get any: a backend that is told
/// so, or asks the database itself, answers the claims of others as if the sale were sold out.
#[async_trait]
pub trait WaitedStock: Send + Sync {
    /// Keeps the units of a sale for those who wait, if the database says that accounts wait, and otherwise sells to everyone
    /// again.
    async fn follow_waitlist(&self, sale: &Sale) -> Result<(), Unavailable>;

    /// Units that no account holds.
    async fn free_units(&self, sale: &Sale) -> Result<i64, Unavailable>;

    /// Decides claims of accounts that wait, as [`Stock::reserve`] does those of others. Returns one decision per claim, in
    /// their order.
    async fn offer(&self, sale: &Sale, claims: &[Claim]) -> Result<Vec<Decision>, Unavailable>;
}

/// Where the gate reads facts: a Redis replica or the database.
#[async_trait]
pub trait FactSource: Send + Sync {
    /// The facts about the sales of these buckets, without the sales that are not loaded. `buckets` contains all buckets of
    /// each sale, next to each other.
    async fn facts(&self, buckets: &[Bucket]) -> Result<Vec<(SaleId, Facts)>, Unavailable>;

    /// All users who hold units of a sale, given all its buckets.
    async fn winners(&self, buckets: &[Bucket]) -> Result<Winners, Unavailable>;
}

/// Milliseconds since the epoch as the scripts read them; an empty string means no time.
fn time_text(at: Option<Timestamp>) -> String {
    at.map(|at| at.as_millisecond().to_string()).unwrap_or_default()
}
