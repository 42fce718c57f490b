//! The admin API and console: permissions, audit log, validation.

use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{NewSale, Rung, Shop, until};

const TIMEOUT: Duration = Duration::from_secs(15);

#[tokio::test]
async fn admin_addresses_are_not_found_for_others() {
    let (shop, sale) = Shop::selling(Rung::Sqlite, NewSale::of(5)).await;
    let shopper = shop.register("mei", "correct horse").await;
    let gets = ["/api/admin/sales", "/api/admin/audit-log", "/api/admin/orders?username=mei"];
    let pages = ["/admin", "/admin/log", "/admin/sales/new", "/admin/goods/new", "/admin/goods/1"];
    let posts = [
        "goods",
        "sales",
        &format!("sales/{sale}/stop"),
        &format!("sales/{sale}/pause"),
        &format!("sales/{sale}/top-up"),
    ];
    let visitor = shop.client();
    for client in [&visitor, &shopper, &shop.shopper(1).client] {
        for path in gets {
            client.get(path).await.expect_problem(404, "not_found");
        }
        // A visitor may be a member of the staff, and is led to the log-in.
        for path in pages {
            client.get(path).await.expect(if std::ptr::eq(client, &visitor) { 303 } else { 404 });
        }
        for path in posts {
            client.post(&format!("/api/admin/{path}"), json!({})).await.expect_problem(404, "not_found");
        }
        let form = client.request(Method::POST, &format!("/admin/sales/{sale}/stop")).form(&[]);
        form.send().await.expect(404);
        let patch = client.request(Method::PATCH, &format!("/api/admin/sales/{sale}")).json(&json!({"total": 1}));
        patch.send().await.expect_problem(404, "not_found");
    }
    assert_eq!(shop.numbers(&sale).await["state"], "live");
    for path in gets.into_iter().chain(pages) {
        shop.admin().await.get(path).await.expect(200);
    }
}

