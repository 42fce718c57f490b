//! The row of a sale's waiting room exists from the first announcement on. It stays if staff postpone the sale, and so
//! do its places.

use crate::{ListLock, Tx};
use domain::{QueueSeed, Sale, SaleState};

/// Updates the waiting room of a sale that is new or was changed. The caller has locked the sale's row.
pub(crate) async fn follow_sale(tx: &mut Tx, after: &Sale) -> Result<(), sqlx::Error> {
    if !after.mode.is_queue() || after.state == SaleState::Draft {
        return Ok(());
    }
    let sql = "INSERT INTO queues (sale_id, seed) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    let seed = QueueSeed::new(rand::random());
    sqlx::query(sql).bind(after.id.0).bind(seed.to_hex()).execute(&mut **tx).await?;
    Ok(())
}

/// Deletes the waiting room of a draft that is deleted.
pub(crate) async fn delete(tx: &mut Tx, sale: &Sale) -> Result<(), sqlx::Error> {
    tx.lock_list(ListLock::Exclusive, sale.id).await?;
    for table in [
        "DELETE FROM queue_places WHERE sale_id = $1",
        "DELETE FROM queue_segments WHERE sale_id = $1",
        "DELETE FROM queue_joins WHERE sale_id = $1",
        "DELETE FROM queues WHERE sale_id = $1",
    ] {
        sqlx::query(table).bind(sale.id.0).execute(&mut **tx).await?;
    }
    Ok(())
}
