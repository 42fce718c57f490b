//! `seckill verify-draw` and `scripts/verify_draw.py`: two programs, one verdict.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use domain::SaleId;
use domain::draw::{
    Beacon, DrawRules, DrawSecret, EntryId, EntryList, EntryStatus, Exclusion, ListedEntry, Proof, PublicRound,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;

const ENTRIES: &str = "tests/draw/entries.csv";
/// Folders of `tests/draw`: the kinds of randomness.
const GOLDEN: [&str; 4] = ["quicknet", "sandbox", "none", "later"];

fn rust(proof: &Path, entries: &Path, asked: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_seckill"));
    program.arg("verify-draw").args([proof, entries]).args(asked).output().unwrap()
}

fn python(proof: &Path, entries: &Path) -> Output {
    Command::new("python3").args(["-B", "scripts/verify_draw.py"]).args([proof, entries]).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Exit code, the lines about checks without their details, and the first ten ranks.
fn verdict(output: &Output) -> (Option<i32>, Vec<String>) {
    let text = text(output);
    let is_check = |line: &&str| line.starts_with("ok  ") || line.starts_with("FAIL");
    let checks = text.lines().filter(is_check).map(|line| line.split(':').next().unwrap_or_default());
    let ranks = text.lines().map(|line| line.strip_prefix("rank ").unwrap_or(line));
    let ranks = ranks.filter(|line| line.starts_with(|digit: char| digit.is_ascii_digit()));
    (output.status.code(), checks.chain(ranks.take(10)).map(str::to_owned).collect())
}

fn both(proof: &Path, entries: &Path) -> (Option<i32>, Vec<String>) {
    let (one, other) = (rust(proof, entries, &[]), python(proof, entries));
    assert_eq!(verdict(&one), verdict(&other), "{}\n{}", text(&one), text(&other));
    verdict(&one)
}

fn golden(kind: &str) -> PathBuf {
    ["tests/draw", kind, "proof.json"].iter().collect()
}

fn write(dir: &TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn golden_draws_verify_in_both_programs() {
    for kind in GOLDEN {
        let (code, lines) = both(&golden(kind), Path::new(ENTRIES));
        assert_eq!(code, Some(0));
        let order = fs::read_to_string(format!("tests/draw/{kind}/order.txt")).unwrap();
        let ranks: Vec<String> = (1..).zip(order.lines()).map(|(rank, entry)| format!("{rank} {entry}")).collect();
        assert_eq!(lines[lines.len() - ranks.len()..], ranks);
    }
}

#[test]
fn what_has_to_be_trusted_is_said() {
    let said = |kind| text(&rust(&golden(kind), Path::new(ENTRIES), &[]));
    assert!(said("sandbox").contains("the round is one of the sandbox"), "{}", said("sandbox"));
    assert!(said("none").contains("there is no public randomness"), "{}", said("none"));
    assert!(!said("quicknet").contains("must be trusted"), "{}", said("quicknet"));
    let python = text(&python(&golden("quicknet"), Path::new(ENTRIES)));
    assert!(python.contains("signature of the drand round is not verified here"), "{python}");
}

#[test]
fn documented_example_is_what_is_printed() {
    let printed = rust(&golden("quicknet"), Path::new(ENTRIES), &[]);
    let documented = fs::read_to_string("docs/draw.md").unwrap();
    let example = String::from_utf8(printed.stdout).unwrap();
    assert!(documented.contains(&format!("tests/draw/entries.csv\n{example}```")), "{example}");
}

#[test]
fn own_rank_is_printed() {
    let asked = ["13f3e4f432cda1f2183cfb0fbeb7cc79", "00000000000000000000000000000000"];
    let output = rust(&golden("quicknet"), Path::new(ENTRIES), &asked);
    assert!(text(&output).contains("rank 2 13f3e4f432cda1f2183cfb0fbeb7cc79"), "{}", text(&output));
    assert!(text(&output).contains("none 00000000000000000000000000000000"), "{}", text(&output));
}

#[test]
fn failed_check_is_named_and_ends_with_1() {
    let dir = tempfile::tempdir().unwrap();
    let proof = fs::read_to_string(golden("sandbox")).unwrap();
    for (old, new, named) in [
        ("units 3", "units 4", "FAIL the seed follows from all of these"),
        ("closes_at 2023-08-23T15:10", "closes_at 2023-08-23T15:20", "FAIL the round appears after the last entry"),
        ("000102", "000103", "FAIL the secret is the one that the rules commit to"),
        ("\"round\": 123", "\"round\": 124", "FAIL the randomness is that of the awaited round"),
        ("\"n\": 9", "\"n\": 8", "FAIL the numbers of entries are those of the list"),
        ("tickets 1", "tickets 9", "FAIL the rules are complete and canonical"),
    ] {
        assert!(proof.contains(old), "{old}");
        let (code, lines) = both(&write(&dir, "proof.json", proof.replace(old, new)), Path::new(ENTRIES));
        assert_eq!(code, Some(1), "{lines:?}");
        assert!(lines.iter().any(|line| line == named), "{named}: {lines:?}");
    }
    let proof = fs::read_to_string(golden("later")).unwrap();
    for (old, new, expected) in [
        ("\"to\": 2413", "\"to\": 2414", 1),
        ("\"from\": 2413", "\"from\": 2412", 1),
        ("17:00:01.5Z", "16:10:00Z", 1),
        ("17:00:01.5Z", "17:00:61Z", 2),
        ("17:00:01.5Z", "17:00:01.50Z", 2),
        ("\"from\": 123,", "\"from\": 123, \"by\": \"mei\",", 2),
        ("\"from\": 123,", "", 2),
        ("\"from\": 123,", "\"from\": true,", 2),
    ] {
        assert!(proof.contains(old), "{old}");
        let (code, lines) = both(&write(&dir, "proof.json", proof.replace(old, new)), Path::new(ENTRIES));
        assert_eq!(code, Some(expected), "{new}: {lines:?}");
        let named = "FAIL each change of the round follows from its time".to_owned();
        assert_eq!(lines.contains(&named), expected == 1, "{new}: {lines:?}");
    }
    let shorter = fs::read_to_string(ENTRIES).unwrap().replacen("13f3e4f432cda1f2183cfb0fbeb7cc79,in\n", "", 1);
    let (code, lines) = both(&golden("sandbox"), &write(&dir, "entries.csv", shorter));
    assert_eq!(code, Some(1));
    assert!(lines.contains(&"FAIL the entries have the published root".to_owned()), "{lines:?}");
}

#[test]
fn fields_of_a_proof_are_what_both_programs_know() {
    let dir = tempfile::tempdir().unwrap();
    let proof = fs::read_to_string(golden("none")).unwrap();
    for (old, new, expected) in [
        ("  \"round\": null,\n  \"signature\": null,\n", "", 0),
        ("  \"n\": 9,\n", "", 2),
        ("{\n", "{\n  \"winners\": 3,\n", 2),
        ("  \"n\": 9,\n", "  \"n\": 9,\n  \"n\": 9,\n", 2),
        ("\"n\": 9", "\"n\": 9.0", 2),
        ("\"protocol\": \"seckill-draw/1\"", "\"protocol\": 1", 2),
        ("\"duplicate\": 2", "\"duplicate\": 2.0", 2),
        ("\"duplicate\": 2", "\"duplicate\": 1, \"duplicate\": 2", 2),
        ("\"duplicate\": 2", "\"elsewhere\": 2", 2),
        ("{\n", "\u{feff}{\n", 2),
        ("seckill-draw/1\\n", "\\ud800", 2),
        ("{\n", &format!("{{\n{}", " ".repeat(65_536)), 2),
        ("units 3", "units 03", 1),
        ("units 3", "units 99999999999999999999", 1),
        ("opens_at 2023", "opens_at +002023", 1),
        ("closes_at 2023-08", "closes_at 2023-13", 1),
    ] {
        assert!(proof.contains(old), "{old}");
        let (code, lines) = both(&write(&dir, "proof.json", proof.replacen(old, new, 1)), Path::new(ENTRIES));
        assert_eq!(code, Some(expected), "{new}: {lines:?}");
    }
}

#[test]
fn unreadable_files_end_with_2() {
    let dir = tempfile::tempdir().unwrap();
    let (list, no_json) = (fs::read(ENTRIES).unwrap(), write(&dir, "proof.json", "[]"));
    let not_a_list = write(&dir, "entries.csv", "entry,status\nx\n");
    let cut = write(&dir, "entries.csv.gz", &gzip(&list)[..40]);
    let mut bent = gzip(&list);
    bent[30..40].fill(0xff);
    let bent = write(&dir, "bent.csv.gz", bent);
    let header_only = write(&dir, "header.csv", "entry,status");
    let reason = String::from_utf8_lossy(&list).replacen("excluded:duplicate", "excluded:elsewhere", 1);
    let other_reason = write(&dir, "reason.csv", reason);
    let missing = dir.path().join("missing");
    for (proof, entries) in [
        (no_json, PathBuf::from(ENTRIES)),
        (golden("none"), not_a_list),
        (golden("none"), cut),
        (golden("none"), bent),
        (golden("none"), header_only),
        (golden("none"), other_reason),
        (missing, PathBuf::from(ENTRIES)),
    ] {
        assert_eq!(rust(&proof, &entries, &[]).status.code(), Some(2), "{proof:?} {entries:?}");
        assert_eq!(python(&proof, &entries).status.code(), Some(2), "{proof:?} {entries:?}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn generated_draws_verify_in_both_programs() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = StdRng::seed_from_u64(1);
    for (n, beacon) in [(0, None), (1, Some(Beacon::Sandbox)), (1_000, Some(Beacon::Sandbox)), (777, None)] {
        let secret = DrawSecret::new(random.random());
        let closes_at = "2026-11-25T12:00:00.25Z".parse().unwrap();
        let public = beacon.map(|beacon| PublicRound::first_after(beacon, closes_at));
        let rules = DrawRules {
            sale: SaleId(random.random_range(1..1_000)),
            units: 10,
            opens_at: "2026-11-24T12:00:00Z".parse().unwrap(),
            closes_at,
            window_s: 3_600,
            randomness: public,
            commitment: secret.commitment(),
        };
        let mut entry = || {
            let reason = random.random_range(0..40);
            let status = Exclusion::ALL.get(reason).map_or(EntryStatus::In, |reason| EntryStatus::Excluded(*reason));
            ListedEntry { id: EntryId::new(random.random()), status }
        };
        let list = EntryList::new((0..n).map(|_| entry()).collect()).unwrap();
        let known = public.and_then(|public| public.sandbox_randomness());
        let proof = Proof::new(&rules, &[], &list, known.as_ref(), &secret);
        let proof = write(&dir, "proof.json", serde_json::to_vec(&proof).unwrap());
        let (code, lines) = both(&proof, &write(&dir, "entries.csv.gz", gzip(list.to_csv().as_bytes())));
        assert_eq!(code, Some(0), "{lines:?}");
    }
}
