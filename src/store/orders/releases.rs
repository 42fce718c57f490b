//! Pending releases: units that ended orders still hold in the stock backend. A release is written in the transaction
//! that ends the order, and deleted once the backend has released the units, so no unit is lost. Releasing twice
//! changes nothing.

use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::{MAX_ROWS, OrderStore, StoreError, Tx, bind_ids, list, next_attempt, padded, placeholders, row};
use domain::{OrderId, Reservation, SaleId, UserId};

/// Units that an order holds. The backend releases them only if the user's hold still belongs to this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldUnits {
    pub order_id: OrderId,
    pub sale_id: SaleId,
    pub user_id: UserId,
    pub quantity: u32,
}

impl HeldUnits {
    /// The units of a reservation.
    pub fn of(r: &Reservation) -> HeldUnits {
        HeldUnits { order_id: r.order_id, sale_id: r.sale_id, user_id: r.user_id, quantity: r.quantity }
    }
}

impl OrderStore<'_> {
    /// The oldest pending releases.
    pub async fn pending_releases(self, limit: i64) -> Result<Vec<HeldUnits>, StoreError> {
        let sql = "SELECT order_id AS id, sale_id, user_id, quantity FROM releases ORDER BY order_id LIMIT $1";
        self.all(sqlx::query(sql).bind(limit), held_units).await
    }

    /// Pending releases whose next attempt is due. Releases that have waited longest come first.
    pub async fn due_releases(self, limit: i64) -> Result<Vec<HeldUnits>, StoreError> {
        let sql = "SELECT order_id AS id, sale_id, user_id, quantity FROM releases WHERE next_attempt_at_ms <= $1
             ORDER BY next_attempt_at_ms, order_id LIMIT $2";
        let now = self.now().await?.as_millisecond();
        self.all(sqlx::query(sql).bind(now).bind(limit), held_units).await
    }

    /// Postpones the next attempt of releases, by half a second at first and by up to eight seconds.
    pub async fn postpone_releases(self, orders: &[OrderId]) -> Result<(), StoreError> {
        let now = self.now().await?.as_millisecond();
        for chunk in padded(orders) {
            let next = next_attempt(500, 4);
            let sql = format!("UPDATE releases SET {next} WHERE order_id IN {}", list(chunk.len(), 1));
            bind_ids(sqlx::query(AssertSqlSafe(sql)).bind(now), &chunk).execute(&self.pool).await?;
        }
        Ok(())
    }

    /// Deletes releases of sales that are retired, deleted or sold by draw, because the backend holds no units of them.
    /// A late copy of an order, or a refund, may have requested them. Returns how many were deleted.
    pub async fn delete_releases_of_retired_sales(self) -> Result<u64, StoreError> {
        let sql = "DELETE FROM releases WHERE NOT EXISTS
               (SELECT 1 FROM sales WHERE sales.id = releases.sale_id AND sales.retired_at_ms IS NULL
                  AND sales.mode <> 'draw')";
        Ok(sqlx::query(sql).execute(&self.pool).await?.rows_affected())
    }

    /// Deletes releases that the stock backend has carried out.
    pub async fn delete_releases(self, orders: &[OrderId]) -> Result<(), StoreError> {
        for chunk in padded(orders) {
            let sql = format!("DELETE FROM releases WHERE order_id IN {}", list(chunk.len(), 0));
            let query = bind_ids(sqlx::query(AssertSqlSafe(sql)), &chunk);
            query.execute(&self.pool).await?;
        }
        Ok(())
    }

    /// Adds releases for units that ended orders hold again although their first release is done.
    pub async fn request_releases(self, releases: &[HeldUnits]) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        add(&mut tx, releases).await?;
        Ok(tx.commit().await?)
    }
}

pub(super) async fn add(tx: &mut Tx, releases: &[HeldUnits]) -> Result<(), sqlx::Error> {
    for chunk in releases.chunks(MAX_ROWS) {
        let sql = format!(
            "INSERT INTO releases (order_id, sale_id, user_id, quantity) VALUES {} ON CONFLICT DO NOTHING",
            placeholders(chunk.len(), 4)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for release in chunk {
            query = query
                .bind(release.order_id.to_string())
                .bind(release.sale_id.0)
                .bind(release.user_id.to_string())
                .bind(i64::from(release.quantity));
        }
        query.execute(&mut **tx).await?;
    }
    Ok(())
}

/// The columns of `orders` that [`held_units`] maps.
macro_rules! held_columns {
    () => {
        "id, sale_id, user_id, quantity"
    };
}
pub(super) use held_columns;

/// Maps a row with the [`held_columns`] of an order.
pub(super) fn held_units(row: &AnyRow) -> Result<HeldUnits, sqlx::Error> {
    Ok(HeldUnits {
        order_id: row::parsed(row, "id")?,
        sale_id: SaleId(row::int(row, "sale_id")?),
        user_id: row::parsed(row, "user_id")?,
        quantity: row::int(row, "quantity")? as u32,
    })
}
