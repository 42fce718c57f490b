//! Raw bytes that no HTTP client library sends.

use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Rung, Shop, pause};

/// Everything that the shop answers to these bytes until it closes the connection.
async fn answer(shop: &Shop, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(shop.processes[0].listen).await.unwrap();
    // The shop may close before it has read everything.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(15), stream.read_to_end(&mut answer)).await.expect("an end");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_requests_are_refused() {
    let shop = Shop::start(Rung::Sqlite).await;
    let many_headers: String = (0..500).map(|n| format!("x-{n}: y\r\n")).collect();
    let endless_header = format!("GET /en/ HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "y".repeat(1_000_000));
    let cases: [(&[u8], &[&str]); 8] = [
        (b"nonsense\r\n\r\n", &["400"]),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", &["400", ""]),
        (b"GET / HTTP/1.1\r\nbad header\r\n\r\n", &["400"]),
        (b"GET / HTTP/9.9\r\n\r\n", &["400", "505", ""]),
        (b"GET  HTTP/1.1\r\n\r\n", &["400"]),
        (endless_header.as_bytes(), &["431", "400", ""]),
        (&[b"GET /en/ HTTP/1.1\r\nhost: x\r\n", many_headers.as_bytes(), b"\r\n"].concat(), &["431", "400"]),
        (b"POST /api/login HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\n", &["400"]),
    ];
    for (bytes, statuses) in cases {
        let answer = answer(&shop, bytes).await;
        let status = answer.split(' ').nth(1).unwrap_or_default();
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]);
        assert!(statuses.contains(&status), "{start:?} was answered {answer:?}");
    }
    shop.client().get("/en/").await.expect(200);
}

/// The refusal is sent before the body is read. A client that goes on sending may not see it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn announced_oversized_body_is_refused_unread() {
    let shop = Shop::start(Rung::Sqlite).await;
    let (admin, goods) = (shop.admin().await.cookie().unwrap(), shop.goods().await);
    let json = "content-type: application/json";
    let cases = [
        format!("POST /api/login HTTP/1.1\r\nhost: x\r\n{json}\r\ncontent-length: 2000000\r\n"),
        format!("POST /api/login HTTP/1.1\r\nhost: x\r\n{json}\r\ncontent-length: 99999999999999\r\n"),
        format!(
            "PUT /api/admin/goods/{goods}/image HTTP/1.1\r\nhost: x\r\ncontent-length: 6000000\r\ncookie: {admin}\r\n"
        ),
    ];
    for head in cases {
        let answer = answer(&shop, format!("{head}connection: close\r\n\r\n{{").as_bytes()).await;
        assert!(answer.contains(" 413 ") && answer.contains("too_large"), "{head}: {answer}");
    }
}

/// Slow heads and slow bodies time out, while other clients are served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_senders_do_not_block_others() {
    const SLOW_CLIENTS: usize = 100;
    let shop = Shop::start(Rung::Sqlite).await;
    let began = Instant::now();
    let head = b"GET /en/ HTTP/1.1\r\nhost: x\r\nx-slow: ";
    let body =
        b"POST /api/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{\"user";
    let heads = join_all((0..SLOW_CLIENTS).map(|_| answer(&shop, head)));
    let bodies = join_all((0..SLOW_CLIENTS).map(|_| answer(&shop, body)));
    let others = async {
        for _ in 0..20 {
            shop.client().get("/en/").await.expect(200);
            pause(50).await;
        }
    };
    let (heads, bodies, ()) = tokio::join!(heads, bodies, others);
    assert!(heads.iter().all(|head| head.is_empty() || head.contains(" 408 ")), "{heads:?}");
    assert!(bodies.iter().all(|body| body.contains(" 408 ") && body.contains("request_timeout")), "{bodies:?}");
    assert!(began.elapsed() < Duration::from_secs(25), "it took {:?}", began.elapsed());
    shop.client().get("/en/").await.expect(200);
}
