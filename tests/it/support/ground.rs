//! What a shop of a test stands on: a folder, a database, a Redis number, a virtual host in RabbitMQ, all its own.

use std::path::Path;

use axum::http::Method;
use base64::Engine;
use sqlx::Connection;
use sqlx::postgres::PgConnection;
use tempfile::TempDir;
use url::Url;

use super::client::{Answer, Client, Connections};
use super::process::Settings;
use super::{Rung, Stack};

/// Databases of the stack's Redis that tests share out; 0 holds the counter.
const REDIS_DATABASES: i64 = 255;

/// Goes with everything on it.
pub struct Ground {
    dir: TempDir,
    pub settings: Settings,
    /// Of the database and the virtual host; `None` where there is neither.
    name: Option<String>,
    rung: Rung,
}

impl Ground {
    pub async fn new(rung: Rung) -> Ground {
        let dir = tempfile::Builder::new().prefix("seckill-it-").tempdir().unwrap();
        let mut ground = Ground { dir, settings: Settings::new(), name: None, rung };
        if rung.needs_stack() {
            ground.name = Some(format!("it_{}_{:08x}", std::process::id(), rand::random::<u32>()));
            ground.set("SECKILL_DATABASE_URL", &ground.create_database().await);
        }
        if rung == Rung::Cluster {
            ground.set("SECKILL_REDIS_URL", &emptied_cluster().await);
        } else if rung.has_redis() {
            let number = take_redis_number().await;
            for name in ["SECKILL_REDIS_URL", "SECKILL_REDIS_REPLICA_URLS"] {
                ground.set(name, &format!("{}{number}", Stack::get().variable(name)));
            }
        }
        if rung.has_rabbit() {
            ground.set("SECKILL_AMQP_URL", &ground.create_vhost().await);
        }
        ground
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

    async fn create_database(&self) -> String {
        let name = self.name.as_deref().unwrap();
        on_postgres(&format!("CREATE DATABASE {name}")).await.unwrap();
        let mut url = Url::parse(Stack::get().variable("SECKILL_DATABASE_URL")).unwrap();
        url.set_path(name);
        url.into()
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

/// Runs one statement in the stack's own database.
pub async fn on_postgres(sql: &str) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect(Stack::get().variable("SECKILL_DATABASE_URL")).await?;
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await?;
    connection.close().await
}

/// An emptied database of the stack's Redis. Test processes count on together.
async fn take_redis_number() -> i64 {
    let client = redis::Client::open(Stack::get().variable("SECKILL_REDIS_URL")).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let taken: i64 = redis::cmd("INCR").arg("seckill-test:next").query_async(&mut connection).await.unwrap();
    let number = 1 + taken % REDIS_DATABASES;
    let mut empty = redis::pipe();
    empty.cmd("SELECT").arg(number).ignore().cmd("FLUSHDB").ignore();
    let () = empty.query_async(&mut connection).await.unwrap();
    number
}

/// The stack's cluster, which one test at a time has for itself.
async fn emptied_cluster() -> String {
    Stack::get().run(&["up", "--cluster"]).await;
    let url = Stack::get().variable("SECKILL_STACK_CLUSTER_URL");
    for shard in url.split(',') {
        let client = redis::Client::open(shard).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        redis::cmd("FLUSHALL").query_async::<()>(&mut connection).await.unwrap();
    }
    url.to_owned()
}

/// Asks RabbitMQ's management API.
pub async fn manage(method: Method, path: &str, body: &str) -> Answer {
    let url = Url::parse(Stack::get().variable("SECKILL_STACK_RABBITMQ_MANAGEMENT")).unwrap();
    let password = format!("{}:{}", url.username(), url.password().unwrap_or_default());
    let login = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(password));
    let client = Client::new(Connections::new(), [url.origin().ascii_serialization()].into());
    let asking = client.ask(method, path).header("authorization", &login);
    asking.body("application/json", body.to_owned()).send().await
}

impl Drop for Ground {
    /// A service that a failed test has left dead keeps its part; the whole stack goes in the end.
    fn drop(&mut self) {
        let Some(name) = self.name.take() else { return };
        let rabbit = self.rung.has_rabbit();
        let clear = async move {
            let _ = on_postgres(&format!("DROP DATABASE {name} WITH (FORCE)")).await;
            if rabbit {
                manage(Method::DELETE, &format!("/api/vhosts/{name}"), "").await;
            }
        };
        // Dropping may happen inside a runtime, which cannot wait for another one.
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _ = std::thread::spawn(move || runtime().block_on(clear)).join();
    }
}
