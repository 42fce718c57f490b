//! The published list of entries, and the Merkle tree over it. The bytes of the list are fixed by its content: a header,
//! then a line per entry in the order of ids.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::hex;
use crate::ids::InvalidId;
use crate::wire::{wire_enum, wire_text};

const HEADER: &str = "entry,status";

/// One line of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedEntry {
    pub id: EntryId,
    pub status: EntryStatus,
}

/// Why a file is not a list that a shop publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WrongList {
    #[error("the list of entries does not begin with the line {HEADER:?}")]
    Header,
    #[error("line {0} of the list is not an entry and its status")]
    Line(usize),
    #[error("line {0} of the list is not in the order of entries, or repeats one")]
    Order(usize),
    #[error("the entry {0} is in the list twice")]
    Twice(EntryId),
}

/// All entries of a draw, sorted by id, each once. It does not change once the draw is locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryList(pub(super) Vec<ListedEntry>);

impl EntryList {
    /// The order of `entries` does not matter.
    pub fn new(mut entries: Vec<ListedEntry>) -> Result<EntryList, WrongList> {
        entries.sort_unstable_by_key(|entry| entry.id);
        let twice = entries.windows(2).find(|pair| pair[0].id == pair[1].id);
        twice.map_or(Ok(()), |pair| Err(WrongList::Twice(pair[0].id)))?;
        Ok(EntryList(entries))
    }

    /// Reads exactly what [`EntryList::to_csv`] writes, so that a list has one digest.
    pub fn parse(bytes: &[u8]) -> Result<EntryList, WrongList> {
        let text = str::from_utf8(bytes).map_err(|_| WrongList::Header)?;
        let lines = text.strip_prefix(HEADER).and_then(|rest| rest.strip_prefix('\n')).ok_or(WrongList::Header)?;
        let mut entries: Vec<ListedEntry> = Vec::new();
        for (at, line) in lines.split_inclusive('\n').enumerate() {
            let number = at + 2;
            let entry = entry(line).ok_or(WrongList::Line(number))?;
            if entries.last().is_some_and(|last| last.id >= entry.id) {
                return Err(WrongList::Order(number));
            }
            entries.push(entry);
        }
        Ok(EntryList(entries))
    }

    /// The list as CSV with the columns `entry` and `status`. Lines end with a line feed.
    pub fn to_csv(&self) -> String {
        let mut csv = format!("{HEADER}\n");
        for ListedEntry { id, status } in &self.0 {
            writeln!(csv, "{id},{status}").expect("a string takes every text");
        }
        csv
    }

    /// SHA-256 of the list's CSV.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.to_csv()).into()
    }

    /// The entries that take part, in the order of ids: the leaves of the Merkle tree, and what [`super::ranking`] ranks.
    pub fn taking_part(&self) -> Vec<EntryId> {
        self.0.iter().filter(|entry| entry.status == EntryStatus::In).map(|entry| entry.id).collect()
    }

    /// The number of excluded entries by reason.
    pub fn excluded(&self) -> BTreeMap<Exclusion, u64> {
        let mut counts = BTreeMap::new();
        for entry in &self.0 {
            if let EntryStatus::Excluded(reason) = entry.status {
                *counts.entry(reason).or_default() += 1;
            }
        }
        counts
    }
}

fn entry(line: &str) -> Option<ListedEntry> {
    let (id, status) = line.strip_suffix('\n')?.split_once(',')?;
    Some(ListedEntry { id: id.parse().ok()?, status: status.parse().ok()? })
}

// One entry of a draw.

/// The pseudonym of an account in one draw: 16 random bytes, which the shop draws when the account enters. As text they
/// are 32 hexadecimal digits, which sort like the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId([u8; 16]);

impl EntryId {
    pub fn new(bytes: [u8; 16]) -> EntryId {
        EntryId(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl FromStr for EntryId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<EntryId, InvalidId> {
        hex::decode(text).map(EntryId).ok_or(InvalidId)
    }
}

wire_text!(EntryId, {"type": "string", "pattern": "^[0-9a-f]{32}$"});

wire_enum! {
    /// Why an entry takes no part. The list is public and names the reason, so the reason says nothing about a person.
    pub enum Exclusion {
        /// The same person has another entry.
        Duplicate = "duplicate",
        /// A program entered.
        Automated = "automated",
        /// The account does not fulfil the conditions of the sale.
        Ineligible = "ineligible",
        /// The account was blocked or deleted.
        AccountClosed = "account_closed",
        Other = "other",
    }
}

/// What the published list says about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryStatus {
    In,
    /// The entry is listed and counted, but it is no leaf of the Merkle tree and has no rank.
    Excluded(Exclusion),
}

/// Prints `in`, or `excluded:` and the reason.
impl fmt::Display for EntryStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EntryStatus::In => f.write_str("in"),
            EntryStatus::Excluded(reason) => write!(f, "excluded:{reason}"),
        }
    }
}

impl FromStr for EntryStatus {
    type Err = ();

    fn from_str(text: &str) -> Result<EntryStatus, ()> {
        match text.split_once(':') {
            None if text == "in" => Ok(EntryStatus::In),
            Some(("excluded", reason)) => reason.parse().map(EntryStatus::Excluded),
            _ => Err(()),
        }
    }
}

// The Merkle tree of RFC 6962 (certificate transparency) over the entries of a draw, with SHA-256. A leaf hashes 0 and the
// 16 bytes of an entry, a node hashes 1 and its two children. The left child holds the largest power of two that is less than
// the number of leaves.

type Hash = [u8; 32];

/// The root over sorted entries. Any change of an entry changes the root.
pub fn root(entries: &[EntryId]) -> Hash {
    debug_assert!(entries.is_sorted_by(|one, next| one < next), "sorted, each once");
    match entries {
        [] => Sha256::digest([]).into(),
        entries => subtree(&entries.iter().map(|entry| leaf(entry.as_bytes())).collect::<Vec<_>>()),
    }
}

fn subtree(leaves: &[Hash]) -> Hash {
    if let [leaf] = leaves {
        return *leaf;
    }
    let (left, right) = leaves.split_at(split(leaves.len()));
    node(&subtree(left), &subtree(right))
}

/// The largest power of two below `n`, which is at least 2.
fn split(n: usize) -> usize {
    1 << (n - 1).ilog2()
}

fn leaf(data: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(data).finalize().into()
}

fn node(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex;

    /// The entries and roots that implementations of certificate transparency test with.
    #[test]
    fn roots_are_those_of_rfc_6962() {
        const LEAVES: [&str; 8] = [
            "",
            "\x00",
            "\x10",
            "\x20\x21",
            "\x30\x31",
            "\x40\x41\x42\x43",
            "\x50\x51\x52\x53\x54\x55\x56\x57",
            "\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
        ];
        const ROOTS: [&str; 8] = [
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];
        let leaves = LEAVES.map(|data| leaf(data.as_bytes()));
        for (n, expected) in (1..).zip(ROOTS) {
            assert_eq!(hex::encode(&subtree(&leaves[..n])), expected, "{n} leaves");
        }
        let none = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hex::encode(&root(&[])), none);
    }
}
