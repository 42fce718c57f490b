//! Changes of accounts: passwords, blocks, roles. Each ends the user's sessions in the same transaction.

use boxed::boxed;
use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::any::AnyRow;

use crate::accounts::{self, contacts, key, log_own_change, sessions};
use crate::{
    AccountStore, NewSession, Revocation, StoreError, StoreResult, Tx, User, expect_version, is_outdated, mail,
};
use domain::{AuditAction, MailKind, Role, UserId};

/// Why an account was not changed.
#[derive(Debug, thiserror::Error)]
pub enum AccountChangeRefusal {
    #[error("no such user")]
    NoSuchUser,
    /// At least one owner must remain to appoint others.
    #[error("this is the last owner")]
    LastOwner,
    #[error("an account cannot do this to itself")]
    Yourself,
    /// Only owners may block staff.
    #[error("the role does not allow this")]
    NotAllowed,
    #[error("the account is in another version")]
    StaleVersion,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The actor in the audit log for a command on the server. No account can have this name.
pub const COMMAND_LINE: &str = "command line";

/// A member of staff who changes an account.
#[derive(Debug, Clone)]
pub struct Actor {
    pub id: UserId,
    pub role: Role,
    pub name: String,
}

/// The account as the audit log shows it.
fn audit_details(user: &User) -> Value {
    json!({
        "role": user.role.as_str(), "blocked": user.is_blocked(), "reason": user.blocked_reason,
        "second_factor": user.second_factor.is_some(), "passkeys": user.passkeys,
    })
}

/// The account to change.
#[derive(Debug, Clone)]
pub struct AccountEdit {
    pub id: UserId,
    /// The account must be in one of these versions; `None` for any.
    pub versions: Option<Vec<i64>>,
}

impl From<UserId> for AccountEdit {
    fn from(id: UserId) -> Self {
        AccountEdit { id, versions: None }
    }
}

/// A change that staff make to an account.
#[derive(Debug, Clone)]
pub enum AccountChange {
    Block {
        reason: String,
    },
    Unblock,
    EndSessions,
    SetRole(Role),
    ResetSecondFactor,
    /// A member of the staff gets a temporary password.
    ResetPassword {
        hash: String,
        expires_at: Timestamp,
    },
}

impl AccountChange {
    /// The change's name in the audit log.
    pub fn action(&self) -> AuditAction {
        match self {
            AccountChange::Block { .. } => AuditAction::Block,
            AccountChange::Unblock => AuditAction::Unblock,
            AccountChange::EndSessions => AuditAction::EndSessions,
            AccountChange::SetRole(Role::User) => AuditAction::Dismiss,
            AccountChange::SetRole(_) => AuditAction::SetRole,
            AccountChange::ResetSecondFactor => AuditAction::ResetSecondFactor,
            AccountChange::ResetPassword { .. } => AuditAction::ResetPassword,
        }
    }

    fn removes_an_owner(&self) -> bool {
        matches!(self, AccountChange::Block { .. })
            || matches!(self, AccountChange::SetRole(role) if *role != Role::Admin)
    }
}

#[boxed]
impl AccountStore<'_> {
    /// Sets a user's password, ends all of the user's sessions and opens the session `keep` instead.
    pub async fn set_password(
        self,
        id: UserId,
        password_hash: &str,
        keep: Option<(&User, NewSession)>,
        now: Timestamp,
    ) -> StoreResult<(Revocation, Option<NewSession>)> {
        let mut tx = self.begin().await?;
        let number = sessions::next_number(&mut tx).await?;
        let sql = "UPDATE users SET password_hash = $2, must_change_password = 0,
               password_expires_at_ms = NULL WHERE id = $1";
        tx.run(query!(sql; id, password_hash)).await?;
        let ended = sessions::end_all(&mut tx, number, id, now).await?;
        contacts::end_links(&mut tx, id).await?;
        mail::notify(&mut tx, id, MailKind::PasswordChanged, json!({})).await?;
        let mut kept = None;
        if let Some((user, mut session)) = keep {
            session.issued_at = first_valid_issue(ended.revoked_until);
            sessions::insert(&mut tx, id, &session).await?;
            log_own_change(&mut tx, user, AuditAction::ChangePassword, now).await?;
            kept = Some(session);
        }
        tx.commit_and((ended, kept)).await
    }

    /// The user has to choose another password before anything else.
    pub async fn require_new_password(self, id: UserId) -> StoreResult<()> {
        self.run(query!("UPDATE users SET must_change_password = 1 WHERE id = $1"; id)).await
    }

