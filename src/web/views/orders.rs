//! Signing in, a shopper's orders, and the test cashier.

use askama::Template;
use jiff::Timestamp;

use super::{AddressCard, AddressView, Chrome};
use crate::domain::order::OrderEvent;
use crate::domain::{Money, Order, OrderId, OrderStatus, PaymentId, Picture, SaleId};
use crate::i18n::problem;
use crate::pages::filters;

/// Logging in, or making an account.
#[derive(Debug, Template)]
#[template(path = "sign_in.html")]
pub struct SignInPage {
    pub chrome: Chrome,
    pub register: bool,
    /// As typed before, so that it is not lost.
    pub username: String,
    /// Where to go afterwards, a path of ours; empty for the list.
    pub next: String,
    /// A problem code.
    pub error: Option<&'static str>,
}

impl SignInPage {
    fn complaint(&self) -> Option<&'static str> {
        self.error.map(|code| problem(code).text(self.chrome.locale))
    }
}

/// One order in the list.
#[derive(Debug)]
pub struct OrderCard {
    pub order: Order,
    pub goods_name: String,
    pub picture: Option<Picture>,
}

/// A shopper's orders, newest first.
#[derive(Debug, Template)]
#[template(path = "orders.html")]
pub struct OrdersPage {
    pub chrome: Chrome,
    pub orders: Vec<OrderCard>,
    /// A cursor for `?before=`; `None` on the last page.
    pub older: Option<String>,
    /// The statuses that are shown, as in the address; empty for all.
    pub filter: String,
    /// Whether there are newer ones than on this page.
    pub is_later: bool,
}

impl OrdersPage {
    fn filters(&self) -> [(&'static str, &'static str); 5] {
        let t = &self.chrome.text().orders;
        [
            ("", t.filter_all),
            ("unpaid", t.filter_unpaid),
            ("paid", t.filter_paid),
            ("cancelled,rejected", t.filter_ended),
            ("refund_pending,refunded", t.filter_refunds),
        ]
    }

    fn is_current(&self, filter: &str) -> bool {
        self.filter == filter
    }

    fn is_filtered(&self) -> bool {
        !self.filter.is_empty()
    }
}

/// An order as its owner sees it, also while it is still on its way to the database.
#[derive(Debug)]
pub struct OrderView {
    pub id: OrderId,
    pub sale_id: SaleId,
    pub goods_name: String,
    pub picture: Option<Picture>,
    pub quantity: u32,
    pub amount: Money,
    pub status: OrderStatus,
    pub reason: Option<String>,
    /// What the shop said when it ended the order.
    pub message: Option<String>,
    pub address: Option<AddressView>,
    pub pay_by: Option<Timestamp>,
    pub history: Vec<OrderEvent>,
}

/// One order.
#[derive(Debug, Template)]
#[template(path = "order.html")]
pub struct OrderPage {
    pub chrome: Chrome,
    pub order: OrderView,
    /// The shopper's default address, for an order that has none yet.
    pub proposed: Option<AddressCard>,
    /// What the shopper's wallet holds, if the order can be paid from it.
    pub wallet: Option<Money>,
}

impl OrderPage {
    fn is(&self, status: OrderStatus) -> bool {
        self.order.status == status
    }

    fn meaning(&self) -> &'static str {
        let t = self.chrome.text();
        match self.order.reason.as_deref() {
            Some("by_shop") => t.status_means_by_shop(&self.order.status),
            _ => t.status_means(&self.order.status),
        }
    }

    fn is_refund(&self) -> bool {
        self.order.status == OrderStatus::RefundPending
    }

    fn reason(&self) -> Option<&'static str> {
        self.chrome.text().reason(self.order.reason.as_deref()?)
    }
}

/// The sandbox payment provider's page.
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
pub(in crate::web) mod tests {
    use super::*;
    use crate::domain::{Currency, Locale, UserId};

    pub fn chrome(locale: Locale, path: &str) -> Chrome {
        Chrome { locale, path: path.into(), username: Some("mei".into()), role: crate::store::Role::User }
    }

