//! What has to be there before anything runs: the database with its schema, the services, the secret; then the administrator,
//! and what is on sale.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use secrecy::SecretString;
use tracing::{info, warn};
use uuid::Uuid;

use super::Services;
use super::demo;
use crate::config::{Config, DEFAULT_DATA_DIR, Role};
use crate::control;
use crate::pipeline::rabbit::Rabbit;
use crate::store::{Store, StoreError};

/// Between two looks at a service that is away at the start.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Longer than it takes to add the demo.
const DEMO_LEASE: Duration = Duration::from_secs(60);
/// Tries again after a failure that is not the moment's.
const MIGRATION_ATTEMPTS: u32 = 2;

/// Opens the database and brings its schema up to date; waits while it is away.
pub async fn open_database(config: &Config) -> anyhow::Result<Store> {
    let store = Store::open(&config.database_url).context("SECKILL_DATABASE_URL has a wrong value")?;
    loop {
        match store.ping().await {
            Ok(()) => break,
            Err(StoreError::Refused(error)) => bail!("the database (SECKILL_DATABASE_URL) refuses: {error}"),
            Err(error) => warn!(%error, "waiting for the database (SECKILL_DATABASE_URL)"),
        }
        tokio::time::sleep(LOOK_AGAIN_AFTER).await;
    }
    // SQLite has no lock around migrations: of several processes that start together one succeeds, the others then find
    // everything done.
    let mut attempts = 0;
    loop {
        match store.migrate().await {
            Ok(()) => return Ok(store),
            Err(error @ StoreError::Unavailable(_)) => warn!(%error, "waiting for the database (SECKILL_DATABASE_URL)"),
            Err(error) if attempts == MIGRATION_ATTEMPTS => {
                return Err(error).context("the schema cannot be brought up to date");
            }
            Err(_) => attempts += 1,
        }
        tokio::time::sleep(LOOK_AGAIN_AFTER).await;
    }
}

/// Waits for a service; stops when it answers that it will not have us, which waiting does not change.
async fn wait_for<F: Future<Output = anyhow::Result<()>>>(what: &str, look: impl Fn() -> F) -> anyhow::Result<()> {
    const FINAL: [&str; 5] = ["WRONGPASS", "NOAUTH", "ACCESS_REFUSED", "not found", "AuthenticationFailed"];
    loop {
        let Err(error) = look().await else { return Ok(()) };
        let text = format!("{error:#}");
        if FINAL.iter().any(|reason| text.contains(reason)) {
            bail!("{what} refuses: {text}");
        }
        warn!(error = text, "waiting for {what}");
        tokio::time::sleep(LOOK_AGAIN_AFTER).await;
    }
}

/// The secret of this data directory; made at the first start, readable by its owner only.
pub(super) fn generated_secret(data_dir: &Path) -> anyhow::Result<SecretString> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let path = data_dir.join("secret");
    let describe = || format!("the secret in {}", path.display());
    if !path.exists() {
        let text = format!("{}{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let draft = data_dir.join(format!("secret.{}", Uuid::new_v4().simple()));
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&draft).with_context(describe)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(describe)?;
        // Appears whole or not at all; the first of several processes wins.
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
    /// Waits for every service and does what comes before the first request. `fresh` when there was no data directory.
    pub(super) async fn make_ready(&self, fresh: bool, roles: &[Role]) -> anyhow::Result<()> {
        self.wait_for_services().await?;
        while let Err(error) = self.move_in(fresh, roles).await {
            if !matches!(error.downcast_ref(), Some(StoreError::Unavailable(_))) {
                return Err(error);
            }
            warn!(%error, "waiting for the database (SECKILL_DATABASE_URL)");
            tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        }
        Ok(())
    }

    /// Waits until every configured service answers; stops where waiting would not help.
    async fn wait_for_services(&self) -> anyhow::Result<()> {
        if let Some(redis) = &self.redis {
            wait_for("Redis (SECKILL_REDIS_URL)", || async { Ok(redis.ping().await?) }).await?;
        }
        if let Some(url) = &self.config.amqp_url {
            wait_for("RabbitMQ (SECKILL_AMQP_URL)", || async {
                Rabbit::connect(url, "seckill start").await?.close().await;
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    /// In the database, which answered a moment ago and may be away again.
    async fn move_in(&self, fresh: bool, roles: &[Role]) -> anyhow::Result<()> {
        self.greet(fresh).await?;
        self.look_around(roles).await
    }

    /// The administrator's account, and the demo where there is nothing else to see.
    async fn greet(&self, fresh: bool) -> anyhow::Result<()> {
        let password = self.accounts().ensure_admin(self.config.admin_password.clone()).await?;
        if let Some(password) = password {
            println!("The administrator is \"admin\" with the password \"{password}\". It is shown only once.");
        }
        let default_dir = self.config.data_dir == Path::new(DEFAULT_DATA_DIR);
        if self.config.demo.unwrap_or(fresh && default_dir) {
            // Of several processes that start together one stocks up.
            let now = self.clock.now();
            let mine = self.store.lease("demo", &self.member, now, DEMO_LEASE).await?.is_some();
            if mine && demo::stock_up(&self.store, now).await? {
                info!("added demo goods and sales");
            }
        }
        Ok(())
    }

    /// Knows what is on sale, and has its pages, before the first request comes.
    async fn look_around(&self, roles: &[Role]) -> anyhow::Result<()> {
        self.catalogue.refresh().await?;
        self.directory.refresh().await?;
        if roles.contains(&Role::Serve) {
            self.gate.refresh().await;
            self.accounts.refresh().await?;
            let (catalogue, pages) = (self.catalogue.clone(), self.pages.clone());
            tokio::task::spawn_blocking(move || control::publish(&catalogue, &pages)).await??;
        }
        Ok(())
    }
}

/// How many connections of shoppers this process can hold, after asking the system for as many open files as it may
/// have. Some stay reserved for databases, Redis, RabbitMQ, pages and pictures.
pub(super) fn most_connections() -> usize {
    const RESERVED: u64 = 256;
    const WISH: u64 = 1 << 20;
    match rlimit::increase_nofile_limit(WISH) {
        Ok(files) => usize::try_from(files.saturating_sub(RESERVED)).unwrap_or(usize::MAX).max(64),
        Err(error) => {
            warn!(%error, "the limit of open files is not known; 64 connections at a time");
            64
        }
    }
}
