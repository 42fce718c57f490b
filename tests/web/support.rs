//! Orders for support: search, cancellation, refund, export.

use std::collections::HashSet;

use futures::future::join_all;
use jiff::Timestamp;
use uuid::Uuid;

use super::own_payments::any_provider;
use super::*;
use domain::{Order, OrderId, OrderStatus, RefundId, Reservation, SaleId, UserId};
use orders::OrderRefusal;
use orders::support::StaffActionOutcome;
use payments::staff_refunds::{RefundAnswer, StaffRefunds};
use store::{AuditReason, StaffAction, StaffRefund, Store};

/// Captures a started payment.
pub async fn pay(shop: &TestShop, checkout: &Value) {
    let payment: PaymentId = checkout["payment"]["id"].as_str().unwrap().parse().unwrap();
    let captured = shop.make_payment(payment).await;
    assert!(matches!(captured, CaptureOutcome::Paid(_) | CaptureOutcome::AlreadyApplied), "{captured:?}");
}

/// Buys; returns the order's id and status URL.
pub async fn bought(who: &TestClient<'_>, sale: &str, quantity: i64) -> (String, String) {
    let receipt = who.buy(sale, quantity).await.json();
    let [order, url] = [&receipt["order"]["id"], &receipt["status_url"]].map(|text| text.as_str().unwrap().to_owned());
    (order, url)
}

/// The same, and pays.
pub async fn paid_order(shop: &TestShop, who: &TestClient<'_>, sale: &str) -> (String, String) {
    let (order, url) = bought(who, sale, 1).await;
    pay(shop, &who.post(&format!("{url}/payments"), json!({})).await.json()).await;
    (order, url)
}

/// The same, with the address that its parcel needs.
pub async fn sendable_order(shop: &TestShop, who: &TestClient<'_>, sale: &str) -> (String, String) {
    let (order, url) = paid_order(shop, who, sale).await;
    add_address(who, &url).await;
    (order, url)
}

/// Adds a delivery address to the order.
pub async fn add_address(who: &TestClient<'_>, url: &str) {
    let address = json!({"address": {"recipient": "王小美", "phone": "13800138000", "country": "CN", "region": "上海市",
        "city": "上海市", "line1": "世纪大道 100 号"}});
    assert_eq!(who.put(&format!("{url}/address"), address).await.status, 200);
}

/// A form of a case that stands on a later page of its list is refused with what was entered.
pub async fn assert_later_form_keeps_its_entry(staff: &TestClient<'_>, list: &str, action: &str) {
    assert!(!staff.get(list).await.text().contains(action), "on a later page");
    let refused = staff.send_form(action, "reason=two+words").await;
    let kept = refused.text().contains(action) && refused.text().contains(">\ntwo words</textarea>");
    assert!(refused.is_page(422) && kept, "{refused:?}");
}

pub async fn assert_audit_finds_nothing(shop: &TestShop) {
    for check in shop.parts.audit().check_once().await.unwrap() {
        assert!(check.violations.is_empty(), "{}: {:?}", check.promise, check.violations);
    }
}

impl TestShop {
    /// Cancels overdue orders and releases their units, as data control does each second.
    pub async fn expire(&self) {
        let expiry = self.parts.expiry();
        expiry.cancel_overdue().await.unwrap();
        expiry.release().await.unwrap();
    }
}

impl TestClient<'_> {
    /// Asks for the refund of an order, as staff.
    pub async fn refund(&self, order: &str) -> TestResponse {
        self.post(&format!("/api/admin/orders/{order}/refund"), json!({"reason": "sent back"})).await
    }
}

/// The statuses of two answers to requests that were sent at once, in ascending order.
pub fn sorted(one: &TestResponse, two: &TestResponse) -> [u16; 2] {
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    statuses
}

