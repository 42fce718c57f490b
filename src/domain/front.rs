//! A sale whose line stands in front of another shop: shoppers whose turn has come go back there, with a pass.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

const MAX_ADDRESSES: usize = 20;
const MAX_ADDRESS_CHARS: usize = 500;
/// The longest address to go back to, in characters. A cookie keeps it.
const MAX_RETURN_CHARS: usize = 2_000;

/// How a sale stands in front of another shop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaleFront {
    /// Addresses of the other shop, such as `https://shop.example/drop`. A shopper may go back to an address that
    /// begins with one of these, as whole segments of its path.
    #[schemars(length(min = 1, max = 20), inner(length(max = 500)))]
    pub return_addresses: Vec<String>,
    /// Whether visitors whom the other shop does not name may take a place. Then one person may hold many places.
    #[serde(default)]
    pub anonymous: bool,
    /// Whether a pass lets its holder in again until it expires, instead of once.
    #[serde(default)]
    pub reusable: bool,
}

impl SaleFront {
    /// Field and code of each mistake.
    pub fn mistakes(&self) -> Vec<(&'static str, &'static str)> {
        let addresses = &self.return_addresses;
        let code = match addresses.len() {
            0 => Some("required"),
            n if n > MAX_ADDRESSES => Some("too_long"),
            _ if addresses.iter().any(|address| !is_registrable(address)) => Some("bad_return_address"),
            _ => None,
        };
        code.map(|code| ("return_addresses", code)).into_iter().collect()
    }

    /// The origins of the other shop, as browsers send them.
    pub fn origins(&self) -> impl Iterator<Item = String> {
        self.return_addresses.iter().filter_map(|address| Some(parsed(address)?.origin().ascii_serialization()))
    }

    /// The address, as a browser understands it, if shoppers may go there.
    pub fn allowed(&self, address: &str) -> Option<Url> {
        let url = parsed(address)?;
        let mut registered = self.return_addresses.iter().filter_map(|address| parsed(address));
        registered.any(|base| base.origin() == url.origin() && is_below(base.path(), url.path())).then_some(url)
    }
}

/// An address without a name or password in it. The parser resolves `..` and backslashes as browsers do.
fn parsed(address: &str) -> Option<Url> {
    let url = Url::parse(address).ok().filter(|_| address.chars().count() <= MAX_RETURN_CHARS)?;
    let is_web = matches!(url.scheme(), "https" | "http") && url.host_str().is_some();
    (is_web && url.username().is_empty() && url.password().is_none()).then_some(url)
}

/// Passes must not travel in the clear, except to a shop on the same machine.
fn is_registrable(address: &str) -> bool {
    let Some(url) = parsed(address).filter(|_| address.chars().count() <= MAX_ADDRESS_CHARS) else { return false };
    let is_local = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    (url.scheme() == "https" || is_local) && url.query().is_none() && url.fragment().is_none()
}

fn is_below(base: &str, path: &str) -> bool {
    let rest = path.strip_prefix(base.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front(addresses: &[&str]) -> SaleFront {
        SaleFront { return_addresses: addresses.iter().map(|&a| a.to_owned()).collect(), ..SaleFront::default() }
    }

    #[test]
    fn shoppers_go_back_only_below_a_registered_address() {
        let front = front(&["https://shop.example/drop", "http://127.0.0.1:9000/"]);
        for allowed in [
            "https://shop.example/drop",
            "https://shop.example/drop/?size=42",
            "https://SHOP.example:443/drop/a/../b",
            "http://127.0.0.1:9000/any",
        ] {
            assert!(front.allowed(allowed).is_some(), "{allowed}");
        }
        for refused in [
            "https://shop.example/dropped",
            "https://shop.example/drop/../account",
            "https://shop.example/drop/%2e%2e/account",
            "http://shop.example/drop",
            "https://shop.example:8443/drop",
            "https://shop.example.evil.example/drop",
            "https://shop.example@evil.example/drop",
            "https://evil.example/https://shop.example/drop",
            "//shop.example/drop",
            "https:\\\\evil.example\\drop",
            "javascript:alert(1)//https://shop.example/drop",
            "/drop",
            "",
        ] {
            assert_eq!(front.allowed(refused), None, "{refused}");
        }
    }

    #[test]
    fn addresses_are_of_a_shop_on_https_or_on_this_machine() {
        assert_eq!(front(&["https://shop.example", "http://localhost:3000/a"]).mistakes(), []);
        assert_eq!(front(&[]).mistakes(), [("return_addresses", "required")]);
        let wrong = ["http://shop.example", "https://a:b@shop.example", "https://shop.example/?a=1", "ftp://x", "shop"];
        for address in wrong {
            assert_eq!(front(&[address]).mistakes(), [("return_addresses", "bad_return_address")], "{address}");
        }
        assert_eq!(front(&["https://shop.example"; 21]).mistakes(), [("return_addresses", "too_long")]);
    }
}
