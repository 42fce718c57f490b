//! Several editors of one sale: no change is lost without a word.

use super::*;

/// A draft. Returns its address in the API.
async fn draft(admin: &TestClient<'_>) -> String {
    let sale = json!({"goods_id": admin.new_goods().await, "price": cny(500), "total": 1000,
        "per_user_limit": 1});
    let created = admin.post("/api/admin/sales", sale).await;
    assert_eq!((created.status.as_u16(), created.header("etag")), (201, "\"1\""));
    format!("/api/admin/sales/{}", created.json()["sale"]["id"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn simultaneous_patches_of_different_fields_are_both_kept() {
    const PAIRS: i64 = 40;
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let path = draft(&admin).await;
    let patch = async |body: Value| admin.send("PATCH", &path, &[JSON], body.to_string()).await;
    let mut lost = 0;
    for n in 1..=PAIRS {
        let (a, b) = tokio::join!(patch(json!({"total": 1000 + n})), patch(json!({"per_user_limit": 1 + n})));
        assert_eq!((a.status.as_u16(), b.status.as_u16()), (200, 200), "{a:?} {b:?}");
        let sale = admin.get(&path).await.json()["sale"].clone();
        lost += i64::from(sale["total"] != 1000 + n || sale["per_user_limit"] != 1 + n);
    }
    assert_eq!(lost, 0, "of {PAIRS} pairs");
}

#[tokio::test]
async fn patch_of_an_outdated_version_is_refused() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let path = draft(&admin).await;
    let patch = async |version: &str, body: Value| {
        admin.send("PATCH", &path, &[JSON, ("if-match", version)], body.to_string()).await
    };
    let read = admin.get(&path).await;
    assert_eq!((read.status.as_u16(), &read.json()["sale"]["total"]), (200, &json!(1000)));
    let version = read.header("etag").to_owned();
    let first = patch(&version, json!({"total": 2000})).await.is(200);
    assert_ne!(first.header("etag"), version);
    patch(&version, json!({"per_user_limit": 3})).await.refuses(412, "stale_version");
    let sale = admin.get(&path).await;
    assert_eq!((&sale.json()["sale"]["total"], &sale.json()["sale"]["per_user_limit"]), (&json!(2000), &json!(1)));
    assert_eq!(sale.header("etag"), first.header("etag"));
    patch(&format!("{version}, {}", first.header("etag")), json!({"per_user_limit": 3})).await.is(200);
    assert_eq!(patch("*", json!({"per_user_limit": 4})).await.status, 200);
    for stale in ["W/\"4\"", "4", "\"x\""] {
        assert_eq!(patch(stale, json!({"total": 9})).await.problem(), problem(412, "stale_version"), "{stale}");
    }
    admin.get("/api/admin/sales/999").await.refuses(404, "no_such_sale");
}

/// The fields of a patch are checked together with the fields that it leaves as they are.
#[tokio::test]
async fn patch_that_does_not_suit_the_sale_names_the_field() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let path = draft(&admin).await;
    for (body, field, code) in [
        (json!({"per_user_limit": 1001}), "per_user_limit", "bad_limit"),
        (json!({"total": 0}), "total", "bad_number"),
        (json!({"list_price": {"amount": 5, "currency": "USD"}}), "list_price", "bad_price"),
        (json!({"price": cny(-1)}), "price", "bad_price"),
    ] {
        admin.send("PATCH", &path, &[JSON], body.to_string()).await.refuses(422, "invalid").wrong(field, code);
    }
    let enormous = json!({"price": cny(1_000_000_000_000_i64), "total": 1_000_000_000,
        "per_user_limit": 1_000_000_000});
    admin.send("PATCH", &path, &[JSON], enormous.to_string()).await.wrong("per_user_limit", "amount_too_large");
    assert_eq!(admin.get(&path).await.header("etag"), "\"1\"", "nothing was changed");
}

#[tokio::test]
async fn form_of_an_outdated_version_keeps_what_was_entered() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let path = draft(&admin).await;
    let edit = path.replace("/api", "") + "/edit";
    let form = "goods_id=1&price=5.00&total=1000&per_user_limit=7&as=draft";
    admin.send("PATCH", &path, &[JSON], json!({"total": 2000}).to_string()).await;
    admin.send_form(&format!("{edit}?lang=en"), &format!("{form}&version=1")).await.shows(
        409,
        &["Someone else just changed this sale", "name=\"version\" value=\"2\"", "value=\"7\"", "value=\"1000\""],
    );
    assert_eq!(admin.get(&path).await.json()["sale"]["total"], 2000);
    let saved = admin.send_form(&format!("{edit}?lang=en"), &format!("{form}&version=2")).await;
    assert_eq!(saved.status, 303, "saving again overwrites knowingly");
    assert_eq!(admin.get(&path).await.json()["sale"]["total"], 1000);
}
