//! The first thing that the console shows.

use super::support::paid_order;
use super::*;

/// The overview, once it shows this revenue. Until then it may show the sums computed before.
async fn overview_with(revenue: &str, staff: &TestClient<'_>) -> String {
    loop {
        let overview = overview(staff).await;
        if words_of(&overview, "/admin/orders/books").as_deref() == Some(revenue) {
            return overview;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

async fn overview(staff: &TestClient<'_>) -> String {
    let page = staff.get("/admin?lang=en").await;
    assert!(page.is_page(200), "{page:?}");
    between(page.text(), "<section class=\"overview\"", "</section>").to_owned()
}

/// The words of a link to a path among the figures; `None` without one.
fn words_of(overview: &str, path: &str) -> Option<String> {
    let rest = overview.split(&format!("href=\"{path}")).nth(1)?;
    Some(rest.split_once('>')?.1.split("</a>").next()?.to_owned())
}

#[tokio::test]
async fn console_begins_with_four_figures_and_what_waits() {
    open_shop!(shop, admin, [mei, lin]);
    let vera = shop.staff(&admin, "vera", Role::Viewer).await;
    let quiet = overview_with("none", &admin).await;
    assert_contains(&quiet, &["Net income today (UTC)", "All clear", "Nothing is scheduled"]);

    let sale = shop.open_sale(&admin, 5).await;
    paid_order(&shop, &mei, &sale).await;
    assert_eq!(lin.buy(&sale, 1).await.status, 202);
    shop.execute(
        "INSERT INTO payment_cases (id, kind, payment_id, amount, currency, details, opened_at_ms)
         SELECT 'x', 'disputed', id, amount, currency, 'x', 1 FROM payments",
    )
    .await;
    let busy = overview_with("¥1,999", &admin).await;
    assert_eq!(words_of(&busy, "/admin/orders?status=unpaid").as_deref(), Some("1 unpaid"));
    assert_eq!(words_of(&busy, "/admin?state=live").as_deref(), Some("1"));
    for (filter, words) in [("parcel=to_pack", "1 to pack"), ("show=payments", "Payments to check: 1")] {
        // The sum leads to the first of them too.
        let link = format!("href=\"/admin/orders?{filter}");
        let is_told = busy.split(&link).skip(1).any(|rest| rest.contains(&format!(">{words}</a>")));
        assert!(is_told, "{words}: {busy}");
    }
    assert_eq!(words_of(&busy, "/admin/system"), None, "there is no RabbitMQ");
    assert_eq!(words_of(&overview(&vera).await, "/admin/orders/books"), None, "the books are for owners");
    let page = admin.get("/admin/log?lang=en").await;
    assert!(page.text().contains("Orders <b>2<span"), "the sidebar counts what waits: {}", page.text());
}

#[tokio::test]
async fn next_sale_stands_with_its_checklist() {
    open_shop!(shop, admin);
    let later = admin.announce(json!({"opens_at": "2099-02-01T00:00:00Z", "closes_at": "2099-02-02T00:00:00Z"})).await;
    let next = admin.announce(json!({"opens_at": "2099-01-01T00:00:00Z", "closes_at": "2099-01-02T00:00:00Z"})).await;
    let shown = overview(&admin).await;
    assert!(shown.contains(&format!("/admin/sales/{next}/edit?lang=en#checklist")), "{shown}");
    assert!(!shown.contains(&format!("/admin/sales/{later}?")), "a later sale: {shown}");
    assert!(shown.contains("data-figure=\"next\" data-mood=\"bad\""), "no data control runs: {shown}");
    let found = admin.get("/admin?lang=en&q=Phone").await;
    assert!(!found.text().contains("class=\"overview\""), "a search shows what it found");
}

#[tokio::test]
async fn owners_of_a_new_shop_read_the_first_steps_until_they_are_done_or_put_away() {
    open_shop!(shop, admin);
    let vera = shop.staff(&admin, "vera", Role::Viewer).await;
    let list = async |who: &TestClient<'_>| {
        let page = who.get("/admin?lang=en").await.text().to_owned();
        page.split("first-steps").nth(1).map(|rest| rest.split("</details>").next().unwrap().to_owned())
    };
    let new = list(&admin).await.unwrap();
    assert!(new.contains("0/8") && new.contains("href=\"/admin/goods/new?lang=en\""), "{new}");
    assert_eq!(list(&vera).await, None, "others cannot do them");
    shop.open_sale(&admin, 5).await;
    let named = "version=0&name_zh=x&name_en=x&mark=x&colour=%23c9301d&time_zone=UTC&languages=en&currency=CNY";
    assert_eq!(admin.send_form("/admin/shop", named).await.status, 303);
    let begun = list(&admin).await.unwrap();
    assert!(begun.contains("3/8") && begun.contains("<s>Add the first product</s>"), "{begun}");
    assert!(admin.send_form("/admin/shop/steps?lang=en", "").await.leads_to("/admin?lang=en"));
    assert_eq!(list(&admin).await, None);
    assert_eq!(shop.parts.store.shop_settings().get().await.unwrap().mark, "x", "the rest stays");
}
