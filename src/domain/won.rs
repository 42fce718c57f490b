//! What somebody was told that they have, on its way to the database. The outbox and RabbitMQ carry it.

use super::Reservation;
use super::packet::ShareClaim;

/// Units of a sale, or a share of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Won {
    Order(Reservation),
    Share(ShareClaim),
}

impl Won {
    pub fn order(&self) -> Option<&Reservation> {
        match self {
            Won::Order(reservation) => Some(reservation),
            Won::Share(_) => None,
        }
    }

    pub fn share(&self) -> Option<&ShareClaim> {
        match self {
            Won::Share(claim) => Some(claim),
            Won::Order(_) => None,
        }
    }

    /// The orders and the shares among several.
    pub fn apart(all: &[Won]) -> (Vec<Reservation>, Vec<ShareClaim>) {
        (all.iter().filter_map(Won::order).copied().collect(), all.iter().filter_map(Won::share).copied().collect())
    }
}
