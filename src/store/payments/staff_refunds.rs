//! Refunds that staff ask for. All refunds that one person makes alone within [`ALONE_PERIOD`] are added up, of whole
//! orders and of parts. Beyond a bound a refund waits for a second person, who approves or declines it.
//!
//! **Once.** The approval and the beginning of the refund are one transaction. The request leaves `pending` by a
//! conditional update, so if two persons approve at once, only one begins the refund. A transaction that fails leaves
//! it pending.
//!
//! **Expiry.** Reading decides it: a request that is `pending` after its time is shown as expired and cannot be
//! approved.

use std::fmt;
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use serde_json::json;

use super::approvals::{Approval, columns};
use super::cases::{self, CaseAction, DISPUTED, PaymentCase};
use super::refunds::RefundRefusal;
use super::refunds::{self, NewPartialRefund, captured};
use crate::orders::returns::{self, ReceivedReturn};
use crate::orders::{read, staff_actions};
use crate::{AuditReason, HeldUnits, PaymentStore, StaffAction, StoreResult, Tx, column};
use domain::ledger::CURRENCY;
use domain::{
    ApprovalStatus, AuditAction, Currency, Money, OrderId, RefundId, RefundKind, RefundTarget, SaleId, UserId,
};

/// Refunds of one person within this time count together.
const ALONE_PERIOD: Duration = Duration::from_secs(24 * 3600);
/// How long a request waits. It is long enough for a weekend.
pub(crate) const APPROVAL_LIFETIME: Duration = Duration::from_secs(72 * 3600);

/// What a member of the staff asks to be refunded.
#[derive(Debug, Clone, Copy)]
pub enum StaffRefund<'a> {
    /// All that is left of a paid order's payment. Its units go back on sale.
    Order(SaleId, OrderId),
    /// Like `Order`, but only if the order is held when the refund begins.
    HeldOrder(SaleId, OrderId),
    /// A part of an order's payment, or all of it, while the order stays paid. The id of the request replaces its id.
    Part(NewPartialRefund),
    /// Receives the goods of a return, and refunds all that is left of the order's payment or a part of it.
    Return(ReceivedReturn),
    /// The payment that a case is about.
    Case(&'a PaymentCase),
}

/// For logs.
impl fmt::Display for StaffRefund<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StaffRefund::Order(_, order) => write!(f, "order {order}"),
            StaffRefund::HeldOrder(_, order) => write!(f, "held order {order}"),
            StaffRefund::Part(part) => write!(f, "part of order {}", part.order),
            StaffRefund::Return(of) => write!(f, "return of order {}", of.order),
            StaffRefund::Case(case) => write!(f, "case {}", case.id),
        }
    }
}

impl StaffRefund<'_> {
    /// The order whose money would go back. `None` if the payment is for no order.
    fn order(&self) -> Option<OrderId> {
        match self {
            StaffRefund::Order(_, order) | StaffRefund::HeldOrder(_, order) => Some(*order),
            StaffRefund::Part(part) => Some(part.order),
            StaffRefund::Return(of) => Some(of.order),
            StaffRefund::Case(case) => case.order(),
        }
    }

    /// As [`StaffRefund::order`]. `None` also if the refund is an answer to a dispute.
    fn order_in_question(&self) -> Option<OrderId> {
        if let StaffRefund::Case(case) = self { case.order_in_question() } else { self.order() }
    }
}

/// What happens to a refund of a payment that is or was disputed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfDisputed {
    Refuse,
    /// The member of the staff knows of the dispute and confirms the refund.
    Refund,
}

impl From<bool> for IfDisputed {
    fn from(is_confirmed: bool) -> IfDisputed {
        if is_confirmed { IfDisputed::Refund } else { IfDisputed::Refuse }
    }
}

