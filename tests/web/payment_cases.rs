//! Payments that end, and payments that need attention.

use std::time::Duration;

use standardwebhooks::Webhook;

use super::*;
use base::clock::Clock;
use base::signing;
use domain::{CaseKind, PaymentStatus};

const PAGE: &str = "/admin/orders?show=payments&lang=en";

impl TestShop {
    /// Delivers a report as the provider does.
    pub async fn report(&self, id: &str, event: &str, data: Value) -> TestResponse {
        let key = signing::key_for(&self.parts.secret.current, "sandbox webhooks");
        let (at, body) = (self.parts.clock.now().as_second(), json!({"type": event, "data": data}).to_string());
        let signature = Webhook::from_bytes(key.to_vec()).unwrap().sign(id, at, body.as_bytes()).unwrap();
        let at = at.to_string();
        let headers = [("webhook-id", id), ("webhook-timestamp", at.as_str()), ("webhook-signature", &signature)];
        let headers = [&headers[..], &[("content-type", "application/json")]].concat();
        self.visitor().send("POST", "/api/webhooks/payments/sandbox", &headers, body).await
    }

    pub async fn cases(&self) -> Vec<CaseKind> {
        let cases = self.parts.payments.cases(false, None, 100).await.unwrap();
        cases.items.into_iter().map(|case| case.kind).collect()
    }

    async fn payment_status(&self, id: PaymentId) -> PaymentStatus {
        self.parts.store.payments().get(id).await.unwrap().unwrap().status
    }
}

/// Buys one unit and begins to pay. Returns the order's address, and the payment.
async fn begin(who: &TestClient<'_>, sale: &str) -> (String, PaymentId) {
    let url = who.buy(sale, 1).await.json()["status_url"].as_str().unwrap().to_owned();
    let begun = who.post(&format!("{url}/payments?lang=en"), json!({})).await.json();
    (url, begun["payment"]["id"].as_str().unwrap().parse().unwrap())
}

/// An order that is paid: its address, its payment and its id.
async fn paid(shop: &TestShop, who: &TestClient<'_>, sale: &str) -> (String, PaymentId, String) {
    let (url, payment) = begin(who, sale).await;
    assert!(matches!(shop.make_payment(payment).await, CaptureOutcome::Paid(_)));
    let order = url.rsplit('/').next().unwrap().to_owned();
    (url, payment, order)
}

fn amount_of(payment: PaymentId, amount: i64) -> Value {
    json!({"payment_id": payment, "amount": cny(amount)})
}

/// The path of an action on the page's only case.
pub async fn action(staff: &TestClient<'_>, verb: &str) -> String {
    let page = staff.get(PAGE).await;
    let found = page.text().split("action=\"").find_map(|part| {
        let path = part.split('"').next()?;
        path.contains(&format!("/{verb}?")).then(|| path.to_owned())
    });
    found.unwrap_or_else(|| panic!("no action {verb}: {page:?}"))
}

#[tokio::test]
async fn expired_payment_is_refused_by_the_cashier_and_closed() {
    let clock = Clock::manual(Clock::system().now());
    let (shop, sale) = TestShop::open_at(&clock).await.selling(2).await;
    let mei = shop.shopper("mei").await;
    let (url, payment) = begin(&mei, &sale).await;
    let cashier = format!("/sandbox/cashier/{payment}");
    assert!(mei.get(&cashier).await.text().contains(&format!("{cashier}/pay")));
    clock.advance(Duration::from_secs(30 * 60));
    for lang in ["en", "zh"] {
        let page = mei.get(&format!("{cashier}?lang={lang}")).await;
        let words = if lang == "en" { "This payment is closed" } else { "这笔付款已关闭" };
        assert!(page.is_page(200) && page.text().contains(words) && !page.text().contains("/pay\""), "{page:?}");
    }
    mei.send_form(&format!("{cashier}/pay"), "").await.shows(409, &["This payment is closed"]);
    assert_eq!(shop.payment_status(payment).await, PaymentStatus::Created);
    assert_eq!(shop.parts.payments.close_due().await.unwrap(), 1);
    assert_eq!(shop.payment_status(payment).await, PaymentStatus::Closed);
    shop.parts.expiry().cancel_overdue().await.unwrap();
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "cancelled");
}

