//! Orders as shoppers and the staff read them.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use domain::invoice::Invoice;
use domain::order::OrderEvent;
use domain::{
    Address, GoodsReturn, Money, Order, OrderId, OrderNumber, OrderStatus, Parcel, ParcelLabel, ParcelState, RefundId,
    RefundTarget, ReturnReason, ReturnState, SaleId,
};
use store::PartialRefund;

/// An order as the API shows it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OrderJson {
    pub id: OrderId,
    /// The number for people, such as `20261128-000137`. `null` while the order is on its way.
    pub number: Option<OrderNumber>,
    pub sale_id: SaleId,
    pub quantity: u32,
    pub status: OrderStatus,
    /// What is to be paid, with shipping.
    pub amount: Option<Money>,
    /// The part of the amount that is for shipping. Left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipping: Option<Money>,
    pub pay_by: Option<Timestamp>,
    /// Why it was rejected, cancelled or refunded: `sold_out`, `repeated`, `unpaid`, `by_owner`, `by_shop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The message of the shop about a cancellation or refund.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Box<Address>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<OrderEvent>>,
    /// The parcel. Left out until something is packed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parcel: Option<ParcelJson>,
    /// The return that was asked for. Left out unless one order is asked for.
    #[serde(rename = "return", skip_serializing_if = "Option::is_none")]
    pub returned: Option<ReturnJson>,
    /// The invoice that was asked for. Left out unless one order is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invoice: Option<InvoiceJson>,
    /// While staff hold the order: it is not delivered until they have looked at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldJson>,
    /// Whether the last attempt to pay was declined. Left out unless it was, and once the order is paid or ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub payment_declined: bool,
    /// What the shop gave back while the order stayed paid. Left out where there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partial_refunds: Vec<PartialRefundJson>,
}

/// The parcel of a paid order.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ParcelJson {
    pub state: ParcelState,
    /// The code of a carrier that the shop knows (`sf`, `zto`, `yto`, `jd`, `ems`, `ups`, `dhl`, `fedex`), or the name of
    /// another one.
    pub carrier: Option<String>,
    pub number: Option<String>,
    /// Where a known carrier shows the parcel.
    pub tracking_url: Option<String>,
    /// Rises with every change. A correction names the one that was seen.
    pub version: i64,
    pub history: Vec<ParcelMoveJson>,
}

/// When a parcel got somewhere.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ParcelMoveJson {
    pub at: Timestamp,
    pub state: ParcelState,
}

impl From<&Parcel> for ParcelJson {
    fn from(parcel: &Parcel) -> Self {
        let ParcelLabel { carrier, number } = parcel.label().clone();
        ParcelJson {
            state: parcel.state(),
            tracking_url: parcel.label().tracking_url(),
            carrier,
            number,
            version: parcel.version(),
            history: parcel.moves().map(|step| ParcelMoveJson { at: step.at, state: step.state }).collect(),
        }
    }
}

/// The return of a delivered order.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReturnJson {
    /// `asked`, `accepted`, `refused`, `withdrawn`, or `received` once the goods are back and their refund has begun.
    pub state: ReturnState,
    pub reason: ReturnReason,
    /// What the owner wrote.
    pub note: String,
    pub asked_at: Timestamp,
    /// Where to send the goods, or why they are not taken back.
    pub answer: Option<String>,
    pub answered_at: Option<Timestamp>,
    /// Who carries the goods back: the code of a carrier that the shop knows, or the name of another one.
    pub carrier: Option<String>,
    pub number: Option<String>,
    /// Where a known carrier shows the parcel.
    pub tracking_url: Option<String>,
    pub received_at: Option<Timestamp>,
    /// Whether the units went back on sale. `null` until the goods are back.
    pub restocked: Option<bool>,
    pub refund: Option<Money>,
    /// `null` while the refund is under way.
    pub refunded_at: Option<Timestamp>,
}

impl From<GoodsReturn> for ReturnJson {
    fn from(GoodsReturn { state, request, asked_at, answer, label, receipt }: GoodsReturn) -> Self {
        let answered_at = answer.as_ref().map(|answer| answer.at);
        let receipt = receipt.as_ref();
        ReturnJson {
            state,
            reason: request.reason,
            note: request.note,
            asked_at,
            answer: answer.map(|answer| answer.words),
            answered_at,
            tracking_url: label.tracking_url(),
            carrier: label.carrier,
            number: label.number,
            received_at: receipt.map(|receipt| receipt.at),
            restocked: receipt.map(|receipt| receipt.restocked),
            refund: receipt.map(|receipt| receipt.refund),
            refunded_at: receipt.and_then(|receipt| receipt.refunded_at),
        }
    }
}

/// An invoice (发票) that the owner of an order asked for.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InvoiceJson {
    pub title: String,
    /// `null` for a person.
    pub tax_number: Option<String>,
    pub asked_at: Timestamp,
    /// When the shop marked it as issued.
    pub issued_at: Option<Timestamp>,
}

impl From<Invoice> for InvoiceJson {
    fn from(Invoice { to, asked_at, issued }: Invoice) -> Self {
        let issued_at = issued.map(|(at, _)| at);
        InvoiceJson { title: to.title, tax_number: to.tax_number, asked_at, issued_at }
    }
}

/// A hold as the owner of the order sees it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HoldJson {
    pub held_at: Timestamp,
    /// What the shop tells its owner.
    pub reason: String,
}

/// A partial refund as the owner of the order sees it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PartialRefundJson {
    pub id: RefundId,
    pub amount: Money,
    pub to: RefundTarget,
    /// The shop's message about it.
    pub message: Option<String>,
    pub requested_at: Timestamp,
    /// `null` while it is under way.
    pub refunded_at: Option<Timestamp>,
}

impl From<PartialRefund> for PartialRefundJson {
    fn from(part: PartialRefund) -> Self {
        let to = part.to();
        let PartialRefund { id, amount, message, requested_at, refunded_at, .. } = part;
        PartialRefundJson { id, amount, to, message, requested_at, refunded_at }
    }
}

impl OrderJson {
    /// The order as staff read it, with a masked recipient. The full one is read for a reason, which is logged
    /// (`console::orders`).
    pub fn masked(mut order: Order) -> OrderJson {
        order.mask_recipient();
        OrderJson::of(order, None)
    }

    /// The order as its owner reads it.
    pub fn of(order: Order, history: Option<Vec<OrderEvent>>) -> OrderJson {
        OrderJson {
            id: order.id,
            number: order.number,
            sale_id: order.sale_id,
            quantity: order.quantity,
            status: order.status,
            amount: Some(order.amount),
            shipping: Some(order.shipping).filter(|cost| cost.amount > 0),
            pay_by: Some(order.pay_by),
            reason: order.reason,
            message: order.message,
            address: order.address,
            history,
            parcel: None,
            returned: None,
            invoice: None,
            hold: None,
            payment_declined: false,
            partial_refunds: Vec::new(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub struct OrderList<T> {
    pub orders: Vec<T>,
    /// For `?before=`; `null` on the last page.
    pub next: Option<OrderId>,
}

/// Statuses separated by commas; an empty text means all. `None` when one of them does not exist.
pub fn parse_statuses(text: &str) -> Option<Vec<OrderStatus>> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(|name| name.parse().ok()).collect()
}
