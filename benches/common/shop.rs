//! The measured shop: its processes, and sales and shoppers created for it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use accounts::{Accounts, Session};
use anyhow::{Context, ensure};
use base::clock::Clock;
use base::config::Config;
use control::sales_admin::SaleCommand;
use domain::{Bilingual, Currency, Money, SaleId, UserId};
use futures::stream::{self, StreamExt, TryStreamExt};
use seckill::app::Services;
use store::{self, GoodsDraft, SaleDraft, SaveOptions, User};
use uuid::Uuid;

/// Sales created at the same time.
const CONCURRENT_SALES: usize = 20;

/// A process of the program, in the build profile of the benchmark, killed on drop.
pub struct RoleProcess(Child);

impl RoleProcess {
    pub fn start(role: &str) -> anyhow::Result<RoleProcess> {
        RoleProcess::of_program(env!("CARGO_BIN_EXE_seckill"), role)
    }

    /// A process of another version of the program.
    pub fn of_program(program: &str, role: &str) -> anyhow::Result<RoleProcess> {
        RoleProcess::with(program, role, &[])
    }

    /// `role` is empty for all roles in one process.
    pub fn with(program: &str, role: &str, settings: &[(&str, &str)]) -> anyhow::Result<RoleProcess> {
        let mut command = Command::new(program);
        command.args(role.split_whitespace()).envs(settings.iter().copied());
        command.env("SECKILL_DEMO", "false").env("SECKILL_LOG", "warn").env("SECKILL_USER_RATE", "1000");
        // Orders of earlier rounds must not expire during a later one, unless the run is about that.
        if std::env::var_os("SECKILL_PAYMENT_WINDOW").is_none() {
            command.env("SECKILL_PAYMENT_WINDOW", "24h");
        }
        if !matches!(role, "" | "serve") {
            let free = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
            command.env("SECKILL_OPS_LISTEN", free.to_string());
        }
        Ok(RoleProcess(command.stdout(Stdio::null()).spawn()?))
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// A memory line of `/proc/<pid>/status` in MiB: `VmRSS` is current, `VmHWM` the maximum.
    pub fn memory(&self, line: &str) -> anyhow::Result<f64> {
        memory(&Path::new("/proc").join(self.id().to_string()), line)
    }
}

/// A memory line of the process in this folder of `/proc`, in MiB.
pub fn memory(process: &Path, line: &str) -> anyhow::Result<f64> {
    let text = std::fs::read_to_string(process.join("status"))?;
    let value = text.lines().find_map(|l| l.strip_prefix(line)?.strip_prefix(':')).context("a line of status")?;
    Ok(value.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
}

impl Drop for RoleProcess {
    fn drop(&mut self) {
        // The process may have ended already, which fails the run elsewhere.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The processes that accept purchases, on the stack that the environment names.
pub struct Shop {
    pub services: Services,
    pub serve: RoleProcess,
    _others: Vec<RoleProcess>,
}

impl Shop {
    pub async fn start() -> anyhow::Result<Shop> {
        Shop::of(RoleProcess::start("serve")?, vec![RoleProcess::start("control")?]).await
    }

    /// Waits until these processes, one of which serves, accept purchases.
    pub async fn of(serve: RoleProcess, others: Vec<RoleProcess>) -> anyhow::Result<Shop> {
        let config = Config::from_environment()?;
        let rung3 = config.redis.is_some() && config.amqp_url.is_some();
        ensure!(rung3, "this measures rung 3: scripts/stack up && eval \"$(scripts/stack env)\"");
        for _ in 0..200 {
            if std::net::TcpStream::connect(config.web.listen).is_ok() {
                let services = Services::build(&config).await?;
                return Ok(Shop { services, serve, _others: others });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        anyhow::bail!("the shop does not listen on {}", config.web.listen)
    }

    /// Creates a sale and waits until it is open at the shop's gate.
    pub async fn open_sale(&self, units: i64) -> anyhow::Result<SaleId> {
        Ok(self.open_sales(1, units).await?[0])
    }

    /// A rush of new goods, one unit per user, started by hand.
    pub async fn draft(&self, units: i64) -> anyhow::Result<SaleDraft> {
        let text = Bilingual::new("压测", "Benchmark");
        let draft = GoodsDraft { name: Some(text.clone()), description: Some(text), ..GoodsDraft::default() };
        let goods = self.services.sales_admin().put_goods(None, draft, "bench").await?.context("goods")?;
        let price = Money::new(100, Currency::CNY);
        Ok(SaleDraft { goods_id: goods.id, price, total: units, per_user_limit: 1, ..SaleDraft::blank() })
    }

    /// Creates `count` open sales.
    pub async fn open_sales(&self, count: usize, units: i64) -> anyhow::Result<Vec<SaleId>> {
        let (draft, sales_admin) = (self.draft(units).await?, self.services.sales_admin());
        let open = async || {
            let sale = sales_admin.create_sale(draft.clone(), &SaveOptions::default(), "bench").await?;
            sales_admin.change(sale.id, SaleCommand::Start, "bench").await?;
            anyhow::Ok(sale.id)
        };
        // Each waits until control has loaded it.
        let sales: Vec<SaleId> =
            stream::iter(0..count).map(|_| open()).buffered(CONCURRENT_SALES).try_collect().await?;
        // The replica and the shop's gate follow within a second. A control that was killed before keeps its lease for five.
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.services.gate.refresh().await;
            let is_open = |sale: &SaleId| self.services.gate.issue_token(*sale, UserId(Uuid::now_v7()), None).is_ok();
            if sales.iter().all(is_open) {
                return Ok(sales);
            }
        }
        anyhow::bail!("the sales do not open")
    }

    pub async fn stop_sale(&self, sale: SaleId) -> anyhow::Result<()> {
        self.services.sales_admin().change(sale, SaleCommand::Stop, "bench").await?;
        Ok(())
    }

    /// Complete purchase requests, each of another signed-in shopper with a token.
    pub fn purchases(&self, sale: SaleId, count: usize) -> anyhow::Result<Vec<Vec<u8>>> {
        self.posts(sale, &format!("/api/sales/{sale}/orders"), count)
    }

    /// The same requests to an address without a handler's work.
    pub fn noops(&self, sale: SaleId, count: usize) -> anyhow::Result<Vec<Vec<u8>>> {
        self.posts(sale, "/api/ping", count)
    }

    fn posts(&self, sale: SaleId, path: &str, count: usize) -> anyhow::Result<Vec<Vec<u8>>> {
        self.posts_of(path, count, |user| {
            let token = self.services.gate.issue_token(sale, user, None);
            let token = token.map_err(|refusal| anyhow::anyhow!("no token: {refusal}"))?.token;
            Ok(format!("{{\"quantity\":1,\"token\":\"{token}\"}}"))
        })
    }

    /// Complete requests, each of another signed-in shopper, whose `body` is made.
    pub fn posts_of(
        &self,
        path: &str,
        count: usize,
        body: impl Fn(UserId) -> anyhow::Result<String>,
    ) -> anyhow::Result<Vec<Vec<u8>>> {
        let (accounts, host) = (self.services.accounts(), self.services.config.web.listen);
        let post = |n| {
            let user = UserId(Uuid::now_v7());
            let cookie = session_cookie(&accounts, user, n)?;
            let body = body(user)?;
            let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n");
            let length = body.len();
            let text = format!("{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}");
            Ok(text.into_bytes())
        };
        (0..count).map(post).collect()
    }
}

/// The cookie of a signed-in shopper. Purchases do not read the user's row, so there is none.
fn session_cookie(accounts: &Accounts, id: UserId, n: usize) -> anyhow::Result<String> {
    let now = Clock::system().now();
    let user = User::new(id, &format!("bench-{n}"), String::new(), domain::Role::User, now);
    let cookie = accounts.cookie(&Session::of(&user, now));
    Ok(cookie.to_str()?.split(';').next().unwrap_or_default().to_owned())
}