#[tokio::test]
async fn payment_of_the_last_second_keeps_the_goods_although_its_report_is_lost() {
    let clock = Clock::manual(Clock::system().now());
    let (shop, sale) = TestShop::open_at(&clock).await.selling(2).await;
    let mei = shop.shopper("mei").await;
    let (url, payment) = begin(&mei, &sale).await;
    clock.advance(Duration::from_secs(30 * 60 - 1));
    let captured = format!("UPDATE sandbox_payments SET status = 'captured' WHERE id = '{payment}'");
    assert_eq!(shop.execute(captured).await, 1);
    clock.advance(Duration::from_secs(2));
    let expiry = shop.parts.expiry();
    assert_eq!(expiry.cancel_overdue().await.unwrap(), 0, "the order waits until its payment is closed");
    shop.parts.payments.close_due().await.unwrap();
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "paid");
    support::assert_audit_finds_nothing(&shop).await;

    // An order does not wait long for a provider that does not answer.
    let (url, _) = begin(&shop.shopper("wang").await, &sale).await;
    clock.advance(Duration::from_secs(30 * 60 + 11));
    assert_eq!(expiry.cancel_overdue().await.unwrap(), 1, "{url}");
}

/// While processes are replaced, one of an older version may begin, settle or report a payment.
#[tokio::test]
async fn payment_and_report_of_an_older_version_are_understood() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let mei = shop.shopper("mei").await;
    let (url, payment) = begin(&mei, &sale).await;
    shop.execute(format!("UPDATE payments SET close_at_ms = NULL WHERE id = '{payment}'")).await;
    shop.execute(format!("UPDATE sandbox_payments SET expires_at_ms = NULL WHERE id = '{payment}'")).await;
    assert_eq!(shop.parts.payments.close_due().await.unwrap(), 0);
    shop.execute(format!("UPDATE sandbox_payments SET status = 'captured' WHERE id = '{payment}'")).await;
    let report = shop.report("msg_1", "payment.captured", json!({"payment_id": payment})).await;
    assert_eq!((report.status.as_u16(), shop.cases().await), (204, vec![]));
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "paid");

    // The report has no amount, so the shop asks the provider, which has none.
    let wang = shop.shopper("wang").await;
    let (url, payment) = begin(&wang, &sale).await;
    let report = shop.report("msg_2", "payment.captured", json!({"payment_id": payment})).await;
    assert_eq!((report.status.as_u16(), shop.cases().await), (204, vec![CaseKind::Mismatched]));
    assert_eq!(wang.get(&url).await.json()["order"]["status"], "unpaid");
}

