//! Pages of orders from samples.

use crate::orders::invoice::InvoiceFormState;
use crate::orders::returns::ReturnForm;
use crate::orders::view::*;
use domain::{Currency, GoodsId, Locale, UserId};
use web::views::test_chrome;

fn order(status: OrderStatus) -> Order {
    Order {
        id: "0198c0de-0000-7000-8000-000000000001".parse().unwrap(),
        number: Some(domain::OrderNumber::new(20_261_128, 137)),
        sale_id: SaleId(7),
        user_id: UserId("0198c0de-0000-7000-8000-000000000002".parse().unwrap()),
        quantity: 2,
        amount: Money::new(399_800, Currency::CNY),
        shipping: Money::new(0, Currency::CNY),
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
        product: GoodsId(9),
        goods_name: "Radio".into(),
        picture: None,
        price: Money::new(9_900, Currency::CNY),
        opens_at: None,
        mode: ModeName::Rush,
        sells: pages::onward::Sells::OtherProduct,
        is_spare: false,
    };
    let lost = matches!(status, OrderStatus::Cancelled | OrderStatus::Rejected);
    let onward = if lost { vec![next] } else { Vec::new() };
    SaleOfOrder { mode: ModeName::Rush, number: Some(37), total: Some(100), goes_on: true, onward }
}

/// The page of an order at a second, about goods of this name.
fn page(status: OrderStatus, goods_name: &str, second: i64) -> OrderPage {
    let order = order(status);
    let event = |status| OrderEvent { at: order.created_at, status };
    let facts = OrderFacts {
        goods_name: goods_name.into(),
        picture: Some(Picture::drawing("phone-640.webp")),
        history: vec![event(OrderStatus::Unpaid), event(status)],
        ..OrderFacts::default()
    };
    OrderPage {
        chrome: test_chrome(Locale::En, "/en/orders/7/x"),
        order,
        facts,
        charges: false,
        proposed: None,
        wallet: None,
        deposit: None,
        offers: vec!["sandbox"],
        needs_other_browser: false,
        elsewhere: None,
        sale: Some(sale_of_order(status)),
        now: at(second),
        appeal: AppealFormState::default(),
        invoice: InvoiceFormState::default(),
        return_form: ReturnForm::default(),
    }
}

