//! `seckill token`: makes, lists and revokes tokens of programs on the server, where no owner has to be signed in.

use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use clap::{Arg, ArgMatches};
use jiff::{SignedDuration, Timestamp};

use crate::app::Services;
use accounts::TokenDraft;
use domain::{ApiToken, Role, Scope};
use store::{COMMAND_LINE, NewTokenOutcome};

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
        let lifetime = |text: String| SignedDuration::try_from(humantime_of(&text)?).context("--expires is too long");
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

fn humantime_of(text: &str) -> anyhow::Result<std::time::Duration> {
    humantime::parse_duration(text).context("--expires is a duration such as 90d")
}

impl TokenCommand {
    pub fn parse(words: &[&str]) -> anyhow::Result<TokenCommand> {
        match words {
            ["list"] => Ok(TokenCommand::List),
            ["revoke", name] => Ok(TokenCommand::Revoke((*name).to_owned())),
            ["create", name, scopes @ ..] if !scopes.is_empty() => {
                let scope = |text: &&str| {
                    let all = Scope::ALL.map(Scope::as_str).join(", ");
                    text.parse().map_err(|()| anyhow::anyhow!("{text:?} is no scope; there are {all}"))
                };
                let scopes = scopes.iter().map(scope).collect::<Result<_, _>>()?;
                Ok(TokenCommand::Create { name: (*name).to_owned(), scopes, options: TokenOptions::default() })
            }
            _ => bail!("token needs: create NAME SCOPE..., list, or revoke NAME"),
        }
    }

    pub fn with(self, given: TokenOptions) -> TokenCommand {
        match self {
            TokenCommand::Create { name, scopes, .. } => TokenCommand::Create { name, scopes, options: given },
            other => other,
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
