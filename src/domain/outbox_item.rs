//! What somebody was told that they have, on its way to the database. The outbox and RabbitMQ carry it.

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

    /// The orders and the shares among several.
    pub fn apart(all: &[OutboxItem]) -> (Vec<Reservation>, Vec<ShareClaim>) {
        (
            all.iter().filter_map(OutboxItem::order).copied().collect(),
            all.iter().filter_map(OutboxItem::share).copied().collect(),
        )
    }
}
