use super::*;

#[tokio::test]
async fn account_is_registered_and_signed_in_by_api() {
    let shop = TestShop::open().await;
    let visitor = shop.visitor();
    let register = async |username, password| {
        visitor.post("/api/register", json!({"username": username, "password": password})).await
    };
    assert_eq!(register("mei mei", "correct horse").await.problem(), problem(422, "bad_username"));
    assert_eq!(register("mei", "short").await.problem(), problem(422, "weak_password"));
    let mei = shop.shopper("mei").await;
    assert_eq!(register("MEI", "correct horse").await.problem(), problem(409, "username_taken"));

    let me = mei.get("/api/me").await;
    assert_eq!((me.json()["user"]["username"].as_str(), me.header("cache-control")), (Some("mei"), "no-store"));
    assert_eq!(mei.post("/api/ping", json!({})).await.status, 204);
    assert_eq!(visitor.post("/api/ping", json!({})).await.problem(), problem(401, "not_signed_in"));
    let wrong = visitor.post("/api/login", json!({"username": "mei", "password": "wrong horse"})).await;
    assert_eq!(wrong.problem(), problem(401, "bad_credentials"));
    let out = mei.post("/api/logout", json!({})).await;
    assert!(out.status == 204 && out.header("set-cookie").contains("Max-Age=0"));
}

#[tokio::test]
async fn hint_cookie_shows_that_a_session_exists_and_nothing_else() {
    let shop = TestShop::open().await;
    let visitor = shop.visitor();
    let hint = |answer: &TestResponse| {
        let cookies = answer.headers.get_all("set-cookie").iter().map(|c| c.to_str().unwrap().to_owned());
        cookies.filter(|cookie| cookie.starts_with("seckill_hint=")).collect::<Vec<_>>()
    };
    let mei = json!({"username": "mei", "password": "correct horse"});
    let form = "username=mei&password=correct+horse&next=";
    for signed_in in [visitor.post("/api/register", mei).await, visitor.send_form("/zh/login", form).await] {
        assert_eq!(hint(&signed_in), ["seckill_hint=1; Path=/; SameSite=Lax; Max-Age=1209600"]);
    }
    for signed_out in [visitor.post("/api/logout", json!({})).await, visitor.send_form("/zh/logout", "").await] {
        assert!(matches!(hint(&signed_out).as_slice(), [cookie] if cookie.ends_with("Max-Age=0")));
    }
    assert!(hint(&visitor.get("/zh/").await).is_empty());
}

#[tokio::test]
async fn login_returns_to_paths_of_this_shop_only() {
    let shop = TestShop::open().await;
    let visitor = shop.visitor();
    shop.shopper("mei").await;
    assert!(visitor.get("/en/orders?x=1").await.leads_to("/en/login?next=%2Fen%2Forders%3Fx%3D1"));
    let wrong = visitor.send_form("/en/login", "username=mei&password=wrong&next=/en/orders").await;
    assert!(
        wrong.is_page(401) && wrong.text().contains("value=\"/en/orders\"") && wrong.text().contains("value=\"mei\"")
    );
    let right = visitor.send_form("/en/login", "username=mei&password=correct+horse&next=/en/orders").await;
    assert!(right.leads_to("/en/orders") && !right.cookie().is_empty());
    let evil = visitor.send_form("/en/login", "username=mei&password=correct+horse&next=//evil.example").await;
    assert!(evil.leads_to("/en/"));
    assert!(!visitor.get("/en/login?next=//evil.example").await.text().contains("evil"));
    visitor.send_form("/zh/register", "username=lei&password=correct+horse&next=").await.leads("/zh/");
}

#[tokio::test]
async fn shopper_buys_and_pays_by_api() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (mei, lei) = (shop.shopper("mei").await, shop.shopper("lei").await);
    let button = shop.visitor().get(&format!("/api/sales/{sale}/button")).await;
    assert_eq!((button.json()["phase"].as_str(), button.header("cache-control")), (Some("open"), "public, max-age=1"));

    let orders = format!("/api/sales/{sale}/orders");
    mei.post(&orders, json!({"quantity": 1})).await.refuses(403, "bad_token");
    for quantity in [json!(0), json!(-1), json!(1.5), json!("1"), json!(null), json!(99_999_999_999_999_i64)] {
        mei.post(&orders, json!({"quantity": quantity, "token": "x"})).await.refuses(422, "bad_quantity");
    }
    let bought = mei.buy(&sale, 2).await.is(202);
    let receipt = bought.json();
    let status_url = receipt["status_url"].as_str().unwrap();
    let again = mei.buy(&sale, 1).await;
    assert_eq!((again.status.as_u16(), again.json()["repeated"].as_bool()), (200, Some(true)));
    assert_eq!(again.json()["order"], receipt["order"]);
    shop.parts.gate.refresh().await;
    lei.buy(&sale, 1).await.refuses(409, "sold_out");

    let order = mei.get(status_url).await.json();
    assert_eq!(order["order"]["status"], "unpaid");
    assert_eq!(order["order"]["amount"]["amount"], 399_800);
    assert_eq!(order["order"]["history"].as_array().unwrap().len(), 2);
    assert_eq!(lei.get(status_url).await.problem(), problem(404, "not_found"));
    let list = mei.get("/api/orders").await.json();
    assert_eq!((list["orders"].as_array().unwrap().len(), &list["next"]), (1, &json!(null)));
    assert_eq!(mei.get("/api/orders?before=nonsense").await.problem(), problem(422, "invalid"));

    let payment = mei.post(&format!("{status_url}/payments?lang=zh"), json!({})).await.is(201);
    let checkout = payment.json()["checkout_url"].as_str().unwrap().to_owned();
    let cashier = &checkout[checkout.find("/sandbox").unwrap()..];
    shop.visitor().get(cashier).await.shows(200, &["zh-CN", "¥3,998<"]);
    let order_page = format!("/zh/orders/{sale}/{}", receipt["order"]["id"].as_str().unwrap());
    shop.visitor().send_form(&format!("{}/pay", cashier.split('?').next().unwrap()), "").await.leads(&order_page);
    assert!(mei.get(&order_page).await.is_page(200));
    assert!(lei.get(&order_page).await.is_page(404));
}

