//! The part of a sale's report that comes from its orders, places and entries. It has numbers only and names no
//! account.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::OrderStatus;
use super::evenness::Group;

/// Widths of the slots of a plot, in milliseconds, from a second to a day.
const WIDTHS_MS: [i64; 11] =
    [1_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000];
/// Slots are as narrow as they can be with fewer than this many of them. [`MINUTE_MS`] bounds their width.
const MIN_SLOTS: i64 = 120;
/// Slots are no wider than this in sales of up to a week.
const MINUTE_MS: i64 = 60_000;
/// A sale is divided into at most this many slots, the minutes of a week. Payments after its end have as many slots
/// again.
const MAX_SLOTS: i64 = 7 * 24 * 60;

/// The upper bounds of an account's age at the opening, in milliseconds: an hour, a day, a week, 30 days. Older
/// accounts are in a last group.
pub const AGE_BOUNDS_MS: [i64; 4] = [3_600_000, 86_400_000, 604_800_000, 2_592_000_000];

/// An order of the sale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderFact {
    pub units: i64,
    pub status: OrderStatus,
    /// Why the order ended.
    pub reason: Option<String>,
    pub reserved_at: Timestamp,
    pub paid_at: Option<Timestamp>,
    /// When the order's units came back.
    pub ended_at: Option<Timestamp>,
    /// When the order's owner registered; `None` if the account is gone.
    pub registered_at: Option<Timestamp>,
}

/// Figures of a sale that need a look at each of its orders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SaleDigest {
    /// The opening, in Unix milliseconds.
    pub from_ms: i64,
    pub slot_ms: i64,
    /// Units that were reserved in each slot from the opening on, also if the order ended later.
    pub reserved: Vec<i64>,
    /// Units that were paid for in each slot.
    pub paid: Vec<i64>,
    /// When every unit of the sale was held for the first time, in milliseconds after the opening.
    pub sold_out_ms: Option<i64>,
    /// The number of ended orders by reason.
    pub ended: BTreeMap<String, i64>,
    /// Accounts by their age. In a rush only winners are known, so `all` is 0.
    pub ages: Vec<Group>,
    /// Tenths by the order of joining a waiting room or entering a draw.
    pub tenths: Vec<Group>,
    /// The number of accounts on the waitlist by state.
    pub waiters: BTreeMap<String, i64>,
    /// The last slot. Later payments are counted in it, too.
    #[serde(skip)]
    last_slot: i64,
    /// Units held at the last order, for [`SaleDigest::sold_out_ms`].
    #[serde(skip)]
    held: i64,
    /// The held units that come back later, by the time at which they do, in Unix milliseconds.
    #[serde(skip)]
    returning: BTreeMap<i64, i64>,
}

impl Default for SaleDigest {
    fn default() -> SaleDigest {
        SaleDigest::new(Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH)
    }
}

impl SaleDigest {
    /// An empty digest of a sale that opened at `opened`. `until` is its end, or the present if it has not closed yet.
    pub fn new(opened: Timestamp, until: Timestamp) -> SaleDigest {
        let lasted = until.as_millisecond() - opened.as_millisecond();
        let width = |slots: i64| WIDTHS_MS.into_iter().find(|width| lasted / width < slots).unwrap_or(WIDTHS_MS[10]);
        let slot_ms = width(MIN_SLOTS).min(MINUTE_MS.max(width(MAX_SLOTS + 1)));
        SaleDigest {
            from_ms: opened.as_millisecond(),
            slot_ms,
            reserved: Vec::new(),
            paid: Vec::new(),
            sold_out_ms: None,
            ended: BTreeMap::new(),
            ages: vec![Group::default(); AGE_BOUNDS_MS.len() + 1],
            tenths: Vec::new(),
            waiters: BTreeMap::new(),
            last_slot: 2 * (lasted / slot_ms).max(MIN_SLOTS) - 1,
            held: 0,
            returning: BTreeMap::new(),
        }
    }

    /// Adds an order. Orders are added in the order of their reservation. `total` is the number of units of the sale.
    pub fn add(&mut self, order: &OrderFact, total: i64) {
        if let Some(reason) = &order.reason {
            *self.ended.entry(reason.clone()).or_default() += 1;
        }
        if order.status == OrderStatus::Rejected {
            return;
        }
        self.count(order.reserved_at, order.units, |digest| &mut digest.reserved);
        if let Some(paid_at) = order.paid_at {
            self.count(paid_at, order.units, |digest| &mut digest.paid);
        }
        self.hold(order);
        if self.held >= total && self.sold_out_ms.is_none() {
            self.sold_out_ms = Some((order.reserved_at.as_millisecond() - self.from_ms).max(0));
        }
        if let Some(registered) = order.registered_at {
            self.ages[age_group(self.from_ms - registered.as_millisecond())].won += 1;
        }
    }

