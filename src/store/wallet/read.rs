//! Balances and statements of ledger accounts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::json;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::{StoreError, WalletStore, row};
use domain::ledger::{LedgerAccount, TransferKind};
use domain::{OrderId, PacketId, PaymentId, SaleId};

/// One line of an account's statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletEntry {
    /// The transfer's id.
    pub id: String,
    pub kind: TransferKind,
    /// Minor units, negative if they left the account.
    pub amount: i64,
    pub at: Timestamp,
    pub about: Option<EntrySubject>,
}

/// The order, packet, payment or sale that a transfer belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntrySubject {
    Order { sale_id: SaleId, id: OrderId },
    Packet { id: PacketId },
    Payment { id: PaymentId },
    Sale { id: SaleId },
}

/// One object of which one field is there, instead of one of four: programs read it more easily.
impl JsonSchema for EntrySubject {
    fn schema_name() -> Cow<'static, str> {
        "EntrySubject".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let subject = |fields: &[(&str, Schema)]| {
            let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
            json!({"type": "object", "properties": BTreeMap::from_iter(fields.iter().cloned()), "required": names})
        };
        let (sale, order) = (generator.subschema_for::<SaleId>(), generator.subschema_for::<OrderId>());
        json_schema!({"type": "object", "properties": {
            "order": subject(&[("sale_id", sale.clone()), ("id", order)]),
            "packet": subject(&[("id", generator.subschema_for::<PacketId>())]),
            "payment": subject(&[("id", generator.subschema_for::<PaymentId>())]),
            "sale": subject(&[("id", sale)]),
        }})
    }
}

/// The cursor of a page of lines: only older lines follow. Its text is `<milliseconds>_<transfer>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryCursor {
    at_ms: i64,
    id: String,
}

impl std::fmt::Display for EntryCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}_{}", self.at_ms, self.id)
    }
}

impl std::str::FromStr for EntryCursor {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let (at, id) = text.split_once('_').ok_or(())?;
        Ok(EntryCursor { at_ms: at.parse().map_err(|_| ())?, id: id.to_owned() })
    }
}

impl WalletEntry {
    pub fn cursor(&self) -> EntryCursor {
        EntryCursor { at_ms: self.at.as_millisecond(), id: self.id.clone() }
    }
}

fn entry(row: &AnyRow) -> Result<WalletEntry, sqlx::Error> {
    let kind: TransferKind = row::parsed(row, "kind")?;
    let about = match kind {
        TransferKind::TopUp => Some(EntrySubject::Payment { id: row::parsed(row, "reference")? }),
        TransferKind::Pay | TransferKind::Refund => match row.try_get::<Option<i64>, _>("sale_id")? {
            Some(sale) => Some(EntrySubject::Order { sale_id: SaleId(sale), id: row::parsed(row, "reference")? }),
            None => None,
        },
        TransferKind::Fund | TransferKind::Claim | TransferKind::Return => {
            Some(EntrySubject::Packet { id: row::parsed(row, "reference")? })
        }
        TransferKind::Deposit | TransferKind::DepositReturn => {
            Some(EntrySubject::Sale { id: row::parsed(row, "reference")? })
        }
        TransferKind::GiveUp => None,
    };
    Ok(WalletEntry {
        id: row::text(row, "transfer_id")?,
        kind,
        amount: row::int(row, "amount")?,
        at: row::time(row, "at_ms")?,
        about,
    })
}

impl WalletStore<'_> {
    /// The balance of an account, in minor units.
    pub async fn balance(self, account: LedgerAccount) -> Result<i64, StoreError> {
        let query = sqlx::query("SELECT balance FROM wallet_balances WHERE account = $1").bind(account.to_string());
        Ok(self.optional(query, |row| row::int(row, "balance")).await?.unwrap_or_default())
    }

    /// The lines of an account, newest first, older than `before`.
    pub async fn entries(
        self,
        account: LedgerAccount,
        before: Option<&EntryCursor>,
        limit: i64,
    ) -> Result<Vec<WalletEntry>, StoreError> {
        let (at, id) = before.map_or((i64::MAX, ""), |cursor| (cursor.at_ms, cursor.id.as_str()));
        let query = sqlx::query(
            "SELECT e.transfer_id, e.amount, e.at_ms, t.kind, t.reference, o.sale_id
             FROM wallet_entries e JOIN wallet_transfers t ON t.id = e.transfer_id
               LEFT JOIN orders o ON t.kind IN ('pay', 'refund') AND o.id = t.reference
             WHERE e.account = $1 AND e.at_ms <= $2 AND (e.at_ms < $2 OR e.transfer_id < $3)
             ORDER BY e.at_ms DESC, e.transfer_id DESC LIMIT $4",
        )
        .bind(account.to_string())
        .bind(at)
        .bind(id)
        .bind(limit);
        self.all(query, entry).await
    }
}