#[tokio::test]
async fn order_is_cancelled_once() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let mei = shop.shopper("mei").await;
    let receipt = mei.buy(&sale, 1).await.json();
    let cancel = format!("{}/cancel", receipt["status_url"].as_str().unwrap());
    let cancelled = mei.post(&cancel, json!({})).await;
    assert_eq!((cancelled.status.as_u16(), cancelled.json()["order"]["status"].as_str()), (200, Some("cancelled")));
    assert_eq!(mei.post(&cancel, json!({})).await.problem(), problem(409, "not_cancellable"));
    mei.post(&cancel.replace("cancel", "payments"), json!({})).await.refuses(409, "not_payable");
}

#[tokio::test]
async fn shopper_buys_and_pays_by_forms() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let mei = shop.shopper("mei").await;
    let buy = format!("/en/sales/{sale}/buy");
    shop.visitor().send_form(&buy, "quantity=1").await.leads(&format!("/en/login?next=%2Fen%2Fsales%2F{sale}"));
    mei.send_form(&buy, "quantity=3").await.shows(422, &[&format!("href=\"/en/sales/{sale}\"")]);
    assert!(mei.send_form(&buy, "quantity=many").await.is_page(422));

    let bought = mei.send_form(&buy, "quantity=1").await;
    let order = bought.header("location").to_owned();
    assert!(bought.status == 303 && order.starts_with(&format!("/en/orders/{sale}/")));
    let page = mei.get(&order).await;
    assert!(page.is_page(200) && page.text().contains("Phone") && page.header("cache-control") == "no-store");
    assert!(mei.get("/en/orders").await.text().contains(&order));
    let pay = mei.send_form(&format!("{order}/pay"), "").await;
    assert!(pay.is_page(422) && pay.text().contains("name=\"recipient\""), "the address is missing: {pay:?}");
    assert!(mei.get(&order).await.text().contains("/pay\""), "the order is still unpaid");
    let chosen = mei.send_form(&format!("{order}/address"), &format!("{}&then=pay", addresses::FORM)).await;
    assert!(chosen.status == 303 && chosen.header("location").starts_with("/sandbox/cashier/"), "{chosen:?}");
    let pay = mei.send_form(&format!("{order}/pay"), "").await;
    assert!(pay.status == 303 && pay.header("location").starts_with("/sandbox/cashier/"), "{pay:?}");
    assert!(mei.send_form(&format!("{order}/cancel"), "").await.leads_to(&order));
    assert!(mei.send_form(&format!("{order}/cancel"), "").await.is_page(409));
}

#[tokio::test]
async fn lists_and_tokens_of_an_account_have_limits_of_their_own() {
    let (shop, sale) = TestShop::open_with(|config| config.web.user_rate = 1).await.selling(2).await;
    let (mei, wang) = (shop.shopper("mei").await, shop.shopper("wang").await);
    for path in ["/api/orders", "/zh/orders", "/api/wallet", "/en/wallet", "/api/packets", "/en/packets"] {
        assert_eq!(mei.get(path).await.status, 200, "{path}");
    }
    for _ in 0..44 {
        assert_eq!(mei.get("/api/orders?status=paid").await.status, 200);
    }
    let refused = mei.get("/api/orders").await;
    assert_eq!((refused.problem(), refused.header("retry-after")), (problem(429, "rate_limited"), "1"));
    assert!(mei.get("/en/orders").await.is_page(429));
    assert_eq!(wang.get("/api/orders").await.status, 200, "each account has a limit of its own");

    let token = format!("/api/sales/{sale}/token");
    for _ in 0..9 {
        assert_eq!(mei.post(&token, json!({})).await.status, 200);
    }
    assert_eq!(mei.buy(&sale, 1).await.status, 202, "tokens and lists cost no attempt to buy");
    assert_eq!(mei.post(&token, json!({})).await.problem(), problem(429, "rate_limited"));
}
