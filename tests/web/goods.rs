//! Goods and their pictures, from the console's forms and the API to the public pages.

use super::*;
use testing::samples::{photo, png};

pub const MULTIPART: &[(&str, &str)] = &[("content-type", "multipart/form-data; boundary=B")];

/// A multipart body of texts and files.
pub fn form(texts: &[(&str, &str)], files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (field, value) in texts {
        body.extend(format!("--B\r\ncontent-disposition: form-data; name=\"{field}\"\r\n\r\n{value}\r\n").into_bytes());
    }
    for (file, bytes) in files {
        let head = format!("--B\r\ncontent-disposition: form-data; name=\"pictures\"; filename=\"{file}\"\r\n\r\n");
        body.extend([head.as_bytes(), bytes, b"\r\n"].concat());
    }
    body.extend(b"--B--\r\n");
    body
}

const NAMES: [(&str, &str); 2] = [("name_zh", "手机"), ("name_en", "Phone")];

async fn send(admin: &TestClient<'_>, path: &str, texts: &[(&str, &str)], files: &[(&str, &[u8])]) -> TestResponse {
    admin.send("POST", path, MULTIPART, form(texts, files)).await
}

/// The names of the pictures in the form, in order.
fn picture_names(page: &TestResponse) -> Vec<String> {
    let values = page.text().split("name=\"picture\" value=\"").skip(1);
    values.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

async fn gallery(admin: &TestClient<'_>, goods: &str) -> Vec<String> {
    let all = admin.get("/api/admin/goods").await.json();
    let goods = all["goods"].as_array().unwrap().iter().find(|g| g["id"] == goods).unwrap();
    goods["pictures"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn refused_files_are_named_and_accepted_ones_stay() {
    open_shop!(shop, admin);
    let svg: &[u8] = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>";
    let cut = photo(64, 48, 1);
    let files: &[(&str, &[u8])] = &[
        ("drawing.svg", svg),
        ("page.png", b"<!doctype html><script>alert(1)</script>"),
        ("cut.jpg", &cut[..cut.len() / 2]),
        ("old.gif", b"GIF89a"),
        ("nothing.png", b""),
        ("giant.jpg", &vec![0xff; 10_000_000]),
        ("good.png", &png(64, 48)),
    ];
    let wrong = send(&admin, "/admin/goods?lang=en", &NAMES, files).await;
    assert!(wrong.is_page(422), "{}", wrong.status);
    let text = wrong.text();
    let useless = "This picture can’t be used";
    for (file, words) in [
        ("drawing.svg", useless),
        ("page.png", useless),
        ("cut.jpg", "damaged"),
        ("old.gif", useless),
        ("nothing.png", "empty"),
        ("giant.jpg", "larger than 5 MB"),
    ] {
        assert!(text.contains(&format!("<bdi>{file}</bdi> – ")), "{file}");
        assert!(text.split(&format!("<bdi>{file}</bdi>")).nth(1).unwrap()[..80].contains(words), "{file}: {words}");
    }
    assert!(!text.contains("good.png") && text.contains("value=\"手机\"") && text.contains("aria-invalid=\"true\""));
    let kept = picture_names(&wrong);
    assert_eq!(kept.len(), 1, "the accepted picture stays");

    let nameless = send(&admin, "/admin/goods?lang=en", &[("name_zh", "手机"), ("picture", &kept[0])], &[]).await;
    assert!(nameless.is_page(422) && picture_names(&nameless) == kept, "also with an error in another field");
    let preview = [&NAMES[..], &[("picture", &kept[0]), ("action", "preview")]].concat();
    let preview = send(&admin, "/admin/goods?lang=en", &preview, &[("", b"")]).await;
    assert!(preview.is_page(200) && preview.text().contains("data-preview=\"zh\"") && picture_names(&preview) == kept);
    assert_eq!(admin.get("/api/admin/goods").await.json()["goods"], json!([]), "a preview saves nothing");

    let saved = send(&admin, "/admin/goods?lang=en", &[&NAMES[..], &[("picture", &kept[0])]].concat(), &[]).await;
    assert!(saved.leads_to("/admin/goods?lang=en&done=created&goods=1"));
    assert!(admin.get(saved.header("location")).await.text().contains("“Phone” created."));
    assert_eq!(gallery(&admin, "1").await, kept);
    let unknown = [&NAMES[..], &[("picture", "u-00")]].concat();
    assert!(send(&admin, "/admin/goods/1?lang=en", &unknown, &[]).await.is_page(422));
    assert!(send(&admin, "/admin/goods", &NAMES, &[("all.png", &vec![0; 40_000_000])]).await.is_page(413));
}

#[tokio::test]
async fn gallery_is_ordered_and_reduced_by_form() {
    open_shop!(shop, admin);
    let many: Vec<Vec<u8>> = (0..13).map(|n| png(40 + n, 30)).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|bytes| ("x.png", bytes.as_slice())).collect();
    let files = &many[..3];
    assert_eq!(send(&admin, "/admin/goods?lang=en", &NAMES, files).await.status, 303);
    let before = gallery(&admin, "1").await;
    assert_eq!(before.len(), 3);
    let [a, b, c] = [&before[0], &before[1], &before[2]];
    let (place, remove) = (format!("place-{c}"), format!("remove-{a}"));
    let order = [("picture", a.as_str()), ("picture", b), ("picture", c), (&place, "1"), (&remove, "yes")];
    let saved = send(&admin, "/admin/goods/1?lang=zh", &[&NAMES[..], &order].concat(), &files[..1]).await;
    assert!(saved.leads_to("/admin/goods?lang=zh&done=saved&goods=1"));
    assert_eq!(gallery(&admin, "1").await, [c.as_str(), b, a], "c moved to the front, and a was uploaded again");

    let full = send(&admin, "/admin/goods/1?lang=en", &NAMES, &many).await;
    assert!(full.is_page(422) && full.text().contains("at most 12"));
}

#[tokio::test]
async fn pictures_are_managed_by_api() {
    open_shop!(shop, admin);
    shop.open_sale(&admin, 5).await;
    let ask = async |method: &str, end: &str, body: Vec<u8>| {
        admin.send(method, &format!("/api/admin/goods/1/{end}"), &[], body).await
    };
    for (body, code) in [
        (b"GIF89a".to_vec(), "bad_picture"),
        (b"".to_vec(), "picture_empty"),
        (photo(64, 48, 1)[..500].to_vec(), "picture_broken"),
    ] {
        let wrong = ask("PUT", "image", body).await;
        assert_eq!((wrong.status.as_u16(), &wrong.json()["fields"][0]["code"]), (422, &json!(code)));
    }
    assert_eq!(ask("PUT", "image", vec![0; 5_300_000]).await.problem(), problem(413, "too_large"));
    let cover = ask("PUT", "image", png(40, 30)).await;
    let image = cover.json()["goods"]["image"].as_str().unwrap().to_owned();
    let file = shop.visitor().get(&format!("/uploads/{image}")).await;
    assert_eq!((file.header("content-type"), file.header("x-content-type-options")), ("image/jpeg", "nosniff"));
    assert!(file.header("cache-control").ends_with("immutable"));
    assert_eq!(ask("POST", "pictures", photo(1500, 1000, 1)).await.status, 201);
    let before = gallery(&admin, "1").await;
    let order = async |names: Value| admin.put("/api/admin/goods/1/pictures", json!({"pictures": names})).await;
    assert_eq!(order(json!([before[1], before[0]])).await.status, 200);
    assert_eq!(gallery(&admin, "1").await, [before[1].as_str(), &before[0]]);
    assert_eq!(order(json!([before[1]])).await.json()["fields"][0]["code"], "other_pictures");
    assert_eq!(ask("DELETE", &format!("pictures/{}", before[0]), vec![]).await.status, 200);
    assert_eq!(ask("DELETE", &format!("pictures/{}", before[0]), vec![]).await.problem(), problem(404, "not_found"));
    assert_eq!(gallery(&admin, "1").await, before[1..]);
    let log = admin.audit_log().await;
    assert_eq!((&log[0]["action"], &log[0]["subject"]), (&json!("edit"), &json!("goods 1")));
    assert!(!log.to_string().contains("base64"), "the log leaves placeholders out");

    shop.publish();
    let page = shop.visitor().get("/en/sales/1").await;
    let copy = |width: u32, kind: &str| format!("/uploads/{}-{width}.{kind} {width}w", before[1]);
    for (width, kind) in [(320, "webp"), (480, "webp"), (640, "jpg"), (1280, "webp")] {
        assert!(page.text().contains(&copy(width, kind)), "{width} {kind}");
    }
    assert!(page.text().contains("width=\"1280\" height=\"853\""));
    assert!(page.text().contains("fetchpriority=\"high\"") && page.text().contains("src=\"data:image/webp;base64,"));
    let listed = shop.visitor().get("/api/sales").await.json();
    let address = listed["sales"][0]["goods"]["image"].as_str().unwrap().to_owned();
    assert_eq!(shop.visitor().get(&address).await.header("content-type"), "image/jpeg");
    for (path, method) in [("image", "PUT"), ("pictures", "POST"), ("pictures", "PUT"), ("archive", "POST")] {
        assert_eq!(shop.visitor().send(method, &format!("/api/admin/goods/1/{path}"), &[], "").await.status, 404);
    }
}

#[tokio::test]
async fn goods_on_sale_cannot_be_archived() {
    open_shop!(shop, admin, sale = 5);
    let set_archived =
        async |action: &str, body: &str| admin.send_form(&format!("/admin/goods/1/{action}?lang=en"), body).await;
    let archive = async || admin.post("/api/admin/goods/1/archive", json!({})).await;
    assert!(set_archived("archive", "").await.is_page(422), "needs confirmation");
    let refused = set_archived("archive", "confirm=yes").await;
    assert!(refused.is_page(409) && refused.text().contains("Stop that sale first"));
    assert_eq!(archive().await.problem(), problem(409, "goods_on_sale"));
    admin.post(&format!("/api/admin/sales/{sale}/pause"), json!({})).await;
    assert_eq!(archive().await.problem(), problem(409, "goods_on_sale"));
    admin.post(&format!("/api/admin/sales/{sale}/stop"), json!({})).await;
    let draft = json!({"goods_id": "1", "price": {"amount": 1, "currency": "CNY"}, "total": 5, "per_user_limit": 1});
    let drafted = admin.post("/api/admin/sales", draft.clone()).await.json();
    let start = format!("/api/admin/sales/{}/start", drafted["sale"]["id"].as_str().unwrap());

    assert!(set_archived("archive", "confirm=yes").await.leads_to("/admin/goods?lang=en&done=archived&goods=1"));
    assert_eq!(archive().await.status, 200, "archiving again changes nothing");
    assert_eq!(admin.post("/api/admin/sales", draft.clone()).await.problem(), problem(409, "goods_archived"));
    assert_eq!(admin.post(&start, json!({})).await.problem(), problem(409, "goods_archived"));
    let list = admin.get("/admin/goods?lang=en").await;
    assert!(!list.text().contains("data-goods=\"1\"") && list.text().contains("Show archived (1)"));
    assert!(admin.get("/admin/goods?lang=en&archived=1&q=PHON").await.text().contains("data-goods=\"1\""));
    assert!(admin.get("/admin/goods?lang=en&archived=1&q=shoe").await.text().contains("No matching products"));

    assert!(set_archived("unarchive", "confirm=yes").await.leads_to("/admin/goods?lang=en&done=unarchived&goods=1"));
    assert_eq!(admin.post(&start, json!({})).await.status, 200);
    let log = admin.audit_log().await;
    let actions: Vec<_> = log.as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(actions.iter().filter(|action| **action == "archive").count(), 1, "{actions:?}");
    assert!(actions.contains(&"unarchive"));
    assert_eq!(admin.post("/api/admin/goods/99/archive", json!({})).await.problem(), problem(404, "not_found"));
}

#[tokio::test]
async fn file_of_goods_and_sales_is_carried_out_as_a_whole_or_not_at_all() {
    open_shop!(shop, admin);
    let import = async |format: &str, text: &str, dry_run: bool| {
        let body = json!({"format": format, "text": text, "dry_run": dry_run});
        admin.post("/api/admin/goods/import", body).await
    };
    let goods = async || admin.get("/api/admin/goods").await.json()["goods"].as_array().unwrap().len();
    let csv = "\u{feff}name_zh,name_en,price,currency,total,opens_at\r\n鞋,Shoe,199.00,cny,50,2099-01-01T12:00:00+08:00\r\n\
               帽,Cap,,,,\r\n";
    let rehearsed = import("csv", csv, true).await.json();
    assert_eq!((&rehearsed["done"], &rehearsed["lines"], goods().await), (&json!(false), &json!(2), 0), "{rehearsed}");
    assert_eq!(rehearsed["refused"], json!([]));
    let done = import("csv", csv, false).await.json();
    assert_eq!((&done["done"], goods().await), (&json!(true), 2), "{done}");
    let sale = admin.get(&format!("/api/admin/sales/{}", done["made"][0]["sale_id"].as_str().unwrap())).await.json();
    let sale = &sale["sale"];
    assert_eq!((&sale["state"], &sale["total"]), (&json!("draft"), &json!(50)), "nothing is announced by a file");
    assert_eq!((&sale["price"]["amount"], &sale["opens_at"]), (&json!(19_900), &json!("2099-01-01T04:00:00Z")));
    assert_eq!(done["made"][1]["sale_id"], Value::Null);

    // Every mistake is named, and a file with one changes nothing.
    let lines = "{\"name_zh\":\"表\",\"name_en\":\"Watch\",\"price\":\"10\",\"currency\":\"EUR\",\"total\":1}\n\n\
                 {\"name_zh\":\"\",\"name_en\":\"X\",\"price\":\"x\",\"currency\":\"EUR\",\"total\":0,\"colour\":\"red\"}\nnonsense";
    let refused = import("json_lines", lines, false).await.json();
    assert_eq!((&refused["done"], goods().await), (&json!(false), 2), "{refused}");
    let named = refused["refused"].as_array().unwrap();
    for (line, field) in [(3, "name_zh"), (3, "price"), (3, "colour"), (4, "")] {
        assert!(named.iter().any(|of| of["line"] == line && of["field"] == field), "{line} {field} in {refused}");
    }
    // What only the database knows is found when the lines are carried out, and undoes the lines before.
    for end in ["\n", "\r\n"] {
        let lines = ["name_zh,name_en,category_id", "一,One,", "二,Two,999", ""].join(end);
        let refused = import("csv", &lines, false).await.json()["refused"][0].clone();
        assert_eq!((&refused["line"], &refused["field"]), (&json!(3), &json!("category_id")));
    }
    assert_eq!(goods().await, 2);
    assert_eq!(import("csv", "name_zh\n", false).await.problem(), problem(422, "invalid"));
    assert_eq!(import("csv", &format!("name_zh,name_en\n{}", "a,b\n".repeat(501)), true).await.status, 422);
}

/// A body of the page that imports, with what was pasted and perhaps a file.
fn import_form(act: &str, text: &str, file: &[u8]) -> Vec<u8> {
    let head = "--B\r\ncontent-disposition: form-data; name=\"file\"; filename=\"goods.csv\"\r\n\r\n";
    let tail = form(&[("do", act)], &[]);
    let mut body = form(&[("text", text)], &[]);
    body.truncate(body.len() - b"--B--\r\n".len());
    body.extend([head.as_bytes(), file, b"\r\n", &tail].concat());
    body
}

#[tokio::test]
async fn page_checks_first_keeps_what_was_pasted_and_imports_once() {
    open_shop!(shop, admin);
    for list in ["/admin?lang=en", "/admin/goods?lang=en"] {
        assert!(admin.get(list).await.text().contains("/admin/goods/import?lang=en"), "{list}");
    }
    let submit = async |path: &str, act: &str, text: &str, file: &[u8]| {
        admin.send("POST", path, MULTIPART, import_form(act, text, file)).await
    };
    let goods = async || admin.get("/api/admin/goods").await.json()["goods"].as_array().unwrap().len();
    let path = "/admin/goods/import?lang=en";
    let wrong = "name_zh,name_en,price,currency\n鞋,Shoe,199.00,CNY\n帽,<Cap>,cheap,CNY\n";
    for act in ["check", "import"] {
        let refused = submit(path, act, wrong, b"").await;
        let page = refused.text();
        assert!(refused.is_page(422) && page.contains("Lines that can’t be imported: 2. So none was."), "{refused:?}");
        assert!(page.contains("<code>price</code>") && page.contains("帽,&#60;Cap&#62;,cheap,CNY\n"), "{page}");
        assert!(!page.contains("value=\"import\""), "what is wrong cannot be imported: {page}");
    }
    let broken = submit(path, "check", "name_zh\n\"a\" b,c\n", b"").await;
    assert!(broken.is_page(422) && broken.text().contains("id=\"text-wrong\""), "{broken:?}");
    assert!(broken.text().contains("&#34;a&#34; b,c"), "{broken:?}");
    let latin = submit(path, "check", "as pasted", b"name_zh\n\xff\n").await;
    assert!(latin.is_page(422) && latin.text().contains("as pasted"), "{latin:?}");
    assert_eq!(goods().await, 0);

    // A file counts instead of the text, and the text is JSON lines if it looks like them.
    let csv = "name_zh,name_en,price,currency,total\n鞋,Shoe,199.00,CNY,50\n帽,Cap,,,\n";
    let checked = submit(path, "check", "nonsense", csv.as_bytes()).await;
    let page = checked.text();
    assert!(page.contains("Ready: 2 products, 1 drafts of sales. Nothing is imported yet."), "{checked:?}");
    assert!(page.contains("帽,Cap,,,") && page.contains("value=\"import\""), "{page}");
    assert_eq!(goods().await, 0);
    let action = checked.action("/admin/goods/import");
    for _ in 0..2 {
        let done = submit(&action, "import", csv, b"").await;
        assert!(done.leads_to("/admin/goods/import?goods=2&sales=1&lang=en"), "{done:?}");
        assert_eq!(goods().await, 2, "a second click imports nothing");
    }
    let done = admin.get("/admin/goods/import?goods=2&sales=1&lang=en").await;
    assert!(done.text().contains("Imported: 2 products, 1 drafts of sales."), "{done:?}");
    let lines = "{\"name_zh\":\"表\",\"name_en\":\"Watch\"}\r\n";
    let done = submit("/admin/goods/import?lang=zh", "import", lines, b"").await;
    assert!(done.leads_to("/admin/goods/import?goods=1&sales=0&lang=zh"), "{done:?}");
    assert_eq!(goods().await, 3);
    let sales = admin.get("/api/admin/sales").await.json()["sales"].clone();
    assert_eq!((sales.as_array().unwrap().len(), &sales[0]["state"]), (1, &json!("draft")));
}

#[tokio::test]
async fn names_with_control_characters_or_direction_overrides_are_refused() {
    open_shop!(shop, admin);
    for bad in ["a\u{202e}b", "a\u{2066}b", "a\u{7}b", "a\u{9b}b"] {
        for (zh, en) in [(bad, "Phone"), ("手机", bad)] {
            let goods = json!({"name": {"zh": zh, "en": en}, "description": {"zh": "", "en": ""}});
            assert_eq!(admin.post("/api/admin/goods", goods).await.problem(), problem(422, "invalid"), "{bad:?}");
        }
    }
}
