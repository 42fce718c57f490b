//! Compares the holds of a bucket in Redis with its orders in the database: a pure function of one snapshot of both.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;

use domain::claim::Hold;
use domain::order::generated_at;
use domain::{OrderId, OrderStatus, SaleId, UserId};
use store::HeldUnits;

/// The age at which a hold with neither an order nor an outbox entry counts as lost.
const MIN_LOST_AGE: Duration = Duration::from_secs(30);

/// One bucket of a sale as Redis and the database see it.
#[derive(Debug, Clone)]
pub struct BucketSnapshot {
    pub sale: SaleId,
    pub epoch: i64,
    /// Units that the master counts as taken.
    pub booked: i64,
    /// Whether as many units were booked after the holds were read as before.
    pub is_steady: bool,
    /// Whether the bucket may grant. If it is closed, nothing was granted while the snapshot was read.
    pub is_open: bool,
    pub holds: HashMap<UserId, Hold>,
    /// Fields among the holds that cannot be parsed.
    pub unreadable: Vec<String>,
    /// Orders in the outbox that have not reached the database.
    pub in_flight: HashMap<OrderId, HeldUnits>,
    /// Live orders in the database.
    pub orders: HashMap<UserId, HeldUnits>,
    /// The statuses of orders that have a hold but are not the live order of its user.
    pub statuses: HashMap<OrderId, OrderStatus>,
}

/// Holds on which Redis and the database disagree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HoldMismatches {
    /// Holds of orders that have ended; to be released.
    pub ended_holds: Vec<HeldUnits>,
    /// Live orders without a hold; to be held.
    pub missing_holds: Vec<HeldUnits>,
    /// Orders in flight whose user holds nothing; to be held. A master that has lost its last writes still has the hold
    /// of the user's earlier order, which has ended since. The order that was granted after it is replayed to the outbox
    /// only. Without a hold its units would be granted to another account, and the database would reject the order.
    pub in_flight_unheld: Vec<HeldUnits>,
    /// Holds whose order is neither in the database nor in the outbox; to be sent again.
    pub lost_orders: Vec<HeldUnits>,
    /// Live orders whose hold has another number of units; the database is right.
    pub other_units: Vec<HeldUnits>,
    /// The sum of the holds, if another number of units is booked. It is looked at once every hold is right and
    /// readable.
    pub held: Option<i64>,
    /// Holds that may be lost orders, but are younger than [`MIN_LOST_AGE`].
    pub undecided: usize,
}

impl HoldMismatches {
    /// Whether nothing needs to be repaired now.
    pub fn is_empty(&self) -> bool {
        self.ended_holds.is_empty()
            && self.missing_holds.is_empty()
            && self.in_flight_unheld.is_empty()
            && self.lost_orders.is_empty()
            && self.other_units.is_empty()
            && self.held.is_none()
    }
}

/// Finds mismatches. An order in flight that is held is not a mismatch.
pub fn compare(snapshot: &BucketSnapshot, now: Timestamp) -> HoldMismatches {
    let mut found = HoldMismatches::default();
    for (&user_id, hold) in &snapshot.holds {
        let of_hold = HeldUnits { order_id: hold.order_id, sale_id: snapshot.sale, user_id, quantity: hold.quantity };
        let order = snapshot.orders.get(&user_id).filter(|order| order.order_id == hold.order_id);
        found.other_units.extend(order.filter(|order| order.quantity != hold.quantity));
        if order.is_some() || snapshot.in_flight.contains_key(&hold.order_id) {
            continue;
        }
        match snapshot.statuses.get(&hold.order_id) {
            Some(status) if !status.is_live() => found.ended_holds.push(of_hold),
            // The order has reached the database since the orders were read.
            Some(_) => {}
            None if generated_at(hold.order_id) + MIN_LOST_AGE < now => found.lost_orders.push(of_hold),
            None => found.undecided += 1,
        }
    }
    let is_unheld = |order: &&HeldUnits| !snapshot.holds.contains_key(&order.user_id);
    found.missing_holds.extend(snapshot.orders.values().filter(is_unheld));
    // Holds of an open bucket were read before its outbox, so a young order in flight may be held by now.
    let is_settled = |order: &&HeldUnits| !snapshot.is_open || generated_at(order.order_id) + MIN_LOST_AGE < now;
    let in_flight = snapshot.in_flight.values().filter(is_unheld).filter(is_settled);
    found.in_flight_unheld.extend(in_flight.filter(|order| !snapshot.orders.contains_key(&order.user_id)));
    // Of two orders of one user the older one gets the hold, as in the database.
    found.in_flight_unheld.sort_by_key(|order| order.order_id);
    let held = snapshot.holds.values().map(|hold| i64::from(hold.quantity)).sum();
    if found.is_empty() && snapshot.is_steady && snapshot.unreadable.is_empty() && held != snapshot.booked {
        found.held = Some(held);
    }
    found
}

