//! The states of payments and refunds, and settlement: a provider's bill of a day is compared with the shop's books, line
//! by line.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Money;
use super::wire::wire_enum;

wire_enum! {
    /// The status of a payment.
    pub enum PaymentStatus {
        Created = "created",
        Captured = "captured",
        RefundPending = "refund_pending",
        Refunded = "refunded",
        /// The provider takes no money for it any more.
        Closed = "closed",
        /// The provider captured another amount than it was asked for. The money pays for nothing.
        Mismatched = "mismatched",
    }
}

wire_enum! {
    /// Where the money of a partial refund goes.
    pub enum RefundTarget {
        /// To the payer, in the way it was paid.
        Payer = "payer",
        /// Into the wallet of the order's owner, also when the order was paid at a provider.
        Wallet = "wallet",
    }
}

wire_enum! {
    /// Why a payment needs the staff's attention. Metrics count the kinds in this order.
    pub enum CaseKind {
        /// The provider captured another amount or currency than it was asked for.
        Mismatched = "mismatched",
        /// The provider cannot give the money back. The refund waits for the staff.
        RefundFailed = "refund_failed",
        /// Several attempts of a refund failed. The shop keeps trying.
        RefundDelayed = "refund_delayed",
        /// The provider gave money back that the shop did not ask for.
        UnexpectedRefund = "unexpected_refund",
        /// The payer or the payer's bank takes the money back.
        Disputed = "disputed",
        /// The report is about a payment that the shop did not start.
        UnknownPayment = "unknown_payment",
        /// The shop does not know the event.
        UnknownEvent = "unknown_event",
        /// The provider's bill and the books differ.
        BillDiffers = "bill_differs",
    }
}

wire_enum! {
    /// How far a dispute is.
    pub enum DisputeState {
        Open = "open",
        /// The money stays with the shop.
        Won = "won",
        /// The money went back to the payer.
        Lost = "lost",
    }
}

/// The largest amount of a report that is written down, in minor units: as much as an order can cost. Sums of some
/// thousand of them fit.
pub const MAX_REPORTED_AMOUNT: i64 = (1 << 53) - 1;
/// The largest amount that the books hold although no payment of the shop asked for it: ten billion yuan, so that sums of
/// millions fit.
pub const MAX_HELD_AMOUNT: i64 = 1_000_000_000_000;

wire_enum! {
    /// What a member of the staff asks to be refunded.
    pub enum RefundKind {
        /// All that is left of a paid order's payment. Its units go back on sale.
        Order = "order",
        /// A part of an order's payment, or all of it, while the order stays paid.
        Part = "part",
        /// A payment of a wrong amount, which pays for nothing.
        Case = "case",
        /// No refund: a red packet from the shop's purse.
        Packet = "packet",
    }
}

wire_enum! {
    /// The state of a refund that needs a second person.
    pub enum ApprovalStatus {
        Pending = "pending",
        /// The refund began.
        Approved = "approved",
        Declined = "declined",
        /// It was not decided in time.
        Expired = "expired",
        /// The order or payment had changed, so that the refund was no longer possible.
        Void = "void",
    }
}

// Settlement: a provider's bill of a day is compared with the shop's books, line by line.

wire_enum! {
    /// How the bill and the books differ.
    pub enum BillProblem {
        /// On the bill, not in the books.
        MissingHere = "missing_here",
        /// In the books, not on the bill.
        MissingThere = "missing_there",
        /// In both, with different amounts.
        AmountDiffers = "amount_differs",
    }
}

wire_enum! {
    pub enum MovementKind {
        Charge = "charge",
        Refund = "refund",
    }
}

/// Money that moved at a provider.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Movement {
    /// The shop's id of the payment, or the provider's number if the shop did not begin it.
    #[serde(rename = "payment_id")]
    pub payment: String,
    /// The same of the refund. `None`: the money was charged.
    #[serde(rename = "refund_id")]
    pub refund: Option<String>,
}

impl Movement {
    pub fn kind(&self) -> MovementKind {
        if self.refund.is_some() { MovementKind::Refund } else { MovementKind::Charge }
    }
}

/// A line of a provider's bill. Its amount is positive, also of a refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillLine {
    /// The provider's own number of the line.
    pub line: String,
    pub of: Movement,
    pub amount: Money,
    /// What the provider keeps. Negative if it gives a fee back.
    pub fee: Money,
    pub at: Timestamp,
}

/// What the books have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booked {
    pub of: Movement,
    pub amount: Money,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "BillDifference")]
pub struct Difference {
    pub problem: BillProblem,
    #[serde(flatten)]
    pub of: Movement,
    /// The provider's number of the line; empty if there is none.
    pub line: String,
    /// The amount in the books.
    pub here: Option<Money>,
    /// The amount on the bill.
    pub there: Option<Money>,
}

