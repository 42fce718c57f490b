//! The command line: parsing, dispatch and the commands `doctor`, `audit`, `reset-…` and `verify-draw`.

mod audit;
mod command_line;
mod doctor;
mod process;
mod reset;
mod verify_draw;

use std::io::IsTerminal;
use std::process::ExitCode;

use tracing_subscriber::prelude::*;

use self::command_line::Task;
pub use self::process::main;
use crate::app::{self, Services};
use base::config::{Config, MigratePolicy};
use control::audit_file::AuditFile;

/// Runs the command that the command line names.
async fn run() -> anyhow::Result<ExitCode> {
    let (task, config) = command_line::parse()?;
    // The doctor speaks in plain words, and drivers would speak first.
    if task != Task::Doctor {
        start_logging(&config);
    }
    dispatch(task, config).await
}

fn start_logging(config: &Config) {
    let is_coloured = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let logs = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(is_coloured);
    let logs = if config.log_json { logs.json().boxed() } else { logs.boxed() };
    tracing_subscriber::registry().with(logs).with(config.log.clone()).init();
}

async fn dispatch(task: Task, config: Config) -> anyhow::Result<ExitCode> {
    match task {
        Task::Doctor => doctor::run(&config).await,
        Task::Migrate { dry_run: false } => {
            app::open_database(&config, MigratePolicy::Auto).await?;
            println!("the schema is up to date");
            Ok(ExitCode::SUCCESS)
        }
        Task::Migrate { dry_run: true } => list_migrations(&config).await,
        Task::Render => {
            let services = Services::build(&config).await?;
            services.catalogue.refresh().await?;
            control::publish(&services.catalogue, &services.pages)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Audit { resume } => {
            let open = if resume { AuditFile::resume } else { AuditFile::begin };
            let services = Services::build(&config).await?;
            services.catalogue.refresh().await?;
            Ok(audit::run(&services.audit(), open(&config.data_dir)).await)
        }
        Task::Rehearse(options) => {
            let build = async |config: &Config| Ok(Services::build(config).await?.rehearsal());
            Ok(rehearse::run(*options, &config, build).await)
        }
        Task::Reset(reset, username) => reset.run(&config, &username).await,
        Task::OpenApi => {
            println!("{}", String::from_utf8_lossy(&app::document().text()));
            Ok(ExitCode::SUCCESS)
        }
        Task::VerifyDraw(files) => verify_draw::run(&files),
        Task::Run(roles) => app::run(&roles, config).await,
    }
}

/// Prints the migrations that the database lacks, and changes nothing.
async fn list_migrations(config: &Config) -> anyhow::Result<ExitCode> {
    let schema = app::connect_database(config).await?.schema().await?;
    if let Some(problem) = schema.problem {
        anyhow::bail!(problem);
    }
    for (version, name) in &schema.pending {
        println!("pending: {version} {name}");
    }
    println!("{} migrations are pending", schema.pending.len());
    Ok(ExitCode::SUCCESS)
}
