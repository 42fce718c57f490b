//! The permission that each path of the console needs, as one table. Every path has a row.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::filled;
use super::*;

macro_rules! rows {
    (own: [$($own:expr,)*], both: [$(($method:literal, $path:literal, $permission:literal),)*]) => {
        &[$($own,)* $(($method, $path, $permission), ($method, concat!("/api", $path), $permission),)*]
    };
}

/// Method, path, and the permission it needs: `l` for `ViewConsole`, `r` for `ManageSales`, `h` for `SupportShoppers`,
/// `a` for `ReadAddresses`, `AnswerQuestions` and `DecideApprovals`, which the same roles have, `o` for `ManageStaff`, `ViewBooks`,
/// `ViewSecurity`, `ReadMail` and `ManageWebhooks`. The paths under `both` are those of pages and, behind `/api`, of
/// programs.
pub(super) const TABLE: &[(&str, &str, char)] = rows!(
    own: [
        ("GET", "/admin", 'l'),
        ("GET", "/admin/", 'l'),
        ("GET", "/admin/log", 'l'),
        ("POST", "/admin/users/bulk", 'h'),
        ("POST", "/admin/users/bulk/block", 'h'),
        ("POST", "/admin/users/bulk/unblock", 'h'),
        ("POST", "/admin/orders/bulk", 'h'),
        ("GET", "/admin/orders/invoices", 'l'),
        ("POST", "/admin/orders/invoices/issued", 'h'),
        ("GET", "/admin/orders/{order}/receipt", 'l'),
        ("GET", "/admin/goods/import", 'l'),
        ("GET", "/admin/sales/{sale}/decisions", 'l'),
        ("POST", "/admin/sales/{sale}/front", 'r'),
        ("PUT", "/api/admin/sales/{sale}/front", 'r'),
        ("GET", "/admin/orders/shipping", 'l'),
        ("POST", "/admin/orders/shipping", 'r'),
        ("GET", "/api/admin/shipping", 'l'),
        ("PUT", "/api/admin/shipping", 'r'),
        ("GET", "/api/admin/invoices", 'l'),
        ("GET", "/api/admin/invoices.csv", 'l'),
        ("POST", "/api/admin/invoices/{order}/issued", 'h'),
        ("POST", "/admin/orders/bulk/pack", 'h'),
        ("POST", "/admin/orders/bulk/ship", 'h'),
        ("POST", "/admin/orders/bulk/deliver", 'h'),
        ("GET", "/admin/orders/parcels", 'l'),
        ("POST", "/admin/orders/parcels/apply", 'h'),
        ("POST", "/admin/orders/bulk/cancel", 'h'),
        ("POST", "/admin/orders/bulk/refund", 'h'),
        ("POST", "/admin/orders/bulk/hold", 'h'),
        ("POST", "/admin/orders/bulk/release", 'h'),
        ("GET", "/admin/search", 'l'),
        ("GET", "/admin/search.json", 'l'),
        ("POST", "/admin/density", 'l'),
        ("POST", "/admin/views", 'l'),
        ("POST", "/admin/views/{view}/rename", 'l'),
        ("POST", "/admin/views/{view}/delete", 'l'),
        ("POST", "/admin/staff/appoint", 'o'),
        ("POST", "/admin/staff/{user}/role", 'o'),
        ("POST", "/admin/staff/{user}/dismiss", 'o'),
        ("POST", "/admin/staff/{user}/reset-second-factor", 'o'),
        ("POST", "/admin/crowd", 'r'),
        ("POST", "/admin/sales/bulk", 'r'),
        ("POST", "/admin/sales/bulk/{action}", 'r'),
        ("GET", "/admin/sales/new", 'l'),
        ("GET", "/admin/sales/preview", 'l'),
        ("GET", "/admin/sales/{sale}/report", 'l'),
        ("GET", "/admin/sales/{sale}/report.csv", 'l'),
        ("GET", "/admin/calendar", 'l'),
        ("GET", "/admin/sales/{sale}/edit", 'l'),
        ("POST", "/admin/sales/{sale}/edit", 'r'),
        ("POST", "/admin/sales/{sale}/delete", 'r'),
        ("DELETE", "/api/admin/sales/{sale}", 'r'),
        ("GET", "/api/admin/sales/{sale}/checklist", 'l'),
        ("POST", "/admin/sales/{sale}/clusters/{user}/hold", 'h'),
        ("POST", "/admin/sales/{sale}/clusters/{user}/release", 'h'),
        ("POST", "/admin/sales/{sale}/clusters/{user}/refund", 'h'),
        ("GET", "/admin/sales/{sale}/draw", 'l'),
        ("POST", "/admin/sales/{sale}/draw/dry-run", 'r'),
        ("GET", "/admin/system", 'l'),
        ("GET", "/api/admin/sales/{sale}/live", 'l'),
        ("GET", "/admin/pages", 'l'),
        ("POST", "/admin/pages/{page}", 'r'),
        ("GET", "/admin/shop", 'l'),
        ("POST", "/admin/shop", 'r'),
        ("POST", "/admin/shop/logo/{verb}", 'r'),
        ("POST", "/admin/shop/steps", 'o'),
        ("GET", "/admin/goods/new", 'l'),
        ("GET", "/admin/goods/categories", 'l'),
        ("POST", "/admin/goods/categories", 'r'),
        ("POST", "/admin/goods/categories/{category}", 'r'),
        ("POST", "/admin/goods/categories/{category}/move", 'r'),
        ("POST", "/admin/goods/categories/{category}/delete", 'r'),
        ("GET", "/api/admin/categories", 'l'),
        ("POST", "/api/admin/categories", 'r'),
        ("PUT", "/api/admin/categories", 'r'),
        ("GET", "/api/admin/categories/{category}", 'l'),
        ("PATCH", "/api/admin/categories/{category}", 'r'),
        ("DELETE", "/api/admin/categories/{category}", 'r'),
        ("POST", "/admin/goods/{goods}", 'r'),
        ("PATCH", "/api/admin/goods/{goods}", 'r'),
        ("PUT", "/api/admin/goods/{goods}/image", 'r'),
        ("POST", "/api/admin/goods/{goods}/pictures", 'r'),
        ("PUT", "/api/admin/goods/{goods}/pictures", 'r'),
        ("DELETE", "/api/admin/goods/{goods}/pictures/{name}", 'r'),
        ("GET", "/api/admin/sales", 'l'),
        ("PATCH", "/api/admin/sales/{sale}", 'r'),
        ("GET", "/admin/orders/books", 'o'),
        ("GET", "/api/admin/books", 'o'),
        ("GET", "/admin/orders/settlements", 'o'),
        ("POST", "/admin/orders/settlements/{provider}/{day}/again", 'o'),
        ("GET", "/api/admin/settlements", 'o'),
        ("GET", "/api/admin/settlements/{provider}/{day}", 'o'),
        ("POST", "/api/admin/settlements/{provider}/{day}/again", 'o'),
        ("GET", "/api/admin/books/journal.csv", 'o'),
        ("GET", "/admin/orders/payments", 'l'),
        ("POST", "/admin/orders/payments/{case}/refund", 'h'),
        ("POST", "/admin/orders/payments/{case}/settle", 'h'),
        ("GET", "/admin/orders/approvals", 'l'),
        ("POST", "/admin/orders/approvals/{approval}/approve", 'a'),
        ("POST", "/admin/orders/approvals/{approval}/decline", 'a'),
        ("GET", "/api/admin/approvals", 'l'),
        ("GET", "/api/admin/approvals/{approval}", 'l'),
        ("POST", "/api/admin/approvals/{approval}/approve", 'a'),
        ("POST", "/api/admin/approvals/{approval}/decline", 'a'),
        ("POST", "/admin/orders/{order}/uphold", 'h'),
        ("GET", "/api/admin/orders.csv", 'l'),
        ("GET", "/api/admin/orders/changes", 'l'),
        ("GET", "/api/admin/payment-cases", 'l'),
        ("GET", "/api/admin/payment-cases/{case}", 'l'),
        ("POST", "/api/admin/payment-cases/{case}/refund", 'h'),
        ("POST", "/api/admin/payment-cases/{case}/settle", 'h'),
        ("GET", "/admin/packets/new", 'r'),
        ("GET", "/admin/packets/{packet}", 'l'),
        ("PATCH", "/api/admin/staff/{user}", 'o'),
        ("DELETE", "/api/admin/staff/{user}", 'o'),
        ("DELETE", "/api/admin/staff/{user}/second-factor", 'o'),
        ("POST", "/admin/tokens/{token}/revoke", 'o'),
        ("GET", "/api/admin/tokens", 'o'),
        ("DELETE", "/api/admin/tokens/{token}", 'o'),
        ("GET", "/api/admin/audit-log", 'l'),
        ("POST", "/admin/questions/{question}/answer", 'a'),
        ("PUT", "/api/admin/questions/{question}/answer", 'a'),
        ("GET", "/admin/security", 'o'),
        ("GET", "/admin/mail", 'o'),
        ("GET", "/api/admin/staff-policy", 'o'),
        ("PUT", "/api/admin/staff-policy", 'o'),
        ("POST", "/admin/staff/policy", 'o'),
        ("GET", "/admin/step-up", 'l'),
        ("POST", "/admin/step-up", 'l'),
        ("GET", "/api/admin/security-events", 'o'),
        ("GET", "/api/admin/webhooks", 'o'),
        ("PATCH", "/api/admin/webhooks/{webhook}", 'o'),
        ("DELETE", "/api/admin/webhooks/{webhook}", 'o'),
        ("GET", "/api/admin/webhooks/{webhook}/deliveries", 'o'),
        ("POST", "/admin/webhooks/{webhook}", 'o'),
        ("POST", "/admin/webhooks/{webhook}/switch", 'o'),
        ("POST", "/admin/webhooks/{webhook}/delete", 'o'),
    ],
    both: [
        ("POST", "/admin/goods/import", 'r'),
        ("GET", "/admin/sales/{sale}/front", 'l'),
        ("POST", "/admin/orders/{order}/return/accept", 'h'),
        ("POST", "/admin/orders/{order}/return/refuse", 'h'),
        ("POST", "/admin/orders/{order}/return/receive", 'h'),
        ("POST", "/admin/orders/{order}/parcel", 'h'),
        ("POST", "/admin/orders/parcels", 'h'),
        ("POST", "/admin/sales/{sale}/schedule", 'r'),
        ("POST", "/admin/sales/{sale}/unschedule", 'r'),
        ("POST", "/admin/sales/{sale}/queue", 'r'),
        ("GET", "/admin/sales/{sale}/codes", 'l'),
        ("POST", "/admin/sales/{sale}/codes", 'r'),
        ("POST", "/admin/sales/{sale}/codes/revoke", 'r'),
        ("POST", "/admin/sales/{sale}/draw/round", 'r'),
        ("POST", "/admin/sales/{sale}/draw/call-off", 'r'),
        ("POST", "/admin/sales/{sale}/draw/later-round", 'r'),
        ("POST", "/admin/sales/{sale}/draw/entries/{entry}/exclude", 'r'),
        ("GET", "/admin/sales/{sale}/clusters", 'l'),
        ("GET", "/admin/sales/{sale}/clusters/{user}", 'l'),
        ("GET", "/admin/dead-letters", 'l'),
        ("POST", "/admin/dead-letters/replay", 'r'),
        ("POST", "/admin/dead-letters/discard", 'r'),
        ("GET", "/admin/goods", 'l'),
        ("POST", "/admin/goods", 'r'),
        ("GET", "/admin/goods/{goods}", 'l'),
        ("POST", "/admin/goods/{goods}/archive", 'r'),
        ("POST", "/admin/goods/{goods}/unarchive", 'r'),
        ("POST", "/admin/sales", 'r'),
        ("GET", "/admin/sales/{sale}", 'l'),
        ("POST", "/admin/sales/{sale}/start", 'r'),
        ("POST", "/admin/sales/{sale}/pause", 'r'),
        ("POST", "/admin/sales/{sale}/resume", 'r'),
        ("POST", "/admin/sales/{sale}/stop", 'r'),
        ("POST", "/admin/sales/{sale}/top-up", 'r'),
        ("GET", "/admin/orders", 'l'),
        ("GET", "/admin/orders/{order}", 'l'),
        ("POST", "/admin/orders/{order}/cancel", 'h'),
        ("POST", "/admin/orders/{order}/hold", 'h'),
        ("POST", "/admin/orders/{order}/release", 'h'),
        ("POST", "/admin/orders/{order}/refund", 'h'),
        ("POST", "/admin/orders/{order}/refund-part", 'h'),
        ("GET", "/admin/packets", 'l'),
        ("POST", "/admin/packets", 'r'),
        ("POST", "/admin/packets/{packet}/stop", 'r'),
        ("GET", "/admin/users", 'l'),
        ("GET", "/admin/users/{user}", 'l'),
        ("POST", "/admin/users/{user}/block", 'h'),
        ("POST", "/admin/users/{user}/unblock", 'h'),
        ("POST", "/admin/users/{user}/end-sessions", 'h'),
        ("GET", "/admin/staff", 'o'),
        ("POST", "/admin/staff", 'o'),
        ("POST", "/admin/tokens", 'o'),
        ("POST", "/admin/orders/{order}/recipient", 'a'),
        ("GET", "/admin/questions", 'l'),
        ("GET", "/admin/questions/{question}", 'l'),
        ("POST", "/admin/questions/{question}/hide", 'a'),
        ("POST", "/admin/questions/{question}/unhide", 'a'),
        ("POST", "/admin/users/{user}/start-recovery", 'h'),
        ("POST", "/admin/staff/{user}/reset-password", 'o'),
        ("POST", "/admin/webhooks", 'o'),
        ("GET", "/admin/webhooks/{webhook}", 'o'),
        ("POST", "/admin/webhooks/{webhook}/secret", 'o'),
        ("POST", "/admin/webhooks/{webhook}/rotate", 'o'),
        ("POST", "/admin/webhooks/{webhook}/test", 'o'),
        ("POST", "/admin/webhooks/{webhook}/replay", 'o'),
    ]
);

