//! `seckill doctor`: checks every configured service and prints how to repair what is wrong.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use secrecy::ExposeSecret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

use crate::app;
use base::clock::Clock;
use base::config::{Config, RedisAddress, ServiceAddress};
use base::tls;
use domain::{Sale, SaleState, Window};
use engine::health::ClockOffset;
use engine::pipeline::dead_letters::DeadLetters;
use engine::pipeline::rabbit::Rabbit;
use engine::redis::connection::{self, RedisConnection};
use mail::Transport;
use payments::{Alipay, Stripe, WechatPay};
use store::{SchemaState, Store};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// A `serve` that can hold fewer connections is of no use in a rush.
const MIN_CONNECTIONS: usize = 1_000;

/// The result of one check. A problem says in plain words what is wrong and how to repair it.
#[derive(Default)]
struct Finding {
    subject: String,
    problems: Vec<String>,
    /// What is good to know and no problem.
    note: Option<String>,
    /// Whether the connection is encrypted; `None` for checks without a connection.
    encrypted: Option<bool>,
}

impl Finding {
    fn to(self, address: &ServiceAddress) -> Finding {
        Finding { encrypted: Some(address.is_encrypted()), ..self }
    }
}

/// Every problem of a service that answers.
type Problems = anyhow::Result<Vec<String>>;

pub async fn run(config: &Config) -> anyhow::Result<ExitCode> {
    let mut findings = vec![data_dir(config), open_files()];
    findings.extend(proxy(config));
    let (database, has_schema) = database(config).await;
    findings.push(database);
    if has_schema {
        findings.push(check("clock", None, clock(config), "see the database's log").await);
        findings.extend(pictures(config).await?);
    }
    if let Some(redis) = &config.redis {
        let repair = "start Redis or correct SECKILL_REDIS_URL";
        match RedisAddress::parse(&redis.master)? {
            RedisAddress::Cluster(members) => {
                for member in &members {
                    let subject = at("redis cluster", member);
                    let found = check(&subject, redis_at(member), cluster_member(member), repair).await;
                    findings.push(found.to(member));
                }
            }
            RedisAddress::Server(url) => {
                let found = async { master(connection::any_role(&url)?).await };
                findings.push(check("redis master", redis_at(&url), found, repair).await.to(&url));
            }
            RedisAddress::Sentinel(_) => {
                let found = async { master(connection::shared(&redis.master)?).await };
                let repair = "start Redis and its Sentinels or correct SECKILL_REDIS_URL";
                findings.push(check("redis master, by Sentinel", None, found, repair).await.to(&redis.master));
            }
        }
        for replica in &redis.replicas {
            let repair = "start the replica or correct SECKILL_REDIS_REPLICA_URLS";
            let found = check(&at("redis replica", replica), redis_at(replica), self::replica(replica), repair).await;
            findings.push(found.to(replica));
        }
        if has_schema && findings.iter().all(|found| !found.subject.starts_with("redis") || found.problems.is_empty()) {
            findings.push(check("outboxes", None, dead_outbox_entries(config), repair).await);
            findings.push(check("ended sales", None, ended_sales(config), repair).await);
        }
    }
    for node in config.amqp_url.iter().flat_map(ServiceAddress::each) {
        let repair = "start RabbitMQ or correct SECKILL_AMQP_URL";
        let place = Place::of(node.url.expose_secret(), "RabbitMQ", node.is_encrypted());
        findings.push(check("rabbitmq", place, rabbit(&node), repair).await.to(&node));
    }
    if let Some(server) = &config.mail.smtp {
        let probe = async {
            let transport = Transport::of(&config.mail)?.context("no server")?;
            transport.check().await?;
            Ok(Vec::new())
        };
        let repair = "start the mail server or correct SECKILL_SMTP_URL";
        findings.push(check("mail server", None, probe, repair).await.to(server));
    }
    findings.extend(payment_providers(config).await);
    let rung = match (&config.amqp_url, &config.redis) {
        (Some(_), _) => 3,
        (None, Some(_)) => 2,
        (None, None) => 1,
    };
    println!("configured for rung {rung}, payments: {}", config.payments.names());
    for finding in &findings {
        for problem in &finding.problems {
            println!("FAIL  {}: {problem}", finding.subject);
        }
        if finding.problems.is_empty() {
            let note = finding.note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
            println!("ok    {}{}{note}", finding.subject, encryption(finding));
        }
    }
    let ok = findings.iter().all(|finding| finding.problems.is_empty());
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether the payment providers accept the shop's keys.
async fn payment_providers(config: &Config) -> Vec<Finding> {
    let (keys, tls, url, clock) = (&config.payments, &config.tls, &config.web.public_url, Clock::system());
    let mut findings = Vec::new();
    let found = |is_test: bool, api: &str, found: Finding| {
        let note = is_test.then(|| "test mode: no money moves".to_owned());
        Finding { encrypted: Some(api.starts_with("https://")), note, ..found }
    };
    if let Some(account) = &keys.stripe {
        let probe = async { Stripe::new(account, tls, url)?.check().await.map(|()| Vec::new()) };
        let checked = check("stripe", None, probe, "see Developers, API keys in Stripe's dashboard").await;
        findings.push(found(account.is_test, &account.api, checked));
    }
    if let Some(account) = &keys.wechatpay {
        let probe = async { WechatPay::new(account, tls, url, &clock)?.check().await.map(|()| Vec::new()) };
        let checked = check("wechatpay", None, probe, "see 账户中心, API安全 on WeChat Pay's merchant platform").await;
        findings.push(found(account.is_test, &account.api, checked));
    }
    if let Some(account) = &keys.alipay {
        let probe = async { Alipay::new(account, tls, url, &clock).check().await.map(|()| Vec::new()) };
        let checked = check("alipay", None, probe, "see 开发设置 of the app on Alipay's open platform").await;
        findings.push(found(account.is_test, &account.api, checked));
    }
    findings
}

fn encryption(finding: &Finding) -> &'static str {
    match finding.encrypted {
        None => "",
        Some(true) => " (encrypted)",
        Some(false) => " (not encrypted)",
    }
}

