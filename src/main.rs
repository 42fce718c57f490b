//! The program: reads what it is asked, and does it.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use seckill::{app, config};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The allocator looks only when it is asked for a large piece whether there is memory that nobody has used for a second,
/// and gives it back to the system. A shop that is quiet asks for none, and would keep what its start or a rush took; and
/// in a rush shoppers would wait for it.
fn give_memory_back() {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        drop(black_box(Vec::<u8>::with_capacity(1 << 20)));
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    std::thread::spawn(give_memory_back);
    let asked = config::from_command_line();
    let done = match asked {
        Ok((task, config)) => {
            app::start_logging(&config);
            app::run(task, config).await
        }
        Err(error) => Err(error),
    };
    done.unwrap_or_else(|error| {
        eprintln!("seckill: {error:#}");
        ExitCode::FAILURE
    })
}
