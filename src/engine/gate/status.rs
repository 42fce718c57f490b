//! The state of a sale at one moment, and the JSON for its button.

use axum::body::Bytes;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::stock::Facts;
use domain::{ModeName, Phase, Refusal, Sale, Spread, UserId, Window, waitlist};

/// The status of a sale at one moment.
#[derive(Debug, Clone, Copy)]
pub struct SaleStatus {
    pub phase: Phase,
    pub window: Window,
    /// Units that no user holds.
    pub remaining: i64,
    pub total: i64,
    pub per_user_limit: i64,
    pub buckets: u8,
    /// How the sale is sold. The gate admits no request of a draw, and no stock backend loads it.
    pub mode: ModeName,
    /// How a purchase without a token is refused; `None` if no token is needed.
    pub without_token: Option<Refusal>,
    /// The time over which accounts spread their first requests, in milliseconds.
    pub spread_ms: i64,
    /// `None` unless the gate enforces the spread.
    pub spread: Option<Spread>,
    /// Units held; `None` while the sale is not loaded.
    pub booked: Option<i64>,
    /// Requests admitted since the last sync; `None` while the sale is not loaded.
    pub access: Option<i64>,
}

/// The body of the button endpoint.
#[derive(Serialize, JsonSchema)]
pub struct Button {
    phase: Phase,
    remaining: i64,
    total: i64,
    opens_at: Option<Timestamp>,
    closes_at: Option<Timestamp>,
    now: Timestamp,
    /// When to poll again. Clients add a random delay of up to the same length.
    poll_after_ms: i64,
    /// The width of the sale's spread. Below 1000, clients that wait for the start poll at a random moment within this
    /// many milliseconds after it. From 1000 on each account has a moment of its own in it, which the token tells.
    spread_ms: i64,
    /// `queue` or `draw`; left out for a rush.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<ModeName>,
    /// Within how many milliseconds after the opening all units were taken for the first time. Left out unless this
    /// process saw it.
    #[serde(skip_serializing_if = "Option::is_none")]
    sold_out_ms: Option<i64>,
    /// Buying requests that this process has got, once the sale is sold out: with several processes, at least as many.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<u64>,
    /// Units that accounts on the waitlist wait for, once the sale is sold out. Accounts that joined in the last seconds
    /// are not counted yet. Left out if more wait than are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    waited: Option<i64>,
}

/// What tells those who got nothing how close it was.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Crowd {
    /// When the board first saw that all units were taken.
    pub sold_out_at: Option<Timestamp>,
    pub asked: u64,
    pub waited: i64,
}

/// The refusal of a purchase without a token. A token proves that the user's turn has come, or that the user may take
/// part.
fn refusal_without_token(sale: &Sale) -> Option<Refusal> {
    match sale.mode.name() {
        ModeName::WaitingRoom => Some(Refusal::NotCalled),
        _ if !sale.eligibility.are_none() => Some(Refusal::BadToken),
        _ => None,
    }
}

impl SaleStatus {
    /// `facts` is `None` while the stock backend has not loaded the sale. Then no units can be bought in any state. A draw
    /// is never loaded, but stays open for entries.
    pub(super) fn of(sale: &Sale, facts: Option<Facts>, now: Timestamp) -> SaleStatus {
        let (window, total, per_user_limit) = match facts {
            Some(facts) => (facts.window, facts.total, facts.per_user_limit),
            None => (sale.window, sale.total, sale.per_user_limit),
        };
        // As many returned units are kept as accounts on the waitlist wait for.
        let taken = facts.map_or(sale.sold, |facts| facts.booked + facts.waited_units);
        let remaining = (total - taken).max(0);
        let phase = match facts {
            Some(facts) => Phase::of(facts.state, window, remaining, now),
            None => match sale.phase(now) {
                Phase::Open | Phase::SoldOut if !sale.mode.is_draw() => Phase::Paused,
                other => other,
            },
        };
        SaleStatus {
            phase,
            window,
            remaining,
            total,
            per_user_limit,
            buckets: sale.rush.buckets,
            mode: sale.mode.name(),
            without_token: refusal_without_token(sale),
            spread_ms: sale.rush.spread_ms,
            spread: sale.spread(),
            booked: facts.map(|facts| facts.booked),
            access: facts.map(|facts| facts.access),
        }
    }

    /// From when the user may buy, if that is still to come. It counts from the opening that the sale was loaded with,
    /// which neither a pause nor a top-up moves. Once the spread is over, nothing is computed.
    pub fn awaited_moment(&self, user: UserId, now: Timestamp) -> Option<Timestamp> {
        let (spread, opens) = self.spread.zip(self.window.opens_at)?;
        if now >= spread.end(opens) {
            return None;
        }
        Some(spread.own_moment(opens, user)).filter(|moment| now < *moment)
    }

    /// Whether the seed of the spread may be public: the sale has opened, and every account's moment has passed.
    pub fn reveals_seed(&self, now: Timestamp) -> bool {
        let end = self.spread.zip(self.window.opens_at).map(|(spread, opens)| spread.end(opens));
        self.phase != Phase::Upcoming && end.is_some_and(|end| now >= end)
    }

