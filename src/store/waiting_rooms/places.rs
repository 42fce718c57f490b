//! Places in waiting rooms: one per account and sale.

use std::collections::{BTreeMap, HashMap, HashSet};

use boxed::boxed;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::orders::intake::live_orders;
use crate::{ListLock, StoreResult, Tx, WaitingRoomStore, column, deposits, row, sales};
use domain::draw::EntryId;
use domain::waiting_room::present_segment;
use domain::{
    ModeName, Phase, Place, Sale, SaleId, SaleState, TurnState, UserId, WaitingRoomPlace, WaitingRoomPlan,
    WaitingRoomSeed, Window,
};

/// A request for a place.
#[derive(Debug, Clone, Copy)]
pub struct Joining {
    pub user_id: UserId,
    /// The entry for a new place.
    pub entry: EntryId,
    /// Entry and segment in a pass that the shop signed. If the database has lost the place, it is restored from them.
    pub signed: Option<(EntryId, i64)>,
    /// Whether the caller has asked the stock backend, which holds nothing of the account. Only then is the place of a
    /// missed turn exchanged for one at the end.
    pub holds_nothing: bool,
    /// Whether Redis may have given the account a place that is not a row yet, if it [gives](crate::WaitingRoom::gathers) any.
    /// A new place could then be another one than the account was told.
    pub may_be_gathered: bool,
}

/// A place in the first segment that Redis has given and that may not be in the database yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GatheredPlace {
    pub user_id: UserId,
    pub entry: EntryId,
    /// When the place was taken, by Redis's clock.
    pub joined_at: Timestamp,
}

/// The outcome of a request for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinOutcome {
    /// The account's place, which an earlier request may have taken, and what the account may do.
    Joined {
        place: WaitingRoomPlace,
        state: TurnState,
        is_new: bool,
    },
    /// The account [may have](Joining::may_be_gathered) a place that is not a row yet.
    Unknown,
    /// Shoppers cannot join the waiting room now.
    Closed(Phase),
    /// The wallet's balance is below the deposit.
    DepositNeeded,
    NoSuchWaitingRoom,
}

fn place(row: &AnyRow) -> sqlx::Result<WaitingRoomPlace> {
    read!(row => WaitingRoomPlace {
        entry, place = Place { segment: row::int(row, "segment")?, number: row::int(row, "number")? },
        joined_at: "joined_at_ms", called_at: "called_at_ms",
    })
}

/// The places of a waiting room are counted in this many rows. A transaction locks one of them until its end.
const LANES: u32 = 16;

/// Places per statement.
const MAX_ROWS: usize = 1_024;

const COLUMNS: &str = "user_id, entry, segment, number, joined_at_ms, called_at_ms";