#[tokio::test]
async fn mismatched_payment_is_refunded_by_staff() {
    let shop = TestShop::open().await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    admin.get(PAGE).await.shows(200, &["No payment needs attention"]);
    assert!(admin.get("/admin/orders?show=payments&lang=zh").await.text().contains("没有待处理的付款"));
    assert!(admin.get("/admin/orders?lang=en").await.text().contains("/admin/orders?show=payments&#38;lang=en"));
    let sale = shop.open_sale(&admin, 2).await;
    let (url, payment) = begin(&mei, &sale).await;
    shop.execute(format!("UPDATE sandbox_payments SET status = 'captured' WHERE id = '{payment}'")).await;
    for id in ["msg_1", "msg_1", "msg_2"] {
        assert_eq!(shop.report(id, "payment.captured", amount_of(payment, 1)).await.status, 204);
    }
    assert_eq!(shop.cases().await, [CaseKind::Mismatched]);
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "unpaid");
    assert!(shop.parts.metrics.encode().contains("seckill_payment_cases_total{kind=\"mismatched\"} 1"));

    let viewer = shop.staff(&admin, "gus", Role::Viewer).await;
    assert!(!viewer.get(PAGE).await.text().contains("<form method=\"post\" action=\"/admin/orders"));
    let helper = shop.staff(&admin, "lan", Role::Support).await;
    let refund = action(&helper, "refund").await;
    helper.send_form(&refund, "confirm=yes").await.shows(422, &["Enter a reason"]);
    let done = helper.send_form(&refund, "reason=checked+it&confirm=yes").await;
    assert!(done.leads_to("/admin/orders?show=payments&lang=en&done=refund"), "{done:?}");
    assert_eq!(shop.payment_status(payment).await, PaymentStatus::RefundPending);
    assert_eq!(shop.parts.payments.refund_due().await.unwrap(), 1);
    assert_eq!(shop.payment_status(payment).await, PaymentStatus::Refunded);
    assert_eq!(shop.cases().await, [], "the refund settles the case");
    assert_eq!(helper.send_form(&refund, "reason=x&confirm=yes").await.status, 404);
    let log = admin.get("/api/admin/audit-log").await.json();
    let entry = &log["entries"][0];
    assert_eq!((&entry["actor"], &entry["action"]), (&json!("lan"), &json!("retry_refund")));
    assert_eq!(entry["subject"], format!("payment {payment}"));
    support::assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn refund_that_failed_waits_for_staff_who_begin_it_again_or_settle_it_with_a_reason() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (url, payment, order) = paid(&shop, &mei, &sale).await;
    admin.refund(&order).await.is(200);
    shop.report("msg_1", "refund.failed", json!({"payment_id": payment, "reason": "account closed"})).await.is(204);
    assert_eq!(shop.parts.payments.refund_due().await.unwrap(), 0, "no further attempt");
    admin.get(PAGE).await.has(&["refund.failed: account closed"]);

    assert_eq!(admin.send_form(&action(&admin, "refund").await, "reason=new+account&confirm=yes").await.status, 303);
    assert_eq!(shop.cases().await, [CaseKind::RefundFailed], "until the money is back");
    assert_eq!(shop.report("msg_2", "refund.succeeded", amount_of(payment, 199_900)).await.status, 204);
    assert_eq!(shop.cases().await, []);
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "refunded");

    let wang = shop.shopper("wang").await;
    let (url, payment, order) = paid(&shop, &wang, &sale).await;
    admin.refund(&order).await;
    shop.report("msg_3", "refund.failed", json!({"payment_id": payment})).await;
    let done = admin.send_form(&action(&admin, "settle").await, "reason=paid+in+cash&confirm=yes").await;
    assert!(done.leads_to("/admin/orders?show=payments&lang=en&done=settle"), "{done:?}");
    assert_eq!(shop.cases().await, []);
    assert_eq!(wang.get(&url).await.json()["order"]["status"], "refunded");
}

#[tokio::test]
async fn refund_that_fails_after_it_was_made_is_begun_again_or_paid_out_by_hand() {
    let (shop, sale) = TestShop::open().await.selling(3).await;
    let admin = shop.admin().await;
    for (name, verb) in [("mei", "refund"), ("wang", "settle")] {
        let who = shop.shopper(name).await;
        let (url, payment, order) = paid(&shop, &who, &sale).await;
        admin.refund(&order).await;
        assert_eq!(shop.parts.payments.refund_due().await.unwrap(), 1);
        assert_eq!(who.get(&url).await.json()["order"]["status"], "refunded");
        let data = json!({"payment_id": payment, "refund_id": payment, "reason": "account closed",
            "amount": cny(199_900)});
        for n in [1, 1, 2] {
            assert_eq!(shop.report(&format!("{name}_{n}"), "refund.failed", data.clone()).await.status, 204);
            assert_eq!(shop.cases().await, [CaseKind::RefundFailed]);
        }
        assert_eq!(who.get(&url).await.json()["order"]["status"], "refund_pending");
        assert_eq!(shop.parts.payments.refund_due().await.unwrap(), 0, "not without the staff");
        support::assert_audit_finds_nothing(&shop).await;
        let page = admin.get(&format!("/admin/orders/{order}?lang=en")).await;
        let path =
            page.text().split('"').find(|path| path.contains(&format!("/{verb}?")) && path.contains("payments/"));
        let path = path.unwrap_or_else(|| panic!("{page:?}")).to_owned();
        assert_eq!(admin.send_form(&path, "reason=new+account&confirm=yes").await.status, 303);
        assert_eq!(shop.parts.payments.refund_due().await.unwrap(), usize::from(verb == "refund"));
        assert_eq!(who.get(&url).await.json()["order"]["status"], "refunded");
        assert_eq!(shop.cases().await, []);
        support::assert_audit_finds_nothing(&shop).await;
        let journal = admin.get("/api/admin/books/journal.csv").await;
        let lines =
            |kind: &str| journal.text().lines().filter(|line| line.contains(&format!("{kind}:{payment}"))).count();
        assert_eq!((lines("charge_refund"), lines("failed_refund")), (4, 2), "made, back, and made again: {journal:?}");
        if verb == "settle" {
            assert_eq!(shop.report(&format!("{name}_3"), "refund.failed", data).await.status, 204);
            assert_eq!(shop.cases().await, [], "it is paid out, whatever the provider says about it");
        }
    }
}

