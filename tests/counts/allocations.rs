//! Allocations and bytes per request.

use stats_alloc::Region;

use crate::ALLOCATOR;
use crate::figures::check;
use crate::in_process::{CONCURRENT_PURCHASES, InProcessShop, RequestKind, runtime};

/// Enough that the occasional growth of a table does not matter.
const REQUESTS: usize = 20 * CONCURRENT_PURCHASES;

/// Returns the allocations of a request.
fn count(kind: RequestKind) -> f64 {
    runtime().block_on(async {
        let shop = InProcessShop::of(kind, 10 * REQUESTS as i64).await;
        // The first requests fill caches and load scripts.
        shop.send_all(kind, shop.requests(kind, 4 * CONCURRENT_PURCHASES)).await;
        let requests = shop.requests(kind, REQUESTS);
        let region = Region::new(ALLOCATOR);
        shop.send_all(kind, requests).await;
        let change = region.change();
        let per_request = |all: usize| all as f64 / REQUESTS as f64;
        let allocations = per_request(change.allocations + change.reallocations);
        check(kind.name(), &[("allocations", allocations), ("bytes", per_request(change.bytes_allocated))]);
        allocations
    })
}

#[test]
fn request_without_a_handler() {
    count(RequestKind::Noop);
}

#[test]
fn button() {
    count(RequestKind::Button);
}

#[test]
fn refused_purchase() {
    count(RequestKind::Refusal);
}

mod stack {
    use super::{RequestKind, count};
    use crate::figures::check_turn;

    #[test]
    fn accepted_purchase_also_in_turn() {
        check_turn("allocations", count(RequestKind::PurchaseInTurn), count(RequestKind::Purchase));
    }
}
