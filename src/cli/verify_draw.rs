//! `seckill verify-draw`: verifies the proof of a draw, offline, and prints one line for each check.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use flate2::read::MultiGzDecoder;

use domain::draw::{EntryId, Proof, Verification};

/// Ranks printed.
const MAX_RANKS: usize = 10;
/// Bytes of a list after decompression: some 25 million entries.
const MAX_LIST_BYTES: u64 = 1 << 30;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// What to verify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawFiles {
    pub proof: PathBuf,
    /// CSV, plain or compressed with gzip.
    pub entries: PathBuf,
    /// Entries whose ranks are printed besides the first ranks.
    pub asked: Vec<EntryId>,
}

/// Exit code 0: everything holds; 1: something does not. An error: a file is not readable.
pub fn run(files: &DrawFiles) -> anyhow::Result<ExitCode> {
    let proof = Proof::parse(&read(&files.proof)?).with_context(|| files.proof.display().to_string())?;
    let list = read(&files.entries)?;
    let verification = proof.verify(&list).with_context(|| files.entries.display().to_string())?;
    print(&proof, &verification, &files.asked);
    Ok(if verification.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The bytes of a file, decompressed if they are compressed.
fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = File::open(path).and_then(|file| {
        let mut file = BufReader::new(file);
        let is_gzip = std::io::BufRead::fill_buf(&mut file)?.starts_with(&GZIP_MAGIC);
        let mut bytes = Vec::new();
        let reader: &mut dyn Read = if is_gzip { &mut MultiGzDecoder::new(file) } else { &mut file };
        reader.take(MAX_LIST_BYTES + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    let bytes = bytes.with_context(|| path.display().to_string())?;
    ensure!(bytes.len() as u64 <= MAX_LIST_BYTES, "{}: more than {MAX_LIST_BYTES} bytes", path.display());
    Ok(bytes)
}

fn print(proof: &Proof, verification: &Verification, asked: &[EntryId]) {
    for check in &verification.checks {
        match &check.failure {
            None => println!("ok   {}", check.promise),
            Some(failure) => println!("FAIL {}: {failure}", check.promise),
        }
    }
    if !verification.holds() {
        return;
    }
    if let Some(caveat) = verification.caveat() {
        println!("note {caveat}");
    }
    println!("note compare with what was published before entries opened, and before the round appeared:");
    if let Some(rules) = &verification.rules {
        println!("     commitment {}", rules.commitment);
    }
    println!("     root       {} of {} entries", proof.root, proof.n);
    for (index, entry) in verification.order.iter().enumerate() {
        if index < MAX_RANKS || asked.contains(entry) {
            println!("rank {} {entry}", index + 1);
        }
    }
    for entry in asked.iter().filter(|entry| !verification.order.contains(entry)) {
        println!("none {entry} does not take part");
    }
}
