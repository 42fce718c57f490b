//! New accounts.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use secrecy::SecretString;
use tracing::warn;
use uuid::Uuid;

use crate::fair_queue::Lane;
use crate::keyed_limit::KeyedLimit;
use crate::password::{self, HashRequest};
use crate::session::Session;
use crate::{AccountRefusal, Accounts, Device, names};
use base::clock::Clock;
use base::rate_limit::CellRate;
use domain::proof_of_work::{MAX_BITS, due_bits, is_solved};
use domain::{LinkDigest, Locale, MailAddress, Network, Role, SecurityClass, UserId};
use store::{
    CountOutcome, GuessCount, RegisterOutcome, RegistrationContact, RegistrationCount, RegistrationDevice, StoreResult,
    User,
};

#[boxed]
impl Accounts {
    /// Registers a shopper, who is signed in from then on.
    pub async fn register(
        &self,
        device: &Device,
        username: &str,
        password: SecretString,
        proof: &Proof,
    ) -> Result<Session, AccountRefusal> {
        self.registrations.admit(device).await?;
        let username = &*names::normalized(username);
        match (names::is_valid(username), password::is_acceptable(&password, username, Role::User)) {
            (true, true) => {}
            (false, true) => return Err(AccountRefusal::BadUsername),
            (true, false) => return Err(AccountRefusal::WeakPassword),
            (false, false) => return Err(AccountRefusal::BadNameAndPassword),
        }
        let proof = self.check_proof(device, proof).await?;
        // Hashed before the look-up, so that probing for taken names costs a hash and waits for a slot.
        let request = HashRequest::new(Lane::Registration, device.address);
        let hash = self.passwords.hash(password, request).await?;
        if self.is_name_taken(username).await? {
            return Err(AccountRefusal::UsernameTaken);
        }
        self.spend_proof(device, proof.as_ref()).await?;
        let user = User::new(UserId(Uuid::now_v7()), username, hash, Role::User, self.clock.now());
        let contact = proof.as_ref().and_then(|proof| proof.contact.as_ref());
        let address = device.address.to_string();
        let known = RegistrationDevice { agent: &device.agent, address: &address };
        let contact = contact.map(|contact| (contact, known));
        match self.store.accounts().register_user(&user, &self.links_of(device), contact).await? {
            RegisterOutcome::Added => {}
            RegisterOutcome::NameTaken => return Err(AccountRefusal::UsernameTaken),
            RegisterOutcome::ContactTaken => return Err(AccountRefusal::ProofDue),
        }
        if contact.is_some() {
            self.note(SecurityClass::MailAddressChanged, &user, device, "verified");
        }
        self.begin(&user, device, "").await
    }

    /// Digests of the network that the account is registered from. A loopback address gives none: it belongs to tests,
    /// or to a proxy that is not trusted.
    fn links_of(&self, device: &Device) -> Vec<LinkDigest> {
        match device.address.is_loopback() {
            true => Vec::new(),
            false => self.link_digests.of_network(Network::of(device.address)),
        }
    }

    /// Whether shoppers cannot register the name: it is taken, or looks like a name of the shop or of its staff.
    async fn is_name_taken(&self, username: &str) -> StoreResult<bool> {
        if names::is_reserved(username) || self.store.accounts().user_named(username).await?.is_some() {
            return Ok(true);
        }
        let skeleton = names::skeleton(username);
        Ok(self.store.accounts().staff().await?.iter().any(|member| names::skeleton(&member.username) == skeleton))
    }
}

// A verified mail address in place of a registration's proof of work, for shoppers who can neither compute nor wait.
//
// The address is entered beside the registration form and belongs to the form's challenge, not to a browser: the
// message may be read on another device, and the form keeps what was filled in. A button behind the link verifies the
// address. From then on the challenge is enough for one account, from any network, and the address becomes the address
// of that account.
//
// The answer is the same for every address and takes the same time. The message contains nothing that the visitor
// typed, and it is counted before any work ([`mail_limits`](super::mail_limits)), so the shop cannot be used to write
// to strangers.

