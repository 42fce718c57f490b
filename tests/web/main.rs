//! Requests against the router, without a socket, with SQLite and neither Redis nor RabbitMQ.

/// Opens a shop with its owner, shoppers who are called as their variables, and open sales of so many units.
macro_rules! open_shop {
    ($shop:ident = $open:expr, [$($shopper:ident),+]) => {
        let $shop = $open.await;
        $(let $shopper = $shop.shopper(stringify!($shopper)).await;)+
    };
    ($shop:ident = $open:expr, $owner:ident $(, [$($shopper:ident),+])? $(, $sale:ident = $total:expr)*) => {
        let $shop = $open.await;
        let $owner = $shop.admin().await;
        $($(let $shopper = $shop.shopper(stringify!($shopper)).await;)+)?
        $(let $sale = $shop.open_sale(&$owner, $total).await;)*
    };
    ($shop:ident, $($people_and_sales:tt)+) => {
        open_shop!($shop = TestShop::open(), $($people_and_sales)+);
    };
}

mod account_sections;
mod account_versions;
mod accounts;
mod addresses;
mod administrators;
mod alipay;
mod approvals;
mod archive;
mod archive_pages;
mod authenticator;
mod books;
mod categories;
mod cockpit;
mod console_lists;
mod decisions;
mod demo;
mod document;
mod draw_console;
mod draw_pages;
mod draws;
mod eligibility;
mod file_modes;
mod fronts;
mod goods;
mod goods_versions;
mod idempotency;
mod invoices;
mod known_devices;
mod linked_accounts;
mod mail;
mod mail_codes;
mod masking;
mod open_packets;
mod order_changes;
mod order_numbers;
mod other_shops;
mod outcome;
mod overview;
mod own_payments;
mod packet_pages;
mod packets;
mod parcels;
mod partial_refunds;
mod passkeys;
mod payment_cases;
mod payment_provider;
mod permissions;
mod planning;
mod public;
mod push;
mod question_staff;
mod questions;
mod recovery;
mod registration_contact;
mod report;
mod reservations;
mod returns;
mod sale_batches;
mod sale_versions;
mod security;
mod shipping;
mod shop_pages;
mod shop_settings;
mod shoppers;
mod sign_in_pages;
mod spending;
mod spread;
mod staff_accounts;
mod stand_ins;
mod step_up;
mod stock;
mod strictness;
mod stripe;
mod support;
mod tables;
mod tokens;
mod variants;
mod waiting_room_pages;
mod waiting_rooms;
mod waitlist;
mod wallet;
mod webhooks;
mod wechatpay;

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use jiff::SignedDuration;
use serde_json::{Value, json};
use sqlx::{AnyConnection, AssertSqlSafe, Connection};
use tempfile::TempDir;
use tower::ServiceExt;
use uuid::Uuid;

use ::accounts::Session;
use base::clock::Clock;
use base::config::{Config, sqlite_in};
use domain::{PaymentId, Role, UserId};
use seckill::app::Services;
use store::{AccountChange, CaptureOutcome, NewSession, Store, User};

/// Passwords of the accounts that tests start with, and their hashes, because making one takes a fifth of a test.
const PASSWORD: (&str, &str) = (
    "correct horse",
    "$argon2id$v=19$m=19456,t=2,p=1$tsT28ILLZIkvBLydbRJ72A$0fMul6FHmt6kzxNgYfsB5iAgneOMiWxJ6bT/DlJ6k10",
);
const ADMIN_PASSWORD: (&str, &str) = (
    "sells-everything-twice",
    "$argon2id$v=19$m=19456,t=2,p=1$lIwfPXngaKkvFCib1eqS/A$Srlb4BvgVy9tt12qVIrUglRMrnJvaGpVx78SQqPKFGE",
);

const JSON: (&str, &str) = ("content-type", "application/json");

/// A shop with a database of its own.
struct TestShop {
    parts: Services,
    router: Router,
    dir: TempDir,
}

