//! Lists of the console as tools: order, columns, totals, saved views, and actions on several rows.

use super::support::{assert_audit_finds_nothing, paid_order};
use super::*;

/// A shop, its owner, an open sale, and this many orders, each of its own shopper, oldest first.
macro_rules! shop_with_orders {
    ($shop:ident, $admin:ident, $sale:ident, $orders:ident: $count:expr) => {
        let $shop = TestShop::open().await;
        let $admin = $shop.admin().await;
        let $sale = $shop.open_sale(&$admin, 20).await;
        let mut $orders: Vec<String> = Vec::new();
        let count: usize = $count;
        for n in 0..count {
            let shopper = $shop.shopper(&format!("shopper{n}")).await;
            let bought = shopper.buy(&$sale, 1).await;
            $orders.push(bought.json()["order"]["id"].as_str().unwrap().to_owned());
        }
        let ($sale, $orders) = ($sale, $orders);
    };
}

/// The ids in the order in which the page lists them.
fn listed(page: &TestResponse) -> Vec<String> {
    let rows = page.text().split("name=\"id\" value=\"").skip(1);
    rows.map(|row| row.split('"').next().unwrap().to_owned()).collect()
}

fn picked(ids: &[String], action: &str) -> String {
    let ids: Vec<String> = ids.iter().map(|id| format!("id={id}")).collect();
    format!("{}&action={action}", ids.join("&"))
}

#[tokio::test]
async fn orders_are_listed_in_both_directions_and_page_along() {
    shop_with_orders!(shop, admin, _sale, orders: 3);
    let newest = admin.get("/admin/orders?lang=en").await;
    assert_eq!(listed(&newest), orders.iter().rev().cloned().collect::<Vec<_>>());
    assert!(newest.text().contains("sort=oldest") && !newest.text().contains("aria-sort=\"ascending\""));
    let oldest = admin.get("/admin/orders?lang=en&sort=oldest").await;
    assert_eq!(listed(&oldest), orders);
    assert!(oldest.text().contains("aria-sort=\"ascending\""));
    let first = admin.get("/admin/orders?lang=en&sort=oldest&limit=2").await;
    assert_eq!(listed(&first), orders[..2]);
    assert!(first.text().contains(&format!("sort=oldest&#38;before={}", orders[1])), "{}", first.text());
    let rest = admin.get(&format!("/admin/orders?lang=en&sort=oldest&before={}", orders[1])).await;
    assert_eq!(listed(&rest), orders[2..]);
    assert!(admin.get("/admin/orders?lang=en&sort=price").await.is_page(422));
    let refused = admin.get("/api/admin/orders?sort=oldest").await;
    assert_eq!(refused.problem(), problem(422, "invalid"), "the API has one order");
}

