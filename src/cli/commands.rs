//! The short commands: `seckill audit`, `seckill settle`, `seckill reset-…`, `seckill verify-draw` and `seckill token`.

use std::fs::File;
use std::io::{BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::{Arg, ArgMatches};
use flate2::read::MultiGzDecoder;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

use super::SettleOptions;
use crate::app::Services;
use accounts::TokenDraft;
use base::config::Config;
use control::audit::{Audit, AuditCheck, AuditFile};
use domain::draw::{EntryId, Proof, RoundChange, Verification};
use domain::settlement::Difference;
use domain::{ApiToken, Money, Role, Scope};
use store::{AccountChange, COMMAND_LINE, DaySettlement, NewTokenOutcome, User};

/// Violations printed per invariant.
const MAX_VIOLATIONS: usize = 20;
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);
/// Moves the cursor to the start of the terminal's line and clears the line.
const CLEAR_LINE: &str = "\r\x1b[K";

/// The audit of what changed since a day began in the shop's time zone.
pub(super) async fn audit_since(services: &Services, day: Date) -> anyhow::Result<Audit> {
    let since = day.to_zoned(services.config.time_zone.clone())?.timestamp();
    ensure!(since <= services.clock.now(), "{day} has not begun");
    let audit = services.audit().since(since).await?;
    let audit =
        audit.with_context(|| format!("{day} is too long ago: changes are listed for 30 days; audit everything"))?;
    if let Some(recent) = &audit.recent {
        let (sales, of) = (recent.sales.len(), recent.of_sales);
        println!("since {since}: {sales} of {of} sales were not over or had orders that changed");
    }
    Ok(audit)
}

