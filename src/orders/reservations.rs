//! Reservations of another shop, once their units are held: it reads, confirms, releases and extends them. A reservation
//! is an order of one of its customers. How it is made is the purchase in [`engine::purchase`].

use std::time::Duration;

use boxed::boxed;
use jiff::{SignedDuration, Timestamp};
use tracing::info;

use super::Orders;
use domain::order::generated_at;
use domain::{ExternalReservation, OrderId, ReservationStatus, SaleId};
use store::{ConfirmOutcome, LockPatience, ProgramActor, StoreError};

/// How long a request waits for an order that is on its way to the database.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(2);
const ARRIVAL_INTERVAL: Duration = Duration::from_millis(50);
/// How old an order may be and still be on its way: the longest outage of the services between.
const MAX_TRANSIT: SignedDuration = SignedDuration::from_hours(24);
/// How long a reservation lives in all, however often it is extended.
pub const MAX_LIFETIME: Duration = Duration::from_secs(3600);

/// Why a reservation does not change.
#[derive(Debug, thiserror::Error)]
pub enum ReservationRefusal {
    #[error("there is no such reservation")]
    NoSuchReservation,
    /// It has not reached the database, or never will. Asking again is safe.
    #[error("the reservation has not reached the database yet")]
    OnItsWay,
    #[error("the reservation has expired")]
    Expired,
    #[error("the reservation was released or cancelled")]
    Released,
    #[error("the reservation is confirmed")]
    Confirmed,
    #[error("another reservation has this reference")]
    ReferenceTaken,
    #[error("the reservation would live for too long")]
    TooLong,
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[boxed]
impl Orders {
    /// The reservation as it is in the database. Waits a moment for one that is on its way there.
    pub async fn reservation(&self, sale: SaleId, id: OrderId) -> Result<ExternalReservation, ReservationRefusal> {
        let (mut waited, mut is_there) = (Duration::ZERO, false);
        loop {
            if let Some(found) = self.store.orders().reservation(sale, id).await? {
                return Ok(found);
            }
            // The order is there as somebody else's. Ids are made by time, so an old one is not on its way.
            let age = self.clock.now().duration_since(generated_at(id));
            if is_there || age > MAX_TRANSIT || age < -MAX_TRANSIT {
                return Err(ReservationRefusal::NoSuchReservation);
            }
            is_there = self.store.orders().get(sale, id).await?.is_some();
            if is_there {
                // It may have arrived between the two reads.
                continue;
            }
            if waited >= ARRIVAL_TIMEOUT {
                return Err(ReservationRefusal::OnItsWay);
            }
            tokio::time::sleep(ARRIVAL_INTERVAL).await;
            waited += ARRIVAL_INTERVAL;
        }
    }

    /// Notes that the other shop has the money. Safe to repeat with the same reference.
    pub async fn confirm_reservation(
        &self,
        sale: SaleId,
        id: OrderId,
        reference: &str,
        actor: ProgramActor<'_>,
    ) -> Result<ExternalReservation, ReservationRefusal> {
        self.reservation(sale, id).await?;
        let outcome = self.store.orders().confirm_reservation((sale, id), reference, actor).await?;
        let found = match outcome {
            ConfirmOutcome::Confirmed => self.reservation(sale, id).await?,
            ConfirmOutcome::NotHeld => self.ended_reservation(sale, id).await?,
            ConfirmOutcome::ReferenceTaken => return Err(ReservationRefusal::ReferenceTaken),
        };
        match found.status() {
            ReservationStatus::Confirmed if found.reference.as_deref() == Some(reference) => {
                if outcome == ConfirmOutcome::Confirmed {
                    info!(order = %id, %sale, actor = actor.name, "reservation confirmed by another shop");
                }
                Ok(found)
            }
            status => Err(refusal_of(status)),
        }
    }

    /// Gives the units of a reservation back. Safe to repeat.
    pub async fn release_reservation(
        &self,
        sale: SaleId,
        id: OrderId,
        actor: ProgramActor<'_>,
    ) -> Result<ExternalReservation, ReservationRefusal> {
        self.reservation(sale, id).await?;
        let released = self.store.orders().release_reservation((sale, id), actor).await?;
        if !released.is_empty() {
            self.metrics.cancelled.inc();
            info!(order = %id, %sale, actor = actor.name, "reservation released by another shop");
        }
        self.release_now(&released).await?;
        let found = self.reservation(sale, id).await?;
        match found.status() {
            ReservationStatus::Confirmed | ReservationStatus::Held => Err(ReservationRefusal::Confirmed),
            // However it ended, it holds nothing any more.
            _ => Ok(found),
        }
    }

    /// Lets a reservation live for at least this time from now. Safe to repeat.
    pub async fn extend_reservation(
        &self,
        sale: SaleId,
        id: OrderId,
        by: Duration,
        actor: ProgramActor<'_>,
    ) -> Result<ExternalReservation, ReservationRefusal> {
        self.reservation(sale, id).await?;
        let extended: Option<Timestamp> =
            self.store.orders().extend_reservation((sale, id), by, MAX_LIFETIME, actor).await?;
        let found = match extended {
            Some(_) => self.reservation(sale, id).await?,
            None => self.ended_reservation(sale, id).await?,
        };
        match found.status() {
            ReservationStatus::Held if extended.is_some() => Ok(found),
            ReservationStatus::Held => Err(ReservationRefusal::TooLong),
            status => Err(refusal_of(status)),
        }
    }

    /// The reservation, once a step did not find it held. If its time is over, it ends here, before the step is refused for
    /// that: a request from before may still wait for a lock, and would win later.
    async fn ended_reservation(&self, sale: SaleId, id: OrderId) -> Result<ExternalReservation, ReservationRefusal> {
        let found = self.reservation(sale, id).await?;
        if found.status() != ReservationStatus::Held {
            return Ok(found);
        }
        let expired = self.store.orders().expire(sale, &[id], LockPatience::Short).await?;
        self.metrics.cancelled.inc_by(expired.len() as u64);
        self.release_now(&expired).await?;
        self.reservation(sale, id).await
    }
}

/// Why a reservation with this status does not change.
fn refusal_of(status: ReservationStatus) -> ReservationRefusal {
    match status {
        ReservationStatus::Expired => ReservationRefusal::Expired,
        // Somebody else has extended it meanwhile. Asking again is safe.
        ReservationStatus::Held => ReservationRefusal::OnItsWay,
        ReservationStatus::Released | ReservationStatus::Rejected => ReservationRefusal::Released,
        ReservationStatus::Confirmed => ReservationRefusal::Confirmed,
    }
}
