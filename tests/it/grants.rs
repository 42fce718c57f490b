//! The grants that a server remembers because the database does not have them yet.

mod stack {
    use std::fs::{self, File};
    use std::io::{BufWriter, Write};
    use std::path::Path;
    use std::time::Duration;

    use domain::{Bucket, OrderId, SaleId, UserId};
    use engine::redis::keys;
    use redis::AsyncCommands;

    use crate::support::{NewSale, Plan, Rung, eventually};

    /// More than the million that a server remembers.
    const GRANTS: usize = 1_010_000;
    const TIMEOUT: Duration = Duration::from_secs(30);
    const GRANTS_PER_LINE: usize = 4_096;
    /// The growth allowed: 56 bytes for each grant, twice that while the log grows, and the memory that reading the
    /// file takes.
    const MAX_GROWTH: u64 = 160 << 20;

    /// Writes the same file as a server that stops.
    fn write_grants(data_dir: &Path, sale: SaleId, generation: &serde_json::Value) {
        fs::create_dir_all(data_dir.join("grants")).unwrap();
        let mut file = BufWriter::new(File::create(data_dir.join("grants/earlier.goods.jsonl")).unwrap());
        for line in 0..GRANTS.div_ceil(GRANTS_PER_LINE) {
            let count = GRANTS_PER_LINE.min(GRANTS - line * GRANTS_PER_LINE);
            let grant = |_| {
                let (user, order) = (UserId(uuid::Uuid::now_v7()), OrderId(uuid::Uuid::now_v7()));
                format!(r#"{{"user_id":"{user}","order_id":"{order}","quantity":1}}"#)
            };
            let grants = (0..count).map(grant).collect::<Vec<String>>().join(",");
            let line = format!(r#"{{"bucket":"{sale}","generation":{generation},"grants":[{grants}]}}"#);
            writeln!(file, "{line}").unwrap();
        }
        file.into_inner().unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn server_remembers_a_million_grants_in_bounded_memory() {
        let mut shop = Plan::on(Rung::Redis).await.roles(&["serve", "consume", "control"]).start().await;
        let sale = shop.open(NewSale::of(10)).await;
        let id = SaleId(sale.parse().unwrap());
        let mut master = shop.redis().await;
        let (epoch, server): (i64, String) =
            master.hmget(keys::hash(Bucket::whole(id)), &["Epoch", "Server"]).await.unwrap();
        write_grants(
            Path::new(shop.setting("SECKILL_DATA_DIR")),
            id,
            &serde_json::json!({"epoch": epoch, "server": server}),
        );

        let without = shop.process("serve", 0).memory_kib("VmRSS") << 10;
        shop.process("serve", 0).restart();
        shop.wait_until_ready().await;
        let serve = shop.process("serve", 0);
        assert!(serve.log().contains(&GRANTS.to_string()), "the file was read");
        let (with, peak) = (serve.memory_kib("VmRSS") << 10, serve.memory_kib("VmHWM") << 10);
        println!("{} MiB without grants, {} with a million, {} at most", without >> 20, with >> 20, peak >> 20);
        assert!(peak - without < MAX_GROWTH, "{without} {with} {peak}");
        let ops = shop.ops(0);
        eventually("the oldest are dropped", TIMEOUT, async || {
            let metrics = ops.get("/metrics").await.text();
            let dropped = metrics.lines().find(|line| line.starts_with("seckill_grants_dropped_total"));
            if dropped.is_some_and(|line| line.ends_with(" 10000")) { Ok(()) } else { Err(format!("{dropped:?}")) }
        })
        .await;
        assert!(shop.process("serve", 0).log().contains("the oldest are no longer remembered by this process"));

        // The server sells as before.
        shop.shopper(1).unpaid_order(&sale).await;
    }
}
