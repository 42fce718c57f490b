//! Events that go to programs of the merchant: endpoints, events, and their deliveries. Which facts become events is in
//! [`facts`], how they are found in [`following`], and what becomes of each delivery in [`deliveries`].

pub(super) mod deliveries;
mod facts;

use boxed::boxed;
use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::any::AnyRow;
use uuid::Uuid;

use crate::{EventStore, StoreResult, Tx, column, for_rows, id_at, row};
pub use facts::Followed;

use domain::event::{EndpointState, EventChoice, EventKind};
use domain::ids::first_id_of;
use domain::{AuditAction, MailKind, UserId};

/// Endpoints of a shop. Each has its own connections.
pub const MAX_ENDPOINTS: i64 = 20;
/// How long events can be read and replayed.
pub const KEEP_EVENTS: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 3600);
/// Events per statement that replays them.
const BATCH_SIZE: i64 = 1000;

/// A program of the merchant that gets events.
#[derive(Debug, Clone)]
pub struct Endpoint {
    pub id: String,
    pub url: String,
    pub choice: EventChoice,
    pub state: EndpointState,
    /// Signs events; encrypted.
    pub secret: String,
    /// The secret before, and until when it signs as well.
    pub previous: Option<(String, Timestamp)>,
    pub created_at: Timestamp,
    /// The first failed attempt since the last one that succeeded.
    pub failing_since: Option<Timestamp>,
}

/// What staff change of an endpoint.
#[derive(Debug, Default)]
pub struct EndpointEdit {
    pub url: Option<String>,
    pub choice: Option<EventChoice>,
    /// Switching an endpoint on also forgets how long it failed.
    pub is_on: Option<bool>,
}

column_list!(
    columns: "id, url, kinds, state, secret, previous_secret, previous_until_ms, created_at_ms, failing_since_ms"
);

fn endpoint(row: &AnyRow) -> sqlx::Result<Endpoint> {
    let kinds = row::text(row, "kinds")?;
    let names: Vec<&str> = kinds.split(',').collect();
    let previous: Option<String> = row::get(row, "previous_secret")?;
    read!(row => Endpoint {
        id, url, choice = EventChoice::parse(&names).ok_or_else(|| row::undecodable("kinds"))?, state, secret,
        previous = previous.zip(row::get(row, "previous_until_ms")?), created_at: "created_at_ms",
        failing_since: "failing_since_ms",
    })
}

/// An endpoint as the subject of events and of lines in the audit log.
fn subject(id: &str) -> String {
    format!("endpoint {id}")
}

/// What the audit log has of an endpoint. An address may carry a key in its query, so that is left out.
fn record(of: &Endpoint) -> Value {
    let url = of.url.split('?').next().unwrap_or_default();
    json!({"url": url, "events": of.choice.names().join(", "), "state": of.state})
}

/// A new event within a transaction.
struct NewEvent {
    id: Uuid,
    kind: EventKind,
    subject: String,
    sequence: i64,
    fact: String,
    at: Timestamp,
    data: Value,
}

impl NewEvent {
    fn new(tx: &Tx, kind: EventKind, (subject, sequence): (String, i64), fact: String, data: Value) -> NewEvent {
        NewEvent { id: id_at(tx.now), kind, subject, sequence, fact, at: tx.now, data }
    }

    fn body(&self) -> String {
        let NewEvent { id, kind, subject, sequence, at, data, .. } = self;
        json!({"id": id, "type": kind, "timestamp": at, "subject": subject, "sequence": sequence, "data": data})
            .to_string()
    }
}

