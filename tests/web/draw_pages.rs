//! Pages of draws: what visitors see of a draw, from its announcement to its proof.

use std::time::Duration;

use super::draws::*;
use super::*;
use domain::Locale;
use pages::sale_pages;

/// These clients enter; then the draw is closed and held.
pub(super) async fn draw_among(shop: &TestShop, sale: &str, clients: &[TestClient<'_>]) {
    open(shop, sale).await;
    for client in clients {
        enter(client, sale).await;
    }
    shop.advance(HOUR);
    follow_schedule(shop, sale).await;
    for pause in [REVIEW, REVIEW + Duration::from_secs(3)] {
        shop.advance(pause);
        draws(shop).step().await.unwrap();
    }
}

#[tokio::test]
async fn lists_and_pages_say_that_a_sale_is_a_draw() {
    open_shop!(shop = TestShop::open_at(&hour_before()), admin);
    let (sale, rush) = (announce(&admin, 3).await, shop.open_sale(&admin, 5).await);
    open(&shop, &sale).await;
    let list = shop.visitor().get("/api/sales").await.json();
    for (id, mode) in [(&sale, "draw"), (&rush, "rush")] {
        let listed = list["sales"].as_array().unwrap().iter().find(|listed| listed["id"] == id.as_str());
        assert_eq!(listed.unwrap()["mode"], mode);
    }
    let pages = shop.parts.catalogue.listed();
    let page = |id: &str| {
        let entry = pages.iter().find(|entry| entry.sale.id.to_string() == id).unwrap();
        let of_sale = (&entry.sale, &entry.goods);
        let site = sale_pages::Site {
            origin: "",
            shop: &shop.parts.catalogue.settings(),
            made_at: shop.parts.clock.now(),
            categories: &[],
            answers: &Default::default(),
            shipping: &Default::default(),
        };
        sale_pages::render_sale(Locale::En, site, of_sale, std::iter::empty).unwrap()
    };
    let (draw, rush) = (page(&sale), page(&rush));
    assert!(draw.contains("By draw: enter while it is open") && draw.contains(&format!("/en/sales/{sale}/draw")));
    assert!(rush.contains("First come, first served") && !rush.contains("By draw"));
}

#[tokio::test]
async fn proof_page_grows_with_what_is_published() {
    let shop = TestShop::open_at(&hour_before()).await;
    let (admin, clients) = (shop.admin().await, crowd(&shop, 3).await);
    let sale = announce(&admin, 1).await;
    let path = format!("/en/sales/{sale}/draw");
    let facts = draws::facts(&shop, &sale).await;
    assert_eq!((&facts["stage"], &facts["until"]), (&json!("announced"), &json!(OPENS)));
    let announced = shop.visitor().get(&path).await;
    assert!(announced.is_page(200) && announced.text().contains(facts["commitment"].as_str().unwrap()));
    assert!(announced.text().contains("Sandbox randomness") && announced.text().contains("published after the draw"));
    assert!(!announced.text().contains("proof.json\" download"), "nothing to download yet");
    draw_among(&shop, &sale, &clients).await;
    let facts = draws::facts(&shop, &sale).await;
    assert_eq!((&facts["stage"], &facts["until"]), (&json!("drawn"), &Value::Null));
    shop.parts.catalogue.refresh().await.unwrap();
    assert_eq!(shop.visitor().get("/api/sales").await.json()["sales"][0]["drawn"], true, "lists say it");
    let drawn = clients[0].get(&path).await;
    for field in ["root", "secret", "seed"] {
        assert!(drawn.text().contains(facts[field].as_str().unwrap()), "{field}: {}", drawn.text());
    }
    let entry = own(&clients[0], &sale).await["id"].as_str().unwrap().to_owned();
    assert!(drawn.text().contains(&format!("value=\"{entry}\"")), "the own entry is filled in");
    assert!(!shop.visitor().get(&path).await.text().contains(&entry));
    let rush = shop.open_sale(&admin, 5).await;
    assert_eq!(shop.visitor().get(&format!("/en/sales/{rush}/draw")).await.status, 404);
}

#[tokio::test]
async fn draw_says_when_its_result_comes_and_reminds_of_it() {
    open_shop!(shop = TestShop::open_at(&hour_before()), admin, [mei]);
    let sale = announce(&admin, 1).await;
    open(&shop, &sale).await;
    enter(&mei, &sale).await;
    shop.publish();
    let (page, file) = (format!("/en/sales/{sale}"), format!("/en/sales/{sale}/result.ics"));
    // The round comes after twice the review, so not when the list is locked.
    let result = shop.visitor().get(&page).await.text().split("Result:").nth(1).unwrap_or_default()[..200].to_owned();
    assert!(result.contains("2026-11-21T13:20:") && result.contains(&file), "{result}");
    let entry = mei.get(&format!("{page}/entry")).await;
    assert!(entry.text().contains(">13:20</time>") && entry.text().contains(&file), "{entry:?}");
    let calendar = shop.visitor().get(&file).await;
    assert!(calendar.text().contains("DTSTART:20261121T1320"), "{calendar:?}");
    shop.advance(HOUR);
    follow_schedule(&shop, &sale).await;
    shop.publish();
    assert_eq!(shop.visitor().get(&file).await.status, 404);
}

#[tokio::test]
async fn list_that_is_locked_after_its_round_is_marked() {
    open_shop!(shop = shop_with_quicknet("2026-11-21T11:00:00Z"), admin, [mei]);
    let sale = announce(&admin, 1).await;
    open(&shop, &sale).await;
    enter(&mei, &sale).await;
    shop.advance(HOUR);
    follow_schedule(&shop, &sale).await;
    let path = format!("/en/sales/{sale}/draw");
    assert!(!shop.visitor().get(&path).await.text().contains("locked after its public round"));
    shop.advance(3 * REVIEW);
    draws(&shop).step().await.unwrap();
    let page = shop.visitor().get(&path).await;
    assert!(page.text().contains("locked after its public round") && !page.text().contains("Sandbox"));
}