/// Every method and path of the console in one function of a router's source.
pub(super) fn routes_of(source: &str, function: &str) -> BTreeSet<(String, String)> {
    let body = source.split(&format!("fn {function}(")).nth(1).and_then(|rest| rest.split("\n}\n").next());
    routes_in(body.expect("the function"))
}

fn routes_in(source: &str) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for route in source.split(".route(").skip(1) {
        let Some(path) = route.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next()) else { continue };
        if !(path.starts_with("/admin") || path.starts_with("/api/admin")) {
            continue;
        }
        let handlers = route.split("\n        .").next().unwrap_or(route);
        for method in ["get", "post", "put", "patch", "delete"] {
            let called = |mark: char| handlers.contains(&format!("{mark}{method}("));
            if called(' ') || called('(') || (method == "get" && handlers.contains("tabs(")) {
                found.insert((method.to_uppercase(), path.to_owned()));
            }
        }
    }
    found
}

#[test]
fn every_path_of_the_console_has_a_row() {
    let rows: BTreeSet<_> = TABLE.iter().map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned())).collect();
    let routes = routes_in(include_str!("../../src/console/routes.rs"));
    assert!(routes.len() > 30, "the source of the router could not be parsed");
    assert_eq!(routes.symmetric_difference(&rows).collect::<Vec<_>>(), Vec::<&(String, String)>::new());
}

