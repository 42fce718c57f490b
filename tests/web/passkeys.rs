//! Passkeys, with an authenticator in software.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::authenticator::{Authenticator, ORIGIN, PASSWORD, open};
use super::*;

fn refused() -> (u16, String) {
    problem(401, "bad_passkey")
}

fn not_valid(answer: &TestResponse) -> bool {
    answer.status == 422 && answer.json()["fields"] == json!([{"field": "credential", "code": "not_valid"}])
}

#[tokio::test]
async fn passkey_is_added_signs_in_and_is_removed() {
    let (shop, clock) = open().await;
    let mei = shop.shopper("mei").await;
    let wrong = mei.post("/api/account/passkeys/challenge", json!({"password": "wrong horse"})).await;
    assert_eq!(wrong.json()["fields"], json!([{"field": "password", "code": "wrong_password"}]));
    let mut device = mei.add_passkey(PASSWORD).await;
    let listed = mei.passkeys().await;
    assert_eq!((&listed[0]["name"], &listed[0]["used_at"]), (&json!("My phone"), &Value::Null));

    clock.advance(Duration::from_secs(60));
    device.count += 1;
    let answer = shop.visitor().log_in_with(&device).await.is(200);
    assert_eq!(answer.json()["user"]["username"], "mei");
    let again = TestClient { cookie: Some(answer.cookie()), ..shop.visitor() };
    assert_eq!(again.get("/api/me").await.status, 200);
    assert_eq!(mei.get("/api/me").await.status, 200, "the other session goes on");
    assert_eq!(again.passkeys().await[0]["used_at"], "2026-11-18T11:07:40Z");

    // The browser had a session before. That session ends.
    device.count += 1;
    assert_eq!(again.log_in_with(&device).await.status, 200);
    assert_eq!(again.get("/api/me").await.status, 401);

    let id = listed[0]["id"].as_str().unwrap();
    mei.remove_passkey(id, "wrong horse").await.wrong("password", "wrong_password");
    assert_eq!(mei.remove_passkey(id, PASSWORD).await.status, 204);
    assert_eq!(mei.passkeys().await, json!([]));
    assert_eq!(mei.remove_passkey(id, PASSWORD).await.problem(), problem(404, "not_found"));
    device.count += 1;
    assert_eq!(shop.visitor().log_in_with(&device).await.problem(), refused());
}

