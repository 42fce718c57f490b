//! `seckill audit`: the shop's promises, one line each.

use std::process::ExitCode;

use crate::control::audit::Audit;

/// Violations that are printed of one promise.
const MOST: usize = 20;

/// Exit code 0: kept; 1: violated; 2: nobody can tell, because a service does not answer.
pub async fn run(audit: &Audit) -> ExitCode {
    let checks = match audit.run().await {
        Ok(checks) => checks,
        Err(error) => {
            eprintln!("seckill audit: cannot tell: {error:#}");
            return ExitCode::from(2);
        }
    };
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
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
