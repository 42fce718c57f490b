//! Services that are away, at the start and later. Proxies stand in front of the real ones, so that nobody else
//! notices. They work in threads of their own, so that they also end what is left when a test ends.

mod stack {
    use std::time::{Duration, Instant};

    use axum::http::Method;
    use serde_json::json;

    use crate::support::{ADMIN_PASSWORD, Answer, NewSale, Plan, Proxy, Rung, Shop, Shopper, eventually, pause};

    const SOON: Duration = Duration::from_secs(20);
    /// Nobody looks at a spinning browser for longer.
    const REFUSED_WITHIN: Duration = Duration::from_secs(8);

    /// A shop behind proxies in front of these services, which work.
    async fn shop_behind(rung: Rung, services: &[&str]) -> (Shop, Vec<Proxy>) {
        let mut plan = Plan::on(rung).await;
        let proxies: Vec<Proxy> = services.iter().map(|service| plan.through_proxy(service)).collect();
        for proxy in &proxies {
            proxy.mend().await;
        }
        (plan.start().await, proxies)
    }

    /// Pages, button and sessions need none of the services.
    async fn the_crowd_is_answered(shop: &Shop, sale: &str, shopper: &Shopper) {
        for path in ["/zh/", &format!("/en/sales/{sale}"), "/api/sales"] {
            shop.client().get(path).await.expect(200);
        }
        shop.client().get(&format!("/api/sales/{sale}/button")).await.expect(200);
        shopper.client.get("/api/me").await.expect(200);
    }

    /// The refusal says when to come back, and comes soon.
    async fn refused(shopper: &Shopper, sale: &str) {
        let began = Instant::now();
        let answer = shopper.buy(sale, 1).await.expect_problem(503, "overloaded");
        assert!(!answer.header("retry-after").is_empty());
        assert!(began.elapsed() < REFUSED_WITHIN, "refused only after {:?}", began.elapsed());
    }

    /// Waits until buying works again, without any restart.
    async fn heals(shopper: &Shopper, sale: &str) -> String {
        eventually("buying works again", SOON, async || {
            let answer: Answer = shopper.try_buy(sale, 1).await?;
            if [200, 202].contains(&answer.status) { Ok(answer.order_id()) } else { Err(answer.text()) }
        })
        .await
    }

