//! Makes events of what happened since the last look: from the feed of changed orders, which transactions write anyway,
//! and from the states of sales. The purchase itself does nothing for it.
//!
//! What happened to an order is read as facts. Each fact is a row that no transaction deletes or changes: the order
//! itself, its steps, the steps of its parcel, its payments and refunds. So the number of facts only grows, and an
//! event's place among them is its sequence, even if the events before it were deleted or never made.
//!
//! The cursor moves in the transaction that writes the events, and only from where it was read. So of two processes
//! that look at once one writes; and a process that dies has written all of a page or nothing. A fact that is met
//! again, after a restored backup for instance, is known by its key.

use std::collections::HashMap;

use boxed::boxed;
use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::any::AnyRow;

use crate::events::{KEEP_EVENTS, NewEvent, write};
use crate::{ChangedOrders, EventStore, StoreResult, Tx, column, row};
use domain::event::EventKind;
use domain::{Money, Order, OrderId, OrderStatus, ParcelState, SaleId, SaleState};

/// Why an order was cancelled that nobody paid in time.
const UNPAID: &str = "unpaid";

/// Something that happened to an order.
#[derive(Debug)]
pub(super) struct Fact {
    /// Unique among the facts of the order.
    pub key: String,
    pub kind: EventKind,
    pub at: Timestamp,
    pub data: Value,
}

/// What the database knows about changed orders beside the orders themselves.
#[derive(Debug, Default)]
struct OrderRows {
    /// Facts of steps, parcels, payments and refunds.
    facts: HashMap<OrderId, Vec<(String, Timestamp, FactKind)>>,
    /// Ids that other shops have for the owners.
    external: HashMap<OrderId, String>,
}

#[derive(Debug)]
enum FactKind {
    Step(OrderStatus),
    Other(EventKind, Value),
}

impl OrderRows {
    /// The facts of an order, in the order in which they happened.
    fn facts_of(&mut self, order: &Order) -> Vec<Fact> {
        let created = if order.status == OrderStatus::Rejected { OrderStatus::Rejected } else { OrderStatus::Unpaid };
        let mut rows = vec![("created".to_owned(), order.created_at, FactKind::Step(created))];
        rows.extend(self.facts.remove(&order.id).unwrap_or_default());
        let shopper = self.external.get(&order.id);
        let mut facts = Vec::with_capacity(rows.len());
        for (key, at, what) in rows {
            match what {
                FactKind::Other(kind, more) => {
                    let mut data = json!({"order": order_json(order)});
                    data.as_object_mut().into_iter().zip(more.as_object()).for_each(|(data, more)| {
                        data.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
                    });
                    facts.push(Fact { key, kind, at, data });
                }
                FactKind::Step(status) => {
                    let is_expired = order.reason.as_deref() == Some(UNPAID);
                    let Some((kind, reserved)) = EventKind::of_status(status, is_expired) else { continue };
                    if let Some((kind, shopper)) = reserved.zip(shopper) {
                        let data = json!({"reservation": reservation_json(order, shopper)});
                        facts.push(Fact { key: format!("{key}:reservation"), kind, at, data });
                    }
                    facts.push(Fact { key, kind, at, data: json!({"order": order_json(order)}) });
                }
            }
        }
        facts.sort_by_key(|fact| (fact.at, fact.kind));
        facts
    }
}

/// Nothing that says who the owner is or where the goods go: who receives an event may ask the API, as far as its token
/// goes.
fn order_json(order: &Order) -> Value {
    json!({
        "id": order.id, "number": order.number, "sale_id": order.sale_id, "user_id": order.user_id, "quantity": order.quantity,
        "amount": order.amount, "shipping": order.shipping, "status": order.status, "reason": order.reason,
        "created_at": order.created_at, "pay_by": order.pay_by,
    })
}

fn reservation_json(order: &Order, shopper: &str) -> Value {
    json!({
        "id": order.id, "sale_id": order.sale_id, "shopper": shopper, "quantity": order.quantity,
        "amount": order.amount, "expires_at": order.pay_by,
    })
}

/// `times`: how often the refund was made before, and failed later.
fn made_key(refund: &str, times: i64) -> String {
    if times == 0 { format!("refund:{refund}:made") } else { format!("refund:{refund}:made:{times}") }
}

