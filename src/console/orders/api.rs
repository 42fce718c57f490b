//! Orders of shoppers: search, detail, cancellation, refund, and the feed of changes for programs that keep a copy of all
//! orders and must not miss one.

use crate::orders::reveal_recipient;
use crate::orders::search::OrderSearchQuery;
use crate::payment_cases::CaseJson;
use crate::prelude::*;
use domain::order::OrderStep;
use domain::{Address, PaymentId, RefundTarget, ReturnState};
use orders::support::{StaffActionOutcome, StaffActionReason, check_reveal_reason};
use payments::staff_refunds::RefundAnswer;
use store::{
    FoundOrder, IfDisputed, NewPartialRefund, PartialRefund, PaymentRecord, RefundRefusal, StaffRefund, WebhookRecord,
};
use web::shared::approvals::{self, ApprovalJson};
use web::shared::orders::{InvoiceJson, OrderJson, OrderList, ParcelJson, PartialRefundJson, ReturnJson};

#[derive(Serialize, JsonSchema)]
pub(crate) struct FoundOrderJson {
    user_id: UserId,
    username: Option<String>,
    /// When staff held the order, which is not delivered while it is held. `null` unless it is held.
    held_at: Option<Timestamp>,
    /// How far its return is. `null` if none was asked for.
    return_state: Option<ReturnState>,
    /// What was refunded, in parts and as a whole.
    refunded: Money,
    /// What another shop calls the order, if it was paid there. `null` for every other order.
    reference: Option<String>,
    #[serde(flatten)]
    order: OrderJson,
}

/// Orders with masked recipients, in the same order.
pub(crate) async fn found_orders(store: &Store, found: Vec<FoundOrder>) -> StoreResult<Vec<FoundOrderJson>> {
    let ids: Vec<OrderId> = found.iter().map(|found| found.order.id).collect();
    let refunded = store.payments().refunded_amounts(&ids).await?;
    let with_parcel = found.iter().filter(|found| found.parcel.is_some()).map(|found| found.order.id);
    let parcels = store.orders().parcels_of(&with_parcel.collect::<Vec<_>>()).await?;
    let json = |FoundOrder { order, username, held_at, returned: return_state, reference, .. }: FoundOrder| {
        let back = refunded.get(&order.id).copied().unwrap_or_default();
        let refunded = Money::new(back, order.amount.currency);
        let (user_id, parcel) = (order.user_id, parcels.get(&order.id).map(ParcelJson::from));
        let order = OrderJson { parcel, ..OrderJson::masked(order) };
        FoundOrderJson { user_id, username, held_at, return_state, refunded, reference, order }
    };
    Ok(found.into_iter().map(json).collect())
}

