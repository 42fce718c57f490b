//! Waitlists: the waiting accounts of each sale, and the offers to the first of them.
//!
//! A transaction that adds an account locks the waitlist's row in share mode, and exclusively if it begins a segment. A
//! transaction that calls accounts locks it exclusively. Each reads the time after that. So an account is on the
//! waitlist before its segment is called, or it is in a later segment.

use std::collections::{HashMap, VecDeque};

use boxed::boxed;
use jiff::Timestamp;
use serde_json::json;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::accounts::is_closed;
use crate::mail::notify_all;
use crate::pool::Connection;
use crate::{LockPatience, StoreResult, Tx, WaitlistStore, column, deposits, pair, row, sales};
use domain::claim::Claim;
use domain::{
    Bucket, MailKind, OrderId, OrderStatus, Phase, Sale, SaleId, UserId, Waiter, WaiterState, WaitlistSeed, waitlist,
};

/// The segment that accounts join now.
struct RunningSegment {
    seed: WaitlistSeed,
    began: Timestamp,
    now: Timestamp,
}

impl WaitlistStore<'_> {
    /// Begins a segment unless one is running, and locks the row of the waitlist in share mode, so that no account is
    /// called until the end of the transaction. Reads the time after the lock was taken. On SQLite a writing
    /// transaction is alone anyway.
    async fn share_waitlist(self, tx: &mut Tx, sale: SaleId) -> sqlx::Result<RunningSegment> {
        // Before the lock in share mode: two transactions that have it could not both get this one.
        let over = (self.time_in(tx).await? - waitlist::SEGMENT).as_millisecond();
        let sql = "UPDATE waitlists SET segment_ms = segment_ms WHERE sale_id = $1 AND segment_ms <= $2";
        let is_first = tx.changed(query!(sql; sale, over)).await? == 1;
        let sql = match self.shares_clock() {
            true => "SELECT seed, segment_ms FROM waitlists WHERE sale_id = $1",
            false => "SELECT seed, segment_ms FROM waitlists WHERE sale_id = $1 FOR SHARE",
        };
        let (seed, mut began) = tx.one(query!(sql; sale), pair("seed", "segment_ms")).await?;
        let now = self.time_in(tx).await?;
        if is_first {
            began = now;
            tx.run(query!("UPDATE waitlists SET segment_ms = $2 WHERE sale_id = $1"; sale, now)).await?;
        }
        Ok(RunningSegment { seed, began, now })
    }

    /// Locks a waitlist exclusively, so that no account joins or is called until the end of the transaction. Returns
    /// the time after the lock was taken, and the place below which accounts have their turn; `None` if there is no such
    /// waitlist.
    async fn lock_waitlist(self, tx: &mut Tx, sale: SaleId) -> sqlx::Result<Option<(Timestamp, i64)>> {
        let sql = "UPDATE waitlists SET seed = seed WHERE sale_id = $1 RETURNING segment_ms";
        let Some(began) = tx.optional(query!(sql; sale), column("segment_ms")).await? else { return Ok(None) };
        let now = self.time_in(tx).await?;
        Ok(Some((now, waitlist::due_below(began, now))))
    }
}

// The waitlist of a sale: joining it, leaving it, and reading it.

/// Accounts are counted up to this number.
pub const MAX_COUNTED_WAITERS: i64 = 10_000;

/// The outcome of a request to join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitOutcome {
    Joined(Waiter),
    /// The account was on the waitlist already. Its place and its quantity stay.
    Known(Waiter),
    /// The account has a live order of the sale.
    HasOrder(OrderId),
    OverLimit,
    /// The wallet's balance is below the deposit.
    DepositNeeded,
    /// The sale has no waitlist in this phase.
    Closed(Phase),
    /// There is no such sale, or it is not a rush.
    NoWaitlist,
}

macro_rules! columns {
    () => {
        "user_id, quantity, joined_at_ms, place, state, order_id"
    };
}

fn waiter(row: &AnyRow) -> sqlx::Result<Waiter> {
    read!(row => Waiter { user_id, quantity, joined_at: "joined_at_ms", place, state, order_id })
}

const OWN: &str = select!(columns, "FROM waiters WHERE sale_id = $1 AND user_id = $2");

