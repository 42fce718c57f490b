//! The command line: parsing and dispatch, and the process itself.

mod commands;
mod doctor;

use std::hint::black_box;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Arg, ArgAction, ArgMatches, Command};
use jiff::civil::Date;
use tokio::runtime::Runtime;
use tracing_subscriber::prelude::*;

use super::cli::commands::{DrawFiles, Reset, TokenCommand, TokenOptions};
use crate::app::{self, Services, Waiting};
use base::config::{self, Config, MigratePolicy, ProcessRole, SETTINGS, Source, variable};
use base::lifecycle::name_process;
use control::audit::AuditFile;
use rehearse::options::{self, Options};

/// Runs the command that the command line names.
async fn run() -> anyhow::Result<ExitCode> {
    let (task, config) = parse()?;
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
        Task::Audit { resume, since } => {
            let services = Services::build(&config).await?;
            services.catalogue.refresh().await?;
            let (audit, file) = match since {
                Some(day) => (commands::audit_since(&services, day).await?, AuditFile::none()),
                None if resume => (services.audit(), AuditFile::resume(&config.data_dir)),
                None => (services.audit(), AuditFile::begin(&config.data_dir)),
            };
            Ok(commands::audit(&audit, file).await)
        }
        Task::Rehearse(options) => {
            let build = async |config: &Config| Ok(Services::build(config).await?.rehearsal());
            Ok(rehearse::run(*options, &config, build).await)
        }
        Task::Settle(options) => commands::settle(&Services::build(&config).await?, &options).await,
        Task::Reset(reset, username) => reset.run(&config, &username).await,
        Task::OpenApi => {
            println!("{}", String::from_utf8_lossy(&app::DOCUMENT.text()));
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

// Parses the command line: the command or roles to run, and a flag per setting.

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    Run(Vec<ProcessRole>),
    Migrate {
        /// Only list what is pending.
        dry_run: bool,
    },
    Render,
    Doctor,
    Audit {
        /// Continue an audit that was interrupted.
        resume: bool,
        /// Only what changed since this day began.
        since: Option<Date>,
    },
    Rehearse(Box<Options>),
    /// Reset something of the account with this name.
    Reset(Reset, String),
    /// Compare bills of providers with the books.
    Settle(SettleOptions),
    VerifyDraw(DrawFiles),
    /// Make, list or revoke tokens of programs.
    Token(TokenCommand),
    /// Print the document of the API.
    OpenApi,
}

/// Which bills are compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettleOptions {
    /// The provider's day. `None`: the last one whose bill should be there.
    pub day: Option<Date>,
    /// `None`: every provider that has bills.
    pub provider: Option<String>,
}

/// Reads the command line, the environment and the file. Ends the process on `--help` and on unknown flags.
fn parse() -> anyhow::Result<(Task, Config)> {
    let matches = command().get_matches();
    config::check_variables(std::env::vars_os())?;
    let words = words(&matches);
    let task = task(&words, &matches)?;
    let name = match &task {
        Task::Run(roles) if roles.len() == ProcessRole::ALL.len() => "all".to_owned(),
        Task::Run(_) => words.join("+"),
        _ => words[0].to_owned(),
    };
    name_process(env!("CARGO_PKG_VERSION"), &name);
    let file = match matches.get_one::<String>("config") {
        Some(path) => config::read_file(Path::new(path))?,
        None => toml::Table::new(),
    };
    let given = |name: &str| matches.get_one::<String>(name).cloned();
    let source = Source::new(given, |variable| std::env::var(variable).ok(), file)?;
    Ok((task, Config::read(&source)?))
}

fn command() -> Command {
    let named = |name: &'static str, help: &'static str| Arg::new(name).long(name).help(help);
    let flag = |name, help| named(name, help).action(ArgAction::SetTrue);
    let date = |name, help| named(name, help).value_name("DATE").value_parser(|text: &str| text.parse::<Date>());
    let mut command = Command::new("seckill")
        .about("A flash-sale shop. Without a role or command it runs all four roles in one process.")
        .version(env!("CARGO_PKG_VERSION"))
        .arg(
            Arg::new("what")
                .value_name("ROLE|COMMAND")
                .help(
                    "Roles: serve, relay, consume, control. Commands: migrate, render, doctor, audit, settle, openapi, \
                     rehearse, reset-password NAME, reset-second-factor NAME, token list, token create NAME SCOPE..., token revoke NAME, \
                     verify-draw PROOF ENTRIES [ENTRY...]",
                )
                .action(ArgAction::Append)
                .num_args(0..),
        )
        .arg(flag("resume", "audit: goes on where an interrupted one stopped"))
        .arg(date("since", "audit: only what changed since this day began, such as 2026-11-28, at most 30 days ago"))
        .arg(flag("dry-run", "migrate: lists what is pending and changes nothing"))
        .arg(date("day", "settle: the provider's day, such as 2026-11-28 [the last one whose bill should be there]"))
        .arg(named("provider", "settle: only this provider, such as wechatpay").value_name("NAME"))
        .arg(named("config", "seckill.toml with keys like listen = \"…\"").value_name("FILE"));
    for &(name, help) in SETTINGS {
        command = command.arg(Arg::new(name).long(name).env(variable(name)).hide_env_values(true).help(help));
    }
    command.args(TokenOptions::flags()).args(options::flags())
}

fn words(matches: &ArgMatches) -> Vec<&str> {
    matches.get_many::<String>("what").into_iter().flatten().map(String::as_str).collect()
}

