use super::*;
use domain::proof_of_work::{ITERATIONS, PARTS, solve};

const RTL: &str = "\u{202e}gnp.exe <script>alert(1)</script> 😀 \"'&";

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Sends an account's name and password from another address, through a trusted proxy.
async fn credentials_from(shop: &TestShop, address: &str, path: &str, username: &str) -> TestResponse {
    shop.post_from(address, path, json!({"username": username, "password": "correct horse"})).await
}

/// A shop on which so many accounts of an address are free.
async fn shop_with_free(registrations: u32) -> TestShop {
    TestShop::open_with(|config| {
        behind_a_proxy(config);
        config.free_registrations = registrations;
    })
    .await
}

/// A shop on which one account of an address is free. The first one is registered.
async fn busy_shop() -> TestShop {
    let shop = shop_with_free(1).await;
    assert_eq!(credentials_from(&shop, "192.0.2.1", "/api/register", "mei").await.status, 201);
    shop
}

#[tokio::test]
async fn program_pays_for_an_account_of_a_busy_network() {
    let shop = busy_shop().await;
    let refused = credentials_from(&shop, "192.0.2.1", "/api/register", "lei").await;
    assert_eq!(refused.problem(), problem(403, "proof_needed"));
    let forwarded = [("x-forwarded-for", "192.0.2.1")];
    let price = shop.visitor().send("GET", "/api/register/price", &forwarded, "").await.json()["price"].clone();
    assert_eq!((&price["parts"], &price["iterations"]), (&json!(PARTS), &json!(ITERATIONS)));
    let (challenge, bits) = (price["challenge"].as_str().unwrap(), price["bits"].as_u64().unwrap() as u32);
    let body = json!({"username": "lei", "password": "correct horse", "challenge": challenge,
        "numbers": solve(challenge, bits)});
    let paid = shop.post_from("192.0.2.1", "/api/register", body).await;
    assert_eq!(paid.status, 201, "{paid:?}");
    assert_eq!(shop.visitor().get("/api/register/price").await.json(), json!({"price": null}), "loopback");
}

#[tokio::test]
async fn form_keeps_what_was_computed_for_it() {
    let shop = busy_shop().await;
    let forwarded = [("content-type", "application/x-www-form-urlencoded"), ("x-forwarded-for", "192.0.2.1")];
    let free = shop.visitor().get("/en/register").await;
    assert!(free.is_page(200), "{free:?}");
    assert!(!free.text().contains("data-puzzle") && !free.text().contains("/register."), "{free:?}");
    let page = shop.visitor().send("GET", "/en/register", &forwarded, "").await;
    let parts = ["data-puzzle=", "/static/register.", "data-worker=\"/static/proof.", "send it after"];
    assert_contains(page.text(), &parts);
    let challenge = page.value_of("challenge");
    let send = async |name: &str, proof: &str| {
        let form = format!("username={name}&password=correct+horse&challenge={challenge}&proof={proof}");
        shop.visitor().send("POST", "/en/register", &forwarded, form).await
    };
    let early = send("lei", "").await;
    assert!(early.is_page(403) && early.text().contains("Many accounts were just created"), "{early:?}");
    assert!(early.text().contains(challenge), "the time of the wait goes on");
    let proof = solve(challenge, 3).iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let taken = send("mei", &proof.replace(',', "%2C")).await;
    assert!(taken.is_page(409) && taken.text().contains(&format!("name=\"proof\" value=\"{proof}\"")), "{taken:?}");
    assert!(send("lei", &proof.replace(',', "%2C")).await.leads_to("/en/"));
}

