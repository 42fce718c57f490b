//! Payments of an order that can still be made at the provider. They end with the order.

use sqlx::AssertSqlSafe;

use crate::{Tx, bind_ids, list, padded};
use domain::OrderId;

/// Makes the open payments of orders that ended or were paid due for closing at once, in the same transaction.
pub(crate) async fn close_payments_of(tx: &mut Tx, orders: &[OrderId]) -> Result<(), sqlx::Error> {
    for chunk in padded(orders) {
        let sql = format!(
            "UPDATE payments SET close_at_ms = 0 WHERE close_at_ms IS NOT NULL AND order_id IN {}",
            list(chunk.len(), 0)
        );
        bind_ids(sqlx::query(AssertSqlSafe(sql)), &chunk).execute(&mut **tx).await?;
    }
    Ok(())
}
