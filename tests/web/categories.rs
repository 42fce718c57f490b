//! Categories of goods: in the console and the API, and what shoppers see of them.

use super::goods::{MULTIPART, form};
use super::*;

pub fn named(zh: &str, en: &str) -> Value {
    json!({"name": {"zh": zh, "en": en}})
}

impl TestShop {
    /// The page of a category, as published now.
    async fn category_page(&self, id: &str) -> TestResponse {
        self.publish();
        self.visitor().get(&format!("/en/categories/{id}")).await
    }
}

impl TestClient<'_> {
    async fn add_category(&self, zh: &str, en: &str) -> String {
        let created = self.post("/api/admin/categories", named(zh, en)).await;
        assert_eq!(created.status, 201, "{created:?}");
        created.json()["category"]["id"].as_str().unwrap().to_owned()
    }

    async fn two_categories(&self) -> [String; 2] {
        [self.add_category("数码", "Electronics").await, self.add_category("厨房", "Kitchen").await]
    }

    /// Puts goods in a category.
    async fn sort(&self, goods: &str, category: &str) {
        let sorted = self.patch(&format!("/api/admin/goods/{goods}"), json!({"category_id": category})).await;
        assert_eq!((sorted.status.as_u16(), &sorted.json()["goods"]["category_id"]), (200, &json!(category)));
    }

    /// English names of the categories in their order.
    async fn names(&self) -> Vec<String> {
        let all = self.get("/api/admin/categories").await.json();
        let names = all["categories"].as_array().unwrap().iter();
        names.map(|category| category["name"]["en"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn categories_are_managed_by_api() {
    // All changes are made in one millisecond.
    open_shop!(shop = TestShop::open_at(&Clock::manual(Clock::system().now())), admin);
    let created = admin.post("/api/admin/categories", named(" 数码 ", "Electronics")).await;
    assert_eq!((created.status.as_u16(), created.header("location")), (201, "/api/admin/categories/1"));
    let version = created.header("etag").to_owned();
    admin.add_category("厨房", "Kitchen").await;
    for (body, field, code) in [
        (named("数码", "Other"), "name.zh", "name_taken"),
        (named("别的", "ELECTRONICS"), "name.en", "name_taken"),
        (named("", "Other"), "name.zh", "required"),
        (named("别的", &"x".repeat(41)), "name.en", "too_long"),
    ] {
        let wrong = admin.post("/api/admin/categories", body).await;
        assert_eq!((wrong.status.as_u16(), &wrong.json()["fields"]), (422, &json!([{"field": field, "code": code}])));
    }

    let path = "/api/admin/categories/1";
    let rename = async |version: &str, body: Value| admin.change("PATCH", path, version, body).await;
    let renamed = rename(&version, named("数码", "Gadgets")).await;
    assert_eq!(renamed.status, 200);
    assert_ne!(renamed.header("etag"), version);
    assert_eq!(rename(&version, named("数码", "Things")).await.problem(), problem(412, "stale_version"));
    let shown = admin.get(path).await;
    assert_eq!(shown.json()["category"]["name"]["en"], "Gadgets");
    assert_eq!(shown.header("etag"), renamed.header("etag"));

    let order = async |ids: Value| admin.put("/api/admin/categories", json!({"categories": ids})).await;
    for wrong in [json!(["1"]), json!(["1", "1"]), json!(["1", "2", "3"]), json!(["1", "2", "2"])] {
        assert_eq!(order(wrong).await.json()["fields"][0]["code"], "other_categories");
    }
    assert_eq!(order(json!(["2", "1"])).await.status, 200);
    assert_eq!(admin.names().await, ["Kitchen", "Gadgets"]);
    admin.add_category("运动", "Sports").await;
    assert_eq!(admin.names().await, ["Kitchen", "Gadgets", "Sports"], "a new one is the last");
    let public = shop.visitor().get("/api/categories").await;
    assert!(public.header("cache-control").starts_with("public"));
    assert_eq!(public.json()["categories"][0], json!({"id": "2", "name": {"zh": "厨房", "en": "Kitchen"}}));

    let stale = admin.change("DELETE", path, &version, Value::Null).await;
    assert_eq!(stale.problem(), problem(412, "stale_version"));
    assert_eq!(admin.delete(path).await.status, 204);
    for (method, body) in [("GET", String::new()), ("DELETE", String::new()), ("PATCH", named("a", "b").to_string())] {
        assert_eq!(admin.send(method, path, &[JSON], body).await.problem(), problem(404, "not_found"), "{method}");
    }
    let log = admin.get("/admin/log?lang=en").await;
    assert!(log.text().contains("Kitchen") && log.text().contains("was deleted"), "{}", log.text());
}

#[tokio::test]
async fn goods_are_in_one_category_or_in_none() {
    open_shop!(shop, admin);
    let category = admin.add_category("数码", "Electronics").await;
    let mut goods = named("手机", "Phone");
    (goods["description"], goods["category_id"]) = (json!({"zh": "", "en": ""}), json!("9"));
    let wrong = admin.post("/api/admin/goods", goods.clone()).await;
    let unknown = json!([{"field": "category_id", "code": "no_such_category"}]);
    assert_eq!((wrong.status.as_u16(), &wrong.json()["fields"]), (422, &unknown));
    goods["category_id"] = json!(category);
    let created = admin.post("/api/admin/goods", goods).await.json();
    assert_eq!(created["goods"]["category_id"], json!(category));
    let path = "/api/admin/goods/1";
    assert_eq!(admin.patch(path, named("电话", "Phone")).await.json()["goods"]["category_id"], json!(category), "kept");
    assert_eq!(admin.get("/api/admin/categories/1").await.json()["category"]["goods"], 1);
    assert_eq!(admin.patch(path, json!({"category_id": null})).await.json()["goods"]["category_id"], json!(null));
    admin.sort("1", &category).await;

    // A form that was filled in before the category was deleted neither brings it back nor overwrites silently.
    let before = admin.get(path).await.header("etag").trim_matches('"').to_owned();
    admin.delete("/api/admin/categories/1").await;
    let now = admin.get(path).await;
    assert_eq!(now.json()["goods"]["category_id"], json!(null));
    assert_ne!(now.header("etag").trim_matches('"'), before);
    let texts = [("name_zh", "手机"), ("name_en", "Phone"), ("category_id", "1"), ("version", &before)];
    let sent = admin.send("POST", "/admin/goods/1?lang=en", MULTIPART, form(&texts, &[])).await;
    assert!(sent.is_page(422) && sent.text().contains("This category no longer exists"), "{sent:?}");
}

#[tokio::test]
async fn staff_sort_goods_by_form_and_filter_their_list() {
    open_shop!(shop, admin);
    let form_page = async || admin.get("/admin/goods/new?lang=en").await;
    assert!(!form_page().await.text().contains("name=\"category_id\""), "there is nothing to choose from");
    let [one, two] = admin.two_categories().await;
    assert!(form_page().await.text().contains("Kitchen</option>"));
    let add = async |en: &str, category: &str| {
        let texts = [("name_zh", "物"), ("name_en", en), ("category_id", category)];
        assert_eq!(admin.send("POST", "/admin/goods?lang=en", MULTIPART, form(&texts, &[])).await.status, 303);
    };
    add("Phone", &one).await;
    add("Kettle", &two).await;
    add("Thing", "").await;
    let listed = async |query: &str| {
        let page = admin.get(&format!("/admin/goods?lang=en&{query}")).await;
        ["1", "2", "3"].map(|id| page.text().contains(&format!("data-goods=\"{id}\"")))
    };
    assert_eq!(listed("").await, [true, true, true]);
    assert_eq!(listed(&format!("category={one}")).await, [true, false, false]);
    assert_eq!(listed("category=none").await, [false, false, true]);
    assert_eq!(listed(&format!("category={two}&q=phone")).await, [false; 3]);
    let chosen = admin.get("/admin/goods/2?lang=en").await;
    assert!(chosen.text().contains(&format!("value=\"{two}\" selected")));
    // A form of an older program has no category, so the goods stay in theirs.
    let old = [("name_zh", "壶"), ("name_en", "Kettle")];
    assert_eq!(admin.send("POST", "/admin/goods/2?lang=en", MULTIPART, form(&old, &[])).await.status, 303);
    assert_eq!(admin.get("/api/admin/goods/2").await.json()["goods"]["category_id"], json!(two));
}

#[tokio::test]
async fn staff_manage_categories_by_form() {
    open_shop!(shop, admin);
    let at = |rest: &str| format!("/admin/goods/categories{rest}?lang=en");
    assert!(admin.get(&at("")).await.text().contains("No categories yet."));
    let wrong = admin.send_form(&at(""), "name_zh=&name_en=Shoes").await;
    assert!(wrong.is_page(422) && wrong.text().contains("name_zh-wrong") && wrong.text().contains("value=\"Shoes\""));
    let created = admin.send_form(&at(""), "name_zh=%E9%9E%8B&name_en=Shoes").await;
    assert!(created.leads_to(&format!("{}&done=created&category=1", at(""))));
    assert!(admin.get(created.header("location")).await.text().contains("Category “Shoes” created."));
    admin.send_form(&at(""), "name_zh=%E7%81%AF&name_en=Lamps").await;
    let taken = admin.send_form(&at("/2"), "name_zh=%E7%81%AF&name_en=shoes").await;
    assert!(taken.is_page(422) && taken.text().contains("Another category has this name."), "{taken:?}");

    let version = shop.parts.store.categories().list().await.unwrap()[1].version();
    assert_eq!(admin.patch("/api/admin/categories/2", named("灯", "Lights")).await.status, 200);
    let late = format!("version={version}&name_zh=%E7%81%AF&name_en=Lanterns");
    let refused = admin.send_form(&at("/2"), &late).await;
    assert!(refused.is_page(409) && refused.text().contains("just renamed to “Lights”"), "{refused:?}");
    assert!(refused.text().contains("value=\"Lanterns\""));
    let current = shop.parts.store.categories().list().await.unwrap()[1].version();
    let again = admin.send_form(&at("/2"), &late.replace(&version.to_string(), &current.to_string())).await;
    assert!(again.leads_to(&format!("{}&done=saved&category=2", at(""))));

    let moved = admin.send_form(&at("/2/move"), "to=earlier").await;
    assert!(moved.leads_to(&format!("{}&done=moved&category=2", at(""))));
    assert_eq!(admin.names().await, ["Lanterns", "Shoes"]);
    admin.send_form(&at("/2/move"), "to=earlier").await;
    assert_eq!(admin.names().await, ["Lanterns", "Shoes"], "the first one stays the first");
    admin.send_form(&at("/2/move"), "to=later").await;
    assert_eq!(admin.names().await, ["Shoes", "Lanterns"]);

    let goods =
        json!({"name": {"zh": "跑鞋", "en": "Sneakers"}, "description": {"zh": "", "en": ""}, "category_id": "1"});
    assert_eq!(admin.post("/api/admin/goods", goods).await.status, 201);
    let unsure = admin.send_form(&at("/1/delete"), "").await;
    assert!(unsure.is_page(422) && unsure.text().contains("Products that use this category: 1."), "{unsure:?}");
    assert_eq!(admin.names().await, ["Shoes", "Lanterns"]);
    let deleted = admin.send_form(&at("/1/delete"), "confirm=yes").await;
    assert!(deleted.leads_to(&format!("{}&done=deleted", at(""))));
    assert!(admin.get(deleted.header("location")).await.text().contains("Category deleted."));
    assert_eq!(admin.get("/api/admin/goods/1").await.json()["goods"]["category_id"], json!(null));
    assert_eq!(admin.send_form(&at("/2/delete"), "").await.status, 303, "without goods there is nothing to confirm");
    assert_eq!(admin.names().await, Vec::<String>::new());
}

#[tokio::test]
async fn shop_has_a_limited_number_of_categories() {
    open_shop!(shop, admin);
    let rows: Vec<_> = (1..=50).map(|n| format!("({n}, '类{n}', 'C{n}', {n}, 1)")).collect();
    let sql = format!("INSERT INTO categories (id, name_zh, name_en, place, updated_at_ms) VALUES {}", rows.join(","));
    shop.execute(sql).await;
    shop.execute("UPDATE catalogue SET last_category_id = 50").await;
    let more = admin.post("/api/admin/categories", named("多", "More")).await;
    assert_eq!(more.problem(), problem(409, "too_many_categories"));
    let full = admin.send_form("/admin/goods/categories?lang=en", "name_zh=%E5%A4%9A&name_en=More").await;
    assert!(full.is_page(409) && full.text().contains("50 categories") && full.text().contains("value=\"More\""));
}

#[tokio::test]
async fn shoppers_filter_the_list_by_category() {
    open_shop!(shop, admin, phone = 1, kettle = 1);
    let list = async || {
        shop.publish();
        shop.visitor().get("/en/").await.text().to_owned()
    };
    assert!(!list().await.contains("class=\"filters"), "without categories there is nothing to filter by");
    let [electronics, kitchen] = admin.two_categories().await;
    let empty = admin.add_category("运动", "Sports").await;
    admin.sort("1", &electronics).await;
    admin.sort("2", &kitchen).await;

    let home = list().await;
    let parts = ["<a href=\"/en/\" aria-current=\"page\">All</a>", "<a href=\"/en/categories/1\">Electronics</a>"];
    assert_contains(&home, &parts);
    assert!(!home.contains("Sports"), "nothing in it is on or comes");
    let page = shop.category_page(&electronics).await;
    assert!(page.is_page(200) && page.header("cache-control").starts_with("public"), "{page:?}");
    let has = |page: &TestResponse, sale: &str| page.text().contains(&format!("data-sale=\"{sale}\""));
    assert!(has(&page, &phone) && !has(&page, &kettle));
    assert!(page.text().contains("<title>Electronics · Seckill</title>"));
    assert!(page.text().contains("href=\"/en/categories/1\" aria-current=\"page\""));
    assert!(page.text().contains("href=\"/zh/categories/1\""), "the switch keeps the category");
    let file = shop.parts.pages.get("/zh/categories/1").unwrap();
    assert!(shop.parts.pages.is_on_disk("/zh/categories/1") && !file.etag.is_empty());

    let nothing = shop.category_page(&empty).await;
    assert!(nothing.is_page(200) && nothing.text().contains("Nothing in this category is on sale right now."));
    assert!(nothing.text().contains("role=\"button\" href=\"/en/\""), "{}", nothing.text());
    assert_eq!(admin.post(&format!("/api/admin/sales/{kettle}/stop"), json!({})).await.status, 200);
    let over = shop.category_page(&kitchen).await;
    assert!(over.text().contains("Nothing in this category is on sale right now.") && has(&over, &kettle));
    assert!(over.text().contains("href=\"/en/archive?show=ended&#38;category=2\""), "{}", over.text());
    assert!(!list().await.contains("Kitchen"), "it is over");
    for unknown in ["9", "x", "01"] {
        let page = shop.category_page(unknown).await;
        assert!(page.is_page(404) && page.text().contains("href=\"/en/\""), "{unknown}: {page:?}");
    }
    let map = shop.visitor().get("/sitemap.xml").await;
    assert!(map.text().contains("/en/categories/1<") && !map.text().contains("/en/categories/2<"), "{}", map.text());
    let listed = shop.visitor().get("/api/sales").await.json();
    let phone = listed["sales"].as_array().unwrap().iter().find(|sale| sale["id"] == json!(phone)).unwrap();
    assert_eq!(phone["goods"]["category_id"], json!(electronics));
}

#[tokio::test]
async fn archive_filters_by_category() {
    open_shop!(shop, admin, phone = 1, kettle = 1);
    let [one, _] = admin.two_categories().await;
    admin.sort("1", &one).await;
    let archive = async |query: &str| shop.visitor().get(&format!("/en/archive{query}")).await;
    let shown = async |query: &str| {
        let page = archive(query).await;
        [&phone, &kettle].map(|sale| page.text().contains(&format!("data-sale=\"{sale}\"")))
    };
    assert_eq!(shown("").await, [true, true]);
    assert_eq!(shown("?category=1").await, [true, false]);
    assert_eq!(shown("?category=1&q=radio").await, [false, false]);
    let page = archive("?category=1&q=pho&show=now").await;
    assert!(page.text().contains("href=\"/en/archive?q=pho&#38;show=ended&#38;category=1\""), "{}", page.text());
    assert!(page.text().contains("name=\"category\" value=\"1\"") && !page.text().contains("Kitchen"));
    for unknown in ["2", "99", "x", "%22%3E%3Cscript%3E"] {
        let page = archive(&format!("?category={unknown}")).await;
        assert!(page.is_page(200) && page.text().contains("No matching sales."), "{unknown}");
        assert!(page.text().contains("href=\"/en/archive\"") && !page.text().contains("\"><script>"));
    }
}

#[tokio::test]
async fn page_of_a_sale_names_its_category_and_leads_to_similar_goods() {
    open_shop!(shop, admin, phone = 1, _other = 1, tablet = 1);
    let one = admin.add_category("数码</script>", "Electronics").await;
    for goods in ["1", "3"] {
        admin.sort(goods, &one).await;
    }
    shop.publish();
    let page = shop.visitor().get(&format!("/zh/sales/{phone}")).await;
    assert!(page.text().contains("<a href=\"/zh/categories/1\">数码&#60;/script&#62;</a>"));
    let data: Vec<Value> = page
        .text()
        .split("<script type=\"application/ld+json\">")
        .skip(1)
        .map(|rest| serde_json::from_str(rest.split("</script>").next().unwrap()).unwrap())
        .collect();
    assert_eq!((data.len(), &data[0]["category"]), (2, &json!("数码</script>")));
    assert_eq!(data[1]["@type"], "BreadcrumbList");
    let url = data[1]["itemListElement"][1]["item"].as_str().unwrap();
    assert!(url.starts_with("http") && url.ends_with("/zh/categories/1"), "{url}");
    let onward = page.text().split("id=\"onward\"").nth(1).unwrap();
    let first = onward.split("/zh/sales/").nth(1).unwrap();
    assert!(first.starts_with(&format!("{tablet}\"")), "goods of the same category come first");
}

#[tokio::test]
async fn pages_follow_when_a_category_is_renamed_or_deleted() {
    open_shop!(shop, admin, sale = 1);
    let one = admin.add_category("数码", "Electronics").await;
    admin.sort("1", &one).await;
    let texts = async || {
        shop.publish();
        let paths = ["/en/".to_owned(), "/en/categories/1".to_owned(), format!("/en/sales/{sale}")];
        paths.map(|path| shop.parts.pages.get(&path).map(|page| String::from_utf8(page.body.to_vec()).unwrap()))
    };
    assert!(texts().await.iter().all(|text| text.as_ref().unwrap().contains("Electronics")));
    assert_eq!(admin.patch("/api/admin/categories/1", named("数码", "Gadgets")).await.status, 200);
    for text in texts().await {
        assert!(text.as_ref().unwrap().contains("Gadgets") && !text.unwrap().contains("Electronics"));
    }
    let folder = shop.dir.path().join("pages/en/categories/1");
    assert!(folder.exists());
    assert_eq!(admin.delete("/api/admin/categories/1").await.status, 204);
    let [home, page, detail] = texts().await;
    assert!(page.is_none() && !folder.exists(), "its page is gone, from the disk too");
    assert!(!home.unwrap().contains("Gadgets") && !detail.unwrap().contains("Gadgets"));
}
