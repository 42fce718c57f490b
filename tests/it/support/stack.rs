//! The services that `scripts/stack` has started for this run.

use std::collections::HashMap;
use std::net::TcpStream;
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

/// Groups of .config/nextest.toml whose tests break services. The tests of a group's slot, which run one after the other, have
/// a stack of their own.
const GROUPS_WITH_STACKS: [&str; 2] = ["faults", "cluster"];
/// Ports that are open once a stack is up.
const PORTS: [&str; 7] = ["redis", "replica", "rabbitmq", "rabbitmq_management", "postgres", "nginx", "smtp"];

static STACK: LazyLock<Stack> = LazyLock::new(|| {
    let dir = std::env::var_os("SECKILL_TEST_STACK").map(PathBuf::from).unwrap_or_else(|| {
        panic!(
            "this test needs services: run scripts/test, or set SECKILL_TEST_STACK to the folder of a running \
                stack (scripts/stack up)"
        )
    });
    match slot() {
        Some(slot) => Stack::start(dir.join("slots").join(slot)),
        None => Stack::read(dir),
    }
});

/// The group and the slot of this test, if they have a stack of their own.
fn slot() -> Option<String> {
    let group =
        std::env::var("NEXTEST_TEST_GROUP").ok().filter(|group| GROUPS_WITH_STACKS.contains(&group.as_str()))?;
    Some(format!("{group}-{}", std::env::var("NEXTEST_TEST_GROUP_SLOT").expect("nextest names the slot")))
}

/// Parses `export NAME=value`, where only backslashes quote.
fn variable(line: &str) -> Option<(String, String)> {
    let (name, value) = line.strip_prefix("export ")?.split_once('=')?;
    Some((name.to_owned(), value.replace('\\', "")))
}

/// Whether all services of a stack take connections.
fn is_up(dir: &Path) -> bool {
    let ports = std::fs::read_to_string(dir.join("ports")).unwrap_or_default();
    let ports: HashMap<&str, u16> = ports.lines().filter_map(|line| line.split_once('=')).filter_map(port).collect();
    let is_open = |name: &&str| ports.get(name).is_some_and(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok());
    dir.join("env").exists() && PORTS.iter().all(is_open)
}

fn port<'a>((name, number): (&'a str, &str)) -> Option<(&'a str, u16)> {
    Some((name, number.parse().ok()?))
}

impl Stack {
    fn read(dir: PathBuf) -> Stack {
        let text = std::fs::read_to_string(dir.join("env"))
            .unwrap_or_else(|error| panic!("no stack runs in {}: {error}; run scripts/test", dir.display()));
        Stack { variables: text.lines().filter_map(variable).collect(), dir }
    }

    /// Starts what does not run: everything before the first test, and later what a test left dead that was ended half-way.
    /// `scripts/stack purge` of the folder above ends it.
    fn start(dir: PathBuf) -> Stack {
        if !is_up(&dir) {
            let done = script(&dir, &["up"]).output().unwrap();
            assert!(done.status.success(), "scripts/stack up: {done:?}");
        }
        Stack::read(dir)
    }

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

    /// Runs `scripts/stack` with these words, such as `kill rabbitmq`.
    pub async fn run(&self, words: &[&str]) {
        let is_shared = std::env::var("NEXTEST_PROFILE").is_ok_and(|profile| profile != "torture") && slot().is_none();
        assert!(!is_shared, "{words:?} would disturb other tests: .config/nextest.toml puts this test into no group");
        let mut command = self.script(words);
        let done = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "scripts/stack {}: {text}", words.join(" "));
    }

    pub fn script(&self, words: &[&str]) -> Command {
        script(&self.dir, words)
    }
}

fn script(dir: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/stack"));
    command.args(words).env("SECKILL_STACK_DIR", dir);
    command
}
