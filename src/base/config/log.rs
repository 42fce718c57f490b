//! What is logged, and how.

use anyhow::{Context, bail};
use tracing_subscriber::filter::Targets;

/// A level for everything, levels for modules, or both: `info,sqlx=warn`.
pub(super) fn log_levels(text: &str) -> anyhow::Result<Targets> {
    const EXPECTED: &str = "expected levels (off, error, warn, info, debug, trace) such as info,sqlx=warn";
    // Filters of spans and fields, in brackets, are not supported: `Targets` would read them as names of modules.
    anyhow::ensure!(!text.contains(['[', '{', '/']), EXPECTED);
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    parts.join(",").parse().context(EXPECTED)
}

pub(super) fn log_format(text: &str) -> anyhow::Result<bool> {
    match text {
        "text" => Ok(false),
        "json" => Ok(true),
        _ => bail!("expected text or json"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_levels_apply_to_all_modules_or_to_one() {
        use tracing::Level;
        let default = log_levels("info,sqlx=warn,lapin=warn").unwrap();
        assert!(default.would_enable("seckill::gate", &Level::INFO));
        assert!(!default.would_enable("seckill::gate", &Level::DEBUG));
        assert!(default.would_enable("sqlx::query", &Level::WARN));
        assert!(!default.would_enable("sqlx::query", &Level::INFO));
        let spaced = log_levels("warn, seckill::gate=trace").unwrap();
        assert!(spaced.would_enable("seckill::gate", &Level::TRACE));
        assert!(!spaced.would_enable("seckill::stock", &Level::INFO));
        assert!(!log_levels("off").unwrap().would_enable("seckill", &Level::ERROR));
    }
}
