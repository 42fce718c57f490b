//! More than the shop can serve: connections, slow clients, a crowd before nginx. What is held is counted, not timed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use futures::{StreamExt, stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Answer, Client, Shop};

/// A line of the program's own numbers.
async fn number(shop: &Shop, n: usize, name: &str) -> u64 {
    let text = shop.ops(n).get("/metrics").await.expect(200).text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    line.unwrap_or_else(|| panic!("no {name} in {text}"))
}

/// A line of what the system says about a process.
fn status(shop: &Shop, n: usize, name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{}/status", shop.processes[n].id())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no line {name}")).trim().to_owned()
}

/// Such a line in MiB: `VmRSS` now, `VmHWM` at its highest.
fn memory(shop: &Shop, n: usize, name: &str) -> u64 {
    status(shop, n, name).trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// A connection that has asked once and goes on idling.
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
    use crate::support::{Crowd, NewSale, Nginx, Plan, Rung, eventually, free_address};

    const SOON: Duration = Duration::from_secs(20);
    const IDLE: usize = 10_000;
    /// Resident, of the whole process with all these connections, without the pages of the program's file: those of a
    /// debug build alone are as many.
    const MOST_MIB: u64 = 100;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn ten_thousand_idle_connections_need_little_memory() {
        let files = rlimit::increase_nofile_limit(1 << 20).unwrap();
        assert!(files > IDLE as u64 + 500, "the system allows only {files} open files");
        let shop = Plan::on(Rung::Rabbit).await.roles(&["serve", "control"]).start().await;
        assert_eq!(status(&shop, 0, "THP_enabled"), "0", "huge pages are kept whole for a byte");
        let resident = || memory(&shop, 0, "RssAnon");
        let before = resident();
        let address = shop.processes[0].listen;
        let opened: Vec<_> = stream::iter(0..IDLE).map(|_| idle(address)).buffer_unordered(256).collect().await;
        let open = number(&shop, 0, "seckill_connections").await;
        assert!(opened.iter().all(Result::is_ok), "every connection was answered");
        assert!(open >= IDLE as u64 * 99 / 100, "{open} are open");
        let with = eventually("quiet connections need little", SOON, async || match resident() {
            with @ 0..MOST_MIB => Ok(with),
            with => Err(format!("{with} MiB; what does a connection hold that it does not need?")),
        })
        .await;
        let open = number(&shop, 0, "seckill_connections").await;
        println!("serve, resident: {before} MiB, with {open} idle connections {with} MiB");
        assert!(open >= IDLE as u64 * 99 / 100, "{open} are open");
        drop(opened);
        eventually("they are gone", SOON, async || match number(&shop, 0, "seckill_connections").await {
            0..100 => Ok(()),
            open => Err(format!("{open} are open")),
        })
        .await;
        shop.client().get("/en/").await.expect(200);
    }

    /// Many more come than there are seats. They are refused in words that say when to come again, nobody's order is lost,
    /// and memory does not grow with them.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_crowd_beyond_the_seats_is_refused_and_served_in_the_end() {
        const SEATS: usize = 40;
        const UNITS: i64 = 300;
        const MOST_MORE_MIB: u64 = 64;
        let plan = Plan::on(Rung::Rabbit).await.set("SECKILL_CONNECTIONS", &SEATS.to_string());
        let shop = plan.roles(&["serve", "relay", "consume", "control"]).start().await;
        let sale = shop.open(NewSale::of(UNITS)).await;
        let before = memory(&shop, 0, "VmRSS");
        let mut crowd = Crowd::new(&sale);
        crowd.arrive(&shop, 1500, Duration::from_millis(500));
        crowd.served().await;
        let (highest, turned_away) =
            (memory(&shop, 0, "VmHWM"), number(&shop, 0, "seckill_connections_turned_away_total").await);
        println!("serve: {before} MiB, at most {highest} MiB; {turned_away} turned away; {:?}", crowd.refusals());
        assert!(turned_away > 0, "the crowd was larger than the house");
        assert!(crowd.refusals().contains_key("overloaded"), "some were told so: {:?}", crowd.refusals());
        assert!(highest <= before + MOST_MORE_MIB, "{highest} MiB, before {before} MiB");
        assert_eq!(crowd.winners() as i64, UNITS);
        shop.has_sold(&sale, UNITS, SOON).await;
        // Normal again: nobody is turned away any more.
        let settled = number(&shop, 0, "seckill_connections_turned_away_total").await;
        for _ in 0..20 {
            shop.client().get(&format!("/api/sales/{sale}/button")).await.expect(200);
        }
        assert_eq!(number(&shop, 0, "seckill_connections_turned_away_total").await, settled);
        shop.audit_is_clean().await;
    }

    /// However many ask nginx for the button, the program sees about one question a second.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_program_hardly_sees_the_crowd_before_nginx() {
        const ASKING: usize = 64;
        let shop = Plan::on(Rung::Rabbit).await.roles(&["serve", "control"]).start().await;
        let sale = shop.open(NewSale::of(10)).await;
        let dir = tempfile::tempdir().unwrap();
        let pages = std::path::Path::new(shop.setting("SECKILL_DATA_DIR")).join("pages");
        let nginx = Nginx::start(dir.path(), free_address(), shop.processes[0].listen, &pages, "");
        let client = shop.client().elsewhere(&format!("http://{}", nginx.address));
        let button = format!("/api/sales/{sale}/button");
        eventually("nginx answers", SOON, async || {
            client.ask(axum::http::Method::GET, "/api/ping").try_send().await.map(drop)
        })
        .await;
        let before = number(&shop, 0, "seckill_button_reads_total").await;
        let (began, asked) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let until = began + Duration::from_secs(3);
        join_all((0..ASKING).map(|_| ask_until(client.clone(), button.clone(), until, asked.clone()))).await;
        let seconds = began.elapsed().as_secs_f64();
        let seen = number(&shop, 0, "seckill_button_reads_total").await - before;
        let asked = asked.load(Ordering::Relaxed);
        println!("{asked} questions in {seconds:.1} s, {seen} of them reached the program");
        // One a second; that the clock's second and the cache's second differ, and the first, are the rest.
        assert!(seen as f64 <= 1.5 * seconds + 2.0, "{seen} questions in {seconds:.1} s reached the program");
        assert!(seen >= 2, "the answer is renewed");
        assert!(asked > 20 * seen, "{asked} questions are no crowd");
    }

    async fn ask_until(client: Client, path: String, until: Instant, asked: Arc<AtomicU64>) {
        while Instant::now() < until {
            let answer: Answer = client.get(&path).await.expect(200);
            assert_eq!(answer.json()["phase"], "open");
            asked.fetch_add(1, Ordering::Relaxed);
        }
    }
}