impl EventStore<'_> {
    async fn rows_of(self, orders: &[OrderId]) -> StoreResult<OrderRows> {
        let mut found = OrderRows::default();
        if orders.is_empty() {
            return Ok(found);
        }
        self.read(orders, "SELECT order_id, status, at_ms FROM order_events WHERE order_id IN", |row| {
            let status: OrderStatus = row::get(row, "status")?;
            found.add(row, status.to_string(), "at_ms", FactKind::Step(status))
        })
        .await?;
        let sql = "SELECT order_id, step, state, carrier, number, at_ms FROM parcel_steps WHERE order_id IN";
        self.read(orders, sql, |row| {
            let state: ParcelState = row::get(row, "state")?;
            let text = |name| row::get::<Option<String>>(row, name);
            let shipment = json!({"state": state, "carrier": text("carrier")?, "number": text("number")?});
            let key = format!("parcel:{}", row::int(row, "step")?);
            let what = FactKind::Other(EventKind::of_parcel(state), json!({"shipment": shipment}));
            found.add(row, key, "at_ms", what)
        })
        .await?;
        // A refund that was made and failed later was made all the same. The next time that it is made is another fact.
        let mut made: HashMap<String, i64> = HashMap::new();
        let sql = "SELECT order_id, refund_id, attempt, account, amount, currency, made_at_ms, failed_at_ms FROM failed_refunds
             WHERE account = 'shop' AND order_id IN";
        self.read(orders, sql, |row| {
            let (id, attempt) = (row::text(row, "refund_id")?, row::int(row, "attempt")?);
            let refund = json!({"refund": {"id": id, "amount": row::get::<Money>(row, "amount")?}});
            if row::has(row, "made_at_ms")? {
                let times = made.entry(id.clone()).or_default();
                let what = FactKind::Other(EventKind::RefundCompleted, refund.clone());
                found.add(row, made_key(&id, *times), "made_at_ms", what)?;
                *times += 1;
            }
            found.add(
                row,
                format!("refund:{id}:failed:{attempt}"),
                "failed_at_ms",
                FactKind::Other(EventKind::RefundFailed, refund),
            )
        })
        .await?;
        let made_again = |id: &str| made_key(id, made.get(id).copied().unwrap_or_default());
        // The money of a wrong amount pays for nothing and is in no fact.
        let sql = "SELECT order_id, id, provider, amount, currency, captured_at_ms, refunded_at_ms, refunded_in_parts
             FROM payments WHERE mismatched_at_ms IS NULL AND captured_at_ms IS NOT NULL AND order_id IN";
        self.read(orders, sql, |row| {
            let (id, amount): (_, Money) = (row::text(row, "id")?, row::get(row, "amount")?);
            let payment = json!({"id": id, "provider": row::text(row, "provider")?, "amount": amount});
            let what = FactKind::Other(EventKind::PaymentCaptured, json!({"payment": payment}));
            found.add(row, format!("payment:{id}"), "captured_at_ms", what)?;
            if !row::has(row, "refunded_at_ms")? {
                return Ok(());
            }
            let left = Money { amount: amount.amount - row::int(row, "refunded_in_parts")?, ..amount };
            let what = FactKind::Other(EventKind::RefundCompleted, json!({"refund": {"id": id, "amount": left}}));
            found.add(row, made_again(&id), "refunded_at_ms", what)
        })
        .await?;
        let sql = "SELECT order_id, id, amount, currency, requested_at_ms, refunded_at_ms FROM partial_refunds
             WHERE order_id IN";
        self.read(orders, sql, |row| {
            let id = row::text(row, "id")?;
            let refund = json!({"refund": {"id": id, "amount": row::get::<Money>(row, "amount")?}});
            let what = FactKind::Other(EventKind::RefundStarted, refund.clone());
            found.add(row, format!("refund:{id}"), "requested_at_ms", what)?;
            if !row::has(row, "refunded_at_ms")? {
                return Ok(());
            }
            let what = FactKind::Other(EventKind::RefundCompleted, refund);
            found.add(row, made_again(&id), "refunded_at_ms", what)
        })
        .await?;
        // A reservation of another shop is an order of an account that this shop has named.
        let sql = "SELECT orders.id AS order_id, external_id FROM orders JOIN users ON users.id = user_id
             WHERE orders.id IN";
        self.read(orders, sql, |row| {
            found.external.extend(Some(row::get(row, "order_id")?).zip(row::get(row, "external_id")?));
            Ok(())
        })
        .await?;
        Ok(found)
    }

    /// Reads the rows of orders, whose ids are the last condition of the statement.
    async fn read(
        self,
        orders: &[OrderId],
        sql: &str,
        each: impl FnMut(&AnyRow) -> sqlx::Result<()>,
    ) -> StoreResult<()> {
        self.all_of::<(), Vec<()>>(&format!("{sql} $ids"), &[], orders, each).await.map(drop)
    }
}