#[tokio::test]
async fn partial_refund_that_fails_after_it_was_made_is_begun_again() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (url, payment, order) = paid(&shop, &mei, &sale).await;
    let part = json!({"amount": cny(300), "to": "payer", "reason": "scratched"});
    assert_eq!(admin.post(&format!("/api/admin/orders/{order}/refund-part"), part).await.status, 200);
    assert_eq!(shop.parts.payments.refund_due().await.unwrap(), 1);
    let shown = async || admin.get(&format!("/api/admin/orders/{order}")).await.json()["order"]["payments"][0].clone();
    let id = shown().await["partial_refunds"][0]["id"].clone();
    // Another amount is not this refund, and changes nothing.
    for (n, amount, is_made) in [(1, 299, true), (2, 300, false)] {
        let data = json!({"payment_id": payment, "refund_id": id, "amount": cny(amount)});
        assert_eq!(shop.report(&format!("msg_{n}"), "refund.failed", data).await.status, 204);
        assert_eq!(shown().await["partial_refunds"][0]["refunded_at"] != Value::Null, is_made);
        let path = action(&admin, if is_made { "settle" } else { "refund" }).await;
        assert_eq!(admin.send_form(&path, "reason=x&confirm=yes").await.status, 303);
    }
    assert_eq!(shop.parts.payments.refund_due().await.unwrap(), 1);
    assert_eq!((shop.cases().await, mei.get(&url).await.json()["order"]["status"].as_str()), (vec![], Some("paid")));
    support::assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn disputes_unknown_payments_and_unknown_events_are_kept_for_staff() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (url, payment, _) = paid(&shop, &mei, &sale).await;
    let stranger = PaymentId("0198c0de-0000-7000-8000-00000000dead".parse().unwrap());
    for (n, (event, data)) in [
        ("payment.disputed", json!({"payment_id": payment, "reason": "not received"})),
        ("payment.captured", amount_of(stranger, 700)),
        ("payment.captured", json!({"payment_id": "no id", "amount": cny(7)})),
        ("refund.succeeded", amount_of(payment, 199_900)),
        ("payout.made", json!({})),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(shop.report(&format!("msg_{n}"), event, data).await.status, 204, "{event}");
    }
    use CaseKind::*;
    assert_eq!(shop.cases().await, [UnknownEvent, UnexpectedRefund, UnknownPayment, UnknownPayment, Disputed]);
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "paid");
    let page = admin.get(PAGE).await.has(&["Payment disputed", "not received", "¥7", "payout.made", "no such payment"]);
    let actions = page.text().split("action=\"").filter_map(|part| part.split('"').next());
    let oldest = actions.filter(|path| path.contains("/settle?")).last().unwrap();
    for n in 10..30 {
        let stranger = json!({"payment_id": format!("0198c0de-0000-7000-8000-0000000000{n}"), "amount": cny(700)});
        assert_eq!(shop.report(&format!("msg_more_{n}"), "payment.captured", stranger).await.status, 204);
    }
    support::assert_later_form_keeps_its_entry(&admin, PAGE, oldest).await;
    while !shop.cases().await.is_empty() {
        assert_eq!(admin.send_form(&action(&admin, "settle").await, "reason=seen&confirm=yes").await.status, 303);
    }
}