    /// Changes an account if the actor is allowed to, and logs it.
    pub async fn change_account(
        self,
        actor: &Actor,
        edit: &AccountEdit,
        change: &AccountChange,
        now: Timestamp,
    ) -> Result<(User, Option<Revocation>), AccountChangeRefusal> {
        let mut tx = self.begin().await?;
        // Serializes changes by staff, so that the checks below stay true until the commit.
        let number = sessions::next_number(&mut tx).await?;
        let before = existing(&mut tx, edit.id).await?;
        let is_current =
            accounts::read(&mut tx, actor.id).await?.is_some_and(|a| a.role == actor.role && !a.is_blocked());
        if !is_current {
            return Err(AccountChangeRefusal::NotAllowed);
        }
        check_allowed(&mut tx, actor, &before, change).await?;
        expect_version(before.version, edit.versions.as_deref(), AccountChangeRefusal::StaleVersion)?;
        let changed = carry_out(&mut tx, number, &actor.name, &before, change, now).await?;
        tx.commit_and(changed).await
    }

    /// Like [`AccountStore::change_account`], for a command on the server, which needs no role in the shop.
    pub async fn change_account_by_command(
        self,
        id: UserId,
        change: &AccountChange,
        now: Timestamp,
    ) -> Result<User, AccountChangeRefusal> {
        let mut tx = self.begin().await?;
        let number = sessions::next_number(&mut tx).await?;
        let before = existing(&mut tx, id).await?;
        let (after, _) = carry_out(&mut tx, number, COMMAND_LINE, &before, change, now).await?;
        tx.commit_and(after).await
    }

    /// Adds a member of staff. Returns `false` if the name is taken.
    pub async fn add_staff(self, actor: &Actor, user: &User, now: Timestamp) -> Result<bool, AccountChangeRefusal> {
        let mut tx = self.begin().await?;
        sessions::next_number(&mut tx).await?;
        let owner = accounts::read(&mut tx, actor.id).await?.is_some_and(|a| a.role == Role::Admin && !a.is_blocked());
        if !owner {
            return Err(AccountChangeRefusal::NotAllowed);
        }
        if !accounts::add(&mut tx, user).await? {
            return Ok(false);
        }
        let subject = format!("user {}", user.id);
        tx.log(&actor.name, AuditAction::AddStaff, &subject, None, Some(&audit_details(user)), now).await?;
        tx.commit_and(true).await
    }
}

/// The first time of issue at which a cookie is not covered by the revocation.
pub fn first_valid_issue(revoked_until: Timestamp) -> Timestamp {
    revoked_until.saturating_add(jiff::SignedDuration::from_millis(1)).unwrap_or(revoked_until)
}

async fn existing(tx: &mut Tx, id: UserId) -> Result<User, AccountChangeRefusal> {
    let user = accounts::read(tx, id).await?.filter(|user| user.deleted_at.is_none());
    user.ok_or(AccountChangeRefusal::NoSuchUser)
}

/// Changes an account and logs it. `number` becomes the number of the revocation of its sessions.
async fn carry_out(
    tx: &mut Tx,
    number: i64,
    actor: &str,
    before: &User,
    change: &AccountChange,
    now: Timestamp,
) -> Result<(User, Option<Revocation>), AccountChangeRefusal> {
    let id = before.id;
    apply(tx, id, change, now).await?;
    tx.run(query!("UPDATE users SET version = version + 1 WHERE id = $1"; id)).await?;
    tell(tx, before, change).await?;
    let ended = match change {
        AccountChange::Unblock => None,
        _ => Some(sessions::end_all(tx, number, id, now).await?),
    };
    let after = accounts::read(tx, id).await?.ok_or(AccountChangeRefusal::NoSuchUser)?;
    let (old, new) = (audit_details(before), audit_details(&after));
    tx.log(actor, change.action(), &format!("user {id}"), Some(&old), Some(&new), now).await?;
    Ok((after, ended))
}

async fn check_allowed(
    tx: &mut Tx,
    actor: &Actor,
    of: &User,
    change: &AccountChange,
) -> Result<(), AccountChangeRefusal> {
    let owner = actor.role == Role::Admin;
    let about_staff =
        of.role.is_staff() || matches!(change, AccountChange::SetRole(_) | AccountChange::ResetSecondFactor);
    if about_staff && !owner || !matches!(actor.role, Role::Admin | Role::Support) {
        return Err(AccountChangeRefusal::NotAllowed);
    }
    if matches!(change, AccountChange::SetRole(_)) && of.external_id.is_some() {
        return Err(AccountChangeRefusal::NotAllowed);
    }
    // Staff cannot reset a shopper's password. Otherwise an impostor who convinces an owner would get the account.
    if matches!(change, AccountChange::ResetPassword { .. }) && !of.role.is_staff() {
        return Err(AccountChangeRefusal::NotAllowed);
    }
    if matches!(change, AccountChange::Block { .. } | AccountChange::ResetPassword { .. }) && actor.id == of.id {
        return Err(AccountChangeRefusal::Yourself);
    }
    if change.removes_an_owner() && of.role == Role::Admin {
        let others = "SELECT 1 FROM users WHERE role = 'admin' AND id <> $1 AND blocked_at_ms IS NULL
                      AND deleted_at_ms IS NULL LIMIT 1";
        if !tx.exists(query!(others; of.id)).await? {
            return Err(AccountChangeRefusal::LastOwner);
        }
    }
    Ok(())
}

