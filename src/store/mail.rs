//! The outbox of messages, and the browsers that show them. A message is written in the transaction that it is about,
//! and data control sends it later ([`mail`](mail)).

use std::sync::Mutex;
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use uuid::{ContextV7, Uuid};

use crate::{
    AFTER_ALL, MAX_ROWS, MailStore, PushStore, StoreResult, Tx, bound, column, next_attempt, padded, placeholders, row,
};
use domain::mail::{PushEndpoint, PushKeys};
use domain::{Locale, MailKind, MailState, OrderId, UserId};

/// How long messages can be read in the console.
const KEEP: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long messages about registrations can be read after their link has expired. Their readers may have no account.
const KEEP_OF_REGISTRATIONS: Duration = Duration::from_secs(24 * 3600);
/// Makes ids of messages that one process writes in the same millisecond sort in order.
static IDS: Mutex<ContextV7> = Mutex::new(ContextV7::new());
/// Messages are counted up to this number.
const MAX_COUNTED: i64 = 10_000;

/// A message.
#[derive(Debug, Clone)]
pub struct Mail {
    /// A UUID of version 7. Rows sort by it.
    pub id: String,
    /// The account that the message is about; `None` for a registration.
    pub user_id: Option<UserId>,
    /// The name of the account.
    pub username: Option<String>,
    pub recipient: String,
    pub locale: Locale,
    pub kind: MailKind,
    /// Values for the text.
    pub facts: Value,
    pub created_at: Timestamp,
    /// From then on the message is not sent any more, and its link is not valid.
    pub expires_at: Timestamp,
    pub state: MailState,
    pub attempts: i64,
    /// The error of the last attempt.
    pub error: Option<String>,
}

/// A message to be written.
#[derive(Debug)]
pub(super) struct NewMail {
    /// The account that the message is about; `None` for a registration.
    pub user: Option<UserId>,
    pub recipient: String,
    pub locale: Locale,
    pub kind: MailKind,
    pub facts: Value,
    /// A time from which the message is not worth sending, if it is before the end of its kind's lifetime.
    pub useful_until: Option<Timestamp>,
    /// The browser to which the message goes; `None` if it goes by mail.
    pub subscription: Option<String>,
}

impl NewMail {
    /// A message by mail.
    pub(super) fn by_mail(
        user: Option<UserId>,
        recipient: impl ToString,
        locale: Locale,
        kind: MailKind,
        facts: Value,
    ) -> NewMail {
        let recipient = recipient.to_string();
        NewMail { user, recipient, locale, kind, facts, useful_until: None, subscription: None }
    }
}

/// The recipient of messages to browsers, instead of an address.
const PUSH: &str = "push";

/// Writes messages within the transaction that they are about.
pub(super) async fn write(tx: &mut Tx, mails: &[NewMail]) -> sqlx::Result<()> {
    let now = tx.now;
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    let nanos = u32::try_from(now.subsec_nanosecond()).unwrap_or_default();
    let new_id = || Uuid::new_v7(uuid::Timestamp::from_unix(&IDS, seconds, nanos));
    let mails: Vec<(Uuid, &NewMail)> = mails.iter().map(|mail| (new_id(), mail)).collect();
    for chunk in padded(&mails) {
        let sql = format!(
            "INSERT INTO mails (id, user_id, recipient, locale, kind, facts, created_at_ms, expires_at_ms,
               next_attempt_at_ms, subscription_id) VALUES {} ON CONFLICT DO NOTHING",
            placeholders(chunk.len(), 10)
        );
        let rows = chunk.into_iter().flat_map(|(id, mail)| {
            let NewMail { user, recipient, locale, kind, facts, useful_until, subscription } = mail;
            let expires_at = now.saturating_add(kind.lifetime()).unwrap_or(now);
            let expires_at = useful_until.map_or(expires_at, |until| until.min(expires_at));
            values![id, user, recipient, locale, kind, facts.to_string(), now, expires_at, now, subscription]
        });
        tx.run(bound(query!(AssertSqlSafe(sql)), rows)).await?;
    }
    Ok(())
}

/// Sends an account a message: by mail to its verified address if it has one, and, if the kind is urgent, to its
/// subscribed browsers. Each message is in the recipient's language.
pub(super) async fn notify(tx: &mut Tx, user: UserId, kind: MailKind, facts: Value) -> sqlx::Result<()> {
    notify_all(tx, &[user], kind, &facts, None).await
}

