//! Operations that ask for the password again.

use std::collections::BTreeSet;
use std::time::Duration;

use super::support::bought;
use super::tokens::filled;
use super::*;

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// A shop whose staff enter their password again after 15 minutes, and its clock.
async fn open() -> (TestShop, Clock) {
    let clock = Clock::manual(jiff::Timestamp::from_second(1_795_000_000).unwrap());
    let shop = TestShop::build(|config| config.staff_step_up = Duration::from_secs(15 * 60), clock.clone()).await;
    (shop, clock)
}

#[tokio::test]
async fn refunds_exports_and_changes_of_staff_need_the_password_again_after_a_while() {
    let (shop, clock) = open().await;
    let admin = shop.admin().await;
    let operations = [
        ("GET", "/api/admin/orders.csv", 200),
        ("GET", "/api/admin/invoices.csv", 200),
        ("GET", "/api/admin/books/journal.csv", 200),
        ("POST", "/api/admin/orders/{order}/refund", 422),
        ("POST", "/api/admin/orders/{order}/refund-part", 422),
        ("POST", "/api/admin/orders/{order}/return/receive", 422),
        ("POST", "/api/admin/payment-cases/{case}/refund", 422),
        ("POST", "/api/admin/approvals/{approval}/approve", 404),
        ("POST", "/api/admin/packets", 422),
        ("POST", "/api/admin/staff", 422),
        ("PUT", "/api/admin/staff-policy", 422),
        ("PATCH", "/api/admin/staff/{user}", 422),
        ("DELETE", "/api/admin/staff/{user}", 404),
        ("POST", "/api/admin/staff/{user}/reset-password", 404),
        ("DELETE", "/api/admin/staff/{user}/second-factor", 404),
        ("POST", "/api/admin/tokens", 422),
        ("POST", "/api/admin/webhooks", 422),
        ("PATCH", "/api/admin/webhooks/{webhook}", 404),
        ("POST", "/api/admin/webhooks/{webhook}/secret", 404),
        ("POST", "/api/admin/webhooks/{webhook}/rotate", 404),
    ];
    let forms = [
        "/admin/orders/{order}/refund",
        "/admin/orders/{order}/refund-part",
        "/admin/orders/{order}/return/receive",
        "/admin/orders/bulk/refund",
        "/admin/orders/payments/{case}/refund",
        "/admin/orders/approvals/{approval}/approve",
        "/admin/packets",
        "/admin/sales/{sale}/clusters/{user}/refund",
        "/admin/staff",
        "/admin/staff/appoint",
        "/admin/staff/policy",
        "/admin/staff/{user}/role",
        "/admin/staff/{user}/dismiss",
        "/admin/staff/{user}/reset-password",
        "/admin/staff/{user}/reset-second-factor",
        "/admin/tokens",
        "/admin/webhooks",
        "/admin/webhooks/{webhook}",
        "/admin/webhooks/{webhook}/secret",
        "/admin/webhooks/{webhook}/rotate",
    ];
    // The page that asks for the password is no operation.
    let asking = ["GET", "POST"].map(|method| (method, "/admin/step-up"));
    let here = operations.map(|(method, path, _)| (method, path)).into_iter().chain(forms.map(|path| ("POST", path)));
    let here: BTreeSet<_> = here.chain(asking).map(|(method, path)| (method.to_owned(), path.to_owned())).collect();
    let routes = super::permissions::routes_of(include_str!("../../src/console/routes.rs"), "stepped_up");
    assert_eq!(routes.symmetric_difference(&here).collect::<Vec<_>>(), Vec::<&(String, String)>::new());
    let operations = operations.map(|(method, path, status)| (method, filled(path), status));
    let forms = forms.map(filled);
    let attempt = async |method, path: &str| admin.send(method, path, &JSON, "{}").await;
    for (method, path, status) in &operations {
        let answer = attempt(method, path).await;
        assert_ne!(answer.code(), "step_up_needed", "{method} {path} right after the log-in");
        assert!(answer.status == *status || answer.status == 404, "{method} {path}: {}", answer.status);
    }
    clock.advance(Duration::from_secs(15 * 60));
    for (method, path, _) in &operations {
        assert_eq!(attempt(method, path).await.problem(), problem(403, "step_up_needed"), "{method} {path}");
    }
    for path in &forms {
        admin.send_form(&format!("{path}?lang=en"), "reason=x").await.shows(403, &["Confirm it’s you"]);
        assert_eq!(shop.visitor().send_form(path, "").await.status, 404, "{path}");
    }
    assert_eq!(admin.get("/api/admin/orders").await.status, 200, "reading needs no password");

    let step_up = async |body: Value| admin.post("/api/account/step-up", body).await;
    step_up(json!({"password": "wrong horse"})).await.wrong("password", "wrong_password");
    assert_eq!(attempt("GET", "/api/admin/orders.csv").await.status, 403);
    assert_eq!(step_up(json!({"password": admin.password.clone().unwrap()})).await.status, 204);
    clock.advance(Duration::from_secs(15 * 60 - 1));
    assert_eq!(attempt("GET", "/api/admin/orders.csv").await.status, 200);
    clock.advance(Duration::from_secs(1));
    assert_eq!(attempt("GET", "/api/admin/orders.csv").await.status, 403);
    assert_eq!(shop.visitor().post("/api/account/step-up", json!({"password": "x"})).await.status, 401);
}

