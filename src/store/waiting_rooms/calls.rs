//! Data control's steps in a waiting room: it locks the list, closes segments and calls the next shoppers. Each step is
//! one transaction that checks under the list's lock whether it is still due, so it may run twice.

use boxed::boxed;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use sqlx::any::AnyRow;

use crate::accounts::is_closed;
use crate::waiting_rooms::{WaitingRoom, lock};
use crate::{AnyQuery, LockPatience, StoreResult, Tx, WaitingRoomStore, column, for_ids, goods, mail, pair, sales};
use domain::draw::EntryId;
use domain::waiting_room::{SEAT_GRACE_MS, closed_segment};
use domain::{
    AuditAction, MailKind, Place, Sale, SaleId, SaleState, Segment, UserId, WaitingRoomPlan, waiting_room as rules,
};

/// Calls per transaction. So many take milliseconds.
const MAX_CALLS: i64 = 1_000;

const LAST_MINUTE: SignedDuration = SignedDuration::from_secs(60);

/// A shopper to call next.
struct Turn {
    user_id: UserId,
    place: Place,
    /// Whether the account is blocked or deleted and so cannot buy.
    is_closed: bool,
}

/// Selects places of a sale that were called after an instant and whose owners have no order and have not left with a
/// pass.
macro_rules! taken_seats {
    () => {
        " FROM queue_places AS places WHERE sale_id = $1 AND called_at_ms > $2
         AND NOT EXISTS (SELECT 1 FROM orders WHERE orders.sale_id = places.sale_id
           AND orders.user_id = places.user_id AND orders.status IN ('unpaid', 'paid'))
         AND NOT EXISTS (SELECT 1 FROM passes WHERE passes.sale_id = places.sale_id
           AND passes.place = places.entry AND passes.used_at_ms IS NOT NULL)"
    };
}

