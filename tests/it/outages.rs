//! Unreachable services, at the start and later. A proxy in front of each service cuts it off for one shop only. The
//! tests are multi-threaded, so that proxies still cancel their connections when a test ends.

mod stack {
    use std::time::{Duration, Instant};

    use axum::http::Method;
    use base::config::ServiceAddress;
    use engine::pipeline::rabbit::Rabbit;
    use serde_json::json;

    use crate::support::{
        ADMIN_PASSWORD, Fixture, Load, NewSale, Plan, Proxy, RedisServer, Rung, Shop, Shopper, eventually, pause, run,
    };

    const TIMEOUT: Duration = Duration::from_secs(20);
    /// Longer than a shopper waits for a page.
    const REFUSAL_TIMEOUT: Duration = Duration::from_secs(8);

    /// A shop with working proxies in front of these services.
    async fn shop_behind(rung: Rung, services: &[&str]) -> (Shop, Vec<Proxy>) {
        let mut plan = Plan::on(rung).await;
        let proxies: Vec<Proxy> = services.iter().map(|service| plan.through_proxy(service)).collect();
        for proxy in &proxies {
            proxy.restore().await;
        }
        (plan.start().await, proxies)
    }

    /// Pages, button and sessions answer without any of the services.
    async fn pages_and_sessions_answer(shop: &Shop, sale: &str, shopper: &Shopper) {
        for path in ["/zh/", &format!("/en/sales/{sale}"), "/api/sales"] {
            shop.client().get(path).await.expect(200);
        }
        shop.client().get(&format!("/api/sales/{sale}/button")).await.expect(200);
        shopper.client.get("/api/me").await.expect(200);
    }

    /// A purchase is refused soon, with `Retry-After`.
    async fn assert_refused(shopper: &Shopper, sale: &str) {
        let began = Instant::now();
        let answer = shopper.buy(sale, 1).await.expect_problem(503, "overloaded");
        assert!(!answer.header("retry-after").is_empty());
        assert!(began.elapsed() < REFUSAL_TIMEOUT, "refused only after {:?}", began.elapsed());
    }

