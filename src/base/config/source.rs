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

/// The content of the file that `NAME_FILE` names, without the newline at its end.
fn value_in_file(
    name: &str,
    is_given: bool,
    environment: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<Option<String>> {
    let (variable, of_file) = (variable(name), format!("{}_FILE", variable(name)));
    let Some(path) = environment(&of_file).filter(|path| !path.is_empty()) else { return Ok(None) };
    anyhow::ensure!(!is_given, "{variable} and {of_file} are both given; remove one");
    let text = std::fs::read_to_string(&path).with_context(|| format!("{of_file}: cannot read {path}"))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(Some(text.strip_suffix('\r').unwrap_or(text).to_owned()))
}

/// The sources of settings: flags and variables first, then the file.
#[derive(Debug, Default)]
pub struct Source {
    pub(super) given: HashMap<&'static str, String>,
    pub(super) file: toml::Table,
}

impl Source {
    /// `given` returns the flag or the variable of a setting, `environment` a variable by its full name. `NAME_FILE`
    /// names a file that holds the value of `NAME`.
    pub fn new(
        given: impl Fn(&str) -> Option<String>,
        environment: impl Fn(&str) -> Option<String>,
        file: toml::Table,
    ) -> anyhow::Result<Source> {
        let mut values = HashMap::new();
        for &(name, _) in SETTINGS {
            let direct = given(name).filter(|text| !text.is_empty());
            let from_file = value_in_file(name, direct.is_some(), &environment)?;
            values.extend(direct.or(from_file).map(|value| (name, value)));
        }
        Ok(Source { given: values, file })
    }

    /// The text of a setting; an empty text counts as missing.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        debug_assert!(SETTINGS.iter().any(|(known, _)| *known == name), "the setting {name} cannot be given");
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> anyhow::Result<Source> {
        let environment = |name: &str| {
            let found = variables.iter().find(|(given, _)| *given == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Source::new(|name| environment(&variable(name)), environment, toml::Table::new())
    }

    #[test]
    fn value_may_be_in_a_file_for_every_setting() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("value");
        std::fs::write(&path, "in the file\n").unwrap();
        for (name, _) in SETTINGS {
            let of_file = format!("{}_FILE", variable(name));
            let source = read(&[(&of_file, path.to_str().unwrap())]).unwrap();
            assert_eq!(source.text(name).as_deref(), Some("in the file"), "{name}");
        }
    }

    #[test]
    fn value_and_file_together_are_refused_by_name() {
        let both = [("SECKILL_SECRET", "a"), ("SECKILL_SECRET_FILE", "/nowhere")];
        let message = format!("{:#}", read(&both).unwrap_err());
        assert!(message.contains("SECKILL_SECRET and SECKILL_SECRET_FILE"), "{message}");
        let missing = format!("{:#}", read(&both[1..]).unwrap_err());
        assert!(missing.contains("SECKILL_SECRET_FILE"), "{missing}");
        assert_eq!(read(&[("SECKILL_SECRET", "a"), ("SECKILL_SECRET_FILE", "")]).unwrap().text("secret").unwrap(), "a");
        assert_eq!(read(&[("SECKILL_SECRET", ""), ("SECKILL_SECRET_FILE", "")]).unwrap().text("secret"), None);
    }
}
