//! The report of a sale: its figures while it runs and after it, in each mode.

use std::collections::HashMap;
use std::time::Duration;

use super::draw_pages::draw_among;
use super::support::paid_order;
use super::*;
use domain::SaleId;

/// The figures of a report's CSV file by their names: value, earlier value, difference.
async fn figures(staff: &TestClient<'_>, sale: &str) -> HashMap<String, [String; 3]> {
    let answer = staff.get(&format!("/admin/sales/{sale}/report.csv")).await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "text/csv; charset=utf-8"));
    let mut reader = csv::Reader::from_reader(answer.text().trim_start_matches('\u{feff}').as_bytes());
    assert_eq!(reader.headers().unwrap(), vec!["section", "name", "from_ms", "value", "earlier", "difference"]);
    let records: Vec<_> = reader.records().map(Result::unwrap).filter(|record| &record[0] == "figures").collect();
    records.iter().map(|record| (record[1].to_owned(), [3, 4, 5].map(|cell| record[cell].to_owned()))).collect()
}

async fn page(staff: &TestClient<'_>, sale: &str) -> String {
    let page = staff.get(&format!("/admin/sales/{sale}/report?lang=en")).await.shows(200, &[]);
    page.text().to_owned()
}

/// Data control's steps after the end of a sale.
async fn settle(shop: &TestShop, sale: &str) {
    shop.expire().await;
    shop.parts.store.sales().retire(SaleId(sale.parse().unwrap()), shop.parts.clock.now()).await.unwrap();
    shop.parts.digests.keep().await.unwrap();
}

#[tokio::test]
async fn report_of_a_rush_tells_what_became_of_its_units() {
    let (shop, clock) = TestShop::open_then("2026-11-21T12:00:00Z").await;
    let admin = shop.admin().await;
    let vera = shop.staff(&admin, "vera", Role::Viewer).await;
    let [mei, lin, tom] = [shop.shopper("mei").await, shop.shopper("lin").await, shop.shopper("tom").await];
    let sale = shop.open_sale(&admin, 2).await;
    for path in ["report", "report.csv"] {
        assert_eq!(mei.get(&format!("/admin/sales/{sale}/{path}")).await.status, 404);
        assert_eq!(vera.get(&format!("/admin/sales/999/{path}")).await.status, 404);
    }
    let empty = page(&vera, &sale).await;
    assert!(empty.contains("Nothing was sold.") && empty.contains("So far") && empty.contains("no earlier sale"));

    paid_order(&shop, &mei, &sale).await;
    clock.advance(Duration::from_millis(3_400));
    assert_eq!(lin.buy(&sale, 1).await.status, 202);
    shop.parts.gate.refresh_winners().await;
    shop.parts.gate.refresh().await;
    assert_eq!(tom.buy(&sale, 1).await.problem(), problem(409, "sold_out"));
    // The digest that was read for the first page may be shown for a minute.
    clock.advance(Duration::from_secs(60));
    let running = page(&vera, &sale).await;
    assert!(running.contains("All 2 units were taken within 3.4 s of the opening."), "{running}");
    assert!(
        running.contains("50.0% of the orders are paid.") && running.contains("Orders that still wait for payment: 1.")
    );
    let three =
        ["cannot be told.", "made up 100% of those who won, and 0 requests", "Of those who won, half knew within"];
    for sentence in three {
        assert!(running.contains(sentence), "{sentence}: {running}");
    }
    let csv = figures(&vera, &sale).await;
    let value = |name: &str| csv[name][0].clone();
    assert_eq!((value("sold"), value("revenue"), value("sold_out")), ("2".into(), "1999.00".into(), "3400".into()));
    assert_eq!((value("asked"), value("refused")), ("3".into(), "1".into()));
    assert!(running.contains("sold out</th><td class=\"number\">1</td><td class=\"number\">100.0%"), "{running}");

    admin.post(&format!("/api/admin/sales/{sale}/stop"), json!({})).await;
    clock.advance(Duration::from_secs(3 * 3600));
    settle(&shop, &sale).await;
    let over = page(&vera, &sale).await;
    assert!(over.contains("data-final=\"true\"") && over.contains("Units that came back: 1, sold again: 0."));
    let csv = figures(&vera, &sale).await;
    assert_eq!((csv["expired"][0].as_str(), csv["sold"][0].as_str()), ("1", "1"));
}

#[tokio::test]
async fn two_running_sales_are_not_read_again_for_the_next_viewer() {
    let shop = TestShop::open_at(&Clock::manual("2026-11-21T12:00:00Z".parse().unwrap())).await;
    let mut sales = Vec::new();
    for _ in 0..2 {
        let id = SaleId(shop.sell(3).await.parse().unwrap());
        sales.push(shop.parts.store.sales().get(id).await.unwrap().unwrap());
    }
    let digest = async |n: usize| shop.parts.digests.wait(&sales[n]).await.unwrap().digest;
    let (first, second) = (digest(0).await, digest(1).await);
    assert!(std::sync::Arc::ptr_eq(&first, &digest(0).await));
    assert!(std::sync::Arc::ptr_eq(&second, &digest(1).await));
}

