//! The resources of one test's shop, which it shares with no other test: a folder, a database, a numbered Redis
//! database and a RabbitMQ virtual host.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use axum::http::Method;
use base64::Engine;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Row, raw_sql};
use store::Store;
use tempfile::TempDir;
use url::Url;

use super::client::{Answer, Client, Connections};
use super::process::Settings;
use super::redis_server::redis_at;
use super::{Rung, Shop, Stack};

/// Numbered databases of the stack's Redis, taken in turn. Number 0 holds the counter.
const REDIS_DATABASES: i64 = 255;

/// The resources, which are removed on drop with everything in them.
pub struct Fixture {
    dir: TempDir,
    pub settings: Settings,
    /// Name of the database and the virtual host; `None` on SQLite.
    name: Option<String>,
    rung: Rung,
}

impl Fixture {
    /// The resources, with the schema in the database.
    pub async fn new(rung: Rung) -> Fixture {
        Fixture::build(rung, true).await
    }

    /// Resources whose PostgreSQL database has no tables.
    pub async fn without_schema() -> Fixture {
        Fixture::build(Rung::Postgres, false).await
    }

    async fn build(rung: Rung, has_schema: bool) -> Fixture {
        let dir = tempfile::Builder::new().prefix("seckill-it-").tempdir().unwrap();
        let mut fixture = Fixture { dir, settings: Settings::new(), name: None, rung };
        if rung.needs_stack() {
            fixture.name = Some(format!("it_{}_{:08x}", std::process::id(), rand::random::<u32>()));
            fixture.set("SECKILL_DATABASE_URL", &fixture.create_database(has_schema).await);
        }
        if rung == Rung::Cluster {
            fixture.set("SECKILL_REDIS_URL", &empty_cluster().await);
        } else if rung == Rung::Sentinel {
            fixture.set("SECKILL_REDIS_URL", &empty_watched().await);
        } else if rung.has_redis() {
            let number = take_redis_database().await;
            for name in ["SECKILL_REDIS_URL", "SECKILL_REDIS_REPLICA_URLS"] {
                fixture.set(name, &format!("{}{number}", Stack::get().variable(name)));
            }
        }
        if rung.has_rabbit() {
            fixture.set("SECKILL_AMQP_URL", &fixture.create_vhost().await);
        }
        if rung == Rung::Tls {
            fixture.use_tls();
        }
        fixture
    }

    /// The same resources through the stack's ports with TLS.
    fn use_tls(&mut self) {
        let files = Stack::get().variable("SECKILL_STACK_TLS");
        let ports = [
            ("SECKILL_REDIS_URL", "rediss", "SECKILL_STACK_TLS_REDIS"),
            ("SECKILL_REDIS_REPLICA_URLS", "rediss", "SECKILL_STACK_TLS_REPLICA"),
            ("SECKILL_AMQP_URL", "amqps", "SECKILL_STACK_TLS_RABBITMQ"),
        ];
        for (name, scheme, address) in ports {
            let mut url = Url::parse(&self.settings[name]).unwrap();
            let (host, port) = Stack::get().variable(address).split_once(':').unwrap();
            url.set_host(Some(host)).unwrap();
            url.set_port(port.parse().ok()).unwrap();
            let (_, rest) = url.as_str().split_once(':').unwrap();
            self.set(name, &format!("{scheme}:{rest}"));
        }
        // The address names the CA as well, because the tests' own connection knows no other setting.
        let mut database = Url::parse(&self.settings["SECKILL_DATABASE_URL"]).unwrap();
        database.set_query(Some(&format!("sslmode=verify-full&sslrootcert={files}/ca.pem")));
        self.set("SECKILL_DATABASE_URL", database.as_str());
        for (name, file) in [("CA", "ca.pem"), ("CERT", "client.pem"), ("KEY", "client.key")] {
            self.set(&format!("SECKILL_TLS_{name}"), &format!("{files}/{file}"));
        }
    }

    fn set(&mut self, name: &str, value: &str) {
        self.settings.insert(name.into(), value.into());
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn rung(&self) -> Rung {
        self.rung
    }

    /// The virtual host's name.
    pub fn vhost(&self) -> &str {
        self.name.as_deref().expect("a shop on rung 3")
    }

    async fn create_database(&self, has_schema: bool) -> String {
        let name = self.name.as_deref().unwrap();
        let template = if has_schema { migrated_database().await } else { "template1".into() };
        on_postgres(&format!("CREATE DATABASE {name} TEMPLATE {template}")).await.unwrap();
        database_url(name)
    }

    async fn create_vhost(&self) -> String {
        let name = self.vhost();
        let all = r#"{"configure":".*","write":".*","read":".*"}"#;
        manage(Method::PUT, &format!("/api/vhosts/{name}"), "").await.expect(201);
        manage(Method::PUT, &format!("/api/permissions/{name}/seckill"), all).await;
        let mut url = Url::parse(Stack::get().variable("SECKILL_AMQP_URL")).unwrap();
        url.set_path(name);
        url.into()
    }
}

fn database_url(name: &str) -> String {
    let mut url = Url::parse(Stack::get().variable("SECKILL_DATABASE_URL")).unwrap();
    url.set_path(name);
    url.into()
}

/// The name of a database with the schema and nothing else. A copy of it takes a fifth of the migrations' time.
async fn migrated_database() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let migrations: Vec<u8> = files.into_iter().flat_map(|file| std::fs::read(file).unwrap()).collect();
    let mut hasher = DefaultHasher::new();
    migrations.hash(&mut hasher);
    let name = format!("migrated_{:016x}", hasher.finish());

