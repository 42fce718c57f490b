//! Accounts of the staff: appointed, dismissed, with temporary passwords and a second factor.

use super::accounts::id_of;
use super::*;

#[tokio::test]
async fn staff_are_added_appointed_and_dismissed() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let made = admin.send_form("/admin/staff?lang=en", "username=lin&role=support").await;
    assert!(made.is_page(200) && made.text().contains("Temporary password"));
    let password = made.text().split("password: <code>").nth(1).unwrap().split('<').next().unwrap().to_owned();
    let lin = shop.log_in("lin", &password).await;
    assert_eq!(lin.get("/api/admin/users").await.problem(), problem(403, "must_change_password"));
    assert!(lin.get("/admin").await.is_page(403));
    let own = json!({"password": password, "new_password": "my own password"});
    let changed = lin.put("/api/account/password", own).await;
    let lin = TestClient { cookie: Some(changed.cookie()), ..lin };
    assert_eq!(lin.get("/api/admin/users").await.status, 200);

    let id = id_of(&shop, "lin").await;
    let boss = id_of(&shop, "admin").await;
    lin.post(&format!("/api/admin/users/{boss}/block"), json!({"reason": "x"})).await.refuses(403, "not_allowed");
    for (form, mark) in [
        ("username=nobody&role=viewer&confirm=yes", "appoint-username-wrong"),
        ("username=lin&role=king&confirm=yes", "appoint-role-wrong"),
    ] {
        admin.send_form("/admin/staff/appoint?lang=en", form).await.shows(422, &[mark]);
    }
    let taken = admin.send_form("/admin/staff?lang=en", "username=LIN&role=viewer").await;
    assert!(taken.is_page(409) && taken.text().contains("create-username-wrong") && taken.text().contains("LIN"));
    let role = format!("/admin/staff/{id}/role?lang=en");
    assert!(admin.send_form(&role, "role=viewer").await.is_page(422));
    admin.send_form(&role, "role=viewer&confirm=yes").await.leads("/admin/users?show=staff&lang=en&done=role");
    assert_eq!(lin.get("/api/me").await.status, 401, "a change of role ends the sessions");
    let last = admin.send_form(&format!("/admin/staff/{boss}/dismiss?lang=en"), "confirm=yes").await;
    assert!(last.is_page(409) && last.text().contains("another owner first"));
    let dismissed = admin.send_form(&format!("/admin/staff/{id}/dismiss?lang=en"), "confirm=yes").await;
    assert!(dismissed.leads_to("/admin/users?show=staff&lang=en&done=dismiss"));
    let log = admin.get("/api/admin/audit-log?actor=ADMIN").await.json();
    assert_eq!(each(&log["entries"], "action"), ["dismiss", "set-role", "add-staff", "log-in"]);
    admin.get("/admin/log?lang=en&from=2999-01-01").await.shows(200, &["No matching entries"]);
    assert!(admin.get("/admin/log?lang=en&from=soon").await.is_page(422));
}

#[tokio::test]
async fn shopper_who_is_appointed_replaces_a_password_that_is_short_for_staff() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let made = shop.visitor().post("/api/register", json!({"username": "mei", "password": "kq7-mt4v"})).await;
    assert_eq!(made.status, 201, "eight characters are enough for a shopper: {}", made.text());
    shop.add_account("lin", PASSWORD.1, Role::User).await;
    for name in ["mei", "lin"] {
        let form = format!("username={name}&role=viewer&confirm=yes");
        let done = admin.send_form("/admin/staff/appoint?lang=en", &form).await;
        assert!(done.leads_to("/admin/users?show=staff&lang=en&done=appoint"), "{done:?}");
    }
    let mei = shop.log_in("mei", "kq7-mt4v").await;
    assert_eq!(mei.get("/api/admin/sales").await.problem(), problem(403, "must_change_password"));
    let change =
        async |new: &str| mei.put("/api/account/password", json!({"password": "kq7-mt4v", "new_password": new})).await;
    assert_eq!(change("mt4v-kq7-b").await.problem(), problem(422, "weak_password"));
    let changed = change("mt4v-kq7-b9x").await;
    let mei = TestClient { cookie: Some(changed.cookie()), ..mei };
    assert_eq!(mei.get("/api/admin/sales").await.status, 200);
    assert_eq!(shop.log_in("lin", PASSWORD.0).await.get("/api/admin/sales").await.status, 200, "a long one stays");
}

