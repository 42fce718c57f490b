use super::*;

#[tokio::test]
async fn shared_pages_are_cacheable_and_carry_nothing_personal() {
    let shop = TestShop::open().await;
    let visitor = shop.visitor();
    let redirect = visitor.send("GET", "/", &[("accept-language", "zh-CN")], "").await.is(302);
    assert_eq!(redirect.header("location"), "/zh/");
    assert_eq!(redirect.header("vary"), "accept-language");
    assert_eq!(visitor.get("/zh").await.header("location"), "/zh/");

    let page = visitor.send("GET", "/zh/", &[("accept-encoding", "gzip, br"), ("cookie", "seckill=x")], "").await;
    assert_eq!((page.status.as_u16(), page.header("content-encoding")), (200, "br"));
    assert_eq!((page.header("set-cookie"), page.header("vary")), ("", "accept-encoding"));
    assert!(page.header("cache-control").starts_with("public, max-age=5"));
    let again = visitor.send("GET", "/zh/", &[("if-none-match", page.header("etag"))], "").await;
    assert_eq!((again.status.as_u16(), again.body.len()), (304, 0));
    let head = visitor.send("HEAD", "/en/", &[], "").await;
    assert_eq!((head.status.as_u16(), head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), visitor.get("/en/").await.body.len().to_string());

    let script = visitor.get(pages::assets::url("shop.js")).await;
    assert!(script.status == 200 && script.header("cache-control").ends_with("immutable"));
    let sales = visitor.get("/api/sales").await;
    assert_eq!((sales.json()["sales"].clone(), sales.header("cache-control")), (json!([]), "public, max-age=1"));
    assert_eq!(visitor.get("/api/ping").await.status, 204);
}

#[tokio::test]
async fn sale_with_a_start_has_a_calendar_file_until_it_ends() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let admin = shop.admin().await;
    shop.parts.catalogue.refresh().await.unwrap();
    shop.publish();
    let path = format!("/zh/sales/{sale}/reminder.ics");
    let file = shop.visitor().send("GET", &path, &[("accept-encoding", "br")], "").await;
    assert_eq!((file.header("content-type"), file.header("content-encoding")), ("text/calendar; charset=utf-8", "br"));
    assert!(file.header("cache-control").starts_with("public") && file.header("set-cookie").is_empty());
    shop.visitor().get(&path).await.has(&["\r\nDTSTART:20", "手机"]);
    admin.post(&format!("/api/admin/sales/{sale}/stop"), json!({})).await;
    shop.parts.catalogue.refresh().await.unwrap();
    shop.publish();
    assert!(shop.visitor().get(&path).await.is_page(404), "an ended sale has no reminder");
}

#[tokio::test]
async fn poll_interval_of_the_list_depends_on_open_sales() {
    let shop = TestShop::open().await;
    let poll = async || shop.visitor().get("/api/sales").await.json()["poll_after_ms"].as_i64();
    assert_eq!(poll().await, Some(5_000));
    shop.open_sale(&shop.admin().await, 2).await;
    assert_eq!(poll().await, Some(2_000), "the lower bound of the list");
}

#[tokio::test]
async fn unknown_paths_are_pages_for_browsers_and_problems_for_the_api() {
    let shop = TestShop::open().await;
    let visitor = shop.visitor();
    for path in [
        "/nowhere",
        "/zh/sales/7",
        "/static/../Cargo.toml",
        "/uploads/..%2Fsecret",
        "/uploads/u-0.png",
        "/admin/nowhere",
    ] {
        let page = visitor.get(path).await;
        assert!(page.is_page(404) && page.text().contains("not_found") || page.text().contains("404"), "{path}");
        assert!(page.header("content-security-policy").starts_with("default-src 'self'"), "{path}");
        assert_eq!(page.header("cache-control"), "no-store", "{path}");
    }
    assert_eq!(visitor.get("/api/nowhere").await.problem(), problem(404, "not_found"));
    assert_eq!(visitor.get("/api/sales/7/button").await.problem(), problem(404, "no_such_sale"));
    assert_eq!(visitor.get("/api/sales/seven/button").await.problem(), problem(404, "no_such_sale"));
    let mei = shop.shopper("mei").await;
    assert_eq!(mei.post("/api/sales/seven/token", json!({})).await.problem(), problem(404, "no_such_sale"));
    let wrong = visitor.delete("/api/sales").await;
    assert_eq!((wrong.problem(), wrong.header("allow")), (problem(405, "method_not_allowed"), "GET,HEAD"));
    let wrong = visitor.get("/zh/sales/7/buy").await;
    assert!(wrong.is_page(405) && wrong.header("allow") == "POST");
}

