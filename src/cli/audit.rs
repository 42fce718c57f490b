//! `seckill audit`: checks the shop's invariants and prints one line each.

use std::process::ExitCode;

use crate::control::audit::Audit;

/// Violations printed per invariant.
const MAX_VIOLATIONS: usize = 20;

/// Exit code 0: all hold; 1: one is violated; 2: unknown, because a service does not answer.
pub async fn run(audit: &Audit) -> ExitCode {
    let checks = match audit.run().await {
        Ok(checks) => checks,
        Err(error) => {
            eprintln!("seckill audit: a check could not be made: {error:#}");
            return ExitCode::from(2);
        }
    };
    for check in &checks {
        println!("{} {}", if check.violations.is_empty() { "ok  " } else { "FAIL" }, check.promise);
        for violation in check.violations.iter().take(MAX_VIOLATIONS) {
            println!("     {violation}");
        }
        if check.violations.len() > MAX_VIOLATIONS {
            println!("     and {} more", check.violations.len() - MAX_VIOLATIONS);
        }
    }
    let ok = checks.iter().all(|check| check.violations.is_empty());
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
