//! Decoding columns: BIGINT and TEXT to the domain's types. A value that does not parse is a decode error.

use std::str::FromStr;

use jiff::Timestamp;
use sqlx::Row;
use sqlx::any::AnyRow;

use domain::{Currency, Money};

type Result<T> = std::result::Result<T, sqlx::Error>;

pub(super) fn int(row: &AnyRow, column: &str) -> Result<i64> {
    row.try_get(column)
}

pub(super) fn text(row: &AnyRow, column: &str) -> Result<String> {
    row.try_get(column)
}

pub(super) fn parsed<T: FromStr>(row: &AnyRow, column: &str) -> Result<T> {
    text(row, column)?.parse().map_err(|_| undecodable(column))
}

/// Like [`parsed`]; `None` if there is no value.
pub(super) fn optional_parsed<T: FromStr>(row: &AnyRow, column: &str) -> Result<Option<T>> {
    let text: Option<String> = row.try_get(column)?;
    text.map(|text| text.parse().map_err(|_| undecodable(column))).transpose()
}

pub(super) fn time(row: &AnyRow, column: &str) -> Result<Timestamp> {
    Timestamp::from_millisecond(int(row, column)?).map_err(|_| undecodable(column))
}

pub(super) fn optional_time(row: &AnyRow, column: &str) -> Result<Option<Timestamp>> {
    match row.try_get::<Option<i64>, _>(column)? {
        Some(ms) => Timestamp::from_millisecond(ms).map(Some).map_err(|_| undecodable(column)),
        None => Ok(None),
    }
}

pub(super) fn money(row: &AnyRow, amount: &str) -> Result<Money> {
    let currency = Currency::parse(&text(row, "currency")?).ok_or_else(|| undecodable("currency"))?;
    Ok(Money::new(int(row, amount)?, currency))
}

pub(super) fn undecodable(column: &str) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: "not a valid value of the domain".into() }
}