/// A database file with only the schema, which each shop copies, because the migrations take a quarter of a second.
async fn migrated_database() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> = root.join("migrations").read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut hasher = DefaultHasher::new();
    files.iter().for_each(|file| hasher.write(&std::fs::read(file).unwrap()));
    let folder = root.join("target/schema");
    let migrated = folder.join(format!("{:016x}.sqlite", hasher.finish()));
    if !migrated.exists() {
        std::fs::create_dir_all(&folder).unwrap();
        // Tests that run at the same time each create one.
        let scratch = tempfile::tempdir_in(&folder).unwrap();
        let store = Store::open(&sqlite_in(scratch.path())).unwrap();
        store.migrate().await.unwrap();
        store.close().await;
        std::fs::rename(scratch.path().join("seckill.sqlite"), &migrated).unwrap();
    }
    migrated
}

/// A browser or a program, with or without a session.
struct TestClient<'a> {
    shop: &'a TestShop,
    cookie: Option<String>,
    password: Option<String>,
}

#[derive(Debug)]
struct TestResponse {
    /// Method, path and the beginning of the body of the request.
    asked: String,
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl TestShop {
    async fn open() -> TestShop {
        TestShop::open_with(|_| {}).await
    }

    async fn open_with(change: impl FnOnce(&mut Config)) -> TestShop {
        TestShop::build(change, Clock::system()).await
    }

    /// A shop whose time the test advances.
    async fn open_at(clock: &Clock) -> TestShop {
        TestShop::build(|_| {}, clock.clone()).await
    }

    /// A shop at this time, and its clock.
    async fn open_then(time: &str) -> (TestShop, Clock) {
        let clock = Clock::manual(time.parse().unwrap());
        (TestShop::open_at(&clock).await, clock)
    }

    async fn build(change: impl FnOnce(&mut Config), clock: Clock) -> TestShop {
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(migrated_database().await, dir.path().join("seckill.sqlite")).unwrap();
        let mut config = Config::defaults();
        // Tests of orders advance their clock by hours.
        config.staff_idle = std::time::Duration::from_secs(12 * 3600);
        config.staff_step_up = config.staff_idle;
        config.web.user_rate = 1000;
        change(&mut config);
        config.data_dir = dir.path().to_owned();
        config.database_url = sqlite_in(dir.path());
        let parts = Services::build_with(&config, clock).await.unwrap();
        parts.catalogue.refresh().await.unwrap();
        let shop = TestShop { router: parts.router(), parts, dir };
        shop.publish();
        shop
    }

    /// Advances the time of a shop that has a clock of its own.
    fn advance(&self, by: std::time::Duration) {
        self.parts.clock.advance(by);
    }

    /// Renders the pages after a change of the catalogue.
    fn publish(&self) {
        control::publish_pages(&self.parts.catalogue, &self.parts.pages).unwrap();
    }

    /// What the audit finds wrong with promises that have these words.
    async fn violations(&self, promise: &str) -> Vec<String> {
        let checks = self.parts.audit().check_once().await.unwrap().into_iter();
        let checks: Vec<_> = checks.filter(|check| check.promise.contains(promise)).collect();
        assert!(!checks.is_empty(), "nothing promises {promise}");
        checks.into_iter().flat_map(|check| check.violations).collect()
    }

    /// Runs a statement without going through the shop. Returns the number of changed rows.
    async fn execute(&self, sql: impl Into<String>) -> u64 {
        let mut connection = AnyConnection::connect(&sqlite_in(self.dir.path())).await.unwrap();
        sqlx::query(AssertSqlSafe(sql.into())).execute(&mut connection).await.unwrap().rows_affected()
    }

    /// Makes a payment at the sandbox, and delivers its webhook.
    async fn make_payment(&self, id: PaymentId) -> CaptureOutcome {
        let sandbox = self.parts.sandbox.as_ref().unwrap();
        let payment = sandbox.payment(id).await.unwrap().unwrap();
        sandbox.settle(&payment, true, None).await.unwrap();
        let now = self.parts.clock.now();
        self.parts.store.payments().apply_capture(&format!("msg_{id}"), id, payment.amount, now).await.unwrap()
    }

    /// The payer's attempt fails, and the provider reports it.
    async fn decline_payment(&self, id: PaymentId) {
        let sandbox = self.parts.sandbox.as_ref().unwrap();
        let payment = sandbox.payment(id).await.unwrap().unwrap();
        sandbox.settle(&payment, false, None).await.unwrap();
        self.parts.store.payments().decline(id).await.unwrap();
    }

    fn visitor(&self) -> TestClient<'_> {
        TestClient { shop: self, cookie: None, password: None }
    }

