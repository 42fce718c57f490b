//! An order, its statuses and the transitions between them, and holds of orders.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::{required, tidy, tidy_lines};
use crate::bucket::Owner;
use crate::packet::ShareClaim;
use crate::wire::{wire_enum, wire_text};
use crate::{Address, Money, OrderId, SaleId, UserId, ledger};

/// Units that a user holds and whose order is not in the database yet. The outbox and RabbitMQ carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    pub order_id: OrderId,
    pub sale_id: SaleId,
    pub user_id: UserId,
    pub quantity: u32,
    pub reserved_at: Timestamp,
}

wire_enum! {
    /// The status of an order. `Reserved` is never stored: it means that the order has not reached the database yet.
    pub enum OrderStatus {
        Reserved = "reserved",
        Unpaid = "unpaid",
        Paid = "paid",
        Cancelled = "cancelled",
        /// The database had no units left for the reservation. Nothing was charged.
        Rejected = "rejected",
        /// The money is being returned: it arrived after cancellation, or staff refunded the order.
        RefundPending = "refund_pending",
        Refunded = "refunded",
    }
}

impl OrderStatus {
    /// The position in the order's life: a later status has a higher rank.
    pub fn rank(self) -> usize {
        self as usize
    }

    /// Whether the order holds units of its sale.
    pub fn is_live(self) -> bool {
        matches!(self, OrderStatus::Reserved | OrderStatus::Unpaid | OrderStatus::Paid)
    }

    /// Whether there is a transition to `next`. The SQL statements in `store` have the same transitions as conditions.
    pub fn may_become(self, next: OrderStatus) -> bool {
        use OrderStatus::*;
        matches!(
            (self, next),
            (Reserved, Unpaid | Rejected)
                | (Unpaid, Paid | Cancelled)
                | (Paid, RefundPending)
                | (Cancelled, RefundPending)
                | (RefundPending, Refunded)
                // The refund failed after the provider had said that it was made.
                | (Refunded, RefundPending)
        )
    }
}

/// A status change of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OrderEvent {
    pub at: Timestamp,
    pub status: OrderStatus,
}

/// A status change of an order as staff see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OrderStep {
    #[serde(flatten)]
    pub event: OrderEvent,
    /// The member of staff who made the change.
    pub actor: Option<String>,
    /// The reason, shown to staff only.
    pub note: Option<String>,
}

/// The number of an order for people: the day on which it was written, in the shop's time zone, and a count of that day,
/// as in `20261128-000137`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderNumber(i64);

/// Counts of one day lie below this.
const NUMBERS_PER_DAY: i64 = 1_000_000_000;

impl OrderNumber {
    /// `day` is such as 20261128.
    pub const fn new(day: i64, count: i64) -> OrderNumber {
        OrderNumber(day * NUMBERS_PER_DAY + count)
    }

    pub const fn from_stored(stored: i64) -> OrderNumber {
        OrderNumber(stored)
    }

    pub const fn stored(self) -> i64 {
        self.0
    }

    pub const fn day(self) -> i64 {
        self.0 / NUMBERS_PER_DAY
    }
}

impl fmt::Display for OrderNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:06}", self.day(), self.0 % NUMBERS_PER_DAY)
    }
}

impl FromStr for OrderNumber {
    type Err = ();

    fn from_str(text: &str) -> Result<OrderNumber, ()> {
        let (day, count) = text.trim().split_once('-').ok_or(())?;
        let is_number = |text: &str, lengths: RangeInclusive<usize>| {
            lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        match is_number(day, 8..=8) && is_number(count, 6..=9) {
            true => Ok(OrderNumber::new(day.parse().map_err(|_| ())?, count.parse().map_err(|_| ())?)),
            false => Err(()),
        }
    }
}

wire_text!(OrderNumber, inline {"type": "string", "pattern": "^[0-9]{8}-[0-9]{6,9}$"});

/// An order as stored in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub id: OrderId,
    /// `None` in the second before data control gives one to an order of a draw or of an older process.
    pub number: Option<OrderNumber>,
    pub sale_id: SaleId,
    pub user_id: UserId,
    pub quantity: u32,
    /// What is to be paid: the goods and their shipping.
    pub amount: Money,
    /// The part of the amount that is for shipping.
    pub shipping: Money,
    pub status: OrderStatus,
    /// The reason for a rejection, cancellation or refund: `sold_out`, `repeated`, `unpaid`, `by_owner`, `by_shop`.
    pub reason: Option<String>,
    /// The shop's message to the owner about the reason.
    pub message: Option<String>,
    /// A copy of the delivery address, taken when the owner chose it for this order.
    pub address: Option<Box<Address>>,
    pub reserved_at: Timestamp,
    /// When the order reached the database and became `unpaid` (or `rejected`).
    pub created_at: Timestamp,
    pub pay_by: Timestamp,
}

