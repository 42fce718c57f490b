//! One entry of a draw.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::hex;
use crate::ids::InvalidId;
use crate::wire::wire_enum;

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
