//! Settings: one list, each with a flag, a variable `SECKILL_…` and a key in `seckill.toml`, in that order of
//! precedence. A wrong value stops the program with a message that names the variable. The command line itself is read
//! by `cli`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use jiff::tz::TimeZone;
use secrecy::SecretString;
use tracing_subscriber::filter::Targets;
use url::Url;

mod addresses;
mod payments;
mod sections;
mod source;

pub use addresses::Cidr;
pub use addresses::{RedisAddress, SentinelAddress, ServiceAddress};
use addresses::{amqp_url, database_url, read_tls};
pub use payments::{AlipayConfig, PaymentProvider, PaymentsConfig, StripeConfig, WechatPayConfig};
pub use sections::MailConfig;
use sections::{log_format, log_levels};
pub use source::{Source, check_variables, read_file};

use crate::tls::ClientTls;
use domain::draw::Beacon;
use domain::wire::wire_enum;

wire_enum! {
    /// A role of the process: a part of the shop that it runs.
    pub enum ProcessRole {
        Serve = "serve",
        Relay = "relay",
        Consume = "consume",
        Control = "control",
    }
}

wire_enum! {
    /// Who applies migrations that the database lacks.
    pub enum MigratePolicy {
        /// The process that starts.
        Auto = "auto",
        /// Another process, such as `seckill migrate`; this one waits for it.
        Wait = "wait",
        /// Another process, before this one starts.
        Off = "off",
    }
}