pub(super) fn may_pass(role: Role, permission: char) -> bool {
    match role {
        Role::Admin => true,
        Role::Operator => "lra".contains(permission),
        Role::Support => "lha".contains(permission),
        Role::Viewer => permission == 'l',
        Role::User => false,
    }
}

#[tokio::test]
async fn each_role_has_its_permissions_and_no_others() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let owner = shop.parts.accounts().session(&admin.headers()).unwrap();
    for role in Role::ALL {
        let name = format!("some-{}", role.as_str());
        let mut client = shop.shopper(&name).await;
        let id = shop.parts.store.accounts().user_named(&name).await.unwrap().unwrap().id;
        if role != Role::User {
            let change = AccountChange::SetRole(role);
            shop.parts.accounts().change_account(&owner, id, &change).await.unwrap();
            assert_eq!(client.get("/api/me").await.status, 401, "a new role ends the old sessions");
            client = shop.log_in(&name, "correct horse").await;
        }
        for (method, path, permission) in TABLE {
            // Ids that do not exist: a request that passes changes nothing.
            let path = filled(&path.replace("{action}", "pause"));
            let json = [("content-type", "application/json")];
            let form = [("content-type", "application/x-www-form-urlencoded")];
            let answer = match path.starts_with("/api/") {
                true => client.send(method, &path, &json, "{}").await,
                false => client.send(method, &path, &form, "").await,
            };
            let code = answer.code();
            let (status, expected) = match (role, may_pass(role, *permission)) {
                (Role::User, _) => (404, "not_found"),
                (_, false) => (403, "not_allowed"),
                (_, true) => {
                    assert_ne!(
                        (answer.status.as_u16(), code.as_str()),
                        (403, "not_allowed"),
                        "{role:?} {method} {path}"
                    );
                    continue;
                }
            };
            assert_eq!(answer.status, status, "{role:?} {method} {path}");
            if path.starts_with("/api/") {
                assert_eq!(code, expected, "{role:?} {method} {path}");
            }
        }
        let console = client.get("/admin?lang=en").await;
        assert_eq!(console.text().contains("/admin/orders/books?"), role == Role::Admin, "{role:?}");
        for (page, tab) in [("users", "staff"), ("log", "security"), ("system", "mail"), ("system", "webhooks")] {
            let page = client.get(&format!("/admin/{page}?lang=en")).await;
            assert_eq!(page.text().contains(&format!("show={tab}&#38;lang")), role == Role::Admin, "{role:?} {tab}");
        }
    }
}

