//! The forms without scripts: register, log in, buy, pay, cancel, log out.

use axum::http::Method;

use crate::support::{Answer, Client, NewSale, Rung, Shop};

async fn post(client: &Client, path: &str, fields: &[(&str, &str)]) -> Answer {
    client.request(Method::POST, path).form(fields).send().await
}

/// The target of a 303.
#[track_caller]
fn redirect(answer: Answer) -> String {
    answer.expect(303).header("location").to_owned()
}

#[tokio::test]
async fn shopper_without_scripts_buys_pays_and_cancels() {
    let (shop, sale) = Shop::selling(Rung::Sqlite, NewSale::of(5).limit(2)).await;
    let client = shop.client();
    let page = client.get(&format!("/zh/sales/{sale}")).await.expect(200).text();
    assert!(page.contains(&format!("action=\"/zh/sales/{sale}/buy\"")), "{page}");

    let buy = format!("/zh/sales/{sale}/buy");
    let login = redirect(post(&client, &buy, &[("quantity", "1")]).await);
    assert!(login.starts_with("/zh/login?next=%2Fzh%2Fsales%2F"), "{login}");
    client.get(&login).await.expect(200);
    let who = [("username", "小美的店"), ("password", "correct horse"), ("next", &format!("/zh/sales/{sale}"))];
    assert_eq!(redirect(post(&client, "/zh/register", &who).await), format!("/zh/sales/{sale}"));

    let order = redirect(post(&client, &buy, &[("quantity", "2")]).await);
    assert!(order.starts_with(&format!("/zh/orders/{sale}/")), "{order}");
    assert!(client.get(&order).await.expect(200).text().contains("小美的店"));
    // A second press leads to the same order.
    assert_eq!(redirect(post(&client, &buy, &[("quantity", "1")]).await), order);
    assert!(client.get("/zh/orders").await.expect(200).text().contains(&order));

    let missing_address = post(&client, &format!("{order}/pay"), &[]).await.expect(422);
    assert!(missing_address.text().contains("name=\"recipient\""), "{}", missing_address.text());
    let address = [
        ("recipient", "小美"),
        ("phone", "13800138000"),
        ("country", "CN"),
        ("region", "浙江省"),
        ("city", "杭州市"),
        ("line1", "文三路 1 号"),
        ("then", "pay"),
    ];
    let cashier = redirect(post(&client, &format!("{order}/address"), &address).await);
    assert!(cashier.starts_with("/sandbox/cashier/"), "{cashier}");
    let cashier_page = client.get(&cashier).await.expect(200).text();
    assert!(cashier_page.contains("39.98"), "{cashier_page}");
    assert_eq!(redirect(post(&client, &format!("{cashier}/decline"), &[]).await), order);
    let again = redirect(post(&client, &format!("{order}/pay"), &[]).await);
    assert_eq!(redirect(post(&client, &format!("{again}/pay"), &[]).await), order);
    post(&client, &format!("{order}/cancel"), &[]).await.expect(409);
    assert_eq!(shop.numbers(&sale).await["paid"], 1);

    let other = shop.register("lei", "correct horse").await;
    let second = redirect(post(&other, &format!("/en/sales/{sale}/buy"), &[("quantity", "1")]).await);
    assert_eq!(redirect(post(&other, &format!("{second}/cancel"), &[]).await), second);
    assert_eq!(shop.numbers(&sale).await["sold"], 2);

    assert_eq!(redirect(post(&client, "/zh/logout", &[]).await), "/zh/");
    assert!(redirect(client.get(&order).await).starts_with("/zh/login"));
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn form_errors_return_the_entered_values() {
    let (shop, sale) = Shop::selling(Rung::Sqlite, NewSale::of(5)).await;
    let client = shop.client();
    let short = post(&client, "/en/register", &[("username", "mei"), ("password", "short")]).await.expect(422);
    assert!(short.text().contains("value=\"mei\""), "{}", short.text());
    assert!(!short.text().contains("short\""), "the password is not shown again");
    let wrong = [("username", "<b>nobody"), ("password", "correct horse")];
    let wrong = post(&client, "/zh/login", &wrong).await.expect(401);
    assert!(!wrong.text().contains("<b>nobody"), "{}", wrong.text());
    shop.register("mei", "correct horse").await;
    let me = shop.shopper(1).client;
    for quantity in ["0", "x", "", "1.5", "-1", "99999999999999999999"] {
        let answer = post(&me, &format!("/en/sales/{sale}/buy"), &[("quantity", quantity)]).await.expect(422);
        assert!(answer.header("content-type").starts_with("text/html"), "{answer:?}");
    }
    post(&me, "/en/sales/999/buy", &[("quantity", "1")]).await.expect(404);
    let plain = me.request(Method::POST, &format!("/en/sales/{sale}/buy")).body("text/plain", "quantity=1");
    plain.send().await.expect(415);
    let large = "x".repeat(20_000);
    post(&me, &format!("/en/sales/{sale}/buy"), &[("quantity", &large)]).await.expect(413);
}

#[tokio::test]
async fn login_redirects_only_within_the_shop() {
    let shop = Shop::start(Rung::Sqlite).await;
    shop.register("mei", "correct horse").await;
    let nexts = [
        ("/en/orders", "/en/orders"),
        ("//evil.example", "/en/"),
        ("https://evil.example/", "/en/"),
        ("/\\evil.example", "/en/"),
        ("javascript:alert(1)", "/en/"),
        ("/\t/evil.example", "/en/"),
        ("", "/en/"),
    ];
    for (next, expected) in nexts {
        let who = [("username", "mei"), ("password", "correct horse"), ("next", next)];
        assert_eq!(redirect(post(&shop.client(), "/en/login", &who).await), expected, "{next:?}");
        let page = shop.client();
        let query: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
        let text = page.get(&format!("/en/login?next={query}")).await.expect(200).text();
        assert!(!text.contains("evil.example"), "{next:?}");
    }
}
