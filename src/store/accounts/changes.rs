//! Changes of accounts: passwords, blocks, roles, and the end. Each ends the user's sessions in the same transaction.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::sessions;
use crate::domain::UserId;
use crate::domain::wallet::{Account, Kind, Transfer};
use crate::store::accounts;
use crate::store::accounts::tombstone;
use crate::store::{NewSession, Revocation, Role, Store, StoreError, Tx, User, audit_log, wallet};

/// Why an account was not changed.
#[derive(Debug, thiserror::Error)]
pub enum PeopleRefusal {
    #[error("no such user")]
    NoSuchUser,
    /// Somebody must be left who can appoint others.
    #[error("this is the last owner")]
    LastOwner,
    #[error("nobody does this to themselves")]
    Yourself,
    /// Only owners may block staff.
    #[error("the role does not allow this")]
    NotAllowed,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for PeopleRefusal {
    fn from(error: sqlx::Error) -> Self {
        PeopleRefusal::Store(error.into())
    }
}

/// What became of the wish to be forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    Done(Revocation),
    /// An order is not paid yet, or money is on its way back.
    OrdersOpen,
    /// Money is left in the wallet, and nobody said that it may be given up.
    WalletNotEmpty,
    /// Staff are dismissed first.
    IsStaff,
    Gone,
}

/// A member of the staff who changes somebody's account.
#[derive(Debug, Clone)]
pub struct Actor {
    pub id: UserId,
    pub role: Role,
    pub name: String,
}

fn facts(user: &User) -> Value {
    json!({
        "role": user.role.as_str(), "blocked": user.is_blocked(), "reason": user.blocked_reason,
        "second_factor": user.second_factor.is_some(),
    })
}

/// One change of somebody else's account.
#[derive(Debug, Clone)]
pub enum PersonChange {
    Block { reason: String },
    Unblock,
    EndSessions,
    SetRole(Role),
    ResetSecondFactor,
}

impl PersonChange {
    /// As the audit log calls it.
    pub fn action(&self) -> &'static str {
        match self {
            PersonChange::Block { .. } => "block",
            PersonChange::Unblock => "unblock",
            PersonChange::EndSessions => "end-sessions",
            PersonChange::SetRole(Role::User) => "dismiss",
            PersonChange::SetRole(_) => "set-role",
            PersonChange::ResetSecondFactor => "reset-second-factor",
        }
    }

    fn takes_an_owner_away(&self) -> bool {
        matches!(self, PersonChange::Block { .. })
            || matches!(self, PersonChange::SetRole(role) if *role != Role::Admin)
    }

    fn keeps_sessions(&self) -> bool {
        matches!(self, PersonChange::Unblock)
    }
}

impl Store {
    /// Gives a user a new password and ends their sessions. `keep` goes on in their place.
    pub async fn set_password(
        &self,
        id: UserId,
        password_hash: &str,
        keep: Option<(&User, NewSession)>,
        now: Timestamp,
    ) -> Result<(Revocation, Option<NewSession>), StoreError> {
        let mut tx = self.begin().await?;
        let number = sessions::next_number(&mut tx).await?;
        let sql = "UPDATE users SET password_hash = $2, must_change_password = 0 WHERE id = $1";
        sqlx::query(sql).bind(id.to_string()).bind(password_hash).execute(&mut *tx).await?;
        let ended = sessions::end_all(&mut tx, number, id, now).await?;
        let mut kept = None;
        if let Some((user, mut session)) = keep {
            session.issued_at = after(ended.dead_until);
            sessions::insert(&mut tx, id, &session).await?;
            if user.role.is_staff() {
                let subject = format!("user {id}");
                audit_log::log::<Value>(&mut tx, &user.username, "change-password", &subject, None, None, now).await?;
            }
            kept = Some(session);
        }
        tx.commit().await?;
        Ok((ended, kept))
    }

    /// Changes somebody's account, if the actor may, and writes it down.
    pub async fn change_person(
        &self,
        actor: &Actor,
        id: UserId,
        change: &PersonChange,
        now: Timestamp,
    ) -> Result<(User, Option<Revocation>), PeopleRefusal> {
        let mut tx = self.begin().await?;
        // From here on nobody else changes staff.
        let number = sessions::next_number(&mut tx).await?;
        let before = accounts::read(&mut tx, id).await?.filter(|user| user.deleted_at.is_none());
        let before = before.ok_or(PeopleRefusal::NoSuchUser)?;
        let still = accounts::read(&mut tx, actor.id).await?.is_some_and(|a| a.role == actor.role && !a.is_blocked());
        if !still {
            return Err(PeopleRefusal::NotAllowed);
        }
        may(&mut tx, actor, &before, change).await?;
        apply(&mut tx, id, change, now).await?;
        let ended = match change.keeps_sessions() {
            true => None,
            false => Some(sessions::end_all(&mut tx, number, id, now).await?),
        };
        let after = accounts::read(&mut tx, id).await?.ok_or(PeopleRefusal::NoSuchUser)?;
        let (old, new) = (facts(&before), facts(&after));
        audit_log::log(&mut tx, &actor.name, change.action(), &format!("user {id}"), Some(&old), Some(&new), now)
            .await?;
        tx.commit().await?;
        Ok((after, ended))
    }

