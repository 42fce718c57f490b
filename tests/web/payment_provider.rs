//! A shop without a payment provider, and what the console says about the sandbox.

use std::time::Duration;

use uuid::Uuid;

use super::support::bought;
use super::*;
use domain::CaseKind;
use store::{Checkout, NewPayment, PaymentPurpose};

#[tokio::test]
async fn shop_without_a_provider_takes_no_payments() {
    let (shop, sale) = TestShop::open_with(|config| config.payments.offered.clear()).await.selling(2).await;
    let mei = shop.shopper("mei").await;
    let (order, url) = bought(&mei, &sale, 1).await;

    mei.post(&format!("{url}/payments"), json!({})).await.refuses(409, "payments_off");
    mei.post("/api/wallet/top-ups", json!({"amount": cny(10_000)})).await.refuses(409, "payments_off");
    mei.send_form("/en/wallet/top-ups", "amount=100").await.shows(409, &["Online payment is off"]);
    let address = format!("{}&then=pay", addresses::FORM);
    mei.send_form(&format!("/en/orders/{sale}/{order}/address"), &address).await.shows(409, &["Online payment is off"]);

    mei.get(&format!("/en/orders/{sale}/{order}")).await.shows(200, &["takes no online payments"]).lacks(&["Pay now"]);
    mei.get("/en/wallet").await.has(&["can’t top up"]).lacks(&["/wallet/top-ups"]);
    let wallet_is_short = mei.post(&format!("{url}/payments"), json!({"from": "wallet"})).await;
    assert_eq!(wallet_is_short.problem(), problem(409, "not_enough"), "wallets still pay");
}

#[tokio::test]
async fn console_says_which_provider_is_on_and_the_cashier_that_it_is_the_sandbox() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let order = mei.buy(&sale, 1).await.json()["order"]["id"].as_str().unwrap().to_owned();
    for (who, path) in [
        (&admin, "/admin?lang=en".to_owned()),
        (&admin, "/admin/users?lang=zh".to_owned()),
        (&mei, format!("/en/orders/{sale}/{order}")),
        (&mei, "/zh/wallet".to_owned()),
    ] {
        who.get(&path).await.has(&["data-test-mode"]);
    }
    let sandbox = ["class=\"note pays\" data-payments=\"sandbox\"", "paid without money"];
    admin.get("/admin?lang=en").await.has(&sandbox);
    let shop = TestShop::open_with(|config| config.payments.offered.clear()).await;
    shop.admin().await.get("/admin?lang=en").await.has(&["data-payments=\"none\"", "Payments: none"]);
}

#[tokio::test]
async fn cashier_of_the_sandbox_is_gone_while_it_is_off() {
    let shop = TestShop::open_with(|config| config.payments.offered.clear()).await;
    let mei = shop.shopper("mei").await;
    // A payment from the time when the sandbox was on.
    let (id, store) = (PaymentId(Uuid::now_v7()), &shop.parts.store);
    let amount = domain::ledger::money(1_000_000);
    let user = mei.get("/api/me").await.json()["user"]["id"].as_str().unwrap().parse().unwrap();
    let now = shop.parts.clock.now();
    let payment = NewPayment { id, purpose: PaymentPurpose::TopUp(user), amount, provider: "sandbox" };
    store.payments().add(&payment, now, now).await.unwrap();
    let (return_path, status) = ("/en/wallet".into(), "open".into());
    let open = store::SandboxPayment { id, amount, return_path, status, expires_at: None };
    store.sandbox().open_payment(&open).await.unwrap();

    let cashier = format!("/sandbox/cashier/{id}");
    assert!(shop.visitor().get(&cashier).await.is_page(404));
    assert!(shop.visitor().send_form(&format!("{cashier}/pay"), "").await.is_page(404));
    assert!(shop.visitor().send_form(&format!("{cashier}/decline"), "").await.is_page(404));
    shop.visitor().send("POST", "/api/webhooks/payments/sandbox", &[], "{}").await.refuses(404, "not_found");
    assert_eq!(store.sandbox().payment(id).await.unwrap().unwrap().status, "open");
}

#[tokio::test]
async fn payment_stays_with_the_provider_where_it_began() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let mei = shop.shopper("mei").await;
    let url = mei.buy(&sale, 1).await.json()["status_url"].as_str().unwrap().to_owned();
    mei.post(&format!("{url}/payments"), json!({"provider": "other"})).await.refuses(409, "payments_off");
    let begun = mei.post(&format!("{url}/payments"), json!({"provider": "sandbox"})).await.json();
    let id = begun["payment"]["id"].as_str().unwrap().to_owned();

    shop.execute(format!("UPDATE payments SET provider = 'other' WHERE id = '{id}'")).await;
    shop.report("msg_1", "payment.captured", json!({"payment_id": id, "amount": cny(199_900)})).await.is(204);
    assert_eq!(shop.cases().await, [CaseKind::UnknownPayment], "a provider speaks for its own payments only");
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "unpaid");
    shop.visitor().send("POST", "/api/webhooks/payments/other", &[], "{}").await.refuses(404, "not_found");
}

