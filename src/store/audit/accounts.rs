//! Money that no account can move.

use super::{Snapshot, Steps};
use crate::StoreError;

/// Money that comes to a deleted account's wallet is moved to the shop in the same transaction, so a balance there is
/// always wrong.
const LEFT_IN_WALLETS: &str =
    "SELECT 'account ' || u.id || ' is deleted and has ' || CAST(b.balance AS TEXT) || ' in its wallet' AS problem
     FROM users u JOIN wallet_balances b ON b.account = 'user:' || u.id
     WHERE u.deleted_at_ms IS NOT NULL AND u.id > $1 AND u.id <= $2 AND b.balance <> 0";

impl Snapshot {
    /// Describes money of deleted accounts.
    pub async fn stranded_money(&mut self) -> Result<Vec<String>, StoreError> {
        let deleted = Steps::<String>::along("users WHERE deleted_at_ms IS NOT NULL AND".to_owned(), "id");
        self.problems_of(deleted, &[LEFT_IN_WALLETS]).await
    }
}
