//! The services that `scripts/stack` has started for this run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use base::config::ServiceAddress;
use base::tls::{ClientTls, Identity, PemFile};

/// A running stack.
pub struct Stack {
    dir: PathBuf,
    variables: HashMap<String, String>,
}

static STACK: LazyLock<Stack> = LazyLock::new(|| {
    let dir = std::env::var("SECKILL_TEST_STACK").unwrap_or_else(|_| {
        panic!(
            "this test needs services: run scripts/test, or set SECKILL_TEST_STACK to the folder of a running \
                stack (scripts/stack up)"
        )
    });
    let dir = own_stack(&dir).unwrap_or(PathBuf::from(dir));
    let text = std::fs::read_to_string(dir.join("env"))
        .unwrap_or_else(|error| panic!("no stack runs in {}: {error}; run scripts/test", dir.display()));
    Stack { variables: text.lines().filter_map(variable).collect(), dir }
});

/// The services of this test alone, if it kills some and scripts/test has started them.
fn own_stack(shared: &str) -> Option<PathBuf> {
    let variable = |name: &str| std::env::var(name).ok();
    variable("NEXTEST_TEST_GROUP").filter(|group| group == "faults")?;
    let own = PathBuf::from(format!("{shared}-faults-{}", variable("NEXTEST_TEST_GROUP_SLOT")?));
    own.exists().then_some(own)
}

/// Parses `export NAME=value`, where only backslashes quote.
fn variable(line: &str) -> Option<(String, String)> {
    let (name, value) = line.strip_prefix("export ")?.split_once('=')?;
    Some((name.to_owned(), value.replace('\\', "")))
}

impl Stack {
    pub fn get() -> &'static Stack {
        &STACK
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn variable(&self, name: &str) -> &str {
        self.variables.get(name).unwrap_or_else(|| panic!("{name} is not in {}/env", self.dir.display()))
    }

    /// The address of a service, with the certificates that a stack with TLS only asks for.
    pub fn address(&self, name: &str) -> ServiceAddress {
        let file = |name: &str| PemFile::read(Path::new(self.variable(name))).unwrap();
        let tls = match self.variables.contains_key("SECKILL_TLS_CA") {
            true => {
                let (certificate, key) = (file("SECKILL_TLS_CERT"), file("SECKILL_TLS_KEY"));
                ClientTls::new(Some(file("SECKILL_TLS_CA")), Some(Identity { certificate, key }))
            }
            false => ClientTls::default(),
        };
        ServiceAddress { url: self.variable(name).into(), tls }
    }

    /// Runs `scripts/stack` with these words, such as `kill redis`.
    pub async fn run(&self, words: &[&str]) {
        let mut command = self.script(words);
        let done = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "scripts/stack {}: {text}", words.join(" "));
    }

    pub fn script(&self, words: &[&str]) -> Command {
        let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/stack"));
        command.args(words).env("SECKILL_STACK_DIR", &self.dir);
        command
    }

    /// A guard that starts stopped services again on drop, even after a failed test, because the next test needs them.
    pub fn restore_on_drop(&self) -> RestoreServices<'_> {
        RestoreServices { stack: self }
    }
}

/// Starts stopped services again on drop.
pub struct RestoreServices<'a> {
    stack: &'a Stack,
}

impl Drop for RestoreServices<'_> {
    fn drop(&mut self) {
        let up = self.stack.script(&["up"]).output();
        let works = up.as_ref().is_ok_and(|done| done.status.success());
        assert!(works || std::thread::panicking(), "the services do not start again: {up:?}");
    }
}
