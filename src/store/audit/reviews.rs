//! Holds of orders: every hold has a reason, a person and a line in the audit log.

use super::{Snapshot, Steps};
use crate::StoreError;

const WITHOUT_REASON: &str = "SELECT 'order ' || order_id || ' is held without a reason or a person' AS problem
     FROM order_holds WHERE id > $1 AND id <= $2 AND (TRIM(reason) = '' OR TRIM(held_by) = '')";

const WITHOUT_LINE: &str = "SELECT 'order ' || h.order_id || ' is held without a line in the audit log' AS problem
     FROM order_holds h WHERE h.id > $1 AND h.id <= $2
       AND NOT EXISTS (SELECT 1 FROM audit_log l WHERE l.subject = 'order ' || h.order_id AND l.action = 'hold')";

const ENDED_WITHOUT_LINE: &str =
    "SELECT 'the hold of order ' || h.order_id || ' is ' || h.outcome || ' without a line in the audit log' AS problem
     FROM order_holds h WHERE h.id > $1 AND h.id <= $2 AND h.outcome IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM audit_log l WHERE l.subject = 'order ' || h.order_id
         AND l.action = CASE h.outcome WHEN 'released' THEN 'release-hold' WHEN 'refunded' THEN 'refund' ELSE 'cancel' END)";

const NOT_ENDED: &str = "SELECT 'order ' || o.id || ' is ' || o.status || ', its hold is ' || h.outcome AS problem
     FROM order_holds h JOIN orders o ON o.id = h.order_id WHERE h.id > $1 AND h.id <= $2
       AND (h.outcome = 'refunded' AND o.status NOT IN ('refund_pending', 'refunded')
         OR h.outcome = 'cancelled' AND o.status NOT IN ('cancelled', 'refund_pending', 'refunded'))";

impl Snapshot {
    /// Describes holds without a reason, a person or a line in the audit log, and ended holds that contradict their
    /// order.
    pub async fn unexplained_reviews(&mut self) -> Result<Vec<String>, StoreError> {
        let holds = Steps::<String>::over("order_holds", "id");
        self.problems_of(holds, &[WITHOUT_REASON, WITHOUT_LINE, ENDED_WITHOUT_LINE, NOT_ENDED]).await
    }
}
