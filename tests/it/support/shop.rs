//! A shop for one test: its processes and their fixture.

use std::cell::Cell;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use futures::future::join_all;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use redis::aio::MultiplexedConnection;
use serde_json::{Value, json};
use sqlx::{AnyConnection, Connection};
use store::Store;
use tokio::sync::OnceCell;
use url::Url;

use super::client::{Client, Connections};
use super::fixture::Fixture;
use super::process::{self, Process, Settings};
use super::redis_server::redis_at;
use super::shopper::{SessionSigner, Shopper};
use super::wait::{eventually, pause, until};
use super::{NewSale, Proxy, Rung};

/// The secret of every test shop, so that tests can sign cookies and tokens.
pub const SECRET: &str = "a-secret-of-the-tests-that-everybody-may-know-0123456789-0123456789-0123456789";
pub const ADMIN_PASSWORD: &str = "password of the tests";

/// How long all processes may take to start, on a busy machine.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(15);

/// A shop before its start.
pub struct Plan {
    fixture: Fixture,
    roles: Vec<&'static str>,
    settings: Settings,
    /// Changes the settings of single processes: number, role and settings.
    each: Option<EachProcess>,
    /// Shoppers see the shop at `localhost`, not at its IP address.
    at_localhost: bool,
}

type EachProcess = Box<dyn FnMut(usize, &str, &mut Settings)>;

impl Plan {
    /// A shop of one process with all roles.
    pub async fn on(rung: Rung) -> Plan {
        let fixture = Fixture::new(rung).await;
        let mut settings = fixture.settings.clone();
        let given = [
            ("SECKILL_DATA_DIR", fixture.dir().join("data").display().to_string()),
            ("SECKILL_SECRET", SECRET.into()),
            ("SECKILL_ADMIN_PASSWORD", ADMIN_PASSWORD.into()),
            ("SECKILL_DEMO", "false".into()),
        ];
        settings.extend(given.map(|(name, value)| (name.to_owned(), value)));
        Plan { fixture, roles: vec![""], settings, each: None, at_localhost: false }
    }

    /// Gives each process one role. There are two processes of each role that allows it.
    pub fn one_role_per_process(mut self) -> Plan {
        self.roles = self.fixture.rung().split_roles().to_vec();
        self
    }