#[tokio::test]
async fn refund_returns_money_and_units_once() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (order, url) = paid_order(&shop, &mei, &sale).await;
    let at = |verb: &str| format!("/api/admin/orders/{order}/{verb}");
    assert_eq!(admin.post(&at("cancel"), json!({"reason": "x"})).await.problem(), problem(409, "not_cancellable"));
    let wrong = admin.post(&at("refund"), json!({"reason": " ", "message": "x".repeat(301)})).await;
    let fields = json!([{"field": "reason", "code": "required"}, {"field": "message", "code": "too_long"}]);
    assert_eq!((wrong.status.as_u16(), &wrong.json()["fields"]), (422, &fields));
    let body = json!({"reason": "broken in transit", "message": "Sorry, it broke. <b>"});
    let refunded = admin.post(&at("refund"), body.clone()).await.json();
    assert_eq!(refunded["order"]["status"], "refund_pending");
    assert_eq!(admin.post(&at("refund"), body).await.problem(), problem(409, "not_refundable"));
    assert_audit_finds_nothing(&shop).await;
    assert_eq!(shop.parts.payments.refund_due().await.unwrap(), 1);
    assert_eq!(shop.parts.payments.refund_due().await.unwrap(), 0);

    let seen = mei.get(&url).await.json()["order"].clone();
    assert_eq!((&seen["status"], &seen["reason"]), (&json!("refunded"), &json!("by_shop")));
    assert_eq!(seen["message"], "Sorry, it broke. <b>");
    assert!(!seen.to_string().contains("transit"), "the reason is only for staff");
    mei.get(&url.replace("/api/sales/", "/zh/orders/").replace("/orders/0", "/0"))
        .await
        .has(&["商家取消了订单，款项已原路退回", "Sorry, it broke. &#60;b&#62;"]);

    let detail = admin.get(&format!("/api/admin/orders/{order}")).await.json()["order"].clone();
    assert_eq!(each(&detail["history"], "status"), ["reserved", "unpaid", "paid", "refund_pending", "refunded"]);
    let step = &detail["history"][3];
    assert_eq!((&step["actor"], &step["note"]), (&json!("admin"), &json!("broken in transit")));
    let payment = &detail["payments"][0];
    assert_eq!((&payment["status"], payment["webhooks"].as_array().unwrap().len()), (&json!("refunded"), 1));
    assert!(payment["captured_at"].is_string() && payment["refunded_at"].is_string());
    let log = admin.get("/api/admin/audit-log").await.json();
    let entry = &log["entries"][0];
    assert_eq!((&entry["action"], &entry["subject"]), (&json!("refund"), &json!(format!("order {order}"))));
    assert_eq!((&entry["before"]["status"], &entry["after"]["reason"]), (&json!("paid"), &json!("broken in transit")));

    // The unit is for sale again, even to the same shopper.
    shop.parts.gate.refresh().await;
    assert_eq!(mei.buy(&sale, 1).await.status, 202);
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn refund_after_the_sale_was_retired_leaves_no_release() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (order, _) = paid_order(&shop, &mei, &sale).await;
    admin.post(&format!("/api/admin/sales/{sale}/stop"), json!({})).await;
    shop.parts.store.sales().retire(sale.parse().unwrap(), shop.parts.clock.now()).await.unwrap();
    let id: OrderId = order.parse().unwrap();
    let reason = AuditReason { actor: "admin", note: "late", message: None };
    let place = (sale.parse().unwrap(), id);
    let (orders, now) = (shop.parts.store.orders(), shop.parts.clock.now());
    let released = orders.apply_staff_action(place, StaffAction::Refund, reason, now).await.unwrap();
    assert_eq!(released.map(|release| release.order_id), Some(id));
    assert_eq!(shop.parts.store.orders().pending_releases(10).await.unwrap(), [], "a retired sale has no holds");
    shop.parts.payments.refund_due().await.unwrap();
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn support_cancels_by_form() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    assert!(admin.get("/admin/orders?lang=en").await.text().contains("No orders yet"));
    let order = mei.buy(&sale, 1).await.json()["order"]["id"].as_str().unwrap().to_owned();
    let path = format!("/admin/orders/{order}");
    for (page, status) in [("/admin/orders", 303), (&path, 303), ("/api/admin/orders.csv", 404)] {
        assert_eq!(mei.get(page).await.status, 404, "{page}");
        assert_eq!(shop.visitor().get(page).await.status, status, "{page}");
    }
    assert!(mei.send_form(&format!("{path}/cancel"), "reason=x&confirm=yes").await.is_page(404));
    assert!(admin.get("/admin/orders/0198c0de-0000-7000-8000-000000000001").await.is_page(404));
    admin.get(&format!("{path}?lang=en")).await.shows(200, &["Cancel order", "/admin/users/"]);

    let unsure = admin.send_form(&format!("{path}/cancel?lang=en"), "reason=too+late&message=Sorry+%3Cb%3E").await;
    assert!(unsure.is_page(422) && unsure.text().contains("too late") && unsure.text().contains("Sorry &#60;b&#62;"));
    admin.send_form(&format!("{path}/cancel?lang=en"), "reason=&confirm=yes").await.shows(422, &["reason-wrong"]);
    let refund = admin.send_form(&format!("{path}/refund?lang=en"), "reason=x&confirm=yes").await;
    assert!(refund.is_page(409) && refund.text().contains("changed in the meantime"));
    let done = admin.send_form(&format!("{path}/cancel?lang=en"), "reason=too+late&confirm=yes").await;
    assert!(done.leads_to(&format!("{path}?lang=en&done=cancel")));
    admin.get(done.header("location")).await.has(&["Order cancelled", "too late"]);
    mei.get(&format!("/en/orders/{sale}/{order}"))
        .await
        .has(&["The shop cancelled your order. You weren’t charged."])
        .lacks(&["too late"]);
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn orders_are_found_by_each_field() {
    let shop = TestShop::open().await;
    let (admin, mei, lei) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lei").await);
    let (one, two) = (shop.open_sale(&admin, 5).await, shop.open_sale(&admin, 5).await);
    let (first, _) = paid_order(&shop, &mei, &one).await;
    lei.buy(&one, 1).await;
    let last = mei.buy(&two, 1).await.json()["order"]["id"].as_str().unwrap().to_owned();
    let user =
        admin.get(&format!("/api/admin/orders/{first}")).await.json()["order"]["user_id"].as_str().unwrap().to_owned();
    let count = async |query: &str| {
        let found = admin.get(&format!("/api/admin/orders?{query}")).await.json();
        found["orders"].as_array().unwrap_or_else(|| panic!("{query}: {found}")).len()
    };
    let cases = [
        ("", 3),
        (&format!("order={first}"), 1),
        (&format!("user={user}"), 2),
        ("username=MEI", 2),
        ("user=lei", 1),
        ("user=nobody", 0),
        ("user=mei&username=lei", 0),
        (&format!("sale={one}"), 2),
        (&format!("sale={one}&username=mei&status=paid"), 1),
        ("status=paid,unpaid", 3),
        ("status=refunded", 0),
        ("from=2020-01-01T00:00:00Z&to=2099-01-01T00:00", 3),
        ("to=2020-01-01T00:00", 0),
        ("from=2099-01-01T00:00", 0),
    ];
    for (query, expected) in cases {
        assert_eq!(count(query).await, expected, "{query}");
    }
    let page = admin.get("/api/admin/orders?limit=2").await.json();
    assert_eq!((&page["orders"][0]["id"], &page["orders"][0]["username"]), (&json!(last), &json!("mei")));
    let next = page["next"].as_str().unwrap();
    let page = admin.get(&format!("/api/admin/orders?limit=2&before={next}")).await.json();
    assert_eq!((&page["orders"][0]["id"], &page["next"]), (&json!(first), &json!(null)));
    for wrong in ["order=1", "sale=x", "status=lost", "from=soon", "limit=0", "before=x", "colour=red"] {
        admin.get(&format!("/api/admin/orders?{wrong}")).await.refuses(422, "invalid");
    }
    let page = admin.get("/admin/orders?lang=en&order=1&user=%3Cscript%3E&from=soon").await;
    assert!(page.is_page(422) && page.text().contains("order-wrong") && page.text().contains("from-wrong"));
    assert_eq!(page.text().matches("<script").count(), 3, "only the scripts of the page");
    let page = admin.get(&format!("/admin/orders?lang=zh&sale={one}&user=mei&status=paid&order=&from=&to=")).await;
    assert!(page.is_page(200) && page.text().contains(&first) && !page.text().contains(&last));
    let export = format!("lang%3Dzh%26user%3Dmei%26sale%3D{one}%26status%3Dpaid");
    let link = format!("/admin/step-up?lang=zh&#38;next=%2Fapi%2Fadmin%2Forders.csv%3F{export}");
    assert!(page.text().contains(&link), "{}", page.text());
}

