//! The page with all sales, its search, and posters.

use super::*;

#[tokio::test]
async fn archive_finds_sales_by_name_and_state() {
    open_shop!(shop, admin, live = 1, over = 1);
    assert_eq!(admin.post(&format!("/api/admin/sales/{over}/stop"), json!({})).await.status, 200);
    let visitor = shop.visitor();
    let shown = async |query: &str| {
        let page = visitor.get(&format!("/en/archive{query}")).await;
        assert!(page.is_page(200), "{page:?}");
        [&live, &over].map(|sale| page.text().contains(&format!("data-sale=\"{sale}\"")))
    };
    shop.parts.catalogue.refresh().await.unwrap();
    assert_eq!(shown("").await, [true, true]);
    assert_eq!(shown("?q=PHO").await, [true, true], "in any case");
    assert_eq!(shown("?q=%E6%89%8B%E6%9C%BA").await, [true, true], "in any language");
    assert_eq!(shown("?q=radio").await, [false, false]);
    assert_eq!(shown("?show=now").await, [true, false]);
    assert_eq!(shown("?show=ended&q=phone").await, [false, true]);
    assert_eq!(shown(&format!("?before={over}")).await, [true, false]);
    let hostile = visitor.get("/en/archive?q=%22%3E%3Cscript%3Ealert(1)").await;
    assert!(hostile.is_page(200) && !hostile.text().contains("<script>alert"));
}

#[tokio::test]
async fn poster_has_the_code_of_the_sale_and_its_picture() {
    open_shop!(shop, admin, sale = 1);
    let poster = shop.visitor().get(&format!("/zh/sales/{sale}/poster.svg")).await;
    assert_eq!((poster.status.as_u16(), poster.header("content-type")), (200, "image/svg+xml"));
    assert!(poster.text().contains("<tspan data-opens=\""), "the script shows the visitor's time");
    assert!(poster.text().contains("手机") && poster.text().contains("href=\"data:image/svg+xml;base64,"));
    assert!(!poster.text().contains(" style="), "the security policy forbids styles");
    assert_eq!(shop.visitor().get("/zh/sales/999/poster.svg").await.status, 404);
}
