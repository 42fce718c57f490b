//! Linked accounts, and what staff do with their orders: hold, release, refund, answer appeals.

mod api;
mod appeals;
mod instruments;

use super::addresses::delivery;
use super::support::{assert_audit_finds_nothing, paid_order, pay};
use super::*;
use domain::{OrderId, SaleId};

const REASON: &str = "five accounts, one address";

/// A paid order that goes to an address. Returns its id, and the address of its status.
async fn order_to(shop: &TestShop, who: &TestClient<'_>, sale: &str, line1: &str) -> (String, String) {
    let (order, url) = paid_order(shop, who, sale).await;
    assert_eq!(who.put(&format!("{url}/address"), delivery(line1, "王小美")).await.status, 200);
    (order, url)
}

async fn orders_to_one_address(
    shop: &TestShop,
    mei: &TestClient<'_>,
    wang: &TestClient<'_>,
    sale: &str,
) -> [(String, String); 2] {
    [order_to(shop, mei, sale, "文三路 1 号").await, order_to(shop, wang, sale, "文三路1号").await]
}

fn page_of(url: &str, locale: &str) -> String {
    url.replace("/api/sales/", &format!("/{locale}/orders/")).replace("/orders/0", "/0")
}

fn form(orders: &[&str], reason: &str) -> String {
    let reason: String = url::form_urlencoded::byte_serialize(reason.as_bytes()).collect();
    format!("orders={}&reason={reason}&confirm=yes", orders.join("+"))
}

/// The groups of a sale, once the page shows this many accounts in all. Until then it may show the groups computed
/// before.
async fn clusters_of(who: &TestClient<'_>, sale: &str, accounts: usize) -> Vec<String> {
    loop {
        let page = who.get(&format!("/admin/sales/{sale}/clusters?lang=en")).await;
        assert!(page.is_page(200), "{page:?}");
        let shown = page.text().split("data-group=\"").skip(1);
        let size = |group: &str| -> usize {
            let (before, _) = group.split_once(" accounts</a>").unwrap();
            before.rsplit('>').next().unwrap().replace(',', "").parse().unwrap()
        };
        if shown.clone().map(size).sum::<usize>() == accounts {
            return shown.map(|group| format!("/admin/sales/{sale}/clusters/{}", &group[..36])).collect();
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

/// The address of the only group of a sale, which has this many accounts.
async fn only_group(who: &TestClient<'_>, sale: &str, accounts: usize) -> String {
    let groups = clusters_of(who, sale, accounts).await;
    assert_eq!(groups.len(), 1);
    groups[0].clone()
}

async fn mailed_to(shop: &TestShop, kind: &str) -> usize {
    shop.mailed().await.iter().filter(|(mailed, _)| mailed == kind).count()
}

#[tokio::test]
async fn accounts_with_one_address_are_a_cluster_in_the_console() {
    open_shop!(shop, admin, sale = 10);
    let empty = admin.get(&format!("/admin/sales/{sale}/clusters?lang=en")).await;
    assert!(empty.is_page(200) && empty.text().contains("No linked accounts."));
    let (mei, wang) = (shop.shopper("mei").await, shop.shopper("wang").await);
    let (zhao, lin) = (shop.shopper("zhao").await, shop.shopper("lin").await);
    order_to(&shop, &mei, &sale, "西湖区文三路 8 号").await;
    order_to(&shop, &wang, &sale, "西湖区文三路 1 号").await;
    order_to(&shop, &zhao, &sale, "西湖区文三路1号").await;
    let (alone, url) = order_to(&shop, &lin, &sale, "西湖区文三路１号").await;
    let path = only_group(&admin, &sale, 3).await;
    let page = admin.get(&format!("{path}?lang=en")).await;
    assert!(page.text().contains("Same delivery address: 3 accounts"), "{}", page.text());
    assert!(page.text().contains("3 orders · 3 units · ¥5,997"), "{}", page.text());
    for name in ["wang", "zhao", "lin"] {
        assert!(page.text().contains(&format!("<bdi>{name}</bdi>")), "{name}");
    }
    assert!(!page.text().contains("<bdi>mei</bdi>") && !page.text().contains("文三路"), "recipients are masked");
    assert!(admin.get(&format!("{path}?lang=zh")).await.text().contains("收货地址相同：3 个账号"));
    assert_eq!(admin.get(&format!("/admin/sales/{sale}/clusters/{alone}")).await.status, 404, "no account");
    assert_eq!(admin.get("/admin/sales/77/clusters").await.status, 404);
    assert!(lin.put(&format!("{url}/address"), delivery("x", "x")).await.status == 409, "a paid order keeps it");
    for page in [format!("/admin/sales/{sale}?lang=en"), "/admin?lang=en".to_owned()] {
        assert!(admin.get(&page).await.text().contains(&format!("/admin/sales/{sale}/clusters?lang=en")), "{page}");
    }
}

#[tokio::test]
async fn new_address_of_an_unpaid_order_replaces_the_digests_of_the_old_one() {
    open_shop!(shop, admin, [mei, wang], sale = 10);
    order_to(&shop, &mei, &sale, "文三路 1 号").await;
    let (_, url) = wang.order(&sale).await;
    assert_eq!(wang.put(&format!("{url}/address"), delivery("文三路 1 号", "x")).await.status, 200);
    only_group(&admin, &sale, 2).await;
    assert_eq!(wang.put(&format!("{url}/address"), delivery("文一路 9 号", "x")).await.status, 200);
    assert!(clusters_of(&admin, &sale, 0).await.is_empty());
}

/// Makes accounts 1 to `count`, each with a paid order, all to one address.
async fn many_orders_to_one_address(shop: &TestShop, sale: &str, count: usize) {
    let numbers = format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})");
    let id = |first: &str| format!("printf('{first}0000000-0000-4000-8000-%012d', i)");
    let (order, user) = (id("1"), id("2"));
    let statements = [
        format!(
            "INSERT INTO orders (id, sale_id, user_id, quantity, amount, currency, status, reserved_at_ms, created_at_ms,
               pay_by_ms) {numbers} SELECT {order}, {sale}, {user}, 1, 199900, 'CNY', 'paid', 1, 1, 1 FROM n"
        ),
        format!(
            "INSERT INTO account_signals (user_id, sale_id, kind, digest, at_ms)
             {numbers} SELECT {user}, {sale}, 'address', 'one', 1 FROM n"
        ),
    ];
    for sql in statements {
        assert_eq!(shop.execute(sql).await, count as u64);
    }
}

