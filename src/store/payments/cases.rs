//! Payments that need attention: a provider reported something that the shop cannot settle by itself. A case is open
//! until its money is refunded or a member of the staff settles it.

use std::collections::HashSet;

use boxed::boxed;
use jiff::Timestamp;
use serde_json::json;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use uuid::Uuid;

use super::refunds::{FailedRefund, Refund};
use super::{Payment, PaymentPurpose, record_webhook, refunds};
use crate::{AFTER_ALL, AnyQuery, AuditReason, PaymentStore, StoreResult, Tx, column, row};
use domain::{AuditAction, CaseKind, Currency, DisputeState, Money, OrderId, PaymentStatus, RefundId, UserId};

/// The details of a case about a partial refund that a dispute has stopped.
const STOPPED_BY_DISPUTE: &str = "stopped, because the payment is disputed";

/// A case to be opened.
#[derive(Debug, Clone, Copy)]
pub struct NewCase<'a> {
    pub kind: CaseKind,
    /// The payment's id as reported. There may be no such payment.
    pub payment: &'a str,
    /// The partial refund that the case is about, as reported.
    pub part: Option<RefundId>,
    /// The reported amount.
    pub amount: Option<Money>,
    pub details: &'a str,
    /// The refund that failed, if the report names one of the shop.
    pub failed: Option<FailedRefund>,
    pub dispute: Option<&'a Dispute>,
}

impl<'a> NewCase<'a> {
    /// A case about a payment, without an amount.
    pub(super) fn about(kind: CaseKind, payment: &'a str, details: &'a str) -> NewCase<'a> {
        NewCase { kind, payment, part: None, amount: None, details, failed: None, dispute: None }
    }
}

/// A dispute at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispute {
    /// The provider's own name of it.
    pub id: String,
    pub state: DisputeState,
    /// Until when the provider takes an answer to it.
    pub respond_by: Option<Timestamp>,
}

/// The end of a case.
#[derive(Debug, Clone)]
pub struct Settlement {
    pub at: Timestamp,
    /// The member of the staff; `None` if the refund of the money settled the case.
    pub by: Option<String>,
    pub note: Option<String>,
}

/// A case, open or settled.
#[derive(Debug, Clone)]
pub struct PaymentCase {
    pub id: String,
    pub kind: CaseKind,
    /// The payment's id as reported.
    pub payment_id: String,
    /// The partial refund that the case is about, as reported.
    pub part: Option<RefundId>,
    /// The reported amount.
    pub reported: Option<Money>,
    pub details: String,
    pub dispute: Option<Dispute>,
    pub opened_at: Timestamp,
    /// The shop's payment, if it has one.
    pub payment: Option<Payment>,
    /// The refund that staff can begin or count as made, if there is one: a refund of the part, or of the whole
    /// payment.
    pub refund: Option<Refund>,
    /// `None` as long as the case is open.
    pub settlement: Option<Settlement>,
}

impl PaymentCase {
    /// The order that the payment is for.
    pub fn order(&self) -> Option<OrderId> {
        match self.payment.as_ref()?.purpose {
            PaymentPurpose::Order(order) => Some(order),
            PaymentPurpose::TopUp(_) => None,
        }
    }

    /// The order whose money a refund would move. `None` if the refund answers a dispute, or the payment is for no order.
    pub fn order_in_question(&self) -> Option<OrderId> {
        self.order().filter(|_| !self.tells_dispute())
    }

    pub fn is_open(&self) -> bool {
        self.settlement.is_none()
    }

    /// The subject in the audit log.
    pub(super) fn subject(&self) -> String {
        format!("payment {}", self.payment_id)
    }

    /// The money that a refund would move: all that the provider captured. `None` if the refund was decided before, so
    /// that only another attempt is made at the provider.
    pub(super) fn undecided(&self) -> Option<Money> {
        let refund = self.refund.as_ref().filter(|_| self.status() == Some(PaymentStatus::Mismatched))?;
        Some(self.reported.unwrap_or(refund.amount))
    }

    fn status(&self) -> Option<PaymentStatus> {
        self.payment.as_ref().map(|payment| payment.status)
    }

    /// Whether the case tells of a dispute, so that who refunds from it knows of it.
    pub(super) fn tells_dispute(&self) -> bool {
        self.kind == CaseKind::Disputed || self.details == STOPPED_BY_DISPUTE
    }

    /// Whether a refund can be begun, or tried again, at the provider.
    pub fn takes_refund(&self) -> bool {
        self.is_open() && self.refund.is_some()
    }

    /// Whether settling the case means that the money went back in another way.
    pub fn settles_as_refunded(&self) -> bool {
        matches!(self.kind, CaseKind::RefundFailed | CaseKind::RefundDelayed)
            && self.refund.is_some()
            && self.status() != Some(PaymentStatus::Mismatched)
    }
}

