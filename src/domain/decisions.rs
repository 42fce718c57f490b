//! Shadow mode: what another shop decided about the units of a sale, compared with what this one would have decided.
//!
//! Each decision is compared on its own, with the units that the other shop really had left by then. So one wrong decision is
//! one difference, and does not shift all that follow.

use std::collections::HashMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Sale;
use crate::wire::wire_enum;

wire_enum! {
    /// What the other shop decided.
    pub enum Decided {
        /// The customer got the units.
        Sold = "sold",
        /// The customer got nothing.
        Refused = "refused",
        /// Units that were sold went back on sale.
        Released = "released",
    }
}

wire_enum! {
    /// What a reservation would have got here.
    pub enum Verdict {
        Sold = "sold",
        NotOpen = "not_open",
        Ended = "ended",
        AccountTooNew = "account_too_new",
        ContactNotVerified = "contact_not_verified",
        /// The customer has units of the sale already. Here a customer holds them once.
        HoldsUnits = "holds_units",
        OverLimit = "over_limit",
        SoldOut = "sold_out",
    }
}

/// One decision of the other shop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShopDecision {
    /// The other shop's own id of the decision: printable ASCII without spaces.
    #[schemars(length(min = 1, max = 64))]
    pub id: String,
    /// The other shop's own id of the customer.
    #[schemars(length(min = 1, max = 64))]
    pub shopper: String,
    #[schemars(range(min = 1, max = 1_000_000))]
    pub quantity: u32,
    pub decided: Decided,
    /// When it was decided there.
    pub at: Timestamp,
    /// What the other shop calls the order.
    #[schemars(length(min = 1, max = 100))]
    pub reference: Option<String>,
}

/// What this shop knows about a customer whom the other shop has named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedCustomer {
    pub since: Timestamp,
    pub is_verified: bool,
}

/// A decision that would have been another one here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    pub decision: ShopDecision,
    pub here: Verdict,
    /// Units that the other shop had left at that moment, by what it told.
    #[schemars(range(min = 0))]
    pub left: i64,
    /// How many of the units were sold beyond the stock.
    #[schemars(range(min = 0))]
    pub oversold: i64,
}

/// Sums over all decisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DecisionCounts {
    pub decisions: u64,
    /// Units that were sold there and did not go back.
    #[schemars(range(min = 0))]
    pub units_sold: i64,
    /// Decisions that sold there, and would not have sold here.
    pub refused_here: u64,
    /// Decisions that refused there, and would have sold here.
    pub refused_there: u64,
    /// Units that were sold there when none were left.
    #[schemars(range(min = 0))]
    pub oversold: i64,
}

/// Walks the decisions of a sale in the order of their time.
pub struct Comparison<'s> {
    sale: &'s Sale,
    /// Units that each customer got there.
    held: HashMap<String, i64>,
    pub counts: DecisionCounts,
}