#[boxed]
impl Accounts {
    /// Sends a link to an address. Once it is verified, the challenge needs no proof of work.
    pub async fn request_contact(
        self: &Arc<Self>,
        device: &Device,
        challenge: &str,
        typed: &str,
        locale: Locale,
    ) -> Result<MailAddress, AccountRefusal> {
        let address = MailAddress::parse(typed).ok_or(AccountRefusal::BadMailAddress)?;
        let issued = self.issued(challenge, self.store.now().await?).filter(|issued| issued.is_of(device));
        let issued = issued.ok_or(AccountRefusal::ProofDue)?;
        self.count_contact(device, &address).await?;
        let contact = RegistrationContact {
            expires_at: issued.expires_at(),
            id: issued.id,
            challenge: challenge.to_owned(),
            address: address.clone(),
            locale,
            is_verified: false,
        };
        let accounts = self.clone();
        tokio::spawn(async move {
            if let Err(error) = accounts.store.accounts().enter_contact(&contact).await {
                warn!(%error, "the link of a registration was not sent; its reader has to ask again");
            }
        });
        Ok(address)
    }

    /// The address of a link, and whether it is verified already. Changes nothing: programs that scan mail follow
    /// links.
    pub async fn contact_of_link(&self, token: &str) -> Result<RegistrationContact, AccountRefusal> {
        let (id, address) = self.read_contact(token).await?;
        let contact = self.store.accounts().contact_of(&id).await?.filter(|contact| contact.address == address);
        contact.ok_or(AccountRefusal::BadLink)
    }

    /// Verifies the address of a link, so that its challenge is enough for an account.
    pub async fn verify_contact(&self, token: &str) -> Result<(), AccountRefusal> {
        let (id, address) = self.read_contact(token).await?;
        match self.store.accounts().verify_contact(&id, &address).await? {
            true => Ok(()),
            false => Err(AccountRefusal::BadLink),
        }
    }

    async fn read_contact(&self, token: &str) -> Result<(String, MailAddress), AccountRefusal> {
        let now = self.store.now().await?;
        self.links.verify_registration(token, now).ok_or(AccountRefusal::BadLink)
    }

    /// The verified address of a challenge, if it has one.
    pub(super) async fn verified_contact(&self, issued: &Issued) -> StoreResult<Option<RegistrationContact>> {
        Ok(self.store.accounts().contact_of(&issued.id).await?.filter(|contact| contact.is_verified))
    }
}

// Limits how often a network may ask for accounts, whether or not it gets one. Requests are counted in memory before
// anything else is done, so that a flood costs neither the database nor a core. A refusal is delayed for a while: that
// slows down a client that waits for each answer, and leaves the database connections to the others.

/// Requests of one host, which many people may share: the burst, then one per period.
const PER_HOST: (u32, Duration) = (100, Duration::from_millis(100));
/// Requests of one site.
const PER_SITE: (u32, Duration) = (500, Duration::from_millis(20));
/// How long a refusal is delayed.
const DELAY: Duration = Duration::from_secs(1);
/// When a refused client may try again.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// The requests that one process has seen.
pub(super) struct RegistrationLimit {
    hosts: KeyedLimit<IpAddr>,
    sites: KeyedLimit<IpAddr>,
}

impl RegistrationLimit {
    pub(super) fn new(clock: Clock) -> RegistrationLimit {
        RegistrationLimit { hosts: KeyedLimit::new(PER_HOST, clock.clone()), sites: KeyedLimit::new(PER_SITE, clock) }
    }

    /// Counts a request, or refuses it. Loopback has no limit: such requests come from tests, or from a proxy that is
    /// not trusted.
    pub(super) async fn admit(&self, device: &Device) -> Result<(), AccountRefusal> {
        if device.address.is_loopback() || self.take(Network::of(device.address)) {
            return Ok(());
        }
        tokio::time::sleep(DELAY).await;
        Err(AccountRefusal::Throttled(RETRY_INTERVAL))
    }

    fn take(&self, network: Network) -> bool {
        self.hosts.take(network.host).is_ok() && self.sites.take(network.site).is_ok()
    }
}

// The proof of work at registration. The first accounts of a network need none. After that the work doubles with the
// accounts that the network has registered lately, up to a ceiling. Browsers without WebCrypto can wait or verify a
// mail address instead ([`registration_contact`](super::registration_contact)). No network is locked out, because one
// address may serve a whole campus or a mobile network.

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
pub struct DueProof {
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
pub struct Proof {
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

#[boxed]
impl Accounts {
    /// What this network has to do for its next account; `None` if nothing. The challenge `kept` is returned again if
    /// it is still good.
    pub async fn due_proof(&self, device: &Device, kept: &str) -> StoreResult<Option<DueProof>> {
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
                return Ok(Some(DueProof { challenge, bits: issued.bits, free_at, contact }));
            }
        }
        let site = Network::of(device.address).site;
        let payload = format!("{} {} {bits} {site}", Uuid::new_v4().simple(), now.as_millisecond());
        Ok(Some(DueProof { challenge: self.challenges.sign(&payload), bits, free_at: now + WAIT, contact: None }))
    }

