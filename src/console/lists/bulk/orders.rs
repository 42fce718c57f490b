//! Several orders: packed, sent, delivered, cancelled, refunded, held, released.

use tracing::warn;
use uuid::Uuid;

use crate::StaffVisit;
use crate::lists::bulk::{
    BulkFields, BulkForm, BulkItem, BulkOrderAction, BulkPage, BulkVerdict, PickedForm, answer, distinct, missing,
    size_warning,
};
use domain::order::check_hold_reason;
use domain::parcel::{OrderFacts, ParcelChange, ParcelLabel, ParcelMove, ParcelMover, ParcelRefusal, decide};
use domain::{Order, OrderId, OrderStatus, ParcelState, RefundId};
use orders::holds::{HoldAction, HoldOutcome};
use orders::support::{StaffActionOutcome, StaffActionReason};
use payments::staff_refunds::RefundAnswer;
use store::{AuditReason, IfDisputed, ParcelActor, RefundRefusal, StaffRefund, StoreError};
use web::extract::{Form, LongForm, Staff, State, SupportShoppers, Visitor};
use web::{Answer, Problem, Shop};
use words::{self, fill};

const LIST: &str = "/admin/orders";
const BULK: &str = "/admin/orders/bulk";

type Visit = StaffVisit<SupportShoppers>;

/// The summary.
pub async fn summary(
    (State(shop), staff, visitor): Visit,
    LongForm(fields): LongForm<Vec<(String, String)>>,
) -> Answer {
    let PickedForm { ids, action } = PickedForm::<OrderId, BulkOrderAction>::read(&fields)?;
    let ids = distinct(&ids);
    let warning = size_warning(&visitor, ids.len());
    let mut page = summary_of(&shop, &staff, &visitor, action, if warning.is_some() { &[] } else { &ids }).await?;
    page.warning = warning;
    answer(page)
}

async fn summary_of(
    shop: &Shop,
    staff: &Staff<SupportShoppers>,
    visitor: &Visitor,
    action: BulkOrderAction,
    ids: &[OrderId],
) -> Result<BulkPage, Problem> {
    let mut items = Vec::new();
    for id in ids {
        items.push(match shop.store.orders().order_with_id(*id).await? {
            Some(order) => {
                let is_held = shop.orders.hold(&order).await?.is_some();
                let is_own = order.user_id == staff.session.user_id;
                let why = match action.parcel() {
                    Some(to) => parcel_obstacle(shop, visitor, &order, is_held, to).await?,
                    None => match obstacle(visitor, action, &order, is_held, is_own) {
                        None if action == BulkOrderAction::Refund => away(shop, visitor, &order).await?,
                        obstacle => obstacle,
                    },
                };
                let verdict = why.map_or(BulkVerdict::Will, BulkVerdict::WillNot);
                item(visitor, &order, verdict)
            }
            None => missing(visitor, id, LIST),
        });
    }
    Ok(page(visitor, action, items, Some(format!("{BULK}/{action}"))))
}

fn wanted(order: &Order, to: ParcelState) -> ParcelMove {
    ParcelMove { order: order.id, to, label: ParcelLabel::default(), seen: None }
}

fn parcel_refusal(visitor: &Visitor, refusal: ParcelRefusal) -> String {
    words::problem(refusal.as_str()).text(visitor.locale).to_owned()
}

/// Why an order cannot be refunded as a whole although it is paid.
async fn away(shop: &Shop, visitor: &Visitor, order: &Order) -> Result<Option<String>, StoreError> {
    let parcel = shop.store.orders().parcel_of(order.id).await?;
    let is_away = parcel.is_some_and(|parcel| !parcel.state().is_with_shop());
    Ok(is_away.then(|| words::text(visitor.locale).parcels.away.to_owned()))
}

/// Why the parcel of an order cannot be moved.
async fn parcel_obstacle(
    shop: &Shop,
    visitor: &Visitor,
    order: &Order,
    is_held: bool,
    to: ParcelState,
) -> Result<Option<String>, StoreError> {
    let parcel = shop.store.orders().parcel_of(order.id).await?;
    let facts = OrderFacts { status: order.status, is_held, has_address: order.address.is_some() };
    let decided = decide(facts, parcel.as_ref(), &wanted(order, to), ParcelMover::Staff);
    Ok(match decided {
        Ok(ParcelChange::Step(_)) => None,
        Ok(ParcelChange::Unchanged) => Some(words::text(visitor.locale).bulk.is_so.to_owned()),
        Err(refusal) => Some(parcel_refusal(visitor, refusal)),
    })
}

