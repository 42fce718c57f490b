//! Columns: BIGINT and TEXT to the domain's types and back. A value that does not parse is a decode error.

use domain::ledger::LedgerAccount;
use domain::order::OrderNumber;
use domain::{Bilingual, Currency, Money, SpreadSeed as CommittedSecret};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use sqlx::any::AnyRow;
use sqlx::{Any, Decode, Row, Type, ValueRef};

type Result<T> = sqlx::Result<T>;

/// A value that a statement binds.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(Option<String>),
    Int(Option<i64>),
}

/// A type that a statement can bind.
pub(super) trait Bound {
    const NULL: Value;
    fn value(self) -> Value;
}

impl Bound for String {
    const NULL: Value = Value::Text(None);

    fn value(self) -> Value {
        Value::Text(Some(self))
    }
}

impl Bound for i64 {
    const NULL: Value = Value::Int(None);

    fn value(self) -> Value {
        Value::Int(Some(self))
    }
}

impl Bound for &str {
    const NULL: Value = String::NULL;

    fn value(self) -> Value {
        self.to_owned().value()
    }
}

impl<T: Bound> Bound for Option<T> {
    const NULL: Value = T::NULL;

    fn value(self) -> Value {
        self.map_or(T::NULL, T::value)
    }
}

impl<T: Bound + Clone> Bound for &T {
    const NULL: Value = T::NULL;

    fn value(self) -> Value {
        self.clone().value()
    }
}

/// It is only written.
impl Bound for LedgerAccount {
    const NULL: Value = String::NULL;

    fn value(self) -> Value {
        self.to_string().value()
    }
}

/// A type whose values are in one column, as a text or a number.
pub(super) trait Column: Sized {
    type Stored: for<'r> Decode<'r, Any> + Type<Any>;

    /// `None` if it has no such value.
    fn read(stored: Self::Stored) -> Option<Self>;
}

/// How types are stored: how they are read, which gives `None` for a wrong value, and how they are written.
macro_rules! stored {
    ($($type:ty as $stored:ty: $read:expr, $write:expr;)*) => {
        $(impl Column for $type {
            type Stored = $stored;

            fn read(stored: $stored) -> Option<$type> {
                let read: fn($stored) -> Option<$type> = $read;
                read(stored)
            }
        }

        impl Bound for $type {
            const NULL: Value = <$stored>::NULL;

            fn value(self) -> Value {
                let write: fn($type) -> $stored = $write;
                write(self).value()
            }
        })*
    };
}

stored! {
    bool as i64: |number| Some(number == 1), i64::from;
    u8 as i64: |number| number.try_into().ok(), i64::from;
    u16 as i64: |number| number.try_into().ok(), i64::from;
    u32 as i64: |number| number.try_into().ok(), i64::from;
    Timestamp as i64: |ms| Timestamp::from_millisecond(ms).ok(), Timestamp::as_millisecond;
    OrderNumber as i64: |number| Some(OrderNumber::from_stored(number)), OrderNumber::stored;
    Currency as String: |code| Currency::parse(&code), |currency| currency.as_str().to_owned();
    CommittedSecret as String: |hex| hex.parse().ok(), CommittedSecret::to_hex;
    domain::draw::DrawRules as String: |text| text.parse().ok(), |rules| rules.canonical();
}

/// Numbers that a type wraps.
macro_rules! numbers {
    ($($type:path,)*) => {
        stored! { $($type as i64: |number| Some($type(number)), |id| id.0;)* }
    };
}

numbers! { domain::CategoryId, domain::GoodsId, domain::PacketId, domain::SaleId, }

/// Types whose `Display` and `FromStr` are each other's reverse.
macro_rules! texts {
    ($($type:ty,)*) => {
        stored! { $($type as String: |text| text.parse().ok(), |value| value.to_string();)* }
    };
}