    /// Checks that `/healthz` names the missing service, and `/livez` and `/readyz` stay 200.
    async fn assert_not_healthy_without(shop: &Shop, part: &str) {
        for about_the_process in ["/livez", "/readyz"] {
            shop.ops(0).get(about_the_process).await.expect(200);
        }
        let report = shop.ops(0).get("/healthz").await.expect(503).json();
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
    async fn process_started_before_its_services_names_them_and_waits_for_the_database_only() {
        let mut plan = Plan::on(Rung::Rabbit).await;
        let names = ["SECKILL_DATABASE_URL", "SECKILL_REDIS_URL", "SECKILL_AMQP_URL"];
        let proxies = names.map(|name| plan.through_proxy(name));
        let mut shop = plan.launch();
        for name in names {
            eventually(&format!("the log names {name}"), TIMEOUT, async || {
                shop.processes[0].check();
                let log = shop.processes[0].log();
                if log.contains(&format!("({name})")) { Ok(()) } else { Err(log) }
            })
            .await;
            if name == names[0] {
                proxies[0].restore().await;
            }
        }
        shop.ops(0).wait_for("/readyz", 200, TIMEOUT).await;
        proxies[1].restore().await;
        proxies[2].restore().await;
        shop.wait_until_ready().await;
        let sale = shop.open(NewSale::of(1)).await;
        shop.shopper(1).unpaid_order(&sale).await;
        shop.audit_is_clean().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn purchases_pause_without_redis_and_resume() {
        let (shop, proxies) = shop_behind(Rung::Rabbit, &["SECKILL_REDIS_URL"]).await;
        let sale = shop.open(NewSale::of(5)).await;
        let (one, two) = (shop.shopper(1), shop.shopper(2));
        let order = one.unpaid_order(&sale).await;
        two.token(&sale).await.expect(200);
        proxies[0].cut();
        assert_refused(&two, &sale).await;
        pages_and_sessions_answer(&shop, &sale, &two).await;
        assert_not_healthy_without(&shop, "redis master").await;
        // Orders in the database can be read and cancelled; their units return later.
        one.order(&sale, &order).await.expect(200);
        one.cancel(&sale, &order).await.expect(200);
        proxies[0].restore().await;
        let second = two.buy_when_possible(&sale, TIMEOUT).await;
        two.wait_for_status(&sale, &second, "unpaid").await;
        shop.audit_is_clean().await;
    }

    /// The services that hold the stock are away: purchases are refused, and everything else answers.
    async fn stock_is_away((rung, services): (Rung, &[&str])) {
        let (shop, proxies) = shop_behind(rung, services).await;
        let sale = shop.open(NewSale::of(5)).await;
        let shopper = shop.shopper(1);
        shopper.token(&sale).await.expect(200);
        proxies.iter().for_each(Proxy::cut);
        assert_refused(&shopper, &sale).await;
        pages_and_sessions_answer(&shop, &sale, &shopper).await;
        for proxy in &proxies {
            proxy.restore().await;
        }
        let order = shopper.buy_when_possible(&sale, TIMEOUT).await;
        shopper.wait_for_status(&sale, &order, "unpaid").await;
        shop.audit_is_clean().await;
    }

    cases! { stock_is_away:
        button_answers_without_any_redis: (Rung::Redis, &["SECKILL_REDIS_URL", "SECKILL_REDIS_REPLICA_URLS"][..]),
        database_stock_refuses_while_the_database_is_down: (Rung::Postgres, &["SECKILL_DATABASE_URL"][..]),
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn purchases_continue_without_rabbitmq_and_orders_wait() {
        let (shop, proxies) = shop_behind(Rung::Rabbit, &["SECKILL_AMQP_URL"]).await;
        let sale = shop.open(NewSale::of(5)).await;
        proxies[0].cut();
        let shopper = shop.shopper(1);
        let order = shopper.buy_one(&sale).await;
        pages_and_sessions_answer(&shop, &sale, &shopper).await;
        assert_not_healthy_without(&shop, "rabbitmq").await;
        // Longer than an order normally takes to arrive.
        pause(1_000).await;
        assert_eq!(shopper.order(&sale, &order).await.expect(200).json()["order"]["status"], "reserved");
        proxies[0].restore().await;
        shopper.wait_for_status(&sale, &order, "unpaid").await;
        shop.audit_is_clean().await;
    }

    /// Connecting takes longer than a health check waits. If a connection were given up and started again each time, it
    /// would never succeed, and would add to the load of a busy broker.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn process_with_a_slow_broker_becomes_healthy() {
        let (shop, proxies) = shop_behind(Rung::Rabbit, &["SECKILL_AMQP_URL"]).await;
        proxies[0].cut();
        proxies[0].slow_down(Duration::from_millis(280));
        proxies[0].restore().await;
        shop.ops(0).wait_for("/healthz", 200, TIMEOUT).await;
    }

    cases! { redis_sells_while_the_database_is_down:
        orders_wait_in_rabbitmq_while_the_database_is_down: Rung::Rabbit,
        orders_wait_in_the_outbox_while_the_database_is_down: Rung::Redis,
    }

    async fn redis_sells_while_the_database_is_down(rung: Rung) {
        let (shop, proxies) = shop_behind(rung, &["SECKILL_DATABASE_URL"]).await;
        let sale = shop.open(NewSale::of(5)).await;
        proxies[0].cut();
        let shopper = shop.shopper(1);
        let order = shopper.buy_one(&sale).await;
        pages_and_sessions_answer(&shop, &sale, &shopper).await;
        let status = shopper.order(&sale, &order).await.expect_problem(503, "unavailable");
        assert!(!status.header("retry-after").is_empty());
        let who = json!({"username": "admin", "password": ADMIN_PASSWORD});
        shop.client().post("/api/login", who).await.expect_problem(503, "unavailable");
        assert_not_healthy_without(&shop, "database").await;
        proxies[0].restore().await;
        // The order arrives without waiting for the sweep that republishes overdue orders.
        eventually("the order has arrived", Duration::from_secs(8), async || {
            let answer = shopper.order(&sale, &order).await;
            let text = answer.text();
            if text.contains("\"unpaid\"") { Ok(()) } else { Err(text) }
        })
        .await;
        shop.audit_is_clean().await;
    }

    /// The gate admits no more requests than there are units. It forgets requests that got none, without the database's
    /// help.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn units_that_are_left_are_sold_while_the_database_is_down() {
        const UNITS: i64 = 20;
        let (shop, proxies) = shop_behind(Rung::Redis, &["SECKILL_DATABASE_URL"]).await;
        let sale = shop.open(NewSale::of(UNITS)).await;
        proxies[0].cut();
        // Repeated requests use up the gate's admissions.
        let shopper = shop.shopper(1);
        for _ in 0..60 {
            shopper.try_buy(&sale, 1).await.unwrap();
        }
        let mut load = Load::new(&sale);
        load.serve(&shop, 2 * UNITS as u64, Duration::from_secs(1)).await;
        // The load has a shopper with the same number.
        assert_eq!(load.winners() as i64, UNITS, "{:?}", load.refusals());
        proxies[0].restore().await;
        shop.wait_for_sold(&sale, UNITS, Duration::from_secs(30)).await;
        shop.audit_is_clean().await;
    }

    /// Redis holds the units, but the answer is lost.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn retry_after_a_lost_answer_returns_the_same_order() {
        let (shop, proxies) = shop_behind(Rung::Redis, &["SECKILL_REDIS_URL"]).await;
        let sale = shop.open(NewSale::of(1)).await;
        let (one, two) = (shop.shopper(1), shop.shopper(2));
        one.token(&sale).await.expect(200);
        proxies[0].drop_responses();
        assert_refused(&one, &sale).await;
        proxies[0].cut();
        proxies[0].restore().await;
        let order = one.buy_when_possible(&sale, TIMEOUT).await;
        assert_eq!(one.buy(&sale, 1).await.expect(200).json()["repeated"], true);
        one.wait_for_status(&sale, &order, "unpaid").await;
        two.buy(&sale, 1).await.expect_problem(409, "sold_out");
        shop.wait_for_sold(&sale, 1, TIMEOUT).await;
        shop.audit_is_clean().await;
    }