    /// Verifies the client's proof of work before a password is hashed for it. `None` if the account needs none. A
    /// verified address is returned in any case, because the account gets it.
    pub(super) async fn check_proof(&self, device: &Device, proof: &Proof) -> Result<Option<Issued>, AccountRefusal> {
        if device.address.is_loopback() {
            return Ok(None);
        }
        let now = self.store.now().await?;
        let issued = match self.issued(&proof.challenge, now) {
            None => None,
            Some(issued) => match self.verified_contact(&issued).await? {
                Some(contact) => return Ok(Some(Issued { bits: MAX_BITS, contact: Some(contact), ..issued })),
                None => Some(issued),
            },
        };
        let counts = self.store.accounts().registrations(&self.registration_counts(device)).await?;
        let Some(bits) = self.bits(&counts) else { return Ok(None) };
        let issued = issued.filter(|issued| issued.is_of(device)).ok_or(AccountRefusal::ProofDue)?;
        if issued.at + WAIT <= now {
            self.take_counts(&[self.count_of_waited(device)]).await?;
            return Ok(Some(Issued { bits: MAX_BITS, ..issued }));
        }
        if issued.bits + 1 < bits {
            return Err(AccountRefusal::ProofDue);
        }
        let (bits, Proof { challenge, numbers }) = (issued.bits, proof.clone());
        let solved = tokio::task::spawn_blocking(move || is_solved(&challenge, bits, &numbers)).await;
        if solved.is_ok_and(|solved| solved) { Ok(Some(issued)) } else { Err(AccountRefusal::ProofDue) }
    }

    /// Counts an account that is about to be added, and spends the challenge that [`Accounts::check_proof`] verified.
    /// An account that needed no work then may need some now.
    pub(super) async fn spend_proof(&self, device: &Device, proof: Option<&Issued>) -> Result<(), AccountRefusal> {
        if device.address.is_loopback() {
            return Ok(());
        }
        let is_enough =
            |counts: &[u64]| self.bits(counts).is_none_or(|bits| proof.is_some_and(|proof| proof.bits + 1 >= bits));
        let spent = proof.map(|proof| (proof.id.as_str(), proof.expires_at()));
        match self.store.accounts().count_registration(&self.registration_counts(device), is_enough, spent).await? {
            CountOutcome::Counted => Ok(()),
            CountOutcome::TooEasy | CountOutcome::Spent => Err(AccountRefusal::ProofDue),
        }
    }

    /// The difficulty for these counts of host and site; `None` if no work is needed.
    fn bits(&self, counts: &[u64]) -> Option<u32> {
        let free = u64::from(self.rules.free_registrations);
        let frees = [free, free * u64::from(HOSTS_OF_A_SITE)];
        counts.iter().zip(frees).filter_map(|(count, free)| due_bits(*count, free)).max()
    }

    /// A challenge that was issued and is still good.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: &str) -> Network {
        Network::of(address.parse().unwrap())
    }

    #[test]
    fn host_and_site_have_a_burst_and_a_rate() {
        let clock = Clock::manual(jiff::Timestamp::UNIX_EPOCH);
        let limit = RegistrationLimit::new(clock.clone());
        let taken = |from: &str, times: usize| (0..times).filter(|_| limit.take(network(from))).count();
        assert_eq!(taken("192.0.2.1", 150), 100);
        clock.advance(Duration::from_secs(1));
        assert_eq!(taken("192.0.2.1", 50), 10);
        assert_eq!((2..7).map(|host| taken(&format!("192.0.2.{host}"), 100)).sum::<usize>(), 440, "of one site");
        assert_eq!(taken("198.51.100.1", 100), 100, "another site");
        // A /64 of IPv6 is one host.
        assert_eq!(taken("2001:db8:1:2::1", 60) + taken("2001:db8:1:2::ffff", 60), 100);
    }
}
