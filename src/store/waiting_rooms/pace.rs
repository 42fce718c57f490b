//! The pace of a waiting room, which staff control.

use schemars::JsonSchema;
use serde::Serialize;

use super::lock;
use crate::audit_log::log;
use crate::{StoreError, WaitingRoomStore};
use domain::{AuditAction, SaleId};

/// Limits on the calls of a waiting room besides its units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Pace {
    /// Whether calls are stopped.
    pub held: bool,
    /// The maximum of calls per minute; `None` for as many as there are units.
    pub per_minute: Option<i64>,
}

impl Pace {
    pub const PER_MINUTE: std::ops::RangeInclusive<i64> = 1..=100_000;
}

/// A change of the pace. `None` leaves a value as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct PaceChange {
    pub held: Option<bool>,
    pub per_minute: Option<Option<i64>>,
}

impl WaitingRoomStore<'_> {
    /// Changes the pace of a waiting room and returns it; `None` if there is no waiting room. Both this and data
    /// control's steps lock the list, so the next step uses the new pace.
    pub async fn change_pace(self, sale: SaleId, change: PaceChange, actor: &str) -> Result<Option<Pace>, StoreError> {
        let mut tx = self.begin().await?;
        let Some(room) = lock(&mut tx, sale).await? else { return Ok(None) };
        let before = Pace { held: room.held, per_minute: room.per_minute };
        let after = Pace {
            held: change.held.unwrap_or(before.held),
            per_minute: change.per_minute.unwrap_or(before.per_minute),
        };
        if after != before {
            let sql = "UPDATE queues SET held = $2, per_minute = $3 WHERE sale_id = $1";
            let query = sqlx::query(sql).bind(sale.0).bind(i64::from(after.held)).bind(after.per_minute);
            query.execute(&mut *tx).await?;
            let now = tx.now;
            log(&mut tx, actor, AuditAction::Pace, &format!("sale {sale}"), Some(&before), Some(&after), now).await?;
            tx.commit().await?;
        }
        Ok(Some(after))
    }
}