/// Name, default and meaning of every setting. `payment-window` is the flag `--payment-window`, the variable
/// `SECKILL_PAYMENT_WINDOW` and the key `payment_window`.
pub const SETTINGS: &[(&str, &str)] = &[
    ("listen", "Address of the shop [127.0.0.1:8080]"),
    ("ops-listen", "Address of /livez, /readyz, /healthz and /metrics [127.0.0.1:9090]"),
    ("public-url", "Origin that shoppers see; https makes cookies Secure [http://<listen>]"),
    ("data-dir", "SQLite file, rendered pages, uploads, generated secret [./data]"),
    ("database-url", "sqlite://… or postgres://… [SQLite in the data directory]"),
    (
        "migrate",
        "When the schema is older at a start: auto (migrate it), wait (for seckill migrate) or off (end) [auto]",
    ),
    (
        "redis-url",
        "Redis master (redis://, with TLS rediss://), several members of a Redis Cluster, comma separated, or \
         redis+sentinel://… [none: the database alone decides]",
    ),
    ("redis-replica-urls", "Redis replicas, comma separated; the gate reads there [Sentinel's, or the master]"),
    (
        "amqp-url",
        "RabbitMQ: amqp://…, with TLS amqps://…, several nodes with commas [none: orders go straight from Redis to the database]",
    ),
    ("tls-ca", "File of CAs, in PEM, that services are checked against beside the system's [none]"),
    ("tls-cert", "File of this process's certificate, in PEM, for services that ask for one [none]"),
    ("tls-key", "File of the key of that certificate, in PEM [none]"),
    ("secret", "At least 64 bytes that sign sessions and tokens [generated in the data directory]"),
    ("secret-previous", "The secret before, or after, a change: verifies too [none]"),
    ("admin-password", "Password of the user admin of a new shop [generated, printed once]"),
    ("staff-idle", "How long staff may leave a session unused, such as 30m [30m]"),
    (
        "free-registrations",
        "Accounts per address and hour that cost no proof of work, five times that per /24 or /48 [10]",
    ),
    ("staff-step-up", "How long a password that staff entered counts for refunds and exports, such as 15m [15m]"),
    (
        "second-person-above",
        "What one person of the staff refunds alone within a day, in whole units of the currency, such as 5000; 0: nothing; \
         off: everything [5000]",
    ),
    (
        "return-days",
        "Days after delivery in which shoppers may ask to return an order; 0: the shop takes no returns [7]",
    ),
    ("delivered-days", "Days after which a parcel that was sent counts as delivered; 0: never by itself [10]"),
    ("payment-window", "How long an order may stay unpaid, such as 30m [30m]"),
    (
        "payments",
        "Payment providers in the order of the cashier: stripe, wechatpay, alipay, sandbox, which asks for no money, or none \
         [those with keys, or sandbox; behind https none]",
    ),
    ("stripe-secret-key", "Secret key of the account at Stripe: sk_live_…, or sk_test_… for its test mode [none]"),
    (
        "stripe-webhook-secret",
        "Signing secret of the webhook endpoint at Stripe, whsec_…; two while one is replaced [none]",
    ),
    ("stripe-api", "Origin of Stripe's API [https://api.stripe.com]"),
    ("wechatpay-mchid", "Number of the merchant at WeChat Pay [none]"),
    ("wechatpay-appid", "App in whose name WeChat Pay takes the money, wx… [none]"),
    ("wechatpay-key", "Private key of the merchant's API certificate at WeChat Pay, in PEM [none]"),
    ("wechatpay-serial", "Number of the merchant's API certificate, in hexadecimal digits [none]"),
    ("wechatpay-v3-key", "APIv3 key of the merchant at WeChat Pay, 32 characters [none]"),
    ("wechatpay-public-key", "Public key of WeChat Pay, in PEM [none: its certificates are fetched]"),
    ("wechatpay-public-key-id", "Id of WeChat Pay's public key, PUB_KEY_ID_… [none]"),
    ("wechatpay-api", "Origin of WeChat Pay's API [https://api.mch.weixin.qq.com]"),
    ("alipay-app-id", "Number of the app at Alipay [none]"),
    ("alipay-seller-id", "Number of the merchant at Alipay, 2088… [none]"),
    ("alipay-key", "Private key of the app at Alipay, in PEM or as Alipay's tool writes it [none]"),
    ("alipay-public-key", "Alipay's public key for the app, in PEM or as Alipay shows it [none]"),
    (
        "alipay-scan",
        "A QR code on the shop's page for payers on a computer, instead of Alipay's page: true or false [false]",
    ),
    (
        "alipay-api",
        "Origin of Alipay's gateway; the sandbox is https://openapi-sandbox.dl.alipaydev.com [https://openapi.alipay.com]",
    ),
    (
        "draw-randomness",
        "Public randomness of draws: quicknet (drand; staff paste the round), sandbox, which anyone can compute, or none: the shop's \
         secret alone decides [sandbox; behind https none]",
    ),
    (
        "smtp-url",
        "Mail server: smtp://…, with STARTTLS smtp://…?tls=required, with TLS smtps://… [none: owners read the messages \
         in the console]",
    ),
    ("mail-from", "Address that the shop writes from [no-reply@ the host of public-url]"),
    ("time-zone", "Where the day of the shop begins, such as Asia/Shanghai [UTC]"),
    ("packet-lifetime", "How long a red packet can be claimed from when it opens, such as 24h [24h]"),
    ("demo", "Demo goods and sales: true or false [true on an empty default data directory]"),
    ("trusted-proxies", "Addresses and networks (10.0.0.0/8) whose X-Forwarded-For is trusted, comma separated [none]"),
    ("admission", "Requests admitted between two syncs, in percent of a sale's units [200]"),
    ("user-rate", "Buying requests per second and user [5]"),
    ("connections", "Open connections of shoppers, at most [20000, or what the system allows]"),
    (
        "connections-per-address",
        "Open connections of one address, at most; loopback and trusted proxies excepted [1000]",
    ),
    (
        "pipeline-threads",
        "Threads of their own for relay and consume in a process that also serves, 0 to 64; 0: they share the threads of serve [1]",
    ),
    (
        "drain",
        "How long a stop waits, not ready but answering, for the load balancer, up to 5s [5s beyond loopback, otherwise 0s]",
    ),
    ("log", "What to log: a level, and levels of modules, comma separated [info,sqlx=warn,lapin=warn]"),
    ("log-format", "text or json [text]"),
];

/// All settings, parsed.
#[derive(Debug, Clone)]
pub struct Config {
    pub web: WebConfig,
    pub data_dir: PathBuf,
    pub database_url: String,
    pub migrate: MigratePolicy,
    pub redis: Option<RedisConfig>,
    pub amqp_url: Option<ServiceAddress>,
    /// `None`: generate one in the data directory.
    pub secret: Option<SecretString>,
    /// Set while the secret is being replaced: the old secret, or the next one.
    pub secret_previous: Option<SecretString>,
    pub admin_password: Option<SecretString>,
    /// A staff session ends after it was unused for this long.
    pub staff_idle: Duration,
    /// Staff are asked for their password again this long after they entered it.
    pub staff_step_up: Duration,
    /// What one person may refund alone within a day, in whole units of the payment's currency. Refunds beyond it wait
    /// for a second person. `None`: no limit.
    pub second_person_above: Option<i64>,
    /// Accounts that a host registers within an hour without a proof of work.
    pub free_registrations: u32,
    pub payment_window: Duration,
    /// Days after the day of delivery in which owners of orders may ask for a return. 0: never.
    pub return_days: u32,
    /// Days after which a parcel that was sent counts as delivered. 0: never.
    pub delivered_days: u32,
    pub payments: PaymentsConfig,
    pub mail: MailConfig,
    /// The trusted CAs, and the certificate that this process shows to services.
    pub tls: ClientTls,
    pub packet_lifetime: Duration,
    /// The time zone of the shop: it decides when a day begins.
    pub time_zone: TimeZone,
    /// Threads that relay and consume have to themselves in a process that also serves. 0: none.
    pub pipeline_threads: usize,
    /// `None`: only when the data directory is the default one and new.
    pub demo: Option<bool>,
    pub log: Targets,
    pub log_json: bool,
}

