//! Sales whose line stands in front of another shop.

use std::time::Duration;

use base::jws::JsonSigner;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use url::Url;

use super::tokens::TestProgram;
use super::waiting_rooms::{GATHER, announce, joining, open, step};
use super::*;
use super::{draws, spread};

const SHOP: &str = "https://shop.example/drop";

async fn put_in_front(admin: &TestClient<'_>, sale: &str, front: Value) -> TestResponse {
    admin.put(&format!("/api/admin/sales/{sale}/front"), json!({ "front": front })).await
}

/// A shop with a sale in front of another shop, whose waiting room has opened, and its administrator.
async fn in_front(shop: &TestShop, sale: &str, front: Value) {
    let admin = shop.log_in("admin", ADMIN_PASSWORD.0).await;
    assert_eq!(put_in_front(&admin, sale, front).await.status, 200);
}

/// A shop with a line for so many units, in front of another shop.
async fn line_in_front(units: i64) -> (TestShop, Clock, String) {
    let (shop, clock, sale) = joining(units).await;
    in_front(&shop, &sale, once()).await;
    (shop, clock, sale)
}

fn once() -> Value {
    json!({"return_addresses": [SHOP]})
}

/// Comes from the other shop, at whose page `?size=42` the shopper was. Returns the browser with its cookies.
async fn come<'a>(client: &TestClient<'a>, sale: &str) -> TestClient<'a> {
    let path = format!("/line/{sale}?return=https%3A%2F%2Fshop.example%2Fdrop%3Fsize%3D42&lang=en");
    let answer = client.get(&path).await;
    assert!(answer.leads_to(&format!("/en/sales/{sale}/line")), "{answer:?}");
    let set = answer.headers.get_all("set-cookie").iter().map(|set| set.to_str().unwrap().split(';').next().unwrap());
    let cookies: Vec<&str> = client.cookie.as_deref().into_iter().chain(set).collect();
    client.shop.browser(cookies.join("; "))
}

async fn call(shop: &TestShop, clock: &Clock, sale: &str) {
    open(shop, clock, sale).await;
    clock.advance(GATHER);
    for _ in 0..3 {
        step(shop).await;
    }
}

/// Goes back to the other shop. Returns the pass.
async fn leave(client: &TestClient<'_>, sale: &str) -> String {
    let answer = client.get(&format!("/line/{sale}/pass")).await;
    assert_eq!((answer.status.as_u16(), answer.header("referrer-policy")), (303, "no-referrer"), "{answer:?}");
    let back = Url::parse(answer.header("location")).unwrap();
    assert_eq!((back.host_str(), back.path()), (Some("shop.example"), "/drop"));
    let mut query = back.query_pairs();
    assert_eq!(query.next().unwrap().1, "42", "the page from which the shopper came");
    query.next().filter(|(name, _)| name == "seckill_pass").unwrap().1.into_owned()
}

fn claims(pass: &str) -> Value {
    let body = pass.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).unwrap()).unwrap()
}

async fn check(shop: &TestShop, sale: &str, address: &str, cookie: Option<String>) -> TestResponse {
    let headers = [("x-sale", sale), ("x-original-uri", address)];
    let proxy = TestClient { cookie, ..shop.visitor() };
    proxy.send("GET", "/api/v1/passes/check", &headers, Body::empty()).await
}

/// The status of the answer to somebody who comes to the other shop with this pass.
async fn admits(shop: &TestShop, sale: &str, pass: &str) -> StatusCode {
    check(shop, sale, &format!("/drop?seckill_pass={pass}"), None).await.status
}

async fn redeem(program: &TestProgram<'_>, pass: &str) -> TestResponse {
    program.post("/api/v1/passes/redeem", json!({"pass": pass})).await
}

