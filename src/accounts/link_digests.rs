//! Keyed digests of what links accounts: the delivery address, the verified mail address, the instrument that paid, and
//! the network of the registration. All spellings of a thing have the same digest, and only the shop can compute it.

use base::signing::{KeyedDigests, ShopSecret};
use domain::{Address, LinkDigest, LinkKind, MailAddress, Network};

/// Makes the digests. While the shop's secret is being replaced there are two for each thing.
#[derive(Clone)]
pub struct LinkDigests(KeyedDigests);

impl LinkDigests {
    pub fn new(secret: &ShopSecret) -> LinkDigests {
        LinkDigests(KeyedDigests::new(secret, "signal"))
    }

    /// Digests of the whole address and of its street.
    pub fn of_address(&self, address: &Address) -> Vec<LinkDigest> {
        let mut digests = self.digests(LinkKind::Address, &address.place());
        digests.extend(self.digests(LinkKind::Street, &address.street()));
        digests
    }

    /// The digest of the mailbox of a verified mail address.
    pub fn of_contact(&self, address: &str) -> Vec<LinkDigest> {
        let mailbox = MailAddress::parse(address).map(|address| address.mailbox());
        mailbox.map(|mailbox| self.digests(LinkKind::Contact, &mailbox)).unwrap_or_default()
    }

    /// The digest of the fingerprint that a payment provider gives for a card or an account. Fingerprints of two
    /// providers differ.
    pub fn of_instrument(&self, provider: &str, fingerprint: &str) -> Vec<LinkDigest> {
        self.digests(LinkKind::Instrument, &format!("{provider} {fingerprint}"))
    }

    /// Digests of the network that an account was registered from.
    pub(super) fn of_network(&self, network: Network) -> Vec<LinkDigest> {
        let mut digests = self.digests(LinkKind::Host, &network.host.to_string());
        digests.extend(self.digests(LinkKind::Site, &network.site_text()));
        digests
    }

    fn digests(&self, kind: LinkKind, text: &str) -> Vec<LinkDigest> {
        let digests = self.0.of(&format!("{kind} {text}"));
        digests.into_iter().map(|digest| LinkDigest { kind, digest }).collect()
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    fn digests() -> LinkDigests {
        LinkDigests::new(&SecretString::from("s".repeat(64)).into())
    }

    fn address(city: &str, line1: &str, line2: &str) -> Address {
        let (region, country) = ("浙江省".to_owned(), "CN".to_owned());
        let (city, line1, line2) = (city.to_owned(), line1.to_owned(), line2.to_owned());
        Address { region, country, city, line1, line2, ..Address::default() }
    }

    fn kinds(one: &Address, other: &Address) -> Vec<LinkKind> {
        let (one, other) = (digests().of_address(one), digests().of_address(other));
        one.into_iter().filter(|digest| other.contains(digest)).map(|digest| digest.kind).collect()
    }

    #[test]
    fn spellings_of_an_address_are_one_address() {
        use LinkKind::{Address, Street};
        let one = address("杭州市", "文三路 12号", "3幢 401");
        for other in [
            address("杭州市", "文三路１２号", "3 幢 401"),
            address(" 杭州市", "文三路12号3幢", "401"),
            address("杭州市", "文三路12号，3幢-401", ""),
        ] {
            assert!(kinds(&one, &other).contains(&Address), "{other:?}");
        }
        assert_eq!(kinds(&one, &address("杭州市", "文三路 1 号", "23幢 401")), [Street]);
        assert!(kinds(&one, &address("杭州市", "文一路 12号", "3幢 401")).is_empty());
        let (one, other) = (address("Bath", "1-23 HIGH Street", ""), address("bath", "12-3 High St.reet", ""));
        assert_eq!(kinds(&one, &other), [Street]);
        assert_eq!(kinds(&one, &address("BATH", "1 / 23, high street", "")), [Address, Street]);
    }

    #[test]
    fn recipient_and_telephone_number_are_no_part_of_an_address() {
        let one = address("杭州市", "文三路 12号", "");
        let other = domain::Address { recipient: "王小美".into(), phone: "13800138000".into(), ..one.clone() };
        assert_eq!(digests().of_address(&one), digests().of_address(&other));
    }

    #[test]
    fn tags_of_a_mailbox_are_one_contact() {
        let of = |address| digests().of_contact(address);
        assert_eq!(of("Mei+sale@Shop.example"), of("mei+x+y@shop.example"));
        assert_eq!(of("mei@shop.example"), of("mei+@shop.example"));
        assert_ne!(of("mei@shop.example"), of("mei@other.example"));
        assert_ne!(of("mei@shop.example"), of("wang@shop.example"));
    }

    #[test]
    fn instruments_of_two_providers_have_two_digests() {
        let of = |provider, fingerprint| digests().of_instrument(provider, fingerprint);
        assert_eq!(of("sandbox", "card 4242"), of("sandbox", "card 4242"));
        assert_ne!(of("sandbox", "card 4242"), of("sandbox", "card 1881"));
        assert_ne!(of("sandbox", "card 4242"), of("elsewhere", "card 4242"));
        assert!(!of("sandbox", "card 4242")[0].digest.contains("4242"));
    }

    #[test]
    fn hosts_of_a_site_share_one_digest() {
        let of = |address: &str| digests().of_network(Network::of(address.parse().unwrap()));
        let (one, other) = (of("192.0.2.1"), of("192.0.2.2"));
        assert_ne!(one[0], other[0]);
        assert_eq!(one[1], other[1]);
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2::2"));
    }
}
