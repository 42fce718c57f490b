//! How many purchases a second the shop accepts over HTTP and persists, as ratios against something measured in the same
//! run on the same machine:
//!
//! - accepted purchases ÷ an authenticated no-op POST of the same server, both driven by wrk. `serve` and `control` run;
//!   the orders gather in the outbox, as they do in a rush whose pipeline has machines of its own;
//! - orders persisted ÷ a single-row conditional update with insert by pgbench with 20 clients: `relay` and `consume`
//!   work that backlog off, from the outbox through RabbitMQ into PostgreSQL.
//!
//! `scripts/stack up && eval "$(scripts/stack env)" && cargo bench --bench purchases`
//!
//! The generators share the cores with what they measure. `PURCHASES_SECONDS` (default 8) is the length of each run.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use seckill::accounts::{Accounts, Session};
use seckill::app::Parts;
use seckill::config::Config;
use seckill::control::desk::DeskChange;
use seckill::domain::{Bilingual, Currency, Money, SaleId, UserId, Window};
use seckill::store::{self, GoodsDraft, SaleDraft, User};
use uuid::Uuid;

const CONNECTIONS: [u32; 2] = [64, 1000];
/// Distinct shoppers per second of a run: more than any run here accepts.
const SHOPPERS_PER_SECOND: u64 = 60_000;