    /// Adds the units of an order to `held`, and first subtracts units that came back before it.
    fn hold(&mut self, order: &OrderFact) {
        let now = order.reserved_at.as_millisecond();
        while let Some(entry) = self.returning.first_entry().filter(|entry| *entry.key() <= now) {
            self.held -= entry.remove();
        }
        self.held += order.units;
        if let Some(ended_at) = order.ended_at {
            *self.returning.entry(ended_at.as_millisecond()).or_default() += order.units;
        }
    }

    fn count(&mut self, at: Timestamp, units: i64, slots: impl Fn(&mut SaleDigest) -> &mut Vec<i64>) {
        let slot = ((at.as_millisecond() - self.from_ms).max(0) / self.slot_ms).min(self.last_slot) as usize;
        let slots = slots(self);
        slots.resize(slots.len().max(slot + 1), 0);
        slots[slot] += units;
    }
}

/// The group of an account of this age in milliseconds.
pub fn age_group(age_ms: i64) -> usize {
    AGE_BOUNDS_MS.iter().position(|bound| age_ms < *bound).unwrap_or(AGE_BOUNDS_MS.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
    }

    fn order(ms: i64, units: i64, status: OrderStatus) -> OrderFact {
        OrderFact {
            units,
            status,
            reason: None,
            reserved_at: at(ms),
            paid_at: None,
            ended_at: None,
            registered_at: None,
        }
    }

    #[test]
    fn slots_are_as_wide_as_the_sale_needs() {
        let width = |seconds: i64| SaleDigest::new(at(0), at(seconds * 1_000)).slot_ms;
        assert_eq!([0, 119, 120, 3_600, 86_400].map(width), [1_000, 1_000, 5_000, 60_000, 60_000]);
        assert_eq!([7, 8].map(|days| width(days * 86_400)), [60_000, 300_000], "a week is kept by the minute");
        assert_eq!(width(10_000 * 86_400), 86_400_000);
    }

    #[test]
    fn orders_are_counted_in_their_slots_and_the_last_unit_ends_the_stock() {
        let mut digest = SaleDigest::new(at(0), at(60_000));
        let paid = OrderFact { paid_at: Some(at(30_500)), ..order(40, 2, OrderStatus::Paid) };
        let ended = OrderFact { reason: Some("unpaid".to_owned()), ..order(1_500, 1, OrderStatus::Cancelled) };
        let refused = OrderFact { reason: Some("sold_out".to_owned()), ..order(1_600, 9, OrderStatus::Rejected) };
        for order in [paid, ended, refused, order(1_700, 1, OrderStatus::Unpaid), order(1_800, 1, OrderStatus::Unpaid)]
        {
            digest.add(&order, 4);
        }
        assert_eq!(digest.reserved, [2, 3]);
        assert_eq!((digest.paid.len(), digest.paid[30]), (31, 2));
        assert_eq!(digest.sold_out_ms, Some(1_700));
        assert_eq!(digest.ended, BTreeMap::from([("sold_out".to_owned(), 1), ("unpaid".to_owned(), 1)]));
        let kept = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<SaleDigest>(&kept).unwrap().reserved, digest.reserved);
    }

    #[test]
    fn units_that_were_sold_twice_do_not_end_the_stock() {
        let mut digest = SaleDigest::new(at(0), at(60_000));
        let returned = OrderFact { ended_at: Some(at(2_000)), ..order(100, 2, OrderStatus::Cancelled) };
        for order in [returned, order(2_000, 2, OrderStatus::Paid), order(3_000, 1, OrderStatus::Paid)] {
            digest.add(&order, 4);
        }
        assert_eq!(digest.sold_out_ms, None, "three of four units are held");
        digest.add(&order(4_000, 1, OrderStatus::Unpaid), 4);
        assert_eq!(digest.sold_out_ms, Some(4_000));
    }

    #[test]
    fn late_payment_falls_into_the_last_slot_and_an_early_clock_into_the_first() {
        let mut digest = SaleDigest::new(at(0), at(60_000));
        digest.add(&OrderFact { paid_at: Some(at(9_000_000)), ..order(-30, 1, OrderStatus::Paid) }, 5);
        assert_eq!((digest.reserved.as_slice(), digest.paid.len(), digest.sold_out_ms), (&[1][..], 240, None));
    }

    #[test]
    fn buyers_are_grouped_by_the_age_of_their_accounts() {
        let ages = [-5, 0, 3_599_999, 3_600_000, 86_400_000, 700_000_000, 2_592_000_000].map(age_group);
        assert_eq!(ages, [0, 0, 0, 1, 2, 3, 4]);
        let mut digest = SaleDigest::new(at(0), at(60_000));
        digest.add(&OrderFact { registered_at: Some(at(-4_000_000)), ..order(1, 1, OrderStatus::Paid) }, 5);
        assert_eq!(digest.ages[1], Group { all: 0, won: 1 });
    }
}