texts! {
    jiff::civil::Date, uuid::Uuid,
    domain::AddressId, domain::OrderId, domain::PaymentId, domain::QuestionId, domain::RefundId, domain::UserId,
    domain::draw::EntryId,
    domain::Alarm, domain::AppealAnswer, domain::ApprovalStatus, domain::AuditAction, domain::CaseKind,
    domain::DisputeState, domain::DrawState, domain::EntryState, domain::GroupKind, domain::HoldOutcome,
    domain::LinkKind, domain::Locale, domain::MailKind, domain::MailState, domain::ModeName, domain::OrderStatus,
    domain::ParcelState, domain::PaymentStatus, domain::QuestionStatus, domain::RefundKind, domain::RefundTarget,
    domain::ReturnState, domain::Role, domain::SaleState, domain::WaiterState,
    domain::draw::Beacon, domain::draw::Exclusion, domain::event::DeliveryState, domain::event::EndpointState,
    domain::event::EventKind, domain::front::Decided, domain::ledger::AccountKind, domain::ledger::TransferKind,
    domain::packet::PacketState, domain::packet::Split, domain::returns::ReturnReason,
    domain::settlement::BillProblem, domain::staff::ConsoleList, domain::staff::ShopPageName,
}

impl Column for String {
    type Stored = String;

    fn read(stored: String) -> Option<String> {
        Some(stored)
    }
}

impl Column for i64 {
    type Stored = i64;

    fn read(stored: i64) -> Option<i64> {
        Some(stored)
    }
}

/// A type that can be read from one column, or from two: money has the column `currency` too, and a text in two
/// languages has the columns with the ends `_zh` and `_en`.
pub(super) trait Read: Sized {
    fn from_row(row: &AnyRow, column: &str) -> Result<Self>;
}

impl<T: Column> Read for T {
    fn from_row(row: &AnyRow, column: &str) -> Result<T> {
        T::read(row.try_get(column)?).ok_or_else(|| undecodable(column))
    }
}

impl<T: Column> Read for Option<T> {
    fn from_row(row: &AnyRow, column: &str) -> Result<Option<T>> {
        let stored: Option<T::Stored> = row.try_get(column)?;
        stored.map(|stored| T::read(stored).ok_or_else(|| undecodable(column))).transpose()
    }
}

impl Read for Money {
    fn from_row(row: &AnyRow, amount: &str) -> Result<Money> {
        Ok(Money::new(int(row, amount)?, get(row, "currency")?))
    }
}

impl Read for Bilingual {
    fn from_row(row: &AnyRow, text: &str) -> Result<Bilingual> {
        Ok(Bilingual { zh: get(row, &format!("{text}_zh"))?, en: get(row, &format!("{text}_en"))? })
    }
}

pub(super) fn get<T: Read>(row: &AnyRow, column: &str) -> Result<T> {
    T::from_row(row, column)
}

pub(super) fn int(row: &AnyRow, column: &str) -> Result<i64> {
    get(row, column)
}

pub(super) fn time(row: &AnyRow, column: &str) -> Result<Timestamp> {
    get(row, column)
}

pub(super) fn text(row: &AnyRow, column: &str) -> Result<String> {
    get(row, column)
}

/// A value that a column has as JSON, or does not have.
pub(super) fn json<T: DeserializeOwned>(row: &AnyRow, column: &str) -> Result<T> {
    let text: Option<&str> = row.try_get(column)?;
    serde_json::from_str(text.unwrap_or("null")).map_err(|_| undecodable(column))
}

/// Reads one column of each row.
pub(super) fn column<T: Read>(name: &'static str) -> impl Fn(&AnyRow) -> Result<T> {
    move |row| get(row, name)
}

/// Reads two columns of each row.
pub(super) fn pair<T: Read, U: Read>(first: &'static str, second: &'static str) -> impl Fn(&AnyRow) -> Result<(T, U)> {
    move |row| Ok((get(row, first)?, get(row, second)?))
}

/// Whether a column has a value.
pub(super) fn has(row: &AnyRow, column: &str) -> Result<bool> {
    Ok(!row.try_get_raw(column)?.is_null())
}

pub(super) fn undecodable(column: &str) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: "not a valid value of the domain".into() }
}

/// A struct from the columns with the names of its fields. A field may name another column (`id: "order_id"`) or have a
/// value of its own (`held = true`).
macro_rules! read {
    ($row:ident => $type:ident { $($field:ident $(: $column:literal)? $(= $value:expr)?),* $(,)? }) => {
        Ok::<_, sqlx::Error>($type { $($field: read!(@ $row $field $(: $column)? $(= $value)?)),* })
    };
    (@ $row:ident $field:ident) => { $crate::row::get($row, stringify!($field))? };
    (@ $row:ident $field:ident : $column:literal) => { $crate::row::get($row, $column)? };
    (@ $row:ident $field:ident = $value:expr) => { $value };
}
