//! The shop's own name and looks, on every page.

use std::collections::{BTreeSet, VecDeque};

use super::goods::{MULTIPART, form as multipart};
use super::support::{paid_order, sendable_order};
use super::*;
use domain::ShopSettings;
use testing::samples::png;

const FORM: &str = "/admin/shop?lang=en";

fn form(version: i64, colour: &str) -> String {
    format!(
        "version={version}&name_zh=%E9%B2%B8%E5%95%86%E5%9F%8E&name_en=Whale+Mart&mark=%E9%B2%B8&\
         colour=%23{colour}&time_zone=asia/shanghai&languages=zh_en&currency=USD&sender=Whale+post"
    )
}

impl TestShop {
    async fn settings(&self) -> ShopSettings {
        self.parts.store.shop_settings().get().await.unwrap()
    }
}

/// The paths of the shop that a page links to.
fn links(html: &str) -> impl Iterator<Item = String> + '_ {
    let hrefs = html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let own = hrefs.filter(|href| href.starts_with('/') && !href.starts_with("//"));
    let own = own.filter(|href| !href.starts_with("/static/") && !href.starts_with("/uploads/"));
    own.map(|href| href.split('#').next().unwrap().replace("&#38;", "&").replace("&amp;", "&"))
}

/// The parts of a text that show the name of the program. In Chinese its name is also the word for a flash sale.
fn program_names(text: &str) -> Vec<&str> {
    let names = ["Seckill", "· 秒杀<", ">秒杀</strong>", ">秒杀</span>", "\"秒杀\"", "由秒杀销售", "⚡ 秒杀"];
    names.into_iter().filter(|name| text.contains(name)).collect()
}

#[tokio::test]
async fn named_shop_shows_the_name_of_the_program_nowhere() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    shop.publish();
    assert!(shop.visitor().get("/en/").await.text().contains("Seckill"), "until it has a name of its own");
    assert!(admin.send_form(FORM, &form(0, "0a5bff")).await.leads_to("/admin/shop?lang=en&done=saved"));
    shop.publish();
    paid_order(&shop, &mei, &sale).await;
    let packet = json!({"total": 100, "count": 2, "min": 1, "max": 99, "greeting": "x"});
    let packet = admin.post("/api/admin/packets", packet).await;
    let share = packet.json()["share_url"].as_str().unwrap_or_default().to_owned();
    let path = share.split_once("/en/").or(share.split_once("/zh/")).map(|(_, rest)| rest.to_owned());

    let fixed = ["/sw.js", "/manifest.webmanifest?lang=en", "/manifest.webmanifest?lang=zh", "/en/nothing"];
    let starts = ["/en/", "/zh/", "/admin?lang=en", "/admin?lang=zh", "/en/offline", "/zh/offline"];
    let posters = [format!("/en/sales/{sale}/poster.svg"), format!("/zh/sales/{sale}/poster.svg")];
    let mut looked_at = 0;
    for who in [&shop.visitor(), &mei, &admin] {
        let mut ahead: VecDeque<String> = starts.into_iter().chain(fixed).map(str::to_owned).collect();
        ahead.extend(posters.clone());
        ahead.extend(path.iter().map(|path| format!("/en/{path}")));
        let mut seen: BTreeSet<String> = ahead.iter().cloned().collect();
        while let Some(path) = ahead.pop_front() {
            let answer = who.get(&path).await;
            let Ok(text) = std::str::from_utf8(&answer.body) else { continue };
            // The log says which name the shop had before.
            if path.starts_with("/admin/log") {
                continue;
            }
            assert_eq!(program_names(text), Vec::<&str>::new(), "{path}");
            looked_at += 1;
            for link in links(text) {
                // One page of each kind is enough: pages of one kind differ in their query.
                if link.matches('&').count() < 2 && seen.insert(link.clone()) && seen.len() < 250 {
                    ahead.push_back(link);
                }
            }
        }
    }
    assert!(looked_at > 150, "{looked_at}");
    let english = shop.visitor().get(&format!("/en/sales/{sale}")).await;
    for part in
        ["<title>Phone · Whale Mart</title>", "og:site_name\" content=\"Whale Mart\"", "\"name\":\"Whale Mart\""]
    {
        assert!(english.text().contains(part), "{part}: {}", english.text());
    }
    assert!(shop.visitor().get("/zh/").await.text().contains("鲸商城"));

    mei.put("/api/account/mail", json!({"address": "mei@shop.example", "password": "correct horse"})).await;
    let mail = shop.mails().await.pop().unwrap();
    let letter = shop.letter(&mail);
    assert_eq!(letter.sender, "Whale post");
    assert!(program_names(&format!("{}{}", letter.subject, letter.text)).is_empty(), "{letter:?}");
    admin.get("/admin/log?lang=en").await.has(&["Shop settings", "#0a5bff"]);
}

