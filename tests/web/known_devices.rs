//! Wrong guesses by others do not lock an account's owner out of a browser that has signed in before.

use axum::http::header::SET_COOKIE;

use super::*;

/// A cookie of this name that an answer sets.
fn cookie_named(answer: &TestResponse, name: &str) -> Option<String> {
    let mut cookies = answer.headers.get_all(SET_COOKIE).iter().map(|cookie| cookie.to_str().unwrap());
    let cookie = cookies.find(|cookie| cookie.starts_with(&format!("{name}=")))?;
    Some(cookie.split(';').next().unwrap().to_owned())
}

#[tokio::test]
async fn owner_logs_in_from_a_known_browser_while_others_guess() {
    let shop = TestShop::open().await;
    let answer = shop.visitor().post("/api/register", json!({"username": "Mei", "password": "correct horse"})).await;
    let device = cookie_named(&answer, "seckill_device").unwrap();
    let right = json!({"username": "mei", "password": "correct horse"});
    let wrong = json!({"username": "mei", "password": "a wrong horse"});
    // All from the same network, as if a whole campus shared the address.
    while shop.visitor().post("/api/login", wrong.clone()).await.status == 401 {}
    assert_eq!(shop.visitor().post("/api/login", right.clone()).await.problem(), problem(429, "rate_limited"));

    let browser = |cookie: &str| TestClient { cookie: Some(cookie.to_owned()), ..shop.visitor() };
    let back = browser(&device).post("/api/login", right.clone()).await;
    assert_eq!(back.status, 200);
    let renewed = cookie_named(&back, "seckill_device").unwrap();
    assert_ne!(renewed, device);

    let lei = json!({"username": "lei", "password": "correct horse"});
    let answer = shop.visitor().post("/api/register", lei).await;
    let of_another = cookie_named(&answer, "seckill_device").unwrap();
    for stranger in [of_another.as_str(), &device[..device.len() - 1], "seckill_device="] {
        assert_eq!(browser(stranger).post("/api/login", right.clone()).await.problem(), problem(429, "rate_limited"));
    }

    let guessing = browser(&renewed);
    let mut judged = 0;
    while guessing.post("/api/login", wrong.clone()).await.status == 401 {
        judged += 1;
    }
    assert_eq!(judged, 8, "a known browser has the guesses of one network");
    assert_eq!(browser(&device).post("/api/login", right).await.status, 200, "each browser has its own");
    let page = shop.visitor().get("/en/login").await;
    assert_eq!(cookie_named(&page, "seckill_device"), None);
}
