use super::support::{assert_audit_finds_nothing, bought};
use super::*;

/// Fills a wallet by a top-up that the provider captured.
pub async fn fill(shop: &TestShop, who: &TestClient<'_>, amount: i64) {
    let begun = who.post("/api/wallet/top-ups?lang=en", json!({"amount": cny(amount)})).await.is(201);
    let payment: PaymentId = begun.json()["payment"]["id"].as_str().unwrap().parse().unwrap();
    assert!(begun.json()["checkout_url"].as_str().unwrap().ends_with(&format!("/sandbox/cashier/{payment}")));
    assert!(matches!(shop.make_payment(payment).await, CaptureOutcome::ToppedUp(_)));
}

pub async fn balance(who: &TestClient<'_>) -> i64 {
    who.get("/api/wallet").await.json()["balance"]["amount"].as_i64().unwrap()
}

#[tokio::test]
async fn order_is_paid_from_and_refunded_to_the_wallet_once() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (order, url) = bought(&mei, &sale, 1).await;
    let pay = async || mei.post(&format!("{url}/payments"), json!({"from": "wallet"})).await;
    assert_eq!(pay().await.problem(), problem(409, "not_enough"));
    let page = mei.get(&format!("/en/orders/{sale}/{order}")).await;
    assert!(!page.text().contains("cover this order") && !page.text().contains("value=\"wallet\""), "no nagging");
    fill(&shop, &mei, 200_000).await;
    assert!(mei.get(&format!("/en/orders/{sale}/{order}")).await.text().contains("value=\"wallet\""));
    let wang = shop.shopper("wang").await;
    wang.post(&format!("{url}/payments"), json!({"from": "wallet"})).await.refuses(404, "not_found");
    let wrong = mei.post(&format!("{url}/payments"), json!({"from": "purse"})).await;
    assert_eq!((wrong.status.as_u16(), wrong.json()["fields"][0]["field"].as_str()), (422, Some("from")));

    let paid = pay().await;
    assert_eq!((paid.status.as_u16(), &paid.json()["status"]), (201, &json!("captured")));
    let again = pay().await;
    assert_eq!((again.status.as_u16(), again.json()), (200, paid.json()));
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "paid");
    assert_eq!(balance(&mei).await, 100);
    let case = admin.get(&format!("/admin/orders/{order}?lang=en")).await;
    assert!(case.text().contains("<dd>Wallet</dd>"), "the console says where the money came from");
    assert_audit_finds_nothing(&shop).await;

    admin.refund(&order).await.is(200);
    let due = shop.parts.store.payments().refunds_due(10).await.unwrap();
    assert_eq!(shop.parts.payments.refund_due().await.unwrap(), 1);
    // Another process applies the same refund.
    shop.parts.store.payments().apply_refund(&due[0], shop.parts.clock.now()).await.unwrap();
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "refunded");
    assert_eq!(balance(&mei).await, 200_000);
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn top_up_for_a_sale_covers_its_price_and_leads_back() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let mei = shop.shopper("mei").await;
    fill(&shop, &mei, 100_000).await;
    mei.get(&format!("/en/wallet?sale={sale}")).await.has(&["value=\"999.00\"", "you return to the sale"]);
    let begun = mei.send_form("/en/wallet/top-ups", &format!("amount=999&sale={sale}")).await;
    mei.get(begun.header("location")).await.has(&[&format!("href=\"/en/sales/{sale}\"")]);
    assert!(!mei.get("/en/wallet?sale=999").await.text().contains("you return to the sale"));
}

#[tokio::test]
async fn wallet_lists_its_entries_page_by_page() {
    let shop = TestShop::open().await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    assert_eq!(shop.visitor().get("/api/wallet").await.problem(), problem(401, "not_signed_in"));
    assert!(mei.get("/zh/wallet").await.text().contains("暂无收支记录"));
    for _ in 0..24 {
        fill(&shop, &mei, 10_000).await;
    }
    let sale = shop.open_sale(&admin, 2).await;
    let receipt = mei.buy(&sale, 1).await.json();
    let order = receipt["order"]["id"].as_str().unwrap();
    // The form shows the address first and remembers the source of the payment.
    let asked = mei.send_form(&format!("/en/orders/{sale}/{order}/pay"), "from=wallet").await;
    assert!(asked.is_page(422) && asked.text().contains("name=\"from\" value=\"wallet\""));
    let address = "choice=new&then=pay&from=wallet&recipient=Mei&phone=13800138000&country=CN&region=Shanghai\
                   &city=Shanghai&line1=Road+1&postal_code=200000";
    let paid = mei.send_form(&format!("/en/orders/{sale}/{order}/address"), address).await;
    assert!(paid.leads_to(&format!("/en/orders/{sale}/{order}")), "{paid:?}");

    let first = mei.get("/api/wallet").await.json();
    assert_eq!(first["balance"], cny(40_100));
    let newest = &first["entries"][0];
    assert_eq!((&newest["kind"], &newest["amount"]["amount"]), (&json!("pay"), &json!(-199_900)));
    assert_eq!(newest["order"], json!({"sale_id": sale, "id": order}));
    assert_eq!(first["entries"].as_array().unwrap().len(), 20);
    let next = first["next"].as_str().unwrap();
    let second = mei.get(&format!("/api/wallet?before={next}")).await.json();
    assert_eq!((second["entries"].as_array().unwrap().len(), &second["next"]), (5, &Value::Null));
    assert!(second["entries"][0]["payment"]["id"].is_string());
    let wrong = mei.get("/api/wallet?before=yesterday").await;
    assert_eq!((wrong.status.as_u16(), wrong.code().as_str()), (422, "invalid"));

    mei.get("/en/wallet")
        .await
        .shows(200, &["-¥1,999<", "+¥100<", "Order payment", &format!("/en/orders/{sale}/{order}"), "?before="]);
    assert!(mei.get(&format!("/en/wallet?before={next}")).await.text().contains("Back to newest"));
    let user = admin.get("/admin/users?lang=en&q=mei").await;
    let path = user.text().split("href=\"").find(|part| part.starts_with("/admin/users/0")).unwrap();
    assert!(admin.get(path.split('"').next().unwrap()).await.text().contains("¥401<"), "the console shows the balance");
}

