//! `seckill audit`: the shop's promises, one line each.

use std::process::ExitCode;

use crate::control::audit::Audit;

/// Violations that are printed of one promise.
const MOST: usize = 20;

pub async fn run(audit: &Audit) -> anyhow::Result<ExitCode> {
    let checks = audit.run().await?;
    for check in &checks {
        println!("{} {}", if check.violations.is_empty() { "kept    " } else { "VIOLATED" }, check.promise);
        for violation in check.violations.iter().take(MOST) {
            println!("         {violation}");
        }
        if check.violations.len() > MOST {
            println!("         and {} more", check.violations.len() - MOST);
        }
    }
    let kept = checks.iter().all(|check| check.violations.is_empty());
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
