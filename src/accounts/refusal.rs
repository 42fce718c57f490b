//! Refusals of log-ins, registrations and changes of the own account, and what the security events and the audit log
//! record about accounts.

use std::time::Duration;

use serde_json::json;
use tracing::warn;

use crate::{Accounts, Device, Session};
use domain::{AuditAction, SecurityClass};
use store::{AccountChange, StoreError, User};

/// Why a log-in, a registration or a change of the own account is refused.
#[derive(Debug, thiserror::Error)]
pub enum AccountRefusal {
    /// An unknown name and a wrong password are indistinguishable, also by their timing.
    #[error("the user name or password is wrong")]
    BadCredentials,
    /// The network has registered many accounts lately: see
    /// [`due_proof`](super::Accounts::due_proof).
    #[error("a proof of work, or a wait, is due")]
    ProofDue,
    #[error("the user name is taken")]
    UsernameTaken,
    #[error("the user name is not valid")]
    BadUsername,
    /// Its length is wrong, or guessing programs try it first.
    #[error("the password is weak")]
    WeakPassword,
    /// [`BadUsername`](Self::BadUsername) and [`WeakPassword`](Self::WeakPassword) of one registration, reported
    /// together.
    #[error("the user name is not valid and the password is weak")]
    BadNameAndPassword,
    /// Too many wrong guesses, or too many passwords of one network wait to be hashed. Try again after this time.
    #[error("too many attempts")]
    Throttled(Duration),
    /// Too many wrong guesses of all clients together at this name. The account's owner still gets in with a passkey,
    /// with a password and a code, or by a recovery.
    #[error("too many attempts at this account")]
    NameThrottled(Duration),
    /// Staff have blocked the account.
    #[error("the account is blocked")]
    Blocked,
    /// The password was set by an owner, and not replaced in time.
    #[error("the temporary password has expired")]
    PasswordExpired,
    /// The password was right, and a code is needed as well. Carries a signed proof that the password was right.
    #[error("a code is needed")]
    CodeNeeded(String),
    #[error("the code is wrong or was used before")]
    BadCode,
    /// The signature of a passkey is wrong, or the passkey is unknown. Clients cannot tell which.
    #[error("the passkey is unknown or its answer is wrong")]
    BadPasskey,
    /// The browser created a passkey that the shop does not accept, or took too long.
    #[error("the new passkey cannot be used")]
    BadRegistration,
    #[error("the account has no such passkey")]
    NoSuchPasskey,
    #[error("the account has the maximum number of passkeys")]
    TooManyPasskeys,
    #[error("the passkey belongs to an account already")]
    PasskeyTaken,
    /// Browsers offer no passkeys at the shop's address.
    #[error("the shop's address allows no passkeys")]
    PasskeysOff,
    /// The owners require a second factor, and the account's only one is a passkey.
    #[error("the account signs in with its passkey")]
    PasskeyNeeded,
    #[error("the policy is in another version")]
    StaleVersion,
    /// The account needs a second factor first.
    #[error("a second factor is required")]
    SecondFactorRequired,
    /// Replacing a second factor needs a code of the present one, which was missing or wrong.
    #[error("the code of the present second factor is wrong")]
    BadPresentCode,
    /// The current password, which confirms a change, was wrong.
    #[error("the password is wrong")]
    WrongPassword,
    /// The password was entered too long ago.
    #[error("the password is needed again")]
    StepUpNeeded,
    #[error("the mail address is not valid")]
    BadMailAddress,
    /// The link of a message has expired, was used, or is not the latest one.
    #[error("the link is not valid")]
    BadLink,
    #[error("the account has no verified mail address")]
    NoMailAddress,
    /// Too many passwords wait to be hashed.
    #[error("too many users are signing in")]
    Overloaded,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Accounts {
    /// Records an event of a known account.
    pub(super) fn note(&self, class: SecurityClass, user: &User, device: &Device, detail: &'static str) {
        self.events.record(class, Some(user.id), Some(device.address), detail);
    }

    /// Records a log-in with a name that no account has. The name is not kept: it may be a password.
    pub(super) fn note_unknown_account(&self, device: &Device) {
        self.events.record(SecurityClass::LogInFailed, None, Some(device.address), "unknown_account");
    }

    /// Records a failed log-in. A failed log-in of staff also goes to the audit log, in the background, because a
    /// longer response time would reveal who is staff.
    pub(super) fn note_failure(&self, user: &User, device: &Device, why: &'static str) {
        let class = if why == "code" { SecurityClass::SecondFactorFailed } else { SecurityClass::LogInFailed };
        self.note(class, user, device, if why == "code" { "log_in" } else { why });
        if !user.role.is_staff() {
            return;
        }
        let details = json!({"address": device.address, "agent": device.agent, "wrong": why});
        let (store, now, user) = (self.store.clone(), self.clock.now(), user.clone());
        tokio::spawn(async move {
            let noted = store
                .audit_log()
                .log_event(&user.username, AuditAction::LogInFailed, &format!("user {}", user.id), &details, now)
                .await;
            if let Err(error) = noted {
                warn!(%error, user = %user.id, "cannot log a failed log-in of staff");
            }
        });
    }

    /// Records a wrong password that was to confirm a change of the own account.
    pub(super) fn note_wrong_confirmation(&self, session: &Session, device: &Device) {
        let account = Some(session.user_id);
        self.events.record(SecurityClass::LogInFailed, account, Some(device.address), "confirmation");
    }

    /// Records a wrong code that was to confirm a change of the second factor.
    pub(super) fn note_wrong_code(&self, user: &User, device: &Device, refusal: &AccountRefusal) {
        if matches!(refusal, AccountRefusal::BadCode) {
            self.note(SecurityClass::SecondFactorFailed, user, device, "confirmation");
        }
    }

    /// Records what staff changed about another account. The audit log says who did it.
    pub(super) fn note_change(&self, user: &User, change: &AccountChange) {
        let (class, detail) = match change {
            AccountChange::Block { .. } => (SecurityClass::AccountBlocked, ""),
            AccountChange::Unblock => (SecurityClass::AccountUnblocked, ""),
            AccountChange::EndSessions => (SecurityClass::SessionsEnded, "staff"),
            AccountChange::SetRole(role) => (SecurityClass::RoleChanged, role.as_str()),
            AccountChange::ResetSecondFactor => (SecurityClass::SecondFactorRemoved, "staff"),
            AccountChange::ResetPassword { .. } => (SecurityClass::PasswordChanged, "staff"),
        };
        self.events.record(class, Some(user.id), None, detail);
    }
}
