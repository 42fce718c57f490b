//! Deleting an account at its owner's request.

use std::future::Future;

use secrecy::SecretString;

use super::session::Session;
use super::{AccountRefusal, Accounts, Device};
use store::{DeletionOutcome, StoreError};

/// What the owner enters to delete an account.
#[derive(Debug)]
pub struct DeletionRequest {
    /// The name of the account. Typing it is the confirmation.
    pub username: String,
    pub password: SecretString,
    /// Leaves the balance of the wallet to the shop.
    pub give_up_wallet: bool,
}

/// Why an account is not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeletionRefusal {
    #[error("this is not the user name of the account")]
    WrongName,
    #[error("too many wrong passwords")]
    Throttled,
    #[error("an order is not finished")]
    OrdersOpen,
    /// The stock backend cannot answer now.
    #[error("it is not known whether an order is on its way to the database")]
    OrdersUnknown,
    #[error("the wallet is not empty")]
    WalletNotEmpty,
    #[error("the account belongs to the staff")]
    IsStaff,
    #[error(transparent)]
    Other(AccountRefusal),
}

impl From<AccountRefusal> for DeletionRefusal {
    fn from(refusal: AccountRefusal) -> Self {
        match refusal {
            AccountRefusal::Throttled(_) => DeletionRefusal::Throttled,
            refusal => DeletionRefusal::Other(refusal),
        }
    }
}

impl From<StoreError> for DeletionRefusal {
    fn from(error: StoreError) -> Self {
        DeletionRefusal::Other(error.into())
    }
}

impl Accounts {
    /// Deletes the account and ends its sessions. Personal data is deleted. Orders stay for the ledger, without
    /// personal data.
    ///
    /// `has_pending_order` answers whether the user holds units whose order is not in the database yet, `None` when
    /// that cannot be known now. It runs after the name is checked and before the password counts as a guess.
    pub async fn delete(
        &self,
        session: &Session,
        device: &Device,
        request: DeletionRequest,
        has_pending_order: impl Future<Output = Result<Option<bool>, StoreError>>,
    ) -> Result<(), DeletionRefusal> {
        if request.username.trim().to_lowercase() != session.username.to_lowercase() {
            return Err(DeletionRefusal::WrongName);
        }
        match has_pending_order.await? {
            Some(false) => {}
            Some(true) => return Err(DeletionRefusal::OrdersOpen),
            None => return Err(DeletionRefusal::OrdersUnknown),
        }
        let user = self.confirm(session, device, request.password).await?;
        match self.store.accounts().delete_account(user.id, request.give_up_wallet, self.clock.now()).await? {
            DeletionOutcome::Done(ended) => {
                self.revocations.add(&[ended]);
                Ok(())
            }
            DeletionOutcome::Gone => Ok(()),
            DeletionOutcome::OrdersOpen => Err(DeletionRefusal::OrdersOpen),
            DeletionOutcome::WalletNotEmpty => Err(DeletionRefusal::WalletNotEmpty),
            DeletionOutcome::IsStaff => Err(DeletionRefusal::IsStaff),
        }
    }
}