#[boxed]
impl WaitingRoomStore<'_> {
    /// The account's place in the waiting room of a sale.
    pub async fn place(self, sale: SaleId, user: UserId) -> StoreResult<Option<WaitingRoomPlace>> {
        let sql = format!("SELECT {COLUMNS} FROM queue_places WHERE sale_id = $1 AND user_id = $2");
        self.optional(query!(AssertSqlSafe(sql); sale, user), place).await
    }

    /// The places of an account in all waiting rooms, for its export.
    pub(crate) async fn places_of(self, user: UserId) -> StoreResult<Vec<(SaleId, WaitingRoomPlace)>> {
        let sql = format!("SELECT sale_id, {COLUMNS} FROM queue_places WHERE user_id = $1 ORDER BY sale_id");
        let read = |row: &AnyRow| Ok((row::get(row, "sale_id")?, place(row)?));
        self.all(query!(AssertSqlSafe(sql); user), read).await
    }

    /// The accounts among these that have a place.
    pub async fn users_with_place(self, sale: SaleId, users: &[UserId]) -> StoreResult<HashSet<UserId>> {
        let sql = "SELECT user_id FROM queue_places WHERE sale_id = $1 AND user_id IN $ids";
        self.all_of(sql, &values![sale], users, column("user_id")).await
    }

    /// Writes places in the first segment that Redis gave while the list was open. If an account has a place already,
    /// nothing changes. Safe to repeat.
    pub async fn keep_places(self, sale: SaleId, places: &[GatheredPlace]) -> StoreResult<()> {
        let (mut tx, rows) = self.begin_with_list(ListLock::Shared, sale, &Room::reading(sale)).await?;
        let Some(room) = Room::read(&rows)? else { return Ok(()) };
        let place = |given: &GatheredPlace| {
            let GatheredPlace { user_id, entry, joined_at } = *given;
            (user_id, room.place(entry, Some((entry, 0)), joined_at))
        };
        let own: BTreeMap<UserId, WaitingRoomPlace> = places.iter().map(place).collect();
        if own.is_empty() {
            return Ok(());
        }
        match insert(&mut tx, sale, &own).await? {
            0 => Ok(tx.commit().await?),
            new => Ok(tx.commit_after(counting(sale, new)).await?),
        }
    }

    /// Gives places to accounts, one to each. An account keeps its place if its turn is still to come or has come. If
    /// it missed its turn and [holds nothing](Joining::holds_nothing), it gets a new place at the end. Returns the
    /// outcomes in the order of the requests.
    ///
    /// This takes three round trips if all places are new: begin and read, insert, count and commit. Such transactions
    /// run side by side, but not while data control locks the list or calls shoppers.
    pub async fn join(self, sale: SaleId, requests: &[Joining]) -> StoreResult<Vec<JoinOutcome>> {
        let (mut tx, rows) = self.begin_with_list(ListLock::Shared, sale, &Room::reading(sale)).await?;
        let Some(room) = Room::read(&rows)? else { return Ok(vec![JoinOutcome::NoSuchWaitingRoom; requests.len()]) };
        let phase = room.phase(tx.now);
        let (mut own, mut uncertain) = (BTreeMap::new(), HashSet::new());
        for request in requests {
            if request.may_be_gathered && request.signed.is_none() && room.gathers() {
                uncertain.insert(request.user_id);
                continue;
            }
            own.entry(request.user_id).or_insert_with(|| room.place(request.entry, request.signed, tx.now));
        }
        let mut poor = HashSet::new();
        if phase == Phase::Open && room.deposit.is_some() {
            let users: Vec<UserId> = own.keys().copied().collect();
            poor = deposits::take(&mut tx, sale, room.deposit, &users).await?;
            own.retain(|user, _| !poor.contains(user));
        }
        let mut places = 0;
        if phase == Phase::Open && !own.is_empty() {
            places = insert(&mut tx, sale, &own).await?;
        }
        let (mut known, mut new) = (HashMap::new(), own.keys().copied().collect::<HashSet<_>>());
        if places < own.len() || !uncertain.is_empty() {
            let users: Vec<UserId> = new.drain().chain(uncertain.iter().copied()).collect();
            known = turns(&mut tx, sale, room.plan, &users).await?;
            let is_own = |user: &&UserId| known.get(user).is_some_and(|known| Some(&known.0) == own.get(user));
            new.extend(users.iter().filter(is_own));
        }
        if phase == Phase::Open {
            // The pass of a missed turn is not valid any more.
            let is_missed =
                |request: &&Joining| known.get(&request.user_id).is_some_and(|own| own.1 == TurnState::Missed);
            let missed = requests.iter().filter(|request| request.holds_nothing).filter(is_missed);
            let at_the_end: BTreeMap<_, _> =
                missed.map(|request| (request.user_id, room.place(request.entry, None, tx.now))).collect();
            let exchanged = exchange(&mut tx, sale, &at_the_end).await?;
            // Another transaction may have been faster.
            let late: Vec<UserId> = at_the_end.keys().filter(|user| !exchanged.contains(user)).copied().collect();
            known.extend(turns(&mut tx, sale, room.plan, &late).await?);
            own.extend(at_the_end);
            places += exchanged.len();
            new.extend(exchanged);
        }
        match places {
            0 => tx.commit().await?,
            places => tx.commit_after(counting(sale, places)).await?,
        }
        let outcome = |request: &Joining| match (known.get(&request.user_id), own.get(&request.user_id)) {
            _ if poor.contains(&request.user_id) => JoinOutcome::DepositNeeded,
            (_, Some(&place)) if new.contains(&request.user_id) => {
                let entries = [Some(request.entry), request.signed.map(|(entry, _)| entry)];
                JoinOutcome::Joined { place, state: TurnState::Waiting, is_new: entries.contains(&Some(place.entry)) }
            }
            (Some(&(place, state)), _) if state != TurnState::Missed || phase == Phase::Open => {
                JoinOutcome::Joined { place, state, is_new: false }
            }
            (None, None) if phase == Phase::Open && uncertain.contains(&request.user_id) => JoinOutcome::Unknown,
            _ => JoinOutcome::Closed(phase),
        };
        Ok(requests.iter().map(outcome).collect())
    }
}

