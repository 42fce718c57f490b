//! Budgets of a request, counted instead of timed, so that a busy machine does not change the result: allocations and
//! bytes, instructions, commands to Redis. The shop runs in this process and is called without a socket, so nothing
//! else is counted. `figures.toml` has every figure. A failing test says what to do.
//!
//! A separate binary, because it replaces the allocator by one that counts.

#[path = "../it/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "only the fixture of a shop is needed here")]
mod support;

mod figures;
mod in_process;

mod allocations;
mod commands;
mod instructions;

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;