#[tokio::test]
async fn called_shopper_goes_back_with_a_pass_that_is_used_once() {
    let (shop, clock, sale) = line_in_front(1).await;
    let shoppers = [come(&shop.shopper("mei").await, &sale).await, come(&shop.shopper("lan").await, &sale).await];
    for early in &shoppers {
        let early = early.get(&format!("/line/{sale}/pass")).await;
        assert!(early.leads_to(&format!("/en/sales/{sale}/line")), "before the turn there is no pass: {early:?}");
    }
    call(&shop, &clock, &sale).await;
    let mut turns = Vec::new();
    for shopper in &shoppers {
        let page = shopper.get(&format!("/en/sales/{sale}/line")).await;
        turns.push(page.text().contains(&format!("/line/{sale}/pass")));
        assert!(!page.text().contains(&format!("/en/sales/{sale}/buy")), "nothing is bought here");
    }
    assert_eq!(turns.iter().filter(|is_called| **is_called).count(), 1, "one unit, one turn");
    let called = &shoppers[turns.iter().position(|is_called| *is_called).unwrap()];
    let token = called.post(&format!("/api/sales/{sale}/token"), json!({})).await;
    assert_eq!(token.problem(), problem(409, "sold_elsewhere"), "nothing is bought here");
    let pass = leave(called, &sale).await;
    let claims = claims(&pass);
    assert_eq!((&claims["aud"], &claims["use"]), (&json!(format!("sale:{sale}")), &json!("once")));
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 60, "valid until the turn ends");
    let keys = shop.visitor().get("/.well-known/jwks.json").await;
    assert_eq!(keys.header("cache-control"), "public, max-age=300");
    let kid: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(pass.split('.').next().unwrap()).unwrap()).unwrap();
    assert_eq!(keys.json()["keys"][0]["kid"], kid["kid"]);

    // One pass may be lost on the way. More than three are not made.
    let second = leave(called, &sale).await;
    leave(called, &sale).await;
    assert_eq!(called.get(&format!("/line/{sale}/pass")).await.status, 409);

    let address = |pass: &str| format!("/drop?size=42&seckill_pass={pass}");
    let first = check(&shop, &sale, &address(&pass), None).await;
    assert_eq!((first.status.as_u16(), first.header("x-pass-sub")), (204, claims["sub"].as_str().unwrap()));
    let cookie = first.header("set-cookie").to_owned();
    let (pass_of_browser, attributes) = cookie.split_once("; ").unwrap();
    assert!(pass_of_browser.starts_with("seckill_pass="), "{cookie}");
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=60");
    assert_eq!(check(&shop, &sale, &address(&pass), None).await.status, 204, "the first answer may be lost");
    let other = check(&shop, &sale, &address(&second), None).await;
    assert_eq!((other.status.as_u16(), other.code()), (401, "pass_needed".to_owned()), "one turn, one use");
    let line = Url::parse(other.header("x-line")).unwrap();
    assert_eq!(line.path(), format!("/line/{sale}"));
    assert_eq!(line.query_pairs().next().unwrap().1, "https://shop.example/drop?size=42", "without the used pass");
    clock.advance(Duration::from_secs(11));
    assert_eq!(check(&shop, &sale, &address(&pass), None).await.status, 401);
    let admitted = Some(cookie.split(';').next().unwrap().to_owned());
    assert_eq!(check(&shop, &sale, "/drop/basket", admitted.clone()).await.status, 204, "the browser stays in");

    // The seat is free, and the next shopper is called.
    step(&shop).await;
    let room = shop.parts.waiting_rooms.line(domain::SaleId(sale.parse().unwrap())).unwrap();
    assert_eq!((room.called, room.seats), (2, 1));
    clock.advance(Duration::from_secs(60));
    assert_eq!(check(&shop, &sale, "/drop/basket", admitted).await.status, 401, "the turn has ended");
}

