//! What shipping costs: the table, and orders that pay it.

use super::eligibility::rush;
use super::stand_ins::status_of;
use super::support::{assert_audit_finds_nothing, bought, pay};
use super::wallet::fill;
use super::*;
use domain::CaseKind;

const FORM: &str = "/admin/orders/shipping?lang=en";
const PRICE: i64 = 199_900;

/// ¥8 in China and free from ¥3,000, ¥18 to Xinjiang, ¥200 elsewhere.
fn table() -> Value {
    json!({"rates": [
        {"country": "CN", "regions": ["新疆", "Xinjiang"], "cost": cny(1800), "free_from": null},
        {"country": "CN", "regions": [], "cost": cny(800), "free_from": cny(300_000)},
        {"country": "", "regions": [], "cost": cny(20_000), "free_from": null},
    ]})
}

fn address(region: &str) -> Value {
    json!({"address": {"recipient": "王小美", "phone": "13800138000", "country": "CN", "region": region, "city": "市",
        "line1": "文三路 1 号"}})
}

async fn with_table(admin: &TestClient<'_>) {
    admin.put("/api/admin/shipping", table()).await.is(200);
}

/// Sets the address, and returns what is to be paid and the part of it for shipping.
async fn deliver(who: &TestClient<'_>, url: &str, region: &str) -> (i64, i64) {
    let order = who.put(&format!("{url}/address"), address(region)).await.json()["order"].clone();
    (order["amount"]["amount"].as_i64().unwrap(), order["shipping"]["amount"].as_i64().unwrap_or(0))
}

