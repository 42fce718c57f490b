//! The IP address of the client. `X-Forwarded-For` is trusted as far as configured proxies wrote it.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::header::{FORWARDED, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap};
use jiff::{SignedDuration, Timestamp};
use tracing::warn;

use crate::Shop;
use accounts::Device;
use base::config::Cidr;

const X_FORWARDED_FOR: &str = "x-forwarded-for";

/// The IP address of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

impl FromRequestParts<Arc<Shop>> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Infallible> {
        Ok(ClientAddress(client_address(&parts.extensions, &parts.headers, shop)))
    }
}

/// Whether the client is WeChat's own browser. It opens no app of a payment provider.
pub fn is_wechat(headers: &HeaderMap) -> bool {
    headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).is_some_and(|agent| agent.contains("MicroMessenger"))
}

/// The address of a payer on a phone, whose browser can open the app of a payment provider.
#[derive(Debug, Clone, Copy)]
pub struct PayingPhone(pub Option<IpAddr>);

impl FromRequestParts<Arc<Shop>> for PayingPhone {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Infallible> {
        let ClientAddress(address) = ClientAddress::from_request_parts(parts, shop).await?;
        let agent = parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_phone = ["iPhone", "Android", "OpenHarmony"].iter().any(|system| agent.contains(system));
        Ok(PayingPhone((is_phone && !is_wechat(&parts.headers)).then_some(address)))
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
pub fn client_address(extensions: &Extensions, headers: &HeaderMap, shop: &Shop) -> IpAddr {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    // Only tests call without a socket.
    let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    if is_forwarded(headers) && !is_trusted(peer.to_canonical(), &shop.config.trusted_proxies) {
        shop.unnamed_proxies.tell(peer, shop.clock.now());
        // The client is somewhere behind the proxy, so it must not count as this machine.
        return if peer.to_canonical().is_loopback() { UNKNOWN } else { peer.to_canonical() };
    }
    client(peer, headers, &shop.config.trusted_proxies)
}

/// The address of a client behind a proxy of this machine that `SECKILL_TRUSTED_PROXIES` does not name.
const UNKNOWN: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
/// How often the log tells of proxies that are not named.
const TELL_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// Whether a proxy passed the request on.
fn is_forwarded(headers: &HeaderMap) -> bool {
    [X_FORWARDED_FOR, FORWARDED.as_str(), "x-real-ip"].into_iter().any(|name| headers.contains_key(name))
}

fn is_trusted(peer: IpAddr, trusted: &[Cidr]) -> bool {
    trusted.iter().any(|network| network.contains(peer))
}

/// Tells the log of requests that came through a proxy which is not named.
#[derive(Debug, Default)]
pub struct UnnamedProxies {
    /// In seconds since 1970; 0: never.
    told: AtomicI64,
}

impl UnnamedProxies {
    /// Returns whether a line was written.
    pub fn tell(&self, peer: IpAddr, now: Timestamp) -> bool {
        let (told, now) = (self.told.load(Ordering::Relaxed), now.as_second());
        let is_due = now - told >= TELL_INTERVAL.as_secs();
        if !is_due || self.told.compare_exchange(told, now, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return false;
        }
        warn!(
            %peer,
            "a request has a forwarding header, but its sender is not in SECKILL_TRUSTED_PROXIES: all its clients count as \
             one; name the proxy there, or let it remove such headers"
        );
        true
    }
}

/// The rightmost address that is not a trusted proxy. Each proxy appends the address of its peer, so everything further
/// left may be forged. An entry that is not an address ends the search: no trusted proxy wrote it.
fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[Cidr]) -> IpAddr {
    let mut nearest = peer.to_canonical();
    let lines: Vec<&str> = headers.get_all(X_FORWARDED_FOR).iter().map(|v| v.to_str().unwrap_or_default()).collect();
    for entry in lines.iter().rev().flat_map(|line| line.rsplit(',')) {
        if !is_trusted(nearest, trusted) {
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

    #[test]
    fn unnamed_proxy_is_told_once_a_minute() {
        let (proxies, peer) = (UnnamedProxies::default(), IpAddr::V4(Ipv4Addr::LOCALHOST));
        let tell = |seconds: i64| proxies.tell(peer, Timestamp::from_second(1_800_000_000 + seconds).unwrap());
        assert_eq!([tell(0), tell(1), tell(59), tell(60), tell(61)], [true, false, false, true, false]);
    }

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
