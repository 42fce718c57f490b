//! Many open packets without claims: they cost an idle shop little, and a claim on one of them still arrives.

mod stack {
    use std::time::Duration;

    use axum::http::Method;
    use serde_json::{Value, json};

    use crate::support::{Plan, Rung, Shop, eventually, on_database, until};

    const PACKETS: i64 = 1_000;
    const LOAD_TIMEOUT: Duration = Duration::from_secs(180);
    const CLAIM_TIMEOUT: Duration = Duration::from_secs(60);
    const MEASURED: Duration = Duration::from_secs(5);
    /// Each open packet cost ten commands a second and more.
    const MAX_COMMANDS_PER_SECOND: u64 = 4_000;

    fn id(n: i64) -> i64 {
        100_000_000_000 + n * 899_000_000
    }

    async fn redis<T: redis::FromRedisValue>(shop: &Shop, words: &[&str]) -> T {
        let mut connection = shop.redis().await;
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command.query_async(&mut connection).await.unwrap()
    }

    async fn commands(shop: &Shop) -> u64 {
        let info: String = redis(shop, &["INFO", "stats"]).await;
        let line = info.lines().find_map(|line| line.strip_prefix("total_commands_processed:"));
        line.unwrap().trim().parse().unwrap()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn thousands_of_idle_packets_cost_an_idle_shop_little() {
        let shop = Plan::on(Rung::Redis).await.one_role_per_process().start().await;
        let now = base::clock::Clock::system().now().as_millisecond();
        let rows = (1..=PACKETS)
            .map(|n| format!("({}, 100, 1, 1, 100, 'equal', '', 1, 1, 9000000000000, 1, 'open', {now})", id(n)));
        let packets = format!(
            "INSERT INTO packets (id, total, count, least, most, split, greeting, own, opens_at_ms, expires_at_ms,
             buckets, state, created_at_ms) VALUES {}",
            rows.collect::<Vec<_>>().join(",")
        );
        on_database(&shop, &packets).await;
        on_database(&shop, "INSERT INTO packet_shares (packet_id, part, amounts) SELECT id, 0, '100' FROM packets")
            .await;
        let funds = "INSERT INTO wallet_balances (account, balance) SELECT 'packet:' || id, 100 FROM packets";
        on_database(&shop, funds).await;
        eventually("all packets are loaded", LOAD_TIMEOUT, async || {
            let last = format!("packet{{{}}}", id(PACKETS));
            let loaded: i64 = redis(&shop, &["EXISTS", &last]).await;
            if loaded == 1 { Ok(()) } else { Err(last) }
        })
        .await;
        tokio::time::sleep(MEASURED).await;
        let before = commands(&shop).await;
        tokio::time::sleep(MEASURED).await;
        let rate = (commands(&shop).await - before) / MEASURED.as_secs();
        println!("{rate} commands a second with {PACKETS} open packets");
        assert!(rate <= MAX_COMMANDS_PER_SECOND, "{rate} commands a second");

        let packet = id(PACKETS / 2);
        let path = format!("/api/packets/{packet}/claims");
        eventually("a share is claimed", CLAIM_TIMEOUT, async || {
            let claim = shop.shopper(1).client.request(Method::POST, &path).json(&json!({})).try_send().await?;
            if claim.status == 200 { Ok(()) } else { Err(claim.text()) }
        })
        .await;
        let read = async || shop.client().get(&format!("/api/packets/{packet}")).await.expect(200).json();
        let is_over = |shown: &Value| shown["packet"]["settled_at"].is_string();
        until("the claim is in the database, and the packet over", CLAIM_TIMEOUT, read, is_over).await;
    }
}
