//! Allocations and bytes per request.

use stats_alloc::Region;

use crate::ALLOCATOR;
use crate::figures::check;
use crate::house::{House, Kind, TOGETHER, runtime};

/// Enough that a table that grows now and then does not show.
const REQUESTS: usize = 20 * TOGETHER;

fn count(kind: Kind) {
    runtime().block_on(async {
        let house = House::of(kind, 10 * REQUESTS as i64).await;
        // The first ones fill caches and prepare scripts.
        house.ask(kind, house.requests(kind, 4 * TOGETHER)).await;
        let requests = house.requests(kind, REQUESTS);
        let region = Region::new(ALLOCATOR);
        house.ask(kind, requests).await;
        let change = region.change();
        let per_request = |all: usize| all as f64 / REQUESTS as f64;
        let allocations = per_request(change.allocations + change.reallocations);
        check(kind.name(), &[("allocations", allocations), ("bytes", per_request(change.bytes_allocated))]);
    });
}

#[test]
fn of_a_request_with_nothing_at_its_end() {
    count(Kind::Noop);
}

#[test]
fn of_the_button() {
    count(Kind::Button);
}

#[test]
fn of_a_refusal() {
    count(Kind::Refusal);
}

mod stack {
    #[test]
    fn of_an_accepted_purchase() {
        super::count(super::Kind::Purchase);
    }
}
