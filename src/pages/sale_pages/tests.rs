//! Pages of sales from samples.

use super::*;
use domain::{Bilingual, Currency, DrawPlan, GoodsId, Money, WaitingRoomPlan};
use testing::samples::{at, sample};

fn render(sales: &[(Sale, Goods)]) -> Vec<(String, String)> {
    let sales: Vec<_> = sales.iter().collect();
    Locale::ALL
        .into_iter()
        .flat_map(|locale| {
            let site = Site {
                origin: "https://shop.example",
                shop: &Default::default(),
                made_at: at("2026-11-20T12:00:00Z"),
                categories: &[],
                answers: &AnswersByGoods::new(),
                shipping: &ShippingTable::default(),
            };
            render_all(locale, site, &sales).unwrap()
        })
        .collect()
}

#[test]
fn pages_show_product_time_and_price() {
    let pages = render(&[sample(7, "Phone")]);
    let addresses: Vec<_> = pages.iter().map(|(path, _)| path.as_str()).collect();
    let expected =
        ["/zh/", "/zh/sales/7/reminder.ics", "/zh/sales/7", "/en/", "/en/sales/7/reminder.ics", "/en/sales/7"];
    assert_eq!(addresses, expected);
    for (path, html) in pages.iter().filter(|(path, _)| !path.ends_with(".ics")) {
        for part in ["Phone", "¥1,999<", "¥2,999<", "12:00</time>", "/static/goods/phone-640."] {
            assert!(html.contains(part), "{part} on {path}");
        }
    }
    let (_, detail) = &pages[5];
    assert!(detail.contains(r#"action="/en/sales/7/buy""#) && detail.contains("−33%"));
    assert!(detail.contains(r#"href="/zh/sales/7""#), "the switch keeps the page");
    assert!(detail.contains(r#"href="/en/sales/7/reminder.ics""#));
}

#[test]
fn every_mode_says_what_is_ready_before_the_start() {
    for (mode, ahead) in [
        (SaleMode::Rush, "0"),
        (SaleMode::Draw(DrawPlan::new(None)), "0"),
        (SaleMode::WaitingRoom(WaitingRoomPlan { prequeue_s: 60, ..WaitingRoomPlan::USUAL }), "60000"),
    ] {
        let (mut sale, goods) = sample(7, "Phone");
        sale.mode = mode;
        let page = |sale: &Sale| render(&[(sale.clone(), goods.clone())])[5].1.clone();
        let awaited = page(&sale);
        for part in [
            &format!("data-slot=\"ready\" data-ahead=\"{ahead}\""),
            "data-ready=\"user\"",
            "data-ready=\"address\"",
            "data-ready=\"payment\" data-price=\"199900\"",
            "href=\"/en/wallet?sale=7\"",
            "data-slot=\"remind\"",
            "href=\"/en/sales/7/reminder.ics\"",
        ] {
            assert!(awaited.contains(part), "{part} with {mode:?}");
        }
        let in_dollars = page(&Sale { price: Money::new(100, Currency::parse("USD").unwrap()), ..sale.clone() });
        assert!(!in_dollars.contains("data-ready=\"payment\""), "wallets hold another currency");
        sale.state = SaleState::Live;
        assert!(!page(&sale).contains("data-slot=\"ready\""), "{mode:?}");
    }
}

#[test]
fn page_tells_its_script_the_class_of_every_refusal() {
    let page = &render(&[sample(7, "Phone")])[5].1;
    for refusal in Refusal::ALL {
        let item = format!(r#"<i data-key="{refusal}" data-class="{}">"#, refusal.class());
        assert!(page.contains(&item), "{item}");
    }
}

#[test]
fn pages_carry_no_live_data() {
    let quiet = sample(7, "Phone");
    let mut busy = quiet.clone();
    (busy.0.sold, busy.0.granted, busy.0.version, busy.0.epoch) = (99, 120, 12, 5);
    assert_eq!(render(&[quiet]), render(&[busy]));
}

#[test]
fn rehearsal_has_a_page_and_is_not_listed() {
    let mut rehearsed = sample(7, "Phone");
    rehearsed.0.shadow = true;
    let pages = render(&[rehearsed]);
    let addresses: Vec<_> = pages.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(addresses, ["/zh/", "/zh/sales/7", "/en/", "/en/sales/7"]);
    let page = |n: usize| pages[n].1.as_str();
    assert!(!page(0).contains("Phone") && !page(2).contains("Phone"));
    assert!(page(1).contains(r#"<meta name="robots" content="noindex">"#) && page(1).contains("演练"));
    assert!(page(3).contains("This is a rehearsal") && !page(3).contains("reminder.ics"));
    assert!(!render(&[sample(7, "Phone")])[2].1.contains("noindex"));
}

#[test]
fn picture_is_a_link_to_its_largest_copy() {
    let (sale, mut goods) = sample(7, "Phone");
    let page = |goods: &Goods| render(&[(sale.clone(), goods.clone())])[2].1.clone();
    assert!(page(&goods).contains("href=\"/static/goods/phone-640."), "{}", page(&goods));
    goods.pictures.clear();
    let without = page(&goods);
    assert!(!without.contains("data-zoom") && !without.contains("gallery.js"), "{without}");
}

#[test]
fn limit_of_one_needs_no_quantity_field() {
    let mut one = sample(7, "Phone");
    assert!(render(std::slice::from_ref(&one))[2].1.contains("<select"));
    one.0.per_user_limit = 1;
    assert!(!render(&[one])[2].1.contains("<select"));
}

#[test]
fn hostile_names_are_escaped() {
    let long = "长".repeat(5_000);
    for name in ["<script>alert(1)</script>", "\" onload=alert(1) x=\"", "'><img src=x>", "\u{202e}evil", &long] {
        for (path, html) in render(&[sample(7, name)]) {
            if path.ends_with(".ics") {
                continue;
            }
            let own = html.matches("<script type=\"module\" src=\"/static/").count();
            let data = html.matches("<script type=\"application/ld+json\">").count();
            assert_eq!(data, usize::from(path.contains("/sales/")), "{path}");
            assert_eq!(html.matches("<script").count(), own + data, "only our own scripts on {path}");
            let (before, rest) = html.split_once("ld+json\">").unwrap_or((html.as_str(), "</script>"));
            let (json, after) = rest.split_once("</script>").unwrap();
            assert!(json.is_empty() || serde_json::from_str::<serde_json::Value>(json).is_ok(), "{json}");
            let html = format!("{before}{after}");
            assert!(!html.contains("\" onload=") && !html.contains("<img src=x"), "{path}");
            assert!(!html.contains(" style=\""), "{path}");
        }
    }
}

#[test]
fn list_is_ordered_live_upcoming_past() {
    let (mut over, mut later, mut sooner) = (sample(1, "Over"), sample(2, "Last one"), sample(3, "Sooner"));
    over.0.state = SaleState::Ended;
    later.0.window.opens_at = None;
    sooner.0.window.opens_at = Some(at("2026-11-20T12:00:00Z"));
    let mut live = sample(4, "Live one");
    live.0.state = SaleState::Live;
    let sales = [over, later, sooner, live];
    let list = |sales: &[(Sale, Goods)]| render(sales).into_iter().find(|(path, _)| path == "/en/").unwrap().1;
    let (with, without) = (list(&sales), list(&sales[..3]));
    let order = |list: &str, names: &[&str]| {
        let places: Vec<_> = names.iter().map(|name| list.find(&format!("{name}<")).unwrap()).collect();
        assert!(places.is_sorted(), "{names:?} at {places:?}");
    };
    order(&with, &["Live one", "Sooner", "Last one", "Past sales", "Over"]);
    order(&without, &["Sooner", "Last one", "Past sales", "Over"]);
}

#[test]
fn ended_sale_leads_on_and_offers_nothing_to_buy() {
    let mut over = sample(7, "Phone");
    over.0.state = SaleState::Ended;
    let page = |sales: &[(Sale, Goods)]| render(sales).into_iter().find(|(path, _)| path == "/en/sales/7").unwrap().1;
    let alone = page(&[over.clone()]);
    assert!(alone.contains(r#"class="big" href="/en/">Browse sales"#), "{alone}");
    assert!(!alone.contains("<select") && !alone.contains("poster.svg") && !alone.contains(r#"<ol class="steps">"#));
    let (mut again, other) = (sample(8, "Phone"), sample(9, "Radio"));
    (again.0.goods_id, again.1.id) = (over.0.goods_id, over.1.id);
    let with = page(&[over, again, other]);
    assert!(with.contains(r#"class="big" href="/en/sales/8">"#), "{with}");
    let place = |part: &str| with.find(part).unwrap();
    assert!(place("id=\"onward\"") < place("class=\"below\""), "what comes next stands before what was");
}

#[test]
fn variants_are_chosen_beside_the_price() {
    let (blue, mut black) = (sample(7, "Phone"), sample(8, "Black phone"));
    (black.1.variant_of, black.1.variant) = (Some(GoodsId(7)), Bilingual::new("曜石黑", "Black"));
    let pages = render(&[blue.clone(), black]);
    let page = |path: &str| &pages.iter().find(|(at, _)| at == path).unwrap().1;
    let (of_blue, of_black) = (page("/en/sales/7"), page("/en/sales/8"));
    assert!(
        of_blue.contains(r#"href="/en/sales/7" aria-current="page">"#) && of_blue.contains("<strong>Black</strong>")
    );
    assert!(
        of_black.contains(r#"href="/en/sales/8" aria-current="page">"#) && of_black.contains(r#"href="/en/sales/7">"#)
    );
    assert!(of_black.contains(r#""inProductGroupWithID":"7""#), "for search engines");
    assert!(!of_blue.contains(r#"id="onward""#), "they are not offered twice");
    assert!(!render(&[blue])[2].1.contains("variants-title"));
}

#[test]
fn links_to_list_and_sales_unfold_with_a_picture() {
    for (path, html) in render(&[sample(7, "Phone")]) {
        if path.ends_with(".ics") {
            continue;
        }
        // Previews show no drawings, so the shop's own picture is used.
        let picture = format!(r#"og:image" content="https://shop.example{}""#, crate::assets::url("icon-512.png"));
        assert!(html.contains(&picture) && html.contains(r#"twitter:card" content="summary""#), "{path}");
        assert!(html.contains(&format!(r#"og:url" content="https://shop.example{path}""#)), "{path}");
        assert_eq!(html.contains("12:00\">"), path.contains("/sales/"), "the start of {path}");
    }
}
