//! The content of the outbox and of RabbitMQ: grants that are not in the database yet.

use super::Reservation;
use super::bucket::Owner;
use super::packet::ShareClaim;

/// Units of a sale, or a share of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxItem {
    Order(Reservation),
    Share(ShareClaim),
}

impl OutboxItem {
    /// The sale or packet whose units the item takes.
    pub fn owner(&self) -> Owner {
        match self {
            OutboxItem::Order(reservation) => reservation.sale_id.into(),
            OutboxItem::Share(claim) => claim.packet_id.into(),
        }
    }

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