/// Everything about a waiting room that a new place depends on.
struct Room {
    seed: WaitingRoomSeed,
    locked_at: Option<Timestamp>,
    /// See [`crate::WaitingRoom::gathers`].
    gathers: bool,
    plan: WaitingRoomPlan,
    deposit: Option<i64>,
    state: SaleState,
    window: Window,
}

impl Room {
    /// The statements that read the waiting room of a sale, without parameters. PostgreSQL plans two statements over
    /// one table each faster than a join.
    fn reading(sale: SaleId) -> String {
        format!(
            "SELECT seed, locked_at_ms, gathers FROM queues WHERE sale_id = {sale};
             SELECT queue_prequeue_s, queue_gather_s, queue_seat_s, state, opens_at_ms, closes_at_ms, deposit
             FROM sales WHERE id = {sale} AND mode = '{}'",
            ModeName::WaitingRoom.as_str()
        )
    }

    /// `None` if the sale has no waiting room.
    fn read(rows: &[AnyRow]) -> sqlx::Result<Option<Room>> {
        let [room, sale] = rows else { return Ok(None) };
        Ok(Some(Room {
            seed: row::get(room, "seed")?,
            locked_at: row::get(room, "locked_at_ms")?,
            gathers: row::int(room, "gathers")? == 1,
            plan: sales::waiting_room_plan(sale)?,
            deposit: row::get(sale, "deposit")?,
            state: row::get(sale, "state")?,
            window: sales::window(sale)?,
        }))
    }

    /// Whether Redis may have given places that are not rows yet.
    fn gathers(&self) -> bool {
        self.gathers && self.locked_at.is_none()
    }

    /// `Open` as long as shoppers may join, `Upcoming` before that, `Ended` after it.
    fn phase(&self, now: Timestamp) -> Phase {
        let is_early = self.window.opens_at.is_none_or(|opens| now < self.plan.joining_from(opens));
        match self.state {
            SaleState::Draft | SaleState::Scheduled if is_early => Phase::Upcoming,
            SaleState::Ended => Phase::Ended,
            _ if self.window.closes_at.is_some_and(|closes| closes <= now) => Phase::Ended,
            _ => Phase::Open,
        }
    }

    /// A new place. With a signed pass it gets the entry and the segment of the pass.
    fn place(&self, entry: EntryId, signed: Option<(EntryId, i64)>, now: Timestamp) -> WaitingRoomPlace {
        let present = present_segment(self.locked_at, now);
        let (entry, segment) = signed.map_or((entry, present), |(entry, segment)| (entry, segment.min(present)));
        WaitingRoomPlace { entry, place: Place::of(&self.seed, segment, entry), joined_at: now, called_at: None }
    }
}

/// Writes places of accounts that have none. They are written in the order of the accounts, so that two transactions
/// with the same accounts do not deadlock. Returns how many were written.
async fn insert(tx: &mut Tx, sale: SaleId, places: &BTreeMap<UserId, WaitingRoomPlace>) -> sqlx::Result<usize> {
    let row = |(user, own): (&UserId, &WaitingRoomPlace)| {
        let WaitingRoomPlace { entry, place: Place { segment, number }, joined_at, .. } = own;
        format!("('{user}','{entry}',{segment},{number},{})", joined_at.as_millisecond())
    };
    let rows: Vec<String> = places.iter().map(row).collect();
    let mut new = 0;
    for rows in rows.chunks(MAX_ROWS) {
        // The values are UUIDs, hexadecimal digits and numbers, so the statement needs no parameters. It counts the
        // places instead of returning them, because nearly always all are new.
        let sql = format!(
            "INSERT INTO queue_places (sale_id, user_id, entry, segment, number, joined_at_ms)
             SELECT {sale}, column1, column2, column3, column4, column5 FROM (VALUES {}) AS place WHERE TRUE
             ON CONFLICT (user_id, sale_id) DO NOTHING",
            rows.join(",")
        );
        let done = tx.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
        new += done.rows_affected();
    }
    Ok(usize::try_from(new).unwrap_or(usize::MAX))
}