#[tokio::test]
async fn temporary_password_expires_and_an_owner_gives_a_new_one() {
    let (shop, clock) = TestShop::open_then("2026-11-18T11:06:40Z").await;
    let admin = shop.admin().await;
    let hours = |hours: u64| std::time::Duration::from_secs(hours * 3600);
    let made = admin.post("/api/admin/staff", json!({"username": "lin", "role": "support"})).await.json();
    let log_in = async |password: &Value| {
        shop.visitor().post("/api/login", json!({"username": "lin", "password": password})).await
    };
    clock.advance(hours(72) - std::time::Duration::from_secs(1));
    assert_eq!(log_in(&made["password"]).await.status, 200);
    clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(log_in(&made["password"]).await.problem(), problem(403, "password_expired"));
    let form = format!("username=lin&password={}", made["password"].as_str().unwrap());
    shop.visitor().send_form("/zh/login", &form).await.shows(403, &["请联系店主重置密码"]);

    let password = admin.password.unwrap();
    let admin = shop.log_in("admin", &password).await;
    let id = id_of(&shop, "lin").await;
    let reset = admin.post(&format!("/api/admin/staff/{id}/reset-password"), json!({})).await.json();
    assert_eq!(log_in(&made["password"]).await.problem(), problem(401, "bad_credentials"));
    let lin = shop.log_in("lin", reset["password"].as_str().unwrap()).await;
    assert_eq!(lin.get("/api/admin/users").await.problem(), problem(403, "must_change_password"));
    let own = json!({"password": reset["password"], "new_password": "my own password"});
    assert_eq!(lin.put("/api/account/password", own).await.status, 204);
    clock.advance(hours(24 * 365));
    assert_eq!(log_in(&json!("my own password")).await.status, 200, "a password of one's own does not expire");

    let admin = shop.log_in("admin", &password).await;
    admin.send_form(&format!("/admin/staff/{id}/reset-password?lang=en"), "").await.shows(422, &[]);
    let page = admin.send_form(&format!("/admin/staff/{id}/reset-password?lang=en"), "confirm=yes").await;
    assert!(page.is_page(200) && page.text().contains("Password of “lin” reset"), "{}", page.text());
    assert!(admin.get("/admin/log?lang=en").await.text().contains("Reset password"));

    // Neither the owner's own password nor a shopper's can be reset.
    shop.shopper("mei").await;
    let reset = async |id: String| admin.post(&format!("/api/admin/staff/{id}/reset-password"), json!({})).await;
    assert_eq!(reset(id_of(&shop, "admin").await).await.problem(), problem(409, "yourself"));
    assert_eq!(reset(id_of(&shop, "mei").await).await.problem(), problem(403, "not_allowed"));
    let page = admin.get("/admin/users?show=staff&lang=en").await;
    assert_eq!(page.text().matches("/reset-password?").count(), 1, "not of the owner who reads the page");
}

#[tokio::test]
async fn owners_require_a_second_factor_of_all_staff() {
    let (shop, _) = TestShop::open_then("2026-11-18T11:06:40Z").await;
    let admin = shop.admin().await;
    let vera = shop.staff(&admin, "vera", Role::Operator).await;
    let require =
        async |required: bool| admin.put("/api/admin/staff-policy", json!({"second_factor_required": required})).await;
    assert_eq!(require(true).await.problem(), problem(403, "second_factor_required"), "owners begin with themselves");
    let refused = admin.send_form("/admin/staff/policy?lang=en", "second_factor_required=yes&confirm=yes").await;
    assert!(refused.is_page(403) && refused.text().contains("of your own account first."), "{}", refused.text());
    shop.second_factor(&admin, admin.password.as_deref().unwrap()).await;
    assert_eq!(vera.get("/api/admin/sales").await.status, 200);
    let advice = "a password alone opens this console";
    assert!(admin.get("/admin?lang=en").await.text().contains(advice), "the owners are told until they require it");
    assert!(!vera.get("/admin?lang=en").await.text().contains(advice), "others cannot change it");
    assert!(admin.get("/admin/users?show=staff&lang=en").await.text().contains("Colleagues without it: 1."));
    let done = admin.send_form("/admin/staff/policy?lang=en", "second_factor_required=yes&confirm=yes").await;
    assert!(done.leads_to("/admin/users?show=staff&lang=en&done=policy"));
    admin.get("/admin/users?show=staff&lang=en&done=policy").await.has(&["now required of all staff"]);
    assert!(!admin.get("/admin?lang=en").await.text().contains(advice));
    assert_eq!(admin.get("/api/admin/staff-policy").await.json(), json!({"second_factor_required": true}));

    assert_eq!(vera.get("/api/admin/sales").await.problem(), problem(403, "second_factor_required"));
    vera.get("/admin?lang=en").await.shows(403, &["/account#second-factor"]);
    let rain = json!({"total": 5, "count": 1, "from": "shop"});
    assert_eq!(vera.post("/api/packets", rain).await.problem(), problem(403, "not_allowed"), "nor by the shop's purse");
    shop.second_factor(&vera, "correct horse").await;
    assert_eq!(vera.get("/api/admin/sales").await.status, 200);
    assert_eq!(require(false).await.status, 200);
    assert!(admin.get("/admin/log?lang=en").await.text().contains("Change staff policy"));

    // Another process learns of it when it reads the revocations.
    let accounts = shop.parts.accounts();
    assert!(!accounts.requires_second_factor());
    shop.execute("UPDATE staff_policy SET second_factor_required = 1").await;
    accounts.refresh().await.unwrap();
    assert!(accounts.requires_second_factor());
}
