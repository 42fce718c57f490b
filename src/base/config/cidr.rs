//! Networks in CIDR notation, such as `10.0.0.0/8` and `2001:db8::/32`.

use std::net::IpAddr;

use anyhow::{Context, ensure};

/// A network; a single address is a network of its own. IPv4 addresses that are written as IPv6 count as IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    first: IpAddr,
    /// Leading bits that all addresses of the network share.
    prefix: u8,
}

impl Cidr {
    pub fn parse(text: &str) -> anyhow::Result<Cidr> {
        const EXPECTED: &str = "expected addresses or networks such as 10.0.0.0/8, comma separated";
        let (address, prefix) = text.trim().split_once('/').map_or((text.trim(), None), |(a, p)| (a, Some(p)));
        let first = address.parse::<IpAddr>().context(EXPECTED)?;
        ensure!(prefix.is_none() || first == first.to_canonical(), EXPECTED);
        let first = first.to_canonical();
        let prefix = match prefix {
            Some(prefix) => prefix.parse().context(EXPECTED)?,
            None => width(first),
        };
        ensure!(prefix <= width(first), EXPECTED);
        let cidr = Cidr { first, prefix };
        ensure!(cidr.network_of(first) == bits(first), "{text} is not the first address of its network");
        Ok(cidr)
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4() && self.network_of(address) == bits(self.first)
    }

    fn network_of(&self, address: IpAddr) -> u128 {
        let host_bits = u32::from(width(address) - self.prefix);
        let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
        bits(address) & mask
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(network: &str, address: &str) -> bool {
        Cidr::parse(network).unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn network_has_the_addresses_of_its_prefix() {
        assert!(contains("10.0.0.0/8", "10.255.0.1") && !contains("10.0.0.0/8", "11.0.0.0"));
        assert!(contains("192.0.2.128/25", "192.0.2.255") && !contains("192.0.2.128/25", "192.0.2.127"));
        assert!(contains("192.0.2.7", "192.0.2.7") && !contains("192.0.2.7", "192.0.2.6"));
        assert!(contains("0.0.0.0/0", "203.0.113.9") && !contains("0.0.0.0/0", "::1"));
        assert!(contains("2001:db8::/32", "2001:db8:1::1") && !contains("2001:db8::/32", "2001:db9::"));
        assert!(contains("::/0", "2001:db8::1") && contains("::1", "::1"));
        assert!(contains("10.0.0.0/8", "::ffff:10.1.1.1") && contains("::ffff:10.0.0.1", "10.0.0.1"));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in ["", "x", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.1/8", "::ffff:10.0.0.0/104"]
        {
            assert!(Cidr::parse(text).is_err(), "{text}");
        }
    }
}
