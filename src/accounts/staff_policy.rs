//! What the owners require of all staff, and what staff have to do before they may use the console.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use secrecy::SecretString;

use crate::administration::actor;
use crate::session::Session;
use crate::{ADMIN, AccountRefusal, Accounts, Device};
use domain::SecurityClass;
use store::{StaffPolicy, StoreError, User};

/// What a member of the staff has to do at the own account before anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaffDuty {
    /// Another person has set the password.
    ChangePassword,
    /// The owners require a second factor.
    SetUpSecondFactor,
}

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
    pub async fn require_second_factor_of_first_staff(&self) -> Result<bool, StoreError> {
        self.store.accounts().require_second_factor_without(ADMIN).await
    }

    pub(super) async fn refresh_policy(&self) -> Result<(), StoreError> {
        self.second_factor_required
            .store(self.store.accounts().staff_policy().await?.second_factor_required, Ordering::Relaxed);
        Ok(())
    }
}

// Sessions of staff: confirmed by the database, and ended when they are not used.

impl Accounts {
    /// The current account behind a session of staff. `None` for shoppers, without a database query, and for staff
    /// whose account no longer allows it.
    pub async fn staff(&self, session: &Session) -> Result<Option<User>, StoreError> {
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
    async fn is_idle(&self, session: &Session) -> Result<bool, StoreError> {
        let pending = self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(&session.id).copied();
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

impl Accounts {
    /// Whether a member of the staff entered the password, and the code, within the time that the setting allows.
    pub async fn is_proved(&self, session: &Session) -> Result<bool, StoreError> {
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
    async fn is_proved_within(&self, session: &Session, lifetime: Duration) -> Result<bool, StoreError> {
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

    async fn check_needed_code(&self, user: &User, code: Option<&str>) -> Result<(), AccountRefusal> {
        match code {
            Some(code) if !code.trim().is_empty() => self.check_code(user, code).await,
            _ if user.second_factor.is_none() => Ok(()),
            _ => Err(AccountRefusal::BadCode),
        }
    }
}