    pub fn roles(mut self, roles: &[&'static str]) -> Plan {
        self.roles = roles.to_vec();
        self
    }

    pub fn set(mut self, name: &str, value: &str) -> Plan {
        self.settings.insert(name.into(), value.into());
        self
    }

    /// Shoppers see the shop at `http://localhost`, where browsers have passkeys.
    pub fn at_localhost(mut self) -> Plan {
        self.at_localhost = true;
        self
    }

    pub fn setting(&self, name: &str) -> &str {
        &self.settings[name]
    }

    /// Changes the settings of single processes. The tests' own commands and the store keep the shared settings.
    pub fn each_process(mut self, change: impl FnMut(usize, &str, &mut Settings) + 'static) -> Plan {
        self.each = Some(Box::new(change));
        self
    }

    pub fn unset(mut self, name: &str) -> Plan {
        self.settings.remove(name);
        self
    }

    /// Puts a proxy in front of the service whose address this setting is. The service is unreachable until
    /// [`Proxy::restore`].
    pub fn through_proxy(&mut self, name: &str) -> Proxy {
        let mut url = Url::parse(&self.settings[name]).unwrap();
        let proxy = Proxy::new(format!("{}:{}", url.host_str().unwrap(), url.port().unwrap()));
        url.set_port(Some(proxy.address.port())).unwrap();
        self.settings.insert(name.into(), url.into());
        proxy
    }

    /// Starts the processes and waits until they are ready.
    pub async fn start(self) -> Shop {
        let mut shop = self.launch();
        shop.wait_until_ready().await;
        shop
    }

    /// Starts the processes, and opens a sale.
    pub async fn open(self, sale: NewSale) -> (Shop, String) {
        let shop = self.start().await;
        let sale = shop.open(sale).await;
        (shop, sale)
    }

    /// Starts the processes.
    pub fn launch(mut self) -> Shop {
        let mut processes: Vec<Process> = Vec::new();
        for (n, role) in self.roles.iter().enumerate() {
            let name = format!("{n}-{}", if role.is_empty() { "all" } else { role });
            let mut settings = self.settings.clone();
            if let Some(change) = &mut self.each {
                change(n, role, &mut settings);
            }
            processes.push(Process::new(role, &name, &settings, self.fixture.dir()));
        }
        let origins: Vec<String> =
            processes.iter().filter(|p| p.serves()).map(|p| format!("http://{}", p.listen)).collect();
        for process in &mut processes {
            // The payment provider delivers its webhooks there.
            if let Some(origin) = origins.first().filter(|_| !self.settings.contains_key("SECKILL_PUBLIC_URL")) {
                let name = if self.at_localhost { "localhost" } else { "127.0.0.1" };
                process.set("SECKILL_PUBLIC_URL", &origin.replace("127.0.0.1", name));
            }
            process.start();
        }
        Shop {
            settings: processes[0].settings().clone().into_iter().chain(self.settings).collect(),
            processes,
            origins: origins.into(),
            connections: Connections::new(),
            session_signer: SessionSigner::new(SECRET),
            admin: OnceCell::new(),
            goods: OnceCell::new(),
            fixture: self.fixture,
        }
    }
}

/// A running shop. Its processes are killed on drop.
pub struct Shop {
    pub processes: Vec<Process>,
    /// The settings that all processes share. The tests themselves use them too.
    settings: Settings,
    origins: Arc<[String]>,
    connections: Connections,
    session_signer: SessionSigner,
    admin: OnceCell<Client>,
    goods: OnceCell<String>,
    // Declared last, so that it is dropped after the processes.
    fixture: Fixture,
}

impl Shop {
    pub async fn start(rung: Rung) -> Shop {
        Plan::on(rung).await.start().await
    }

    /// A shop with an open sale.
    pub async fn selling(rung: Rung, sale: NewSale) -> (Shop, String) {
        Plan::on(rung).await.open(sale).await
    }

    /// The name of the shop's virtual host in RabbitMQ.
    pub fn vhost(&self) -> &str {
        self.fixture.vhost()
    }

    pub fn setting(&self, name: &str) -> &str {
        &self.settings[name]
    }

    /// The folder in which the processes run.
    pub fn dir(&self) -> &Path {
        self.fixture.dir()
    }

    pub fn origins(&self) -> &[String] {
        &self.origins
    }

    /// The shop's database.
    pub fn store(&self) -> Store {
        Store::open(&self.database_url()).unwrap()
    }

    pub fn database_url(&self) -> String {
        let sqlite = || format!("sqlite://{}/seckill.sqlite", self.setting("SECKILL_DATA_DIR"));
        self.settings.get("SECKILL_DATABASE_URL").cloned().unwrap_or_else(sqlite)
    }

    /// A connection of the test's own to the shop's database.
    pub async fn database(&self) -> AnyConnection {
        sqlx::any::install_default_drivers();
        AnyConnection::connect(&self.database_url()).await.unwrap()
    }

    /// A connection of the test's own to the shop's Redis master.
    pub async fn redis(&self) -> MultiplexedConnection {
        redis_at(self.setting("SECKILL_REDIS_URL")).await
    }

    pub fn rung(&self) -> Rung {
        self.fixture.rung()
    }

