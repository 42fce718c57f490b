//! The network of a client. Limits count a network as one party, and some records store only the network of an address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The bits of an IPv4 address that name its site.
const V4_SITE_BITS: u32 = 24;
/// The bits of an IPv6 address that name its site: what a provider assigns to one customer at most.
const V6_SITE_BITS: u32 = 48;
/// The bits of an IPv6 address that name its host: the network that one household has at least.
const V6_HOST_BITS: u32 = 64;

/// A host, and the site that it belongs to. Two hosts of one site may still be one party, so a site has a limit, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network {
    /// An IPv4 address, or a /64 of IPv6.
    pub host: IpAddr,
    /// A /24 of IPv4, or a /48 of IPv6.
    pub site: IpAddr,
}

impl Network {
    pub fn of(client: IpAddr) -> Network {
        match client.to_canonical() {
            IpAddr::V4(address) => {
                let site = address.to_bits() & (u32::MAX << (u32::BITS - V4_SITE_BITS));
                Network { host: address.into(), site: Ipv4Addr::from_bits(site).into() }
            }
            IpAddr::V6(address) => {
                let prefix = |bits| address.to_bits() & (u128::MAX << (u128::BITS - bits));
                let cut = |bits| Ipv6Addr::from_bits(prefix(bits)).into();
                Network { host: cut(V6_HOST_BITS), site: cut(V6_SITE_BITS) }
            }
        }
    }

    /// The site as text, such as `192.0.2.0/24` or `2001:db8:1::/48`.
    pub fn site_text(self) -> String {
        let bits = if self.site.is_ipv4() { V4_SITE_BITS } else { V6_SITE_BITS };
        format!("{}/{bits}", self.site)
    }
}

/// An address for readers who need not know it: the first half of its site, such as `203.0.*` or `2001:db8:*`.
pub fn masked(address: &str) -> String {
    match address.parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(IpAddr::V4(address)) => {
            let [a, b, ..] = address.octets();
            format!("{a}.{b}.*")
        }
        Ok(IpAddr::V6(address)) => {
            let [a, b, ..] = address.segments();
            format!("{a:x}:{b:x}:*")
        }
        Err(_) => "***".to_owned(),
    }
}

/// Whether an address belongs to the public internet. False for this host, private and shared networks, documentation,
/// multicast, and tunnels that lead to one of these.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            let is_special = address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_documentation()
                || matches!(
                    (a, b, c),
                    (0 | 224.., ..) | (100, 64..128, _) | (192, 0, 0) | (192, 88, 99) | (198, 18..20, _)
                );
            !is_special
        }
        IpAddr::V6(address) => {
            let [a, b, ..] = address.segments();
            // Addresses assigned to the internet, without documentation, Teredo and 6to4.
            (0x2000..0x4000).contains(&a) && !matches!((a, b), (0x2001, 0x0db8 | 0x0000) | (0x2002 | 0x3fff, _))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_site_are_prefixes_of_the_address() {
        for (client, host, site) in [
            ("192.0.2.77", "192.0.2.77", "192.0.2.0"),
            ("::ffff:192.0.2.77", "192.0.2.77", "192.0.2.0"),
            ("2001:db8:1:2:3::4", "2001:db8:1:2::", "2001:db8:1::"),
        ] {
            let network = Network::of(client.parse().unwrap());
            assert_eq!((network.host.to_string(), network.site.to_string()), (host.to_owned(), site.to_owned()));
        }
        let text = |client: &str| Network::of(client.parse().unwrap()).site_text();
        assert_eq!(
            (text("192.0.2.77").as_str(), text("2001:db8:1:2::4").as_str()),
            ("192.0.2.0/24", "2001:db8:1::/48")
        );
    }

    #[test]
    fn masked_address_names_no_site() {
        for (address, shown) in [
            ("192.0.2.77", "192.0.*"),
            ("::ffff:192.0.2.77", "192.0.*"),
            ("2001:db8:1:2:3::4", "2001:db8:*"),
            ("", "***"),
        ] {
            assert_eq!(masked(address), shown);
        }
    }

    #[test]
    fn addresses_that_lead_inside_are_not_public() {
        let is_public = |text: &str| is_public(text.parse().unwrap());
        let inside = "0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 169.254.169.254 172.16.0.1 192.0.0.8 192.168.1.1 198.18.0.1 \
            203.0.113.5 224.0.0.1 255.255.255.255 :: ::1 ::ffff:10.0.0.1 fe80::1 fd00::1 ff02::1 64:ff9b::a00:1 \
            2001:db8::1 2002:a00:1:: 2001:0:1::";
        for inside in inside.split(' ') {
            assert!(!is_public(inside), "{inside}");
        }
        for outside in ["93.184.216.34", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "::ffff:93.184.216.34"] {
            assert!(is_public(outside), "{outside}");
        }
    }
}
