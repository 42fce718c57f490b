//! Registration, login, logout, and throttled guessing.

use std::time::{Duration, Instant};

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Plan, Rung, Shop, free_address};

const PASSWORD: &str = "correct horse";

async fn log_in(shop: &Shop, username: &str, password: &str) -> Answer {
    shop.client().post("/api/login", json!({"username": username, "password": password})).await
}

#[tokio::test]
async fn registered_user_stays_signed_in_until_logout() {
    let shop = Shop::start(Rung::Sqlite).await;
    let client = shop.client();
    let created = client.post("/api/register", json!({"username": "Mei", "password": PASSWORD})).await.expect(201);
    let user = created.json()["user"].take();
    assert_eq!(user["username"], "Mei");
    let cookie = created.header("set-cookie");
    for part in ["seckill=", "HttpOnly", "SameSite=Lax", "Path=/", "Max-Age="] {
        assert!(cookie.contains(part), "{part} in {cookie}");
    }
    assert!(!cookie.contains("Secure"), "{cookie}");
    assert_eq!(client.get("/api/me").await.expect(200).json()["user"], user);
    client.post("/api/logout", json!({})).await.expect(204);
    client.get("/api/me").await.expect_problem(401, "not_signed_in");
    let again = log_in(&shop, "Mei", PASSWORD).await.expect(200);
    assert_eq!(again.json()["user"], user);
}

#[tokio::test]
async fn usernames_are_case_insensitive() {
    let shop = Shop::start(Rung::Sqlite).await;
    for (name, other) in [("Mei", "mEI"), ("Ömer", "öMER"), ("小美的店A", "小美的店a")] {
        let made = shop.register(name, PASSWORD).await.get("/api/me").await.json();
        let taken = shop.client().post("/api/register", json!({"username": other, "password": PASSWORD})).await;
        taken.expect_problem(409, "username_taken");
        assert_eq!(log_in(&shop, other, PASSWORD).await.expect(200).json()["user"]["id"], made["user"]["id"]);
    }
    for name in ["admin", "Admin", "ADMIN"] {
        let taken = shop.client().post("/api/register", json!({"username": name, "password": PASSWORD})).await;
        taken.expect_problem(409, "username_taken");
    }
}

#[tokio::test]
async fn invalid_usernames_and_passwords_are_refused() {
    let shop = Shop::start(Rung::Sqlite).await;
    let register = async |who: Value| shop.client().post("/api/register", who).await;
    for name in ["", "ab", "a b", "<script>", "a\u{202e}bc", "a\nb", "mei@example.com", &"x".repeat(33), "😀😀😀"]
    {
        register(json!({"username": name, "password": PASSWORD})).await.expect_problem(422, "bad_username");
    }
    for password in ["", "1234567", &"x".repeat(257)] {
        register(json!({"username": "mei", "password": password})).await.expect_problem(422, "weak_password");
    }
    register(json!({"username": "mei"})).await.expect_problem(422, "invalid");
    register(json!({"username": "mei", "password": PASSWORD, "role": "admin"})).await.expect_problem(422, "invalid");
    register(json!({"username": ["mei"], "password": PASSWORD})).await.expect_problem(422, "invalid");
    assert_eq!(log_in(&shop, "mei", PASSWORD).await.status, 401);
}

#[tokio::test]
async fn unknown_name_and_wrong_password_are_indistinguishable() {
    let shop = Shop::start(Rung::Sqlite).await;
    for n in 0..3 {
        shop.register(&format!("known-{n}"), PASSWORD).await;
    }
    let (mut unknown, mut wrong) = (Vec::new(), Vec::new());
    let mut answers = Vec::new();
    for n in 0..15 {
        for (name, times) in [(format!("nobody-{}", n % 3), &mut unknown), (format!("known-{}", n % 3), &mut wrong)] {
            let began = Instant::now();
            answers.push(log_in(&shop, &name, "wrong password").await.expect_problem(401, "bad_credentials").body);
            times.push(began.elapsed());
        }
    }
    assert!(answers.iter().all(|body| *body == answers[0]));
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64()
    };
    let ratio = median(&mut unknown) / median(&mut wrong);
    assert!((0.6..1.7).contains(&ratio), "an unknown name takes {ratio:.2} times as long");
}

