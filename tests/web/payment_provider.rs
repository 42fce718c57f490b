//! A shop without a payment provider, and what the console says about the sandbox.

use uuid::Uuid;

use super::*;
use base::config::PaymentProvider;
use store::{NewPayment, PaymentPurpose};

#[tokio::test]
async fn shop_without_a_provider_takes_no_payments() {
    let shop = TestShop::open_with(|config| config.payments = PaymentProvider::None).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let sale = shop.open_sale(&admin, 2).await;
    let bought = mei.buy(&sale, 1).await.json();
    let (url, order) = (bought["status_url"].as_str().unwrap(), bought["order"]["id"].as_str().unwrap());

    let refused = mei.post(&format!("{url}/payments"), json!({})).await;
    assert_eq!(refused.problem(), problem(409, "payments_off"));
    let wanted = json!({"amount": {"amount": 10_000, "currency": "CNY"}});
    assert_eq!(mei.post("/api/wallet/top-ups", wanted).await.problem(), problem(409, "payments_off"));
    let form = mei.send_form("/en/wallet/top-ups", "amount=100").await;
    assert!(form.is_page(409) && form.text().contains("Online payment is off"), "{form:?}");
    let address = format!("{}&then=pay", addresses::FORM);
    let form = mei.send_form(&format!("/en/orders/{sale}/{order}/address"), &address).await;
    assert!(form.is_page(409) && form.text().contains("Online payment is off"), "{form:?}");

    let page = mei.get(&format!("/en/orders/{sale}/{order}")).await;
    assert!(page.is_page(200) && page.text().contains("takes no online payments"), "{page:?}");
    assert!(!page.text().contains("Pay now"), "{page:?}");
    let wallet = mei.get("/en/wallet").await;
    assert!(!wallet.text().contains("/wallet/top-ups") && wallet.text().contains("can’t top up"), "{wallet:?}");
    let wallet_is_short = mei.post(&format!("{url}/payments"), json!({"from": "wallet"})).await;
    assert_eq!(wallet_is_short.problem(), problem(409, "not_enough"), "wallets still pay");
}

#[tokio::test]
async fn cashier_of_the_sandbox_is_gone_while_it_is_off() {
    let shop = TestShop::open_with(|config| config.payments = PaymentProvider::None).await;
    let mei = shop.shopper("mei").await;
    // A payment from the time when the sandbox was on.
    let (id, store) = (PaymentId(Uuid::now_v7()), &shop.parts.store);
    let amount = domain::wallet::money(1_000_000);
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
    let webhook = shop.visitor().send("POST", "/api/webhooks/payments/sandbox", &[], "{}").await;
    assert_eq!(webhook.problem(), problem(404, "not_found"));
    assert_eq!(store.sandbox().payment(id).await.unwrap().unwrap().status, "open");
}

#[tokio::test]
async fn console_says_which_provider_is_on() {
    let shop = TestShop::open().await;
    let page = shop.admin().await.get("/admin?lang=en").await;
    assert!(page.text().contains("class=\"note\" data-payments=\"sandbox\""), "{page:?}");
    assert!(page.text().contains("paid without money"), "{page:?}");
    let shop = TestShop::open_with(|config| config.payments = PaymentProvider::None).await;
    let page = shop.admin().await.get("/admin?lang=en").await;
    assert!(page.text().contains("data-payments=\"none\"") && page.text().contains("Payments: none"), "{page:?}");
}
