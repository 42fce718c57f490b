//! Deposits: the money set aside agrees with the ledger, and deposits are returned in time.

use super::{Snapshot, Steps};
use crate::StoreError;
use crate::sales::is_over;

/// Accounts of a step whose ledger account of deposits does not have the sum of their deposits.
const WRONG_SUMS: &str =
    "SELECT 'account deposit:' || held.user_id || ' has ' || CAST(COALESCE(b.balance, 0) AS TEXT) || ', its deposits sum to '
       || CAST(held.total AS TEXT) AS problem
     FROM (SELECT user_id, CAST(SUM(CASE WHEN returned_at_ms IS NULL THEN amount ELSE 0 END) AS BIGINT) AS total
       FROM deposits WHERE user_id > $1 AND user_id <= $2 GROUP BY user_id) held
     LEFT JOIN wallet_balances b ON b.account = 'deposit:' || held.user_id
     WHERE COALESCE(b.balance, 0) <> held.total";

/// Deposits that are still held after their sale. Data control returns them within a second.
const AFTER_THE_SALE: &str = concat!(
    "SELECT 'sale ' || CAST(sales.id AS TEXT) || ' is over and still has a deposit of ' || d.user_id AS problem
     FROM deposits d JOIN sales ON sales.id = d.sale_id
     WHERE d.user_id > $1 AND d.user_id <= $2 AND d.returned_at_ms IS NULL AND (",
    is_over!(),
    " OR sales.state = 'draft')"
);

impl Snapshot {
    /// Describes deposits without their money, money without its deposit, and deposits that outlast their sale.
    pub async fn deposit_mismatches(&mut self) -> Result<Vec<String>, StoreError> {
        self.problems_of(Steps::<String>::over("deposits", "user_id"), &[WRONG_SUMS, AFTER_THE_SALE]).await
    }
}
