//! `seckill audit`: checks the shop's invariants and prints one line each.

use std::io::IsTerminal;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use control::audit::{Audit, AuditCheck};
use control::audit_file::AuditFile;

/// Violations printed per invariant.
const MAX_VIOLATIONS: usize = 20;
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);
/// Moves the cursor to the start of the terminal's line and clears the line.
const CLEAR_LINE: &str = "\r\x1b[K";

/// Exit code 0: all hold; 1: one is violated; 2: unknown, because a service does not answer.
pub async fn run(audit: &Audit, file: AuditFile) -> ExitCode {
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
    println!("{} {}", if check.violations.is_empty() { "ok  " } else { "FAIL" }, check.promise);
    for violation in check.violations.iter().take(MAX_VIOLATIONS) {
        println!("     {violation}");
    }
    if check.violations.len() > MAX_VIOLATIONS {
        println!("     and {} more", check.violations.len() - MAX_VIOLATIONS);
    }
}
