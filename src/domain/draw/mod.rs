//! A verifiable draw (抽签): who may buy follows from an order that could not be known beforehand and can be
//! recomputed afterwards.
//!
//! Before entries open the shop publishes the [`DrawRules`], with a commitment to a secret and the round of a public source
//! of randomness. After the closing it locks the [`EntryList`] and publishes the Merkle [`root`] of its entries. Then the
//! public round appears, the secret is revealed, and [`seed`] and [`ranking`] give the order. A [`Proof`] holds all of it.
//! If the round does not appear, a later one that follows from a rule may decide instead ([`RoundChange`]).
//!
//! `docs/draw.md` has the protocol byte by byte, `scripts/verify_draw.py` a second implementation.

mod list;
mod merkle;
mod proof;
mod randomness;
mod rules;
pub mod sale;
#[cfg(test)]
mod tests;

pub use list::{EntryId, EntryStatus, Exclusion};
pub use list::{EntryList, ListedEntry, WrongList};
pub use merkle::{inclusion, root, root_of};
pub use proof::{Check, Proof, RoundChange, UnreadableProof, Verification};
pub use randomness::{Beacon, PublicRound, Randomness, WrongRandomness};
pub use rules::{DrawRules, WrongRules};
pub use rules::{ranking, seed};

use super::secret::CommittedSecret;

/// Name and version of the protocol. The rules begin with it, and it separates the seed from other hashes.
pub const PROTOCOL: &str = "seckill-draw/1";

/// The shop's part of the seed. The shop draws it with the rules, which have its commitment, and reveals it after the draw.
pub type DrawSecret = CommittedSecret;
