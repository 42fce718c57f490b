//! The proof of a draw: a document with everything from which the order can be recomputed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{DrawRules, DrawSecret, EntryList, Exclusion, PROTOCOL, Randomness, root, seed};
use crate::hex;

/// The longest document that is read. A proof has some 1,500 characters.
const MAX_BYTES: usize = 65_536;

/// The content of `proof.json`. Hashes, signature and secret are hexadecimal digits. The shop makes it once, from the
/// locked list, when the seed is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// Always [`PROTOCOL`].
    pub protocol: String,
    /// The canonical text of the rules.
    pub rules: String,
    /// The number of entries that take part.
    pub n: u64,
    /// The Merkle root over the entries that take part.
    pub root: String,
    /// The number of excluded entries by reason.
    pub excluded: BTreeMap<Exclusion, u64>,
    /// SHA-256 of the list of entries, excluded ones included.
    pub entries_sha256: String,
    /// The round of the public randomness; `None` if the shop's secret alone decides.
    pub round: Option<i64>,
    pub signature: Option<String>,
    /// The shop's secret.
    pub secret: String,
    pub seed: String,
}

/// The bytes are not a proof that this version knows.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableProof {
    #[error("the proof has more than {MAX_BYTES} bytes")]
    TooLong,
    #[error("the proof is not readable: {0}")]
    Json(#[from] serde_json::Error),
}

impl Proof {
    pub fn new(rules: &DrawRules, list: &EntryList, randomness: Option<&Randomness>, secret: &DrawSecret) -> Proof {
        let entries = list.taking_part();
        let (root, n) = (root(&entries), entries.len() as u64);
        Proof {
            protocol: PROTOCOL.to_owned(),
            rules: rules.canonical(),
            n,
            root: hex::encode(&root),
            excluded: list.excluded(),
            entries_sha256: hex::encode(&list.digest()),
            round: randomness.map(|known| known.round),
            signature: randomness.map(Randomness::signature_hex),
            secret: secret.to_hex(),
            seed: hex::encode(&seed(rules, &root, n, randomness, secret)),
        }
    }

    pub fn parse(bytes: &[u8]) -> Result<Proof, UnreadableProof> {
        if bytes.len() > MAX_BYTES {
            return Err(UnreadableProof::TooLong);
        }
        Ok(serde_json::from_slice(bytes)?)
    }
}
