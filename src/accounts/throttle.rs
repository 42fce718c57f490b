//! Limits wrong guesses of passwords and codes. A guess is counted before its password is hashed and given back unless
//! it turns out wrong, so that parallel guesses are limited like consecutive ones, and a whole campus behind one
//! address can log in.
//!
//! - **Per network and user name** ([`PER_NAME`]): further guesses are refused.
//! - **Per user name** from all networks ([`PER_ACCOUNT`]): further guesses are refused, except from addresses where
//!   the account is signed in. Otherwise any client could lock out the owner of an account.
//! - **Per network** for all names ([`PER_ADDRESS`]): further guesses are delayed, not refused: wrong guesses at
//!   invented names must not lock out everyone behind the same address.
//! - **Passkeys** are only delayed with their network, and a password is judged in spite of the limit of its name if it
//!   comes with a right code. Neither can be guessed, so wrong guesses at a name must not lock its owner out.
//! - **Browsers that the account knows** (`known_device`) are excepted from all three. Each has [`PER_NAME`] for
//!   itself.
//!
//! A process first counts a guess in memory. If it allows the guess, it counts it in the database for all processes
//! together (`shared_guesses`). Delays are per process.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::keyed_limit::KeyedLimit;
use super::network::Network;
use super::{AccountRefusal, Accounts, Device, names};
use base::clock::Clock;
use base::rate_limit::{KeyedSlot, KeyedSlots};
use store::{GuessCount, StoreResult};

/// Wrong passwords for one user name from one host: the burst, then one per period.
pub(super) const PER_NAME: (u32, Duration) = (8, Duration::from_secs(30));
/// Wrong passwords for one user name from all addresses where the account is not signed in.
pub(super) const PER_ACCOUNT: (u32, Duration) = (40, Duration::from_secs(60));
/// Wrong passwords from one host for any user name, before its guesses are delayed.
const PER_ADDRESS: (u32, Duration) = (60, Duration::from_secs(2));
/// The delay for each wrong password beyond [`PER_ADDRESS`], and the longest delay.
const DELAY_STEP: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(2);
/// Guesses of one host that are delayed at the same time. Further ones are refused for [`MAX_DELAY`].
const MAX_DELAYED: usize = 32;
/// Wrong codes for one account from any address: a client that gets this far has sent the right password.
pub(super) const PER_CODE: (u32, Duration) = (5, Duration::from_secs(120));

/// The guesses that one process has seen.
pub struct GuessLimits {
    per_name: KeyedLimit<(Origin, u64)>,
    per_account: KeyedLimit<u64>,
    per_address: KeyedLimit<IpAddr>,
    pub(super) per_code: KeyedLimit<Uuid>,
    delayed: Arc<KeyedSlots<IpAddr>>,
    hasher: RandomState,
}

/// Where a guess at a name comes from. Guesses at one name from one origin are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// An address, or a /64 of IPv6.
    Host(IpAddr),
    /// A browser in which the account has signed in before.
    Device(Uuid),
}

impl Origin {
    pub(super) fn of(device: &Device, username: &str) -> Origin {
        match &device.known {
            Some(known) if known.is_of(username) => Origin::Device(known.id),
            _ => Origin::Host(Network::of(device.address).host),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Host(host) => host.fmt(f),
            Origin::Device(id) => id.fmt(f),
        }
    }
}

/// A guess at a password that is being judged. Dropping it gives it back.
#[must_use]
pub struct Guess<'a> {
    limits: &'a GuessLimits,
    origin: Origin,
    name: u64,
    pub(super) counts_for_account: bool,
    is_wrong: bool,
    /// What was counted in the database for this guess.
    pub(super) shared: Vec<GuessCount>,
}

impl Guess<'_> {
    /// Counts the guess for good.
    pub(super) fn record_wrong(mut self) {
        self.is_wrong = true;
        if let Origin::Host(host) = self.origin {
            self.limits.per_address.add(host);
        }
    }
}

impl Drop for Guess<'_> {
    fn drop(&mut self) {
        if self.is_wrong {
            return;
        }
        self.limits.per_name.give_back(&(self.origin, self.name));
        if self.counts_for_account {
            self.limits.per_account.give_back(&self.name);
        }
    }
}

impl GuessLimits {
    pub fn new(clock: Clock) -> GuessLimits {
        GuessLimits {
            per_name: KeyedLimit::new(PER_NAME, clock.clone()),
            per_account: KeyedLimit::new(PER_ACCOUNT, clock.clone()),
            per_address: KeyedLimit::new(PER_ADDRESS, clock.clone()),
            per_code: KeyedLimit::new(PER_CODE, clock),
            delayed: KeyedSlots::new(MAX_DELAYED),
            hasher: RandomState::new(),
        }
    }