/// What staff can do with a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseAction {
    /// Begins a refund at the provider, or tries it again. The case stays open until the money is back.
    Refund,
    /// Ends the case. A refund that failed counts as made ([`PaymentCase::settles_as_refunded`]).
    Settle,
}

impl CaseAction {
    /// The action's name in the audit log.
    fn audit_action(self) -> AuditAction {
        match self {
            CaseAction::Refund => AuditAction::RetryRefund,
            CaseAction::Settle => AuditAction::SettlePayment,
        }
    }
}

column_list!(columns: "id, kind, payment_id, refund_id, amount, currency, details, opened_at_ms, settled_at_ms,
     settled_by, note, dispute_id, dispute_state, respond_by_ms");

#[boxed]
impl PaymentStore<'_> {
    /// Opens a case and records the webhook that reported it. Returns the kind of the new case; `None` if the webhook
    /// was received before or the case is open already. A refund of the shop that failed, or whose payment is disputed, is not
    /// tried again until the staff begin it again.
    pub async fn open_case(self, webhook_id: Option<&str>, case: &NewCase<'_>) -> StoreResult<Option<CaseKind>> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        if let Some(webhook_id) = webhook_id
            && !record_webhook(&mut tx, webhook_id, case.payment, now).await?
        {
            return Ok(None);
        }
        let is_known = tx.exists(query!("SELECT 1 FROM payments WHERE id = $1"; case.payment)).await?;
        let kind = match case.kind {
            CaseKind::UnknownEvent => CaseKind::UnknownEvent,
            kind if is_known => kind,
            _ => CaseKind::UnknownPayment,
        };
        let opens = match (kind, case.failed) {
            // What is known about the refund already opens no case again.
            (CaseKind::RefundFailed, Some(failed)) => refunds::fail(&mut tx, case.payment, failed).await?,
            (CaseKind::RefundFailed, None) => {
                if let Some(part) = case.part {
                    refunds::stop_part(&mut tx, case.payment, part).await?;
                }
                true
            }
            _ => true,
        };
        let is_new = match (kind, case.dispute) {
            (CaseKind::Disputed, Some(dispute)) => follow_dispute(&mut tx, case, dispute).await?,
            _ if !opens => false,
            _ => {
                if kind == CaseKind::Disputed {
                    stop_refunds(&mut tx, case.payment).await?;
                }
                open(&mut tx, &NewCase { kind, ..*case }, now).await?.is_some()
            }
        };
        tx.commit_and(is_new.then_some(kind)).await
    }

    /// The open or the settled cases, newest first. The page begins after the case `before`.
    pub async fn payment_cases(self, settled: bool, before: Option<&str>, limit: i64) -> StoreResult<Vec<PaymentCase>> {
        let sql = format!(
            select!(columns, "FROM payment_cases WHERE settled_at_ms {} AND id < $1 ORDER BY id DESC LIMIT $2"),
            if settled { "IS NOT NULL" } else { "IS NULL" }
        );
        self.with_payments(query!(AssertSqlSafe(sql); before.unwrap_or(AFTER_ALL), limit)).await
    }

    /// The cases about the payments of an order, oldest first.
    pub async fn cases_of(self, order: OrderId) -> StoreResult<Vec<PaymentCase>> {
        let sql = select!(
            columns,
            "FROM payment_cases WHERE payment_id IN (SELECT id FROM payments WHERE order_id = $1) ORDER BY id"
        );
        self.with_payments(query!(sql; order)).await
    }

    /// The disputes at a provider whose end is not known, oldest first, after the case `after`.
    pub async fn open_disputes(self, provider: &str, after: &str, limit: i64) -> StoreResult<Vec<PaymentCase>> {
        let sql = select!(
            columns,
            "FROM payment_cases WHERE dispute_state = 'open' AND id > $2
               AND EXISTS (SELECT 1 FROM payments p WHERE p.id = payment_cases.payment_id AND p.provider = $1)
             ORDER BY id LIMIT $3"
        );
        self.all(query!(sql; provider, after, limit), case).await
    }

    /// A case, open or settled.
    pub async fn payment_case(self, id: &str) -> StoreResult<Option<PaymentCase>> {
        let sql = select!(columns, "FROM payment_cases WHERE id = $1");
        Ok(self.with_payments(query!(sql; id)).await?.pop())
    }

    /// The cases that a statement selects, with their payments and refunds.
    async fn with_payments(self, query: AnyQuery<'_>) -> StoreResult<Vec<PaymentCase>> {
        let mut found = self.all(query, case).await?;
        for case in &mut found {
            let Ok(id) = case.payment_id.parse() else { continue };
            case.payment = self.get(id).await?;
            case.refund = match case.part {
                Some(part) => self.pending_partial_refund(id, part).await?,
                None if case.kind == CaseKind::RefundFailed && !self.is_own_failure(case).await? => None,
                None => case.payment.clone().filter(Payment::takes_refund).map(Refund::whole),
            };
        }
        Ok(found)
    }

    /// Whether the refund that failed was the shop's refund of the whole payment. Somebody may have refunded a part at the
    /// provider.
    async fn is_own_failure(self, of: &PaymentCase) -> StoreResult<bool> {
        let sql = "SELECT 1 FROM failed_refunds WHERE refund_id = $1 AND failed_at_ms = $2";
        self.exists(query!(sql; &of.payment_id, of.opened_at)).await
    }

    /// Who paid: the owner of the order, or of the wallet.
    pub async fn payer_of(self, of: &Payment) -> StoreResult<Option<UserId>> {
        match of.purpose {
            PaymentPurpose::TopUp(user) => Ok(Some(user)),
            PaymentPurpose::Order(order) => Ok(self.orders().order_with_id(order).await?.map(|order| order.user_id)),
        }
    }

    /// The orders among these of which a payment was ever disputed.
    pub async fn disputed_among(self, orders: &[OrderId]) -> StoreResult<HashSet<OrderId>> {
        let sql = "SELECT order_id FROM payments WHERE order_id IN $ids AND EXISTS
             (SELECT 1 FROM payment_cases WHERE payment_id = payments.id AND kind = 'disputed'
                AND (dispute_state IS NULL OR dispute_state <> 'won'))";
        self.all_of(sql, &[], orders, column("order_id")).await
    }

    /// Carries out an action on an open case, with a line in the audit log. Returns `false` if the case is not open, or
    /// if its payment's status does not allow the action.
    pub async fn apply_case_action(
        self,
        of: &PaymentCase,
        action: CaseAction,
        reason: AuditReason<'_>,
    ) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let done = apply(&mut tx, of, action, reason).await?;
        if done {
            tx.commit().await?;
        }
        Ok(done)
    }
}