async fn begin(who: &TestClient<'_>, url: &str) -> PaymentId {
    let begun = who.post(&format!("{url}/payments"), json!({})).await.is(201);
    begun.json()["payment"]["id"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn owner_sets_the_table_and_visitors_read_it() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let admin = shop.admin().await;
    let viewer = shop.staff(&admin, "vera", Role::Viewer).await;
    let page = async |locale: &str| {
        shop.publish();
        shop.visitor().get(&format!("/{locale}/sales/{sale}")).await.text().to_owned()
    };
    assert!(!page("en").await.contains("<details class=\"shipping\">"), "nothing changes without a table");
    assert_eq!(viewer.put("/api/admin/shipping", table()).await.problem(), problem(403, "not_allowed"));

    let wrong = json!({"rates": [{"country": "XX", "cost": cny(1)}, {"regions": ["x"], "cost": cny(-1)}]});
    let wrong = admin.put("/api/admin/shipping", wrong).await.json();
    let fields = json!([{"field": "rates[0].country", "code": "bad_country"},
        {"field": "rates[1].regions", "code": "region_without_country"}]);
    assert_eq!(wrong["fields"], fields);
    admin.get(FORM).await.has(&["class=\"empty\"", "country-3"]);
    with_table(&admin).await;
    let stale = [("if-match", "\"1\""), ("content-type", "application/json")];
    admin.send("PUT", "/api/admin/shipping", &stale, table().to_string()).await.refuses(412, "stale_version");
    assert_eq!(shop.visitor().get("/api/shipping").await.json(), table());
    let shown = page("en").await;
    for part in
        ["Shipping from ¥8", "Mainland China · 新疆 · Xinjiang", "free for items of ¥3,000 or more", "Everywhere else"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(page("zh").await.contains("运费 ¥8 起"));

    // The form: errors keep what was entered, another version is not overwritten unseen.
    let form = viewer.get(FORM).await.has(&["新疆, Xinjiang"]).lacks(&["<button>Save"]);
    assert!(
        form.text().contains("Your role is read-only.") && form.text().contains("<fieldset class=\"rate\" disabled>")
    );
    let form = admin.get(FORM).await;
    let version = form.text().split("name=\"version\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let row = |country: &str, regions: &str, cost: &str, free: &str| {
        format!("&country={country}&regions={regions}&cost={cost}&free_from={free}&currency=cny")
    };
    let send = async |version: &str, rows: [String; 3]| {
        admin.send_form(FORM, &format!("version={version}{}", rows.concat())).await
    };
    let wrong =
        send(&version, [row("CN", "%E8%A5%BF%E8%97%8F", "dear", ""), row("", "", "9", ""), row("", "", "", "")]).await;
    assert!(wrong.is_page(422) && wrong.text().contains("value=\"dear\"") && wrong.text().contains("cost-1-wrong"));
    let wrong = send(&version, [row("CN", "", "5", ""), row("", "", "", ""), row("", "", "", "")]).await;
    assert!(wrong.is_page(422) && wrong.text().contains("needs a row for everywhere else"), "{}", wrong.text());
    let right =
        || [row("CN", "%E8%A5%BF%E8%97%8F%E3%80%81Tibet", "18", "99.5"), row("", "", "9", ""), row("", "", "", "")];
    send("7", right()).await.shows(409, &["西藏、Tibet"]);
    assert!(send(&version, right()).await.leads_to("/admin/orders/shipping?lang=en&saved=yes"));
    let saved = json!({"rates": [
        {"country": "CN", "regions": ["西藏", "Tibet"], "cost": cny(1800), "free_from": cny(9950)},
        {"country": "", "regions": [], "cost": cny(900), "free_from": null}]});
    assert_eq!(admin.get("/api/admin/shipping").await.json(), saved);
    admin.get("/admin/log?lang=en").await.has(&["CN 西藏, Tibet ¥18, ¥0 ≥ ¥99.50; * ¥9"]);
    assert!(page("en").await.contains("Shipping from ¥0"), "a phone is dear enough for one of the rates");
}

#[tokio::test]
async fn order_costs_its_shipping_and_is_paid_and_refunded_whole() {
    let (shop, sale) = TestShop::open().await.selling(6).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    with_table(&admin).await;
    let (order, url) = bought(&mei, &sale, 1).await;
    mei.get(&format!("/en/orders/{sale}/{order}"))
        .await
        .has(&["Shipping depends on the address", "Pay now · ¥1,999 + shipping"]);
    for from in [json!({}), json!({"from": "wallet"})] {
        mei.post(&format!("{url}/payments"), from).await.refuses(409, "shipping_address_needed");
    }
    assert_eq!(deliver(&mei, &url, "浙江省").await, (PRICE + 800, 800));
    mei.get(&format!("/en/orders/{sale}/{order}")).await.has(&["Items ¥1,999 · Shipping ¥8", "Pay now · ¥2,007"]);

    // A payment is the sum of both. A report of the goods alone pays for nothing.
    let payment = begin(&mei, &url).await;
    let data = |amount: i64| json!({"payment_id": payment, "amount": cny(amount)});
    assert_eq!(shop.report("msg_1", "payment.captured", data(PRICE)).await.status, 204);
    assert_eq!((shop.cases().await, status_of(&mei, &url).await), (vec![CaseKind::Mismatched], "unpaid".into()));
    let second = begin(&mei, &url).await;
    // The table changes after the payment began: the order stays as it is.
    assert_eq!(admin.put("/api/admin/shipping", json!({"rates": []})).await.status, 200);
    assert_eq!(mei.put(&format!("{url}/address"), address("浙江省")).await.json()["order"]["shipping"], cny(800));
    assert!(matches!(shop.make_payment(second).await, CaptureOutcome::Paid(_)));
    let receipt = mei.get(&format!("/en/orders/{sale}/{order}/receipt")).await;
    for part in ["¥1,999</td>", "Shipping</th><td class=\"number\">¥8", "¥2,007</td>"] {
        assert!(receipt.text().contains(part), "{part}: {}", receipt.text());
    }
    let csv = admin.get("/api/admin/orders.csv").await;
    let line = csv.text().lines().nth(1).unwrap().to_owned();
    assert!(line.contains(",2007.00,CNY,") && line.contains(",8.00,,2"), "{line}");
    assert!(admin.get(&format!("/admin/orders/{order}?lang=en")).await.text().contains("with ¥8 for shipping"));
    assert!(mei.get("/api/account/export").await.text().contains("\"shipping\""));

    // A part of it, then all that is left: goods and shipping.
    let part = json!({"reason": "late", "amount": cny(800)});
    assert_eq!(admin.post(&format!("/api/admin/orders/{order}/refund-part"), part).await.status, 200);
    let beyond = json!({"reason": "x", "amount": cny(PRICE + 1)});
    assert_eq!(admin.post(&format!("/api/admin/orders/{order}/refund-part"), beyond).await.status, 422);
    assert_eq!(admin.refund(&order).await.status, 200);
    while shop.parts.payments.refund_due().await.unwrap() > 0 {}
    let found = admin.get(&format!("/api/admin/orders/{order}")).await.json()["order"].clone();
    assert_eq!((&found["status"], &found["refunded"]), (&json!("refunded"), &cny(PRICE + 800)));
    assert_audit_finds_nothing(&shop).await;

    // The audit sees an amount that is not goods and shipping.
    shop.execute(format!("UPDATE orders SET shipping = amount + 1 WHERE id = '{order}'")).await;
    let checks = shop.parts.audit().check_once().await.unwrap();
    assert!(checks.iter().any(|check| check.violations.iter().any(|found| found.contains("for shipping"))));
}

#[tokio::test]
async fn another_address_changes_the_amount_and_money_of_the_earlier_amount_goes_back() {
    let (shop, sale) = TestShop::open().await.selling(6).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    with_table(&admin).await;
    let (order, url) = bought(&mei, &sale, 1).await;
    deliver(&mei, &url, "浙江省").await;
    let first = begin(&mei, &url).await;
    assert_eq!(deliver(&mei, &url, "江苏省").await, (PRICE + 800, 800));
    assert_eq!(shop.parts.payments.close_due().await.unwrap(), 0, "it costs the same there");
    // The payer made the payment just before; its report comes after the change.
    let sandbox = shop.parts.sandbox.as_ref().unwrap();
    let made = sandbox.payment(first).await.unwrap().unwrap();
    sandbox.settle(&made, true, None).await.unwrap();
    assert_eq!(deliver(&mei, &url, "Xinjiang").await, (PRICE + 1800, 1800));
    assert_eq!(shop.parts.payments.close_due().await.unwrap(), 1);
    assert_eq!(status_of(&mei, &url).await, "unpaid");
    assert_eq!(shop.parts.payments.refund_due().await.unwrap(), 1, "the money of the earlier amount");
    assert_eq!(status_of(&mei, &url).await, "unpaid");

    // A page that showed another amount pays nothing, and neither does the wallet then.
    fill(&shop, &mei, 300_000).await;
    let page = format!("/en/orders/{sale}/{order}");
    for form in [format!("from=wallet&amount={PRICE}"), format!("from=sandbox&amount={}", PRICE + 800)] {
        assert!(mei.send_form(&format!("{page}/pay"), &form).await.leads_to(&page));
    }
    let there = format!("{}&then=pay&from=wallet&amount={}", addresses::FORM, PRICE + 1800);
    assert!(mei.send_form(&format!("{page}/address"), &there).await.leads_to(&page));
    assert_eq!(status_of(&mei, &url).await, "unpaid", "shipping to Zhejiang costs less than was shown");
    mei.send_form(&format!("{page}/pay"), &format!("from=wallet&amount={}", PRICE + 800)).await.leads(&page);
    assert_eq!(status_of(&mei, &url).await, "paid");
    let balance = mei.get("/api/wallet").await.json()["balance"]["amount"].as_i64();
    assert_eq!(balance, Some(300_000 - PRICE - 800));
    assert_eq!(mei.put(&format!("{url}/address"), address("新疆")).await.problem(), problem(409, "address_fixed"));
    assert_eq!(admin.refund(&order).await.status, 200);
    shop.parts.payments.refund_due().await.unwrap();
    assert_eq!(mei.get("/api/wallet").await.json()["balance"]["amount"], 300_000);
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn default_address_is_priced_before_it_is_used_and_shipping_is_free_above() {
    let (shop, sale) = TestShop::open().await.selling(6).await;
    let (admin, mei, lan) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lan").await);
    with_table(&admin).await;
    assert_eq!(mei.post("/api/addresses", address("西藏")).await.status, 201);
    assert_eq!(mei.post("/api/addresses", address("新疆")).await.status, 201);
    let (order, url) = bought(&mei, &sale, 2).await;
    let page = mei.get(&format!("/en/orders/{sale}/{order}")).await.has(&["Items ¥3,998 · Shipping Free"]);
    mei.get(&format!("/en/orders/{sale}/{order}/address")).await.has(&["Shipping ¥18", "Free shipping"]);
    let default = page.text().split("name=\"address\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let form = format!("address={default}&amount={}", 2 * PRICE);
    let begun = mei.send_form(&format!("/en/orders/{sale}/{order}/pay"), &form).await;
    assert!(begun.header("location").starts_with("/sandbox/cashier/"), "{begun:?}");
    assert_eq!(mei.get(&url).await.json()["order"]["amount"], cny(2 * PRICE));

    // An order that had its address before the table stays free, and its owner may pay.
    assert_eq!(admin.put("/api/admin/shipping", json!({"rates": []})).await.status, 200);
    let (_, url) = bought(&lan, &sale, 1).await;
    assert_eq!(deliver(&lan, &url, "新疆").await, (PRICE, 0));
    with_table(&admin).await;
    pay(&shop, &lan.post(&format!("{url}/payments"), json!({})).await.json()).await;
    assert_eq!(lan.get(&url).await.json()["order"]["amount"], cny(PRICE));
    // A rehearsal is sent nowhere, so it needs no address.
    let wang = shop.shopper("wang").await;
    let (_, url) = bought(&wang, &sale, 1).await;
    shop.execute(format!("UPDATE sales SET shadow = 1 WHERE id = {sale}")).await;
    begin(&wang, &url).await;
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn deposit_is_for_the_goods_and_comes_back_whole() {
    let (shop, sale) = rush(json!({"deposit": cny(1000)})).await;
    let mei = shop.shopper("mei").await;
    let rates = serde_json::from_value(table()).unwrap();
    shop.parts.store.shipping().put(rates, None, "admin", shop.parts.clock.now()).await.unwrap();
    fill(&shop, &mei, PRICE + 800).await;
    let (_, url) = bought(&mei, &sale, 1).await;
    let wallet = mei.get("/api/wallet").await.json();
    assert_eq!((&wallet["balance"], &wallet["set_aside"]), (&cny(PRICE + 800 - 1000), &cny(1000)));
    assert_eq!(deliver(&mei, &url, "浙江省").await, (PRICE + 800, 800));
    let paid = mei.post(&format!("{url}/payments"), json!({"from": "wallet"})).await;
    assert_eq!(paid.status, 201, "the deposit comes back in the same step: {paid:?}");
    let wallet = mei.get("/api/wallet").await.json();
    assert_eq!((&wallet["balance"], &wallet["set_aside"]), (&cny(0), &cny(0)));
    assert_audit_finds_nothing(&shop).await;
}
