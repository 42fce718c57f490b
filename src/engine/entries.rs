//! Entries in sales by draw, one per account and sale. A request is answered when the entry is in the database, with a
//! signed receipt.

use std::net::IpAddr;
use std::sync::Arc;

use crate::eligibility::{Eligibility, EligibilityRefusal};
use base::metrics::Metrics;
use base::rate_limit::RequestLimits;
use base::signing::{ShopSecret, Signer};
use boxed::boxed;
use domain::draw::EntryId;
use domain::{DrawEntry, Ineligible, Phase, SaleId, UserId};
use store::{EnterOutcome, Store, StoreError, WithdrawOutcome};

/// The answer to a request that changes an entry.
#[derive(Debug)]
pub enum EntryRefusal {
    RateLimited,
    NoSuchDraw,
    NotEntered,
    Ineligible(EligibilityRefusal),
    /// The sale takes no entries in this phase.
    Closed(Phase),
    Store(StoreError),
}

refusal_from!(EntryRefusal: Ineligible(EligibilityRefusal), Store(StoreError));

/// Enters accounts in draws.
pub struct Entries {
    store: Store,
    eligibility: Arc<Eligibility>,
    /// Each entry is a transaction.
    limits: RequestLimits,
    receipts: Signer,
    metrics: Arc<Metrics>,
}

#[boxed]
impl Entries {
    pub fn new(
        store: Store,
        eligibility: Arc<Eligibility>,
        user_rate: u32,
        secret: &ShopSecret,
        metrics: Arc<Metrics>,
    ) -> Entries {
        let receipts = Signer::new(secret, "draw entry");
        Entries { store, eligibility, limits: RequestLimits::new(user_rate), receipts, metrics }
    }

    /// Enters an account, once, and returns its entry and whether it is new. Safe to repeat, on any device.
    pub async fn enter(&self, sale: SaleId, user: UserId, client: IpAddr) -> Result<(DrawEntry, bool), EntryRefusal> {
        self.limits.allow(user, client).ok_or(EntryRefusal::RateLimited)?;
        self.eligibility.check(sale, user).await?;
        match self.store.draws().enter(sale, user, EntryId::new(rand::random())).await? {
            EnterOutcome::Entered(entry) => {
                self.metrics.draw_entries.inc();
                Ok((entry, true))
            }
            EnterOutcome::Known(entry) => Ok((entry, false)),
            EnterOutcome::Closed(phase) => Err(EntryRefusal::Closed(phase)),
            EnterOutcome::DepositNeeded => Err(EligibilityRefusal::from(Ineligible::DepositNeeded).into()),
            EnterOutcome::NoSuchDraw => Err(EntryRefusal::NoSuchDraw),
        }
    }

    /// Takes an entry back while the sale is open.
    pub async fn withdraw(&self, sale: SaleId, user: UserId, client: IpAddr) -> Result<(), EntryRefusal> {
        self.limits.allow(user, client).ok_or(EntryRefusal::RateLimited)?;
        match self.store.draws().withdraw(sale, user).await? {
            WithdrawOutcome::Done => Ok(()),
            WithdrawOutcome::Closed(phase) => Err(EntryRefusal::Closed(phase)),
            WithdrawOutcome::NoSuchEntry => Err(EntryRefusal::NotEntered),
        }
    }

    /// The receipt that the entrant keeps: a signature over sale, account, entry and time. It proves that the shop took
    /// the entry.
    pub fn receipt(&self, sale: SaleId, entry: &DrawEntry) -> String {
        let mut payload = [0; 48];
        payload[..8].copy_from_slice(&sale.0.to_be_bytes());
        payload[8..24].copy_from_slice(entry.user_id.0.as_bytes());
        payload[24..40].copy_from_slice(entry.id.as_bytes());
        payload[40..].copy_from_slice(&entry.entered_at.as_millisecond().to_be_bytes());
        let mut receipt = String::new();
        self.receipts.append_signature(&payload, &mut receipt);
        receipt
    }
}
