//! A file in the data directory with what an audit has read so far, so that an interrupted audit can continue. A part
//! is written once it was read to its end without a violation; the other parts are read again. The file is removed when
//! the audit ends.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tracing::warn;

use base::private_files;

const NAME: &str = "audit.json";

/// A part that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadPart {
    /// When reading began. The result says nothing about later changes.
    pub read_at: Timestamp,
    /// The invariants that held.
    pub promises: Vec<String>,
}

/// The parts of one audit by their names.
#[derive(Debug, Default)]
pub struct AuditFile {
    /// `None`: nothing is written.
    path: Option<PathBuf>,
    parts: BTreeMap<String, ReadPart>,
}

impl AuditFile {
    /// A new audit. The first part that is kept replaces the file of an earlier audit.
    pub fn begin(data_dir: &Path) -> AuditFile {
        AuditFile { path: Some(data_dir.join(NAME)), parts: BTreeMap::new() }
    }

    /// Continues an interrupted audit. Begins a new one if there is no readable file.
    pub fn resume(data_dir: &Path) -> AuditFile {
        let mut file = AuditFile::begin(data_dir);
        let text = file.path.as_ref().and_then(|path| std::fs::read(path).ok());
        file.parts = text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        file
    }

    /// An audit that writes no file.
    pub fn none() -> AuditFile {
        AuditFile::default()
    }

    /// The parts that were read, in the order in which they were read.
    pub fn parts(&self) -> Vec<&ReadPart> {
        let mut parts: Vec<&ReadPart> = self.parts.values().collect();
        parts.sort_by_key(|part| part.read_at);
        parts
    }

    pub fn has(&self, part: &str) -> bool {
        self.parts.contains_key(part)
    }

    /// Adds a part to the file. If the file cannot be written, that is logged and the audit goes on.
    pub fn keep(&mut self, part: &str, read: ReadPart) {
        let Some(path) = &self.path else { return };
        self.parts.insert(part.to_owned(), read);
        if let Err(error) = write(path, &self.parts) {
            warn!(path = %path.display(), %error, "what the audit has read cannot be kept; it goes on");
        }
    }

    /// Removes the file: the audit has ended.
    pub fn end(self) {
        if let Some(path) = self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Replaces the whole file at once. If the process dies here, the previous file stays.
fn write(path: &Path, parts: &BTreeMap<String, ReadPart>) -> std::io::Result<()> {
    let draft = path.with_extension("draft");
    private_files::create(&draft)?.write_all(&serde_json::to_vec(parts)?)?;
    std::fs::rename(draft, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_audit_keeps_its_parts_and_a_new_one_begins_without() {
        let dir = tempfile::tempdir().unwrap();
        let part = |second| ReadPart {
            read_at: Timestamp::from_second(second).unwrap(),
            promises: vec!["money balances".to_owned()],
        };
        let mut file = AuditFile::resume(dir.path());
        assert!(file.parts().is_empty());
        file.keep("Orders", part(2));
        file.keep("Books", part(1));
        drop(file);
        let file = AuditFile::resume(dir.path());
        assert!(file.has("Orders") && !file.has("Ledger"));
        assert_eq!(file.parts(), [&part(1), &part(2)]);
        let mut anew = AuditFile::begin(dir.path());
        assert!(!anew.has("Orders"));
        anew.keep("Ledger", part(3));
        assert_eq!(AuditFile::resume(dir.path()).parts(), [&part(3)]);
        anew.end();
        assert!(AuditFile::resume(dir.path()).parts().is_empty());
        std::fs::write(dir.path().join(NAME), "{").unwrap();
        assert!(AuditFile::resume(dir.path()).parts().is_empty(), "of another version, or damaged");
        let mut none = AuditFile::none();
        none.keep("Orders", part(1));
        assert!(none.parts().is_empty());
    }
}
