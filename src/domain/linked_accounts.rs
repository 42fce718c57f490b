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
mod tests;
