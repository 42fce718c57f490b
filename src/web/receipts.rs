//! The receipt of a paid order, which prints on one sheet, for the order's owner and for staff.

use askama::Template;
use axum::http::StatusCode;
use boxed::boxed;
use jiff::Timestamp;

use crate::extract::Visitor;
use crate::{Answer, Code, Shop, goods_name_and_cover, personal};
use domain::invoice::Invoice;
use domain::staff::ShopPageName;
use domain::{Money, Order, PaymentStatus};
use pages::{Chrome, filters};
use store::{PaymentRecord, WALLET};

#[derive(Debug, Template)]
#[template(path = "orders/receipt.html")]
struct ReceiptPage {
    chrome: Chrome,
    /// What the shop's page about the seller says in this language, in Markdown.
    seller: String,
    order: Order,
    goods_name: String,
    /// The payments whose money came.
    payments: Vec<PaymentRecord>,
    invoice: Option<Invoice>,
    /// The path of the order's page.
    back: String,
}

impl ReceiptPage {
    fn unit_price(&self) -> Money {
        let goods = self.order.goods();
        Money { amount: goods.amount / i64::from(self.order.quantity.max(1)), ..goods }
    }

    /// What went back, and when; `None` while it is on its way.
    fn refunds(&self) -> Vec<(Money, Option<Timestamp>)> {
        let mut refunds = Vec::new();
        for record in &self.payments {
            let parts = record.partial_refunds.iter();
            refunds.extend(parts.map(|part| (part.amount, part.refunded_at)));
            let rest = record.payment.refundable();
            if record.payment.status != PaymentStatus::Captured && rest.amount > 0 {
                refunds.push((rest, record.refunded_at));
            }
        }
        refunds
    }

    /// What was paid and did not go back.
    fn rest(&self) -> Money {
        let paid: i64 = self.payments.iter().map(|record| record.payment.amount.amount).sum();
        let back: i64 = self.refunds().iter().map(|(refund, _)| refund.amount).sum();
        Money { amount: paid - back, ..self.order.amount }
    }
}

/// The page of an order and its invoice at `path`. An order that was never paid has no receipt.
#[boxed]
pub async fn page(
    shop: &Shop,
    visitor: &Visitor,
    (order, invoice): (Order, Option<Invoice>),
    path: &str,
    back: String,
) -> Answer {
    let mut payments = shop.store.payments().payments_of(order.id).await?;
    payments.retain(|record| {
        use PaymentStatus::{Captured, RefundPending, Refunded};
        record.captured_at.is_some() && matches!(record.payment.status, Captured | RefundPending | Refunded)
    });
    if payments.is_empty() {
        return Err(Code::NotFound.into());
    }
    let seller = shop.store.shop_pages().get(ShopPageName::Seller).await?;
    let entry = shop.catalogue.entry(order.sale_id).await?;
    let page = ReceiptPage {
        chrome: visitor.chrome_at(path.to_owned()),
        seller: seller.map(|page| page.text.get(visitor.locale).to_owned()).unwrap_or_default(),
        goods_name: goods_name_and_cover(entry.as_deref(), visitor.locale).0,
        invoice,
        payments,
        order,
        back,
    };
    personal(StatusCode::OK, &page)
}