#[cfg(test)]
mod tests {
    mod model;

    use uuid::{NoContext, Uuid};

    use super::*;

    fn order(second: u64) -> OrderId {
        OrderId(Uuid::new_v7(uuid::Timestamp::from_unix(NoContext, second, 0)))
    }

    fn user(n: u128) -> UserId {
        UserId(Uuid::from_u128(n))
    }

    #[test]
    fn each_kind_of_mismatch_is_classified() {
        let sale = SaleId(7);
        let now = Timestamp::from_second(1_000).unwrap();
        let orders: Vec<OrderId> = [10, 11, 12, 13, 14, 999, 15, 998].map(order).to_vec();
        let hold = |n: usize| (user(n as u128), Hold { order_id: orders[n], quantity: 1 });
        let live = |n: usize| {
            let release = HeldUnits { order_id: orders[n], sale_id: sale, user_id: user(n as u128), quantity: 1 };
            (release.user_id, release)
        };
        let snapshot = BucketSnapshot {
            sale,
            epoch: 1,
            booked: 5,
            is_steady: true,
            // Order 0 agrees, 1 is in flight, 2 was cancelled, 3 is lost, 5 is young.
            holds: [hold(0), hold(1), hold(2), hold(3), hold(5)].into(),
            unreadable: Vec::new(),
            is_open: true,
            // Orders 6 and 7 are in flight without a hold; 7 is young.
            in_flight: [live(1), live(6), live(7)].map(|(_, units)| (units.order_id, units)).into(),
            // Order 4 is live without a hold.
            orders: [live(0), live(4)].into(),
            statuses: [(orders[2], OrderStatus::Cancelled)].into(),
        };
        let found = compare(&snapshot, now);
        assert_eq!(found.ended_holds, [live(2).1]);
        assert_eq!(found.lost_orders, [live(3).1]);
        assert_eq!(found.missing_holds, [live(4).1]);
        assert_eq!(found.in_flight_unheld, [live(6).1]);
        assert_eq!(found.undecided, 1);
        // Nothing is granted while a bucket is closed, so a young order is not held by now.
        let found = compare(&BucketSnapshot { is_open: false, ..snapshot }, now);
        assert_eq!(found.in_flight_unheld, [live(6).1, live(7).1]);
    }

    #[test]
    fn other_units_than_the_order_has_and_a_wrong_count_are_found() {
        let (sale, now) = (SaleId(7), Timestamp::from_second(1_000).unwrap());
        let live = HeldUnits { order_id: order(10), sale_id: sale, user_id: user(1), quantity: 2 };
        let snapshot = |quantity, booked, unreadable: &[&str]| BucketSnapshot {
            sale,
            epoch: 1,
            booked,
            is_steady: true,
            holds: [(live.user_id, Hold { order_id: live.order_id, quantity })].into(),
            unreadable: unreadable.iter().map(|text| (*text).to_owned()).collect(),
            is_open: true,
            in_flight: HashMap::new(),
            orders: [(live.user_id, live)].into(),
            statuses: HashMap::new(),
        };
        assert!(compare(&snapshot(2, 2, &[]), now).is_empty());
        let found = compare(&snapshot(1, 1, &[]), now);
        assert_eq!((found.other_units, found.held), (vec![live], None));
        assert_eq!(compare(&snapshot(2, 5, &[]), now).held, Some(2));
        let selling = BucketSnapshot { is_steady: false, ..snapshot(2, 5, &[]) };
        assert_eq!(compare(&selling, now).held, None, "units were granted while the holds were read");
        assert_eq!(compare(&snapshot(1, 5, &[]), now).held, None, "holds are repaired first");
        assert_eq!(compare(&snapshot(2, 5, &["x: y"]), now).held, None, "an unreadable hold may have the other units");
    }
}
