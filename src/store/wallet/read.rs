//! What people read in their wallet.

use jiff::Timestamp;
use serde::Serialize;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::domain::wallet::{Account, Kind};
use crate::domain::{OrderId, PacketId, PaymentId, SaleId};
use crate::store::{Store, StoreError, row};

/// One line of an account: what a transfer brought or took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletEntry {
    /// The transfer's.
    pub id: String,
    pub kind: Kind,
    /// Minor units; below zero when they left the account.
    pub amount: i64,
    pub at: Timestamp,
    pub about: Option<About>,
}

/// What a movement of money belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    Order { sale_id: SaleId, id: OrderId },
    Packet { id: PacketId },
    Payment { id: PaymentId },
}

/// Where a page of lines begins: what is older than this. Written as `<milliseconds>_<transfer>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    at_ms: i64,
    id: String,
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}_{}", self.at_ms, self.id)
    }
}

impl std::str::FromStr for Mark {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let (at, id) = text.split_once('_').ok_or(())?;
        Ok(Mark { at_ms: at.parse().map_err(|_| ())?, id: id.to_owned() })
    }
}

impl WalletEntry {
    pub fn mark(&self) -> Mark {
        Mark { at_ms: self.at.as_millisecond(), id: self.id.clone() }
    }
}

fn entry(row: &AnyRow) -> Result<WalletEntry, sqlx::Error> {
    let kind: Kind = row::parsed(row, "kind")?;
    let about = match kind {
        Kind::TopUp => Some(About::Payment { id: row::parsed(row, "reference")? }),
        Kind::Pay | Kind::Refund => match row.try_get::<Option<i64>, _>("sale_id")? {
            Some(sale) => Some(About::Order { sale_id: SaleId(sale), id: row::parsed(row, "reference")? }),
            None => None,
        },
        Kind::Fund | Kind::Claim | Kind::Return => Some(About::Packet { id: row::parsed(row, "reference")? }),
        Kind::GiveUp => None,
    };
    Ok(WalletEntry {
        id: row::text(row, "transfer_id")?,
        kind,
        amount: row::int(row, "amount")?,
        at: row::time(row, "at_ms")?,
        about,
    })
}

impl Store {
    /// What an account holds, in minor units.
    pub async fn wallet_balance(&self, account: Account) -> Result<i64, StoreError> {
        let row = sqlx::query("SELECT balance FROM wallet_balances WHERE account = $1")
            .bind(account.to_string())
            .fetch_optional(&self.pool)
            .await?;
        Ok(row.map(|row| row::int(&row, "balance")).transpose()?.unwrap_or_default())
    }

    /// The lines of an account, newest first, from before the line marked so.
    pub async fn wallet_entries(
        &self,
        account: Account,
        before: Option<&Mark>,
        most: i64,
    ) -> Result<Vec<WalletEntry>, StoreError> {
        let (at, id) = before.map_or((i64::MAX, ""), |mark| (mark.at_ms, mark.id.as_str()));
        let rows = sqlx::query(
            "SELECT e.transfer_id, e.amount, e.at_ms, t.kind, t.reference, o.sale_id
             FROM wallet_entries e JOIN wallet_transfers t ON t.id = e.transfer_id
               LEFT JOIN orders o ON t.kind IN ('pay', 'refund') AND o.id = t.reference
             WHERE e.account = $1 AND e.at_ms <= $2 AND (e.at_ms < $2 OR e.transfer_id < $3)
             ORDER BY e.at_ms DESC, e.transfer_id DESC LIMIT $4",
        )
        .bind(account.to_string())
        .bind(at)
        .bind(id)
        .bind(most)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.iter().map(entry).collect::<Result<_, _>>()?)
    }
}