#[tokio::test]
async fn cluster_of_many_accounts_has_pages_and_keeps_its_place() {
    open_shop!(shop, admin, sale = 10);
    many_orders_to_one_address(&shop, &sale, 5_001).await;
    let path = only_group(&admin, &sale, 5_001).await;
    let list = admin.get(&format!("/admin/sales/{sale}/clusters?lang=en")).await;
    assert!(list.text().contains("Sums of the first 1,000 accounts"), "{}", list.text());
    let orders = |page: &TestResponse| page.text().matches("data-label=\"Order\"").count();
    let first = admin.get(&format!("{path}?lang=en")).await;
    assert_eq!(orders(&first), 200, "{}", first.text());
    assert!(first.text().contains("<dd>1,000</dd>") && first.text().contains("200 orders · 200 units · ¥399,800"));
    let last = "20000000-0000-4000-8000-000000005000";
    assert!(first.text().contains("after=20000000-0000-4000-8000-000000000200"), "{}", first.text());
    let end = admin.get(&format!("{path}?lang=en&after={last}")).await;
    assert_eq!(orders(&end), 1);
    assert!(end.text().contains("First page") && !end.text().contains("Next page"), "{}", end.text());
    let order = "10000000-0000-4000-8000-000000005001";
    let held = admin.send_form(&format!("{path}/hold?lang=en"), &format!("{}&after={last}", form(&[order], "x"))).await;
    let done = format!("{path}?lang=en&after={last}&done=hold&changed=1");
    assert!(held.header("location").starts_with(&done), "{held:?}");
    let held = admin.get(held.header("location")).await;
    assert!(held.text().contains("Held for review") && held.text().contains(">Release</summary>"), "{}", held.text());
    assert_eq!(admin.get(&format!("{path}?after=x")).await.status, 422);
}