fn redis_at(url: &ServiceAddress) -> Option<Place> {
    Place::of(url.url.expose_secret(), "Redis", url.is_encrypted())
}

/// The subject of a check of one of several servers.
fn at(service: &str, url: &ServiceAddress) -> String {
    format!("{service} {}", connection::host(url))
}

/// Why a service cannot be used stands in its own words only where nothing plainer is known.
async fn check(subject: &str, place: Option<Place>, probe: impl Future<Output = Problems>, repair: &str) -> Finding {
    let failed = match tokio::time::timeout(ANSWER_TIMEOUT, probe).await {
        Ok(Ok(problems)) => return Finding { subject: subject.to_owned(), problems, ..Finding::default() },
        Ok(Err(error)) => format!("{error:#}"),
        Err(_) => format!("no answer within {} s", ANSWER_TIMEOUT.as_secs()),
    };
    let problem = match (tls::repair(&failed), place) {
        (Some(certificate), _) => format!("{failed}; {certificate}"),
        (None, Some(place)) => format!("{}; {repair}", place.problem().await.unwrap_or(failed)),
        (None, None) => format!("{failed}; {repair}"),
    };
    Finding { subject: subject.to_owned(), problems: vec![problem], ..Finding::default() }
}

fn data_dir(config: &Config) -> Finding {
    let probe = config.data_dir.join(".doctor");
    let written = std::fs::create_dir_all(&config.data_dir)
        .and_then(|()| std::fs::write(&probe, "probe"))
        .and_then(|()| std::fs::remove_file(&probe));
    let problem = written.err().map(|error| {
        format!("{} cannot be written ({error}); change its owner or SECKILL_DATA_DIR", config.data_dir.display())
    });
    Finding { subject: "data directory".to_owned(), problems: problem.into_iter().collect(), ..Finding::default() }
}

/// Whether a `serve` can hold the connections of a crowd.
fn open_files() -> Finding {
    let connections = app::max_connections();
    let problem = (connections < MIN_CONNECTIONS).then(|| {
        format!(
            "serve could hold only {connections} connections of shoppers; raise the hard limit of open files (ulimit -Hn, \
             LimitNOFILE of systemd) to some tens of thousands"
        )
    });
    Finding { subject: "open files".to_owned(), problems: problem.into_iter().collect(), ..Finding::default() }
}

