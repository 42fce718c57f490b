//! Refunds beyond what one person may decide alone: asked for, approved once by another, declined, expired, void.

use std::time::Duration;

use super::support::{assert_audit_finds_nothing, assert_later_form_keeps_its_entry, paid_order};
use super::*;
use store::{AuditReason, StaffAction};

const PRICE: i64 = 199_900;
/// In whole units of the currency, less than the price.
const ALONE: i64 = 1_000;
const HOUR: Duration = Duration::from_secs(3600);

/// A shop whose staff refund up to [`ALONE`] alone.
async fn open() -> TestShop {
    TestShop::open_with(|config| config.second_person_above = Some(ALONE)).await
}

fn part(amount: i64, to: &str) -> Value {
    json!({"amount": {"amount": amount, "currency": "CNY"}, "to": to, "reason": "scratched", "message": "Sorry!"})
}

fn at(order: &str, verb: &str) -> String {
    format!("/api/admin/orders/{order}/{verb}")
}

/// The address of a waiting request.
#[track_caller]
fn waits(answer: &TestResponse) -> String {
    assert_eq!((answer.status.as_u16(), &answer.json()["approval"]["status"]), (202, &json!("pending")), "{answer:?}");
    let path = format!("/api/admin/approvals/{}", answer.json()["approval"]["id"].as_str().unwrap());
    assert_eq!(answer.header("location"), path);
    path
}

/// Asks for a refund in part, which needs nobody else.
async fn ask(who: &TestClient<'_>, order: &str, part: Value, why: &str) {
    assert_eq!(who.post(&at(order, "refund-part"), part).await.status, 200, "{why}");
}

async fn refund(shop: &TestShop) -> usize {
    shop.parts.payments.refund_due().await.unwrap()
}

async fn status_of(who: &TestClient<'_>, path: &str) -> Value {
    who.get(path).await.json()["approval"]["status"].clone()
}

async fn approve(who: &TestClient<'_>, path: &str) -> TestResponse {
    who.post(&format!("{path}/approve"), json!({})).await
}

async fn decline(who: &TestClient<'_>, path: &str) -> TestResponse {
    who.post(&format!("{path}/decline"), json!({"reason": "no photograph"})).await
}

