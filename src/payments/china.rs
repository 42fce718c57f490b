//! What WeChat Pay and Alipay write in the same way: numbers of orders and refunds, amounts in yuan, times of China,
//! and the files of bills, which are tables of text with a header, plain or within a ZIP archive.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::time::Duration;

use anyhow::{Context, ensure};
use futures::stream;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use tokio::task::spawn_blocking;
use uuid::Uuid;
use zip::ZipArchive;

use crate::provider::{Bill, BillPage, Billing};
use domain::settlement::BillLine;
use domain::{Currency, Money};

/// The time zone of both providers.
const CHINA: Offset = Offset::constant(8);

/// The shop's id of a payment or refund as a number at the provider, which takes no hyphens.
pub(super) fn number(id: Uuid) -> String {
    id.simple().to_string()
}

/// The shop's id in a number; a number that the shop did not make as it is.
pub(super) fn id_in(number: &str) -> String {
    Uuid::try_parse(number).map_or_else(|_| number.to_owned(), |id| id.to_string())
}

/// An account is a merchant together with the app in whose name it takes money.
pub(super) fn merchant(merchant: &str, app: &str) -> String {
    format!("{merchant} with {app}")
}

/// Whether it is an amount that can be paid. Both take yuan only, to the fen.
pub(super) fn is_yuan(amount: Money) -> bool {
    amount.currency == Currency::CNY && amount.amount >= 1
}

/// A moment as the providers write it.
pub(super) fn in_china(at: Timestamp, format: &str) -> String {
    CHINA.to_datetime(at).strftime(format).to_string()
}

/// A moment as bills of both write it, such as `2026-11-28 23:59:59`.
pub(super) fn from_china(text: &str) -> Option<Timestamp> {
    CHINA.to_timestamp(DateTime::strptime("%Y-%m-%d %H:%M:%S", text).ok()?).ok()
}

/// Bills of both are there at ten in the morning, as their documents say.
pub(super) const BILLING: Billing = Billing { zone: CHINA, ready_after: Duration::from_secs(10 * 3600 + 1800) };

/// An amount of a bill in the major unit. Fees have more digits than the minor unit at times, which are zeros.
pub(super) fn bill_amount(text: &str, currency: Currency) -> Option<Money> {
    let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    let amount = Money::from_decimal(text, currency)?;
    Some(if is_negative { Money::new(-amount.amount, currency) } else { amount })
}

/// The beginning of a text, in whole characters.
pub(super) fn shortened(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

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
        let name = |text: &str| text.trim_matches(['\u{feff}', '`', ' ', '\t', '\r', '\n']).to_owned();
        Columns(header.split(',').map(name).collect())
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|column| column == name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    /// A line's fields. `wide` is the column whose text may contain separators.
    pub(super) fn fields<'a>(&'a self, line: &'a str, separator: &str, wide: &str) -> anyhow::Result<Fields<'a>> {
        let fields: Vec<&str> = line.split(separator).collect();
        ensure!(fields.len() >= self.0.len(), "a line has {} fields instead of {}", fields.len(), self.0.len());
        Ok(Fields { columns: self, fields, wide: self.position(wide) })
    }
}

impl Fields<'_> {
    pub(super) fn get(&self, name: &str) -> anyhow::Result<&str> {
        let at = self.columns.position(name).with_context(|| format!("the bill has no column {name}"))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_survive_the_way_through_numbers() {
        let id = Uuid::now_v7();
        assert_eq!((number(id).len(), id_in(&number(id))), (32, id.to_string()));
        assert_eq!(id_in("by-hand-1"), "by-hand-1");
    }

    #[test]
    fn moments_are_told_in_the_time_of_china() {
        let at = Timestamp::from_second(1_795_881_599).unwrap();
        assert_eq!(in_china(at, "%Y-%m-%d %H:%M:%S"), "2026-11-28 23:59:59");
        assert_eq!(from_china("2026-11-28 23:59:59"), Some(at));
    }

    #[test]
    fn amounts_of_bills_have_signs_and_zeros() {
        let read = |text| bill_amount(text, Currency::CNY).map(|amount| amount.amount);
        assert_eq!(
            ["0.01200", "-0.12", "12", "0.00000", "100"].map(read),
            [None, Some(-12), Some(1200), Some(0), Some(10_000)]
        );
        assert_eq!(["0.0100", "1.5", "", "-", "1e3", "--1"].map(read), [Some(1), Some(150), None, None, None, None]);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!([shortened("手机", 5), shortened("手机", 6), shortened("手机", 99)], ["手", "手机", "手机"]);
    }
}
