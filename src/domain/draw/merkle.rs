//! The Merkle tree of RFC 6962 (certificate transparency) over the entries of a draw, with SHA-256. A leaf hashes 0 and the 16
//! bytes of an entry, a node hashes 1 and its two children. The left child holds the largest power of two that is less than
//! the number of leaves.

use sha2::{Digest, Sha256};

use super::EntryId;

type Hash = [u8; 32];

/// The root over entries, which are sorted. It stays the same only if every entry does.
pub fn root(entries: &[EntryId]) -> Hash {
    debug_assert!(entries.is_sorted_by(|one, next| one < next), "sorted, each once");
    match entries {
        [] => Sha256::digest([]).into(),
        entries => subtree(entries),
    }
}

/// The hashes with which [`root_of`] gets from the entry at `index` to the root, from the leaf upwards. Empty for an index
/// beyond the entries.
pub fn inclusion(entries: &[EntryId], index: usize) -> Vec<Hash> {
    let mut path = Vec::new();
    if index < entries.len() {
        ascend(entries, index, &mut path);
    }
    path
}

/// The root that an entry, its index among `n` entries and its inclusion path lead to. `None` if the path has another length.
pub fn root_of(entry: EntryId, index: usize, n: usize, path: &[Hash]) -> Option<Hash> {
    if n == 1 {
        return (index == 0 && path.is_empty()).then(|| leaf(entry));
    }
    let (sibling, rest) = path.split_last()?;
    if index >= n {
        return None;
    }
    let left = split(n);
    if index < left {
        Some(node(&root_of(entry, index, left, rest)?, sibling))
    } else {
        Some(node(sibling, &root_of(entry, index - left, n - left, rest)?))
    }
}

fn subtree(entries: &[EntryId]) -> Hash {
    if let [entry] = entries {
        return leaf(*entry);
    }
    let (left, right) = entries.split_at(split(entries.len()));
    node(&subtree(left), &subtree(right))
}

fn ascend(entries: &[EntryId], index: usize, path: &mut Vec<Hash>) {
    if entries.len() == 1 {
        return;
    }
    let (left, right) = entries.split_at(split(entries.len()));
    if index < left.len() {
        ascend(left, index, path);
        path.push(subtree(right));
    } else {
        ascend(right, index - left.len(), path);
        path.push(subtree(left));
    }
}

/// The largest power of two below `n`, which is at least 2.
fn split(n: usize) -> usize {
    1 << (n - 1).ilog2()
}

fn leaf(entry: EntryId) -> Hash {
    leaf_of(entry.as_bytes())
}

fn leaf_of(data: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(data).finalize().into()
}

fn node(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}
