//! Public pages, which are the same for all visitors, and their cache headers.

use std::io::Read;
use std::time::Duration;

use axum::http::Method;
use serde_json::json;

use crate::support::{Answer, Client, NewSale, Rung, Shop, eventually, until};

const TIMEOUT: Duration = Duration::from_secs(10);

async fn encoded(client: &Client, path: &str, encoding: &str) -> Answer {
    client.request(Method::GET, path).header("accept-encoding", encoding).send().await.expect(200)
}

fn unpacked(answer: &Answer) -> Vec<u8> {
    let mut plain = Vec::new();
    match answer.header("content-encoding") {
        "br" => drop(brotli::Decompressor::new(&answer.body[..], 4096).read_to_end(&mut plain).unwrap()),
        "gzip" => drop(flate2::read::GzDecoder::new(&answer.body[..]).read_to_end(&mut plain).unwrap()),
        _ => plain = answer.body.to_vec(),
    }
    plain
}

#[tokio::test]
async fn front_page_redirects_to_the_visitors_language() {
    let shop = Shop::start(Rung::Sqlite).await;
    let languages = [
        ("zh-CN,zh;q=0.9,en;q=0.8", "/zh/"),
        ("en-GB", "/en/"),
        ("fr, zh;q=0.5", "/zh/"),
        ("fr", "/en/"),
        ("", "/en/"),
    ];
    for (accepted, list) in languages {
        let client = shop.client();
        let request = client.request(Method::GET, "/").header("accept-language", accepted);
        let answer = request.send().await.expect(302);
        assert_eq!((answer.header("location"), answer.header("vary")), (list, "accept-language"), "{accepted}");
    }
    let answer = shop.client().get("/zh").await;
    assert_eq!((answer.status, answer.header("location")), (308, "/zh/"));
}

#[tokio::test]
async fn public_pages_are_identical_and_cacheable() {
    let (shop, sale) = Shop::selling(Rung::Sqlite, NewSale::of(100)).await;
    let (visitor, me, admin) = (shop.client(), shop.shopper(1).client, shop.admin().await);
    let file =
        |path: &str| format!("{}/pages{}/index.html", shop.setting("SECKILL_DATA_DIR"), path.trim_end_matches('/'));
    // Opening the sale republishes its pages, one file after the other, while this test runs.
    let paths = ["/zh/".to_owned(), "/en/".to_owned(), format!("/zh/sales/{sale}"), format!("/en/sales/{sale}")];
    eventually("the pages are published with the open sale", TIMEOUT, async || {
        for path in &paths {
            let shown = std::fs::read_to_string(file(path)).unwrap_or_default();
            let served = visitor.request(Method::GET, path).send().await;
            if served.status != 200 || shown != served.text() || !shown.contains(&format!("/sales/{sale}")) {
                return Err(shown);
            }
        }
        Ok(())
    })
    .await;
    for path in paths {
        let plain = visitor.get(&path).await.expect(200);
        for client in [&me, admin] {
            let same = client.get(&path).await.expect(200);
            assert_eq!(same.body, plain.body, "{path}");
            assert_eq!(same.header("etag"), plain.header("etag"));
        }
        assert!(plain.headers.get("set-cookie").is_none(), "{plain:?}");
        assert!(plain.header("cache-control").starts_with("public, max-age="), "{plain:?}");
        assert_eq!(plain.header("vary"), "accept-encoding");
        assert_eq!(plain.header("content-type"), "text/html; charset=utf-8");
        assert!(plain.header("content-security-policy").contains("script-src 'self'"));
        assert!(plain.text().contains(if path.starts_with("/zh") { "手机" } else { "Phone" }), "{path}");
        for encoding in ["br", "gzip"] {
            let packed = encoded(&visitor, &path, encoding).await;
            assert_eq!(packed.header("content-encoding"), encoding);
            assert!(packed.body.len() < plain.body.len());
            assert_eq!(unpacked(&packed), plain.body, "{path} as {encoding}");
        }
        let known = visitor.request(Method::GET, &path).header("if-none-match", plain.header("etag")).send().await;
        let known = known.expect(304);
        assert!(known.body.is_empty() && known.header("etag") == plain.header("etag"));
        assert!(known.header("cache-control").starts_with("public"));
        let head = visitor.request(Method::HEAD, &path).send().await.expect(200);
        assert!(head.body.is_empty() && head.header("etag") == plain.header("etag"));
        let file = file(&path);
        assert_eq!(std::fs::read(&file).unwrap(), plain.body, "{file}");
        assert!(std::fs::exists(format!("{file}.br")).unwrap() && std::fs::exists(format!("{file}.gz")).unwrap());
    }
}