/// Whether uploaded pictures are here, on a machine where `serve` has rendered pages. `None` elsewhere.
async fn pictures(config: &Config) -> anyhow::Result<Option<Finding>> {
    if !config.data_dir.join("pages").exists() {
        return Ok(None);
    }
    let goods = Store::open(&config.database_url)?.goods().list().await?;
    let folder = config.data_dir.join("uploads");
    let uploads = goods.iter().flat_map(|goods| &goods.pictures).filter(|picture| picture.is_upload());
    let missing = uploads.filter(|picture| !folder.join(picture.file()).exists()).count();
    let problem = (missing > 0).then(|| {
        format!(
            "{missing} uploaded pictures are not in {}; share that folder among all machines with serve, or restore it",
            folder.display()
        )
    });
    Ok(Some(Finding { subject: "pictures".to_owned(), problems: problem.into_iter().collect(), ..Finding::default() }))
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
    Some(Finding { subject: "proxy".to_owned(), problems: problem.into_iter().collect(), ..Finding::default() })
}

/// The database, and whether it has the schema that other checks read.
async fn database(config: &Config) -> (Finding, bool) {
    let (mut encrypted, mut newer, mut has_schema) = (None, None, false);
    let probe = async {
        let store = Store::open(&config.database_url)?;
        store.ping().await?;
        encrypted = store.is_encrypted().await?;
        let mut problems = Vec::new();
        for name in store.unsafe_settings().await? {
            problems.push(format!("{name} is off, so a crash loses orders that RabbitMQ has forgotten; set it to on"));
        }
        let SchemaState { pending, problem, newer: unknown } = store.schema().await?;
        newer = unknown;
        if let Some(problem) = problem {
            problems.push(problem);
        } else if !pending.is_empty() {
            problems.push(format!("{} migrations are pending; run: seckill migrate", pending.len()));
        } else {
            has_schema = true;
            problems.extend(store.check_writable().await.err().map(unchangeable));
            let is_other = app::has_other_secret(config, &store).await?;
            problems.extend(is_other.then(|| {
                "this process has another secret than the one that was started last, so sessions and tokens of one are invalid at \
                 the other; give all the same SECKILL_SECRET"
                    .to_owned()
            }));
        }
        Ok(problems)
    };
    let is_encrypted = !config.database_url.contains("sslmode=disable");
    let place = Place::of(&config.database_url, "PostgreSQL", is_encrypted);
    let finding = check("database", place, probe, "start the database or correct SECKILL_DATABASE_URL").await;
    let note = newer.map(|newer| format!("a newer program has applied migration {newer}; upgrade this one as well"));
    (Finding { encrypted, note, ..finding }, has_schema)
}

/// Compares this host's clock with the clock of the database's host.
async fn clock(config: &Config) -> Problems {
    let store = Store::open(&config.database_url)?;
    // Opens the connection, so that the measurement is one round trip.
    store.ping().await?;
    let offset = ClockOffset::measure(&Clock::system(), store.ask_time()).await?;
    let side = if offset.seconds > 0.0 { "ahead of" } else { "behind" };
    let seconds = offset.seconds.abs();
    let problem = format!("this host's clock is {seconds:.1} s {side} the database's; synchronize both (NTP)");
    Ok(offset.is_too_large().then_some(problem).into_iter().collect())
}

fn unchangeable(error: impl std::fmt::Display) -> String {
    format!("it can be read but not written: {error}")
}

async fn master(mut connection: RedisConnection) -> Problems {
    let role = info(&mut connection, "replication", "role").await?;
    if role.as_deref() != Some("master") {
        return Ok(vec!["it is not a master; correct SECKILL_REDIS_URL".to_owned()]);
    }
    let mut problems = durability(&mut connection).await?;
    problems.extend(connection.check_writable().await.err().map(unchangeable));
    Ok(problems)
}

/// Checks a master or replica of a cluster.
async fn cluster_member(url: &ServiceAddress) -> Problems {
    let mut connection = connection::any_role(url)?;
    let state: String = redis::cmd("CLUSTER").arg("INFO").query_async(&mut connection).await?;
    if !state.lines().any(|line| line.trim() == "cluster_state:ok") {
        return Ok(vec!["its cluster is incomplete; start the missing members".to_owned()]);
    }
    durability(&mut connection).await
}

