//! The row of a sale's waiting room exists from the first announcement on. It stays if staff postpone the sale, and so
//! do its places.

use crate::{ListLock, Tx};
use domain::{Sale, SaleState, WaitingRoomSeed};

/// Updates the waiting room of a sale that is new or was changed. The caller has locked the sale's row.
pub(crate) async fn follow_sale(tx: &mut Tx, after: &Sale) -> Result<(), sqlx::Error> {
    if !after.mode.is_waiting_room() || after.state == SaleState::Draft {
        return Ok(());
    }
    let sql = "INSERT INTO queues (sale_id, seed) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    let seed = WaitingRoomSeed::new(rand::random());
    sqlx::query(sql).bind(after.id.0).bind(seed.to_hex()).execute(&mut **tx).await?;
    Ok(())
}

/// Whether the sale has a waiting room in which shoppers have places, or may have taken places that only Redis has yet.
/// Its mode then stays as it is: the shoppers would find neither their place nor another order. The caller has locked
/// the sale's row.
pub(crate) async fn has_places(tx: &mut Tx, sale: &Sale) -> Result<bool, sqlx::Error> {
    tx.lock_list(ListLock::Exclusive, sale.id).await?;
    let sql = "SELECT 1 FROM queues WHERE sale_id = $1 AND (gathers = 1 OR joined > 0 OR EXISTS
           (SELECT 1 FROM queue_joins WHERE queue_joins.sale_id = queues.sale_id AND places > 0))";
    Ok(sqlx::query(sql).bind(sale.id.0).fetch_optional(&mut **tx).await?.is_some())
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
