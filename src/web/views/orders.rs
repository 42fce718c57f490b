//! A shopper's orders.

use askama::Template;
use jiff::Timestamp;

use super::review::{ReviewEvent, review_events};
use super::{AddressCard, AddressView, Chrome};
use crate::domain::hold::MAX_APPEAL_CHARS;
use crate::domain::order::OrderEvent;
use crate::domain::{ModeName, Money, Order, OrderHold, OrderId, OrderStatus, Picture, SaleId};
use crate::i18n::field_error;
use crate::pages::filters;
use crate::pages::onward::OnwardSale;
use crate::store::{PartialRefund, WALLET};
use crate::web::shared::order_search::parse_statuses;

/// One order in the list.
#[derive(Debug)]
pub struct OrderCard {
    pub order: Order,
    pub goods_name: String,
    pub picture: Option<Picture>,
    /// Whether the last attempt to pay was declined.
    pub payment_declined: bool,
}

impl OrderCard {
    fn is_unpaid(&self) -> bool {
        self.order.status == OrderStatus::Unpaid
    }
}

/// A shopper's orders, newest first.
#[derive(Debug, Template)]
#[template(path = "orders.html")]
pub struct OrdersPage {
    pub chrome: Chrome,
    pub orders: Vec<OrderCard>,
    /// A cursor for `?before=`; `None` on the last page.
    pub older: Option<String>,
    /// The statuses that are shown, as in the query; empty for all.
    pub filter: String,
    /// The statuses of all orders of the shopper; `None` for too many to count.
    pub counted: Option<Vec<OrderStatus>>,
    /// Sales that the shopper waits for, with the names of their goods.
    pub waits: Vec<(SaleId, String)>,
    /// Whether this is not the first page.
    pub is_later: bool,
    /// Whether a payment provider is on.
    pub online: bool,
    /// Where to go on, for a shopper without orders.
    pub onward: Vec<OnwardSale>,
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

    /// The number of orders behind a filter. `None` for no order, which needs no words.
    fn count_of(&self, filter: &str) -> Option<usize> {
        let wanted = parse_statuses(filter).unwrap_or_default();
        let counted = self.counted.as_ref()?;
        let count = counted.iter().filter(|status| wanted.is_empty() || wanted.contains(*status)).count();
        (count > 0).then_some(count)
    }

    fn is_current(&self, filter: &str) -> bool {
        self.filter == filter
    }

    fn is_filtered(&self) -> bool {
        !self.filter.is_empty()
    }
}

/// An order for its owner, also before it has reached the database.
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
    /// The shop's message when it ended the order.
    pub message: Option<String>,
    pub address: Option<AddressView>,
    /// When the time to pay began, and when it ends.
    pub payment_window: Option<(Timestamp, Timestamp)>,
    pub history: Vec<OrderEvent>,
    /// Whether the last attempt to pay was declined.
    pub payment_declined: bool,
    /// Oldest first.
    pub partial_refunds: Vec<PartialRefund>,
    /// Of its review. Oldest first.
    pub holds: Vec<OrderHold>,
}

/// The form of an appeal, as entered.
#[derive(Debug, Default)]
pub struct AppealFormState {
    pub text: String,
    /// The code of what is wrong with it.
    pub error: Option<&'static str>,
}

/// The page of one order.
#[derive(Debug, Template)]
#[template(path = "order.html")]
pub struct OrderPage {
    pub chrome: Chrome,
    pub order: OrderView,
    /// The shopper's default address, for an order that has none yet.
    pub proposed: Option<AddressCard>,
    /// What the shopper's wallet can pay with, if the order can be paid from it: its balance, and the deposit, which comes back.
    pub wallet: Option<Money>,
    /// The deposit that is set aside for the sale.
    pub deposit: Option<Money>,
    /// Whether a payment provider is on.
    pub online: bool,
    /// `None` for a sale that is gone.
    pub sale: Option<SaleOfOrder>,
    pub now: Timestamp,
    pub appeal: AppealFormState,
}

/// What the page of an order says about its sale.
#[derive(Debug)]
pub struct SaleOfOrder {
    pub mode: ModeName,
    /// Which order of the sale this is, where being early decides.
    pub number: Option<i64>,
    /// The units of a sale in which each order has one, so that the number counts units.
    pub total: Option<i64>,
    /// Whether the sale may still have units.
    pub goes_on: bool,
    /// Where to go on from an order that came to nothing or is paid.
    pub onward: Vec<OnwardSale>,
}