/// A refund that a member of the staff asks for.
#[derive(Debug, Clone, Copy)]
pub struct NewStaffRefund<'a> {
    /// The id stays the same for all attempts of one request.
    pub id: RefundId,
    pub what: StaffRefund<'a>,
    /// The account of `reason.actor`.
    pub by: UserId,
    pub reason: AuditReason<'a>,
    pub if_disputed: IfDisputed,
}

/// The outcome of a refund that a member of the staff asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StaffRefundOutcome {
    /// The refund is under way, or was begun before under the same id. It has the order's units if they go back on sale
    /// now.
    Begun(Option<HeldUnits>),
    /// The refund waits for a second person, or waited under the same id.
    Waits(RefundId),
    /// Another request about the same order or payment waits.
    OtherWaits,
    Refused(RefundRefusal),
}

/// For logs.
impl fmt::Display for StaffRefundOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StaffRefundOutcome::Begun(_) => f.write_str("begun"),
            StaffRefundOutcome::Waits(id) => write!(f, "waits as {id}"),
            StaffRefundOutcome::OtherWaits => f.write_str("another waits"),
            StaffRefundOutcome::Refused(refusal) => write!(f, "refused: {refusal}"),
        }
    }
}

/// The outcome of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalOutcome {
    /// The refund is under way. It has the order's units if they go back on sale.
    Approved(Option<HeldUnits>),
    Declined,
    /// The request was decided before, or had expired.
    Closed,
    /// The refund is no longer possible. The request ends.
    Void,
    /// The payment was disputed after the refund was asked for. The request waits on.
    Disputed,
}

/// For logs.
impl fmt::Display for ApprovalOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ApprovalOutcome::Approved(_) => "approved",
            ApprovalOutcome::Declined => "declined",
            ApprovalOutcome::Closed => "closed before",
            ApprovalOutcome::Void => "void",
            ApprovalOutcome::Disputed => "disputed",
        })
    }
}

