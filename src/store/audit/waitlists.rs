//! Waitlists: no waiting account was passed over.

use super::Snapshot;
use crate::{StoreError, row};
use domain::SaleId;

/// Accounts at the front of a waitlist that are compared with the offers of its sale. An account that is passed over
/// stays at the front.
const MAX_FRONT: i64 = 100;

/// Accounts that were on the waitlist when an account behind them got an offer.
const PASSED_OVER: &str =
    "SELECT 'sale ' || CAST($1 AS TEXT) || ': user ' || user_id || ' was passed over' AS problem FROM
       (SELECT user_id, place, since_ms FROM waiters WHERE sale_id = $1 AND state = 'waiting'
          ORDER BY place LIMIT $2) AS front
     WHERE NOT EXISTS (SELECT 1 FROM waiters WHERE sale_id = $1 AND waiters.user_id = front.user_id
         AND order_id IS NOT NULL)
       AND EXISTS (SELECT 1 FROM waiters WHERE sale_id = $1 AND state = 'offered'
         AND called_at_ms > front.since_ms AND place > front.place)";

impl Snapshot {
    /// Describes accounts that wait although a unit was offered to an account behind them.
    pub async fn passed_over_waiters(&mut self) -> Result<Vec<String>, StoreError> {
        let sales = "SELECT sale_id FROM waitlists ORDER BY sale_id";
        let sales = self.all(sqlx::query(sales), |row| Ok(SaleId(row::int(row, "sale_id")?))).await?;
        let mut problems = Vec::new();
        for sale in sales {
            let query = sqlx::query(PASSED_OVER).bind(sale.0).bind(MAX_FRONT);
            problems.extend(self.all(query, |row| row::text(row, "problem")).await?);
        }
        Ok(problems)
    }
}