/// Writes events, and a delivery of each to every endpoint that is on and wants it.
async fn write(tx: &mut Tx, events: &[NewEvent]) -> sqlx::Result<()> {
    let now = tx.now.as_millisecond();
    let sql = "INSERT INTO events (id, kind, subject, sequence, fact, body, created_at_ms) VALUES $rows";
    tx.run_all(for_rows(sql, events, |event| {
        let NewEvent { id, kind, subject, sequence, fact, .. } = event;
        values![id, kind, subject, *sequence, fact, event.body(), now]
    }))
    .await?;
    let sql = select!(columns, "FROM event_endpoints WHERE state = 'on' ORDER BY id");
    for endpoint in tx.all(query!(sql), endpoint).await? {
        let wanted: Vec<Uuid> =
            events.iter().filter(|event| endpoint.choice.includes(event.kind)).map(|event| event.id).collect();
        deliver(tx, &endpoint.id, &wanted).await?;
    }
    Ok(())
}

/// Writes deliveries of events to an endpoint, due at once.
async fn deliver(tx: &mut Tx, endpoint: &str, events: &[Uuid]) -> sqlx::Result<()> {
    let now = tx.now.as_millisecond();
    let sql = "INSERT INTO event_deliveries (endpoint_id, event_id, next_attempt_at_ms) VALUES $rows";
    tx.run_all(for_rows(sql, events, |event| values![endpoint, event, now])).await
}