/// Why the action cannot apply to an order.
fn obstacle(visitor: &Visitor, action: BulkOrderAction, order: &Order, is_held: bool, is_own: bool) -> Option<String> {
    let t = words::text(visitor.locale);
    let has_status = match action {
        BulkOrderAction::Cancel => order.status == OrderStatus::Unpaid,
        BulkOrderAction::Refund => order.status == OrderStatus::Paid,
        _ => order.status.is_live(),
    };
    if is_own {
        Some(t.bulk.own_order.to_owned())
    } else if !has_status {
        Some(fill(t.bulk.is_status, t.status(&order.status)))
    } else if action == BulkOrderAction::Hold && is_held {
        Some(t.bulk.is_held.to_owned())
    } else if action == BulkOrderAction::Release && !is_held {
        Some(t.bulk.not_held.to_owned())
    } else {
        None
    }
}

fn item(visitor: &Visitor, order: &Order, verdict: BulkVerdict) -> BulkItem {
    let path = format!("{LIST}/{}?lang={}", order.id, visitor.locale);
    BulkItem::new(&order.id, path, order.number_text(), order.amount.to_string(), verdict)
}

fn page(visitor: &Visitor, action: BulkOrderAction, items: Vec<BulkItem>, form: Option<String>) -> BulkPage {
    let t = words::text(visitor.locale);
    let chrome = visitor.chrome_at(format!("{LIST}?lang={}", visitor.locale));
    BulkPage {
        undo: action.undo().filter(|_| form.is_none()).map(|undo| (BULK, undo.as_str(), undo.verb(t))),
        fields: match action {
            action if action.is_hold() => BulkFields::Reason,
            action if action.parcel().is_some() => BulkFields::None,
            _ => BulkFields::ReasonAndMessage,
        },
        reason_label: t.holds.reason,
        is_dangerous: action.ends_orders(),
        ..BulkPage::new(chrome, (action.verb(t), action.words(t)), items, form)
    }
}

pub async fn pack(visit: Visit, Form(form): Form<BulkForm>) -> Answer {
    act(visit, BulkOrderAction::Pack, form).await
}

pub async fn ship(visit: Visit, Form(form): Form<BulkForm>) -> Answer {
    act(visit, BulkOrderAction::Ship, form).await
}

pub async fn deliver(visit: Visit, Form(form): Form<BulkForm>) -> Answer {
    act(visit, BulkOrderAction::Deliver, form).await
}

pub async fn cancel(visit: Visit, Form(form): Form<BulkForm>) -> Answer {
    act(visit, BulkOrderAction::Cancel, form).await
}

pub async fn refund(visit: Visit, Form(form): Form<BulkForm>) -> Answer {
    act(visit, BulkOrderAction::Refund, form).await
}

pub async fn hold(visit: Visit, Form(form): Form<BulkForm>) -> Answer {
    act(visit, BulkOrderAction::Hold, form).await
}

pub async fn release(visit: Visit, Form(form): Form<BulkForm>) -> Answer {
    act(visit, BulkOrderAction::Release, form).await
}

async fn act((State(shop), staff, visitor): Visit, action: BulkOrderAction, form: BulkForm) -> Answer {
    let ids = distinct(&form.ids::<OrderId>()?);
    let reason = match checked_reason(action, &form) {
        Ok(reason) if form.confirm == "yes" => reason,
        checked => {
            let mut page = summary_of(&shop, &staff, &visitor, action, &ids).await?;
            page.errors = form.errors(checked.err().unwrap_or_default());
            (page.reason, page.message) = (form.reason, form.message);
            return answer(page);
        }
    };
    let mut items = Vec::new();
    for id in &ids {
        let Some(order) = shop.store.orders().order_with_id(*id).await? else {
            items.push(missing(&visitor, id, LIST));
            continue;
        };
        let verdict = one(&shop, &staff, &visitor, action, &order, &reason).await.unwrap_or_else(|error| {
            warn!(order = %order.id, %error, %action, "one order of a batch failed; the others go on");
            BulkVerdict::NotDone(words::text(visitor.locale).bulk.failed.to_owned())
        });
        items.push(item(&visitor, &order, verdict));
    }
    answer(page(&visitor, action, items, None))
}