/// Counts accounts for which units of a sale are kept, and the units that they want.
const WAITED: &str = "SELECT COUNT(*) AS accounts, CAST(COALESCE(SUM(quantity), 0) AS BIGINT) AS units
     FROM (SELECT quantity FROM waiters WHERE sale_id = $1 AND state = 'waiting' AND (rejoined = 0 OR place < $2)
       ORDER BY place LIMIT $3) AS waiting";

#[boxed]
impl WaitlistStore<'_> {
    pub async fn waiter(self, sale: SaleId, user: UserId) -> StoreResult<Option<Waiter>> {
        self.optional(query!(OWN; sale, user), waiter).await
    }

    /// The places of an account on all waitlists, for its export.
    pub(crate) async fn waiters_of(self, user: UserId) -> StoreResult<Vec<(SaleId, Waiter)>> {
        let sql = concat!("SELECT sale_id, ", columns!(), " FROM waiters WHERE user_id = $1 ORDER BY sale_id");
        let read = |row: &AnyRow| Ok((row::get(row, "sale_id")?, waiter(row)?));
        self.all(query!(sql; user), read).await
    }

    /// The waitlists on which an account waits. The one that it joined last comes first.
    pub async fn waits_of(self, user: UserId, limit: i64) -> StoreResult<Vec<SaleId>> {
        let sql = "SELECT sale_id FROM waiters WHERE user_id = $1 AND state = 'waiting'
             ORDER BY joined_at_ms DESC, sale_id DESC LIMIT $2";
        self.all(query!(sql; user, limit), column("sale_id")).await
    }

    /// Accounts that wait before this one, at most [`MAX_COUNTED_WAITERS`].
    pub async fn waiters_ahead(self, sale: SaleId, of: &Waiter) -> StoreResult<i64> {
        let sql = "SELECT COUNT(*) AS n FROM (SELECT 1 FROM waiters WHERE sale_id = $1 AND state = 'waiting'
               AND place <= $2 AND (place < $2 OR user_id < $3) ORDER BY place LIMIT $4) AS ahead";
        self.one(query!(sql; sale, of.place, of.user_id, MAX_COUNTED_WAITERS), column("n")).await
    }

    /// Accounts that wait, at most [`MAX_COUNTED_WAITERS`].
    pub async fn count_waiters(self, sale: SaleId) -> StoreResult<i64> {
        let sql = "SELECT COUNT(*) AS n FROM (SELECT 1 FROM waiters WHERE sale_id = $1 AND state = 'waiting'
               ORDER BY place LIMIT $2) AS line";
        self.one(query!(sql; sale, MAX_COUNTED_WAITERS), column("n")).await
    }

    /// Whether accounts wait for units of a sale.
    pub async fn is_waited_for(self, sale: SaleId) -> StoreResult<bool> {
        self.exists(query!("SELECT 1 FROM waiters WHERE sale_id = $1 AND state = 'waiting' LIMIT 1"; sale)).await
    }

    /// Units of a sale that only accounts on its waitlist get.
    pub async fn waited_units(self, sale: SaleId) -> StoreResult<i64> {
        let now = self.now().await?;
        Ok(waited_units(&mut self.pool.acquire().await?, sale, now).await?)
    }

    /// The sales among these for which accounts wait, with their [`waited_units`](WaitlistStore::waited_units).
    pub async fn waited_for(self, sales: &[SaleId]) -> StoreResult<HashMap<SaleId, i64>> {
        let mut waited = HashMap::new();
        let sql = "SELECT sale_id FROM waitlists WHERE sale_id IN $ids AND EXISTS (SELECT 1 FROM waiters
               WHERE waiters.sale_id = waitlists.sale_id AND state = 'waiting')";
        let sales: Vec<SaleId> = self.all_of(sql, &[], sales, column("sale_id")).await?;
        for sale in sales {
            waited.insert(sale, self.waited_units(sale).await?);
        }
        Ok(waited)
    }

    /// Puts an account on the waitlist of a sale. If it waits already, its place stays. If it left, or its offer is
    /// over, it gets a new place. The caller has found the sale sold out.
    pub async fn join(self, id: SaleId, user: UserId, quantity: u32) -> StoreResult<WaitOutcome> {
        if let Some(known) = self.waiter(id, user).await?.filter(|known| known.state == WaiterState::Waiting) {
            return Ok(WaitOutcome::Known(known));
        }
        let mut tx = self.begin().await?;
        let Some(sale) = sales::read(&mut tx, id).await?.filter(|sale| sale.mode.has_waitlist()) else {
            return Ok(WaitOutcome::NoWaitlist);
        };
        let sql = "INSERT INTO waitlists (sale_id, seed) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        let seed = WaitlistSeed::new(rand::random()).to_hex();
        tx.run(query!(sql; id, seed)).await?;
        let RunningSegment { seed, began, now } = self.share_waitlist(&mut tx, id).await?;
        let phase = sale.phase(now);
        if !matches!(phase, Phase::Open | Phase::SoldOut) {
            return Ok(WaitOutcome::Closed(phase));
        }
        if i64::from(quantity) > sale.per_user_limit {
            return Ok(WaitOutcome::OverLimit);
        }
        if let Some(order) = live_order(&mut tx, id, user).await? {
            return Ok(WaitOutcome::HasOrder(order));
        }
        let sql = "INSERT INTO waiters (sale_id, user_id, quantity, joined_at_ms, since_ms, place, state)
             VALUES ($1, $2, $3, $4, $4, $5, 'waiting') ON CONFLICT (sale_id, user_id) DO UPDATE SET
               quantity = excluded.quantity, joined_at_ms = excluded.joined_at_ms, since_ms = excluded.since_ms,
               place = excluded.place, state = 'waiting', called_at_ms = NULL, order_id = NULL,
               rejoined = CASE WHEN waiters.place < $6 THEN 1 ELSE waiters.rejoined END
             WHERE waiters.state <> 'waiting'";
        let query =
            query!(sql; id, user, quantity, now, waitlist::place(&seed, began, user), waitlist::first_place(began));
        let is_new = tx.changed(query).await? == 1;
        let own = tx.one(query!(OWN; id, user), waiter).await?;
        if !deposits::take(&mut tx, id, sale.eligibility.deposit_amount(), &[user]).await?.is_empty() {
            return Ok(WaitOutcome::DepositNeeded);
        }
        tx.commit().await?;
        Ok(if is_new { WaitOutcome::Joined(own) } else { WaitOutcome::Known(own) })
    }

    /// Takes an account off the waitlist. Safe to repeat. Returns `false` if the account never was on it. An order that
    /// is on its way still arrives, and can be cancelled.
    pub async fn leave(self, sale: SaleId, user: UserId) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let sql = "UPDATE waiters SET state = 'left' WHERE sale_id = $1 AND user_id = $2 AND state = 'waiting'";
        let left = tx.changed(query!(sql; sale, user)).await?;
        if left == 1 {
            deposits::withdraw(&mut tx, sale, user).await?;
        }
        tx.commit().await?;
        Ok(left == 1 || self.waiter(sale, user).await?.is_some())
    }
}

