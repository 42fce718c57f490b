//! The proof of a draw: a document with everything from which the order can be recomputed.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};

use crate::draw::{
    Beacon, DrawRules, DrawSecret, EntryId, EntryList, Exclusion, PROTOCOL, PublicRound, Randomness, WrongList,
    ranking, root, seed,
};
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
    #[serde(deserialize_with = "each_reason_once")]
    pub excluded: BTreeMap<Exclusion, u64>,
    /// SHA-256 of the list of entries, excluded ones included.
    pub entries_sha256: String,
    /// The rounds that did not appear in time, and what replaced each. Absent if the announced round appeared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<RoundChange>,
    /// The round of the public randomness; `None` if the shop's secret alone decides.
    pub round: Option<i64>,
    pub signature: Option<String>,
    /// The shop's secret.
    pub secret: String,
    pub seed: String,
}

/// A public round that was given up, because it had not appeared an hour after its time, and the one that decides instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundChange {
    /// The round that was given up.
    #[schemars(range(min = 1))]
    pub from: i64,
    /// The first round that appears more than ten minutes after `at`: nobody chooses it.
    #[schemars(range(min = 1))]
    pub to: i64,
    /// When it was announced.
    #[serde(deserialize_with = "canonical_time")]
    pub at: Timestamp,
    /// In the words of the staff.
    pub reason: String,
}

impl RoundChange {
    /// The round that decides after all changes.
    pub fn last(announced: PublicRound, changes: &[RoundChange]) -> PublicRound {
        PublicRound { round: changes.last().map_or(announced.round, |change| change.to), ..announced }
    }

    /// Whether the changes lead from the announced round to the last one by the rule, each from the one before.
    ///
    /// # Errors
    /// Names the change that does not follow.
    pub fn check(announced: Option<PublicRound>, changes: &[RoundChange]) -> Result<(), String> {
        changes.iter().try_fold(announced, |round, change| {
            let later = round.filter(|round| round.round == change.from).and_then(|round| round.later(change.at));
            let RoundChange { from, to, at, .. } = change;
            let refused = || format!("the change from round {from} to round {to} at {at}");
            later.filter(|later| later.round == *to).map(Some).ok_or_else(refused)
        })?;
        Ok(())
    }
}

/// Reads a time in the form in which it is written, so that every program reads the same times.
fn canonical_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(deserializer)?;
    let time = text.parse().ok().filter(|time: &Timestamp| time.to_string() == text);
    time.ok_or_else(|| D::Error::custom(format!("not a time in UTC: {text:?}")))
}

/// Reads numbers by reason. A reason that occurs twice would have one number in one program and the other in another.
fn each_reason_once<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<Exclusion, u64>, D::Error> {
    struct Reasons;
    impl<'de> Visitor<'de> for Reasons {
        type Value = BTreeMap<Exclusion, u64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("numbers of entries by reason")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut numbers = BTreeMap::new();
            while let Some((reason, number)) = map.next_entry()? {
                if numbers.insert(reason, number).is_some() {
                    return Err(A::Error::custom("a reason occurs twice"));
                }
            }
            Ok(numbers)
        }
    }
    deserializer.deserialize_map(Reasons)
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
    pub fn new(
        rules: &DrawRules,
        changes: &[RoundChange],
        list: &EntryList,
        randomness: Option<&Randomness>,
        secret: &DrawSecret,
    ) -> Proof {
        let entries = list.taking_part();
        let (root, n) = (root(&entries), entries.len() as u64);
        Proof {
            protocol: PROTOCOL.to_owned(),
            rules: rules.canonical(),
            n,
            root: hex::encode(&root),
            excluded: list.excluded(),
            entries_sha256: hex::encode(&list.digest()),
            changes: changes.to_vec(),
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

// Verification of a proof against the published list of entries. It needs nothing else.

/// One thing that a proof promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub promise: &'static str,
    /// Why the promise does not hold; `None` if it holds.
    pub failure: Option<String>,
}

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// The checks in order. They end at a failure that the following checks would depend on.
    pub checks: Vec<Check>,
    /// The rules, if they could be read.
    pub rules: Option<DrawRules>,
    /// The entries in the order of the draw, the first to win first. Empty unless everything holds.
    pub order: Vec<EntryId>,
}

impl Verification {
    pub fn holds(&self) -> bool {
        self.checks.iter().all(|check| check.failure.is_none())
    }

