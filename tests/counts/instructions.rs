//! Instructions per request, counted by valgrind's callgrind. This binary runs itself under it, and only what happens
//! while requests are asked is counted.

use std::path::Path;
use std::process::Command;

use axum::body::Body;
use axum::http::Request;
use tokio::runtime::Runtime;

use crate::house::{House, Kind, TOGETHER, runtime};
use crate::support::Rung;

/// Set in the run under valgrind.
const TASK: &str = "SECKILL_COUNTS_TASK";

const REQUESTS: usize = 2 * TOGETHER;

/// In the order in which they are counted.
const KINDS: [Kind; 4] = [Kind::Noop, Kind::Button, Kind::Purchase, Kind::Refusal];

/// What runs under valgrind.
#[test]
#[ignore = "run by the test below"]
fn task() {
    if std::env::var_os(TASK).is_none() {
        return;
    }
    let runtime = runtime();
    let mut house = runtime.block_on(House::on(Some(Rung::Redis), 10_000));
    for kind in KINDS {
        if kind == Kind::Refusal {
            house = runtime.block_on(house.sold_out());
        }
        // The first ones fill caches and prepare scripts.
        runtime.block_on(house.ask(kind, house.requests(kind, TOGETHER)));
        counted_by_callgrind(&runtime, &house, kind, house.requests(kind, REQUESTS));
    }
}

/// Callgrind is told this name.
#[inline(never)]
fn counted_by_callgrind(runtime: &Runtime, house: &House, kind: Kind, requests: Vec<Request<Body>>) {
    runtime.block_on(house.ask(kind, requests));
}

/// The instructions of the n-th time, of which callgrind has written a file of its own.
fn counted(dir: &Path, n: usize) -> f64 {
    let text = std::fs::read_to_string(dir.join(format!("out.{n}"))).expect("callgrind has counted");
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse::<u64>().ok());
    total.expect("a total") as f64
}

mod stack {
    use super::*;
    use crate::figures::check;

    #[test]
    fn of_requests_of_each_kind() {
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
        for (n, kind) in KINDS.into_iter().enumerate() {
            check(kind.name(), &[("instructions", counted(dir.path(), n + 1) / REQUESTS as f64)]);
        }
    }
}
