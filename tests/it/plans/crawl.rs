//! Requests every GET address of the router, and every link and cursor in the answers once per shape.

use std::collections::{BTreeSet, VecDeque};
use std::ops::RangeInclusive;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::rows;

/// Event streams do not end.
const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// Searches that no link leads to.
const SEARCHES: &[&str] = &[
    "/admin/orders?status=paid",
    "/admin/orders?status=unpaid",
    "/admin/orders?sale={sale}",
    "/admin/orders?user=mei",
    "/admin/orders?user=mei&status=cancelled",
    "/admin/orders?order={order}",
    "/admin/orders?order=20260101-000007&sort=oldest",
    "/admin/orders?from=2026-01-01&to=2026-02-01",
    "/admin/orders?sort=oldest",
    "/admin/orders?sort=oldest&status=paid",
    "/admin/orders?sort=oldest&sale={sale}",
    "/admin/orders?sort=oldest&user=mei",
    "/admin/orders?held=true",
    "/admin/orders?parcel=to_pack&held=false",
    "/admin/orders/invoices",
    "/admin/orders/invoices?issued=true",
    "/admin/orders/books?show=settlements&provider=wechatpay&day=2026-11-28",
    "/admin/orders?parcel=packed&held=false",
    "/admin/orders?parcel=packed&sort=oldest",
    "/admin/orders?return=asked",
    "/admin/system?show=webhooks",
    "/admin/search?q=me",
    "/admin/search?q={order}",
    "/admin/search?q=20260101-000007&lang=en",
    "/admin/search.json?q=user1",
    "/admin/search.json?q=question",
    "/admin/questions?status=answered",
    "/admin/questions?status=hidden",
    "/api/admin/questions",
    "/api/admin/questions?status=answered",
    "/admin/users?sort=oldest",
    "/admin/users?sort=name",
    "/admin/log?sort=oldest",
    "/admin/log?sort=oldest&action=cancel",
    "/admin/log?sort=oldest&actor=admin",
    "/api/admin/orders?status=paid&limit=100",
    "/api/admin/orders?status=refunded",
    "/api/admin/orders?sale={sale}",
    "/api/admin/orders?user=mei",
    "/api/admin/orders/changes?after=70",
    "/api/admin/users?name=me",
    "/admin/users?q=me",
    "/api/admin/users?q=user1",
    "/admin/users?name=me",
    "/api/orders?status=paid",
    "/en/orders?status=unpaid",
    "/en/orders?status=cancelled",
    "/admin/log?subject=user%20x",
    "/api/admin/audit-log?subject=user%20x",
    "/api/admin/audit-log?actor=admin",
    "/admin/log?action=cancel",
    "/admin/log?action=sign-in",
    "/admin/log?to=2026-01-05",
    "/admin/log?actor=admin",
    "/admin/log?show=security&class=log_in",
    "/admin/log?show=security&class=webhook_refused",
    "/admin/log?show=security&account=mei",
    "/admin/log?show=security&network=10.0.7.0/24",
    "/admin/log?show=security&network=192.0.2.1&class=log_in_failed",
    "/admin/log?show=security&from=2026-01-01&to=2026-01-05",
    "/api/admin/security-events?class=log_in&account=mei",
    "/api/admin/security-events?network=10.0.7.1",
    "/api/admin/security-events?to=2026-01-05",
    "/api/admin/payment-cases?settled=true",
    "/api/admin/approvals?decided=true",
    "/admin/orders?show=approvals&decided=true",
    "/admin/orders/books?from=2026-01-01&to=2026-02-01",
    "/api/admin/books/journal.csv?from=2026-01-01&to=2026-02-01",
    "/api/admin/sales?current=true",
    "/admin/calendar?month=2026-01",
];

pub struct Crawl {
    router: Router,
}

struct Answer {
    status: StatusCode,
    cookie: Option<String>,
    reloads: bool,
    body: String,
}

impl Crawl {
    pub fn new(router: Router) -> Crawl {
        Crawl { router }
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let cookie = answer.headers().get("set-cookie").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (status, reloads) = (answer.status(), answer.headers().contains_key("refresh"));
        let body = axum::body::to_bytes(answer.into_body(), usize::MAX);
        let body = match tokio::time::timeout(READ_TIMEOUT, body).await {
            Ok(body) => String::from_utf8_lossy(&body.unwrap()).into_owned(),
            Err(_) => String::new(),
        };
        Answer { status, cookie, reloads, body }
    }

    /// Signs in, and returns the cookie.
    pub async fn session(&self, path: &str, username: &str, password: &str) -> String {
        let body = json!({"username": username, "password": password}).to_string();
        let request = Request::post(path).header("content-type", "application/json").body(body.into()).unwrap();
        let Answer { status, cookie, body, .. } = self.send(request).await;
        assert!(status.is_success(), "{path}: {status} {body}");
        cookie.unwrap().split(';').next().unwrap().to_owned()
    }

