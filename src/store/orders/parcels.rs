//! Parcels of orders. A change locks the order's row, so it comes before or after a refund, a hold and another change,
//! and the second transaction sees the first. The rule is [`decide`].

use std::collections::HashMap;
use std::fmt;

use boxed::boxed;
use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::any::AnyRow;

use crate::orders::holds::lasting_hold;
use crate::pool::Connection;
use crate::{OrderStore, StoreResult, Tx, mail, pair, row};
use domain::parcel::{
    CLOCK, OrderFacts, Parcel, ParcelChange, ParcelLabel, ParcelMove, ParcelMover, ParcelRefusal, ParcelStep, decide,
};
use domain::{AuditAction, MailKind, OrderId, OrderStatus, ParcelState, SaleId, UserId};

/// Who changes a parcel.
#[derive(Debug, Clone, Copy)]
pub enum ParcelActor<'a> {
    /// A member of the staff, by the name in the audit log.
    Staff(&'a str),
    /// The owner of the order.
    Owner(UserId),
    /// Nobody: the parcel was sent some days ago.
    Clock,
}

impl fmt::Display for ParcelActor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParcelActor::Staff(name) => f.write_str(name),
            ParcelActor::Owner(user) => write!(f, "user {user}"),
            ParcelActor::Clock => f.write_str(CLOCK),
        }
    }
}

/// What became of each request, in their order.
pub type ParcelOutcomes = Vec<Result<ParcelChange, ParcelRefusal>>;

#[boxed]
impl OrderStore<'_> {
    /// The parcels of these orders. Orders of which nothing was packed are missing.
    pub async fn parcels_of(self, orders: &[OrderId]) -> StoreResult<HashMap<OrderId, Parcel>> {
        match orders {
            [] => Ok(HashMap::new()),
            orders => Ok(parcels(&mut self.pool.acquire().await?, orders).await?),
        }
    }

    /// The parcel of one order.
    pub async fn parcel_of(self, order: OrderId) -> StoreResult<Option<Parcel>> {
        Ok(self.parcels_of(&[order]).await?.remove(&order))
    }

    /// Parcels on their way that were sent before a time, the oldest first, with their versions.
    pub async fn parcels_sent_before(self, at: Timestamp, limit: i64) -> StoreResult<Vec<(OrderId, i64)>> {
        let sql = "SELECT id, (SELECT COUNT(*) FROM parcel_steps WHERE order_id = orders.id) AS steps FROM orders
             WHERE parcel = 'shipped' AND status = 'paid' AND shipped_at_ms <= $1 ORDER BY shipped_at_ms, id LIMIT $2";
        self.all(query!(sql; at, limit), pair("id", "steps")).await
    }

    /// Carries out all of these requests or, if one of them is refused, none. With `is_rehearsed` none in any case: the
    /// outcomes say what would be done.
    pub async fn move_parcels(
        self,
        moves: &[ParcelMove],
        actor: ParcelActor<'_>,
        is_rehearsed: bool,
    ) -> StoreResult<ParcelOutcomes> {
        let mut tx = self.begin().await?;
        // The same order in all transactions, so that two of them cannot wait for each other.
        let mut by_order: Vec<(usize, &ParcelMove)> = moves.iter().enumerate().collect();
        by_order.sort_by_key(|(at, wanted)| (wanted.order, *at));
        let mut outcomes = Vec::with_capacity(moves.len());
        for (at, wanted) in by_order {
            outcomes.push((at, move_one(&mut tx, wanted, actor).await?));
        }
        if !is_rehearsed && outcomes.iter().all(|(_, outcome)| outcome.is_ok()) {
            tx.commit().await?;
        }
        outcomes.sort_by_key(|(at, _)| *at);
        Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
    }
}

async fn move_one(
    tx: &mut Tx,
    wanted: &ParcelMove,
    actor: ParcelActor<'_>,
) -> sqlx::Result<Result<ParcelChange, ParcelRefusal>> {
    let id = wanted.order;
    let sql = "UPDATE orders SET reason = reason WHERE id = $1 RETURNING sale_id, user_id, status, address";
    let of = |row: &AnyRow| {
        let has_address = row::has(row, "address")?;
        Ok((row::get(row, "sale_id")?, row::get(row, "user_id")?, row::get(row, "status")?, has_address))
    };
    let locked: Option<(SaleId, UserId, OrderStatus, bool)> = tx.optional(query!(sql; id), of).await?;
    let Some((sale, owner, status, has_address)) = locked else { return Ok(Err(ParcelRefusal::NoSuchOrder)) };
    let by = match actor {
        ParcelActor::Staff(_) => ParcelMover::Staff,
        ParcelActor::Owner(user) if user == owner => ParcelMover::Owner,
        ParcelActor::Owner(_) => return Ok(Err(ParcelRefusal::NoSuchOrder)),
        ParcelActor::Clock => ParcelMover::Clock,
    };
    let is_held = lasting_hold(tx, id).await?.is_some();
    let parcel = parcels(tx, &[id]).await?.remove(&id);
    let change = decide(OrderFacts { status, is_held, has_address }, parcel.as_ref(), wanted, by);
    if let Ok(ParcelChange::Step(label)) = &change {
        add_step(tx, (sale, id, owner), parcel.as_ref(), (wanted.to, label), actor).await?;
    }
    Ok(change)
}