/// Units of a sale that only accounts on its waitlist get. In a transaction it is read after the sale's row is locked, so
/// that it sees every account that joined before a unit came back.
pub(crate) async fn waited_units(connection: &mut Connection, sale: SaleId, now: Timestamp) -> sqlx::Result<i64> {
    let sql = "SELECT segment_ms FROM waitlists WHERE sale_id = $1";
    let began = connection.optional(query!(sql; sale), column("segment_ms")).await?;
    let Some(began) = began else { return Ok(0) };
    let query = query!(WAITED; sale, waitlist::due_below(began, now), waitlist::MAX_KEEPING_WAITERS);
    connection.one(query, |row| Ok(waitlist::units_kept(row::get(row, "accounts")?, row::get(row, "units")?))).await
}

async fn live_order(tx: &mut Tx, sale: SaleId, user: UserId) -> sqlx::Result<Option<OrderId>> {
    let sql = "SELECT id FROM orders WHERE sale_id = $1 AND user_id = $2 AND status IN ('unpaid', 'paid')";
    tx.optional(query!(sql; sale, user), column("id")).await
}

// Offers: the first accounts on a waitlist are called, each with the id of its future order. The stock backend grants
// the units as for any purchase. Once the order is in the database, the account gets a message.
//
// A call is stored, and repeating the claim for its order grants nothing twice. So a process may die between any two
// of these steps.