/// Like [`PaymentStore::apply_case_action`], but within a transaction. The caller commits it, or drops it if this returns
/// `false`.
pub(super) async fn apply(
    tx: &mut Tx,
    of: &PaymentCase,
    action: CaseAction,
    reason: AuditReason<'_>,
) -> sqlx::Result<bool> {
    let now = tx.now;
    let done = match action {
        CaseAction::Refund => {
            let Some(refund) = &of.refund else { return Ok(false) };
            refunds::refund_again(tx, refund).await? && is_open(tx, &of.id).await?
        }
        CaseAction::Settle => {
            if let Some(refund) = of.refund.as_ref().filter(|_| of.settles_as_refunded()) {
                refunds::record_refund(tx, refund, now).await?;
            }
            let is_settled = settle(tx, &of.id, reason).await?;
            keep_held(tx, of).await?;
            is_settled
        }
    };
    if done {
        let before = json!({"kind": of.kind, "status": of.status()});
        let after = json!({"kind": of.kind, "reason": reason.note});
        tx.log(reason.actor, action.audit_action(), &of.subject(), Some(&before), Some(&after), now).await?;
    }
    Ok(done)
}

fn case(row: &AnyRow) -> sqlx::Result<PaymentCase> {
    let amount: Option<i64> = row::get(row, "amount")?;
    let currency = row::get::<Option<String>>(row, "currency")?.and_then(|code| Currency::parse(&code));
    let settled_at: Option<Timestamp> = row::get(row, "settled_at_ms")?;
    let (by, note): (Option<String>, _) = (row::get(row, "settled_by")?, row::get(row, "note")?);
    let dispute = row::get::<Option<String>>(row, "dispute_id")?
        .map(|id| read!(row => Dispute { id = id, state: "dispute_state", respond_by: "respond_by_ms" }));
    read!(row => PaymentCase {
        id, kind, payment_id, details, opened_at: "opened_at_ms", payment = None, refund = None,
        part = row::get::<Option<String>>(row, "refund_id")?.and_then(|id| id.parse().ok()),
        reported = amount.zip(currency).map(|(amount, currency)| Money::new(amount, currency)),
        dispute = dispute.transpose()?,
        settlement = settled_at.map(|at| Settlement { at, by: by.filter(|by| !by.is_empty()), note }),
    })
}

/// Opens a case and returns its id. `None`: the same case is open already.
pub(super) async fn open(tx: &mut Tx, case: &NewCase<'_>, now: Timestamp) -> sqlx::Result<Option<String>> {
    let id = Uuid::now_v7().to_string();
    let sql = "INSERT INTO payment_cases (id, kind, payment_id, amount, currency, details, opened_at_ms, refund_id,
           dispute_id, dispute_state, respond_by_ms)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING";
    let query = query!(sql; &id, case.kind, case.payment, case.amount.map(|amount| amount.amount),
        case.amount.map(|amount| amount.currency), case.details, now, case.part,
        case.dispute.map(|dispute| &dispute.id), case.dispute.map(|dispute| dispute.state),
        case.dispute.and_then(|dispute| dispute.respond_by));
    let done = tx.changed(query).await?;
    Ok((done == 1).then_some(id))
}