    /// What one must still trust in a draw whose checks all hold.
    pub fn caveat(&self) -> Option<&'static str> {
        match self.rules.as_ref()?.randomness.map(|public| public.beacon) {
            Some(Beacon::Quicknet) => None,
            Some(Beacon::Sandbox) => Some(
                "the round is one of the sandbox, whose rounds can be computed beforehand: \
                 the shop must be trusted not to have chosen its secret or the entries",
            ),
            None => Some(
                "there is no public randomness: the shop must be trusted not to have chosen its secret or the entries",
            ),
        }
    }
}

impl Proof {
    /// Recomputes everything. `csv` is the list of entries.
    pub fn verify(&self, csv: &[u8]) -> Result<Verification, WrongList> {
        let list = EntryList::parse(csv)?;
        let entries = list.taking_part();
        let root = root(&entries);
        let mut checks = vec![
            is("the protocol is known", &self.protocol, PROTOCOL),
            is(
                "the list of entries is the one that the proof names",
                &self.entries_sha256,
                &hex::encode(&Sha256::digest(csv)),
            ),
            holds("the numbers of entries are those of the list", || {
                let (n, excluded) = (entries.len() as u64, list.excluded());
                (self.n == n && self.excluded == excluded).then_some(()).ok_or_else(|| {
                    format!(
                        "the list has {n} entries that take part, and {} excluded ones",
                        excluded.values().sum::<u64>()
                    )
                })
            }),
            is("the entries have the published root", &self.root, &hex::encode(&root)),
        ];
        let rules = self.rules.parse::<DrawRules>();
        checks.push(holds("the rules are complete and canonical", || {
            rules.as_ref().map(drop).map_err(ToString::to_string)
        }));
        let Ok(rules) = rules else { return Ok(Verification { checks, rules: None, order: Vec::new() }) };
        checks.push(holds("the round appears after the last entry", || appears_after_entries(&rules)));
        if !self.changes.is_empty() {
            let follows = || RoundChange::check(rules.randomness, &self.changes);
            checks.push(holds("each change of the round follows from its time", follows));
        }
        let randomness = self.randomness(&rules);
        checks.push(holds("the randomness is that of the awaited round", || {
            randomness.as_ref().map(drop).map_err(Clone::clone)
        }));
        let secret =
            self.secret.parse::<DrawSecret>().map_err(|_| "it is not 32 bytes in hexadecimal digits".to_owned());
        checks.push(holds("the secret is the one that the rules commit to", || {
            let commitment = secret.as_ref().map_err(Clone::clone)?.commitment();
            same(&commitment, &rules.commitment)
        }));
        let mut order = Vec::new();
        if let (Ok(randomness), Ok(secret)) = (randomness, secret) {
            let seed = seed(&rules, &root, entries.len() as u64, randomness.as_ref(), &secret);
            checks.push(is("the seed follows from all of these", &self.seed, &hex::encode(&seed)));
            if checks.iter().all(|check| check.failure.is_none()) {
                order = ranking(&seed, &entries).into_iter().map(|index| entries[index]).collect();
            }
        }
        Ok(Verification { checks, rules: Some(rules), order })
    }

    fn randomness(&self, rules: &DrawRules) -> Result<Option<Randomness>, String> {
        let awaited = rules.randomness.map(|announced| RoundChange::last(announced, &self.changes));
        match (awaited, self.round, &self.signature) {
            (None, None, None) => Ok(None),
            (Some(public), Some(round), Some(signature)) => {
                same(&round.to_string(), &public.round.to_string())?;
                let known = public.verify(signature).map_err(|wrong| wrong.to_string())?;
                // Staff may paste a signature in several forms, but a proof must have it in one form only.
                same(signature, &known.signature_hex())?;
                Ok(Some(known))
            }
            (Some(_), ..) => Err("the rules name a round, and the proof has none".to_owned()),
            (None, ..) => Err("the proof has a round, and the rules name none".to_owned()),
        }
    }
}

fn appears_after_entries(rules: &DrawRules) -> Result<(), String> {
    match rules.randomness.map(|public| public.at()) {
        Some(at) if at <= rules.closes_at => Err(format!("it appears at {at}, entries close at {}", rules.closes_at)),
        _ => Ok(()),
    }
}

fn holds(promise: &'static str, check: impl FnOnce() -> Result<(), String>) -> Check {
    Check { promise, failure: check().err() }
}

fn is(promise: &'static str, given: &str, expected: &str) -> Check {
    Check { promise, failure: same(given, expected).err() }
}

fn same(given: &str, expected: &str) -> Result<(), String> {
    if given == expected { Ok(()) } else { Err(format!("{given:?} instead of {expected:?}")) }
}
