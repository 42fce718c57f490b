//! The cost of nginx's cache: a static page from the cache ÷ the same bytes as a plain file. A separate nginx has the
//! site of `docker/nginx.conf.template` and a second server with only the file; wrk loads them in turn. The processor
//! time of nginx per response is printed too, because it hardly depends on other load.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::nginx::Nginx;
use crate::report::Report;
use crate::shop::Shop;
use crate::{common::number, median};

const CONNECTIONS: u64 = 64;

pub async fn run(shop: &Shop, report: &mut Report) -> anyhow::Result<()> {
    let (rounds, seconds) = (number("CROWD_ROUNDS", 3), number("CROWD_SECONDS", 5));
    let sale = shop.open_sale(100).await?;
    let dir = tempfile::tempdir()?;
    let (folder, plain) = (dir.path().join("plain"), free_address()?);
    std::fs::create_dir(&folder)?;
    let other = format!("server {{ listen {plain} backlog=4096; charset utf-8; root \"{}\"; }}", folder.display());
    let config = &shop.services.config;
    let pages = config.data_dir.join("pages");
    let nginx = Nginx::start(dir.path(), free_address()?, &[config.web.listen], &pages, &other);
    let (page, file) = (format!("http://{}/en/sales/{sale}", nginx.address), format!("http://{plain}/page.html"));
    wait_for(&page)?;
    let bytes = fetch(&page)?;
    std::fs::write(folder.join("page.html"), &bytes)?;
    ensure!(fetch(&file)? == bytes, "both serve the same bytes");
    let (mut rates, mut costs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let plain = measure(dir.path(), &file, seconds)?;
        let cached = measure(dir.path(), &page, seconds)?;
        rates.push((cached.rate, plain.rate));
        costs.push((plain.microseconds, cached.microseconds));
    }
    let ((cached, plain), ratios) = median(rates);
    let (size, ratio) = (bytes.len(), cached / plain);
    report.line(&format!(
        "a page of {size} bytes, {CONNECTIONS} connections: from nginx's cache {cached:.0}/s, as a file {plain:.0}/s, \
         ratio {ratio:.2} of {ratios}"
    ));
    let ((plain, cached), ratios) = median(costs);
    let ratio = plain / cached;
    report.line(&format!(
        "nginx's processor time for it: from the cache {cached:.1} µs, as a file {plain:.1} µs, ratio {ratio:.2} of {ratios}"
    ));
    shop.stop_sale(sale).await
}

/// One run of wrk.
struct Measured {
    /// Responses per second.
    rate: f64,
    /// Processor time of nginx per response.
    microseconds: f64,
}

fn measure(nginx: &Path, url: &str, seconds: u64) -> anyhow::Result<Measured> {
    let before = microseconds(nginx)?;
    let rate = wrk(url, seconds)?;
    let spent = microseconds(nginx)? - before;
    Ok(Measured { rate, microseconds: spent / (rate * seconds as f64) })
}

/// Processor time that the workers of the nginx in this folder have used. The kernel counts in hundredths of a second.
fn microseconds(nginx: &Path) -> anyhow::Result<f64> {
    let master = std::fs::read_to_string(nginx.join("nginx.pid"))?;
    let workers = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", master.trim()))?;
    let mut ticks = 0.0;
    for worker in workers.split_whitespace() {
        let stat = std::fs::read_to_string(format!("/proc/{worker}/stat"))?;
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        for field in [11, 12] {
            ticks += fields.get(field).context("times of a process")?.parse::<f64>()?;
        }
    }
    Ok(ticks * 10_000.0)
}

/// Waits until the response comes from the cache.
fn wait_for(url: &str) -> anyhow::Result<()> {
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(100));
        let output = Command::new("curl").args(["-si", url]).output().context("curl is needed")?;
        if String::from_utf8_lossy(&output.stdout).contains("X-Cache: HIT") {
            return Ok(());
        }
    }
    anyhow::bail!("{url} does not come from the cache")
}

fn fetch(url: &str) -> anyhow::Result<Vec<u8>> {
    let output = Command::new("curl").args(["-sf", url]).output().context("curl is needed")?;
    ensure!(output.status.success(), "{url} cannot be fetched");
    Ok(output.stdout)
}

fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Responses per second.
fn wrk(url: &str, seconds: u64) -> anyhow::Result<f64> {
    let output = Command::new("wrk")
        .args(["-t1", &format!("-c{CONNECTIONS}"), &format!("-d{seconds}s"), url])
        .output()
        .context("wrk is needed: apt-get install wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(!text.contains("Non-2xx") && !text.contains("Socket errors"), "unexpected output of wrk: {text}");
    let line = text.lines().find_map(|line| line.strip_prefix("Requests/sec:"));
    Ok(line.with_context(|| format!("unexpected output of wrk: {text}"))?.trim().parse()?)
}
