//! `seckill doctor`: checks every configured service and prints how to repair what is wrong.

use std::borrow::Cow;
use std::fmt::Display;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::ensure;

use base::clock::Clock;
use base::config::{Config, RedisAddress, ServiceAddress};
use base::tls;
use engine::health::ClockOffset;
use engine::pipeline::rabbit::Publisher;
use engine::redis::connection;
use engine::redis::connection::RedisConnection;
use mail::Transport;
use store::Store;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The result of one check. A problem includes how to repair it.
struct Finding {
    subject: String,
    problem: Option<String>,
    /// Whether the connection is encrypted; `None` for checks without a connection.
    encrypted: Option<bool>,
}

impl Finding {
    fn to(self, address: &ServiceAddress) -> Finding {
        Finding { encrypted: Some(address.is_encrypted()), ..self }
    }
}

/// A problem of a service that answers, and how to repair it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Problem(Cow<'static, str>);

pub async fn run(config: &Config) -> anyhow::Result<ExitCode> {
    let mut findings = vec![data_dir(config), database(config).await];
    findings.extend(proxy(config));
    if findings.iter().all(|finding| finding.problem.is_none()) {
        findings.push(check("clock", clock(config), "see the database's log").await);
    }
    if let Some(redis) = &config.redis {
        let repair = "start Redis or correct SECKILL_REDIS_URL";
        match RedisAddress::parse(&redis.master)? {
            RedisAddress::Cluster(members) => {
                for member in &members {
                    let found = check(&at("redis cluster", member), cluster_member(member), repair).await;
                    findings.push(found.to(member));
                }
            }
            RedisAddress::Server(url) => {
                let found = async { master(connection::any_role(&url)?).await };
                findings.push(check("redis master", found, repair).await.to(&url));
            }
            RedisAddress::Sentinel(_) => {
                let found = async { master(connection::shared(&redis.master)?).await };
                let repair = "start Redis and its Sentinels or correct SECKILL_REDIS_URL";
                findings.push(check("redis master, by Sentinel", found, repair).await.to(&redis.master));
            }
        }
        for replica in &redis.replicas {
            let repair = "start the replica or correct SECKILL_REDIS_REPLICA_URLS";
            let found = check(&at("redis replica", replica), self::replica(replica), repair).await;
            findings.push(found.to(replica));
        }
    }
    if let Some(url) = &config.amqp_url {
        let repair = "start RabbitMQ or correct SECKILL_AMQP_URL";
        findings.push(check("rabbitmq", rabbit(url), repair).await.to(url));
    }
    if let Some(server) = &config.mail.smtp {
        let probe = async { Transport::of(&config.mail)?.ok_or_else(|| anyhow::anyhow!("no server"))?.check().await };
        let repair = "start the mail server or correct SECKILL_SMTP_URL";
        findings.push(check("mail server", probe, repair).await.to(server));
    }
    let rung = if config.amqp_url.is_some() {
        3
    } else if config.redis.is_some() {
        2
    } else {
        1
    };
    println!("configured for rung {rung}, payments: {}", config.payments);
    for finding in &findings {
        match &finding.problem {
            None => println!("ok    {}{}", finding.subject, encryption(finding)),
            Some(problem) => println!("FAIL  {}: {problem}", finding.subject),
        }
    }
    let ok = findings.iter().all(|finding| finding.problem.is_none());
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn encryption(finding: &Finding) -> &'static str {
    match finding.encrypted {
        None => "",
        Some(true) => " (encrypted)",
        Some(false) => " (not encrypted)",
    }
}

fn unchangeable(error: impl Display) -> anyhow::Error {
    Problem(format!("it can be read but not written: {error}").into()).into()
}

/// The subject of a check of one of several servers.
fn at(service: &str, url: &ServiceAddress) -> String {
    format!("{service} {}", connection::host(url))
}

async fn check(subject: &str, probe: impl Future<Output = anyhow::Result<()>>, repair: &str) -> Finding {
    let problem = match tokio::time::timeout(ANSWER_TIMEOUT, probe).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) if error.is::<Problem>() => Some(format!("{error:#}")),
        Ok(Err(error)) => {
            let text = format!("{error:#}");
            Some(format!("{text}; {}", tls::repair(&text).unwrap_or(repair)))
        }
        Err(_) => Some(format!("no answer within {} s; {repair}", ANSWER_TIMEOUT.as_secs())),
    };
    Finding { subject: subject.to_owned(), problem, encrypted: None }
}

