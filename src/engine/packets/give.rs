//! Giving a packet: the request is validated as a whole, split into shares, and paid for in one transaction.

use std::sync::Arc;
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use rand::RngExt;
use rand::rngs::StdRng;
use serde::{Deserialize, Serialize};
use tracing::{info, warn};
use uuid::Uuid;

use crate::packets::Packets;
use crate::packets::sync::PacketSync;
use base::metrics::Metrics;
use domain::ledger::money;
use domain::packet::{Giver, MAX_PACKET_TOTAL, MAX_SHARES, Packet, PacketState, Split, SplitError, SplitPlan};
use domain::text::is_line;
use domain::{Money, PacketId, RefundId, Role, UserId};
use store::{Approval, ApprovalOutcome, GiveOutcome, SettleOutcome, ShopSpender, Store, StoreError};

/// Shares of one packet that a user may give. The shop may give a million.
const MAX_SHARES_PER_USER: i64 = 1_000;
/// Packets of one user, and of the shop, that may be open at a time. Each costs the directory and data control work
/// until it is settled.
pub const MAX_OPEN_PER_USER: i64 = 100;
const MAX_OPEN_OF_SHOP: i64 = 10_000;
/// Characters, not bytes.
const MAX_GREETING_CHARS: usize = 100;
/// How far ahead a packet's opening may lie.
const MAX_OPENING_DELAY: Duration = Duration::from_secs(30 * 24 * 3600);
/// Packets from this size are split over [`SPLIT_BUCKETS`] buckets.
const MIN_SHARES_TO_SPLIT: i64 = 50_000;
pub const SPLIT_BUCKETS: u8 = 8;
/// Packets up to this size are loaded into Redis before the giver is answered; data control loads larger ones.
const MAX_SHARES_LOADED_INLINE: i64 = 1_000;
/// Minor units that an operator may give from the shop's purse within a day: ¥10,000. Owners have no limit.
pub const MAX_OPERATOR_SPENDING: i64 = 1_000_000;
/// Packet ids are random and have twelve digits.
pub(super) const PACKET_IDS: std::ops::Range<i64> = 100_000_000_000..1_000_000_000_000;

/// Whose money goes into a packet.
#[derive(Debug, Clone, Copy)]
pub enum Purse<'a> {
    Wallet(UserId),
    /// The shop's money, given by a member of the staff: the account, the name in the audit log, and what this role may
    /// give within a day.
    Shop {
        user: UserId,
        actor: &'a str,
        limit: Option<i64>,
    },
}

impl<'a> Purse<'a> {
    /// The shop's purse, as far as this role may spend from it.
    pub fn shop(user: UserId, actor: &'a str, role: Role) -> Purse<'a> {
        let limit = (role != Role::Admin).then_some(MAX_OPERATOR_SPENDING);
        Purse::Shop { user, actor, limit }
    }

    pub fn giver(self) -> Giver {
        match self {
            Purse::Wallet(user) => Giver::User(user),
            Purse::Shop { .. } => Giver::Shop,
        }
    }
}

/// A request to give a packet, not yet validated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GiveRequest {
    /// Minor units.
    pub total: i64,
    /// Number of shares.
    pub count: i64,
    /// Bounds of a share; by default one minor unit, and about twice the average.
    pub min: Option<i64>,
    pub max: Option<i64>,
    pub split: Split,
    pub greeting: String,
    /// Whether the giver may claim a share too. Who gives from the shop's purse may not.
    pub own: bool,
    /// `None` opens the packet at once.
    pub opens_at: Option<Timestamp>,
    /// Idempotency key: requests of one giver with the same key give one packet.
    pub key: Option<String>,
}

/// Why no packet was given.
#[derive(Debug)]
pub enum GiveRefusal {
    /// Invalid fields with a code each: `bad_amount`, `bad_number`, `too_many_shares`, `too_long`, `bad_text`, `in_past`,
    /// `too_far`.
    Invalid(Vec<(&'static str, &'static str)>),
    NotEnough,
    /// An earlier request with the same key gave a different packet.
    KeyReused,
    /// What a member of the staff may give of the shop's money within a day.
    OverLimit(Money),
    /// The packet is given once a second person has approved this request.
    Waits(RefundId),
    /// The giver has too many open packets.
    TooMany,
    RateLimited,
    Store(StoreError),
}