/// Orders that match, newest first.
pub async fn search((State(shop), _): StaffCall<ViewConsole>, Query(query): Query<OrderSearchQuery>) -> Answer {
    let parsed = query.read(&shop.store).await?.map_err(Problem::invalid)?;
    let found = shop.orders.search(parsed.search.as_ref(), parsed.limit).await?;
    let orders = found_orders(&shop.store, found.items).await?;
    Ok(private(OrderList { orders, next: found.next }))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct OneOrder {
    order: OrderDetail,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct OrderDetail {
    #[serde(flatten)]
    found: FoundOrderJson,
    history: Vec<OrderStep>,
    payments: Vec<AdminPaymentJson>,
    /// What needs, or needed, attention about its payments.
    cases: Vec<CaseJson>,
    /// Refunds of the order that needed a second person, or wait for one.
    approvals: Vec<ApprovalJson>,
}

#[derive(Serialize, JsonSchema)]
struct AdminPaymentJson {
    id: PaymentId,
    provider: String,
    /// The provider's own name of the payment, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    status: PaymentStatus,
    amount: Money,
    created_at: Timestamp,
    captured_at: Option<Timestamp>,
    refunded_at: Option<Timestamp>,
    partial_refunds: Vec<AdminPartialRefundJson>,
    webhooks: Vec<WebhookRecord>,
}

#[derive(Serialize, JsonSchema)]
struct AdminPartialRefundJson {
    #[serde(flatten)]
    refund: PartialRefundJson,
    actor: String,
    reason: String,
}

impl From<PartialRefund> for AdminPartialRefundJson {
    fn from(mut part: PartialRefund) -> Self {
        let (actor, reason) = (std::mem::take(&mut part.actor), std::mem::take(&mut part.note));
        AdminPartialRefundJson { refund: part.into(), actor, reason }
    }
}

impl From<PaymentRecord> for AdminPaymentJson {
    fn from(record: PaymentRecord) -> Self {
        AdminPaymentJson {
            id: record.payment.id,
            provider: record.payment.provider,
            reference: record.payment.reference,
            status: record.payment.status,
            amount: record.payment.amount,
            created_at: record.created_at,
            captured_at: record.captured_at,
            refunded_at: record.refunded_at,
            partial_refunds: record.partial_refunds.into_iter().map(AdminPartialRefundJson::from).collect(),
            webhooks: record.webhooks,
        }
    }
}

/// One order with its history, payments and webhooks.
pub async fn show((State(shop), _, PathIds(id)): StaffCallTo<ViewConsole, OrderId>) -> Answer {
    detail(&shop, id).await
}

pub(crate) async fn detail(shop: &Shop, id: OrderId) -> Answer {
    let order = existing_order(shop, id).await?;
    let held_at = shop.store.orders().lasting_holds(&[id]).await?.get(&id).map(|hold| hold.held_at);
    let history = shop.store.orders().steps(&order).await?;
    let payments = shop.store.payments().payments_of(id).await?.into_iter().map(AdminPaymentJson::from).collect();
    let cases = shop.store.payments().cases_of(id).await?.into_iter().map(CaseJson::from).collect();
    let approvals = shop.store.payments().approvals_of(id).await?.into_iter().map(ApprovalJson::from).collect();
    let username = shop.store.accounts().user(order.user_id).await?.map(|user| user.username);
    let parcel = shop.store.orders().parcel_of(id).await?.map(|parcel| parcel.state());
    let invoice = shop.orders.invoice(&order).await?.map(|invoice| InvoiceJson::from(invoice.masked()));
    let known = shop.orders.goods_return(&order).await?;
    let returned = known.as_ref().map(|known| known.state);
    let reference = shop.store.orders().reference_of(id).await?;
    let found = FoundOrder { order, username, held_at, parcel, returned, reference };
    let mut found = found_orders(&shop.store, vec![found]).await?.remove(0);
    (found.order.invoice, found.order.returned) = (invoice, known.map(ReturnJson::from));
    let order = OrderDetail { found, history, payments, cases, approvals };
    Ok(private(OneOrder { order }))
}

pub(crate) async fn existing_order(shop: &Shop, id: OrderId) -> Result<Order, Problem> {
    shop.store.orders().order_with_id(id).await?.ok_or(Code::NotFound.into())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevealRequest {
    #[schemars(length(min = 1, max = 500))]
    reason: String,
}

#[derive(Serialize, JsonSchema)]
struct RecipientJson {
    /// `null` while the order has no address.
    recipient: Option<Address>,
}

/// The recipient in full. The audit log records the reason.
pub async fn recipient(
    (State(shop), staff, PathIds(id)): StaffCallTo<ReadAddresses, OrderId>,
    ClientAddress(client): ClientAddress,
    Json(RevealRequest { reason }): Json<RevealRequest>,
) -> Answer {
    let order = existing_order(&shop, id).await?;
    let reason = check_reveal_reason(&reason).map_err(|code| Problem::invalid_field("reason", code))?;
    let recipient = reveal_recipient(&shop, &staff, client, &order, &reason).await?;
    Ok(private(RecipientJson { recipient }))
}

/// The reason, which only staff read, and the message to the order's owner.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaffActionRequest {
    /// Visible to staff only.
    #[schemars(length(min = 1, max = 500))]
    reason: String,
    /// Shown to the owner of the order.
    #[serde(default)]
    #[schemars(length(max = 300))]
    message: String,
    /// Of a refund: whether it is made although the payment is disputed.
    #[serde(default)]
    disputed: bool,
}

/// The message is required for a held order, because its owner must read why it ends.
async fn check_reason(shop: &Shop, of: &Order, request: &StaffActionRequest) -> Result<StaffActionReason, Problem> {
    let is_held = shop.orders.hold(of).await?.is_some();
    let checked = StaffActionReason::check(&request.reason, &request.message);
    checked.and_then(|reason| reason.with_message_if(is_held)).map_err(Problem::invalid)
}

pub async fn cancel(
    (State(shop), staff, PathIds(id)): StaffCallTo<SupportShoppers, OrderId>,
    Json(request): Json<StaffActionRequest>,
) -> Answer {
    let order = existing_order(&shop, id).await?;
    let reason = check_reason(&shop, &order, &request).await?;
    match shop.orders.cancel_for_staff(&order, staff.session.user_id, reason.by(staff.actor())).await? {
        StaffActionOutcome::Done => detail(&shop, id).await,
        StaffActionOutcome::OwnOrder => Err(Problem::new(Code::Yourself).detail(OWN_ORDER)),
        StaffActionOutcome::WrongStatus => Err(Code::NotCancellable.into()),
    }
}

/// Refunds what is left of a paid order's payment, and ends the order.
pub async fn refund(
    (State(shop), staff, PathIds(id)): StaffCallTo<SupportShoppers, OrderId>,
    repeatable: Repeatable,
    Json(request): Json<StaffActionRequest>,
) -> Answer {
    let order = existing_order(&shop, id).await?;
    let reason = check_reason(&shop, &order, &request).await?;
    let what = StaffRefund::Order(order.sale_id, id);
    refund_for(&shop, (id, repeatable), what, &staff, (&reason, request.disputed.into())).await
}

/// A partial refund. Without `to` the money goes to the payer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartialRefundRequest {
    amount: Money,
    /// `payer`, which is the default: in the way it was paid. `wallet`: into the wallet of the order's owner.
    to: Option<RefundTarget>,
    /// Visible to staff only.
    #[schemars(length(min = 1, max = 500))]
    reason: String,
    /// Shown to the owner of the order.
    #[serde(default)]
    #[schemars(length(max = 300))]
    message: String,
    #[serde(default)]
    disputed: bool,
}

/// Gives a part of a paid order's money back, or all of it. The order stays paid.
pub async fn refund_part(
    (State(shop), staff, PathIds(id)): StaffCallTo<SupportShoppers, OrderId>,
    repeatable: Repeatable,
    Json(request): Json<PartialRefundRequest>,
) -> Answer {
    existing_order(&shop, id).await?;
    let reason = StaffActionReason::check(&request.reason, &request.message).map_err(Problem::invalid)?;
    let to = request.to.unwrap_or(RefundTarget::Payer);
    let what = StaffRefund::Part(NewPartialRefund { id: repeatable.refund(), order: id, amount: request.amount, to });
    refund_for(&shop, (id, repeatable), what, &staff, (&reason, request.disputed.into())).await
}

/// Begins a refund of an order: 200 with the order; or 202 with the request that waits for a second person.
pub(crate) async fn refund_for(
    shop: &Shop,
    (order, repeatable): (OrderId, Repeatable),
    what: StaffRefund<'_>,
    staff: &Staff<SupportShoppers>,
    (reason, if_disputed): (&StaffActionReason, IfDisputed),
) -> Answer {
    let by = staff.session.user_id;
    match shop.staff_refunds.refund(repeatable.refund(), what, by, reason.by(staff.actor()), if_disputed).await? {
        RefundAnswer::Begun => detail(shop, order).await,
        RefundAnswer::Waits(id) => approvals::accepted(shop, id).await,
        RefundAnswer::OtherWaits => Err(Code::AwaitsApproval.into()),
        RefundAnswer::OwnPayment => Err(Problem::new(Code::Yourself).detail(OWN_ORDER)),
        RefundAnswer::Refused(RefundRefusal::Disputed) => Err(Code::PaymentDisputed.into()),
        RefundAnswer::Refused(RefundRefusal::WrongStatus) => Err(match what {
            StaffRefund::Return(_) => Code::WrongReturnState.into(),
            _ => Code::NotRefundable.into(),
        }),
        RefundAnswer::Refused(RefundRefusal::Exceeds(left)) => {
            Err(Problem::invalid_field("amount", "exceeds_payment").detail(format!("{left} can be refunded.")))
        }
        RefundAnswer::Refused(RefundRefusal::NotTaken) => {
            let detail = words::field_error(Locale::En, "not_taken");
            Err(Problem::invalid_field("amount", "not_taken").detail(detail))
        }
        RefundAnswer::Refused(RefundRefusal::NoWallet) => Err(Problem::invalid_field("to", "no_wallet")),
    }
}

pub(crate) const OWN_ORDER: &str = "The order is your own. Another member of the staff has to do this.";

#[derive(Deserialize, JsonSchema)]
pub struct ChangesQuery {
    /// The cursor `next` of the previous page. Without it, the oldest change that is kept is the first.
    #[serde(default)]
    after: Cursor,
}

#[derive(Serialize, JsonSchema)]
struct ChangedOrderList {
    /// The orders as they are now, the oldest change first.
    #[schemars(length(max = 200))]
    orders: Vec<FoundOrderJson>,
    /// For `?after=`. Never `null`: the next changes come after it.
    next: String,
    /// Whether the next page has changes already.
    has_more: bool,
}

/// Orders that were changed after the cursor, or since the oldest change that is stored.
pub async fn changes((State(shop), _): StaffCall<ViewConsole>, Query(query): Query<ChangesQuery>) -> Answer {
    let page = shop.store.orders().changed_orders(query.after.read("after")?).await?.ok_or(Code::CursorExpired)?;
    let orders = found_orders(&shop.store, page.orders).await?;
    let list = ChangedOrderList { orders, next: page.next.to_string(), has_more: page.has_more };
    Ok(private(list))
}

web::operations! { "administrators"
    /// Search orders, newest first
    GET "/api/admin/orders" searchOrders = search;
        200 OrderList<FoundOrderJson>;
    /// One order with its timeline and payments
    GET "/api/admin/orders/{order}" showOrderCase = show;
        200 OneOrder, "The order with its timeline and payments.";
    /// Read the recipient of an order in full, for a reason
    ///
    /// Other answers about orders of shoppers have the recipient masked. The audit log keeps who read it, when and why
    /// (`reveal-recipient`), under the order and under the account.
    POST "/api/admin/orders/{order}/recipient" revealRecipient = recipient;
        200 RecipientJson, "The recipient; `null` while the order has no address.";
    /// Cancel an unpaid order on behalf of the shop
    POST "/api/admin/orders/{order}/cancel" cancelOrderForShop = cancel;
        200 OneOrder, "The order with its timeline and payments.";
        refuses NotCancellable Yourself;
    /// Refund a paid order; its units go back on sale
    POST "/api/admin/orders/{order}/refund" refundOrder = refund, located;
        200 OneOrder, "The order with its timeline and payments.";
        202 approvals::OneApproval, "Beyond what one person refunds alone within a day: it waits for a second one.";
        refuses StepUpNeeded NotRefundable PaymentDisputed AwaitsApproval Yourself;
    /// Give back a part of what was paid for an order, or all of it; it stays paid, and its units stay sold
    POST "/api/admin/orders/{order}/refund-part" refundOrderInPart = refund_part, located;
        200 OneOrder, "The order with its timeline and payments.";
        202 approvals::OneApproval, "Beyond what one person refunds alone within a day: it waits for a second one.";
        refuses StepUpNeeded NotRefundable PaymentDisputed AwaitsApproval Yourself;
    /// Follow all changes of orders, the oldest change first
    ///
    /// Orders that were added or changed (status, address, hold, money that went back, name of the owner) after the
    /// cursor, as they are now. No change is missed: an order is listed at least once after each of its changes, so it
    /// may come again as it was. Keep `next` once the page is stored, and ask again with it: at once while `has_more`
    /// is true, later otherwise. Changes are kept for 30 days. Orders whose last change is older are found by `GET
    /// /api/admin/orders`; orders of rehearsals are left out.
    GET "/api/admin/orders/changes" followOrders = changes;
        200 ChangedOrderList;
        refuses CursorExpired;
}