#[tokio::test]
async fn registrations_from_one_address_refuse_no_log_in_from_others() {
    let shop = shop_with_free(1000).await;
    shop.shopper("mei").await;
    let flood = futures::future::join_all((0..230).map(|n| {
        let shop = &shop;
        async move { credentials_from(shop, "192.0.2.1", "/api/register", &format!("robot-{n}")).await }
    }));
    let log_ins = futures::future::join_all((0..25).map(|n| {
        let shop = &shop;
        async move { credentials_from(shop, &format!("198.51.{n}.1"), "/api/login", "mei").await }
    }));
    let (flood, log_ins) = futures::join!(flood, log_ins);
    let answered = log_ins.iter().filter(|answer| answer.status == 200).count();
    assert!(answered >= 24, "{answered} of 25 log-ins");
    let refused: Vec<_> = flood.iter().filter(|answer| answer.status != 201).collect();
    assert!(!refused.is_empty(), "the queue of one address is bounded");
    for answer in refused {
        assert!(matches!(answer.status.as_u16(), 429 | 503) && !answer.header("retry-after").is_empty(), "{answer:?}");
    }
}

pub async fn id_of(shop: &TestShop, name: &str) -> String {
    shop.user(name).await.id.to_string()
}

#[tokio::test]
async fn copied_cookie_is_invalid_after_logout() {
    open_shop!(shop, [mei]);
    assert_eq!(mei.get("/api/me").await.status, 200);
    assert_eq!(mei.post("/api/logout", json!({})).await.status, 204);
    assert_eq!(mei.get("/api/me").await.problem(), problem(401, "not_signed_in"));
    let mei = shop.log_in("mei", "correct horse").await;
    assert!(mei.send_form("/en/logout", "").await.leads_to("/en/"));
    assert_eq!(mei.get("/api/me").await.status, 401);
}

#[tokio::test]
async fn account_page_changes_the_password_and_ends_sessions() {
    open_shop!(shop, [mei]);
    let phone = shop.log_in("mei", "correct horse").await;
    assert!(shop.visitor().get("/en/account").await.leads_to("/en/login?next=%2Fen%2Faccount"));
    let page = phone.get("/zh/account").await;
    assert!(page.is_page(200) && page.text().contains("当前设备") && page.text().matches("/end\"").count() == 3);

    let wrong = phone.send_form("/en/account/password", "password=nope&new_password=battery+staple").await;
    assert!(wrong.is_page(422) && wrong.text().contains("password-wrong"));
    let weak = phone.send_form("/en/account/password", "password=correct+horse&new_password=short").await;
    assert!(weak.is_page(422) && weak.text().contains("new_password-wrong"));
    let done = phone.send_form("/en/account/password", "password=correct+horse&new_password=battery+staple").await;
    assert!(done.leads_to("/en/account?done=password"));
    assert_eq!(mei.get("/api/me").await.status, 401);
    assert_eq!(phone.get("/api/me").await.status, 401, "its cookie was replaced");
    let phone = shop.browser(done.cookie());
    assert!(phone.get("/en/account?done=password").await.text().contains("Password changed."));

    let tablet = shop.log_in("mei", "battery staple").await;
    let sessions = phone.get("/api/account/sessions").await.json();
    let list = sessions["sessions"].as_array().unwrap();
    assert_eq!((list.len(), list.iter().filter(|s| s["current"] == true).count()), (2, 1));
    let other = list.iter().find(|s| s["current"] == false).unwrap()["id"].as_str().unwrap();
    let lei = shop.shopper("lei").await;
    assert_eq!(lei.delete(&format!("/api/account/sessions/{other}")).await.status, 404);
    assert_eq!(tablet.get("/api/me").await.status, 200);
    let ended = phone.send_form(&format!("/en/account/sessions/{other}/end"), "").await;
    assert!(ended.leads_to("/en/account?done=session"));
    assert_eq!(tablet.get("/api/me").await.status, 401);
    assert!(phone.send_form("/en/account/sessions/end", "").await.leads_to("/en/login"));
    assert_eq!(phone.get("/api/me").await.status, 401);
}

