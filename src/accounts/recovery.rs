//! Ways into an account whose password is lost: a link that sets a new one, or a code that logs in, sent to its
//! verified address.
//!
//! They must not be the weakest way in. A second factor stays and is asked for. Staff without a second factor must ask
//! an owner instead. Staff can start a shopper's recovery but cannot finish it. The answer is the same, and takes the
//! same time, whether there is such an account or not.

use std::sync::Arc;

use axum::http::HeaderValue;
use boxed::boxed;
use secrecy::SecretString;
use tracing::warn;

use super::administration::actor;
use super::fair_queue::Lane;
use super::password::{self, HashRequest};
use super::session::Session;
use super::{AccountRefusal, Accounts, Device};
use domain::{Locale, MailAddress, MailKind, SecurityClass, UserId};
use store::{AccountChangeRefusal, StaffRecovery, StoreResult, User};

/// The longest text, in bytes, that can be a name or an address.
const MAX_TYPED_BYTES: usize = 254;

#[boxed]
impl Accounts {
    /// Sends a link or a code to the account with this name or address, if there is one. The account is looked up after
    /// the answer, so that the response time reveals nothing.
    pub async fn request_access(
        self: &Arc<Self>,
        device: &Device,
        typed: &str,
        kind: MailKind,
        locale: Locale,
    ) -> Result<(), AccountRefusal> {
        let typed = typed.trim().to_owned();
        self.count_recovery(device, &typed).await?;
        let (accounts, device) = (self.clone(), device.clone());
        tokio::spawn(async move {
            if let Err(error) = accounts.send_access_to(&device, &typed, kind, locale).await {
                warn!(%error, %kind, "a message was not written; its reader has to ask again");
            }
        });
        Ok(())
    }

    async fn send_access_to(&self, device: &Device, typed: &str, kind: MailKind, locale: Locale) -> StoreResult<()> {
        let Some(user) = self.user_to_recover(typed).await? else { return Ok(()) };
        // Beyond the limit nothing new is sent, and the previous message stays valid.
        let is_sent =
            self.count_mail_of(user.id).await? && self.store.credentials().send_access(user.id, kind, locale).await?;
        if is_sent && kind == MailKind::Recovery {
            self.note(SecurityClass::RecoveryStarted, &user, device, "owner");
        }
        Ok(())
    }

    /// Logs in by the code of a message, which counts like a password: guesses at it are limited with those at the
    /// password, and `second` is the code of a second factor. An account that has one and gets no code answers
    /// `CodeNeeded`, and the code of the message stays good.
    pub async fn log_in_with_mailed_code(
        &self,
        device: &Device,
        typed: &str,
        code: &str,
        second: Option<&str>,
    ) -> Result<Session, AccountRefusal> {
        let user = self.user_to_recover(typed.trim()).await?;
        let guess = self.reserve_guess(device, user.as_ref().map_or(typed, |user| &user.username)).await?;
        let number = match &user {
            Some(user) => self.number_of_mailed_code(user, code).await,
            None => Ok(None),
        };
        self.end_guess(guess, matches!(number, Ok(None))).await;
        let Some(user) = user else {
            self.note_unknown_account(device);
            return Err(AccountRefusal::BadCode);
        };
        let Some(number) = number? else {
            self.note_failure(&user, device, "mailed_code");
            return Err(AccountRefusal::BadCode);
        };
        if user.second_factor.is_some() && second.is_none() {
            return Err(AccountRefusal::CodeNeeded(self.password_proof(&user)));
        }
        if !self.store.credentials().spend_access(user.id, number).await? {
            return Err(AccountRefusal::BadCode);
        }
        self.admit(&user, device, second.unwrap_or_default()).await
    }

    /// The number of the account's latest message, if this is its code.
    async fn number_of_mailed_code(&self, user: &User, code: &str) -> StoreResult<Option<i64>> {
        let (mail, now) = (self.store.accounts().mail_of(user.id).await?, self.store.now().await?);
        let code: String = code.chars().filter(|letter| !letter.is_whitespace()).collect();
        let number = mail.filter(|mail| mail.address.is_some()).map(|mail| mail.recovery);
        Ok(number.filter(|number| self.links.is_sign_in_code(&code, user.id, *number, now)))
    }

