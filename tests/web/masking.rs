//! Recipients of orders: masked everywhere, in full for a reason that is logged, and in exports of roles that deliver
//! or help.

use super::addresses::delivery;
use super::support::pay;
use super::*;

const SECRETS: [&str; 4] = ["王小美", "13800138000", "文三路", "310000"];

/// An unpaid order with an address. Returns its id, and the address of its status.
async fn unpaid_order(who: &TestClient<'_>, sale: &str) -> (String, String) {
    let (order, url) = who.order(sale).await;
    assert_eq!(who.put(&format!("{url}/address"), delivery("文三路 1 号", SECRETS[0])).await.status, 200);
    (order, url)
}

/// A paid order of mei's with an address, and an invoice in her name. Returns its id, and the address of its status.
async fn order_with_address(shop: &TestShop, admin: &TestClient<'_>, mei: &TestClient<'_>) -> (String, String) {
    let sale = shop.open_sale(admin, 2).await;
    let (order, url) = unpaid_order(mei, &sale).await;
    pay(shop, &mei.begin_payment(&url).await).await;
    assert_eq!(mei.put(&format!("{url}/invoice"), json!({"title": SECRETS[0]})).await.status, 200);
    (order, url)
}

const STAFF: [(&str, Role, bool); 4] = [
    ("vera", Role::Viewer, false),
    ("otto", Role::Operator, true),
    ("sam", Role::Support, true),
    ("olga", Role::Admin, true),
];

#[tokio::test]
async fn recipients_are_masked_except_in_exports_of_roles_that_may_read_them() {
    open_shop!(shop, admin, [mei]);
    let (id, url) = order_with_address(&shop, &admin, &mei).await;
    let paths = [
        (format!("/admin/orders/{id}?lang=zh"), false),
        (format!("/api/admin/orders/{id}"), false),
        ("/api/admin/orders".to_owned(), false),
        ("/api/admin/orders.csv?lang=zh".to_owned(), true),
    ];
    for (name, role, may_read) in STAFF {
        let member = shop.staff(&admin, name, role).await;
        for (path, is_export) in &paths {
            let answer = member.get(path).await;
            assert_eq!(answer.status, 200, "{path}");
            for secret in SECRETS {
                assert_eq!(answer.text().contains(secret), may_read && *is_export, "{name} {path} {secret}");
            }
            assert!(answer.text().contains("杭州市"), "{name} {path}");
        }
        let page = member.get(&paths[0].0).await;
        assert_eq!(page.text().contains(&format!("/admin/orders/{id}/recipient")), may_read, "{name}");
        let invoices = member.get("/api/admin/invoices.csv").await;
        assert_eq!(invoices.text().contains(SECRETS[0]), may_read, "{name}");
    }
    let issued = admin.post(&format!("/api/admin/invoices/{id}/issued"), json!({})).await;
    let log = admin.get("/api/admin/audit-log").await;
    assert!(!issued.text().contains(SECRETS[0]) && !log.text().contains(SECRETS[0]), "{}", log.text());
    let own = mei.get(&url).await;
    assert_eq!(own.json()["order"]["address"]["phone"], "13800138000", "the stored order is as it was");
}

/// Every page and answer of the console, with ids that exist. Exports have their own permission.
#[tokio::test]
async fn no_page_or_answer_of_the_console_shows_a_recipient_or_a_network_in_full() {
    open_shop!(shop, admin);
    let mei = shop.add_account("mei", PASSWORD.1, Role::User).await;
    let account = mei.id.to_string();
    let session = shop.open_session_from(&mei, SignedDuration::ZERO, "198.51.100.23").await;
    let (order, url) = order_with_address(&shop, &admin, &session).await;
    let sale = url.split('/').nth(3).unwrap().to_owned();
    let packet = json!({"total": 500, "count": 5, "greeting": ""});
    let packet = admin.post("/api/admin/packets", packet).await.json()["packet"]["id"].as_str().unwrap().to_owned();
    let known = [("{user}", &account), ("{order}", &order), ("{sale}", &sale), ("{packet}", &packet)];
    // The audit log keeps log-ins of the staff with their address.
    shop.staff(&admin, "ida", Role::Viewer).await;
    let ida = shop.user("ida").await;
    shop.open_session_from(&ida, SignedDuration::from_millis(2), "198.51.100.23").await;
    for (name, role, _) in STAFF {
        let member = shop.staff(&admin, name, role).await;
        let (mut read, mut with_order) = (0, 0);
        for (method, path, permission) in super::permissions::TABLE {
            let is_stream = path.ends_with("/live");
            let is_export =
                matches!(*path, "/api/admin/orders.csv" | "/api/admin/invoices.csv") && role != Role::Viewer;
            if *method != "GET" || is_stream || is_export || !super::permissions::may_pass(role, *permission) {
                continue;
            }
            let mut path = known.iter().fold((*path).to_owned(), |path, (name, id)| path.replace(name, id));
            path = path.replace("{goods}", "1").replace("{category}", "1");
            for name in ["{approval}", "{case}", "{question}"] {
                path = path.replace(name, "0198c0de-0000-7000-8000-000000000001");
            }
            let answer = member.get(&path).await;
            let text = String::from_utf8_lossy(&answer.body);
            for secret in SECRETS {
                assert!(!text.contains(secret), "{name} {path} {secret}");
            }
            // Owners read networks where they look for attackers.
            if role != Role::Admin || !path.ends_with("log") {
                assert!(!text.contains("198.51.100"), "{name} {path}: {text}");
            }
            read += usize::from(answer.status == 200);
            with_order += usize::from(text.contains("杭州市"));
        }
        assert!(read > 30, "{name} read {read} pages");
        assert!(with_order > 3, "{name} saw {with_order} pages with the order's city");
    }
}

