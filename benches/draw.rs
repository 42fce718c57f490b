//! The time to prove and to verify a draw of a million entries: `cargo bench --bench draw`.

use std::time::Instant;

use domain::SaleId;
use domain::draw::{
    Beacon, DrawRules, DrawSecret, EntryId, EntryList, EntryStatus, Exclusion, ListedEntry, Proof, PublicRound,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const ENTRIES: usize = 1_000_000;
/// One entry in so many is excluded.
const EXCLUDED: usize = 100;

fn main() {
    // `cargo test --benches` and similar commands only check that the benchmark builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let mut random = StdRng::seed_from_u64(1);
    let secret = DrawSecret::new(random.random());
    let public = PublicRound { beacon: Beacon::Sandbox, round: 123 };
    let rules = DrawRules {
        sale: SaleId(1),
        units: 1_000,
        opens_at: "2023-08-23T14:00:00Z".parse().expect("a time"),
        closes_at: "2023-08-23T15:10:00Z".parse().expect("a time"),
        window_s: 86_400,
        randomness: Some(public),
        commitment: secret.commitment(),
    };
    let entry = |n: usize| {
        let excluded = n.is_multiple_of(EXCLUDED);
        let status = if excluded { EntryStatus::Excluded(Exclusion::Duplicate) } else { EntryStatus::In };
        ListedEntry { id: EntryId::new(random.random()), status }
    };
    let entries = (0..ENTRIES).map(entry).collect();
    let list = timed("sort the list", || EntryList::new(entries).expect("no entry is twice in it"));
    let csv = timed("write the list", || list.to_csv());
    let proof =
        timed("make the proof", || Proof::new(&rules, &[], &list, public.sandbox_randomness().as_ref(), &secret));
    let verification = timed("verify the proof, with the order", || proof.verify(csv.as_bytes()));
    assert!(verification.is_ok_and(|verification| verification.holds()), "the proof holds");
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = work();
    println!("{what}: {:.2} s", started.elapsed().as_secs_f64());
    result
}
