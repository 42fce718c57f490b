//! A Redis master that moves, and replicas that do not follow it. Each test has its own servers.

mod stack {
    use std::time::Duration;

    use crate::support::{NewSale, Plan, Proxy, RedisServer, Rung, Shop, Shopper, eventually, until};

    const TIMEOUT: Duration = Duration::from_secs(30);
    /// Includes the time until a master with a new process sells: first all grants are replayed to it.
    const MOVE_TIMEOUT: Duration = Duration::from_secs(60);

    async fn buy_when_possible(shopper: &Shopper, sale: &str) {
        let order = shopper.buy_when_possible(sale, MOVE_TIMEOUT).await;
        shopper.wait_for_status(sale, &order, "unpaid").await;
    }

    async fn is_ready(shop: &Shop) -> Result<(), String> {
        for n in 0..shop.processes.len() {
            let answer = shop.ops(n).request(axum::http::Method::GET, "/healthz").try_send().await?;
            if answer.status != 200 {
                return Err(format!("process {n}: {}", answer.text()));
            }
        }
        Ok(())
    }

    async fn replicas_left(shop: &Shop) -> String {
        let text = shop.ops(0).get("/metrics").await.expect(200).text();
        let line = text.lines().find(|line| line.starts_with("seckill_facts_replicas_left "));
        line.unwrap_or_default().to_owned()
    }

    async fn no_replica_is_left(shop: &Shop, what: &str) {
        until(what, TIMEOUT, async || replicas_left(shop).await, |left| left == "seckill_facts_replicas_left 0").await;
    }

    /// `new` becomes the master and `old` its replica, as in a failover. Connections to both stay open.
    async fn promote(new: &RedisServer, old: &RedisServer) {
        let _: String = new.ask("REPLICAOF NO ONE").await;
        old.follow(new.port).await;
    }

    /// The proxy is the stable name of the master. Open connections still lead to the old master, which refuses writes.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn purchases_follow_a_master_that_moves_behind_a_stable_name() {
        let one = RedisServer::start().await;
        let two = RedisServer::replica_of(one.port).await;
        let plan = Plan::on(Rung::Rabbit).await.set("SECKILL_REDIS_URL", &one.url());
        let mut plan = plan.unset("SECKILL_REDIS_REPLICA_URLS");
        let name = plan.through_proxy("SECKILL_REDIS_URL");
        name.restore().await;
        // The second relay sends only single commands.
        let (shop, sale) = plan.roles(&["serve", "control", "consume", "relay", "relay"]).open(NewSale::of(10)).await;
        shop.shopper(1).buy_one(&sale).await;

        promote(&two, &one).await;
        name.redirect(two.address());
        buy_when_possible(&shop.shopper(2), &sale).await;
        eventually("the shop is ready", TIMEOUT, async || is_ready(&shop).await).await;

        promote(&one, &two).await;
        name.redirect(one.address());
        buy_when_possible(&shop.shopper(3), &sale).await;
        eventually("the shop is ready", TIMEOUT, async || is_ready(&shop).await).await;
        shop.wait_for_sold(&sale, 3, TIMEOUT).await;
        shop.audit_is_clean().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn process_whose_master_refuses_writes_is_not_ready() {
        let (master, other) = (RedisServer::start().await, RedisServer::start().await);
        let plan = Plan::on(Rung::Redis).await.set("SECKILL_REDIS_URL", &master.url());
        let shop = plan.set("SECKILL_REDIS_REPLICA_URLS", &other.url()).start().await;
        for (refuse, accept) in [
            (format!("REPLICAOF 127.0.0.1 {}", other.port), "REPLICAOF NO ONE"),
            ("CONFIG SET min-replicas-to-write 3".to_owned(), "CONFIG SET min-replicas-to-write 0"),
        ] {
            let _: String = master.ask(&refuse).await;
            let report = eventually(&format!("not ready after {refuse}"), TIMEOUT, async || {
                is_ready(&shop).await.map_or_else(Ok, |()| Err("ready".to_owned()))
            })
            .await;
            assert!(report.contains("redis master"), "{report}");
            shop.ops(0).get("/livez").await.expect(200);
            let _: String = master.ask(accept).await;
            eventually(&format!("ready after {accept}"), TIMEOUT, async || is_ready(&shop).await).await;
        }
    }

    /// How the link between a replica and its master fails.
    #[derive(Clone, Copy)]
    enum LinkFault {
        Cut,
        /// The link stays open, but nothing comes through.
        Silent,
    }

    /// The shop reads from a replica whose link fails before the sale begins.
    async fn sale_opens_although_a_replica_lost_its_master(fault: LinkFault) {
        let master = RedisServer::start().await;
        let link = Proxy::new(master.address());
        link.restore().await;
        let replica = RedisServer::replica_of(link.address.port()).await;
        let plan = Plan::on(Rung::Redis).await.set("SECKILL_REDIS_URL", &master.url());
        let shop = plan.set("SECKILL_REDIS_REPLICA_URLS", &replica.url()).start().await;
        shop.open(NewSale::of(5)).await;
        no_replica_is_left(&shop, "the replica is read").await;

        match fault {
            LinkFault::Cut => link.cut(),
            LinkFault::Silent => link.drop_responses(),
        }
        // The stale replica does not know this sale.
        let sale = shop.open(NewSale::of(5)).await;
        buy_when_possible(&shop.shopper(1), &sale).await;
        assert_eq!(replicas_left(&shop).await, "seckill_facts_replicas_left 1");
        let log = shop.processes[0].log();
        assert!(log.contains("the gate leaves a replica"), "{log}");
        is_ready(&shop).await.unwrap();

        if let LinkFault::Silent = fault {
            link.cut();
        }
        link.restore().await;
        no_replica_is_left(&shop, "the replica is read again").await;
        let log = shop.processes[0].log();
        assert!(log.contains("the gate reads from the replica again"), "{log}");
        shop.audit_is_clean().await;
    }

    cases! { sale_opens_although_a_replica_lost_its_master:
        sale_opens_although_the_link_of_a_replica_is_cut: LinkFault::Cut,
        sale_opens_although_the_link_of_a_replica_is_silent: LinkFault::Silent,
    }

    /// While the master is away nothing shows that a replica lags, so its facts stay in use.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn replica_is_not_left_because_the_master_is_away() {
        let master = RedisServer::start().await;
        let replica = RedisServer::replica_of(master.port).await;
        let mut plan = Plan::on(Rung::Redis).await.set("SECKILL_REDIS_URL", &master.url());
        let way = plan.through_proxy("SECKILL_REDIS_URL");
        way.restore().await;
        let (shop, sale) = plan.set("SECKILL_REDIS_REPLICA_URLS", &replica.url()).open(NewSale::of(5)).await;
        way.cut();
        // Longer than a replica may lag.
        crate::support::pause(5_000).await;
        assert_eq!(replicas_left(&shop).await, "seckill_facts_replicas_left 0");
        assert_eq!(shop.wait_for_phase(&sale, "open").await["remaining"], 5);
        way.restore().await;
        buy_when_possible(&shop.shopper(1), &sale).await;
        shop.audit_is_clean().await;
    }
}