    async fn user_to_recover(&self, typed: &str) -> StoreResult<Option<User>> {
        if typed.is_empty() || typed.len() > MAX_TYPED_BYTES {
            return Ok(None);
        }
        let user = match MailAddress::parse(typed) {
            Some(address) => match self.store.accounts().user_with_address(&address).await? {
                Some(id) => self.store.accounts().user(id).await?,
                None => None,
            },
            None => self.user_named(typed).await?,
        };
        Ok(user.filter(may_recover))
    }

    /// Starts the recovery of an account on behalf of its owner, who finishes it.
    pub async fn start_recovery_for(
        &self,
        by: &Session,
        id: UserId,
    ) -> Result<Result<(), AccountRefusal>, AccountChangeRefusal> {
        if !self.count_mail_of(id).await? {
            return Ok(Err(AccountRefusal::Throttled(std::time::Duration::from_secs(600))));
        }
        match self.store.credentials().start_recovery_by_staff(&actor(by), id, self.clock.now()).await? {
            StaffRecovery::NoAddress => Ok(Err(AccountRefusal::NoMailAddress)),
            StaffRecovery::Started => {
                self.events.record(SecurityClass::RecoveryStarted, Some(id), None, "staff");
                Ok(Ok(()))
            }
        }
    }

    /// The account that a link recovers. Changes nothing: programs that scan mail follow links.
    pub async fn user_of_recovery(&self, token: &str) -> Result<User, AccountRefusal> {
        Ok(self.read_recovery(token).await?.0)
    }

    async fn read_recovery(&self, token: &str) -> Result<(User, i64), AccountRefusal> {
        let link = self.links.verify_recovery(token, self.store.now().await?).ok_or(AccountRefusal::BadLink)?;
        let mail = self.store.accounts().mail_of(link.user).await?;
        let is_latest = mail.is_some_and(|mail| mail.address.is_some() && mail.recovery == link.number);
        let user = self.active_user(link.user).await?;
        if is_latest && may_recover(&user) { Ok((user, link.number)) } else { Err(AccountRefusal::BadLink) }
    }

    /// Sets a new password by a link, and a code if the account has a second factor. Ends all sessions and opens none.
    /// Returns the device cookie: the guesses of others do not keep the owner, who proved to be it, out of this browser.
    pub async fn recover(
        &self,
        device: &Device,
        token: &str,
        new: SecretString,
        code: Option<&str>,
    ) -> Result<HeaderValue, AccountRefusal> {
        let (user, number) = self.read_recovery(token).await?;
        if !password::is_acceptable(&new, &user.username, user.role) {
            return Err(AccountRefusal::WeakPassword);
        }
        if user.second_factor.is_some() {
            let code = code.filter(|code| !code.trim().is_empty());
            let code = code.ok_or_else(|| AccountRefusal::CodeNeeded(String::new()))?;
            let checked = self.check_code(&user, code).await;
            checked.inspect_err(|refusal| self.note_wrong_code(&user, device, refusal))?;
        }
        let hash = self.passwords.hash(new, HashRequest::new(Lane::LogIn, device.address)).await?;
        let ended = self.store.credentials().finish_recovery(&user, number, &hash, self.clock.now()).await?;
        self.revocations.add(&[ended.ok_or(AccountRefusal::BadLink)?]);
        self.note(SecurityClass::PasswordChanged, &user, device, "recovery");
        Ok(self.known_devices.cookie(&user.username))
    }
}

/// Staff can do much harm, so a mailbox alone does not open their accounts.
fn may_recover(user: &User) -> bool {
    let is_open = user.deleted_at.is_none() && !user.is_blocked();
    is_open && (!user.role.is_staff() || user.second_factor.is_some())
}