    let mut connection = PgConnection::connect(Stack::get().variable("SECKILL_DATABASE_URL")).await.unwrap();
    // One of the test processes creates it, the others wait. The lock ends with the connection.
    raw_sql("SELECT pg_advisory_lock(1)").execute(&mut connection).await.unwrap();
    let exists = format!("SELECT 1 FROM pg_database WHERE datname = '{name}'");
    if raw_sql(AssertSqlSafe(exists)).fetch_optional(&mut connection).await.unwrap().is_none() {
        // A killed process may have left it.
        on_postgres(&format!("DROP DATABASE IF EXISTS {name}_new")).await.unwrap();
        on_postgres(&format!("CREATE DATABASE {name}_new")).await.unwrap();
        let store = Store::open(&database_url(&format!("{name}_new"))).unwrap();
        store.migrate().await.unwrap();
        store.close().await;
        on_postgres(&format!("ALTER DATABASE {name}_new RENAME TO {name}")).await.unwrap();
    }
    connection.close().await.unwrap();
    name
}

/// Runs one statement in the stack's own database.
pub async fn on_postgres(sql: &str) -> sqlx::Result<()> {
    let mut connection = PgConnection::connect(Stack::get().variable("SECKILL_DATABASE_URL")).await?;
    raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
    connection.close().await
}

/// Runs statements in a shop's database.
pub async fn on_database(shop: &Shop, sql: &str) {
    let mut connection = PgConnection::connect(shop.setting("SECKILL_DATABASE_URL")).await.unwrap();
    raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// The condition of [`sessions`] that wait for a lock.
pub const WAITS_FOR_A_LOCK: &str = "wait_event_type = 'Lock'";

/// The number of other sessions of this database that match in `pg_stat_activity`.
pub async fn sessions(watch: &mut PgConnection, condition: &str) -> i64 {
    let sql = format!(
        "SELECT COUNT(*) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid() AND {condition}"
    );
    raw_sql(AssertSqlSafe(sql)).fetch_one(watch).await.unwrap().get(0)
}

/// Takes the next numbered database of the stack's Redis and empties it. All test processes share the counter.
async fn take_redis_database() -> i64 {
    let mut connection = engine::redis::connection::shared(&Stack::get().address("SECKILL_REDIS_URL")).unwrap();
    let taken: i64 = redis::cmd("INCR").arg("seckill-test:next").query_async(&mut connection).await.unwrap();
    let number = 1 + taken % REDIS_DATABASES;
    let mut empty = redis::pipe();
    empty.cmd("SELECT").arg(number).ignore().cmd("FLUSHDB").ignore();
    let () = empty.query_async(&mut connection).await.unwrap();
    number
}

/// Empties the stack's cluster and returns its address. Only one test at a time may use it.
async fn empty_cluster() -> String {
    Stack::get().run(&["up", "--cluster"]).await;
    let url = Stack::get().variable("SECKILL_STACK_CLUSTER_URL");
    for shard in url.split(',') {
        let mut connection = redis_at(shard).await;
        redis::cmd("FLUSHALL").query_async::<()>(&mut connection).await.unwrap();
    }
    url.to_owned()
}

/// Empties the servers that the stack's Sentinels watch, and returns their address. Only one test at a time may use
/// them.
async fn empty_watched() -> String {
    Stack::get().run(&["up", "--sentinel"]).await;
    let url = Stack::get().variable("SECKILL_STACK_SENTINEL_URL");
    let mut master = engine::redis::connection::shared(&url.into()).unwrap();
    redis::cmd("FLUSHALL").query_async::<()>(&mut master).await.unwrap();
    url.to_owned()
}

/// Sends a request to RabbitMQ's management API.
pub async fn manage(method: Method, path: &str, body: &str) -> Answer {
    let url = Url::parse(Stack::get().variable("SECKILL_STACK_RABBITMQ_MANAGEMENT")).unwrap();
    let password = format!("{}:{}", url.username(), url.password().unwrap_or_default());
    let login = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(password));
    let client = Client::new(Connections::new(), [url.origin().ascii_serialization()].into());
    let request = client.request(method, path).header("authorization", &login);
    request.body("application/json", body.to_owned()).send().await
}

impl Drop for Fixture {
    /// Errors are ignored: a failed test may have left a service dead, and the whole stack is removed in the end.
    fn drop(&mut self) {
        let Some(name) = self.name.take() else { return };
        let rabbit = self.rung.has_rabbit();
        let clear = async move {
            let _ = on_postgres(&format!("DROP DATABASE {name} WITH (FORCE)")).await;
            if rabbit {
                manage(Method::DELETE, &format!("/api/vhosts/{name}"), "").await;
            }
        };
        // A drop inside a runtime cannot block on that runtime, so another thread runs its own.
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _ = std::thread::spawn(move || runtime().block_on(clear)).join();
    }
}