#[tokio::test]
async fn cases_are_listed_and_settled_by_programs() {
    const LIST: &str = "/api/admin/payment-cases";
    let shop = TestShop::open().await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    assert_eq!(admin.get(LIST).await.json(), json!({"cases": [], "next": null}));
    let sale = shop.open_sale(&admin, 2).await;
    let (url, payment) = begin(&mei, &sale).await;
    shop.execute(format!("UPDATE sandbox_payments SET status = 'captured' WHERE id = '{payment}'")).await;
    shop.report("msg_1", "payment.captured", amount_of(payment, 1)).await;
    shop.report("msg_2", "payout.made", json!({})).await;
    let cases = admin.get(LIST).await.json()["cases"].clone();
    assert_eq!((&cases[0]["kind"], &cases[0]["payment"]), (&json!("unknown_event"), &Value::Null));
    let (unknown, wrong) = (format!("{LIST}/{}", cases[0]["id"].as_str().unwrap()), cases[1].clone());
    assert_eq!((&wrong["kind"], &wrong["settled"]), (&json!("mismatched"), &Value::Null));
    assert_eq!(wrong["reported"], cny(1));
    assert_eq!(wrong["payment"]["order_id"], url.rsplit('/').next().unwrap());
    let case = format!("{LIST}/{}", wrong["id"].as_str().unwrap());
    assert_eq!(admin.get(&case).await.json()["case"], wrong);

    let helper = shop.staff(&admin, "lan", Role::Support).await;
    let act = async |path: &str, verb: &str, reason: &str| {
        helper.post(&format!("{path}/{verb}"), json!({"reason": reason})).await
    };
    act(&case, "refund", " ").await.wrong("reason", "required");
    assert_eq!(act(&unknown, "refund", "x").await.problem(), problem(409, "changed_meanwhile"), "there is no money");
    let asked = act(&case, "refund", "checked it").await;
    assert_eq!((asked.status.as_u16(), &asked.json()["case"]["payment"]["status"]), (200, &json!("refund_pending")));
    assert_eq!(shop.parts.payments.refund_due().await.unwrap(), 1);
    let settled = act(&unknown, "settle", "nothing to do").await.json()["case"]["settled"].clone();
    assert_eq!((&settled["by"], &settled["reason"]), (&json!("lan"), &json!("nothing to do")));
    assert_eq!(act(&unknown, "settle", "again").await.problem(), problem(409, "changed_meanwhile"));
    assert_eq!(admin.get(LIST).await.json()["cases"], json!([]));
    let ended = admin.get(&format!("{LIST}?settled=true")).await.json()["cases"].clone();
    assert_eq!(ended[0]["settled"], settled);
    assert_eq!((&ended[1]["settled"]["by"], &ended[1]["id"]), (&Value::Null, &wrong["id"]), "by its refund");
    assert_eq!(admin.get(&format!("{LIST}?before=x")).await.problem(), problem(422, "invalid"));
    support::assert_audit_finds_nothing(&shop).await;

    let page = admin.get("/admin/orders?show=payments&lang=en&settled=true").await;
    for words in ["Settled by", "<bdi>lan</bdi>", "<bdi>nothing to do</bdi>", "the refund itself"] {
        assert!(page.text().contains(words), "{words}: {page:?}");
    }
    assert!(!page.text().contains("<form method=\"post\" action=\"/admin/orders"), "nothing is left to do");
}

#[tokio::test]
async fn staff_and_programs_leave_their_own_payments_to_others_and_repeat_with_a_key() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let admin = shop.admin().await;
    let (_, payment) = begin(&admin, &sale).await;
    shop.report("msg_1", "payment.captured", amount_of(payment, 1)).await;
    admin.send_form(&action(&admin, "settle").await, "reason=mine&confirm=yes").await.shows(409, &[]);
    assert_eq!(shop.cases().await, [CaseKind::Mismatched]);
    let listed = admin.get("/api/admin/payment-cases").await.json();
    let settle = format!("/api/admin/payment-cases/{}/settle", listed["cases"][0]["id"].as_str().unwrap());
    assert_eq!(admin.post(&settle, json!({"reason": "mine"})).await.problem(), problem(409, "yourself"));
    let lan = shop.staff(&admin, "lan", Role::Support).await;
    let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
    let send = async || lan.send("POST", &settle, &headers, r#"{"reason":"seen"}"#).await;
    let (first, again) = (send().await, send().await);
    assert_eq!((first.status.as_u16(), again.header("idempotent-replayed")), (200, "true"));
    assert_eq!(again.json(), first.json());
}

