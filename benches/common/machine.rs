//! A description of the machine.

use std::fs;

/// Cores, processor and memory.
pub fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let model = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let kilobytes = field("/proc/meminfo", "MemTotal");
    let kilobytes = kilobytes.and_then(|text| text.split(' ').next()?.parse::<f64>().ok()).unwrap_or_default();
    format!("{cores} cores of {model}, {:.0} GiB", kilobytes / 1024.0 / 1024.0)
}

/// The first `name : value` of a file.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix(name)?.trim_start().strip_prefix(':')?.trim().to_owned()))
}