#[tokio::test]
async fn blocked_user_loses_sessions_and_cannot_log_in() {
    open_shop!(shop, admin, [mei], sale = 5);
    assert_eq!(mei.buy(&sale, 1).await.status, 202);
    let id = id_of(&shop, "mei").await;
    let block = format!("/admin/users/{id}/block?lang=en");
    let long = format!("confirm=yes&reason={}", "x".repeat(501));
    for (form, kept) in [("confirm=yes&reason=+", "reason-wrong"), (&long, "reason-wrong"), ("reason=bot", ">\nbot<")] {
        let wrong = admin.send_form(&block, form).await;
        assert!(wrong.is_page(422) && wrong.text().contains(kept), "{form}");
    }
    assert_eq!(mei.get("/api/me").await.status, 200);
    let done = admin.send_form(&block, &format!("confirm=yes&reason={}", encoded(RTL))).await;
    assert!(done.leads_to(&format!("/admin/users/{id}?lang=en&done=block")));

    assert_eq!(mei.get("/api/me").await.status, 401);
    assert_eq!(mei.buy(&sale, 1).await.problem(), problem(401, "not_signed_in"));
    assert_eq!(shop.visitor().try_log_in("mei", "correct horse").await.problem(), problem(403, "blocked"));
    assert!(shop.visitor().send_form("/en/login", "username=mei&password=correct+horse").await.is_page(403));
    assert_eq!(shop.visitor().try_log_in("mei", "wrong horse").await.problem(), problem(401, "bad_credentials"));

    let page = admin.get(&format!("/admin/users/{id}?lang=en&done=block")).await;
    assert!(page.is_page(200) && !page.text().contains("<script>alert"));
    assert!(page.text().contains("<bdi>\u{202e}gnp.exe &#60;script&#62;") && page.text().contains("Unblock"));
    assert!(page.text().contains("/admin/orders/"), "the order stays");
    let log = admin.get(&format!("/admin/log?lang=en&subject=user+{id}")).await;
    assert!(log.is_page(200) && log.text().contains("<bdi>\u{202e}gnp.exe") && !log.text().contains("<script>alert"));

    assert!(admin.send_form(&format!("/admin/users/{id}/unblock?lang=en"), "confirm=yes").await.status == 303);
    shop.log_in("mei", "correct horse").await;
    assert_eq!(mei.get("/api/me").await.status, 401, "the old cookie stays invalid");
    let me = id_of(&shop, "admin").await;
    let own = admin.post(&format!("/api/admin/users/{me}/block"), json!({"reason": "x"})).await;
    assert_eq!(own.problem(), problem(409, "yourself"));
}

#[tokio::test]
async fn account_is_exported_and_deleted_once_no_order_is_open() {
    open_shop!(shop, admin, [mei], sale = 5);
    let (order, _) = mei.order(&sale).await;
    let export = mei.get("/zh/account/export").await;
    assert!(export.header("content-disposition").starts_with("attachment"));
    let data = export.json();
    assert_eq!((&data["account"]["username"], &data["orders"][0]["id"]), (&json!("mei"), &json!(order)));
    assert_eq!(data["orders"][0]["history"].as_array().unwrap().len(), 2);
    assert_eq!(data["sessions"].as_array().unwrap().len(), 1);
    assert!(!export.text().contains("argon2"));

    let delete = async |name: &str, password: &str| {
        mei.send_form("/en/account/delete", &format!("username={name}&password={password}")).await
    };
    let wrong = delete("lei", "correct+horse").await;
    assert!(wrong.is_page(422) && wrong.text().contains("value=\"lei\"") && wrong.text().contains("delete-name-wrong"));
    let wrong = delete("mei", "wrong").await;
    assert!(wrong.is_page(422) && wrong.text().contains("delete-password-wrong"));
    let open = delete("mei", "correct+horse").await;
    assert!(open.is_page(409) && open.text().contains("Pay or cancel"));
    assert_eq!(mei.post(&format!("/api/sales/{sale}/orders/{order}/cancel"), json!({})).await.status, 200);
    assert!(delete("Mei", "correct+horse").await.is_page(200));

    assert_eq!(mei.get("/api/me").await.status, 401);
    assert_eq!(shop.visitor().try_log_in("mei", "correct horse").await.problem(), problem(401, "bad_credentials"));
    let taken = shop.visitor().post("/api/register", json!({"username": "mei", "password": "correct horse"})).await;
    assert_eq!(taken.problem(), problem(409, "username_taken"), "names of deleted accounts stay taken");
    let users = admin.get("/api/admin/users").await;
    assert!(!users.text().contains("\"mei\"") && users.text().contains("deleted-"));
    let me = json!({"username": "admin", "password": admin.password.as_deref().unwrap()});
    let staff = admin.post("/api/account/delete", me).await;
    assert_eq!(staff.problem(), problem(409, "staff_account"));
}

