//! The published list of entries. Its bytes are fixed by its content: a header, then a line per entry in the order of ids.

use std::collections::BTreeMap;
use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::{EntryId, EntryStatus, Exclusion};

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
pub struct EntryList(Vec<ListedEntry>);

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

    pub fn entries(&self) -> &[ListedEntry] {
        &self.0
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
