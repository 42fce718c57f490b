//! Sales that stand in front of another shop: where its shoppers come from and go back to, what it reserves for them, and
//! what it decided by itself in shadow mode.

use std::collections::HashMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::order::OrderStatus;
use crate::wire::wire_enum;
use crate::{Order, Sale};

const MAX_ADDRESSES: usize = 20;
const MAX_ADDRESS_CHARS: usize = 500;
/// The longest address to go back to, in characters. A cookie keeps it.
const MAX_RETURN_CHARS: usize = 2_000;

/// How a sale stands in front of another shop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaleFront {
    /// Addresses of the other shop, such as `https://shop.example/drop`. A shopper may go back to an address that
    /// begins with one of these, as whole segments of its path.
    #[schemars(length(min = 1, max = 20), inner(length(max = 500)))]
    pub return_addresses: Vec<String>,
    /// Whether visitors whom the other shop does not name may take a place. Then one person may hold many places.
    #[serde(default)]
    pub anonymous: bool,
    /// Whether a pass lets its holder in again until it expires, instead of once.
    #[serde(default)]
    pub reusable: bool,
}

impl SaleFront {
    /// Field and code of each mistake.
    pub fn mistakes(&self) -> Vec<(&'static str, &'static str)> {
        let addresses = &self.return_addresses;
        let code = match addresses.len() {
            0 => Some("required"),
            n if n > MAX_ADDRESSES => Some("too_long"),
            _ if addresses.iter().any(|address| !is_registrable(address)) => Some("bad_return_address"),
            _ => None,
        };
        code.map(|code| ("return_addresses", code)).into_iter().collect()
    }

    /// The origins of the other shop, as browsers send them.
    pub fn origins(&self) -> impl Iterator<Item = String> {
        self.return_addresses.iter().filter_map(|address| Some(parsed(address)?.origin().ascii_serialization()))
    }

    /// The address, as a browser understands it, if shoppers may go there.
    pub fn allowed(&self, address: &str) -> Option<Url> {
        let url = parsed(address)?;
        let mut registered = self.return_addresses.iter().filter_map(|address| parsed(address));
        registered.any(|base| base.origin() == url.origin() && is_below(base.path(), url.path())).then_some(url)
    }
}

/// An address without a name or password in it. The parser resolves `..` and backslashes as browsers do.
fn parsed(address: &str) -> Option<Url> {
    let url = Url::parse(address).ok().filter(|_| address.chars().count() <= MAX_RETURN_CHARS)?;
    let is_web = matches!(url.scheme(), "https" | "http") && url.host_str().is_some();
    (is_web && url.username().is_empty() && url.password().is_none()).then_some(url)
}

/// Passes must not travel in the clear, except to a shop on the same machine.
fn is_registrable(address: &str) -> bool {
    let Some(url) = parsed(address).filter(|_| address.chars().count() <= MAX_ADDRESS_CHARS) else { return false };
    let is_local = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    (url.scheme() == "https" || is_local) && url.query().is_none() && url.fragment().is_none()
}

fn is_below(base: &str, path: &str) -> bool {
    let rest = path.strip_prefix(base.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

// A reservation: an order of another shop's customer, as that shop sees it.

wire_enum! {
    /// Where a reservation is. It follows from its order.
    pub enum ReservationStatus {
        /// The units are held, until `expires_at` at least.
        Held = "held",
        /// The other shop has the money, and the units are sold.
        Confirmed = "confirmed",
        /// Released by the other shop, cancelled by its customer, or ended by the staff here.
        Released = "released",
        /// Neither confirmed nor released in time.
        Expired = "expired",
        /// The units were not there after all.
        Rejected = "rejected",
    }
}

/// An order of another shop's customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalReservation {
    pub order: Order,
    /// The other shop's own id of the customer.
    pub shopper: String,
    /// What the other shop calls the order, once it is confirmed.
    pub reference: Option<String>,
}

impl ExternalReservation {
    pub fn status(&self) -> ReservationStatus {
        let is_unpaid = self.order.reason.as_deref() == Some("unpaid");
        match self.order.status {
            // Also when its time is over: until the expiry has come, a confirmation from before may still win.
            OrderStatus::Reserved | OrderStatus::Unpaid => ReservationStatus::Held,
            OrderStatus::Paid => ReservationStatus::Confirmed,
            OrderStatus::Rejected => ReservationStatus::Rejected,
            // A payment of ours that came too late goes back.
            OrderStatus::Cancelled | OrderStatus::RefundPending | OrderStatus::Refunded if is_unpaid => {
                ReservationStatus::Expired
            }
            OrderStatus::Cancelled | OrderStatus::RefundPending | OrderStatus::Refunded => ReservationStatus::Released,
        }
    }
}

// Shadow mode: what another shop decided about the units of a sale, compared with what this one would have decided.
//
// Each decision is compared on its own, with the units that the other shop really had left by then. So one wrong decision is
// one difference, and does not shift all that follow.

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

    fn front(addresses: &[&str]) -> SaleFront {
        SaleFront { return_addresses: addresses.iter().map(|&a| a.to_owned()).collect(), ..SaleFront::default() }
    }

    #[test]
    fn shoppers_go_back_only_below_a_registered_address() {
        let front = front(&["https://shop.example/drop", "http://127.0.0.1:9000/"]);
        for allowed in [
            "https://shop.example/drop",
            "https://shop.example/drop/?size=42",
            "https://SHOP.example:443/drop/a/../b",
            "http://127.0.0.1:9000/any",
        ] {
            assert!(front.allowed(allowed).is_some(), "{allowed}");
        }
        let refused = "https://shop.example/dropped https://shop.example/drop/../account \
            https://shop.example/drop/%2e%2e/account http://shop.example/drop https://shop.example:8443/drop \
            https://shop.example.evil.example/drop https://shop.example@evil.example/drop \
            https://evil.example/https://shop.example/drop //shop.example/drop \
            javascript:alert(1)//https://shop.example/drop /drop";
        for refused in refused.split(' ').chain(["https:\\\\evil.example\\drop", ""]) {
            assert_eq!(front.allowed(refused), None, "{refused}");
        }
    }

    #[test]
    fn addresses_are_of_a_shop_on_https_or_on_this_machine() {
        assert_eq!(front(&["https://shop.example", "http://localhost:3000/a"]).mistakes(), []);
        assert_eq!(front(&[]).mistakes(), [("return_addresses", "required")]);
        let wrong = ["http://shop.example", "https://a:b@shop.example", "https://shop.example/?a=1", "ftp://x", "shop"];
        for address in wrong {
            assert_eq!(front(&[address]).mistakes(), [("return_addresses", "bad_return_address")], "{address}");
        }
        assert_eq!(front(&["https://shop.example"; 21]).mistakes(), [("return_addresses", "too_long")]);
    }

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
