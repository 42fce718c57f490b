//! Reservations: orders of another shop's customers. That shop confirms one once it has the money, or releases it; a
//! confirmed order is paid without a payment of this shop, and has a row in `reservations` instead.
//!
//! Each step is one conditional update of the order's row, by the database's time. So a confirmation, a release, an
//! extension and the expiry have one winner, and a step that runs twice is told what the first one did.

use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use serde_json::json;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use uuid::Uuid;

use super::staff_actions::add_step;
use super::{cancel_within, close_payments_of, columns, order};
use crate::payments::take_back_deposit;
use crate::wallet::post;
use crate::{AuditReason, HeldUnits, OrderStore, StoreResult, Tx, column};
use domain::{AuditAction, ExternalReservation, OrderId, OrderStatus, ReservationStatus, SaleId};

/// The reason of a reservation's cancellation by the other shop, which acts for its customer.
const RELEASED: &str = "by_owner";

/// The program that acts, and the token that it does it with.
#[derive(Debug, Clone, Copy)]
pub struct ProgramActor<'a> {
    pub token: Uuid,
    /// The name in the audit log.
    pub name: &'a str,
}

/// The outcome of a confirmation. Everything but `Confirmed` changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfirmOutcome {
    Confirmed,
    /// Another reservation has the reference.
    ReferenceTaken,
    /// It is not held any more, or its time is over.
    NotHeld,
}

/// The columns of an order that [`reservation`] needs beside its own.
const MORE: &str = "(SELECT external_id FROM users WHERE users.id = orders.user_id) AS shopper,
     (SELECT reference FROM reservations WHERE order_id = orders.id) AS reference";
const IS_EXTERNAL: &str = "EXISTS (SELECT 1 FROM users WHERE users.id = orders.user_id AND external_id IS NOT NULL)";

fn reservation(row: &AnyRow) -> sqlx::Result<ExternalReservation> {
    read!(row => ExternalReservation { order = order(row)?, shopper, reference })
}

/// The orders whose reservation has the status, apart from what is overdue.
fn condition(status: ReservationStatus) -> &'static str {
    match status {
        ReservationStatus::Held => "CAST(status AS TEXT) = 'unpaid'",
        ReservationStatus::Confirmed => "CAST(status AS TEXT) = 'paid'",
        ReservationStatus::Expired => {
            "CAST(status AS TEXT) IN ('cancelled', 'refund_pending', 'refunded') AND COALESCE(reason, '') = 'unpaid'"
        }
        ReservationStatus::Released => {
            "CAST(status AS TEXT) IN ('cancelled', 'refund_pending', 'refunded') AND COALESCE(reason, '') <> 'unpaid'"
        }
        ReservationStatus::Rejected => "CAST(status AS TEXT) = 'rejected'",
    }
}