/// Accounts per transaction. Few, so that the waitlist is locked only for a short time.
const MAX_CALLS: i64 = 256;

/// Accounts that one transaction passes over. A bound on its time, but more than wait in practice.
const MAX_PASSED_OVER: usize = 10_000;

/// How many called accounts have their order, and how many orders were rejected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OffersMade {
    /// Accounts that have their order.
    pub offered: usize,
    /// Orders that the database rejected. Their accounts go on waiting in their places.
    pub rejected: usize,
}

/// An account whose turn it is.
struct Turn {
    user_id: UserId,
    quantity: i64,
    place: i64,
    order_id: Option<OrderId>,
    /// Whether the account is blocked, deleted, or has another order of the sale.
    cannot_buy: bool,
}

fn turn(row: &AnyRow) -> sqlx::Result<Turn> {
    let order: Option<OrderId> = row::get(row, "order_id")?;
    let live: Option<OrderId> = row::get(row, "live_order")?;
    // A live order with the called id is the offer itself, which is about to be recorded.
    let has_another = live.is_some() && live != order;
    read!(row => Turn { user_id, quantity, place, order_id = order, cannot_buy = is_closed(row)? || has_another })
}

#[boxed]
impl WaitlistStore<'_> {
    /// Sales in the stock backend that have a waitlist.
    pub async fn sales_with_waitlists(self) -> StoreResult<Vec<Sale>> {
        let sql = select!(
            sales::columns,
            "FROM sales WHERE id IN (SELECT sale_id FROM waitlists) AND retired_at_ms IS NULL AND mode = 'rush'
             ORDER BY id"
        );
        self.all(query!(sql), sales::sale).await
    }

    /// Records offers whose orders have arrived, and writes messages to their accounts in the same transaction.
    pub async fn note_offers(self, sale: SaleId) -> StoreResult<OffersMade> {
        let called = "SELECT 1 FROM waiters JOIN orders ON orders.id = waiters.order_id
             WHERE waiters.sale_id = $1 AND state = 'waiting' AND order_id IS NOT NULL LIMIT 1";
        if !self.exists(query!(called; sale)).await? {
            return Ok(OffersMade::default());
        }
        let mut tx = self.begin_with(LockPatience::Short).await?;
        let Some((now, _)) = self.lock_waitlist(&mut tx, sale).await? else { return Ok(OffersMade::default()) };
        let sql = "SELECT waiters.user_id, order_id, status, pay_by_ms FROM waiters
             JOIN orders ON orders.id = waiters.order_id
             WHERE waiters.sale_id = $1 AND state = 'waiting' AND order_id IS NOT NULL LIMIT $2";
        let arrived = tx.fetch_all(query!(sql; sale, MAX_CALLS)).await?;
        let mut made = OffersMade::default();
        for row in &arrived {
            let (user, order): (UserId, OrderId) = (row::get(row, "user_id")?, row::get(row, "order_id")?);
            let status: OrderStatus = row::get(row, "status")?;
            let set = match status {
                OrderStatus::Rejected => "order_id = NULL, called_at_ms = NULL, since_ms = $3",
                _ => "state = 'offered', since_ms = $3",
            };
            let sql = format!("UPDATE waiters SET {set} WHERE sale_id = $1 AND user_id = $2 AND state = 'waiting'");
            tx.run(query!(AssertSqlSafe(sql); sale, user, now)).await?;
            if status == OrderStatus::Unpaid {
                let pay_by: Timestamp = row::get(row, "pay_by_ms")?;
                let facts = json!({"sale": sale, "order": order, "pay_by": pay_by});
                notify_all(&mut tx, &[user], MailKind::UnitOffered, &facts, Some(pay_by)).await?;
            }
            match status {
                OrderStatus::Rejected => made.rejected += 1,
                _ => made.offered += 1,
            }
        }
        tx.commit().await?;
        Ok(made)
    }

    /// Calls the first accounts on the waitlist for `free` units, and returns the claims of all accounts that are
    /// called and wait for their order. Accounts that cannot buy are skipped. Accounts of buckets that stand still are
    /// passed over, and stay where they are. A claim has the units that its account wants, as far as they are left.
    pub async fn call_waiters(self, sale: &Sale, free: i64, standing_still: &[Bucket]) -> StoreResult<Vec<Claim>> {
        let mut tx = self.begin_with(LockPatience::Short).await?;
        let Some((now, due_below)) = self.lock_waitlist(&mut tx, sale.id).await? else { return Ok(Vec::new()) };
        let stands_still =
            |turn: &Turn| standing_still.contains(&Bucket::of_user(sale.id, sale.rush.buckets, turn.user_id));
        let mut turns = VecDeque::from(next_turns(&mut tx, sale.id, due_below, None).await?);
        let (mut claims, mut left, mut passed_over) = (Vec::new(), free, 0);
        while left > 0
            && let Some(turn) = turns.pop_front()
        {
            if stands_still(&turn) {
                passed_over += 1;
                if turns.is_empty() && passed_over < MAX_PASSED_OVER {
                    turns = next_turns(&mut tx, sale.id, due_below, Some(&turn)).await?.into();
                }
                continue;
            }
            if turn.cannot_buy {
                skip(&mut tx, sale.id, turn.user_id).await?;
                continue;
            }
            let quantity = turn.quantity.min(left).min(sale.per_user_limit);
            left -= quantity;
            let order_id = match turn.order_id {
                Some(order) => order,
                None => call(&mut tx, sale.id, turn.user_id, now).await?,
            };
            claims.push(Claim { user_id: turn.user_id, order_id, quantity: quantity as u32 });
        }
        tx.commit().await?;
        Ok(claims)
    }

    /// Offers of a sale whose orders are still unpaid, among the latest [`MAX_COUNTED_WAITERS`].
    pub async fn count_open_offers(self, sale: SaleId) -> StoreResult<i64> {
        let sql = "SELECT COUNT(*) AS n FROM (SELECT order_id FROM waiters WHERE sale_id = $1 AND state = 'offered'
               ORDER BY called_at_ms DESC LIMIT $2) AS latest
             JOIN orders ON orders.id = latest.order_id WHERE status = 'unpaid'";
        self.one(query!(sql; sale, MAX_COUNTED_WAITERS), column("n")).await
    }
}