/// Writes new places for accounts that missed their turn. Returns the accounts that got one; another transaction may
/// have been faster for the others.
async fn exchange(
    tx: &mut Tx,
    sale: SaleId,
    places: &BTreeMap<UserId, WaitingRoomPlace>,
) -> sqlx::Result<HashSet<UserId>> {
    if places.is_empty() {
        return Ok(HashSet::new());
    }
    let statement = |(user, own): (&UserId, &WaitingRoomPlace)| {
        let WaitingRoomPlace { entry, place: Place { segment, number }, joined_at, .. } = own;
        format!(
            "UPDATE queue_places SET entry = '{entry}', segment = {segment}, number = {number},
               joined_at_ms = {}, earlier_call_ms = called_at_ms, called_at_ms = NULL
             WHERE sale_id = {sale} AND user_id = '{user}' AND called_at_ms IS NOT NULL RETURNING user_id",
            joined_at.as_millisecond()
        )
    };
    let sql = places.iter().map(statement).collect::<Vec<_>>().join(";");
    let rows = tx.fetch_all(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
    rows.iter().map(column("user_id")).collect()
}

/// The places of accounts, and what the accounts may do. A shopper with an order keeps the place, but its turn is over.
async fn turns(
    tx: &mut Tx,
    sale: SaleId,
    plan: WaitingRoomPlan,
    users: &[UserId],
) -> sqlx::Result<HashMap<UserId, (WaitingRoomPlace, TurnState)>> {
    let (sql, now) = (format!("SELECT {COLUMNS} FROM queue_places WHERE sale_id = $1 AND user_id IN $ids"), tx.now);
    let read = |row: &AnyRow| {
        let own = place(row)?;
        Ok((row::get(row, "user_id")?, (own, own.state(plan, now))))
    };
    let mut known: HashMap<UserId, _> = tx.all_of(&sql, &values![sale], users, read).await?;
    let come = known.iter().filter(|(_, (_, state))| *state != TurnState::Waiting);
    let come: Vec<UserId> = come.map(|(user, _)| *user).collect();
    for user in live_orders(tx, sale, &come).await?.keys() {
        known.entry(*user).and_modify(|(_, state)| *state = TurnState::Bought);
    }
    Ok(known)
}

/// The statement that counts new places.
fn counting(sale: SaleId, places: usize) -> String {
    format!(
        "INSERT INTO queue_joins (sale_id, lane, places) VALUES ({sale}, {}, {places})
         ON CONFLICT (sale_id, lane) DO UPDATE SET places = queue_joins.places + excluded.places",
        rand::random_range(0..LANES)
    )
}

// The row of a sale's waiting room exists from the first announcement on. It stays if staff postpone the sale, and so
// do its places.

/// Updates the waiting room of a sale that is new or was changed. The caller has locked the sale's row.
pub(crate) async fn follow_sale(tx: &mut Tx, after: &Sale) -> sqlx::Result<()> {
    if !after.mode.is_waiting_room() || after.state == SaleState::Draft {
        return Ok(());
    }
    let sql = "INSERT INTO queues (sale_id, seed) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    let seed = WaitingRoomSeed::new(rand::random());
    tx.run(query!(sql; after.id, seed.to_hex())).await
}

/// Whether the sale has a waiting room in which shoppers have places, or may have taken places that only Redis has yet.
/// Its mode then stays as it is: the shoppers would find neither their place nor another order. The caller has locked
/// the sale's row.
pub(crate) async fn has_places(tx: &mut Tx, sale: &Sale) -> sqlx::Result<bool> {
    tx.lock_list(ListLock::Exclusive, sale.id).await?;
    let sql = "SELECT 1 FROM queues WHERE sale_id = $1 AND (gathers = 1 OR joined > 0 OR EXISTS
           (SELECT 1 FROM queue_joins WHERE queue_joins.sale_id = queues.sale_id AND places > 0))";
    tx.exists(query!(sql; sale.id)).await
}

/// Deletes the waiting room of a draft that is deleted.
pub(crate) async fn delete(tx: &mut Tx, sale: &Sale) -> sqlx::Result<()> {
    tx.lock_list(ListLock::Exclusive, sale.id).await?;
    for table in [
        "DELETE FROM queue_places WHERE sale_id = $1",
        "DELETE FROM queue_segments WHERE sale_id = $1",
        "DELETE FROM queue_joins WHERE sale_id = $1",
        "DELETE FROM queues WHERE sale_id = $1",
    ] {
        tx.run(query!(table; sale.id)).await?;
    }
    Ok(())
}
