//! Sales that ended long ago leave lists and memory; their pages stay.

use super::*;
use domain::OrderStatus;
use engine::catalogue::MAX_LISTED_ENDED;

const ENDED: usize = MAX_LISTED_ENDED + 60;

impl TestShop {
    /// Adds ended sales with the ids from 1001, each closed later than the one before.
    async fn add_ended_sales(&self) {
        let rows = (1..=ENDED).map(|n| format!("({}, 1, 100, 'CNY', 5, 1, 1, {n}, 'ended', 1, 1, {n})", 1000 + n));
        let sql = format!(
            "INSERT INTO sales (id, goods_id, price, currency, total, per_user_limit, opens_at_ms, closes_at_ms, state,
             version, created_at_ms, retired_at_ms) VALUES {}",
            rows.collect::<Vec<_>>().join(",")
        );
        self.execute(sql).await;
        self.execute("UPDATE catalogue SET revision = revision + 1, last_sale_id = 2000").await;
        self.parts.catalogue.refresh().await.unwrap();
        self.publish();
    }
}

#[tokio::test]
async fn sale_that_ended_long_ago_is_in_no_list_and_keeps_its_page() {
    open_shop!(shop, admin, live = 5);
    shop.add_ended_sales().await;
    let listed = shop.visitor().get("/api/sales").await.json();
    let ids: Vec<&str> = listed["sales"].as_array().unwrap().iter().map(|sale| sale["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), MAX_LISTED_ENDED + 1);
    assert!(ids.contains(&live.as_str()) && ids.contains(&"1110") && !ids.contains(&"1001"), "{ids:?}");

    let (old, latest) = ("/en/sales/1001", "/en/sales/1110");
    assert!(shop.parts.pages.get(old).is_none() && shop.parts.pages.get(latest).is_some());
    let page = shop.visitor().get(old).await;
    assert!(page.is_page(200), "{page:?}");
    let etag = page.header("etag").to_owned();
    let known = shop.visitor().send("GET", old, &[("if-none-match", &etag)], Body::empty()).await;
    assert_eq!((known.status.as_u16(), known.body.len()), (304, 0));
    assert_eq!(shop.visitor().get("/api/sales/1001/button").await.json()["phase"], "ended");
    for nothing in ["/en/sales/999999", "/en/sales/x", "/en/sales/1001/reminder.ics"] {
        assert_eq!(shop.visitor().get(nothing).await.status, 404, "{nothing}");
    }
}

#[tokio::test]
async fn console_reads_sales_page_by_page_and_counts_the_orders_of_one_page() {
    open_shop!(shop, admin);
    shop.open_sale(&admin, 5).await;
    shop.add_ended_sales().await;
    let first = admin.get("/api/admin/sales").await.json();
    assert_eq!((first["sales"].as_array().unwrap().len(), &first["next"]), (100, &json!("1011")));
    let last = admin.get("/api/admin/sales?before=1011").await.json();
    assert_eq!((last["sales"].as_array().unwrap().len(), &last["next"]), (11, &json!(null)));
    assert_eq!(admin.get("/api/admin/sales?current=true").await.json()["sales"].as_array().unwrap().len(), 1);
    assert!(admin.get("/admin?lang=en").await.is_page(200));

    let order = |sale: i64, n: i64, status: &str| {
        format!("('o{sale}-{n}', {sale}, 'u{n}', 1, 100, 'CNY', '{status}', 1, 1, 9000000000000)")
    };
    let rows = [order(1001, 1, "paid"), order(1001, 2, "paid"), order(1001, 3, "unpaid"), order(1002, 1, "cancelled")];
    let sql = "INSERT INTO orders (id, sale_id, user_id, quantity, amount, currency, status, reserved_at_ms,
         created_at_ms, pay_by_ms) VALUES ";
    shop.execute(format!("{sql}{}", rows.join(","))).await;
    let (store, ids) = (&shop.parts.store, [1001, 1002].map(domain::SaleId));
    let counted = "SELECT sale_id, status, 0, COUNT(*), COUNT(*) FROM orders GROUP BY sale_id, status";
    shop.execute(format!("INSERT INTO order_totals {counted}")).await;
    let totals = store.orders().order_totals(&ids).await.unwrap();
    let of = |sale: usize, status| totals[&ids[sale]].of(status).orders;
    assert_eq!((of(0, OrderStatus::Unpaid), of(0, OrderStatus::Paid), of(1, OrderStatus::Cancelled)), (1, 2, 1));
    assert_eq!(store.orders().order_totals(&ids[1..]).await.unwrap().len(), 1, "only the sales that are asked for");
}