    /// Milliseconds until the client polls again. Clients add up to the same time at random, so that they do not poll
    /// in step; a waiting page learns within ten seconds that its sale was started early. Caches keep the answer for
    /// one second, so polling costs the shop nearly nothing.
    pub fn poll_after_ms(&self, now: Timestamp) -> i64 {
        const MAX_WAITING_MS: i64 = 5_000;
        match self.phase {
            Phase::Upcoming => match self.window.opens_at {
                Some(opens) => ((opens.as_millisecond() - now.as_millisecond()) / 4).clamp(1_000, MAX_WAITING_MS),
                None => MAX_WAITING_MS,
            },
            // In a draw nothing runs out, so there is no hurry.
            Phase::Open if self.mode == ModeName::Draw => MAX_WAITING_MS,
            Phase::Open => 1_000,
            Phase::SoldOut | Phase::Paused => 3_000,
            Phase::Ended => 60_000,
        }
    }

    /// The JSON body of the button endpoint.
    pub(super) fn button(&self, now: Timestamp, crowd: Crowd) -> Bytes {
        let is_gone = matches!(self.phase, Phase::SoldOut | Phase::Ended);
        let sold_out = crowd.sold_out_at.zip(self.window.opens_at).filter(|_| is_gone);
        let button = Button {
            phase: self.phase,
            remaining: self.remaining,
            total: self.total,
            opens_at: self.window.opens_at,
            closes_at: self.window.closes_at,
            now,
            poll_after_ms: self.poll_after_ms(now),
            spread_ms: self.spread_ms,
            mode: Some(self.mode).filter(|mode| *mode != ModeName::Rush),
            sold_out_ms: sold_out.map(|(at, opens)| (at.as_millisecond() - opens.as_millisecond()).max(0)),
            asked: Some(crowd.asked).filter(|_| is_gone),
            waited: Some(crowd.waited).filter(|units| is_gone && *units < waitlist::ALL_UNITS),
        };
        serde_json::to_vec(&button).unwrap_or_default().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rush(phase: Phase, opens_at: Option<i64>) -> SaleStatus {
        let opens_at = opens_at.map(|ms| Timestamp::from_millisecond(ms).unwrap());
        SaleStatus {
            phase,
            window: Window { opens_at, closes_at: None },
            remaining: 1,
            total: 1,
            per_user_limit: 1,
            buckets: 1,
            mode: ModeName::Rush,
            without_token: None,
            spread_ms: 0,
            spread: None,
            booked: None,
            access: None,
        }
    }

    #[test]
    fn moments_and_seed_follow_from_the_opening() {
        use domain::SpreadSeed;
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let spread = Spread { seed: SpreadSeed::new([1; 32]), width_ms: 10_000 };
        let open = SaleStatus { spread_ms: 10_000, spread: Some(spread), ..rush(Phase::Open, Some(5_000)) };
        let user = UserId(uuid::Uuid::from_u128(3));
        let moment = open.awaited_moment(user, at(5_000)).unwrap();
        assert!(at(5_000) < moment && moment < at(15_000), "{moment}");
        let last = at(moment.as_millisecond() - 1);
        assert_eq!((open.awaited_moment(user, last), open.awaited_moment(user, moment)), (Some(moment), None));
        assert_eq!((open.reveals_seed(at(14_999)), open.reveals_seed(at(15_000))), (false, true));
        for users in 0..100 {
            assert_eq!(open.awaited_moment(UserId(uuid::Uuid::from_u128(users)), at(15_000)), None);
        }
        let upcoming = SaleStatus { phase: Phase::Upcoming, ..open };
        assert!(!upcoming.reveals_seed(at(15_000)), "a sale whose time has come opens only when it is loaded");
        let plain = SaleStatus { spread: None, ..open };
        assert_eq!((plain.awaited_moment(user, at(5_000)), plain.reveals_seed(at(15_000))), (None, false));
        let unscheduled = SaleStatus { window: Window { opens_at: None, closes_at: None }, ..open };
        assert_eq!((unscheduled.awaited_moment(user, at(5_000)), unscheduled.reveals_seed(at(15_000))), (None, false));
    }

    #[test]
    fn waiting_client_polls_more_often_near_the_start_and_never_rarely() {
        let poll = |phase, opens_at| rush(phase, opens_at).poll_after_ms(Timestamp::UNIX_EPOCH);
        let waits = [Some(86_400_000), Some(60_000), Some(10_000), Some(4_000), Some(-5), None];
        assert_eq!(waits.map(|opens| poll(Phase::Upcoming, opens)), [5_000, 5_000, 2_500, 1_000, 1_000, 5_000]);
        assert!(poll(Phase::Open, None) < poll(Phase::SoldOut, None));
        assert!(poll(Phase::SoldOut, None) < poll(Phase::Ended, None));
    }
}
