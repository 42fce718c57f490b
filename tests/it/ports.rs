//! The ports of stacks that start side by side.

use std::process::Command;

/// Chooses the ports of eight stacks at once, all of which begin their search at the same block, and prints their first.
const EIGHT_STACKS: &str = r#"
source "$1/scripts/lib/packages.sh"
source "$1/scripts/lib/layout.sh"
cksum() { echo 7; }
for STACK in "$2"/{1..8}; do
    mkdir "$STACK"
    choose_ports &
done
wait
cat "$2"/*/ports | grep '^nginx='
"#;

#[test]
fn stacks_that_start_at_once_have_ports_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let chosen = Command::new("bash")
        .args(["-euc", EIGHT_STACKS, "-", env!("CARGO_MANIFEST_DIR")])
        .arg(dir.path())
        .output()
        .unwrap();
    let chosen = String::from_utf8(chosen.stdout).unwrap();
    let mut first: Vec<&str> = chosen.lines().collect();
    first.sort_unstable();
    first.dedup();
    assert_eq!(first.len(), 8, "{chosen}");
}
