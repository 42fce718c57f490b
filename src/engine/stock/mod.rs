//! Stock: decides which users get units. One trait, two backends: Redis, where a Lua script decides, and the database, where
//! a transaction decides.
//!
//! Claims arrive in batches from [`crate::batching::Batcher`]. A backend decides a bucket's batch atomically: every
//! check precedes the first write. A user has at most one hold per sale. A repeated claim returns the order of the
//! first one, so a client that timed out can retry.

pub mod database;
pub mod facts;
pub mod heartbeat;
pub mod load;
pub mod redis;
mod waited;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::batching::{Batch, BatchHandler, BatchKey, Reply, Unavailable};
use base::counters::SaleCounters;
use base::metrics::Metrics;
use domain::claim::{Claim, Decision, Hold};
use domain::sale::SaleState;
use domain::{Bucket, OrderId, Sale, SaleId, UserId, Window};
use store::HeldUnits;

/// The facts about a sale that the gate checks requests against. They may be stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    pub state: SaleState,
    pub window: Window,
    pub total: i64,
    pub booked: i64,
    /// `booked` at the last sync plus the requests admitted since. Equals `booked` if the backend has no such counter.
    pub access: i64,
    /// Increases with every unit granted and with every epoch of the sale. Useful only to detect changes.
    pub granted: i64,
    pub per_user_limit: i64,
    /// Units that only accounts on the waitlist get. Each bucket of a split sale has the number for the whole sale.
    pub waited_units: i64,
}

impl Facts {
    /// Adds another bucket of the same sale. `total` is the whole sale's in each bucket.
    fn add(&mut self, other: &Facts) {
        self.booked += other.booked;
        self.access += other.access;
        self.granted += other.granted;
        self.waited_units = self.waited_units.max(other.waited_units);
    }
}

/// A list of users who hold units of a sale.
#[derive(Debug, Clone, Default)]
pub struct Winners {
    pub users: Vec<UserId>,
    /// [`Facts::granted`], read from the same server before the list. So the list contains all users who had units
    /// then.
    pub granted: i64,
}

impl Winners {
    /// Adds another bucket of the same sale.
    fn and(mut self, other: Winners) -> Winners {
        self.users.extend(other.users);
        Winners { granted: self.granted + other.granted, ..self }
    }
}

/// The units of a sale that no account holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FreeUnits {
    /// So many are free at least. May be negative, after replayed grants.
    pub units: i64,
    /// Buckets that decide no claims now. Their accounts keep their places on the waitlist.
    pub standing_still: Vec<Bucket>,
}

/// How far the backend has applied a sale's new definition. Parts are the buckets of a split sale.
#[derive(Debug, Clone, Default)]
pub struct DefineOutcome {
    pub parts: usize,
    pub applied: usize,
    /// Parts that must be loaded before they can take the definition.
    pub not_loaded: usize,
    /// Why a loaded part has not taken the definition, if there is one.
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
    async fn reserve(&self, batches: &[Batch<Claim>]) -> Vec<Reply<Vec<Decision>>>;

    /// Claims on buckets with the same key are batched together.
    fn batch_key(&self, bucket: Bucket) -> BatchKey;

    /// The user's hold in the sale. Also an error if the sale is not loaded, because the answer is then unknown.
    async fn hold(&self, sale: SaleId, user: UserId) -> Reply<Option<Hold>>;

    /// Re-grants a lost claim without checking stock or window. The database has the final say. Returns `false` if the
    /// sale is not in the backend any more.
    async fn grant_again(&self, sale: SaleId, claim: Claim) -> Reply<bool>;

    /// Applies the definition of a sale (state, window, total, limit) unless the backend has a newer one. A part that
    /// fails does not stop the others.
    async fn define(&self, sale: &Sale) -> DefineOutcome;

    /// Lowers the total of a running sale to the one of its new definition, and takes that version on. Returns `false` and
    /// changes nothing if more units are booked. The database's transaction is open: if it is not committed after all, stock
    /// sync finds a version that the database lacks and passes the old total on again.
    async fn lower_total(&self, sale: &Sale) -> Reply<bool>;

    /// Returns the units of each hold that still belongs to its order. The result is the orders that are done; call again
    /// for the others, whose bucket is not loaded or does not answer.
    async fn release(&self, releases: &[HeldUnits]) -> Reply<Vec<OrderId>>;

    /// The buckets of a sale that decide no claims at present, because their server is away or may have forgotten
    /// grants.
    async fn standing_still(&self, sale: &Sale) -> Vec<Bucket>;
}

/// The part of a backend that the waitlist of a sale needs. Only accounts on the waitlist get as many units as they wait
/// for, and the backend answers claims of other accounts as if there were no such units. Redis has the number in each
/// bucket; the database backend reads it with every batch.
#[async_trait]
pub trait WaitedStock: Send + Sync {
    /// Reads from the database how many units accounts wait for, keeps so many for them and sells the others.
    async fn follow_waitlist(&self, sale: &Sale) -> Reply<()>;

    async fn free_units(&self, sale: &Sale) -> Reply<FreeUnits>;

    /// Like [`Stock::reserve`], but for claims of waiting accounts. Returns one decision per claim, in their order:
    /// [`Decision::NotLoaded`] if its bucket does not answer.
    async fn offer(&self, sale: &Sale, claims: &[Claim]) -> Reply<Vec<Decision>>;
}

/// Where the gate reads facts: a Redis replica or the database.
#[async_trait]
pub trait FactSource: Send + Sync {
    /// The facts about the sales of these buckets, without sales that are not loaded. `buckets` must contain all
    /// buckets of each sale, next to each other.
    async fn facts(&self, buckets: &[Bucket]) -> Reply<Vec<(SaleId, Facts)>>;

    /// All users who hold units of a sale. `buckets` must be all its buckets.
    async fn winners(&self, buckets: &[Bucket]) -> Reply<Winners>;
}

/// Milliseconds since the epoch as the scripts read them; an empty string means no time.
fn time_text(at: Option<Timestamp>) -> String {
    at.map(|at| at.as_millisecond().to_string()).unwrap_or_default()
}

// Adapts the stock backend to the batcher.

/// Passes batches on to the stock backend and counts the decisions.
pub struct Units(pub Arc<dyn Stock>);

#[async_trait]
impl BatchHandler for Units {
    type Claim = Claim;
    type Decision = Decision;
    type Counters = SaleCounters;

    async fn decide(&self, batches: &[Batch<Claim>]) -> Vec<Reply<Vec<Decision>>> {
        self.0.reserve(batches).await
    }

    fn batch_key(&self, bucket: Bucket) -> BatchKey {
        self.0.batch_key(bucket)
    }

    fn count(metrics: &Metrics, counters: Option<&SaleCounters>, decision: Option<&Decision>, waited: Duration) {
        metrics.purchase_seconds.observe(waited);
        if let Some(counters) = counters {
            counters.record_decision(decision, waited);
        }
    }

    fn measure(metrics: &Metrics, claims: usize, took: Duration) {
        metrics.batch(claims, took);
    }
}
