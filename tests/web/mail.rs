//! Mail addresses: how they are entered and verified, what messages are sent, and who reads them.

use super::*;
use ::mail::{Letter, LinkView};
use store::Mail;

/// The address of a test's mailbox.
pub const MEI: &str = "mei@shop.example";

impl TestShop {
    /// All messages, the oldest first.
    pub async fn mails(&self) -> Vec<Mail> {
        let mut mails = self.parts.store.mail().mails(None, 1_000).await.unwrap();
        mails.reverse();
        mails
    }

    /// The kind and the recipient of each message, in order.
    pub async fn mailed(&self) -> Vec<(String, String)> {
        self.mails().await.into_iter().map(|mail| (mail.kind.to_string(), mail.recipient)).collect()
    }

    pub fn letter(&self, mail: &Mail) -> Letter {
        self.parts.mailer.letters.letter(mail, LinkView::Shown, &self.parts.catalogue.settings())
    }

    /// The path of the link in the latest message, and its token.
    pub async fn latest_link(&self) -> (String, String) {
        let mail = self.mails().await.pop().unwrap();
        let text = self.letter(&mail).text;
        let line = text.lines().find(|line| line.contains("?token=")).unwrap();
        let path = line.strip_prefix(&self.parts.config.web.public_url).unwrap();
        (path.to_owned(), path.split_once("?token=").unwrap().1.to_owned())
    }
}

impl TestClient<'_> {
    pub async fn enter_address(&self, address: &str) -> TestResponse {
        self.put("/api/account/mail?lang=en", json!({"address": address, "password": "correct horse"})).await
    }

    /// Enters an address and verifies it.
    pub async fn verify(&self, address: &str) {
        assert_eq!(self.enter_address(address).await.status, 202);
        let (_, token) = self.shop.latest_link().await;
        assert_eq!(self.shop.visitor().post("/api/mail/verify", json!({"token": token})).await.status, 204);
    }

    async fn own_mail(&self) -> Value {
        self.get("/api/account").await.json()["account"]["mail"].clone()
    }
}

pub fn mailed(kind: &str, to: &str) -> (String, String) {
    (kind.to_owned(), to.to_owned())
}

#[tokio::test]
async fn address_is_entered_and_verified_by_forms() {
    open_shop!(shop, [mei]);
    let wrong = mei.send_form("/zh/account/mail", "address=nonsense&password=correct+horse").await;
    assert!(wrong.is_page(422) && wrong.text().contains("请输入有效的邮箱地址") && wrong.text().contains("nonsense"));
    let wrong = mei.send_form("/zh/account/mail", "address=mei%40shop.example&password=wrong").await;
    assert!(wrong.is_page(422) && wrong.text().contains("密码不正确"));
    assert!(shop.mails().await.is_empty(), "an address needs the password");
    let sent = mei.send_form("/zh/account/mail", "address=mei%40Shop.Example&password=correct+horse").await;
    assert!(sent.leads_to("/zh/account?done=mail"));
    assert!(mei.get("/zh/account?done=mail").await.text().contains("请查收邮件"));
    assert_eq!(shop.mailed().await, [mailed("verification", MEI)]);
    let letter = shop.letter(&shop.mails().await[0]);
    assert!(letter.subject.contains("请验证邮箱") && letter.text.contains("mei，你好"), "{letter:?}");

    let (path, token) = shop.latest_link().await;
    for _ in 0..2 {
        let page = shop.visitor().open_link(&path).await;
        assert!(page.is_page(200) && page.text().contains(MEI), "a program that scans mail verifies nothing");
    }
    assert_eq!(mei.own_mail().await, json!({"address": null, "pending": MEI}));
    let done = shop.visitor().send_form("/zh/mail", &format!("token={token}")).await;
    assert!(done.is_page(200) && done.text().contains("邮箱已验证"));
    assert_eq!(mei.own_mail().await, json!({"address": MEI, "pending": null}));
    let again = shop.visitor().send_form("/zh/mail", &format!("token={token}")).await;
    assert!(again.is_page(403) && again.text().contains("链接已失效"));
    assert!(mei.get("/en/account").await.text().contains(MEI));
}

