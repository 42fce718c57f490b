//! Several orders: packed, sent, delivered, cancelled, refunded, held, released.

use crate::lists::bulk::{BulkAction, BulkFields, BulkForm, BulkItem, BulkPage, BulkVerdict, Picked, answer, missing};
use crate::prelude::*;
use domain::RefundId;
use domain::order::check_hold_reason;
use domain::parcel::{OrderFacts, ParcelChange, ParcelLabel, ParcelMove, ParcelMover, ParcelRefusal, decide};
use orders::holds::{HoldAction, HoldOutcome};
use orders::support::{StaffActionOutcome, StaffActionReason};
use payments::staff_refunds::RefundAnswer;
use store::{AuditReason, IfDisputed, ParcelActor, RefundRefusal, StaffRefund};

wire_enum! {
    /// What staff do with several orders.
    pub enum BulkOrderAction {
        Pack = "pack",
        Ship = "ship",
        Deliver = "deliver",
        Cancel = "cancel",
        Refund = "refund",
        Hold = "hold",
        Release = "release",
    }
}

impl BulkOrderAction {
    fn ends_orders(self) -> bool {
        matches!(self, BulkOrderAction::Cancel | BulkOrderAction::Refund)
    }

    /// Where the action says that the parcels are.
    fn parcel(self) -> Option<ParcelState> {
        match self {
            BulkOrderAction::Pack => Some(ParcelState::Packed),
            BulkOrderAction::Ship => Some(ParcelState::Shipped),
            BulkOrderAction::Deliver => Some(ParcelState::Delivered),
            _ => None,
        }
    }

    /// Whether the buyer reads the reason. Other actions have a reason for staff, and a message to the buyer.
    fn is_hold(self) -> bool {
        matches!(self, BulkOrderAction::Hold | BulkOrderAction::Release)
    }
}

impl BulkAction for BulkOrderAction {
    const LIST: &'static str = "/admin/orders";
    const BULK: &'static str = "/admin/orders/bulk";

    fn texts(self, t: &Text) -> (&'static str, &'static str) {
        match self {
            BulkOrderAction::Pack => (t.parcels.pack, t.bulk.orders_pack),
            BulkOrderAction::Ship => (t.parcels.ship, t.bulk.orders_ship),
            BulkOrderAction::Deliver => (t.parcels.deliver, t.bulk.orders_deliver),
            BulkOrderAction::Cancel => (t.support.cancel, t.bulk.orders_cancel),
            BulkOrderAction::Refund => (t.support.refund, t.bulk.orders_refund),
            BulkOrderAction::Hold => (t.holds.hold, t.bulk.orders_hold),
            BulkOrderAction::Release => (t.holds.release, t.bulk.orders_release),
        }
    }

    fn undo(self) -> Option<BulkOrderAction> {
        match self {
            BulkOrderAction::Hold => Some(BulkOrderAction::Release),
            BulkOrderAction::Release => Some(BulkOrderAction::Hold),
            _ => None,
        }
    }

    fn fields(self, t: &Text) -> BulkFields {
        match self {
            action if action.is_hold() => BulkFields::Reason(t.holds.reason),
            action if action.parcel().is_some() => BulkFields::None,
            _ => BulkFields::ReasonAndMessage,
        }
    }

    fn is_dangerous(self) -> bool {
        self.ends_orders()
    }
}

const LIST: &str = BulkOrderAction::LIST;

type Visit = StaffVisit<SupportShoppers>;

/// The summary.
pub async fn summary(
    (State(shop), staff, visitor): Visit,
    LongForm(fields): LongForm<Vec<(String, String)>>,
) -> Answer {
    let Picked { action, ids, warning } = Picked::read(&visitor, &fields)?;
    let page = summary_of(&shop, &staff, &visitor, action, &ids).await?;
    answer(BulkPage { warning, ..page })
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
    Ok(BulkPage::new(visitor, action, items, true))
}

fn wanted(order: &Order, to: ParcelState) -> ParcelMove {
    ParcelMove { order: order.id, to, label: ParcelLabel::default(), seen: None }
}

fn parcel_refusal(visitor: &Visitor, refusal: ParcelRefusal) -> String {
    words::problem(refusal.as_str()).text(visitor.locale).to_owned()
}

/// Why an order cannot be refunded as a whole although it is paid.
async fn away(shop: &Shop, visitor: &Visitor, order: &Order) -> StoreResult<Option<String>> {
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
) -> StoreResult<Option<String>> {
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

handlers! {
    act(visit: Visit, form: Form<BulkForm>)
    pack BulkOrderAction::Pack;
    ship BulkOrderAction::Ship;
    deliver BulkOrderAction::Deliver;
    cancel BulkOrderAction::Cancel;
    refund BulkOrderAction::Refund;
    hold BulkOrderAction::Hold;
    release BulkOrderAction::Release;
}

async fn act((State(shop), staff, visitor): Visit, Form(form): Form<BulkForm>, action: BulkOrderAction) -> Answer {
    let ids = form.ids::<OrderId>()?;
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
    answer(BulkPage::new(&visitor, action, items, false))
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
) -> StoreResult<BulkVerdict> {
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
) -> StoreResult<BulkVerdict> {
    let Text { bulk: t, approvals, .. } = words::text(visitor.locale);
    let not_done = |why: &str| BulkVerdict::NotDone(why.to_owned());
    let (by, audit): (_, AuditReason<'_>) = (staff.session.user_id, reason.by(staff.actor()));
    if action.ends_orders() && shop.orders.hold(order).await?.is_some() && audit.message.is_none() {
        return Ok(not_done(t.held_needs_message));
    }
    let change = match action {
        BulkOrderAction::Cancel => {
            return Ok(match shop.orders.cancel_for_staff(order, by, audit).await? {
                StaffActionOutcome::Done => BulkVerdict::Done,
                StaffActionOutcome::WrongStatus => not_done(t.changed),
                StaffActionOutcome::OwnOrder => not_done(t.own_order),
            });
        }
        BulkOrderAction::Refund => {
            let what = StaffRefund::Order(order.sale_id, order.id);
            return Ok(
                match shop.staff_refunds.refund(RefundId(Uuid::now_v7()), what, by, audit, IfDisputed::Refuse).await? {
                    RefundAnswer::Begun => BulkVerdict::Done,
                    RefundAnswer::Waits(_) => BulkVerdict::Waits,
                    RefundAnswer::OtherWaits => not_done(t.other_waits),
                    RefundAnswer::Refused(RefundRefusal::Disputed) => not_done(approvals.disputed),
                    RefundAnswer::Refused(_) => not_done(t.changed),
                    RefundAnswer::OwnPayment => not_done(t.own_order),
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
        HoldOutcome::OwnOrder => not_done(t.own_order),
        HoldOutcome::Unchanged | HoldOutcome::OrderEnded => not_done(t.changed),
    })
}
