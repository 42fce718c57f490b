//! Waiting rooms: an account takes a place, all shoppers follow the public state ([`Line`]), and a called shopper may
//! buy for a while. Data control locks the list and calls shoppers (`control/waiting_rooms.rs`).
//!
//! Requests for places that arrive together are one call to Redis as long as the list is open ([`places`]), and
//! otherwise one transaction. Each process reads the state of all waiting rooms once a second.

pub mod places;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use axum::body::Bytes;
use boxed::boxed;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::batching::{Batcher, Reply, Unavailable};
use crate::catalogue::Catalogue;
use crate::eligibility::{Eligibility, EligibilityRefusal};
use crate::stock::Stock;
use base::metrics::Metrics;
use base::periodic::Periodic;
use base::rate_limit::UserLimit;
use base::signing::{ShopSecret, Signer};
use domain::draw::EntryId;
use domain::{
    Ineligible, Line, OrderId, Phase, Place, Refusal, Sale, SaleId, SaleState, TurnState, UserId, WaitingRoomPlace,
    WaitingRoomSeed,
};
use places::{Gathered, Gathering, HANDED_OVER_AFTER, JoinDecision, Joins};
use store::{GatheredPlace, JoinOutcome, Joining, Store, StoreError, StoreResult};

/// How often the state of waiting rooms is read. The button in caches has the same age.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// How often a state that cannot change by itself is read.
const RESTING_INTERVAL: Duration = Duration::from_secs(30);

/// Why an account has no place.
#[derive(Debug)]
pub enum JoinRefusal {
    RateLimited,
    NoSuchWaitingRoom,
    Ineligible(EligibilityRefusal),
    /// Shoppers cannot join the waiting room in this phase.
    Closed(Phase),
    /// It is unknown whether a place was taken. The client retries, which is safe.
    Unknown,
}

refusal_from!(JoinRefusal: Ineligible(EligibilityRefusal));

/// The answer to an account that joined: its place and its turn.
#[derive(Debug)]
pub struct Joined {
    pub place: WaitingRoomPlace,
    pub state: TurnState,
    /// Whether the account had no place before the request.
    pub is_new: bool,
}

/// An account's place, and what the account may do.
#[derive(Debug, Clone, Copy)]
pub struct OwnTurn {
    pub place: WaitingRoomPlace,
    pub state: TurnState,
    /// The order, if the account has bought. It may be on its way to the database.
    pub order: Option<OrderId>,
}

/// The state of a waiting room, and its JSON, which is the same for all shoppers.
#[derive(Clone)]
struct PublishedLine {
    line: Arc<Line>,
    body: Bytes,
    /// Secret until [`Line::seed`] has it.
    seed: WaitingRoomSeed,
    /// When Redis last gave, or may have given, places. `None` if it never did, or once every process has written the
    /// places that Redis may have forgotten.
    gathered: Option<Instant>,
}

/// The waiting rooms of one process.
pub struct WaitingRooms {
    store: Store,
    catalogue: Arc<Catalogue>,
    eligibility: Arc<Eligibility>,
    stock: Arc<dyn Stock>,
    gathering: Option<Gathering>,
    joins: Batcher<Joins>,
    lines: ArcSwap<HashMap<SaleId, PublishedLine>>,
    per_account: UserLimit,
    passes: Signer,
    metrics: Arc<Metrics>,
}

#[boxed]
impl WaitingRooms {
    pub fn new(
        store: Store,
        catalogue: Arc<Catalogue>,
        eligibility: Arc<Eligibility>,
        (stock, gathering): (Arc<dyn Stock>, Option<Gathering>),
        user_rate: u32,
        secret: &ShopSecret,
        metrics: Arc<Metrics>,
    ) -> WaitingRooms {
        let joins = Joins { store: store.clone(), gathering: gathering.clone() };
        WaitingRooms {
            joins: Batcher::new(Arc::new(joins), metrics.clone()),
            stock,
            gathering,
            store,
            catalogue,
            eligibility,
            lines: ArcSwap::default(),
            per_account: UserLimit::new(user_rate),
            passes: Signer::new(secret, "place in a waiting room"),
            metrics,
        }
    }