#[tokio::test]
async fn refund_beyond_the_bound_waits_for_a_second_person() {
    open_shop!(shop = open(), admin, [mei], sale = 2);
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    let (order, url) = paid_order(&shop, &mei, &sale).await;
    assert_eq!(shop.shopper("zhao").await.buy(&sale, 1).await.status, 202);
    let body = json!({"reason": "broken", "message": "Sorry!"});
    let path = waits(&sven.post(&at(&order, "refund"), body.clone()).await);
    assert_eq!(refund(&shop).await, 0);
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "paid");
    assert_audit_finds_nothing(&shop).await;
    let second = sven.post(&at(&order, "refund-part"), part(150_000, "payer")).await;
    assert_eq!(second.problem(), problem(409, "awaits_approval"));
    let form = "amount=1500&to=wallet&reason=scratched+lid&message=So+sorry&confirm=yes";
    let form = sven.send_form(&format!("/admin/orders/{order}/refund-part?lang=en"), form).await;
    assert!(form.is_page(409) && form.text().contains("waits for a second person"), "{form:?}");
    let parts = ["value=\"1500\"", "scratched lid", "So sorry", "<option value=\"wallet\" selected>"];
    assert_contains(form.text(), &parts);
    let long = format!("reason={}&confirm=yes", "y".repeat(501));
    let declined = format!("/admin/orders/approvals/{}/decline?lang=en", path.rsplit('/').next().unwrap());
    let declined = sven.send_form(&declined, &long).await;
    assert!(declined.is_page(422) && declined.text().contains(&"y".repeat(501)), "{}", declined.text());
    let seen = admin.get(&format!("/api/admin/orders/{order}")).await.json();
    let waiting = &seen["order"]["approvals"][0];
    assert_eq!((&waiting["requested_by"], &waiting["amount"]["amount"]), (&json!("sven"), &json!(PRICE)));
    assert_eq!(admin.get("/api/admin/approvals").await.json()["approvals"].as_array().unwrap().len(), 1);

    assert_eq!(approve(&sven, &path).await.problem(), problem(409, "yourself"));
    assert_eq!(approve(&mei, &path).await.status, 404);
    assert_eq!(status_of(&admin, &path).await, "pending");
    let approved = approve(&admin, &path).await.json()["approval"].clone();
    assert_eq!((&approved["status"], &approved["decided"]["by"]), (&json!("approved"), &json!("admin")));
    assert_eq!((refund(&shop).await, refund(&shop).await), (1, 0));
    let seen = mei.get(&url).await.json()["order"].clone();
    assert_eq!((&seen["status"], &seen["message"]), (&json!("refunded"), &json!("Sorry!")));
    assert_eq!(approve(&admin, &path).await.problem(), problem(409, "changed_meanwhile"));
    assert_eq!(decline(&sven, &path).await.problem(), problem(409, "changed_meanwhile"));
    let log = admin.audit_log().await;
    let lines: Vec<_> = (0..3).map(|n| (log[n]["action"].clone(), log[n]["actor"].clone())).collect();
    let expected = [("refund", "sven"), ("approve-refund", "admin"), ("request-refund", "sven")]
        .map(|(a, b)| (json!(a), json!(b)));
    assert_eq!(lines, expected);
    assert_eq!((&log[1]["before"]["approval"], &log[1]["after"]["approval"]), (&json!("pending"), &json!("approved")));
    shop.parts.gate.refresh().await;
    assert_eq!(shop.shopper("wang").await.buy(&sale, 1).await.status, 202, "the unit is for sale again");
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_who_approve_at_once_one_begins_the_refund() {
    open_shop!(shop = TestShop::open_with(|config| config.second_person_above = Some(0)), admin, [mei], sale = 5);
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    let sara = shop.staff(&admin, "sara", Role::Support).await;
    let (order, _) = paid_order(&shop, &mei, &sale).await;
    for _ in 0..5 {
        let path = waits(&sven.post(&at(&order, "refund-part"), part(100, "wallet")).await);
        let (one, two) = tokio::join!(approve(&admin, &path), approve(&sara, &path));
        let mut statuses = [one.status.as_u16(), two.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);
        assert_eq!(refund(&shop).await, 1);
    }
    assert_eq!(mei.get("/api/wallet").await.json()["balance"]["amount"], 500);
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn parts_of_a_day_count_together() {
    let clock = Clock::manual(Clock::system().now());
    let shop = TestShop::build(|config| config.second_person_above = Some(ALONE), clock.clone()).await;
    let (admin, mei, wang) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("wang").await);
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    let sale = shop.open_sale(&admin, 5).await;
    let (order, _) = paid_order(&shop, &mei, &sale).await;
    let (other, _) = paid_order(&shop, &wang, &sale).await;
    ask(&sven, &order, part(60_000, "payer"), "within the bound").await;
    ask(&sven, &other, part(40_000, "wallet"), "up to the bound itself").await;
    let path = waits(&sven.post(&at(&order, "refund-part"), part(1, "wallet")).await);
    waits(&sven.post(&at(&other, "refund-part"), part(1, "payer")).await);
    ask(&admin, &order, part(1, "payer"), "each person has a bound").await;
    assert_eq!(approve(&admin, &path).await.status, 200);
    ask(&admin, &order, part(99_999, "payer"), "approving costs nothing").await;
    clock.advance(24 * HOUR);
    let sven = shop.log_in("sven", "correct horse").await;
    ask(&sven, &order, part(1, "payer"), "a new day").await;
    refund(&shop).await;
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refunds_asked_for_at_once_do_not_pass_the_bound_together() {
    open_shop!(shop = open(), admin, sale = 8);
    let mut orders = Vec::new();
    for n in 0..6 {
        orders.push(paid_order(&shop, &shop.shopper(&format!("shopper-{n}")).await, &sale).await.0);
    }
    let asked = orders.iter().map(async |order| admin.post(&at(order, "refund-part"), part(40_000, "payer")).await);
    let answers = futures::future::join_all(asked).await;
    let begun = answers.iter().filter(|answer| answer.status == 200).count();
    let waiting = answers.iter().filter(|answer| answer.status == 202).count();
    assert_eq!((begun, waiting), (2, 4), "{answers:?}");
}

#[tokio::test]
async fn owner_of_an_order_decides_nothing_about_it() {
    open_shop!(shop = open(), admin, sale = 2);
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    let lena = shop.staff(&admin, "lena", Role::Support).await;
    let viewer = shop.staff(&admin, "vera", Role::Viewer).await;
    let (order, _) = paid_order(&shop, &sven, &sale).await;
    let path = waits(&lena.post(&at(&order, "refund"), json!({"reason": "x"})).await);
    assert_eq!(approve(&sven, &path).await.problem(), problem(409, "yourself"));
    assert_eq!(decline(&sven, &path).await.problem(), problem(409, "yourself"));
    assert_eq!(approve(&viewer, &path).await.problem(), problem(403, "not_allowed"));
    assert_eq!((refund(&shop).await, status_of(&viewer, &path).await), (0, json!("pending")));
    assert_eq!(approve(&admin, &path).await.status, 200);
}

#[tokio::test]
async fn request_expires_after_three_days() {
    let clock = Clock::manual(Clock::system().now());
    open_shop!(shop = TestShop::build(|config| config.second_person_above = Some(ALONE), clock.clone()), admin, [mei]);
    let password = admin.password.clone().unwrap();
    shop.staff(&admin, "sven", Role::Support).await;
    let sale = shop.open_sale(&admin, 2).await;
    let (order, _) = paid_order(&shop, &mei, &sale).await;
    let path = waits(&admin.post(&at(&order, "refund"), json!({"reason": "x"})).await);
    clock.advance(72 * HOUR);
    let (admin, sven) = (shop.log_in("admin", &password).await, shop.log_in("sven", "correct horse").await);
    assert_eq!(status_of(&sven, &path).await, "expired");
    assert_eq!(approve(&sven, &path).await.problem(), problem(409, "changed_meanwhile"));
    assert_eq!(sven.get("/api/admin/approvals").await.json()["approvals"], json!([]));
    let page = sven.get("/admin/orders?show=approvals&lang=en&decided=true").await;
    assert!(page.text().contains("Nobody decided within 72 hours"), "{page:?}");
    let again = waits(&admin.post(&at(&order, "refund"), json!({"reason": "x"})).await);
    assert_eq!((approve(&sven, &again).await.status.as_u16(), status_of(&sven, &path).await), (200, json!("expired")));
}

#[tokio::test]
async fn request_is_void_once_another_process_refunded_the_order() {
    open_shop!(shop = open(), admin, [mei], sale = 3);
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    let (order, _) = paid_order(&shop, &mei, &sale).await;
    let path = waits(&sven.post(&at(&order, "refund-part"), part(150_000, "payer")).await);
    // A process of a version without approvals refunds like this.
    let reason = AuditReason { actor: "admin", note: "late", message: None };
    let (place, now) = ((sale.parse().unwrap(), order.parse().unwrap()), shop.parts.clock.now());
    shop.parts.store.orders().apply_staff_action(place, StaffAction::Refund, reason, now).await.unwrap();
    assert_eq!(approve(&admin, &path).await.problem(), problem(409, "not_refundable"));
    assert_eq!((status_of(&admin, &path).await, refund(&shop).await), (json!("void"), 1), "only the other refund");
    assert_eq!(approve(&admin, &path).await.problem(), problem(409, "changed_meanwhile"));
    let page = sven.get(&format!("/admin/orders/{order}?lang=en")).await;
    assert!(page.text().contains("so this was no longer possible"), "{page:?}");
}

#[tokio::test]
async fn approval_that_fails_half_way_leaves_the_request_pending() {
    open_shop!(shop = open(), admin, [mei], sale = 3);
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    let (order, _) = paid_order(&shop, &mei, &sale).await;
    let path = waits(&sven.post(&at(&order, "refund-part"), part(150_000, "payer")).await);
    let fail = "CREATE TRIGGER fail BEFORE INSERT ON partial_refunds BEGIN SELECT RAISE(ABORT, 'full'); END";
    shop.execute(fail).await;
    assert!(approve(&admin, &path).await.status.is_server_error());
    assert_eq!((status_of(&admin, &path).await, refund(&shop).await), (json!("pending"), 0));
    shop.execute("DROP TRIGGER fail").await;
    assert_eq!((approve(&admin, &path).await.status.as_u16(), refund(&shop).await), (200, 1));
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn same_key_asks_once_and_off_asks_nobody() {
    open_shop!(shop = open(), admin, [mei], sale = 3);
    let (order, _) = paid_order(&shop, &mei, &sale).await;
    let ask = async || admin.post_keyed(&at(&order, "refund-part"), "once", part(150_000, "payer")).await;
    assert_eq!(waits(&ask().await), waits(&ask().await));
    let other = admin.post(&at(&order, "refund-part"), part(150_000, "payer")).await;
    assert_eq!(other.problem(), problem(409, "awaits_approval"), "another request");

    open_shop!(shop = TestShop::open_with(|config| config.second_person_above = None), admin, [mei], sale = 3);
    let (order, _) = paid_order(&shop, &mei, &sale).await;
    let begun = admin.post(&at(&order, "refund"), json!({"reason": "x"})).await.json();
    assert_eq!(begun["order"]["status"], "refund_pending");
}

#[tokio::test]
async fn capture_of_a_wrong_amount_is_refunded_by_two() {
    open_shop!(shop = open(), admin, [mei], sale = 2);
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    let (_, url) = mei.order(&sale).await;
    let begun = mei.begin_payment(&url).await;
    let wrong = json!({"payment_id": begun["payment"]["id"], "amount": {"amount": 199_899, "currency": "CNY"}});
    assert_eq!(shop.report("msg_wrong", "payment.captured", wrong).await.status, 204);
    let case = admin.get("/api/admin/payment-cases").await.json()["cases"][0]["id"].clone();
    let case = format!("/api/admin/payment-cases/{}", case.as_str().unwrap());
    let path = waits(&sven.post(&format!("{case}/refund"), json!({"reason": "wrong"})).await);
    let waiting = sven.get(&path).await.json()["approval"].clone();
    assert_eq!((&waiting["kind"], &waiting["amount"]["amount"]), (&json!("case"), &json!(199_899)));
    assert_eq!((refund(&shop).await, approve(&admin, &path).await.status.as_u16()), (0, 200));
    let again = sven.post(&format!("{case}/refund"), json!({"reason": "again"})).await;
    assert_eq!(again.status, 200, "what was decided is only asked for once more");
    let status = admin.get(&case).await.json()["case"]["payment"]["status"].clone();
    assert_eq!(status, "refund_pending");
}

#[tokio::test]
async fn staff_ask_approve_and_decline_by_form() {
    open_shop!(shop = open(), admin, [mei], sale = 3);
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    let (order, _) = paid_order(&shop, &mei, &sale).await;
    let own = format!("/admin/orders/{order}");
    let form = "reason=broken&message=Sorry&confirm=yes";
    let asked = sven.send_form(&format!("{own}/refund?lang=en"), form).await;
    assert!(asked.leads_to(&format!("{own}?lang=en&done=asked")), "{asked:?}");
    let page = sven.get(&format!("{own}?lang=en&done=asked")).await.text().to_owned();
    assert!(page.contains("It now waits for a second person") && page.contains("Waits for a second person"));
    let second = sven.send_form(&format!("{own}/refund?lang=en"), form).await;
    assert!(second.is_page(409) && second.text().contains("Another refund of this order"), "{second:?}");

    let list = "/admin/orders?show=approvals&lang=en";
    let page = sven.get(list).await;
    assert!(page.text().contains("Another staff member has to approve it") && !page.text().contains("/approve?"));
    assert!(admin.get("/admin/orders?lang=zh").await.text().contains("待复核"));
    let page = admin.get(list).await;
    let decline = page.action("/decline?");
    let unsure = admin.send_form(&decline, "reason=&confirm=yes").await;
    assert!(unsure.is_page(422) && unsure.text().contains("Enter a reason"), "{unsure:?}");
    for n in 10..30 {
        let newer = format!(
            "INSERT INTO staff_refunds (id, kind, subject, amount, currency, target, requested_by, actor, note,
             requested_at_ms, approval, expires_at_ms)
             SELECT 'ffffffff-0000-7000-8000-0000000000{n}', kind, 'other {n}', amount, currency, target, requested_by,
             actor, note, requested_at_ms, approval, expires_at_ms FROM staff_refunds WHERE order_id = '{order}'"
        );
        assert_eq!(shop.execute(newer).await, 1);
    }
    assert_later_form_keeps_its_entry(&admin, list, &decline).await;
    shop.execute("DELETE FROM staff_refunds WHERE subject LIKE 'other%'").await;
    let declined = admin.send_form(&decline, "reason=no+photograph&confirm=yes").await;
    assert!(declined.leads_to(&format!("{list}&done=decline")), "{declined:?}");
    let page = sven.get(&format!("{own}?lang=en")).await;
    assert_contains(page.text(), &["Declined", "no photograph"]);
    assert_eq!(refund(&shop).await, 0);

    sven.send_form(&format!("{own}/refund-part?lang=en"), "amount=1500&to=wallet&reason=x&confirm=yes").await;
    let path = admin.get(list).await.action("/approve?");
    assert!(admin.send_form(&path, "").await.is_page(422));
    assert!(admin.send_form(&path, "confirm=yes").await.leads_to(&format!("{list}&done=approve")));
    assert!(admin.send_form(&path, "confirm=yes").await.is_page(409), "once");
    refund(&shop).await;
    assert_eq!(mei.get("/api/wallet").await.json()["balance"]["amount"], 150_000);
    let log = admin.get("/admin/log?lang=en").await;
    assert!(log.text().contains("Decline a refund") && log.text().contains("Approve a refund"));
    assert_audit_finds_nothing(&shop).await;
}