#[boxed]
impl PaymentStore<'_> {
    /// Begins a refund. If this refund and the refunds that the same person made alone within [`ALONE_PERIOD`] exceed
    /// `alone`, in whole units of the currency, asks for a second person instead. `None` sets no bound. All of it is
    /// one transaction, with its lines in the audit log.
    pub async fn refund_for_staff(
        self,
        new: &NewStaffRefund<'_>,
        alone: Option<i64>,
    ) -> StoreResult<StaffRefundOutcome> {
        let mut tx = self.begin().await?;
        // Serializes refunds of one person, so that each sees the other in the sum.
        tx.lock_user(new.by).await?;
        if let Some(known) = outcome_of(&mut tx, new.id).await? {
            return Ok(known);
        }
        if new.if_disputed == IfDisputed::Refuse && is_disputed(&mut tx, new.what, Timestamp::UNIX_EPOCH).await? {
            return Ok(StaffRefundOutcome::Refused(RefundRefusal::Disputed));
        }
        let amount = match amount_of(&mut tx, new).await? {
            Ok(amount) => amount,
            Err(refusal) => return Ok(StaffRefundOutcome::Refused(refusal)),
        };
        if let (Some(alone), Some(amount)) = (alone, amount.filter(|amount| amount.amount > 0))
            && moved_alone(&mut tx, new.by, amount.currency).await?.saturating_add(amount.amount)
                > Money::whole(alone, amount.currency).amount
        {
            let is_new = ask(&mut tx, new, amount).await?;
            return tx
                .commit_and(if is_new { StaffRefundOutcome::Waits(new.id) } else { StaffRefundOutcome::OtherWaits })
                .await;
        }
        let held = match begin(&mut tx, new.id, new.what, new.reason).await? {
            Ok(held) => held,
            Err(refusal) => return Ok(StaffRefundOutcome::Refused(refusal)),
        };
        if let Some(amount) = amount {
            insert(&mut tx, new, amount, "not_needed").await?;
        }
        tx.commit_and(StaffRefundOutcome::Begun(held)).await
    }

    /// Approves a request under the name `actor` and begins its refund, in one transaction. `by` is the account of
    /// `actor`. It must not be the account that asked.
    pub async fn approve_refund(self, of: &Approval, by: UserId, actor: &str) -> StoreResult<ApprovalOutcome> {
        let case = match &of.case {
            Some(case) => self.payment_case(case).await?,
            None => None,
        };
        let mut tx = self.begin().await?;
        let sql = "UPDATE staff_refunds SET approval = 'approved', decided_at_ms = $2, decided_by = $3
             WHERE id = $1 AND approval = 'pending' AND expires_at_ms > $2 AND requested_by <> $4";
        if tx.changed(query!(sql; of.id, tx.now, actor, by)).await? == 0 {
            return Ok(ApprovalOutcome::Closed);
        }
        log_decision(&mut tx, of, actor, AuditAction::ApproveRefund, ApprovalStatus::Approved, None).await?;
        let reason = AuditReason { actor: &of.requester, note: &of.note, message: of.message.as_deref() };
        let begun = match what_of(&mut tx, of, case.as_ref()).await? {
            Some(what) if is_disputed(&mut tx, what, of.requested_at).await? => return Ok(ApprovalOutcome::Disputed),
            Some(what) => begin(&mut tx, of.id, what, reason).await?,
            None => Err(RefundRefusal::WrongStatus),
        };
        match begun {
            Ok(held) => tx.commit_and(ApprovalOutcome::Approved(held)).await,
            Err(_) => {
                drop(tx);
                self.end_request(of, ApprovalStatus::Void, actor, None).await
            }
        }
    }

    /// Declines a request under the name `actor`.
    pub async fn decline_refund(self, of: &Approval, actor: &str, note: &str) -> StoreResult<ApprovalOutcome> {
        self.end_request(of, ApprovalStatus::Declined, actor, Some(note)).await
    }

    /// Ends a request without a refund.
    pub(crate) async fn end_request(
        self,
        of: &Approval,
        status: ApprovalStatus,
        actor: &str,
        note: Option<&str>,
    ) -> StoreResult<ApprovalOutcome> {
        let mut tx = self.begin().await?;
        let sql = "UPDATE staff_refunds SET approval = $3, decided_at_ms = $2, decided_by = $4, decision_note = $5
             WHERE id = $1 AND approval = 'pending' AND expires_at_ms > $2";
        if tx.changed(query!(sql; of.id, tx.now, status, actor, note)).await? == 0 {
            return Ok(ApprovalOutcome::Closed);
        }
        let (action, outcome) = match (status, of.kind) {
            (ApprovalStatus::Void, RefundKind::Packet) => (AuditAction::VoidPacket, ApprovalOutcome::Void),
            (ApprovalStatus::Void, _) => (AuditAction::VoidRefund, ApprovalOutcome::Void),
            (_, RefundKind::Packet) => (AuditAction::DeclinePacket, ApprovalOutcome::Declined),
            _ => (AuditAction::DeclineRefund, ApprovalOutcome::Declined),
        };
        log_decision(&mut tx, of, actor, action, status, note).await?;
        tx.commit_and(outcome).await
    }
}

async fn is_disputed(tx: &mut Tx, what: StaffRefund<'_>, since: Timestamp) -> sqlx::Result<bool> {
    let Some(order) = what.order_in_question() else { return Ok(false) };
    tx.exists(query!(DISPUTED; order, since)).await
}

/// The outcome of the request with this id, if there is one.
async fn outcome_of(tx: &mut Tx, id: RefundId) -> sqlx::Result<Option<StaffRefundOutcome>> {
    let query = query!("SELECT approval FROM staff_refunds WHERE id = $1"; id);
    let approval: Option<String> = tx.optional(query, column("approval")).await?;
    Ok(approval.map(|approval| match approval.as_str() {
        "not_needed" => StaffRefundOutcome::Begun(None),
        _ => StaffRefundOutcome::Waits(id),
    }))
}

