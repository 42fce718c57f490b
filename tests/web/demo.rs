//! The demo as visitors and staff see it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::support::assert_audit_finds_nothing;
use super::*;

/// A shop with the demo, and the time of its creation.
async fn demo_shop() -> (TestShop, Timestamp) {
    let shop = TestShop::open().await;
    let now = shop.parts.clock.now();
    assert!(seckill::app::demo::create(&shop.parts.store, now).await.unwrap());
    shop.parts.catalogue.refresh().await.unwrap();
    shop.publish();
    (shop, now)
}

#[tokio::test]
async fn demo_product_has_a_gallery_whose_further_pictures_wait() {
    let (shop, _) = demo_shop().await;
    let mut galleries = 0;
    for entry in shop.parts.catalogue.listed().iter().filter(|entry| entry.goods.pictures.len() > 1) {
        let page = shop.visitor().get(&format!("/en/sales/{}", entry.sale.id)).await;
        let (strip, thumbs) = page.text().split_once("class=\"thumbs\"").expect("a gallery");
        let (_, strip) = strip.split_once("data-gallery").unwrap();
        let all = entry.goods.pictures.len();
        assert_eq!(strip.matches("<img").count(), all);
        assert_eq!(strip.matches("loading=\"lazy\"").count(), all - 1, "{strip}");
        assert_eq!(strip.matches("fetchpriority=\"high\"").count(), 1, "{strip}");
        let (thumbs, _) = thumbs.split_once("</nav>").unwrap();
        assert_eq!(thumbs.matches("href=\"#picture-").count(), all, "links without a script");
        galleries += 1;
    }
    assert!(galleries >= 2);
}

/// A stranger finds every kind of sale in the first minute, orders in every state, and books that agree.
#[tokio::test]
async fn demo_is_a_shop_in_the_middle_of_its_day() {
    let (shop, now) = demo_shop().await;
    let sales = shop.parts.store.sales().list().await.unwrap();
    let soon = sales.iter().filter_map(|sale| sale.window.opens_at).filter(|opens| *opens > now).min().unwrap();
    assert_eq!(soon.duration_since(now).as_secs(), 120, "a rush opens two minutes after the start");
    let taken: Vec<i64> = sales.iter().map(|sale| sale.sold * 100 / sale.total).filter(|part| *part > 0).collect();
    assert!(taken.contains(&81) && taken.contains(&100), "{taken:?}");
    let is_on = |sale: &&domain::Sale| sale.state == domain::SaleState::Live && sale.sold == 0;
    let on: Vec<_> = sales.iter().filter(is_on).map(|sale| sale.mode.name()).collect();
    assert!(on.contains(&domain::ModeName::WaitingRoom) && on.contains(&domain::ModeName::Draw), "{on:?}");

    let admin = shop.admin().await;
    let sold_out = sales.iter().find(|sale| sale.sold == sale.total).unwrap().id;
    let cockpit = admin.get(&format!("/admin/sales/{sold_out}?lang=en")).await;
    assert!(cockpit.text().contains("24 of 24 in 0.49 s"), "the cockpit celebrates: {}", cockpit.text());
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    for order in admin.get("/api/admin/orders").await.json()["orders"].as_array().unwrap() {
        let parcel = order["parcel"]["state"].as_str().unwrap_or("none");
        *states.entry(format!("{} {parcel}", order["status"].as_str().unwrap())).or_default() += 1;
    }
    for state in ["unpaid none", "paid none", "paid packed", "paid shipped", "paid delivered"] {
        assert!(states.contains_key(state), "{state} in {states:?}");
    }
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn crowd_from_the_console_comes_to_a_hidden_sale() {
    let (shop, _) = demo_shop().await;
    let admin = shop.admin().await;
    assert!(admin.get("/admin?lang=en").await.text().contains("action=\"/admin/crowd?lang=en\""));
    let sent = admin.send_form("/admin/crowd?lang=en", "").await;
    let hidden = shop.parts.store.sales().rehearsed_sales().await.unwrap();
    assert_eq!((sent.status.as_u16(), hidden.len(), hidden[0].total), (303, 1, 60));
    assert_eq!(sent.header("location"), format!("/admin/sales/{}?lang=en", hidden[0].id));
}

#[tokio::test]
async fn crowd_has_nothing_to_buy_in_an_empty_shop_and_blocks_no_later_one() {
    open_shop!(shop, admin);
    assert!(!admin.get("/admin?lang=en").await.text().contains("/admin/crowd"), "nothing is offered");
    assert_eq!(admin.send_form("/admin/crowd?lang=en", "").await.status.as_u16(), 500);
    assert!(!shop.parts.store.leases().is_held("rehearsal").await.unwrap());
}