#[tokio::test]
async fn digests_of_more_accounts_than_one_part_has_are_all_read() {
    let shop = TestShop::open().await;
    let sale = shop.open_sale(&shop.admin().await, 10).await;
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 8999)";
    shop.execute(format!(
        "INSERT INTO account_signals (user_id, sale_id, kind, digest, at_ms) {numbers}
         SELECT printf('20000000-0000-4000-8000-%012d', i), {sale}, 'address', printf('%04d', i / 3), 1 FROM n
         WHERE i < 8997 UNION ALL SELECT printf('20000000-0000-4000-8000-%012d', i), {sale}, 'contact', i, 1 FROM n"
    ))
    .await;
    let links = shop.parts.store.linked_accounts().shared_links(SaleId(sale.parse().unwrap())).await.unwrap();
    // Three accounts at each address, across parts of 4,000; contacts of one account each.
    assert_eq!(links.len(), 8_997);
    let found = domain::linked_accounts::groups(&links);
    assert_eq!((found.len(), found[2_998].members.len()), (2_999, 3));
}

#[tokio::test]
async fn networks_of_registrations_link_accounts_of_one_street() {
    open_shop!(shop = TestShop::open_with(behind_a_proxy), admin, sale = 10);
    for (name, address, house) in [("wang", "192.0.2.1", 1), ("zhao", "192.0.2.9", 2), ("lin", "198.51.100.1", 3)] {
        let body = json!({"username": name, "password": "correct horse"});
        let answer = shop.post_from(address, "/api/register", body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        let who = shop.browser(answer.cookie());
        order_to(&shop, &who, &sale, &format!("文三路 {house} 号")).await;
    }
    let sale: SaleId = sale.parse().unwrap();
    let links = shop.parts.store.linked_accounts().shared_links(sale).await.unwrap();
    let found = domain::linked_accounts::groups(&links);
    let mut expected = vec![shop.user("wang").await.id, shop.user("zhao").await.id];
    expected.sort();
    assert_eq!(found.into_iter().map(|group| group.members).collect::<Vec<_>>(), [expected]);
}

#[tokio::test]
async fn cluster_is_held_released_and_refunded_with_reasons_that_buyers_read() {
    open_shop!(shop, admin, [mei, wang], sale = 10);
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    mei.verify("mei@shop.example").await;
    let [(one, one_url), (two, two_url)] = orders_to_one_address(&shop, &mei, &wang, &sale).await;
    let path = only_group(&sven, &sale, 2).await;

    let wrong = sven.send_form(&format!("{path}/hold?lang=en"), &format!("orders={one}&reason=&confirm=yes")).await;
    assert!(wrong.is_page(422) && wrong.text().contains("Required."), "{wrong:?}");
    let unsure = sven.send_form(&format!("{path}/hold?lang=en"), &format!("orders={one}&reason=x")).await;
    assert!(unsure.is_page(422) && unsure.text().contains("tick the box"), "{}", unsure.text());
    let held = sven.send_form(&format!("{path}/hold?lang=en"), &form(&[&one, &two], REASON)).await;
    let done = format!("{path}?lang=en&done=hold&changed=2&unchanged=0&ended=0&own=0&waits=0");
    assert!(held.leads_to(&done), "{held:?}");
    assert!(sven.get(&done).await.text().contains("Held: 2."));
    let again = sven.send_form(&format!("{path}/hold?lang=en"), &form(&[&one, &two], "another")).await;
    assert!(again.header("location").contains("changed=0&unchanged=2"), "{again:?}");
    assert_eq!(mailed_to(&shop, "order_held").await, 1, "wang has no address");

    let shown = sven.get(&format!("/admin/orders/{one}?lang=en")).await;
    assert!(shown.text().contains("(required while the order is held)"), "{}", shown.text());
    let seen = mei.get(&one_url).await.json()["order"].clone();
    assert_eq!((&seen["status"], &seen["hold"]["reason"]), (&json!("paid"), &json!(REASON)));
    assert!(!seen.to_string().contains("sven"), "owners are not told who of the staff it was");
    for (locale, words) in [("zh", "审核结束前不会发货"), ("en", "won’t ship until")] {
        let page = mei.get(&page_of(&one_url, locale)).await;
        assert!(page.is_page(200) && page.text().contains(words) && page.text().contains(REASON), "{}", page.text());
        assert!(!page.text().contains("sven"));
    }
    let csv = admin.get(&format!("/api/admin/orders.csv?sale={sale}&held=true")).await;
    assert_eq!(csv.text().lines().count(), 3, "{}", csv.text());
    let head = csv.text().lines().next().unwrap();
    assert!(head.ends_with(",carrier,tracking_number,return,shipping,reference,number"), "{head}");
    assert!(csv.text().contains(",true,,,,,0.00,"), "{}", csv.text());
    let others = admin.get(&format!("/api/admin/orders?sale={sale}&held=false")).await.json();
    assert_eq!(others["orders"], json!([]));
    let detail = admin.get(&format!("/api/admin/orders/{one}")).await.json();
    assert!(detail["order"]["held_at"].is_string(), "{detail}");

    let released = sven.send_form(&format!("{path}/release?lang=en"), &form(&[&one], "a family, it seems")).await;
    assert!(released.header("location").contains("done=release&changed=1"), "{released:?}");
    assert_eq!(mei.get(&one_url).await.json()["order"]["hold"], Value::Null);
    assert!(mei.get(&page_of(&one_url, "en")).await.text().contains("a family, it seems"));

    let refunded = sven.send_form(&format!("{path}/refund?lang=en"), &form(&[&one, &two], "resold")).await;
    assert!(refunded.header("location").contains("done=refund&changed=1&unchanged=1"), "{refunded:?}");
    let seen = wang.get(&two_url).await.json()["order"].clone();
    assert_eq!((&seen["status"], &seen["message"]), (&json!("refund_pending"), &json!("resold")));
    assert_eq!(mei.get(&one_url).await.json()["order"]["status"], "paid", "only held orders are refunded");
    let log = admin.audit_log().await;
    let actions: Vec<_> = (0..5).map(|n| &log[n]["action"]).collect();
    assert_eq!(actions, ["refund", "release-hold", "export-orders", "hold", "hold"]);
    assert_eq!(log[1]["after"]["reason"], "a family, it seems");
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn unpaid_held_order_can_be_paid_cancelled_and_expires() {
    open_shop!(shop = TestShop::open_at(&Clock::manual(Clock::system().now())), admin, sale = 10);
    let mut urls = Vec::new();
    for name in ["mei", "wang", "zhao"] {
        let who = shop.shopper(name).await;
        let (order, url) = who.order(&sale).await;
        let held = admin.send_form(&format!("/admin/orders/{order}/hold"), "reason=x&confirm=yes").await;
        assert_eq!(held.status, 303);
        urls.push((who, order, url));
    }
    let [(mei, paid, mei_url), (wang, _, wang_url), (zhao, gone, zhao_url)] = &urls[..] else { panic!() };
    pay(&shop, &mei.begin_payment(mei_url).await).await;
    let seen = mei.get(mei_url).await.json()["order"].clone();
    assert_eq!((&seen["status"], &seen["hold"]["reason"]), (&json!("paid"), &json!("x")), "still held");
    assert_eq!(wang.post(&format!("{wang_url}/cancel"), json!({})).await.status, 200);
    shop.advance(std::time::Duration::from_secs(3600));
    assert_eq!(shop.parts.expiry().cancel_overdue().await.unwrap(), 1);
    let seen = zhao.get(zhao_url).await.json()["order"].clone();
    assert_eq!((&seen["status"], &seen["hold"]), (&json!("cancelled"), &Value::Null), "the hold went with the order");
    let late = admin.send_form(&format!("/admin/orders/{gone}/release"), "reason=x&confirm=yes").await;
    assert_eq!(late.status, 409);
    let refund = format!("/api/admin/orders/{paid}/refund");
    let bare = admin.post(&refund, json!({"reason": "x"})).await;
    assert_eq!(bare.json()["fields"], json!([{"field": "message", "code": "required"}]), "{bare:?}");
    assert_eq!(admin.post(&refund, json!({"reason": "x", "message": "sorry"})).await.status, 200);
    shop.parts.expiry().release().await.unwrap();
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn refund_of_a_cluster_beyond_the_bound_waits_and_stays_held() {
    open_shop!(shop = TestShop::open_with(|config| config.second_person_above = Some(3_000)), admin);
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    let sale = shop.open_sale(&admin, 10).await;
    let (mei, wang) = (shop.shopper("mei").await, shop.shopper("wang").await);
    let [(one, one_url), (two, two_url)] = orders_to_one_address(&shop, &mei, &wang, &sale).await;
    let (own, _) = order_to(&shop, &sven, &sale, "文三路 1 号").await;
    let path = only_group(&sven, &sale, 3).await;
    let held = sven.send_form(&format!("{path}/hold"), &form(&[&one, &two, &own], REASON)).await;
    assert!(held.header("location").contains("changed=2&unchanged=0&ended=0&own=1"), "{held:?}");
    let refunded = sven.send_form(&format!("{path}/refund"), &form(&[&one, &two], REASON)).await;
    assert!(refunded.header("location").contains("changed=1&unchanged=0&ended=0&own=0&waits=1"), "{refunded:?}");
    assert_eq!(mei.get(&one_url).await.json()["order"]["status"], "refund_pending");
    let waiting = wang.get(&two_url).await.json()["order"].clone();
    assert_eq!((&waiting["status"], &waiting["hold"]["reason"]), (&json!("paid"), &json!(REASON)));
    let approval = admin.get("/api/admin/approvals").await.json()["approvals"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(admin.post(&format!("/api/admin/approvals/{approval}/approve"), json!({})).await.status, 200);
    let seen = wang.get(&two_url).await.json()["order"].clone();
    assert_eq!((&seen["status"], &seen["hold"]), (&json!("refund_pending"), &Value::Null));
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn digests_are_exported_and_go_with_the_account_and_after_the_sale() {
    open_shop!(shop = TestShop::open_at(&Clock::manual(Clock::system().now())), admin, [mei, wang], sale = 10);
    let (order, url) = order_to(&shop, &mei, &sale, "文三路 1 号").await;
    order_to(&shop, &wang, &sale, "文三路 1 号").await;
    admin.send_form(&format!("/admin/orders/{order}/hold"), "reason=x&confirm=yes").await;
    mei.send_form(&format!("{}/appeal", page_of(&url, "en")), "text=my+flat").await;
    let export = mei.get("/api/account/export").await.json();
    let kinds: Vec<_> = export["signals"].as_array().unwrap().iter().map(|noted| noted["kind"].clone()).collect();
    assert_eq!(kinds, [json!("address"), json!("street")]);
    assert_eq!(export["signals"][0]["sale_id"], sale);
    assert_eq!(export["orders"][0]["holds"][0]["appeals"][0]["text"], "my flat");
    assert!(!export["signals"].to_string().contains("文三路"), "digests only");

    admin.send_form(&format!("/admin/orders/{order}/release"), "reason=x&confirm=yes").await;
    assert_eq!(mei.delete_account("mei").await.status, 204);
    let store = &shop.parts.store;
    let id: OrderId = order.parse().unwrap();
    assert_eq!(store.orders().holds_of(id).await.unwrap()[0].appeals[0].text, "");
    let user = shop.user("wang").await.id;
    assert_eq!(store.linked_accounts().links_of(user).await.unwrap().len(), 2);
    assert_eq!(admin.post(&format!("/api/admin/sales/{sale}/stop"), json!({})).await.status, 200);
    let sale: SaleId = sale.parse().unwrap();
    store.sales().retire(sale, shop.parts.clock.now()).await.unwrap();
    let day = std::time::Duration::from_secs(24 * 3600);
    shop.advance(30 * day);
    assert!(!store.linked_accounts().purge_links().await.unwrap());
    assert_eq!(store.linked_accounts().links_of(user).await.unwrap().len(), 2, "thirty days");
    shop.advance(day);
    while store.linked_accounts().purge_links().await.unwrap() {}
    assert_eq!(store.linked_accounts().links_of(user).await.unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_actions_at_once_each_order_is_ended_once() {
    open_shop!(shop, admin, [mei, wang], sale = 10);
    let sven = shop.staff(&admin, "sven", Role::Support).await;
    let sara = shop.staff(&admin, "sara", Role::Support).await;
    let [(one, _), (two, _)] = orders_to_one_address(&shop, &mei, &wang, &sale).await;
    let path = only_group(&sven, &sale, 2).await;
    let body = form(&[&one, &two], REASON);
    let hold = format!("{path}/hold");
    let (first, second) = tokio::join!(sven.send_form(&hold, &body), sara.send_form(&hold, &body));
    let changed = |answer: &TestResponse| -> usize {
        let rest = answer.header("location").split("changed=").nth(1).unwrap();
        rest.split('&').next().unwrap().parse().unwrap()
    };
    assert_eq!(changed(&first) + changed(&second), 2, "{first:?} {second:?}");
    let (release, refund) = (format!("{path}/release"), format!("{path}/refund"));
    let (first, second) = tokio::join!(sven.send_form(&release, &body), sara.send_form(&refund, &body));
    assert_eq!(changed(&first) + changed(&second), 2, "{first:?} {second:?}");
    assert_audit_finds_nothing(&shop).await;
}