fn main() -> anyhow::Result<()> {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return Ok(());
    }
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> anyhow::Result<()> {
    let seconds: u64 = std::env::var("PURCHASES_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(8);
    let config = Config::from_environment()?;
    let rung3 = config.redis.is_some() && config.amqp_url.is_some();
    ensure!(rung3, "this measures rung 3: scripts/stack up && eval \"$(scripts/stack env)\"");
    let dir = tempfile::tempdir()?;
    let _shop = start_shop(&config)?;
    let parts = Parts::build(&config).await?;
    for connections in CONNECTIONS {
        measure(&parts, dir.path(), connections, seconds).await?;
    }
    let single = pgbench(&config, dir.path(), seconds)?;
    println!("single-row conditional update with insert (pgbench, 20 clients): {single:.0}/s");
    Ok(())
}

async fn measure(parts: &Parts, dir: &Path, connections: u32, seconds: u64) -> anyhow::Result<()> {
    let shoppers = SHOPPERS_PER_SECOND * (seconds + 2);
    let sale = open_sale(parts, shoppers as i64).await?;
    let (noop, buy) = (dir.join("noop"), dir.join("buy"));
    write_requests(parts, sale, shoppers, &noop, &buy)?;
    let noop_rate = wrk(&parts.config, &noop, dir, connections, seconds)?;
    let buy_rate = wrk(&parts.config, &buy, dir, connections, seconds)?;
    let _pipeline = [Role::start("relay")?, Role::start("consume")?];
    let (persisted, took) = until_quiet(parts, sale, Instant::now()).await?;
    println!(
        "{connections} connections: no-op {noop_rate:.0}/s, accepted {buy_rate:.0}/s, ratio {:.2}; \
         {persisted} orders persisted in {:.1} s: {:.0}/s",
        buy_rate / noop_rate,
        took.as_secs_f64(),
        persisted as f64 / took.as_secs_f64()
    );
    Ok(())
}

/// A process of the program in release mode.
struct Role(Child);

impl Role {
    fn start(role: &str) -> anyhow::Result<Role> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seckill"));
        command.arg(role).env("SECKILL_DEMO", "false").env("SECKILL_LOG", "warn").env("SECKILL_USER_RATE", "1000");
        if role != "serve" {
            let free = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
            command.env("SECKILL_OPS_LISTEN", free.to_string());
        }
        Ok(Role(command.stdout(Stdio::null()).spawn()?))
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        // It may have ended by itself, which the run has noticed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What takes orders.
fn start_shop(config: &Config) -> anyhow::Result<[Role; 2]> {
    let shop = [Role::start("serve")?, Role::start("control")?];
    let address = config.web.listen;
    for _ in 0..200 {
        if std::net::TcpStream::connect(address).is_ok() {
            return Ok(shop);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    anyhow::bail!("the shop does not listen on {address}")
}

async fn open_sale(parts: &Parts, units: i64) -> anyhow::Result<SaleId> {
    let text = Bilingual::new("压测", "Benchmark");
    let draft = GoodsDraft { name: Some(text.clone()), description: Some(text), image: None };
    let desk = parts.desk();
    let goods = desk.put_goods(None, draft, "bench").await?.context("goods")?;
    let draft = SaleDraft {
        goods_id: goods.id,
        price: Money::new(100, Currency::CNY),
        list_price: None,
        total: units,
        per_user_limit: 1,
        window: Window { opens_at: None, closes_at: None },
    };
    let sale = desk.create_sale(draft, "bench").await?;
    desk.change(sale.id, DeskChange::Start, "bench").await?;
    parts.gate.refresh().await;
    // The replica and the shop's own gate follow within moments.
    tokio::time::sleep(Duration::from_secs(1)).await;
    parts.gate.refresh().await;
    Ok(sale.id)
}

/// Whole requests, one per shopper, length first: the generator only copies them.
fn write_requests(parts: &Parts, sale: SaleId, shoppers: u64, noop: &Path, buy: &Path) -> anyhow::Result<()> {
    let accounts = parts.accounts();
    let (mut noop, mut buy) = (BufWriter::new(File::create(noop)?), BufWriter::new(File::create(buy)?));
    let host = parts.config.web.listen;
    for n in 0..shoppers {
        let user = UserId(Uuid::now_v7());
        let cookie = session_cookie(&accounts, user, n)?;
        let (token, _) = parts.gate.issue_token(sale, user).map_err(|r| anyhow::anyhow!("no token: {}", r.code()))?;
        let body = format!("{{\"quantity\":1,\"token\":\"{token}\"}}");
        for (file, path) in [(&mut noop, "/api/ping".to_owned()), (&mut buy, format!("/api/sales/{sale}/orders"))] {
            let request = format!(
                "POST {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                body.len()
            );
            write!(file, "{}\n{request}", request.len())?;
        }
    }
    Ok(())
}

/// The cookie of a shopper who signed in. Nobody asks the database about shoppers who buy.
fn session_cookie(accounts: &Accounts, id: UserId, n: u64) -> anyhow::Result<String> {
    let user = User { id, username: format!("bench-{n}"), password_hash: String::new(), role: store::Role::User };
    let cookie = accounts.cookie(&Session::of(&user));
    Ok(cookie.to_str()?.split(';').next().unwrap_or_default().to_owned())
}

const SCRIPT: &str = r#"
local file
function init(args) file = io.open(args[1], "rb") end
function request()
  local length = file:read("*n")
  if not length then file:seek("set", 0) length = file:read("*n") end
  file:read(1)
  return file:read(length)
end
local wrong = 0
function response(status) if status ~= 202 and status ~= 204 then wrong = wrong + 1 end end
function done(summary)
  local errors = summary.errors
  io.write(string.format("RATE %f WRONG %d\n", summary.requests / summary.duration * 1e6,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
"#;

/// Successful answers a second.
fn wrk(config: &Config, requests: &Path, dir: &Path, connections: u32, seconds: u64) -> anyhow::Result<f64> {
    let script = dir.join("wrk.lua");
    std::fs::write(&script, SCRIPT)?;
    let output = Command::new("wrk")
        .args(["-t1", &format!("-c{connections}"), &format!("-d{seconds}s"), "-s"])
        .arg(&script)
        .arg(format!("http://{}", config.web.listen))
        .arg("--")
        .arg(requests)
        .output()
        .context("wrk is needed: apt-get install wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.starts_with("RATE")).with_context(|| format!("wrk said: {text}"))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    ensure!(words[3] == "0", "not every request was accepted: {text}");
    Ok(words[1].parse()?)
}

/// Waits until every accepted order is in the database.
async fn until_quiet(parts: &Parts, sale: SaleId, began: Instant) -> anyhow::Result<(i64, Duration)> {
    let mut last = (-1, Instant::now());
    loop {
        let sold = parts.store.sale(sale).await?.context("the sale")?.sold;
        if sold != last.0 {
            last = (sold, Instant::now());
        } else if last.1.elapsed() > Duration::from_secs(3) {
            let booked = parts.gate.status(sale).and_then(|status| status.booked);
            parts.gate.refresh().await;
            if booked == Some(sold) {
                return Ok((sold, last.1 - began));
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What most shops do: one conditional update and one insert per purchase, in a transaction.
fn pgbench(config: &Config, dir: &Path, seconds: u64) -> anyhow::Result<f64> {
    let url = &config.database_url;
    let psql = |sql: &str| -> anyhow::Result<()> {
        let done = Command::new("psql").arg(url).args(["-qc", sql]).status().context("psql is needed")?;
        ensure!(done.success(), "psql failed");
        Ok(())
    };
    psql(
        "DROP TABLE IF EXISTS peer_orders, peer_sales;
         CREATE TABLE peer_sales (id BIGINT PRIMARY KEY, total BIGINT, sold BIGINT);
         CREATE TABLE peer_orders (id BIGSERIAL PRIMARY KEY, sale_id BIGINT, user_id BIGINT, UNIQUE (sale_id, user_id));
         INSERT INTO peer_sales VALUES (1, 1000000000, 0);",
    )?;
    let script = dir.join("peer.sql");
    std::fs::write(
        &script,
        "\\set user random(1, 1000000000)\nBEGIN;\n\
         UPDATE peer_sales SET sold = sold + 1 WHERE id = 1 AND sold < total;\n\
         INSERT INTO peer_orders (sale_id, user_id) VALUES (1, :user) ON CONFLICT DO NOTHING;\nCOMMIT;\n",
    )?;
    let output = Command::new("pgbench")
        .args(["-n", "-c20", "-j2", &format!("-T{seconds}"), "-f"])
        .arg(&script)
        .arg(url)
        .output()
        .context("pgbench is needed: it comes with PostgreSQL")?;
    psql("DROP TABLE peer_orders, peer_sales")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let tps = text.lines().find_map(|line| line.strip_prefix("tps = "));
    Ok(tps.and_then(|line| line.split(' ').next()).with_context(|| format!("pgbench said: {text}"))?.parse()?)
}