/// Exit code 0: all hold; 1: one is violated; 2: unknown, because a service does not answer.
pub async fn audit(audit: &Audit, file: AuditFile) -> ExitCode {
    print_resumed(&file);
    let terminal = std::io::stderr().is_terminal();
    let mut run = pin!(audit.run(file, |check| {
        if terminal {
            eprint!("{CLEAR_LINE}");
        }
        print(check);
    }));
    let mut ticks = tokio::time::interval(PROGRESS_INTERVAL);
    let outcome = loop {
        tokio::select! {
            outcome = &mut run => break outcome,
            _ = ticks.tick(), if terminal => eprint!("{CLEAR_LINE}{} rows", audit.rows_read.load(Ordering::Relaxed)),
        }
    };
    if terminal {
        eprint!("{CLEAR_LINE}");
    }
    match outcome {
        Ok(checks) if checks.iter().all(|check| check.violations.is_empty()) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("seckill audit: a check could not be made: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Prints what the interrupted audit has read, and when. These parts are not checked again.
fn print_resumed(file: &AuditFile) {
    for part in file.parts() {
        for promise in &part.promises {
            println!("ok   {promise} (read {:.0})", part.read_at);
        }
    }
}

fn print(check: &AuditCheck) {
    let covers = check.covers.map(|what| format!(" ({what})")).unwrap_or_default();
    println!("{} {}{covers}", if check.violations.is_empty() { "ok  " } else { "FAIL" }, check.promise);
    for violation in check.violations.iter().take(MAX_VIOLATIONS) {
        println!("     {violation}");
    }
    if check.violations.len() > MAX_VIOLATIONS {
        println!("     and {} more", check.violations.len() - MAX_VIOLATIONS);
    }
}

/// Compares bills with the books and prints a table. Exit code 0: they agree; 1: they differ; 2: a day could not be settled.
pub async fn settle(services: &Services, options: &SettleOptions) -> anyhow::Result<ExitCode> {
    let all = services.payments.billed();
    let providers: Vec<&str> = match &options.provider {
        Some(name) => vec![name],
        None => all,
    };
    ensure!(!providers.is_empty(), "no provider of this shop has bills");
    let mut code = 0;
    for provider in providers {
        let last = services.payments.last_billed_day(provider).await?;
        let day = options.day.or(last).with_context(|| format!("{provider:?} is no provider that has bills"))?;
        let after_gap = services.payments.follows_unsettled(provider, day).await?;
        let of = services.payments.settle(provider, day).await?;
        print_settlement(&of, &services.store.payments().bill_differences(provider, day).await?);
        if of.is_settled() && after_gap {
            println!("  the day before is not settled: ten minutes before and after midnight were left out");
        }
        code = code.max(if !of.is_settled() { 2 } else { u8::from(!of.agrees()) });
    }
    Ok(ExitCode::from(code))
}

fn print_settlement(of: &DaySettlement, differences: &[Difference]) {
    if let Some(problem) = &of.problem {
        println!("{} {}: not settled: {problem}", of.provider, of.day);
        return;
    }
    let outcome = match of.differences {
        0 => "agreed".to_owned(),
        differences => format!("{differences} differences"),
    };
    println!("{} {}: {outcome}", of.provider, of.day);
    println!("  {:<8} {:>8} {:>20} {:>20}", "", "lines", "bill", "books");
    for sum in &of.totals.sums {
        println!("  {:<8} {:>8} {:>20} {:>20}", sum.kind.as_str(), sum.lines, told(sum.there), told(sum.here));
    }
    for fee in &of.totals.fees {
        println!("  {:<8} {:>8} {:>20}", "fees", "", told(*fee));
    }
    for Difference { problem, of, line, here, there } in differences.iter().take(MAX_VIOLATIONS) {
        let amount = |amount: &Option<Money>| amount.map(told).unwrap_or_default();
        let (kind, refund) = (of.kind(), of.refund.as_deref().unwrap_or_default());
        println!("  {problem} {kind} {} {refund} {line} bill {} books {}", of.payment, amount(there), amount(here));
    }
    if differences.len() > MAX_VIOLATIONS {
        println!("  and {} more", differences.len() - MAX_VIOLATIONS);
    }
}

fn told(amount: Money) -> String {
    format!("{} {}", amount.decimal(), amount.currency.as_str())
}

// `seckill reset-password NAME` and `seckill reset-second-factor NAME`: for an owner who has lost password, phone, recovery
// codes or passkeys, when no other owner can help in the console.

/// What an account loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    Password,
    SecondFactor,
}

impl Reset {
    pub const COMMANDS: [(&str, Reset); 2] =
        [("reset-password", Reset::Password), ("reset-second-factor", Reset::SecondFactor)];

    /// Exit code 0: it is reset; 1: there is no such account.
    pub async fn run(self, config: &Config, username: &str) -> anyhow::Result<ExitCode> {
        let services = Services::build(config).await?;
        let accounts = services.accounts();
        let (password, change) = match self {
            Reset::Password => {
                let (password, change) = accounts.temporary_password().await?;
                (Some(password), change)
            }
            Reset::SecondFactor => (None, AccountChange::ResetSecondFactor),
        };
        let Some(User { username, .. }) = accounts.change_by_command(username, &change).await? else {
            eprintln!("seckill: there is no account {username:?}");
            return Ok(ExitCode::FAILURE);
        };
        match password {
            Some(password) => println!(
                "{username:?} has the password \"{password}\" for the next 72 hours, to be replaced after the log-in, and all \
                 its sessions have ended"
            ),
            None => {
                println!("{username:?} has neither a second factor nor passkeys now, and all its sessions have ended")
            }
        }
        services.security.write(&services.store).await?;
        Ok(ExitCode::SUCCESS)
    }
}

// `seckill verify-draw`: verifies the proof of a draw, offline, and prints one line for each check.

/// Ranks printed.
const MAX_RANKS: usize = 10;
/// Bytes of a list after decompression: some 25 million entries.
const MAX_LIST_BYTES: u64 = 1 << 30;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// What to verify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawFiles {
    pub proof: PathBuf,
    /// CSV, plain or compressed with gzip.
    pub entries: PathBuf,
    /// Entries whose ranks are printed besides the first ranks.
    pub asked: Vec<EntryId>,
}

/// Exit code 0: everything holds; 1: something does not. An error: a file is not readable.
pub fn verify_draw(files: &DrawFiles) -> anyhow::Result<ExitCode> {
    let proof = Proof::parse(&read(&files.proof)?).with_context(|| files.proof.display().to_string())?;
    let list = read(&files.entries)?;
    let verification = proof.verify(&list).with_context(|| files.entries.display().to_string())?;
    print_proof(&proof, &verification, &files.asked);
    Ok(if verification.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The bytes of a file, decompressed if they are compressed.
fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = File::open(path).and_then(|file| {
        let mut file = BufReader::new(file);
        let is_gzip = std::io::BufRead::fill_buf(&mut file)?.starts_with(&GZIP_MAGIC);
        let mut bytes = Vec::new();
        let reader: &mut dyn Read = if is_gzip { &mut MultiGzDecoder::new(file) } else { &mut file };
        reader.take(MAX_LIST_BYTES + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    let bytes = bytes.with_context(|| path.display().to_string())?;
    ensure!(bytes.len() as u64 <= MAX_LIST_BYTES, "{}: more than {MAX_LIST_BYTES} bytes", path.display());
    Ok(bytes)
}

fn print_proof(proof: &Proof, verification: &Verification, asked: &[EntryId]) {
    for check in &verification.checks {
        match &check.failure {
            None => println!("ok   {}", check.promise),
            Some(failure) => println!("FAIL {}: {failure}", check.promise),
        }
    }
    if !verification.holds() {
        return;
    }
    if let Some(caveat) = verification.caveat() {
        println!("note {caveat}");
    }
    for RoundChange { from, at, reason, .. } in &proof.changes {
        println!("note the shop says that round {from} had not appeared at {at}: {reason:?}");
    }
    println!("note compare with what was published before entries opened, and before the round appeared:");
    if let Some(rules) = &verification.rules {
        println!("     commitment {}", rules.commitment);
    }
    println!("     root       {} of {} entries", proof.root, proof.n);
    for (index, entry) in verification.order.iter().enumerate() {
        if index < MAX_RANKS || asked.contains(entry) {
            println!("rank {} {entry}", index + 1);
        }
    }
    for entry in asked.iter().filter(|entry| !verification.order.contains(entry)) {
        println!("none {entry} does not take part");
    }
}

// `seckill token`: makes, lists and revokes tokens of programs on the server, where no owner has to be signed in.

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenCommand {
    Create {
        name: String,
        scopes: Vec<Scope>,
        options: TokenOptions,
    },
    List,
    /// Revokes the token with this name.
    Revoke(String),
}

/// What a new token may have besides its scopes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenOptions {
    owner: Option<String>,
    networks: Vec<String>,
    rate: Option<u32>,
    lifetime: Option<SignedDuration>,
}

impl TokenOptions {
    pub fn flags() -> [Arg; 4] {
        let flag = |name: &'static str, value: &'static str| Arg::new(name).long(name).value_name(value);
        [
            flag("owner", "NAME").help("token create: the owner for whom it stands [the first one]"),
            flag("networks", "LIST")
                .help("token create: where it may be used, such as 10.0.0.0/8, comma separated [anywhere]"),
            flag("rate", "N").help("token create: requests a second to one process [any number]"),
            flag("expires", "DURATION").help("token create: such as 90d [never]"),
        ]
    }

    pub fn read(matches: &ArgMatches) -> anyhow::Result<TokenOptions> {
        let given = |name: &str| matches.get_one::<String>(name).cloned();
        let lifetime = |text: String| {
            let lifetime = humantime::parse_duration(&text).context("--expires is a duration such as 90d")?;
            SignedDuration::try_from(lifetime).context("--expires is too long")
        };
        Ok(TokenOptions {
            owner: given("owner"),
            networks: given("networks")
                .iter()
                .flat_map(|text| text.split(','))
                .map(|text| text.trim().to_owned())
                .collect(),
            rate: given("rate").map(|text| text.parse()).transpose().context("--rate is a whole number")?,
            lifetime: given("expires").map(lifetime).transpose()?,
        })
    }
}

impl TokenCommand {
    /// `options` are of the token that is created.
    pub fn parse(words: &[&str], options: TokenOptions) -> anyhow::Result<TokenCommand> {
        match words {
            ["list"] => Ok(TokenCommand::List),
            ["revoke", name] => Ok(TokenCommand::Revoke((*name).to_owned())),
            ["create", name, scopes @ ..] if !scopes.is_empty() => {
                let scope = |text: &&str| {
                    let all = Scope::ALL.map(Scope::as_str).join(", ");
                    text.parse().map_err(|()| anyhow::anyhow!("{text:?} is no scope; there are {all}"))
                };
                let scopes = scopes.iter().map(scope).collect::<Result<_, _>>()?;
                Ok(TokenCommand::Create { name: (*name).to_owned(), scopes, options })
            }
            _ => bail!("token needs: create NAME SCOPE..., list, or revoke NAME"),
        }
    }

    /// Exit code 0: done; 1: there is no such token, or it cannot be made.
    pub async fn run(self, services: &Services) -> anyhow::Result<ExitCode> {
        match self {
            TokenCommand::List => {
                for token in services.store.api_tokens().list().await? {
                    println!("{}", line(&token));
                }
                Ok(ExitCode::SUCCESS)
            }
            TokenCommand::Revoke(name) => {
                let live = services.store.api_tokens().list().await?;
                let found = live.into_iter().find(|token| token.name == name && token.revoked_at.is_none());
                let Some(token) = found else {
                    eprintln!("seckill: there is no token {name:?}");
                    return Ok(ExitCode::FAILURE);
                };
                services.accounts().revoke_token(COMMAND_LINE, token.id).await?;
                services.security.write(&services.store).await?;
                println!("the token {name:?} is revoked; every process refuses it within a second");
                Ok(ExitCode::SUCCESS)
            }
            TokenCommand::Create { name, scopes, options } => create(services, name, scopes, options).await,
        }
    }
}

async fn create(
    services: &Services,
    name: String,
    scopes: Vec<Scope>,
    options: TokenOptions,
) -> anyhow::Result<ExitCode> {
    let TokenOptions { owner, networks, rate, lifetime } = options;
    let staff = services.store.accounts().staff().await?;
    let is_meant = |name: &str| owner.as_deref().is_none_or(|owner| owner == name);
    let owner = staff.iter().find(|user| user.role == Role::Admin && !user.is_blocked() && is_meant(&user.username));
    let owner = owner.context("the shop has no such owner")?;
    let now = services.store.now().await?;
    let expires_at = lifetime.map(|lifetime| now.checked_add(lifetime)).transpose()?;
    let draft = TokenDraft { name, scopes, networks, rate, expires_at };
    let mistakes: Vec<String> = draft.mistakes(now).iter().map(|(field, code)| format!("{field}: {code}")).collect();
    ensure!(mistakes.is_empty(), "the token cannot be made: {}", mistakes.join(", "));
    let (token, text) = match services.accounts().create_token((owner.id, COMMAND_LINE), draft, None).await? {
        Ok(made) => made,
        Err(NewTokenOutcome::TooMany) => bail!("the shop has {} tokens already; revoke one", ApiToken::MAX),
        Err(_) => bail!("another token has this name"),
    };
    services.security.write(&services.store).await?;
    eprintln!("{}\nIt is shown only once:", line(&token));
    println!("{text}");
    Ok(ExitCode::SUCCESS)
}

fn line(token: &ApiToken) -> String {
    let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.as_str()).collect();
    let told = |what: &str, at: Option<Timestamp>| at.map(|at| format!(", {what} {at:.0}")).unwrap_or_default();
    let networks =
        if token.networks.is_empty() { String::new() } else { format!(", from {}", token.networks.join(" ")) };
    let rate = token.rate.map(|rate| format!(", {rate}/s")).unwrap_or_default();
    format!(
        "{:<20} {}{networks}{rate}{}{}{}",
        token.name,
        scopes.join(" "),
        told("expires", token.expires_at),
        told("used", token.used_at),
        told("revoked", token.revoked_at)
    )
}
