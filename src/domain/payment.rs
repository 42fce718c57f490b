//! Payments that need the staff's attention, and refunds that staff ask for.

use super::wire::wire_enum;

wire_enum! {
    /// The status of a payment.
    pub enum PaymentStatus {
        Created = "created",
        Captured = "captured",
        RefundPending = "refund_pending",
        Refunded = "refunded",
        /// The provider takes no money for it any more.
        Closed = "closed",
        /// The provider captured another amount than it was asked for. The money pays for nothing.
        Mismatched = "mismatched",
    }
}

wire_enum! {
    /// Where the money of a partial refund goes.
    pub enum RefundTarget {
        /// To the payer, in the way it was paid.
        Payer = "payer",
        /// Into the wallet of the order's owner, also when the order was paid at a provider.
        Wallet = "wallet",
    }
}

wire_enum! {
    /// Why a payment needs the staff's attention. Metrics count the kinds in this order.
    pub enum CaseKind {
        /// The provider captured another amount or currency than it was asked for.
        Mismatched = "mismatched",
        /// The provider cannot give the money back. The refund waits for the staff.
        RefundFailed = "refund_failed",
        /// Several attempts of a refund failed. The shop keeps trying.
        RefundDelayed = "refund_delayed",
        /// The provider gave money back that the shop did not ask for.
        UnexpectedRefund = "unexpected_refund",
        /// The payer or the payer's bank takes the money back.
        Disputed = "disputed",
        /// The report is about a payment that the shop did not start.
        UnknownPayment = "unknown_payment",
        /// The shop does not know the event.
        UnknownEvent = "unknown_event",
        /// The provider's bill and the books differ.
        BillDiffers = "bill_differs",
    }
}

wire_enum! {
    /// How far a dispute is.
    pub enum DisputeState {
        Open = "open",
        /// The money stays with the shop.
        Won = "won",
        /// The money went back to the payer.
        Lost = "lost",
    }
}

/// The largest amount of a report that is written down, in minor units: as much as an order can cost. Sums of some
/// thousand of them fit.
pub const MAX_REPORTED_AMOUNT: i64 = (1 << 53) - 1;
/// The largest amount that the books hold although no payment of the shop asked for it: ten billion yuan, so that sums of
/// millions fit.
pub const MAX_HELD_AMOUNT: i64 = 1_000_000_000_000;

wire_enum! {
    /// What a member of the staff asks to be refunded.
    pub enum RefundKind {
        /// All that is left of a paid order's payment. Its units go back on sale.
        Order = "order",
        /// A part of an order's payment, or all of it, while the order stays paid.
        Part = "part",
        /// A payment of a wrong amount, which pays for nothing.
        Case = "case",
        /// No refund: a red packet from the shop's purse.
        Packet = "packet",
    }
}

wire_enum! {
    /// The state of a refund that needs a second person.
    pub enum ApprovalStatus {
        Pending = "pending",
        /// The refund began.
        Approved = "approved",
        Declined = "declined",
        /// It was not decided in time.
        Expired = "expired",
        /// The order or payment had changed, so that the refund was no longer possible.
        Void = "void",
    }
}