refusal_from!(GiveRefusal: Store(StoreError));

/// A validated request.
struct ValidRequest {
    plan: SplitPlan,
    greeting: String,
    opens_at: Timestamp,
}

impl GiveRequest {
    /// The bounds of a share, with defaults filled in.
    fn bounds(&self) -> (i64, i64) {
        let min = self.min.unwrap_or(1);
        let max = self.max.unwrap_or_else(|| {
            let (total, count) = (i128::from(self.total), i128::from(self.count.max(1)));
            // Twice the average minus the smallest share: as far above the average as the smallest share is below it.
            let twice = ((2 * total + count - 1) / count) - i128::from(min);
            let least = (total + count - 1) / count;
            i64::try_from(twice.max(least)).unwrap_or(i64::MAX)
        });
        (min, max)
    }

    fn validate(&self, giver: Giver, now: Timestamp) -> Result<ValidRequest, GiveRefusal> {
        let mut invalid = Vec::new();
        let max_shares = if giver == Giver::Shop { MAX_SHARES } else { MAX_SHARES_PER_USER };
        if !(1..=MAX_PACKET_TOTAL).contains(&self.total) {
            invalid.push(("total", "bad_amount"));
        }
        if !(1..=max_shares).contains(&self.count) {
            invalid.push(("count", "bad_number"));
        }
        let (min, max) = self.bounds();
        let plan = SplitPlan::new(self.total, self.count, min, max);
        match plan {
            // The smallest share is a single minor unit here, so there are more shares than minor units.
            Err(SplitError::Min) if self.min.is_none() => invalid.push(("count", "too_many_shares")),
            Err(SplitError::Min) => invalid.push(("min", "bad_amount")),
            Err(SplitError::Max) => invalid.push(("max", "bad_amount")),
            Ok(_) | Err(SplitError::Total | SplitError::Count) => {}
        }
        let greeting = self.greeting.trim();
        if greeting.chars().count() > MAX_GREETING_CHARS {
            invalid.push(("greeting", "too_long"));
        } else if !is_line(greeting) {
            invalid.push(("greeting", "bad_text"));
        }
        if self.key.as_ref().is_some_and(|key| !(8..=64).contains(&key.len()) || !key.is_ascii()) {
            invalid.push(("key", "bad_text"));
        }
        let opens_at = self.opens_at.unwrap_or(now);
        match opens_at {
            at if at > now + MAX_OPENING_DELAY => invalid.push(("opens_at", "too_far")),
            at if self.opens_at.is_some() && at + Duration::from_secs(60) < now => {
                invalid.push(("opens_at", "in_past"))
            }
            _ => {}
        }
        match plan {
            Ok(plan) if invalid.is_empty() => Ok(ValidRequest { plan, greeting: greeting.to_owned(), opens_at }),
            _ => Err(GiveRefusal::Invalid(invalid)),
        }
    }
}