#[tokio::test]
async fn every_change_is_in_the_audit_log() {
    let (shop, sale) = Shop::selling(Rung::Sqlite, NewSale::of(5)).await;
    for action in ["pause", "resume"] {
        shop.change_sale_state(&sale, action).await;
    }
    let admin = shop.admin().await;
    admin.post(&format!("/api/admin/sales/{sale}/top-up"), json!({"units": 3})).await.expect(200);
    shop.change_sale_state(&sale, "stop").await;
    admin.post(&format!("/api/admin/sales/{sale}/stop"), json!({})).await.expect_problem(409, "wrong_state");

    let log = admin.get("/api/admin/audit-log").await.expect(200).json();
    let entries = log["entries"].as_array().unwrap();
    let of_sale: Vec<&Value> = entries.iter().filter(|entry| entry["subject"] == format!("sale {sale}")).collect();
    let actions: Vec<&str> = of_sale.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["stop", "top-up", "resume", "pause", "start", "create"], "newest first, refusals not at all");
    for entry in &of_sale {
        assert_eq!(entry["actor"], "admin");
        assert!(entry["at"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
    }
    assert_eq!((&of_sale[1]["before"]["total"], &of_sale[1]["after"]["total"]), (&5.into(), &8.into()));
    assert_eq!((&of_sale[3]["before"]["state"], &of_sale[3]["after"]["state"]), (&"live".into(), &"paused".into()));
    assert_eq!(of_sale[5]["before"], Value::Null);
}

#[tokio::test]
async fn invalid_sales_are_refused_by_field() {
    let shop = Shop::start(Rung::Sqlite).await;
    let good = NewSale::of(10).json(shop.goods().await);
    let admin = shop.admin().await;
    let with = |field: &str, value: Value| {
        let mut changed = good.clone();
        changed[field] = value;
        changed
    };
    let now = "2026-11-21T12:00:00Z";
    let mut backwards = with("opens_at", now.into());
    backwards["closes_at"] = now.into();
    let invalid = [
        (with("total", 0.into()), "total"),
        (with("total", (-5).into()), "total"),
        (with("total", 2_000_000_000_i64.into()), "total"),
        (with("total", "10".into()), "total"),
        (with("total", json!(1.5)), "total"),
        (with("per_user_limit", 0.into()), "per_user_limit"),
        (with("per_user_limit", 11.into()), "per_user_limit"),
        (with("price", json!({"amount": -1, "currency": "CNY"})), "price"),
        (with("price", json!({"amount": i64::MAX, "currency": "CNY"})), "price"),
        (with("price", json!({"amount": 1, "currency": "yuan"})), "price.currency"),
        (with("price", json!({"amount": 1.5, "currency": "CNY"})), "price.amount"),
        (with("goods_id", "999".into()), "goods_id"),
        (with("goods_id", 1.into()), "goods_id"),
        (with("opens_at", "soon".into()), "opens_at"),
        (with("state", "live".into()), "state"),
        (backwards, "closes_at"),
    ];
    for (sale, field) in invalid {
        let answer = admin.post("/api/admin/sales", sale.clone()).await.expect_problem(422, "invalid");
        assert_eq!(answer.json()["fields"][0]["field"], field, "{sale}: {}", answer.text());
    }
    for (goods, field) in [
        (json!({"name": {"zh": "", "en": "x"}, "description": {"zh": "", "en": ""}}), "name.zh"),
        (json!({"name": {"zh": "x"}, "description": {"zh": "", "en": ""}}), "name.en"),
        (json!({"name": {"zh": "x", "en": "y".repeat(201)}, "description": {"zh": "", "en": ""}}), "name.en"),
    ] {
        let answer = admin.post("/api/admin/goods", goods.clone()).await.expect_problem(422, "invalid");
        assert_eq!(answer.json()["fields"][0]["field"], field, "{goods}");
    }
    assert_eq!(admin.get("/api/admin/sales").await.expect(200).json()["sales"], json!([]));
    let sale = shop.open(NewSale::of(10)).await;
    for units in [json!(0), json!(-1), json!("5"), json!(i64::MAX), json!(999_999_999_999_i64)] {
        let top_up = admin.post(&format!("/api/admin/sales/{sale}/top-up"), json!({"units": units})).await;
        top_up.expect_problem(422, "invalid");
    }
    admin.post(&format!("/api/admin/sales/{sale}/top-up"), json!({"units": 999_999_999})).await.expect(422);
    admin.post("/api/admin/sales/999/start", json!({})).await.expect_problem(404, "no_such_sale");
}

#[tokio::test]
async fn sale_can_be_edited_until_it_starts() {
    let shop = Shop::start(Rung::Sqlite).await;
    let sale = shop.create(NewSale::of(10)).await;
    let (admin, path) = (shop.admin().await, format!("/api/admin/sales/{sale}"));
    let edit = async |json: Value| admin.request(Method::PATCH, &path).json(&json).send().await;
    let edited = edit(json!({"total": 20, "per_user_limit": 2})).await.expect(200).json();
    assert_eq!((&edited["sale"]["total"], &edited["sale"]["price"]["amount"]), (&20.into(), &1999.into()));
    let scheduled = edit(json!({"opens_at": "2099-01-01T00:00:00Z"})).await.expect(200).json();
    assert_eq!(scheduled["sale"]["state"], "scheduled");
    let drafted = edit(json!({"opens_at": null})).await.expect(200).json();
    assert_eq!(drafted["sale"]["state"], "draft");
    shop.change_sale_state(&sale, "start").await;
    edit(json!({"total": 30})).await.expect_problem(409, "wrong_state");
    admin.post(&format!("{path}/start"), json!({})).await.expect_problem(409, "wrong_state");
    assert_eq!(shop.wait_for_phase(&sale, "open").await["total"], 20);
}

/// The smallest valid PNG.
const PIXEL: &[u8] =
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\
    \x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82";

#[tokio::test]
async fn only_pictures_are_accepted_as_pictures() {
    let shop = Shop::start(Rung::Sqlite).await;
    let (admin, path) = (shop.admin().await, format!("/api/admin/goods/{}/image", shop.goods().await));
    let put = async |kind: &str, body: Vec<u8>| admin.request(Method::PUT, &path).body(kind, body).send().await;
    for wrong in [&b""[..], b"nonsense", b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"] {
        put("image/png", wrong.to_vec()).await.expect_problem(422, "invalid");
    }
    let goods = put("image/png", PIXEL.to_vec()).await.expect(200).json()["goods"].take();
    let name = goods["image"].as_str().unwrap();
    let picture = shop.client().get(&format!("/uploads/{name}")).await.expect(200);
    assert_eq!((&picture.body[..3], picture.header("content-type")), (&b"\xff\xd8\xff"[..], "image/jpeg"));
    assert!(picture.header("cache-control").contains("immutable"));
}

#[tokio::test]
async fn command_resets_a_password_in_the_running_shop_and_the_setting_does_not() {
    let mut shop = Shop::start(Rung::Sqlite).await;
    let old = shop.admin().await.clone();
    shop.processes[0].set("SECKILL_ADMIN_PASSWORD", "another password");
    shop.processes[0].restart();
    shop.wait_until_ready().await;
    old.get("/api/admin/sales").await.expect(200);
    assert!(shop.processes[0].log().contains("SECKILL_ADMIN_PASSWORD has no effect"));

    assert_eq!(shop.run(&["reset-password", "nobody"]).await.status.code(), Some(1));
    let done = shop.run(&["reset-password", "admin"]).await;
    assert!(done.status.success(), "{done:?}");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let password = text.split('"').nth(3).unwrap();
    let read = async || old.get("/api/admin/sales").await;
    until("the old session has ended", TIMEOUT, read, |answer| answer.status == 404).await;
    let who = json!({"username": "admin", "password": password});
    shop.client().post("/api/login", who).await.expect(200);
}