#[tokio::test]
async fn answer_for_another_site_or_without_verification_of_the_user_is_refused() {
    let (shop, _) = open().await;
    let mei = shop.shopper("mei").await;
    let mut device = mei.add_passkey(PASSWORD).await;
    let wrongs: [fn(&mut Authenticator); 6] = [
        |device| device.origin = "https://evil.example",
        |device| device.origin = "http://shop.example",
        |device| device.rp_id = "evil.example",
        |device| device.flags = 0x01,
        |device| device.flags = 0x04,
        |device| device.flags = 0x15,
    ];
    for (n, wrong) in wrongs.iter().enumerate() {
        device.count += 1;
        wrong(&mut device);
        assert_eq!(shop.visitor().log_in_with(&device).await.problem(), refused(), "{n}");
        (device.origin, device.rp_id, device.flags) = (ORIGIN, "shop.example", 0x05);

        let mut other = Authenticator::new();
        wrong(&mut other);
        let options = mei.challenge(PASSWORD).await;
        let answer = mei.add(&mut other, &options).await;
        assert!(not_valid(&answer), "{n}: {}", answer.text());
    }
    device.count += 1;
    assert_eq!(shop.visitor().log_in_with(&device).await.status, 200);
    assert_eq!(mei.passkeys().await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn challenge_serves_once_in_time_and_for_its_purpose() {
    let (shop, clock) = open().await;
    let (mei, lei) = (shop.shopper("mei").await, shop.shopper("lei").await);
    let mut device = mei.add_passkey(PASSWORD).await;
    let send = async |body: &Value| shop.visitor().post("/api/login/passkey", body.clone()).await;

    device.count += 1;
    let once = device.sign(&shop.visitor().log_in_challenge().await);
    assert_eq!(send(&once).await.status, 200);
    assert_eq!(send(&once).await.problem(), refused(), "sent again");
    let options = shop.visitor().log_in_challenge().await;
    device.count += 1;
    assert_eq!(send(&device.sign(&options)).await.status, 200);
    device.count += 1;
    assert_eq!(send(&device.sign(&options)).await.problem(), refused(), "signed again");

    let options = shop.visitor().log_in_challenge().await;
    clock.advance(Duration::from_secs(5 * 60));
    assert_eq!(send(&device.sign(&options)).await.problem(), refused(), "expired");
    let other_purposes = [
        mei.challenge(PASSWORD).await,
        mei.post("/api/account/step-up/passkey/challenge", json!({})).await.json(),
        json!({"public_key": {"challenge": URL_SAFE_NO_PAD.encode("log-in - 0 1795000000000.AAAA")}}),
        json!({"public_key": {"challenge": ""}}),
    ];
    for options in other_purposes {
        assert_eq!(send(&device.sign(&options)).await.problem(), refused(), "{options}");
    }

    // The challenge of a registration belongs to the session that confirmed it.
    let of_mei = mei.challenge(PASSWORD).await;
    assert!(not_valid(&lei.add(&mut Authenticator::new(), &of_mei).await));
    let of_log_in = json!({"public_key": {
        "challenge": shop.visitor().log_in_challenge().await["public_key"]["challenge"], "user": {"id": "AAAA"},
    }});
    assert!(not_valid(&mei.add(&mut Authenticator::new(), &of_log_in).await));
    assert_eq!(mei.add(&mut Authenticator::new(), &of_mei).await.status, 201);
    assert!(not_valid(&mei.add(&mut Authenticator::new(), &of_mei).await), "used before");
    let late = mei.challenge(PASSWORD).await;
    clock.advance(Duration::from_secs(5 * 60));
    assert!(not_valid(&mei.add(&mut Authenticator::new(), &late).await));
}

#[tokio::test]
async fn counter_that_stands_still_or_goes_back_is_refused() {
    let (shop, _) = open().await;
    let mei = shop.shopper("mei").await;
    let mut device = mei.add_passkey(PASSWORD).await;
    device.count = 7;
    assert_eq!(shop.visitor().log_in_with(&device).await.status, 200);
    for count in [7, 6, 0] {
        device.count = count;
        assert_eq!(shop.visitor().log_in_with(&device).await.problem(), refused(), "{count}");
    }
    device.count = 8;
    assert_eq!(shop.visitor().log_in_with(&device).await.status, 200);

    let mut uncounted = Authenticator { count: 0, ..Authenticator::new() };
    let options = mei.challenge(PASSWORD).await;
    assert_eq!(mei.add(&mut uncounted, &options).await.status, 201);
    for _ in 0..2 {
        assert_eq!(shop.visitor().log_in_with(&uncounted).await.status, 200);
    }
}

#[tokio::test]
async fn passkey_of_another_account_is_no_proof_and_not_found() {
    let (shop, _) = open().await;
    let (mei, lei) = (shop.shopper("mei").await, shop.shopper("lei").await);
    let (mut of_mei, of_lei) = (mei.add_passkey(PASSWORD).await, lei.add_passkey(PASSWORD).await);
    let id = mei.passkeys().await[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(lei.remove_passkey(&id, PASSWORD).await.problem(), problem(404, "not_found"));
    lei.send_form(&format!("/en/account/passkeys/{id}/remove"), "password=correct+horse").await.is(404);
    assert_eq!(shop.visitor().get("/api/account/passkeys").await.problem(), problem(401, "not_signed_in"));

    // The id of one credential with the key of the other, and a user handle that is not the owner's.
    let stolen = Authenticator { id: of_mei.id.clone(), user: of_mei.user.clone(), count: 9, ..of_lei };
    assert_eq!(shop.visitor().log_in_with(&stolen).await.problem(), refused());
    let (own, other) = (of_mei.user.clone(), lei.challenge(PASSWORD).await["public_key"]["user"]["id"].clone());
    of_mei.count += 1;
    for handle in ["", "AAAA", other.as_str().unwrap()] {
        of_mei.user = handle.to_owned();
        let answer = shop.visitor().log_in_with(&of_mei).await;
        assert_eq!(answer.status, 401, "{handle}: {}", answer.text());
    }
    of_mei.user = own;
    assert_eq!(shop.visitor().log_in_with(&of_mei).await.status, 200);

    // A credential is registered once.
    let options = lei.challenge(PASSWORD).await;
    assert_eq!(lei.add(&mut of_mei, &options).await.problem(), problem(409, "passkey_taken"));
}

#[tokio::test]
async fn malformed_answers_are_refused() {
    let (shop, clock) = open().await;
    let mei = shop.shopper("mei").await;
    let mut device = mei.add_passkey(PASSWORD).await;
    device.count += 1;
    let right = device.sign(&shop.visitor().log_in_challenge().await);
    for field in ["clientDataJSON", "authenticatorData", "signature"] {
        let bytes = URL_SAFE_NO_PAD.decode(right["credential"]["response"][field].as_str().unwrap()).unwrap();
        for altered in [vec![], bytes[1..].to_vec(), [&bytes[..], &[0]].concat()] {
            let mut body = right.clone();
            body["credential"]["response"][field] = json!(URL_SAFE_NO_PAD.encode(altered));
            let answer = shop.visitor().post("/api/login/passkey", body).await;
            // After so many wrong attempts the next ones are limited.
            assert!([401, 429].contains(&answer.status.as_u16()), "{field}: {}", answer.text());
        }
        let mut body = right.clone();
        body["credential"]["response"][field] = json!("no base64url!");
        assert_eq!(shop.visitor().post("/api/login/passkey", body).await.problem(), problem(422, "invalid"));
    }
    clock.advance(Duration::from_secs(600));
    let options = mei.challenge(PASSWORD).await;
    let mut other = Authenticator::new();
    let right = other.create(&options);
    let object = URL_SAFE_NO_PAD.decode(right["response"]["attestationObject"].as_str().unwrap()).unwrap();
    for altered in [vec![], object[1..].to_vec(), object[..object.len() - 1].to_vec(), [&object[..], &[0]].concat()] {
        let mut credential = right.clone();
        credential["response"]["attestationObject"] = json!(URL_SAFE_NO_PAD.encode(altered));
        let answer = mei.post("/api/account/passkeys", json!({"name": "x", "credential": credential})).await;
        assert!(not_valid(&answer), "{}", answer.text());
    }
    for (name, code) in [("  ".to_owned(), "required"), ("x".repeat(61), "too_long"), ("a\nb".to_owned(), "bad_text")] {
        mei.post("/api/account/passkeys", json!({"name": name, "credential": right})).await.wrong("name", code);
    }
    assert_eq!(mei.add(&mut other, &options).await.status, 201, "none of these spent the challenge");
}

#[tokio::test]
async fn account_has_ten_passkeys_at_most() {
    let (shop, _) = open().await;
    let mei = shop.shopper("mei").await;
    let early = mei.challenge(PASSWORD).await;
    for _ in 0..10 {
        mei.add_passkey(PASSWORD).await;
    }
    mei.post("/api/account/passkeys/challenge", json!({"password": PASSWORD})).await.refuses(409, "too_many_passkeys");
    assert_eq!(mei.add(&mut Authenticator::new(), &early).await.problem(), problem(409, "too_many_passkeys"));
}

#[tokio::test]
async fn wrong_answers_keep_no_right_one_out() {
    let (shop, _) = open().await;
    let mei = shop.shopper("mei").await;
    let mut device = mei.add_passkey(PASSWORD).await;
    device.rp_id = "evil.example";
    for _ in 0..20 {
        assert_eq!(shop.visitor().log_in_with(&device).await.problem(), refused());
    }
    device.rp_id = "shop.example";
    device.count += 1;
    assert_eq!(shop.visitor().log_in_with(&device).await.status, 200);
    let unknown = Authenticator::new();
    assert_eq!(shop.visitor().log_in_with(&unknown).await.problem(), refused());
}

#[tokio::test]
async fn blocked_and_deleted_accounts_have_no_use_of_their_passkeys() {
    let (shop, _) = open().await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let mut device = mei.add_passkey(PASSWORD).await;
    let export = mei.get("/api/account/export").await.json();
    assert_eq!(export["passkeys"][0]["name"], "My phone");
    assert!(!export.to_string().contains(&URL_SAFE_NO_PAD.encode(&device.id)));
    let id = mei.get("/api/me").await.json()["user"]["id"].as_str().unwrap().to_owned();
    admin.post(&format!("/api/admin/users/{id}/block"), json!({"reason": "x"})).await;
    device.count += 1;
    assert_eq!(shop.visitor().log_in_with(&device).await.problem(), problem(403, "blocked"));
    admin.post(&format!("/api/admin/users/{id}/unblock"), json!({})).await;
    let mei = shop.log_in("mei", PASSWORD).await;
    mei.post("/api/account/delete", json!({"username": "mei", "password": PASSWORD})).await.is(204);
    device.count += 1;
    assert_eq!(shop.visitor().log_in_with(&device).await.problem(), refused());
    assert_eq!(shop.execute("DELETE FROM passkeys").await, 0, "the account took them with it");
}

#[tokio::test]
async fn passkey_is_the_second_factor_of_staff_and_steps_up() {
    let (shop, clock) = open().await;
    let admin = shop.admin().await;
    let password = admin.password.clone().unwrap();
    let policy = async |admin: &TestClient<'_>| {
        admin.put("/api/admin/staff-policy", json!({"second_factor_required": true})).await
    };
    assert_eq!(policy(&admin).await.problem(), problem(403, "second_factor_required"));
    let mut device = admin.add_passkey(&password).await;
    assert_eq!(policy(&admin).await.status, 200);
    assert_eq!(admin.get("/api/admin/orders").await.status, 200, "the passkey fulfils the policy");

    // The password alone no longer opens a session.
    let half = shop.visitor().post("/api/login", json!({"username": "admin", "password": password})).await;
    assert_eq!(half.problem(), problem(403, "passkey_needed"));
    device.count += 1;
    let answer = shop.visitor().log_in_with(&device).await;
    let admin = TestClient { cookie: Some(answer.cookie()), ..shop.visitor() };
    let export = async || admin.get("/api/admin/orders.csv").await;
    assert_eq!(export().await.status, 200, "right after the log-in");

    clock.advance(Duration::from_secs(15 * 60));
    assert_eq!(export().await.problem(), problem(403, "step_up_needed"));
    admin.post("/api/account/step-up", json!({"password": password})).await.refuses(403, "passkey_needed");
    admin.send_form("/admin/staff?lang=en", "username=otto&role=viewer").await.shows(403, &[r#"id="passkey-step-up""#]);
    let form = format!("username=otto&role=viewer&step_up_password={password}");
    admin.send_form("/admin/staff?lang=en", &form).await.shows(422, &["Please use your passkey"]);

    let challenge = async || admin.post("/api/account/step-up/passkey/challenge", json!({})).await.json();
    let step_up = async |body: Value| admin.post("/api/account/step-up/passkey", body).await;
    let mei = shop.shopper("mei").await;
    let mut of_mei = mei.add_passkey(PASSWORD).await;
    of_mei.count += 1;
    assert_eq!(step_up(of_mei.sign(&challenge().await)).await.problem(), refused(), "another account's");
    device.count += 1;
    let of_log_in = shop.visitor().log_in_challenge().await;
    assert_eq!(step_up(device.sign(&of_log_in)).await.problem(), refused(), "another purpose");
    assert_eq!(step_up(device.sign(&challenge().await)).await.status, 204);
    assert_eq!(export().await.status, 200);
    clock.advance(Duration::from_secs(15 * 60));
    assert_eq!(export().await.problem(), problem(403, "step_up_needed"));

    // A session's challenge proves nothing for another session of the same account.
    device.count += 1;
    let answer = shop.visitor().log_in_with(&device).await;
    let elsewhere = TestClient { cookie: Some(answer.cookie()), ..shop.visitor() };
    let foreign = elsewhere.post("/api/account/step-up/passkey/challenge", json!({})).await.json();
    device.count += 1;
    assert_eq!(step_up(device.sign(&foreign)).await.problem(), refused());
}

#[tokio::test]
async fn owner_who_resets_a_second_factor_removes_the_passkeys() {
    let (shop, _) = open().await;
    let admin = shop.admin().await;
    let otto = shop.staff(&admin, "otto", Role::Support).await;
    let mut device = otto.add_passkey(PASSWORD).await;
    let id = otto.get("/api/me").await.json()["user"]["id"].as_str().unwrap().to_owned();
    let reset = admin.delete(&format!("/api/admin/staff/{id}/second-factor")).await;
    assert!(reset.status.is_success(), "{}", reset.text());
    device.count += 1;
    assert_eq!(shop.visitor().log_in_with(&device).await.problem(), refused());
    admin.get("/api/admin/audit-log").await.has(&["add-passkey"]);
}

#[tokio::test]
async fn code_of_the_authenticator_app_is_needed_to_add_and_remove() {
    let (shop, clock) = open().await;
    let mei = shop.shopper("mei").await;
    let device = mei.add_passkey(PASSWORD).await;
    let enrolment = mei.post("/api/account/second-factor", json!({})).await.json();
    let code = |clock: &Clock| super::step_up::code_of(&enrolment, clock);
    let body = json!({"enrolment": enrolment["enrolment"], "password": PASSWORD, "code": code(&clock)});
    assert_eq!(mei.put("/api/account/second-factor", body).await.status, 200);
    let id = mei.passkeys().await[0]["id"].as_str().unwrap().to_owned();
    let challenge = "/api/account/passkeys/challenge";
    assert_eq!(mei.post(challenge, json!({"password": PASSWORD})).await.problem(), problem(401, "bad_code"));
    assert_eq!(mei.remove_passkey(&id, PASSWORD).await.problem(), problem(401, "bad_code"));
    let form = format!("/en/account/passkeys/{id}/remove");
    mei.send_form(&form, "password=correct+horse").await.shows(422, &[&format!("code-{id}-wrong")]);
    clock.advance(Duration::from_secs(120));
    mei.post(challenge, json!({"password": PASSWORD, "code": code(&clock)})).await.is(200);

    // The passkey itself is both factors.
    let device = Authenticator { count: 5, ..device };
    assert_eq!(shop.visitor().log_in_with(&device).await.status, 200);
    clock.advance(Duration::from_secs(120));
    let removed = mei.send_form(&form, &format!("password=correct+horse&code={}", code(&clock))).await;
    assert!(removed.leads_to("/en/account?done=passkey-removed"), "{}", removed.text());
}

#[tokio::test]
async fn pages_offer_passkeys_where_browsers_do() {
    let (shop, _) = open().await;
    let mei = shop.shopper("mei").await;
    mei.add_passkey(PASSWORD).await;
    mei.get("/en/account").await.has(&["My phone", "add-passkey"]);
    shop.visitor().get("/zh/login").await.has(&["passkey-log-in", "使用通行密钥登录"]);
    assert!(!shop.visitor().get("/zh/register").await.text().contains("passkey"));

    for address in ["http://127.0.0.1:8080", "http://shop.example", "https://192.0.2.1"] {
        let shop = TestShop::open_with(|config| config.web.public_url = address.into()).await;
        let mei = shop.shopper("mei").await;
        mei.get("/en/account").await.has(&["Passkeys aren’t available at this address"]).lacks(&["add-passkey"]);
        assert!(!shop.visitor().get("/en/login").await.text().contains("passkey"));
        shop.visitor().post("/api/login/passkey/challenge", json!({})).await.refuses(409, "passkeys_off");
        mei.post("/api/account/passkeys/challenge", json!({"password": PASSWORD})).await.refuses(409, "passkeys_off");
    }
}
