//! Instructions per request, counted by valgrind's callgrind. This binary runs itself under callgrind, which counts
//! only inside `counted_by_callgrind`.

use std::path::Path;
use std::process::Command;

use axum::body::Body;
use axum::http::Request;
use tokio::runtime::Runtime;

use crate::in_process::{CONCURRENT_PURCHASES, InProcessShop, RequestKind, runtime};
use crate::support::Rung;

/// This variable is set in the run under valgrind.
const TASK: &str = "SECKILL_COUNTS_TASK";

const REQUESTS: usize = 2 * CONCURRENT_PURCHASES;

/// The kinds in the order in which they are counted.
const KINDS: [RequestKind; 5] =
    [RequestKind::Noop, RequestKind::Button, RequestKind::Purchase, RequestKind::PurchaseInTurn, RequestKind::Refusal];

/// The part that runs under valgrind.
#[test]
#[ignore = "run by the test below"]
fn task() {
    if std::env::var_os(TASK).is_none() {
        return;
    }
    let runtime = runtime();
    let mut shop = runtime.block_on(InProcessShop::on(Some(Rung::Redis), 10_000));
    for kind in KINDS {
        shop = match kind {
            RequestKind::PurchaseInTurn => runtime.block_on(shop.with_waiting_room(10_000)),
            RequestKind::Refusal => runtime.block_on(shop.sold_out()),
            RequestKind::Noop | RequestKind::Button | RequestKind::Purchase => shop,
        };
        // The first requests fill caches and load scripts.
        runtime.block_on(shop.send_all(kind, shop.requests(kind, CONCURRENT_PURCHASES)));
        counted_by_callgrind(&runtime, &shop, kind, shop.requests(kind, REQUESTS));
    }
}

/// Callgrind counts inside this function, which the test below names.
#[inline(never)]
fn counted_by_callgrind(runtime: &Runtime, shop: &InProcessShop, kind: RequestKind, requests: Vec<Request<Body>>) {
    runtime.block_on(shop.send_all(kind, requests));
}

/// The instructions of the n-th call. Callgrind writes a file for each call.
fn counted(dir: &Path, n: usize) -> f64 {
    let text = std::fs::read_to_string(dir.join(format!("out.{n}"))).expect("callgrind has counted");
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse::<u64>().ok());
    total.expect("a total") as f64
}

mod stack {
    use super::*;
    use crate::figures::{check, check_turn};

    #[test]
    fn requests_of_each_kind() {
        let dir = tempfile::tempdir().unwrap();
        let function = "counts::instructions::counted_by_callgrind";
        let done = Command::new("valgrind")
            .args(["--tool=callgrind", &format!("--callgrind-out-file={}", dir.path().join("out").display())])
            .args([format!("--toggle-collect={function}"), format!("--dump-after={function}")])
            .arg(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "instructions::task"])
            .env(TASK, "1")
            .output()
            .expect("valgrind is needed: scripts/test installs it");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(done.status.success(), "{}\n{}", text(&done.stderr), text(&done.stdout));
        let counts = (1..=KINDS.len()).map(|n| counted(dir.path(), n) / REQUESTS as f64);
        let counts: Vec<(RequestKind, f64)> = KINDS.into_iter().zip(counts).collect();
        for (kind, count) in &counts {
            check(kind.name(), &[("instructions", *count)]);
        }
        let count_of = |kind| counts.iter().find(|(counted, _)| *counted == kind).expect("a counted kind").1;
        check_turn("instructions", count_of(RequestKind::PurchaseInTurn), count_of(RequestKind::Purchase));
    }
}