/// Checks the reason in the same way as the action on one order. Parcels are moved without one.
fn checked_reason(
    action: BulkOrderAction,
    form: &BulkForm,
) -> Result<StaffActionReason, Vec<(&'static str, &'static str)>> {
    if action.parcel().is_some() {
        return Ok(StaffActionReason::default());
    }
    if !action.is_hold() {
        return StaffActionReason::check(&form.reason, &form.message);
    }
    // The buyer reads the reason of a hold or release.
    let reason = check_hold_reason(&form.reason).map_err(|code| vec![("reason", code)])?;
    StaffActionReason::check(&reason, &reason)
}

async fn move_parcel(
    shop: &Shop,
    staff: &Staff<SupportShoppers>,
    visitor: &Visitor,
    order: &Order,
    to: ParcelState,
) -> Result<BulkVerdict, StoreError> {
    let moved = shop.orders.move_parcel(&wanted(order, to), ParcelActor::Staff(staff.actor())).await?;
    Ok(moved.map_or_else(|refusal| BulkVerdict::NotDone(parcel_refusal(visitor, refusal)), |_| BulkVerdict::Done))
}

async fn one(
    shop: &Shop,
    staff: &Staff<SupportShoppers>,
    visitor: &Visitor,
    action: BulkOrderAction,
    order: &Order,
    reason: &StaffActionReason,
) -> Result<BulkVerdict, StoreError> {
    let words::Text { bulk: t, approvals, .. } = words::text(visitor.locale);
    let (by, audit): (_, AuditReason<'_>) = (staff.session.user_id, reason.by(staff.actor()));
    if action.ends_orders() && shop.orders.hold(order).await?.is_some() && audit.message.is_none() {
        return Ok(BulkVerdict::NotDone(t.held_needs_message.to_owned()));
    }
    let change = match action {
        BulkOrderAction::Cancel => {
            return Ok(match shop.orders.cancel_for_staff(order, by, audit).await? {
                StaffActionOutcome::Done => BulkVerdict::Done,
                StaffActionOutcome::WrongStatus => BulkVerdict::NotDone(t.changed.to_owned()),
                StaffActionOutcome::OwnOrder => BulkVerdict::NotDone(t.own_order.to_owned()),
            });
        }
        BulkOrderAction::Refund => {
            let what = StaffRefund::Order(order.sale_id, order.id);
            return Ok(
                match shop.staff_refunds.refund(RefundId(Uuid::now_v7()), what, by, audit, IfDisputed::Refuse).await? {
                    RefundAnswer::Begun => BulkVerdict::Done,
                    RefundAnswer::Waits(_) => BulkVerdict::Waits,
                    RefundAnswer::OtherWaits => BulkVerdict::NotDone(t.other_waits.to_owned()),
                    RefundAnswer::Refused(RefundRefusal::Disputed) => {
                        BulkVerdict::NotDone(approvals.disputed.to_owned())
                    }
                    RefundAnswer::Refused(_) => BulkVerdict::NotDone(t.changed.to_owned()),
                    RefundAnswer::OwnPayment => BulkVerdict::NotDone(t.own_order.to_owned()),
                },
            );
        }
        BulkOrderAction::Pack => return move_parcel(shop, staff, visitor, order, ParcelState::Packed).await,
        BulkOrderAction::Ship => return move_parcel(shop, staff, visitor, order, ParcelState::Shipped).await,
        BulkOrderAction::Deliver => return move_parcel(shop, staff, visitor, order, ParcelState::Delivered).await,
        BulkOrderAction::Hold => HoldAction::Hold,
        BulkOrderAction::Release => HoldAction::Release,
    };
    Ok(match shop.orders.change_hold(order, change, by, audit).await? {
        HoldOutcome::Done => BulkVerdict::Done,
        HoldOutcome::Waits => BulkVerdict::Waits,
        HoldOutcome::OwnOrder => BulkVerdict::NotDone(t.own_order.to_owned()),
        HoldOutcome::Unchanged | HoldOutcome::OrderEnded => BulkVerdict::NotDone(t.changed.to_owned()),
    })
}