/// Operations on an order answer with the order.
#[tokio::test]
async fn answers_to_changes_of_an_order_show_no_recipient_in_full() {
    open_shop!(shop, admin, [mei, lan]);
    let (paid, url) = order_with_address(&shop, &admin, &mei).await;
    let (unpaid, _) = unpaid_order(&lan, url.split('/').nth(3).unwrap()).await;
    let sam = shop.staff(&admin, "sam", Role::Support).await;
    let reason = json!({"reason": "one address"});
    let mut answers = Vec::new();
    for (order, what, body) in [
        (&paid, "hold", reason.clone()),
        (&paid, "release", reason.clone()),
        (&paid, "parcel", json!({"state": "packed"})),
        (&unpaid, "cancel", reason),
    ] {
        let answer = sam.post(&format!("/api/admin/orders/{order}/{what}"), body).await;
        assert!(answer.text().contains("杭州市"), "{what}: {answer:?}");
        answers.push((what, answer));
    }
    for action in ["ship", "refund", "hold"] {
        let form = format!("id={paid}&id={unpaid}&action={action}");
        answers.push((action, sam.send_form("/admin/orders/bulk?lang=zh", &form).await));
    }
    for (what, answer) in answers {
        assert_eq!(answer.status, 200, "{what}");
        for secret in SECRETS {
            assert!(!answer.text().contains(secret), "{what}: {secret}");
        }
    }
}

#[tokio::test]
async fn recipient_is_revealed_for_a_reason_that_is_logged_with_order_and_account() {
    open_shop!(shop, admin, [mei]);
    let (id, url) = order_with_address(&shop, &admin, &mei).await;
    let account = shop.parts.accounts().session(&mei.headers()).unwrap().user_id;
    let (page, api) = (format!("/admin/orders/{id}/recipient?lang=en"), format!("/api/admin/orders/{id}/recipient"));
    for (name, role, may_read) in STAFF {
        let member = shop.staff(&admin, name, role).await;
        let answer = member.post(&api, json!({"reason": "parcel came back"})).await;
        assert_eq!(answer.status, if may_read { 200 } else { 403 }, "{name}");
        let shown = member.send_form(&page, "reason=address+on+the+label+is+torn").await;
        assert!(shown.is_page(if may_read { 200 } else { 403 }), "{name}");
        for secret in SECRETS {
            assert_eq!(answer.text().contains(secret), may_read, "{name} {secret}");
            assert_eq!(shown.text().contains(secret), may_read, "{name} {secret}");
        }
        if may_read {
            assert_eq!(shown.header("cache-control"), "no-store");
        }
    }
    let sam = shop.log_in("sam", "correct horse").await;
    for reason in ["", "   "] {
        let refused = sam.post(&api, json!({"reason": reason})).await;
        assert_eq!((refused.status.as_u16(), &refused.json()["fields"][0]["code"]), (422, &json!("required")));
        let refused = sam.send_form(&page, &format!("reason={}", reason.replace(' ', "+"))).await;
        assert!(refused.is_page(422) && !SECRETS.iter().any(|secret| refused.text().contains(secret)));
    }
    assert_eq!(shop.visitor().post(&api, json!({"reason": "x"})).await.status, 404);
    for subject in [format!("order%20{id}"), format!("user%20{account}")] {
        let path = format!("/api/admin/audit-log?action=reveal-recipient&subject={subject}");
        let log = admin.get(&path).await.json();
        let lines = log["entries"].as_array().unwrap();
        assert_eq!(lines.len(), 6, "three members of the staff, twice each: {log}");
        assert!(lines.iter().any(|line| line["actor"] == "sam" && line["after"]["reason"] == "parcel came back"));
        assert!(!SECRETS.iter().any(|secret| log.to_string().contains(secret)), "{log}");
    }
    assert!(admin.get("/admin/log?lang=en").await.text().contains("Show full recipient"));
    assert_eq!(mei.get(&url).await.status, 200);
}

#[tokio::test]
async fn an_order_without_an_address_reveals_nothing_and_logs_nothing() {
    open_shop!(shop, admin, [mei], sale = 2);
    let (id, _) = mei.order(&sale).await;
    let answer = admin.post(&format!("/api/admin/orders/{id}/recipient"), json!({"reason": "to pack it"})).await;
    assert_eq!((answer.status.as_u16(), answer.json()), (200, json!({"recipient": null})));
    let log = admin.get("/api/admin/audit-log?action=reveal-recipient").await.json();
    assert_eq!(log["entries"], json!([]));
}

#[tokio::test]
async fn exports_of_orders_are_logged_with_their_filter() {
    open_shop!(shop, admin);
    let vera = shop.staff(&admin, "vera", Role::Viewer).await;
    assert_eq!(vera.get("/api/admin/orders.csv?status=paid&lang=en").await.status, 200);
    assert_eq!(vera.get("/api/admin/orders.csv?order=1").await.status, 422);
    let log = admin.get("/api/admin/audit-log?action=export-orders").await.json();
    let lines = log["entries"].as_array().unwrap();
    assert_eq!(lines.len(), 1, "{log}");
    assert_eq!((&lines[0]["actor"], &lines[0]["subject"]), (&json!("vera"), &json!("orders")));
    let after = lines[0]["after"].to_string();
    assert!(after.contains("paid") && after.contains("masked"), "{after}");
    assert!(admin.get("/admin/log?lang=en").await.text().contains("Export orders"));
}
