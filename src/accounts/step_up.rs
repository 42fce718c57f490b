//! Step-up: staff enter their password, and a code, again before an operation that does much harm in wrong hands, and
//! shoppers before they spend from the wallet, half a day after they signed in.

use std::time::Duration;

use secrecy::SecretString;

use super::session::Session;
use super::{AccountRefusal, Accounts, Device};
use domain::SecurityClass;
use store::{StoreError, User};

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