    /// Waits until every process is ready and every server answers.
    pub async fn wait_until_ready(&mut self) {
        let probe: Vec<SocketAddr> = self.processes.iter().map(|process| process.ops).collect();
        for (n, ops) in probe.into_iter().enumerate() {
            let client = Client::new(self.connections.clone(), [format!("http://{ops}")].into());
            let what = format!("process {n} {:?} is ready", self.processes[n].role);
            eventually(&what, READY_TIMEOUT, async || {
                self.processes[n].check();
                let answer = client.request(Method::GET, "/healthz").try_send().await?;
                if answer.status == 200 { Ok(()) } else { Err(answer.text()) }
            })
            .await;
        }
        for n in 0..self.origins.len() {
            let client = self.client().at(n);
            let answers = async || client.request(Method::GET, "/api/ping").try_send().await;
            eventually(&format!("server {n} answers"), READY_TIMEOUT, answers).await.expect(204);
        }
    }

    /// The n-th process with this role.
    pub fn process(&mut self, role: &str, n: usize) -> &mut Process {
        self.processes.iter_mut().filter(|process| process.role == role).nth(n).expect("such a process")
    }

    /// Sends `kill -9` to every process with this role.
    pub fn kill_all(&mut self, role: &str) {
        self.each_with(role, Process::kill);
    }

    /// Kills processes at random until `ended`, with this many milliseconds between two kills. Returns the number of
    /// kills.
    pub async fn kill_until(&mut self, seed: u64, pause_ms: Range<u64>, ended: &Cell<bool>) -> u32 {
        let (mut random, mut kills) = (StdRng::seed_from_u64(seed), 0);
        while !ended.get() {
            pause(random.random_range(pause_ms.clone())).await;
            let n = random.random_range(0..self.processes.len());
            self.processes[n].kill();
            pause(random.random_range(50..500)).await;
            self.processes[n].start();
            // Otherwise no process would ever serve on a machine where a start takes longer than the time between kills.
            if random.random_bool(0.5) {
                self.wait_until_ready().await;
            }
            kills += 1;
        }
        kills
    }

    pub fn start_all(&mut self, role: &str) {
        self.each_with(role, Process::start);
    }

    fn each_with(&mut self, role: &str, act: fn(&mut Process)) {
        assert!(self.processes.iter().any(|process| process.role == role), "no process is a {role}");
        self.processes.iter_mut().filter(|process| process.role == role).for_each(act);
    }

    /// A client that uses all servers in turn.
    pub fn client(&self) -> Client {
        Client::new(self.connections.clone(), self.origins.clone())
    }

    /// A client of the operators' address of the n-th process.
    pub fn ops(&self, n: usize) -> Client {
        Client::new(self.connections.clone(), [format!("http://{}", self.processes[n].ops)].into())
    }

    /// The n-th shopper, signed in.
    pub fn shopper(&self, n: u64) -> Shopper {
        Shopper::new(self.client().with_cookie(&self.session_signer.cookie(n)))
    }

    /// Makes shoppers, even in other tasks.
    pub fn shoppers(&self) -> impl Fn(u64) -> Shopper + Send + Sync + 'static {
        let (client, signer) = (self.client(), SessionSigner::new(SECRET));
        move |n| Shopper::new(client.another().with_cookie(&signer.cookie(n)))
    }

    /// A client signed in to a new account.
    pub async fn register(&self, username: &str, password: &str) -> Client {
        let client = self.client();
        client.post("/api/register", json!({"username": username, "password": password})).await.expect(201);
        client
    }

    /// Each of these shoppers buys one unit. Returns them with their orders.
    pub async fn all_buy(&self, sale: &str, shoppers: Range<u64>) -> Vec<(Shopper, String)> {
        let bought = shoppers.map(async |n| {
            let shopper = self.shopper(n);
            let order = shopper.buy_one(sale).await;
            (shopper, order)
        });
        join_all(bought).await
    }

    /// The administrator, signed in.
    pub async fn admin(&self) -> &Client {
        let log_in = async || {
            let client = self.client();
            let who = json!({"username": "admin", "password": ADMIN_PASSWORD});
            client.post("/api/login", who).await.expect(200);
            client
        };
        self.admin.get_or_init(log_in).await
    }

