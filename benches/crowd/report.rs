//! Reports: what is printed is also written to `benches/results`, below a description of the machine.

use std::process::Command;

use anyhow::Context;

/// The lines of one benchmark.
pub struct Report {
    name: &'static str,
    text: String,
}

impl Report {
    /// `command` repeats the run.
    pub fn new(name: &'static str, command: &str) -> Report {
        let mut report = Report { name, text: String::new() };
        report.line(&format!("{command}\n{}", machine()));
        report
    }

    pub fn line(&mut self, line: &str) {
        println!("{line}");
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Replaces the results of the previous run.
    pub fn write(self) -> anyhow::Result<()> {
        let path = format!("{}/benches/results/{}.txt", env!("CARGO_MANIFEST_DIR"), self.name);
        std::fs::write(&path, self.text).with_context(|| format!("cannot write {path}"))
    }
}

/// Cores, processor, memory, and the versions of what takes part. No names of hosts.
fn machine() -> String {
    let field = |file: &str, name: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name)).and_then(|line| line.split_once(':'));
        line.map_or_else(|| "unknown".to_owned(), |(_, value)| value.trim().to_owned())
    };
    let memory: u64 = field("/proc/meminfo", "MemTotal").split(' ').next().and_then(|kb| kb.parse().ok()).unwrap_or(0);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let processor = field("/proc/cpuinfo", "model name");
    let mut lines = vec![format!("{cores} cores, {processor}, {} GiB", memory >> 20)];
    for (program, flag) in
        [("redis-server", "--version"), ("nginx", "-v"), ("psql", "--version"), ("rustc", "--version")]
    {
        let Ok(said) = Command::new(program).arg(flag).output() else { continue };
        let text =
            String::from_utf8_lossy(if said.stdout.is_empty() { &said.stderr } else { &said.stdout }).into_owned();
        lines.push(text.lines().next().unwrap_or_default().split(" sha=").next().unwrap_or_default().to_owned());
    }
    lines.push("everything on one machine, the generator too: it shares the cores with what it measures".to_owned());
    lines.join("\n") + "\n"
}