/// The money that a refund would move. `None` if the refund was decided before.
async fn amount_of(tx: &mut Tx, new: &NewStaffRefund<'_>) -> sqlx::Result<Result<Option<Money>, RefundRefusal>> {
    // This does not lock the order, because an approving transaction holds its request's row while it waits for the
    // order.
    Ok(match new.what {
        StaffRefund::Order(_, order) | StaffRefund::HeldOrder(_, order) => match captured(tx, order).await? {
            Some(of) => Ok(Some(of.refundable())),
            None if staff_actions::is_confirmed_elsewhere(tx, order).await? => Ok(None),
            None => Err(RefundRefusal::WrongStatus),
        },
        StaffRefund::Part(part) => {
            let part = NewPartialRefund { id: new.id, ..part };
            refunds::check_partial(tx, &part).await?.map(|_| Some(part.amount))
        }
        StaffRefund::Return(of) => returns::check(tx, &of).await?.map(|(amount, _)| Some(amount)),
        StaffRefund::Case(case) if case.takes_refund() => Ok(case.undecided()),
        StaffRefund::Case(_) => Err(RefundRefusal::WrongStatus),
    })
}

/// The sum that a person has refunded, and given away from the shop's purse, alone within the period.
pub(crate) async fn moved_alone(tx: &mut Tx, by: UserId, currency: Currency) -> sqlx::Result<i64> {
    let sql = "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) AS moved FROM (
           SELECT amount FROM staff_refunds
             WHERE requested_by = $1 AND requested_at_ms > $2 AND currency = $3 AND approval = 'not_needed'
           UNION ALL
           SELECT total AS amount FROM packets WHERE giver IS NULL AND given_by = $1 AND approved_by IS NULL
             AND created_at_ms > $2 AND $3 = $4) alone";
    tx.one(query!(sql; by, tx.now - ALONE_PERIOD, currency, CURRENCY), column("moved")).await
}

/// Begins a refund. The caller must drop the transaction if it is refused.
async fn begin(
    tx: &mut Tx,
    id: RefundId,
    what: StaffRefund<'_>,
    reason: AuditReason<'_>,
) -> sqlx::Result<Result<Option<HeldUnits>, RefundRefusal>> {
    let now = tx.now;
    match what {
        StaffRefund::Order(sale, order) | StaffRefund::HeldOrder(sale, order) => {
            let is_any = matches!(what, StaffRefund::Order(..));
            let action = if is_any { StaffAction::Refund } else { StaffAction::RefundHeld };
            let held = staff_actions::apply(tx, (sale, order), action, reason, now).await?;
            Ok(held.map(Some).ok_or(RefundRefusal::WrongStatus))
        }
        StaffRefund::Part(part) => {
            let begun = refunds::begin_partial(tx, &NewPartialRefund { id, ..part }, reason).await?;
            Ok(begun.map(|()| None))
        }
        StaffRefund::Return(of) => returns::receive(tx, id, &of, reason).await,
        StaffRefund::Case(case) => {
            let begun = cases::apply(tx, case, CaseAction::Refund, reason).await?;
            Ok(if begun { Ok(None) } else { Err(RefundRefusal::WrongStatus) })
        }
    }
}

/// The refund that a request asks for. `None` if its order or case is gone.
async fn what_of<'a>(
    tx: &mut Tx,
    of: &Approval,
    case: Option<&'a PaymentCase>,
) -> sqlx::Result<Option<StaffRefund<'a>>> {
    if let (Some(order), Some(restock)) = (of.order, of.restock) {
        let amount = Some(of.amount);
        let found = read(tx, order).await?;
        return Ok(
            found.map(|found| StaffRefund::Return(ReceivedReturn { sale: found.sale_id, order, amount, restock }))
        );
    }
    Ok(match (of.kind, of.order) {
        (RefundKind::Order, Some(order)) => {
            read(tx, order).await?.map(|found| StaffRefund::Order(found.sale_id, order))
        }
        (RefundKind::Part, Some(order)) => {
            Some(StaffRefund::Part(NewPartialRefund { id: of.id, order, amount: of.amount, to: of.to }))
        }
        (RefundKind::Case, _) => case.map(StaffRefund::Case),
        _ => None,
    })
}

