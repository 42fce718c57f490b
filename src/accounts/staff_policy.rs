//! What the owners require of all staff, and what staff have to do before they may use the console.

use std::sync::atomic::Ordering;

use super::administration::actor;
use super::session::Session;
use super::{ADMIN, AccountRefusal, Accounts};
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