#[tokio::test]
async fn every_response_has_a_request_id_and_security_headers() {
    let shop = TestShop::open().await;
    let visitor = shop.visitor();
    let given = visitor.send("GET", "/api/me", &[("x-request-id", "from-proxy-1")], "").await;
    assert_eq!(given.header("x-request-id"), "from-proxy-1");
    assert_eq!(given.problem(), problem(401, "not_signed_in"));
    let (one, two) = (visitor.get("/en/").await, visitor.get("/en/").await);
    assert!(!one.header("x-request-id").is_empty() && one.header("x-request-id") != two.header("x-request-id"));
    assert_eq!(one.header("x-content-type-options"), "nosniff");
    let of_pages = "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; worker-src 'self'; \
                    object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
    assert_eq!(one.header("content-security-policy"), of_pages, "nothing inline, no frames");
    for answer in [given, visitor.get("/api/sales").await] {
        assert_eq!(answer.header("content-security-policy"), "default-src 'none'; frame-ancestors 'none'");
    }
}

#[tokio::test]
async fn cross_site_requests_are_refused() {
    let shop = TestShop::open().await;
    let visitor = shop.visitor();
    let json = ("content-type", "application/json");
    let form = ("content-type", "application/x-www-form-urlencoded");
    let evil = ("origin", "https://evil.example");
    let there = visitor.send("POST", "/api/login", &[json, ("sec-fetch-site", "cross-site")], "{}").await;
    assert_eq!(there.problem(), problem(403, "cross_site"));
    visitor.send("POST", "/zh/login", &[form, evil, ("host", "shop")], "username=a&password=b").await.shows(403, &[]);
    let own = ("origin", shop.parts.config.web.public_url.as_str());
    for headers in [[json, own].as_slice(), &[json], &[json, evil, ("sec-fetch-site", "same-origin")]] {
        visitor.send("POST", "/api/login", headers, "{}").await.refuses(422, "invalid");
    }
}

#[tokio::test]
async fn bodies_are_parsed_strictly_and_within_limits() {
    let shop = TestShop::open().await;
    let visitor = shop.visitor();
    assert_eq!(visitor.send("POST", "/api/login", &[], "{}").await.problem(), problem(415, "unsupported_media_type"));
    visitor.send("POST", "/api/login", &[("content-type", "application/json")], "{").await.refuses(400, "bad_json");
    let extra = visitor.post("/api/login", json!({"username": "a", "password": "b", "role": "admin"})).await;
    assert_eq!(extra.json()["fields"], json!([{"field": "role", "code": "unknown"}]));
    let long = json!({"username": "x".repeat(20_000), "password": "b"});
    assert_eq!(visitor.post("/api/login", long).await.problem(), problem(413, "too_large"));
    let long = format!("username={}&password=b", "x".repeat(20_000));
    assert!(visitor.send_form("/zh/login", &long).await.is_page(413));
    visitor.send("POST", "/api/webhooks/payments/sandbox", &[], "{}").await.refuses(401, "bad_signature");
}

#[tokio::test]
async fn every_path_of_the_openapi_description_exists() {
    let shop = TestShop::open().await;
    let description = shop.visitor().get("/api/openapi.json").await.json();
    for (path, methods) in description["paths"].as_object().unwrap() {
        let path = super::tokens::filled(path);
        let none = shop.visitor().send("TRACE", &path, &[], "").await.refuses(405, "method_not_allowed");
        for method in methods.as_object().unwrap().keys() {
            assert!(none.header("allow").contains(&method.to_uppercase()), "{method} {path}");
        }
    }
    let codes = description.to_string();
    for code in ["sold_out", "busy", "overloaded", "bad_token", "not_payable", "wrong_state"] {
        assert!(codes.contains(code), "{code}");
    }
}