#[boxed]
impl OrderStore<'_> {
    /// The reservation, once it is in the database.
    pub async fn reservation(self, sale: SaleId, id: OrderId) -> StoreResult<Option<ExternalReservation>> {
        let sql = format!("SELECT {}, {MORE} FROM orders WHERE id = $1 AND sale_id = $2 AND {IS_EXTERNAL}", columns!());
        self.optional(query!(AssertSqlSafe(sql); id, sale), reservation).await
    }

    /// Reservations of a sale by time, after the one with the id `after`.
    pub async fn reservations(
        self,
        sale: SaleId,
        status: Option<ReservationStatus>,
        after: Option<OrderId>,
        limit: i64,
    ) -> StoreResult<Vec<ExternalReservation>> {
        let with = status.map(|status| format!("AND {}", condition(status))).unwrap_or_default();
        let sql = format!(
            "SELECT {}, {MORE} FROM orders WHERE sale_id = $1 AND id > $2 AND {IS_EXTERNAL} {with} ORDER BY id LIMIT $3",
            columns!()
        );
        let query = query!(AssertSqlSafe(sql); sale, after.map_or_else(String::new, |id| id.to_string()), limit);
        self.all(query, reservation).await
    }

    /// The reference of a confirmed reservation; `None` for every other order.
    pub async fn reference_of(self, id: OrderId) -> StoreResult<Option<String>> {
        self.optional(query!("SELECT reference FROM reservations WHERE order_id = $1"; id), column("reference")).await
    }

    /// Notes that the other shop has the money for a reservation: its order is paid, and the units are sold.
    pub async fn confirm_reservation(
        self,
        (sale, id): (SaleId, OrderId),
        reference: &str,
        actor: ProgramActor<'_>,
    ) -> StoreResult<ConfirmOutcome> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        let sql = format!(
            "UPDATE orders SET status = 'paid' WHERE id = $1 AND sale_id = $2 AND status = 'unpaid' AND pay_by_ms > $3
               AND {IS_EXTERNAL} RETURNING quantity"
        );
        let quantity: Option<i64> = tx.optional(query!(AssertSqlSafe(sql); id, sale, now), column("quantity")).await?;
        let Some(quantity) = quantity else { return Ok(ConfirmOutcome::NotHeld) };
        let sql = "INSERT INTO reservations (order_id, reference, token_id, confirmed_at_ms) VALUES ($1, $2, $3, $4)
             ON CONFLICT DO NOTHING";
        if tx.changed(query!(sql; id, reference, actor.token, now)).await? == 0 {
            return Ok(ConfirmOutcome::ReferenceTaken);
        }
        tx.changes.moved((sale, id), (OrderStatus::Unpaid, OrderStatus::Paid), quantity);
        add_step(&mut tx, id, OrderStatus::Paid, reason_of(actor, reference), now).await?;
        // A payment of ours that is still made is refunded.
        close_payments_of(&mut tx, &[id]).await?;
        let returned = take_back_deposit(&mut tx, id).await?;
        post(&mut tx, &returned, now).await?;
        let after = json!({"sale_id": sale, "status": OrderStatus::Paid, "reference": reference});
        tx.log(actor.name, AuditAction::ConfirmReservation, &subject(id), None, Some(&after), now).await?;
        tx.commit_and(ConfirmOutcome::Confirmed).await
    }

    /// Releases a held reservation. Returns its units if this call released them.
    pub async fn release_reservation(
        self,
        (sale, id): (SaleId, OrderId),
        actor: ProgramActor<'_>,
    ) -> StoreResult<Vec<HeldUnits>> {
        let mut tx = self.begin().await?;
        let released = cancel_within(&mut tx, sale, &[id], RELEASED, "").await?;
        if !released.is_empty() {
            log_step(&mut tx, AuditAction::ReleaseReservation, (sale, id), actor).await?;
            tx.commit().await?;
        }
        Ok(released)
    }

    /// Lets a held reservation live for at least this time from now, but for no longer than `most` in all. Returns until
    /// when it lives, or `None` if it is not held any more or would live for too long.
    pub async fn extend_reservation(
        self,
        (sale, id): (SaleId, OrderId),
        by: Duration,
        most: Duration,
        actor: ProgramActor<'_>,
    ) -> StoreResult<Option<Timestamp>> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        let until = (now + by).as_millisecond();
        let sql = "UPDATE orders SET pay_by_ms = CASE WHEN pay_by_ms < $3 THEN $3 ELSE pay_by_ms END
             WHERE id = $1 AND sale_id = $2 AND status = 'unpaid' AND pay_by_ms > $4
               AND (created_at_ms + $5 >= $3 OR pay_by_ms >= $3) RETURNING pay_by_ms";
        let query = query!(sql; id, sale, until, now, most.as_millis() as i64);
        let Some(pay_by) = tx.optional(query, column("pay_by_ms")).await? else { return Ok(None) };
        tx.changes.edited(id);
        log_step(&mut tx, AuditAction::ExtendReservation, (sale, id), actor).await?;
        tx.commit_and(Some(pay_by)).await
    }
}

fn subject(id: OrderId) -> String {
    format!("order {id}")
}

fn reason_of<'a>(actor: ProgramActor<'a>, note: &'a str) -> AuditReason<'a> {
    AuditReason { actor: actor.name, note, message: None }
}

async fn log_step(
    tx: &mut Tx,
    action: AuditAction,
    (sale, id): (SaleId, OrderId),
    actor: ProgramActor<'_>,
) -> sqlx::Result<()> {
    tx.log(actor.name, action, &subject(id), None, Some(&json!({"sale_id": sale})), tx.now).await
}
