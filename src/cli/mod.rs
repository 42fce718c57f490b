//! The command line: parsing, dispatch and the commands `doctor`, `audit`, `reset-…`, `token` and `verify-draw`.

mod command_line;
mod commands;
mod doctor;
mod tokens;

use std::hint::black_box;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use tokio::runtime::Runtime;
use tracing_subscriber::prelude::*;

use crate::app::{self, Services, Waiting};
use crate::cli::command_line::Task;
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
            app::open_database(&config, MigratePolicy::Auto, &Waiting::default()).await?;
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
            Ok(commands::audit(&services.audit(), open(&config.data_dir)).await)
        }
        Task::Rehearse(options) => {
            let build = async |config: &Config| Ok(Services::build(config).await?.rehearsal());
            Ok(rehearse::run(*options, &config, build).await)
        }
        Task::Settle(options) => commands::settle(&Services::build(&config).await?, &options).await,
        Task::Reset(reset, username) => reset.run(&config, &username).await,
        Task::OpenApi => {
            println!("{}", String::from_utf8_lossy(&app::document().text()));
            Ok(ExitCode::SUCCESS)
        }
        Task::Token(command) => command.run(&Services::build(&config).await?).await,
        Task::VerifyDraw(files) => commands::verify_draw(&files),
        Task::Run(roles) => app::run(&roles, config).await,
    }
}

/// Prints the migrations that the database lacks, and changes nothing.
async fn list_migrations(config: &Config) -> anyhow::Result<ExitCode> {
    let schema = app::connect_database(config, &Waiting::default()).await?.schema().await?;
    if let Some(problem) = schema.problem {
        anyhow::bail!(problem);
    }
    for (version, name) in &schema.pending {
        println!("pending: {version} {name}");
    }
    println!("{} migrations are pending", schema.pending.len());
    Ok(ExitCode::SUCCESS)
}

// The process: its memory, its runtime, its exit code.

/// Declines transparent huge pages. The allocator would get pages of two mebibytes, which Linux clears as a whole on
/// first use, while shoppers wait, and which stay in memory as long as one byte of them is in use.
fn disable_huge_pages() {
    #[cfg(target_os = "linux")]
    // If the system refuses, pages stay large and the process uses more memory; nothing else changes.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Makes the allocator return unused memory to the system once a second. By itself the allocator does so only when a
/// large block is requested. A quiet shop requests none and would keep the memory of its last rush. A busy shop would
/// do it while shoppers wait.
fn return_unused_memory() {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        drop(black_box(Vec::<u8>::with_capacity(1 << 20)));
    }
}

/// Runs the process's command line and returns its exit code. Not generic, so that everything it calls is compiled with
/// the library.
pub fn main() -> ExitCode {
    disable_huge_pages();
    std::thread::spawn(return_unused_memory);
    let outcome = Runtime::new().map_err(Into::into).and_then(|runtime| runtime.block_on(run()));
    outcome.unwrap_or_else(|error| {
        eprintln!("seckill: {error:#}");
        // Exit code 1 means that an audit, a doctor or a rehearsal found something.
        ExitCode::from(2)
    })
}