#[tokio::test]
async fn link_of_another_address_or_of_yesterday_verifies_nothing() {
    open_shop!(shop = TestShop::open_at(&Clock::manual(jiff::Timestamp::from_second(1_795_000_000).unwrap())), [mei]);
    mei.enter_address("old@shop.example").await;
    let (_, old) = shop.latest_link().await;
    mei.enter_address(MEI).await;
    let (_, new) = shop.latest_link().await;
    let verify = async |token: &str| shop.visitor().post("/api/mail/verify", json!({"token": token})).await;
    assert_eq!(verify(&old).await.problem(), problem(403, "bad_link"));
    assert_eq!(verify(&format!("{new}x")).await.problem(), problem(403, "bad_link"));
    shop.advance(std::time::Duration::from_secs(24 * 3600));
    assert_eq!(verify(&new).await.problem(), problem(403, "bad_link"));
    assert_eq!(mei.own_mail().await["address"], Value::Null);
}

#[tokio::test]
async fn address_of_another_account_is_answered_alike_and_its_owner_is_told() {
    open_shop!(shop, [mei, lei]);
    mei.verify(MEI).await;
    let taken = lei.enter_address("MEI@shop.example").await;
    let free = lei.enter_address("lei@shop.example").await;
    assert_eq!((taken.status, taken.text()), (free.status, free.text()));
    lei.enter_address("Mei@shop.example").await;
    assert_eq!(lei.own_mail().await, json!({"address": null, "pending": "Mei@shop.example"}));
    let told = shop.mails().await.into_iter().find(|mail| mail.kind.as_str() == "address_in_use").unwrap();
    assert_eq!((told.username.as_deref(), told.recipient.as_str()), (Some("mei"), MEI));
    assert!(!shop.letter(&told).text.contains("token"));
    assert_eq!(mei.own_mail().await["address"], MEI);
}

#[tokio::test]
async fn first_of_two_accounts_to_open_its_link_has_the_address() {
    open_shop!(shop, [mei, lei]);
    mei.enter_address(MEI).await;
    let (_, of_mei) = shop.latest_link().await;
    lei.enter_address(MEI).await;
    let (_, of_lei) = shop.latest_link().await;
    let verify = async |token: &str| shop.visitor().post("/api/mail/verify", json!({"token": token})).await.status;
    assert_eq!(verify(&of_lei).await, 204);
    assert_eq!(verify(&of_mei).await, 403);
    assert_eq!(lei.own_mail().await["address"], MEI);
    assert_eq!(mei.own_mail().await["address"], Value::Null);
}

#[tokio::test]
async fn messages_to_an_address_and_of_an_account_are_limited() {
    let shop = TestShop::open().await;
    for (name, status) in [("ann", 202), ("bob", 202), ("cat", 202), ("dan", 429)] {
        let answer = shop.shopper(name).await.enter_address("stranger@shop.example").await;
        assert_eq!(answer.status, status, "many accounts cannot fill one mailbox: {name}");
    }
    let mei = shop.shopper("mei").await;
    for (n, status) in [202, 202, 202, 202, 202, 429].into_iter().enumerate() {
        let answer = mei.enter_address(&format!("m{n}@shop.example")).await;
        assert_eq!(answer.status, status, "one account cannot write to many: {n}");
    }
    assert_eq!(shop.mails().await.len(), 8);
}

#[tokio::test]
async fn old_address_is_told_of_a_new_one_and_of_a_removal() {
    open_shop!(shop, [mei]);
    mei.verify("old@shop.example").await;
    mei.verify(MEI).await;
    let wrong = mei.post("/api/account/mail/remove", json!({"password": "wrong"})).await;
    assert_eq!(wrong.problem(), problem(422, "invalid"));
    let removed = mei.post("/api/account/mail/remove", json!({"password": "correct horse"})).await;
    assert_eq!(removed.status, 204);
    let told = ["verification", "address_changed"].map(|kind| [mailed(kind, "old@shop.example"), mailed(kind, MEI)]);
    assert_eq!(shop.mailed().await, told.concat());
    assert_eq!(mei.own_mail().await, json!({"address": null, "pending": null}));
}

