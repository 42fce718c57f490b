//! Accounts of staff and what they change: at the accounts of others, where the store checks the permission within the
//! transaction, and what the owners require of all staff before they may use the console.

use std::sync::atomic::Ordering;
use std::time::Duration;

use boxed::boxed;
use secrecy::SecretString;
use uuid::Uuid;

use crate::password::HashRequest;
use crate::session::Session;
use crate::{ADMIN, AccountRefusal, Accounts, Device, TEMPORARY_PASSWORD_LIFETIME, names, password};
use base::locked;
use base::signing::key_for;
use domain::{Role, SecurityClass, UserId};
use store::{AccountChange, AccountChangeRefusal, AccountEdit, Actor, RequestId, StaffPolicy, StoreResult, User};

#[boxed]
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
        self.note_change(&user, &AccountChange::SetRole(role));
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

/// What a member of the staff has to do at the own account before anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaffDuty {
    /// Another person has set the password.
    ChangePassword,
    /// The owners require a second factor.
    SetUpSecondFactor,
}

#[boxed]
impl Accounts {
    /// What a member of the staff has to do first.
    pub fn duty_of(&self, user: &User) -> Option<StaffDuty> {
        if user.must_change_password {
            return Some(StaffDuty::ChangePassword);
        }
        let is_missing = !user.has_second_factor() && self.requires_second_factor();
        is_missing.then_some(StaffDuty::SetUpSecondFactor)
    }

    /// Whether only staff with a second factor use the console. A change by another process counts a second later.
    pub fn requires_second_factor(&self) -> bool {
        self.second_factor_required.load(Ordering::Relaxed)
    }

    /// Requires a second factor of all staff, or stops requiring it. An owner who requires it must have one, so that
    /// there is an owner who can turn it off again. The policy must be in one of the `versions`.
    pub async fn require_second_factor(
        &self,
        by: &Session,
        versions: Option<&[i64]>,
        required: bool,
    ) -> Result<StaffPolicy, AccountRefusal> {
        let user = self.store.accounts().user(by.user_id).await?;
        if required && !user.is_some_and(|user| user.has_second_factor()) {
            return Err(AccountRefusal::SecondFactorRequired);
        }
        let changed = self.store.accounts().require_second_factor(&actor(by), versions, required).await?;
        let policy = changed.ok_or(AccountRefusal::StaleVersion)?;
        self.second_factor_required.store(required, Ordering::Relaxed);
        Ok(policy)
    }

    /// Requires a second factor of all staff if the shop has no administrator yet. Returns whether it had none. This
    /// process applies it from its next refresh.
    pub async fn require_second_factor_of_first_staff(&self) -> StoreResult<bool> {
        self.store.accounts().require_second_factor_without(ADMIN).await
    }
}

// Sessions of staff: confirmed by the database, and ended when they are not used.

#[boxed]
impl Accounts {
    /// The current account behind a session of staff. `None` for shoppers, without a database query, and for staff
    /// whose account no longer allows it.
    pub async fn staff(&self, session: &Session) -> StoreResult<Option<User>> {
        if !session.is_staff() {
            return Ok(None);
        }
        if self.is_idle(session).await? {
            self.log_out(session).await?;
            return Ok(None);
        }
        let user = self.store.accounts().user(session.user_id).await?;
        Ok(user.filter(|user| user.role.is_staff() && !user.is_blocked() && session.is_of(user)))
    }

    /// Whether the session was unused for longer than staff may leave it. Other processes store uses every half minute,
    /// so a session may end that much early. Stored uses have the database's time and are compared with it: a process
    /// whose clock is wrong neither ends nor prolongs sessions.
    async fn is_idle(&self, session: &Session) -> StoreResult<bool> {
        let pending = locked(&self.seen).get(&session.id).copied();
        let unused = if let Some(pending) = pending {
            self.clock.now().duration_since(pending)
        } else if let Some(stored) = self.store.sessions().session_last_use(session.id).await? {
            self.store.now().await?.duration_since(stored)
        } else {
            self.clock.now().duration_since(session.issued_at)
        };
        Ok(Duration::try_from(unused).unwrap_or_default() >= self.rules.staff_idle)
    }
}

// Step-up: staff enter their password, and a code, again before an operation that does much harm in wrong hands, and
// shoppers before they spend from the wallet, half a day after they signed in.

/// How long shoppers may spend from the wallet after they entered their password: 12 hours (OWASP ASVS 3.3.2). Their
/// sessions last longer, so that signing in does not make them late for an opening.
const SPENDING_PROOF_LIFETIME: Duration = Duration::from_secs(12 * 3600);

#[boxed]
impl Accounts {
    /// Whether a member of the staff entered the password, and the code, within the time that the setting allows.
    pub async fn is_proved(&self, session: &Session) -> StoreResult<bool> {
        self.is_proved_within(session, self.rules.staff_step_up).await
    }

    /// Refuses to spend from the wallet when the password of the session was entered too long ago.
    pub async fn check_spending(&self, session: &Session) -> Result<(), AccountRefusal> {
        match self.is_proved_within(session, SPENDING_PROOF_LIFETIME).await? {
            true => Ok(()),
            false => Err(AccountRefusal::StepUpNeeded),
        }
    }

    /// Compares with the database's time, so that a process whose clock is wrong accepts no old proof.
    async fn is_proved_within(&self, session: &Session, lifetime: Duration) -> StoreResult<bool> {
        let Some(proved_at) = self.store.sessions().session_proved_at(session.id).await? else { return Ok(false) };
        let age = self.store.now().await?.duration_since(proved_at);
        Ok(Duration::try_from(age).unwrap_or_default() < lifetime)
    }

    /// Proves that the session is in the hands of its owner: by the password, and by a code if the account has a second
    /// factor.
    pub async fn step_up(
        &self,
        session: &Session,
        device: &Device,
        password: SecretString,
        code: Option<&str>,
    ) -> Result<(), AccountRefusal> {
        let user = self.confirm_with_code(session, device, password, code).await?;
        if self.needs_passkey(&user) {
            return Err(AccountRefusal::PasskeyNeeded);
        }
        if self.store.sessions().prove_session(session.id).await? {
            self.note(SecurityClass::StepUp, &user, device, "");
        }
        Ok(())
    }

    /// The account of a session, if the password is right, and the code if the account has an authenticator app.
    pub(super) async fn confirm_with_code(
        &self,
        session: &Session,
        device: &Device,
        password: SecretString,
        code: Option<&str>,
    ) -> Result<User, AccountRefusal> {
        let user = self.confirm(session, device, password).await?;
        let checked = self.check_needed_code(&user, code).await;
        checked.inspect_err(|refusal| self.note_wrong_code(&user, device, refusal))?;
        Ok(user)
    }

    pub(super) async fn check_needed_code(&self, user: &User, code: Option<&str>) -> Result<(), AccountRefusal> {
        match code {
            Some(code) if !code.trim().is_empty() => self.check_code(user, code).await,
            _ if user.second_factor.is_none() => Ok(()),
            _ => Err(AccountRefusal::BadCode),
        }
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
