//! Tokens of programs.

use std::collections::HashSet;

use boxed::boxed;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::Uuid;

use crate::audit_log::log;
use crate::{ApiTokenStore, StoreError, row};
use domain::{ApiToken, AuditAction, Role};

/// A token that is not revoked, with what decides whether it is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveToken {
    pub token: ApiToken,
    /// SHA-256 of its text, in hex.
    pub digest: String,
    /// The present role of the account that made it.
    pub role: Role,
    /// Whether that account is blocked or deleted.
    pub is_closed: bool,
}

/// The outcome of making a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewTokenOutcome {
    Created,
    /// An earlier attempt of the same request made it.
    Repeated,
    /// A token that is not revoked has the name.
    NameTaken,
    /// The shop has [`ApiToken::MAX`] tokens.
    TooMany,
}

/// Tokens in the list, with revoked ones.
const MAX_LISTED: i64 = 2 * ApiToken::MAX as i64;
/// How long between two writes of a token's last use.
pub const TOKEN_USE_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

macro_rules! columns {
    () => {
        "api_tokens.id, name, digest, scopes, networks, rate, expires_at_ms, created_by, api_tokens.created_at_ms,
         used_at_ms, revoked_at_ms"
    };
}

fn token(row: &AnyRow) -> Result<ApiToken, sqlx::Error> {
    Ok(ApiToken {
        id: row::parsed(row, "id")?,
        name: row::text(row, "name")?,
        // A scope of a newer program gives nothing here.
        scopes: row::text(row, "scopes")?.split_whitespace().filter_map(|scope| scope.parse().ok()).collect(),
        networks: row::text(row, "networks")?.split_whitespace().map(str::to_owned).collect(),
        rate: row.try_get::<Option<i64>, _>("rate")?.and_then(|rate| rate.try_into().ok()),
        expires_at: row::optional_time(row, "expires_at_ms")?,
        created_by: row::parsed(row, "created_by")?,
        created_at: row::time(row, "created_at_ms")?,
        used_at: row::optional_time(row, "used_at_ms")?,
        revoked_at: row::optional_time(row, "revoked_at_ms")?,
    })
}

fn audit_details(token: &ApiToken) -> Value {
    json!({"name": token.name, "scopes": token.scopes, "networks": token.networks, "rate": token.rate,
        "expires_at": token.expires_at})
}

#[boxed]
impl ApiTokenStore<'_> {
    /// Adds a token with the digest of its text, and logs it. Attempts of one request have one id.
    pub async fn create(self, actor: &str, new: &ApiToken, digest: &str) -> Result<NewTokenOutcome, StoreError> {
        let mut tx = self.begin().await?;
        tx.lock_user(new.created_by).await?;
        let known = sqlx::query("SELECT id, name FROM api_tokens WHERE revoked_at_ms IS NULL OR id = $1");
        let known = known.bind(new.id.to_string()).fetch_all(&mut *tx).await?;
        let ids = known.iter().map(|row| row::text(row, "id")).collect::<Result<HashSet<_>, _>>()?;
        if ids.contains(&new.id.to_string()) {
            return Ok(NewTokenOutcome::Repeated);
        }
        if ids.len() >= ApiToken::MAX {
            return Ok(NewTokenOutcome::TooMany);
        }
        let scopes: Vec<&str> = new.scopes.iter().map(|scope| scope.as_str()).collect();
        let sql = "INSERT INTO api_tokens (id, name, digest, scopes, networks, rate, expires_at_ms, created_by,
               created_at_ms) VALUES ($1, $2, $3, $4, $5, CAST($6 AS BIGINT), CAST($7 AS BIGINT), $8, $9)
             ON CONFLICT DO NOTHING";
        let query = sqlx::query(sql).bind(new.id.to_string()).bind(&new.name).bind(digest).bind(scopes.join(" "));
        let query = query.bind(new.networks.join(" ")).bind(new.rate.map(i64::from));
        let query = query.bind(new.expires_at.map(Timestamp::as_millisecond)).bind(new.created_by.to_string());
        if query.bind(new.created_at.as_millisecond()).execute(&mut *tx).await?.rows_affected() == 0 {
            return Ok(NewTokenOutcome::NameTaken);
        }
        let (subject, now) = (format!("token {}", new.id), tx.now);
        log(&mut tx, actor, AuditAction::CreateToken, &subject, None, Some(&audit_details(new)), now).await?;
        tx.commit().await?;
        Ok(NewTokenOutcome::Created)
    }

    /// Revokes a token and logs it. Returns it, also if it was revoked before; `None` if there is no such token.
    pub async fn revoke(self, actor: &str, id: Uuid) -> Result<Option<ApiToken>, StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        let sql = concat!(
            "UPDATE api_tokens SET revoked_at_ms = $2 WHERE id = $1 AND revoked_at_ms IS NULL RETURNING ",
            columns!()
        );
        let query = sqlx::query(sql).bind(id.to_string()).bind(now.as_millisecond());
        let Some(revoked) = tx.optional(query, token).await? else { return self.get(id).await };
        let subject = format!("token {id}");
        log(&mut tx, actor, AuditAction::RevokeToken, &subject, Some(&audit_details(&revoked)), None, now).await?;
        tx.commit().await?;
        Ok(Some(revoked))
    }

    pub async fn get(self, id: Uuid) -> Result<Option<ApiToken>, StoreError> {
        let sql = select!(columns, "FROM api_tokens WHERE id = $1");
        self.optional(sqlx::query(sql).bind(id.to_string()), token).await
    }

    /// The newest tokens, revoked ones included.
    pub async fn list(self) -> Result<Vec<ApiToken>, StoreError> {
        let sql = select!(columns, "FROM api_tokens ORDER BY id DESC LIMIT $1");
        self.all(sqlx::query(sql).bind(MAX_LISTED), token).await
    }

    /// The tokens that are not revoked, for the memory of a process. Their last use is left out, because it changes.
    pub async fn live(self) -> Result<Vec<LiveToken>, StoreError> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            ", role, blocked_at_ms, deleted_at_ms FROM api_tokens JOIN users ON users.id = created_by
             WHERE revoked_at_ms IS NULL"
        );
        let read = |row: &AnyRow| {
            Ok(LiveToken {
                token: ApiToken { used_at: None, ..token(row)? },
                digest: row::text(row, "digest")?,
                role: row::parsed(row, "role")?,
                is_closed: crate::accounts::is_closed(row)?,
            })
        };
        self.all(sqlx::query(sql), read).await
    }

    /// Notes when tokens were last used, unless that is known to the minute.
    pub async fn used(self, uses: &[(Uuid, Timestamp)]) -> Result<(), StoreError> {
        for (id, at) in uses {
            let sql = "UPDATE api_tokens SET used_at_ms = $2
                 WHERE id = $1 AND (used_at_ms IS NULL OR used_at_ms <= $2 - $3)";
            let query = sqlx::query(sql).bind(id.to_string()).bind(at.as_millisecond());
            query.bind(TOKEN_USE_INTERVAL.as_millis() as i64).execute(&self.pool).await?;
        }
        Ok(())
    }
}
