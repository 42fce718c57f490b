//! What people do with their own account.

use secrecy::SecretString;
use uuid::Uuid;

use super::session::Session;
use super::{AccountRefusal, Accounts, Device, is_password, record};
use crate::store::{Deletion, SessionRow, StoreError, User};

impl Accounts {
    /// The account of a session, if the password is right. Guesses count as those at the log-in do.
    pub(super) async fn confirm(
        &self,
        session: &Session,
        device: &Device,
        password: SecretString,
    ) -> Result<User, AccountRefusal> {
        if let Some(wait) = self.guesses.wait(device.address, &session.username) {
            return Err(AccountRefusal::Throttled(wait));
        }
        let user = self.store.user(session.user_id).await?;
        let hash = user.as_ref().map(|user| user.password_hash.clone());
        match (self.passwords.verify(password, hash).await?, user) {
            (true, Some(user)) => Ok(user),
            _ => {
                self.guesses.was_wrong(device.address, &session.username);
                Err(AccountRefusal::WrongPassword)
            }
        }
    }

    /// Changes the password and ends all other sessions. The answer takes the place of the present session.
    pub async fn change_password(
        &self,
        session: &Session,
        device: &Device,
        present: SecretString,
        new: SecretString,
    ) -> Result<Session, AccountRefusal> {
        if !is_password(&new) {
            return Err(AccountRefusal::WeakPassword);
        }
        let mut user = self.confirm(session, device, present).await?;
        user.password_hash = self.passwords.hash(new).await?;
        let mut next = Session::of(&user, self.issue_time(user.id));
        let keep = Some((&user, record(&next, device)));
        let (ended, kept) = self.store.set_password(user.id, &user.password_hash, keep, self.clock.now()).await?;
        self.revocations.learn(&[ended]);
        next.issued_at = kept.map_or(next.issued_at, |kept| kept.issued_at);
        Ok(next)
    }

    /// The sessions that a user has, the latest first.
    pub async fn sessions_of(&self, session: &Session) -> Result<Vec<SessionRow>, StoreError> {
        self.store.sessions_of(session.user_id, self.clock.now()).await
    }

    /// Ends the session for good: a copy of its cookie is dead as well.
    pub async fn log_out(&self, session: &Session) -> Result<(), StoreError> {
        self.end(session.id).await
    }

    /// Ends one of the user's own sessions; `false` when it is not theirs.
    pub async fn end_own(&self, session: &Session, id: Uuid) -> Result<bool, StoreError> {
        let own = id == session.id || self.sessions_of(session).await?.iter().any(|row| row.id == id);
        if own {
            self.end(id).await?;
        }
        Ok(own)
    }

    async fn end(&self, id: Uuid) -> Result<(), StoreError> {
        let ended = self.store.end_session(id, self.clock.now()).await?;
        self.revocations.learn(&[ended]);
        Ok(())
    }

    pub async fn log_out_everywhere(&self, session: &Session) -> Result<(), StoreError> {
        // This one by its own id as well: it may come from a clock that is ahead, and have no row.
        self.end(session.id).await?;
        let ended = self.store.end_sessions(session.user_id, self.clock.now()).await?;
        self.revocations.learn(&[ended]);
        Ok(())
    }

    /// Deletes the account: what is personal goes, orders stay for the books. What is left in the wallet has to be
    /// given up.
    pub async fn delete(
        &self,
        session: &Session,
        device: &Device,
        password: SecretString,
        give_up: bool,
    ) -> Result<Deletion, AccountRefusal> {
        let user = self.confirm(session, device, password).await?;
        let outcome = self.store.delete_account(user.id, give_up, self.clock.now()).await?;
        if let Deletion::Done(ended) = outcome {
            self.revocations.learn(&[ended]);
        }
        Ok(outcome)
    }
}