#[boxed]
impl EventStore<'_> {
    pub async fn endpoints(self) -> StoreResult<Vec<Endpoint>> {
        let sql = select!(columns, "FROM event_endpoints ORDER BY id");
        self.all(query!(sql), endpoint).await
    }

    pub async fn endpoint(self, id: &str) -> StoreResult<Option<Endpoint>> {
        let sql = select!(columns, "FROM event_endpoints WHERE id = $1");
        self.optional(query!(sql; id), endpoint).await
    }

    /// Adds an endpoint. With the first one the shop begins to make events, of what happens from now on. `false` if there
    /// are [`MAX_ENDPOINTS`].
    pub async fn add_endpoint(self, new: &Endpoint, actor: &str) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        facts::lock(&mut tx).await?;
        match tx.one(query!("SELECT COUNT(*) AS n FROM event_endpoints"), column("n")).await? {
            0 => facts::begin(&mut tx).await?,
            MAX_ENDPOINTS.. => return Ok(false),
            _ => {}
        }
        let sql = "INSERT INTO event_endpoints (id, url, kinds, state, secret, created_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6)";
        tx.run(query!(sql; &new.id, &new.url, new.choice.names().join(","), new.state, &new.secret, tx.now)).await?;
        tx.log(actor, AuditAction::AddEndpoint, &subject(&new.id), None, Some(&record(new)), tx.now).await?;
        tx.commit_and(true).await
    }

    /// Returns the endpoint after the change; `None` if there is none.
    pub async fn edit_endpoint(self, id: &str, edit: &EndpointEdit, actor: &str) -> StoreResult<Option<Endpoint>> {
        let mut tx = self.begin().await?;
        let Some(before) = locked(&mut tx, id).await? else { return Ok(None) };
        let mut after = before.clone();
        after.url = edit.url.clone().unwrap_or(after.url);
        after.choice = edit.choice.clone().unwrap_or(after.choice);
        if let Some(is_on) = edit.is_on {
            after.state = if is_on { EndpointState::On } else { EndpointState::Off };
            after.failing_since = None;
        }
        let sql = "UPDATE event_endpoints SET url = $2, kinds = $3, state = $4, failing_since_ms = $5 WHERE id = $1";
        let kinds = after.choice.names().join(",");
        tx.run(query!(sql; id, &after.url, kinds, after.state, after.failing_since)).await?;
        let records = (record(&before), record(&after));
        if records.0 != records.1 {
            tx.log(actor, AuditAction::EditEndpoint, &subject(id), Some(&records.0), Some(&records.1), tx.now).await?;
        }
        tx.commit_and(Some(after)).await
    }

    /// Gives an endpoint a new secret. The one before signs as well until `until`.
    pub async fn rotate_secret(self, id: &str, secret: &str, until: Timestamp, actor: &str) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let Some(before) = locked(&mut tx, id).await? else { return Ok(false) };
        let sql =
            "UPDATE event_endpoints SET previous_secret = secret, previous_until_ms = $3, secret = $2 WHERE id = $1";
        tx.run(query!(sql; id, secret, until)).await?;
        tx.log(actor, AuditAction::RotateSecret, &subject(id), None, Some(&record(&before)), tx.now).await?;
        tx.commit_and(true).await
    }

    /// Replaces the encrypted form of the same secret, whether it is the present one or the one before.
    pub async fn re_encrypt_secret(self, id: &str, old: &str, new: &str) -> StoreResult<()> {
        let sql = "UPDATE event_endpoints SET
               secret = CASE WHEN secret = $2 THEN $3 ELSE secret END,
               previous_secret = CASE WHEN previous_secret = $2 THEN $3 ELSE previous_secret END WHERE id = $1";
        self.run(query!(sql; id, old, new)).await
    }

    /// Logs that staff read the secret.
    pub async fn log_secret_read(self, of: &Endpoint, actor: &str) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        tx.log(actor, AuditAction::RevealSecret, &subject(&of.id), None, Some(&record(of)), tx.now).await?;
        Ok(tx.commit().await?)
    }

    /// Deletes an endpoint with its deliveries. After the last one the shop makes no events any more.
    pub async fn delete_endpoint(self, id: &str, actor: &str) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        facts::lock(&mut tx).await?;
        let Some(before) = locked(&mut tx, id).await? else { return Ok(false) };
        tx.run(query!("DELETE FROM event_endpoints WHERE id = $1"; id)).await?;
        let sql = "UPDATE event_cursor SET position = NULL WHERE NOT EXISTS (SELECT 1 FROM event_endpoints)";
        tx.run(query!(sql)).await?;
        tx.log(actor, AuditAction::DeleteEndpoint, &subject(id), Some(&record(&before)), None, tx.now).await?;
        tx.commit_and(true).await
    }

    /// Writes a test event to one endpoint, whatever types it has. Returns its id; `None` if there is no such endpoint.
    pub async fn ping(self, id: &str) -> StoreResult<Option<Uuid>> {
        let mut tx = self.begin().await?;
        if locked(&mut tx, id).await?.is_none() {
            return Ok(None);
        }
        let subject = subject(id);
        let last = query!("SELECT COALESCE(MAX(sequence), 0) AS last FROM events WHERE subject = $1"; &subject);
        let sequence = tx.one(last, column::<i64>("last")).await? + 1;
        let ping = NewEvent::new(&tx, EventKind::Ping, (subject, sequence), sequence.to_string(), json!({}));
        let event = ping.id;
        // No endpoint chooses this type, so only this one gets it.
        write(&mut tx, &[ping]).await?;
        deliver(&mut tx, id, &[event]).await?;
        tx.commit_and(Some(event)).await
    }

    /// Deletes a bounded number of old events, with their deliveries. Returns whether there may be more.
    pub async fn purge(self) -> StoreResult<bool> {
        let horizon = first_id_of(self.now().await? - KEEP_EVENTS);
        self.purge_rows(["events", "id"], "id < $1 ORDER BY id", values![horizon]).await
    }
}

async fn locked(tx: &mut Tx, id: &str) -> sqlx::Result<Option<Endpoint>> {
    let sql = concat!("UPDATE event_endpoints SET state = state WHERE id = $1 RETURNING ", columns!());
    tx.optional(query!(sql; id), endpoint).await
}

/// Tells the owners of the shop that an endpoint was given up.
async fn tell_owners(tx: &mut Tx, of: &Endpoint) -> sqlx::Result<()> {
    let sql = "SELECT id FROM users WHERE role = 'admin' AND blocked_at_ms IS NULL AND deleted_at_ms IS NULL";
    let owners: Vec<UserId> = tx.all(query!(sql), column("id")).await?;
    let url = of.url.split('?').next().unwrap_or_default();
    let facts = json!({"endpoint": of.id, "url": url});
    crate::mail::notify_all(tx, &owners, MailKind::EndpointDisabled, &facts, None).await
}