/// What the page says about the time that a shopper waits for.
fn awaited(page: &TestResponse) -> jiff::Timestamp {
    page.text().split("data-opens=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn own_moment_of_a_spread_leads_to_a_pass() {
    let shop = TestShop::open_at(&spread::hour_before()).await;
    let sale = spread::announced_sale(&shop.admin().await, spread::SPREAD_MS).await;
    in_front(&shop, &sale, once()).await;
    let mei = come(&shop.shopper("mei").await, &sale).await;
    let (line, pass) = (format!("/en/sales/{sale}/line"), format!("/line/{sale}/pass"));
    let early = mei.get(&line).await;
    assert!(early.is_page(200) && early.text().contains("Not open yet"), "{}", early.text());
    assert_eq!(awaited(&early), "2026-11-21T12:00:00Z".parse().unwrap(), "and tells no moment");
    assert!(mei.get(&pass).await.leads_to(&line));
    spread::open(&shop, &shop.parts.clock, &sale).await;

    let moment = awaited(&mei.get(&line).await);
    shop.advance(spread::until(&shop.parts.clock, moment) - Duration::from_millis(1));
    assert!(mei.get(&pass).await.leads_to(&line), "before the moment there is no pass");
    shop.advance(Duration::from_millis(1));
    assert!(mei.get(&line).await.text().contains(&format!("href=\"{pass}\"")));
    let token = mei.post(&format!("/api/sales/{sale}/token"), json!({})).await;
    assert_eq!(token.problem(), problem(409, "sold_elsewhere"), "nothing is bought here");
    let form = mei.send_form(&format!("/en/sales/{sale}/buy"), "quantity=1").await;
    assert!(form.leads_to(&line), "{form:?}");
    let (first, again) = (leave(&mei, &sale).await, leave(&mei, &sale).await);
    assert_eq!(claims(&first)["exp"].as_i64().unwrap() - claims(&first)["iat"].as_i64().unwrap(), 3600);
    assert_eq!(admits(&shop, &sale, &first).await, 204);
    assert_eq!(admits(&shop, &sale, &again).await, 401, "one moment, one use");
    assert_eq!(mei.get(&pass).await.status, 409, "one use");
    shop.advance(Duration::from_secs(3601));
    let second = leave(&mei, &sale).await;
    assert_eq!(admits(&shop, &sale, &second).await, 204, "the next hour");
}

#[tokio::test]
async fn winner_of_a_draw_goes_on_with_a_pass_and_the_other_shop_confirms_the_unit() {
    open_shop!(shop = TestShop::open_at(&draws::hour_before()), admin);
    let sale = draws::announce(&admin, 1).await;
    in_front(&shop, &sale, once()).await;
    let program = shop.program(&admin, "other shop", &["reserve", "shoppers"]).await;
    draws::open(&shop, &sale).await;
    let mut customers = Vec::new();
    for id in ["4711", "4712"] {
        let entry = entry_of(&program, json!({"id": id})).await;
        let entered = shop.visitor().get(&format!("/line/{sale}?lang=en&entry={entry}")).await;
        assert!(entered.leads_to(&format!("/en/sales/{sale}/entry")), "{entered:?}");
        let customer = shop.browser(entered.cookie());
        draws::enter(&customer, &sale).await;
        customers.push(customer);
    }
    let reserve = async |shopper: &Value| {
        let body = json!({"shopper": shopper, "quantity": 1});
        program.post(&format!("/api/v1/sales/{sale}/reservations"), body).await
    };
    assert_eq!(reserve(&json!("4711")).await.problem(), problem(409, "by_draw"), "before the draw nobody has a unit");
    draws::hold(&shop, &sale).await;

    let ranked = draws::by_rank(&customers, &sale).await;
    let [winner, loser] = ranked[..] else { panic!("two take part") };
    assert!(loser.get(&format!("/line/{sale}/pass?lang=en")).await.leads_to(&format!("/en/sales/{sale}/entry")));
    let leave = async || {
        let answer = winner.get(&format!("/line/{sale}/pass")).await;
        answer.header("location").split_once("?seckill_pass=").unwrap().1.to_owned()
    };
    let (pass, again) = (leave().await, leave().await);
    let shopper = claims(&pass)["sub"].clone();
    let order = draws::own(winner, &sale).await["order_id"].as_str().unwrap().to_owned();
    assert_eq!(claims(&pass)["place"], order);
    assert_eq!(admits(&shop, &sale, &pass).await, 204);
    for used in [pass, again] {
        assert_eq!(redeem(&program, &used).await.problem(), problem(409, "pass_used"), "one order, one use");
    }
    // The other shop takes the money, so nobody pays here.
    let page = winner.get(&format!("/en/orders/{sale}/{order}")).await;
    assert!(page.text().contains(&format!("href=\"/line/{sale}/pass\"")) && !page.text().contains("/pay\""));
    let paid = winner.post(&format!("/api/sales/{sale}/orders/{order}/payments"), json!({})).await;
    assert_eq!(paid.problem(), problem(409, "sold_elsewhere"));
    let paid = winner.send_form(&format!("/en/orders/{sale}/{order}/pay"), "").await;
    assert!(paid.is_page(409), "{paid:?}");
    let held = reserve(&shopper).await;
    assert_eq!((held.status.as_u16(), &held.json()["reservation"]["id"]), (200, &json!(order)));
    let confirm = format!("/api/v1/sales/{sale}/reservations/{order}/confirm");
    let confirmed = program.post(&confirm, json!({"reference": "order 1"})).await;
    assert_eq!(confirmed.json()["reservation"]["status"], "confirmed");
    support::assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn own_account_pays_here_although_the_sale_came_to_stand_in_front_of_a_shop() {
    open_shop!(shop, admin, [mei], sale = 2);
    let (order, url) = mei.order(&sale).await;
    assert_eq!(put_in_front(&admin, &sale, once()).await.status, 200);
    shop.parts.gate.refresh().await;
    let page = mei.get(&format!("/en/orders/{sale}/{order}")).await;
    assert!(page.text().contains("/pay\"") && !page.text().contains(&format!("/line/{sale}/pass")), "{page:?}");
    let begun = mei.post(&format!("{url}/payments"), json!({})).await;
    assert_eq!(begun.status, 201, "{begun:?}");
}

#[tokio::test]
async fn winner_with_an_account_of_this_shop_pays_here() {
    open_shop!(shop = TestShop::open_at(&draws::hour_before()), admin);
    let sale = draws::announce(&admin, 1).await;
    in_front(&shop, &sale, once()).await;
    draws::open(&shop, &sale).await;
    let mei = shop.shopper("mei").await;
    draws::enter(&mei, &sale).await;
    draws::hold(&shop, &sale).await;
    let order = draws::own(&mei, &sale).await["order_id"].as_str().unwrap().to_owned();
    let page = mei.get(&format!("/en/sales/{sale}/entry")).await;
    assert!(page.text().contains(&format!("/en/orders/{sale}/{order}")) && !page.text().contains("/pass"), "{page:?}");
    let away = mei.get(&format!("/line/{sale}/pass?lang=en")).await;
    assert!(away.leads_to(&format!("/en/sales/{sale}/entry")), "the other shop could not confirm the unit: {away:?}");
}

/// Passes that were made from a good one, and what is wrong with each.
async fn forgeries(shop: &TestShop, pass: &str) -> Vec<(&'static str, String)> {
    let [head, body, signature] = pass.split('.').collect::<Vec<_>>().try_into().unwrap();
    let part = |json: Value| URL_SAFE_NO_PAD.encode(json.to_string());
    let key = shop.visitor().get("/.well-known/jwks.json").await.json()["keys"][0].clone();
    let public = URL_SAFE_NO_PAD.decode(key["x"].as_str().unwrap()).unwrap();
    let header = |alg: &str| part(json!({"alg": alg, "typ": "JWT", "kid": key["kid"]}));
    let with_public_key = |secret: &[u8]| {
        let signed = format!("{}.{body}", header("HS256"));
        let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac))
    };
    let mut other_customer = claims(pass);
    other_customer["sub"] = json!("4711");
    let secret = secrecy::SecretString::from("x".repeat(64)).into();
    let by_another = JsonSigner::new(&secret, "pass").sign(&claims(pass), shop.parts.clock.now());
    let (other_head, other_signature) = (by_another.split('.').next().unwrap(), by_another.rsplit('.').next().unwrap());
    vec![
        ("empty", String::new()),
        ("long", "x".repeat(5000)),
        ("of another customer", format!("{head}.{}.{signature}", part(other_customer))),
        ("without a signature", format!("{head}.{body}")),
        ("algorithm none", format!("{}.{body}.", header("none"))),
        ("algorithm none with a signature", format!("{}.{body}.{signature}", header("none"))),
        ("HS256 with the public key", with_public_key(&public)),
        ("HS256 with the text of the public key", with_public_key(key["x"].as_str().unwrap().as_bytes())),
        ("by an unknown key", by_another.clone()),
        ("by an unknown key under the name of a known one", format!("{head}.{body}.{other_signature}")),
        ("under an unknown name", format!("{other_head}.{body}.{signature}")),
    ]
}

