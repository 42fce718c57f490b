//! A reservation: an order of another shop's customer, as that shop sees it.

use crate::Order;
use crate::order::OrderStatus;
use crate::wire::wire_enum;

wire_enum! {
    /// Where a reservation is. It follows from its order.
    pub enum ReservationStatus {
        /// The units are held, until `expires_at` at least.
        Held = "held",
        /// The other shop has the money, and the units are sold.
        Confirmed = "confirmed",
        /// Released by the other shop, cancelled by its customer, or ended by the staff here.
        Released = "released",
        /// Neither confirmed nor released in time.
        Expired = "expired",
        /// The units were not there after all.
        Rejected = "rejected",
    }
}

/// An order of another shop's customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalReservation {
    pub order: Order,
    /// The other shop's own id of the customer.
    pub shopper: String,
    /// What the other shop calls the order, once it is confirmed.
    pub reference: Option<String>,
}

impl ExternalReservation {
    pub fn status(&self) -> ReservationStatus {
        let is_unpaid = self.order.reason.as_deref() == Some("unpaid");
        match self.order.status {
            // Also when its time is over: until the expiry has come, a confirmation from before may still win.
            OrderStatus::Reserved | OrderStatus::Unpaid => ReservationStatus::Held,
            OrderStatus::Paid => ReservationStatus::Confirmed,
            OrderStatus::Rejected => ReservationStatus::Rejected,
            // A payment of ours that came too late goes back.
            OrderStatus::Cancelled | OrderStatus::RefundPending | OrderStatus::Refunded if is_unpaid => {
                ReservationStatus::Expired
            }
            OrderStatus::Cancelled | OrderStatus::RefundPending | OrderStatus::Refunded => ReservationStatus::Released,
        }
    }
}