#[boxed]
impl Packets {
    /// Gives a packet.
    pub async fn give(&self, purse: Purse<'_>, request: &GiveRequest) -> Result<Packet, GiveRefusal> {
        let giver = purse.giver();
        if giver.user().is_some_and(|user| !self.limit.allows(user)) {
            return Err(GiveRefusal::RateLimited);
        }
        let now = self.parts.store.now().await?;
        let (mut packet, shares) = self.draft(giver, request, now).await?;
        let asked = serde_json::to_string(request).map_err(encode)?;
        let spender = match purse {
            Purse::Wallet(_) => None,
            Purse::Shop { user, actor, limit } => {
                let request_id = RefundId(Uuid::now_v7());
                Some(ShopSpender { user, actor, limit, alone: self.parts.alone, request_id, request: &asked })
            }
        };
        let max_open = if giver == Giver::Shop { MAX_OPEN_OF_SHOP } else { MAX_OPEN_PER_USER };
        loop {
            packet.id = PacketId(rand::rng().random_range(PACKET_IDS));
            match self.parts.store.packets().give(&packet, &shares, request.key.as_deref(), spender, max_open).await? {
                GiveOutcome::Created(packet) => {
                    self.is_given(&packet).await;
                    return Ok(packet);
                }
                GiveOutcome::Repeated(packet) => return Ok(packet),
                GiveOutcome::KeyReused => return Err(GiveRefusal::KeyReused),
                GiveOutcome::NotEnough => return Err(GiveRefusal::NotEnough),
                GiveOutcome::OverLimit => return Err(GiveRefusal::OverLimit(money(MAX_OPERATOR_SPENDING))),
                GiveOutcome::Waits(id) => return Err(GiveRefusal::Waits(id)),
                GiveOutcome::TooMany => return Err(GiveRefusal::TooMany),
                GiveOutcome::IdTaken => {}
            }
        }
    }

    /// Approves a packet that waits for a second person, and gives it. A packet whose opening has passed opens at once.
    pub async fn approve(&self, of: &Approval, by: UserId, actor: &str) -> Result<ApprovalOutcome, GiveRefusal> {
        let Some(asked) = &of.packet else { return Ok(ApprovalOutcome::Closed) };
        let mut request: GiveRequest = serde_json::from_str(&asked.request).map_err(encode)?;
        let now = self.parts.store.now().await?;
        request.opens_at = request.opens_at.filter(|at| *at > now);
        let (packet, shares) = self.draft(Giver::Shop, &request, now).await?;
        let packet = Packet { id: asked.id, ..packet };
        let outcome = self.parts.store.packets().approve_packet(of, &packet, &shares, by, actor).await?;
        if matches!(outcome, ApprovalOutcome::Approved(_)) {
            self.is_given(&packet).await;
        }
        Ok(outcome)
    }

    /// A packet without an id, split into its shares.
    async fn draft(
        &self,
        giver: Giver,
        request: &GiveRequest,
        now: Timestamp,
    ) -> Result<(Packet, Vec<i64>), GiveRefusal> {
        let ValidRequest { plan, greeting, opens_at } = request.validate(giver, now)?;
        // The generator is securely seeded and dropped after use, so that amounts cannot be predicted.
        let mut random = rand::make_rng::<StdRng>();
        let split = request.split;
        let shares = tokio::task::spawn_blocking(move || plan.split(split, &mut random)).await.map_err(encode)?;
        let packet = Packet {
            id: PacketId(0),
            giver,
            total: plan.total(),
            count: plan.count(),
            min: plan.min(),
            max: plan.max(),
            split,
            greeting,
            own: request.own && giver != Giver::Shop,
            opens_at,
            expires_at: opens_at.max(now) + self.parts.lifetime,
            buckets: if plan.count() >= MIN_SHARES_TO_SPLIT { SPLIT_BUCKETS } else { 1 },
            state: PacketState::Open,
            claimed: 0,
            claimed_amount: 0,
            epoch: 0,
            created_at: now,
            settled_at: None,
            best: None,
        };
        Ok((packet, shares))
    }

    /// What follows once the database has a new packet: a small one is loaded, so that it can be claimed once the giver
    /// shares its address. Data control loads it if this fails.
    async fn is_given(&self, packet: &Packet) {
        self.parts.metrics.packets_given.inc();
        if let Some(packet_sync) = self.parts.packet_sync.as_ref().filter(|_| packet.count <= MAX_SHARES_LOADED_INLINE)
            && let Err(error) = packet_sync.load(packet, false).await
        {
            warn!(packet = %packet.id, error = format!("{error:#}"), "cannot load a new packet into Redis; data control will");
        }
    }

    /// A sample of the amounts that a packet like this is split into. Giving the packet draws other amounts.
    pub fn preview(&self, giver: Giver, request: &GiveRequest) -> Result<Vec<i64>, GiveRefusal> {
        let ValidRequest { plan, .. } = request.validate(giver, self.parts.clock.now())?;
        Ok(plan.split(request.split, &mut rand::make_rng::<StdRng>()))
    }
}