#[tokio::test]
async fn visitor_is_led_from_pages_to_the_login_and_back_and_finds_nothing_else() {
    let shop = TestShop::open().await;
    let visitor = shop.visitor();
    let form = [("content-type", "application/x-www-form-urlencoded")];
    for (method, path, _) in TABLE {
        let path = path.replace(['{', '}'], "");
        let answer = visitor.send(method, &path, &form, "").await;
        let is_page = *method == "GET" && !path.starts_with("/api/");
        assert_eq!(answer.status, if is_page { 303 } else { 404 }, "{method} {path}");
    }
    assert_eq!(visitor.get("/admin?lang=en").await.header("location"), "/en/login?next=%2Fadmin%3Flang%3Den");
}

#[tokio::test]
async fn each_page_of_the_console_has_a_title_of_its_own() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let mut pages = BTreeMap::new();
    for (method, path, _) in TABLE {
        // Without a recent password, other pages show the step-up page instead. Some addresses only redirect, and the
        // preview is a part of a page.
        let is_part = ["/admin/step-up", "/admin/sales/preview"].contains(path);
        let is_other = path.contains(['{', '.']) || path.ends_with('/') || is_part;
        if *method != "GET" || path.starts_with("/api/") || is_other {
            continue;
        }
        let answer = admin.get(&format!("{path}?lang=en")).await;
        if answer.status == 303 {
            continue;
        }
        let title = answer.text().split(['<', '>']).skip_while(|tag| *tag != "title").nth(1).unwrap_or_default();
        assert!(answer.status == 200 && title.ends_with(" · Admin console"), "{path}: {} {title:?}", answer.status);
        assert_eq!(pages.insert(title.to_owned(), path), None, "{path}: {title:?}");
    }
    assert!(pages.len() > 10);
}
