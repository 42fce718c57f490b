//! What the benchmarks share.

/// Whether this is a measurement: `cargo test --benches` and the like only want to know that it builds.
pub fn is_wanted() -> bool {
    std::env::args().any(|arg| arg == "--bench")
}

/// A whole number from the environment.
pub fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}