#[tokio::test]
async fn other_passes_and_forged_cookies_let_nobody_in() {
    let (shop, clock, sale) = line_in_front(1).await;
    let admin = shop.log_in("admin", ADMIN_PASSWORD.0).await;
    let other_sale = announce(&admin, 1).await;
    in_front(&shop, &other_sale, once()).await;
    let program = shop.program(&admin, "other shop", &["reserve", "shoppers"]).await;
    let mei = come(&shop.shopper("mei").await, &sale).await;
    call(&shop, &clock, &sale).await;
    let pass = leave(&mei, &sale).await;
    for (what, wrong) in forgeries(&shop, &pass).await {
        let answer = check(&shop, &sale, &format!("/drop?seckill_pass={wrong}"), None).await;
        assert_eq!(answer.problem(), problem(401, "pass_needed"), "{what}");
        assert_eq!(redeem(&program, &wrong).await.problem(), problem(403, "bad_pass"), "{what}");
    }
    for cookie in ["seckill_pass=", "seckill_pass=x.y", &format!("seckill_pass={pass}")] {
        assert_eq!(check(&shop, &sale, "/drop", Some(cookie.to_owned())).await.status, 401, "{cookie}");
    }
    let address = format!("/drop?seckill_pass={pass}");
    assert_eq!(check(&shop, "8", &address, None).await.status, 404);
    assert_eq!(check(&shop, &other_sale, &address, None).await.problem(), problem(401, "pass_needed"));
    // An entry lets in here, and not there; and the reverse.
    let entry = entry_of(&program, json!({"id": "4711"})).await;
    assert_eq!(admits(&shop, &sale, &entry).await, 401);
    assert_eq!(redeem(&program, &entry).await.problem(), problem(403, "bad_pass"));
    assert_eq!(shop.visitor().get(&format!("/enter?entry={pass}")).await.status, 403);
    // What comes back to the line is an address of the other shop, whatever was asked for.
    for address in ["//evil.example/drop", "https://evil.example/", "/\\evil.example", "/account", "/drop/../x"] {
        let answer = check(&shop, &sale, address, None).await;
        let line = Url::parse(answer.header("x-line")).unwrap();
        assert_eq!(line.query_pairs().next().unwrap().1, SHOP, "{address}");
    }
    // After all of that the pass is as good as before. Its browser's cookie is one of this sale.
    let let_in = check(&shop, &sale, &address, None).await;
    let cookie = let_in.header("set-cookie").split(';').next().unwrap().to_owned();
    assert_eq!(check(&shop, &sale, "/drop", Some(cookie.clone())).await.status, 204);
    assert_eq!(check(&shop, &other_sale, "/drop", Some(cookie)).await.status, 401);
}