impl OrderRows {
    fn add(&mut self, row: &AnyRow, key: String, at: &str, what: FactKind) -> sqlx::Result<()> {
        self.facts.entry(row::get(row, "order_id")?).or_default().push((key, row::get(row, at)?, what));
        Ok(())
    }
}

/// The facts that become events now, with their sequences. `known` are the keys of facts that are events already, with
/// theirs; facts before `since` were no events or are deleted.
fn new_facts(facts: Vec<Fact>, known: &HashMap<String, i64>, since: Timestamp) -> Vec<(i64, Fact)> {
    let total = facts.len() as i64;
    let new: Vec<Fact> = facts.into_iter().filter(|fact| fact.at >= since && !known.contains_key(&fact.key)).collect();
    let last = known.values().copied().max().unwrap_or_default().max(total - new.len() as i64);
    (last + 1..).zip(new).collect()
}

/// What was found in one look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    /// There is no endpoint.
    Nobody,
    /// There is nothing new.
    All,
    /// More may follow at once.
    More,
    /// The feed does not reach back to the last look, because that was too long ago or a backup was restored. The next
    /// look begins with the oldest change.
    Gap,
}

/// Locks the cursor until the end of the transaction.
pub(super) async fn lock(tx: &mut Tx) -> sqlx::Result<()> {
    tx.run(query!("UPDATE event_cursor SET position = position WHERE id = 1")).await
}

/// Begins to make events of what happens from now on. The caller has locked the cursor.
pub(super) async fn begin(tx: &mut Tx) -> sqlx::Result<()> {
    // The revision is read before the sales, so that a change in between is compared.
    let sql = "UPDATE event_cursor SET position = (SELECT numbered FROM order_feed WHERE id = 1), since_ms = $1,
         revision = (SELECT revision FROM catalogue WHERE id = 1)";
    tx.run(query!(sql; tx.now)).await?;
    let sql = "INSERT INTO event_sales (sale_id, state, closes_at_ms, sequence)
         SELECT id, state, closes_at_ms, 0 FROM sales WHERE shadow = 0 AND retired_at_ms IS NULL
         ON CONFLICT (sale_id) DO UPDATE SET state = excluded.state, closes_at_ms = excluded.closes_at_ms";
    tx.run(query!(sql)).await
}

