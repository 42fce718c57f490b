//! Preparation before the first request: the database with its schema, the services, the secret, the administrator's
//! account, and the in-memory copies.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use axum::Router;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use rustix::process::{Resource, getrlimit, setrlimit};
use secrecy::SecretString;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::{error, info, warn};
use uuid::Uuid;

use super::{Services, demo};
use accounts::{AccountRefusal, is_acceptable_for_admin};
use base::config::{Config, DEFAULT_DATA_DIR, MigratePolicy, ProcessRole, RedisAddress};
use base::lifecycle::Shutdown;
use base::signing::{ShopSecret, key_for};
use base::{locked, private_files, tls};
use domain::{SecurityClass, hex};
use engine::pipeline::rabbit::Rabbit;
use engine::redis::connection;
use store::{CategoryRefusal, GoodsRefusal, SaleRefusal, SchemaState, Store, StoreError, StoreResult};
use web::server::limits::{ConnectionLimiter, ConnectionLimits};
use web::server::{Listen, serve_on};

/// Delay between two attempts to reach a service.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// How long a start waits for the answer of Redis and RabbitMQ.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a service is asked at a start if it resets the connection.
const MAX_PROBES: usize = 5;
const PROBE_DELAY: Duration = Duration::from_millis(200);
/// How long the lease for adding the demo lasts: longer than adding it takes.
const DEMO_LEASE_DURATION: Duration = Duration::from_secs(60);
/// Further attempts after a migration failed although the database is available.
const MAX_MIGRATION_RETRIES: u32 = 2;

/// What a start waits for, in words for operators; `None` until it has to wait.
#[derive(Debug, Clone, Default)]
pub struct Waiting(watch::Sender<Option<String>>);

impl Waiting {
    pub fn watch(&self) -> watch::Receiver<Option<String>> {
        self.0.subscribe()
    }

    fn for_database(&self, error: &dyn std::fmt::Display) {
        warn!(%error, "waiting for the database (SECKILL_DATABASE_URL)");
        self.0.send_replace(Some(format!("waiting for the database (SECKILL_DATABASE_URL): {error}")));
    }

    fn for_migrations(&self, pending: usize) {
        warn!(pending, "waiting for the migrations of the database; run: seckill migrate");
        self.0.send_replace(Some(format!("waiting for {pending} migrations of the database; run: seckill migrate")));
    }
}

