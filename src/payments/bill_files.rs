//! Files of bills: tables of text with a header, plain or within a ZIP archive.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use anyhow::{Context, bail, ensure};
use flate2::CrcReader;
use flate2::read::DeflateDecoder;
use futures::stream;

use super::provider::Bill;
use domain::settlement::BillLine;

/// Lines that are handed on at a time.
const BATCH_SIZE: usize = 500;
/// The longest line of a bill that is read.
const MAX_LINE_BYTES: u64 = 64 * 1024;

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
        match lines.by_ref().take(BATCH_SIZE).collect::<anyhow::Result<Vec<BillLine>>>() {
            Ok(batch) if batch.is_empty() => None,
            Ok(batch) => Some((Ok(batch), Some(lines))),
            Err(error) => Some((Err(error), None)),
        }
    });
    Box::pin(batches)
}

// ZIP archives, as far as bills need them: not encrypted, not in parts, below 4 GiB.

const END: &[u8] = b"PK\x05\x06";
/// The end of an archive with its longest comment.
const MAX_END_BYTES: u64 = 22 + 65_535;

/// A file of an archive.
pub(super) struct Entry {
    method: u16,
    crc: u32,
    packed: u64,
    offset: u64,
}

/// The files of an archive. Their names are not read: they are written in several encodings.
pub(super) fn entries(archive: &mut File) -> anyhow::Result<Vec<Entry>> {
    let length = archive.seek(SeekFrom::End(0))?;
    let tail = read_at(archive, length.saturating_sub(MAX_END_BYTES), length.min(MAX_END_BYTES))?;
    let end = tail.windows(END.len()).rposition(|window| window == END).context("the bill is no ZIP archive")?;
    let end = tail.get(end..end + 22).context("the archive is cut off")?;
    let (count, size, start) = (u16_at(end, 10), u32_at(end, 12), u32_at(end, 16));
    let directory = read_at(archive, start.into(), size.into())?;
    let (mut entries, mut at) = (Vec::new(), 0);
    for _ in 0..count {
        let entry = directory.get(at..at + 46).context("the archive's directory is cut off")?;
        ensure!(entry.starts_with(b"PK\x01\x02"), "the archive's directory cannot be read");
        ensure!(u16_at(entry, 8) & 1 == 0, "the archive is encrypted");
        let (crc, packed, offset) = (u32_at(entry, 16), u32_at(entry, 20).into(), u32_at(entry, 42).into());
        entries.push(Entry { method: u16_at(entry, 10), crc, packed, offset });
        at += 46 + usize::from(u16_at(entry, 28)) + usize::from(u16_at(entry, 30)) + usize::from(u16_at(entry, 32));
    }
    Ok(entries)
}

/// Opens a file of an archive. The end of what it reads is an error if the checksum does not fit.
pub(super) fn open(archive: &File, entry: &Entry) -> anyhow::Result<impl Read + Send + use<>> {
    let mut archive = archive.try_clone()?;
    let head = read_at(&mut archive, entry.offset, 30)?;
    ensure!(head.starts_with(b"PK\x03\x04"), "a file of the archive cannot be found");
    let names = i64::from(u16_at(&head, 26)) + i64::from(u16_at(&head, 28));
    archive.seek(SeekFrom::Current(names))?;
    let packed = archive.take(entry.packed);
    let plain: Box<dyn Read + Send> = match entry.method {
        0 => Box::new(packed),
        8 => Box::new(DeflateDecoder::new(packed)),
        method => bail!("a file of the archive is compressed in an unknown way ({method})"),
    };
    Ok(Checked { plain: CrcReader::new(plain), crc: entry.crc })
}

struct Checked {
    plain: CrcReader<Box<dyn Read + Send>>,
    crc: u32,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.plain.read(buffer)?;
        if read == 0 && !buffer.is_empty() && self.plain.crc().sum() != self.crc {
            return Err(std::io::Error::other("the checksum of a file of the archive does not fit"));
        }
        Ok(read)
    }
}

fn read_at(file: &mut File, offset: u64, length: u64) -> anyhow::Result<Vec<u8>> {
    ensure!(offset.saturating_add(length) <= file.metadata()?.len(), "the archive is cut off");
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = vec![0; usize::try_from(length)?];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}
