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
