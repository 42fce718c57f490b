//! What the program does: what the command line asks for, with the parts that the configuration calls for.

mod keepers;
mod parts;
mod roles;
mod start;

use std::process::ExitCode;

use anyhow::bail;
use tracing_subscriber::EnvFilter;

pub use self::parts::Parts;
use self::start::open_database;
use crate::commands::{audit, doctor};
use crate::config::{Config, Role, Task};
use crate::lifecycle::Lifecycle;
use crate::{control, rehearse};

pub fn start_logging(config: &Config) {
    let filter = EnvFilter::try_new(&config.log).unwrap_or_else(|_| EnvFilter::new("info"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if config.log_json { logs.json().init() } else { logs.init() }
}

/// Does what the command line asks.
pub async fn run(task: Task, config: Config) -> anyhow::Result<ExitCode> {
    match task {
        Task::Doctor => doctor::run(&config).await,
        Task::Migrate => {
            open_database(&config).await?;
            println!("the schema is up to date");
            Ok(ExitCode::SUCCESS)
        }
        Task::Render => {
            let parts = Parts::build(&config).await?;
            parts.catalogue.refresh().await?;
            control::publish(&parts.catalogue, &parts.pages)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Audit => {
            let parts = Parts::build(&config).await?;
            parts.catalogue.refresh().await?;
            Ok(audit::run(&parts.audit()).await)
        }
        Task::Rehearse(asked) => Ok(rehearse::run(*asked, &config).await),
        Task::Run(roles) => run_roles(&roles, config).await,
    }
}

async fn run_roles(roles: &[Role], config: Config) -> anyhow::Result<ExitCode> {
    check_roles(roles, &config)?;
    let fresh = !config.data_dir.exists();
    let parts = Parts::build(&config).await?;
    parts.make_ready(fresh, roles).await?;
    let mut lifecycle = Lifecycle::default();
    parts.spawn_roles(roles, &mut lifecycle)?;
    let code = lifecycle.run().await;
    parts.store.close().await;
    Ok(code)
}

/// All roles by default start only those that have work; one that is asked for by name and has none is a mistake.
fn check_roles(roles: &[Role], config: &Config) -> anyhow::Result<()> {
    let all = roles.len() == Role::ALL.len();
    if !all && roles.contains(&Role::Relay) && config.amqp_url.is_none() {
        bail!("the role relay has nothing to do without SECKILL_AMQP_URL");
    }
    if !all && roles.contains(&Role::Consume) && config.redis.is_none() {
        bail!("the role consume has nothing to do without SECKILL_REDIS_URL");
    }
    Ok(())
}