#[tokio::test]
async fn page_that_asks_for_the_password_carries_the_form() {
    let (shop, clock) = open().await;
    let admin = shop.admin().await;
    clock.advance(Duration::from_secs(3600));
    let form = "username=otto&role=operator";
    let page = admin.send_form("/admin/staff?lang=en", form).await.shows(
        403,
        &[r#"action="/admin/staff?lang=en""#, r#"name="username" value="otto""#, r#"name="role" value="operator""#],
    );
    assert!(!page.text().contains("step_up_code"), "the account has no second factor");
    assert!(shop.parts.store.accounts().user_named("otto").await.unwrap().is_none());

    let wrong = admin.send_form("/admin/staff?lang=en", &format!("{form}&step_up_password=wrong+horse")).await;
    assert!(wrong.is_page(422) && wrong.text().contains("step-up-password-wrong"), "{}", wrong.text());
    assert!(wrong.text().contains(r#"value="otto""#) && !wrong.text().contains("wrong horse"));
    assert!(shop.parts.store.accounts().user_named("otto").await.unwrap().is_none());

    let password = admin.password.clone().unwrap();
    let done = admin.send_form("/admin/staff?lang=en", &format!("{form}&step_up_password={password}")).await;
    assert!(done.is_page(200) && done.text().contains("Account “otto” created"), "{}", done.text());
    assert_eq!(shop.parts.store.accounts().user_named("otto").await.unwrap().unwrap().role, Role::Operator);
    let again = admin.send_form("/admin/staff?lang=en", "username=olga&role=viewer").await;
    assert!(again.is_page(200), "the password holds for a while");
}

#[tokio::test]
async fn link_to_an_export_asks_for_the_password_first() {
    let (shop, clock) = open().await;
    let admin = shop.admin().await;
    let link = "/admin/step-up?lang=zh&next=%2Fapi%2Fadmin%2Forders.csv%3Flang%3Dzh";
    assert!(admin.get(link).await.leads_to("/api/admin/orders.csv?lang=zh"));
    for foreign in ["%2F%2Fevil.example", "%2Fzh%2F", "https%3A%2F%2Fevil.example", ""] {
        assert!(admin.get(&format!("/admin/step-up?next={foreign}")).await.leads_to("/admin"), "{foreign}");
    }
    clock.advance(Duration::from_secs(3600));
    admin.get(link).await.shows(403, &["验证身份", r#"name="next" value="/api/admin/orders.csv?lang=zh""#]);
    let form =
        format!("next=%2Fapi%2Fadmin%2Forders.csv%3Flang%3Dzh&step_up_password={}", admin.password.clone().unwrap());
    admin.send_form("/admin/step-up?lang=zh", &form).await.shows(200, &[r#"href="/api/admin/orders.csv?lang=zh""#]);
    assert_eq!(admin.get("/api/admin/orders.csv?lang=zh").await.status, 200);
    let mei = shop.shopper("mei").await;
    assert_eq!(mei.get(link).await.status, 404);
    for password in ["wrong+horse", "correct+horse"] {
        let form = format!("username=otto&role=viewer&step_up_password={password}");
        assert_eq!(mei.send_form("/admin/staff?lang=en", &form).await.status, 404, "as for every shopper");
    }
}

/// The code of an authenticator that is being set up.
pub fn code_of(enrolment: &Value, clock: &Clock) -> String {
    let secret = totp_rs::Secret::try_from_base32(enrolment["secret"].as_str().unwrap()).unwrap();
    let totp = totp_rs::Builder::new().with_secret(secret).build().unwrap();
    totp.generate(clock.now().as_second() as u64).to_string()
}

#[tokio::test]
async fn code_of_the_second_factor_is_part_of_the_proof() {
    let (shop, clock) = open().await;
    let admin = shop.admin().await;
    let password = admin.password.clone().unwrap();
    let enrolment = admin.post("/api/account/second-factor", json!({})).await.json();
    let code = |clock: &Clock| code_of(&enrolment, clock);
    let body = json!({"enrolment": enrolment["enrolment"], "password": password, "code": code(&clock)});
    assert_eq!(admin.put("/api/account/second-factor", body).await.status, 200);
    clock.advance(Duration::from_secs(3600));
    let step_up = async |body: Value| admin.post("/api/account/step-up", body).await;
    assert_eq!(step_up(json!({"password": password})).await.problem(), problem(401, "bad_code"));
    assert_eq!(step_up(json!({"password": password, "code": "000000"})).await.problem(), problem(401, "bad_code"));
    admin.send_form("/admin/staff?lang=en", "username=otto&role=viewer").await.shows(403, &[r#"name="step_up_code""#]);
    let form = format!("username=otto&role=viewer&step_up_password={password}");
    admin.send_form("/admin/staff?lang=en", &form).await.shows(422, &["step-up-code-wrong"]);
    admin.send_form("/admin/staff?lang=en", &format!("{form}&step_up_code={}", code(&clock))).await.shows(200, &[]);

    // A new password opens a session without a code, so it proves nothing.
    let change = json!({"password": password, "new_password": "battery staple"});
    let changed = admin.put("/api/account/password", change).await;
    let admin = TestClient { cookie: Some(changed.cookie()), ..shop.visitor() };
    assert_eq!(admin.get("/api/admin/orders.csv").await.problem(), problem(403, "step_up_needed"));
}

const HALF_A_DAY: Duration = Duration::from_secs(12 * 3600);

#[tokio::test]
async fn wallet_pays_half_a_day_after_the_log_in_only_with_the_password() {
    let (shop, clock) = open().await;
    let mei = shop.shopper("mei").await;
    super::wallet::fill(&shop, &mei, 300_000).await;
    clock.advance(HALF_A_DAY - Duration::from_secs(60));
    let give = "total=1&count=1&split=equal&greeting=hi";
    assert!(mei.send_form("/en/packets", give).await.header("location").ends_with("/given"), "the log-in holds");
    clock.advance(Duration::from_secs(60));

    // Everything except the money goes on.
    let sale = shop.sell(2).await;
    let (order, url) = bought(&mei, &sale, 1).await;
    let pay = async |from: &str| mei.post(&format!("{url}/payments"), json!({"from": from})).await;
    assert_eq!(pay("wallet").await.problem(), problem(403, "step_up_needed"));
    assert_eq!(pay("provider").await.status, 201, "the provider asks by itself");
    let packet = json!({"total": 100, "count": 1, "from": "wallet"});
    assert_eq!(mei.post("/api/packets", packet.clone()).await.problem(), problem(403, "step_up_needed"));
    mei.send_form("/zh/packets", give)
        .await
        .shows(403, &[r#"name="greeting" value="hi""#, r#"href="/zh/packets/new""#, "验证身份"]);

    // The address that was entered on the way is still there.
    let order_page = format!("/en/orders/{sale}/{order}");
    let address = "choice=new&then=pay&from=wallet&recipient=Mei&phone=13800138000&country=CN&region=Shanghai\
                   &city=Shanghai&line1=Road+1&postal_code=200000";
    let asked = mei.send_form(&format!("{order_page}/address"), address).await;
    assert!(asked.is_page(403) && asked.text().contains(r#"name="line1" value="Road 1""#), "{}", asked.text());
    assert!(asked.text().contains(&format!(r#"<a href="{order_page}">Cancel"#)), "{}", asked.text());
    assert!(!asked.text().contains("/admin"), "{}", asked.text());
    let with = |form: &str, password: &str| format!("{form}&step_up_password={password}");
    let wrong = mei.send_form(&format!("{order_page}/pay"), &with("from=wallet", "wrong+horse")).await;
    assert!(wrong.is_page(422) && wrong.text().contains("step-up-password-wrong"), "{}", wrong.text());
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "unpaid");
    let paid = mei.send_form(&format!("{order_page}/pay"), &with("from=wallet", "correct+horse")).await;
    assert!(paid.leads_to(&order_page), "{}", paid.text());
    let order = mei.get(&url).await.json()["order"].take();
    assert_eq!((&order["status"], &order["address"]["line1"]), (&json!("paid"), &json!("Road 1")));

    // The password counts for the next payment, and by API as well.
    assert!(mei.send_form("/en/packets", give).await.header("location").ends_with("/given"));
    clock.advance(HALF_A_DAY);
    mei.post("/api/account/step-up", json!({"password": "correct horse"})).await.is(204);
    assert_eq!(mei.post("/api/packets", packet).await.status, 201);
}
