//! The rules of a draw, which are published before entries open. Their text is hashed into the seed, so they cannot change
//! afterwards.

use std::fmt::Write;
use std::str::FromStr;

use drand_verify::{G2PubkeyRfc, Pubkey};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::draw::{DrawSecret, EntryId, PROTOCOL};
use crate::wire::wire_enum;
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

// Public randomness: a number that appears at a time known beforehand and that cannot be predicted.
//
// It is a round of drand's quicknet, a network of independent operators. A round's signature can be verified with the
// network's public key alone. So staff may paste it from any source, and the shop needs no outgoing connection.

const QUICKNET_CHAIN: &str = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971";
/// The public key of quicknet, which uses the scheme `bls-unchained-g1-rfc9380`.
const QUICKNET_PUBLIC_KEY: &str = "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c\
    8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5\
    a6e9c76a4bc09e76eae8991ef5ece45a";
/// When round 1 appeared.
const GENESIS_MS: i64 = 1_692_803_367_000;
const PERIOD_MS: i64 = 3_000;
/// A signature is a compressed point of BLS12-381's G1.
const SIGNATURE_BYTES: usize = 48;
/// The longest pasted text that is read. The JSON of a round has some 300 characters.
const MAX_PASTED: usize = 4_096;
/// A round that is this late is not coming. Without the wait, staff could do without a round whose result they dislike.
const OVERDUE_AFTER: SignedDuration = SignedDuration::from_hours(1);
/// A later round must appear at least this long after its announcement: its result cannot be known yet then.
const LATER_ROUND_NOTICE: SignedDuration = SignedDuration::from_mins(10);

wire_enum! {
    /// A source of public randomness.
    pub enum Beacon {
        Quicknet = "quicknet",
        /// A stand-in for tests and demonstrations, whose rounds can be computed beforehand.
        Sandbox = "sandbox",
    }
}

/// One round, named before it appears. Both beacons number their rounds in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicRound {
    pub beacon: Beacon,
    /// The number of the round, from 1.
    pub round: i64,
}

/// A verified round that has appeared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Randomness {
    pub round: i64,
    pub signature: Vec<u8>,
}

impl Randomness {
    /// The random number of the round, as drand derives it: SHA-256 of the signature.
    pub fn value(&self) -> [u8; 32] {
        Sha256::digest(&self.signature).into()
    }

    /// The signature in hexadecimal digits, which [`PublicRound::verify`] reads.
    pub fn signature_hex(&self) -> String {
        hex::encode(&self.signature)
    }
}

/// Why a pasted text is not the awaited round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WrongRandomness {
    #[error("it is neither the JSON of a round nor a signature in hexadecimal digits")]
    Unreadable,
    #[error("it is round {given}, not round {awaited}")]
    OtherRound { given: i64, awaited: i64 },
    #[error("its signature is not valid for the round")]
    Signature,
    #[error("its randomness is not the SHA-256 of its signature")]
    Randomness,
}

/// drand's answer for a round. Older rounds of other chains have more fields.
#[derive(Deserialize)]
struct RoundJson {
    round: i64,
    signature: String,
    randomness: Option<String>,
}

impl PublicRound {
    /// The first round that appears after `time`.
    pub fn first_after(beacon: Beacon, time: Timestamp) -> PublicRound {
        let periods = (time.as_millisecond() - GENESIS_MS).div_euclid(PERIOD_MS);
        PublicRound { beacon, round: (periods + 2).max(1) }
    }

    /// When the round is due.
    pub fn at(&self) -> Timestamp {
        let ms = self.round.saturating_sub(1).saturating_mul(PERIOD_MS).saturating_add(GENESIS_MS);
        Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
    }

    /// Whether the round should have appeared long ago.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        now.duration_since(self.at()) >= OVERDUE_AFTER
    }

    /// The round that decides instead if this one is given up at `now`. `None` if this one is not overdue.
    pub fn later(&self, now: Timestamp) -> Option<PublicRound> {
        let announced = now.saturating_add(LATER_ROUND_NOTICE).unwrap_or(Timestamp::MAX);
        self.is_overdue(now).then(|| PublicRound::first_after(self.beacon, announced))
    }

    /// Where the round can be read once it is due. `None` for the sandbox, whose rounds are computed.
    pub fn url(&self) -> Option<String> {
        let is_published = self.beacon == Beacon::Quicknet;
        is_published.then(|| format!("https://api.drand.sh/{QUICKNET_CHAIN}/public/{}", self.round))
    }

    /// Checks what staff paste, or what is stored: the JSON of the round as drand gives it, or its signature in hexadecimal
    /// digits.
    pub fn verify(&self, pasted: &str) -> Result<Randomness, WrongRandomness> {
        let text = pasted.trim();
        if text.len() > MAX_PASTED {
            return Err(WrongRandomness::Unreadable);
        }
        let (signature, randomness) = if text.starts_with('{') {
            let json: RoundJson = serde_json::from_str(text).map_err(|_| WrongRandomness::Unreadable)?;
            if json.round != self.round {
                return Err(WrongRandomness::OtherRound { given: json.round, awaited: self.round });
            }
            (json.signature, json.randomness)
        } else {
            (text.to_owned(), None)
        };
        let known = Randomness { round: self.round, signature: self.signature(&signature.to_ascii_lowercase())? };
        match randomness {
            Some(value) if value.to_ascii_lowercase() != hex::encode(&known.value()) => {
                Err(WrongRandomness::Randomness)
            }
            _ => Ok(known),
        }
    }

    /// The sandbox's signature of the round. `None` if the round is not of the sandbox.
    pub fn sandbox_randomness(&self) -> Option<Randomness> {
        let signature = Sha256::new().chain_update("seckill-sandbox-round").chain_update(self.round.to_be_bytes());
        (self.beacon == Beacon::Sandbox)
            .then(|| Randomness { round: self.round, signature: signature.finalize().to_vec() })
    }

    fn signature(&self, digits: &str) -> Result<Vec<u8>, WrongRandomness> {
        let (signature, is_valid) = match self.sandbox_randomness() {
            Some(sandbox) => {
                let given = hex::decode::<32>(digits).ok_or(WrongRandomness::Unreadable)?.to_vec();
                let is_valid = given == sandbox.signature;
                (given, is_valid)
            }
            None => {
                let given: [u8; SIGNATURE_BYTES] = hex::decode(digits).ok_or(WrongRandomness::Unreadable)?;
                (given.to_vec(), is_quicknet(self.round, &given))
            }
        };
        if is_valid { Ok(signature) } else { Err(WrongRandomness::Signature) }
    }
}

fn is_quicknet(round: i64, signature: &[u8]) -> bool {
    let key = hex::decode(QUICKNET_PUBLIC_KEY).expect("the key is written above");
    let key = G2PubkeyRfc::from_fixed(key).expect("the key is a point of the curve");
    u64::try_from(round).is_ok_and(|round| key.verify(round, &[], signature).unwrap_or(false))
}