#[tokio::test]
async fn report_stays_when_its_rows_are_gone_and_stands_beside_the_next() {
    let (shop, clock) = TestShop::open_then("2026-11-21T12:00:00Z").await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let first = shop.open_sale(&admin, 1).await;
    clock.advance(Duration::from_secs(2));
    paid_order(&shop, &mei, &first).await;
    admin.post(&format!("/api/admin/sales/{first}/stop"), json!({})).await;
    settle(&shop, &first).await;
    let kept = figures(&admin, &first).await;
    shop.execute(format!("UPDATE orders SET reserved_at_ms = 1 WHERE sale_id = {first}")).await;
    assert_eq!(figures(&admin, &first).await, kept);
    assert_eq!(kept["sold_out"][0], "2000");

    clock.advance(Duration::from_secs(3600));
    let definition = admin.get(&format!("/api/admin/sales/{first}")).await.json()["sale"].clone();
    let next = json!({"goods_id": definition["goods_id"], "opens_at": "2099-01-01T00:00:00Z"});
    let next = admin.new_sale(next).await;
    assert_eq!(admin.post(&format!("/api/admin/sales/{next}/start"), json!({})).await.status, 200);
    shop.parts.gate.refresh().await;
    clock.advance(Duration::from_secs(1));
    for name in ["lin", "tom"] {
        paid_order(&shop, &shop.shopper(name).await, &next).await;
    }
    let shown = page(&admin, &next).await;
    assert!(shown.contains("Last sale of this product") && shown.contains(&format!("/admin/sales/{first}/report")));
    assert!(shown.contains("2 sold, 40% of the stock."));
    let csv = figures(&admin, &next).await;
    assert_eq!(csv["sold"], ["2", "1", "1"]);
    assert_eq!(csv["revenue"], ["3998.00", "1999.00", "1999.00"]);
    assert_eq!(csv["sold_out"], ["", "2000", ""], "it has not sold out");
    let other = shop.open_sale(&admin, 1).await;
    assert!(page(&admin, &other).await.contains("Previous sale"), "of other goods");
}

#[tokio::test]
async fn report_of_a_waiting_room_counts_calls_by_the_order_of_joining() {
    let (shop, clock, sale) = super::waiting_rooms::joining(4).await;
    shop.shopper("vera").await;
    assert_eq!(shop.execute("UPDATE users SET role = 'viewer' WHERE username = 'vera'").await, 1);
    let admin = shop.log_in("vera", "correct horse").await;
    for client in super::waiting_rooms::crowd(&shop, 12).await {
        super::waiting_rooms::join(&client, &sale).await;
    }
    super::waiting_rooms::open(&shop, &clock, &sale).await;
    clock.advance(super::waiting_rooms::GATHER + Duration::from_secs(3));
    super::waiting_rooms::step(&shop).await;
    super::waiting_rooms::step(&shop).await;
    let csv = figures(&admin, &sale).await;
    assert_eq!(csv["joined"][0], "12");
    assert_eq!(csv["called"][0], "4");
    assert_eq!(csv["missed_turn"][0], "4");
    let digest = shop.parts.store.sales().get(SaleId(sale.parse().unwrap())).await.unwrap().unwrap();
    let digest = shop.parts.store.sales().digest_sale(&digest, clock.now()).await.unwrap();
    assert_eq!(digest.tenths.len(), 10);
    let sum = digest.tenths.iter().fold((0, 0), |sum, tenth| (sum.0 + tenth.all, sum.1 + tenth.won));
    assert_eq!(sum, (12, 4));
    assert_eq!(digest.ages[0].all, 12, "accounts of the last hour: {:?}", digest.ages);
    let shown = page(&admin, &sale).await;
    assert!(shown.contains("Tenth 10") && shown.contains("every tenth should be called as often"));
    assert!(shown.contains("whether the order mattered cannot be told"));
}

#[tokio::test]
async fn report_of_a_draw_counts_winners_by_the_order_of_entering() {
    let clock = super::draws::hour_before();
    let shop = TestShop::build(|config| config.free_registrations = 1000, clock.clone()).await;
    let (admin, clients) = (shop.admin().await, super::draws::crowd(&shop, 10).await);
    let sale = super::draws::announce(&admin, 3).await;
    draw_among(&shop, &sale, &clients).await;
    let csv = figures(&admin, &sale).await;
    assert_eq!((csv["entries"][0].as_str(), csv["offered"][0].as_str(), csv["sold"][0].as_str()), ("10", "3", "3"));
    assert!(!csv.contains_key("asked"), "entries are no buying requests");
    let shown = page(&admin, &sale).await;
    assert!(shown.contains("All 3 units have an order of a winner.") && shown.contains("Tenth 10"));
    assert!(!shown.contains("Refusals by reason"));
    let won =
        shown.matches("<td class=\"number\">1</td><td class=\"number\">1</td><td class=\"number\">0.3</td>").count();
    assert_eq!(won, 3, "each tenth has one entry");
}
