//! Places in waiting rooms: one per account and sale.

use std::collections::HashMap;

use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use super::{Queue, locking, queue};
use crate::domain::draw::EntryId;
use crate::domain::queue::present_segment;
use crate::domain::{Phase, Place, QueuePlace, QueuePlan, Sale, SaleId, SaleState, TurnState, UserId};
use crate::store::orders::intake::live_orders;
use crate::store::{Store, StoreError, Tx, row, sales};

/// A request for a place.
#[derive(Debug, Clone, Copy)]
pub struct Joining {
    pub user_id: UserId,
    /// Of a place that is new.
    pub entry: EntryId,
    /// Entry and segment of a place that the shop signed a pass for. A database that has lost the place takes it back.
    pub signed: Option<(EntryId, i64)>,
}

/// What became of a request for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinOutcome {
    /// The place, which may be an earlier request's, and what its owner may do.
    Joined {
        place: QueuePlace,
        state: TurnState,
        is_new: bool,
    },
    /// The waiting room takes in no one now.
    Closed(Phase),
    NoSuchQueue,
}

fn place(row: &AnyRow) -> Result<QueuePlace, sqlx::Error> {
    Ok(QueuePlace {
        entry: row::parsed(row, "entry")?,
        place: Place { segment: row::int(row, "segment")?, number: row::int(row, "number")? },
        joined_at: row::time(row, "joined_at_ms")?,
        called_at: row::optional_time(row, "called_at_ms")?,
    })
}

const COLUMNS: &str = "user_id, entry, segment, number, joined_at_ms, called_at_ms";

/// The phase in which the waiting room takes in shoppers; `Upcoming` before, `Ended` after.
fn joining_phase(sale: &Sale, plan: QueuePlan, now: Timestamp) -> Phase {
    let is_early = sale.window.opens_at.is_none_or(|opens| now < plan.joining_from(opens));
    match sale.state {
        SaleState::Draft | SaleState::Scheduled if is_early => Phase::Upcoming,
        SaleState::Ended => Phase::Ended,
        _ if sale.window.closes_at.is_some_and(|closes| closes <= now) => Phase::Ended,
        _ => Phase::Open,
    }
}

impl Store {
    /// The account's place in the waiting room of a sale.
    pub async fn queue_place(&self, sale: SaleId, user: UserId) -> Result<Option<QueuePlace>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM queue_places WHERE sale_id = $1 AND user_id = $2");
        self.optional(sqlx::query(AssertSqlSafe(sql)).bind(sale.0).bind(user.to_string()), place).await
    }

    /// The places of an account in all waiting rooms, for its export.
    pub async fn queue_places_of(&self, user: UserId) -> Result<Vec<(SaleId, QueuePlace)>, StoreError> {
        let sql = format!("SELECT sale_id, {COLUMNS} FROM queue_places WHERE user_id = $1 ORDER BY sale_id");
        let read = |row: &AnyRow| Ok((SaleId(row::int(row, "sale_id")?), place(row)?));
        self.all(sqlx::query(AssertSqlSafe(sql)).bind(user.to_string()), read).await
    }

    /// Gives places to accounts, one to each: a place whose turn is to come or has come stays, one whose turn was missed is
    /// exchanged for one at the end. Returns the outcomes in the order of the requests.
    ///
    /// Three round trips if no turn has come: begin, read, write and commit.
    pub async fn join_queue(&self, sale: SaleId, requests: &[Joining]) -> Result<Vec<JoinOutcome>, StoreError> {
        let mut tx = self.begin().await?;
        let known = lock_with_places(&mut tx, sale, requests).await?;
        let known = known.and_then(|known| Some((known.sale.mode.queue_plan()?, known)));
        let Some((plan, Known { queue, sale, mut places })) = known else {
            return Ok(vec![JoinOutcome::NoSuchQueue; requests.len()]);
        };
        let mut states: HashMap<UserId, TurnState> =
            places.iter().map(|(user, known)| (*user, known.state(plan, tx.now))).collect();
        // A shopper with an order keeps the place, whose turn is over.
        let come = states.iter().filter(|(_, state)| **state != TurnState::Waiting);
        let come: Vec<UserId> = come.map(|(user, _)| *user).collect();
        states.extend(live_orders(&mut tx, sale.id, &come).await?.into_keys().map(|user| (user, TurnState::Bought)));
        let is_missed = |user: &UserId| states.get(user) == Some(&TurnState::Missed);
        places.retain(|user, _| !is_missed(user));
        let phase = joining_phase(&sale, plan, tx.now);
        let mut new = HashMap::new();
        for request in requests.iter().filter(|request| phase == Phase::Open && !places.contains_key(&request.user_id))
        {
            // The pass of a turn that was missed is worth nothing.
            let signed = request.signed.filter(|_| !is_missed(&request.user_id));
            new.entry(request.user_id).or_insert_with(|| drawn(&queue, request.entry, signed, tx.now));
        }
        match insertion(sale.id, &new) {
            Some(sql) => tx.commit_after(sql).await?,
            None => tx.commit().await?,
        }
        let outcome = |request: &Joining| match (places.get(&request.user_id), new.get(&request.user_id)) {
            (Some(known), _) => JoinOutcome::Joined { place: *known, state: states[&request.user_id], is_new: false },
            (None, Some(place)) => {
                let is_first =
                    [Some(request.entry), request.signed.map(|(entry, _)| entry)].contains(&Some(place.entry));
                JoinOutcome::Joined { place: *place, state: TurnState::Waiting, is_new: is_first }
            }
            (None, None) => JoinOutcome::Closed(phase),
        };
        Ok(requests.iter().map(outcome).collect())
    }
}