fn data_dir(config: &Config) -> Finding {
    let probe = config.data_dir.join(".doctor");
    let written = std::fs::create_dir_all(&config.data_dir)
        .and_then(|()| std::fs::write(&probe, "probe"))
        .and_then(|()| std::fs::remove_file(&probe));
    let problem = written.err().map(|error| {
        format!("{} cannot be written ({error}); change its owner or SECKILL_DATA_DIR", config.data_dir.display())
    });
    Finding { subject: "data directory".to_owned(), problem, encrypted: None }
}

/// Whether the proxy in front of the shop is named. `None`: there is none, as far as the settings say.
fn proxy(config: &Config) -> Option<Finding> {
    if !config.web.is_behind_a_proxy() {
        return None;
    }
    let problem = config.web.trusted_proxies.is_empty().then(|| {
        let url = &config.web.public_url;
        format!("shoppers come to {url} through a proxy, so all of them count as one client; name its address in SECKILL_TRUSTED_PROXIES")
    });
    Some(Finding { subject: "proxy".to_owned(), problem, encrypted: None })
}

async fn database(config: &Config) -> Finding {
    let encrypted = std::cell::Cell::new(None);
    let probe = async {
        let store = Store::open(&config.database_url)?;
        store.ping().await?;
        encrypted.set(store.is_encrypted().await?);
        ensure!(store.sales().revision().await.is_ok(), Problem("the schema is missing; run: seckill migrate".into()));
        store.check_writable().await.map_err(unchangeable)
    };
    let finding = check("database", probe, "start the database or correct SECKILL_DATABASE_URL").await;
    Finding { encrypted: encrypted.get(), ..finding }
}

/// Compares this host's clock with the clock of the database's host.
async fn clock(config: &Config) -> anyhow::Result<()> {
    let store = Store::open(&config.database_url)?;
    // Opens the connection, so that the measurement is one round trip.
    store.ping().await?;
    let offset = ClockOffset::measure(&Clock::system(), store.ask_time()).await?;
    let side = if offset.seconds > 0.0 { "ahead of" } else { "behind" };
    let seconds = offset.seconds.abs();
    let problem = format!("this host's clock is {seconds:.1} s {side} the database's; synchronize both (NTP)");
    ensure!(!offset.is_too_large(), Problem(problem.into()));
    Ok(())
}

async fn master(mut connection: RedisConnection) -> anyhow::Result<()> {
    let role = info(&mut connection, "replication", "role").await?;
    ensure!(role.as_deref() == Some("master"), Problem("it is not a master; correct SECKILL_REDIS_URL".into()));
    check_durability(&mut connection).await?;
    connection.check_writable().await.map_err(unchangeable)
}

/// Checks a master or replica of a cluster.
async fn cluster_member(url: &ServiceAddress) -> anyhow::Result<()> {
    let mut connection = connection::any_role(url)?;
    let state: String = redis::cmd("CLUSTER").arg("INFO").query_async(&mut connection).await?;
    let complete = state.lines().any(|line| line.trim() == "cluster_state:ok");
    ensure!(complete, Problem("its cluster is incomplete; start the missing members".into()));
    check_durability(&mut connection).await
}

async fn check_durability(connection: &mut RedisConnection) -> anyhow::Result<()> {
    let aof = info(connection, "persistence", "aof_enabled").await?;
    let why = "it has no append-only file, so a restart would forget reservations; set appendonly yes";
    ensure!(aof.as_deref() == Some("1"), Problem(why.into()));
    let policy = info(connection, "memory", "maxmemory_policy").await?;
    let why = "it may evict keys when memory is short; set maxmemory-policy noeviction";
    ensure!(policy.as_deref() == Some("noeviction"), Problem(why.into()));
    Ok(())
}

async fn replica(url: &ServiceAddress) -> anyhow::Result<()> {
    let mut connection = connection::any_role(url)?;
    let role = info(&mut connection, "replication", "role").await?;
    ensure!(
        role.as_deref() == Some("slave"),
        Problem("it is not a replica; correct SECKILL_REDIS_REPLICA_URLS".into())
    );
    let up = info(&mut connection, "replication", "master_link_status").await?;
    ensure!(up.as_deref() == Some("up"), Problem("it has lost the connection to its master; see its log".into()));
    Ok(())
}

async fn info(connection: &mut RedisConnection, section: &str, field: &str) -> anyhow::Result<Option<String>> {
    let text: String = redis::cmd("INFO").arg(section).query_async(connection).await?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    Ok(line.map(|value| value.trim().to_owned()))
}

async fn rabbit(url: &ServiceAddress) -> anyhow::Result<()> {
    let publisher = Publisher::connect(url, "seckill doctor").await?;
    let accepted = publisher.probe().await;
    publisher.close().await;
    accepted.map_err(|error| Problem(error.to_string().into()).into())
}