#[tokio::test]
async fn refund_that_fails_again_and_again_is_shown_to_staff() {
    let clock = Clock::manual(Clock::system().now());
    let (shop, sale) = TestShop::open_at(&clock).await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (_, payment, order) = paid(&shop, &mei, &sale).await;
    shop.execute(format!("UPDATE sandbox_payments SET status = 'open' WHERE id = '{payment}'")).await;
    admin.refund(&order).await;
    for _ in 0..7 {
        assert_eq!(shop.parts.payments.refund_due().await.unwrap(), 1);
        clock.advance(Duration::from_secs(300));
    }
    assert_eq!(shop.cases().await, [CaseKind::RefundDelayed]);
    shop.execute(format!("UPDATE sandbox_payments SET status = 'captured' WHERE id = '{payment}'")).await;
    assert_eq!(shop.parts.payments.refund_due().await.unwrap(), 1);
    assert_eq!(shop.cases().await, []);
}

#[tokio::test]
async fn refund_report_of_another_amount_currency_or_merchant_ends_no_order() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (url, payment, order) = paid(&shop, &mei, &sale).await;
    assert_eq!(admin.refund(&order).await.status, 200);
    let dollars = json!({"payment_id": payment, "amount": {"amount": 199_900, "currency": "USD"}});
    let mut foreign = amount_of(payment, 199_900);
    foreign["merchant"] = json!("https://another.example");
    let lies = [amount_of(payment, 1), dollars, json!({"payment_id": payment}), foreign];
    for (n, data) in lies.into_iter().enumerate() {
        assert_eq!(shop.report(&format!("msg_{n}"), "refund.succeeded", data).await.status, 204);
        assert_eq!(mei.get(&url).await.json()["order"]["status"], "refund_pending", "{n}");
    }
    use CaseKind::*;
    assert_eq!(shop.cases().await, [UnknownPayment, UnexpectedRefund], "the same case is open once");
    let declined = shop.report("msg_4", "payment.declined", amount_of(payment, 5)).await;
    assert_eq!((declined.status.as_u16(), shop.cases().await[0]), (204, Mismatched));
    let mut truth = amount_of(payment, 199_900);
    truth["merchant"] = json!(shop.parts.config.web.public_url);
    assert_eq!(shop.report("msg_true", "refund.succeeded", truth).await.status, 204);
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "refunded");
}

#[tokio::test]
async fn impossible_amount_becomes_a_case_and_the_console_goes_on() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (url, ..) = paid(&shop, &mei, &sale).await;
    let (_, payment) = begin(&shop.shopper("wang").await, &sale).await;
    for (n, amount) in [i64::MAX, i64::MAX - 1, -1, (1 << 53) - 1].into_iter().enumerate() {
        shop.report(&format!("msg_{n}"), "payment.captured", amount_of(payment, amount)).await.is(204);
    }
    assert_eq!(shop.cases().await, [CaseKind::Mismatched; 4]);
    for page in ["/admin?lang=en", "/admin/orders/books?lang=en", PAGE] {
        assert!(admin.get(page).await.is_page(200), "{page}");
    }
    assert!(admin.get(PAGE).await.text().contains(&format!("impossible amount of {} CNY", i64::MAX)));
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "paid");
    support::assert_audit_finds_nothing(&shop).await;

    // What an older version wrote down is in no sum, and the audit names it.
    let held = format!(
        "UPDATE payments SET held_amount = {}, held_currency = 'CNY', held_at_ms = {} WHERE id = '{payment}'",
        i64::MAX,
        shop.parts.clock.now().as_millisecond()
    );
    assert_eq!(shop.execute(held).await, 1);
    assert!(admin.get("/admin/orders/books?lang=en").await.is_page(200));
    let checks = shop.parts.audit().check_once().await.unwrap();
    let found: Vec<_> = checks.iter().filter(|check| !check.violations.is_empty()).map(|check| check.promise).collect();
    assert_eq!(found, ["every reported amount can have been paid"]);
}

