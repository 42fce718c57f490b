//! Step-up: staff enter their password, and a code, again before an operation that does much harm in wrong hands.
//! `web::step_up` names the operations.

use std::time::Duration;

use secrecy::SecretString;

use super::session::Session;
use super::{AccountRefusal, Accounts, Device};
use crate::domain::SecurityClass;
use crate::store::{StoreError, User};

impl Accounts {
    /// Whether the holder of a session entered the password, and the code, within the time that the setting allows. By the
    /// database's time, so that a process whose clock is wrong believes no old proof.
    pub async fn is_proved(&self, session: &Session) -> Result<bool, StoreError> {
        let Some(proved_at) = self.store.session_proved_at(session.id).await? else { return Ok(false) };
        let age = self.store.now().await?.duration_since(proved_at);
        Ok(Duration::try_from(age).unwrap_or_default() < self.staff_step_up)
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
        if self.store.prove_session(session.id).await? {
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
