//! Limits how often a network may ask for accounts, whether or not it gets one. Requests are counted in memory before
//! anything else is done, so that a flood costs neither the database nor a core. A refusal is delayed for a while: that
//! slows down a client that waits for each answer, and leaves the database connections to the others.

use std::net::IpAddr;
use std::time::Duration;

use super::keyed_limit::KeyedLimit;
use super::{AccountRefusal, Device};
use base::clock::Clock;
use domain::Network;

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