/// Stops the refunds to a payer who disputes the payment. The case of the dispute is about the whole refund, so each partial
/// one gets a case of its own, from which staff begin it again.
async fn stop_refunds(tx: &mut Tx, payment: &str) -> sqlx::Result<()> {
    for part in refunds::stop_all(tx, payment).await? {
        let case = NewCase::about(CaseKind::RefundFailed, payment, STOPPED_BY_DISPUTE);
        open(tx, &NewCase { part: Some(part), ..case }, tx.now).await?;
    }
    Ok(())
}

/// Opens the case of a dispute, or writes down how far the dispute is. What is told after its end is old. One that the shop
/// has won settles its own case, unless a refund waits there for the staff. Returns whether the case is new.
async fn follow_dispute(tx: &mut Tx, case: &NewCase<'_>, dispute: &Dispute) -> sqlx::Result<bool> {
    let now = tx.now;
    let sql =
        "SELECT id, dispute_state FROM payment_cases WHERE payment_id = $1 AND kind = 'disputed' AND dispute_id = $2";
    let known = tx.fetch_optional(query!(sql; case.payment, &dispute.id)).await?;
    let (id, is_new) = match &known {
        Some(known) if row::text(known, "dispute_state")? != DisputeState::Open.as_str() => return Ok(false),
        Some(known) => (row::text(known, "id")?, false),
        None => {
            if dispute.state != DisputeState::Won {
                stop_refunds(tx, case.payment).await?;
            }
            // Another dispute of the payment may be told in the same words.
            let details = format!("{} ({})", case.details, dispute.id);
            let Some(id) = open(tx, &NewCase { details: &details, ..*case }, now).await? else { return Ok(false) };
            (id, true)
        }
    };
    let sql = "UPDATE payment_cases SET dispute_state = $2, respond_by_ms = $3 WHERE id = $1";
    tx.run(query!(sql; &id, dispute.state, dispute.respond_by)).await?;
    match dispute.state {
        DisputeState::Open => {}
        DisputeState::Won => {
            let sql = "UPDATE payment_cases SET settled_at_ms = $2, settled_by = '' WHERE id = $1 AND settled_at_ms IS NULL
                 AND NOT EXISTS (SELECT 1 FROM payments WHERE id = payment_cases.payment_id AND status = 'refund_pending')";
            tx.run(query!(sql; id, now)).await?;
        }
        // Staff have to see that the money is gone, also if they had settled the case before.
        DisputeState::Lost => {
            let sql = "UPDATE payment_cases SET settled_at_ms = NULL, settled_by = NULL, note = NULL WHERE id = $1";
            tx.run(query!(sql; id)).await?;
        }
    }
    Ok(is_new)
}

async fn settle(tx: &mut Tx, id: &str, reason: AuditReason<'_>) -> sqlx::Result<bool> {
    let sql = "UPDATE payment_cases SET settled_at_ms = $2, settled_by = $3, note = $4
         WHERE id = $1 AND settled_at_ms IS NULL";
    Ok(tx.changed(query!(sql; id, tx.now, reason.actor, reason.note)).await? == 1)
}

/// Leaves held money to the shop once the last case about it is settled. Money that went back is not held any more.
async fn keep_held(tx: &mut Tx, of: &PaymentCase) -> sqlx::Result<()> {
    if of.kind != CaseKind::Mismatched {
        return Ok(());
    }
    let sql = "UPDATE payments SET kept_at_ms = $2
         WHERE id = $1 AND held_at_ms IS NOT NULL AND kept_at_ms IS NULL AND unheld_at_ms IS NULL
           AND status <> 'refunded'
           AND NOT EXISTS (SELECT 1 FROM payment_cases
             WHERE payment_id = $1 AND kind = 'mismatched' AND settled_at_ms IS NULL)";
    tx.run(query!(sql; &of.payment_id, tx.now)).await
}

/// Disputes of an order's payments that were reported after a time. They count when they are settled, too: the payer may
/// have won. If the shop has won, a refund pays nothing twice.
pub(super) const DISPUTED: &str = "SELECT 1 FROM payment_cases WHERE kind = 'disputed' AND opened_at_ms > $2
     AND (dispute_state IS NULL OR dispute_state <> 'won')
     AND payment_id IN (SELECT id FROM payments WHERE order_id = $1) LIMIT 1";

async fn is_open(tx: &mut Tx, id: &str) -> sqlx::Result<bool> {
    tx.exists(query!("SELECT 1 FROM payment_cases WHERE id = $1 AND settled_at_ms IS NULL"; id)).await
}