#[tokio::test]
async fn changes_of_the_account_are_told_in_its_language() {
    open_shop!(shop, [mei]);
    mei.verify(MEI).await;
    let before = shop.mails().await.len();
    let change = json!({"password": "correct horse", "new_password": "battery staple"});
    assert_eq!(mei.put("/api/account/password", change).await.status, 204);
    let mei = shop.log_in("mei", "battery staple").await;
    let codes = shop.second_factor(&mei, "battery staple").await;
    let log_in = json!({"username": "mei", "password": "battery staple", "code": codes[0]});
    assert_eq!(shop.visitor().post("/api/login", log_in).await.status, 200);
    let off = json!({"password": "battery staple", "code": codes[1]});
    assert_eq!(mei.post("/api/account/second-factor/remove", off).await.status, 204);
    let kinds: Vec<_> = shop.mailed().await.into_iter().skip(before).map(|(kind, _)| kind).collect();
    let expected =
        ["password_changed", "second_factor_on", "recovery_code_used", "recovery_code_used", "second_factor_off"];
    assert_eq!(kinds, expected);
    let mails = shop.mails().await;
    assert!(shop.letter(&mails[before]).text.contains("Hello mei,"), "{:?}", shop.letter(&mails[before]));
}

#[tokio::test]
async fn log_in_from_a_new_device_or_network_is_told_once() {
    let shop = TestShop::open_with(behind_a_proxy).await;
    const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
    const SAFARI: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Safari/604.1";
    let log_in = async |agent: &str, address: &str| {
        let headers = [JSON, ("user-agent", agent), ("x-forwarded-for", address)];
        let body = json!({"username": "mei", "password": "correct horse"}).to_string();
        let answer = shop.visitor().send("POST", "/api/login", &headers, body).await;
        assert_eq!(answer.status, 200);
        answer.cookie()
    };
    shop.shopper("mei").await;
    let mei = shop.browser(log_in(FIREFOX, "192.0.2.1").await);
    mei.verify(MEI).await;
    let before = shop.mails().await.len();
    log_in(FIREFOX, "192.0.2.77").await;
    assert_eq!(shop.mails().await.len(), before, "the device was known before the address");
    for _ in 0..2 {
        log_in(SAFARI, "192.0.2.1").await;
        log_in(FIREFOX, "198.51.100.7").await;
    }
    let mails = shop.mails().await;
    assert!(mails[before..].iter().all(|mail| mail.kind.as_str() == "new_device"));
    let told: Vec<_> = mails[before..].iter().map(|mail| mail.facts.clone()).collect();
    let safari = json!({"agent": "Safari · iPhone", "address": "192.0.2.1"});
    assert_eq!(told, [safari, json!({"agent": "Firefox · Linux", "address": "198.51.100.7"})]);
}

#[tokio::test]
async fn owners_read_messages_and_links_only_while_no_server_sends_them() {
    open_shop!(shop, admin);
    shop.shopper("mei").await.enter_address(MEI).await;
    let page = admin.get("/admin/system?show=mail&lang=en").await;
    assert!(page.is_page(200) && page.text().contains("m•••@shop.example"));
    assert!(page.text().contains("?token=") && page.text().contains("No mail server is set up"));

    let sending = TestShop::open_with(|config| {
        let source = "smtp_url = 'smtp://127.0.0.1:9'";
        config.mail = base::config::Config::read_text(source).unwrap().mail;
    })
    .await;
    let admin = sending.admin().await;
    sending.shopper("mei").await.enter_address(MEI).await;
    let page = admin.get("/admin/system?show=mail&lang=en").await;
    assert!(page.is_page(200) && !page.text().contains(MEI), "{page:?}");
    assert!(!page.text().contains("token="), "only the reader of the mailbox has the link");
    let operator = sending.staff(&admin, "otto", Role::Operator).await;
    assert_eq!(operator.get("/admin/mail").await.status, 403);
}

#[tokio::test]
async fn mail_of_an_account_is_exported_and_goes_with_it() {
    open_shop!(shop, [mei]);
    mei.verify(MEI).await;
    let mail = mei.get("/api/account/export").await.json()["mail"].clone();
    assert_eq!((mail["address"].as_str(), mail["messages"].as_array().unwrap().len()), (Some(MEI), 1));
    assert_eq!(mail["known_devices"].as_array().unwrap().len(), 1);
    assert_eq!(mei.delete_account("mei").await.status, 204);
    assert!(shop.mails().await.is_empty());
    let lei = shop.shopper("lei").await;
    lei.verify(MEI).await;
    assert_eq!(lei.own_mail().await["address"], MEI, "the address is free again");
}
