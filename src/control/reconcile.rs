//! Compares the holds of a bucket in Redis with its orders in the database: a pure function of one snapshot of both.

use std::collections::{HashMap, HashSet};
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
    pub holds: HashMap<UserId, Hold>,
    /// Orders in the outbox that have not reached the database.
    pub in_flight: HashSet<OrderId>,
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
    /// Holds whose order is neither in the database nor in the outbox; to be sent again.
    pub lost_orders: Vec<HeldUnits>,
    /// Holds that may be lost orders, but are younger than [`MIN_LOST_AGE`].
    pub undecided: usize,
}

impl HoldMismatches {
    /// Whether nothing needs to be repaired now.
    pub fn is_empty(&self) -> bool {
        self.ended_holds.is_empty() && self.missing_holds.is_empty() && self.lost_orders.is_empty()
    }
}

/// Finds mismatches. An order in flight is not a mismatch.
pub fn compare(snapshot: &BucketSnapshot, now: Timestamp) -> HoldMismatches {
    let mut found = HoldMismatches::default();
    for (&user_id, hold) in &snapshot.holds {
        let of_hold = HeldUnits { order_id: hold.order_id, sale_id: snapshot.sale, user_id, quantity: hold.quantity };
        let matches = snapshot.orders.get(&user_id).is_some_and(|order| order.order_id == hold.order_id);
        if matches || snapshot.in_flight.contains(&hold.order_id) {
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
    found.missing_holds.extend(snapshot.orders.values().filter(|order| !snapshot.holds.contains_key(&order.user_id)));
    found
}

#[cfg(test)]
mod tests {
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
        let orders: Vec<OrderId> = [10, 11, 12, 13, 14, 999].map(order).to_vec();
        let hold = |n: usize| (user(n as u128), Hold { order_id: orders[n], quantity: 1 });
        let live = |n: usize| {
            let release = HeldUnits { order_id: orders[n], sale_id: sale, user_id: user(n as u128), quantity: 1 };
            (release.user_id, release)
        };
        let snapshot = BucketSnapshot {
            sale,
            epoch: 1,
            booked: 5,
            // Order 0 agrees, 1 is in flight, 2 was cancelled, 3 is lost, 5 is young.
            holds: [hold(0), hold(1), hold(2), hold(3), hold(5)].into(),
            in_flight: [orders[1]].into(),
            // Order 4 is live without a hold.
            orders: [live(0), live(4)].into(),
            statuses: [(orders[2], OrderStatus::Cancelled)].into(),
        };
        let found = compare(&snapshot, now);
        assert_eq!(found.ended_holds, [live(2).1]);
        assert_eq!(found.lost_orders, [live(3).1]);
        assert_eq!(found.missing_holds, [live(4).1]);
        assert_eq!(found.undecided, 1);
    }
}
