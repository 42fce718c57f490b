//! The connections that one address may hold: an IPv4 address, or a /64 of IPv6.

use std::net::IpAddr;
use std::sync::Arc;

use base::config::Cidr;
use base::rate_limit::{KeyedSlot, KeyedSlots};
use domain::Network;

/// The limit of one listener. Trusted proxies, which bring the connections of many clients, and this machine are
/// exempt.
#[derive(Debug)]
pub struct AddressLimit {
    slots: Arc<KeyedSlots<IpAddr>>,
    exempt: Vec<Cidr>,
    is_loopback_exempt: bool,
}

/// The address holds as many connections as it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AddressFull;

impl AddressLimit {
    pub fn new(max_connections: usize, trusted_proxies: &[Cidr]) -> AddressLimit {
        AddressLimit {
            slots: KeyedSlots::new(max_connections),
            exempt: trusted_proxies.to_vec(),
            is_loopback_exempt: true,
        }
    }

    /// A slot for a connection of this address; `None` for an exempt address.
    pub(super) fn take(&self, peer: IpAddr) -> Result<Option<Box<KeyedSlot<IpAddr>>>, AddressFull> {
        if self.exempts(peer) {
            return Ok(None);
        }
        let slot = self.slots.take(Network::of(peer).host).ok_or(AddressFull)?;
        Ok(Some(Box::new(slot)))
    }

    fn exempts(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        self.exempt.iter().any(|proxies| proxies.contains(peer)) || self.is_loopback_exempt && peer.is_loopback()
    }

    /// A limit for tests, whose clients are all on this machine.
    #[cfg(test)]
    pub(super) fn with_loopback(max_connections: usize) -> AddressLimit {
        AddressLimit { is_loopback_exempt: false, ..AddressLimit::new(max_connections, &[]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trusted_proxies_and_loopback_are_excepted_from_the_limit_per_address() {
        let limit = AddressLimit::new(1, &[Cidr::parse("10.0.0.0/31").unwrap()]);
        for exempt in ["127.0.0.1", "::1", "10.0.0.1", "::ffff:10.0.0.1"] {
            assert!(limit.exempts(exempt.parse().unwrap()), "{exempt}");
        }
        assert!(!limit.exempts("10.0.0.2".parse().unwrap()));
    }
}