/// Unpaid orders of users without accounts.
async fn orders(store: &Store, sale: SaleId, count: usize) -> Vec<Order> {
    let now = Timestamp::from_second(1_795_000_000).unwrap();
    let mut ids = Vec::new();
    for _ in 0..count.div_ceil(5000) {
        let batch: Vec<Reservation> = (0..count.min(5000))
            .map(|_| Reservation {
                order_id: OrderId(Uuid::now_v7()),
                sale_id: sale,
                user_id: UserId(Uuid::now_v7()),
                quantity: 1,
                reserved_at: now,
            })
            .collect();
        store.orders().persist_orders(&batch, std::time::Duration::from_secs(3600 * 24 * 365 * 50)).await.unwrap();
        ids.extend(batch.iter().map(|r| r.order_id));
    }
    let mut orders = Vec::new();
    for id in ids.iter().take(if count > 1000 { 0 } else { count }) {
        orders.push(store.orders().get(sale, *id).await.unwrap().unwrap());
    }
    orders
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn order_ends_once_in_two_hundred_races() {
    const RACES: usize = 200;
    let shop = TestShop::open().await;
    let sale: SaleId = shop.sell(RACES as i64).await.parse().unwrap();
    let (store, owners, now) = (&shop.parts.store, shop.parts.orders(), shop.parts.clock.now());
    let refunds = StaffRefunds::new(shop.parts.payments.clone(), shop.parts.orders(), None);
    let (staff, reason) = (UserId(Uuid::now_v7()), AuditReason { actor: "admin", note: "race", message: None });
    let race = async |(n, order): (usize, Order)| {
        let payment = shop.parts.payments.start(&order, any_provider()).await.unwrap().payment;
        let webhook = store::SandboxWebhook { id: format!("w{n}"), body: String::new(), attempts: 0 };
        store.sandbox().settle(payment, "captured", &webhook).await.unwrap();
        let pay =
            async || store.payments().apply_capture(&format!("msg_{n}"), payment, order.amount, now).await.unwrap();
        let end = async |what| match what {
            StaffAction::Cancel | StaffAction::CancelHeld => {
                owners.cancel_for_staff(&order, staff, reason).await.unwrap() == StaffActionOutcome::Done
            }
            StaffAction::Refund | StaffAction::RefundHeld | StaffAction::EndReturned => {
                let (id, what) = (RefundId(Uuid::now_v7()), StaffRefund::Order(sale, order.id));
                refunds.refund(id, what, staff, reason, store::IfDisputed::Refuse).await.unwrap() == RefundAnswer::Begun
            }
        };
        let own = async || match owners.cancel(order.user_id, sale, order.id).await {
            Ok(_) | Err(OrderRefusal::NotCancellable) => {}
            Err(error) => panic!("{error}"),
        };
        // The order in which the competitors run changes from race to race.
        let (cancel, refund) = (StaffAction::Cancel, StaffAction::Refund);
        let ends = match n % 4 {
            0 => {
                let (_, a, b, _, c) = tokio::join!(pay(), end(cancel), end(refund), own(), end(refund));
                [a, b, c]
            }
            1 => {
                let (a, _, b, c, _) = tokio::join!(end(refund), pay(), end(refund), end(cancel), pay());
                [a, b, c]
            }
            2 => {
                let (_, a, _, b, c) = tokio::join!(own(), end(cancel), pay(), end(cancel), end(refund));
                [a, b, c]
            }
            _ => {
                let (a, b, _, c, _) = tokio::join!(end(cancel), end(cancel), pay(), end(refund), own());
                [a, b, c]
            }
        };
        assert!(ends.iter().filter(|done| **done).count() <= 1, "an order ends once: {ends:?}");
    };
    join_all(orders(store, sale, RACES).await.into_iter().enumerate().map(race)).await;
    while shop.parts.payments.refund_due().await.unwrap() > 0 {}
    assert_audit_finds_nothing(&shop).await;
    let found = store.orders().find(&store::OrderSearch::default(), 1000).await.unwrap();
    let mut seen = HashSet::new();
    for found in &found {
        let steps = store.orders().steps(&found.order).await.unwrap();
        let path: Vec<_> = steps.iter().map(|step| step.event.status).collect();
        seen.insert(path.clone());
        assert!(matches!(found.order.status, OrderStatus::Paid | OrderStatus::Refunded), "{path:?}");
        assert!(
            path.windows(2).all(|step| step[0].may_become(step[1])) || path.contains(&OrderStatus::Refunded),
            "{path:?}"
        );
    }
    assert!(seen.len() >= 2, "the races all ended the same way: {seen:?}");
    let live = found.iter().filter(|found| found.order.status.is_live()).count() as i64;
    assert_eq!(store.sales().get(sale).await.unwrap().unwrap().sold, live, "units return exactly once");
}

#[tokio::test]
async fn export_has_every_order_once_and_escapes_formulas() {
    let (shop, sale) = TestShop::open().await.selling(20_000).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("-mei").await);
    let url = mei.buy(&sale, 2).await.json()["status_url"].as_str().unwrap().to_owned();
    let address = json!({"address": {"recipient": "=HYPERLINK(\"http://evil\")", "phone": "+8613800138000", "country": "CN",
        "region": "@x", "city": "a,\"b\"", "line1": "路"}});
    mei.put(&format!("{url}/address"), address).await;
    // Ten pages of the reader.
    orders(&shop.parts.store, sale.parse().unwrap(), 10_000).await;

    let all = admin.get("/api/admin/orders.csv?lang=zh").await;
    assert_eq!((all.status.as_u16(), all.header("content-type")), (200, "text/csv; charset=utf-8"));
    assert!(all.header("content-disposition").starts_with("attachment; filename=\"orders-20"));
    assert!(all.header("content-length").is_empty(), "the response is streamed");
    let text = all.text().strip_prefix('\u{feff}').unwrap();
    assert_eq!(text.lines().count(), 10_002);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let ids: HashSet<String> = reader.records().map(|record| record.unwrap()[0].to_owned()).collect();
    assert_eq!(ids.len(), 10_001, "each order once");

    let one = admin.get("/api/admin/orders.csv?username=-mei&lang=zh").await;
    let mut reader = csv::Reader::from_reader(one.text().strip_prefix('\u{feff}').unwrap().as_bytes());
    let head = reader.headers().unwrap().clone();
    let records: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), 1);
    let cell = |name: &str| &records[0][head.iter().position(|head| head == name).unwrap()];
    assert_eq!((cell("amount"), cell("currency")), ("3998.00", "CNY"));
    assert_eq!((cell("status"), cell("product")), ("unpaid", "手机"));
    assert_eq!((cell("username"), cell("recipient")), ("'-mei", "'=HYPERLINK(\"http://evil\")"));
    assert_eq!((cell("phone"), cell("region"), cell("city")), ("+8613800138000", "'@x", "a,\"b\""));
    assert!(cell("placed_at").parse::<Timestamp>().is_ok());
    assert_eq!(admin.get("/api/admin/orders.csv?user=nobody").await.text().lines().count(), 1, "only the header");
    assert_eq!(admin.get("/api/admin/orders.csv?order=1").await.problem(), problem(422, "invalid"));
}