impl Comparison<'_> {
    pub fn of(sale: &Sale) -> Comparison<'_> {
        Comparison { sale, held: HashMap::new(), counts: DecisionCounts::default() }
    }

    /// The next decision, and its customer if the other shop has named them. `None` if it would have been the same here.
    pub fn take(&mut self, decision: ShopDecision, customer: Option<NamedCustomer>) -> Option<Difference> {
        self.counts.decisions += 1;
        let quantity = i64::from(decision.quantity);
        if decision.decided == Decided::Released {
            self.counts.units_sold = (self.counts.units_sold - quantity).max(0);
            let rest = self.held.remove(&decision.shopper).unwrap_or_default() - quantity;
            if rest > 0 {
                self.held.insert(decision.shopper, rest);
            }
            return None;
        }
        let left = (self.sale.total - self.counts.units_sold).max(0);
        let here = self.verdict(&decision, customer, left);
        let mut oversold = 0;
        if decision.decided == Decided::Sold {
            oversold = (quantity - left).max(0);
            self.counts.oversold += oversold;
            self.counts.units_sold += quantity;
            *self.held.entry(decision.shopper.clone()).or_default() += quantity;
        }
        match (decision.decided, here) {
            (Decided::Sold, Verdict::Sold) => return None,
            (Decided::Sold, _) => self.counts.refused_here += 1,
            (_, Verdict::Sold) => self.counts.refused_there += 1,
            _ => return None,
        }
        Some(Difference { decision, here, left, oversold })
    }

    /// The rules in the order in which a reservation meets them.
    fn verdict(&self, decision: &ShopDecision, customer: Option<NamedCustomer>, left: i64) -> Verdict {
        let (window, rules) = (self.sale.window, self.sale.eligibility);
        let is_young = |customer: NamedCustomer| rules.accounts_before.is_some_and(|before| customer.since > before);
        let needs_contact = rules.verified_contact || rules.one_per_contact;
        let quantity = i64::from(decision.quantity);
        if window.closes_at.is_some_and(|closes| closes <= decision.at) {
            Verdict::Ended
        } else if window.opens_at.is_some_and(|opens| decision.at < opens) {
            Verdict::NotOpen
        } else if customer.is_some_and(is_young) {
            Verdict::AccountTooNew
        } else if customer.is_some_and(|customer| needs_contact && !customer.is_verified) {
            Verdict::ContactNotVerified
        } else if self.held.contains_key(&decision.shopper) {
            Verdict::HoldsUnits
        } else if quantity > self.sale.per_user_limit {
            Verdict::OverLimit
        } else if quantity > left {
            Verdict::SoldOut
        } else {
            Verdict::Sold
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Currency, EligibilityRules, GoodsId, Money, Rush, SaleId, SaleMode, SaleState, Window};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Open from second 100 to 200.
    fn sale(total: i64) -> Sale {
        Sale {
            id: SaleId(1),
            goods_id: GoodsId(1),
            price: Money::new(100, Currency::CNY),
            list_price: None,
            total,
            sold: 0,
            granted: 0,
            per_user_limit: 2,
            window: Window { opens_at: Some(at(100)), closes_at: Some(at(200)) },
            rush: Rush::default(),
            mode: SaleMode::Rush,
            eligibility: EligibilityRules::default(),
            state: SaleState::Draft,
            version: 1,
            epoch: 0,
            shadow: false,
            spread_seed: None,
        }
    }

    fn decision(n: i64, shopper: &str, quantity: u32, decided: Decided) -> ShopDecision {
        let reference = (decided == Decided::Sold).then(|| format!("order {n}"));
        ShopDecision { id: n.to_string(), shopper: shopper.to_owned(), quantity, decided, at: at(100 + n), reference }
    }

    /// Id, verdict, units left and oversold units of each difference.
    fn walk(sale: &Sale, decisions: Vec<ShopDecision>) -> (DecisionCounts, Vec<(String, &'static str, i64, i64)>) {
        let mut comparison = Comparison::of(sale);
        let found = decisions.into_iter().filter_map(|decision| comparison.take(decision, None));
        let found = found.map(|found| (found.decision.id, found.here.as_str(), found.left, found.oversold)).collect();
        (comparison.counts, found)
    }

    #[test]
    fn shop_without_a_stock_check_has_ten_orders_beyond_the_stock() {
        let sold = (0..60).map(|n| decision(n, &format!("customer {n}"), 1, Decided::Sold)).collect();
        let (counts, found) = walk(&sale(50), sold);
        let expected =
            DecisionCounts { decisions: 60, units_sold: 60, refused_here: 10, refused_there: 0, oversold: 10 };
        assert_eq!(counts, expected);
        assert_eq!(found, (50..60).map(|n| (n.to_string(), "sold_out", 0, 1)).collect::<Vec<_>>());
    }

    #[test]
    fn shop_that_decides_alike_has_no_differences() {
        use Decided::*;
        let all = vec![
            decision(-1, "early", 1, Refused),
            decision(0, "a", 2, Sold),
            decision(1, "b", 3, Refused),
            decision(2, "a", 1, Refused),
            decision(3, "c", 1, Sold),
            decision(4, "d", 1, Refused),
            decision(5, "a", 2, Released),
            decision(6, "d", 2, Sold),
            decision(100, "late", 1, Refused),
        ];
        let (counts, found) = walk(&sale(3), all);
        assert_eq!(found, []);
        assert_eq!(counts, DecisionCounts { decisions: 9, units_sold: 3, ..DecisionCounts::default() });
    }

    #[test]
    fn each_decision_is_compared_with_what_was_really_left() {
        use Decided::*;
        let all = vec![
            decision(-1, "early", 1, Sold),
            // Refused although two of three are left; the units stay.
            decision(1, "a", 2, Refused),
            decision(2, "early", 1, Sold),
            decision(3, "b", 3, Sold),
            decision(100, "late", 1, Sold),
        ];
        let (counts, found) = walk(&sale(3), all);
        let found: Vec<_> =
            found.iter().map(|(id, here, left, oversold)| (id.as_str(), *here, *left, *oversold)).collect();
        let expected = [
            ("-1", "not_open", 3, 0),
            ("1", "sold", 2, 0),
            ("2", "holds_units", 2, 0),
            ("3", "over_limit", 1, 2),
            ("100", "ended", 0, 1),
        ];
        assert_eq!(found, expected);
        assert_eq!((counts.refused_here, counts.refused_there, counts.oversold), (4, 1, 3));
    }

    #[test]
    fn rules_about_accounts_count_for_customers_who_were_named() {
        let rules = EligibilityRules { accounts_before: Some(at(50)), verified_contact: true, ..Default::default() };
        let sale = Sale { eligibility: rules, ..sale(9) };
        let mut comparison = Comparison::of(&sale);
        let mut here = |n, customer| {
            let found = comparison.take(decision(n, &n.to_string(), 1, Decided::Sold), customer);
            found.map(|found| found.here)
        };
        let named = |since, is_verified| Some(NamedCustomer { since: at(since), is_verified });
        assert_eq!(here(1, named(51, true)), Some(Verdict::AccountTooNew));
        assert_eq!(here(2, named(50, false)), Some(Verdict::ContactNotVerified));
        assert_eq!((here(3, named(50, true)), here(4, None)), (None, None));
    }

    #[test]
    fn units_that_go_back_are_sold_again_and_never_more_than_were_sold() {
        use Decided::*;
        let all = vec![
            decision(1, "a", 1, Sold),
            decision(2, "a", 5, Released),
            decision(3, "b", 1, Released),
            decision(4, "a", 1, Sold),
            decision(5, "b", 1, Sold),
        ];
        let (counts, found) = walk(&sale(1), all);
        assert_eq!(found, [("5".to_owned(), "sold_out", 0, 1)]);
        assert_eq!((counts.units_sold, counts.oversold), (2, 1));
    }
}