#[derive(Debug, Clone)]
pub struct WebConfig {
    pub listen: SocketAddr,
    pub ops_listen: SocketAddr,
    /// Scheme, host and port, without a trailing slash.
    pub public_url: String,
    pub trusted_proxies: Vec<Cidr>,
    /// Requests admitted to the master per unit of stock, in percent.
    pub admission_percent: i64,
    /// Buying requests per second and user.
    pub user_rate: u32,
    /// Where the public randomness of new draws comes from; `None`: there is none.
    pub draw_beacon: Option<Beacon>,
    /// Open connections of shoppers, at most.
    pub connections: usize,
    /// Open connections of one address, at most. Loopback and trusted proxies are excepted.
    pub connections_per_address: usize,
    /// How long a stop waits, not ready but answering, until the load balancer sends no more requests.
    pub drain: Duration,
}

impl WebConfig {
    pub fn is_https(&self) -> bool {
        self.public_url.starts_with("https://")
    }

    /// Whether shoppers come through a proxy, as far as the public address says: https, which the program does not speak,
    /// or port 80, at which it does not listen.
    pub fn is_behind_a_proxy(&self) -> bool {
        let host = self.public_url.strip_prefix("http://");
        host.is_none_or(|host| !host.contains(':') && self.listen.port() != 80)
    }

    /// Whether other machines can reach the shop, by itself or through a proxy in front of it.
    pub fn is_reachable(&self) -> bool {
        !self.listen.ip().is_loopback() || self.is_https()
    }
}

#[derive(Debug, Clone)]
pub struct RedisConfig {
    /// See [`RedisAddress`].
    pub master: ServiceAddress,
    /// The gate reads from the replicas. It reads from the master when no replica answers and keeps up.
    pub replicas: Vec<ServiceAddress>,
}

const DEFAULT_STAFF_IDLE: Duration = Duration::from_secs(30 * 60);
const DEFAULT_STAFF_STEP_UP: Duration = Duration::from_secs(15 * 60);
/// What the law of many countries gives: seven days in China.
const DEFAULT_RETURN_DAYS: u32 = 7;
/// How long parcels take at most within most countries.
const DEFAULT_DELIVERED_DAYS: u32 = 10;
const MAX_DELIVERED_DAYS: i64 = 90;
/// More than a shop gives, and less than payments can be refunded for.
const MAX_RETURN_DAYS: i64 = 90;
/// Measured on two cores with 1,000 connections (`docs/benchmarks.md`).
const DEFAULT_PIPELINE_THREADS: usize = 1;
/// With it and what tasks need afterwards, a stop stays within ten seconds.
const MAX_DRAIN: Duration = Duration::from_secs(5);

pub const DEFAULT_DATA_DIR: &str = "./data";

/// The environment variable of a setting.
pub fn variable(name: &str) -> String {
    format!("SECKILL_{}", name.replace('-', "_").to_uppercase())
}

impl Config {
    /// The defaults: rung 1 on this machine.
    pub fn defaults() -> Config {
        Config::read(&Source::default()).expect("the defaults are valid")
    }

    /// The settings of the environment, without a command line.
    pub fn from_environment() -> anyhow::Result<Config> {
        let variable = |name: &str| std::env::var(name).ok();
        Config::read(&Source::new(|name| variable(&self::variable(name)), variable, toml::Table::new())?)
    }

    /// The settings of a TOML text.
    pub fn read_text(toml: &str) -> anyhow::Result<Config> {
        Config::read(&Source { file: toml.parse()?, ..Source::default() })
    }