#[tokio::test]
async fn accounts_and_log_have_orders_of_their_own() {
    shop_with_orders!(shop, admin, _sale, _orders: 2);
    let names = async |query: &str| {
        let page = admin.get(&format!("/admin/users?lang=en&{query}")).await;
        let rows = page.text().split("<th scope=\"row\">").skip(1);
        rows.map(|row| row.split("<bdi>").nth(1).unwrap().split('<').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("").await, ["shopper1", "shopper0", "admin"]);
    assert_eq!(names("sort=oldest").await, ["admin", "shopper0", "shopper1"]);
    assert_eq!(names("sort=name").await, ["admin", "shopper0", "shopper1"]);
    assert_eq!(names("q=shopper").await, ["shopper0", "shopper1"]);
    let first = async |query: &str| {
        let page = admin.get(&format!("/admin/log?lang=en&{query}")).await;
        let at = page.text().split("<time datetime=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        at.parse::<jiff::Timestamp>().unwrap()
    };
    assert!(first("sort=oldest").await < first("").await);
}

#[tokio::test]
async fn search_says_what_it_found_together_and_leaves_columns_out() {
    shop_with_orders!(shop, admin, sale, orders: 3);
    let found = admin.get(&format!("/admin/orders?lang=en&sale={sale}")).await.has(&["3 orders, 3 units, ¥5,997"]);
    assert!(!admin.get("/admin/orders?lang=en").await.text().contains("class=\"totals\""), "not without a filter");
    let narrow = admin.get("/admin/orders?lang=en&hide=amount,user").await;
    assert_eq!(listed(&narrow).len(), orders.len());
    assert!(found.text().contains("<td class=\"number\">¥1,999</td>"));
    assert!(!narrow.text().contains("<td class=\"number\">¥1,999</td>"));
    assert!(!narrow.text().contains("<bdi>shopper0</bdi>"));
}

#[tokio::test]
async fn view_is_saved_opened_renamed_and_deleted_by_its_owner_alone() {
    shop_with_orders!(shop, admin, _sale, _orders: 0);
    let other = shop.staff(&admin, "wang", Role::Viewer).await;
    let save = async |who: &TestClient<'_>, list: &str, query: &str, name: &str| {
        let form = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("list", list), ("query", query), ("name", name)])
            .finish();
        who.send_form("/admin/views?lang=en", &form).await
    };
    let saved = save(&admin, "orders", "status=paid&before=x&lang=zh&evil=1", " To  ship ").await;
    assert!(saved.leads_to("/admin/orders?lang=en&status=paid&view=saved"), "{saved:?}");
    let page = admin.get("/admin/orders?lang=en&status=paid&view=saved").await;
    assert!(page.text().contains("View saved.") && page.text().contains("<bdi>To ship</bdi>"));
    assert!(page.text().contains("aria-current=\"true\"><bdi>To ship</bdi>"), "{}", page.text());
    assert!(!other.get("/admin/orders?lang=en").await.text().contains("<bdi>To ship</bdi>"), "views are personal");
    let id = page.text().split("/admin/views/").nth(2).unwrap()[..36].to_owned();

    for (query, name, notice) in [("status=lost", "x", "bad_query"), ("sale=x", "x", "bad_query")] {
        save(&admin, "orders", query, name).await.leads(&format!("/admin/orders?lang=en&view={notice}"));
    }
    save(&admin, "log", "action=edit", &"x".repeat(41)).await.leads("/admin/log?lang=en&action=edit&view=bad_name");
    assert_eq!(save(&admin, "planets", "", "x").await.status, 422);

    assert_eq!(other.send_form(&format!("/admin/views/{id}/rename?lang=en"), "name=mine").await.status, 404);
    assert_eq!(other.send_form(&format!("/admin/views/{id}/delete?lang=en"), "").await.status, 404);
    save(&admin, "orders", "status=unpaid", "Waiting").await;
    let taken = admin.send_form(&format!("/admin/views/{id}/rename?lang=en"), "name=Waiting").await;
    assert!(taken.leads_to("/admin/orders?lang=en&status=paid&view=name_taken"), "{taken:?}");
    let renamed = admin.send_form(&format!("/admin/views/{id}/rename?lang=en"), "name=Parcels").await;
    assert!(renamed.leads_to("/admin/orders?lang=en&status=paid&view=renamed"), "{renamed:?}");
    assert!(admin.get("/admin/orders?lang=en").await.text().contains("<bdi>Parcels</bdi>"));
    admin.send_form(&format!("/admin/views/{id}/delete?lang=en"), "").await.leads("/admin/orders?lang=en&view=deleted");
    assert!(!admin.get("/admin/orders?lang=en").await.text().contains("Parcels"));
    for n in 0..19 {
        assert!(
            save(&admin, "orders", "status=paid", &format!("view {n}")).await.header("location").ends_with("=saved")
        );
    }
    assert!(save(&admin, "orders", "status=paid", "one more").await.header("location").ends_with("=too_many"));
    assert!(save(&admin, "orders", "sale=1", "view 3").await.header("location").ends_with("=saved"), "a known name");
}

