//! A verified mail address instead of proof of work at registration: by forms and by the API, for one account, without
//! a way to write to strangers or to find out which addresses are known.

use std::time::Duration;

use super::mail::{MEI, mailed};
use super::*;
use base::config::Cidr;

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";

/// A shop with a mail server, on which one account of an address is free.
async fn open() -> (TestShop, Clock) {
    let clock = Clock::manual(jiff::Timestamp::from_second(1_795_000_000).unwrap());
    let change = |config: &mut Config| {
        config.web.trusted_proxies = vec![Cidr::parse("127.0.0.1").unwrap()];
        config.free_registrations = 1;
        config.mail.smtp = Some("smtp://mail.example".into());
    };
    (TestShop::build(change, clock.clone()).await, clock)
}

/// A client at an address, behind the trusted proxy.
struct Host<'a>(&'a TestShop, &'static str);

impl Host<'_> {
    async fn send(&self, method: &str, path: &str, kind: &str, body: String) -> TestResponse {
        let headers = [("content-type", kind), ("x-forwarded-for", self.1)];
        self.0.visitor().send(method, path, &headers, body).await
    }

    async fn register(&self, name: &str, challenge: &str) -> TestResponse {
        let body = json!({"username": name, "password": "correct horse", "challenge": challenge});
        self.send("POST", "/api/register", JSON, body.to_string()).await
    }

    /// Registers the account that is free. Returns the challenge of the next account.
    async fn busy(&self, name: &str) -> String {
        assert_eq!(self.register(name, "").await.status, 201);
        self.challenge().await
    }

    async fn challenge(&self) -> String {
        let price = self.send("GET", "/api/register/price", JSON, String::new()).await.json();
        price["price"]["challenge"].as_str().unwrap().to_owned()
    }

    async fn ask(&self, challenge: &str, address: &str) -> TestResponse {
        let body = json!({"challenge": challenge, "address": address});
        self.send("POST", "/api/register/contact?lang=en", JSON, body.to_string()).await
    }

    /// Asks for a link and waits for the message, which is written after the answer. Returns the token of the link.
    async fn token(&self, challenge: &str, address: &str) -> String {
        let before = self.0.mails().await.len();
        assert_eq!(self.ask(challenge, address).await.status, 202);
        self.0.wait_for_mails(before + 1).await;
        self.0.latest_link().await.1
    }
}

impl TestShop {
    async fn wait_for_mails(&self, count: usize) {
        while self.mails().await.len() < count {
            tokio::task::yield_now().await;
        }
    }

    async fn verify_contact(&self, token: &str) -> TestResponse {
        self.visitor().post("/api/register/contact/verify", json!({"token": token})).await
    }
}

