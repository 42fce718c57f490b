//! The stock of a sale, as another shop's books have it.

use super::tokens::TestProgram;
use super::*;

fn stock(answer: &TestResponse) -> (u16, i64, i64) {
    let json = answer.json();
    let number = |name: &str| json["stock"][name].as_i64().unwrap_or_else(|| panic!("{answer:?}"));
    (answer.status.as_u16(), number("total"), number("sold"))
}

async fn set(program: &TestProgram<'_>, path: &str, version: &str, total: i64) -> TestResponse {
    let headers: &[(&str, &str)] = if version.is_empty() { &[] } else { &[("if-match", version)] };
    program.send("PUT", path, headers, json!({ "total": total })).await
}

#[tokio::test]
async fn total_is_replaced_in_the_version_that_was_read_and_never_below_what_is_sold() {
    let (shop, sale) = TestShop::open().await.selling(3).await;
    let admin = shop.admin().await;
    let program = shop.program(&admin, "books", &["manage_sales"]).await;
    let path = format!("/api/v1/sales/{sale}/stock");
    for name in ["mei", "wei"] {
        assert_eq!(shop.shopper(name).await.buy(&sale, 1).await.status, 202);
    }
    let read = program.get(&path).await;
    assert_eq!(stock(&read), (200, 3, 2));
    let version = read.header("etag").to_owned();
    set(&program, &path, &version, 1).await.refuses(409, "below_sold");
    let unchanged = program.get(&path).await;
    assert_eq!((stock(&unchanged), unchanged.header("etag")), ((200, 3, 2), version.as_str()));
    let lowered = set(&program, &path, &version, 2).await;
    assert_eq!(stock(&lowered), (200, 2, 2));
    assert_ne!(lowered.header("etag"), version);
    assert_eq!(set(&program, &path, &version, 9).await.problem(), problem(412, "stale_version"));
    shop.parts.gate.refresh().await;
    assert_eq!(shop.shopper("bob").await.buy(&sale, 1).await.problem(), problem(409, "sold_out"));
    assert_eq!(stock(&set(&program, &path, "", 5).await), (200, 5, 2));
    for wrong in [0, -1, 1_000_000_001] {
        assert_eq!(set(&program, &path, "", wrong).await.problem(), problem(422, "invalid"), "{wrong}");
    }
    let logged = admin.get("/api/admin/audit-log").await.text().to_owned();
    assert!(logged.contains("token books"), "{logged}");
}

#[tokio::test]
async fn difference_counts_once_and_takes_back_only_what_is_not_sold() {
    let (shop, sale) = TestShop::open().await.selling(3).await;
    let admin = shop.admin().await;
    let program = shop.program(&admin, "books", &["manage_sales"]).await;
    let path = format!("/api/v1/sales/{sale}/stock");
    assert_eq!(shop.shopper("mei").await.buy(&sale, 1).await.status, 202);
    let add = async |key: &str, units: i64| {
        program.send("POST", &path, &[("idempotency-key", key)], json!({ "units": units })).await
    };
    for _ in 0..2 {
        assert_eq!(stock(&add("a", 4).await), (200, 7, 1));
    }
    assert_eq!(add("a", 5).await.problem(), problem(409, "idempotency_key_reused"));
    for _ in 0..2 {
        assert_eq!(stock(&add("b", -6).await), (200, 1, 1));
    }
    assert_eq!(add("c", -1).await.problem(), problem(409, "below_sold"));
    assert_eq!(add("d", 0).await.problem(), problem(422, "invalid"));
    assert_eq!(stock(&program.get(&path).await), (200, 1, 1));
    let other = shop.program(&admin, "till", &["reserve", "view_console"]).await;
    assert_eq!(other.get(&path).await.problem(), problem(403, "scope_missing"));
    assert_eq!(other.post(&path, json!({"units": 1})).await.problem(), problem(403, "scope_missing"));
    assert_eq!(program.get("/api/v1/sales/999/stock").await.problem(), problem(404, "no_such_sale"));
    assert_eq!(admin.post(&format!("/api/admin/sales/{sale}/stop"), json!({})).await.status, 200);
    assert_eq!(set(&program, &path, "", 9).await.problem(), problem(409, "wrong_state"));
}

#[tokio::test]
async fn draw_that_takes_entries_keeps_its_units() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let (opens, closes) = ("2098-01-01T00:00:00Z", "2099-01-01T00:00:00Z");
    let sale = admin.new_sale(json!({"total": 10, "mode": "draw", "opens_at": opens, "closes_at": closes})).await;
    let program = shop.program(&admin, "books", &["manage_sales"]).await;
    let path = format!("/api/v1/sales/{sale}/stock");
    assert_eq!(stock(&set(&program, &path, "", 8).await), (200, 8, 0), "before it opens");
    assert_eq!(admin.post(&format!("/api/admin/sales/{sale}/start"), json!({})).await.status, 200);
    assert_eq!(set(&program, &path, "", 7).await.problem(), problem(409, "wrong_state"));
    assert_eq!(stock(&set(&program, &path, "", 9).await), (200, 9, 0));
}
