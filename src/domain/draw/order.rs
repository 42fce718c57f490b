//! The order of a draw: a seed from everything that was published, and a key per entry from the seed.

use sha2::{Digest, Sha256};

use super::{DrawRules, DrawSecret, EntryId, PROTOCOL, Randomness};

/// The number of an entry's only ticket.
const TICKET: u32 = 0;

/// SHA-256(protocol ‖ SHA-256(rules) ‖ root ‖ n ‖ round ‖ randomness ‖ secret). `n` is the number of entries that take part.
/// Numbers are 64 bits, big-endian; without public randomness the round and its randomness are zeros.
pub fn seed(
    rules: &DrawRules,
    root: &[u8; 32],
    n: u64,
    randomness: Option<&Randomness>,
    secret: &DrawSecret,
) -> [u8; 32] {
    let (round, random) = randomness.map_or((0, [0; 32]), |known| (known.round, known.value()));
    Sha256::new()
        .chain_update(PROTOCOL)
        .chain_update(rules.digest())
        .chain_update(root)
        .chain_update(n.to_be_bytes())
        .chain_update(round.to_be_bytes())
        .chain_update(random)
        .chain_update(secret.as_bytes())
        .finalize()
        .into()
}

/// Indices into `entries`, the best rank first: ascending by SHA-256(seed ‖ 0 ‖ entry ‖ ticket), where the ticket is a
/// number of 32 bits. If two keys are equal, the smaller id is first.
pub fn ranking(seed: &[u8; 32], entries: &[EntryId]) -> Vec<usize> {
    let mut keys: Vec<([u8; 32], EntryId, usize)> =
        entries.iter().enumerate().map(|(index, entry)| (rank_key(seed, *entry), *entry, index)).collect();
    keys.sort_unstable();
    keys.into_iter().map(|(_, _, index)| index).collect()
}

fn rank_key(seed: &[u8; 32], entry: EntryId) -> [u8; 32] {
    Sha256::new()
        .chain_update(seed)
        .chain_update([0])
        .chain_update(entry.as_bytes())
        .chain_update(TICKET.to_be_bytes())
        .finalize()
        .into()
}