    /// Counts a guess that is about to be judged. The limit per account does not count guesses from a browser that the
    /// account knows, or from an address where it is signed in.
    pub fn reserve(&self, origin: Origin, username: &str, signed_in: bool) -> Result<Guess<'_>, AccountRefusal> {
        let name = self.name_key(username);
        self.per_name.take((origin, name)).map_err(AccountRefusal::Throttled)?;
        let mut guess =
            Guess { limits: self, origin, name, counts_for_account: false, is_wrong: false, shared: Vec::new() };
        if matches!(origin, Origin::Host(_)) && !signed_in {
            self.per_account.take(name).map_err(AccountRefusal::NameThrottled)?;
            guess.counts_for_account = true;
        }
        Ok(guess)
    }

    /// Counts a wrong answer of a passkey against its network.
    pub(super) fn record_wrong_passkey(&self, client: IpAddr) {
        self.per_address.add(Network::of(client).host);
    }

    /// How long to wait before the next password from this address is judged.
    fn delay(&self, client: IpAddr) -> Duration {
        let excess = self.per_address.excess(&Network::of(client).host);
        (DELAY_STEP * excess).min(MAX_DELAY)
    }

    /// A place among the delayed guesses of a host, if there is one.
    fn begin_delay(&self, client: IpAddr) -> Result<KeyedSlot<IpAddr>, AccountRefusal> {
        self.delayed.take(Network::of(client).host).ok_or(AccountRefusal::Throttled(MAX_DELAY))
    }

    /// A fixed-size key for a user name of any length. All spellings that find the same account have one key.
    fn name_key(&self, username: &str) -> u64 {
        self.hasher.hash_one(names::key(username))
    }
}

