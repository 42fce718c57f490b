//! The page of the sandbox payment provider.

use askama::Template;

use domain::{Money, PaymentId};
use pages::filters;
use web::views::Chrome;

/// The last digits of cards to choose from.
const CARDS: [&str; 2] = ["4242", "1881"];

/// A payment to confirm or decline.
#[derive(Debug, Template)]
#[template(path = "orders/cashier.html")]
pub struct CashierPage {
    pub chrome: Chrome,
    pub payment_id: PaymentId,
    pub amount: Money,
    pub order_path: String,
    pub state: CashierState,
}

/// What the payer can still do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CashierState {
    Open,
    Paid,
    Declined,
    /// The payment has expired or was closed.
    Closed,
}

impl CashierPage {
    fn is_open(&self) -> bool {
        self.state == CashierState::Open
    }

    /// The result of the payment in words, and whether it is good.
    fn outcome(&self) -> Option<(&'static str, bool)> {
        let t = &self.chrome.text().account;
        match self.state {
            CashierState::Open => None,
            CashierState::Paid => Some((t.cashier_settled, true)),
            CashierState::Declined => Some((t.cashier_declined, false)),
            CashierState::Closed => Some((t.cashier_closed, false)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Currency, Locale};
    use web::views::test_chrome;

    #[test]
    fn cashier_page_is_marked_as_a_test() {
        use CashierState::*;
        for (state, forms) in [(Open, true), (Paid, false), (Declined, false), (Closed, false)] {
            let page = CashierPage {
                chrome: test_chrome(Locale::En, "/sandbox"),
                payment_id: "0198c0de-0000-7000-8000-000000000003".parse().unwrap(),
                amount: Money::new(399_800, Currency::CNY),
                order_path: "/en/orders/7/x".into(),
                state,
            };
            let html = page.render().unwrap();
            assert!(html.contains("Test mode"));
            assert_eq!(html.contains("/decline\""), forms);
        }
    }
}