    /// Adds a member of the staff; `false` when the name is taken.
    pub async fn add_staff(&self, actor: &Actor, user: &User, now: Timestamp) -> Result<bool, PeopleRefusal> {
        let mut tx = self.begin().await?;
        sessions::next_number(&mut tx).await?;
        let owner = accounts::read(&mut tx, actor.id).await?.is_some_and(|a| a.role == Role::Admin && !a.is_blocked());
        if !owner {
            return Err(PeopleRefusal::NotAllowed);
        }
        if !accounts::add(&mut tx, user).await? {
            return Ok(false);
        }
        let subject = format!("user {}", user.id);
        audit_log::log(&mut tx, &actor.name, "add-staff", &subject, None, Some(&facts(user)), now).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Takes everything personal from an account, and leaves the row to which its orders belong. Money that is left in
    /// the wallet becomes the shop's, if that is what its owner wants (`give_up`).
    pub async fn delete_account(&self, id: UserId, give_up: bool, now: Timestamp) -> Result<Deletion, StoreError> {
        let mut tx = self.begin().await?;
        let number = sessions::next_number(&mut tx).await?;
        let Some(user) = accounts::read(&mut tx, id).await?.filter(|user| user.deleted_at.is_none()) else {
            return Ok(Deletion::Gone);
        };
        if user.role.is_staff() {
            return Ok(Deletion::IsStaff);
        }
        let open = "SELECT 1 FROM orders WHERE user_id = $1 AND status IN ('unpaid', 'refund_pending') LIMIT 1";
        if sqlx::query(open).bind(id.to_string()).fetch_optional(&mut *tx).await?.is_some() {
            return Ok(Deletion::OrdersOpen);
        }
        if !empty_wallet(&mut tx, id, give_up, now).await? {
            return Ok(Deletion::WalletNotEmpty);
        }
        let ended = sessions::end_all(&mut tx, number, id, now).await?;
        sqlx::query(
            "UPDATE users SET username = $2, username_key = $3, password_hash = '', second_factor = NULL,
               blocked_reason = NULL, logged_in_at_ms = NULL, deleted_at_ms = $4 WHERE id = $1",
        )
        .bind(id.to_string())
        .bind(format!("deleted-{}", &id.to_string()[28..]))
        .bind(tombstone(&user.username))
        .bind(now.as_millisecond())
        .execute(&mut *tx)
        .await?;
        // Whatever else is personal goes here: one statement for each table.
        for sql in [
            "DELETE FROM recovery_codes WHERE user_id = $1",
            "DELETE FROM sessions WHERE user_id = $1",
            "DELETE FROM addresses WHERE user_id = $1",
            // What is paid still has to be delivered.
            "UPDATE orders SET address = NULL WHERE user_id = $1 AND status <> 'paid'",
        ] {
            sqlx::query(sql).bind(id.to_string()).execute(&mut *tx).await?;
        }
        tx.commit().await?;
        Ok(Deletion::Done(ended))
    }
}

/// `false` when money is there and is not given up.
async fn empty_wallet(tx: &mut Tx, id: UserId, give_up: bool, now: Timestamp) -> Result<bool, sqlx::Error> {
    let account = Account::User(id);
    let left = wallet::lock(tx, &[account.to_string()]).await?.into_values().sum();
    if left > 0 && give_up {
        wallet::post(tx, &[Transfer::simple(Kind::GiveUp, id, left, account, Account::Shop)], now).await?;
    }
    Ok(left == 0 || give_up)
}

/// The moment after which a session is alive again.
pub(crate) fn after(dead_until: Timestamp) -> Timestamp {
    dead_until.saturating_add(jiff::SignedDuration::from_millis(1)).unwrap_or(dead_until)
}

async fn may(tx: &mut Tx, actor: &Actor, of: &User, change: &PersonChange) -> Result<(), PeopleRefusal> {
    let owner = actor.role == Role::Admin;
    let about_staff =
        of.role.is_staff() || matches!(change, PersonChange::SetRole(_) | PersonChange::ResetSecondFactor);
    if about_staff && !owner || !matches!(actor.role, Role::Admin | Role::Support) {
        return Err(PeopleRefusal::NotAllowed);
    }
    if matches!(change, PersonChange::Block { .. }) && actor.id == of.id {
        return Err(PeopleRefusal::Yourself);
    }
    if change.takes_an_owner_away() && of.role == Role::Admin {
        let others = "SELECT 1 FROM users WHERE role = 'admin' AND id <> $1 AND blocked_at_ms IS NULL
                      AND deleted_at_ms IS NULL LIMIT 1";
        let others = sqlx::query(others).bind(of.id.to_string()).fetch_optional(&mut **tx).await?;
        others.ok_or(PeopleRefusal::LastOwner)?;
    }
    Ok(())
}

async fn apply(tx: &mut Tx, id: UserId, change: &PersonChange, now: Timestamp) -> Result<(), sqlx::Error> {
    let id = id.to_string();
    let query = match change {
        PersonChange::Block { reason } => {
            sqlx::query("UPDATE users SET blocked_at_ms = $2, blocked_reason = $3 WHERE id = $1")
                .bind(id)
                .bind(now.as_millisecond())
                .bind(reason.clone())
        }
        PersonChange::Unblock => {
            sqlx::query("UPDATE users SET blocked_at_ms = NULL, blocked_reason = NULL WHERE id = $1").bind(id)
        }
        PersonChange::SetRole(role) => {
            sqlx::query("UPDATE users SET role = $2 WHERE id = $1").bind(id).bind(role.as_str())
        }
        PersonChange::ResetSecondFactor => {
            let codes = "DELETE FROM recovery_codes WHERE user_id = $1";
            sqlx::query(codes).bind(id.clone()).execute(&mut **tx).await?;
            sqlx::query("UPDATE users SET second_factor = NULL WHERE id = $1").bind(id)
        }
        PersonChange::EndSessions => return Ok(()),
    };
    query.execute(&mut **tx).await?;
    Ok(())
}
