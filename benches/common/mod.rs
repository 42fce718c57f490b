//! Helpers that all benchmarks share.

/// Whether this run measures. `cargo test --benches` and similar commands only check that the benchmark builds.
pub fn is_measurement() -> bool {
    std::env::args().any(|arg| arg == "--bench")
}

/// A whole number from the environment.
pub fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}