/// Writes the step and the message to the owner.
async fn add_step(
    tx: &mut Tx,
    (sale, id, owner): (SaleId, OrderId, UserId),
    before: Option<&Parcel>,
    (state, label): (ParcelState, &ParcelLabel),
    actor: ParcelActor<'_>,
) -> sqlx::Result<()> {
    write_step(tx, id, before, (state, label), actor).await?;
    let is_moved = before.map(Parcel::state) != Some(state);
    // Owners know what they did themselves.
    if let (ParcelActor::Staff(_) | ParcelActor::Clock, Some(kind)) = (actor, mail_of(state, is_moved)) {
        let assumed = matches!(actor, ParcelActor::Clock);
        let (carrier, number) = (&label.carrier, &label.number);
        let facts = json!({"sale": sale, "order": id, "carrier": carrier, "number": number, "assumed": assumed});
        mail::notify(tx, owner, kind, facts).await?;
    }
    Ok(())
}

/// The goods of a return are back: their parcel is with the shop, unless it is already. Its owner gets the message about
/// the return.
pub(super) async fn take_back(tx: &mut Tx, id: OrderId, actor: &str) -> sqlx::Result<()> {
    let parcel = parcels(tx, &[id]).await?.remove(&id);
    let Some(before) = parcel.filter(|parcel| !parcel.state().is_with_shop()) else { return Ok(()) };
    write_step(tx, id, Some(&before), (ParcelState::Returned, before.label()), ParcelActor::Staff(actor)).await
}

/// Writes the step, and the line of the audit log.
async fn write_step(
    tx: &mut Tx,
    id: OrderId,
    before: Option<&Parcel>,
    (state, label): (ParcelState, &ParcelLabel),
    actor: ParcelActor<'_>,
) -> sqlx::Result<()> {
    let now = tx.now;
    let is_moved = before.map(Parcel::state) != Some(state);
    let sent_at = (state == ParcelState::Shipped && is_moved).then(|| now.as_millisecond());
    let sql =
        "UPDATE orders SET parcel = $2, shipped_at_ms = COALESCE(CAST($3 AS BIGINT), shipped_at_ms) WHERE id = $1";
    tx.run(query!(sql; id, state, sent_at)).await?;
    let name = (!matches!(actor, ParcelActor::Owner(_))).then(|| actor.to_string());
    let sql = "INSERT INTO parcel_steps (order_id, step, state, carrier, number, at_ms, actor)
         VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let query = query!(sql; id, before.map_or(0, Parcel::version) + 1, state, &label.carrier, &label.number, now, name);
    tx.run(query).await?;
    tx.changes.edited(id);
    if let ParcelActor::Staff(name) = actor {
        let action = if is_moved { AuditAction::MoveParcel } else { AuditAction::CorrectParcel };
        let old = before.map(|parcel| record(parcel.state(), parcel.label()));
        tx.log(name, action, &format!("order {id}"), old.as_ref(), Some(&record(state, label)), now).await?;
    }
    Ok(())
}

/// The message that the owner gets. A corrected number is worth a message only while the parcel is on its way.
fn mail_of(state: ParcelState, is_moved: bool) -> Option<MailKind> {
    match state {
        ParcelState::Shipped => Some(MailKind::ParcelShipped),
        ParcelState::Delivered => Some(MailKind::ParcelDelivered).filter(|_| is_moved),
        ParcelState::Lost => Some(MailKind::ParcelLost).filter(|_| is_moved),
        ParcelState::Returned => Some(MailKind::ParcelReturned).filter(|_| is_moved),
        ParcelState::Packed => None,
    }
}

fn record(state: ParcelState, label: &ParcelLabel) -> Value {
    json!({"parcel": state, "carrier": label.carrier, "number": label.number})
}

pub(super) async fn parcels(connection: &mut Connection, orders: &[OrderId]) -> sqlx::Result<HashMap<OrderId, Parcel>> {
    let mut steps: HashMap<OrderId, Vec<ParcelStep>> = HashMap::new();
    let sql = "SELECT order_id, state, carrier, number, at_ms, actor FROM parcel_steps WHERE order_id IN $ids
         ORDER BY order_id, step";
    let read = |row: &AnyRow| Ok((row::get(row, "order_id")?, step(row)?));
    for (order, step) in connection.all_of::<_, Vec<_>>(sql, &[], orders, read).await? {
        steps.entry(order).or_default().push(step);
    }
    Ok(steps.into_iter().filter_map(|(id, steps)| Some((id, Parcel::of(steps)?))).collect())
}

fn step(row: &AnyRow) -> sqlx::Result<ParcelStep> {
    read!(row => ParcelStep { at: "at_ms", state, label = read!(row => ParcelLabel { carrier, number })?, actor })
}
