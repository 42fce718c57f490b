//! The program: runs the command of its command line. The library contains everything, so that it is compiled once.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    seckill::cli::main()
}