/// The sums of one kind in one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BillSum")]
pub struct Sum {
    pub kind: MovementKind,
    /// In the books.
    pub here: Money,
    /// On the bill.
    pub there: Money,
    /// Lines of the bill.
    pub lines: i64,
}

/// The sums of a day.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BillSums {
    pub sums: Vec<Sum>,
    /// The fees, an amount per currency.
    pub fees: Vec<Money>,
}

/// The outcome of a comparison. Outcomes of parts of both lists add up to the outcome of the whole, if everything about
/// one movement is in one part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    pub differences: Vec<Difference>,
    pub totals: BillSums,
}

impl BillSums {
    fn add(&mut self, kind: MovementKind, amount: Money, side: fn(&mut Sum) -> &mut Money) -> &mut Sum {
        let place = |sum: &Sum| (sum.kind, sum.here.currency) == (kind, amount.currency);
        let at = self.sums.iter().position(place).unwrap_or_else(|| {
            let zero = Money::new(0, amount.currency);
            self.sums.push(Sum { kind, here: zero, there: zero, lines: 0 });
            self.sums.len() - 1
        });
        let sum = &mut self.sums[at];
        side(sum).amount = side(sum).amount.saturating_add(amount.amount);
        sum
    }

    fn add_fee(&mut self, fee: Money) {
        match self.fees.iter_mut().find(|sum| sum.currency == fee.currency) {
            Some(sum) => sum.amount = sum.amount.saturating_add(fee.amount),
            None => self.fees.push(fee),
        }
    }

    fn sort(&mut self) {
        self.sums.sort_by(|a, b| (a.here.currency.as_str(), a.kind).cmp(&(b.here.currency.as_str(), b.kind)));
        self.fees.retain(|fee| fee.amount != 0);
        self.fees.sort_by(|a, b| a.currency.as_str().cmp(b.currency.as_str()));
    }
}

impl Comparison {
    /// Compares what the books have with the lines of a bill. The order of neither matters. If the bill has a movement
    /// twice, only one of the lines is in the books.
    pub fn of(ours: &[Booked], theirs: &[BillLine]) -> Comparison {
        let mut outcome = Comparison::default();
        let mut lines: BTreeMap<&Movement, Vec<&BillLine>> = BTreeMap::new();
        for line in theirs {
            lines.entry(&line.of).or_default().push(line);
            outcome.totals.add(line.of.kind(), line.amount, |sum| &mut sum.there).lines += 1;
            outcome.totals.add_fee(line.fee);
        }
        for Booked { of, amount } in ours {
            outcome.totals.add(of.kind(), *amount, |sum| &mut sum.here);
            let mut found = lines.remove(of).unwrap_or_default();
            found.sort_by_key(|line| (line.amount != *amount, &line.line));
            let mut found = found.into_iter();
            let different = match found.next() {
                Some(line) if line.amount == *amount => None,
                Some(line) => Some((BillProblem::AmountDiffers, line.line.clone(), Some(line.amount))),
                None => Some((BillProblem::MissingThere, String::new(), None)),
            };
            outcome.differences.extend(different.map(|(problem, line, there)| Difference {
                problem,
                of: of.clone(),
                line,
                here: Some(*amount),
                there,
            }));
            outcome.differences.extend(found.map(missing_here));
        }
        outcome.differences.extend(lines.into_values().flatten().map(missing_here));
        outcome.sort();
        outcome
    }

    /// Adds the outcome of another part.
    pub fn add(&mut self, other: Comparison) {
        for sum in other.totals.sums {
            self.totals.add(sum.kind, sum.here, |sum| &mut sum.here);
            self.totals.add(sum.kind, sum.there, |sum| &mut sum.there).lines += sum.lines;
        }
        other.totals.fees.into_iter().for_each(|fee| self.totals.add_fee(fee));
        self.differences.extend(other.differences);
        self.sort();
    }

    fn sort(&mut self) {
        self.differences.sort_by(|a, b| (&a.of, &a.line, a.problem).cmp(&(&b.of, &b.line, b.problem)));
        self.totals.sort();
    }
}

