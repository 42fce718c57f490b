//! Each kind of mismatch, and a model of the whole way of an order.

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
        // Order 0 agrees, 1 is in flight, 2 was cancelled, 3 is lost, 5 is young.
        holds: [hold(0), hold(1), hold(2), hold(3), hold(5)].into(),
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