#[tokio::test]
async fn asset_addresses_contain_their_hash() {
    let shop = Shop::start(Rung::Sqlite).await;
    let page = shop.client().get("/en/").await.expect(200).text();
    let addresses: Vec<&str> = page.split('"').filter(|part| part.starts_with("/static/")).collect();
    assert!(addresses.len() >= 3, "{page}");
    for address in addresses {
        let file = shop.client().get(address).await.expect(200);
        assert_eq!(file.header("cache-control"), "public, max-age=31536000, immutable", "{address}");
        assert_eq!(file.header("x-content-type-options"), "nosniff");
        assert!(file.headers.get("set-cookie").is_none() && !file.header("content-type").is_empty());
        assert_eq!(unpacked(&encoded(&shop.client(), address, "br, gzip").await), file.body);
    }
    shop.client().get("/static/shop.00000000.css").await.expect(404);
}

#[tokio::test]
async fn page_is_published_again_after_a_change_of_its_goods() {
    let (shop, sale) = Shop::selling(Rung::Sqlite, NewSale::of(100)).await;
    let path = format!("/en/sales/{sale}");
    let before = shop.client().get(&path).await.expect(200);
    let goods = format!("/api/admin/goods/{}", shop.goods().await);
    let renamed = json!({"name": {"zh": "<b>平板</b>", "en": "Tablet <script>alert(1)</script>"}});
    shop.admin().await.request(Method::PATCH, &goods).json(&renamed).send().await.expect(200);
    let read = async || shop.client().get(&path).await.expect(200);
    let after = until("the page shows the new name", TIMEOUT, read, |page| page.text().contains("Tablet")).await;
    assert_ne!(after.header("etag"), before.header("etag"));
    assert!(!after.text().contains("<script>alert"), "{}", after.text());
    assert!(shop.client().get("/zh/").await.text().contains("平板"));
}

#[tokio::test]
async fn drafts_are_not_public() {
    let shop = Shop::start(Rung::Sqlite).await;
    let draft = shop.create(NewSale::of(100)).await;
    shop.client().get(&format!("/en/sales/{draft}")).await.expect(404);
    assert_eq!(shop.client().get("/api/sales").await.expect(200).json()["sales"], json!([]));
    let open = shop.open(NewSale::of(100)).await;
    let listed = shop.client().get("/api/sales").await.expect(200).json();
    assert_eq!(listed["sales"].as_array().unwrap().len(), 1);
    assert_eq!((&listed["sales"][0]["id"], &listed["sales"][0]["phase"]), (&open.into(), &"open".into()));
}

#[tokio::test]
async fn live_answers_are_cached_for_a_second_and_personal_ones_never() {
    let (shop, sale) = Shop::selling(Rung::Sqlite, NewSale::of(100)).await;
    let me = shop.shopper(1);
    let button = shop.client().get(&format!("/api/sales/{sale}/button")).await.expect(200);
    assert_eq!(button.header("cache-control"), "public, max-age=1");
    let json = button.json();
    let fields: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = ["phase", "remaining", "total", "opens_at", "closes_at", "now", "poll_after_ms", "spread_ms"];
    expected.sort_unstable();
    assert_eq!(fields, expected);
    let order = me.buy_one(&sale).await;
    for path in [
        "/api/me".to_owned(),
        "/api/orders".into(),
        format!("/api/sales/{sale}/orders/{order}"),
        format!("/en/orders/{sale}/{order}"),
        "/en/orders".into(),
    ] {
        assert_eq!(me.client.get(&path).await.expect(200).header("cache-control"), "no-store", "{path}");
    }
    let missing = shop.client().get("/en/sales/999").await.expect(404);
    assert_eq!(missing.header("cache-control"), "no-store");
}

/// A server answers only once it has read all sales.
#[tokio::test]
async fn first_answers_after_a_restart_are_complete() {
    let (mut shop, sale) = Shop::selling(Rung::Sqlite, NewSale::of(100)).await;
    shop.processes[0].restart();
    let client = shop.client();
    let answers = eventually("the shop answers", TIMEOUT, async || {
        let button = client.request(Method::GET, &format!("/api/sales/{sale}/button")).try_send().await?;
        let page = client.request(Method::GET, &format!("/en/sales/{sale}")).try_send().await?;
        let token = client.clone().with_cookie(&shop.shopper(1).client.cookie().unwrap());
        let token = token.request(Method::POST, &format!("/api/sales/{sale}/token")).try_send().await?;
        Ok([button, page, token])
    })
    .await;
    for answer in &answers {
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    assert_eq!(answers[0].json()["phase"], "open");
}