fn hidden(page: &TestResponse, name: &str) -> String {
    let text = page.text();
    let value = text.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap();
    value.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn visitor_without_scripts_registers_by_mail_and_keeps_the_form() {
    let (shop, _) = open().await;
    let here = Host(&shop, "192.0.2.1");
    let free = here.send("GET", "/zh/register", FORM, String::new()).await;
    assert!(!free.text().contains("/register/contact"), "what is free needs no address");
    here.busy("mei").await;

    let page = here.send("GET", "/zh/register", FORM, String::new()).await;
    assert!(page.text().contains("action=\"/zh/register/contact\" target=\"_blank\""), "{page:?}");
    let challenge = hidden(&page, "challenge");
    let send = async |path: &str, form: String| here.send("POST", path, FORM, form).await;
    let wrong = send("/zh/register/contact", format!("challenge={challenge}&address=nonsense")).await;
    assert!(wrong.is_page(422) && wrong.text().contains("请输入有效的邮箱地址") && wrong.text().contains("nonsense"));
    assert_eq!(hidden(&wrong, "challenge"), challenge);
    let sent = send("/zh/register/contact", format!("challenge={challenge}&address=lei%40Shop.example")).await;
    assert!(sent.is_page(200) && sent.text().contains("lei@shop.example"), "{sent:?}");
    shop.wait_for_mails(1).await;
    assert_eq!(shop.mailed().await, [mailed("registration", "lei@shop.example")]);
    let early = send("/zh/register", format!("username=lei&password=correct+horse&challenge={challenge}")).await;
    assert!(early.is_page(403) && hidden(&early, "challenge") == challenge, "{early:?}");

    let (path, token) = shop.latest_link().await;
    assert!(path.starts_with("/zh/register/contact?token="), "in the language of the form: {path}");
    for _ in 0..2 {
        let behind = shop.visitor().open_link(&path).await;
        assert!(behind.is_page(200) && behind.text().contains("lei@shop.example"), "a program that scans mail");
    }
    assert_eq!(here.register("lei", &challenge).await.problem(), problem(403, "proof_needed"));
    // The link is opened on another device.
    let done = shop.visitor().send_form("/zh/register/contact/verify", &format!("token={token}")).await;
    assert!(done.is_page(200) && done.text().contains("邮箱已确认"), "{done:?}");
    // The reader's own form is gone, so the link shows a new one.
    let moved = here.send("GET", &path, FORM, String::new()).await;
    let headers = [("x-forwarded-for", here.1), ("cookie", &moved.cookie())];
    let again = shop.visitor().send("GET", moved.header("location"), &headers, String::new()).await;
    assert!(again.is_page(200) && again.text().contains("此邮箱已确认："), "{again:?}");
    assert!(!again.text().contains("data-puzzle") && hidden(&again, "challenge") == challenge);

    let taken = send("/zh/register", format!("username=mei&password=correct+horse&challenge={challenge}")).await;
    assert!(taken.is_page(409) && taken.text().contains("此邮箱已确认："), "the address stays good: {taken:?}");
    let form = format!("username=lei&password=correct+horse&challenge={challenge}&next=%2Fzh%2Forders");
    let registered = send("/zh/register", form).await.leads("/zh/orders");
    let lei = TestClient { cookie: Some(registered.cookie()), ..shop.visitor() };
    let account = lei.get("/api/account").await.json();
    assert_eq!(account["account"]["mail"], json!({"address": "lei@shop.example", "pending": null}));
    assert_eq!(shop.mails().await.len(), 1, "the first device is not reported as a new one");
    shop.visitor().open_link(&path).await.shows(403, &["链接已失效"]);
}

#[tokio::test]
async fn verified_address_pays_for_one_account_from_any_network() {
    let (shop, _) = open().await;
    let (here, phone) = (Host(&shop, "192.0.2.1"), Host(&shop, "198.51.100.7"));
    let challenge = here.busy("mei").await;
    phone.busy("wang").await;
    let token = here.token(&challenge, "lei@shop.example").await;
    assert_eq!(phone.register("lei", &challenge).await.problem(), problem(403, "proof_needed"));
    assert_eq!(shop.verify_contact(&format!("{token}x")).await.problem(), problem(403, "bad_link"));
    assert_eq!(shop.verify_contact(&token).await.status, 204);
    assert_eq!(phone.register("lei", &challenge).await.status, 201, "the network has changed meanwhile");
    assert_eq!(here.register("zhao", &challenge).await.problem(), problem(403, "proof_needed"), "it is spent");
    assert_eq!(shop.verify_contact(&token).await.problem(), problem(403, "bad_link"));
}

#[tokio::test]
async fn verified_address_is_the_account_s_also_where_accounts_are_free() {
    let (shop, _) = open().await;
    let (here, phone) = (Host(&shop, "192.0.2.1"), Host(&shop, "198.51.100.7"));
    let challenge = here.busy("mei").await;
    let token = here.token(&challenge, "lei@shop.example").await;
    assert_eq!(shop.verify_contact(&token).await.status, 204);
    assert_eq!(phone.register("lei", &challenge).await.status, 201);
    let lei = shop.parts.store.accounts().user_named("lei").await.unwrap().unwrap();
    let mail = shop.parts.store.accounts().mail_of(lei.id).await.unwrap().unwrap();
    assert_eq!(mail.address.as_deref(), Some("lei@shop.example"));
    assert_eq!(here.register("zhao", &challenge).await.problem(), problem(403, "proof_needed"), "it is spent");
}

#[tokio::test]
async fn only_the_address_that_was_entered_last_pays_and_within_an_hour() {
    let (shop, clock) = open().await;
    let here = Host(&shop, "192.0.2.1");
    let challenge = here.busy("mei").await;
    let mistyped = here.token(&challenge, "stranger@shop.example").await;
    let right = here.token(&challenge, "lei@shop.example").await;
    assert_eq!(shop.verify_contact(&mistyped).await.problem(), problem(403, "bad_link"));
    assert_eq!(shop.verify_contact(&right).await.status, 204);
    // Another address has to be verified again.
    here.token(&challenge, "lei2@shop.example").await;
    assert_eq!(here.register("lei", &challenge).await.problem(), problem(403, "proof_needed"));
    let late = here.token(&challenge, "lei@shop.example").await;
    clock.advance(Duration::from_secs(3600));
    assert_eq!(shop.verify_contact(&late).await.problem(), problem(403, "bad_link"));
    assert_eq!(here.ask(&challenge, "lei@shop.example").await.problem(), problem(403, "proof_needed"));
    assert_eq!(here.ask("nonsense", "lei@shop.example").await.problem(), problem(403, "proof_needed"));
    let elsewhere = Host(&shop, "203.0.113.9");
    assert_eq!(elsewhere.ask(&here.busy("wang").await, MEI).await.problem(), problem(403, "proof_needed"));
}

#[tokio::test]
async fn address_of_an_account_is_answered_alike_and_its_owner_is_told() {
    let (shop, _) = open().await;
    let mei = shop.shopper("mei").await;
    mei.verify(MEI).await;
    let here = Host(&shop, "192.0.2.1");
    let challenge = here.busy("lei").await;
    let (taken, free) =
        (here.ask(&challenge, "MEI@shop.example").await, here.ask(&challenge, "new@shop.example").await);
    assert_eq!((taken.status, taken.text()), (free.status, free.text()));
    shop.wait_for_mails(3).await;
    let mut mailed_since = shop.mailed().await.split_off(1);
    mailed_since.sort();
    assert_eq!(mailed_since, [mailed("address_in_use", MEI), mailed("registration", "new@shop.example")]);
    assert_eq!(here.register("lei2", &challenge).await.problem(), problem(403, "proof_needed"));
}

#[tokio::test]
async fn address_that_another_account_has_verified_meanwhile_pays_for_nothing() {
    let (shop, _) = open().await;
    let here = Host(&shop, "192.0.2.1");
    let challenge = here.busy("mei").await;
    let token = here.token(&challenge, "lei@shop.example").await;
    assert_eq!(shop.verify_contact(&token).await.status, 204);
    let wang = shop.shopper("wang").await;
    wang.verify("lei@shop.example").await;
    assert_eq!(here.register("lei", &challenge).await.problem(), problem(403, "proof_needed"));
    assert!(shop.parts.store.accounts().user_named("lei").await.unwrap().is_none(), "the name is free");
}

#[tokio::test]
async fn messages_to_a_mailbox_and_from_a_network_are_limited() {
    let (shop, clock) = open().await;
    let here = Host(&shop, "192.0.2.1");
    let challenge = here.busy("mei").await;
    let mut statuses = Vec::new();
    for address in ["s@gmail.com", "s+1@gmail.com", "S@googlemail.com", "s+2@gmail.com"] {
        statuses.push(here.ask(&challenge, address).await.status.as_u16());
    }
    assert_eq!(statuses, [202, 202, 202, 429], "spellings of an address are one mailbox");
    clock.advance(Duration::from_secs(60 * 30));
    let mut statuses = Vec::new();
    for n in 0..25 {
        statuses.push(here.ask(&challenge, &format!("stranger{n}@shop.example")).await.status.as_u16());
    }
    assert_eq!(statuses.iter().filter(|status| **status == 202).count(), 20, "of one host: {statuses:?}");
    let page =
        here.send("POST", "/en/register/contact", FORM, format!("challenge={challenge}&address=a%40b.example")).await;
    assert!(page.is_page(429) && page.text().contains("a@b.example"), "{page:?}");
}

#[tokio::test]
async fn message_of_a_registration_is_in_the_console_for_a_day() {
    let (shop, clock) = open().await;
    let admin = shop.admin().await;
    let here = Host(&shop, "192.0.2.1");
    let challenge = here.busy("mei").await;
    here.token(&challenge, "lei@shop.example").await;
    let page = admin.get("/admin/system?show=mail&lang=en").await.shows(200, &["l•••@shop.example"]);
    assert!(!page.text().contains("token="), "the link is for its reader");
    clock.advance(Duration::from_secs(26 * 3600));
    shop.parts.store.mail().purge().await.unwrap();
    assert!(shop.mails().await.is_empty());
}

#[tokio::test]
async fn shop_without_a_mail_server_does_not_offer_it() {
    let shop = TestShop::open_with(|config| {
        config.web.trusted_proxies = vec![Cidr::parse("127.0.0.1").unwrap()];
        config.free_registrations = 1;
    })
    .await;
    let here = Host(&shop, "192.0.2.1");
    here.busy("mei").await;
    here.send("GET", "/en/register", FORM, String::new()).await.has(&["data-puzzle"]).lacks(&["/register/contact"]);
}
