//! A new password for an account whose password is lost: who may set it, how often, and what it does not open.

use std::time::Duration;

use super::mail::{MEI, mailed};
use super::*;

async fn open() -> (TestShop, Clock) {
    let clock = Clock::manual(jiff::Timestamp::from_second(1_795_000_000).unwrap());
    (TestShop::open_at(&clock).await, clock)
}

impl TestShop {
    async fn recoveries(&self) -> usize {
        self.mailed().await.iter().filter(|(kind, _)| kind == "recovery").count()
    }

    async fn ask_for_recovery(&self, account: &str) -> TestResponse {
        self.visitor().post("/api/recovery?lang=en", json!({"account": account})).await
    }

    /// Asks for a recovery and waits for the message, which is written after the answer. Returns the token of its link.
    pub async fn recovery_token(&self, account: &str) -> String {
        let before = self.recoveries().await;
        assert_eq!(self.ask_for_recovery(account).await.status, 202);
        while self.recoveries().await == before {
            tokio::task::yield_now().await;
        }
        self.latest_link().await.1
    }

    async fn recover(&self, token: &str, password: &str, code: Option<&str>) -> TestResponse {
        let body = json!({"token": token, "new_password": password, "code": code});
        self.visitor().post("/api/recovery/password", body).await
    }

    /// Turns the second factor of a client on. Returns its recovery codes.
    pub async fn second_factor(&self, client: &TestClient<'_>, password: &str) -> Vec<String> {
        let enrolment = client.post("/api/account/second-factor", json!({})).await.json();
        let code = super::step_up::code_of(&enrolment, &self.parts.clock);
        let body = json!({"enrolment": enrolment["enrolment"], "password": password, "code": code});
        let set = client.put("/api/account/second-factor", body).await.is(200);
        serde_json::from_value(set.json()["recovery_codes"].clone()).unwrap()
    }
}

#[tokio::test]
async fn lost_password_is_replaced_by_forms_and_all_sessions_end() {
    let (shop, _) = open().await;
    let mei = shop.shopper("mei").await;
    mei.verify(MEI).await;
    assert!(shop.visitor().get("/zh/login").await.text().contains("href=\"/zh/recovery\""));
    assert!(shop.visitor().get("/zh/recovery").await.is_page(200));
    shop.visitor().send_form("/zh/recovery", "account=MEI%40shop.example").await.shows(200, &["请查收邮件"]);
    while shop.recoveries().await == 0 {
        tokio::task::yield_now().await;
    }
    let (path, token) = shop.latest_link().await;
    assert!(path.starts_with("/zh/recovery/password?token="), "in the language of the request");
    for _ in 0..2 {
        let page = shop.visitor().open_link(&path).await;
        assert!(page.is_page(200) && page.text().contains("mei"), "showing the form changes nothing");
        assert_eq!(page.text().matches(&token).count(), 1, "only the form has the token, and no address");
    }
    let weak = shop.visitor().send_form("/zh/recovery/password", &format!("token={token}&new_password=password")).await;
    assert!(weak.is_page(422) && weak.text().contains(&token));
    let done =
        shop.visitor().send_form("/zh/recovery/password", &format!("token={token}&new_password=battery+staple")).await;
    assert!(done.is_page(200) && done.text().contains("密码已修改"));
    assert!(done.header("set-cookie").contains("Max-Age=0"), "it opens no session");
    let device = done.headers.get_all("set-cookie").iter().nth(1).unwrap().to_str().unwrap();
    assert!(device.starts_with("seckill_device="), "the guesses of others do not count here: {device}");
    assert_eq!(mei.get("/api/me").await.status, 401, "the sessions have ended");
    shop.log_in("mei", "battery staple").await;
    assert_eq!(shop.mailed().await.pop(), Some(mailed("password_changed", MEI)));
    let again = shop.visitor().send_form("/zh/recovery/password", &format!("token={token}&new_password=x")).await;
    assert!(again.is_page(403) && again.text().contains("链接已失效"));
    assert!(shop.visitor().open_link(&path).await.is_page(403));
}

