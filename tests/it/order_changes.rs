//! The feed of changed orders, while transactions commit in another order than they began.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{NewSale, Rung, Shop, Shopper};

const TIMEOUT: Duration = Duration::from_secs(20);
const PASSWORD: &str = "password of mei";
const FEED: &str = "/api/admin/orders/changes";

/// A program that keeps a copy of every order.
struct Follower<'a> {
    shop: &'a Shop,
    cursor: String,
    orders: BTreeMap<String, Value>,
}

impl<'a> Follower<'a> {
    async fn begin(shop: &'a Shop) -> Follower<'a> {
        let mut follower = Follower { shop, cursor: String::new(), orders: BTreeMap::new() };
        follower.catch_up().await;
        follower
    }

    async fn catch_up(&mut self) {
        loop {
            let page = self.shop.admin().await.get(&format!("{FEED}?after={}", self.cursor)).await.expect(200).json();
            for order in page["orders"].as_array().unwrap() {
                self.orders.insert(order["id"].as_str().unwrap().to_owned(), order.clone());
            }
            page["next"].as_str().unwrap().clone_into(&mut self.cursor);
            if page["has_more"] == false {
                return;
            }
        }
    }

    /// Catches up until the order has the status.
    async fn wait_for(&mut self, order: &str, status: &str) {
        self.wait_until(order, |found| found["status"] == status).await;
    }

    /// Catches up until the order satisfies the condition.
    async fn wait_until(&mut self, order: &str, is_so: impl Fn(&Value) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !self.orders.get(order).is_some_and(&is_so) {
            assert!(Instant::now() < deadline, "{order} is not so in the feed: {:?}", self.orders.get(order));
            self.catch_up().await;
        }
    }
}

async fn follower_has_every_order(rung: Rung) {
    let (shop, sale) = Shop::selling(rung, NewSale::of(100)).await;
    let mut follower = Follower::begin(&shop).await;
    assert!(follower.orders.is_empty());
    let bought = futures::future::join_all((0..60).map(async |n| shop.shopper(n).buy_one(&sale).await)).await;
    for order in &bought {
        follower.wait_for(order, "unpaid").await;
    }
    shop.shopper(0).cancel(&sale, &bought[0]).await.expect(200);
    follower.wait_for(&bought[0], "cancelled").await;
    assert_eq!(follower.orders.len(), 60);
}

async fn follower_learns_of_partial_refunds_and_deleted_accounts(rung: Rung) {
    let (shop, sale) = Shop::selling(rung, NewSale::of(1)).await;
    let mei = Shopper::new(shop.register("mei", PASSWORD).await);
    let order = mei.unpaid_order(&sale).await;
    let checkout = mei.begin_payment(&sale, &order).await;
    mei.pay_at(&checkout).await.expect(303);
    let mut follower = Follower::begin(&shop).await;
    follower.wait_for(&order, "paid").await;
    let paid = follower.orders[&order].clone();
    assert_eq!((&paid["username"], &paid["refunded"]), (&json!("mei"), &json!({"amount": 0, "currency": "CNY"})));

    let part = json!({"amount": {"amount": 500, "currency": "CNY"}, "reason": "scratched"});
    shop.admin().await.post(&format!("/api/admin/orders/{order}/refund-part"), part).await.expect(200);
    follower.wait_until(&order, |found| found["refunded"]["amount"] == 500).await;
    assert_eq!(follower.orders[&order]["status"], "paid");

    let request = json!({"username": "mei", "password": PASSWORD});
    mei.client.post("/api/account/delete", request).await.expect(204);
    follower.wait_until(&order, |found| found["username"] != "mei").await;
    let name = follower.orders[&order]["username"].as_str().unwrap();
    assert!(name.starts_with("deleted-"), "{name}");
}

cases! { follower_has_every_order: follower_has_every_order_of_sqlite: Rung::Sqlite, }
cases! { follower_learns_of_partial_refunds_and_deleted_accounts:
    follower_learns_of_partial_refunds_and_deleted_accounts_of_sqlite: Rung::Sqlite,
}

mod stack {
    use sqlx::postgres::PgConnection;
    use sqlx::{AssertSqlSafe, Connection};

    use super::*;

    cases! { follower_has_every_order: follower_has_every_order_of_postgresql_through_rabbitmq: Rung::Rabbit, }
    cases! { follower_learns_of_partial_refunds_and_deleted_accounts:
        follower_learns_of_partial_refunds_and_deleted_accounts_of_postgresql: Rung::Postgres,
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn change_that_commits_after_later_ones_is_not_missed() {
        let (shop, sale) = Shop::selling(Rung::Postgres, NewSale::of(9)).await;
        let (held, other) = (shop.shopper(1).buy_one(&sale).await, shop.shopper(2).buy_one(&sale).await);
        let mut follower = Follower::begin(&shop).await;

        // A transaction like the shop's own. It began before all that follows.
        let mut open = PgConnection::connect(shop.setting("SECKILL_DATABASE_URL")).await.unwrap();
        sqlx::raw_sql("BEGIN").execute(&mut open).await.unwrap();
        let change = format!(
            "UPDATE orders SET status = 'paid' WHERE id = '{held}';
             INSERT INTO order_changes (id, orders) VALUES ('00000000-0000-7000-8000-000000000001', '{held}')"
        );
        sqlx::raw_sql(AssertSqlSafe(change)).execute(&mut open).await.unwrap();

        shop.shopper(2).cancel(&sale, &other).await.expect(200);
        follower.wait_for(&other, "cancelled").await;
        let third = shop.shopper(3).buy_one(&sale).await;
        follower.wait_for(&third, "unpaid").await;
        assert_eq!(follower.orders[&held]["status"], "unpaid", "it is not committed");

        sqlx::raw_sql("COMMIT").execute(&mut open).await.unwrap();
        follower.catch_up().await;
        assert_eq!(follower.orders[&held]["status"], "paid");
    }
}
