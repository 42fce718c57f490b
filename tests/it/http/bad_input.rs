//! Invalid input is answered with a problem document and a stable code, never with a 5xx, and no log contains a secret.

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{ADMIN_PASSWORD, Answer, Client, NewSale, Plan, Rung, SECRET, Shop, Shopper};
use crate::support::{expired_token, forged_cookie, old_cookie};

/// A shop with a higher rate limit, because one user sends many requests here.
async fn shop() -> Shop {
    Plan::on(Rung::Sqlite).await.set("SECKILL_USER_RATE", "100000").start().await
}

async fn token(shopper: &Shopper, sale: &str) -> String {
    shopper.token(sale).await.expect(200).json()["token"].as_str().unwrap().to_owned()
}

fn orders(sale: &str) -> String {
    format!("/api/sales/{sale}/orders")
}

#[tokio::test]
async fn invalid_purchases_are_refused_by_code() {
    let shop = shop().await;
    let sale = shop.open(NewSale::of(100).limit(2)).await;
    let other = shop.open(NewSale::of(100).limit(2)).await;
    let (me, you) = (shop.shopper(1), shop.shopper(2));
    let good = token(&me, &sale).await;
    let quantities =
        ["0", "-1", "1.5", "1e0", "1e400", "99999999999999999999", "-9223372036854775809", "\"1\"", "null"];
    for quantity in quantities.into_iter().chain(["true", "[]", "{}"]) {
        let body = format!(r#"{{"quantity":{quantity},"token":"{good}"}}"#);
        let request = me.client.request(Method::POST, &orders(&sale)).body("application/json", body);
        request.send().await.expect_problem(422, "bad_quantity");
    }
    for quantity in [3_i64, 4_294_967_295] {
        let answer = me.client.post(&orders(&sale), json!({"quantity": quantity, "token": good})).await;
        answer.expect_problem(422, "over_limit");
    }
    // A quantity larger than a u32.
    let huge = me.client.post(&orders(&sale), json!({"quantity": i64::MAX, "token": good})).await;
    assert!(["bad_quantity", "over_limit"].contains(&huge.expect(422).code().as_str()));
    let absent = me.client.post(&orders(&sale), json!({"token": good})).await;
    absent.expect_problem(422, "bad_quantity");

    let tokens = [
        ("another user's", token(&you, &sale).await),
        ("another sale's", token(&me, &other).await),
        ("altered", altered(&good)),
        ("expired", expired_token(&sale, 1)),
        ("cut", good[..good.len() - 4].to_owned()),
        ("nonsense", "é.é".to_owned()),
        ("a session", me.client.cookie().unwrap().split_once('=').unwrap().1.to_owned()),
        ("long", "x".repeat(8_000)),
        ("none", String::new()),
    ];
    for (whose, token) in tokens {
        let answer = me.client.post(&orders(&sale), json!({"quantity": 1, "token": token})).await;
        assert_eq!(answer.code(), "bad_token", "{whose}: {answer:?}");
        answer.expect_problem(403, "bad_token");
    }
    me.client.post(&orders(&sale), json!({"quantity": 1})).await.expect_problem(403, "bad_token");
    me.client.post(&orders(&sale), json!({"quantity": 1, "token": good})).await.expect(202);
    assert_eq!(shop.numbers(&sale).await["sold"], 1, "nothing but the last one bought");
}

fn altered(token: &str) -> String {
    let last = if token.ends_with('A') { 'E' } else { 'A' };
    format!("{}{last}", &token[..token.len() - 1])
}

#[tokio::test]
async fn invalid_bodies_are_refused_by_code() {
    let shop = shop().await;
    let sale = shop.open(NewSale::of(100)).await;
    let me = shop.shopper(1);
    let good = token(&me, &sale).await;
    let path = orders(&sale);
    let send = async |content_type: &str, body: Vec<u8>| {
        me.client.request(Method::POST, &path).body(content_type, body).send().await
    };
    let right = json!({"quantity": 1, "token": good}).to_string();
    let bad_json = ["", "{", "nonsense", "{\"quantity\":1,}", "{\"quantity\" 1}", "{\"quantity\":01}", "\u{0}"];
    for body in bad_json {
        send("application/json", body.into()).await.expect_problem(400, "bad_json");
    }
    send("application/json", vec![0xff, 0xfe, 0x00]).await.expect_problem(400, "bad_json");
    send("application/json", "[".repeat(10_000).into()).await.expect(400);
    let fields = [
        (json!({"quantity": 1, "token": 7}), "token"),
        (json!({"quantity": 1, "token": good, "user": "x"}), "user"),
        (json!({"quantity": 1, "token": good, "price": 1}), "price"),
    ];
    for (body, field) in fields {
        let answer = me.client.post(&path, body).await.expect_problem(422, "invalid");
        assert_eq!(answer.json()["fields"][0]["field"], field);
    }
    for content_type in
        ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "\"", "multipart/form-data"]
    {
        send(content_type, right.clone().into()).await.expect_problem(415, "unsupported_media_type");
    }
    me.client.request(Method::POST, &path).send().await.expect_problem(415, "unsupported_media_type");
    let large = format!("{right}{}", " ".repeat(20_000));
    send("application/json", large.into()).await.expect_problem(413, "too_large");
    send("application/json; charset=utf-8", right.into()).await.expect(202);
}