#[boxed]
impl EventStore<'_> {
    /// Makes events of a bounded number of changes. Without endpoints it reads one row.
    pub async fn follow(self) -> StoreResult<Followed> {
        let sql = "SELECT position, event_cursor.revision AS seen, catalogue.revision AS revision
             FROM event_cursor, catalogue WHERE event_cursor.id = 1 AND catalogue.id = 1 AND position IS NOT NULL";
        let read = |row: &sqlx::any::AnyRow| {
            Ok((row::int(row, "position")?, row::int(row, "seen")? != row::int(row, "revision")?))
        };
        let Some((position, has_changed)) = self.optional(query!(sql), read).await? else {
            return Ok(Followed::Nobody);
        };
        if has_changed {
            self.follow_sales().await?;
        }
        match self.orders().changed_orders(Some(position)).await? {
            None => {
                let sql = "UPDATE event_cursor SET position = (SELECT purged FROM order_feed WHERE id = 1)
                     WHERE id = 1 AND position = $1";
                self.run(query!(sql; position)).await?;
                Ok(Followed::Gap)
            }
            Some(page) if page.next == position => Ok(Followed::All),
            Some(page) => {
                self.follow_orders(position, &page).await?;
                Ok(if page.has_more { Followed::More } else { Followed::All })
            }
        }
    }

    async fn follow_orders(self, position: i64, page: &ChangedOrders) -> StoreResult<()> {
        let ids: Vec<OrderId> = page.orders.iter().map(|found| found.order.id).collect();
        let mut rows = self.rows_of(&ids).await?;
        let mut tx = self.begin().await?;
        let sql = "UPDATE event_cursor SET position = $2 WHERE id = 1 AND position = $1 RETURNING since_ms";
        let since: Option<Timestamp> = tx.optional(query!(sql; position, page.next), column("since_ms")).await?;
        // Another process was first, or the last endpoint was deleted.
        let Some(since) = since else { return Ok(()) };
        let since = since.max(tx.now - KEEP_EVENTS);
        let mut known: HashMap<String, HashMap<String, i64>> = HashMap::new();
        let subjects: Vec<String> = ids.iter().map(|id| format!("order {id}")).collect();
        let sql = "SELECT subject, fact, sequence FROM events WHERE subject IN $ids";
        let event = |row: &AnyRow| Ok((row::text(row, "subject")?, row::get(row, "fact")?, row::get(row, "sequence")?));
        let events: Vec<_> = tx.all_of(sql, &[], &subjects, event).await?;
        for (subject, fact, sequence) in events {
            known.entry(subject).or_default().insert(fact, sequence);
        }
        let mut events = Vec::new();
        for (found, subject) in page.orders.iter().zip(subjects) {
            let known = known.remove(&subject).unwrap_or_default();
            for (sequence, fact) in new_facts(rows.facts_of(&found.order), &known, since) {
                let place = (subject.clone(), sequence);
                let event = NewEvent::new(&tx, fact.kind, place, fact.key, fact.data);
                events.push(NewEvent { at: fact.at, ..event });
            }
        }
        write(&mut tx, &events).await?;
        Ok(tx.commit().await?)
    }

    /// Compares the states of sales with those that were told last. What a sale went through in between is not known.
    async fn follow_sales(self) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        // The revision is read before the sales, so that a change in between is compared the next time.
        let sql = "UPDATE event_cursor SET revision = (SELECT revision FROM catalogue WHERE id = 1)
             WHERE id = 1 AND position IS NOT NULL RETURNING position";
        if !tx.exists(query!(sql)).await? {
            return Ok(());
        }
        let sql = "SELECT sales.id, sales.state, sales.goods_id, sales.total, sales.sold, sales.opens_at_ms,
               sales.closes_at_ms, told.state AS told_state, told.closes_at_ms AS told_closes_at_ms,
               COALESCE(told.sequence, 0) AS sequence
             FROM sales LEFT JOIN event_sales AS told ON told.sale_id = sales.id
             WHERE sales.shadow = 0 AND (sales.retired_at_ms IS NULL OR told.state <> 'ended')
               AND (told.state IS NULL OR told.state <> sales.state
                 OR COALESCE(told.closes_at_ms, 0) <> COALESCE(sales.closes_at_ms, 0)) ORDER BY sales.id";
        let mut events = Vec::new();
        for row in tx.fetch_all(query!(sql)).await? {
            let (id, state): (SaleId, SaleState) = (row::get(&row, "id")?, row::get(&row, "state")?);
            let told: Option<String> = row::get(&row, "told_state")?;
            let told = told.and_then(|state| state.parse().ok()).unwrap_or(SaleState::Draft);
            let closes_at: Option<Timestamp> = row::get(&row, "closes_at_ms")?;
            let planned: Option<Timestamp> = row::get(&row, "told_closes_at_ms")?;
            let is_early = closes_at.is_some_and(|closed| planned.is_none_or(|planned| closed < planned));
            let kind = EventKind::of_sale(told, state, is_early);
            let sequence = row::int(&row, "sequence")? + i64::from(kind.is_some());
            let data = json!({"sale": {
                "id": id, "state": state, "goods_id": row::int(&row, "goods_id")?.to_string(),
                "total": row::int(&row, "total")?, "sold": row::int(&row, "sold")?,
                "opens_at": row::get::<Option<Timestamp>>(&row, "opens_at_ms")?, "closes_at": closes_at,
            }});
            let place = (format!("sale {id}"), sequence);
            events.extend(kind.map(|kind| NewEvent::new(&tx, kind, place, sequence.to_string(), data)));
            let sql = "INSERT INTO event_sales (sale_id, state, closes_at_ms, sequence) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (sale_id) DO UPDATE SET state = excluded.state, closes_at_ms = excluded.closes_at_ms,
                   sequence = excluded.sequence";
            tx.run(query!(sql; id, state, closes_at, sequence)).await?;
        }
        write(&mut tx, &events).await?;
        Ok(tx.commit().await?)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use domain::{Currency, Money, SaleId, UserId};

    fn order(status: OrderStatus, reason: Option<&str>) -> Order {
        Order {
            id: OrderId(Uuid::from_u128(1)),
            number: None,
            sale_id: SaleId(7),
            user_id: UserId(Uuid::from_u128(2)),
            quantity: 1,
            amount: Money::new(100, Currency::CNY),
            shipping: Money::new(0, Currency::CNY),
            status,
            reason: reason.map(str::to_owned),
            message: None,
            address: None,
            reserved_at: at(1),
            created_at: at(1),
            pay_by: at(900),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// The types of an order's events, if these statuses followed after it was made.
    fn kinds(order: &Order, steps: &[OrderStatus], shopper: Option<&str>) -> Vec<EventKind> {
        let step = |(n, status): (i64, &OrderStatus)| (status.to_string(), at(n), FactKind::Step(*status));
        let facts = HashMap::from([(order.id, (2..).zip(steps).map(step).collect())]);
        let external = shopper.map(|name| (order.id, name.to_owned())).into_iter().collect();
        OrderRows { facts, external }.facts_of(order).iter().map(|fact| fact.kind).collect()
    }

    #[test]
    fn order_of_another_shop_is_told_as_a_reservation_too() {
        use EventKind::*;
        use OrderStatus::{Cancelled, Paid, Rejected};
        let paid = order(Paid, None);
        assert_eq!(kinds(&paid, &[Paid], None), [OrderCreated, OrderPaid]);
        let both = [OrderCreated, ReservationHeld, OrderPaid, ReservationConfirmed];
        assert_eq!(kinds(&paid, &[Paid], Some("4711")), both);
        let released = order(Cancelled, Some("by_owner"));
        let both = [OrderCreated, ReservationHeld, OrderCancelled, ReservationReleased];
        assert_eq!(kinds(&released, &[Cancelled], Some("4711")), both);
        let expired = order(Cancelled, Some("unpaid"));
        let both = [OrderCreated, ReservationHeld, OrderCancelled, ReservationExpired];
        assert_eq!(kinds(&expired, &[Cancelled], Some("4711")), both);
        let rejected = order(Rejected, Some("sold_out"));
        assert_eq!(kinds(&rejected, &[], Some("4711")), [OrderRejected, ReservationRejected]);
    }

    #[test]
    fn sequence_counts_facts_whether_or_not_they_were_events() {
        let fact = |second: i64| Fact {
            key: second.to_string(),
            kind: EventKind::OrderPaid,
            at: at(second),
            data: Value::Null,
        };
        let new = |facts: &[i64], known: &[&str], since| {
            let known = (1..).zip(known).map(|(sequence, key)| ((*key).to_owned(), sequence)).collect();
            let new = new_facts(facts.iter().map(|second| fact(*second)).collect(), &known, at(since));
            new.into_iter().map(|(sequence, fact)| (sequence, fact.key)).collect::<Vec<_>>()
        };
        let two = |a: i64, b: i64| vec![(a, a.to_string()), (b, b.to_string())];
        assert_eq!(new(&[1, 2], &[], 0), two(1, 2));
        assert_eq!(new(&[1, 2, 3, 4], &["1", "2"], 0), two(3, 4));
        // The first fact is older than the first endpoint; later the event of the second one is deleted.
        assert_eq!(new(&[1, 2], &[], 2), [(2, "2".to_owned())]);
        assert_eq!(new(&[1, 2, 3], &[], 3), [(3, "3".to_owned())]);
        assert_eq!(new(&[1, 2, 3], &["1", "2", "3"], 0), []);
    }
}
