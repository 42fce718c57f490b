//! One purchase: admission at the gate, then a claim on the stock.

use std::sync::Arc;

use crate::batching::{Batcher, NoDecision};
use crate::gate::{AdmissionRequest, Admitted, Gate};
use crate::stock::Units;
use base::metrics::Metrics;
use domain::claim::{Claim, Decision};
use domain::{OrderId, OrderStatus, Refusal, SaleId, UserId};

/// The order that a buying request ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PurchaseOutcome {
    New {
        order: OrderId,
        status: OrderStatus,
    },
    /// The user already had this order.
    Repeated {
        order: OrderId,
        quantity: u32,
    },
}

/// Handles buying requests. Clones share everything.
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

    /// Checks a request before its body is read. Most requests are refused here.
    pub fn request_admission(&self, user: UserId, sale: SaleId) -> Result<AdmissionRequest, Refusal> {
        self.gate.request_admission(user, sale).inspect_err(|refusal| {
            self.metrics.asked.inc();
            self.metrics.refused(*refusal);
        })
    }

    /// Claims units. Safe to repeat: a user who holds units gets the same order again. The content of the request is
    /// checked before this returns, so the future does not borrow it.
    pub fn buy(
        &self,
        request: AdmissionRequest,
        quantity: i64,
        token: Option<&str>,
    ) -> impl Future<Output = Result<PurchaseOutcome, Refusal>> + use<'_> {
        self.metrics.asked.inc();
        let user = request.user;
        let admitted = self.gate.admit(request, quantity, token);
        async move {
            let outcome = match admitted {
                Ok(admitted) => self.claim(user, admitted).await,
                Err(refusal) => Err(refusal),
            };
            match &outcome {
                Ok(PurchaseOutcome::New { .. }) => self.metrics.reserved.inc(),
                Ok(PurchaseOutcome::Repeated { .. }) => self.metrics.repeated.inc(),
                Err(refusal) => {
                    self.metrics.refused(*refusal);
                    0
                }
            };
            outcome
        }
    }

    async fn claim(&self, user: UserId, admitted: Admitted) -> Result<PurchaseOutcome, Refusal> {
        let Admitted { quantity, bucket, counters, at } = admitted;
        self.metrics.let_in.inc();
        let claim = Claim { user_id: user, order_id: OrderId::new(at), quantity };
        match self.batcher.claim(bucket, claim, counters).await {
            Ok(Decision::Granted(status)) => Ok(PurchaseOutcome::New { order: claim.order_id, status }),
            Ok(Decision::Repeated(hold)) => {
                Ok(PurchaseOutcome::Repeated { order: hold.order_id, quantity: hold.quantity })
            }
            Ok(Decision::Refused(refusal)) => Err(refusal),
            Ok(Decision::NotLoaded) | Err(NoDecision::QueueFull | NoDecision::Unknown(_)) => Err(Refusal::Overloaded),
        }
    }
}