#[tokio::test]
async fn batch_tells_before_and_after_what_happens_to_each_order() {
    shop_with_orders!(shop, admin, sale, orders: 2);
    let mut orders = orders;
    let payer = shop.shopper("payer").await;
    orders.push(paid_order(&shop, &payer, &sale).await.0);
    admin
        .send_form("/admin/orders/bulk?lang=en", &picked(&orders, "cancel"))
        .await
        .shows(200, &["2 orders will be cancelled. Left out: 1.", "its status is “Paid”"]);
    let ids = format!("ids={}", orders.join("+"));
    admin.send_form("/admin/orders/bulk/cancel?lang=en", &format!("{ids}&reason=late")).await.shows(422, &[]);
    let done = admin.send_form("/admin/orders/bulk/cancel?lang=en", &format!("{ids}&reason=late&confirm=yes")).await;
    assert!(done.is_page(200) && done.text().contains("Done: 2. Not done: 1."), "{}", done.text());
    assert!(done.text().contains("changed meanwhile, left alone"), "the paid one stays");
    let again = admin.send_form("/admin/orders/bulk/cancel?lang=en", &format!("{ids}&reason=late&confirm=yes")).await;
    assert!(again.text().contains("Done: 0. Not done: 3."), "sent twice, it changes nothing");
    for order in &orders[..2] {
        let log = admin.get(&format!("/api/admin/audit-log?action=cancel&subject=order+{order}")).await;
        assert_eq!(log.json()["entries"].as_array().unwrap().len(), 1, "one line for each: {}", log.text());
    }
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn held_orders_are_released_again_by_the_undo() {
    shop_with_orders!(shop, admin, sale, _none: 0);
    let (mei, wang) = (shop.shopper("mei").await, shop.shopper("wang").await);
    let orders = vec![paid_order(&shop, &mei, &sale).await.0, paid_order(&shop, &wang, &sale).await.0];
    let form = format!("ids={}&reason=one+address&confirm=yes", orders.join("+"));
    let held = admin.send_form("/admin/orders/bulk/hold?lang=en", &form).await;
    assert!(held.text().contains("Done: 2. Not done: 0.") && held.text().contains("Undo: Release"), "{}", held.text());
    assert_eq!(listed(&admin.get("/admin/orders?lang=en&held=true").await).len(), 2);
    admin.send_form("/admin/orders/bulk/refund?lang=en", &form).await.has(&["is held: the buyer has to be told why"]);
    let undo = admin.send_form("/admin/orders/bulk?lang=en", &picked(&orders, "release")).await;
    assert!(undo.text().contains("2 orders will be released."));
    admin.send_form("/admin/orders/bulk/release?lang=en", &form).await;
    assert!(listed(&admin.get("/admin/orders?lang=en&held=true").await).is_empty());
    admin.send_form("/admin/orders/bulk/refund?lang=en", &form).await.has(&["Done: 2. Not done: 0."]);
}

#[tokio::test]
async fn accounts_are_blocked_together_and_the_own_one_is_left_out() {
    shop_with_orders!(shop, admin, _sale, _orders: 2);
    let ids = listed(&admin.get("/admin/users?lang=en").await);
    assert_eq!(ids.len(), 3);
    let form = format!("ids={}&reason=many+cards&confirm=yes", ids.join("+"));
    admin.send_form("/admin/users/bulk/block?lang=en", &form).await.has(&["Done: 2. Not done: 1."]);
    admin
        .send_form("/admin/users/bulk?lang=en", &picked(&ids, "unblock"))
        .await
        .has(&["2 accounts will be unblocked. Left out: 1.", "is not blocked"]);
    admin.send_form("/admin/users/bulk/unblock?lang=en", &form).await.has(&["Done: 2. Not done: 1."]);
}

#[tokio::test]
async fn batch_without_rows_or_with_too_many_is_refused() {
    shop_with_orders!(shop, admin, _sale, _orders: 0);
    admin.send_form("/admin/orders/bulk?lang=en", "action=hold").await.shows(422, &["Nothing is selected."]);
    let ids: Vec<String> = (0..101).map(|_| uuid::Uuid::now_v7().to_string()).collect();
    admin.send_form("/admin/orders/bulk?lang=en", &picked(&ids, "hold")).await.shows(422, &["At most 100 at a time."]);
    assert_eq!(admin.send_form("/admin/orders/bulk?lang=en", "id=1&action=hold").await.status, 422);
    assert_eq!(admin.send_form("/admin/orders/bulk?lang=en", "action=burn").await.status, 422);
    let viewer = shop.staff(&admin, "wang", Role::Viewer).await;
    assert!(!viewer.get("/admin/orders?lang=en").await.text().contains("data-all"));
}

#[tokio::test]
async fn search_finds_pages_sales_orders_and_users_that_the_role_may_see() {
    shop_with_orders!(shop, admin, sale, orders: 1);
    let hits = async |who: &TestClient<'_>, q: &str| {
        let q: String = url::form_urlencoded::byte_serialize(q.as_bytes()).collect();
        let found = who.get(&format!("/admin/search.json?lang=en&q={q}")).await;
        let hits = found.json()["hits"].as_array().unwrap().clone();
        hits.iter().map(|hit| format!("{} {}", hit["kind"].as_str().unwrap(), hit["path"].as_str().unwrap())).collect()
    };
    let found: Vec<String> = hits(&admin, "audit").await;
    assert_eq!(found, ["page /admin/log?lang=en"]);
    let found: Vec<String> = hits(&admin, &sale).await;
    let of_sale = [
        format!("sale /admin/sales/{sale}?lang=en"),
        format!("page /admin/orders?sale={sale}&lang=en"),
        format!("page /admin/sales/{sale}/report?lang=en"),
    ];
    assert!(found.ends_with(&of_sale) || found.starts_with(&of_sale), "{found:?}");
    let found: Vec<String> = hits(&admin, &orders[0]).await;
    assert_eq!(found, [format!("order /admin/orders/{}?lang=en", orders[0])]);
    // Lists of older versions showed the end of the id like this, and people copied it.
    let short = format!("…{}", &orders[0][24..]);
    let found: Vec<String> = hits(&admin, &short).await;
    assert_eq!(found, [format!("order /admin/orders/{}?lang=en", orders[0])]);
    let encoded: String = url::form_urlencoded::byte_serialize(short.as_bytes()).collect();
    admin.get(&format!("/admin/orders?lang=en&order={encoded}")).await.shows(200, &[&orders[0]]);
    assert!(!admin.get("/admin/orders?lang=en&order=0123456789ab").await.text().contains(&orders[0]));
    let found: Vec<String> = hits(&admin, "SHOPPER").await;
    assert!(found.len() == 1 && found[0].starts_with("user /admin/users/"), "{found:?}");
    let found: Vec<String> = hits(&admin, &"x".repeat(101)).await;
    assert!(found.is_empty());
    let viewer = shop.staff(&admin, "wang", Role::Viewer).await;
    let found: Vec<String> = hits(&viewer, "").await;
    assert!(found.contains(&"page /admin/log?lang=en".to_owned()), "{found:?}");
    assert!(!found.iter().any(|hit| hit.contains("/admin/staff") || hit.contains("/new")), "{found:?}");
    admin.get("/admin/search?lang=en&q=shopper0").await.shows(200, &["<bdi>shopper0</bdi>"]);
    assert!(admin.get("/admin/search?lang=en&q=nothing-of-that").await.text().contains("Nothing found."));
    assert_eq!(shop.shopper("mei").await.get("/admin/search.json?q=a").await.status, 404);
}

#[tokio::test]
async fn packet_in_the_console_has_a_link_to_copy_and_its_picture() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let body = json!({"total": 1000, "count": 5, "greeting": "good luck"});
    let given = admin.post("/api/admin/packets", body).await.json();
    let id = given["packet"]["id"].as_str().unwrap();
    let page = admin.get(&format!("/admin/packets/{id}?lang=en")).await;
    assert!(page.is_page(200), "{given}");
    assert!(page.text().contains("data-copy=\"link\"") && page.text().contains("data:image/svg+xml;base64,"));
    assert!(page.text().contains("class=\"axes\""));
}