#[tokio::test]
async fn pale_colour_is_said_so_and_mended_on_request() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let pale = admin.send_form(FORM, &form(0, "ff8800")).await.shows(422, &["its contrast is 2.4", "Whale Mart"]);
    assert!(shop.visitor().get("/en/").await.text().contains("Seckill"), "nothing was saved");
    let offered = pale.text().split("name=\"mended\" value=\"#").nth(1).unwrap()[..6].to_owned();
    admin.send_form(FORM, &format!("{}&mended=%23{offered}", form(0, "ff8800"))).await.is(303);
    let settings = shop.settings().await;
    assert_eq!(settings.colour.to_string(), format!("#{offered}"));
    assert_eq!((settings.time_zone.as_str(), settings.currency.as_str()), ("Asia/Shanghai", "USD"));

    shop.publish();
    let home = shop.visitor().get("/en/").await;
    let mut hrefs = home.text().split("href=\"").filter_map(|rest| rest.split('"').next());
    let style = hrefs.find(|path| path.contains("/brand-") && path.ends_with(".css")).unwrap();
    let css = shop.visitor().get(style).await;
    assert!(css.text().contains(&offered) && css.header("cache-control").contains("immutable"), "{css:?}");
    let older = shop.visitor().get("/static/brand-1.css").await;
    assert!(older.text().contains(&offered) && !older.header("cache-control").contains("immutable"));

    // Somebody else has saved since the form was loaded: nothing is overwritten unseen, and nothing entered is lost.
    admin.send_form(FORM, &form(0, "00695c")).await.shows(409, &["#00695c", "just now"]);
    let viewer = shop.staff(&admin, "vera", Role::Viewer).await;
    assert!(viewer.send_form(FORM, &form(settings.version(), "00695c")).await.is_page(403));
    assert!(!viewer.get(FORM).await.text().contains("name=\"mended\""));
    let wrong =
        admin.send_form(FORM, "version=0&name_zh=&name_en=x&colour=red&time_zone=Mars&languages=fr&currency=XXX");
    let wrong = wrong.await;
    assert!(wrong.is_page(422) && wrong.text().matches("class=\"wrong\"").count() >= 5, "{}", wrong.text());
}

#[tokio::test]
async fn promise_of_the_day_is_told_before_and_after_buying() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (order, _) = sendable_order(&shop, &mei, &sale).await;
    let page = async || {
        shop.publish();
        shop.visitor().get(&format!("/en/sales/{sale}")).await.text().to_owned()
    };
    assert!(page().await.contains("Sent within 2 days of your payment"));
    mei.get(&format!("/en/orders/{sale}/{order}")).await.has(&["Ships by "]);
    assert!(mei.get("/en/orders").await.text().contains("Ships by "));
    let set = async |version: i64, days: &str| {
        admin.send_form(FORM, &format!("{}&ships_within_days={days}", form(version, "0a5bff"))).await
    };
    for wrong in ["61", "-1", "300", "soon"] {
        set(0, wrong).await.shows(422, &["from 0 to 60"]);
    }
    assert_eq!(set(0, "1").await.status, 303);
    assert!(page().await.contains("Sent within a day of your payment"));
    assert_eq!(set(shop.settings().await.version(), "0").await.status, 303);
    assert!(!page().await.contains("Sent within"));
    let receipt = async || mei.get(&format!("/en/orders/{sale}/{order}/receipt")).await.text().to_owned();
    assert!(!receipt().await.contains("Tax number"));
    let numbered = format!("{}&tax_number=91350100M000100Y43", form(shop.settings().await.version(), "0a5bff"));
    assert_eq!(admin.send_form(FORM, &numbered).await.status, 303);
    assert!(receipt().await.contains("<br>Tax number 91350100M000100Y43</p>"), "{}", receipt().await);
    admin.get("/admin/log?lang=en").await.has(&["Days until an order is sent"]);
}

#[tokio::test]
async fn logo_is_shown_and_kept_until_it_is_removed() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let send = async |verb: &str, files: &[(&str, &[u8])]| {
        admin.send("POST", &format!("/admin/shop/logo/{verb}?lang=en"), MULTIPART, multipart(&[], files)).await
    };
    assert!(send("set", &[]).await.is_page(422));
    assert!(send("set", &[("a.png", b"no picture")]).await.is_page(422));
    assert_eq!(send("set", &[("a.png", &png(400, 400))]).await.status, 303);
    shop.publish();
    let logo = shop.settings().await.logo.unwrap();
    let home = shop.visitor().get("/en/").await;
    let address = format!("/uploads/{}-320.webp", logo.name);
    assert!(home.text().contains(&address), "{}", home.text());
    assert_eq!(shop.visitor().get(&address).await.status, 200);
    let manifest = shop.visitor().get("/manifest.webmanifest?lang=en").await.json();
    assert_eq!(manifest["icons"][0]["sizes"], "400x400");

    let later = shop.parts.clock.now() + SignedDuration::from_hours(48);
    assert_eq!(shop.parts.store.goods().delete_unused_pictures(later).await.unwrap(), 0);
    assert_eq!(send("remove", &[]).await.status, 303);
    assert_eq!(shop.settings().await.logo, None);
    assert_eq!(shop.parts.store.goods().delete_unused_pictures(later).await.unwrap(), 1);
}

#[tokio::test]
async fn shop_of_one_language_leads_to_no_other() {
    let (shop, sale) = TestShop::open().await.selling(1).await;
    let admin = shop.admin().await;
    let only_chinese = form(0, "c9301d").replace("zh_en", "zh");
    assert_eq!(admin.send_form(FORM, &only_chinese).await.status, 303);
    shop.publish();
    let home = shop.visitor().send("GET", "/", &[("accept-language", "en")], Body::empty()).await;
    assert_eq!(home.header("location"), "/zh/");
    for path in ["/zh/".to_owned(), format!("/zh/sales/{sale}"), "/sitemap.xml".to_owned()] {
        shop.visitor().get(&path).await.lacks(&["hreflang=\"en\"", "/en/"]);
    }
    assert!(shop.visitor().get("/en/").await.is_page(200), "links that were shared still work");
    assert!(admin.get("/admin?lang=zh").await.text().contains("/admin?lang=en"), "staff have both");
}