    async fn shopper(&self, username: &str) -> TestClient<'_> {
        let user = self.add_account(username, PASSWORD.1, Role::User).await;
        self.open_session(&user, SignedDuration::ZERO).await
    }

    async fn admin(&self) -> TestClient<'_> {
        let user = match self.parts.store.accounts().user_named("admin").await.unwrap() {
            Some(user) => user,
            None => self.add_account("admin", ADMIN_PASSWORD.1, Role::Admin).await,
        };
        let password = Some(ADMIN_PASSWORD.0.to_owned());
        TestClient { password, ..self.open_session(&user, SignedDuration::ZERO).await }
    }

    async fn add_account(&self, username: &str, password_hash: &str, role: Role) -> User {
        let now = self.parts.clock.now();
        let user = User::new(UserId(Uuid::now_v7()), username, password_hash.to_owned(), role, now);
        assert!(self.parts.store.accounts().add_user(&user).await.unwrap(), "{username} is taken");
        user
    }

    /// A session that begins so long from now, without a log-in.
    async fn open_session(&self, user: &User, from_now: SignedDuration) -> TestClient<'_> {
        self.open_session_from(user, from_now, "127.0.0.1").await
    }

    async fn open_session_from(&self, user: &User, from_now: SignedDuration, address: &str) -> TestClient<'_> {
        let session = Session::of(user, self.parts.clock.now() + from_now);
        let (id, issued_at, expires_at) = (session.id, session.issued_at, session.expires_at());
        let (address, agent) = (address.to_owned(), String::new());
        let row = NewSession { id, issued_at, expires_at, address, agent, is_proved: true };
        assert!(self.parts.store.sessions().open_session(user, &row).await.unwrap());
        let cookie = self.parts.accounts().cookie(&session);
        let pair = cookie.to_str().unwrap().split(';').next().unwrap();
        self.browser(pair)
    }

    /// A browser with this cookie.
    fn browser(&self, cookie: impl Into<String>) -> TestClient<'_> {
        TestClient { cookie: Some(cookie.into()), ..self.visitor() }
    }

    async fn user(&self, name: &str) -> User {
        self.parts.store.accounts().user_named(name).await.unwrap().unwrap()
    }

    /// Sends this from another address, through a proxy that [`behind_a_proxy`] trusts.
    async fn post_from(&self, address: &str, path: &str, json: Value) -> TestResponse {
        self.visitor().send("POST", path, &[JSON, ("x-forwarded-for", address)], json.to_string()).await
    }

    async fn log_in(&self, username: &str, password: &str) -> TestClient<'_> {
        let answer = self.visitor().try_log_in(username, password).await;
        assert_eq!(answer.status, 200);
        self.browser(answer.cookie())
    }

    /// A member of the staff with this role.
    async fn staff(&self, owner: &TestClient<'_>, name: &str, role: Role) -> TestClient<'_> {
        let id = self.add_account(name, PASSWORD.1, Role::User).await.id;
        let owner = self.parts.accounts().session(&owner.headers()).unwrap();
        self.parts.accounts().change_account(&owner, id, &AccountChange::SetRole(role)).await.unwrap();
        let user = self.user(name).await;
        // The change ended all sessions that began until now.
        self.open_session(&user, SignedDuration::from_millis(1)).await
    }

    /// The shop with an open sale of so many units, which its owner has made.
    async fn selling(self, total: i64) -> (TestShop, String) {
        let sale = self.sell(total).await;
        (self, sale)
    }

    /// The same in a shop that is open.
    async fn sell(&self, total: i64) -> String {
        self.open_sale(&self.admin().await, total).await
    }

    /// An open sale of `total` units, at most two per user.
    async fn open_sale(&self, admin: &TestClient<'_>, total: i64) -> String {
        self.open_sale_at(admin, total, cny(199_900)).await
    }

    async fn open_sale_at(&self, admin: &TestClient<'_>, total: i64, price: Value) -> String {
        let id = admin.announce(json!({"price": price, "total": total, "per_user_limit": total.min(2)})).await;
        assert_eq!(admin.post(&format!("/api/admin/sales/{id}/start"), json!({})).await.status, 200);
        self.parts.gate.refresh().await;
        id
    }
}