fn missing_here(line: &BillLine) -> Difference {
    Difference {
        problem: BillProblem::MissingHere,
        of: line.of.clone(),
        line: line.line.clone(),
        here: None,
        there: Some(line.amount),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Currency;

    fn movement((payment, refund): (u8, Option<u8>)) -> Movement {
        Movement { payment: payment.to_string(), refund: refund.map(|refund| refund.to_string()) }
    }

    fn money((amount, is_yuan): (i64, bool)) -> Money {
        Money::new(amount, if is_yuan { Currency::CNY } else { Currency::parse("USD").unwrap() })
    }

    fn of() -> impl Strategy<Value = Movement> {
        (0_u8..6, proptest::option::of(0_u8..2)).prop_map(movement)
    }

    fn amount() -> impl Strategy<Value = Money> {
        (1_i64..4, proptest::bool::weighted(0.8)).prop_map(money)
    }

    prop_compose! {
        fn bill()(lines in prop::collection::vec((of(), amount(), -2_i64..3), 0..12)) -> Vec<BillLine> {
            let line = |(number, (of, amount, fee))| {
                let (line, fee, at) = (format!("line {number}"), Money { amount: fee, ..amount }, Timestamp::UNIX_EPOCH);
                BillLine { line, of, amount, fee, at }
            };
            lines.into_iter().enumerate().map(line).collect()
        }
    }

    prop_compose! {
        fn books()(entries in prop::collection::btree_map(of(), amount(), 0..8)) -> Vec<Booked> {
            entries.into_iter().map(|(of, amount)| Booked { of, amount }).collect()
        }
    }

    proptest! {
        #[test]
        fn order_of_lines_does_not_matter(ours in books(), theirs in bill(), seed: u64) {
            let turned = |length: usize| if length == 0 { 0 } else { seed as usize % length };
            let (mut other_ours, mut other_theirs) = (ours.clone(), theirs.clone());
            other_ours.rotate_left(turned(ours.len()));
            other_theirs.rotate_left(turned(theirs.len()));
            other_theirs.reverse();
            prop_assert_eq!(Comparison::of(&ours, &theirs), Comparison::of(&other_ours, &other_theirs));
        }

        #[test]
        fn parts_add_up_to_the_whole(ours in books(), theirs in bill(), bound in 0_u8..7) {
            let is_early = |of: &Movement| of.payment < bound.to_string();
            let (a, b): (Vec<Booked>, Vec<Booked>) = ours.iter().cloned().partition(|entry| is_early(&entry.of));
            let (c, d): (Vec<BillLine>, Vec<BillLine>) = theirs.iter().cloned().partition(|line| is_early(&line.of));
            let mut parts = Comparison::of(&a, &c);
            parts.add(Comparison::of(&b, &d));
            prop_assert_eq!(Comparison::of(&ours, &theirs), parts);
        }

        /// What the bill has more than the books is what the differences say.
        #[test]
        fn differences_explain_the_sums(ours in books(), theirs in bill()) {
            let outcome = Comparison::of(&ours, &theirs);
            let sum = |amounts: Vec<Option<Money>>| {
                amounts.into_iter().flatten().filter(|amount| amount.currency == Currency::CNY).map(|sum| sum.amount).sum::<i64>()
            };
            let sums = &outcome.totals.sums;
            let more = sum(sums.iter().map(|sum| Some(sum.there)).collect()) - sum(sums.iter().map(|sum| Some(sum.here)).collect());
            let told = sum(outcome.differences.iter().map(|row| row.there).collect())
                - sum(outcome.differences.iter().map(|row| row.here).collect());
            prop_assert_eq!(more, told);
            prop_assert_eq!(sums.iter().map(|sum| sum.lines).sum::<i64>(), theirs.len() as i64);
        }

        #[test]
        fn same_lists_have_no_difference(ours in books()) {
            let line = |entry: &Booked| BillLine {
                line: format!("{:?}", entry.of), of: entry.of.clone(), amount: entry.amount,
                fee: Money { amount: 0, ..entry.amount }, at: Timestamp::UNIX_EPOCH,
            };
            let theirs: Vec<BillLine> = ours.iter().map(line).collect();
            prop_assert_eq!(Comparison::of(&ours, &theirs).differences, vec![]);
        }
    }

    #[test]
    fn each_kind_of_difference_is_told() {
        let of = |payment: u8| movement((payment, None));
        let ours = [1, 2, 3].map(|id| Booked { of: of(id), amount: money((100, true)) });
        let line = |number: u8, id: u8, amount: i64| BillLine {
            line: number.to_string(),
            of: of(id),
            amount: money((amount, true)),
            fee: money((1, true)),
            at: Timestamp::UNIX_EPOCH,
        };
        let outcome = Comparison::of(&ours, &[line(1, 1, 100), line(2, 1, 100), line(3, 3, 99), line(4, 4, 5)]);
        let told: Vec<_> = outcome.differences.iter().map(|row| (row.problem, row.line.as_str())).collect();
        assert_eq!(
            told,
            [
                (BillProblem::MissingHere, "2"),
                (BillProblem::MissingThere, ""),
                (BillProblem::AmountDiffers, "3"),
                (BillProblem::MissingHere, "4")
            ]
        );
        assert_eq!(outcome.totals.fees, [money((4, true))]);
    }
}