#[tokio::test]
async fn link_ends_with_time_with_a_newer_one_and_with_any_change_of_the_password() {
    let (shop, clock) = open().await;
    let mei = shop.shopper("mei").await;
    mei.verify(MEI).await;
    let refused = problem(403, "bad_link");
    let first = shop.recovery_token("mei").await;
    let second = shop.recovery_token("mei").await;
    assert_eq!(shop.recover(&first, "battery staple", None).await.problem(), refused, "a newer one was sent");
    clock.advance(Duration::from_secs(30 * 60));
    assert_eq!(shop.recover(&second, "battery staple", None).await.problem(), refused, "30 minutes are over");
    let third = shop.recovery_token("mei").await;
    let change = json!({"password": "correct horse", "new_password": "another horse"});
    assert_eq!(mei.put("/api/account/password", change).await.status, 204);
    assert_eq!(shop.recover(&third, "battery staple", None).await.problem(), refused, "the password was changed");
    let fourth = shop.recovery_token("mei").await;
    assert_eq!(shop.recover(&fourth, "battery staple", None).await.status, 204);
    assert_eq!(shop.recover(&fourth, "battery staple", None).await.problem(), refused, "it was used");
}

#[tokio::test]
async fn link_ends_with_its_address_and_with_a_block() {
    let (shop, _) = open().await;
    let mei = shop.shopper("mei").await;
    mei.verify("old@shop.example").await;
    let token = shop.recovery_token("mei").await;
    mei.verify(MEI).await;
    assert_eq!(shop.recover(&token, "battery staple", None).await.problem(), problem(403, "bad_link"));
    let token = shop.recovery_token("mei").await;
    let (admin, id) = (shop.admin().await, shop.parts.accounts().session(&mei.headers()).unwrap().user_id);
    assert_eq!(admin.post(&format!("/api/admin/users/{id}/block"), json!({"reason": "fraud"})).await.status, 200);
    assert_eq!(shop.recover(&token, "battery staple", None).await.problem(), problem(403, "bad_link"));
}

#[tokio::test]
async fn second_factor_is_kept_and_asked_for() {
    let (shop, _) = open().await;
    let mei = shop.shopper("mei").await;
    mei.verify(MEI).await;
    let codes = shop.second_factor(&mei, "correct horse").await;
    let token = shop.recovery_token("mei").await;
    shop.visitor().open_link(&format!("/en/recovery/password?token={token}")).await.has(&["name=\"code\""]);
    shop.recover(&token, "battery staple", None).await.refuses(401, "totp_required");
    shop.recover(&token, "battery staple", Some("000000")).await.refuses(401, "bad_code");
    let form = format!("token={token}&new_password=battery+staple&code=000000");
    shop.visitor().send_form("/en/recovery/password", &form).await.shows(422, &["The code is wrong"]);
    let log_in =
        async || shop.visitor().post("/api/login", json!({"username": "mei", "password": "battery staple"})).await;
    log_in().await.refuses(401, "bad_credentials");
    assert_eq!(shop.recover(&token, "battery staple", Some(&codes[0])).await.status, 204);
    assert_eq!(log_in().await.problem(), problem(401, "totp_required"), "the second factor stays");
    let kinds: Vec<_> = shop.mailed().await.into_iter().map(|(kind, _)| kind).collect();
    assert!(kinds.ends_with(&["recovery_code_used".to_owned(), "password_changed".to_owned()]), "{kinds:?}");
}

#[tokio::test]
async fn answer_is_the_same_for_every_name() {
    let (shop, _) = open().await;
    shop.shopper("mei").await.verify(MEI).await;
    shop.shopper("lei").await;
    let answers = ["mei", MEI, "lei", "nemo", "nemo@shop.example", "", "\u{202e}<b>"];
    for account in answers {
        let answer = shop.ask_for_recovery(account).await;
        assert_eq!((answer.status.as_u16(), answer.text()), (202, ""), "{account}");
        let form: String = url::form_urlencoded::byte_serialize(account.as_bytes()).collect();
        let page = shop.visitor().send_form("/en/recovery", &format!("account={form}")).await;
        assert!(page.is_page(200) && !page.text().contains(MEI), "{account}");
    }
}

#[tokio::test]
async fn requests_are_limited_before_an_account_is_looked_for() {
    let (shop, _) = open().await;
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(shop.ask_for_recovery("nemo").await.status.as_u16());
    }
    assert_eq!(statuses, [202, 202, 202, 202, 202, 429]);
    assert!(shop.visitor().send_form("/en/recovery", "account=NEMO").await.is_page(429), "in all spellings");
    let mut judged = 0;
    while shop.ask_for_recovery(&format!("n{judged}")).await.status == 202 {
        judged += 1;
    }
    assert!(judged < 20, "one network asks for a few accounts only: {judged}");
}

