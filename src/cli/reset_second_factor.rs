//! `seckill reset-second-factor NAME`: for an owner who has lost phone, recovery codes and passkeys, when no other
//! owner can do it in the console.

use std::process::ExitCode;

use crate::app::Services;
use base::config::Config;

/// Exit code 0: the password alone opens the account; 1: there is no such account.
pub async fn run(config: &Config, username: &str) -> anyhow::Result<ExitCode> {
    let services = Services::build(config).await?;
    match services.accounts().reset_second_factor_by_command(username).await? {
        Some(user) => {
            println!(
                "{:?} has neither a second factor nor passkeys now, and all its sessions have ended",
                user.username
            );
            Ok(ExitCode::SUCCESS)
        }
        None => {
            eprintln!("seckill: there is no account {username:?}");
            Ok(ExitCode::FAILURE)
        }
    }
}
