//! The shop as its visitors meet it: requests against the router on the lowest rung, without a socket.

mod accounts;
mod addresses;
mod administrators;
mod cockpit;
mod duties;
mod everybody;
mod goods;
mod packet_pages;
mod packets;
mod planning;
mod shoppers;
mod support;
mod wallet;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use crate::app::Services;
use crate::config::{Config, sqlite_in};

/// A shop of one's own.
struct TestShop {
    parts: Services,
    router: Router,
    _dir: TempDir,
}

/// Somebody with a browser or a program, signed in or not.
struct Guest<'a> {
    shop: &'a TestShop,
    cookie: Option<String>,
    password: Option<String>,
}

#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl TestShop {
    async fn open() -> TestShop {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::defaults();
        config.data_dir = dir.path().to_owned();
        config.database_url = sqlite_in(dir.path());
        config.web.user_rate = 1000;
        let parts = Services::build(&config).await.unwrap();
        parts.catalogue.refresh().await.unwrap();
        crate::control::publish(&parts.catalogue, &parts.pages).unwrap();
        TestShop { router: parts.router(), parts, _dir: dir }
    }

    fn anybody(&self) -> Guest<'_> {
        Guest { shop: self, cookie: None, password: None }
    }

    async fn shopper(&self, username: &str) -> Guest<'_> {
        let credentials = json!({"username": username, "password": "correct horse"});
        let answer = self.anybody().post("/api/register", credentials).await;
        assert_eq!(answer.status, 201);
        Guest { cookie: Some(answer.cookie()), ..self.anybody() }
    }

    async fn admin(&self) -> Guest<'_> {
        let password = self.parts.accounts().ensure_admin(None).await.unwrap().unwrap();
        Guest { password: Some(password.clone()), ..self.log_in("admin", &password).await }
    }

    async fn log_in(&self, username: &str, password: &str) -> Guest<'_> {
        let answer = self.anybody().post("/api/login", json!({"username": username, "password": password})).await;
        assert_eq!(answer.status, 200);
        Guest { cookie: Some(answer.cookie()), ..self.anybody() }
    }

    /// A sale that is open, of so many units, one or two for each.
    async fn open_sale(&self, admin: &Guest<'_>, total: i64) -> String {
        let goods = json!({"name": {"zh": "手机", "en": "Phone"}, "description": {"zh": "", "en": ""}});
        let goods = admin.post("/api/admin/goods", goods).await.json();
        let sale = json!({
            "goods_id": goods["goods"]["id"], "price": {"amount": 199_900, "currency": "CNY"},
            "total": total, "per_user_limit": 2, "opens_at": "2099-01-01T00:00:00Z",
        });
        let sale = admin.post("/api/admin/sales", sale).await.json();
        let id = sale["sale"]["id"].as_str().unwrap().to_owned();
        assert_eq!(admin.post(&format!("/api/admin/sales/{id}/start"), json!({})).await.status, 200);
        self.parts.gate.refresh().await;
        id
    }
}

impl Guest<'_> {
    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        let response = self.shop.router.clone().oneshot(request.body(body.into()).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    /// What the guest's browser sends.
    fn headers(&self) -> HeaderMap {
        let pairs = self.cookie.iter().map(|cookie| (axum::http::header::COOKIE, cookie.parse().unwrap()));
        HeaderMap::from_iter(pairs)
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], Body::empty()).await
    }

    async fn post(&self, path: &str, json: Value) -> Answer {
        self.ask("POST", path, &[("content-type", "application/json")], json.to_string()).await
    }

    async fn send_form(&self, path: &str, form: &str) -> Answer {
        self.ask("POST", path, &[("content-type", "application/x-www-form-urlencoded")], form.to_owned()).await
    }

    /// Fetches a token and buys.
    async fn buy(&self, sale: &str, quantity: i64) -> Answer {
        let token = self.post(&format!("/api/sales/{sale}/token"), json!({})).await.json();
        self.post(&format!("/api/sales/{sale}/orders"), json!({"quantity": quantity, "token": token["token"]})).await
    }
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Status and code of a problem.
    fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        (self.status.as_u16(), self.json()["code"].as_str().unwrap().to_owned())
    }

    /// The code of a problem, empty for any other answer.
    fn code(&self) -> String {
        let json = serde_json::from_slice::<Value>(&self.body).unwrap_or_default();
        json["code"].as_str().unwrap_or_default().to_owned()
    }

    fn is_page(&self, status: u16) -> bool {
        self.status == status && self.header("content-type") == "text/html; charset=utf-8"
    }

    fn leads_to(&self, path: &str) -> bool {
        self.status == 303 && self.header("location") == path
    }

    fn cookie(&self) -> String {
        self.header("set-cookie").split(';').next().unwrap().to_owned()
    }
}

fn problem(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}