/// Sends mail to the account's address about a change that its owner usually makes.
async fn tell(tx: &mut Tx, before: &User, change: &AccountChange) -> sqlx::Result<()> {
    let kind = match change {
        AccountChange::ResetSecondFactor if before.second_factor.is_some() => MailKind::SecondFactorOff,
        AccountChange::ResetPassword { .. } => MailKind::PasswordChanged,
        _ => return Ok(()),
    };
    contacts::end_links(tx, before.id).await?;
    mail::notify(tx, before.id, kind, json!({})).await
}

async fn apply(tx: &mut Tx, id: UserId, change: &AccountChange, now: Timestamp) -> sqlx::Result<()> {
    let id = id.to_string();
    let query = match change {
        AccountChange::Block { reason } => {
            query!("UPDATE users SET blocked_at_ms = $2, blocked_reason = $3 WHERE id = $1"; id, now, reason)
        }
        AccountChange::Unblock => {
            query!("UPDATE users SET blocked_at_ms = NULL, blocked_reason = NULL WHERE id = $1"; id)
        }
        AccountChange::SetRole(role) => {
            query!("UPDATE users SET role = $2 WHERE id = $1"; id, role)
        }
        AccountChange::ResetSecondFactor => {
            for sql in ["DELETE FROM recovery_codes WHERE user_id = $1", "DELETE FROM passkeys WHERE user_id = $1"] {
                tx.run(query!(sql; &id)).await?;
            }
            query!("UPDATE users SET second_factor = NULL WHERE id = $1"; id)
        }
        AccountChange::ResetPassword { hash, expires_at } => {
            let sql = "UPDATE users SET password_hash = $2, must_change_password = 1, password_expires_at_ms = $3
                 WHERE id = $1";
            query!(sql; id, hash, expires_at)
        }
        AccountChange::EndSessions => return Ok(()),
    };
    tx.run(query).await
}

// The rules that owners set for all staff.

/// The rules that owners set for all staff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaffPolicy {
    /// Whether staff need a second factor to use the console.
    pub second_factor_required: bool,
    pub version: i64,
}

fn policy(row: &AnyRow) -> sqlx::Result<StaffPolicy> {
    read!(row => StaffPolicy { second_factor_required, version })
}

#[boxed]
impl AccountStore<'_> {
    pub async fn staff_policy(self) -> StoreResult<StaffPolicy> {
        let sql = "SELECT second_factor_required, version FROM staff_policy WHERE id = 1";
        self.one(query!(sql), policy).await
    }

    /// Requires a second factor if no account has this name. Returns whether it did.
    pub async fn require_second_factor_without(self, username: &str) -> StoreResult<bool> {
        let sql = "UPDATE staff_policy SET second_factor_required = 1, version = version + 1
                   WHERE id = 1 AND NOT EXISTS (SELECT 1 FROM users WHERE username_key = $1)";
        Ok(self.changed(query!(sql; key(username))).await? == 1)
    }

    /// Sets the rule, with a line in the audit log. Returns `None` and changes nothing if the policy is in none of the
    /// `versions`.
    pub async fn require_second_factor(
        self,
        actor: &Actor,
        versions: Option<&[i64]>,
        required: bool,
    ) -> StoreResult<Option<StaffPolicy>> {
        let mut tx = self.begin().await?;
        // This locks the row.
        let next =
            "UPDATE staff_policy SET version = version + 1 WHERE id = 1 RETURNING second_factor_required, version";
        let next = tx.one(query!(next), policy).await?;
        if is_outdated(next.version - 1, versions) {
            return Ok(None);
        }
        tx.run(query!("UPDATE staff_policy SET second_factor_required = $1 WHERE id = 1"; required)).await?;
        let before = json!({"second_factor": next.second_factor_required});
        let after = json!({"second_factor": required});
        tx.log(&actor.name, AuditAction::StaffPolicy, "staff", Some(&before), Some(&after), tx.now).await?;
        tx.commit_and(Some(StaffPolicy { second_factor_required: required, ..next })).await
    }
}
