//! A log-in by a code that is sent to the account's address: what it opens, how often, and for whom.

use std::time::Duration;

use super::mail::MEI;
use super::*;

impl TestShop {
    /// Asks for a code. Returns the one of the message.
    async fn mailed_code(&self, account: &str) -> String {
        let before = self.codes().await;
        let asked = self.visitor().post("/api/login/mail?lang=en", json!({"account": account})).await;
        assert_eq!(asked.status, 202);
        self.code_after(before).await
    }

    async fn codes(&self) -> usize {
        self.mailed().await.iter().filter(|(kind, _)| kind == "sign_in_code").count()
    }

    /// The code of the next message, which is written after the answer.
    async fn code_after(&self, before: usize) -> String {
        while self.codes().await == before {
            tokio::task::yield_now().await;
        }
        let letter = self.letter(&self.mails().await.pop().unwrap());
        let is_code = |line: &&str| line.len() == 8 && line.bytes().all(|byte| byte.is_ascii_digit());
        letter.text.lines().find(is_code).expect("a line with the code").to_owned()
    }

    async fn enter_code(&self, account: &str, code: &str, second: Option<&str>) -> TestResponse {
        let body = json!({"account": account, "code": code, "second_code": second});
        self.visitor().post("/api/login/mail/code", body).await
    }
}

#[tokio::test]
async fn shopper_logs_in_by_mail_and_goes_on_to_the_sale() {
    let shop = TestShop::open_with(|config| config.mail.smtp = Some("smtp://mail.example".into())).await;
    shop.shopper("mei").await.verify(MEI).await;
    let login = shop.visitor().get("/zh/login?next=/zh/sales/1").await;
    assert!(login.text().contains("href=\"/zh/login/mail?next=%2Fzh%2Fsales%2F1\""), "{}", login.text());
    let form = shop.visitor().get("/zh/login/mail?next=/zh/sales/1").await;
    assert!(form.is_page(200) && form.text().contains("name=\"account\""));
    let sent = shop.visitor().send_form("/zh/login/mail", "account=mei&next=%2Fzh%2Fsales%2F1").await;
    assert!(sent.is_page(200) && sent.text().contains("name=\"code\""), "{}", sent.text());
    assert!(!sent.text().contains(MEI), "{}", sent.text());
    let code = shop.code_after(0).await;
    let wrong = "account=mei&code=00000000&next=%2Fzh%2Fsales%2F1";
    let wrong = shop.visitor().send_form("/zh/login/mail/code", wrong).await;
    assert!(wrong.is_page(401) && wrong.text().contains("role=\"alert\"") && wrong.text().contains("/zh/sales/1"));
    let entered = format!("account=mei&code={}+{}&next=%2Fzh%2Fsales%2F1", &code[..4], &code[4..]);
    let done = shop.visitor().send_form("/zh/login/mail/code", &entered).await;
    assert!(done.leads_to("/zh/sales/1"), "{done:?}");
    let mei = shop.browser(done.cookie());
    assert_eq!(mei.get("/api/me").await.json()["user"]["username"], "mei");
    assert_eq!(shop.enter_code("mei", &code, None).await.problem(), problem(401, "bad_code"), "it works once");
}

#[tokio::test]
async fn code_ends_with_time_and_with_a_newer_one() {
    let shop = TestShop::open_at(&Clock::manual(jiff::Timestamp::from_second(1_795_000_000).unwrap())).await;
    shop.shopper("mei").await.verify(MEI).await;
    let (first, second) = (shop.mailed_code("mei").await, shop.mailed_code("mei").await);
    assert_eq!(shop.enter_code("mei", &first, None).await.problem(), problem(401, "bad_code"), "a newer one was sent");
    shop.advance(Duration::from_secs(9 * 60));
    assert_eq!(shop.enter_code("mei", &second, None).await.status, 200);
    let third = shop.mailed_code("mei").await;
    shop.advance(Duration::from_secs(11 * 60));
    assert_eq!(shop.enter_code("mei", &third, None).await.problem(), problem(401, "bad_code"), "it is too old");
    let fourth = shop.mailed_code("mei").await;
    let token = shop.recovery_token("mei").await;
    assert_eq!(shop.enter_code("mei", &fourth, None).await.problem(), problem(401, "bad_code"), "a link came after it");
    let link = json!({"token": token, "new_password": "battery staple"});
    assert_eq!(shop.visitor().post("/api/recovery/password", link).await.status, 204);
}

#[tokio::test]
async fn guesses_at_codes_are_limited_with_those_at_the_password() {
    let shop = TestShop::open().await;
    shop.shopper("mei").await.verify(MEI).await;
    let code = shop.mailed_code("mei").await;
    for n in 0..9 {
        let refused = shop.enter_code("mei", &format!("{n:08}"), None).await;
        assert_eq!(refused.status, if n < 8 { 401 } else { 429 }, "{n}");
    }
    assert_eq!(shop.enter_code(MEI, &code, None).await.status, 429, "also at the address");
    assert_eq!(shop.visitor().try_log_in("mei", "correct horse").await.status, 429);
    assert_eq!(shop.enter_code("nemo", &code, None).await.problem(), problem(401, "bad_code"));
}

#[tokio::test]
async fn second_factor_is_asked_for_as_well() {
    open_shop!(shop, [mei]);
    mei.verify(MEI).await;
    let codes = shop.second_factor(&mei, "correct horse").await;
    let code = shop.mailed_code("mei").await;
    assert_eq!(shop.enter_code("mei", &code, None).await.problem(), problem(401, "totp_required"));
    let step = shop.visitor().send_form("/en/login/mail/code", &format!("account=mei&code={code}&next=")).await;
    assert!(step.is_page(200) && step.text().contains("action=\"/en/login/code\""), "{}", step.text());
    assert_eq!(shop.enter_code("mei", &code, Some(&codes[0])).await.status, 200);
}

#[tokio::test]
async fn staff_without_a_second_factor_and_the_blocked_get_no_code() {
    open_shop!(shop, admin);
    let otto = shop.staff(&admin, "otto", Role::Operator).await;
    otto.verify("otto@shop.example").await;
    let lei = shop.shopper("lei").await;
    lei.verify("lei@shop.example").await;
    shop.shopper("mei").await.verify(MEI).await;
    let code = shop.mailed_code("lei").await;
    let id = shop.parts.accounts().session(&lei.headers()).unwrap().user_id;
    assert_eq!(admin.post(&format!("/api/admin/users/{id}/block"), json!({"reason": "fraud"})).await.status, 200);
    assert_eq!(shop.enter_code("lei", &code, None).await.problem(), problem(401, "bad_code"));
    for account in ["otto", "lei", "nemo"] {
        assert_eq!(shop.visitor().post("/api/login/mail", json!({"account": account})).await.status, 202);
    }
    shop.mailed_code("mei").await;
    let codes = shop.mailed().await.into_iter().filter(|(kind, _)| kind == "sign_in_code");
    assert_eq!(codes.map(|(_, to)| to).collect::<Vec<_>>(), ["lei@shop.example", MEI]);
}
