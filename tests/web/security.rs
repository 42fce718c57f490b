//! Security events: which requests leave one, what an event says, and what it never says.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;

use super::*;
use store::{SecurityEventFilter, SecurityEventRow};

impl TestShop {
    /// All events, the oldest first.
    async fn events(&self) -> Vec<SecurityEventRow> {
        self.parts.security.write(&self.parts.store).await.unwrap();
        let filter = SecurityEventFilter::default();
        let mut rows = self.parts.store.security_events().list(&filter, None, 1_000).await.unwrap();
        rows.reverse();
        rows
    }

    /// Class and detail of each kind of event, sorted.
    pub(super) async fn kinds(&self) -> Vec<(String, String)> {
        let mut kinds: Vec<_> = self.events().await.into_iter().map(|row| (row.class, row.detail)).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }
}

pub(super) fn kind(class: &str, detail: &str) -> (String, String) {
    (class.to_owned(), detail.to_owned())
}

#[tokio::test]
async fn log_ins_leave_events_with_the_account_and_without_typed_names() {
    let shop = TestShop::open().await;
    shop.shopper("mei").await;
    let mei = shop.log_in("mei", PASSWORD.0).await;
    let id = shop.parts.accounts().session(&mei.headers()).unwrap().user_id;
    let log_in = async |name: &str, password: &str| {
        shop.visitor().post("/api/login", json!({"username": name, "password": password})).await.status.as_u16()
    };
    assert_eq!(log_in("my-secret-passw0rd", "x").await, 401);
    for _ in 0..3 {
        assert_eq!(log_in("mei", "wrong horse").await, 401);
    }
    while log_in("mei", "wrong horse").await != 429 {}
    let form = "username=mei&password=wrong+horse";
    assert_eq!(shop.visitor().send_form("/zh/login", form).await.status, 429);
    let kinds = shop.kinds().await;
    assert_eq!(
        kinds,
        [
            kind("log_in", ""),
            kind("log_in_failed", "password"),
            kind("log_in_failed", "unknown_account"),
            kind("log_in_throttled", ""),
        ]
    );
    let events = shop.events().await;
    let of = |detail: &str| events.iter().find(|row| row.detail == detail).unwrap();
    assert_eq!((of("password").account, of("unknown_account").account), (Some(id), None));
    let all = format!("{events:?}");
    for secret in ["my-secret", "horse", "mei", "127.0.0.1"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
    let metrics = shop.parts.metrics.encode();
    assert!(metrics.contains("seckill_security_events_total{class=\"log_in_throttled\"} 2"), "{metrics}");
}

#[tokio::test]
async fn refused_requests_leave_events() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let (mei, vera) = (shop.shopper("mei").await, shop.staff(&admin, "vera", Role::Viewer).await);
    let json_type = ("content-type", "application/json");
    let other_site = [json_type, ("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")];
    assert_eq!(mei.send("POST", "/api/logout", &other_site, "{}").await.status, 403);
    assert_eq!(mei.send("POST", "/api/sales/1/orders", &other_site, "{}").await.status, 403, "also while buying");
    assert_eq!(shop.visitor().post("/api/webhooks/payments/sandbox", json!({})).await.status, 401);
    assert_eq!(shop.visitor().get("/admin").await.status, 303, "to the log-in");
    assert_eq!(mei.get("/api/admin/users").await.status, 404);
    assert_eq!(vera.get("/admin/staff").await.status, 403);
    shop.visitor().post("/api/register", json!({"username": "lei", "password": "password"})).await.is(422);
    assert_eq!(shop.visitor().send_form("/en/register", "username=mei&password=correct+horse").await.status, 409);
    let before = [kind("log_in", ""), kind("role_changed", "viewer")];
    let refused: Vec<_> = shop.kinds().await.into_iter().filter(|kind| !before.contains(kind)).collect();
    assert_eq!(
        refused,
        [
            kind("cross_site_refused", ""),
            kind("registration_refused", ""),
            kind("registration_refused", "weak_password"),
            kind("staff_access_refused", "not_staff"),
            kind("staff_access_refused", "viewer"),
            kind("staff_access_refused", "visitor"),
            kind("webhook_refused", "bad_signature"),
        ]
    );
}

#[tokio::test]
async fn changes_of_accounts_and_exports_leave_events() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let mei = shop.shopper("mei").await;
    let change = json!({"password": "correct horse", "new_password": "battery staple"});
    assert_eq!(mei.put("/api/account/password", change).await.status, 204);
    let mei = shop.log_in("mei", "battery staple").await;
    assert_eq!(mei.get("/api/account/export").await.status, 200);
    let id = shop.parts.accounts().session(&mei.headers()).unwrap().user_id;
    let path = |action: &str| format!("/api/admin/users/{id}/{action}");
    assert_eq!(admin.post(&path("end-sessions"), json!({})).await.status, 200);
    assert_eq!(admin.post(&path("block"), json!({"reason": "fraud"})).await.status, 200);
    shop.visitor().post("/api/login", json!({"username": "mei", "password": "battery staple"})).await.is(403);
    assert_eq!(admin.post(&path("unblock"), json!({})).await.status, 200);
    assert_eq!(admin.post("/api/admin/staff", json!({"username": "otto", "role": "operator"})).await.status, 201);
    assert_eq!(admin.get("/api/admin/orders.csv").await.status, 200);
    assert_eq!(admin.get("/api/admin/books/journal.csv").await.status, 200);
    assert_eq!(
        shop.kinds().await,
        [
            kind("account_blocked", ""),
            kind("account_unblocked", ""),
            kind("exported", "books"),
            kind("exported", "orders"),
            kind("exported", "own_data"),
            kind("log_in", ""),
            kind("log_in_failed", "blocked"),
            kind("password_changed", ""),
            kind("role_changed", "operator"),
            kind("sessions_ended", "staff"),
        ]
    );
    let all = format!("{:?}", shop.events().await);
    assert!(!all.contains("fraud") && !all.contains("staple"), "{all}");
}

