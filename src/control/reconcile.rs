//! Comparing the holds in Redis with the orders in the database: a pure look at two pictures of one bucket.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;

use crate::domain::claim::Hold;
use crate::domain::order::made_at;
use crate::domain::{OrderId, OrderStatus, SaleId, UserId};
use crate::store::HeldUnits;

/// A hold that has neither order nor outbox entry is given up on only after a while.
const YOUNG: Duration = Duration::from_secs(30);

/// Both sides of one bucket of a sale.
#[derive(Debug, Clone)]
pub struct Picture {
    pub sale: SaleId,
    pub epoch: i64,
    /// Units that the master says are taken.
    pub booked: i64,
    pub holds: HashMap<UserId, Hold>,
    /// Orders in the outbox that have not reached the database.
    pub on_their_way: HashSet<OrderId>,
    /// Live orders in the database.
    pub orders: HashMap<UserId, HeldUnits>,
    /// The statuses of orders that holds name but that are not their users' live orders.
    pub statuses: HashMap<OrderId, OrderStatus>,
}

/// What does not agree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// Holds of orders that have ended: to be released.
    pub dead_holds: Vec<HeldUnits>,
    /// Live orders that nobody holds units for: to be held.
    pub missing_holds: Vec<HeldUnits>,
    /// Holds that are on their way nowhere: to be sent again.
    pub lost_orders: Vec<HeldUnits>,
    /// Holds of which it is too early to say so.
    pub undecided: usize,
}

impl Differences {
    /// Nothing to mend, now.
    pub fn is_empty(&self) -> bool {
        self.dead_holds.is_empty() && self.missing_holds.is_empty() && self.lost_orders.is_empty()
    }
}

/// Finds what does not agree. Orders under way are no difference.
pub fn compare(picture: &Picture, now: Timestamp) -> Differences {
    let mut found = Differences::default();
    for (&user_id, hold) in &picture.holds {
        let of_hold = HeldUnits { order_id: hold.order_id, sale_id: picture.sale, user_id, quantity: hold.quantity };
        let matches = picture.orders.get(&user_id).is_some_and(|order| order.order_id == hold.order_id);
        if matches || picture.on_their_way.contains(&hold.order_id) {
            continue;
        }
        match picture.statuses.get(&hold.order_id) {
            Some(status) if !status.is_live() => found.dead_holds.push(of_hold),
            // It has landed since the orders were read.
            Some(_) => {}
            None if made_at(hold.order_id) + YOUNG < now => found.lost_orders.push(of_hold),
            None => found.undecided += 1,
        }
    }
    found.missing_holds.extend(picture.orders.values().filter(|order| !picture.holds.contains_key(&order.user_id)));
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
    fn every_kind_of_difference_is_told_apart() {
        let sale = SaleId(7);
        let now = Timestamp::from_second(1_000).unwrap();
        let orders: Vec<OrderId> = [10, 11, 12, 13, 14, 999].map(order).to_vec();
        let hold = |n: usize| (user(n as u128), Hold { order_id: orders[n], quantity: 1 });
        let live = |n: usize| {
            let release = HeldUnits { order_id: orders[n], sale_id: sale, user_id: user(n as u128), quantity: 1 };
            (release.user_id, release)
        };
        let picture = Picture {
            sale,
            epoch: 1,
            booked: 5,
            // 0 agrees, 1 is under way, 2 was cancelled, 3 is lost, 5 is young.
            holds: [hold(0), hold(1), hold(2), hold(3), hold(5)].into(),
            on_their_way: [orders[1]].into(),
            // 4 has an order that nobody holds units for.
            orders: [live(0), live(4)].into(),
            statuses: [(orders[2], OrderStatus::Cancelled)].into(),
        };
        let found = compare(&picture, now);
        assert_eq!(found.dead_holds, [live(2).1]);
        assert_eq!(found.lost_orders, [live(3).1]);
        assert_eq!(found.missing_holds, [live(4).1]);
        assert_eq!(found.undecided, 1);
    }
}
