//! The checklist before a sale, on rung 3, which has the most checks.

mod stack {
    use std::collections::HashMap;
    use std::time::Duration;

    use redis::AsyncCommands;
    use serde_json::Value;

    use crate::support::{NewSale, Plan, Rung, Shop, eventually, until};

    const TIMEOUT: Duration = Duration::from_secs(20);
    const TOMORROW: Duration = Duration::from_secs(86_400);

    /// Whether the sale is ready, and the code of each check.
    async fn findings(shop: &Shop, sale: &str) -> (bool, HashMap<String, String>) {
        let list = shop.admin().await.get(&format!("/api/admin/sales/{sale}/checklist")).await.expect(200).json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let checks = list["checks"].as_array().unwrap().iter();
        (list["ready"] == true, checks.map(|check| (text(&check["check"]), text(&check["code"]))).collect())
    }

    /// Waits until the checklist has these codes.
    async fn wait_for_findings(shop: &Shop, sale: &str, ready: bool, expected: &[(&str, &str)]) {
        eventually("the checklist", TIMEOUT, async || {
            let (is_ready, found) = findings(shop, sale).await;
            let same = expected.iter().all(|(check, code)| found.get(*check).is_some_and(|found| found == code));
            if same && is_ready == ready { Ok(()) } else { Err(format!("{is_ready} {found:?}")) }
        })
        .await;
    }

    #[tokio::test]
    async fn checklist_names_what_a_sale_lacks() {
        let mut shop = Plan::on(Rung::Rabbit).await.roles(&["serve", "relay", "consume", "control"]).start().await;
        let planned = || NewSale::of(100).opens_in(TOMORROW).closes_in(2 * TOMORROW);
        let sale = shop.create(planned()).await;
        let ready = [
            ("stock", "stock_loaded"),
            ("replica", "replica_in_step"),
            ("clock", "clock_true"),
            ("services", "services_well"),
            ("outbox", "outbox_quiet"),
            ("control", "control_works"),
            ("consumer", "consumer_present"),
            ("page", "page_current"),
        ];
        wait_for_findings(&shop, &sale, true, &ready).await;

        shop.process("control", 0).kill();
        shop.process("consume", 0).kill();
        let orphan = shop.create(planned()).await;
        let not_ready = [
            ("stock", "stock_not_loaded"),
            ("control", "control_missing"),
            ("consumer", "consumer_missing"),
            ("services", "services_well"),
        ];
        wait_for_findings(&shop, &orphan, false, &not_ready).await;
        wait_for_findings(&shop, &sale, false, &[("stock", "stock_loaded"), ("control", "control_missing")]).await;

        shop.process("control", 0).start();
        wait_for_findings(&shop, &orphan, false, &[("stock", "stock_loaded"), ("control", "control_works")]).await;
    }

    #[tokio::test]
    async fn deleted_draft_is_removed_from_redis() {
        let shop = Shop::start(Rung::Rabbit).await;
        let draft = shop.create(NewSale::of(5)).await;
        wait_for_findings(&shop, &draft, true, &[("stock", "stock_loaded"), ("page", "page_draft")]).await;
        let path = format!("/api/admin/sales/{draft}");
        shop.admin().await.request(axum::http::Method::DELETE, &path).send().await.expect(204);
        shop.admin().await.get(&format!("{path}/checklist")).await.expect_problem(404, "no_such_sale");
        let (mut redis, key) = (shop.redis().await, format!("goods{{{draft}}}"));
        let exists = async || redis.exists::<_, bool>(&key).await.unwrap();
        until("its keys are gone", TIMEOUT, exists, |exists| !exists).await;
    }
}
