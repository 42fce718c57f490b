//! Browsers that show messages of the shop, and the key by which push services know the shop.

use serde_json::{Value, json};
use sqlx::any::AnyRow;
use uuid::Uuid;

use super::{PushStore, StoreError, row};
use domain::push::{PushEndpoint, PushKeys};
use domain::{Locale, UserId};

/// Browsers that one account may subscribe. Beyond this the oldest subscription ends.
pub const MAX_SUBSCRIPTIONS_PER_USER: i64 = 10;

/// A browser of an account.
#[derive(Debug, Clone)]
pub struct PushSubscription {
    pub id: String,
    pub endpoint: String,
    pub keys: PushKeys,
}

pub(super) fn subscription(row: &AnyRow) -> Result<PushSubscription, sqlx::Error> {
    let keys = PushKeys::parse(&row::text(row, "p256dh")?, &row::text(row, "auth")?);
    Ok(PushSubscription {
        id: row::text(row, "subscription_id")?,
        endpoint: row::text(row, "endpoint")?,
        keys: keys.ok_or_else(|| row::undecodable("p256dh"))?,
    })
}

impl PushStore<'_> {
    /// Subscribes the browser of a session. Replaces an earlier subscription of the session, or of the same browser
    /// under another account. Returns `false` if the session has ended.
    pub async fn subscribe(
        self,
        (user, session): (UserId, Uuid),
        endpoint: &PushEndpoint,
        keys: &PushKeys,
        locale: Locale,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        tx.lock_user(user).await?;
        let sql = "DELETE FROM push_subscriptions WHERE session_id = $1 OR endpoint = $2";
        sqlx::query(sql).bind(session.to_string()).bind(endpoint.as_str().to_owned()).execute(&mut *tx).await?;
        let sql =
            "INSERT INTO push_subscriptions (id, user_id, session_id, endpoint, p256dh, auth, locale, created_at_ms)
             SELECT $1, user_id, id, $2, $3, $4, $5, $6 FROM sessions WHERE id = $7 AND user_id = $8";
        let query = sqlx::query(sql).bind(Uuid::now_v7().to_string()).bind(endpoint.as_str().to_owned());
        let query = query.bind(keys.p256dh_text()).bind(keys.auth_text()).bind(locale.as_str());
        let query = query.bind(tx.now.as_millisecond()).bind(session.to_string()).bind(user.to_string());
        if query.execute(&mut *tx).await?.rows_affected() == 0 {
            return Ok(false);
        }
        let sql = "DELETE FROM push_subscriptions WHERE user_id = $1 AND id NOT IN (SELECT id FROM push_subscriptions
             WHERE user_id = $1 ORDER BY created_at_ms DESC, id DESC LIMIT $2)";
        let query = sqlx::query(sql).bind(user.to_string()).bind(MAX_SUBSCRIPTIONS_PER_USER);
        query.execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Whether the browser of a session shows messages.
    pub async fn is_subscribed(self, session: Uuid) -> Result<bool, StoreError> {
        let query = sqlx::query("SELECT 1 FROM push_subscriptions WHERE session_id = $1").bind(session.to_string());
        Ok(self.optional(query, |_| Ok(())).await?.is_some())
    }

    /// Ends the subscription of a session's browser and deletes the messages that wait for it.
    pub async fn unsubscribe(self, session: Uuid) -> Result<(), StoreError> {
        let query = sqlx::query("DELETE FROM push_subscriptions WHERE session_id = $1").bind(session.to_string());
        query.execute(&self.pool).await?;
        Ok(())
    }

    /// Ends a subscription that the push service does not know any more.
    pub async fn end_subscription(self, id: &str) -> Result<(), StoreError> {
        let query = sqlx::query("DELETE FROM push_subscriptions WHERE id = $1").bind(id.to_owned());
        query.execute(&self.pool).await?;
        Ok(())
    }

    /// The browsers of an account, without the keys that encrypt their messages.
    pub(super) async fn push_for_export(self, user: UserId) -> Result<Vec<Value>, StoreError> {
        let sql = "SELECT endpoint, locale, created_at_ms FROM push_subscriptions WHERE user_id = $1
             ORDER BY created_at_ms, id";
        let exported = |row: &AnyRow| {
            Ok(json!({
                "endpoint": row::text(row, "endpoint")?, "locale": row::text(row, "locale")?,
                "created_at": row::time(row, "created_at_ms")?,
            }))
        };
        self.all(sqlx::query(sql).bind(user.to_string()), exported).await
    }

    /// The key by which push services know the shop, encrypted.
    pub async fn push_key(self) -> Result<Option<String>, StoreError> {
        self.optional(sqlx::query("SELECT encrypted FROM push_keys"), |row| row::text(row, "encrypted")).await
    }

    /// Stores a key, unless another process has stored one first.
    pub async fn add_push_key(self, encrypted: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO push_keys (id, encrypted) VALUES (1, $1) ON CONFLICT (id) DO NOTHING";
        sqlx::query(sql).bind(encrypted.to_owned()).execute(&self.pool).await?;
        Ok(())
    }

    /// Replaces the encrypted form of the same key.
    pub async fn re_encrypt_push_key(self, old: &str, new: &str) -> Result<(), StoreError> {
        let sql = "UPDATE push_keys SET encrypted = $2 WHERE encrypted = $1";
        sqlx::query(sql).bind(old.to_owned()).bind(new.to_owned()).execute(&self.pool).await?;
        Ok(())
    }

    /// Deletes a key that cannot be decrypted, and all subscriptions, which are valid for this key only.
    pub async fn drop_push_key(self, encrypted: &str) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let query = sqlx::query("DELETE FROM push_keys WHERE encrypted = $1").bind(encrypted.to_owned());
        if query.execute(&mut *tx).await?.rows_affected() > 0 {
            sqlx::query("DELETE FROM push_subscriptions").execute(&mut *tx).await?;
        }
        Ok(tx.commit().await?)
    }
}
