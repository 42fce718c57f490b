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
    let (right, wrong) = ("correct horse", "a wrong horse");
    // All from the same network, as if a whole campus shared the address.
    while shop.visitor().try_log_in("mei", wrong).await.status == 401 {}
    assert_eq!(shop.visitor().try_log_in("mei", right).await.problem(), problem(429, "rate_limited"));

    let back = shop.browser(&device).try_log_in("mei", right).await;
    assert_eq!(back.status, 200);
    let renewed = cookie_named(&back, "seckill_device").unwrap();
    assert_ne!(renewed, device);

    let lei = json!({"username": "lei", "password": "correct horse"});
    let answer = shop.visitor().post("/api/register", lei).await;
    let of_another = cookie_named(&answer, "seckill_device").unwrap();
    for stranger in [of_another.as_str(), &device[..device.len() - 1], "seckill_device="] {
        assert_eq!(shop.browser(stranger).try_log_in("mei", right).await.problem(), problem(429, "rate_limited"));
    }

    let guessing = shop.browser(&renewed);
    let mut judged = 0;
    while guessing.try_log_in("mei", wrong).await.status == 401 {
        judged += 1;
    }
    assert_eq!(judged, 8, "a known browser has the guesses of one network");
    assert_eq!(shop.browser(&device).try_log_in("mei", right).await.status, 200, "each browser has its own");
    let page = shop.visitor().get("/en/login").await;
    assert_eq!(cookie_named(&page, "seckill_device"), None);
}

#[tokio::test]
async fn buying_leads_a_browser_without_an_account_to_the_registration() {
    let shop = TestShop::open().await;
    let form = "/en/login?or=register&next=%2Fen%2Fsales%2F7";
    assert!(shop.visitor().get(form).await.leads_to("/en/register?next=%2Fen%2Fsales%2F7"));
    let asked_for = shop.visitor().get("/en/login?next=%2Fen%2Fsales%2F7").await;
    assert!(asked_for.is_page(200), "who asks for the log-in gets it");
    let answer = shop.visitor().post("/api/register", json!({"username": "mei", "password": "kq7-mt4v"})).await;
    let device = cookie_named(&answer, "seckill_device");
    let known = TestClient { cookie: device, ..shop.visitor() };
    assert!(known.get(form).await.is_page(200), "and so does who has logged in here");
}

#[tokio::test]
async fn guesses_of_others_keep_no_owner_out_who_has_more_than_a_password() {
    let (shop, clock) = super::authenticator::open_with(behind_a_proxy).await;
    let mei = shop.shopper("mei").await;
    mei.verify(super::mail::MEI).await;
    let mut passkey = mei.add_passkey("correct horse").await;
    let enrolment = mei.post("/api/account/second-factor", json!({})).await.json();
    let secret = totp_rs::Secret::try_from_base32(enrolment["secret"].as_str().unwrap()).unwrap();
    let totp = totp_rs::Builder::new().with_secret(secret).build().unwrap();
    let code = |at: jiff::Timestamp| totp.generate(at.as_second() as u64).to_string();
    let body = json!({"enrolment": enrolment["enrolment"], "password": "correct horse", "code": code(clock.now())});
    assert_eq!(mei.put("/api/account/second-factor", body).await.status, 200);
    clock.advance(std::time::Duration::from_secs(60));

    let guess = json!({"username": "mei", "password": "a wrong horse"});
    let mut judged = 0;
    for n in 0..50 {
        let answer = shop.post_from(&format!("192.0.{n}.1"), "/api/login", guess.clone()).await;
        judged += usize::from(answer.status == 401);
    }
    assert_eq!(judged, 40, "as few guesses as ever");
    let limited = problem(429, "rate_limited");
    let right = json!({"username": "mei", "password": "correct horse"});
    let here = "203.0.113.9";
    assert_eq!(shop.post_from(here, "/api/login", right.clone()).await.problem(), limited);
    let with = |password: &str, code: &str| json!({"username": "mei", "password": password, "code": code});
    let now = code(clock.now());
    // Nothing tells a wrong password from a wrong code.
    for (password, code) in [("correct horse", "000000"), ("a wrong horse", "000000"), ("a wrong horse", now.as_str())]
    {
        assert_eq!(shop.post_from(here, "/api/login", with(password, code)).await.problem(), limited);
    }
    assert_eq!(shop.post_from(here, "/api/login", with("correct horse", &now)).await.status, 200);
    let again = shop.post_from(here, "/api/login", with("correct horse", &now)).await;
    assert_ne!(again.status, 200, "a code works once");
    passkey.count += 1;
    assert_eq!(shop.visitor().log_in_with(&passkey).await.status, 200, "a passkey");

    let token = shop.recovery_token("mei").await;
    clock.advance(std::time::Duration::from_secs(60));
    let new = json!({"token": token, "new_password": "battery staple", "code": code(clock.now())});
    let recovered = shop.post_from(here, "/api/recovery/password", new).await;
    assert_eq!(recovered.status, 204, "{recovered:?}");
    let device = cookie_named(&recovered, "__Host-seckill_device").unwrap();
    let browser = shop.browser(device);
    let log_in = json!({"username": "mei", "password": "battery staple"});
    assert_eq!(browser.post("/api/login", log_in).await.problem(), problem(401, "totp_required"), "it is judged");
}