#[tokio::test]
async fn pass_is_redeemed_once_and_not_after_its_end() {
    let (shop, clock, sale) = line_in_front(2).await;
    let admin = shop.log_in("admin", ADMIN_PASSWORD.0).await;
    let program = shop.program(&admin, "other shop", &["reserve"]).await;
    let (mei, lan) = (come(&shop.shopper("mei").await, &sale).await, come(&shop.shopper("lan").await, &sale).await);
    call(&shop, &clock, &sale).await;
    let (first, second, late) = (leave(&mei, &sale).await, leave(&mei, &sale).await, leave(&lan, &sale).await);
    let redeemed = redeem(&program, &first).await;
    assert_eq!((redeemed.status.as_u16(), &redeemed.json()["pass"]), (200, &claims(&first)));
    for used in [&first, &second] {
        assert_eq!(redeem(&program, used).await.problem(), problem(409, "pass_used"), "one turn, one use");
    }
    assert_eq!(admits(&shop, &sale, &second).await, 401);
    assert_eq!(mei.get(&format!("/line/{sale}/pass")).await.status, 409, "and no other pass");
    clock.advance(Duration::from_secs(61));
    assert_eq!(redeem(&program, &late).await.problem(), problem(403, "bad_pass"), "expired");
}

async fn entry_of(program: &TestProgram<'_>, body: Value) -> String {
    let named = program.post("/api/v1/shoppers", body).await;
    named.json()["entry_token"].as_str().unwrap_or_else(|| panic!("{named:?}")).to_owned()
}

