//! `seckill reset-password NAME` and `seckill reset-second-factor NAME`: for an owner who has lost password, phone, recovery
//! codes or passkeys, when no other owner can help in the console.

use std::process::ExitCode;

use crate::app::Services;
use base::config::Config;
use store::{AccountChange, User};

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