impl Order {
    /// The number for people; a dash without one.
    pub fn number_text(&self) -> String {
        self.number.map_or_else(|| "–".to_owned(), |number| number.to_string())
    }

    /// What the goods cost without their shipping.
    pub fn goods(&self) -> Money {
        Money { amount: self.amount.amount - self.shipping.amount, ..self.amount }
    }

    /// Sets the cost of shipping, and with it what is to be paid.
    pub fn set_shipping(&mut self, cost: Money) {
        self.amount.amount = self.goods().amount + cost.amount;
        self.shipping = cost;
    }

    /// Masks the recipient.
    pub fn mask_recipient(&mut self) {
        if let Some(address) = &mut self.address {
            **address = address.masked();
        }
    }

    /// Whether a payment may begin: the order is unpaid and the deadline has not passed.
    pub fn is_payable(&self, now: Timestamp) -> bool {
        self.status == OrderStatus::Unpaid && self.pay_by > now
    }

    /// Whether status and currency allow a payment from the wallet. Balance and deadline are checked by the payment
    /// itself.
    pub fn accepts_wallet(&self) -> bool {
        self.status == OrderStatus::Unpaid && self.amount.currency == ledger::CURRENCY
    }

    /// Whether the owner has to choose an address before paying.
    pub fn needs_address(&self) -> bool {
        self.status == OrderStatus::Unpaid && self.address.is_none()
    }

    /// Whether the owner can set an address: until the order is paid, and a missing one while the order stays paid.
    pub fn takes_address(&self) -> bool {
        match self.status {
            OrderStatus::Unpaid => true,
            OrderStatus::Paid => self.address.is_none(),
            _ => false,
        }
    }
}

/// The time at which an order id was generated, which is the time of the reservation request.
pub fn generated_at(id: OrderId) -> Timestamp {
    let (seconds, nanos) = id.0.get_timestamp().map_or((0, 0), |at| at.to_unix());
    Timestamp::new(seconds as i64, nanos as i32).unwrap_or_default()
}

// The content of the outbox and of RabbitMQ: grants that are not in the database yet.

/// Units of a sale, or a share of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxItem {
    Order(Reservation),
    Share(ShareClaim),
}

impl OutboxItem {
    /// The sale or packet whose units the item takes.
    pub fn owner(&self) -> Owner {
        match self {
            OutboxItem::Order(reservation) => reservation.sale_id.into(),
            OutboxItem::Share(claim) => claim.packet_id.into(),
        }
    }

    pub fn order(&self) -> Option<&Reservation> {
        match self {
            OutboxItem::Order(reservation) => Some(reservation),
            OutboxItem::Share(_) => None,
        }
    }

    pub fn share(&self) -> Option<&ShareClaim> {
        match self {
            OutboxItem::Share(claim) => Some(claim),
            OutboxItem::Order(_) => None,
        }
    }

    /// Splits items into orders and shares.
    pub fn partition(all: &[OutboxItem]) -> (Vec<Reservation>, Vec<ShareClaim>) {
        (
            all.iter().filter_map(OutboxItem::order).copied().collect(),
            all.iter().filter_map(OutboxItem::share).copied().collect(),
        )
    }
}

// Holds of orders: a member of the staff stops the delivery of an order until it is released, refunded or cancelled.
// The owner reads the reason and may answer with an appeal.
//
// A hold lasts until staff end it, or until the order is cancelled or expires. It does not change the order's status:
// an unpaid order can still be paid or cancelled, and it expires as usual.

/// Characters of an appeal.
pub const MAX_APPEAL_CHARS: usize = 1_000;
/// Characters of what the owner of an order reads about a hold.
pub const MAX_HOLD_REASON_CHARS: usize = 300;

wire_enum! {
    /// How staff ended a hold.
    pub enum HoldOutcome {
        Released = "released",
        /// The money goes back to the payer.
        Refunded = "refunded",
        /// The order was not paid.
        Cancelled = "cancelled",
    }
}