#[tokio::test]
async fn entry_at_the_line_is_spent_once_and_leads_nobody_to_a_foreign_address() {
    let (shop, clock, sale) = line_in_front(1).await;
    let admin = shop.log_in("admin", ADMIN_PASSWORD.0).await;
    let program = shop.program(&admin, "other shop", &["shoppers"]).await;
    let evil = "https://evil.example/";
    let entry = entry_of(&program, json!({"id": "4711", "sale": sale, "return_url": evil})).await;
    let line = format!("/line/{sale}?lang=en&entry={entry}");
    // An entry counts, whoever was signed in before: that session ends.
    let mei = shop.shopper("mei").await;
    let entered = mei.get(&line).await;
    assert!(entered.leads_to(&format!("/en/sales/{sale}/line")), "{entered:?}");
    assert!(!format!("{:?}", entered.headers).contains("evil"), "{entered:?}");
    assert_eq!(mei.get("/api/me").await.status, 401);
    let customer = shop.browser(entered.cookie());
    let again = shop.visitor().get(&line).await;
    assert!(again.is_page(403) && again.header("set-cookie").is_empty(), "{again:?}");
    for forged in [format!("{entry}x"), entry.replacen('.', "..", 1), "x.y".to_owned(), String::new()] {
        let answer = shop.visitor().get(&format!("/line/{sale}?lang=en&entry={forged}")).await;
        assert!(answer.is_page(403) && answer.header("set-cookie").is_empty(), "{forged}: {answer:?}");
    }
    // Neither is the address in a cookie believed.
    call(&shop, &clock, &sale).await;
    for kept in ["https://evil.example/", "//evil.example", "https://shop.example@evil.example/drop"] {
        let kept: String = url::form_urlencoded::byte_serialize(kept.as_bytes()).collect();
        let cookie = format!("{}; seckill_return_{sale}={kept}", customer.cookie.as_deref().unwrap());
        let back = shop.browser(cookie).get(&format!("/line/{sale}/pass")).await;
        assert!(back.header("location").starts_with(&format!("{SHOP}?seckill_pass=")), "{kept}: {back:?}");
        assert_eq!(claims(back.header("location").split_once("seckill_pass=").unwrap().1)["sub"], "4711");
    }
}

#[tokio::test]
async fn address_to_return_to_is_sent_to_the_line_only() {
    let https = |config: &mut Config| config.web.public_url = "https://line.example".to_owned();
    let shop = TestShop::build(https, spread::hour_before()).await;
    let sale = announce(&shop.admin().await, 1).await;
    in_front(&shop, &sale, once()).await;
    let answer = shop.visitor().get(&format!("/line/{sale}?return=https%3A%2F%2Fshop.example%2Fdrop")).await;
    let (_, attributes) = answer.header("set-cookie").split_once("; ").unwrap();
    assert_eq!(answer.cookie(), format!("seckill_return_{sale}=https%3A%2F%2Fshop.example%2Fdrop"));
    assert_eq!(attributes, format!("Path=/line/{sale}; HttpOnly; SameSite=Lax; Secure; Max-Age=86400"));
}

#[tokio::test]
async fn shoppers_return_only_to_registered_addresses() {
    let (shop, _, sale) = joining(1).await;
    let admin = shop.log_in("admin", ADMIN_PASSWORD.0).await;
    assert_eq!(shop.visitor().get(&format!("/line/{sale}")).await.status, 404, "the sale sells here");
    for wrong in [json!([]), json!(["http://shop.example"]), json!(["https://shop.example/?a=1"]), json!(["shop"])] {
        let answer = put_in_front(&admin, &sale, json!({"return_addresses": wrong})).await;
        assert_eq!(answer.problem(), problem(422, "invalid"), "{wrong}");
    }
    assert_eq!(put_in_front(&admin, &sale, once()).await.status, 200);
    let mei = shop.shopper("mei").await;
    for evil in
        ["https://evil.example/", "https://shop.example.evil.example/drop", "//evil.example", "https://shop.example/"]
    {
        let evil: String = url::form_urlencoded::byte_serialize(evil.as_bytes()).collect();
        let answer = mei.get(&format!("/line/{sale}?return={evil}")).await;
        assert_eq!(answer.status, 422, "{evil}");
        assert!(answer.header("set-cookie").is_empty(), "{answer:?}");
    }
    let line = format!("/line/{sale}?return=https%3A%2F%2Fshop.example%2Fdrop&lang=en");
    let signed_out = shop.visitor().get(&line).await;
    assert!(signed_out.leads_to(&format!("/en/login?next=%2Fline%2F{sale}")), "{signed_out:?}");

    // The form of the console: what is wrong stays in it, and an empty one takes the sale back.
    let path = format!("/admin/sales/{sale}/front");
    let shown = admin.get(&format!("{path}?lang=en")).await;
    assert!(shown.is_page(200) && shown.text().contains(SHOP), "{}", shown.text());
    let version = shown.value_of("version");
    let wrong = admin.send_form(&path, &format!("version={version}&return_addresses=shop.example")).await;
    assert!(wrong.is_page(422) && wrong.text().contains(">shop.example</textarea>"), "{}", wrong.text());
    assert_eq!(admin.send_form(&path, "version=1&return_addresses=").await.status, 409);
    assert_eq!(admin.send_form(&path, &format!("version={version}&return_addresses=")).await.status, 303);
    assert_eq!(shop.visitor().get(&format!("/line/{sale}")).await.status, 404);
}

