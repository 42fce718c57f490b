//! The proof of work at registration. The first accounts of a network need none. After that the work doubles with the
//! accounts that the network has registered lately, up to a ceiling. Browsers without WebCrypto can wait or verify a
//! mail address instead ([`registration_contact`](super::registration_contact)). No network is locked out, because one
//! address may serve a whole campus or a mobile network.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::{AccountRefusal, Accounts, Device};
use base::rate_limit::CellRate;
use domain::network::Network;
use domain::proof_of_work::{MAX_BITS, is_solved, price};
use store::{CountOutcome, GuessCount, RegistrationContact, RegistrationCount, StoreError};

/// Accounts that a host registers within an hour without a proof of work, unless a setting says otherwise.
pub(super) const DEFAULT_FREE_REGISTRATIONS: u32 = 10;
/// A site (/24 or /48) gets this many times the free allowance of one host.
const HOSTS_OF_A_SITE: u32 = 5;
/// A count stops at this many times the free allowance, which is beyond the ceiling of the work. So a network that was
/// abused has its full allowance again after some hours.
const MOST_TIMES: u32 = 20;
/// The age at which a challenge needs no solution.
const WAIT: Duration = Duration::from_secs(10 * 60);
/// How long a challenge is accepted.
const CHALLENGE_LIFETIME: Duration = Duration::from_secs(60 * 60);
/// Accounts of a site that are registered by waiting: one per interval (in milliseconds), and a burst at once.
const WAITED_RATE: CellRate = CellRate { interval: 10_000, burst: 30 };

/// What a network has to do for its next account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// A signed text. It belongs to the network and is good for one account.
    pub challenge: String,
    /// Difficulty: zero bits in each part of the puzzle.
    pub bits: u32,
    /// From this moment the challenge is enough without a solution.
    pub free_at: Timestamp,
    /// The verified mail address of the challenge. With it no solution is needed.
    pub contact: Option<String>,
}

/// The proof of work that a client sends: a challenge, and the numbers that solve its puzzle. A client that waited or
/// verified a mail address sends no numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Payment {
    pub challenge: String,
    pub numbers: Vec<u32>,
}

/// A challenge that was issued.
#[derive(Debug)]
pub(super) struct Issued {
    pub id: String,
    at: Timestamp,
    /// The difficulty that the challenge satisfies once it is solved.
    bits: u32,
    /// The network that the challenge was issued to.
    site: String,
    /// The verified mail address, which replaces the numbers.
    pub contact: Option<RegistrationContact>,
}

impl Issued {
    pub fn expires_at(&self) -> Timestamp {
        self.at + CHALLENGE_LIFETIME
    }

    fn is_of(&self, device: &Device) -> bool {
        self.site == Network::of(device.address).site.to_string()
    }
}

impl Accounts {
    /// What this network has to do for its next account; `None` if nothing. The challenge `kept` is returned again if
    /// it is still good.
    pub async fn registration_price(&self, device: &Device, kept: &str) -> Result<Option<Price>, StoreError> {
        if device.address.is_loopback() {
            return Ok(None);
        }
        let counts = self.store.accounts().registrations(&self.registration_counts(device)).await?;
        let Some(bits) = self.bits(&counts) else { return Ok(None) };
        let now = self.store.now().await?;
        if let Some(issued) = self.issued(kept, now) {
            let contact = self.verified_contact(&issued).await?.map(|contact| contact.address.as_str().to_owned());
            if contact.is_some() || issued.is_of(device) && issued.bits + 1 >= bits {
                let (challenge, free_at) = (kept.to_owned(), issued.at + WAIT);
                return Ok(Some(Price { challenge, bits: issued.bits, free_at, contact }));
            }
        }
        let site = Network::of(device.address).site;
        let payload = format!("{} {} {bits} {site}", Uuid::new_v4().simple(), now.as_millisecond());
        Ok(Some(Price { challenge: self.challenges.sign(&payload), bits, free_at: now + WAIT, contact: None }))
    }