    /// The database has failed over: the old host vanished with statements in flight, and the new one accepts
    /// connections.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn database_host_that_vanishes_with_statements_in_flight_stops_no_role_for_long() {
        let (shop, proxies) = shop_behind(Rung::Redis, &["SECKILL_DATABASE_URL"]).await;
        let sale = shop.open(NewSale::of(60)).await;
        let due = shop.create(NewSale::of(5).opens_in(Duration::from_secs(5))).await;
        let mut orders = Vec::new();
        for n in 1..=60 {
            if n == 30 {
                proxies[0].silence_open_connections();
            }
            let shopper = shop.shopper(n);
            let answer = eventually("a shopper can buy", TIMEOUT, async || shopper.try_buy(&sale, 1).await).await;
            orders.push((n, answer.expect(202).order_id()));
        }
        let began = Instant::now();
        eventually("all orders have arrived and the next sale has opened", Duration::from_secs(40), async || {
            for (n, order) in &orders {
                let text = shop.shopper(*n).order(&sale, order).await.text();
                if !text.contains("\"unpaid\"") {
                    return Err(text);
                }
            }
            let button = shop.client().get(&format!("/api/sales/{due}/button")).await.text();
            if button.contains("\"open\"") { Ok(()) } else { Err(button) }
        })
        .await;
        println!("the shop worked again after {:.1} s", began.elapsed().as_secs_f64());
        shop.audit_is_clean().await;
    }

    /// A start first asks for the schema. The host vanishes with the question.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn start_goes_on_after_the_database_host_vanished_during_it() {
        let (mut shop, proxies) = shop_behind(Rung::Postgres, &["SECKILL_DATABASE_URL"]).await;
        shop.processes[0].terminate();
        shop.processes[0].ended(TIMEOUT).await;
        proxies[0].silence_open_connections_at("_sqlx_migrations");
        shop.processes[0].start();
        shop.wait_until_ready().await;
        let sale = shop.open(NewSale::of(1)).await;
        shop.shopper(1).buy(&sale, 1).await.expect(202);
    }

    /// The service is reachable and refuses access, so waiting would not help.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn service_that_refuses_access_ends_the_start_and_is_named() {
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
            let status = shop.processes[0].ended(TIMEOUT).await;
            let log = shop.processes[0].log();
            assert!(!status.success() && log.contains(name), "{name}={value}: {status}\n{log}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn doctor_names_the_unreachable_service() {
        let (shop, proxies) = shop_behind(Rung::Rabbit, &["SECKILL_AMQP_URL"]).await;
        let before = shop.run(&["doctor"]).await;
        assert!(before.status.success(), "{before:?}");
        proxies[0].cut();
        let during = shop.run(&["doctor"]).await;
        let text = String::from_utf8_lossy(&during.stdout).into_owned() + &String::from_utf8_lossy(&during.stderr);
        assert!(!during.status.success() && text.contains("SECKILL_AMQP_URL"), "{text}");
        shop.client().request(Method::GET, "/zh/").send().await.expect(200);
    }

    #[tokio::test]
    async fn doctor_names_all_that_forgets_in_a_crash() {
        let (fixture, redis) = (Fixture::new(Rung::Postgres).await, RedisServer::start().await);
        let _: String = redis.ask("CONFIG SET appendonly no").await;
        let _: String = redis.ask("CONFIG SET maxmemory-policy allkeys-lru").await;
        let mut settings = fixture.settings.clone();
        let database = format!("{}?options=-csynchronous_commit%3Doff", settings["SECKILL_DATABASE_URL"]);
        settings.insert("SECKILL_DATABASE_URL".into(), database);
        settings.insert("SECKILL_REDIS_URL".into(), redis.url());
        let done = run(&settings, fixture.dir(), &["doctor"]).await;
        let text = String::from_utf8_lossy(&done.stdout);
        let named = ["FAIL  database: synchronous_commit is off", "it has no append-only file", "it may evict keys"];
        assert!(done.status.code() == Some(1) && named.iter().all(|words| text.contains(words)), "{text}");
    }

    /// The first address is chosen at random, so the dead node is asked in half of the attempts.
    #[tokio::test]
    async fn next_node_of_rabbitmq_is_asked_when_one_does_not_answer() {
        let fixture = Fixture::new(Rung::Rabbit).await;
        let connect =
            async |nodes: String| Rabbit::connect_to_publish(&ServiceAddress::from(nodes.as_str()), "test").await;
        let living = &fixture.settings["SECKILL_AMQP_URL"];
        for _ in 0..8 {
            connect(format!("amqp://u:sesame@127.0.0.1:1/shop,{living}")).await.unwrap().close().await;
        }
        let dead = connect("amqp://u:sesame@127.0.0.1:1/shop,amqp://u:sesame@127.0.0.1:2/shop".into()).await;
        let error = format!("{:#}", dead.err().unwrap());
        assert!(["127.0.0.1:1", "127.0.0.1:2"].iter().all(|node| error.contains(node)), "{error}");
        assert!(!error.contains("sesame"), "{error}");
    }
}
