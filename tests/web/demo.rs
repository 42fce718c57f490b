//! The demo as visitors see it.

use super::*;

#[tokio::test]
async fn demo_product_has_a_gallery_whose_further_pictures_wait() {
    let shop = TestShop::open().await;
    seckill::app::demo::create(&shop.parts.store, shop.parts.clock.now()).await.unwrap();
    shop.parts.catalogue.refresh().await.unwrap();
    shop.publish();
    for entry in shop.parts.catalogue.listed() {
        let page = shop.visitor().get(&format!("/en/sales/{}", entry.sale.id)).await;
        let (strip, thumbs) = page.text().split_once("class=\"thumbs\"").expect("a gallery");
        let (_, strip) = strip.split_once("data-gallery").unwrap();
        assert_eq!(strip.matches("<img").count(), 3);
        assert_eq!(strip.matches("loading=\"lazy\"").count(), 2, "{strip}");
        assert_eq!(strip.matches("fetchpriority=\"high\"").count(), 1, "{strip}");
        let (thumbs, _) = thumbs.split_once("</nav>").unwrap();
        assert_eq!(thumbs.matches("href=\"#picture-").count(), 3, "links without a script");
    }
}