#[boxed]
impl WaitingRoomStore<'_> {
    /// Waiting rooms of live sales.
    pub async fn running(self) -> StoreResult<Vec<SaleId>> {
        self.all(query!("SELECT id FROM sales WHERE mode = 'queue' AND state = 'live' ORDER BY id"), column("id")).await
    }

    /// Sales whose list is not locked.
    pub async fn open_lists(self) -> StoreResult<Vec<SaleId>> {
        let sql = "SELECT id FROM sales JOIN queues ON sale_id = id WHERE retired_at_ms IS NULL AND mode = 'queue'
             AND locked_at_ms IS NULL ORDER BY id";
        self.all(query!(sql), column("id")).await
    }

    /// Records whether Redis gives places of a list, which means that the database may lack some.
    pub async fn set_gathers(self, id: SaleId, gathers: bool) -> StoreResult<()> {
        let sql = "UPDATE queues SET gathers = $2 WHERE sale_id = $1";
        self.run(query!(sql; id, gathers)).await
    }

    /// Locks the list of a waiting room once its time has come. From then on shoppers join later segments. Returns when
    /// it was locked; `None` as long as shoppers join the first segment.
    pub async fn lock(self, id: SaleId) -> StoreResult<Option<Timestamp>> {
        // Usually the list is locked already, or not due. Then the row is not written.
        match self.get(id).await? {
            None => return Ok(None),
            Some(room) if room.locked_at.is_some() => return Ok(room.locked_at),
            Some(_) => {}
        }
        let mut tx = self.begin_with(LockPatience::Short).await?;
        let Some((room, sale, plan)) = running(&mut tx, id).await? else { return Ok(None) };
        if room.locked_at.is_some() {
            return Ok(room.locked_at);
        }
        if sale.window.opens_at.is_none_or(|opens| tx.now < plan.locks_at(opens)) {
            return Ok(None);
        }
        tx.run(query!("UPDATE queues SET locked_at_ms = $2 WHERE sale_id = $1"; id, tx.now)).await?;
        let now = tx.now;
        tx.commit_and(Some(now)).await
    }

    /// The entries of a segment with their numbers, in the order of calls.
    pub async fn segment_entries(self, sale: SaleId, segment: i64) -> StoreResult<Vec<(i64, EntryId)>> {
        let sql = "SELECT number, entry FROM queue_places WHERE sale_id = $1 AND segment = $2 AND called_at_ms IS NULL
             ORDER BY number";
        self.all(query!(sql; sale, segment), pair("number", "entry")).await
    }

    /// Later segments that are over, not closed yet, and have places.
    pub async fn segments_to_close(self, id: SaleId) -> StoreResult<Vec<i64>> {
        let Some(room) = self.get(id).await? else { return Ok(Vec::new()) };
        let Some(locked) = room.locked_at else { return Ok(Vec::new()) };
        let after = room.closed_segment.unwrap_or(-1);
        let last = closed_segment(locked, self.now().await?);
        if after < 0 {
            return Ok(vec![0]);
        }
        if last <= after {
            return Ok(Vec::new());
        }
        let sql = "SELECT DISTINCT segment FROM queue_places WHERE sale_id = $1 AND called_at_ms IS NULL
               AND segment > $2 AND segment <= $3 ORDER BY segment";
        let mut segments = self.all(query!(sql; id, after, last), column("segment")).await?;
        // The last segment is closed even if it is empty, so that it is checked only once.
        if segments.last() != Some(&last) {
            segments.push(last);
        }
        Ok(segments)
    }

    /// Closes a segment. From then on its places can be called. `root` is the Merkle root of segment 0.
    pub async fn close_segment(self, id: SaleId, segment: &Segment, root: Option<&str>) -> StoreResult<()> {
        let mut tx = self.begin_with(LockPatience::Short).await?;
        let Some(room) = lock(&mut tx, id).await? else { return Ok(()) };
        if room.closed_segment >= Some(segment.segment) {
            return Ok(());
        }
        if segment.places > 0 {
            let sql = "INSERT INTO queue_segments (sale_id, segment, places, marks) VALUES ($1, $2, $3, $4)";
            let marks = serde_json::to_string(&segment.marks).map_err(|e| sqlx::Error::Encode(e.into()))?;
            tx.run(query!(sql; id, segment.segment, segment.places, marks)).await?;
        }
        let sql = "UPDATE queues SET closed_segment = $2, root = COALESCE(root, $3) WHERE sale_id = $1";
        tx.run(query!(sql; id, segment.segment, root)).await?;
        Ok(tx.commit().await?)
    }

    /// Calls as many of the next shoppers as there are units for. Returns how many.
    pub async fn call_next(self, id: SaleId) -> StoreResult<usize> {
        if self.get(id).await?.is_none_or(|room| room.held || room.called >= room.joined) {
            return Ok(0);
        }
        let mut tx = self.begin_with(LockPatience::Short).await?;
        let Some((room, _, plan)) = running(&mut tx, id).await? else { return Ok(0) };
        let Some(closed) = room.closed_segment.filter(|_| !room.held) else { return Ok(0) };
        let query = occupied_seats(id, plan, tx.now);
        let seats = tx.one(query, column("places")).await?;
        // Read after the seats. An order arriving in between is then counted twice (too few calls), never missed (too
        // many).
        let Some(sale) = sales::read(&mut tx, id).await? else { return Ok(0) };
        let left = sale.total - sale.sold;
        let mut calls = rules::calls(left, seats, sale.per_user_limit).min(MAX_CALLS);
        if let Some(most) = room.per_minute {
            let query = called_since(id, tx.now - LAST_MINUTE);
            let called: i64 = tx.one(query, column("places")).await?;
            calls = calls.min(most - called);
        }
        let turns = next_turns(&mut tx, id, closed, calls).await?;
        let Some(last) = turns.iter().map(|turn| turn.place).max().max(room.serving) else { return Ok(0) };
        if turns.is_empty() {
            return Ok(0);
        }
        record_calls(&mut tx, id, &turns).await?;
        let called: Vec<_> = turns.iter().filter(|turn| !turn.is_closed).map(|turn| turn.user_id).collect();
        let until = tx.now + SignedDuration::from_millis(plan.seat_s * 1_000);
        let facts = json!({"goods": goods::name(&mut tx, sale.goods_id).await?, "sale": id, "at": until});
        mail::notify_all(&mut tx, &called, MailKind::TurnCalled, &facts, Some(until)).await?;
        let sql =
            "UPDATE queues SET called = called + $2, serving_segment = $3, serving_number = $4 WHERE sale_id = $1";
        tx.run(query!(sql; id, turns.len() as i64, last.segment, last.number)).await?;
        tx.commit_and(turns.len()).await
    }

    /// Moves calls forward by a time in which these accounts could not buy, so that their turns last longer by as much.
    /// Turns that ended before this time, or led to an order, stay as they are. Returns the number of turns.
    pub async fn prolong_turns(
        self,
        id: SaleId,
        lost: SignedDuration,
        stands_still: impl Fn(UserId) -> bool,
    ) -> StoreResult<usize> {
        let mut tx = self.begin_with(LockPatience::Short).await?;
        let Some((_, _, plan)) = running(&mut tx, id).await? else { return Ok(0) };
        let since = tx.now - lost - SignedDuration::from_secs(plan.seat_s);
        let sql = concat!("SELECT user_id", taken_seats!());
        let mut users: Vec<UserId> = tx.all(query!(sql; id, since), column("user_id")).await?;
        users.retain(|user| stands_still(*user));
        let sql =
            "UPDATE queue_places SET called_at_ms = CASE WHEN called_at_ms < $3 THEN called_at_ms + $2 ELSE $3 + $2 END
             WHERE sale_id = $1 AND user_id IN $ids";
        let before = values![id, lost.as_millis() as i64, tx.now - lost];
        tx.run_all(for_ids(sql, &before, &users)).await?;
        tx.commit_and(users.len()).await
    }

    /// The number of shoppers who are called now and have neither bought nor missed their turn, and the number of calls
    /// in the last minute.
    pub async fn activity(self, id: SaleId, plan: WaitingRoomPlan) -> StoreResult<(i64, i64)> {
        let now = self.now().await?;
        let seats = self.one(occupied_seats(id, plan, now), column("places")).await?;
        Ok((seats, self.one(called_since(id, now - LAST_MINUTE), column("places")).await?))
    }
}

