//! The rules of a draw, which are published before entries open. Their text is hashed into the seed, so they cannot change
//! afterwards.

use std::fmt::Write;
use std::str::FromStr;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::draw::{DrawSecret, EntryId, PROTOCOL, PublicRound, Randomness};
use crate::{SaleId, hex};

/// The longest text that is read. Rules have some 250 characters.
const MAX_TEXT: usize = 4_096;

/// Everything that is decided before entries open. Every entry has one ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawRules {
    pub sale: SaleId,
    /// Units to win, one per winner. Units that are added later go to the next in the order.
    pub units: i64,
    /// The time from which entries are taken.
    pub opens_at: Timestamp,
    /// The time until which entries are taken.
    pub closes_at: Timestamp,
    /// How long a winner has to pay, in seconds.
    pub window_s: i64,
    /// The round whose randomness goes into the seed. With `None` people must trust the shop not to have tried several
    /// secrets.
    pub randomness: Option<PublicRound>,
    /// [`super::DrawSecret::commitment`] of the shop's secret.
    pub commitment: String,
}

/// The text is not the canonical text of a draw's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the canonical text of the rules of a draw")]
pub struct WrongRules;

impl DrawRules {
    /// The text that is published and hashed: a line per rule, each a name, a space and a value. Equal rules have equal
    /// texts.
    pub fn canonical(&self) -> String {
        let mut text = format!("{PROTOCOL}\n");
        let randomness = match self.randomness {
            Some(PublicRound { beacon, round }) => format!("{beacon} {round}"),
            None => "none".to_owned(),
        };
        let lines: [(&str, &dyn std::fmt::Display); 8] = [
            ("sale", &self.sale),
            ("units", &self.units),
            ("tickets", &1),
            ("opens_at", &self.opens_at),
            ("closes_at", &self.closes_at),
            ("window_s", &self.window_s),
            ("randomness", &randomness),
            ("commitment", &self.commitment),
        ];
        for (name, value) in lines {
            writeln!(text, "{name} {value}").expect("a string takes every text");
        }
        text
    }

    /// SHA-256 of the canonical text.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.canonical()).into()
    }

    fn read(text: &str) -> Option<DrawRules> {
        let mut lines = text.strip_prefix(PROTOCOL)?.strip_prefix('\n')?.lines();
        let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let rules = DrawRules {
            sale: value("sale")?.parse().ok()?,
            units: value("units")?.parse().ok()?,
            opens_at: value("tickets")
                .filter(|tickets| *tickets == "1")
                .and_then(|_| value("opens_at"))?
                .parse()
                .ok()?,
            closes_at: value("closes_at")?.parse().ok()?,
            window_s: value("window_s")?.parse().ok()?,
            randomness: match value("randomness")? {
                "none" => None,
                round => Some(public_round(round)?),
            },
            commitment: value("commitment")?.to_owned(),
        };
        hex::decode::<32>(&rules.commitment)?;
        Some(rules)
    }
}

fn public_round(text: &str) -> Option<PublicRound> {
    let (beacon, round) = text.split_once(' ')?;
    let round = round.parse().ok().filter(|round| *round > 0)?;
    Some(PublicRound { beacon: beacon.parse().ok()?, round })
}

/// Reads canonical texts only.
impl FromStr for DrawRules {
    type Err = WrongRules;

    fn from_str(text: &str) -> Result<DrawRules, WrongRules> {
        if text.len() > MAX_TEXT {
            return Err(WrongRules);
        }
        DrawRules::read(text).filter(|rules| rules.canonical() == text).ok_or(WrongRules)
    }
}

// The order of a draw: a seed from everything that was published, and a key per entry from the seed.

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