    /// Gives the account a place, or finds the one that it has. Safe to repeat, on any device. If the database has lost
    /// the place, the pass restores it.
    pub async fn join(&self, sale: SaleId, user: UserId, pass: Option<&str>) -> Result<Joined, JoinRefusal> {
        if !self.per_account.allows(user) {
            return Err(JoinRefusal::RateLimited);
        }
        // Checked first, so that a sale that this process does not know gets no batch queue.
        let known = self.catalogue.entry(sale).await.map_err(|_| JoinRefusal::Unknown)?;
        let Some(known) = known.filter(|entry| entry.sale.mode.is_waiting_room()) else {
            return Err(JoinRefusal::NoSuchWaitingRoom);
        };
        self.eligibility.check(sale, user).await?;
        let signed = pass.and_then(|pass| self.signed_place(pass, sale, user));
        let request = Joining {
            user_id: user,
            entry: EntryId::new(rand::random()),
            signed,
            holds_nothing: false,
            may_be_gathered: false,
        };
        let joined = self.take_place(sale, request).await?;
        let joined = match joined.state {
            // Its order may be on its way: the place is exchanged only if the account holds nothing.
            TurnState::Missed => match self.order_of(&known.sale, user).await.map_err(|_| JoinRefusal::Unknown)? {
                Some(_) => Joined { state: TurnState::Bought, ..joined },
                None => self.take_place(sale, Joining { holds_nothing: true, ..request }).await?,
            },
            _ => joined,
        };
        self.metrics.queue_joins.inc_by(joined.is_new.into());
        Ok(joined)
    }

    async fn take_place(&self, sale: SaleId, request: Joining) -> Result<Joined, JoinRefusal> {
        let decision = self.joins.claim(Gathering::bucket(sale), request, None).await;
        Ok(match decision.map_err(|_| JoinRefusal::Unknown)? {
            JoinDecision::Redis(Gathered::New(place)) => self.gathered(sale, place, true).await?,
            JoinDecision::Redis(Gathered::Known(place)) => self.gathered(sale, place, false).await?,
            JoinDecision::Redis(Gathered::Early) => return Err(JoinRefusal::Closed(Phase::Upcoming)),
            JoinDecision::Database(JoinOutcome::Joined { place, state, is_new }) => Joined { place, state, is_new },
            JoinDecision::Database(JoinOutcome::Unknown) => return Err(JoinRefusal::Unknown),
            JoinDecision::Database(JoinOutcome::Closed(phase)) => return Err(JoinRefusal::Closed(phase)),
            JoinDecision::Database(JoinOutcome::DepositNeeded) => {
                return Err(EligibilityRefusal::from(Ineligible::DepositNeeded).into());
            }
            JoinDecision::Database(JoinOutcome::NoSuchWaitingRoom) => return Err(JoinRefusal::NoSuchWaitingRoom),
        })
    }

    /// The account's live order. If the database has none, the account may hold units for an order that is on its way.
    ///
    /// # Errors
    /// [`Unavailable`] if that is unknown, unless the sale has ended: then the backend may have dropped it.
    async fn order_of(&self, sale: &Sale, user: UserId) -> Reply<Option<OrderId>> {
        if let Some(order) = self.store.orders().live_order_of(sale.id, user).await? {
            return Ok(Some(order));
        }
        let hold = match self.stock.hold(sale.id, user).await {
            Err(_) if sale.state == SaleState::Ended => None,
            hold => hold?,
        };
        let Some(hold) = hold else { return Ok(None) };
        // The units of an order that has ended are about to be released.
        let known = self.store.orders().get(sale.id, hold.order_id).await?;
        Ok(known.is_none_or(|order| order.status.is_live()).then_some(hold.order_id))
    }

    /// The answer for a place that Redis has given. If the account had it before, it may be a row in the database by
    /// now, and the row counts.
    async fn gathered(&self, sale: SaleId, given: GatheredPlace, is_new: bool) -> Result<Joined, JoinRefusal> {
        let read = async {
            let row = if is_new { None } else { self.store.waiting_rooms().place(sale, given.user_id).await? };
            match row {
                Some(row) => Ok(Some(row)),
                None => self.gathered_place(sale, given).await,
            }
        };
        let place = read.await.map_err(|_: StoreError| JoinRefusal::Unknown)?.ok_or(JoinRefusal::NoSuchWaitingRoom)?;
        Ok(Joined { place, state: TurnState::Waiting, is_new })
    }

    /// The full place for one that Redis has given and that may not be in the database yet. `None` for a sale without a
    /// waiting room.
    async fn gathered_place(&self, sale: SaleId, given: GatheredPlace) -> StoreResult<Option<WaitingRoomPlace>> {
        let GatheredPlace { entry, joined_at, .. } = given;
        let followed = self.lines.load().get(&sale).map(|published| published.seed);
        let seed = match followed {
            Some(seed) => Some(seed),
            None => self.store.waiting_rooms().get(sale).await?.map(|room| room.seed),
        };
        let place = |seed| WaitingRoomPlace { entry, place: Place::of(&seed, 0, entry), joined_at, called_at: None };
        Ok(seed.map(place))
    }