    pub fn order(status: OrderStatus) -> Order {
        let at = Timestamp::from_second(1_795_000_000).unwrap();
        Order {
            id: "0198c0de-0000-7000-8000-000000000001".parse().unwrap(),
            sale_id: SaleId(7),
            user_id: UserId("0198c0de-0000-7000-8000-000000000002".parse().unwrap()),
            quantity: 2,
            amount: Money::new(399_800, Currency::CNY),
            status,
            reason: Some("unpaid".into()),
            message: None,
            address: None,
            reserved_at: at,
            created_at: at,
            pay_by: at,
        }
    }

    pub fn view(status: OrderStatus, goods_name: &str) -> OrderView {
        let order = order(status);
        let event = |status| OrderEvent { at: order.created_at, status };
        OrderView {
            id: order.id,
            sale_id: order.sale_id,
            goods_name: goods_name.into(),
            picture: Some(Picture::drawing("phone.svg")),
            quantity: order.quantity,
            amount: order.amount,
            status,
            reason: order.reason,
            message: Some(goods_name.into()),
            address: None,
            pay_by: Some(order.pay_by),
            history: vec![event(OrderStatus::Unpaid), event(status)],
        }
    }

    #[test]
    fn an_order_offers_what_its_status_allows() {
        for status in OrderStatus::ALL {
            let page = OrderPage {
                chrome: chrome(Locale::En, "/en/orders/7/x"),
                order: view(status, "Phone"),
                proposed: None,
                wallet: (status == OrderStatus::Unpaid).then(|| Money::new(399_799, Currency::CNY)),
            };
            let html = page.render().unwrap();
            let unpaid = status == OrderStatus::Unpaid;
            assert_eq!(html.contains("/pay\""), unpaid, "{status}");
            assert_eq!(html.contains("/cancel\""), unpaid, "{status}");
            assert!(!html.contains("value=\"wallet\""), "one cent is missing");
            assert_eq!(html.contains("/en/wallet\">Top up"), unpaid, "{status}");
            assert_eq!(html.contains("http-equiv=\"refresh\""), status == OrderStatus::Reserved, "{status}");
        }
    }

    #[test]
    fn what_was_typed_is_kept_and_harmless() {
        let evil = "\"><script>alert(1)</script>";
        let page = SignInPage {
            chrome: chrome(Locale::Zh, "/zh/login"),
            register: false,
            username: evil.into(),
            next: evil.into(),
            error: Some("bad_credentials"),
        };
        let html = page.render().unwrap();
        assert_eq!(html.matches("<script").count(), 1);
        assert!(html.contains("alert(1)") && html.contains("用户名或密码不正确"));
        let (chrome, order) = (chrome(Locale::Zh, evil), view(OrderStatus::Paid, evil));
        let order = OrderPage { chrome, order, proposed: None, wallet: None };
        assert_eq!(order.render().unwrap().matches("<script").count(), 1);
    }

    #[test]
    fn the_list_of_orders_leads_somewhere_even_when_empty() {
        let empty = OrdersPage {
            chrome: chrome(Locale::En, "/en/orders"),
            orders: vec![],
            older: None,
            filter: String::new(),
            is_later: false,
        };
        assert!(empty.render().unwrap().contains("No orders yet"));
        let card = OrderCard { order: order(OrderStatus::Paid), goods_name: "Phone".into(), picture: None };
        let full = OrdersPage {
            chrome: chrome(Locale::En, "/en/orders"),
            orders: vec![card],
            older: Some("a&b".into()),
            filter: "paid\"><script>".into(),
            is_later: false,
        };
        let html = full.render().unwrap();
        assert!(html.contains("?before=a%26b&#38;status=paid%22") && html.matches("<script").count() == 1, "{html}");
        assert!(html.contains("/en/orders/7/0198c0de"));
    }

    #[test]
    fn the_cashier_says_that_it_is_a_test() {
        for (settled, forms) in [(None, true), (Some(true), false), (Some(false), false)] {
            let page = CashierPage {
                chrome: chrome(Locale::En, "/sandbox"),
                payment_id: "0198c0de-0000-7000-8000-000000000003".parse().unwrap(),
                amount: Money::new(399_800, Currency::CNY),
                order_path: "/en/orders/7/x".into(),
                settled,
            };
            let html = page.render().unwrap();
            assert!(html.contains("This is a test"));
            assert_eq!(html.contains("/decline\""), forms);
        }
    }
}
