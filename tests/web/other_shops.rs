//! What the server of another shop does here, and how its customers come in.

use std::time::Duration;

use super::tokens::TestProgram;
use super::*;

impl TestShop {
    /// The server of another shop.
    async fn other_shop(&self, admin: &TestClient<'_>) -> TestProgram<'_> {
        self.program(admin, "other shop", &["reserve", "shoppers"]).await
    }

    /// A sale that only these accounts may take part in.
    async fn sale_for(&self, admin: &TestClient<'_>, rules: Value) -> String {
        let sale = admin.announce(rules).await;
        assert_eq!(admin.post(&format!("/api/admin/sales/{sale}/start"), json!({})).await.status, 200);
        self.parts.gate.refresh().await;
        sale
    }
}

async fn name(program: &TestProgram<'_>, body: Value) -> Value {
    let named = program.post("/api/v1/shoppers", body).await;
    assert!(named.status.is_success(), "{named:?}");
    named.json()
}

/// The path of an entry link.
fn entry_path(named: &Value) -> String {
    let url = named["entry_url"].as_str().unwrap();
    format!("/enter?{}", url.split_once("/enter?").unwrap().1)
}

#[tokio::test]
async fn customer_of_another_shop_is_one_account_and_comes_in_by_a_link() {
    open_shop!(shop, admin, sale = 10);
    let program = shop.other_shop(&admin).await;
    let body = json!({"id": "4711", "since": "2023-04-01T00:00:00Z", "sale": sale});
    let first = program.post("/api/v1/shoppers", body.clone()).await;
    let again = program.post("/api/v1/shoppers", body).await;
    assert_eq!((first.status.as_u16(), again.status.as_u16()), (201, 200));
    assert_eq!(first.json()["shopper"], again.json()["shopper"]);
    assert_ne!(first.json()["entry_token"], again.json()["entry_token"]);
    let link = entry_path(&first.json());
    let entered = shop.visitor().get(&format!("{link}&lang=en")).await;
    assert!(entered.leads_to(&format!("/en/sales/{sale}")), "{entered:?}");
    assert_eq!((entered.header("referrer-policy"), entered.header("cache-control")), ("no-referrer", "no-store"));
    let shopper = shop.browser(entered.cookie());
    assert_eq!(shopper.get("/api/me").await.json()["user"]["id"], first.json()["shopper"]["account"]);
    assert_eq!(shopper.buy(&sale, 1).await.status, 202);
    // Once.
    let spent = shop.visitor().get(&format!("{link}&lang=en")).await;
    assert!(spent.is_page(403) && spent.text().contains("This entry link no longer works"), "{spent:?}");
    assert_eq!(spent.header("set-cookie"), "");
}

#[tokio::test]
async fn forged_expired_and_foreign_entries_are_refused() {
    open_shop!(shop = TestShop::open_at(&Clock::manual(Clock::system().now())), admin);
    let program = shop.other_shop(&admin).await;
    let named = name(&program, json!({"id": "4711"})).await;
    let token = named["entry_token"].as_str().unwrap();
    let session = admin.cookie.as_deref().unwrap().split_once('=').unwrap().1.to_owned();
    let other = if token.as_bytes()[10] == b'A' { 'B' } else { 'A' };
    let altered = format!("{}{other}{}", &token[..10], &token[11..]);
    for wrong in ["", "x", "x.y", &altered, &session] {
        let refused = shop.visitor().get(&format!("/enter?entry={wrong}")).await;
        assert!(refused.is_page(403) && refused.header("set-cookie").is_empty(), "{wrong}: {refused:?}");
    }
    // An entry is no session either.
    let cookie = Some(format!("seckill={token}"));
    assert_eq!(TestClient { cookie, ..shop.visitor() }.get("/api/me").await.status, 401);
    shop.advance(Duration::from_secs(5 * 60));
    assert!(shop.visitor().get(&entry_path(&named)).await.is_page(403));
    let named = name(&program, json!({"id": "4711"})).await;
    let id = named["shopper"]["account"].as_str().unwrap();
    assert_eq!(admin.post(&format!("/api/admin/users/{id}/block"), json!({"reason": "fraud"})).await.status, 200);
    assert!(shop.visitor().get(&entry_path(&named)).await.is_page(403));
    assert_eq!(program.post("/api/v1/shoppers", json!({"id": "4711"})).await.problem(), problem(403, "blocked"));
}

#[tokio::test]
async fn wrong_facts_about_a_customer_are_named() {
    open_shop!(shop, admin);
    let program = shop.other_shop(&admin).await;
    let (since, url) = ("2999-01-01T00:00:00Z", "javascript:alert(1)");
    let wrong = json!({"id": "a b", "since": since, "sale": "99", "return_url": url});
    let refused = program.post("/api/v1/shoppers", wrong).await;
    assert_eq!(refused.fields(), ["id", "since", "sale", "return_url"]);
    // The ids of visitors whom nobody names: naming one would be signing in as them.
    let anonymous = json!({"id": "anonymous-0123"});
    assert_eq!(program.post("/api/v1/shoppers", anonymous).await.problem(), problem(422, "invalid"));
    for url in ["https://user@shop.example/", "//shop.example/", "https://shop.example/ x"] {
        let body = json!({"id": "1", "return_url": url});
        assert_eq!(program.post("/api/v1/shoppers", body).await.problem(), problem(422, "invalid"), "{url}");
    }
    for who in [&shop.visitor(), &admin] {
        let refused = who.post("/api/v1/shoppers", json!({"id": "1"})).await;
        assert_eq!(refused.problem(), problem(401, "bad_api_token"));
    }
}

#[tokio::test]
async fn account_of_a_customer_has_no_password_and_no_place_in_the_staff() {
    open_shop!(shop, admin);
    let program = shop.other_shop(&admin).await;
    let named = name(&program, json!({"id": "mei@shop.example"})).await;
    let other = name(&program, json!({"id": "Mei@shop.example"})).await;
    assert_ne!(named["shopper"]["account"], other["shopper"]["account"], "the other shop's ids are its own");
    let known = "ext:mei@shop.example";
    for (username, password) in [(known, "none"), (known, ""), ("mei@shop.example", "none")] {
        let refused = shop.visitor().try_log_in(username, password).await;
        assert_eq!(refused.problem(), problem(401, "bad_credentials"), "{username}");
    }
    let id = named["shopper"]["account"].as_str().unwrap();
    let appoint = admin.patch(&format!("/api/admin/staff/{id}"), json!({"role": "admin"})).await;
    assert_eq!(appoint.problem(), problem(403, "not_allowed"));
    let form = "username=ext%3Amei%40shop.example&role=admin&confirm=yes";
    let form = admin.send_form("/admin/staff/appoint?lang=en", form).await;
    assert!(form.is_page(403), "{form:?}");
}

#[tokio::test]
async fn what_the_other_shop_says_counts_for_who_may_take_part() {
    open_shop!(shop, admin);
    let old = shop.sale_for(&admin, json!({"accounts_before": "2024-01-01T00:00:00Z"})).await;
    let verified = shop.sale_for(&admin, json!({"verified_contact": true, "one_per_contact": true})).await;
    let program = shop.other_shop(&admin).await;
    let may_buy = async |named: &Value, sale: &str| {
        let entered = shop.visitor().get(&entry_path(named)).await;
        let shopper = shop.browser(entered.cookie());
        shopper.post(&format!("/api/sales/{sale}/token"), json!({})).await.status == 200
    };
    let new = json!({"id": "new"});
    assert!(!may_buy(&name(&program, new.clone()).await, &old).await);
    assert!(!may_buy(&name(&program, new).await, &verified).await);
    let known = json!({"id": "known", "since": "2023-04-01T00:00:00Z", "verified": true});
    name(&program, known).await;
    // What is left out stays.
    for sale in [&old, &verified] {
        assert!(may_buy(&name(&program, json!({"id": "known"})).await, sale).await, "{sale}");
    }
    let other = json!({"id": "other", "since": "2023-04-01T00:00:00Z", "verified": true});
    assert!(may_buy(&name(&program, other).await, &verified).await, "each customer is one contact");
}
