//! Units that dead orders still hold in Redis. A release is written in the transaction that ends the order and taken
//! away once Redis has let go, so none is ever forgotten; doing one twice changes nothing.

use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::domain::{OrderId, Reservation, SaleId, UserId};
use crate::store::{ROWS, Store, StoreError, Tx, list, padded, placeholders, row};

/// Units to give back, if the user's hold still belongs to this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldUnits {
    pub order_id: OrderId,
    pub sale_id: SaleId,
    pub user_id: UserId,
    pub quantity: u32,
}

impl HeldUnits {
    /// What a reservation holds.
    pub fn of(r: &Reservation) -> HeldUnits {
        HeldUnits { order_id: r.order_id, sale_id: r.sale_id, user_id: r.user_id, quantity: r.quantity }
    }
}

impl Store {
    /// The oldest releases that are not done yet.
    pub async fn releases(&self, most: i64) -> Result<Vec<HeldUnits>, StoreError> {
        let rows = sqlx::query("SELECT order_id, sale_id, user_id, quantity FROM releases ORDER BY order_id LIMIT $1")
            .bind(most)
            .fetch_all(&self.pool)
            .await?;
        let release = |row| {
            Ok(HeldUnits {
                order_id: row::parsed(row, "order_id")?,
                sale_id: SaleId(row::int(row, "sale_id")?),
                user_id: row::parsed(row, "user_id")?,
                quantity: row::int(row, "quantity")? as u32,
            })
        };
        Ok(rows.iter().map(release).collect::<Result<_, sqlx::Error>>()?)
    }

    pub async fn releases_done(&self, orders: &[OrderId]) -> Result<(), StoreError> {
        for chunk in padded(orders) {
            let sql = format!("DELETE FROM releases WHERE order_id IN {}", list(chunk.len(), 0));
            let mut query = sqlx::query(AssertSqlSafe(sql));
            for order in chunk {
                query = query.bind(order.to_string());
            }
            query.execute(&self.pool).await?;
        }
        Ok(())
    }

    /// Asks for units to be given back that should have been long ago.
    pub async fn release_again(&self, releases: &[HeldUnits]) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        add(&mut tx, releases).await?;
        Ok(tx.commit().await?)
    }
}

pub(super) async fn add(tx: &mut Tx, releases: &[HeldUnits]) -> Result<(), sqlx::Error> {
    for chunk in releases.chunks(ROWS) {
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

/// What an order holds; the row has the order's `id`, `sale_id`, `user_id` and `quantity`.
pub(super) fn held_units(row: &AnyRow) -> Result<HeldUnits, sqlx::Error> {
    Ok(HeldUnits {
        order_id: row::parsed(row, "id")?,
        sale_id: SaleId(row::int(row, "sale_id")?),
        user_id: row::parsed(row, "user_id")?,
        quantity: row::int(row, "quantity")? as u32,
    })
}