#[tokio::test]
async fn search_engines_find_current_sales_in_both_languages() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let (open, ended) = (shop.open_sale(&admin, 2).await, shop.open_sale(&admin, 2).await);
    admin.post(&format!("/api/admin/sales/{ended}/stop"), json!({})).await;
    shop.parts.catalogue.refresh().await.unwrap();
    shop.visitor().get("/robots.txt").await.has(&["Disallow: /admin", "/sitemap.xml"]);
    let map = shop.visitor().get("/sitemap.xml").await;
    assert_eq!(map.header("content-type"), "application/xml; charset=utf-8");
    for locale in ["zh", "en"] {
        assert!(map.text().contains(&format!("/{locale}/sales/{open}</loc>")), "{}", map.text());
    }
    assert_eq!(map.text().matches("hreflang=\"zh-CN\"").count(), 4);
    assert!(!map.text().contains(&format!("/sales/{ended}<")), "ended sales are left out");
    let manifest = shop.visitor().get("/manifest.webmanifest?lang=en").await;
    assert_eq!((manifest.json()["id"].as_str(), manifest.json()["start_url"].as_str()), (Some("/"), Some("/en/")));
    for shortcut in manifest.json()["shortcuts"].as_array().unwrap() {
        let page = shop.visitor().get(shortcut["url"].as_str().unwrap()).await;
        assert_ne!(page.status, 404, "{shortcut}");
    }
    for icon in manifest.json()["icons"].as_array().unwrap() {
        shop.visitor().get(icon["src"].as_str().unwrap()).await.is(200);
    }
}

#[tokio::test]
async fn service_worker_is_compared_at_each_visit_and_what_it_keeps_exists() {
    let shop = TestShop::open().await;
    let worker = shop.visitor().get("/sw.js").await;
    assert_eq!(worker.header("content-type"), "text/javascript; charset=utf-8");
    assert_eq!(worker.header("cache-control"), "no-cache");
    assert!(worker.header("content-security-policy").contains("worker-src 'self'"));
    shop.visitor().send("GET", "/sw.js", &[("if-none-match", worker.header("etag"))], "").await.is(304);
    let shell = worker.text().lines().find_map(|line| line.strip_prefix("const SHELL = ")).unwrap().to_owned();
    let shell: Vec<String> = serde_json::from_str(shell.trim_end_matches(';')).unwrap();
    for path in shell.iter().map(String::as_str).chain(["/zh/offline", "/en/offline"]) {
        let kept = shop.visitor().get(path).await;
        // A browser installs the worker only if all of its files load.
        assert_eq!(kept.status, 200, "{path}");
        assert!(kept.header("cache-control").starts_with("public") && kept.header("set-cookie").is_empty(), "{path}");
    }
}

#[tokio::test]
async fn list_follows_what_is_nearly_or_completely_sold() {
    let shop = TestShop::open().await;
    let (first, second) = (shop.sell(10).await, shop.sell(10).await);
    let (first, second) = (first.as_str(), second.as_str());
    let order = async || {
        shop.parts.catalogue.refresh_demand().await.unwrap();
        shop.publish();
        let page = shop.visitor().get("/en/").await;
        let cards = page.text().split("data-sale=\"").skip(1).map(|card| card.split('"').next().unwrap().to_owned());
        cards.collect::<Vec<_>>()
    };
    shop.parts.catalogue.refresh().await.unwrap();
    assert_eq!(order().await, [second, first], "the latest start");
    shop.execute(format!("UPDATE sales SET sold = 8 WHERE id = {first}")).await;
    assert_eq!(order().await, [first, second], "nearly sold");
    shop.execute(format!("UPDATE sales SET sold = 10 WHERE id = {first}")).await;
    assert_eq!(order().await, [second, first], "sold out");
    shop.execute(format!("UPDATE sales SET sold = 9 WHERE id = {first}")).await;
    assert_eq!(order().await, [first, second], "a unit came back");
}
