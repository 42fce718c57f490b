//! Changes that staff make to the accounts of others. The store checks the permission within the transaction.

use secrecy::SecretString;
use uuid::Uuid;

use crate::password::{self, HashRequest};
use crate::session::Session;
use crate::{AccountRefusal, Accounts, TEMPORARY_PASSWORD_LIFETIME, names};
use base::signing::key_for;
use domain::{Role, UserId};
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

    /// Changes an account for the command line: no signed-in owner is needed. Its sessions end in all processes within a
    /// second. `None`: no account has this name.
    pub async fn change_by_command(
        &self,
        username: &str,
        change: &AccountChange,
    ) -> Result<Option<User>, AccountChangeRefusal> {
        let Some(user) = self.user_named(username).await? else { return Ok(None) };
        let user = self.store.accounts().change_account_by_command(user.id, change, self.clock.now()).await?;
        self.note_change(&user, change);
        Ok(Some(user))
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
        let (password, change) = match self.temporary_password().await {
            Ok(made) => made,
            Err(refusal) => return Ok(Err(refusal)),
        };
        Ok(Ok((self.change_account(by, id, &change).await?, password)))
    }

    /// A new temporary password, and the change that gives it to an account.
    pub async fn temporary_password(&self) -> Result<(String, AccountChange), AccountRefusal> {
        let password = password::generate();
        let hash = self.hash_temporary(&password).await?;
        let expires_at = self.store.now().await? + TEMPORARY_PASSWORD_LIFETIME;
        Ok((password, AccountChange::ResetPassword { hash, expires_at }))
    }

    async fn hash_temporary(&self, password: &str) -> Result<String, AccountRefusal> {
        self.passwords.hash(SecretString::from(password.to_owned()), HashRequest::internal()).await
    }
}

pub(super) fn actor(session: &Session) -> Actor {
    Actor { id: session.user_id, role: session.role, name: session.username.clone() }
}

// What staff may enter about the accounts of others. Pages and API share these checks.

/// Characters of the reason for a block, which the audit log keeps.
const MAX_BLOCK_REASON_CHARS: usize = 500;

/// The role of the staff with this name; `None` for unknown names and for shoppers, who have no role in the console.
pub fn staff_role(name: &str) -> Option<Role> {
    name.parse().ok().filter(|role: &Role| role.is_staff())
}

/// The trimmed reason for a block, or the code of what is wrong with it.
pub fn check_block_reason(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("required"),
        text if text.chars().count() > MAX_BLOCK_REASON_CHARS => Err("too_long"),
        text => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_roles_of_the_staff_can_be_given() {
        assert_eq!(staff_role("operator"), Some(Role::Operator));
        assert_eq!(staff_role("user"), None);
        assert_eq!(staff_role("root"), None);
    }

    #[test]
    fn a_block_needs_a_reason_within_its_bounds() {
        assert_eq!(check_block_reason(" fraud "), Ok("fraud".to_owned()));
        assert_eq!(check_block_reason(" "), Err("required"));
        assert_eq!(check_block_reason(&"x".repeat(MAX_BLOCK_REASON_CHARS + 1)), Err("too_long"));
    }
}
