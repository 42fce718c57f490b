//! Clusters: accounts of one sale that seem to belong together, for a person to look at. A cluster decides nothing.
//!
//! **Strong signals** link accounts by themselves: orders that go to one address, or were paid with one instrument, or one
//! verified contact.
//!
//! **Weak signals** link only together: accounts that were registered from one network within [`SIGN_UP_WINDOW`] of each
//! other, and whose orders go to one street. A network alone says nothing, because a mobile carrier, a campus or an office
//! puts strangers behind one address; neither does a street, because neighbours buy the same thing. A network with more than
//! [`MAX_NETWORK_ACCOUNTS`] accounts of the sale says nothing at all.
//!
//! Time and memory grow with the number of signals; sorting adds a logarithm.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::{SignedDuration, Timestamp};

use super::UserId;
use super::wire::wire_enum;

/// Scripts register their accounts in one go. Longer than the pauses that a price of registration forces on them.
pub const SIGN_UP_WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// More accounts of one sale than a household, a shop for parcels or a small office has.
pub const MAX_NETWORK_ACCOUNTS: usize = 100;

wire_enum! {
    /// What a signal is the digest of.
    pub enum SignalKind {
        /// Of delivery: country, region, city, street and house.
        Address = "address",
        /// The same without numbers and without what follows the street.
        Street = "street",
        /// A verified mail address.
        Contact = "contact",
        /// What paid the order at a provider, such as a card.
        Instrument = "instrument",
        /// The network of the registration: an IPv4 address, or a /64 of IPv6.
        Host = "host",
        /// The same, wider: a /24, or a /48.
        Site = "site",
    }
}

wire_enum! {
    /// Why accounts are in one cluster.
    pub enum LinkReason {
        Address = "address",
        Contact = "contact",
        Instrument = "instrument",
        /// Registered from one network within minutes, and delivered to one street.
        Registration = "registration",
    }
}

/// A digest of something that accounts may have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    pub kind: SignalKind,
    pub digest: String,
}

/// A signal of one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSignal {
    pub user: UserId,
    pub signal: Signal,
    /// Of a network: when the account was registered.
    pub at: Timestamp,
}

/// Accounts that are linked, directly or through others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Ascending, at least two.
    pub members: Vec<UserId>,
    /// For each reason the number of members that it links to another one.
    pub reasons: BTreeMap<LinkReason, usize>,
}

/// Sets that are joined: each account points towards the one that stands for its set.
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

/// What links accounts, by their numbers.
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

/// The clusters of a sale, the largest first.
pub fn clusters(signals: &[AccountSignal]) -> Vec<Cluster> {
    let users: BTreeSet<UserId> = signals.iter().map(|signal| signal.user).collect();
    let users: Vec<UserId> = users.into_iter().collect();
    let numbers: HashMap<UserId, usize> = users.iter().enumerate().map(|(number, user)| (*user, number)).collect();
    let mut links = Links { sets: Sets::of(users.len()), linked: BTreeMap::new() };
    let mut streets: HashMap<usize, Vec<&str>> = HashMap::new();
    let mut networks: HashMap<(SignalKind, &str), Vec<(Timestamp, usize)>> = HashMap::new();
    let mut first_with: HashMap<(LinkReason, &str), usize> = HashMap::new();
    for AccountSignal { user, signal, at } in signals {
        let number = numbers[user];
        let reason = match signal.kind {
            SignalKind::Address => LinkReason::Address,
            SignalKind::Contact => LinkReason::Contact,
            SignalKind::Instrument => LinkReason::Instrument,
            SignalKind::Street => {
                streets.entry(number).or_default().push(&signal.digest);
                continue;
            }
            SignalKind::Host | SignalKind::Site => {
                networks.entry((signal.kind, &signal.digest)).or_default().push((*at, number));
                continue;
            }
        };
        let first = *first_with.entry((reason, &signal.digest)).or_insert(number);
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

fn collect(users: &[UserId], mut links: Links) -> Vec<Cluster> {
    let mut found: BTreeMap<usize, Cluster> = BTreeMap::new();
    for (number, user) in users.iter().enumerate() {
        let root = links.sets.find(number);
        if links.sets.sizes[root] > 1 {
            let new = || Cluster { members: Vec::new(), reasons: BTreeMap::new() };
            found.entry(root).or_insert_with(new).members.push(*user);
        }
    }
    for (reason, linked) in links.linked {
        for number in linked {
            if let Some(cluster) = found.get_mut(&links.sets.find(number)) {
                *cluster.reasons.entry(reason).or_default() += 1;
            }
        }
    }
    let mut clusters: Vec<Cluster> = found.into_values().collect();
    clusters.sort_by(|one, other| {
        let by_size = other.members.len().cmp(&one.members.len());
        by_size.then_with(|| one.members.cmp(&other.members))
    });
    clusters
}

#[cfg(test)]
mod tests;