    /// The account's place: its row in the database, or the place that Redis gave it a moment ago.
    ///
    /// # Errors
    /// [`Unavailable`] also if Redis may have given a place and does not answer, or has forgotten places that are not
    /// in the database yet.
    async fn place(&self, sale: SaleId, user: UserId) -> Reply<Option<WaitingRoomPlace>> {
        let row = self.store.waiting_rooms().place(sale, user).await?;
        let is_open = self.line(sale).is_none_or(|line| line.locked_at.is_none());
        let Some(gathering) = self.gathering.as_ref().filter(|_| row.is_none() && is_open) else { return Ok(row) };
        match gathering.read(sale, Some(user)).await {
            Ok(Some(list)) => match list.place {
                Some(given) => Ok(self.gathered_place(sale, given).await?),
                None => Ok(None),
            },
            _ if !self.may_be_gathered(sale).await? => Ok(None),
            Ok(None) => Err(Unavailable("places that Redis has forgotten become rows".into())),
            Err(error) => Err(error),
        }
    }

    /// Whether Redis gave, or may have given, places that are not rows yet. A process that has just begun asks the
    /// database.
    async fn may_be_gathered(&self, sale: SaleId) -> StoreResult<bool> {
        let followed = self.lines.load().get(&sale).map(|published| published.gathered.is_some());
        match followed {
            Some(known) => Ok(known),
            None => Ok(self.store.waiting_rooms().get(sale).await?.is_some_and(|room| room.gathers)),
        }
    }

    /// The account's place and what it may do at `now`, the database's time. A turn is not missed as long as the
    /// account holds units.
    pub async fn own(&self, sale: &Sale, user: UserId, now: Timestamp) -> Reply<Option<OwnTurn>> {
        let Some(plan) = sale.mode.waiting_room_plan() else { return Ok(None) };
        let Some(place) = self.place(sale.id, user).await? else { return Ok(None) };
        let state = place.state(plan, now);
        let order = match place.seat_ends(plan) {
            None => None,
            Some(end) if now < end => self.store.orders().live_order_of(sale.id, user).await?,
            Some(_) => self.order_of(sale, user).await?,
        };
        Ok(Some(OwnTurn { place, state: if order.is_some() { TurnState::Bought } else { state }, order }))
    }

    /// The end of the account's turn. `None` for a sale without a waiting room.
    ///
    /// # Errors
    /// [`Refusal::NotCalled`] before and after the account's turn.
    pub async fn seat(&self, sale: SaleId, user: UserId) -> Result<Option<Timestamp>, Refusal> {
        let Some(known) = self.catalogue.known(sale) else { return Ok(None) };
        let Some(plan) = known.sale.mode.waiting_room_plan() else { return Ok(None) };
        // Before the first call, every request is refused without I/O.
        if self.lines.load().get(&sale).is_none_or(|published| published.line.called == 0) {
            return Err(Refusal::NotCalled);
        }
        if !self.per_account.allows(user) {
            return Err(Refusal::RateLimited);
        }
        let read = async {
            Ok::<_, StoreError>((self.store.waiting_rooms().place(sale, user).await?, self.store.now().await?))
        };
        let (place, now) = read.await.map_err(|_| Refusal::Overloaded)?;
        let end = place.and_then(|place| place.seat_ends(plan)).filter(|end| now < *end);
        end.map(Some).ok_or(Refusal::NotCalled)
    }

    /// The public state of the waiting room, at most a second old.
    pub fn line(&self, sale: SaleId) -> Option<Arc<Line>> {
        self.lines.load().get(&sale).map(|published| published.line.clone())
    }

    /// The same state as JSON.
    pub fn line_body(&self, sale: SaleId) -> Option<Bytes> {
        self.lines.load().get(&sale).map(|published| published.body.clone())
    }

    /// The pass: a signed proof of the place, which the shopper's browser stores.
    pub fn pass(&self, sale: SaleId, user: UserId, WaitingRoomPlace { entry, place, .. }: &WaitingRoomPlace) -> String {
        self.passes.sign(&format!("{sale} {user} {entry} {}", place.segment))
    }

    /// The entry and the segment in a pass. `None` if it is not valid for this sale and user.
    fn signed_place(&self, pass: &str, sale: SaleId, user: UserId) -> Option<(EntryId, i64)> {
        let payload = self.passes.verify(pass)?;
        let mut parts = payload.splitn(4, ' ');
        let for_sale: SaleId = parts.next()?.parse().ok()?;
        let for_user: UserId = parts.next()?.parse().ok()?;
        let (entry, segment) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        ((for_sale, for_user) == (sale, user)).then_some((entry, segment))
    }