    pub fn read(source: &Source) -> anyhow::Result<Config> {
        let tls = read_tls(source)?;
        let data_dir = PathBuf::from(source.text("data-dir").unwrap_or_else(|| DEFAULT_DATA_DIR.into()));
        let web = read_web(source)?;
        let secret = source.secret("secret");
        let secret_previous = source.secret("secret-previous");
        sections::check_secret(&web, secret.as_ref(), secret_previous.as_ref())?;
        Ok(Config {
            database_url: source.parse("database-url", sqlite_in(&data_dir), |text| database_url(text, &tls))?,
            migrate: source.parse("migrate", MigratePolicy::Auto, |text| {
                text.parse().map_err(|()| anyhow::anyhow!("expected auto, wait or off"))
            })?,
            redis: read_redis(source, &tls)?,
            amqp_url: read_amqp(source, &tls)?,
            secret,
            secret_previous,
            admin_password: sections::admin_password(source)?,
            staff_idle: sections::a_minute_or_more(source, "staff-idle", DEFAULT_STAFF_IDLE)?,
            staff_step_up: sections::a_minute_or_more(source, "staff-step-up", DEFAULT_STAFF_STEP_UP)?,
            second_person_above: sections::second_person_above(source)?,
            free_registrations: source.parse("free-registrations", 10, |t| whole(t, 1, 1_000_000))?,
            payment_window: source.parse("payment-window", Duration::from_secs(30 * 60), duration)?,
            return_days: source.parse("return-days", DEFAULT_RETURN_DAYS, |t| whole(t, 0, MAX_RETURN_DAYS))?,
            delivered_days: source
                .parse("delivered-days", DEFAULT_DELIVERED_DAYS, |t| whole(t, 0, MAX_DELIVERED_DAYS))?,
            payments: payments::read_payments(source, &web)?,
            mail: sections::read_mail(source, &tls, &web.public_url)?,
            packet_lifetime: source.parse("packet-lifetime", Duration::from_secs(24 * 3600), duration)?,
            time_zone: source.parse("time-zone", TimeZone::UTC, |name| {
                TimeZone::get(name).context("expected UTC or a name such as Asia/Shanghai")
            })?,
            pipeline_threads: source.parse("pipeline-threads", DEFAULT_PIPELINE_THREADS, |t| whole(t, 0, 64))?,
            demo: source.parse("demo", None, |t| t.parse().map(Some).context("expected true or false"))?,
            log: source.parse("log", log_levels("info,sqlx=warn,lapin=warn")?, log_levels)?,
            log_json: source.parse("log-format", false, log_format)?,
            web,
            tls,
            data_dir,
        })
    }
}

fn read_web(source: &Source) -> anyhow::Result<WebConfig> {
    let address = |text: &str| text.parse::<SocketAddr>().context("expected an address such as 127.0.0.1:8080");
    let listen = source.parse("listen", SocketAddr::from(([127, 0, 0, 1], 8080)), address)?;
    let public_url = source.parse("public-url", format!("http://{listen}"), origin)?;
    let is_local = listen.ip().is_loopback() && !public_url.starts_with("https://");
    Ok(WebConfig {
        listen,
        draw_beacon: read_beacon(source, public_url.starts_with("https://"))?,
        ops_listen: source.parse("ops-listen", SocketAddr::from(([127, 0, 0, 1], 9090)), address)?,
        public_url,
        trusted_proxies: source.parse("trusted-proxies", Vec::new(), proxies)?,
        admission_percent: source.parse("admission", 200, |t| whole(t, 100, 100_000))?,
        user_rate: source.parse("user-rate", 5, |t| whole(t, 1, 1_000_000))?,
        drain: source.parse("drain", if is_local { Duration::ZERO } else { MAX_DRAIN }, |text| {
            let drain = humantime::parse_duration(text).context("expected a duration such as 5s")?;
            anyhow::ensure!(drain <= MAX_DRAIN, "expected at most 5s");
            Ok(drain)
        })?,
        connections: source.parse("connections", 20_000, |t| whole(t, 1, 1_000_000))?,
        connections_per_address: source.parse("connections-per-address", 1_000, |t| whole(t, 1, 1_000_000))?,
    })
}