#[tokio::test]
async fn strangers_cannot_fill_a_mailbox_and_the_last_link_stays_valid() {
    let shop = TestShop::open_with(|config| {
        config.web.trusted_proxies = vec![base::config::Cidr::parse("127.0.0.1").unwrap()];
    })
    .await;
    shop.shopper("mei").await.verify(MEI).await;
    for n in 0..12 {
        let from = format!("192.0.{n}.1");
        let headers = [("content-type", "application/json"), ("x-forwarded-for", from.as_str())];
        let answer = shop.visitor().send("POST", "/api/recovery", &headers, r#"{"account":"mei"}"#).await;
        assert_eq!(answer.status, 202, "the answer does not tell");
    }
    // The message that verified the address counts, too.
    while shop.recoveries().await < 4 {
        tokio::task::yield_now().await;
    }
    let (_, token) = shop.latest_link().await;
    assert_eq!(shop.recover(&token, "battery staple", None).await.status, 204);
    assert_eq!(shop.recoveries().await, 4);
}

#[tokio::test]
async fn staff_without_a_second_factor_do_not_recover_by_mail() {
    let (shop, _) = open().await;
    let admin = shop.admin().await;
    let otto = shop.staff(&admin, "otto", Role::Operator).await;
    otto.verify(MEI).await;
    shop.shopper("mei").await.verify("control@shop.example").await;
    assert_eq!(shop.ask_for_recovery("otto").await.status, 202);
    shop.recovery_token("mei").await;
    assert_eq!(shop.recoveries().await, 1, "otto got none");
    let codes = shop.second_factor(&otto, "correct horse").await;
    let token = shop.recovery_token("otto").await;
    assert_eq!(shop.recover(&token, "battery staple", Some(&codes[0])).await.status, 204);
    let log = admin.get("/api/admin/audit-log?action=recover-password").await.text().to_owned();
    assert!(log.contains("otto"), "{log}");
}

#[tokio::test]
async fn support_starts_a_recovery_and_never_finishes_it() {
    let (shop, _) = open().await;
    let admin = shop.admin().await;
    let sue = shop.staff(&admin, "sue", Role::Support).await;
    let mei = shop.shopper("mei").await;
    let id = shop.parts.accounts().session(&mei.headers()).unwrap().user_id;
    let start =
        async |client: &TestClient<'_>| client.post(&format!("/api/admin/users/{id}/start-recovery"), json!({})).await;
    assert_eq!(start(&sue).await.problem(), problem(409, "no_mail_address"));
    mei.verify(MEI).await;
    sue.get(&format!("/admin/users/{id}?lang=en")).await.has(&["start-recovery", "m•••@shop.example"]).lacks(&[MEI]);
    let form = format!("/admin/users/{id}/start-recovery?lang=en");
    assert!(sue.send_form(&form, "").await.is_page(422), "it has to be confirmed");
    sue.send_form(&form, "confirm=yes").await.leads(&format!("/admin/users/{id}?lang=en&done=start-recovery"));
    assert_eq!(shop.mailed().await.pop(), Some(mailed("recovery", MEI)));
    assert_eq!(sue.get("/admin/mail").await.status, 403, "the link is not for support");
    let log = admin.get("/api/admin/audit-log?action=start-recovery").await.text().to_owned();
    assert!(log.contains("sue") && log.contains(&id.to_string()), "{log}");
    let (_, token) = shop.latest_link().await;
    assert_eq!(mei.get("/api/me").await.status, 200, "nothing has changed yet");
    assert_eq!(shop.recover(&token, "battery staple", None).await.status, 204);

    let own = shop.parts.accounts().session(&sue.headers()).unwrap().user_id;
    let of_staff = admin.post(&format!("/api/admin/users/{own}/start-recovery"), json!({})).await;
    assert_eq!(of_staff.problem(), problem(403, "not_allowed"), "owners reset the passwords of staff");
}

#[tokio::test]
async fn recovery_leaves_security_events_without_what_was_typed() {
    let (shop, _) = open().await;
    shop.shopper("mei").await.verify(MEI).await;
    let token = shop.recovery_token("mei").await;
    shop.ask_for_recovery("my-secret-passw0rd").await;
    assert_eq!(shop.recover(&token, "battery staple", None).await.status, 204);
    shop.parts.security.write(&shop.parts.store).await.unwrap();
    let filter = store::SecurityEventFilter::default();
    let events = shop.parts.store.security_events().list(&filter, None, 100).await.unwrap();
    let has = |class: &str, detail: &str| events.iter().any(|row| row.class == class && row.detail == detail);
    assert!(has("mail_address_changed", "verified") && has("recovery_started", "owner"));
    assert!(has("password_changed", "recovery"));
    let all = format!("{events:?}");
    assert!(!all.contains("my-secret") && !all.contains("shop.example"), "{all}");
}
