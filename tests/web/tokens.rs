//! Tokens of programs: what they may do, and what refuses them.

use std::time::Duration;

use super::security::kind;
use super::*;
use domain::Scope;

/// A program with a token.
pub(super) struct TestProgram<'a> {
    visitor: TestClient<'a>,
    pub(super) id: String,
    header: String,
}

impl TestShop {
    /// A program whose token has these scopes, and these other fields.
    pub(super) async fn program_with(
        &self,
        owner: &TestClient<'_>,
        name: &str,
        scopes: &[&str],
        more: Value,
    ) -> TestProgram<'_> {
        let mut body = json!({"name": name, "scopes": scopes});
        body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        let made = owner.post("/api/admin/tokens", body).await.is(201);
        let id = made.json()["token"]["id"].as_str().unwrap().to_owned();
        let header = format!("Bearer {}", made.json()["secret"].as_str().unwrap());
        TestProgram { visitor: self.visitor(), id, header }
    }

    pub(super) async fn program(&self, owner: &TestClient<'_>, name: &str, scopes: &[&str]) -> TestProgram<'_> {
        self.program_with(owner, name, scopes, json!({})).await
    }
}

impl TestProgram<'_> {
    pub(super) async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Value) -> TestResponse {
        let mut all = vec![("authorization", self.header.as_str()), JSON];
        all.extend_from_slice(headers);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.visitor.send(method, path, &all, body).await
    }

    pub(super) async fn get(&self, path: &str) -> TestResponse {
        self.send("GET", path, &[], Value::Null).await
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> TestResponse {
        self.send("POST", path, &[], body).await
    }
}

#[tokio::test]
async fn token_is_shown_once_works_at_once_and_signs_the_log() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let body = json!({"name": "till 1", "scopes": ["manage_sales", "view_console", "view_console"], "rate": 5});
    let made = admin.post("/api/admin/tokens", body).await;
    let (token, secret) = (made.json()["token"].clone(), made.json()["secret"].as_str().unwrap().to_owned());
    assert!(domain::api_token::is_token(&secret));
    assert_eq!(token["scopes"], json!(["view_console", "manage_sales"]));
    let listed = admin.get("/api/admin/tokens").await;
    assert_eq!(listed.json()["tokens"], json!([token]));
    assert!(!listed.text().contains(&secret) && !listed.text().contains("digest"));
    let readable =
        format!("UPDATE api_tokens SET digest = digest WHERE digest = '{secret}' OR digest LIKE 'sk\\_%' ESCAPE '\\'");
    assert_eq!(shop.execute(readable).await, 0);
    assert_eq!(shop.execute("UPDATE api_tokens SET digest = digest").await, 1);
    let program = TestProgram { visitor: shop.visitor(), id: String::new(), header: format!("bearer {secret}") };
    let goods = json!({"name": {"zh": "灯", "en": "Lamp"}, "description": {"zh": "", "en": ""}});
    assert_eq!(program.post("/api/admin/goods", goods).await.status, 201);
    let log = program.get("/api/admin/audit-log").await.json();
    for (line, actor, action) in [(0, "token till 1", "create"), (1, "admin", "create-token")] {
        assert_eq!((&log["entries"][line]["actor"], &log["entries"][line]["action"]), (&json!(actor), &json!(action)));
    }
    // Its last use is written later, not with the request.
    shop.parts
        .store
        .api_tokens()
        .used(&[(token["id"].as_str().unwrap().parse().unwrap(), shop.parts.clock.now())])
        .await
        .unwrap();
    assert!(admin.get("/api/admin/tokens").await.json()["tokens"][0]["used_at"].is_string());
    admin.get("/admin/log?lang=en").await.has(&["Token “till 1”"]);
}

#[tokio::test]
async fn wrong_fields_of_a_new_token_are_named() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let wrong =
        json!({"name": "", "scopes": [], "networks": ["10.0.0.1/8"], "rate": 0, "expires_at": "2001-01-01T00:00:00Z"});
    let refused = admin.post("/api/admin/tokens", wrong).await.refuses(422, "invalid").json();
    assert_eq!(each(&refused["fields"], "field"), ["name", "scopes", "networks", "rate", "expires_at"]);
    shop.program(&admin, "till", &["reserve"]).await;
    let again = json!({"name": "till", "scopes": ["reserve"]});
    assert_eq!(admin.post("/api/admin/tokens", again.clone()).await.problem(), problem(409, "token_name_taken"));
    // The form of an owner who clicks twice, or whose answer was lost.
    let keyed = async |name: &str| {
        let body = json!({"name": name, "scopes": ["reserve"]}).to_string();
        admin.send("POST", "/api/admin/tokens", &[JSON, ("idempotency-key", "one")], body).await
    };
    let (first, second) = (keyed("scanner").await, keyed("scanner").await);
    assert_eq!((first.status.as_u16(), first.json()), (201, second.json()));
    assert_eq!(shop.execute("DELETE FROM idempotency_keys WHERE answer LIKE '%sk_%'").await, 0);
}