fn read_redis(source: &Source, tls: &ClientTls) -> anyhow::Result<Option<RedisConfig>> {
    let address = |text: &str| ServiceAddress { url: SecretString::from(text.to_owned()), tls: tls.clone() };
    let replicas = source.parse("redis-replica-urls", Vec::new(), |text| {
        text.split(',').map(|one| redis_replica(&address(one))).collect::<Result<Vec<_>, _>>()
    })?;
    let master = source.parse("redis-url", None, |text| {
        let master = address(text);
        let is_cluster = matches!(RedisAddress::parse(&master)?, RedisAddress::Cluster(_));
        anyhow::ensure!(
            !is_cluster || replicas.is_empty(),
            "SECKILL_REDIS_URL names a cluster, which has its own replicas; remove SECKILL_REDIS_REPLICA_URLS"
        );
        Ok(Some(master))
    })?;
    match master {
        Some(master) => Ok(Some(RedisConfig { master, replicas })),
        None if replicas.is_empty() => Ok(None),
        None => bail!("SECKILL_REDIS_REPLICA_URLS is set but SECKILL_REDIS_URL, their master, is not"),
    }
}

fn read_amqp(source: &Source, tls: &ClientTls) -> anyhow::Result<Option<ServiceAddress>> {
    let url = source.parse("amqp-url", None, |text| amqp_url(text, tls))?;
    let useful = url.is_none() || source.text("redis-url").is_some();
    anyhow::ensure!(useful, "SECKILL_AMQP_URL is set but SECKILL_REDIS_URL, the source of its orders, is not");
    Ok(url)
}

/// The address of the SQLite file inside a data directory.
pub fn sqlite_in(data_dir: &Path) -> String {
    format!("sqlite://{}", data_dir.join("seckill.sqlite").display())
}

fn redis_replica(address: &ServiceAddress) -> anyhow::Result<ServiceAddress> {
    match RedisAddress::parse(address)? {
        RedisAddress::Server(address) => Ok(address),
        _ => bail!("expected redis://… or rediss://…"),
    }
}

pub fn origin(text: &str) -> anyhow::Result<String> {
    let url = Url::parse(text).context("expected an address such as https://shop.example")?;
    let web = matches!(url.scheme(), "http" | "https") && url.host().is_some() && url.path() == "/";
    anyhow::ensure!(web, "expected http(s)://host[:port] without a path");
    Ok(url.origin().ascii_serialization())
}

fn proxies(text: &str) -> anyhow::Result<Vec<Cidr>> {
    text.split(',').map(Cidr::parse).collect()
}

fn duration(text: &str) -> anyhow::Result<Duration> {
    let parsed = humantime::parse_duration(text).context("expected a duration such as 30m")?;
    anyhow::ensure!(parsed >= Duration::from_secs(1), "expected at least one second");
    anyhow::ensure!(parsed <= Duration::from_secs(366 * 24 * 3600), "expected at most a year");
    Ok(parsed)
}

fn whole<T: TryFrom<i64>>(text: &str, min: i64, max: i64) -> anyhow::Result<T> {
    let number: i64 = text.parse().context("expected a whole number")?;
    anyhow::ensure!((min..=max).contains(&number), "expected {min} to {max}");
    T::try_from(number).map_err(|_| anyhow::anyhow!("expected {min} to {max}"))
}