#[tokio::test]
async fn users_are_found_by_name_prefix_or_id() {
    open_shop!(shop, admin);
    for name in ["mei_1", "meix1", "Mei_2", "小美的店"] {
        shop.shopper(name).await;
    }
    let names = async |q: &str| {
        let found = admin.get(&format!("/api/admin/users?q={}", encoded(q))).await.json()["users"].clone();
        found.as_array().unwrap().iter().map(|user| user["username"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names("MEI_").await, ["mei_1", "Mei_2"], "an underscore is no wildcard");
    assert_eq!(names("小美").await, ["小美的店"]);
    assert_eq!((names("%").await, names("\\").await), (vec![], vec![]));
    assert_eq!(names(&id_of(&shop, "mei_1").await).await, ["mei_1"]);
    let long = admin.get(&format!("/admin/users?lang=zh&q={}", encoded(&RTL.repeat(100)))).await;
    assert!(long.is_page(200) && !long.text().contains("<script>alert") && long.text().contains("没有找到"));
}

fn secret_of(page: &TestResponse) -> String {
    between(page.text(), "<code>", "<").replace(' ', "")
}

/// The form that turns the second factor on with the secret of a page.
fn enrolment(shop: &TestShop, page: &TestResponse) -> String {
    let totp = totp_rs::Secret::try_from_base32(secret_of(page)).unwrap();
    let totp = totp_rs::Builder::new().with_secret(totp).build().unwrap();
    let code = totp.generate(shop.parts.clock.now().as_second() as u64);
    format!("enrolment={}&password=correct+horse&code={code}", page.value_of("enrolment"))
}

#[tokio::test]
async fn second_factor_is_set_up_and_used_by_forms() {
    open_shop!(shop, [mei]);
    let page = mei.get("/en/account/second-factor").await;
    assert!(page.is_page(200) && page.text().contains("src=\"data:image/svg+xml;base64,"));
    let wrong = format!("enrolment={}&password=correct+horse&code=000000", page.value_of("enrolment"));
    let wrong = mei.send_form("/en/account/second-factor", &wrong).await;
    assert!(wrong.is_page(422) && wrong.text().contains("code-wrong"));
    assert_eq!(secret_of(&wrong), secret_of(&page), "the secret that was scanned stays");
    let codes = mei.send_form("/en/account/second-factor", &enrolment(&shop, &page)).await;
    assert!(codes.is_page(200) && codes.text().matches("<li><code>").count() == 10);
    let recovery = between(codes.text(), "<li><code>", "<");

    assert_eq!(shop.visitor().try_log_in("mei", "correct horse").await.problem(), problem(401, "totp_required"));
    let step = shop.visitor().send_form("/en/login", "username=mei&password=correct+horse&next=/en/orders").await;
    assert!(step.is_page(200) && step.header("set-cookie").is_empty());
    let half = step.value_of("half");
    let send = async |code: &str| {
        shop.visitor().send_form("/en/login/code", &format!("half={half}&code={code}&next=/en/orders")).await
    };
    let wrong = send("123").await;
    assert!(wrong.is_page(401) && wrong.text().contains(half) && wrong.text().contains("/en/orders"));
    let right = send(recovery).await;
    assert!(right.leads_to("/en/orders") && !right.cookie().is_empty());
    assert!(send(recovery).await.is_page(401), "a recovery code works once");
}

#[tokio::test]
async fn log_in_ends_the_session_of_the_same_browser() {
    open_shop!(shop, [mei]);
    let answer = mei.try_log_in("mei", "correct horse").await;
    assert_eq!(answer.status, 200);
    assert_eq!(mei.get("/api/me").await.status, 401);
    let next = shop.browser(answer.cookie());
    assert_eq!(next.get("/api/me").await.status, 200);

    let form = next.send_form("/en/login", "username=mei&password=correct+horse&next=").await;
    assert!(form.leads_to("/en/"));
    assert_eq!(next.get("/api/me").await.status, 401);
    let last = shop.browser(form.cookie());
    assert_eq!(last.try_log_in("mei", "wrong horse").await.status, 401);
    assert_eq!(last.get("/api/me").await.status, 200, "a failed log-in ends nothing");
}

#[tokio::test]
async fn second_factor_is_replaced_by_form_with_the_present_code() {
    open_shop!(shop, [mei]);
    let path = "/en/account/second-factor";
    let page = mei.get(path).await;
    assert!(!page.text().contains("present_code"));
    let codes = mei.send_form(path, &enrolment(&shop, &page)).await;
    let recovery = between(codes.text(), "<li><code>", "<");

    let page = mei.get(path).await;
    assert!(page.text().contains("name=\"present_code\""));
    let without = mei.send_form(path, &enrolment(&shop, &page)).await;
    assert!(without.is_page(422) && without.text().contains("present_code-wrong"));
    let with = format!("{}&present_code={recovery}", enrolment(&shop, &page));
    assert!(mei.send_form(path, &with).await.is_page(200));
}

#[tokio::test]
async fn client_behind_an_unnamed_proxy_has_no_privileges_of_this_machine() {
    let shop = TestShop::open_with(|config| config.free_registrations = 1).await;
    for (header, name) in [("x-forwarded-for", "mei"), ("forwarded", "lei"), ("x-real-ip", "wang")] {
        let headers = [("content-type", "application/json"), (header, "127.0.0.1")];
        let body = json!({"username": name, "password": "correct horse"}).to_string();
        let answer = shop.visitor().send("POST", "/api/register", &headers, body).await;
        match name {
            "mei" => assert_eq!(answer.status, 201),
            _ => assert_eq!(answer.problem(), problem(403, "proof_needed"), "{header}"),
        }
    }
    let here = shop.visitor().post("/api/register", json!({"username": "zhao", "password": "correct horse"})).await;
    assert_eq!(here.status, 201, "this machine itself");
}

#[tokio::test]
async fn console_signed_out_leads_to_the_log_in_and_back() {
    let shop = TestShop::open().await;
    shop.admin().await;
    for (path, next) in [("/admin", "%2Fadmin"), ("/admin/orders?status=paid", "%2Fadmin%2Forders%3Fstatus%3Dpaid")] {
        let answer = shop.visitor().get(path).await;
        assert!(answer.header("location").ends_with(&format!("/login?next={next}")), "{path}: {answer:?}");
        let form = format!("username=admin&password={}&next={next}", ADMIN_PASSWORD.0.replace(' ', "+"));
        let back = shop.visitor().send_form("/zh/login", &form).await;
        assert!(back.leads_to(path), "{path}: {back:?}");
    }
}

#[tokio::test]
async fn answers_on_the_hot_path_have_security_headers_behind_https() {
    open_shop!(shop = TestShop::open_with(|config| config.web.public_url = "https://shop.example".to_owned()), [mei]);
    for path in ["/api/sales/1/button", "/api/sales/1/orders/x", "/api/packets/1", "/api/ping", "/api/me"] {
        let answer = mei.get(path).await;
        for (name, part) in [
            ("content-security-policy", "default-src"),
            ("strict-transport-security", "max-age="),
            ("x-content-type-options", "nosniff"),
        ] {
            assert!(answer.header(name).contains(part), "{path} {name}: {answer:?}");
        }
    }
}
