//! The report: printed lines are also written to `benches/results`, below a description of the machine.

use std::process::Command;

use anyhow::Context;

use crate::machine;

/// The lines of one benchmark.
pub struct Report {
    name: &'static str,
    text: String,
}

impl Report {
    /// `command` is the command line that repeats the run.
    pub fn new(name: &'static str, command: &str) -> Report {
        let mut report = Report { name, text: String::new() };
        report.line(&format!("{command}\n{}", environment()));
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

/// The machine, its load at the start, and the versions of the programs involved, without host names.
fn environment() -> String {
    let busy = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let busy = busy.split(' ').next().unwrap_or_default();
    let mut lines = vec![format!("{}, load {busy} at the start", machine::describe())];
    for (program, flag) in
        [("redis-server", "--version"), ("nginx", "-v"), ("psql", "--version"), ("rustc", "--version")]
    {
        let Ok(output) = Command::new(program).arg(flag).output() else { continue };
        let text = String::from_utf8_lossy(if output.stdout.is_empty() { &output.stderr } else { &output.stdout })
            .into_owned();
        lines.push(text.lines().next().unwrap_or_default().split(" sha=").next().unwrap_or_default().to_owned());
    }
    lines.push("everything on one machine; where waits are measured the generator has cores of its own".to_owned());
    lines.join("\n") + "\n"
}
