//! Buckets (桶): a bucket is one family of Redis keys on one cluster slot. A sale has one bucket, or several when it is
//! split, which Redis Cluster places on different machines. A user always maps to the same bucket of a sale, so the
//! rule of one hold per user is checked within one bucket. The list of a waiting room is one bucket.

use std::fmt;

use crate::wire::wire_text;
use crate::{PacketId, Sale, SaleId, UserId};

/// What the keys of a bucket belong to: the stock of a sale or a packet, or the list of a sale's waiting room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    Sale(SaleId),
    Packet(PacketId),
    WaitingRoom(SaleId),
}

impl Owner {
    /// The prefix of every key.
    pub fn kind(self) -> &'static str {
        match self {
            Owner::Sale(_) => "goods",
            Owner::Packet(_) => "packet",
            Owner::WaitingRoom(_) => "queue",
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
            Owner::WaitingRoom(id) => id.fmt(f),
        }
    }
}

/// One bucket. Its text is `7` for an unsplit sale 7, and `7.0`, `7.1`, … for a split one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket {
    pub owner: Owner,
    part: Option<u8>,
}

impl Bucket {
    /// The only bucket of an unsplit owner.
    pub fn whole(owner: impl Into<Owner>) -> Bucket {
        Bucket { owner: owner.into(), part: None }
    }

    /// All buckets of an owner that is split into `count`.
    pub fn all<O: Into<Owner>>(owner: O, count: u8) -> impl Iterator<Item = Bucket> + use<O> {
        let owner = owner.into();
        (0..count.max(1)).map(move |n| Bucket::nth(owner, count, n))
    }

    pub fn of_sale(sale: &Sale) -> impl Iterator<Item = Bucket> + use<> {
        Bucket::all(sale.id, sale.rush.buckets)
    }

    /// The bucket of a user: FNV-1a over the sixteen bytes of the user id, modulo `count`.
    pub fn of_user(owner: impl Into<Owner>, count: u8, user: UserId) -> Bucket {
        if count <= 1 {
            return Bucket::whole(owner);
        }
        let hash = user.0.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        // The upper half of the hash's bits is better mixed than the lower half.
        Bucket::nth(owner, count, ((hash >> 32) % u64::from(count)) as u8)
    }

    fn nth(owner: impl Into<Owner>, count: u8, n: u8) -> Bucket {
        Bucket { owner: owner.into(), part: (count > 1).then_some(n) }
    }

    /// Parses the text of a bucket of an owner of this [`Owner::kind`].
    pub fn parse(kind: &str, text: &str) -> Option<Bucket> {
        let (id, part) = match text.split_once('.') {
            Some((id, part)) => (id, Some(part.parse().ok()?)),
            None => (text, None),
        };
        let owner = match kind {
            "goods" => Owner::Sale(id.parse().ok()?),
            "packet" => Owner::Packet(id.parse().ok()?),
            "queue" => Owner::WaitingRoom(id.parse().ok()?),
            _ => return None,
        };
        Some(Bucket { owner, part })
    }

    /// The sale whose units the bucket holds; `None` for another bucket.
    pub fn sale(self) -> Option<SaleId> {
        match self.owner {
            Owner::Sale(id) => Some(id),
            _ => None,
        }
    }

    /// The packet whose shares the bucket holds; `None` for another bucket.
    pub fn packet(self) -> Option<PacketId> {
        match self.owner {
            Owner::Packet(id) => Some(id),
            _ => None,
        }
    }

    /// The sale whose waiting room has the bucket; `None` for another bucket.
    pub fn waiting_room(self) -> Option<SaleId> {
        match self.owner {
            Owner::WaitingRoom(id) => Some(id),
            _ => None,
        }
    }

    /// The bucket's index, from 0; `None` if the owner is not split.
    pub fn part(self) -> Option<u8> {
        self.part
    }
}

wire_text!(Bucket, inline {"type": "string"});

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
    fn user_maps_to_the_same_bucket_in_every_version() {
        // The expected values are fixed: holds in Redis outlive the program that wrote them.
        let user = UserId("0198c0de-0000-7000-8000-000000000001".parse().unwrap());
        let buckets = [2, 3, 4, 8, 64].map(|count| Bucket::of_user(SaleId(7), count, user).to_string());
        assert_eq!(buckets, ["7.1", "7.1", "7.3", "7.7", "7.23"]);
        assert_eq!(Bucket::of_user(SaleId(7), 1, user), Bucket::whole(SaleId(7)));
    }

    #[test]
    fn users_are_spread_evenly_over_buckets() {
        for count in [2, 7, 64] {
            let mut users = vec![0_u32; usize::from(count)];
            for n in 0..64_000_u128 {
                // Ids as UUID version 7 generates them within a few seconds.
                let id = (1_700_000_000_000 + n / 50) << 80 | 0x7 << 76 | (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2);
                let bucket = Bucket::of_user(SaleId(7), count, UserId(Uuid::from_u128(id)));
                users[usize::from(bucket.part().unwrap())] += 1;
            }
            let fair = 64_000 / u32::from(count);
            assert!(users.iter().all(|n| (fair * 8 / 10..fair * 12 / 10).contains(n)), "{count}: {users:?}");
        }
    }

    #[test]
    fn all_lists_every_bucket_once() {
        let names = |count| Bucket::all(SaleId(7), count).map(|b| b.to_string()).collect::<Vec<_>>();
        assert_eq!(names(1), ["7"]);
        assert_eq!(names(3), ["7.0", "7.1", "7.2"]);
        for bucket in Bucket::all(PacketId(7), 3).chain([Bucket::whole(SaleId(7))]) {
            assert_eq!(Bucket::parse(bucket.owner.kind(), &bucket.to_string()), Some(bucket));
        }
        for wrong in ["", "7.", "x", "7.256", "07"] {
            assert_eq!(Bucket::parse("goods", wrong), None, "{wrong}");
        }
    }
}
