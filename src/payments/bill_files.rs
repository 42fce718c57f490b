//! Files of bills: tables of text with a header, plain or within a ZIP archive.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};

use anyhow::{Context, ensure};
use futures::stream;
use tokio::task::spawn_blocking;
use zip::ZipArchive;

use super::provider::{Bill, BillPage};
use domain::settlement::BillLine;

/// Lines that are handed on at a time.
const BATCH_SIZE: usize = 500;
/// The longest line of a bill that is read.
const MAX_LINE_BYTES: u64 = 64 * 1024;
/// Some ten million lines.
const MAX_UNPACKED_BYTES: u64 = 4 << 30;

/// The columns of a table by their names in its header.
pub(super) struct Columns(Vec<String>);

/// The fields of one line.
pub(super) struct Fields<'a> {
    columns: &'a Columns,
    fields: Vec<&'a str>,
    /// The column of a text that may contain the separator.
    wide: Option<usize>,
}

impl Columns {
    pub(super) fn of(header: &str) -> Columns {
        Columns(
            header
                .split(',')
                .map(|name| name.trim_matches(['\u{feff}', '`', ' ', '\t', '\r', '\n']).to_owned())
                .collect(),
        )
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|column| column == name)
    }

    /// A line's fields. `wide` is the column whose text may contain separators.
    pub(super) fn fields<'a>(&'a self, line: &'a str, separator: &str, wide: &str) -> anyhow::Result<Fields<'a>> {
        let fields: Vec<&str> = line.split(separator).collect();
        ensure!(fields.len() >= self.0.len(), "a line has {} fields instead of {}", fields.len(), self.0.len());
        Ok(Fields { columns: self, fields, wide: self.0.iter().position(|column| column == wide) })
    }
}

impl Fields<'_> {
    pub(super) fn get(&self, name: &str) -> anyhow::Result<&str> {
        let at = self.columns.0.iter().position(|column| column == name);
        let at = at.with_context(|| format!("the bill has no column {name}"))?;
        let surplus = self.fields.len() - self.columns.0.len();
        let at = if self.wide.is_some_and(|wide| at > wide) { at + surplus } else { at };
        Ok(self.fields[at].trim_matches(['`', '"', ' ', '\t', '\r', '\n']))
    }
}

/// The lines of a file as texts. `decode` turns bytes into text.
pub(super) struct Lines<R> {
    from: R,
    decode: fn(&[u8]) -> String,
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = anyhow::Result<String>;

    fn next(&mut self) -> Option<anyhow::Result<String>> {
        let mut bytes = Vec::new();
        match (&mut self.from).take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes) {
            Ok(0) => None,
            Ok(read) if read as u64 == MAX_LINE_BYTES => Some(Err(anyhow::anyhow!("a line of the bill is too long"))),
            Ok(_) => Some(Ok((self.decode)(&bytes))),
            Err(error) => Some(Err(error.into())),
        }
    }
}

pub(super) fn lines<R: Read>(from: R, decode: fn(&[u8]) -> String) -> Lines<BufReader<R>> {
    Lines { from: BufReader::new(from), decode }
}

/// A bill of lines that are read one by one. The bill ends with the first that cannot be read.
pub(super) fn bill(lines: impl Iterator<Item = anyhow::Result<BillLine>> + Send + 'static) -> Bill<'static> {
    let batches = stream::unfold(Some(lines.fuse()), |lines| async move {
        let mut lines = lines?;
        let read = spawn_blocking(move || {
            let batch = lines.by_ref().take(BATCH_SIZE).collect::<anyhow::Result<Vec<BillLine>>>()?;
            Ok((batch, lines))
        });
        match read.await.unwrap_or_else(|error| Err(error.into())) {
            Ok((batch, _)) if batch.is_empty() => None,
            Ok((batch, lines)) => Some((Ok(BillPage::from(batch)), Some(lines))),
            Err(error) => Some((Err(error), None)),
        }
    });
    Box::pin(batches)
}

/// The files of a ZIP archive, each unpacked into a file without a name, with its checksum compared.
pub(super) fn unpacked(archive: File) -> anyhow::Result<impl Iterator<Item = anyhow::Result<File>>> {
    let mut archive = ZipArchive::new(archive).context("the bill is no ZIP archive")?;
    Ok((0..archive.len()).map(move |at| {
        let mut file = tempfile::tempfile()?;
        let size = io::copy(&mut archive.by_index(at)?.take(MAX_UNPACKED_BYTES), &mut file)?;
        ensure!(size < MAX_UNPACKED_BYTES, "a file of the archive has {MAX_UNPACKED_BYTES} bytes or more");
        file.rewind()?;
        Ok(file)
    }))
}
