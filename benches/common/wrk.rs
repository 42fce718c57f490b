//! Load by wrk: a closed loop over a file of complete requests.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use base::config::Config;

/// Writes complete requests to a file, each after its length, so that the generator only copies them.
pub fn write_requests(requests: &[Vec<u8>], file: &Path) -> anyhow::Result<()> {
    let mut file = BufWriter::new(File::create(file)?);
    for request in requests {
        writeln!(file, "{}", request.len())?;
        file.write_all(request)?;
    }
    Ok(file.flush()?)
}

const SCRIPT: &str = r#"
local file
function init(args)
  file, expected = io.open(args[1], "rb"), tonumber(args[2])
  if expected then
    function response(status) if status ~= expected then wrong = wrong + 1 end end
  end
end
function request()
  local length = file:read("*n")
  if not length then file:seek("set", 0) length = file:read("*n") end
  file:read(1)
  return file:read(length)
end
local threads = {}
function setup(thread) table.insert(threads, thread) end
wrong = 0
function done(summary)
  local errors, wrong = summary.errors, 0
  for _, thread in ipairs(threads) do
    wrong = wrong + thread:get("wrong")
    if not thread:get("expected") then wrong = wrong + errors.status end
  end
  io.write(string.format("RATE %f WRONG %d\n", summary.requests / summary.duration * 1e6,
    wrong + errors.connect + errors.read + errors.write + errors.timeout))
end
"#;

/// A file of complete requests, and the status that every response must have. With `None` it is any below 400, and wrk
/// copies no response into its script, which takes the longer the longer a response is.
pub struct Load<'a> {
    pub requests: &'a Path,
    pub expected: Option<u16>,
}

/// Responses per second.
pub fn wrk(config: &Config, load: Load, dir: &Path, connections: u32, seconds: u64) -> anyhow::Result<f64> {
    let script = dir.join("wrk.lua");
    std::fs::write(&script, SCRIPT)?;
    let output = Command::new("wrk")
        .args(["-t1", &format!("-c{connections}"), &format!("-d{seconds}s"), "-s"])
        .arg(&script)
        .arg(format!("http://{}", config.web.listen))
        .arg("--")
        .arg(load.requests)
        .arg(load.expected.map_or("any".to_owned(), |status| status.to_string()))
        .output()
        .context("wrk is needed: apt-get install wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text
        .lines()
        .find(|line| line.starts_with("RATE"))
        .with_context(|| format!("unexpected output of wrk: {text}"))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    ensure!(words[3] == "0", "not every response was {:?}: {text}", load.expected);
    Ok(words[1].parse()?)
}
