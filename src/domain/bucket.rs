//! Buckets (桶): one family of keys that lives on one slot. A sale that is not split has a single one; a hot one may be
//! split into several, which Redis Cluster puts on different machines. A user always meets the same bucket of a sale, so
//! that one hold per user needs nobody to look elsewhere.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::domain::{PacketId, Sale, SaleId, UserId};

/// Whose stock it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    Sale(SaleId),
    Packet(PacketId),
}

impl Owner {
    /// The first word of every key.
    pub fn kind(self) -> &'static str {
        match self {
            Owner::Sale(_) => "goods",
            Owner::Packet(_) => "packet",
        }
    }
}

impl From<SaleId> for Owner {
    fn from(id: SaleId) -> Owner {
        Owner::Sale(id)
    }
}

impl From<PacketId> for Owner {
    fn from(id: PacketId) -> Owner {
        Owner::Packet(id)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owner::Sale(id) => id.fmt(f),
            Owner::Packet(id) => id.fmt(f),
        }
    }
}

/// One bucket. Written as `7` where sale 7 is not split, and as `7.0`, `7.1`, … where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket {
    pub owner: Owner,
    part: Option<u8>,
}

impl Bucket {
    /// The only bucket of what is not split.
    pub fn whole(owner: impl Into<Owner>) -> Bucket {
        Bucket { owner: owner.into(), part: None }
    }

    /// The buckets of what is split into `count`.
    pub fn all<O: Into<Owner>>(owner: O, count: u8) -> impl Iterator<Item = Bucket> + use<O> {
        let owner = owner.into();
        (0..count.max(1)).map(move |n| Bucket::nth(owner, count, n))
    }

    pub fn of_sale(sale: &Sale) -> impl Iterator<Item = Bucket> + use<> {
        Bucket::all(sale.id, sale.rush.buckets)
    }

    /// The bucket in which a user is served: FNV-1a over the sixteen bytes of the user id, modulo `count`.
    pub fn of_user(owner: impl Into<Owner>, count: u8, user: UserId) -> Bucket {
        if count <= 1 {
            return Bucket::whole(owner);
        }
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let hash = user.0.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, mix);
        // The upper half of the product's bits is better mixed than the lower one.
        Bucket::nth(owner, count, ((hash >> 32) % u64::from(count)) as u8)
    }

    fn nth(owner: impl Into<Owner>, count: u8, n: u8) -> Bucket {
        Bucket { owner: owner.into(), part: (count > 1).then_some(n) }
    }

    /// The sale whose units these are; `None` when they are something else.
    pub fn sale(self) -> Option<SaleId> {
        match self.owner {
            Owner::Sale(id) => Some(id),
            Owner::Packet(_) => None,
        }
    }

    /// The packet whose shares these are; `None` when they are something else.
    pub fn packet(self) -> Option<PacketId> {
        match self.owner {
            Owner::Packet(id) => Some(id),
            Owner::Sale(_) => None,
        }
    }

    /// Which one of several this is, from 0 on; `None` when it is the only one.
    pub fn part(self) -> Option<u8> {
        self.part
    }
}

impl Serialize for Bucket {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            None => self.owner.fmt(f),
            Some(part) => write!(f, "{}.{part}", self.owner),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_user_meets_the_same_bucket_for_ever() {
        // Written down, because holds in Redis outlive the program that made them.
        let user = UserId("0198c0de-0000-7000-8000-000000000001".parse().unwrap());
        let met = [2, 3, 4, 8, 64].map(|count| Bucket::of_user(SaleId(7), count, user).to_string());
        assert_eq!(met, ["7.1", "7.1", "7.3", "7.7", "7.23"]);
        assert_eq!(Bucket::of_user(SaleId(7), 1, user), Bucket::whole(SaleId(7)));
    }

    #[test]
    fn users_spread_evenly() {
        for count in [2, 7, 64] {
            let mut users = vec![0_u32; usize::from(count)];
            for n in 0..64_000_u128 {
                // As version 7 makes them within a few seconds.
                let id = (1_700_000_000_000 + n / 50) << 80 | 0x7 << 76 | (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2);
                let bucket = Bucket::of_user(SaleId(7), count, UserId(Uuid::from_u128(id)));
                users[usize::from(bucket.part().unwrap())] += 1;
            }
            let fair = 64_000 / u32::from(count);
            assert!(users.iter().all(|n| (fair * 8 / 10..fair * 12 / 10).contains(n)), "{count}: {users:?}");
        }
    }

    #[test]
    fn buckets_are_all_there_once() {
        let names = |count| Bucket::all(SaleId(7), count).map(|b| b.to_string()).collect::<Vec<_>>();
        assert_eq!(names(1), ["7"]);
        assert_eq!(names(3), ["7.0", "7.1", "7.2"]);
    }
}
