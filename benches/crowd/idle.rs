//! The memory of ten thousand idle connections.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::ensure;
use futures::{StreamExt, TryStreamExt, stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::report::Report;
use crate::shop::Shop;

const CONNECTIONS: usize = 10_000;
/// By then the shop has shrunk the buffers of idle connections; soon after it closes them.
const IDLE_TIME: Duration = Duration::from_secs(6);

pub async fn run(shop: &Shop, when: &str, report: &mut Report) -> anyhow::Result<()> {
    let address = shop.services.config.web.listen;
    let before = shop.serve.memory("VmRSS")?;
    let opened = stream::iter(0..CONNECTIONS).map(|_| open(address)).buffer_unordered(256);
    let opened: Vec<TcpStream> = opened.try_collect().await?;
    tokio::time::sleep(IDLE_TIME).await;
    let (with, highest) = (shop.serve.memory("VmRSS")?, shop.serve.memory("VmHWM")?);
    report.line(&format!(
        "serve, {when}, resident: {before:.0} MiB, with {} idle connections {with:.0} MiB, {highest:.0} MiB at its highest",
        opened.len()
    ));
    Ok(())
}

/// A connection that idles after one request.
async fn open(address: SocketAddr) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET /api/ping HTTP/1.1\r\nhost: shop.example\r\naccept: */*\r\n\r\n").await?;
    let mut answer = [0; 1024];
    let length = stream.read(&mut answer).await?;
    ensure!(answer[..length].starts_with(b"HTTP/1.1 204 "), "{}", String::from_utf8_lossy(&answer[..length]));
    Ok(stream)
}
