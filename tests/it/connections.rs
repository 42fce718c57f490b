//! More clients than the shop can serve: idle connections, more shoppers than connections, many clients of nginx. The
//! tests count what is held instead of timing it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use futures::{StreamExt, stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Answer, Client, Shop};

/// A value of `/metrics`.
async fn metric(shop: &Shop, n: usize, name: &str) -> u64 {
    let text = shop.ops(n).get("/metrics").await.expect(200).text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    line.unwrap_or_else(|| panic!("no {name} in {text}"))
}

/// A connection that idles after one request.
async fn idle(address: SocketAddr) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET /api/ping HTTP/1.1\r\nhost: shop.example\r\naccept: */*\r\n\r\n").await?;
    let mut answer = [0; 1024];
    let length = stream.read(&mut answer).await?;
    assert!(answer[..length].starts_with(b"HTTP/1.1 204 "), "{}", String::from_utf8_lossy(&answer[..length]));
    Ok(stream)
}

mod stack {
    use super::*;
    use crate::support::{Load, NewSale, Nginx, Plan, Rung, eventually, free_address, pause, until};

    const TIMEOUT: Duration = Duration::from_secs(20);
    const IDLE: usize = 10_000;
    /// Resident memory of the whole process with all these connections. Pages of the program's file are not counted,
    /// because in a debug build they alone take as much.
    const MAX_MIB: u64 = 100;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn ten_thousand_idle_connections_stay_within_the_memory_budget() {
        let files = rlimit::increase_nofile_limit(1 << 20).unwrap();
        assert!(files > IDLE as u64 + 500, "the system allows only {files} open files");
        let shop = Plan::on(Rung::Rabbit).await.roles(&["serve", "control"]).start().await;
        assert_eq!(
            shop.processes[0].status_line("THP_enabled"),
            "0",
            "transparent huge pages would keep 2 MiB for one byte"
        );
        let resident = || shop.processes[0].memory_kib("RssAnon") / 1024;
        let before = resident();
        let address = shop.processes[0].listen;
        let opened: Vec<_> = stream::iter(0..IDLE).map(|_| idle(address)).buffer_unordered(256).collect().await;
        let open = metric(&shop, 0, "seckill_connections").await;
        assert!(opened.iter().all(Result::is_ok), "every connection was answered");
        assert!(open >= IDLE as u64 * 99 / 100, "{open} are open");
        let read = async || resident();
        let with = until("idle connections stay within the budget", TIMEOUT, read, |mib| *mib < MAX_MIB).await;
        let open = metric(&shop, 0, "seckill_connections").await;
        println!("serve, resident: {before} MiB, with {open} idle connections {with} MiB");
        assert!(open >= IDLE as u64 * 99 / 100, "{open} are open");
        drop(opened);
        let open = async || metric(&shop, 0, "seckill_connections").await;
        until("the connections are closed", TIMEOUT, open, |open| *open < 100).await;
        shop.client().get("/en/").await.expect(200);
    }

    /// There are more shoppers than connections. The others are refused with `Retry-After`, no order is lost, and
    /// memory does not grow with their number.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn shoppers_beyond_the_connection_limit_are_refused_and_served_later() {
        const CONNECTION_LIMIT: usize = 40;
        const UNITS: i64 = 300;
        const MAX_GROWTH_MIB: u64 = 64;
        let plan = Plan::on(Rung::Rabbit).await.set("SECKILL_CONNECTIONS", &CONNECTION_LIMIT.to_string());
        let (shop, sale) = plan.roles(&["serve", "relay", "consume", "control"]).open(NewSale::of(UNITS)).await;
        // Pages of the program's file are left out: how many of them are resident depends on what else runs.
        let resident = || shop.processes[0].memory_kib("RssAnon") / 1024;
        let (before, mut peak) = (resident(), 0);
        let mut load = Load::new(&sale);
        load.arrive(&shop, 600, Duration::from_millis(500));
        let sample = async {
            loop {
                peak = resident().max(peak);
                pause(20).await;
            }
        };
        tokio::select! {
            () = load.finish() => {}
            () = sample => {}
        }
        let turned_away = metric(&shop, 0, "seckill_connections_turned_away_total").await;
        println!("serve: {before} MiB, peak {peak} MiB; {turned_away} turned away; {:?}", load.refusals());
        assert!(turned_away > 0, "there were more shoppers than connections");
        assert!(load.refusals().contains_key("overloaded"), "some shoppers got `overloaded`: {:?}", load.refusals());
        assert!(peak <= before + MAX_GROWTH_MIB, "{peak} MiB, before {before} MiB");
        assert_eq!(load.winners() as i64, UNITS);
        shop.wait_for_sold(&sale, UNITS, TIMEOUT).await;
        // After the load no connection is turned away.
        let settled = metric(&shop, 0, "seckill_connections_turned_away_total").await;
        for _ in 0..20 {
            shop.client().get(&format!("/api/sales/{sale}/button")).await.expect(200);
        }
        assert_eq!(metric(&shop, 0, "seckill_connections_turned_away_total").await, settled);
        shop.audit_is_clean().await;
    }

    /// However many clients poll the button at nginx, the program gets about one request a second.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nginx_cache_absorbs_button_requests() {
        const CLIENTS: usize = 64;
        let (shop, sale) = Plan::on(Rung::Rabbit).await.roles(&["serve", "control"]).open(NewSale::of(10)).await;
        let dir = tempfile::tempdir().unwrap();
        let pages = std::path::Path::new(shop.setting("SECKILL_DATA_DIR")).join("pages");
        let nginx = Nginx::start(dir.path(), free_address(), &[shop.processes[0].listen], &pages, "");
        let client = shop.client().with_origin(&format!("http://{}", nginx.address));
        let button = format!("/api/sales/{sale}/button");
        eventually("nginx answers", TIMEOUT, async || {
            client.request(axum::http::Method::GET, "/api/ping").try_send().await.map(drop)
        })
        .await;
        let before = metric(&shop, 0, "seckill_button_reads_total").await;
        let (began, sent) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let until = began + Duration::from_secs(3);
        join_all((0..CLIENTS).map(|_| request_until(client.clone(), button.clone(), until, sent.clone()))).await;
        let seconds = began.elapsed().as_secs_f64();
        let seen = metric(&shop, 0, "seckill_button_reads_total").await - before;
        let sent = sent.load(Ordering::Relaxed);
        println!("{sent} requests in {seconds:.1} s, {seen} of them reached the program");
        // One request a second, plus the first and the offset between the clock's second and the cache's.
        assert!(seen as f64 <= 1.5 * seconds + 2.0, "{seen} requests in {seconds:.1} s reached the program");
        assert!(seen >= 2, "the cached answer is renewed");
        assert!(sent > 20 * seen, "{sent} requests are too few");
    }

    async fn request_until(client: Client, path: String, until: Instant, sent: Arc<AtomicU64>) {
        while Instant::now() < until {
            let answer: Answer = client.get(&path).await.expect(200);
            assert_eq!(answer.json()["phase"], "open");
            sent.fetch_add(1, Ordering::Relaxed);
        }
    }
}

mod cluster {
    pub(super) mod stack {
        use std::time::Duration;

        use crate::support::{Plan, Rung, Stack, eventually, redis_at};

        /// Every connection to every member has the name of its process, so operators see whose it is.
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn connections_to_a_cluster_have_the_name_of_their_process() {
            let _shop = Plan::on(Rung::Cluster).await.start().await;
            for url in Stack::get().variable("SECKILL_STACK_CLUSTER_URL").split(',') {
                let connection = redis_at(url).await;
                eventually("every connection is named", Duration::from_secs(30), async || {
                    let mut ask = redis::cmd("CLIENT");
                    ask.arg("LIST").arg("TYPE").arg("normal");
                    let list: String = ask.query_async(&mut connection.clone()).await.unwrap();
                    let others: Vec<&str> = list.lines().filter(|line| !line.contains("cmd=client|list")).collect();
                    let is_named = |line: &&&str| line.contains(" name=seckill/") && line.contains("@");
                    match others.iter().filter(is_named).count() {
                        named if named > 0 && named == others.len() => Ok(()),
                        _ => Err(list),
                    }
                })
                .await;
            }
        }
    }
}
