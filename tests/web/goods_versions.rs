//! Several editors of the same goods: no change is lost without a word.

use super::categories::named;
use super::goods::{MULTIPART, form};
use super::*;

async fn create(admin: &TestClient<'_>) -> (String, String) {
    let goods = json!({"name": {"zh": "手机", "en": "Phone"}, "description": {"zh": "", "en": ""}});
    let created = admin.post("/api/admin/goods", goods).await;
    assert_eq!(created.status, 201);
    (created.header("location").to_owned(), created.header("etag").to_owned())
}

#[tokio::test]
async fn patch_of_an_outdated_version_of_goods_is_refused() {
    // All changes are made in one millisecond.
    open_shop!(shop = TestShop::open_at(&Clock::manual(Clock::system().now())), admin);
    let (path, version) = create(&admin).await;
    let patch = async |version: &str, body: Value| admin.change("PATCH", &path, version, body).await;
    assert_eq!(admin.get(&path).await.header("etag"), version);
    let first = patch(&version, named("新手机", "New phone")).await;
    assert_eq!(first.status, 200, "{first:?}");
    assert_ne!(first.header("etag"), version);
    assert_eq!(patch(&version, named("旧", "Old")).await.problem(), problem(412, "stale_version"));
    let now = admin.get(&path).await;
    assert_eq!((&now.json()["goods"]["name"]["en"], now.header("etag")), (&json!("New phone"), first.header("etag")));
    assert_eq!(patch("*", named("新", "New")).await.status, 200);
    let both = format!("{version}, {}", admin.get(&path).await.header("etag"));
    let archived = admin.post(&format!("{path}/archive"), json!({})).await;
    assert_ne!(archived.header("etag"), now.header("etag"), "every change makes a version");
    assert_eq!(patch(&both, named("又", "Again")).await.problem(), problem(412, "stale_version"));
    let without = admin.patch(&path, named("又", "Again")).await;
    assert_eq!(without.status, 200);
}

#[tokio::test]
async fn form_of_outdated_goods_says_who_changed_what_and_keeps_what_was_entered() {
    open_shop!(shop, admin);
    let lan = shop.staff(&admin, "lan", Role::Operator).await;
    let (path, version) = create(&admin).await;
    let page = path.replace("/api", "");
    let version = version.trim_matches('"');
    assert!(admin.get(&page).await.text().contains(&format!("name=\"version\" value=\"{version}\"")));
    lan.patch(&path, named("手机", "Lan's phone")).await;

    let send = async |version: &str, lang: &str| {
        let names = [("name_zh", "我的手机"), ("name_en", "My phone")];
        let typed = [&names[..], &[("description_en", "Typed"), ("version", version)]].concat();
        admin.send("POST", &format!("{page}?lang={lang}"), MULTIPART, form(&typed, &[])).await
    };
    let refused = send(version, "en").await;
    assert!(refused.is_page(409), "{refused:?}");
    assert!(refused.text().contains("Just changed by lan. Changed: Name (English)"), "{refused:?}");
    assert_contains(refused.text(), &["value=\"我的手机\"", "value=\"My phone\"", "\nTyped</textarea>"]);
    assert!(send(version, "zh").await.text().contains("这件商品刚被 lan 修改。"));
    let current = admin.get(&path).await;
    assert_eq!(current.json()["goods"]["name"]["en"], "Lan's phone");
    let current = current.header("etag").trim_matches('"').to_owned();
    assert!(refused.text().contains(&format!("name=\"version\" value=\"{current}\"")));
    assert_eq!(send(&current, "en").await.status, 303, "saving again overwrites knowingly");
    assert_eq!(admin.get(&path).await.json()["goods"]["name"]["en"], "My phone");
}

#[tokio::test]
async fn gallery_of_outdated_goods_is_not_changed() {
    open_shop!(shop, admin);
    let (path, version) = create(&admin).await;
    let png = testing::samples::png(64, 48);
    let add = async |version: &str| {
        let headers = [("content-type", "image/png"), ("if-match", version)];
        admin.send("POST", &format!("{path}/pictures"), &headers, png.clone()).await
    };
    let added = add(&version).await;
    assert_eq!(added.status, 201, "{added:?}");
    assert_eq!(add(&version).await.problem(), problem(412, "stale_version"));
    let picture = added.json()["goods"]["pictures"][0]["name"].as_str().unwrap().to_owned();
    let one = format!("{path}/pictures/{picture}");
    let remove = async |version: &str| admin.change("DELETE", &one, version, Value::Null).await;
    assert_eq!(remove(&version).await.problem(), problem(412, "stale_version"));
    let order = json!({"pictures": [picture]});
    let ordered = admin.change("PUT", &format!("{path}/pictures"), &version, order).await;
    assert_eq!(ordered.problem(), problem(412, "stale_version"));
    assert_eq!(remove(added.header("etag")).await.status, 200);
}
