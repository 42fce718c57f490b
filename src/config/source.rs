//! Where settings come from: flags and variables first, then the file.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context;
use secrecy::SecretString;

use super::{SETTINGS, variable};

/// Reads a `seckill.toml`. Unknown keys are errors.
pub fn read_file(path: &Path) -> anyhow::Result<toml::Table> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let table: toml::Table = text.parse().with_context(|| format!("{} is not valid TOML", path.display()))?;
    for key in table.keys() {
        let known = SETTINGS.iter().any(|(name, _)| name.replace('-', "_") == *key);
        anyhow::ensure!(known, "{}: there is no setting {key:?}", path.display());
    }
    Ok(table)
}

/// The sources of settings: flags and variables first, then the file.
#[derive(Debug, Default)]
pub struct Source {
    pub(super) given: HashMap<&'static str, String>,
    pub(super) file: toml::Table,
}

impl Source {
    /// `given` returns the flag or the variable of a setting.
    pub fn new(given: impl Fn(&str) -> Option<String>, file: toml::Table) -> Source {
        let given = SETTINGS.iter().filter_map(|&(name, _)| Some((name, given(name)?))).collect();
        Source { given, file }
    }

    /// The text of a setting; an empty text counts as missing.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let given = self.given.get(name).cloned();
        given.or_else(|| self.file_text(name)).filter(|text| !text.is_empty())
    }

    fn file_text(&self, name: &str) -> Option<String> {
        match self.file.get(&name.replace('-', "_"))? {
            toml::Value::String(text) => Some(text.clone()),
            toml::Value::Array(items) => Some(items.iter().filter_map(|v| v.as_str()).collect::<Vec<_>>().join(",")),
            other => Some(other.to_string()),
        }
    }

    pub(super) fn parse<T>(
        &self,
        name: &str,
        default: T,
        parse: impl Fn(&str) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        match self.text(name) {
            None => Ok(default),
            Some(text) => parse(text.trim()).with_context(|| format!("{} has a wrong value", variable(name))),
        }
    }

    /// A secret, or an address that may contain a password. Messages never contain its value.
    pub(super) fn secret(&self, name: &str) -> Option<SecretString> {
        self.text(name).map(|text| SecretString::from(text.trim().to_owned()))
    }
}
