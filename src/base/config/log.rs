//! What is logged, and how.

use anyhow::{bail, ensure};
use tracing_subscriber::filter::{LevelFilter, Targets};

/// A level for everything, levels for modules, or both: `info,sqlx=warn`. Filters of spans and fields are not supported.
pub(super) fn log_levels(text: &str) -> anyhow::Result<Targets> {
    let mut targets = Targets::new();
    // `Targets` can read texts itself, but takes any word that is not a level for the name of a module.
    for part in text.split(',').map(str::trim) {
        targets = match part.split_once('=') {
            None => targets.with_default(level(part)?),
            Some((module, of_module)) => {
                let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '-');
                ensure!(!module.is_empty() && module.chars().all(is_name), "{module:?} is not the name of a module");
                targets.with_target(module, level(of_module)?)
            }
        };
    }
    Ok(targets)
}

fn level(text: &str) -> anyhow::Result<LevelFilter> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let known = LEVELS.iter().any(|level| text.eq_ignore_ascii_case(level));
    ensure!(known, "{text:?} is not a level; expected {}, such as info,sqlx=warn", LEVELS.join(", "));
    Ok(text.parse()?)
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

    #[test]
    fn a_word_that_is_no_level_is_refused() {
        for wrong in ["verbose", "info,sqlx", "info,sqlx=loud", "info,,sqlx=warn", "=info", "info[request]=debug", "3"]
        {
            assert!(log_levels(wrong).is_err(), "{wrong}");
        }
        assert!(log_levels("verbose").unwrap_err().to_string().contains("\"verbose\""));
        assert!(log_levels("INFO,a-b::c=Debug").is_ok());
    }
}
