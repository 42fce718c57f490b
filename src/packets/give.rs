//! Giving: what is wished is checked as a whole, split, and paid for in one transaction.

use std::time::Duration;

use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tracing::warn;

use super::Packets;
use crate::domain::PacketId;
use crate::domain::packet::split::{Impossible, MOST_MONEY, MOST_SHARES};
use crate::domain::packet::{Giver, Packet, Plan, Split, State};
use crate::store::{Given, StoreError};

/// More shares than a person may give at once. The shop may give a million.
pub const MOST_SHARES_OF_A_USER: i64 = 1_000;
/// Characters of a greeting.
pub const LONGEST_GREETING: usize = 100;
/// A packet may open so much later.
const OPENS_WITHIN: Duration = Duration::from_secs(30 * 24 * 3600);
/// Shares from which on a packet is spread over several buckets.
const HOT_FROM: i64 = 50_000;
/// So many.
pub const HOT_BUCKETS: u8 = 8;
/// A packet of so few shares is in Redis before its giver hears of it; data control sees to the larger ones.
const LOADED_AT_ONCE: i64 = 1_000;
/// Numbers of packets have twelve digits.
const NUMBERS: std::ops::Range<i64> = 100_000_000_000..1_000_000_000_000;

/// What somebody wants to give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Minor units.
    pub total: i64,
    /// Shares.
    pub count: i64,
    /// The least and the greatest share; `None`: one minor unit, and about twice the average.
    pub min: Option<i64>,
    pub max: Option<i64>,
    pub split: Split,
    pub greeting: String,
    /// Whether its giver may claim a share too.
    pub own: bool,
    /// `None`: at once.
    pub opens_at: Option<Timestamp>,
    /// What one rendered form, or one program's attempt, carries: sent twice, it gives once.
    pub key: Option<String>,
}

/// Why nothing was given.
#[derive(Debug, thiserror::Error)]
pub enum GiveRefusal {
    /// Fields that cannot be used, and why: `bad_amount`, `bad_number`, `too_long`, `bad_text`, `in_past`, `too_far`.
    #[error("some of the values cannot be used: {0:?}")]
    Invalid(Vec<(&'static str, &'static str)>),
    #[error("the wallet does not hold so much")]
    NotEnough,
    #[error("this user gives too often")]
    RateLimited,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A wish that can be fulfilled.
struct Checked {
    plan: Plan,
    greeting: String,
    opens_at: Timestamp,
}

impl Wish {
    /// The bounds that count, given or not.
    fn bounds(&self) -> (i64, i64) {
        let min = self.min.unwrap_or(1);
        let usual = || {
            let (total, count) = (i128::from(self.total), i128::from(self.count.max(1)));
            // Twice the average less the least: as far above the average as the least is below.
            let twice = ((2 * total + count - 1) / count) - i128::from(min);
            let least = (total + count - 1) / count;
            i64::try_from(twice.max(least)).unwrap_or(i64::MAX)
        };
        (min, self.max.unwrap_or_else(usual))
    }

    fn check(&self, giver: Giver, now: Timestamp) -> Result<Checked, GiveRefusal> {
        let mut wrong = Vec::new();
        let most = if giver == Giver::Shop { MOST_SHARES } else { MOST_SHARES_OF_A_USER };
        if !(1..=MOST_MONEY).contains(&self.total) {
            wrong.push(("total", "bad_amount"));
        }
        if !(1..=most).contains(&self.count) {
            wrong.push(("count", "bad_number"));
        }
        let (min, max) = self.bounds();
        let plan = Plan::new(self.total, self.count, min, max);
        match plan {
            Err(Impossible::Min) => wrong.push(("min", "bad_amount")),
            Err(Impossible::Max) => wrong.push(("max", "bad_amount")),
            Ok(_) | Err(Impossible::Total | Impossible::Count) => {}
        }
        let greeting = self.greeting.trim();
        if greeting.chars().count() > LONGEST_GREETING {
            wrong.push(("greeting", "too_long"));
        } else if greeting.chars().any(char::is_control) {
            wrong.push(("greeting", "bad_text"));
        }
        if self.key.as_ref().is_some_and(|key| !(8..=64).contains(&key.len()) || !key.is_ascii()) {
            wrong.push(("key", "bad_text"));
        }
        let opens_at = self.opens_at.unwrap_or(now);
        match opens_at {
            at if at > now + OPENS_WITHIN => wrong.push(("opens_at", "too_far")),
            at if self.opens_at.is_some() && at + Duration::from_secs(60) < now => wrong.push(("opens_at", "in_past")),
            _ => {}
        }
        match plan {
            Ok(plan) if wrong.is_empty() => Ok(Checked { plan, greeting: greeting.to_owned(), opens_at }),
            _ => Err(GiveRefusal::Invalid(wrong)),
        }
    }
}

impl Packets {
    /// Gives a packet: from the user's wallet, or the shop's. `actor` is who of the staff gives for the shop.
    pub async fn give(&self, giver: Giver, wish: &Wish, actor: Option<&str>) -> Result<Packet, GiveRefusal> {
        if giver.user().is_some_and(|user| !self.limit.allows(user)) {
            return Err(GiveRefusal::RateLimited);
        }
        let now = self.clock.now();
        let Checked { plan, greeting, opens_at } = wish.check(giver, now)?;
        // From the operating system, forgotten at once: nobody can work out what others will get.
        let mut random = StdRng::from_os_rng();
        let split = wish.split;
        let shares = tokio::task::spawn_blocking(move || plan.split(split, &mut random));
        let shares = shares.await.map_err(|error| StoreError::Refused(sqlx::Error::Encode(error.into())))?;
        let mut packet = Packet {
            id: PacketId(0),
            giver,
            total: plan.total(),
            count: plan.count(),
            min: plan.min(),
            max: plan.max(),
            split,
            greeting,
            own: wish.own,
            opens_at,
            expires_at: opens_at.max(now) + self.lifetime,
            buckets: if plan.count() >= HOT_FROM { HOT_BUCKETS } else { 1 },
            state: State::Open,
            claimed: 0,
            claimed_amount: 0,
            epoch: 0,
            created_at: now,
            settled_at: None,
            best: None,
        };
        loop {
            packet.id = PacketId(rand::rng().random_range(NUMBERS));
            match self.store.give_packet(&packet, &shares, wish.key.as_deref(), actor).await? {
                Given::New(packet) => {
                    self.metrics.packets_given.inc();
                    self.load_at_once(&packet).await;
                    return Ok(packet);
                }
                Given::Again(packet) => return Ok(packet),
                Given::NotEnough => return Err(GiveRefusal::NotEnough),
                Given::Taken => {}
            }
        }
    }

