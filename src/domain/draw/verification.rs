//! Verification of a proof against the published list of entries. It needs nothing else.

use sha2::{Digest, Sha256};

use super::{Beacon, DrawRules, DrawSecret, EntryId, EntryList, PROTOCOL, Proof, Randomness, WrongList};
use super::{ranking, root, seed};
use crate::hex;

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
        let randomness = self.randomness(&rules);
        checks.push(holds("the randomness is that of the round in the rules", || {
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
        match (rules.randomness, self.round, &self.signature) {
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
