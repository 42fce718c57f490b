//! What the page of an order says about winning and losing.

use super::*;

/// The page of an order that was just bought, and its path.
async fn bought(buyer: &TestClient<'_>, sale: &str) -> (String, String) {
    let (order, _) = buyer.order(sale).await;
    let path = format!("/en/orders/{sale}/{order}");
    (buyer.get(&path).await.text().to_owned(), path)
}

#[tokio::test]
async fn winner_reads_the_number_of_the_order_and_loser_what_else_is_on() {
    open_shop!(shop, admin, [mei, lei, wei], sale = 2, next = 1);
    let (first, path) = bought(&mei, &sale).await;
    assert!(first.contains("id=\"won\"") && first.contains("<b>No. 1</b>"), "{first}");
    let (second, _) = bought(&lei, &sale).await;
    assert!(second.contains("<b>No. 2</b>"), "{second}");

    let cancelled = mei.send_form(&format!("{path}/cancel"), "").await;
    assert!(cancelled.leads_to(&path), "{cancelled:?}");
    let lost = mei.get(&path).await;
    assert!(!lost.text().contains("id=\"won\""), "{}", lost.text());
    for link in [format!("/en/sales/{sale}/waitlist"), format!(r#"<a href="/en/sales/{next}">"#)] {
        assert!(lost.text().contains(&link), "{link}: {}", lost.text());
    }
    shop.parts.gate.refresh().await;
    // This third order of two units got a unit that came back.
    let (third, _) = bought(&wei, &sale).await;
    assert!(third.contains("id=\"won\"") && !third.contains("No. "), "{third}");
}

#[tokio::test]
async fn pages_without_what_was_wanted_lead_to_current_sales() {
    open_shop!(shop, admin, [mei], sale = 1);
    let onward = |page: &str| page.split("id=\"onward\"").nth(1).map(str::to_owned);
    for path in ["/en/nowhere", "/en/sales/999", "/en/about", "/en/orders"] {
        let page = mei.get(path).await;
        let onward = onward(page.text()).unwrap_or_default();
        assert!(onward.contains(&format!(r#"<a href="/en/sales/{sale}">"#)), "{path}: {page:?}");
    }
    assert!(mei.get("/en/nowhere").await.text().contains(r#"action="/en/archive""#), "and to a search");
    assert_eq!(onward(admin.get("/admin/nowhere?lang=en").await.text()), None, "the console sells nothing");

    let next = shop.open_sale(&admin, 1).await;
    bought(&mei, &sale).await;
    assert_eq!(onward(mei.get("/en/orders").await.text()), None, "there is an order to look at");
    let late = shop.shopper("lei").await.send_form(&format!("/en/sales/{sale}/buy"), "quantity=1").await;
    let onward = onward(late.text()).unwrap_or_default();
    assert!(late.is_page(409) && onward.contains(&format!("/en/sales/{next}\">")), "{late:?}");
    assert!(!onward.contains(&format!("/en/sales/{sale}\">")), "the sale that is sold out leads to others: {onward}");
}
