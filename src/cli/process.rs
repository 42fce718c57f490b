//! The process: its memory, its runtime, its exit code.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use tokio::runtime::Runtime;

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
    let outcome = Runtime::new().map_err(Into::into).and_then(|runtime| runtime.block_on(super::run()));
    outcome.unwrap_or_else(|error| {
        eprintln!("seckill: {error:#}");
        // Exit code 1 means that an audit, a doctor or a rehearsal found something.
        ExitCode::from(2)
    })
}