#[tokio::test]
async fn unknown_and_foreign_resources_are_not_found() {
    let shop = shop().await;
    let sale = shop.open(NewSale::of(100)).await;
    let (me, you) = (shop.shopper(1), shop.shopper(2));
    let order = me.buy_one(&sale).await;
    let long = "9".repeat(5_000);
    for id in ["999", "0", "01", "-1", "1.0", "x", "99999999999999999999", "%00", "%2e%2e", "%ff", "一", &long] {
        for (method, what) in [(Method::GET, "button"), (Method::POST, "token"), (Method::POST, "orders")] {
            let request = me.client.request(method, &format!("/api/sales/{id}/{what}").replace('一', "%E4%B8%80"));
            let body = json!({"quantity": 1, "token": "x"});
            request.json(&body).send().await.expect_problem(404, "no_such_sale");
        }
    }
    let other = "0198c0de-0000-7000-8000-000000000001";
    for id in [other, "x", "1", &order.to_uppercase().replace('-', ""), "%00"] {
        me.order(&sale, id).await.expect_problem(404, "not_found");
        me.cancel(&sale, id).await.expect_problem(404, "not_found");
    }
    me.order("999", &order).await.expect_problem(404, "not_found");
    // Another user's order is not found, whether to read, to cancel or to pay.
    let payments = format!("/api/sales/{sale}/orders/{order}/payments");
    you.order(&sale, &order).await.expect_problem(404, "not_found");
    you.cancel(&sale, &order).await.expect_problem(404, "not_found");
    you.client.post(&payments, json!({})).await.expect_problem(404, "not_found");
    you.client.get(&format!("/en/orders/{sale}/{order}")).await.expect(404);
    assert_eq!(you.client.get("/api/orders").await.expect(200).json()["orders"], json!([]));
    me.order(&sale, &order).await.expect(200);
    for path in ["/api/nothing", "/api/", "/api/sales/1/button/x", "/api/admin"] {
        me.client.get(path).await.expect_problem(404, "not_found");
    }
    for path in ["/fr/", "/nothing", "/static/../Cargo.toml", "/static/..%2f..%2fetc%2fpasswd", "/uploads/..%2fsecret"]
    {
        me.client.get(path).await.expect(404);
    }
    me.client.get("/api/orders?before=x").await.expect_problem(422, "invalid");
    me.client.get("/api/orders?nonsense=1").await.expect_problem(422, "invalid");
}

#[tokio::test]
async fn get_changes_nothing() {
    let shop = shop().await;
    let sale = shop.open(NewSale::of(100)).await;
    let me = shop.shopper(1);
    let order = me.buy_one(&sale).await;
    let one = format!("/api/sales/{sale}/orders/{order}");
    let checkout = me.begin_payment(&sale, &order).await;
    let posts = [
        format!("/api/sales/{sale}/token"),
        format!("/api/sales/{sale}/orders"),
        format!("{one}/cancel"),
        format!("{one}/payments"),
        "/api/login".into(),
        "/api/logout".into(),
        "/api/register".into(),
        "/api/webhooks/payments/sandbox".into(),
        "/api/admin/goods/1/archive".into(),
        format!("/api/admin/sales/{sale}/stop"),
    ];
    for path in &posts {
        let answer = me.client.get(path).await.expect_problem(405, "method_not_allowed");
        assert_eq!(answer.header("allow"), "POST", "{path}");
    }
    let forms =
        ["sales/1/buy", "logout", &format!("orders/{sale}/{order}/cancel"), &format!("orders/{sale}/{order}/pay")];
    for path in forms.map(|form| format!("/en/{form}")).into_iter().chain([format!("{checkout}/pay")]) {
        me.client.get(&path).await.expect(405);
    }
    for (method, path) in [(Method::POST, "/api/sales"), (Method::DELETE, "/api/me"), (Method::PUT, one.as_str())] {
        me.client.request(method, path).send().await.expect_problem(405, "method_not_allowed");
    }
    assert_eq!(me.order(&sale, &order).await.json()["order"]["status"], "unpaid");
    assert_eq!(shop.numbers(&sale).await["state"], "live");
    me.client.get("/api/me").await.expect(200);
}