#[tokio::test]
async fn disputed_payment_is_refunded_only_when_it_is_confirmed() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (url, payment, order) = paid(&shop, &mei, &sale).await;
    shop.report("msg_1", "payment.disputed", amount_of(payment, 199_900)).await;
    let at = |verb: &str| format!("/api/admin/orders/{order}/{verb}");
    let part = json!({"amount": cny(100), "reason": "x"});
    let refused = problem(409, "payment_disputed");
    assert_eq!(admin.post(&at("refund-part"), part.clone()).await.problem(), refused);
    assert_eq!(admin.post(&at("refund"), json!({"reason": "x"})).await.problem(), refused);
    let many = admin.send_form("/admin/orders/bulk/refund?lang=en", &format!("ids={order}&reason=x&confirm=yes")).await;
    assert!(many.text().contains("refund on the order’s page and tick the box"), "{}", many.text());
    // The payer may have won the dispute, so it counts when the case is settled, too.
    assert_eq!(admin.send_form(&action(&admin, "settle").await, "reason=lost&confirm=yes").await.status, 303);
    assert_eq!(admin.post(&at("refund"), json!({"reason": "x"})).await.problem(), refused);
    let page = format!("/admin/orders/{order}");
    assert!(admin.get(&format!("{page}?lang=en")).await.text().contains("name=\"disputed\""));
    let form = admin.send_form(&format!("{page}/refund?lang=en"), "reason=x&confirm=yes").await;
    assert!(form.is_page(409) && form.text().contains("is or was disputed"), "{form:?}");
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "paid");
    let mut confirmed = part;
    confirmed["disputed"] = json!(true);
    assert_eq!(admin.post(&at("refund-part"), confirmed).await.status, 200);
    admin.send_form(&format!("{page}/refund?lang=en"), "reason=x&confirm=yes&disputed=yes").await.is(303);
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "refund_pending");
    // A dispute that comes later stops the attempts.
    shop.report("msg_2", "payment.disputed", json!({"payment_id": payment, "reason": "again"})).await;
    let due = shop.parts.store.payments().refunds_due(10).await.unwrap();
    assert!(due.iter().all(|refund| refund.is_part()), "{due:?}");
}

#[tokio::test]
async fn refund_of_a_disputed_payment_is_tried_again_when_its_box_is_ticked() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (_, payment, order) = paid(&shop, &mei, &sale).await;
    shop.report("msg_1", "payment.disputed", amount_of(payment, 199_900)).await;
    let dispute = admin.get(PAGE).await;
    assert!(!dispute.text().contains("name=\"disputed\""), "nothing is refunded there: {}", dispute.text());
    assert_eq!(admin.send_form(&action(&admin, "settle").await, "reason=lost&confirm=yes").await.status, 303);
    admin.post(&format!("/api/admin/orders/{order}/refund"), json!({"reason": "x", "disputed": true})).await.is(200);
    shop.report("msg_2", "refund.failed", json!({"payment_id": payment})).await;
    assert_eq!(shop.cases().await, [CaseKind::RefundFailed]);
    for page in [PAGE.to_owned(), format!("/admin/orders/{order}?lang=en")] {
        assert!(admin.get(&page).await.text().contains("name=\"disputed\""), "{page}");
    }
    let path = action(&admin, "refund").await;
    admin
        .send_form(&path, "reason=they+asked&confirm=yes")
        .await
        .shows(409, &["Confirm it to refund", "<details class=\"ask\" open>", ">\nthey asked</textarea>"]);
    let empty = admin.send_form(&path, "reason=&confirm=yes&disputed=yes").await;
    assert!(empty.is_page(422) && empty.text().contains("Enter a reason of at most 500 characters."));
    admin.send_form(&path, "reason=they+asked&confirm=yes&disputed=yes").await.is(303);
}

#[tokio::test]
async fn right_capture_after_a_wrong_one_pays_the_order() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (url, payment) = begin(&mei, &sale).await;
    shop.execute(format!("UPDATE sandbox_payments SET status = 'captured' WHERE id = '{payment}'")).await;
    shop.report("msg_1", "payment.captured", amount_of(payment, 1)).await;
    assert_eq!(shop.payment_status(payment).await, PaymentStatus::Mismatched);
    shop.report("msg_2", "payment.captured", amount_of(payment, 199_900)).await;
    assert_eq!(shop.payment_status(payment).await, PaymentStatus::Captured);
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "paid");
    assert_eq!(shop.cases().await, [CaseKind::Mismatched], "the staff look at the wrong report");
    support::assert_audit_finds_nothing(&shop).await;
    assert_eq!(admin.send_form(&action(&admin, "settle").await, "reason=a+mistake&confirm=yes").await.status, 303);
    let books = admin.get("/api/admin/books").await.json();
    let held = books["books"]["lines"].as_array().unwrap().iter().filter(|line| line["account"] == "held");
    assert!(held.clone().all(|line| line["closing"]["amount"] == 0), "{books}");
    admin.get("/api/admin/books/journal.csv").await.has(&["unheld_charge"]);
    support::assert_audit_finds_nothing(&shop).await;
}
