//! Who may take part in a sale: each buyer kept its rules.

use super::{Snapshot, Steps};
use crate::store::{KEEP_GROUPS, StoreError};

/// Live orders of open accounts, of a step of sales. Accounts that were deleted have taken what proves it with them.
macro_rules! live_orders {
    ($problem:literal, $condition:literal) => {
        concat!(
            "SELECT 'order ' || orders.id || ': ",
            $problem,
            "' AS problem FROM sales
             JOIN orders ON orders.sale_id = sales.id AND orders.status IN ('unpaid', 'paid')
             JOIN users ON users.id = orders.user_id AND users.deleted_at_ms IS NULL
             WHERE sales.id > $1 AND sales.id <= $2 AND ",
            $condition
        )
    };
}

impl Snapshot {
    /// Describes live orders whose owners had no right to buy by the rules of their sale. Groups of sales that ended long ago
    /// are gone. At most one account has a group: it is the key of a table.
    pub async fn ineligible_buyers(&mut self, now: jiff::Timestamp) -> Result<Vec<String>, StoreError> {
        let too_new = live_orders!(
            "its owner registered too late",
            "sales.accounts_before_ms IS NOT NULL AND users.created_at_ms > sales.accounts_before_ms"
        );
        let uninvited = live_orders!(
            "its owner redeemed no code",
            "sales.invitation = 1 AND NOT EXISTS (SELECT 1 FROM invitations
               WHERE invitations.user_id = orders.user_id AND invitations.sale_id = sales.id)"
        );
        let mut problems = self.problems_of(Steps::<i64>::over("sales", "id"), &[too_new, uninvited]).await?;
        let ungrouped = live_orders!(
            "its owner has no group",
            "(sales.closes_at_ms IS NULL OR sales.closes_at_ms > $3)
               AND ((sales.one_per_contact = 1 AND NOT EXISTS (SELECT 1 FROM sale_groups
                 WHERE sale_groups.user_id = orders.user_id AND sale_groups.sale_id = sales.id AND kind = 'contact'))
               OR (sales.one_per_address = 1 AND NOT EXISTS (SELECT 1 FROM sale_groups
                 WHERE sale_groups.user_id = orders.user_id AND sale_groups.sale_id = sales.id AND kind = 'address')))"
        );
        let mut steps = Steps::<i64>::over("sales", "id");
        while let Some(step) = steps.next(self).await? {
            let query = step.bind(sqlx::query(ungrouped)).bind((now - KEEP_GROUPS).as_millisecond());
            problems.extend(self.all(query, |row| crate::store::row::text(row, "problem")).await?);
        }
        Ok(problems)
    }
}
