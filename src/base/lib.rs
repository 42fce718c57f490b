//! What every crate of the shop stands on. Nothing here knows a sale.

// A process: its settings, its tasks, what it counts.
pub mod clock;
pub mod config;
pub mod lifecycle;
pub mod metrics;
pub mod periodic;

pub mod counters;

// Secrets, signatures and connections.
pub mod jws;
pub mod private_files;
pub mod rsa;
pub mod signing;
pub mod tls;

// Limits, and values that are read again once they are old.
pub mod rate_limit;
pub mod revalidating_cache;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also after a panic of another holder: what our mutexes guard is whole after each statement.
#[inline]
pub fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