#[tokio::test]
async fn cross_site_requests_are_refused() {
    let shop = shop().await;
    let sale = shop.open(NewSale::of(100)).await;
    let me = shop.shopper(1);
    let token = token(&me, &sale).await;
    let body = json!({"quantity": 1, "token": token});
    let (path, own) = (orders(&sale), shop.origins()[0].clone());
    let with = async |headers: &[(&'static str, &str)]| {
        let request = me.client.request(Method::POST, &path).json(&body);
        headers.iter().fold(request, |request, (name, value)| request.header(name, value)).send().await
    };
    let evil: [&[(&'static str, &str)]; 6] = [
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")],
        &[("origin", &format!("{own}.evil.example"))],
    ];
    for headers in evil {
        with(headers).await.expect_problem(403, "cross_site");
    }
    let form = me.client.request(Method::POST, &format!("/en/sales/{sale}/buy")).form(&[("quantity", "1")]);
    form.header("origin", "https://evil.example").send().await.expect(403);
    let login = me.client.request(Method::POST, "/api/login").json(&json!({"username": "a", "password": "b"}));
    login.header("sec-fetch-site", "cross-site").send().await.expect_problem(403, "cross_site");
    assert_eq!(shop.numbers(&sale).await["sold"], 0);
    // GET is allowed, because other sites link here.
    let look = me.client.request(Method::GET, "/en/").header("sec-fetch-site", "cross-site");
    look.header("origin", "https://evil.example").send().await.expect(200);

    with(&[("sec-fetch-site", "same-origin"), ("origin", &own)]).await.expect(202);
    with(&[("origin", &own)]).await.expect(200);
    with(&[]).await.expect(200);
}

async fn signed_out(client: &Client, sale: &str) {
    let order = "0198c0de-0000-7000-8000-000000000001";
    let answers: [Answer; 6] = [
        client.get("/api/me").await,
        client.get("/api/orders").await,
        client.get(&format!("/api/sales/{sale}/orders/{order}")).await,
        client.post(&format!("/api/sales/{sale}/token"), json!({})).await,
        client.post(&orders(sale), json!({"quantity": 1, "token": "x"})).await,
        client.post(&format!("/api/sales/{sale}/orders/{order}/cancel"), json!({})).await,
    ];
    for answer in answers {
        answer.expect_problem(401, "not_signed_in");
    }
    // Pages redirect to the login, which leads back.
    let page = client.get("/en/orders").await.expect(303);
    assert_eq!(page.header("location"), "/en/login?next=%2Fen%2Forders");
}

#[tokio::test]
async fn forged_and_expired_cookies_are_signed_out() {
    let shop = shop().await;
    let sale = shop.open(NewSale::of(100)).await;
    signed_out(&shop.client(), &sale).await;
    let good = shop.shopper(1).client.cookie().unwrap();
    let forged = [
        forged_cookie(),
        old_cookie(),
        altered(&good),
        good.replace("seckill=", "seckill=x"),
        good.replace('.', ""),
        "seckill=".into(),
        "seckill".into(),
        "seckill=a.b; seckill=c.d; ;;; =".into(),
        format!("seckill={}", "A".repeat(5_000)),
        good.replace("seckill=", "other="),
        "seckill=\u{e9}\u{fffd}".into(),
    ];
    for cookie in forged {
        signed_out(&shop.client().with_cookie(&cookie), &sale).await;
    }
    // A valid cookie is found among others.
    shop.client().with_cookie(&format!("theme=dark; {good}; x=y")).get("/api/me").await.expect(200);
}

#[tokio::test]
async fn invalid_headers_and_queries_never_fail_the_server() {
    let shop = shop().await;
    let sale = shop.open(NewSale::of(100)).await;
    let client = shop.client();
    let garbage = ["\u{ff}\u{fe}", ";;;,,,===", "W/\"", "q=;q=;q", "*;q=nan", "x".repeat(4_000).leak()];
    let names = [
        "accept-language",
        "accept-encoding",
        "if-none-match",
        "if-modified-since",
        "range",
        "accept",
        "x-forwarded-for",
        "x-request-id",
        "forwarded",
        "referer",
        "user-agent",
        "authorization",
        "sec-fetch-site",
    ];
    for path in ["/", "/en/", &format!("/api/sales/{sale}/button"), "/api/me", "/en/login", "/api/orders"] {
        for (n, name) in names.iter().enumerate() {
            let value = garbage[n % garbage.len()];
            let answer = client.request(Method::GET, path).header(name, value).send().await;
            assert!(answer.status < 500, "{path} with {name}: {value}: {answer:?}");
            assert_ne!(answer.header("x-request-id"), value);
        }
    }
    for query in
        ["?%", "?%ff=%fe", "?lang=%00", "?lang=zh&lang=en", "?before=%00", "?next=%0d%0aSet-Cookie:x", "??&&=="]
    {
        for path in ["/", "/en/", "/en/login", "/api/orders", "/en/orders", "/api/sales"] {
            let answer = shop.shopper(1).client.get(&format!("{path}{query}")).await;
            assert!(answer.status < 500, "{path}{query}: {answer:?}");
            assert!(answer.headers.get("set-cookie").is_none(), "{path}{query}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn logs_and_answers_contain_no_secret() {
    let plan = Plan::on(Rung::Sqlite).await.set("SECKILL_LOG", "debug").set("SECKILL_USER_RATE", "100000");
    let (shop, sale) = plan.open(NewSale::of(100)).await;
    let me = shop.shopper(1);
    let secret_token = token(&me, &sale).await;
    let password = "a password that is never shown";
    shop.register("mei", password).await;
    let client = shop.client();
    for who in [json!({"username": "mei", "password": format!("{password}!")}), json!({"username": password})] {
        client.post("/api/login", who).await;
    }
    client.post("/api/login", json!({"username": "mei", "password": [password]})).await.expect(422);
    let order = me.client.post(&orders(&sale), json!({"quantity": 1, "token": secret_token})).await.order_id();
    let checkout = me.begin_payment(&sale, &order).await;
    me.pay_at(&checkout).await.expect(303);
    me.client.post(&orders(&sale), json!({"quantity": "x", "token": altered(&secret_token)})).await;
    shop.client().with_cookie(&altered(&me.client.cookie().unwrap())).get("/api/me").await;
    let admin = shop.admin().await;
    let made =
        admin.post("/api/admin/tokens", json!({"name": "till", "scopes": ["shoppers"]})).await.expect(201).json();
    let secret = made["secret"].as_str().unwrap();
    let named = client.request(Method::POST, "/api/v1/shoppers").header("authorization", &format!("Bearer {secret}"));
    let entry = named.json(&json!({"id": "4711"})).send().await.expect(201).json()["entry_token"].take();
    let (entry, link) = (entry.as_str().unwrap(), "a-link-that-is-never-shown");
    client.get(&format!("/api/admin/goods?q={secret}")).await.expect(400);
    for status in [303, 403] {
        shop.client().get(&format!("/enter?entry={entry}")).await.expect(status);
    }
    client.get(&format!("/en/recovery/password?token={link}")).await.expect(303);
    client.post("/api/recovery/password", json!({"token": link, "new_password": password})).await;

    let log = shop.processes[0].log();
    let (session, admin) = (me.client.cookie().unwrap(), admin.cookie().unwrap());
    let session = session.split_once('=').unwrap().1;
    let secrets = [SECRET, ADMIN_PASSWORD, password, &secret_token, session, &admin[8..], secret, entry, link];
    for secret in secrets {
        assert!(!log.contains(secret), "the log shows {secret}");
    }
    assert!(!log.contains("ERROR") && !log.contains("panicked"), "{log}");
    let problem: Value =
        client.post("/api/login", json!({"username": "mei", "password": "wrong password"})).await.json();
    assert_eq!(problem["type"], "about:blank");
}