#[test]
fn order_page_offers_the_actions_of_its_status() {
    for status in OrderStatus::ALL {
        let wallet = (status == OrderStatus::Unpaid).then(|| Money::new(399_799, Currency::CNY));
        let page = OrderPage { wallet, ..page(status, "Phone", 450) };
        let html = page.render().unwrap();
        let unpaid = status == OrderStatus::Unpaid;
        assert_eq!(html.contains("/pay\""), unpaid, "{status}");
        assert_eq!(html.contains("/cancel\""), unpaid, "{status}");
        assert!(html.contains("<bdi>20261128-000137</bdi>"), "the number for people: {html}");
        assert!(!html.contains("value=\"wallet\""), "the balance is one cent short");
        assert!(!html.contains("/en/wallet\">Top up") && !html.contains("doesn’t cover"), "nobody is told to top up");
        assert_eq!(
            html.contains("It’s yours!") && html.contains("<ol class=\"stations\">"),
            status == OrderStatus::Paid,
            "{status}"
        );
        assert_eq!(
            html.contains("<section class=\"win\""),
            matches!(status, OrderStatus::Unpaid | OrderStatus::Paid),
            "{status}"
        );
        assert_eq!(html.contains("http-equiv=\"refresh\""), status == OrderStatus::Reserved, "{status}");
        assert_eq!(html.contains("id=\"won\">You got it!"), unpaid, "{status}: {html}");
        assert_eq!(html.contains(r#"stroke-dasharray="50 100""#), unpaid, "{status}: half of the time is over");
        let lost = matches!(status, OrderStatus::Cancelled | OrderStatus::Rejected);
        assert_eq!(html.contains("id=\"deliver\""), !lost, "{status}: nothing is delivered");
        assert_eq!(html.contains("/en/sales/7/waitlist") && html.contains("/en/sales/9\""), lost, "{status}");
    }
}

/// The page of a paid order at a time.
fn paid_page(second: i64, has_address: bool, parcel: Option<Parcel>) -> String {
    let mut page = page(OrderStatus::Paid, "Phone", second);
    page.chrome.present = words::Present::At(at(second));
    page.order.address = has_address.then(Box::default);
    page.facts.parcel = parcel;
    page.render().unwrap()
}

#[test]
fn paid_order_says_when_it_is_sent_until_it_is() {
    let day = 24 * 3600;
    let parcel = |state| {
        let step = domain::parcel::ParcelStep { at: at(0), state, label: Default::default(), actor: None };
        Parcel::of(vec![step])
    };
    let (promised, late) = ("Ships by Nov 20", "This should have shipped by Nov 20");
    assert!(paid_page(2 * day, true, None).contains(promised), "the last day");
    assert!(paid_page(0, true, parcel(ParcelState::Packed)).contains(promised));
    let missed = paid_page(3 * day, true, None);
    assert!(missed.contains(late) && !missed.contains(promised), "{missed}");
    let sent = paid_page(3 * day, true, parcel(ParcelState::Shipped));
    assert!(!sent.contains(late) && sent.contains("on its way to your address"), "{sent}");
    assert!(!paid_page(0, false, None).contains(promised), "nobody knows where to");
}

#[test]
fn order_page_escapes_names() {
    let hostile = "\"><script>alert(1)</script>";
    let mut page = OrderPage { sale: None, ..page(OrderStatus::Paid, hostile, 0) };
    page.chrome = test_chrome(Locale::Zh, hostile);
    page.order.message = Some(hostile.into());
    assert_eq!(page.render().unwrap().matches("<script").count(), 2, "its own scripts only");
}

/// The list with one order of each of these statuses.
fn list(statuses: &[OrderStatus]) -> OrdersPage {
    let card = |status: &OrderStatus| OrderCard {
        goes_out_since: None,
        order: order(*status),
        goods_name: "Phone".into(),
        picture: None,
        payment_declined: false,
        parcel: None,
    };
    OrdersPage {
        chrome: test_chrome(Locale::En, "/en/orders"),
        orders: statuses.iter().map(card).collect(),
        older: None,
        filter: String::new(),
        counted: None,
        waits: vec![],
        is_later: false,
        online: true,
        onward: Vec::new(),
    }
}

#[test]
fn list_of_orders_links_orders_and_the_next_page() {
    assert!(list(&[]).render().unwrap().contains("No orders yet"));
    let full = OrdersPage {
        older: Some("a&b".into()),
        filter: "paid\"><script>".into(),
        counted: Some(vec![OrderStatus::Paid, OrderStatus::Cancelled, OrderStatus::Rejected]),
        waits: vec![(SaleId(9), "Watch".into())],
        ..list(&[OrderStatus::Paid])
    };
    let html = full.render().unwrap();
    assert!(html.contains("?before=a%26b&#38;status=paid%22") && html.matches("<script").count() == 1, "{html}");
    assert!(html.contains("/en/orders/7/0198c0de"));
    assert!(html.contains(r#"<a href="/en/sales/9/waitlist">Watch</a>"#), "{html}");
    let counts: Vec<_> = full.filters().iter().map(|(filter, _)| full.count_of(filter)).collect();
    assert_eq!(counts, [Some(3), None, Some(1), Some(2), None]);
    assert!(html.contains("<bdi>20261128-000137</bdi>"), "the number for people: {html}");
}

#[test]
fn unpaid_row_counts_down_and_pays() {
    for status in OrderStatus::ALL {
        let html = list(&[status]).render().unwrap();
        let unpaid = status == OrderStatus::Unpaid;
        assert_eq!(html.contains("/pay\""), unpaid, "{status}");
        assert_eq!(html.contains("data-pay-by="), unpaid, "{status}");
    }
}