/// Orders whose ids begin with a time long ago, and that have not changed since.
async fn age_orders(shop: &TestShop, sale: &str) {
    let aged = |column: &str| format!("{column} = '01000000' || substr({column}, 9)");
    let of_sale = format!("IN (SELECT id FROM orders WHERE sale_id = {sale})");
    let tables = ["order_events", "payments"];
    let others = tables.map(|table| format!("UPDATE {table} SET {} WHERE order_id {of_sale};", aged("order_id")));
    let orders = format!("UPDATE orders SET {} WHERE sale_id = {sale};", aged("id"));
    let changes = format!("UPDATE order_changes SET {}, {};", aged("id"), aged("orders"));
    shop.execute(format!("PRAGMA foreign_keys = OFF; {} {orders} {changes} PRAGMA foreign_keys = ON", others.concat()))
        .await;
    // A refund or a capture of long ago.
    shop.execute(format!("UPDATE payments SET {}, captured_at_ms = 1 WHERE order_id LIKE '01000000%'", aged("id")))
        .await;
}

#[tokio::test]
async fn audit_since_a_day_reads_what_changed_and_the_totals_of_the_rest() {
    let shop = TestShop::open().await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let now = shop.parts.clock.now();
    let old_sale = shop.open_sale(&admin, 3).await;
    let (order, _) = sendable_order(&shop, &mei, &old_sale).await;
    let old = format!("01000000{}", &order[8..]);
    admin.post(&format!("/api/admin/sales/{old_sale}/stop"), json!({})).await;
    let retired = now - SignedDuration::from_hours(100);
    shop.parts.store.sales().retire(old_sale.parse().unwrap(), retired).await.unwrap();
    age_orders(&shop, &old_sale).await;
    let sale = shop.open_sale(&admin, 3).await;
    let (new, _) = paid_order(&shop, &mei, &sale).await;

    let violations = async || {
        let audit = shop.parts.audit().since(now - SignedDuration::from_hours(24)).await.unwrap().unwrap();
        let recent = audit.recent.as_ref().unwrap();
        assert!(recent.sales.len() == 1 && recent.of_sales > 1);
        let checks = audit.check_once().await.unwrap();
        assert_eq!(checks.iter().filter(|check| check.covers.is_none()).count(), 7, "the others say what they cover");
        checks.into_iter().flat_map(|check| check.violations).collect::<Vec<_>>()
    };
    assert_eq!(violations().await, [""; 0]);
    let wrong = |order: &str| format!("UPDATE payments SET amount = amount + 1 WHERE order_id = '{order}'");
    shop.execute(wrong(&new)).await;
    let found = violations().await;
    assert!(found.len() == 1 && found[0].contains(&new), "{found:?}");
    shop.execute(format!("UPDATE payments SET amount = amount - 1 WHERE order_id = '{new}'")).await;

    shop.execute(wrong(&old)).await;
    assert_eq!(violations().await, [""; 0], "nothing changed this order");
    let whole = shop.parts.audit().check_once().await.unwrap();
    assert!(whole.iter().any(|check| check.covers.is_none() && !check.violations.is_empty()));
    shop.execute(format!("UPDATE sales SET sold = sold + 1 WHERE id = {old_sale}")).await;
    let found = violations().await;
    assert!(found.len() == 1 && found[0].contains("2 sold, 1 in live orders"), "{found:?}");
    shop.execute(format!("UPDATE sales SET sold = sold - 1 WHERE id = {old_sale}")).await;

    let packed = admin.send_form("/admin/orders/bulk/pack?lang=en", &format!("ids={old}&confirm=yes")).await;
    assert!(packed.status.is_success() || packed.status.is_redirection(), "{}", packed.text());
    let audit = shop.parts.audit().since(now - SignedDuration::from_hours(24)).await.unwrap().unwrap();
    let found: Vec<_> = audit.check_once().await.unwrap().into_iter().flat_map(|check| check.violations).collect();
    assert!(found.len() == 1 && found[0].contains(&old), "an old order that changed: {found:?}");
    let too_early = now - SignedDuration::from_hours(31 * 24);
    assert!(shop.parts.audit().since(too_early).await.unwrap().is_none(), "changes are not stored that long");
}