/// Opens the database, and waits until it has the schema of this program: `migrate` says who brings it up to date.
pub async fn open_database(config: &Config, migrate: MigratePolicy, waiting: &Waiting) -> anyhow::Result<Store> {
    let store = connect_database(config, waiting).await?;
    // SQLite has no lock around migrations. If several processes start together, one succeeds, and the others find the
    // schema migrated when they retry.
    let mut retries = 0;
    loop {
        match store.schema().await {
            Ok(SchemaState { problem: Some(problem), .. }) => bail!("the database (SECKILL_DATABASE_URL): {problem}"),
            Ok(SchemaState { pending, newer, .. }) if pending.is_empty() => {
                if let Some(newer) = newer {
                    info!(newer, "a newer program has migrated the database; this one can work with it");
                }
                return Ok(store);
            }
            Ok(SchemaState { pending, .. }) => match migrate {
                MigratePolicy::Auto => match store.migrate().await {
                    Ok(()) => continue,
                    Err(error @ StoreError::Unavailable(_)) => waiting.for_database(&error),
                    Err(error) if retries == MAX_MIGRATION_RETRIES => {
                        return Err(error).context("the schema cannot be migrated");
                    }
                    Err(_) => retries += 1,
                },
                MigratePolicy::Wait => waiting.for_migrations(pending.len()),
                MigratePolicy::Off => {
                    let count = pending.len();
                    bail!("the database lacks {count} migrations, and SECKILL_MIGRATE is off; run: seckill migrate")
                }
            },
            Err(error @ StoreError::Unavailable(_)) => waiting.for_database(&error),
            Err(error) => return Err(error).context("the schema of the database cannot be read"),
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

/// Opens the database as it is. Waits while it is unavailable.
pub async fn connect_database(config: &Config, waiting: &Waiting) -> anyhow::Result<Store> {
    if let Some(file) = sqlite_file(&config.database_url) {
        restrict_to_owner(&file);
    }
    let store = Store::open(&config.database_url).context("SECKILL_DATABASE_URL has a wrong value")?;
    loop {
        match store.ping().await {
            Ok(()) => return Ok(store),
            Err(StoreError::Refused(error)) => bail!("the database (SECKILL_DATABASE_URL) refuses: {error}"),
            Err(error) => match tls::repair(&error.to_string()) {
                Some(repair) => {
                    bail!("the database (SECKILL_DATABASE_URL) cannot be reached by TLS: {repair}: {error}")
                }
                None => waiting.for_database(&error),
            },
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

/// The path of the database file; `None` for PostgreSQL and for a database in memory.
fn sqlite_file(url: &str) -> Option<PathBuf> {
    let path = url.strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path).split('?').next()?;
    (!path.is_empty() && path != ":memory:").then(|| PathBuf::from(path))
}

/// Creates the database file if it is missing, and makes it and SQLite's files beside it readable by their owner only:
/// they contain addresses and password hashes. The data directory stays open, because nginx reads pages there. SQLite
/// gives files that it creates later the mode of the database.
fn restrict_to_owner(file: &Path) {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    const OWNER_ONLY: u32 = 0o600;
    // A wrong path is reported when the database is opened.
    let _ = std::fs::OpenOptions::new().append(true).create(true).mode(OWNER_ONLY).open(file);
    for suffix in ["", "-wal", "-shm"] {
        let path = PathBuf::from(format!("{}{suffix}", file.display()));
        let Ok(metadata) = path.metadata() else { continue };
        if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
            let restricted = std::fs::set_permissions(&path, std::fs::Permissions::from_mode(OWNER_ONLY));
            if let Err(error) = restricted {
                warn!(%error, path = %path.display(), "other users of this machine can read the database");
            }
        }
    }
}

/// Asks a service. Fails when it refuses the connection for good, for example because of a wrong password.
async fn check_service(service: &str, probe: impl AsyncFn() -> anyhow::Result<()>) -> anyhow::Result<()> {
    const RESET: [&str; 2] = ["reset by peer", "roken pipe"];
    const FINAL: [&str; 5] = ["WRONGPASS", "NOAUTH", "ACCESS_REFUSED", "not found", "AuthenticationFailed"];
    let mut text = String::new();
    for probes in 1..=MAX_PROBES {
        let probed = tokio::time::timeout(SERVICE_TIMEOUT, probe()).await;
        let Err(error) = probed.unwrap_or_else(|_| Err(anyhow!("it does not answer"))) else { return Ok(()) };
        text = format!("{error:#}");
        // A server that ends the handshake may reset the connection before the reason was read. A busy one does so several
        // times in a row.
        if probes == MAX_PROBES || !RESET.iter().any(|reason| text.contains(reason)) {
            break;
        }
        tokio::time::sleep(PROBE_DELAY).await;
    }
    if FINAL.iter().any(|reason| text.contains(reason)) {
        bail!("{service} refuses: {text}");
    }
    // Certificate errors are final too. A certificate that is being renewed may be wrong for a moment, but a start that
    // goes on would hide a wrong setting.
    if let Some(repair) = tls::repair(&text) {
        bail!("{service} cannot be reached by TLS: {repair}: {text}");
    }
    warn!(error = text, "{service} is away; starting without it, and connecting once it is back");
    Ok(())
}

/// Repeats a step while the database is not available.
pub(super) async fn retry_without_database<F: Future<Output = anyhow::Result<()>>>(
    waiting: &Waiting,
    step: impl Fn() -> F,
) -> anyhow::Result<()> {
    loop {
        match step().await {
            Err(error) if is_unavailable(&error) => waiting.for_database(&error),
            outcome => return outcome,
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

/// Whether the database was not available. Looks into the errors of accounts, goods, categories and sales too.
fn is_unavailable(error: &anyhow::Error) -> bool {
    let cause = match (error.downcast_ref(), error.downcast_ref(), error.downcast_ref(), error.downcast_ref()) {
        (Some(AccountRefusal::Store(cause)), ..)
        | (_, Some(GoodsRefusal::Store(cause)), ..)
        | (_, _, Some(CategoryRefusal::Store(cause)), _)
        | (.., Some(SaleRefusal::Store(cause))) => Some(cause),
        _ => error.downcast_ref(),
    };
    matches!(cause, Some(StoreError::Unavailable(_)))
}

/// Tells secrets apart, and says nothing else about them.
fn fingerprint(secret: &SecretString) -> String {
    hex::encode(&key_for(secret, "fingerprint")[..16])
}

/// Whether the process that was started last had a secret that is neither of these.
async fn is_other_secret(secret: &ShopSecret, store: &Store) -> StoreResult<bool> {
    let Some(last) = store.processes().secret_fingerprint().await? else { return Ok(false) };
    let own = [Some(&secret.current), secret.previous.as_ref()];
    Ok(!own.into_iter().flatten().any(|secret| fingerprint(secret) == last))
}

/// For `doctor`: [`is_other_secret`] of the configured or generated secret. Generates none.
pub async fn has_other_secret(config: &Config, store: &Store) -> anyhow::Result<bool> {
    let is_known = config.secret.is_some() || config.data_dir.join("secret").exists();
    Ok(is_known && is_other_secret(&shop_secret(config)?, store).await?)
}

pub(super) fn shop_secret(config: &Config) -> anyhow::Result<ShopSecret> {
    let current = match &config.secret {
        Some(secret) => secret.clone(),
        None => generated_secret(&config.data_dir)?,
    };
    Ok(ShopSecret { current, previous: config.secret_previous.clone() })
}

/// The secret in the data directory; generated at the first start, readable by its owner only.
fn generated_secret(data_dir: &Path) -> anyhow::Result<SecretString> {
    use std::io::Write;
    let path = data_dir.join("secret");
    let describe = || format!("the secret in {}", path.display());
    if !path.exists() {
        let text = format!("{}{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let draft = data_dir.join(format!("secret.{}", Uuid::new_v4().simple()));
        let mut file = private_files::create(&draft).with_context(describe)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(describe)?;
        // The hard link makes the complete file appear at once. If several processes start, the first one wins.
        match std::fs::hard_link(&draft, &path) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(error).with_context(describe);
            }
            _ => std::fs::remove_file(&draft).with_context(describe)?,
        }
    }
    let secret = std::fs::read_to_string(&path).with_context(describe)?;
    anyhow::ensure!(secret.trim().len() >= 64, "the secret in {} is too short", path.display());
    Ok(SecretString::from(secret.trim().to_owned()))
}

impl Services {
    /// Prepares the shop for its first request. `fresh` when there was no data directory.
    pub(super) async fn prepare(&self, fresh: bool, roles: &[ProcessRole]) -> anyhow::Result<()> {
        check_admin_password(&self.config)?;
        self.check_services().await?;
        retry_without_database(&self.waiting, || self.prepare_once(fresh, roles)).await
    }

    /// Asks every configured service, so that a wrong setting ends the start. A service that is away does not: pages,
    /// log-in and stored orders work without it, and each connection is made again until it succeeds.
    async fn check_services(&self) -> anyhow::Result<()> {
        let redis = check_service("Redis (SECKILL_REDIS_URL)", async || {
            let Some(redis) = &self.redis else { return Ok(()) };
            match redis.ping().await {
                Ok(()) => Ok(()),
                Err(error) => Err(self.cause_at_a_member().await.unwrap_or_else(|| error.into())),
            }
        });
        let rabbit = check_service("RabbitMQ (SECKILL_AMQP_URL)", async || {
            let Some(url) = &self.config.amqp_url else { return Ok(()) };
            Rabbit::connect(url, "seckill start").await?.close().await;
            Ok(())
        });
        let (redis, rabbit) = tokio::join!(redis, rabbit);
        redis.and(rabbit)
    }

    /// Why a member of a cluster does not answer. The cluster's client only says that it has no connection.
    async fn cause_at_a_member(&self) -> Option<anyhow::Error> {
        let address = &self.config.redis.as_ref()?.master;
        let Ok(RedisAddress::Cluster(members)) = RedisAddress::parse(address) else { return None };
        for member in &members {
            let mut connection = connection::any_role(member).ok()?;
            if let Err(error) = redis::cmd("PING").query_async::<()>(&mut connection).await {
                return Some(error.into());
            }
        }
        None
    }

    async fn prepare_once(&self, fresh: bool, roles: &[ProcessRole]) -> anyhow::Result<()> {
        self.prepare_database(fresh).await?;
        self.fill_caches(roles).await
    }

    /// Creates the administrator's account in a new shop, and the demo in an empty one.
    async fn prepare_database(&self, fresh: bool) -> anyhow::Result<()> {
        let default_dir = self.config.data_dir == Path::new(DEFAULT_DATA_DIR);
        let is_demo = self.config.demo.unwrap_or(fresh && default_dir);
        if !is_demo && self.config.web.is_reachable() && self.accounts().require_second_factor_of_first_staff().await? {
            info!("a second factor is required of all staff, because other machines can reach this new shop");
        }
        let password = self.accounts().ensure_admin(self.config.admin_password.clone()).await?;
        if let Some(password) = password {
            println!("The administrator is \"admin\" with the password \"{password}\". It is shown only once.");
        }
        if is_other_secret(&self.secret, &self.store).await? {
            warn!(
                "this process has another secret (SECKILL_SECRET) than the one that was started before it; see: seckill doctor"
            );
        }
        self.store.processes().set_secret_fingerprint(&fingerprint(&self.secret.current)).await?;
        let changed = self.accounts().re_encrypt_second_factors().await?;
        if self.secret.previous.is_some() {
            let detail = if changed > 0 { "second_factors_encrypted" } else { "previous_secret" };
            self.security.record(SecurityClass::SecretRotated, None, None, detail);
            let endpoints = self.webhooks.re_encrypt_secrets().await?;
            if endpoints > 0 {
                info!(changed = endpoints, "encrypted signing secrets of endpoints with the new secret");
            }
            self.pusher.re_encrypt_key().await?;
        }
        if changed > 0 {
            info!(changed, "encrypted second factors with the new secret");
        }
        if is_demo {
            // If several processes start together, only one adds the demo.
            let mine = self.store.leases().acquire("demo", &self.member, DEMO_LEASE_DURATION).await?;
            if mine && demo::create(&self.store, self.store.now().await?).await? {
                info!("added demo goods and sales");
            }
        }
        Ok(())
    }

    /// Reads the in-memory copies and renders the pages before the first request.
    async fn fill_caches(&self, roles: &[ProcessRole]) -> anyhow::Result<()> {
        if roles.iter().any(|role| self.needs_catalogue(*role)) {
            self.catalogue.refresh().await?;
            self.directory.refresh().await?;
        }
        if roles.contains(&ProcessRole::Serve) {
            self.gate.refresh().await;
            self.accounts.refresh().await?;
            let (catalogue, pages) = (self.catalogue.clone(), self.pages.clone());
            tokio::task::spawn_blocking(move || control::publish(&catalogue, &pages)).await??;
        }
        Ok(())
    }
}

/// Refuses a weak administrator's password if other machines can reach the shop.
fn check_admin_password(config: &Config) -> anyhow::Result<()> {
    const WEAK: &str = "SECKILL_ADMIN_PASSWORD is a common password, or too simple";
    if config.admin_password.as_ref().is_none_or(is_acceptable_for_admin) {
        return Ok(());
    }
    let listen = config.web.listen;
    anyhow::ensure!(
        listen.ip().is_loopback(),
        "{WEAK}, and SECKILL_LISTEN ({listen}) can be reached from other machines; make one with: openssl rand -hex 16"
    );
    warn!("{WEAK}; with a SECKILL_LISTEN beyond this machine the program refuses it");
    Ok(())
}

/// The number of shoppers' connections that this process can hold, after raising its limit of open files as far as the
/// system allows. Some files stay reserved for the database, Redis, RabbitMQ, pages and pictures.
pub fn max_connections() -> usize {
    const RESERVED_FILES: u64 = 256;
    match raise_open_files() {
        Ok(files) => usize::try_from(files.saturating_sub(RESERVED_FILES)).unwrap_or(usize::MAX).max(64),
        Err(error) => {
            warn!(%error, "the limit of open files is unknown; holding at most 64 connections");
            64
        }
    }
}

/// Raises the limit of open files as far as the system allows, and returns it.
fn raise_open_files() -> rustix::io::Result<u64> {
    const MAX_FILES: u64 = 1 << 20;
    let mut limit = getrlimit(Resource::Nofile);
    let target = limit.maximum.map_or(MAX_FILES, |maximum| maximum.min(MAX_FILES));
    if limit.current.is_some_and(|files| files < target) {
        limit.current = Some(target);
        setrlimit(Resource::Nofile, limit)?;
    }
    Ok(limit.current.unwrap_or(u64::MAX))
}

// The addresses of a process during its start. While the start waits, for the database or for migrations, the process
// says so at each of them.

/// Open connections to the operators' address, at most; and to the shop's as long as it is not open.
pub(super) const MAX_OPS_CONNECTIONS: usize = 256;

pub(super) struct Starting {
    pub ops: StartingAddress,
    /// Of a process that serves shoppers.
    pub shop: Option<StartingAddress>,
}

impl Starting {
    pub fn begin(roles: &[ProcessRole], config: &Config, waiting: &Waiting) -> Starting {
        let ops = Listen { address: config.web.ops_listen, setting: "SECKILL_OPS_LISTEN" };
        let shop = Listen { address: config.web.listen, setting: "SECKILL_LISTEN" };
        let ops = StartingAddress::new(ops, web::ops::starting_router(waiting.watch()), async {});
        let mut reason = waiting.watch();
        // A start that need not wait opens the address with the shop: a load balancer asks another server until then.
        let waits = async move { drop(reason.wait_for(Option::is_some).await) };
        let serves = roles.contains(&ProcessRole::Serve);
        let shop = serves.then(|| StartingAddress::new(shop, web::router::starting_router(), waits));
        Starting { ops, shop }
    }
}

pub(super) struct StartingAddress {
    listen: Listen,
    /// `None` until something is answered.
    bound: Arc<Mutex<Option<TcpListener>>>,
    answers: JoinHandle<()>,
}

impl StartingAddress {
    /// Answers with `router` once `begin` is over.
    fn new(listen: Listen, router: Router, begin: impl Future<Output = ()> + Send + 'static) -> StartingAddress {
        let bound = Arc::new(Mutex::new(None));
        let shared = bound.clone();
        let answers = tokio::spawn(async move {
            begin.await;
            let answered = match share(listen, &shared) {
                Ok(listener) => answer(listener, router).await,
                Err(error) => Err(error),
            };
            if let Err(error) = answered {
                error!(error = format!("{error:#}"), "the start cannot be seen from outside");
            }
        });
        StartingAddress { listen, bound, answers }
    }

    /// Stops answering for the start and hands the listener over. New connections wait in it until they are accepted.
    pub async fn take_over(self) -> anyhow::Result<TcpListener> {
        self.answers.abort();
        // An aborted task has nothing to say.
        let _ = self.answers.await;
        let bound = locked(&self.bound).take();
        bound.map_or_else(|| self.listen.bind(), Ok)
    }
}

/// A second handle of the listener, which is bound if it is not yet. The first one stays, so that the address stays open.
fn share(listen: Listen, bound: &Mutex<Option<TcpListener>>) -> anyhow::Result<TcpListener> {
    let mut bound = locked(bound);
    let listener = match bound.take() {
        Some(listener) => listener,
        None => listen.bind()?,
    };
    Ok(bound.insert(listener).try_clone()?)
}

async fn answer(listener: TcpListener, router: Router) -> anyhow::Result<()> {
    let limits = ConnectionLimits::of(MAX_OPS_CONNECTIONS);
    let limiter = ConnectionLimiter::new(limits, Gauge::default(), Counter::default());
    let shutdown = Shutdown::default();
    // Every connection ends with its answer, so that none is open when the process itself answers.
    shutdown.draining.cancel();
    serve_on(listener, router, limiter, shutdown).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_password_of_the_administrator_is_refused_beyond_this_machine() {
        let check = |listen: &str, password: &str| {
            let mut config = Config::defaults();
            config.web.listen = listen.parse().unwrap();
            config.admin_password = Some(SecretString::from(password.to_owned()));
            check_admin_password(&config).map_err(|error| error.to_string())
        };
        for weak in ["passw0rd", "administrator", "admin123"] {
            let refused = check("0.0.0.0:8080", weak).unwrap_err();
            assert!(refused.contains("SECKILL_ADMIN_PASSWORD") && !refused.contains(weak), "{refused}");
            assert_eq!(check("127.0.0.1:8080", weak), Ok(()));
        }
        assert_eq!(check("0.0.0.0:8080", "correct horse"), Ok(()));
    }

    #[tokio::test]
    async fn database_file_is_readable_by_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::defaults();
        config.database_url = base::config::sqlite_in(dir.path());
        let file = dir.path().join("seckill.sqlite");
        let modes = || {
            let files = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap());
            files.map(|metadata| metadata.permissions().mode() & 0o777).collect::<Vec<_>>()
        };
        let store = open_database(&config, MigratePolicy::Auto, &Waiting::default()).await.unwrap();
        assert!(modes().iter().all(|mode| *mode == 0o600), "{:?}", modes());
        store.close().await;
        // An earlier version left the database readable by everyone.
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        let _store = open_database(&config, MigratePolicy::Auto, &Waiting::default()).await.unwrap();
        assert!(modes().iter().all(|mode| *mode == 0o600), "{:?}", modes());
        assert_eq!(sqlite_file("sqlite::memory:"), None);
        assert_eq!(sqlite_file("sqlite:///srv/shop.db?mode=rwc"), Some("/srv/shop.db".into()));
        assert_eq!(sqlite_file("postgres://shop"), None);
    }

    #[test]
    fn a_start_waits_for_the_database_whichever_part_misses_it() {
        let unavailable = || StoreError::from(sqlx::Error::PoolTimedOut);
        assert!(is_unavailable(&unavailable().into()));
        assert!(is_unavailable(&AccountRefusal::Store(unavailable()).into()));
        assert!(is_unavailable(&GoodsRefusal::Store(unavailable()).into()));
        assert!(is_unavailable(&CategoryRefusal::Store(unavailable()).into()));
        assert!(is_unavailable(&SaleRefusal::Store(unavailable()).into()));
        assert!(!is_unavailable(&StoreError::from(sqlx::Error::RowNotFound).into()));
        assert!(!is_unavailable(&AccountRefusal::BadCode.into()));
    }
}