impl OrderPage {
    /// The headline of an order that holds its units.
    fn won(&self) -> &'static str {
        let t = &self.chrome.text().outcome;
        match self.sale.as_ref().map(|sale| sale.mode) {
            Some(ModeName::Draw) => t.won_draw,
            Some(ModeName::Queue) => t.won_queue,
            Some(ModeName::Rush) | None => t.won,
        }
    }

    /// What is left of the time to pay, in percent, until the script moves the ring.
    fn percent_left(&self, from: &Timestamp, until: &Timestamp) -> i64 {
        let (whole, left) =
            (until.as_millisecond() - from.as_millisecond(), until.as_millisecond() - self.now.as_millisecond());
        (100 * left.max(0) / whole.max(1)).min(100)
    }

    /// Whether the order came to nothing.
    fn is_lost(&self) -> bool {
        self.is(OrderStatus::Cancelled) || self.is(OrderStatus::Rejected)
    }

    /// Whether the shop sends what was bought.
    fn goes_out(&self) -> bool {
        self.is(OrderStatus::Paid) && self.hold().is_none()
    }

    fn onward_title(&self) -> &'static str {
        let t = &self.chrome.text().outcome;
        if self.is_lost() { t.onward } else { t.current }
    }

    fn onward(&self) -> &[OnwardSale] {
        self.sale.as_ref().map_or(&[], |sale| &sale.onward)
    }

    /// The hold that lasts.
    fn hold(&self) -> Option<&OrderHold> {
        self.order.holds.last().filter(|hold| hold.end.is_none() && self.order.status.is_live())
    }

    fn review_events(&self) -> Vec<ReviewEvent<'_>> {
        review_events(&self.chrome.text().review, &self.order.holds)
    }

    fn appeal_error(&self) -> Option<&'static str> {
        self.appeal.error.map(|code| field_error(self.chrome.locale, code))
    }

    fn is(&self, status: OrderStatus) -> bool {
        self.order.status == status
    }

    fn meaning(&self) -> &'static str {
        let t = self.chrome.text();
        match (self.hold(), self.order.status) {
            (Some(_), OrderStatus::Paid) => return t.review.means_paid,
            (Some(_), _) => return t.review.means_unpaid,
            (None, _) => {}
        }
        match self.order.reason.as_deref() {
            Some("by_shop") => t.status_means_by_shop(&self.order.status),
            _ => t.status_means(&self.order.status),
        }
    }

    fn is_refund(&self) -> bool {
        self.order.status == OrderStatus::RefundPending
    }

    /// As `Order::takes_address`.
    fn takes_address(&self) -> bool {
        self.is(OrderStatus::Unpaid) || (self.is(OrderStatus::Paid) && self.order.address.is_none())
    }

    fn reason(&self) -> Option<&'static str> {
        self.chrome.text().reason(self.order.reason.as_deref()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Currency, Locale, UserId};
    use crate::web::views::test_chrome;

    fn order(status: OrderStatus) -> Order {
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
            reserved_at: at(0),
            created_at: at(0),
            pay_by: at(900),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_000_000 + second).unwrap()
    }

    fn sale_of_order(status: OrderStatus) -> SaleOfOrder {
        let next = OnwardSale {
            sale: SaleId(9),
            goods_name: "Radio".into(),
            picture: None,
            price: Money::new(9_900, Currency::CNY),
            opens_at: None,
            mode: ModeName::Rush,
            sells: crate::pages::onward::Sells::OtherProduct,
        };
        let lost = matches!(status, OrderStatus::Cancelled | OrderStatus::Rejected);
        let onward = if lost { vec![next] } else { Vec::new() };
        SaleOfOrder { mode: ModeName::Rush, number: Some(37), total: Some(100), goes_on: true, onward }
    }

    fn view(status: OrderStatus, goods_name: &str) -> OrderView {
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
            payment_window: Some((order.created_at, order.pay_by)),
            history: vec![event(OrderStatus::Unpaid), event(status)],
            payment_declined: false,
            partial_refunds: Vec::new(),
            holds: Vec::new(),
        }
    }

    #[test]
    fn order_page_offers_the_actions_of_its_status() {
        for status in OrderStatus::ALL {
            let page = OrderPage {
                chrome: test_chrome(Locale::En, "/en/orders/7/x"),
                order: view(status, "Phone"),
                proposed: None,
                deposit: None,
                wallet: (status == OrderStatus::Unpaid).then(|| Money::new(399_799, Currency::CNY)),
                online: true,
                sale: Some(sale_of_order(status)),
                now: at(450),
                appeal: AppealFormState::default(),
            };
            let html = page.render().unwrap();
            let unpaid = status == OrderStatus::Unpaid;
            assert_eq!(html.contains("/pay\""), unpaid, "{status}");
            assert_eq!(html.contains("/cancel\""), unpaid, "{status}");
            assert!(html.contains("…<bdi>000000000001</bdi>"), "the number is as short as in the list: {html}");
            assert!(html.contains("<code>0198c0de-0000-7000-8000-000000000001</code>"), "and whole below: {html}");
            assert!(!html.contains("value=\"wallet\""), "the balance is one cent short");
            assert_eq!(html.contains("/en/wallet\">Top up"), unpaid, "{status}");
            assert_eq!(html.contains("http-equiv=\"refresh\""), status == OrderStatus::Reserved, "{status}");
            assert_eq!(html.contains("You got it!") && html.contains("No. 37</b> of 100"), unpaid, "{status}: {html}");
            assert_eq!(html.contains(r#"stroke-dasharray="50 100""#), unpaid, "{status}: half of the time is over");
            let lost = matches!(status, OrderStatus::Cancelled | OrderStatus::Rejected);
            assert_eq!(html.contains("id=\"deliver\""), !lost, "{status}: nothing is delivered");
            assert_eq!(html.contains("/en/sales/7/waitlist") && html.contains("/en/sales/9\""), lost, "{status}");
        }
    }

    #[test]
    fn order_page_escapes_names() {
        let hostile = "\"><script>alert(1)</script>";
        let (chrome, order) = (test_chrome(Locale::Zh, hostile), view(OrderStatus::Paid, hostile));
        let (appeal, sale) = (AppealFormState::default(), None);
        let page = OrderPage {
            chrome,
            order,
            proposed: None,
            wallet: None,
            deposit: None,
            online: true,
            sale,
            now: at(0),
            appeal,
        };
        assert_eq!(page.render().unwrap().matches("<script").count(), 1);
    }

    #[test]
    fn list_of_orders_links_orders_and_the_next_page() {
        let empty = OrdersPage {
            chrome: test_chrome(Locale::En, "/en/orders"),
            orders: vec![],
            older: None,
            filter: String::new(),
            counted: None,
            waits: vec![],
            is_later: false,
            online: true,
            onward: Vec::new(),
        };
        assert!(empty.render().unwrap().contains("No orders yet"));
        let card = OrderCard {
            order: order(OrderStatus::Paid),
            goods_name: "Phone".into(),
            picture: None,
            payment_declined: false,
        };
        let full = OrdersPage {
            chrome: test_chrome(Locale::En, "/en/orders"),
            orders: vec![card],
            older: Some("a&b".into()),
            filter: "paid\"><script>".into(),
            counted: Some(vec![OrderStatus::Paid, OrderStatus::Cancelled, OrderStatus::Rejected]),
            waits: vec![(SaleId(9), "Watch".into())],
            is_later: false,
            online: true,
            onward: Vec::new(),
        };
        let html = full.render().unwrap();
        assert!(html.contains("?before=a%26b&#38;status=paid%22") && html.matches("<script").count() == 1, "{html}");
        assert!(html.contains("/en/orders/7/0198c0de"));
        assert!(html.contains(r#"<a href="/en/sales/9/waitlist">Watch</a>"#), "{html}");
        let counts: Vec<_> = full.filters().iter().map(|(filter, _)| full.count_of(filter)).collect();
        assert_eq!(counts, [Some(3), None, Some(1), Some(2), None]);
        assert!(html.contains("…<bdi>000000000001</bdi>"), "a short number: {html}");
    }

    #[test]
    fn unpaid_row_counts_down_and_pays() {
        for status in OrderStatus::ALL {
            let card =
                OrderCard { order: order(status), goods_name: "Phone".into(), picture: None, payment_declined: false };
            let page = OrdersPage {
                chrome: test_chrome(Locale::En, "/en/orders"),
                orders: vec![card],
                older: None,
                filter: String::new(),
                counted: None,
                waits: vec![],
                is_later: false,
                online: true,
                onward: Vec::new(),
            };
            let html = page.render().unwrap();
            let unpaid = status == OrderStatus::Unpaid;
            assert_eq!(html.contains("/pay\""), unpaid, "{status}");
            assert_eq!(html.contains("data-pay-by="), unpaid, "{status}");
        }
    }
}