/// What the words and their flags ask for.
fn task(words: &[&str], matches: &ArgMatches) -> anyhow::Result<Task> {
    let (resume, dry_run) = (matches.get_flag("resume"), matches.get_flag("dry-run"));
    let (since, day) = (matches.get_one("since").copied(), matches.get_one("day").copied());
    let provider = matches.get_one::<String>("provider").cloned();
    let flags = [
        (resume, "audit", "--resume belongs to audit"),
        (dry_run, "migrate", "--dry-run belongs to migrate"),
        (since.is_some(), "audit", "--since belongs to audit"),
        (day.is_some() || provider.is_some(), "settle", "--day and --provider belong to settle"),
        (resume && since.is_some(), "", "--since and --resume do not go together"),
    ];
    if let Some((.., problem)) = flags.into_iter().find(|(is_given, command, _)| *is_given && words != [*command]) {
        bail!(problem);
    }
    if let Some(options) = options::read(words, matches)? {
        return Ok(Task::Rehearse(Box::new(options)));
    }
    Ok(match words {
        [] => Task::Run(ProcessRole::ALL.to_vec()),
        ["migrate"] => Task::Migrate { dry_run },
        ["render"] => Task::Render,
        ["doctor"] => Task::Doctor,
        ["audit"] => Task::Audit { resume, since },
        ["openapi"] => Task::OpenApi,
        ["settle"] => Task::Settle(SettleOptions { day, provider }),
        ["token", rest @ ..] => Task::Token(TokenCommand::parse(rest, TokenOptions::read(matches)?)?),
        ["verify-draw", files @ ..] => Task::VerifyDraw(draw_files(files)?),
        [command, named @ ..] => match (Reset::COMMANDS.iter().find(|(name, _)| name == command), named) {
            (Some((_, reset)), [username]) => Task::Reset(*reset, (*username).to_owned()),
            (Some(_), _) => bail!("{command} needs the name of one account"),
            (None, _) => Task::Run(roles(words)?),
        },
    })
}

fn roles(words: &[&str]) -> anyhow::Result<Vec<ProcessRole>> {
    let mut roles = Vec::new();
    for name in words {
        match name.parse() {
            Ok(role) if !roles.contains(&role) => roles.push(role),
            Ok(_) => {}
            Err(()) => bail!("{name:?} is neither a role (serve, relay, consume, control) nor, alone, a command"),
        }
    }
    Ok(roles)
}

fn draw_files(words: &[&str]) -> anyhow::Result<DrawFiles> {
    let [proof, entries, asked @ ..] = words else { bail!("verify-draw needs a proof and a list of entries") };
    let asked = asked
        .iter()
        .map(|id| id.parse().with_context(|| format!("{id:?} is not an entry")))
        .collect::<Result<_, _>>()?;
    Ok(DrawFiles { proof: proof.into(), entries: entries.into(), asked })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The task of a command line.
    fn task(line: &[&str]) -> anyhow::Result<Task> {
        let matches = command().try_get_matches_from([&["seckill"], line].concat())?;
        super::task(&words(&matches), &matches)
    }

    #[test]
    fn roles_and_commands_are_recognized() {
        assert_eq!(task(&[]).unwrap(), Task::Run(ProcessRole::ALL.to_vec()));
        assert_eq!(task(&["relay", "relay"]).unwrap(), Task::Run(vec![ProcessRole::Relay]));
        assert_eq!(task(&["audit"]).unwrap(), Task::Audit { resume: false, since: None });
        assert!(task(&["audit", "serve"]).is_err());
        assert_eq!(task(&["audit", "--resume"]).unwrap(), Task::Audit { resume: true, since: None });
        let since = Some(Date::constant(2026, 11, 28));
        assert_eq!(task(&["audit", "--since", "2026-11-28"]).unwrap(), Task::Audit { resume: false, since });
        assert_eq!(task(&["migrate", "--dry-run"]).unwrap(), Task::Migrate { dry_run: true });
        let settle = SettleOptions { day: None, provider: Some("alipay".to_owned()) };
        assert_eq!(task(&["settle", "--provider", "alipay"]).unwrap(), Task::Settle(settle));
        assert!(task(&["migrate", "--resume"]).is_err() && task(&["--resume"]).is_err());
        assert!(task(&["audit", "--dry-run"]).is_err() && task(&["rehearse", "--resume"]).is_err());
        assert!(
            task(&["serve", "--since", "2026-11-28"]).is_err() && task(&["audit", "--provider", "alipay"]).is_err()
        );
        assert!(task(&["audit", "--resume", "--since", "2026-11-28"]).is_err());
        assert!(task(&["sell"]).is_err());
        let entry = "13f3e4f432cda1f2183cfb0fbeb7cc79";
        let files = DrawFiles { proof: "a".into(), entries: "b".into(), asked: vec![entry.parse().unwrap()] };
        assert_eq!(task(&["verify-draw", "a", "b", entry]).unwrap(), Task::VerifyDraw(files));
        assert!(task(&["verify-draw", "a"]).is_err() && task(&["verify-draw", "a", "b", "c"]).is_err());
        for (command, reset) in Reset::COMMANDS {
            assert_eq!(task(&[command, "admin"]).unwrap(), Task::Reset(reset, "admin".to_owned()));
            assert!(task(&[command]).is_err() && task(&[command, "a", "b"]).is_err());
        }
        let revoke = TokenCommand::Revoke("till".to_owned());
        assert_eq!(task(&["token", "revoke", "till"]).unwrap(), Task::Token(revoke));
        for wrong in [&["token"][..], &["token", "create", "till"], &["token", "create", "till", "everything"]] {
            assert!(task(wrong).is_err(), "{wrong:?}");
        }
        command().debug_assert();
    }
}
