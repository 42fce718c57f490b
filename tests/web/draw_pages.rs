//! Pages of draws: what visitors see of a draw, from its announcement to its proof.

use std::time::Duration;

use super::draws::*;
use super::*;
use domain::Locale;
use domain::draw::Beacon;
use pages::sale_pages;

/// These clients enter; then the draw is closed and held.
pub(super) async fn draw_among(shop: &TestShop, clock: &Clock, sale: &str, clients: &[TestClient<'_>]) {
    open(shop, clock, sale).await;
    for client in clients {
        enter(client, sale).await;
    }
    clock.advance(HOUR);
    follow_schedule(shop, sale).await;
    clock.advance(REVIEW);
    draws(shop).step().await.unwrap();
    clock.advance(REVIEW + Duration::from_secs(3));
    draws(shop).step().await.unwrap();
}

#[tokio::test]
async fn lists_and_pages_say_that_a_sale_is_a_draw() {
    let clock = hour_before();
    let shop = TestShop::open_at(&clock).await;
    let admin = shop.admin().await;
    let (sale, rush) = (announce(&admin, 3).await, shop.open_sale(&admin, 5).await);
    open(&shop, &clock, &sale).await;
    let list = shop.visitor().get("/api/sales").await.json();
    let mode = |id: &str| {
        let listed = list["sales"].as_array().unwrap().iter().find(|listed| listed["id"] == id);
        listed.unwrap()["mode"].clone()
    };
    assert_eq!((mode(&sale), mode(&rush)), (json!("draw"), json!("rush")));
    let pages = shop.parts.catalogue.listed();
    let page = |id: &str| {
        let entry = pages.iter().find(|entry| entry.sale.id.to_string() == id).unwrap();
        let of_sale = (&entry.sale, &entry.goods);
        let site = sale_pages::Site {
            origin: "",
            shop: &shop.parts.catalogue.settings(),
            made_at: clock.now(),
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
    let clock = hour_before();
    let shop = TestShop::build(|config| config.free_registrations = 1000, clock.clone()).await;
    let (admin, clients) = (shop.admin().await, crowd(&shop, 3).await);
    let sale = announce(&admin, 1).await;
    let path = format!("/en/sales/{sale}/draw");
    let public = format!("/api/sales/{sale}/draw");
    let facts = shop.visitor().get(&public).await.json()["draw"].clone();
    assert_eq!((&facts["stage"], &facts["until"]), (&json!("announced"), &json!(OPENS)));
    let announced = shop.visitor().get(&path).await;
    assert!(announced.is_page(200) && announced.text().contains(facts["commitment"].as_str().unwrap()));
    assert!(announced.text().contains("Sandbox randomness") && announced.text().contains("published after the draw"));
    assert!(!announced.text().contains("proof.json\" download"), "nothing to download yet");
    draw_among(&shop, &clock, &sale, &clients).await;
    let facts = shop.visitor().get(&public).await.json()["draw"].clone();
    assert_eq!((&facts["stage"], &facts["until"]), (&json!("drawn"), &Value::Null));
    shop.parts.catalogue.refresh().await.unwrap();
    assert_eq!(shop.visitor().get("/api/sales").await.json()["sales"][0]["drawn"], true, "lists say it");
    let drawn = clients[0].get(&path).await;
    for field in ["root", "secret", "seed"] {
        assert!(drawn.text().contains(facts[field].as_str().unwrap()), "{field}: {}", drawn.text());
    }
    let entry = own(&clients[0], &sale).await;
    assert!(
        drawn.text().contains(&format!("value=\"{}\"", entry["id"].as_str().unwrap())),
        "the own entry is filled in"
    );
    assert!(!shop.visitor().get(&path).await.text().contains(entry["id"].as_str().unwrap()));
    let rush = shop.open_sale(&admin, 5).await;
    assert_eq!(shop.visitor().get(&format!("/en/sales/{rush}/draw")).await.status, 404);
}

#[tokio::test]
async fn draw_says_when_its_result_comes_and_reminds_of_it() {
    let clock = hour_before();
    let shop = TestShop::open_at(&clock).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let sale = announce(&admin, 1).await;
    open(&shop, &clock, &sale).await;
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
    clock.advance(HOUR);
    follow_schedule(&shop, &sale).await;
    shop.publish();
    assert_eq!(shop.visitor().get(&file).await.status, 404);
}

#[tokio::test]
async fn list_that_is_locked_after_its_round_is_marked() {
    let clock = hour_before();
    let quicknet = |config: &mut Config| config.web.draw_beacon = Some(Beacon::Quicknet);
    let shop = TestShop::build(quicknet, clock.clone()).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let sale = announce(&admin, 1).await;
    open(&shop, &clock, &sale).await;
    enter(&mei, &sale).await;
    clock.advance(HOUR);
    follow_schedule(&shop, &sale).await;
    let path = format!("/en/sales/{sale}/draw");
    assert!(!shop.visitor().get(&path).await.text().contains("locked after its public round"));
    clock.advance(3 * REVIEW);
    draws(&shop).step().await.unwrap();
    let page = shop.visitor().get(&path).await;
    assert!(page.text().contains("locked after its public round") && !page.text().contains("Sandbox"));
}