/// The path with ids that do not exist.
pub(super) fn filled(path: &str) -> String {
    let numbers = ["{sale}", "{goods}", "{packet}", "{category}", "{day}", "{provider}", "{name}"];
    let path = numbers.iter().fold(path.to_owned(), |path, id| path.replace(id, "999"));
    let parts =
        path.split('/').map(|part| if part.starts_with('{') { "0198c0de-0000-7000-8000-000000000001" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn token_with_every_scope_is_nobody_where_shoppers_sign_in() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let every = Scope::ALL.map(Scope::as_str);
    let program = shop.program(&admin, "every scope", &every).await;
    let document = document::document();
    let mut checked = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            if operation["security"] == json!([{"session": []}]) {
                program.send(&method.to_uppercase(), &filled(path), &[], json!({})).await.refuses(401, "not_signed_in");
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "{checked}");
}

/// What the document says about each operation is what its handler asks for.
#[tokio::test]
async fn each_operation_takes_the_scope_that_the_document_names_and_no_other() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let mut programs = Vec::new();
    for scope in Scope::ALL {
        let others: Vec<&str> =
            Scope::ALL.iter().filter(|other| **other != scope).map(|other| other.as_str()).collect();
        let only = shop.program(&admin, &format!("only {scope}"), &[scope.as_str()]).await;
        programs.push((scope, only, shop.program(&admin, &format!("all but {scope}"), &others).await));
    }
    let document = document::document();
    let mut checked = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let ways = operation["security"].as_array().unwrap();
            let named = ways.iter().find_map(|way| way["token"][0].as_str());
            assert_eq!(
                named.is_some(),
                path.contains("/admin/") || (path.starts_with("/api/v1/") && !path.ends_with("/passes/check")),
                "{method} {path}"
            );
            let Some(named) = named else { continue };
            let (_, only, others) = programs.iter().find(|(scope, ..)| scope.as_str() == named).unwrap();
            let filled = filled(path);
            let method = method.to_uppercase();
            let refused = others.send(&method, &filled, &[], json!({})).await;
            assert_eq!(refused.problem(), problem(403, "scope_missing"), "{method} {path}");
            assert!(refused.json()["detail"].as_str().unwrap().contains(named), "{method} {path}: {refused:?}");
            // A stream does not end.
            if path.ends_with("/live") {
                continue;
            }
            let taken = only.send(&method, &filled, &[], json!({})).await;
            let code = taken.code();
            let refusals = ["scope_missing", "bad_api_token", "step_up_needed", "cross_site"];
            assert!(!refusals.contains(&code.as_str()), "{method} {path}: {taken:?}");
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

#[tokio::test]
async fn token_is_refused_when_it_is_unknown_expired_revoked_or_abroad() {
    let clock = Clock::manual(Clock::system().now());
    let shop = TestShop::open_at(&clock).await;
    let admin = shop.admin().await;
    let unknown = domain::api_token::token_of([7; 32]);
    for header in [format!("Bearer {unknown}"), "Bearer sk_".to_owned(), format!("Bearer {unknown}x")] {
        let stranger = TestProgram { visitor: shop.visitor(), id: String::new(), header };
        let refused = stranger.get("/api/admin/sales").await;
        assert_eq!((refused.problem(), refused.header("www-authenticate")), (problem(401, "bad_api_token"), "Bearer"));
    }
    let soon = clock.now() + Duration::from_secs(60);
    let short = shop.program_with(&admin, "short", &["view_console"], json!({"expires_at": soon})).await;
    assert_eq!(short.get("/api/admin/sales").await.status, 200);
    let abroad = shop.program_with(&admin, "abroad", &["view_console"], json!({"networks": ["192.0.2.0/24"]})).await;
    assert_eq!(abroad.get("/api/admin/goods").await.problem(), problem(403, "foreign_network"));
    let home = shop
        .program_with(&admin, "home", &["view_console"], json!({"networks": ["192.0.2.0/24", "127.0.0.0/8"]}))
        .await;
    assert_eq!(home.get("/api/admin/goods").await.status, 200);
    let gone = shop.program(&admin, "gone", &["view_console"]).await;
    for _ in 0..2 {
        let revoked = admin.send("DELETE", &format!("/api/admin/tokens/{}", gone.id), &[JSON], "").await;
        assert_eq!(revoked.json()["token"]["name"], "gone", "{revoked:?}");
    }
    assert_eq!(gone.get("/api/admin/goods").await.problem(), problem(401, "bad_api_token"));
    shop.program(&admin, "gone", &["reserve"]).await;
    clock.advance(Duration::from_secs(61));
    let refused = short.get("/api/admin/goods").await.refuses(401, "bad_api_token");
    assert_eq!(refused.json()["detail"], "The token has expired.");
    let kinds = shop.kinds().await;
    for detail in ["token_unknown", "token_expired", "token_network"] {
        assert!(kinds.contains(&kind("token_refused", detail)), "{detail}: {kinds:?}");
    }
    assert!(kinds.contains(&kind("token_created", "")) && kinds.contains(&kind("token_revoked", "")));
}

#[tokio::test]
async fn token_ends_with_the_place_of_its_maker_in_the_staff() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let owner = shop.staff(&admin, "mei", Role::Admin).await;
    let program = shop.program(&owner, "vendure", &["manage_sales", "reserve"]).await;
    let goods = json!({"name": {"zh": "灯", "en": "Lamp"}, "description": {"zh": "", "en": ""}});
    assert_eq!(program.post("/api/admin/goods", goods.clone()).await.status, 201);
    let mei = shop.parts.store.accounts().user_named("mei").await.unwrap().unwrap().id;
    let path = format!("/api/admin/staff/{mei}");
    assert_eq!(admin.send("PATCH", &path, &[JSON], r#"{"role":"viewer"}"#).await.status, 200);
    shop.parts.accounts().refresh().await.unwrap();
    assert_eq!(program.post("/api/admin/goods", goods.clone()).await.problem(), problem(403, "not_allowed"));
    assert_eq!(admin.send("DELETE", &path, &[JSON], "").await.status, 200);
    shop.parts.accounts().refresh().await.unwrap();
    assert_eq!(program.post("/api/admin/goods", goods).await.problem(), problem(401, "bad_api_token"));
    let other = shop.staff(&admin, "lei", Role::Admin).await;
    let program = shop.program(&other, "oscar", &["view_console"]).await;
    let lei = shop.parts.store.accounts().user_named("lei").await.unwrap().unwrap().id;
    assert_eq!(admin.post(&format!("/api/admin/users/{lei}/block"), json!({"reason": "left"})).await.status, 200);
    shop.parts.accounts().refresh().await.unwrap();
    assert_eq!(program.get("/api/admin/goods").await.problem(), problem(401, "bad_api_token"));
}

#[tokio::test]
async fn other_process_takes_a_new_token_and_refuses_a_revoked_one() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let other = Services::build(&shop.parts.config).await.unwrap();
    let program = shop.program(&admin, "till", &["view_console"]).await;
    let secret = program.header.strip_prefix("Bearer ").unwrap();
    let there = other.accounts();
    let client = "127.0.0.1".parse().unwrap();
    assert_eq!(there.program(secret, client).await.unwrap().token().name, "till", "it looked again");
    admin.send("DELETE", &format!("/api/admin/tokens/{}", program.id), &[JSON], "").await;
    // What the process does each second.
    there.refresh().await.unwrap();
    assert!(there.program(secret, client).await.is_err());
}

#[tokio::test]
async fn cookie_beside_a_token_is_not_read_and_no_other_site_is_asked_about() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let reader = shop.program(&admin, "reader", &["view_console"]).await;
    let goods = json!({"name": {"zh": "灯", "en": "Lamp"}, "description": {"zh": "", "en": ""}});
    let cookie = [("cookie", admin.cookie.as_deref().unwrap())];
    reader.send("POST", "/api/admin/goods", &cookie, goods.clone()).await.refuses(403, "scope_missing");
    assert_eq!(reader.send("GET", "/api/me", &cookie, Value::Null).await.problem(), problem(401, "not_signed_in"));
    // Pages are for people.
    reader.send("GET", "/admin/goods?lang=en", &cookie, Value::Null).await.is(303);
    let writer = shop.program(&admin, "writer", &["manage_sales"]).await;
    let from_afar = [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")];
    assert_eq!(writer.send("POST", "/api/admin/goods", &from_afar, goods.clone()).await.status, 201);
    // A cookie still needs the same origin, whatever other header is there.
    let headers = [JSON, from_afar[0], from_afar[1], ("authorization", "Basic c2s6eA==")];
    admin.send("POST", "/api/admin/goods", &headers, goods.to_string()).await.refuses(403, "cross_site");
}

#[tokio::test]
async fn token_in_an_address_is_refused_everywhere() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let program = shop.program(&admin, "till", &["view_console"]).await;
    let secret = program.header.strip_prefix("Bearer ").unwrap();
    for path in ["/api/admin/goods?q=", "/api/sales?", "/en/?x=", "/api/sales/1/button?access_token=", "/line/1?entry="]
    {
        for secret in [secret.to_owned(), secret.replace('_', "%5F")] {
            shop.visitor().get(&format!("{path}{secret}")).await.is(400);
        }
    }
    let named = [("authorization", program.header.as_str()), JSON];
    let refused = shop.visitor().send("POST", &format!("/api/v1/shoppers?token={secret}"), &named, "{}").await;
    assert_eq!(refused.status, 400, "beside the header, too: {refused:?}");
    let refused = shop.visitor().get(&format!("/api/admin/goods?q={secret}")).await;
    assert!(refused.json()["detail"].as_str().unwrap().contains("Authorization: Bearer"), "{refused:?}");
    assert_eq!(admin.get("/api/admin/users?q=sk_not_a_token").await.status, 200);
}

#[tokio::test]
async fn rate_of_a_token_is_told_and_kept() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let program = shop.program_with(&admin, "till", &["view_console"], json!({"rate": 2})).await;
    let told = |answer: &TestResponse| {
        ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"].map(|name| answer.header(name).to_owned())
    };
    assert_eq!(told(&program.get("/api/admin/goods").await), ["2", "1", "1"]);
    let mut answers = Vec::new();
    for _ in 0..20 {
        answers.push(program.get("/api/admin/goods").await);
    }
    let refused = answers.iter().find(|answer| answer.status == 429).expect("twenty in less than ten seconds");
    assert_eq!((refused.code().as_str(), told(refused)), ("rate_limited", ["2", "0", "1"].map(str::to_owned)));
    assert_eq!(refused.header("retry-after"), "1");
    // The counts stay when the tokens are read again, and other tokens have their own.
    shop.parts.accounts().refresh().await.unwrap();
    let other = shop.program(&admin, "other", &["view_console"]).await;
    let answer = other.get("/api/admin/goods").await;
    assert_eq!((answer.status.as_u16(), answer.header("ratelimit-limit")), (200, ""));
}