impl TestClient<'_> {
    async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> TestResponse {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        let sent = axum::body::to_bytes(body.into(), usize::MAX).await.unwrap();
        let asked = format!("{method} {path} {:.500}", String::from_utf8_lossy(&sent));
        let response = self.shop.router.clone().oneshot(request.body(Body::from(sent)).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let answer = TestResponse { asked, status: parts.status, headers: parts.headers, body };
        document::check(method, path, &answer);
        answer
    }

    /// The headers with the cookie of the session.
    fn headers(&self) -> HeaderMap {
        let pairs = self.cookie.iter().map(|cookie| (axum::http::header::COOKIE, cookie.parse().unwrap()));
        HeaderMap::from_iter(pairs)
    }

    /// Gets a page as a browser does: a page that is being computed is loaded again until it is there.
    async fn get(&self, path: &str) -> TestResponse {
        loop {
            let answer = self.send("GET", path, &[], Body::empty()).await;
            if answer.header("refresh").is_empty() {
                return answer;
            }
        }
    }

    /// Opens the link of a message: its token moves into a cookie.
    async fn open_link(&self, path: &str) -> TestResponse {
        let moved = self.send("GET", path, &[], Body::empty()).await;
        let page = path.split('?').next().unwrap();
        assert!(moved.leads_to(page) && moved.header("referrer-policy") == "no-referrer", "{moved:?}");
        self.shop.browser(moved.cookie()).get(page).await
    }

    async fn post(&self, path: &str, json: Value) -> TestResponse {
        self.send("POST", path, &[JSON], json.to_string()).await
    }

    async fn put(&self, path: &str, json: Value) -> TestResponse {
        self.send("PUT", path, &[JSON], json.to_string()).await
    }

    async fn patch(&self, path: &str, json: Value) -> TestResponse {
        self.send("PATCH", path, &[JSON], json.to_string()).await
    }

    async fn delete(&self, path: &str) -> TestResponse {
        self.send("DELETE", path, &[], Body::empty()).await
    }

    /// Sends a change of the version that was read.
    async fn change(&self, method: &str, path: &str, version: &str, json: Value) -> TestResponse {
        self.send(method, path, &[JSON, ("if-match", version)], json.to_string()).await
    }

    async fn post_keyed(&self, path: &str, key: &str, json: Value) -> TestResponse {
        self.send("POST", path, &[JSON, ("idempotency-key", key)], json.to_string()).await
    }

    async fn try_log_in(&self, username: &str, password: &str) -> TestResponse {
        self.post("/api/login", json!({"username": username, "password": password})).await
    }

    /// Deletes the account of this name and the usual password.
    async fn delete_account(&self, username: &str) -> TestResponse {
        self.post("/api/account/delete", json!({"username": username, "password": PASSWORD.0})).await
    }

    /// Makes goods, and returns their id.
    async fn new_goods(&self) -> String {
        let goods = json!({"name": {"zh": "手机", "en": "Phone"}, "description": {"zh": "", "en": ""}});
        let made = self.post("/api/admin/goods", goods).await.is(201).json();
        made["goods"]["id"].as_str().unwrap().to_owned()
    }

    /// Makes a sale with these fields, of new goods unless they say of which, and returns its id.
    async fn new_sale(&self, fields: Value) -> String {
        let mut sale = json!({"price": cny(199_900), "total": 5, "per_user_limit": 1});
        sale.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        if sale["goods_id"].is_null() {
            sale["goods_id"] = json!(self.new_goods().await);
        }
        let made = self.post("/api/admin/sales", sale).await.is(201).json();
        made["sale"]["id"].as_str().unwrap().to_owned()
    }

    async fn send_form(&self, path: &str, form: &str) -> TestResponse {
        self.send("POST", path, &[("content-type", "application/x-www-form-urlencoded")], form.to_owned()).await
    }

    /// The audit log, the latest entry first.
    async fn audit_log(&self) -> Value {
        self.get("/api/admin/audit-log").await.json()["entries"].clone()
    }

    /// Adds goods. Returns their id.
    /// As `new_sale`, with a day of opening that is far away.
    async fn announce(&self, fields: Value) -> String {
        let mut sale = json!({"opens_at": "2099-01-01T00:00:00Z"});
        sale.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.new_sale(sale).await
    }

    /// Buys one unit. Returns the id of the order and the address of its status.
    async fn order(&self, sale: &str) -> (String, String) {
        let receipt = self.buy(sale, 1).await.json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&receipt["order"]["id"]), text(&receipt["status_url"]))
    }

    async fn begin_payment(&self, order: &str) -> Value {
        self.post(&format!("{order}/payments"), json!({})).await.json()
    }

    /// Fetches a token and buys.
    async fn buy(&self, sale: &str, quantity: i64) -> TestResponse {
        let token = self.post(&format!("/api/sales/{sale}/token"), json!({})).await.json();
        self.post(&format!("/api/sales/{sale}/orders"), json!({"quantity": quantity, "token": token["token"]})).await
    }
}

