//! Who may take part in a sale: each buyer met the sale's rules.

use super::{Snapshot, Steps};
use crate::{KEEP_GROUPS, StoreError, row};

/// Sales with rules that their orders are compared with.
const SALES_WITH_RULES: &str = "SELECT id FROM sales WHERE accounts_before_ms IS NOT NULL OR invitation = 1
     OR one_per_contact = 1 OR one_per_address = 1 OR deposit IS NOT NULL ORDER BY id";

/// Selects live orders in a step of the orders of one sale. Orders of deleted accounts are left out, because the rows
/// that prove their right to buy were deleted with the account.
macro_rules! live_orders {
    ($problem:literal, $condition:literal) => {
        concat!(
            "SELECT 'order ' || orders.id || ': ",
            $problem,
            "' AS problem FROM orders JOIN sales ON sales.id = orders.sale_id
             JOIN users ON users.id = orders.user_id AND users.deleted_at_ms IS NULL
             WHERE orders.id > $1 AND orders.id <= $2 AND orders.sale_id = $3
               AND CAST(orders.status AS TEXT) IN ('unpaid', 'paid') AND ",
            $condition
        )
    };
}

const TOO_NEW: &str = live_orders!(
    "its owner registered too late",
    "sales.accounts_before_ms IS NOT NULL AND users.created_at_ms > sales.accounts_before_ms"
);
const UNINVITED: &str = live_orders!(
    "its owner redeemed no code",
    "sales.invitation = 1 AND NOT EXISTS (SELECT 1 FROM invitations
       WHERE invitations.user_id = orders.user_id AND invitations.sale_id = sales.id)"
);
const UNGROUPED: &str = live_orders!(
    "its owner has no group",
    "(sales.closes_at_ms IS NULL OR sales.closes_at_ms > $4)
       AND ((sales.one_per_contact = 1 AND NOT EXISTS (SELECT 1 FROM sale_groups
         WHERE sale_groups.user_id = orders.user_id AND sale_groups.sale_id = sales.id AND kind = 'contact'))
       OR (sales.one_per_address = 1 AND NOT EXISTS (SELECT 1 FROM sale_groups
         WHERE sale_groups.user_id = orders.user_id AND sale_groups.sale_id = sales.id AND kind = 'address')))"
);

/// A returned deposit counts as well.
const WITHOUT_DEPOSIT: &str = live_orders!(
    "its owner had no deposit",
    "sales.deposit IS NOT NULL AND NOT EXISTS (SELECT 1 FROM deposits
       WHERE deposits.user_id = orders.user_id AND deposits.sale_id = sales.id)"
);

impl Snapshot {
    /// Describes live orders whose owners had no right to buy by the rules of their sale. Groups of sales that ended
    /// long ago are deleted, so they are not checked. That only one account has a group needs no check, because the
    /// group is the key of a table.
    pub async fn ineligible_buyers(&mut self, now: jiff::Timestamp) -> Result<Vec<String>, StoreError> {
        let mut problems = Vec::new();
        let kept_since = (now - KEEP_GROUPS).as_millisecond();
        for sale in self.all(sqlx::query(SALES_WITH_RULES), |row| row::int(row, "id")).await? {
            let mut steps = Steps::<String>::along(format!("orders WHERE sale_id = {sale} AND"), "id");
            while let Some(step) = steps.next(self).await? {
                for sql in [TOO_NEW, UNINVITED, WITHOUT_DEPOSIT] {
                    let query = step.bind(sqlx::query(sql)).bind(sale);
                    problems.extend(self.all(query, |row| row::text(row, "problem")).await?);
                }
                let query = step.bind(sqlx::query(UNGROUPED)).bind(sale).bind(kept_since);
                problems.extend(self.all(query, |row| row::text(row, "problem")).await?);
            }
        }
        Ok(problems)
    }
}
