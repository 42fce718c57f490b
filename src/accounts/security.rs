//! The security events of accounts.

use serde_json::json;
use tracing::warn;

use super::{AccountRefusal, Accounts, Device, Session};
use domain::{AuditAction, SecurityClass};
use store::{AccountChange, User};

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
        if matches!(refusal, AccountRefusal::BadCode | AccountRefusal::BadPresentCode) {
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

    /// Records a new account of the staff.
    pub(super) fn note_staff_account(&self, user: &User) {
        self.note_change(user, &AccountChange::SetRole(user.role));
    }
}