fn encode(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Refused(sqlx::Error::Encode(error.into()))
}

// Settles packets that are empty or over, on every rung.

/// Data control's step for packets. Every part of it is idempotent.
pub struct PacketSettler {
    pub store: Store,
    /// `None` if the database is the share backend.
    pub packet_sync: Option<Arc<PacketSync>>,
    pub metrics: Arc<Metrics>,
}

#[boxed]
impl PacketSettler {
    /// One step: syncs Redis with the database and settles packets that are empty or over.
    pub async fn step(&self) -> anyhow::Result<()> {
        match &self.packet_sync {
            Some(packet_sync) => packet_sync.step().await,
            None => self.settle_in_database().await,
        }
    }

    /// Without Redis no claim is ever in flight, so a packet can be settled at once.
    async fn settle_in_database(&self) -> anyhow::Result<()> {
        let now = self.store.now().await?;
        for packet in self.store.packets().over(now).await? {
            if let SettleOutcome::Done { returned } = self.store.packets().settle(packet.id, packet.claimed).await? {
                self.metrics.packets_settled.inc();
                info!(packet = %packet.id, claimed = packet.claimed, returned, "packet settled");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(total: i64, count: i64) -> GiveRequest {
        GiveRequest {
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

    fn invalid(request: &GiveRequest, giver: Giver) -> Vec<(&'static str, &'static str)> {
        match request.validate(giver, Timestamp::UNIX_EPOCH) {
            Ok(_) => Vec::new(),
            Err(GiveRefusal::Invalid(fields)) => fields,
            Err(other) => panic!("{other:?}"),
        }
    }

    fn user() -> Giver {
        Giver::User(domain::UserId(uuid::Uuid::from_u128(1)))
    }

    #[test]
    fn default_bounds_accept_every_amount_that_can_be_split() {
        for (total, count) in
            [(1, 1), (2, 1), (2, 2), (3, 2), (1_000, 7), (1_000, 1_000), (MAX_PACKET_TOTAL, 1), (1_999, 1_000)]
        {
            assert_eq!(invalid(&request(total, count), user()), [], "{total} {count}");
        }
        let bounds = |total, count| request(total, count).bounds();
        assert_eq!([bounds(100, 10), bounds(10, 10), bounds(5, 1), bounds(3, 2)], [(1, 19), (1, 1), (1, 9), (1, 2)]);
    }

    #[test]
    fn each_invalid_field_has_a_code() {
        let mut all = request(0, 0);
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
        assert_eq!(invalid(&all, user()), expected);
        assert_eq!(invalid(&request(1_000_000, 1_001), user()), [("count", "bad_number")]);
        assert_eq!(invalid(&request(1_000_000, 1_001), Giver::Shop), []);
        assert_eq!(invalid(&request(MAX_PACKET_TOTAL, 1_000_001), Giver::Shop), [("count", "bad_number")]);
        assert_eq!(invalid(&request(5, 6), user()), [("count", "too_many_shares")]);
        assert_eq!(invalid(&GiveRequest { min: Some(1), ..request(5, 6) }, user()), [("min", "bad_amount")]);
        assert_eq!(invalid(&GiveRequest { min: Some(0), ..request(5, 5) }, user()), [("min", "bad_amount")]);
        assert_eq!(invalid(&GiveRequest { max: Some(1), ..request(6, 5) }, user()), [("max", "bad_amount")]);
        assert_eq!(
            invalid(&GiveRequest { greeting: "a\nb".into(), ..request(6, 5) }, user()),
            [("greeting", "bad_text")]
        );
        assert_eq!(
            invalid(&GiveRequest { greeting: "a\u{202e}b".into(), ..request(6, 5) }, user()),
            [("greeting", "bad_text")]
        );
        let past = GiveRequest { opens_at: Some(Timestamp::UNIX_EPOCH - Duration::from_secs(120)), ..request(6, 5) };
        assert_eq!(invalid(&past, user()), [("opens_at", "in_past")]);
    }
}