#[tokio::test]
async fn jobs_of_control_are_due_when_they_have_something_to_do() {
    let shop = TestShop::open().await;
    let mei = shop.shopper("mei").await;
    let jobs: Vec<_> = shop.parts.control().jobs.iter().map(|job| job.name).collect();
    assert!(store::WATCHED_JOBS.iter().all(|watched| jobs.contains(watched)), "{jobs:?}");
    let sale = shop.sell(3).await;
    let url = mei.buy(&sale, 1).await.json()["status_url"].as_str().unwrap().to_owned();
    mei.post(&format!("{url}/payments"), json!({})).await;
    let due = async || {
        let mut due: Vec<_> = shop.parts.store.jobs_due().await.unwrap().into_iter().collect();
        due.sort_unstable();
        due
    };
    assert_eq!(due().await, [""; 0], "the sale is open, and the order has time");
    let mail = |subscription: &str| {
        format!(
            "PRAGMA foreign_keys = OFF; INSERT INTO mails (id, recipient, locale, kind, facts, created_at_ms, expires_at_ms,
               next_attempt_at_ms, subscription_id) VALUES ('m', 'x', 'zh', 'y', '', 1, 2, 3, {subscription})"
        )
    };
    let packet =
        "INSERT INTO packets (id, total, count, least, most, split, greeting, own, opens_at_ms, expires_at_ms, buckets,
        state, created_at_ms) VALUES (1, 1, 1, 1, 1, 'equal', '', 0, 1, 2, 1, 'open', 1)";
    let cases = [
        ("closing of payments", "UPDATE payments SET ask_at_ms = 1".to_owned(), "UPDATE payments SET ask_at_ms = NULL"),
        (
            "closing of payments",
            "UPDATE payments SET close_at_ms = 1".to_owned(),
            "UPDATE payments SET close_at_ms = NULL",
        ),
        ("mail", mail("NULL"), "DELETE FROM mails"),
        ("order numbers", "UPDATE orders SET day_number = NULL".to_owned(), "UPDATE orders SET day_number = 1"),
        ("overdue orders", "UPDATE orders SET pay_by_ms = 1".to_owned(), "UPDATE orders SET pay_by_ms = 4000000000000"),
        ("push", mail("'s'"), "DELETE FROM mails"),
        ("red packets", packet.to_owned(), "UPDATE packets SET state = 'settled', recovering = 1"),
        ("red packets", "SELECT 1".to_owned(), "UPDATE packets SET recovering = 0"),
        (
            "refunds",
            "UPDATE payments SET status = 'refund_pending', next_attempt_at_ms = 1".to_owned(),
            "UPDATE payments SET status = 'created'",
        ),
        (
            "releases",
            "INSERT INTO releases (order_id, sale_id, user_id, quantity) VALUES ('a', 1, 'b', 1)".to_owned(),
            "DELETE FROM releases",
        ),
        ("schedule", "UPDATE sales SET closes_at_ms = 1".to_owned(), "UPDATE sales SET closes_at_ms = NULL"),
        (
            "webhooks",
            "INSERT INTO sandbox_webhooks (id, body, next_at_ms) VALUES ('a', '', 1)".to_owned(),
            "DELETE FROM sandbox_webhooks",
        ),
    ];
    for (job, begins, ends) in cases {
        shop.execute(begins.clone()).await;
        assert_eq!(due().await, [job], "after {begins}");
        shop.execute(ends).await;
    }
    assert_eq!(due().await, [""; 0]);
    let soon = (shop.parts.clock.now() + SignedDuration::from_secs(1)).as_millisecond();
    shop.execute(format!("UPDATE sales SET state = 'scheduled', opens_at_ms = {soon}")).await;
    assert_eq!(due().await, ["schedule"], "it waits for the very millisecond");
}
