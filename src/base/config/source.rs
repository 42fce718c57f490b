//! Where settings come from: flags and variables first, then the file.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, bail};
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

/// Variables that begin like settings and belong to others: tests and scripts, nginx' configuration, the port in the compose
/// file.
const OF_OTHERS: [&str; 6] =
    ["SECKILL_TEST_", "SECKILL_STACK_", "SECKILL_TORTURE_", "SECKILL_COUNTS_", "SECKILL_NGINX_", "SECKILL_PORT"];

/// Refuses variables that no setting has: a misspelled one would have no effect. Empty ones count as not given.
pub fn check_variables(environment: impl Iterator<Item = (OsString, OsString)>) -> anyhow::Result<()> {
    for (name, value) in environment {
        let Some(name) = name.to_str().filter(|name| name.starts_with("SECKILL_") && !value.is_empty()) else {
            continue;
        };
        if OF_OTHERS.iter().any(|prefix| name.starts_with(prefix)) || is_of_kubernetes(name) {
            continue;
        }
        let known = || SETTINGS.iter().flat_map(|(name, _)| [variable(name), format!("{}_FILE", variable(name))]);
        if known().all(|known| known != name) {
            let near = known().min_by_key(|known| strsim::damerau_levenshtein(known, name)).unwrap_or_default();
            bail!("there is no setting {name}; did you mean {near}?");
        }
    }
    Ok(())
}

/// Whether Kubernetes sets this variable, for containers beside a service whose name begins with `seckill`.
fn is_of_kubernetes(name: &str) -> bool {
    ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT"].iter().any(|end| name.ends_with(end))
        || name.contains("_SERVICE_PORT_")
        || ["_TCP", "_UDP"].iter().any(|protocol| name.contains(protocol)) && name.contains("_PORT_")
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
    fn variable_without_a_setting_is_refused_with_the_nearest_name() {
        let check = |name: &str, value: &str| check_variables(std::iter::once((name.into(), value.into())));
        for (wrong, near) in [
            ("SECKILL_REDS_URL", "SECKILL_REDIS_URL"),
            ("SECKILL_PAYMENT_WINDOWS", "SECKILL_PAYMENT_WINDOW"),
            ("SECKILL_SECRT_FILE", "SECKILL_SECRET_FILE"),
        ] {
            let message = check(wrong, "x").unwrap_err().to_string();
            assert!(message.contains(wrong) && message.ends_with(&format!("{near}?")), "{message}");
            assert!(check(wrong, "").is_ok(), "an empty value counts as not given");
        }
        for (name, _) in SETTINGS {
            assert!(check(&variable(name), "x").is_ok() && check(&format!("{}_FILE", variable(name)), "x").is_ok());
        }
        let of_others = "PATH SECKILL_TEST_STACK SECKILL_STACK_DIR SECKILL_NGINX_PAGES SECKILL_PORT SECKILL_SERVICE_HOST \
            SECKILL_WEB_SERVICE_PORT_HTTP SECKILL_PORT_8080_TCP_ADDR SECKILL_REDIS_PORT_6379_TCP";
        for of_others in of_others.split(' ') {
            assert!(check(of_others, "x").is_ok(), "{of_others}");
        }
    }

    #[test]
    fn document_has_a_row_for_every_setting_and_for_nothing_else() {
        let document =
            include_str!("../../../docs/operations.md").split("\n## ").find(|part| part.starts_with("Settings"));
        let rows = document.unwrap().lines().filter(|line| line.starts_with("| `SECKILL_"));
        let mut named: Vec<&str> =
            rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2)).collect();
        let mut known: Vec<String> = SETTINGS.iter().map(|(name, _)| variable(name)).collect();
        named.sort_unstable();
        known.sort_unstable();
        assert_eq!(named, known);
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
