//! Linked accounts: accounts of one sale that seem to belong together. Staff look at them; no rule of the shop acts on
//! them.
//!
//! **Strong evidence** links accounts by itself: orders to the same address, orders paid with the same instrument, or
//! the same verified contact.
//!
//! **Weak evidence** links accounts only in combination: they were registered from one network within
//! [`SIGN_UP_WINDOW`] of each other, and their orders go to one street. A network alone says nothing, because a mobile
//! carrier, a campus or an office puts strangers behind one address. A street alone says nothing either, because
//! neighbours buy the same thing. A network with more than [`MAX_NETWORK_ACCOUNTS`] accounts of the sale is ignored.
//!
//! Time and memory are linear in the number of [`LinkDigest`]s, except that sorting adds a logarithm.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::{SignedDuration, Timestamp};

use super::UserId;
use super::wire::wire_enum;

/// Scripts register their accounts in one go. The window is longer than the pauses that proof of work forces on them.
pub const SIGN_UP_WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// A household, a parcel shop or a small office has fewer accounts than this in one sale.
pub const MAX_NETWORK_ACCOUNTS: usize = 100;

wire_enum! {
    /// What a [`LinkDigest`] is the digest of.
    pub enum LinkKind {
        /// The delivery address: country, region, city, street and house.
        Address = "address",
        /// The delivery address without numbers and without the second address line.
        Street = "street",
        /// A verified mail address.
        Contact = "contact",
        /// What paid the order at a provider, such as a card.
        Instrument = "instrument",
        /// The network of the registration: an IPv4 address, or a /64 of IPv6.
        Host = "host",
        /// The wider network of the registration: a /24, or a /48 of IPv6.
        Site = "site",
    }
}

wire_enum! {
    /// Why accounts are linked.
    pub enum LinkReason {
        Address = "address",
        Contact = "contact",
        Instrument = "instrument",
        /// The accounts were registered from one network within minutes, and their orders go to one street.
        Registration = "registration",
    }
}

/// A digest of something that accounts may have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkDigest {
    pub kind: LinkKind,
    pub digest: String,
}

/// Something that one account has, to be compared with other accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountLink {
    pub user: UserId,
    pub link: LinkDigest,
    /// When the account was registered. Only networks use it.
    pub at: Timestamp,
}

/// Accounts that are linked, directly or through others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedAccounts {
    /// At least two accounts, ids ascending.
    pub members: Vec<UserId>,
    /// For each reason, how many members it links to another member.
    pub reasons: BTreeMap<LinkReason, usize>,
}

/// Disjoint sets of accounts (union-find): each account points towards the root of its set.
struct Sets {
    parents: Vec<usize>,
    sizes: Vec<usize>,
}

impl Sets {
    fn of(count: usize) -> Sets {
        Sets { parents: (0..count).collect(), sizes: vec![1; count] }
    }