#[tokio::test]
async fn page_of_a_payment_leads_to_the_provider_or_shows_its_code() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let mei = shop.shopper("mei").await;
    let (order, url) = bought(&mei, &sale, 1).await;
    let begun = mei.post(&format!("{url}/payments"), json!({})).await.json();
    let id = begun["payment"]["id"].as_str().unwrap().to_owned();
    let (page, own) = (format!("/en/payments/{id}"), format!("{url}/payments/{id}"));
    let set = async |what: &str| shop.execute(format!("UPDATE payments SET {what} WHERE id = '{id}'")).await;

    set("checkout_url = 'https://pay.example/c/1?a=b&c=d'").await;
    let leads = mei.get(&page).await;
    let refresh = "<meta http-equiv=\"refresh\" content=\"0;url=https://pay.example/c/1?a=b&#38;c=d\">";
    assert!(leads.is_page(200) && leads.text().contains(refresh), "{leads:?}");
    // WeChat Pay wants to know which shop a payer comes from.
    assert_eq!(leads.header("referrer-policy"), "strict-origin-when-cross-origin");
    assert!(!leads.text().contains("noreferrer"), "{leads:?}");
    assert!(shop.shopper("wang").await.get(&page).await.is_page(404), "only the owner is led on");
    assert_eq!(mei.get(&own).await.json()["payment"]["checkout_url"], "https://pay.example/c/1?a=b&c=d");

    set("checkout_url = 'weixin://wxpay/bizpayurl?pr=x', scan_until_ms = 4102444800000").await;
    for (lang, words) in [("en", "QR code of the payment"), ("zh", "付款二维码")] {
        let code = mei.get(&format!("/{lang}/payments/{id}")).await;
        let text = code.text();
        assert!(text.contains("src=\"data:image/svg+xml;base64,") && text.contains(words), "{code:?}");
    }
    let json = &mei.get(&own).await.json()["payment"];
    assert_eq!((&json["checkout_url"], &json["scan"]["text"]), (&Value::Null, &"weixin://wxpay/bizpayurl?pr=x".into()));

    set("close_at_ms = 0").await;
    assert!(mei.get(&page).await.leads_to(&format!("/en/orders/{sale}/{order}")));
}

/// The order may end before the provider answers. Then the shopper is not sent to the checkout.
#[tokio::test]
async fn payment_that_was_closed_before_the_provider_answered_is_not_offered() {
    let shop = TestShop::open().await;
    let (id, now) = (PaymentId(Uuid::now_v7()), shop.parts.clock.now());
    let user = UserId(Uuid::now_v7());
    let (amount, checkout) = (domain::ledger::money(100), Checkout::Redirect("/somewhere".into()));
    let payment = NewPayment { id, purpose: PaymentPurpose::TopUp(user), amount, provider: "sandbox" };
    let payments = shop.parts.store.payments();
    payments.add(&payment, now + Duration::from_secs(60), now).await.unwrap();
    assert!(payments.set_checkout(id, &checkout, Some("ref")).await.unwrap());
    payments.close(id).await.unwrap();
    assert!(!payments.set_checkout(id, &checkout, Some("ref")).await.unwrap());
}

#[tokio::test]
async fn lost_report_is_found_by_asking_at_growing_pauses() {
    let clock = Clock::manual(Clock::system().now());
    let (shop, sale) = TestShop::open_at(&clock).await.selling(2).await;
    let mei = shop.shopper("mei").await;
    let url = mei.buy(&sale, 1).await.json()["status_url"].as_str().unwrap().to_owned();
    let begun = mei.post(&format!("{url}/payments"), json!({})).await.json();
    let id = begun["payment"]["id"].as_str().unwrap().to_owned();
    let payments = &shop.parts.payments;
    let mut asked = Vec::new();
    for second in 1..30 * 60 {
        clock.advance(Duration::from_secs(1));
        if payments.ask_due().await.unwrap() > 0 {
            asked.push(second);
        }
    }
    assert_eq!(asked, [15, 30, 60, 120, 240, 480, 960, 1785], "the last one comes before the order expires");
    clock.advance(Duration::from_secs(60));
    assert_eq!(payments.ask_due().await.unwrap(), 0, "from then on it is closed");

    let wang = shop.shopper("wang").await;
    let url = wang.buy(&sale, 1).await.json()["status_url"].as_str().unwrap().to_owned();
    let second = wang.post(&format!("{url}/payments"), json!({})).await.json();
    let captured = format!(
        "UPDATE sandbox_payments SET status = 'captured' WHERE id = '{}'",
        second["payment"]["id"].as_str().unwrap()
    );
    assert_eq!(shop.execute(captured).await, 1, "{id}");
    clock.advance(Duration::from_secs(15));
    assert_eq!(payments.ask_due().await.unwrap(), 1);
    assert_eq!(wang.get(&url).await.json()["order"]["status"], "paid");
}