#[tokio::test]
async fn events_have_the_network_of_the_client_behind_a_trusted_proxy() {
    let shop = TestShop::open_with(|config| {
        config.web.trusted_proxies = vec![base::config::Cidr::parse("10.0.0.1").unwrap()];
    })
    .await;
    let request = Request::builder().uri("/admin").header("x-forwarded-for", "203.0.113.9");
    let mut request = request.body(Body::empty()).unwrap();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([10, 0, 0, 1], 4711))));
    assert_eq!(shop.router.clone().oneshot(request).await.unwrap().status(), 303);
    assert_eq!(shop.events().await.iter().map(|row| row.network.as_str()).collect::<Vec<_>>(), ["203.0.113.0/24"]);
}

#[tokio::test]
async fn owners_read_and_filter_security_events() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    admin.get("/admin/log?show=security&lang=en&class=webhook_refused").await.shows(200, &["No matching events."]);
    shop.shopper("mei").await;
    let mei = shop.log_in("mei", PASSWORD.0).await;
    let id = shop.parts.accounts().session(&mei.headers()).unwrap().user_id.to_string();
    for name in ["mei", "mei", "lei"] {
        shop.visitor().post("/api/login", json!({"username": name, "password": "wrong horse"})).await.is(401);
    }
    shop.events().await;
    let list = async |query: &str| {
        let answer = admin.get(&format!("/api/admin/security-events{query}")).await.is(200);
        answer.json()["events"].as_array().unwrap().clone()
    };
    let failed = list("?class=log_in_failed&account=mei").await;
    assert_eq!(failed.len(), 1, "{failed:?}");
    let (event, account) = (&failed[0], json!(id));
    assert_eq!((&event["account"], &event["username"], &event["count"]), (&account, &json!("mei"), &json!(2)));
    assert_eq!((&event["network"], &event["detail"]), (&json!("127.0.0.0/24"), &json!("password")));
    assert_eq!(list(&format!("?account={id}")).await.len(), 2, "the log-in, and the failures");
    assert_eq!(list("?network=127.0.0.9&class=log_in_failed").await.len(), 2);
    assert_eq!(list("?network=192.0.2.0/24").await.len(), 0);
    assert_eq!(list("?to=2026-01-01").await.len(), 0);
    for (query, field) in [("class=x", "class"), ("account=nobody", "account"), ("network=x", "network")] {
        let refused = admin.get(&format!("/api/admin/security-events?{query}")).await;
        assert_eq!((refused.status.as_u16(), &refused.json()["fields"][0]["field"]), (422, &json!(field)));
        assert!(admin.get(&format!("/admin/log?show=security&lang=zh&{query}")).await.is_page(422), "{query}");
    }
    for (lang, class, detail) in [("en", "Login failed", "No such username"), ("zh", "登录失败", "没有这个用户名")]
    {
        let page =
            admin.get(&format!("/admin/log?show=security&lang={lang}")).await.shows(200, &["<svg", class, detail]);
        assert!(!page.text().contains("style="));
    }
}

#[tokio::test]
async fn lists_of_security_events_are_paged() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    for n in 0..70 {
        let client = std::net::IpAddr::from([192, 0, n, 1]);
        shop.parts.security.record(domain::SecurityClass::LogInFailed, None, Some(client), "password");
    }
    shop.events().await;
    let first = admin.get("/api/admin/security-events?class=log_in_failed").await.json();
    assert_eq!(first["events"].as_array().unwrap().len(), 50);
    let next = first["next"].as_str().unwrap();
    let second = admin.get(&format!("/api/admin/security-events?class=log_in_failed&before={next}")).await.json();
    assert_eq!((second["events"].as_array().unwrap().len(), &second["next"]), (20, &Value::Null));
    assert_eq!(admin.get("/api/admin/security-events?before=x").await.status, 422);
    let page = admin.get("/admin/log?show=security&lang=en&class=log_in_failed").await;
    assert!(page.text().contains(&format!("class=log_in_failed&#38;before={next}")), "{}", page.text());
}

#[tokio::test]
async fn security_txt_says_where_to_report_a_weakness_and_until_when() {
    let (shop, _) = TestShop::open_then("2026-11-28T12:00:00Z").await;
    let answer = shop.visitor().get("/.well-known/security.txt").await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "text/plain; charset=utf-8"));
    let url = &shop.parts.config.web.public_url;
    assert!(answer.text().contains(&format!("Contact: {url}/en/about\n")), "{answer:?}");
    assert!(answer.text().contains("Expires: 2027-05-27T00:00:00Z\n"), "{answer:?}");
    assert!(shop.visitor().get("/en/about").await.is_page(200));
}