/// Like [`notify`], but for several accounts, and with a time from which the message is not worth sending.
pub(super) async fn notify_all(
    tx: &mut Tx,
    users: &[UserId],
    kind: MailKind,
    facts: &Value,
    useful_until: Option<Timestamp>,
) -> sqlx::Result<()> {
    let mail = |row: &AnyRow| {
        read!(row => NewMail {
            user: "user_id", recipient, locale, kind = kind, facts = facts.clone(), useful_until = useful_until,
            subscription: "subscription_id",
        })
    };
    let by_mail = "SELECT user_id, address AS recipient, locale, CAST(NULL AS TEXT) AS subscription_id
         FROM mail_addresses WHERE address IS NOT NULL AND user_id IN $ids";
    let pushed = format!(
        "SELECT user_id, '{PUSH}' AS recipient, locale, id AS subscription_id FROM push_subscriptions
         WHERE user_id IN $ids"
    );
    for chunk in users.chunks(MAX_ROWS) {
        let mails: Vec<NewMail> = tx.all_of(by_mail, &[], chunk, mail).await?;
        write(tx, &mails).await?;
        if kind.is_pushed() {
            let mails: Vec<NewMail> = tx.all_of(&pushed, &[], chunk, mail).await?;
            write(tx, &mails).await?;
        }
    }
    Ok(())
}

column_list!(columns: "mails.id, mails.user_id, username, recipient, mails.locale, kind, facts, mails.created_at_ms,
     expires_at_ms, state, attempts, error");

fn mail(row: &AnyRow) -> sqlx::Result<Mail> {
    read!(row => Mail {
        id, user_id, username, recipient, locale, kind,
        facts = row::json(row, "facts")?,
        created_at: "created_at_ms", expires_at: "expires_at_ms", state, attempts, error,
    })
}

/// Selects messages. `$kinds` stands for the kinds that this program knows: a newer program beside it writes others, and
/// sends them.
fn selected(rest: &str) -> String {
    let kinds = MailKind::ALL.map(|kind| format!("'{kind}'")).join(", ");
    format!(concat!("SELECT ", columns!(), " {}"), rest.replace("$kinds", &format!("({kinds})")))
}

#[boxed]
impl MailStore<'_> {
    /// Messages by mail that wait and are due. Messages that have waited longest come first.
    pub async fn due(self, limit: i64) -> StoreResult<Vec<Mail>> {
        let sql = selected(
            "FROM mails LEFT JOIN users ON users.id = user_id WHERE state = 'waiting' AND subscription_id IS NULL
               AND next_attempt_at_ms <= $1 AND kind IN $kinds ORDER BY next_attempt_at_ms, mails.id LIMIT $2",
        );
        let mails = self.all(query!(AssertSqlSafe(sql); self.now().await?, limit), mail).await?;
        self.numbered(mails).await
    }

    /// Adds the numbers of orders to the facts. An order may get its number after its message was written.
    async fn numbered(self, mut mails: Vec<Mail>) -> StoreResult<Vec<Mail>> {
        let order = |mail: &Mail| mail.facts["order"].as_str().and_then(|id| id.parse::<OrderId>().ok());
        let orders: Vec<OrderId> = mails.iter().filter_map(order).collect();
        let numbers = self.orders().numbers_of(&orders).await?;
        for mail in &mut mails {
            if let Some(number) = order(mail).and_then(|id| numbers.get(&id)) {
                mail.facts["order_number"] = json!(number);
            }
        }
        Ok(mails)
    }

    /// Like [`MailStore::due`], but messages to browsers.
    pub async fn pushes_due(self, limit: i64) -> StoreResult<Vec<(Mail, PushSubscription)>> {
        let sql = selected(
            ", subscription_id, endpoint, p256dh, auth FROM mails JOIN users ON users.id = mails.user_id
             JOIN push_subscriptions ON push_subscriptions.id = subscription_id
             WHERE state = 'waiting' AND subscription_id IS NOT NULL AND next_attempt_at_ms <= $1 AND kind IN $kinds
             ORDER BY next_attempt_at_ms, mails.id LIMIT $2",
        );
        self.all(query!(AssertSqlSafe(sql); self.now().await?, limit), |row| Ok((mail(row)?, subscription(row)?))).await
    }

    /// Counts an attempt that is about to be made, and postpones the next one by `duration`, which this attempt may
    /// take. So no other process makes it too. Returns `false` if another process was first.
    pub async fn claim(self, of: &Mail, duration: Duration) -> StoreResult<bool> {
        let until = self.now().await?.saturating_add(duration).unwrap_or(Timestamp::MAX).as_millisecond();
        let sql = "UPDATE mails SET attempts = attempts + 1, next_attempt_at_ms = $3
             WHERE id = $1 AND attempts = $2 AND state = 'waiting'";
        Ok(self.changed(query!(sql; &of.id, of.attempts, until)).await? == 1)
    }

    /// Records that the mail server accepted a message, or that the message is given up.
    pub async fn end(self, id: &str, state: MailState, error: Option<&str>) -> StoreResult<()> {
        let sql = "UPDATE mails SET state = $2, ended_at_ms = $3, error = $4 WHERE id = $1 AND state = 'waiting'";
        self.run(query!(sql; id, state, self.now().await?, error)).await
    }

    /// Postpones the next attempt: by two seconds after the first attempt, then twice as long each time, up to about an
    /// hour. It is postponed by at least `wait`, which a server has asked for.
    pub async fn postpone(self, id: &str, error: &str, wait: Option<Duration>) -> StoreResult<()> {
        // The attempt itself was counted when it began.
        let postponed = next_attempt(1000, 12).replacen("attempts = attempts + 1, ", "", 1);
        let sql = format!("UPDATE mails SET {postponed}, error = $3 WHERE id = $2 AND state = 'waiting'");
        let now = self.now().await?;
        self.run(query!(AssertSqlSafe(sql); now, id, error)).await?;
        if let Some(until) = wait.and_then(|wait| now.checked_add(wait).ok()) {
            let sql = "UPDATE mails SET next_attempt_at_ms = $2 WHERE id = $1 AND next_attempt_at_ms < $2";
            self.run(query!(sql; id, until)).await?;
        }
        Ok(())
    }

    /// How many messages by mail wait, up to ten thousand.
    pub async fn waiting(self) -> StoreResult<i64> {
        let sql = "SELECT COUNT(*) AS n FROM (SELECT 1 FROM mails WHERE state = 'waiting' AND subscription_id IS NULL
             ORDER BY next_attempt_at_ms LIMIT $1) AS waiting";
        self.one(query!(sql; MAX_COUNTED), column("n")).await
    }

    /// Messages by mail before the message with this id, newest first.
    pub async fn mails(self, before: Option<&str>, limit: i64) -> StoreResult<Vec<Mail>> {
        let sql = selected(
            "FROM mails LEFT JOIN users ON users.id = user_id WHERE mails.id < $1 AND subscription_id IS NULL
               AND kind IN $kinds ORDER BY mails.id DESC LIMIT $2",
        );
        self.numbered(self.all(query!(AssertSqlSafe(sql); before.unwrap_or(AFTER_ALL), limit), mail).await?).await
    }

    /// The messages of one account, by mail and to its browsers, newest first.
    pub async fn mails_of(self, user: UserId) -> StoreResult<Vec<Mail>> {
        let sql = selected(
            "FROM mails JOIN users ON users.id = user_id WHERE user_id = $1 AND kind IN $kinds
             ORDER BY mails.id DESC LIMIT 500",
        );
        self.all(query!(AssertSqlSafe(sql); user), mail).await
    }

    /// Deletes a bounded number of messages that are older than 30 days, of messages about registrations whose link
    /// expired a day ago, and of devices that were not seen for half a year. Returns whether there may be more.
    pub async fn purge(self) -> StoreResult<bool> {
        let now = self.now().await?;
        let old = "created_at_ms < $1 ORDER BY created_at_ms";
        let has_more = self.purge_rows(["mails", "id"], old, values![now - KEEP]).await?;
        let sql = "DELETE FROM mails WHERE user_id IS NULL AND expires_at_ms < $1";
        self.run(query!(sql; now - KEEP_OF_REGISTRATIONS)).await?;
        self.accounts().purge_known_devices(now).await?;
        Ok(has_more)
    }
}