/// Accounts that wait in segments that are over, in their order, after this one.
async fn next_turns(tx: &mut Tx, sale: SaleId, due_below: i64, after: Option<&Turn>) -> sqlx::Result<Vec<Turn>> {
    let sql = "SELECT waiters.user_id, waiters.quantity, place, order_id, deleted_at_ms, blocked_at_ms,
           (SELECT id FROM orders WHERE orders.sale_id = waiters.sale_id AND orders.user_id = waiters.user_id
              AND orders.status IN ('unpaid', 'paid')) AS live_order
         FROM waiters LEFT JOIN users ON users.id = waiters.user_id
         WHERE sale_id = $1 AND state = 'waiting' AND place < $2 AND place >= $3 AND (place > $3 OR user_id > $4)
         ORDER BY place, user_id LIMIT $5";
    let (place, user) = after.map_or((i64::MIN, String::new()), |turn| (turn.place, turn.user_id.to_string()));
    tx.all(query!(sql; sale, due_below, place, user, MAX_CALLS), turn).await
}

async fn call(tx: &mut Tx, sale: SaleId, user: UserId, now: jiff::Timestamp) -> sqlx::Result<OrderId> {
    let order = OrderId::new(now);
    let sql = "UPDATE waiters SET order_id = $3, called_at_ms = $4 WHERE sale_id = $1 AND user_id = $2";
    tx.run(query!(sql; sale, user, order, now)).await?;
    Ok(order)
}

async fn skip(tx: &mut Tx, sale: SaleId, user: UserId) -> sqlx::Result<()> {
    let sql = "UPDATE waiters SET state = 'skipped' WHERE sale_id = $1 AND user_id = $2 AND state = 'waiting'";
    tx.run(query!(sql; sale, user)).await
}
