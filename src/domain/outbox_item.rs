//! The content of the outbox and of RabbitMQ: what was granted to a user and is not in the database yet.

use super::Reservation;
use super::packet::ShareClaim;

/// Units of a sale, or a share of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxItem {
    Order(Reservation),
    Share(ShareClaim),
}

impl OutboxItem {
    pub fn order(&self) -> Option<&Reservation> {
        match self {
            OutboxItem::Order(reservation) => Some(reservation),
            OutboxItem::Share(_) => None,
        }
    }

    pub fn share(&self) -> Option<&ShareClaim> {
        match self {
            OutboxItem::Share(claim) => Some(claim),
            OutboxItem::Order(_) => None,
        }
    }

    /// Splits items into orders and shares.
    pub fn partition(all: &[OutboxItem]) -> (Vec<Reservation>, Vec<ShareClaim>) {
        (
            all.iter().filter_map(OutboxItem::order).copied().collect(),
            all.iter().filter_map(OutboxItem::share).copied().collect(),
        )
    }
}