/// The beacon of new draws. The sandbox's rounds can be computed beforehand, so a shop behind https gets it only if the
/// setting says so.
fn read_beacon(source: &Source, is_https: bool) -> anyhow::Result<Option<Beacon>> {
    let default = if is_https { None } else { Some(Beacon::Sandbox) };
    source.parse("draw-randomness", default, |text| match text {
        "none" => Ok(None),
        text => text.parse().map(Some).map_err(|()| anyhow::anyhow!("expected quicknet, sandbox or none")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_value_is_reported_with_its_variable() {
        let own = "listen = 'nowhere' | ops_listen = '127.0.0.1' | public_url = 'shop.example' | \
            public_url = 'https://shop.example/path' | database_url = 'mysql://x' | migrate = 'later' | \
            redis_url = 'http://x' | redis_url = 'localhost' | redis_url = 'redis://a,http://b' | \
            redis_url = 'redis+sentinel://a:26379' | redis_url = 'rediss://a/#insecure' | \
            redis_url = 'rediss://a,redis://b' | database_url = 'postgres://db/x?sslmode=prefer' | \
            tls_ca = '/nowhere/ca.pem' | tls_ca = 'Cargo.toml' | amqp_url = 'x' | amqp_url = 'http://localhost' | \
            amqp_url = 'amqp://127.0.0.1:1/x' | secret = 'short' | secret_previous = 'short' | \
            trusted_proxies = 'every address' | trusted_proxies = '10.0.0.1/8' | trusted_proxies = 'proxy.example' | \
            admin_password = 'short' | drain = '6s' | staff_idle = '10s' | staff_step_up = '10s' | \
            second_person_above = '5000.00' | second_person_above = -1 | free_registrations = 0 | \
            payment_window = 'soon' | payment_window = '0s' | return_days = -1 | return_days = 91 | return_days = '7d' | \
            delivered_days = 91 | packet_lifetime = 'soon' | payments = 'card' | payments = 'sandbox,sandbox' | \
            stripe_api = 'http://stripe.example' | wechatpay_api = 'http://wechat.example' | alipay_scan = 'perhaps' | \
            alipay_api = 'alipay.example' | time_zone = 'Nowhere/Else' | draw_randomness = 'dice' | \
            smtp_url = 'mail.example' | mail_from = 'shop' | demo = 'maybe' | log = 'verbose' | log_format = 'xml' | \
            user_rate = 0 | pipeline_threads = 65 | pipeline_threads = 'all' | admission = 5 | admission = -5";
        let own = own.split(" | ").map(|file| (file, variable(file.split(' ').next().unwrap())));
        // Settings that go together, and what a wrong one depends on.
        let others = [
            ("redis_replica_urls = 'redis://a'", "SECKILL_REDIS_URL"),
            ("tls_cert = 'Cargo.toml'", "SECKILL_TLS_KEY"),
            ("tls_key = 'Cargo.toml'", "SECKILL_TLS_CERT"),
            ("tls_cert = 'Cargo.toml'\ntls_key = 'Cargo.toml'", "SECKILL_TLS_CERT"),
            ("redis_url = 'redis://a,redis://b'\nredis_replica_urls = 'redis://c'", "SECKILL_REDIS_REPLICA_URLS"),
            ("listen = '0.0.0.0:80'", "SECKILL_SECRET"),
            (
                "public_url = 'https://shop.example'\nsecret = 'passwordpasswordpasswordpasswordpasswordpasswordpasswordpassword'",
                "SECKILL_SECRET",
            ),
            ("stripe_secret_key = 'sk_test_0123456789'", "SECKILL_STRIPE_WEBHOOK_SECRET"),
            ("stripe_webhook_secret = 'whsec_0123456789'", "SECKILL_STRIPE_SECRET_KEY"),
            ("wechatpay_mchid = '1900000001'", "SECKILL_WECHATPAY_APPID"),
            ("wechatpay_public_key_id = 'PUB_KEY_ID_1'", "SECKILL_WECHATPAY_PUBLIC_KEY"),
            ("alipay_key = 'MII'", "SECKILL_ALIPAY_APP_ID"),
        ];
        let others = others.map(|(file, variable)| (file, variable.to_owned()));
        for (file, variable) in own.chain(others) {
            let message = format!("{:#}", Config::read_text(file).expect_err(file));
            assert!(message.contains(&variable), "{file}: {message}");
        }
    }

    #[test]
    fn values_of_any_toml_kind_are_read() {
        let config =
            Config::read_text("demo = true\nuser_rate = 9\ntrusted_proxies = ['127.0.0.1', '10.0.0.0/8']").unwrap();
        assert_eq!((config.demo, config.web.user_rate, config.web.trusted_proxies.len()), (Some(true), 9, 2));
    }

    #[test]
    fn public_address_that_the_program_does_not_serve_means_a_proxy() {
        let is_behind = |file: &str| Config::read_text(file).unwrap().web.is_behind_a_proxy();
        for url in ["https://shop.example", "http://shop.example", "https://127.0.0.1:8080"] {
            assert!(is_behind(&format!("public_url = '{url}'")), "{url}");
        }
        assert!(!is_behind("") && !is_behind("public_url = 'http://shop.example:8081'"));
    }

    #[test]
    fn draws_behind_https_have_no_sandbox_unless_it_is_asked_for() {
        let beacon = |file: &str| Config::read_text(file).unwrap().web.draw_beacon;
        assert_eq!(beacon("public_url = 'http://shop.example'"), Some(Beacon::Sandbox));
        assert_eq!(beacon("public_url = 'https://shop.example'"), None);
        assert_eq!(beacon("public_url = 'https://shop.example'\ndraw_randomness = 'quicknet'"), Some(Beacon::Quicknet));
        assert_eq!(beacon("draw_randomness = 'none'"), None);
    }
}