/// Browsers that one account may subscribe. Beyond this the oldest subscription ends.
pub const MAX_SUBSCRIPTIONS_PER_USER: i64 = 10;

/// A browser of an account.
#[derive(Debug, Clone)]
pub struct PushSubscription {
    pub id: String,
    pub endpoint: String,
    pub keys: PushKeys,
}

pub(super) fn subscription(row: &AnyRow) -> sqlx::Result<PushSubscription> {
    let keys = PushKeys::parse(&row::text(row, "p256dh")?, &row::text(row, "auth")?);
    read!(row => PushSubscription {
        id: "subscription_id", endpoint, keys = keys.ok_or_else(|| row::undecodable("p256dh"))?,
    })
}

#[boxed]
impl PushStore<'_> {
    /// Subscribes the browser of a session. Replaces an earlier subscription of the session, or of the same browser
    /// under another account. Returns `false` if the session has ended.
    pub async fn subscribe(
        self,
        (user, session): (UserId, Uuid),
        endpoint: &PushEndpoint,
        keys: &PushKeys,
        locale: Locale,
    ) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        tx.lock_user(user).await?;
        let sql = "DELETE FROM push_subscriptions WHERE session_id = $1 OR endpoint = $2";
        tx.run(query!(sql; session, endpoint.as_str())).await?;
        let sql =
            "INSERT INTO push_subscriptions (id, user_id, session_id, endpoint, p256dh, auth, locale, created_at_ms)
             SELECT $1, user_id, id, $2, $3, $4, $5, $6 FROM sessions WHERE id = $7 AND user_id = $8";
        let query = query!(sql; Uuid::now_v7(), endpoint.as_str(), keys.p256dh_text(), keys.auth_text(), locale, tx.now,
            session, user);
        if tx.changed(query).await? == 0 {
            return Ok(false);
        }
        let sql = "DELETE FROM push_subscriptions WHERE user_id = $1 AND id NOT IN (SELECT id FROM push_subscriptions
             WHERE user_id = $1 ORDER BY created_at_ms DESC, id DESC LIMIT $2)";
        tx.run(query!(sql; user, MAX_SUBSCRIPTIONS_PER_USER)).await?;
        tx.commit_and(true).await
    }

    /// Whether the browser of a session shows messages.
    pub async fn is_subscribed(self, session: Uuid) -> StoreResult<bool> {
        self.exists(query!("SELECT 1 FROM push_subscriptions WHERE session_id = $1"; session)).await
    }

    /// Ends the subscription of a session's browser and deletes the messages that wait for it.
    pub async fn unsubscribe(self, session: Uuid) -> StoreResult<()> {
        self.run(query!("DELETE FROM push_subscriptions WHERE session_id = $1"; session)).await
    }

    /// Ends a subscription that the push service does not know any more.
    pub async fn end_subscription(self, id: &str) -> StoreResult<()> {
        self.run(query!("DELETE FROM push_subscriptions WHERE id = $1"; id)).await
    }

    /// The browsers of an account, without the keys that encrypt their messages.
    pub(super) async fn push_for_export(self, user: UserId) -> StoreResult<Vec<Value>> {
        let sql = "SELECT endpoint, locale, created_at_ms FROM push_subscriptions WHERE user_id = $1
             ORDER BY created_at_ms, id";
        let exported = |row: &AnyRow| {
            Ok(json!({
                "endpoint": row::text(row, "endpoint")?, "locale": row::text(row, "locale")?,
                "created_at": row::time(row, "created_at_ms")?,
            }))
        };
        self.all(query!(sql; user), exported).await
    }

    /// The key by which push services know the shop, encrypted.
    pub async fn push_key(self) -> StoreResult<Option<String>> {
        self.optional(query!("SELECT encrypted FROM push_keys"), column("encrypted")).await
    }

    /// Stores a key, unless another process has stored one first.
    pub async fn add_push_key(self, encrypted: &str) -> StoreResult<()> {
        let sql = "INSERT INTO push_keys (id, encrypted) VALUES (1, $1) ON CONFLICT (id) DO NOTHING";
        self.run(query!(sql; encrypted)).await
    }

    /// Replaces the encrypted form of the same key.
    pub async fn re_encrypt_push_key(self, old: &str, new: &str) -> StoreResult<()> {
        self.run(query!("UPDATE push_keys SET encrypted = $2 WHERE encrypted = $1"; old, new)).await
    }

    /// Deletes a key that cannot be decrypted, and all subscriptions, which are valid for this key only.
    pub async fn drop_push_key(self, encrypted: &str) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        if tx.changed(query!("DELETE FROM push_keys WHERE encrypted = $1"; encrypted)).await? > 0 {
            tx.run(query!("DELETE FROM push_subscriptions")).await?;
        }
        Ok(tx.commit().await?)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::new_store;
    use base::clock::Clock;

    #[tokio::test]
    async fn messages_of_a_newer_program_hold_up_no_others() {
        let (_dir, store) = new_store(&Clock::system()).await;
        for (id, kind) in [("a", "of-tomorrow"), ("b", "order_held")] {
            let sql = "INSERT INTO mails (id, recipient, locale, kind, facts, created_at_ms, expires_at_ms, state,
                 attempts, next_attempt_at_ms) VALUES ($1, 'mei@shop.example', 'zh', $2, '{}', 1, 2, 'waiting', 0, 1)";
            store.run(query!(sql; id, kind)).await.unwrap();
        }
        let ids = |mails: Vec<super::Mail>| mails.into_iter().map(|mail| mail.id).collect::<Vec<_>>();
        assert_eq!(ids(store.mail().due(1).await.unwrap()), ["b"]);
        assert_eq!(ids(store.mail().mails(None, 9).await.unwrap()), ["b"]);
        assert_eq!(store.mail().pushes_due(1).await.unwrap().len(), 0);
    }
}
