//! Files in the data directory with the grants that a stopping process still remembers, for its next start.
//!
//! There is one file per process and backend, with lines of JSON. Each line has grants of one bucket and generation. A
//! file is deleted once the database has all its grants. Reading a file twice does no harm, because a replay changes
//! nothing about grants that the master has.

use std::fs;
use std::hash::Hash;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::generation::Generation;
use super::grant_log::GrantLog;
use base::private_files;
use domain::Bucket;

/// The folder inside the data directory.
const FOLDER: &str = "grants";
/// Bounds the memory for a line to about half a megabyte.
const MAX_GRANTS_PER_LINE: usize = 4_096;

#[derive(Serialize, Deserialize)]
struct Line<G> {
    bucket: String,
    generation: Generation,
    grants: Vec<G>,
}

/// The files of one backend. All its buckets have the same kind of owner.
pub struct GrantFiles {
    folder: PathBuf,
    kind: &'static str,
    /// Files that were read. Their grants are in the log.
    read: Vec<PathBuf>,
}

impl GrantFiles {
    pub fn new(data_dir: &Path, kind: &'static str) -> GrantFiles {
        GrantFiles { folder: data_dir.join(FOLDER), kind, read: Vec::new() }
    }

    /// Adds the grants in all files to the log. Fails at a file that cannot be read and leaves it for an operator.
    pub fn load<G: DeserializeOwned + Copy + Eq + Hash>(&mut self, log: &GrantLog<G>) -> anyhow::Result<usize> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error).with_context(|| format!("{} cannot be read", self.folder.display())),
        };
        let suffix = format!(".{}.jsonl", self.kind);
        let mut count = 0;
        for entry in entries {
            let path = entry?.path();
            if path.to_string_lossy().ends_with(&suffix) {
                count += self.load_file(&path, log).with_context(|| format!("{} cannot be read", path.display()))?;
                self.read.push(path);
            }
        }
        Ok(count)
    }

    fn load_file<G: DeserializeOwned + Copy + Eq + Hash>(
        &self,
        path: &Path,
        log: &GrantLog<G>,
    ) -> anyhow::Result<usize> {
        let mut count = 0;
        for line in BufReader::new(fs::File::open(path)?).lines() {
            let Line { bucket, generation, grants } = serde_json::from_str::<Line<G>>(&line?)?;
            let bucket = Bucket::parse(self.kind, &bucket).context("a line names no bucket")?;
            count += grants.len();
            log.remember((bucket, generation), grants, []);
        }
        Ok(count)
    }

    /// Deletes the files that were read, once the log is empty.
    pub fn delete_when_settled<G: Copy + Eq + Hash>(&mut self, log: &GrantLog<G>) -> anyhow::Result<()> {
        if !self.read.is_empty() && log.is_empty() {
            self.delete_read()?;
        }
        Ok(())
    }

    /// Writes the remembered grants to this process's file, and deletes the files that were read. Returns the number of
    /// grants. The file is complete or absent.
    pub fn write<G: Serialize + Copy + Eq + Hash>(mut self, process: &str, log: &GrantLog<G>) -> anyhow::Result<usize> {
        let mut count = 0;
        if !log.is_empty() {
            private_files::create_folder(&self.folder)?;
            let path = self.folder.join(format!("{process}.{}.jsonl", self.kind));
            let unfinished = path.with_extension("unfinished");
            let mut file = BufWriter::new(private_files::create(&unfinished)?);
            for (bucket, generation) in log.places() {
                let grants = log.grants((bucket, generation));
                count += grants.len();
                for grants in grants.chunks(MAX_GRANTS_PER_LINE) {
                    let line = Line { bucket: bucket.to_string(), generation, grants: grants.to_vec() };
                    serde_json::to_writer(&mut file, &line)?;
                    file.write_all(b"\n")?;
                }
            }
            file.into_inner().map_err(|error| error.into_error())?.sync_all()?;
            fs::rename(unfinished, path)?;
            fs::File::open(&self.folder)?.sync_all()?;
        }
        self.delete_read()?;
        Ok(count)
    }

    fn delete_read(&mut self) -> anyhow::Result<()> {
        for path in self.read.drain(..) {
            match fs::remove_file(&path) {
                // Another process with the same folder has read and deleted the file, too.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                deleted => deleted.with_context(|| format!("{} cannot be deleted", path.display()))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::generation::ServerId;
    use domain::SaleId;

    #[test]
    fn grants_of_a_stopped_process_are_remembered_by_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let generation = Generation { epoch: 3, server: ServerId::parse(&"0f".repeat(20)).unwrap() };
        let place = (Bucket::all(SaleId(7), 2).last().unwrap(), generation);
        let log = GrantLog::<u32>::default();
        log.remember(place, [1, 2], [3]);
        assert_eq!(GrantFiles::new(dir.path(), "goods").write("one", &log).unwrap(), 3);

        let (mut files, log) = (GrantFiles::new(dir.path(), "goods"), GrantLog::<u32>::default());
        assert_eq!(GrantFiles::new(dir.path(), "packet").load(&log).unwrap(), 0, "another backend's file");
        assert_eq!(files.load(&log).unwrap(), 3);
        assert_eq!(log.grants(place), [1, 2, 3]);
        files.delete_when_settled(&log).unwrap();
        assert_eq!(GrantFiles::new(dir.path(), "goods").load(&GrantLog::<u32>::default()).unwrap(), 3, "not settled");
        log.settle(place, &[true, true, true]);
        files.delete_when_settled(&log).unwrap();
        assert_eq!(GrantFiles::new(dir.path(), "goods").load(&log).unwrap(), 0);
    }

    #[test]
    fn a_damaged_file_is_an_error_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(FOLDER)).unwrap();
        let path = dir.path().join(FOLDER).join("one.goods.jsonl");
        fs::write(&path, "{\"bucket\":").unwrap();
        let error = GrantFiles::new(dir.path(), "goods").load(&GrantLog::<u32>::default()).unwrap_err();
        assert!(error.to_string().contains("one.goods.jsonl"), "{error}");
        assert!(path.exists());
    }
}
