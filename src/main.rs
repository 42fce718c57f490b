//! The program: reads what it is asked, and does it.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use tokio::runtime::Runtime;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The allocator asks for pages of two mebibytes. Linux clears each as a whole when its first byte is touched, while
/// shoppers wait, and for one byte in use it keeps the whole.
fn keep_pages_small() {
    #[cfg(target_os = "linux")]
    // Refused, the pages stay large: more memory, and nothing else.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// The allocator looks only when it is asked for a large piece whether there is memory that nobody has used for a second,
/// and gives it back to the system. A shop that is quiet asks for none, and would keep what its start or a rush took; and
/// in a rush shoppers would wait for it.
fn give_memory_back() {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        drop(black_box(Vec::<u8>::with_capacity(1 << 20)));
    }
}

fn main() -> ExitCode {
    keep_pages_small();
    std::thread::spawn(give_memory_back);
    let done = Runtime::new().map_err(Into::into).and_then(|runtime| runtime.block_on(seckill::cli::run()));
    done.unwrap_or_else(|error| {
        eprintln!("seckill: {error:#}");
        // 1 is a verdict: of the audit, the doctor, a rehearsal.
        ExitCode::from(2)
    })
}
