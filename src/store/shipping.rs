//! The table of what shipping costs: one row that staff replace as a whole.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::audit_log::log;
use crate::pool::Connection;
use crate::sales::changes::touch;
use crate::{ShippingStore, StoreError, row};
use domain::{AuditAction, Order, SaleId, ShippingTable};

/// The smallest difference between two versions of the table.
const VERSION_STEP: SignedDuration = SignedDuration::from_millis(1);

/// The table as it was saved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SavedShipping {
    pub table: ShippingTable,
    /// When it was saved. It increases with every change.
    pub updated_at: Timestamp,
}

impl SavedShipping {
    pub fn version(&self) -> i64 {
        self.updated_at.as_millisecond()
    }
}

fn table(row: &AnyRow) -> Result<ShippingTable, sqlx::Error> {
    serde_json::from_str(row.try_get("rates")?).map_err(|_| row::undecodable("rates"))
}

fn saved(row: &AnyRow) -> Result<SavedShipping, sqlx::Error> {
    Ok(SavedShipping { table: table(row)?, updated_at: row::time(row, "updated_at_ms")? })
}

const SAVED: &str = "SELECT rates, updated_at_ms FROM shipping";

/// The table for orders of a sale. It is empty for a rehearsal, whose shoppers have no addresses.
pub(crate) async fn of_sale(connection: &mut Connection, sale: SaleId) -> Result<ShippingTable, sqlx::Error> {
    let sql = "SELECT rates FROM shipping WHERE NOT EXISTS (SELECT 1 FROM sales WHERE id = $1 AND shadow = 1)";
    let row = sqlx::query(sql).bind(sale.0).fetch_optional(connection).await?;
    row.as_ref().map_or_else(|| Ok(ShippingTable::default()), table)
}

impl ShippingStore<'_> {
    pub async fn get(self) -> Result<SavedShipping, StoreError> {
        Ok(self.optional(sqlx::query(SAVED), saved).await?.unwrap_or_default())
    }

    /// Whether an order has to get an address before it is paid, because shipping may cost something.
    pub async fn needs_address(self, order: &Order) -> Result<bool, StoreError> {
        if !order.needs_address() {
            return Ok(false);
        }
        let table = of_sale(&mut self.pool.acquire().await?, order.sale_id).await?;
        Ok(table.charges(order.amount.currency))
    }

    /// Replaces the table if it is in one of these versions (`None` for any), and logs the actor. Returns `None` if it is
    /// of another version. The catalogue has the table, so pages are rendered again.
    pub async fn put(
        self,
        table: ShippingTable,
        versions: Option<&[i64]>,
        actor: &str,
        now: Timestamp,
    ) -> Result<Option<SavedShipping>, StoreError> {
        let mut tx = self.begin().await?;
        touch(&mut tx).await?;
        let row = sqlx::query(SAVED).fetch_optional(&mut *tx).await?;
        let before = row.as_ref().map(saved).transpose()?.unwrap_or_default();
        if versions.is_some_and(|versions| !versions.contains(&before.version())) {
            return Ok(None);
        }
        let after = SavedShipping { table, updated_at: now.max(before.updated_at + VERSION_STEP) };
        let rates = serde_json::to_string(&after.table).map_err(|e| sqlx::Error::Encode(e.into()))?;
        let sql = "INSERT INTO shipping (id, rates, updated_at_ms) VALUES (1, $1, $2)
             ON CONFLICT (id) DO UPDATE SET rates = excluded.rates, updated_at_ms = excluded.updated_at_ms";
        sqlx::query(sql).bind(rates).bind(after.version()).execute(&mut *tx).await?;
        let (old, new) = (in_one_line(&before.table), in_one_line(&after.table));
        log(&mut tx, actor, AuditAction::Edit, "shipping", Some(&old), Some(&new), now).await?;
        tx.commit().await?;
        Ok(Some(after))
    }
}

/// The rates for the audit log.
fn in_one_line(table: &ShippingTable) -> serde_json::Value {
    let rates: Vec<String> = table.rates.iter().map(ToString::to_string).collect();
    json!({"rates": rates.join("; ")})
}