async fn durability(connection: &mut RedisConnection) -> Problems {
    let aof = info(connection, "persistence", "aof_enabled").await?;
    let policy = info(connection, "memory", "maxmemory_policy").await?;
    let forgets = "it has no append-only file, so a restart would forget reservations; set appendonly yes";
    let evicts = "it may evict keys when memory is short; set maxmemory-policy noeviction";
    let found = [(aof.as_deref() != Some("1"), forgets), (policy.as_deref() != Some("noeviction"), evicts)];
    Ok(found.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, problem)| problem.to_owned()).collect())
}

async fn replica(url: &ServiceAddress) -> Problems {
    let mut connection = connection::any_role(url)?;
    let role = info(&mut connection, "replication", "role").await?;
    if role.as_deref() != Some("slave") {
        return Ok(vec!["it is not a replica; correct SECKILL_REDIS_REPLICA_URLS".to_owned()]);
    }
    let up = info(&mut connection, "replication", "master_link_status").await?;
    let problem = "it has lost the connection to its master; see its log".to_owned();
    Ok((up.as_deref() != Some("up")).then_some(problem).into_iter().collect())
}

async fn dead_outbox_entries(config: &Config) -> Problems {
    let master = config.redis.as_ref().map(|redis| connection::shared(&redis.master)).transpose()?;
    let letters = DeadLetters::new(None, master, Store::open(&config.database_url)?, Clock::system());
    let dead = letters.list().await?.outboxes.transpose()?.map_or(0, |letters| letters.len());
    Ok(dead_letters(dead))
}

/// How long an ended sale may lie in Redis without a word. Usually it is gone after a minute.
const MAX_STAY: SignedDuration = SignedDuration::from_mins(10);

/// Looks for ended sales that still use memory in Redis.
async fn ended_sales(config: &Config) -> Problems {
    let store = Store::open(&config.database_url)?;
    let (sales, now) = (store.sales().active().await?, store.now().await?);
    Ok(lingering(&sales, now).into_iter().collect())
}

fn lingering(sales: &[Sale], now: Timestamp) -> Option<String> {
    let overdue = sales.iter().filter(|sale| is_overdue(sale.state, sale.window, now));
    let ids: Vec<String> = overdue.map(|sale| sale.id.to_string()).collect();
    (!ids.is_empty()).then(|| {
        let list = ids.join(", ");
        format!("ended long ago and still in Redis: {list}; they leave once control runs and their orders are in the database")
    })
}

/// Whether an active sale should have left Redis.
fn is_overdue(state: SaleState, window: Window, now: Timestamp) -> bool {
    state == SaleState::Ended && window.closes_at.is_some_and(|closed| now.duration_since(closed) > MAX_STAY)
}

fn dead_letters(count: usize) -> Vec<String> {
    let problem = format!("{count} dead letters wait; replay or discard them at /admin/system");
    (count > 0).then_some(problem).into_iter().collect()
}

async fn info(connection: &mut RedisConnection, section: &str, field: &str) -> anyhow::Result<Option<String>> {
    let text: String = redis::cmd("INFO").arg(section).query_async(connection).await?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    Ok(line.map(|value| value.trim().to_owned()))
}

async fn rabbit(url: &ServiceAddress) -> Problems {
    let publisher = Rabbit::connect_to_publish(url, "seckill doctor").await?;
    let dead = publisher.dead_letters().await?;
    let accepted = publisher.probe().await;
    publisher.close().await;
    Ok(dead_letters(dead as usize).into_iter().chain(accepted.err().map(|error| error.to_string())).collect())
}

// Why a service cannot be used, in plain words. It is asked after the service's client has failed, whose errors say little: that
// a pool timed out, or a pipe broke.

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const GREETING_TIMEOUT: Duration = Duration::from_millis(500);

/// What different servers answer to: an AMQP header, Redis' PING, PostgreSQL's question for TLS, nothing (a mail server speaks
/// first), a request of HTTP.
const QUESTIONS: [&[u8]; 5] =
    [b"AMQP\0\0\x09\x01", b"PING\r\n", b"\0\0\0\x08\x04\xd2\x16\x2f", b"", b"GET / HTTP/1.0\r\n\r\n"];

/// Where a service is expected.
pub struct Place {
    host: String,
    port: u16,
    expected: &'static str,
    /// Nothing is sent in plain text to a server that is spoken to by TLS.
    is_plain: bool,
}