#[tokio::test]
async fn anonymous_visitors_wait_where_the_sale_takes_them_in() {
    let (shop, clock, sale) = joining(1).await;
    in_front(&shop, &sale, json!({"return_addresses": [SHOP], "anonymous": true, "reusable": true})).await;
    let somebody = come(&shop.visitor(), &sale).await;
    call(&shop, &clock, &sale).await;
    let pass = leave(&somebody, &sale).await;
    assert_eq!(claims(&pass)["use"], "many");
    for _ in 0..2 {
        assert_eq!(admits(&shop, &sale, &pass).await, 204);
        clock.advance(Duration::from_secs(25));
    }
    clock.advance(Duration::from_secs(25));
    assert_eq!(admits(&shop, &sale, &pass).await, 401, "expired");
}

#[tokio::test]
async fn pages_of_the_other_shop_read_the_state_of_its_sale_without_cookies() {
    let (shop, _, sale) = line_in_front(1).await;
    step(&shop).await;
    let read =
        async |path: &str, origin: &str| shop.visitor().send("GET", path, &[("origin", origin)], Body::empty()).await;
    for path in ["button", "line"].map(|part| format!("/api/sales/{sale}/{part}")) {
        let answer = read(&path, "https://shop.example").await;
        let allowed = answer.header("access-control-allow-origin");
        assert_eq!((answer.status.as_u16(), allowed), (200, "https://shop.example"));
        assert_eq!(answer.header("access-control-allow-credentials"), "", "never with cookies");
        assert!(answer.header("vary").to_ascii_lowercase().contains("origin"), "caches keep the answers apart");
        for other in ["https://evil.example", "https://shop.example.evil.example", "http://shop.example", "null"] {
            assert_eq!(read(&path, other).await.header("access-control-allow-origin"), "", "{other}");
        }
    }
    let own = read(&format!("/api/sales/{sale}/place"), "https://shop.example").await;
    assert_eq!(own.header("access-control-allow-origin"), "", "what concerns one person is not for other sites");
}

/// Only what [`pages_of_the_other_shop_read_the_state_of_its_sale_without_cookies`] reads, whoever is signed in.
#[tokio::test]
async fn no_other_answer_is_for_pages_of_other_origins() {
    let (shop, _, sale) = line_in_front(1).await;
    step(&shop).await;
    let (mei, owner) = (shop.shopper("mei").await, shop.log_in("admin", ADMIN_PASSWORD.0).await);
    let public = [format!("/api/sales/{sale}/button"), format!("/api/sales/{sale}/line")];
    let document = document::document();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let filled = path.replace("{sale}", &sale).replace("{goods}", "1").replace(['{', '}'], "");
        for origin in ["https://evil.example", "https://shop.example", "null"] {
            let asked = [("origin", origin), ("access-control-request-method", "POST")];
            let preflight = shop.visitor().send("OPTIONS", &filled, &asked, Body::empty()).await;
            assert_eq!(preflight.header("access-control-allow-origin"), "", "{path} from {origin}: {preflight:?}");
            assert!(preflight.status.is_client_error(), "{path}: {preflight:?}");
            if operations.get("get").is_some() && !path.ends_with("/live") && !public.contains(&filled) {
                for who in [&shop.visitor(), if path.contains("/admin/") { &owner } else { &mei }] {
                    let answer = who.send("GET", &filled, &[("origin", origin)], Body::empty()).await;
                    assert_eq!(answer.header("access-control-allow-origin"), "", "{path} from {origin}");
                }
            }
        }
    }
}
