//! Tokens of programs.

use boxed::boxed;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sqlx::any::AnyRow;
use uuid::Uuid;

use crate::{ApiTokenStore, StoreResult, column, row};
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

column_list!(columns: "api_tokens.id, name, digest, scopes, networks, rate, expires_at_ms, created_by,
     api_tokens.created_at_ms, used_at_ms, revoked_at_ms");

fn token(row: &AnyRow) -> sqlx::Result<ApiToken> {
    read!(row => ApiToken {
        id, name, expires_at: "expires_at_ms", created_by, created_at: "created_at_ms", used_at: "used_at_ms",
        revoked_at: "revoked_at_ms", rate = row::get::<Option<i64>>(row, "rate")?.and_then(|rate| rate.try_into().ok()),
        // A scope of a newer program gives nothing here.
        scopes = row::text(row, "scopes")?.split_whitespace().filter_map(|scope| scope.parse().ok()).collect(),
        networks = row::text(row, "networks")?.split_whitespace().map(str::to_owned).collect(),
    })
}

fn audit_details(token: &ApiToken) -> Value {
    json!({"name": token.name, "scopes": token.scopes, "networks": token.networks, "rate": token.rate,
        "expires_at": token.expires_at})
}

#[boxed]
impl ApiTokenStore<'_> {
    /// Adds a token with the digest of its text, and logs it. Attempts of one request have one id.
    pub async fn create(self, actor: &str, new: &ApiToken, digest: &str) -> StoreResult<NewTokenOutcome> {
        let mut tx = self.begin().await?;
        tx.lock_user(new.created_by).await?;
        let known = query!("SELECT id FROM api_tokens WHERE revoked_at_ms IS NULL OR id = $1"; new.id);
        let known: Vec<String> = tx.all(known, column("id")).await?;
        if known.contains(&new.id.to_string()) {
            return Ok(NewTokenOutcome::Repeated);
        }
        if known.len() >= ApiToken::MAX {
            return Ok(NewTokenOutcome::TooMany);
        }
        let scopes: Vec<&str> = new.scopes.iter().map(|scope| scope.as_str()).collect();
        let sql = "INSERT INTO api_tokens (id, name, digest, scopes, networks, rate, expires_at_ms, created_by,
               created_at_ms) VALUES ($1, $2, $3, $4, $5, CAST($6 AS BIGINT), CAST($7 AS BIGINT), $8, $9)
             ON CONFLICT DO NOTHING";
        let query = query!(sql; new.id, &new.name, digest, scopes.join(" "), new.networks.join(" "), new.rate,
            new.expires_at, new.created_by, new.created_at);
        if tx.changed(query).await? == 0 {
            return Ok(NewTokenOutcome::NameTaken);
        }
        let (subject, now) = (format!("token {}", new.id), tx.now);
        tx.log(actor, AuditAction::CreateToken, &subject, None, Some(&audit_details(new)), now).await?;
        tx.commit_and(NewTokenOutcome::Created).await
    }

    /// Revokes a token and logs it. Returns it, also if it was revoked before; `None` if there is no such token.
    pub async fn revoke(self, actor: &str, id: Uuid) -> StoreResult<Option<ApiToken>> {
        let mut tx = self.begin().await?;
        let sql = concat!(
            "UPDATE api_tokens SET revoked_at_ms = $2 WHERE id = $1 AND revoked_at_ms IS NULL RETURNING ",
            columns!()
        );
        let Some(revoked) = tx.optional(query!(sql; id, tx.now), token).await? else { return self.get(id).await };
        let subject = format!("token {id}");
        tx.log(actor, AuditAction::RevokeToken, &subject, Some(&audit_details(&revoked)), None, tx.now).await?;
        tx.commit_and(Some(revoked)).await
    }

    pub async fn get(self, id: Uuid) -> StoreResult<Option<ApiToken>> {
        let sql = select!(columns, "FROM api_tokens WHERE id = $1");
        self.optional(query!(sql; id), token).await
    }

    /// The newest tokens, revoked ones included.
    pub async fn list(self) -> StoreResult<Vec<ApiToken>> {
        let sql = select!(columns, "FROM api_tokens ORDER BY id DESC LIMIT $1");
        self.all(query!(sql; MAX_LISTED), token).await
    }

    /// The tokens that are not revoked, for the memory of a process. Their last use is left out, because it changes.
    pub async fn live(self) -> StoreResult<Vec<LiveToken>> {
        let sql = select!(
            columns,
            ", role, blocked_at_ms, deleted_at_ms FROM api_tokens JOIN users ON users.id = created_by
             WHERE revoked_at_ms IS NULL"
        );
        let read = |row: &AnyRow| {
            read!(row => LiveToken {
                token = ApiToken { used_at: None, ..token(row)? }, digest, role,
                is_closed = crate::accounts::is_closed(row)?,
            })
        };
        self.all(query!(sql), read).await
    }

    /// Notes when tokens were last used, unless that is known to the minute.
    pub async fn used(self, uses: &[(Uuid, Timestamp)]) -> StoreResult<()> {
        for (id, at) in uses {
            let sql = "UPDATE api_tokens SET used_at_ms = $2
                 WHERE id = $1 AND (used_at_ms IS NULL OR used_at_ms <= $2 - $3)";
            self.run(query!(sql; id, at, TOKEN_USE_INTERVAL.as_millis() as i64)).await?;
        }
        Ok(())
    }
}
