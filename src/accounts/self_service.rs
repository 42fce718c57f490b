//! Changes that users make to their own account.

use std::future::Future;

use boxed::boxed;
use secrecy::SecretString;
use tracing::warn;
use uuid::Uuid;

use crate::fair_queue::Lane;
use crate::password::{self, HashRequest};
use crate::session::Session;
use crate::{AccountRefusal, Accounts, Device, session_row};
use domain::SecurityClass;
use store::{DeletionOutcome, NewSession, SessionRow, StoreError, StoreResult, User};

#[boxed]
impl Accounts {
    /// The account of a session, if the password is right. Wrong guesses count like wrong guesses at a log-in.
    pub(super) async fn confirm(
        &self,
        session: &Session,
        device: &Device,
        password: SecretString,
    ) -> Result<User, AccountRefusal> {
        let guess = self.reserve_client_guess(device, &session.username).await?;
        let user = self.store.accounts().user(session.user_id).await?;
        let hash = user.as_ref().map(|user| user.password_hash.clone());
        let judged = self.passwords.verify(password, hash, confirmation(session, device)).await;
        self.end_guess(guess, matches!(judged, Ok(false))).await;
        match (judged?, user) {
            (true, Some(user)) => Ok(user),
            _ => {
                self.note_wrong_confirmation(session, device);
                Err(AccountRefusal::WrongPassword)
            }
        }
    }

    /// Changes the password and ends all sessions. Returns a new session that replaces the current one.
    pub async fn change_password(
        &self,
        session: &Session,
        device: &Device,
        present: SecretString,
        new: SecretString,
    ) -> Result<Session, AccountRefusal> {
        if !password::is_acceptable(&new, &session.username, session.role) {
            return Err(AccountRefusal::WeakPassword);
        }
        let mut user = self.confirm(session, device, present).await?;
        user.password_hash = self.passwords.hash(new, confirmation(session, device)).await?;
        let mut next = Session::of(&user, self.issue_time(user.id));
        // Only the password was asked for, so the new session of an account with a second factor proves nothing.
        let is_proved = user.second_factor.is_none() && !self.needs_passkey(&user);
        let keep = Some((&user, NewSession { is_proved, ..session_row(&next, device) }));
        let (ended, kept) =
            self.store.accounts().set_password(user.id, &user.password_hash, keep, self.clock.now()).await?;
        self.revocations.add(&[ended]);
        self.note(SecurityClass::PasswordChanged, &user, device, "");
        next.issued_at = kept.map_or(next.issued_at, |kept| kept.issued_at);
        Ok(next)
    }

    /// The user's sessions, the latest first.
    pub async fn sessions_of(&self, session: &Session) -> StoreResult<Vec<SessionRow>> {
        self.store.sessions().sessions_of(session.user_id, self.clock.now()).await
    }

    /// Ends the session and revokes every copy of its cookie.
    pub async fn log_out(&self, session: &Session) -> StoreResult<()> {
        self.end(session.id).await
    }

    /// Ends the session that a browser had before it signed in again: no copy of the replaced cookie stays valid. A
    /// failure is logged, because the log-in has succeeded.
    pub async fn end_replaced(&self, replaced: Option<&Session>) {
        let Some(session) = replaced else { return };
        if let Err(error) = self.log_out(session).await {
            warn!(%error, user = %session.user_id, "cannot end the session that a log-in replaced");
        }
    }

    /// Ends one of the user's own sessions. `false` when it belongs to another user.
    pub async fn end_own(&self, session: &Session, id: Uuid) -> StoreResult<bool> {
        let own = id == session.id || self.sessions_of(session).await?.iter().any(|row| row.id == id);
        if own {
            self.end(id).await?;
        }
        Ok(own)
    }

    async fn end(&self, id: Uuid) -> StoreResult<()> {
        let ended = self.store.sessions().end_session(id, self.clock.now()).await?;
        self.revocations.add(&[ended]);
        Ok(())
    }

    pub async fn log_out_everywhere(&self, session: &Session) -> StoreResult<()> {
        // End the current session by its own id as well: it may come from a process whose clock is ahead, and have no
        // row.
        self.end(session.id).await?;
        let ended = self.store.sessions().end_sessions(session.user_id, self.clock.now()).await?;
        self.revocations.add(&[ended]);
        Ok(())
    }
}

/// A hash for a user who is signed in.
fn confirmation(session: &Session, device: &Device) -> HashRequest {
    let lane = if session.is_staff() { Lane::Staff } else { Lane::LogIn };
    HashRequest::new(lane, device.address)
}

// Deleting an account at its owner's request.

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

#[boxed]
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
        has_pending_order: impl Future<Output = StoreResult<Option<bool>>>,
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