    /// Whoever gets the address next finds the packet in Redis. If this fails, data control does it.
    async fn load_at_once(&self, packet: &Packet) {
        if let Some(packet_sync) = self.packet_sync.as_ref().filter(|_| packet.count <= LOADED_AT_ONCE)
            && let Err(error) = packet_sync.load(packet, true).await
        {
            warn!(packet = %packet.id, error = format!("{error:#}"), "a new packet is loaded later");
        }
    }

    /// What a packet like this might be split into, for those who are about to give one. The real one will differ.
    pub fn preview(&self, giver: Giver, wish: &Wish) -> Result<Vec<i64>, GiveRefusal> {
        let Checked { plan, .. } = wish.check(giver, self.clock.now())?;
        Ok(plan.split(wish.split, &mut StdRng::from_os_rng()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(total: i64, count: i64) -> Wish {
        Wish {
            total,
            count,
            min: None,
            max: None,
            split: Split::Bounded,
            greeting: String::new(),
            own: true,
            opens_at: None,
            key: None,
        }
    }

    fn wrong(wish: &Wish, giver: Giver) -> Vec<(&'static str, &'static str)> {
        match wish.check(giver, Timestamp::UNIX_EPOCH) {
            Ok(_) => Vec::new(),
            Err(GiveRefusal::Invalid(wrong)) => wrong,
            Err(other) => panic!("{other}"),
        }
    }

    fn somebody() -> Giver {
        Giver::User(crate::domain::UserId(uuid::Uuid::from_u128(1)))
    }

    #[test]
    fn whatever_can_be_split_can_be_given_without_bounds() {
        for (total, count) in
            [(1, 1), (2, 1), (2, 2), (3, 2), (1_000, 7), (1_000, 1_000), (MOST_MONEY, 1), (1_999, 1_000)]
        {
            assert_eq!(wrong(&wish(total, count), somebody()), [], "{total} {count}");
        }
        let bounds = |total, count| wish(total, count).bounds();
        assert_eq!([bounds(100, 10), bounds(10, 10), bounds(5, 1), bounds(3, 2)], [(1, 19), (1, 1), (1, 9), (1, 2)]);
    }

    #[test]
    fn every_mistake_is_named() {
        let mut all = wish(0, 0);
        all.greeting = "好".repeat(101);
        all.opens_at = Some(Timestamp::UNIX_EPOCH + Duration::from_secs(31 * 24 * 3600));
        all.key = Some("short".into());
        let expected = [
            ("total", "bad_amount"),
            ("count", "bad_number"),
            ("greeting", "too_long"),
            ("key", "bad_text"),
            ("opens_at", "too_far"),
        ];
        assert_eq!(wrong(&all, somebody()), expected);
        assert_eq!(wrong(&wish(1_000_000, 1_001), somebody()), [("count", "bad_number")]);
        assert_eq!(wrong(&wish(1_000_000, 1_001), Giver::Shop), []);
        assert_eq!(wrong(&wish(MOST_MONEY, 1_000_001), Giver::Shop), [("count", "bad_number")]);
        assert_eq!(wrong(&wish(5, 6), somebody()), [("min", "bad_amount")]);
        assert_eq!(wrong(&Wish { min: Some(0), ..wish(5, 5) }, somebody()), [("min", "bad_amount")]);
        assert_eq!(wrong(&Wish { max: Some(1), ..wish(6, 5) }, somebody()), [("max", "bad_amount")]);
        assert_eq!(wrong(&Wish { greeting: "a\nb".into(), ..wish(6, 5) }, somebody()), [("greeting", "bad_text")]);
        let past = Wish { opens_at: Some(Timestamp::UNIX_EPOCH - Duration::from_secs(120)), ..wish(6, 5) };
        assert_eq!(wrong(&past, somebody()), [("opens_at", "in_past")]);
    }
}