/// Locks the waiting room of a live sale and reads it.
async fn running(tx: &mut Tx, id: SaleId) -> sqlx::Result<Option<(WaitingRoom, Sale, WaitingRoomPlan)>> {
    let Some(room) = lock(tx, id).await? else { return Ok(None) };
    let sale = sales::read(tx, id).await?.filter(|sale| sale.state == SaleState::Live);
    Ok(sale.and_then(|sale| Some((sale.mode.waiting_room_plan()?, sale))).map(|(plan, sale)| (room, sale, plan)))
}

/// Counts shoppers who were called, who may still buy or have an order on its way, and who have no order in the
/// database.
fn occupied_seats(id: SaleId, plan: WaitingRoomPlan, now: Timestamp) -> AnyQuery<'static> {
    let since = now - SignedDuration::from_millis(plan.seat_s * 1_000 + SEAT_GRACE_MS);
    let sql = concat!("SELECT COUNT(*) AS places", taken_seats!());
    query!(sql; id, since)
}

/// Counts calls since an instant.
fn called_since(id: SaleId, since: Timestamp) -> AnyQuery<'static> {
    query!("SELECT COUNT(*) AS places FROM queue_places WHERE sale_id = $1 AND called_at_ms > $2"; id, since)
}

async fn next_turns(tx: &mut Tx, id: SaleId, closed: i64, calls: i64) -> sqlx::Result<Vec<Turn>> {
    let sql = "SELECT user_id, segment, number, deleted_at_ms, blocked_at_ms FROM queue_places
         LEFT JOIN users ON users.id = queue_places.user_id
         WHERE sale_id = $1 AND called_at_ms IS NULL AND segment <= $2 ORDER BY segment, number LIMIT $3";
    let turn = |row: &AnyRow| {
        let place = read!(row => Place { segment, number })?;
        read!(row => Turn { user_id, place = place, is_closed = is_closed(row)? })
    };
    tx.all(query!(sql; id, closed, calls.max(0)), turn).await
}

/// Records calls in the places and their segments. The turn of a closed account is over at once.
async fn record_calls(tx: &mut Tx, id: SaleId, turns: &[Turn]) -> sqlx::Result<()> {
    for (is_closed, called_at) in [(false, tx.now.as_millisecond()), (true, 0)] {
        let users: Vec<_> = turns.iter().filter(|turn| turn.is_closed == is_closed).map(|turn| turn.user_id).collect();
        let sql = "UPDATE queue_places SET called_at_ms = $2 WHERE sale_id = $1 AND user_id IN $ids";
        tx.run_all(for_ids(sql, &values![id, called_at], &users)).await?;
    }
    for of_segment in turns.chunk_by(|one, next| one.place.segment == next.place.segment) {
        let sql = "UPDATE queue_segments SET called = called + $3 WHERE sale_id = $1 AND segment = $2";
        tx.run(query!(sql; id, of_segment[0].place.segment, of_segment.len() as i64)).await?;
    }
    Ok(())
}

// The pace of a waiting room, which staff control.

/// Limits on the calls of a waiting room besides its units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Pace {
    /// Whether calls are stopped.
    pub held: bool,
    /// The maximum of calls per minute; `None` for as many as there are units.
    pub per_minute: Option<i64>,
}

impl Pace {
    pub const PER_MINUTE: std::ops::RangeInclusive<i64> = 1..=100_000;
}

/// A change of the pace. `None` leaves a value as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct PaceChange {
    pub held: Option<bool>,
    pub per_minute: Option<Option<i64>>,
}

#[boxed]
impl WaitingRoomStore<'_> {
    /// Changes the pace of a waiting room and returns it; `None` if there is no waiting room. Both this and data
    /// control's steps lock the list, so the next step uses the new pace.
    pub async fn change_pace(self, sale: SaleId, change: PaceChange, actor: &str) -> StoreResult<Option<Pace>> {
        let mut tx = self.begin().await?;
        let Some(room) = lock(&mut tx, sale).await? else { return Ok(None) };
        let before = Pace { held: room.held, per_minute: room.per_minute };
        let after = Pace {
            held: change.held.unwrap_or(before.held),
            per_minute: change.per_minute.unwrap_or(before.per_minute),
        };
        if after != before {
            let sql = "UPDATE queues SET held = $2, per_minute = $3 WHERE sale_id = $1";
            tx.run(query!(sql; sale, after.held, after.per_minute)).await?;
            tx.log(actor, AuditAction::Pace, &format!("sale {sale}"), Some(&before), Some(&after), tx.now).await?;
            tx.commit().await?;
        }
        Ok(Some(after))
    }
}
