//! The page of the sandbox payment provider.

use askama::Template;

use super::Chrome;
use crate::domain::{Money, PaymentId};
use crate::pages::filters;

/// A payment to confirm or decline.
#[derive(Debug, Template)]
#[template(path = "cashier.html")]
pub struct CashierPage {
    pub chrome: Chrome,
    pub payment_id: PaymentId,
    pub amount: Money,
    pub order_path: String,
    /// Whether it was paid or declined; `None` while that is open.
    pub settled: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Currency, Locale};
    use crate::web::views::test_chrome;

    #[test]
    fn cashier_page_is_marked_as_a_test() {
        for (settled, forms) in [(None, true), (Some(true), false), (Some(false), false)] {
            let page = CashierPage {
                chrome: test_chrome(Locale::En, "/sandbox"),
                payment_id: "0198c0de-0000-7000-8000-000000000003".parse().unwrap(),
                amount: Money::new(399_800, Currency::CNY),
                order_path: "/en/orders/7/x".into(),
                settled,
            };
            let html = page.render().unwrap();
            assert!(html.contains("Test mode"));
            assert_eq!(html.contains("/decline\""), forms);
        }
    }
}