#[tokio::test]
async fn password_guessing_is_throttled_per_address_and_name() {
    let shop = Plan::on(Rung::Sqlite).await.set("SECKILL_TRUSTED_PROXIES", "127.0.0.1").start().await;
    shop.register("mei", PASSWORD).await;
    let from = async |address: &str, name: &str, password: &str| {
        let client = shop.client();
        let request = client.request(Method::POST, "/api/login").header("x-forwarded-for", address);
        request.json(&json!({"username": name, "password": password})).send().await
    };
    let mut throttled = None;
    for _ in 0..30 {
        let answer = from("198.51.100.7", "MEI", "wrong password").await;
        if answer.status == 429 {
            throttled = Some(answer);
            break;
        }
        answer.expect_problem(401, "bad_credentials");
    }
    let throttled = throttled.expect("guessing is slowed").expect_problem(429, "rate_limited");
    let wait: u64 = throttled.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    from("198.51.100.7", "mei", PASSWORD).await.expect_problem(429, "rate_limited");
    // Addresses that the client invents stand to the left of the address that the proxy appends.
    from("203.0.113.1, 198.51.100.7", "mei", PASSWORD).await.expect_problem(429, "rate_limited");
    // The owner at another address, and other users at the same address, are not throttled.
    from("198.51.100.8", "mei", PASSWORD).await.expect(200);
    shop.register("lei", PASSWORD).await;
    from("198.51.100.7", "lei", PASSWORD).await.expect(200);
}

#[tokio::test]
async fn cookie_is_secure_behind_https() {
    let plan = Plan::on(Rung::Sqlite).await.set("SECKILL_PUBLIC_URL", "https://shop.example");
    let shop = plan.start().await;
    let created =
        shop.client().post("/api/register", json!({"username": "mei", "password": PASSWORD})).await.expect(201);
    let cookie = created.header("set-cookie");
    assert!(cookie.starts_with("__Host-seckill=") && cookie.contains("; Secure"), "{cookie}");
    let page = shop.client().get("/en/").await.expect(200);
    assert!(page.header("strict-transport-security").starts_with("max-age="));
}

#[tokio::test]
async fn staff_of_a_new_shop_that_others_reach_need_a_second_factor() {
    let https = async || Plan::on(Rung::Sqlite).await.set("SECKILL_PUBLIC_URL", "https://shop.example");
    let shop = https().await.start().await;
    let refused = shop.admin().await.get("/api/admin/sales").await.expect(403).json();
    assert_eq!(refused["code"], "second_factor_required");
    shop.admin().await.get("/api/account").await.expect(200);
    assert!(shop.processes[0].log().contains("a second factor is required of all staff"));
    let port = free_address().port();
    let beyond_loopback = Plan::on(Rung::Sqlite).await.set("SECKILL_LISTEN", &format!("0.0.0.0:{port}"));
    let shop = beyond_loopback.set("SECKILL_PUBLIC_URL", &format!("http://127.0.0.1:{port}")).start().await;
    shop.admin().await.get("/api/admin/sales").await.expect_problem(403, "second_factor_required");

    let demo = https().await.set("SECKILL_DEMO", "true").start().await;
    demo.admin().await.get("/api/admin/sales").await.expect(200);
    let local = Plan::on(Rung::Sqlite).await.start().await;
    local.admin().await.get("/api/admin/sales").await.expect(200);
}

#[tokio::test]
async fn shop_that_had_staff_before_goes_on_without_a_second_factor() {
    let mut shop = Plan::on(Rung::Sqlite).await.start().await;
    shop.processes[0].set("SECKILL_PUBLIC_URL", "https://shop.example");
    shop.processes[0].restart();
    shop.wait_until_ready().await;
    shop.admin().await.get("/api/admin/sales").await.expect(200);
}