#[tokio::test]
async fn keys_of_requests_belong_to_the_token() {
    let (shop, sale) = TestShop::open().await.selling(100).await;
    let admin = shop.admin().await;
    let (one, other) =
        (shop.program(&admin, "one", &["manage_sales"]).await, shop.program(&admin, "other", &["manage_sales"]).await);
    let path = format!("/api/admin/sales/{sale}/top-up");
    let top_up = async |program: &TestProgram<'_>| {
        program.send("POST", &path, &[("idempotency-key", "k")], json!({"units": 5})).await
    };
    assert_eq!(top_up(&one).await.json()["sale"]["total"], 105);
    assert_eq!(top_up(&one).await.header("idempotent-replayed"), "true");
    assert_eq!(top_up(&other).await.json()["sale"]["total"], json!(110));
}

#[tokio::test]
async fn program_makes_and_revokes_no_tokens() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let program = shop.program(&admin, "hr", &["manage_staff"]).await;
    let more = json!({"name": "more", "scopes": ["view_books"]});
    assert_eq!(program.post("/api/admin/tokens", more).await.problem(), problem(403, "not_allowed"));
    let own = format!("/api/admin/tokens/{}", program.id);
    assert_eq!(program.send("DELETE", &own, &[], Value::Null).await.problem(), problem(403, "not_allowed"));
    assert_eq!(program.get("/api/admin/tokens").await.status, 200);
}