wire_enum! {
    /// What staff answered to an appeal.
    pub enum AppealAnswer {
        Released = "released",
        Refunded = "refunded",
        Cancelled = "cancelled",
        /// The hold stays.
        Upheld = "upheld",
    }
}

/// A hold with its appeals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderHold {
    /// A UUID of version 7.
    pub id: String,
    /// Shown verbatim to the owner of the order.
    pub reason: String,
    /// The member of the staff who began the hold.
    pub held_by: String,
    pub held_at: Timestamp,
    /// `None` while the hold lasts.
    pub end: Option<HoldEnd>,
    /// The appeals, oldest first.
    pub appeals: Vec<Appeal>,
}

/// How a hold ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldEnd {
    pub outcome: HoldOutcome,
    pub by: String,
    pub at: Timestamp,
    /// Shown verbatim to the owner of the order.
    pub reason: Option<String>,
}

/// What the owner of a held order answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appeal {
    pub text: String,
    pub sent_at: Timestamp,
    /// `None` until staff answer.
    pub answer: Option<Answer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub answer: AppealAnswer,
    pub by: String,
    pub at: Timestamp,
    pub reason: Option<String>,
}

impl OrderHold {
    /// The appeal that waits for an answer.
    pub fn open_appeal(&self) -> Option<&Appeal> {
        self.appeals.last().filter(|appeal| appeal.answer.is_none() && self.end.is_none())
    }

    /// Whether the owner may appeal now.
    pub fn takes_appeal(&self) -> bool {
        self.end.is_none() && self.open_appeal().is_none()
    }
}

/// The text of an appeal, tidied line by line; or the code of what is wrong with it.
pub fn check_appeal(text: &str) -> Result<String, &'static str> {
    required(tidy_lines(text), MAX_APPEAL_CHARS)
}

/// The reason of a hold, its release, or the answer to an appeal, tidied; or the code of what is wrong with it.
pub fn check_hold_reason(text: &str) -> Result<String, &'static str> {
    required(tidy(text), MAX_HOLD_REASON_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_released_at_most_once_on_every_path() {
        for from in OrderStatus::ALL {
            for to in OrderStatus::ALL.into_iter().filter(|to| from.may_become(*to)) {
                assert!(from.is_live() || !to.is_live(), "{from} → {to} would take units again");
            }
        }
    }

    #[test]
    fn appeals_and_reasons_are_tidied_and_bounded() {
        assert_eq!(check_appeal("  it is  me\r\n\r\nand my sister \n"), Ok("it is me\n\nand my sister".to_owned()));
        assert_eq!(check_appeal(" \n "), Err("required"));
        assert_eq!(check_appeal(&"字".repeat(MAX_APPEAL_CHARS)).map(|text| text.len()), Ok(3 * MAX_APPEAL_CHARS));
        assert_eq!(check_appeal(&"字".repeat(MAX_APPEAL_CHARS + 1)), Err("too_long"));
        assert_eq!(check_hold_reason(" many\norders "), Ok("many orders".to_owned()));
        assert_eq!(check_hold_reason("\u{202e}"), Err("required"));
        assert_eq!(check_hold_reason(&"x".repeat(MAX_HOLD_REASON_CHARS + 1)), Err("too_long"));
    }

    #[test]
    fn hold_takes_one_appeal_at_a_time_while_it_lasts() {
        let at = Timestamp::UNIX_EPOCH;
        let appeal = Appeal { text: "it is me".to_owned(), sent_at: at, answer: None };
        let answer = Answer { answer: AppealAnswer::Upheld, by: "sven".to_owned(), at, reason: None };
        let (id, reason, held_by) = ("1".to_owned(), "many orders".to_owned(), "sven".to_owned());
        let mut hold = OrderHold { id, reason, held_by, held_at: at, end: None, appeals: Vec::new() };
        assert!(hold.takes_appeal());
        hold.appeals.push(appeal);
        assert!(!hold.takes_appeal() && hold.open_appeal().is_some());
        hold.appeals[0].answer = Some(answer);
        assert!(hold.takes_appeal() && hold.open_appeal().is_none());
        hold.end = Some(HoldEnd { outcome: HoldOutcome::Released, by: "sven".to_owned(), at, reason: None });
        assert!(!hold.takes_appeal());
    }
}
