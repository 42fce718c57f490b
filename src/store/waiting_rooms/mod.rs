//! Waiting rooms: the places of shoppers ([`places`]), the calls that data control makes ([`calls`]), and their pace
//! ([`Pace`](calls::Pace)). A waiting room needs no Redis: places are rows, though Redis may give them a moment earlier
//! (`docs/decisions/0045`, `docs/decisions/0059`). A called shopper buys in the usual way.
//!
//! Transactions that add places run side by side. Transactions that lock the list or call shoppers run alone.

pub(super) mod calls;
pub(super) mod places;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::any::AnyRow;

use crate::audit::{Snapshot, Steps};
use crate::{ListLock, StoreResult, Tx, WaitingRoomStore, row};
use domain::draw::EntryId;
use domain::{Place, SaleId, Segment, UserId, WaitingRoomSeed};

/// The waiting room of a sale as stored.
#[derive(Debug, Clone)]
pub struct WaitingRoom {
    pub sale_id: SaleId,
    /// The seed. It is published once the list is locked.
    pub seed: WaitingRoomSeed,
    pub locked_at: Option<Timestamp>,
    /// Whether Redis gives places, or gave some that the database may lack.
    pub gathers: bool,
    /// The Merkle root over the entries of segment 0, in hexadecimal digits.
    pub root: Option<String>,
    /// How many places were taken.
    pub joined: i64,
    /// How many places were called.
    pub called: i64,
    /// The last segment that was closed; `None` until the first one is closed.
    pub closed_segment: Option<i64>,
    /// The last place that was called.
    pub serving: Option<Place>,
    /// Whether staff hold the calls.
    pub held: bool,
    /// The maximum of calls per minute, if staff set one.
    pub per_minute: Option<i64>,
}

column_list!(columns: "sale_id, seed, locked_at_ms, gathers, root, \
    joined + (SELECT CAST(COALESCE(SUM(places), 0) AS BIGINT) FROM queue_joins \
    WHERE queue_joins.sale_id = queues.sale_id) AS joined, \
    called, closed_segment, serving_segment, serving_number, held, per_minute");

fn room(row: &AnyRow) -> sqlx::Result<WaitingRoom> {
    let (segment, number): (Option<i64>, _) = (row::get(row, "serving_segment")?, row::get(row, "serving_number")?);
    read!(row => WaitingRoom {
        sale_id, seed, locked_at: "locked_at_ms", gathers, root, joined, called, closed_segment,
        serving = segment.zip(number).map(|(segment, number)| Place { segment, number }), held, per_minute,
    })
}

fn segment(row: &AnyRow) -> sqlx::Result<Segment> {
    read!(row => Segment { segment, places, called, marks = row::json(row, "marks")? })
}

#[boxed]
impl WaitingRoomStore<'_> {
    /// The waiting room of a sale; `None` in another mode and for a draft.
    pub async fn get(self, sale: SaleId) -> StoreResult<Option<WaitingRoom>> {
        let sql = select!(columns, "FROM queues WHERE sale_id = $1");
        self.optional(query!(sql; sale), room).await
    }

    /// The closed segments of a waiting room with shoppers who are not called yet, in order.
    pub async fn waiting_segments(self, sale: SaleId) -> StoreResult<Vec<Segment>> {
        let sql = "SELECT segment, places, called, marks FROM queue_segments WHERE sale_id = $1 AND called < places
             ORDER BY segment";
        self.all(query!(sql; sale), segment).await
    }
}

/// Locks the list of a waiting room exclusively until the end of the transaction, and reads the waiting room.
async fn lock(tx: &mut Tx, sale: SaleId) -> sqlx::Result<Option<WaitingRoom>> {
    tx.lock_list(ListLock::Exclusive, sale).await?;
    let sql = select!(columns, "FROM queues WHERE sale_id = $1");
    tx.optional(query!(sql; sale), room).await
}

#[boxed]
impl Snapshot {
    /// Describes live orders of sales with a waiting room whose owners were not called. An order that was reserved in a
    /// turn whose place was exchanged later is in order: it was on its way when the turn seemed missed.
    pub async fn uncalled_buyers(&mut self) -> StoreResult<Vec<String>> {
        let sql = "SELECT 'order ' || orders.id || ' of sale ' || sales.id || ': its owner was not called' AS problem
             FROM sales JOIN orders ON orders.sale_id = sales.id AND orders.status IN ('unpaid', 'paid')
             WHERE sales.mode = 'queue' AND sales.id > $1 AND sales.id <= $2 AND NOT EXISTS
               (SELECT 1 FROM queue_places AS places WHERE places.sale_id = orders.sale_id
                  AND places.user_id = orders.user_id AND (places.called_at_ms IS NOT NULL
                    OR (places.earlier_call_ms IS NOT NULL AND orders.reserved_at_ms < places.joined_at_ms)))";
        self.problems_of(self.sales("sales", "id"), &[sql]).await
    }

    /// Describes places that still wait although a later place was called after they were taken, and numbers that do
    /// not follow from seed and entry.
    pub async fn wrong_places(&mut self) -> StoreResult<Vec<String>> {
        let passed_over =
            "SELECT 'sale ' || first.sale_id || ': place ' || first.entry || ' was passed over' AS problem
             FROM queues JOIN queue_places AS first ON first.sale_id = queues.sale_id AND first.called_at_ms IS NULL
               AND (first.segment < queues.serving_segment
                 OR (first.segment = queues.serving_segment AND first.number < queues.serving_number))
             WHERE queues.sale_id > $1 AND queues.sale_id <= $2 AND EXISTS
               (SELECT 1 FROM queue_places AS later WHERE later.sale_id = first.sale_id
                  AND later.called_at_ms > first.joined_at_ms AND (later.segment > first.segment
                    OR (later.segment = first.segment AND later.number > first.number)))";
        let mut problems = self.problems_of(self.sales("queues", "sale_id"), &[passed_over]).await?;
        let seeds = query!("SELECT sale_id, seed FROM queues ORDER BY sale_id");
        let seed = |row: &AnyRow| Ok::<(i64, WaitingRoomSeed), _>((row::int(row, "sale_id")?, row::get(row, "seed")?));
        let seeds = self.all(seeds, seed).await?;
        for (sale, seed) in seeds.into_iter().filter(|(sale, _)| self.reads(SaleId(*sale))).collect::<Vec<_>>() {
            problems.extend(self.wrong_numbers(sale, &seed).await?);
        }
        Ok(problems)
    }

    async fn wrong_numbers(&mut self, sale: i64, seed: &WaitingRoomSeed) -> StoreResult<Vec<String>> {
        let sql = "SELECT user_id, entry, segment, number FROM queue_places
             WHERE sale_id = $3 AND user_id > $1 AND user_id <= $2";
        let mut steps = Steps::<String>::along(format!("queue_places WHERE sale_id = {sale} AND"), "user_id");
        let mut problems = Vec::new();
        while let Some(step) = steps.next(self).await? {
            let read = |row: &AnyRow| {
                let place = Place { segment: row::int(row, "segment")?, number: row::int(row, "number")? };
                Ok::<(UserId, EntryId, Place), _>((row::get(row, "user_id")?, row::get(row, "entry")?, place))
            };
            let places = self.all(query!(sql; &step.after, &step.upto, sale), read).await?;
            let wrong = places.iter().filter(|(_, entry, place)| Place::of(seed, place.segment, *entry) != *place);
            problems.extend(wrong.map(|(user, ..)| format!("sale {sale}: the number of {user} is another one")));
        }
        Ok(problems)
    }
}