impl Accounts {
    /// Counts a guess at a password before any work is done for it, and delays it if its network has made many wrong
    /// guesses.
    pub(super) async fn reserve_guess(&self, device: &Device, username: &str) -> Result<Guess<'_>, AccountRefusal> {
        let origin = Origin::of(device, username);
        let guess = match self.guesses.reserve(origin, username, false) {
            Err(AccountRefusal::NameThrottled(_)) if self.is_signed_in_from(device.address, username).await? => {
                self.guesses.reserve(origin, username, true)?
            }
            guess => guess?,
        };
        let guess = self.share_guess(guess, device, username).await?;
        if matches!(origin, Origin::Host(_)) {
            self.delay_guess(device).await?;
        }
        Ok(guess)
    }

    /// Delays a client whose network has made many wrong guesses. Passkeys have no other limit: a passkey
    /// cannot be guessed, so wrong guesses at its account are no reason to refuse it.
    pub(super) async fn delay_guess(&self, device: &Device) -> Result<(), AccountRefusal> {
        let delay = self.guesses.delay(device.address);
        if !delay.is_zero() {
            let _place = self.guesses.begin_delay(device.address)?;
            tokio::time::sleep(delay).await;
        }
        Ok(())
    }

    /// Counts a guess for the limit of the client, not for the limit of the name: a confirmation by a user who is signed
    /// in, or a password that is judged only because the code beside it is right ([`Accounts::log_in`]).
    pub(super) async fn reserve_client_guess(
        &self,
        device: &Device,
        username: &str,
    ) -> Result<Guess<'_>, AccountRefusal> {
        let guess = self.guesses.reserve(Origin::of(device, username), username, true)?;
        self.share_guess(guess, device, username).await
    }

    /// Whether the account has a session that began at this host.
    pub(super) async fn is_signed_in_from(&self, client: IpAddr, username: &str) -> StoreResult<bool> {
        let Some(user) = self.user_named(username).await? else { return Ok(false) };
        let host = Network::of(client).host;
        let sessions = self.store.sessions().sessions_of(user.id, self.clock.now()).await?;
        let hosts = sessions.iter().filter_map(|session| session.address.parse().ok());
        Ok(hosts.map(|address| Network::of(address).host).any(|known| known == host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> (GuessLimits, Clock) {
        let clock = Clock::manual(jiff::Timestamp::from_second(1_800_000_000).unwrap());
        (GuessLimits::new(clock.clone()), clock)
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn host(text: &str) -> Origin {
        Origin::Host(Network::of(address(text)).host)
    }

    /// How many of the guesses are judged, one after the other, all wrong.
    fn judged(guesses: &GuessLimits, from: &str, name: &str, attempts: u32) -> u32 {
        let reserved = (0..attempts).filter_map(|_| guesses.reserve(host(from), name, false).ok());
        reserved.map(Guess::record_wrong).count() as u32
    }

    #[test]
    fn parallel_guesses_are_counted_before_they_are_judged() {
        let (guesses, _) = limits();
        let under_way: Vec<_> =
            (0..150).filter_map(|_| guesses.reserve(host("192.0.2.1"), "mei", false).ok()).collect();
        assert_eq!(under_way.len(), PER_NAME.0 as usize);
        assert!(guesses.reserve(host("192.0.2.1"), "Mei", false).is_err());
        assert!(guesses.reserve(host("192.0.2.1"), "lei", false).is_ok());
        drop(under_way);
        assert_eq!(judged(&guesses, "192.0.2.1", "mei", 150), PER_NAME.0, "right guesses were given back");
    }

    #[test]
    fn guesses_from_many_addresses_share_the_limit_of_the_account() {
        let (guesses, clock) = limits();
        let total: u32 = (0..20).map(|n| judged(&guesses, &format!("192.0.{n}.1"), "mei", 8)).sum();
        assert_eq!(total, PER_ACCOUNT.0);
        let stranger = guesses.reserve(host("203.0.113.9"), "mei", false).map(drop);
        assert!(matches!(stranger, Err(AccountRefusal::NameThrottled(wait)) if wait == PER_ACCOUNT.1));
        assert!(guesses.reserve(host("203.0.113.9"), "mei", true).is_ok(), "the owner's address is excepted");
        clock.advance(PER_ACCOUNT.1);
        assert_eq!(judged(&guesses, "203.0.113.9", "mei", 8), 1);
    }

    #[test]
    fn guesses_of_others_do_not_count_for_a_known_browser() {
        let (guesses, _) = limits();
        for n in 0..20 {
            judged(&guesses, &format!("192.0.{n}.1"), "mei", 8);
        }
        let browser = Origin::Device(Uuid::from_u128(7));
        let own = (0..20).filter_map(|_| guesses.reserve(browser, "mei", false).ok());
        assert_eq!(own.map(Guess::record_wrong).count() as u32, PER_NAME.0, "it has a limit of its own");
        assert!(guesses.reserve(Origin::Device(Uuid::from_u128(8)), "mei", false).is_ok());
    }

    #[test]
    fn allowance_returns_one_guess_at_a_time() {
        let (guesses, clock) = limits();
        assert_eq!(judged(&guesses, "192.0.2.1", "mei", 20), PER_NAME.0);
        let refused = guesses.reserve(host("192.0.2.1"), "mei", false).map(drop);
        let is_same_wait = matches!(refused, Err(AccountRefusal::Throttled(wait)) if wait == PER_NAME.1);
        assert!(is_same_wait, "refused guesses do not prolong the wait");
        clock.advance(PER_NAME.1);
        assert_eq!(judged(&guesses, "192.0.2.1", "mei", 20), 1);
        clock.advance(PER_NAME.1 * PER_NAME.0);
        assert_eq!(judged(&guesses, "192.0.2.1", "mei", 20), PER_NAME.0);
    }

    #[test]
    fn guesses_at_invented_names_delay_their_network_and_lock_out_nobody() {
        let (guesses, clock) = limits();
        for n in 0..PER_ADDRESS.0 {
            assert_eq!(judged(&guesses, "2001:db8::1", &n.to_string(), 1), 1);
        }
        assert_eq!(guesses.delay(address("2001:db8::ffff:1")), Duration::ZERO);
        for n in 0..7 {
            assert_eq!(judged(&guesses, "2001:db8::2", &format!("x{n}"), 1), 1);
        }
        assert_eq!(guesses.delay(address("2001:db8::ffff:1")), DELAY_STEP * 7);
        assert!(guesses.reserve(host("2001:db8::ffff:1"), "mei", false).is_ok());
        assert_eq!(guesses.delay(address("2001:db8:0:1::1")), Duration::ZERO);
        for n in 0..500 {
            assert_eq!(judged(&guesses, "2001:db8::3", &format!("y{n}"), 1), 1);
        }
        assert_eq!(guesses.delay(address("2001:db8::1")), MAX_DELAY);
        clock.advance(PER_ADDRESS.1 * PER_ADDRESS.0);
        assert_eq!(guesses.delay(address("2001:db8::1")), Duration::ZERO, "at most one more burst later");
    }

    #[test]
    fn delayed_guesses_of_one_host_are_bounded() {
        let (guesses, _) = limits();
        let here = address("192.0.2.1");
        let delays: Vec<_> = (0..MAX_DELAYED).map(|_| guesses.begin_delay(here).ok().unwrap()).collect();
        assert!(matches!(guesses.begin_delay(here), Err(AccountRefusal::Throttled(MAX_DELAY))));
        assert!(guesses.begin_delay(address("192.0.2.2")).is_ok());
        drop(delays);
        assert!(guesses.begin_delay(here).is_ok(), "the places are free again");
    }

    #[test]
    fn codes_are_counted_until_they_are_right() {
        let (guesses, _) = limits();
        let user = Uuid::from_u128(7);
        for _ in 0..20 {
            assert_eq!(guesses.per_code.take(user), Ok(()));
            guesses.per_code.give_back(&user);
        }
        for _ in 0..PER_CODE.0 {
            assert_eq!(guesses.per_code.take(user), Ok(()));
        }
        assert_eq!(guesses.per_code.take(user), Err(PER_CODE.1));
    }
}