#[tokio::test]
async fn top_up_has_bounds() {
    let shop = TestShop::open().await;
    let mei = shop.shopper("mei").await;
    for (amount, currency, code) in [
        (99, "CNY", "top_up_bounds"),
        (5_000_001, "CNY", "top_up_bounds"),
        (-5, "CNY", "top_up_bounds"),
        (100, "EUR", "bad_currency"),
    ] {
        let wanted = json!({"amount": {"amount": amount, "currency": currency}});
        let refused = mei.post("/api/wallet/top-ups", wanted).await;
        assert_eq!((refused.status.as_u16(), &refused.json()["fields"][0]["code"]), (422, &json!(code)));
    }
    for (typed, words) in [("0.5", "From ¥1 to"), ("a lot\"<b>", "a lot&#34;&#60;b&#62;"), ("", "amount-wrong")] {
        let typed: String = url::form_urlencoded::byte_serialize(typed.as_bytes()).collect();
        mei.send_form("/en/wallet/top-ups", &format!("amount={typed}")).await.shows(422, &[words]);
    }
    let begun = mei.send_form("/en/wallet/top-ups", "amount=12.50").await;
    let cashier = begun.header("location").to_owned();
    assert!(begun.status == 303 && cashier.starts_with("/sandbox/cashier/"), "{begun:?}");
    mei.get(&cashier).await.has(&["¥12.50", "href=\"/en/wallet\""]);
    assert_eq!(balance(&mei).await, 0, "nothing has been paid yet");
}

#[tokio::test]
async fn wallet_is_exported_and_has_to_be_given_up_before_deletion() {
    let shop = TestShop::open().await;
    let mei = shop.shopper("mei").await;
    fill(&shop, &mei, 12_300).await;
    let export = mei.get("/api/account/export").await.json();
    assert_eq!(export["wallet"]["balance"]["amount"], 12_300);
    assert_eq!(export["wallet"]["entries"][0]["kind"], "topup");
    assert!(mei.get("/en/account").await.text().contains("I give up the ¥123 in my wallet"));
    let mut deletion = json!({"username": "mei", "password": "correct horse"});
    assert_eq!(mei.post("/api/account/delete", deletion.clone()).await.problem(), problem(409, "wallet_not_empty"));
    let form = mei.send_form("/en/account/delete", "username=mei&password=correct+horse").await;
    assert!(form.is_page(409) && form.text().contains("confirm that you give it up"));
    deletion["give_up_wallet"] = json!(true);
    assert_eq!(mei.post("/api/account/delete", deletion).await.status, 204);
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn account_has_a_bounded_number_of_open_top_ups() {
    let (shop, clock) = TestShop::open_then("2026-11-18T11:06:40Z").await;
    let (mei, lei) = (shop.shopper("mei").await, shop.shopper("lei").await);
    let wanted = json!({"amount": cny(100)});
    for _ in 0..20 {
        assert_eq!(mei.post("/api/wallet/top-ups", wanted.clone()).await.status, 201);
    }
    mei.post("/api/wallet/top-ups", wanted.clone()).await.refuses(429, "rate_limited");
    assert_eq!(mei.send_form("/en/wallet/top-ups", "amount=1").await.status, 429);
    assert_eq!(lei.post("/api/wallet/top-ups", wanted.clone()).await.status, 201, "each account has its own");
    clock.advance(std::time::Duration::from_secs(30 * 60));
    assert_eq!(shop.parts.payments.close_due().await.unwrap(), 21);
    assert_eq!(mei.post("/api/wallet/top-ups", wanted).await.status, 201, "once they are closed");
}
