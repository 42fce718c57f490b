//! What stands beside the forms of log-in and registration.

use super::*;

/// A sale that starts later.
async fn later_sale(admin: &TestClient<'_>, opens_at: &str) -> String {
    let goods = json!({"name": {"zh": "耳机", "en": "Headphones"}, "description": {"zh": "", "en": ""}});
    let goods = admin.post("/api/admin/goods", goods).await.json();
    let price = cny(49_900);
    admin.new_sale(json!({"goods_id": goods["goods"]["id"], "price": price, "opens_at": opens_at})).await
}

#[tokio::test]
async fn form_stands_before_the_sale_that_the_visitor_came_for() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    shop.visitor().get("/en/login").await.has(&["Held for 30 minutes"]).lacks(&["came-for"]);

    let open = shop.open_sale(&admin, 5).await;
    shop.visitor().get("/zh/register").await.has(&[&format!(r#"href="/zh/sales/{open}""#), "正在抢购"]);
    let (far, near) =
        (later_sale(&admin, "2099-03-01T00:00:00Z").await, later_sale(&admin, "2099-02-01T00:00:00Z").await);
    shop.parts.catalogue.refresh().await.unwrap();
    shop.parts.gate.refresh().await;

    for page in ["login", "register"] {
        let next = shop.visitor().get(&format!("/en/{page}")).await;
        let text = next.text();
        assert!(
            text.contains("Next sale") && text.contains(&format!(r#"<a class="came-for" href="/en/sales/{near}">"#))
        );
        assert!(text.contains(r#"data-opens="2099-02-01T00:00:00Z""#) && !text.contains(&format!("/en/sales/{far}")));
        assert!(text.find("id=\"password\"") < text.find("class=\"came-for\""), "the form stands first: {text}");
        assert_eq!(next.header("cache-control"), "no-store");

        let came = shop.visitor().get(&format!("/en/{page}?next=%2Fen%2Fsales%2F{open}")).await;
        let text = came.text();
        assert!(
            text.contains("heading to") && text.contains(&format!(r#"<a class="came-for" href="/en/sales/{open}">"#))
        );
        assert!(!text.contains("data-opens=") && text.contains("¥1,999"), "it is open: {text}");
    }
    let wrong = shop.visitor().send_form("/en/login", &format!("username=mei&password=no&next=/en/sales/{open}")).await;
    assert!(wrong.is_page(401) && wrong.text().contains("heading to") && wrong.text().contains("value=\"mei\""));
    let elsewhere = shop.visitor().get("/en/login?next=%2Fen%2Fsales%2F999").await;
    assert!(elsewhere.text().contains("Next sale"), "there is no such sale: {}", elsewhere.text());
}
