//! Changes that staff make to the accounts of others. The store checks the permission within the transaction.

use secrecy::SecretString;
use uuid::Uuid;

use super::password::{self, HashRequest};
use super::session::Session;
use super::{AccountRefusal, Accounts, TEMPORARY_PASSWORD_LIFETIME, names};
use base::signing::key_for;
use domain::Role;
use domain::UserId;
use store::{AccountChange, AccountChangeRefusal, AccountEdit, Actor, RequestId, User};

impl Accounts {
    /// Changes an account. Sessions that the change ends are revoked in this process at once, and in other processes
    /// within a second.
    pub async fn change_account(
        &self,
        by: &Session,
        edit: impl Into<AccountEdit>,
        change: &AccountChange,
    ) -> Result<User, AccountChangeRefusal> {
        let (user, ended) =
            self.store.accounts().change_account(&actor(by), &edit.into(), change, self.clock.now()).await?;
        self.revocations.add(ended.as_slice());
        self.note_change(&user, change);
        Ok(user)
    }

    /// Removes the second factor and the passkeys of an account and ends its sessions, for the command line: no
    /// signed-in owner is needed. `None`: no account has this name.
    pub async fn reset_second_factor_by_command(&self, username: &str) -> Result<Option<User>, AccountChangeRefusal> {
        let Some(user) = self.user_named(username).await? else { return Ok(None) };
        let change = AccountChange::ResetSecondFactor;
        self.store.accounts().change_account_by_command(user.id, &change, self.clock.now()).await.map(Some)
    }

    /// Adds an account for a new member of staff. Returns it with a temporary password, which must be replaced before
    /// anything else, and within [`TEMPORARY_PASSWORD_LIFETIME`]. Retries of one request add one account, and return
    /// the same password as long as the shop's secret is the same.
    pub async fn add_staff(
        &self,
        by: &Session,
        username: &str,
        role: Role,
        request: Option<RequestId>,
    ) -> Result<Result<(User, String), AccountRefusal>, AccountChangeRefusal> {
        let username = &*names::normalized(username);
        if !names::is_valid(username) {
            return Ok(Err(AccountRefusal::BadUsername));
        }
        let (id, password) = match request {
            Some(RequestId(id)) => {
                (id, password::of_bytes(key_for(&self.secret, &format!("password of request {id}"))))
            }
            None => (Uuid::now_v7(), password::generate()),
        };
        let hash = match self.hash_temporary(&password).await {
            Ok(hash) => hash,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let now = self.clock.now();
        let mut user = User::new(UserId(id), username, hash, role, now);
        user.must_change_password = true;
        user.password_expires_at = Some(self.store.now().await? + TEMPORARY_PASSWORD_LIFETIME);
        let free =
            !names::is_taken_by_shop(username) && self.store.accounts().add_staff(&actor(by), &user, now).await?;
        if !free {
            let first = self.store.accounts().user(user.id).await?;
            return Ok(first.map(|first| (first, password)).ok_or(AccountRefusal::UsernameTaken));
        }
        self.note_staff_account(&user);
        Ok(Ok((user, password)))
    }

    /// Gives a member of the staff who has lost the password a temporary one. It must be replaced before anything else.
    pub async fn reset_password(
        &self,
        by: &Session,
        id: UserId,
    ) -> Result<Result<(User, String), AccountRefusal>, AccountChangeRefusal> {
        let password = password::generate();
        let hash = match self.hash_temporary(&password).await {
            Ok(hash) => hash,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let expires_at = self.store.now().await? + TEMPORARY_PASSWORD_LIFETIME;
        let user = self.change_account(by, id, &AccountChange::ResetPassword { hash, expires_at }).await?;
        Ok(Ok((user, password)))
    }

    async fn hash_temporary(&self, password: &str) -> Result<String, AccountRefusal> {
        self.passwords.hash(SecretString::from(password.to_owned()), HashRequest::internal()).await
    }
}

pub(super) fn actor(session: &Session) -> Actor {
    Actor { id: session.user_id, role: session.role, name: session.username.clone() }
}
