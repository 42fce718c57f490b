//! Sales that an administrator creates.

use std::time::Duration;

use base::clock::Clock;
use domain::UserId;
use domain::draw::EntryId;
use jiff::Timestamp;
use serde_json::{Value, json};
use store::Joining;

/// The definition of a sale to create.
#[derive(Debug, Clone)]
pub struct NewSale {
    total: i64,
    limit: i64,
    opens_at: Option<Timestamp>,
    closes_at: Option<Timestamp>,
    buckets: u8,
    lot: i64,
    spread_ms: i64,
    mode: &'static str,
    one_per_address: bool,
    /// In minor units.
    deposit: Option<i64>,
    invitation: bool,
    seat_s: i64,
    prequeue_s: Option<i64>,
}

/// A request of this account for a place in a waiting room.
pub fn joining(user_id: UserId) -> Joining {
    let entry = EntryId::new(rand::random());
    Joining { user_id, entry, signed: None, holds_nothing: false, may_be_gathered: false }
}

impl NewSale {
    /// A sale of `total` units, one per user, started by hand.
    pub fn of(total: i64) -> NewSale {
        NewSale {
            total,
            limit: 1,
            opens_at: None,
            closes_at: None,
            buckets: 1,
            lot: 0,
            spread_ms: 600,
            mode: "rush",
            one_per_address: false,
            deposit: None,
            invitation: false,
            seat_s: 20,
            prequeue_s: None,
        }
    }

    pub fn limit(mut self, units: i64) -> NewSale {
        self.limit = units;
        self
    }

    /// Splits the sale into buckets that get `lot` units at a time; 0 is all at once.
    pub fn split(mut self, buckets: u8, lot: i64) -> NewSale {
        (self.buckets, self.lot) = (buckets, lot);
        self
    }

    pub fn spread(mut self, width: Duration) -> NewSale {
        self.spread_ms = width.as_millis() as i64;
        self
    }

    pub fn opens_in(mut self, wait: Duration) -> NewSale {
        self.opens_at = Some(Clock::system().now() + wait);
        self
    }

    pub fn closes_in(mut self, wait: Duration) -> NewSale {
        self.closes_at = Some(Clock::system().now() + wait);
        self
    }

    /// Sells by draw. The list of entries is locked at the closing.
    pub fn draw(mut self) -> NewSale {
        self.mode = "draw";
        self
    }

    /// Sells with a waiting room, whose list is locked two seconds after the opening. Called shoppers have 20 seconds,
    /// or as long as [`NewSale::seat`] says.
    pub fn queue(mut self) -> NewSale {
        self.mode = "queue";
        self
    }

    /// Lets shoppers join the waiting room this many seconds before the opening. Redis gives the places if joining
    /// begins two seconds from now or later; otherwise the database does.
    pub fn prequeue(mut self, seconds: i64) -> NewSale {
        self.prequeue_s = Some(seconds);
        self
    }

    /// Gives called shoppers this many seconds to buy.
    pub fn seat(mut self, seconds: i64) -> NewSale {
        self.seat_s = seconds;
        self
    }

    /// Lets one account take part for each delivery address.
    pub fn one_per_address(mut self) -> NewSale {
        self.one_per_address = true;
        self
    }

    /// Sets this many minor units aside from the wallet of each account that takes part.
    pub fn deposit(mut self, amount: i64) -> NewSale {
        self.deposit = Some(amount);
        self
    }

    /// Lets only accounts with an invitation code take part.
    pub fn invited(mut self) -> NewSale {
        self.invitation = true;
        self
    }

    pub fn json(&self, goods: &str) -> Value {
        json!({
            "goods_id": goods,
            "price": {"amount": 1999, "currency": "CNY"},
            "total": self.total,
            "per_user_limit": self.limit,
            "opens_at": self.opens_at,
            "closes_at": self.closes_at,
            "buckets": self.buckets,
            "lot": self.lot,
            "spread_ms": self.spread_ms,
            "mode": self.mode,
            "one_per_address": self.one_per_address,
            "deposit": self.deposit.map(|amount| json!({"amount": amount, "currency": "CNY"})),
            "invitation": self.invitation,
            "draw_review_s": 0,
            "queue_prequeue_s": self.prequeue_s,
            "queue_gather_s": 2,
            "queue_seat_s": self.seat_s,
        })
    }
}
