//! `seckill doctor`: checks every configured service and says how to mend what is wrong.

use std::borrow::Cow;
use std::fmt::Display;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::ensure;
use redis::IntoConnectionInfo;
use secrecy::{ExposeSecret, SecretString};

use crate::config::Config;
use crate::pipeline::rabbit::Publisher;
use crate::redis::connection;
use crate::redis::connection::RedisConnection;
use crate::store::Store;

const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// A finding: what was looked at, and what is wrong with how to mend it.
struct Finding {
    what: String,
    problem: Option<String>,
}

/// What is wrong with a service that answers, and how to mend it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Wrong(Cow<'static, str>);

pub async fn run(config: &Config) -> anyhow::Result<ExitCode> {
    let mut findings = vec![data_dir(config), database(config).await];
    if let Some(redis) = &config.redis {
        let members = connection::addresses(&redis.master);
        let is_cluster = members.len() > 1;
        for member in &members {
            let mend = "start Redis or correct SECKILL_REDIS_URL";
            match is_cluster {
                true => findings.push(check(&at("redis cluster", member), cluster_member(member), mend).await),
                false => findings.push(check("redis master", master(member), mend).await),
            }
        }
        for replica in &redis.replicas {
            let mend = "start the replica or correct SECKILL_REDIS_REPLICA_URLS";
            findings.push(check(&at("redis replica", replica), self::replica(replica), mend).await);
        }
    }
    if let Some(url) = &config.amqp_url {
        findings.push(check("rabbitmq", rabbit(url), "start RabbitMQ or correct SECKILL_AMQP_URL").await);
    }
    let rung = if config.amqp_url.is_some() {
        3
    } else if config.redis.is_some() {
        2
    } else {
        1
    };
    println!("configured for rung {rung}");
    for finding in &findings {
        match &finding.problem {
            None => println!("well  {}", finding.what),
            Some(problem) => println!("SICK  {}: {problem}", finding.what),
        }
    }
    let well = findings.iter().all(|finding| finding.problem.is_none());
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn unchangeable(error: impl Display) -> anyhow::Error {
    Wrong(format!("it can be read but not changed: {error}").into()).into()
}

/// Which one of several.
fn at(what: &str, url: &SecretString) -> String {
    let address = url.expose_secret().into_connection_info().map(|info| info.addr().to_string());
    format!("{what} {}", address.unwrap_or_default())
}

async fn check(what: &str, look: impl Future<Output = anyhow::Result<()>>, mend: &str) -> Finding {
    let problem = match tokio::time::timeout(ANSWER_WITHIN, look).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) if error.is::<Wrong>() => Some(format!("{error:#}")),
        Ok(Err(error)) => Some(format!("{error:#}; {mend}")),
        Err(_) => Some(format!("no answer within {} s; {mend}", ANSWER_WITHIN.as_secs())),
    };
    Finding { what: what.to_owned(), problem }
}

fn data_dir(config: &Config) -> Finding {
    let probe = config.data_dir.join(".doctor");
    let written = std::fs::create_dir_all(&config.data_dir)
        .and_then(|()| std::fs::write(&probe, "well"))
        .and_then(|()| std::fs::remove_file(&probe));
    let problem = written.err().map(|error| {
        format!("{} cannot be written ({error}); change its owner or SECKILL_DATA_DIR", config.data_dir.display())
    });
    Finding { what: "data directory".to_owned(), problem }
}

async fn database(config: &Config) -> Finding {
    let look = async {
        let store = Store::open(&config.database_url)?;
        store.ping().await?;
        ensure!(store.revision().await.is_ok(), Wrong("the schema is missing; run: seckill migrate".into()));
        store.takes_changes().await.map_err(unchangeable)
    };
    check("database", look, "start the database or correct SECKILL_DATABASE_URL").await
}

async fn master(url: &SecretString) -> anyhow::Result<()> {
    let mut connection = connection::shared(url)?;
    let role = info(&mut connection, "replication", "role").await?;
    ensure!(role.as_deref() == Some("master"), Wrong("it is not a master; correct SECKILL_REDIS_URL".into()));
    forgets_nothing(&mut connection).await?;
    // Changes nothing, but is refused where nothing may be changed.
    let change = redis::cmd("SETRANGE").arg("seckill:doctor").arg(0).arg("").query_async::<()>(&mut connection).await;
    change.map_err(unchangeable)
}

/// A master or a replica of a cluster that is whole.
async fn cluster_member(url: &SecretString) -> anyhow::Result<()> {
    let mut connection = connection::shared(url)?;
    let state: String = redis::cmd("CLUSTER").arg("INFO").query_async(&mut connection).await?;
    let whole = state.lines().any(|line| line.trim() == "cluster_state:ok");
    ensure!(whole, Wrong("its cluster is not whole; start the members that are missing".into()));
    forgets_nothing(&mut connection).await
}

async fn forgets_nothing(connection: &mut RedisConnection) -> anyhow::Result<()> {
    let aof = info(connection, "persistence", "aof_enabled").await?;
    let why = "it has no append-only file, so a restart would forget reservations; set appendonly yes";
    ensure!(aof.as_deref() == Some("1"), Wrong(why.into()));
    let policy = info(connection, "memory", "maxmemory_policy").await?;
    let why = "it may throw keys away when memory is short; set maxmemory-policy noeviction";
    ensure!(policy.as_deref() == Some("noeviction"), Wrong(why.into()));
    Ok(())
}

async fn replica(url: &SecretString) -> anyhow::Result<()> {
    let mut connection = connection::shared(url)?;
    let role = info(&mut connection, "replication", "role").await?;
    ensure!(role.as_deref() == Some("slave"), Wrong("it replicates nobody; correct SECKILL_REDIS_REPLICA_URLS".into()));
    let up = info(&mut connection, "replication", "master_link_status").await?;
    ensure!(up.as_deref() == Some("up"), Wrong("it has lost its master; see its log".into()));
    Ok(())
}

async fn info(connection: &mut RedisConnection, section: &str, field: &str) -> anyhow::Result<Option<String>> {
    let text: String = redis::cmd("INFO").arg(section).query_async(connection).await?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    Ok(line.map(|value| value.trim().to_owned()))
}

async fn rabbit(url: &SecretString) -> anyhow::Result<()> {
    let publisher = Publisher::connect(url, "seckill doctor").await?;
    let taken = publisher.probe().await;
    publisher.close().await;
    taken.map_err(|error| Wrong(error.to_string().into()).into())
}
