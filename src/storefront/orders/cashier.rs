//! The page of the sandbox payment provider. It stands for the page of an external provider: it knows a payment by its
//! id and nothing about the shopper.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;

use domain::{Money, PaymentId};
use pages::{Chrome, filters};
use payments::{Sandbox, Settled};
use store::SandboxPayment;
use web::extract::{PathIds, State, Visitor, own_path, query_value};
use web::{Answer, Code, Problem, Shop, personal, see_other};

pub async fn show(State(shop): State<Arc<Shop>>, visitor: Visitor, PathIds(id): PathIds<PaymentId>) -> Answer {
    page(&shop, visitor, id, StatusCode::OK).await
}

async fn page(shop: &Shop, mut visitor: Visitor, id: PaymentId, status: StatusCode) -> Answer {
    let payment = payment(shop, id).await?;
    let requested = visitor.path.split_once('?').and_then(|(_, query)| query_value(query, "lang"));
    if requested.is_none()
        && let Some(locale) = payment.return_path.split('/').nth(1).and_then(|first| first.parse().ok())
    {
        visitor.locale = locale;
    }
    let is_open = payment.is_open(shop.store.now().await?);
    let state = match payment.status.as_str() {
        "open" if is_open => CashierState::Open,
        "open" => CashierState::Closed,
        "declined" => CashierState::Declined,
        _ => CashierState::Paid,
    };
    let page = CashierPage {
        chrome: visitor.chrome_at(format!("/sandbox/cashier/{id}")),
        payment_id: id,
        amount: payment.amount,
        order_path: payment.return_path,
        state,
    };
    personal(status, &page)
}

pub async fn pay(State(shop): State<Arc<Shop>>, visitor: Visitor, PathIds(id): PathIds<PaymentId>) -> Answer {
    let card = card(&visitor);
    settle(&shop, visitor, id, true, card.as_deref()).await
}

pub async fn decline(State(shop): State<Arc<Shop>>, visitor: Visitor, PathIds(id): PathIds<PaymentId>) -> Answer {
    settle(&shop, visitor, id, false, None).await
}

/// The last four digits of a card, if the payer chose one.
fn card(visitor: &Visitor) -> Option<String> {
    let (_, query) = visitor.path.split_once('?')?;
    let digits = query_value(query, "card")?;
    (digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

/// Settles the payment and returns the payer to the order. Settling again changes nothing. A payment that has ended is
/// refused with a page that says so.
async fn settle(shop: &Shop, visitor: Visitor, id: PaymentId, pay: bool, card: Option<&str>) -> Answer {
    let payment = payment(shop, id).await?;
    match sandbox(shop)?.settle(&payment, pay, card).await? {
        Settled::Now | Settled::Before => Ok(see_other(own_path(&payment.return_path).unwrap_or("/"))),
        Settled::Closed => page(shop, visitor, id, StatusCode::CONFLICT).await,
    }
}

async fn payment(shop: &Shop, id: PaymentId) -> Result<SandboxPayment, Problem> {
    sandbox(shop)?.payment(id).await?.ok_or(Code::NotFound.into())
}

/// The sandbox. Its pages are not there while it is off.
fn sandbox(shop: &Shop) -> Result<&Sandbox, Problem> {
    shop.sandbox.as_deref().ok_or(Code::NotFound.into())
}

/// The last digits of cards to choose from.
const CARDS: [&str; 2] = ["4242", "1881"];

/// A payment to confirm or decline.
#[derive(Debug, Template)]
#[template(path = "orders/cashier.html")]
struct CashierPage {
    chrome: Chrome,
    payment_id: PaymentId,
    amount: Money,
    order_path: String,
    state: CashierState,
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
