//! The page of a shopper's own moment, in a sale without a waiting room that stands in front of another shop.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use jiff::Timestamp;

use crate::eligibility;
use domain::{Phase, UserId};
use engine::catalogue::CatalogueEntry;
use engine::gate::SaleStatus;
use pages::onward::OnwardSale;
use pages::{Chrome, filters};
use web::extract::Visitor;
use web::shared::onward_from;
use web::{Answer, Code, Shop, personal};

const MIN_REFRESH_S: i64 = 1;
/// Seconds until the page of a paused or sold-out sale is loaded again.
const REFRESH_S: i64 = 10;
/// The longest time until a page is loaded again, in seconds: by then staff may have moved the opening.
const MAX_REFRESH_S: i64 = 300;
/// Pages that wait for the opening are loaded again over so many seconds.
const OPENING_SPREAD_S: u128 = 3;

/// How far the shopper is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The sale is not open, so no account is told its moment.
    Early(Option<Timestamp>),
    Ahead(Timestamp),
    /// The shopper may go on to the other shop.
    Reached,
    Paused,
    SoldOut,
    Ended,
}

impl Moment {
    fn of(status: &SaleStatus, user: UserId, now: Timestamp) -> Moment {
        match status.phase {
            Phase::Upcoming => Moment::Early(status.window.opens_at),
            Phase::Open => status.awaited_moment(user, now).map_or(Moment::Reached, Moment::Ahead),
            Phase::Paused => Moment::Paused,
            Phase::SoldOut => Moment::SoldOut,
            Phase::Ended => Moment::Ended,
        }
    }
}

pub(super) async fn page(shop: &Shop, visitor: &Visitor, user: UserId, known: Arc<CatalogueEntry>) -> Answer {
    let (now, id) = (shop.clock.now(), known.sale.id);
    let moment = Moment::of(&shop.gate.status(id).ok_or(Code::NoSuchSale)?, user, now);
    if moment != Moment::Ended
        && let Err(refusal) = shop.eligibility.check(id, user).await
    {
        return eligibility::refused(refusal, visitor.locale, id);
    }
    // Of units that were offered to an account of the waitlist, or that it holds, the other shop takes the money.
    let holds_units = moment == Moment::SoldOut && shop.store.orders().live_order_of(id, user).await?.is_some();
    let onward = match moment {
        Moment::SoldOut | Moment::Ended => onward_from(&shop.catalogue, visitor.locale, &known),
        _ => Vec::new(),
    };
    let moment = if holds_units { Moment::Reached } else { moment };
    let late = (user.0.as_u128() % OPENING_SPREAD_S) as i64;
    let page = MomentPage { chrome: visitor.chrome(), known, moment, late, now, onward };
    personal(StatusCode::OK, &page)
}

#[derive(Debug, Template)]
#[template(path = "waiting_room/moment.html")]
struct MomentPage {
    chrome: Chrome,
    known: Arc<CatalogueEntry>,
    moment: Moment,
    /// Seconds after the opening at which the page is loaded again.
    late: i64,
    now: Timestamp,
    /// Sales to go on to, for those who get nothing here.
    onward: Vec<OnwardSale>,
}

impl MomentPage {
    /// The state's name for the style sheet. The looks belong to the states on the page of a turn in a waiting room.
    fn look(&self) -> &'static str {
        match self.moment {
            Moment::Early(_) => "early",
            Moment::Ahead(_) | Moment::Paused => "waiting",
            Moment::Reached => "called",
            Moment::SoldOut => "missed",
            Moment::Ended => "ended",
        }
    }

    /// The heading, and a sentence about what comes next.
    fn words(&self) -> (&'static str, &'static str) {
        let (t, room) = (&self.chrome.text().moment, &self.chrome.text().waiting_room);
        match self.moment {
            Moment::Early(_) if self.known.sale.spread().is_none() => (t.early, t.early_plain),
            Moment::Early(_) => (t.early, t.early_spread),
            Moment::Ahead(_) => (t.ahead, t.ahead_text),
            Moment::Reached => (t.reached, t.reached_text),
            Moment::Paused => (t.paused, t.paused_text),
            Moment::SoldOut => (t.sold_out, t.sold_out_text),
            Moment::Ended => (room.ended, t.ended_text),
        }
    }

    /// What the shopper waits for, and when it comes.
    fn awaited(&self) -> Option<(&'static str, Timestamp)> {
        let t = self.chrome.text();
        match self.moment {
            Moment::Early(opens) => Some((t.shop.opens, opens?)),
            Moment::Ahead(moment) => Some((t.shop.own_moment, moment)),
            _ => None,
        }
    }

    fn has_reached(&self) -> bool {
        self.moment == Moment::Reached
    }

    /// After how many seconds the page is loaded again.
    fn refresh_s(&self) -> Option<i64> {
        let until = |at: Timestamp| (at.as_millisecond() - self.now.as_millisecond() + 999) / 1000;
        match self.moment {
            Moment::Early(opens) => {
                Some(opens.map_or(REFRESH_S, |at| until(at) + self.late).clamp(MIN_REFRESH_S, MAX_REFRESH_S))
            }
            Moment::Ahead(moment) => Some(until(moment).clamp(MIN_REFRESH_S, MAX_REFRESH_S)),
            Moment::Paused | Moment::SoldOut => Some(REFRESH_S),
            Moment::Reached | Moment::Ended => None,
        }
    }
}