    /// The goods of all sales.
    pub async fn goods(&self) -> &str {
        let create = async || {
            let goods = json!({"name": {"zh": "手机", "en": "Phone"}, "description": {"zh": "好", "en": "Good"}});
            let made = self.admin().await.post("/api/admin/goods", goods).await.expect(201).json();
            made["goods"]["id"].as_str().unwrap().to_owned()
        };
        self.goods.get_or_init(create).await
    }

    pub async fn create(&self, sale: NewSale) -> String {
        let entered = sale.json(self.goods().await);
        let made = self.admin().await.post("/api/admin/sales", entered).await.expect(201).json();
        made["sale"]["id"].as_str().unwrap().to_owned()
    }

    /// Creates a sale, starts it, and waits until every server shows its page and sells.
    pub async fn open(&self, sale: NewSale) -> String {
        let sale = self.create(sale).await;
        self.change_sale_state(&sale, "start").await;
        self.wait_for_phase(&sale, "open").await;
        for n in 0..self.origins.len() {
            let client = self.client().at(n);
            let read = async || client.get(&format!("/en/sales/{sale}")).await;
            until(&format!("server {n} has the page"), TIMEOUT, read, |page| page.status == 200).await;
        }
        sale
    }

    /// `start`, `pause`, `resume` or `stop`.
    pub async fn change_sale_state(&self, sale: &str, action: &str) {
        self.admin().await.post(&format!("/api/admin/sales/{sale}/{action}"), json!({})).await.expect(200);
    }

    /// Waits until the button has this phase at every server, and returns the last server's button.
    pub async fn wait_for_phase(&self, sale: &str, phase: &str) -> Value {
        let mut last = Value::Null;
        for n in 0..self.origins.len() {
            let client = self.client().at(n);
            last = eventually(&format!("server {n} shows {phase}"), TIMEOUT, async || {
                let button = client.get(&format!("/api/sales/{sale}/button")).await;
                let json = if button.status == 200 { button.json() } else { Value::Null };
                if json["phase"] == phase { Ok(json) } else { Err(button.text()) }
            })
            .await;
        }
        last
    }

    /// Waits until shoppers may join the waiting room of a sale.
    pub async fn wait_until_joining(&self, sale: &str) {
        let sale = self.store().sales().get(sale.parse().unwrap()).await.unwrap().unwrap();
        let (plan, opens) =
            sale.mode.waiting_room_plan().zip(sale.window.opens_at).expect("a waiting room with an opening");
        eventually("shoppers may join", TIMEOUT, async || {
            let now = self.store().now().await.map_err(|error| error.to_string())?;
            if now > plan.joining_from(opens) { Ok(()) } else { Err(now.to_string()) }
        })
        .await;
    }

    /// The sale with its counts, from the administrator's list.
    pub async fn numbers(&self, sale: &str) -> Value {
        let all = self.admin().await.get("/api/admin/sales").await.expect(200).json();
        let found = all["sales"].as_array().unwrap().iter().find(|row| row["id"] == sale).cloned();
        found.unwrap_or_else(|| panic!("no sale {sale} in {all}"))
    }

    /// Waits until the database has this number of units sold.
    pub async fn wait_for_sold(&self, sale: &str, units: i64, within: Duration) {
        let read = async || self.numbers(sale).await;
        until(&format!("{units} units of {sale} are sold"), within, read, |sale| sale["sold"] == units).await;
    }

    /// Runs a command of the program, such as `audit`.
    pub async fn run(&self, words: &[&str]) -> Output {
        process::run(&self.settings, self.fixture.dir(), words).await
    }

    /// Fails unless the audit finds no violation.
    pub async fn audit_is_clean(&self) {
        let audit = self.run(&["audit"]).await;
        let text = String::from_utf8_lossy(&audit.stdout);
        let log = String::from_utf8_lossy(&audit.stderr);
        assert!(audit.status.success(), "the audit ends with {}:\n{text}{log}", audit.status);
        assert!(text.contains("ok  ") && !text.contains("FAIL"), "{text}");
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for process in &self.processes {
                process.print_tail();
            }
        }
    }
}