/// Records a request, with a line in the audit log. Returns `false` if another request about the same order or payment
/// waits.
async fn ask(tx: &mut Tx, new: &NewStaffRefund<'_>, amount: Money) -> sqlx::Result<bool> {
    let subject = subject_of(new.what);
    let sql = "UPDATE staff_refunds SET approval = 'expired'
         WHERE subject = $1 AND approval = 'pending' AND expires_at_ms <= $2";
    tx.run(query!(sql; &subject, tx.now)).await?;
    if !insert(tx, new, amount, "pending").await? {
        return Ok(false);
    }
    let after = json!({"request": new.id, "approval": ApprovalStatus::Pending, "amount": amount,
        "kind": kind_of(new.what), "to": target_of(new.what), "reason": new.reason.note,
        "message": new.reason.message, "restocked": restock_of(new.what), "expires_at": tx.now + APPROVAL_LIFETIME});
    tx.log(new.reason.actor, AuditAction::RequestRefund, &subject, None, Some(&after), tx.now).await?;
    Ok(true)
}

async fn insert(tx: &mut Tx, new: &NewStaffRefund<'_>, amount: Money, approval: &str) -> sqlx::Result<bool> {
    let case = if let StaffRefund::Case(case) = new.what { Some(&case.id) } else { None };
    let sql = concat!(
        "INSERT INTO staff_refunds (",
        columns!(),
        ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, NULL, NULL, NULL, NULL, NULL, NULL, $16)
         ON CONFLICT DO NOTHING"
    );
    let query = query!(sql; new.id, kind_of(new.what), subject_of(new.what), new.what.order(), case, amount.amount,
        amount.currency, target_of(new.what), new.by, new.reason.actor, new.reason.note, new.reason.message, tx.now,
        approval, tx.now + APPROVAL_LIFETIME, restock_of(new.what));
    Ok(tx.changed(query).await? == 1)
}

pub(crate) async fn log_decision(
    tx: &mut Tx,
    of: &Approval,
    actor: &str,
    action: AuditAction,
    status: ApprovalStatus,
    note: Option<&str>,
) -> sqlx::Result<()> {
    let before = json!({"request": of.id, "approval": ApprovalStatus::Pending, "amount": of.amount,
        "requested_by": of.requester});
    let after = json!({"request": of.id, "approval": status, "amount": of.amount, "requested_by": of.requester,
        "reason": note});
    tx.log(actor, action, &of.subject, Some(&before), Some(&after), tx.now).await
}

fn subject_of(what: StaffRefund<'_>) -> String {
    match what {
        StaffRefund::Order(_, order)
        | StaffRefund::HeldOrder(_, order)
        | StaffRefund::Part(NewPartialRefund { order, .. })
        | StaffRefund::Return(ReceivedReturn { order, .. }) => format!("order {order}"),
        StaffRefund::Case(case) => case.subject(),
    }
}

fn kind_of(what: StaffRefund<'_>) -> RefundKind {
    match what {
        StaffRefund::Order(..) | StaffRefund::HeldOrder(..) => RefundKind::Order,
        StaffRefund::Part(_) | StaffRefund::Return(_) => RefundKind::Part,
        StaffRefund::Case(_) => RefundKind::Case,
    }
}

/// Whether the units of a return go back on sale. `None` for any other refund.
fn restock_of(what: StaffRefund<'_>) -> Option<bool> {
    match what {
        StaffRefund::Return(of) => Some(of.restock),
        _ => None,
    }
}

fn target_of(what: StaffRefund<'_>) -> RefundTarget {
    match what {
        StaffRefund::Part(part) => part.to,
        _ => RefundTarget::Payer,
    }
}