    /// Reads the state of all waiting rooms. A state that cannot change by itself, because the waiting room does not
    /// open soon or the sale is over, is read again only if it is older than `resting`.
    pub async fn read_lines(&self, resting: Duration) -> StoreResult<()> {
        let sales: Vec<_> = self.catalogue.active().into_iter().filter_map(|id| self.catalogue.known(id)).collect();
        let sales: Vec<_> = sales.iter().filter(|known| known.sale.mode.is_waiting_room()).collect();
        if sales.is_empty() && self.lines.load().is_empty() {
            return Ok(());
        }
        let (now, published) = (self.store.now().await?, self.lines.load_full());
        let mut lines = HashMap::new();
        for known in sales {
            let id = known.sale.id;
            let rests = |line: &Line| line.rests() && line.now > now - resting && line.version == known.sale.version;
            if let Some(kept) = published.get(&id).filter(|kept| rests(&kept.line)) {
                lines.insert(id, kept.clone());
            } else if let Some(line) = self.read_line(&known.sale, now, published.get(&id)).await? {
                lines.insert(id, line);
            }
        }
        self.lines.store(Arc::new(lines));
        Ok(())
    }

    async fn read_line(
        &self,
        sale: &Sale,
        now: Timestamp,
        before: Option<&PublishedLine>,
    ) -> StoreResult<Option<PublishedLine>> {
        let Some(plan) = sale.mode.waiting_room_plan() else { return Ok(None) };
        let Some(room) = self.store.waiting_rooms().get(sale.id).await? else { return Ok(None) };
        let Some(sale) = self.store.sales().get(sale.id).await? else { return Ok(None) };
        let (seats, called_last_minute) = match room.called {
            0 => (0, 0),
            _ => self.store.waiting_rooms().activity(sale.id, plan).await?,
        };
        let (mut gathered, mut places) = (before.and_then(|before| before.gathered), room.joined);
        if let Some(gathering) = &self.gathering
            && room.locked_at.is_none()
        {
            match gathering.read(sale.id, None).await {
                // Some of these places may not be in the database yet.
                Ok(Some(list)) => (gathered, places) = (Some(Instant::now()), places.max(list.places)),
                Ok(None) => gathered = gathered.filter(|at| at.elapsed() < HANDED_OVER_AFTER),
                Err(_) => gathered = gathered.map(|_| Instant::now()),
            }
        }
        let unpaid = self.store.orders().unpaid(sale.id).await?;
        let phase = sale.phase(now);
        let locks_at = sale.window.opens_at.map(|opens| plan.locks_at(opens));
        let line = Line {
            sale_id: sale.id,
            version: sale.version,
            phase,
            joining_from: sale.window.opens_at.map(|opens| plan.joining_from(opens)),
            locks_at,
            locked_at: room.locked_at,
            closes_at: sale.window.closes_at,
            commitment: room.seed.commitment(),
            seed: room.closed_segment.map(|_| room.seed.to_hex()),
            root: room.root,
            joined: places,
            called: room.called,
            serving: room.serving,
            segments: self.store.waiting_rooms().waiting_segments(sale.id).await?,
            seats,
            left: (sale.total - sale.sold).max(0),
            unpaid,
            free_by: if unpaid > 0 { self.store.orders().last_pay_by(sale.id).await? } else { None },
            called_last_minute,
            held: room.held,
            seat_s: plan.seat_s,
            now,
            poll_after_ms: poll_after_ms(phase, room.locked_at, locks_at, now),
        };
        let body = serde_json::to_vec(&line).unwrap_or_default().into();
        Ok(Some(PublishedLine { line: Arc::new(line), body, seed: room.seed, gathered }))
    }

    /// Keeps the state of all waiting rooms up to date until `stop` is cancelled.
    pub async fn follow(&self, stop: CancellationToken) {
        let mut periodic = Periodic::new("waiting rooms", REFRESH_INTERVAL, &stop);
        while periodic.tick().await {
            periodic.record(self.read_lines(RESTING_INTERVAL).await);
        }
    }

    /// Waits until no request for a place is in flight.
    pub async fn finish(&self) {
        self.joins.finish().await;
    }
}

/// Milliseconds until a page reads the state again. Pages add a random delay of up to the same length, and wait longer
/// if their turn is far away.
fn poll_after_ms(phase: Phase, locked: Option<Timestamp>, locks: Option<Timestamp>, now: Timestamp) -> i64 {
    match (phase, locked, locks) {
        (Phase::Ended, ..) => 60_000,
        (_, Some(_), _) => 3_000,
        (_, None, Some(locks)) => ((locks.as_millisecond() - now.as_millisecond()) / 4).clamp(1_000, 15_000),
        (_, None, None) => 15_000,
    }
}
