//! One purchase: gate, then stock. Everything before it is refusal, everything after it is keeping the promise.

use std::sync::Arc;

use uuid::Uuid;

use crate::batching::{Batcher, NoDecision};
use crate::domain::claim::{Claim, Decision};
use crate::domain::{OrderId, OrderStatus, Refusal, SaleId, UserId};
use crate::gate::{AdmissionRequest, Admitted, Gate};
use crate::metrics::Metrics;
use crate::stock::units::Units;

/// What a user has after asking to buy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bought {
    New {
        order: OrderId,
        status: OrderStatus,
    },
    /// The user had this order already.
    Again {
        order: OrderId,
        quantity: u32,
    },
}

/// Where shoppers buy.
#[derive(Clone)]
pub struct Purchases {
    gate: Arc<Gate>,
    batcher: Batcher<Units>,
    metrics: Arc<Metrics>,
}

impl Purchases {
    pub fn new(gate: Arc<Gate>, batcher: Batcher<Units>, metrics: Arc<Metrics>) -> Purchases {
        Purchases { gate, batcher, metrics }
    }

    /// Whether it is worth reading what a shopper asks for; most are turned away here.
    pub fn request_admission(&self, user: UserId, sale: SaleId) -> Result<AdmissionRequest, Refusal> {
        self.gate.request_admission(user, sale).inspect_err(|refusal| {
            self.metrics.asked.inc();
            self.metrics.refused(*refusal);
        })
    }

    /// Asks for units. Safe to repeat: whoever holds units gets the same order again. What the request says is judged at
    /// once; whoever waits for the decision need not keep it.
    pub fn buy(
        &self,
        request: AdmissionRequest,
        quantity: i64,
        token: Option<&str>,
    ) -> impl Future<Output = Result<Bought, Refusal>> + use<'_> {
        self.metrics.asked.inc();
        let user = request.user;
        let admitted = self.gate.admit(request, quantity, token);
        async move {
            let bought = match admitted {
                Ok(admitted) => self.claim(user, admitted).await,
                Err(refusal) => Err(refusal),
            };
            match &bought {
                Ok(Bought::New { .. }) => self.metrics.reserved.inc(),
                Ok(Bought::Again { .. }) => self.metrics.repeated.inc(),
                Err(refusal) => {
                    self.metrics.refused(*refusal);
                    0
                }
            };
            bought
        }
    }

    async fn claim(&self, user: UserId, admitted: Admitted) -> Result<Bought, Refusal> {
        let Admitted { quantity, bucket, counters } = admitted;
        self.metrics.let_in.inc();
        let claim = Claim { user_id: user, order_id: OrderId(Uuid::now_v7()), quantity };
        match self.batcher.claim(bucket, claim, counters).await {
            Ok(Decision::Granted(status)) => Ok(Bought::New { order: claim.order_id, status }),
            Ok(Decision::Repeated(hold)) => Ok(Bought::Again { order: hold.order_id, quantity: hold.quantity }),
            Ok(Decision::SoldOut) => Err(Refusal::SoldOut),
            Ok(Decision::Busy) => Err(Refusal::Busy),
            Ok(Decision::OverLimit) => Err(Refusal::OverLimit),
            Ok(Decision::NotOpen) => Err(Refusal::NotOpen),
            Ok(Decision::Ended) => Err(Refusal::Ended),
            Ok(Decision::NotLoaded) | Err(NoDecision::Crowded | NoDecision::Unknown(_)) => Err(Refusal::Overloaded),
        }
    }
}