    fn find(&mut self, mut at: usize) -> usize {
        while self.parents[at] != at {
            self.parents[at] = self.parents[self.parents[at]];
            at = self.parents[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (mut large, mut small) = (self.find(one), self.find(other));
        if large == small {
            return;
        }
        if self.sizes[large] < self.sizes[small] {
            std::mem::swap(&mut large, &mut small);
        }
        self.parents[small] = large;
        self.sizes[large] += self.sizes[small];
    }
}

/// The links found so far. Accounts are indices into the sorted list of users.
struct Links {
    sets: Sets,
    linked: BTreeMap<LinkReason, BTreeSet<usize>>,
}

impl Links {
    fn add(&mut self, one: usize, other: usize, reason: LinkReason) {
        if one != other {
            self.sets.join(one, other);
            self.linked.entry(reason).or_default().extend([one, other]);
        }
    }
}

/// The groups of linked accounts of a sale, the largest first.
pub fn groups(noted: &[AccountLink]) -> Vec<LinkedAccounts> {
    let users: BTreeSet<UserId> = noted.iter().map(|noted| noted.user).collect();
    let users: Vec<UserId> = users.into_iter().collect();
    let numbers: HashMap<UserId, usize> = users.iter().enumerate().map(|(number, user)| (*user, number)).collect();
    let mut links = Links { sets: Sets::of(users.len()), linked: BTreeMap::new() };
    let mut streets: HashMap<usize, Vec<&str>> = HashMap::new();
    let mut networks: HashMap<(LinkKind, &str), Vec<(Timestamp, usize)>> = HashMap::new();
    let mut first_with: HashMap<(LinkReason, &str), usize> = HashMap::new();
    for AccountLink { user, link, at } in noted {
        let number = numbers[user];
        let reason = match link.kind {
            LinkKind::Address => LinkReason::Address,
            LinkKind::Contact => LinkReason::Contact,
            LinkKind::Instrument => LinkReason::Instrument,
            LinkKind::Street => {
                streets.entry(number).or_default().push(&link.digest);
                continue;
            }
            LinkKind::Host | LinkKind::Site => {
                networks.entry((link.kind, &link.digest)).or_default().push((*at, number));
                continue;
            }
        };
        let first = *first_with.entry((reason, &link.digest)).or_insert(number);
        links.add(first, number, reason);
    }
    for registered in networks.into_values().filter(|registered| registered.len() <= MAX_NETWORK_ACCOUNTS) {
        link_registrations(registered, &streets, &mut links);
    }
    collect(&users, links)
}

/// Links the accounts of one network that were registered within the window and deliver to one street.
fn link_registrations(mut registered: Vec<(Timestamp, usize)>, streets: &HashMap<usize, Vec<&str>>, links: &mut Links) {
    registered.sort_unstable();
    let mut last_in: HashMap<&str, (Timestamp, usize)> = HashMap::new();
    for (at, number) in registered {
        for street in streets.get(&number).into_iter().flatten() {
            if let Some((before, other)) = last_in.insert(*street, (at, number))
                && at.duration_since(before) <= SIGN_UP_WINDOW
            {
                links.add(other, number, LinkReason::Registration);
            }
        }
    }
}

fn collect(users: &[UserId], mut links: Links) -> Vec<LinkedAccounts> {
    let mut found: BTreeMap<usize, LinkedAccounts> = BTreeMap::new();
    for (number, user) in users.iter().enumerate() {
        let root = links.sets.find(number);
        if links.sets.sizes[root] > 1 {
            let new = || LinkedAccounts { members: Vec::new(), reasons: BTreeMap::new() };
            found.entry(root).or_insert_with(new).members.push(*user);
        }
    }
    for (reason, linked) in links.linked {
        for number in linked {
            if let Some(group) = found.get_mut(&links.sets.find(number)) {
                *group.reasons.entry(reason).or_default() += 1;
            }
        }
    }
    let mut groups: Vec<LinkedAccounts> = found.into_values().collect();
    groups.sort_by(|one, other| {
        let by_size = other.members.len().cmp(&one.members.len());
        by_size.then_with(|| one.members.cmp(&other.members))
    });
    groups
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn user(n: usize) -> UserId {
        UserId(Uuid::from_u128(n as u128 + 1))
    }

    fn noted(n: usize, kind: LinkKind, digest: &str, second: i64) -> AccountLink {
        let link = LinkDigest { kind, digest: digest.to_owned() };
        AccountLink { user: user(n), link, at: Timestamp::from_second(second).unwrap() }
    }

    /// Links at one time, each its account, kind and digest, such as `1 address a`.
    fn links(text: &str) -> Vec<AccountLink> {
        let link = |words: Vec<&str>| noted(words[0].parse().unwrap(), words[1].parse().unwrap(), words[2], 0);
        text.split(", ").map(|text| link(text.split(' ').collect())).collect()
    }

    fn members(groups: &[LinkedAccounts]) -> Vec<Vec<UserId>> {
        groups.iter().map(|group| group.members.clone()).collect()
    }

    /// An account that was registered from a host at a time, with an order to a street.
    fn registered(n: usize, host: &str, street: &str, second: i64) -> [AccountLink; 2] {
        [noted(n, LinkKind::Host, host, second), noted(n, LinkKind::Street, street, 0)]
    }

    #[test]
    fn one_address_or_contact_links_accounts_and_their_neighbours() {
        let links = "1 address a, 2 address a, 2 contact c, 3 contact c, 4 contact a, 5 address b, 6 address b";
        let found = groups(&self::links(links));
        assert_eq!(members(&found), [vec![user(1), user(2), user(3)], vec![user(5), user(6)]]);
        assert_eq!(found[0].reasons, BTreeMap::from([(LinkReason::Address, 2), (LinkReason::Contact, 2)]));
        assert_eq!(found[1].reasons, BTreeMap::from([(LinkReason::Address, 2)]));
    }

    #[test]
    fn one_instrument_links_accounts_and_is_no_other_kind() {
        let found = groups(&links("1 instrument a, 2 instrument a, 3 address a, 4 instrument b"));
        assert_eq!(members(&found), [[user(1), user(2)]]);
        assert_eq!(found[0].reasons, BTreeMap::from([(LinkReason::Instrument, 2)]));
    }

    #[test]
    fn two_digests_of_one_thing_link_accounts_across_a_change_of_the_secret() {
        let links = links("1 address old, 2 address old, 2 address new, 3 address new");
        assert_eq!(members(&groups(&links)), [[user(1), user(2), user(3)]]);
    }

    #[test]
    fn million_accounts_at_one_address_are_one_group() {
        let links: Vec<_> = (0..1_000_000).map(|n| noted(n, LinkKind::Address, "a", 0)).collect();
        let found = groups(&links);
        assert_eq!((found.len(), found[0].members.len()), (1, 1_000_000));
        assert_eq!(found[0].reasons, BTreeMap::from([(LinkReason::Address, 1_000_000)]));
    }

    #[test]
    fn weak_digests_link_nobody_by_themselves() {
        let network: Vec<_> = (0..50).map(|n| noted(n, LinkKind::Site, "carrier", n as i64)).collect();
        assert!(groups(&network).is_empty(), "strangers behind one carrier");
        let street: Vec<_> = (0..50).map(|n| noted(n, LinkKind::Street, "main street", 0)).collect();
        assert!(groups(&street).is_empty(), "neighbours");
        let elsewhere: Vec<_> = (0..50).flat_map(|n| registered(n, "carrier", &format!("street {n}"), 0)).collect();
        assert!(groups(&elsewhere).is_empty(), "strangers who registered at once");
        let days: Vec<_> = (0..50).flat_map(|n| registered(n, "campus", "campus road", 86_400 * n as i64)).collect();
        assert!(groups(&days).is_empty(), "students of one campus");
    }

    #[test]
    fn network_time_and_street_together_link_accounts() {
        let window = SIGN_UP_WINDOW.as_secs();
        let links: Vec<_> = [
            registered(1, "h", "s", 0),
            registered(2, "h", "s", window),
            registered(3, "h", "s", 2 * window + 1),
            registered(4, "h", "other", 0),
            registered(5, "other", "s", 0),
        ]
        .concat();
        let found = groups(&links);
        assert_eq!(members(&found), [[user(1), user(2)]]);
        assert_eq!(found[0].reasons, BTreeMap::from([(LinkReason::Registration, 2)]));
    }

    #[test]
    fn large_network_says_nothing() {
        let of = |count: usize| (0..count).flat_map(|n| registered(n, "h", "s", n as i64)).collect::<Vec<_>>();
        assert_eq!(groups(&of(MAX_NETWORK_ACCOUNTS))[0].members.len(), MAX_NETWORK_ACCOUNTS);
        assert!(groups(&of(MAX_NETWORK_ACCOUNTS + 1)).is_empty());
    }

    /// Whether two accounts are linked, by the rules taken literally.
    fn are_linked(links: &[AccountLink], one: UserId, other: UserId) -> bool {
        let of = |user, kind| links.iter().filter(move |s| s.user == user && s.link.kind == kind);
        let shares = |kind| of(one, kind).any(|a| of(other, kind).any(|b| a.link == b.link));
        let registered_together = |kind| {
            of(one, kind).any(|a| {
                let size = links.iter().filter(|s| s.link == a.link).count();
                let close = |b: &AccountLink| a.at.duration_since(b.at).abs() <= SIGN_UP_WINDOW;
                size <= MAX_NETWORK_ACCOUNTS && of(other, kind).any(|b| a.link == b.link && close(b))
            })
        };
        shares(LinkKind::Address)
            || shares(LinkKind::Contact)
            || shares(LinkKind::Instrument)
            || shares(LinkKind::Street) && (registered_together(LinkKind::Host) || registered_together(LinkKind::Site))
    }

    #[test]
    fn groups_are_the_closure_of_the_links_of_every_pair() {
        let mut state = 7_u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (mut alone, mut together) = (0, 0);
        for _ in 0..2_000 {
            let accounts = 2 + random(7) as usize;
            let mut links: Vec<AccountLink> = Vec::new();
            for n in 0..accounts {
                let second = random(3_000) as i64;
                for kind in LinkKind::ALL {
                    let digest = format!("{}", random(if kind == LinkKind::Street { 3 } else { 12 }));
                    if random(3) > 0 && !links.iter().any(|s| s.user == user(n) && s.link.kind == kind) {
                        links.push(noted(n, kind, &digest, second));
                    }
                }
            }
            let mut sets: Vec<usize> = (0..accounts).collect();
            for _ in 0..accounts {
                for one in 0..accounts {
                    for other in 0..accounts {
                        if are_linked(&links, user(one), user(other)) {
                            let least = sets[one].min(sets[other]);
                            (sets[one], sets[other]) = (least, least);
                        }
                    }
                }
            }
            let mut expected: BTreeMap<usize, Vec<UserId>> = BTreeMap::new();
            sets.iter().enumerate().for_each(|(n, set)| expected.entry(*set).or_default().push(user(n)));
            let mut expected: Vec<_> = expected.into_values().filter(|members| members.len() > 1).collect();
            let mut found = members(&groups(&links));
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "{links:?}");
            if found.is_empty() { alone += 1 } else { together += 1 }
        }
        assert!(alone > 100 && together > 100, "{alone} without groups, {together} with some");
    }

    #[test]
    fn hundred_thousand_accounts_are_divided() {
        let links: Vec<_> = (0..100_000)
            .flat_map(|n| {
                let (ten, host) = (n / 10, n / 50);
                let address = noted(n, LinkKind::Address, &format!("address {ten}"), 0);
                let [host, street] = registered(n, &format!("host {host}"), &format!("street {host}"), n as i64);
                [address, host, street, noted(n, LinkKind::Site, "all", n as i64)]
            })
            .collect();
        let found = groups(&links);
        assert_eq!(found.len(), 2_000);
        assert!(found.iter().all(|group| group.members.len() == 50));
    }
}