impl Place {
    /// `None` for a file and for a socket file.
    pub fn of(url: &str, expected: &'static str, is_encrypted: bool) -> Option<Place> {
        let url = Url::parse(url).ok()?;
        let default = match url.scheme() {
            "redis" | "rediss" => 6379,
            "amqp" => 5672,
            "amqps" => 5671,
            "postgres" | "postgresql" => 5432,
            _ => return None,
        };
        let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']').to_owned();
        Some(Place { host, port: url.port().unwrap_or(default), expected, is_plain: !is_encrypted })
    }

    /// `None` if a server of the expected kind answers, or it is not known which kind.
    pub async fn problem(&self) -> Option<String> {
        let at = format!("{}:{}", self.host, self.port);
        if tokio::net::lookup_host((self.host.as_str(), self.port)).await.is_err() {
            return Some(format!("the name {:?} is not known", self.host));
        }
        match self.connect().await {
            None => return Some(format!("{at} does not answer: the host is down, or a firewall is in between")),
            Some(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                return Some(format!("nothing listens at {at}"));
            }
            Some(Err(error)) => return Some(format!("{at} cannot be reached: {error}")),
            Some(Ok(_)) => {}
        }
        for question in QUESTIONS.into_iter().filter(|_| self.is_plain) {
            if let Some(found) = kind(&self.ask(question).await.unwrap_or_default()) {
                return (found != self.expected).then(|| format!("{found} answers at {at}, not {}", self.expected));
            }
        }
        None
    }

    async fn connect(&self) -> Option<std::io::Result<TcpStream>> {
        timeout(CONNECT_TIMEOUT, TcpStream::connect((self.host.as_str(), self.port))).await.ok()
    }

    async fn ask(&self, question: &[u8]) -> Option<Vec<u8>> {
        let mut stream = self.connect().await?.ok()?;
        stream.write_all(question).await.ok()?;
        let mut answer = [0; 64];
        let length = timeout(GREETING_TIMEOUT, stream.read(&mut answer)).await.ok()?.ok()?;
        Some(answer[..length].to_vec())
    }
}

/// The kind of a server that answers so.
fn kind(answer: &[u8]) -> Option<&'static str> {
    match answer {
        [1, 0, ..] | [b'A', b'M', b'Q', b'P', ..] => Some("RabbitMQ"),
        [b'+', b'P', b'O', b'N', b'G', ..] | [b'-', b'N' | b'E' | b'D', ..] => Some("Redis"),
        b"N" | b"S" => Some("PostgreSQL"),
        [b'2', b'2', b'0', ..] => Some("a mail server"),
        [b'H', b'T', b'T', b'P', ..] => Some("a web server"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sale_that_ended_long_ago_is_overdue() {
        let now = Timestamp::UNIX_EPOCH;
        let closed = |minutes| Window { opens_at: None, closes_at: Some(now - SignedDuration::from_mins(minutes)) };
        assert!(is_overdue(SaleState::Ended, closed(11), now));
        assert!(!is_overdue(SaleState::Ended, closed(9), now));
        assert!(!is_overdue(SaleState::Live, closed(11), now));
    }

    #[tokio::test]
    async fn closed_port_and_servers_of_another_kind_are_named() {
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = server.local_addr().unwrap();
        let place = Place::of(&format!("redis://{at}"), "Redis", false).unwrap();
        let answer = tokio::spawn(async move {
            loop {
                let (mut stream, _) = server.accept().await.unwrap();
                let mut asked = [0; 64];
                if stream.read(&mut asked).await.is_ok_and(|length| length > 0) {
                    let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
                }
            }
        });
        assert_eq!(place.problem().await, Some(format!("a web server answers at {at}, not Redis")));
        answer.abort();
        let _ = answer.await;
        assert_eq!(place.problem().await, Some(format!("nothing listens at {at}")));
        let unknown = Place::of("postgres://no-such-host.invalid/shop", "PostgreSQL", false).unwrap();
        assert_eq!(unknown.problem().await.as_deref(), Some("the name \"no-such-host.invalid\" is not known"));
        assert!(Place::of("sqlite://shop.sqlite", "SQLite", false).is_none());
        assert_eq!(kind(b"N"), Some("PostgreSQL"));
        assert_eq!(kind(b"-ERR unknown command"), Some("Redis"));
    }
}
