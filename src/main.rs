//! The program: reads what it is asked, and does it.

use std::process::ExitCode;

use seckill::{app, config};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
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
