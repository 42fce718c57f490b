//! The published list of entries. Its bytes are fixed by its content: a header, then a line per entry in the order of ids.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::hex;
use crate::ids::InvalidId;
use crate::wire::wire_enum;

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

impl JsonSchema for EntryId {
    fn schema_name() -> Cow<'static, str> {
        "EntryId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[0-9a-f]{32}$"})
    }
}

impl Serialize for EntryId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EntryId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

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