/// A new place. One that was signed for keeps its entry and its segment.
fn drawn(queue: &Queue, entry: EntryId, signed: Option<(EntryId, i64)>, now: Timestamp) -> QueuePlace {
    let present = present_segment(queue.locked_at, now);
    let (entry, segment) = signed.map_or((entry, present), |(entry, segment)| (entry, segment.min(present)));
    let place = Place::of(&queue.seed, segment, entry);
    QueuePlace { entry, place, joined_at: now, called_at: None }
}

/// A waiting room, with the places of some accounts.
struct Known {
    queue: Queue,
    sale: Sale,
    places: HashMap<UserId, QueuePlace>,
}

/// Locks a waiting room until the end of the transaction and reads its sale and the places of the requests' accounts in the same round trip.
async fn lock_with_places(tx: &mut Tx, sale: SaleId, requests: &[Joining]) -> Result<Option<Known>, sqlx::Error> {
    let users: Vec<String> = requests.iter().map(|request| format!("'{}'", request.user_id)).collect();
    // Numbers and UUIDs only, so that the statements need no parameters.
    let sql = format!(
        "{}; {}; SELECT {COLUMNS} FROM queue_places WHERE sale_id = {sale} AND user_id IN ({})",
        locking(sale),
        sales::reading(sale),
        users.join(",")
    );
    let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(&mut **tx).await?;
    // Without a queue there are no places, and at most the sale's row.
    let [queue_row, sale_row, places @ ..] = &rows[..] else { return Ok(None) };
    let places = places.iter().map(|row| Ok((row::parsed(row, "user_id")?, place(row)?)));
    Ok(Some(Known {
        queue: queue(queue_row)?,
        sale: sales::sale(sale_row)?,
        places: places.collect::<Result<_, sqlx::Error>>()?,
    }))
}

/// The statements that write new places, if there are any. A row that is there belongs to a turn that was missed.
fn insertion(sale: SaleId, new: &HashMap<UserId, QueuePlace>) -> Option<String> {
    let row = |(user, own): (&UserId, &QueuePlace)| {
        let QueuePlace { entry, place: Place { segment, number }, joined_at, .. } = own;
        // Numbers, a UUID and hexadecimal digits.
        format!("({sale},'{user}','{entry}',{segment},{number},{})", joined_at.as_millisecond())
    };
    let rows: Vec<String> = new.iter().map(row).collect();
    (!rows.is_empty()).then(|| {
        format!(
            "INSERT INTO queue_places (sale_id, user_id, entry, segment, number, joined_at_ms) VALUES {}
             ON CONFLICT (user_id, sale_id) DO UPDATE SET entry = excluded.entry, segment = excluded.segment,
               number = excluded.number, joined_at_ms = excluded.joined_at_ms, called_at_ms = NULL;
             UPDATE queues SET joined = joined + {} WHERE sale_id = {sale}",
            rows.join(","),
            rows.len()
        )
    })
}
