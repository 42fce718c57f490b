//! The console and its API with an administrator.

use super::*;

#[tokio::test]
async fn console_answers_404_to_shoppers_and_leads_strangers_to_the_login() {
    open_shop!(shop, admin, [mei]);
    for path in ["/admin", "/admin/log", "/admin/goods/new", "/admin/sales/new"] {
        assert!(mei.get(path).await.is_page(404) && shop.visitor().get(path).await.status == 303, "{path}");
        assert!(admin.get(path).await.is_page(200), "{path}");
    }
    for path in ["/api/admin/sales", "/api/admin/audit-log", "/api/admin/orders?username=mei"] {
        assert_eq!(mei.get(path).await.problem(), problem(404, "not_found"), "{path}");
        assert_eq!(shop.visitor().get(path).await.problem(), problem(404, "not_found"), "{path}");
        assert_eq!(admin.get(path).await.status, 200, "{path}");
    }
    assert!(mei.send_form("/admin/sales/1/stop", "confirm=yes").await.is_page(404));
}

#[tokio::test]
async fn sales_are_run_by_api() {
    open_shop!(shop, admin);
    let goods = json!({"name": {"zh": "", "en": "Phone"}, "description": {"zh": "", "en": ""}});
    let wrong = admin.post("/api/admin/goods", goods).await;
    assert_eq!(wrong.json()["fields"], json!([{"field": "name.zh", "code": "required"}]));
    let sale = |goods: &str, total: i64| json!({"goods_id": goods, "price": {"amount": 1, "currency": "CNY"}, "total": total, "per_user_limit": 1});
    let wrong = admin.post("/api/admin/sales", sale("1", 5)).await;
    assert_eq!(wrong.json()["fields"][0]["field"], "goods_id");
    let wrong = admin.post("/api/admin/sales", sale("1", 0)).await;
    assert_eq!(wrong.json()["fields"], json!([{"field": "total", "code": "bad_number"}]));

    let id = shop.open_sale(&admin, 5).await;
    let at = |action: &str| format!("/api/admin/sales/{id}/{action}");
    let edit = admin.patch(&format!("/api/admin/sales/{id}"), json!({})).await;
    assert_eq!(edit.problem(), problem(409, "wrong_state"));
    assert_eq!(admin.post(&at("resume"), json!({})).await.problem(), problem(409, "wrong_state"));
    assert_eq!(admin.post(&at("pause"), json!({})).await.json()["sale"]["state"], "paused");
    assert_eq!(admin.post(&at("top-up"), json!({"units": 0})).await.problem(), problem(422, "invalid"));
    assert_eq!(admin.post(&at("top-up"), json!({"units": 3})).await.json()["sale"]["total"], 8);
    assert_eq!(admin.post("/api/admin/sales/999/stop", json!({})).await.problem(), problem(404, "no_such_sale"));
    let list = admin.get("/api/admin/sales").await.json();
    assert_eq!((&list["sales"][0]["state"], &list["queue"]["ready"]), (&json!("paused"), &json!(null)));
    let log = admin.get("/api/admin/audit-log").await.json();
    assert_eq!((&log["entries"][0]["action"], &log["entries"][0]["after"]["total"]), (&json!("top-up"), &json!(8)));
    assert_eq!(log["next"], json!(null));
    assert_eq!(admin.get("/api/admin/audit-log?before=x").await.problem(), problem(422, "invalid"));
}

#[tokio::test]
async fn sale_is_edited_by_api_before_it_begins() {
    open_shop!(shop, admin);
    let price = |amount: i64| json!({"amount": amount, "currency": "CNY"});
    let id = admin.announce(json!({"price": price(5), "list_price": price(9)})).await;
    let edit = async |body: Value| admin.patch(&format!("/api/admin/sales/{id}"), body).await;
    let edited = edit(json!({"list_price": null, "total": 7})).await.json();
    assert_eq!((&edited["sale"]["list_price"], &edited["sale"]["total"]), (&json!(null), &json!(7)));
    assert_eq!(edited["sale"]["opens_at"], "2099-01-01T00:00:00Z", "what is absent stays");
    assert_eq!(edit(json!({"per_user_limit": 8})).await.json()["fields"][0]["code"], "bad_limit");
    assert_eq!(edit(json!({"state": "live"})).await.json()["fields"][0]["code"], "unknown");
}

#[tokio::test]
async fn actions_on_a_sale_need_confirmation() {
    open_shop!(shop, admin, id = 5);
    let form =
        async |action: &str, body: &str| admin.send_form(&format!("/admin/sales/{id}/{action}?lang=en"), body).await;
    let done = |what: &str| format!("/admin?lang=en&done={what}&sale={id}");
    assert!(form("pause", "").await.is_page(422));
    let other = form("stop", "confirm=yes&typed=999").await;
    assert!(other.is_page(422) && other.text().contains("What you typed doesn’t match."), "{}", other.text());
    assert!(form("top-up", "confirm=yes&units=-1").await.is_page(422));
    assert!(form("resume", "confirm=yes").await.is_page(409));
    assert!(form("pause", "confirm=yes").await.leads_to(&done("paused")));
    assert!(form("top-up", "confirm=yes&units=2").await.leads_to(&done("topped_up")));
    assert!(form("stop", &format!("confirm=yes&typed={id}")).await.leads_to(&done("stopped")));
    assert!(admin.get("/admin/log?lang=en").await.text().contains("Add stock"));
}

#[tokio::test]
async fn sale_is_created_by_form() {
    open_shop!(shop, admin);
    shop.open_sale(&admin, 2).await;
    let wrong = admin.send_form("/admin/sales?lang=en", "goods_id=1&price=cheap&total=5&per_user_limit=1").await;
    assert!(wrong.is_page(422) && wrong.text().contains("value=\"cheap\""));
    let right = "goods_id=1&price=1999.00&total=5&per_user_limit=1&opens_at=2099-01-01T00:00";
    assert!(admin.send_form("/admin/sales?lang=en", right).await.leads_to("/admin?lang=en&done=created&sale=2"));
}
