//! One process of the program.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use super::ports::free_address;
use super::wait::eventually;

/// Lines of a log that are shown when a test fails.
const TAIL_LINES: usize = 40;

pub type Settings = BTreeMap<String, String>;

/// A process with roles of the shop, killed on drop.
pub struct Process {
    /// The role; empty for all roles.
    pub role: String,
    pub listen: SocketAddr,
    pub ops: SocketAddr,
    settings: Settings,
    dir: PathBuf,
    log: PathBuf,
    child: Option<Child>,
}

/// The setting of a process that runs another version of the program. The program leaves it alone.
pub const PROGRAM: &str = "SECKILL_TEST_PROGRAM";

/// A command that runs the program with only these settings in its environment.
pub fn program(settings: &Settings, dir: &Path, words: &[&str]) -> Command {
    let own = env!("CARGO_BIN_EXE_seckill");
    let mut command = Command::new(settings.get(PROGRAM).map_or(own, String::as_str));
    command.args(words).current_dir(dir).env_clear().envs(settings).env("RUST_BACKTRACE", "1").stdin(Stdio::null());
    command
}

/// Runs a command of the program, such as `audit`, and waits until it ends.
pub async fn run(settings: &Settings, dir: &Path, words: &[&str]) -> Output {
    let mut command = program(settings, dir, words);
    tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap()
}

/// The library that shows a process a wrong clock; scripts/test installs it.
pub fn clock_library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path());
    folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|library| library.exists())
}

/// Gives a process a clock that is wrong by this many seconds from its next start on. Timers are left as they are.
pub fn set_clock(settings: &mut Settings, seconds: i64) {
    let library = clock_library().expect("libfaketime, which scripts/test installs").display().to_string();
    let given = [
        ("LD_PRELOAD", library),
        ("FAKETIME", format!("{seconds:+}")),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
        ("DONT_FAKE_MONOTONIC", "1".into()),
    ];
    settings.extend(given.map(|(name, value)| (name.to_owned(), value)));
}

impl Process {
    /// A process that is not started yet, at an address of its own unless `settings` give one. `name` is the name of its
    /// log file.
    pub fn new(role: &str, name: &str, settings: &Settings, dir: &Path) -> Process {
        let mut settings = settings.clone();
        let given = settings.get("SECKILL_LISTEN").map(|listen| listen.parse().unwrap());
        let (listen, ops) = (given.unwrap_or_else(free_address), free_address());
        settings.insert("SECKILL_LISTEN".into(), listen.to_string());
        settings.insert("SECKILL_OPS_LISTEN".into(), ops.to_string());
        let log = dir.join(format!("{name}.log"));
        Process { role: role.into(), listen, ops, settings, dir: dir.into(), log, child: None }
    }

    pub fn set(&mut self, name: &str, value: &str) {
        self.settings.insert(name.into(), value.into());
    }

    pub fn set_clock(&mut self, seconds: i64) {
        set_clock(&mut self.settings, seconds);
    }

    pub fn unset(&mut self, name: &str) {
        self.settings.remove(name);
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn serves(&self) -> bool {
        matches!(self.role.as_str(), "" | "serve")
    }

    /// Starts the process. Its output is appended to its log.
    pub fn start(&mut self) {
        assert!(self.child.is_none(), "{} runs already", self.role);
        let log: File = OpenOptions::new().create(true).append(true).open(&self.log).unwrap();
        let words: Vec<&str> = Some(self.role.as_str()).filter(|role| !role.is_empty()).into_iter().collect();
        let mut command = program(&self.settings, &self.dir, &words);
        command.stdout(log.try_clone().unwrap()).stderr(log);
        self.child = Some(command.spawn().unwrap());
    }

    /// Sends `kill -9`.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // The process may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Kills the process if it runs, and starts it again.
    pub fn restart(&mut self) {
        self.kill();
        self.start();
    }

    pub fn id(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    /// A line of `/proc/<pid>/status`.
    pub fn status_line(&self, name: &str) -> String {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("no line {name}")).trim().to_owned()
    }

    /// A memory line of `/proc/<pid>/status` in KiB: `VmRSS` is current, `VmHWM` the maximum.
    pub fn memory_kib(&self, name: &str) -> u64 {
        self.status_line(name).trim_end_matches(" kB").parse().unwrap()
    }

    /// Sends `SIGTERM`.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends a signal, such as `STOP`.
    pub fn signal(&self, name: &str) {
        let done = Command::new("kill").args([&format!("-{name}"), &self.id().to_string()]).status().unwrap();
        assert!(done.success(), "cannot signal {}", self.role);
    }

    /// Waits until the process ends.
    pub async fn ended(&mut self, within: Duration) -> ExitStatus {
        let what = format!("the process {:?} ends", self.role);
        let status = eventually(&what, within, async || self.exit_status().ok_or("it runs".to_owned())).await;
        self.child = None;
        status
    }

    /// The status of a process that was started and has ended by itself.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.try_wait().unwrap()
    }

    /// Fails if the process was started and has ended.
    pub fn check(&mut self) {
        if let Some(status) = self.exit_status() {
            panic!("the process {:?} ended by itself: {status}", self.role);
        }
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Prints the last lines of the log.
    pub fn print_tail(&self) {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        println!("--- the end of {}", self.log.display());
        for line in &lines[lines.len().saturating_sub(TAIL_LINES)..] {
            println!("{line}");
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