    /// Visits a page as a browser does: a page that is being computed is loaded again until it is there.
    async fn visit(&self, path: &str, session: &str) -> (StatusCode, String) {
        loop {
            let request = Request::get(path).header("cookie", session).body(Body::empty()).unwrap();
            let answer = self.send(request).await;
            if !answer.reloads {
                return (answer.status, answer.body);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Asks for the summary of an action on several sales.
    pub async fn summarize(&self, session: &str, action: &str, sales: RangeInclusive<i64>) -> String {
        let ids: Vec<String> = sales.map(|id| format!("id={id}")).collect();
        let request = Request::post("/admin/sales/bulk?lang=en").header("cookie", session);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let answer = self.send(request.body(format!("{}&action={action}", ids.join("&")).into()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        answer.body
    }

    pub async fn visit_all(&self, session: &str) {
        let mut waiting: VecDeque<String> =
            routes().into_iter().chain(SEARCHES.iter().map(|s| (*s).to_owned())).collect();
        waiting.iter_mut().for_each(|path| *path = rows::fill_in(path));
        let (mut seen, mut with_ids, mut titled_twice) = (BTreeSet::new(), Vec::new(), Vec::new());
        while let Some(path) = waiting.pop_front() {
            if !seen.insert(shape(&path)) {
                continue;
            }
            let (status, body) = self.visit(&path, session).await;
            assert!(!status.is_server_error(), "{path}: {status} {body}");
            waiting.extend(links(&path, &body));
            titled_twice.extend((body.matches("<h1").count() > 1).then(|| path.clone()));
            with_ids.extend(ids_in(&body).into_iter().map(|id| format!("{path}: {id}")));
        }
        assert!(titled_twice.is_empty(), "a page has one heading of the first level: {titled_twice:#?}");
        assert!(with_ids.is_empty(), "people read numbers and names, not ids: {with_ids:#?}");
        assert!(seen.len() > 100, "only {} pages were visited", seen.len());
    }
}

/// The UUIDs, and the ends of UUIDs, in the text of a page. Addresses, what a button copies, and the record of programs that
/// a line of the log unfolds may have them.
fn ids_in(page: &str) -> Vec<String> {
    let page = if page.starts_with("<!") { page } else { "" };
    let (first, rest) = page.split_once("<details class=\"raw\"").unwrap_or((page, ""));
    let unfolded = rest.split("<details class=\"raw\"").filter_map(|part| part.split_once("</details>"));
    let parts = std::iter::once(first).chain(unfolded.map(|(_, text)| text));
    let texts = parts.flat_map(|part| part.split('<')).filter_map(|tag| tag.split_once('>'));
    let shown = texts.filter(|(tag, _)| !tag.starts_with("script")).flat_map(|(_, text)| text.split_whitespace());
    let words = shown
        .filter(|word| !word.contains("://"))
        .flat_map(|word| word.split(|c: char| !c.is_ascii_alphanumeric() && c != '-'));
    let is_id = |word: &&str| {
        let digits = word.bytes().filter(u8::is_ascii_hexdigit).count();
        match word.len() {
            36 => digits == 32 && word.matches('-').count() == 4,
            12 => digits == 12 && (word.starts_with("0000") || word.bytes().any(|c| c.is_ascii_alphabetic())),
            _ => false,
        }
    };
    words.filter(is_id).map(str::to_owned).collect()
}

/// The paths that the router answers to GET, with names in place of ids.
fn routes() -> Vec<String> {
    let sources = [include_str!("../../../src/storefront/routes.rs"), include_str!("../../../src/console/routes.rs")];
    let source = sources.concat();
    let mut found = Vec::new();
    for route in source.split(".route(").skip(1) {
        let handlers = route.split("\n        .").next().unwrap_or(route);
        let Some(path) = handlers.split('"').nth(1).filter(|path| path.starts_with('/') || path.is_empty()) else {
            continue;
        };
        if [" get(", ".get("].iter().any(|get| handlers.contains(get)) {
            let of_locale = handlers.trim_start().starts_with("&at(");
            found.push(if of_locale { format!("/en{path}") } else { path.to_owned() });
        }
    }
    assert!(found.len() > 60, "the source of the router could not be parsed");
    let document: Value = serde_json::from_slice(&seckill::app::DOCUMENT.text()).unwrap();
    let operations = document["paths"].as_object().unwrap().iter();
    // Programs of other shops read the rest.
    let of_shop = operations.filter(|(path, methods)| !path.starts_with("/api/v1/") && methods.get("get").is_some());
    found.extend(of_shop.map(|(path, _)| path.clone()));
    found
}

/// The path without its numbers and ids, and the names in its query.
fn shape(path: &str) -> String {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parts = path.split('/').map(|part| if part.chars().any(|c| c.is_ascii_digit()) { "#" } else { part });
    let statuses = |pair: &str| {
        if pair.starts_with("status=") { pair.to_owned() } else { pair.split('=').next().unwrap().to_owned() }
    };
    let mut query: Vec<String> = query.split('&').map(statuses).collect();
    query.sort();
    format!("{}?{}", parts.collect::<Vec<_>>().join("/"), query.join("&"))
}

/// The links of a page, and the next page of a list.
fn links(path: &str, body: &str) -> Vec<String> {
    if let Ok(Value::Object(json)) = serde_json::from_str(body) {
        let next = json.get("next").map(|next| next.as_str().map_or_else(|| next.to_string(), str::to_owned));
        let next = next.filter(|next| next != "null");
        return next
            .map(|next| {
                let cursor = if path.contains("/changes") { "after" } else { "before" };
                format!("{path}{}{cursor}={next}", if path.contains('?') { '&' } else { '?' })
            })
            .into_iter()
            .collect();
    }
    let targets = body.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let own = targets.filter(|target| target.starts_with("/admin") || target.starts_with("/en"));
    own.map(|target| target.replace("&amp;", "&").replace("&#38;", "&").replace(' ', "%20")).collect()
}
