//! The IP address of the client. `X-Forwarded-For` is trusted as far as configured proxies wrote it.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap};

use crate::Shop;
use accounts::Device;
use base::config::{Cidr, WebConfig};

/// The IP address of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

impl FromRequestParts<Arc<Shop>> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Infallible> {
        Ok(ClientAddress(client_address(&parts.extensions, &parts.headers, &shop.config)))
    }
}

/// What is known of the client: its address, its program, and whether the account used it before.
#[derive(Debug)]
pub struct ClientDevice(pub Device);

impl FromRequestParts<Arc<Shop>> for ClientDevice {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Infallible> {
        let ClientAddress(address) = ClientAddress::from_request_parts(parts, shop).await?;
        let agent = parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
        let known = shop.accounts.known_device(&parts.headers);
        Ok(ClientDevice(Device::new(address, agent.unwrap_or_default()).with_known(known)))
    }
}

/// The address of the client, from the parts of its request.
pub fn client_address(extensions: &Extensions, headers: &HeaderMap, config: &WebConfig) -> IpAddr {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    // Only tests call without a socket.
    client(peer.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), headers, &config.trusted_proxies)
}

/// The rightmost address that is not a trusted proxy. Each proxy appends the address of its peer, so everything further
/// left may be forged. An entry that is not an address ends the search: no trusted proxy wrote it.
fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[Cidr]) -> IpAddr {
    let mut nearest = peer.to_canonical();
    let lines: Vec<&str> = headers.get_all("x-forwarded-for").iter().map(|v| v.to_str().unwrap_or_default()).collect();
    for entry in lines.iter().rev().flat_map(|line| line.rsplit(',')) {
        if !trusted.iter().any(|network| network.contains(nearest)) {
            break;
        }
        let Ok(address) = entry.trim().parse::<IpAddr>() else { break };
        nearest = address.to_canonical();
    }
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client_of(peer: &str, forwarded: &[&str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append("x-forwarded-for", line.parse().unwrap());
        }
        let trusted: Vec<Cidr> = trusted.iter().map(|text| Cidr::parse(text).unwrap()).collect();
        client(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn forwarded_address_counts_from_trusted_proxies_only() {
        let (me, proxy) = ("203.0.113.9", "10.0.0.1");
        assert_eq!(client_of(me, &[], &[]), me);
        assert_eq!(client_of(me, &["1.1.1.1"], &[]), me);
        assert_eq!(client_of(me, &["1.1.1.1"], &[proxy]), me);
        assert_eq!(client_of(proxy, &[], &[proxy]), proxy);
        assert_eq!(client_of(proxy, &["203.0.113.9"], &[proxy]), me);
        assert_eq!(client_of("::ffff:10.0.0.1", &["203.0.113.9"], &[proxy]), me);
    }

    #[test]
    fn forged_addresses_left_of_the_proxies_are_ignored() {
        let (cdn, proxy) = ("198.51.100.1", "10.0.0.1");
        assert_eq!(client_of(proxy, &["1.1.1.1, 203.0.113.9"], &[proxy]), "203.0.113.9");
        assert_eq!(client_of(proxy, &["1.1.1.1, 203.0.113.9, 198.51.100.1"], &[proxy, cdn]), "203.0.113.9");
        assert_eq!(client_of(proxy, &["1.1.1.1", "203.0.113.9"], &[proxy]), "203.0.113.9");
        assert_eq!(client_of(proxy, &["10.0.0.1, nonsense"], &[proxy]), proxy);
    }

    #[test]
    fn search_goes_left_past_trusted_networks_only() {
        let trusted = ["10.0.0.0/8", "2001:db8::/32"];
        let chain = ["203.0.113.9, 198.51.100.7, 2001:db8::7", "10.9.9.9"];
        assert_eq!(client_of("10.0.0.1", &chain, &trusted), "198.51.100.7");
        assert_eq!(client_of("11.0.0.1", &chain, &trusted), "11.0.0.1");
        assert_eq!(client_of("10.0.0.1", &["10.0.0.2, 10.0.0.3"], &trusted), "10.0.0.2");
    }
}
