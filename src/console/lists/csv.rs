//! CSV files (RFC 4180) for spreadsheets.

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use encoding_rs::GB18030;
use futures::stream::{Stream, StreamExt, TryStreamExt};
use tokio::time::timeout;
use tracing::error;

use crate::prelude::*;
use web::extract::UPLOAD_TIMEOUT;

/// Excel reads UTF-8 only after this mark.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A column of a file: its name, and its cell in the record of a row.
pub type Column<Row> = (&'static str, fn(&Row) -> String);

/// A cell that is empty without a value.
pub fn cell(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A file of any size: the header, then a record for each row, batch by batch. On an error the body ends without its final
/// chunk, so that the client treats the incomplete file as failed.
pub fn download<Row: 'static>(
    file_name: &str,
    columns: &'static [Column<Row>],
    batches: impl Stream<Item = StoreResult<Vec<Row>>> + Send + 'static,
) -> Response {
    let mut head = BYTE_ORDER_MARK.to_vec();
    write_record(&mut head, columns.iter().map(|(name, _)| (*name).to_owned()));
    let chunks = batches.map_ok(|rows| {
        let mut bytes = Vec::new();
        rows.iter().for_each(|row| write_record(&mut bytes, columns.iter().map(|(_, cell)| cell(row))));
        Bytes::from(bytes)
    });
    let chunks = chunks.inspect_err(|error| error!(%error, "an export failed; the download breaks off"));
    let body = Body::from_stream(stream::iter([Ok(Bytes::from(head))]).chain(chunks));
    let disposition = format!("attachment; filename=\"{file_name}\"");
    let headers = [(CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()), (CONTENT_DISPOSITION, disposition)];
    (Cache::Private, headers, body).into_response()
}

/// The text of an uploaded file; `None` if it is none. Excel in Chinese saves CSV in GBK unless it is told otherwise.
pub fn text_of_file(bytes: Vec<u8>) -> Option<String> {
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => GB18030.decode_without_bom_handling_and_without_replacement(error.as_bytes())?.into_owned(),
    };
    (!text.contains('\0')).then_some(text)
}

/// The parts of an uploaded form that have these names; empty for those that are not sent.
pub async fn parts<const N: usize>(
    upload: Result<Multipart, MultipartRejection>,
    names: [&str; N],
    max_bytes: usize,
) -> Result<[Vec<u8>; N], Problem> {
    let mut upload = upload.map_err(|_| Code::UnsupportedMediaType)?;
    let read = async {
        let mut found = [const { Vec::new() }; N];
        while let Some(mut part) = upload.next_field().await.map_err(|_| Code::BadRequest)? {
            let Some(at) = names.iter().position(|name| part.name() == Some(name)) else { continue };
            let mut bytes = Vec::new();
            while let Some(chunk) = part.chunk().await.map_err(|_| Code::BadRequest)? {
                if bytes.len() + chunk.len() > max_bytes {
                    return Err(Code::TooLarge);
                }
                bytes.extend_from_slice(&chunk);
            }
            found[at] = bytes;
        }
        Ok(found)
    };
    Ok(timeout(UPLOAD_TIMEOUT, read).await.map_err(|_| Code::RequestTimeout)??)
}

/// Writes one record.
fn write_record(bytes: &mut Vec<u8>, cells: impl Iterator<Item = String>) {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(bytes);
    // Writing to memory does not fail.
    let _ = writer.write_record(cells.map(escape_formula));
    let _ = writer.flush();
}

/// Prefixes a cell that a spreadsheet would run as a formula. The full-width signs begin formulas under East Asian
/// keyboards. A telephone number and a negative number stay as they are for programs: digits alone call no function and
/// refer to no cell.
fn escape_formula(cell: String) -> String {
    let is_phone = |rest: &str| {
        let is_part = |byte: u8| byte.is_ascii_digit() || b" -()".contains(&byte);
        rest.starts_with(|first: char| first.is_ascii_digit()) && rest.bytes().all(is_part)
    };
    let is_number = |rest: &str| {
        rest.starts_with(|first: char| first.is_ascii_digit())
            && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    match cell.chars().next() {
        Some('+') if is_phone(&cell[1..]) => cell,
        Some('-') if is_number(&cell[1..]) => cell,
        Some('=' | '+' | '-' | '@' | '\t' | '\r' | '\n' | '＝' | '＋' | '－' | '＠') => format!("'{cell}"),
        _ => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_escaped_and_other_cells_stay() {
        for evil in ["=1+1", "+1+cmd", "+A1", "+", "-", "-A1", "-1+1", "-1-1", "-.5", "@SUM(A1)", "\t=1", "\r=1", "＝1"]
        {
            assert_eq!(escape_formula(evil.to_owned()), format!("'{evil}"));
        }
        for plain in ["", "+1 415 555 0123", "+86 (10) 6552 9988", "mei", "1999.00", "-2", "-19.90", "王=小美", " =x"]
        {
            assert_eq!(escape_formula(plain.to_owned()), plain);
        }
    }

    #[test]
    fn files_of_chinese_excel_are_read() {
        for text in ["order,carrier\n1,顺丰速运\n", "\u{feff}订单,承运商\r\n", ""] {
            assert_eq!(text_of_file(text.as_bytes().to_vec()).as_deref(), Some(text));
        }
        let (gbk, _, _) = GB18030.encode("order,carrier\n1,顺丰速运\n");
        assert_eq!(text_of_file(gbk.into_owned()).as_deref(), Some("order,carrier\n1,顺丰速运\n"));
        for none in [&b"a\0b"[..], b"\xff\xfe", b"\x89PNG\r\n\x1a\n\0\0", b"1,\xcb"] {
            assert_eq!(text_of_file(none.to_vec()), None, "{none:?}");
        }
    }

    #[test]
    fn record_quotes_commas_and_line_breaks() {
        let mut bytes = Vec::new();
        write_record(&mut bytes, ["a,\"b\"", "x\ny", "=1,2"].map(str::to_owned).into_iter());
        assert_eq!(String::from_utf8(bytes).unwrap(), "\"a,\"\"b\"\"\",\"x\ny\",\"'=1,2\"\r\n");
    }
}