    /// Verifies the client's proof of work before a password is hashed for it. `None` if the account needs none. A
    /// verified address is returned in any case, because the account gets it.
    pub(super) async fn check_payment(
        &self,
        device: &Device,
        paid: &Payment,
    ) -> Result<Option<Issued>, AccountRefusal> {
        if device.address.is_loopback() {
            return Ok(None);
        }
        let now = self.store.now().await?;
        let issued = match self.issued(&paid.challenge, now) {
            None => None,
            Some(issued) => match self.verified_contact(&issued).await? {
                Some(contact) => return Ok(Some(Issued { bits: MAX_BITS, contact: Some(contact), ..issued })),
                None => Some(issued),
            },
        };
        let counts = self.store.accounts().registrations(&self.registration_counts(device)).await?;
        let Some(bits) = self.bits(&counts) else { return Ok(None) };
        let issued = issued.filter(|issued| issued.is_of(device)).ok_or(AccountRefusal::PriceDue)?;
        if issued.at + WAIT <= now {
            return match self.store.credentials().take_guess(&[self.count_of_waited(device)]).await? {
                Some(limit) => Err(AccountRefusal::Throttled(limit.wait)),
                None => Ok(Some(Issued { bits: MAX_BITS, ..issued })),
            };
        }
        if issued.bits + 1 < bits {
            return Err(AccountRefusal::PriceDue);
        }
        let (bits, Payment { challenge, numbers }) = (issued.bits, paid.clone());
        let solved = tokio::task::spawn_blocking(move || is_solved(&challenge, bits, &numbers)).await;
        if solved.is_ok_and(|solved| solved) { Ok(Some(issued)) } else { Err(AccountRefusal::PriceDue) }
    }

    /// Counts an account that is about to be added, and spends the challenge that [`Accounts::check_payment`] verified.
    /// An account that needed no work then may need some now.
    pub(super) async fn take_payment(&self, device: &Device, paid: Option<&Issued>) -> Result<(), AccountRefusal> {
        if device.address.is_loopback() {
            return Ok(());
        }
        let is_paid =
            |counts: &[u64]| self.bits(counts).is_none_or(|bits| paid.is_some_and(|paid| paid.bits + 1 >= bits));
        let proof = paid.map(|paid| (paid.id.as_str(), paid.expires_at()));
        match self.store.accounts().count_registration(&self.registration_counts(device), is_paid, proof).await? {
            CountOutcome::Counted => Ok(()),
            CountOutcome::TooCheap | CountOutcome::Spent => Err(AccountRefusal::PriceDue),
        }
    }

    /// The difficulty for these counts of host and site; `None` if no work is needed.
    fn bits(&self, counts: &[u64]) -> Option<u32> {
        let free = u64::from(self.rules.free_registrations);
        let frees = [free, free * u64::from(HOSTS_OF_A_SITE)];
        counts.iter().zip(frees).filter_map(|(count, free)| price(*count, free)).max()
    }

    /// A challenge that was issued to the client's network and is still good.
    pub(super) fn issued_to(&self, device: &Device, challenge: &str, now: Timestamp) -> Option<Issued> {
        self.issued(challenge, now).filter(|issued| issued.is_of(device))
    }

    fn issued(&self, challenge: &str, now: Timestamp) -> Option<Issued> {
        let payload = self.challenges.verify(challenge)?;
        let mut words = payload.split(' ');
        let (id, at, bits, site) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let at = Timestamp::from_millisecond(at.parse().ok()?).ok()?;
        let bits = bits.parse().ok()?;
        let issued = Issued { id: id.to_owned(), at, bits, site: site.to_owned(), contact: None };
        Some(issued).filter(|issued| issued.expires_at() > now)
    }

    pub(super) fn registration_counts(&self, device: &Device) -> [RegistrationCount; 2] {
        let network = Network::of(device.address);
        let count = |kind: &str, of: String, free: u32| RegistrationCount {
            key: self.count_key(kind, &of),
            interval_ms: 3_600_000 / i64::from(free.max(1)),
            most: i64::from(free.max(1) * MOST_TIMES),
        };
        let free = self.rules.free_registrations;
        [
            count("registration of a host", network.host.to_string(), free),
            count("registration of a site", network.site_text(), free.saturating_mul(HOSTS_OF_A_SITE)),
        ]
    }

    fn count_of_waited(&self, device: &Device) -> GuessCount {
        let key = self.count_key("registration after a wait", &Network::of(device.address).site_text());
        GuessCount { key, rate: WAITED_RATE }
    }
}