impl TestResponse {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Status and code of a problem response.
    fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        (self.status.as_u16(), self.json()["code"].as_str().unwrap().to_owned())
    }

    /// The names of the fields that a problem response names.
    fn fields(&self) -> Vec<Value> {
        self.json()["fields"].as_array().unwrap().iter().map(|field| field["field"].clone()).collect()
    }

    /// The code of a problem response, empty for any other response.
    fn code(&self) -> String {
        let json = serde_json::from_slice::<Value>(&self.body).unwrap_or_default();
        json["code"].as_str().unwrap_or_default().to_owned()
    }

    fn is_page(&self, status: u16) -> bool {
        self.status == status && self.header("content-type") == "text/html; charset=utf-8"
    }

    /// Has this status.
    #[track_caller]
    fn is(self, status: u16) -> TestResponse {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Is a problem with this status and code.
    #[track_caller]
    fn refuses(self, status: u16, code: &str) -> TestResponse {
        assert_eq!(self.problem(), problem(status, code), "{self:?}");
        self
    }

    /// Names this field, and no other, as wrong.
    #[track_caller]
    fn wrong(self, field: &str, code: &str) -> TestResponse {
        assert_eq!(self.json()["fields"], json!([{"field": field, "code": code}]), "{self:?}");
        self
    }

    /// Is a page of this status with all of these parts.
    #[track_caller]
    fn shows(self, status: u16, parts: &[&str]) -> TestResponse {
        assert!(self.is_page(status), "{self:?}");
        self.has(parts)
    }

    /// Has all of these parts in its text.
    #[track_caller]
    fn has(self, parts: &[&str]) -> TestResponse {
        for part in parts {
            assert!(self.text().contains(part), "{}: no {part}: {}", self.asked, self.text());
        }
        self
    }

    /// Has none of these parts in its text.
    #[track_caller]
    fn lacks(self, parts: &[&str]) -> TestResponse {
        for part in parts {
            assert!(!self.text().contains(part), "{}: {part}: {}", self.asked, self.text());
        }
        self
    }

    /// Leads to this path.
    #[track_caller]
    fn leads(self, path: &str) -> TestResponse {
        assert!(self.leads_to(path), "not to {path}: {self:?}");
        self
    }

    fn leads_to(&self, path: &str) -> bool {
        self.status == 303 && self.header("location") == path
    }

    fn cookie(&self) -> String {
        self.header("set-cookie").split(';').next().unwrap().to_owned()
    }

    /// The value of the first field of this name in the forms of a page.
    fn value_of(&self, field: &str) -> &str {
        between(self.text(), &format!("name=\"{field}\" value=\""), "\"")
    }

    /// The address of the first form of a page whose address has such a part.
    fn action(&self, part: &str) -> String {
        let action = self.text().split("action=\"").find(|rest| rest.split('"').next().unwrap().contains(part));
        action.unwrap().split('"').next().unwrap().replace("&amp;", "&").replace("&#38;", "&")
    }
}

/// What stands between the first such beginning and the end after it.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(begin).unwrap_or_else(|| panic!("no {begin} in {text}"));
    rest.split(end).next().unwrap()
}

#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

fn behind_a_proxy(config: &mut Config) {
    config.web.trusted_proxies = vec![base::config::Cidr::parse("127.0.0.1").unwrap()];
}

fn problem(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

fn cny(amount: i64) -> Value {
    json!({"amount": amount, "currency": "CNY"})
}

/// This field of each item of a list.
fn each(list: &Value, field: &str) -> Vec<Value> {
    list.as_array().unwrap().iter().map(|item| item[field].clone()).collect()
}