    /// `/readyz` names what is missing; being alive is another question.
    async fn not_ready_without(shop: &Shop, part: &str) {
        shop.ops(0).get("/livez").await.expect(200);
        let report = shop.ops(0).get("/readyz").await.expect(503).json();
        let missing: Vec<&str> = report["parts"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|part| part["ok"] == false)
            .map(|part| part["name"].as_str().unwrap())
            .collect();
        assert_eq!(missing, [part], "{report}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn who_starts_before_the_services_waits_for_each_by_name() {
        let mut plan = Plan::on(Rung::Rabbit).await;
        let names = ["SECKILL_DATABASE_URL", "SECKILL_REDIS_URL", "SECKILL_AMQP_URL"];
        let proxies = names.map(|name| plan.through_proxy(name));
        let mut shop = plan.launch();
        for (name, proxy) in names.into_iter().zip(&proxies) {
            eventually(&format!("the log names {name}"), SOON, async || {
                shop.processes[0].check();
                let log = shop.processes[0].log();
                if log.contains(&format!("({name})")) && log.contains("waiting for") { Ok(()) } else { Err(log) }
            })
            .await;
            proxy.mend().await;
        }
        shop.ready().await;
        let sale = shop.open(NewSale::of(1)).await;
        let order = shop.shopper(1).wins(&sale).await;
        shop.shopper(1).sees(&sale, &order, "unpaid").await;
        shop.audit_is_clean().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn without_redis_buying_pauses_and_heals_by_itself() {
        let (shop, proxies) = shop_behind(Rung::Rabbit, &["SECKILL_REDIS_URL"]).await;
        let sale = shop.open(NewSale::of(5)).await;
        let (one, two) = (shop.shopper(1), shop.shopper(2));
        let order = one.wins(&sale).await;
        one.sees(&sale, &order, "unpaid").await;
        two.token(&sale).await.expect(200);
        proxies[0].cut();
        refused(&two, &sale).await;
        the_crowd_is_answered(&shop, &sale, &two).await;
        not_ready_without(&shop, "redis master").await;
        // Orders in the database are readable, and may be cancelled; their units return later.
        one.order(&sale, &order).await.expect(200);
        one.cancel(&sale, &order).await.expect(200);
        proxies[0].mend().await;
        let second = heals(&two, &sale).await;
        two.sees(&sale, &second, "unpaid").await;
        shop.audit_is_clean().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn without_any_redis_the_button_still_answers() {
        let services = ["SECKILL_REDIS_URL", "SECKILL_REDIS_REPLICA_URLS"];
        let (shop, proxies) = shop_behind(Rung::Redis, &services).await;
        let sale = shop.open(NewSale::of(5)).await;
        let shopper = shop.shopper(1);
        shopper.token(&sale).await.expect(200);
        proxies.iter().for_each(Proxy::cut);
        refused(&shopper, &sale).await;
        the_crowd_is_answered(&shop, &sale, &shopper).await;
        for proxy in &proxies {
            proxy.mend().await;
        }
        let order = heals(&shopper, &sale).await;
        shopper.sees(&sale, &order, "unpaid").await;
        shop.audit_is_clean().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn without_rabbitmq_buying_goes_on_and_orders_wait() {
        let (shop, proxies) = shop_behind(Rung::Rabbit, &["SECKILL_AMQP_URL"]).await;
        let sale = shop.open(NewSale::of(5)).await;
        proxies[0].cut();
        let shopper = shop.shopper(1);
        let order = shopper.wins(&sale).await;
        the_crowd_is_answered(&shop, &sale, &shopper).await;
        not_ready_without(&shop, "rabbitmq").await;
        // Long enough that it would have arrived.
        pause(1_000).await;
        assert_eq!(shopper.order(&sale, &order).await.expect(200).json()["order"]["status"], "reserved");
        proxies[0].mend().await;
        shopper.sees(&sale, &order, "unpaid").await;
        shop.audit_is_clean().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn without_the_database_redis_sells_on_and_orders_wait_in_rabbitmq() {
        redis_sells_on_without_the_database(Rung::Rabbit).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn without_the_database_redis_sells_on_and_orders_wait_in_the_outbox() {
        redis_sells_on_without_the_database(Rung::Redis).await;
    }

    async fn redis_sells_on_without_the_database(rung: Rung) {
        let (shop, proxies) = shop_behind(rung, &["SECKILL_DATABASE_URL"]).await;
        let sale = shop.open(NewSale::of(5)).await;
        proxies[0].cut();
        let shopper = shop.shopper(1);
        let order = shopper.wins(&sale).await;
        the_crowd_is_answered(&shop, &sale, &shopper).await;
        let status = shopper.order(&sale, &order).await.expect_problem(503, "unavailable");
        assert!(!status.header("retry-after").is_empty());
        let who = json!({"username": "admin", "password": ADMIN_PASSWORD});
        shop.client().post("/api/login", who).await.expect_problem(503, "unavailable");
        not_ready_without(&shop, "database").await;
        proxies[0].mend().await;
        // At once, not when somebody notices much later that it is missing.
        eventually("the order has arrived", Duration::from_secs(8), async || {
            let answer = shopper.order(&sale, &order).await;
            let text = answer.text();
            if text.contains("\"unpaid\"") { Ok(()) } else { Err(text) }
        })
        .await;
        shop.audit_is_clean().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn where_the_database_sells_nothing_is_sold_without_it() {
        let (shop, proxies) = shop_behind(Rung::Postgres, &["SECKILL_DATABASE_URL"]).await;
        let sale = shop.open(NewSale::of(5)).await;
        let shopper = shop.shopper(1);
        shopper.token(&sale).await.expect(200);
        proxies[0].cut();
        refused(&shopper, &sale).await;
        the_crowd_is_answered(&shop, &sale, &shopper).await;
        proxies[0].mend().await;
        let order = heals(&shopper, &sale).await;
        shopper.sees(&sale, &order, "unpaid").await;
        shop.audit_is_clean().await;
    }

    /// The units are held, but nobody was told.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn whoever_got_no_answer_asks_again_and_has_the_same_order() {
        let (shop, proxies) = shop_behind(Rung::Redis, &["SECKILL_REDIS_URL"]).await;
        let sale = shop.open(NewSale::of(1)).await;
        let (one, two) = (shop.shopper(1), shop.shopper(2));
        one.token(&sale).await.expect(200);
        proxies[0].mute();
        refused(&one, &sale).await;
        proxies[0].cut();
        proxies[0].mend().await;
        let order = heals(&one, &sale).await;
        assert_eq!(one.buy(&sale, 1).await.expect(200).json()["repeated"], true);
        one.sees(&sale, &order, "unpaid").await;
        two.buy(&sale, 1).await.expect_problem(409, "sold_out");
        shop.has_sold(&sale, 1, SOON).await;
        shop.audit_is_clean().await;
    }

    /// Waiting would not help: the service is there and will not have us.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_service_that_refuses_ends_the_start_and_is_named() {
        let wrong = [
            ("SECKILL_DATABASE_URL", "seckill:", "seckill:not"),
            ("SECKILL_DATABASE_URL", "/it_", "/no_"),
            ("SECKILL_AMQP_URL", "seckill:", "seckill:not"),
            ("SECKILL_AMQP_URL", "/it_", "/no_"),
        ];
        for (name, right, instead) in wrong {
            let plan = Plan::on(Rung::Rabbit).await;
            let value = plan.setting(name).replace(right, instead);
            let mut shop = plan.set(name, &value).launch();
            let status = shop.processes[0].ended(SOON).await;
            let log = shop.processes[0].log();
            assert!(!status.success() && log.contains(name), "{name}={value}: {status}\n{log}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_doctor_names_what_is_away() {
        let (shop, proxies) = shop_behind(Rung::Rabbit, &["SECKILL_AMQP_URL"]).await;
        let well = shop.run(&["doctor"]).await;
        assert!(well.status.success(), "{well:?}");
        proxies[0].cut();
        let ill = shop.run(&["doctor"]).await;
        let text = String::from_utf8_lossy(&ill.stdout).into_owned() + &String::from_utf8_lossy(&ill.stderr);
        assert!(!ill.status.success() && text.contains("SECKILL_AMQP_URL"), "{text}");
        shop.client().ask(Method::GET, "/zh/").send().await.expect(200);
    }
}
