//! Deliveries of events: which are due, what their attempts got, and which are made again.

use std::collections::HashMap;
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use uuid::Uuid;

use super::{BATCH_SIZE, Endpoint, subject, tell_owners};
use crate::{AFTER_ALL, Bound, EventStore, StoreResult, bound, column, for_ids, id_at, list, row};
use domain::AuditAction;
use domain::event::{DeliveryState, EndpointState, EventKind};
use domain::ids::first_id_of;

/// How long every attempt has to fail until an event that is given up disables its endpoint.
const MAX_FAILING: Duration = Duration::from_secs(5 * 24 * 3600);
/// Deliveries are counted up to this number.
const MAX_COUNTED: i64 = 10_000;
/// The actor in the audit log when the shop itself disables an endpoint.
const SHOP: &str = "events";

/// An event that is due at an endpoint.
#[derive(Debug)]
pub struct DueEvent {
    pub id: String,
    pub body: String,
    /// Attempts until now.
    pub attempts: i64,
}

/// What an attempt got.
#[derive(Debug, Clone)]
pub struct AttemptResult {
    pub at: Timestamp,
    pub took: Duration,
    /// `None`: there was no answer, and the text says why.
    pub status: Option<u16>,
    /// The beginning of the answer.
    pub answer: String,
}

/// What follows from an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    Delivered,
    Again(Duration),
    GiveUp,
    /// The endpoint says that it is gone for good.
    Gone,
}

/// A delivery with its attempts, as staff see it.
#[derive(Debug)]
pub struct Delivery {
    pub event: String,
    pub kind: EventKind,
    pub subject: String,
    pub sequence: i64,
    pub state: DeliveryState,
    pub attempts: i64,
    pub next_attempt_at: Timestamp,
    pub created_at: Timestamp,
    /// The oldest first.
    pub log: Vec<AttemptResult>,
}

/// Which events an endpoint gets again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replay {
    One(Uuid),
    /// Events of its types that were made at this time or later.
    Since(Timestamp),
}

#[boxed]
impl EventStore<'_> {
    /// Endpoints with an event that is due.
    pub async fn endpoints_due(self) -> StoreResult<Vec<String>> {
        let sql = "SELECT id FROM event_endpoints WHERE state = 'on' AND EXISTS (SELECT 1 FROM event_deliveries
             WHERE endpoint_id = event_endpoints.id AND state = 'waiting' AND next_attempt_at_ms <= $1) ORDER BY id";
        self.all(query!(sql; self.now().await?), column("id")).await
    }

    /// Events that are due at an endpoint, the longest due first.
    pub async fn due(self, endpoint: &str, limit: i64) -> StoreResult<Vec<DueEvent>> {
        let sql = "SELECT event_id, body, attempts FROM event_deliveries JOIN events ON events.id = event_id
             WHERE endpoint_id = $1 AND state = 'waiting' AND next_attempt_at_ms <= $2
             ORDER BY next_attempt_at_ms, event_id LIMIT $3";
        let now = self.now().await?.as_millisecond();
        self.all(query!(sql; endpoint, now, limit), |row| read!(row => DueEvent { id: "event_id", body, attempts }))
            .await
    }

    /// Counts an attempt that is about to be made, and postpones the next one by `duration`, which this one may take.
    /// `false` if another process makes it.
    pub async fn claim(self, endpoint: &str, event: &DueEvent, duration: Duration) -> StoreResult<bool> {
        let sql = "UPDATE event_deliveries SET attempts = attempts + 1, next_attempt_at_ms = $4
             WHERE endpoint_id = $1 AND event_id = $2 AND attempts = $3 AND state = 'waiting'";
        let until = self.now().await?.saturating_add(duration).unwrap_or(Timestamp::MAX).as_millisecond();
        Ok(self.changed(query!(sql; endpoint, &event.id, event.attempts, until)).await? == 1)
    }

    /// Records an attempt that was counted, and what follows. Returns whether it disabled the endpoint, which its owners
    /// are told in the same transaction.
    pub async fn record(
        self,
        endpoint: &Endpoint,
        event: &DueEvent,
        result: &AttemptResult,
        next: NextStep,
    ) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        let (state, wait) = match next {
            NextStep::Delivered => (DeliveryState::Delivered, Duration::ZERO),
            NextStep::Again(wait) => (DeliveryState::Waiting, wait),
            NextStep::GiveUp | NextStep::Gone => (DeliveryState::Failed, Duration::ZERO),
        };
        let due = now.saturating_add(wait).unwrap_or(Timestamp::MAX).as_millisecond();
        // The endpoint before the delivery, as a deletion of the endpoint locks them.
        let is_disabled = match next {
            NextStep::Delivered => {
                let sql = "UPDATE event_endpoints SET failing_since_ms = NULL
                     WHERE id = $1 AND failing_since_ms IS NOT NULL";
                tx.run(query!(sql; &endpoint.id)).await?;
                false
            }
            _ => {
                let sql = "UPDATE event_endpoints SET failing_since_ms = $2 WHERE id = $1 AND failing_since_ms IS NULL";
                tx.run(query!(sql; &endpoint.id, result.at)).await?;
                let failing_long = match next {
                    NextStep::Gone => i64::MAX,
                    NextStep::GiveUp => (now - MAX_FAILING).as_millisecond(),
                    _ => i64::MIN,
                };
                let sql = "UPDATE event_endpoints SET state = 'disabled'
                     WHERE id = $1 AND state = 'on' AND failing_since_ms <= $2";
                tx.changed(query!(sql; &endpoint.id, failing_long)).await? == 1
            }
        };
        // If the event was asked for again meanwhile, its count began again, and it stays due.
        let sql = "UPDATE event_deliveries SET state = $4, next_attempt_at_ms = $5
             WHERE endpoint_id = $1 AND event_id = $2 AND attempts = $3 AND state = 'waiting'";
        tx.run(query!(sql; &endpoint.id, &event.id, event.attempts + 1, state, due)).await?;
        // No row if the endpoint was deleted meanwhile.
        let sql = "INSERT INTO event_attempts (id, endpoint_id, event_id, at_ms, took_ms, status, answer)
             SELECT $3, endpoint_id, event_id, CAST($4 AS BIGINT), CAST($5 AS BIGINT), CAST($6 AS BIGINT), $7
             FROM event_deliveries WHERE endpoint_id = $1 AND event_id = $2";
        let query = query!(sql; &endpoint.id, &event.id, id_at(result.at), result.at, result.took.as_millis() as i64,
            result.status, &result.answer);
        tx.run(query).await?;
        if is_disabled {
            let after = super::record(&Endpoint { state: EndpointState::Disabled, ..endpoint.clone() });
            let subject = format!("endpoint {}", endpoint.id);
            tx.log(SHOP, AuditAction::EditEndpoint, &subject, Some(&super::record(endpoint)), Some(&after), now)
                .await?;
            tell_owners(&mut tx, endpoint).await?;
        }
        tx.commit_and(is_disabled).await
    }

    /// How many events wait for endpoints that are on, up to ten thousand.
    pub async fn waiting(self) -> StoreResult<i64> {
        let sql = "SELECT COUNT(*) AS n FROM (SELECT 1 FROM event_endpoints JOIN event_deliveries ON endpoint_id = id
             WHERE event_endpoints.state = 'on' AND event_deliveries.state = 'waiting' LIMIT $1) AS waiting";
        self.one(query!(sql; MAX_COUNTED), column("n")).await
    }

    /// Deliveries to an endpoint of events before the event with this id, newest first, with their attempts.
    pub async fn deliveries(self, endpoint: &str, before: Option<&str>, limit: i64) -> StoreResult<Vec<Delivery>> {
        let sql = "SELECT event_id, kind, subject, sequence, created_at_ms, state, attempts, next_attempt_at_ms
             FROM event_deliveries JOIN events ON events.id = event_id
             WHERE endpoint_id = $1 AND event_id < $2 ORDER BY event_id DESC LIMIT $3";
        let mut deliveries = self.all(query!(sql; endpoint, before.unwrap_or(AFTER_ALL), limit), delivery).await?;
        let mut logs: HashMap<String, Vec<AttemptResult>> = HashMap::new();
        let ids: Vec<String> = deliveries.iter().map(|delivery| delivery.event.clone()).collect();
        let sql = "SELECT event_id, at_ms, took_ms, status, answer FROM event_attempts
             WHERE endpoint_id = $1 AND event_id IN $ids ORDER BY id";
        let read = |row: &AnyRow| Ok((row::text(row, "event_id")?, attempt(row)?));
        for (event, attempt) in self.all_of::<_, Vec<_>>(sql, &values![endpoint], &ids, read).await? {
            logs.entry(event).or_default().push(attempt);
        }
        for delivery in &mut deliveries {
            delivery.log = logs.remove(&delivery.event).unwrap_or_default();
        }
        Ok(deliveries)
    }

    /// Sends events to an endpoint again, at once and with all their attempts before them. Returns how many. Events of other
    /// types than its own are sent only if they are asked for one by one.
    pub async fn replay(self, endpoint: &Endpoint, which: &Replay, actor: &str) -> StoreResult<i64> {
        let mut count = 0;
        let mut after = match which {
            Replay::One(id) => {
                // A test is for one endpoint only.
                let sql = "SELECT id FROM events WHERE id = $1 AND (kind <> 'ping' OR subject = $2)";
                let events = self.all(query!(sql; id, subject(&endpoint.id)), column("id")).await?;
                count += self.send_again(endpoint, &events).await?;
                None
            }
            Replay::Since(since) => Some(first_id_of(*since)),
        };
        while let Some(from) = after {
            let events = self.events_after(endpoint, &from).await?;
            count += self.send_again(endpoint, &events).await?;
            // Sorts after this id and before the next one.
            after = events.last().filter(|_| events.len() as i64 == BATCH_SIZE).map(|last| format!("{last}g"));
        }
        if count > 0 {
            let mut tx = self.begin().await?;
            let after = match which {
                Replay::One(id) => serde_json::json!({"event": id}),
                Replay::Since(since) => serde_json::json!({"since": since, "count": count}),
            };
            tx.log(actor, AuditAction::ReplayEvents, &subject(&endpoint.id), None, Some(&after), tx.now).await?;
            tx.commit().await?;
        }
        Ok(count)
    }

    /// Ids of a bounded number of events from this id on that the endpoint wants.
    async fn events_after(self, endpoint: &Endpoint, from: &str) -> StoreResult<Vec<String>> {
        let kinds: Vec<&str> =
            EventKind::ALL.iter().filter(|kind| endpoint.choice.includes(**kind)).map(|kind| kind.as_str()).collect();
        let sql =
            format!("SELECT id FROM events WHERE id >= $1 AND kind IN {} ORDER BY id LIMIT $2", list(kinds.len(), 2));
        let query = query!(AssertSqlSafe(sql); from, BATCH_SIZE);
        self.all(bound(query, kinds.into_iter().map(Bound::value)), column("id")).await
    }

    async fn send_again(self, endpoint: &Endpoint, events: &[String]) -> StoreResult<i64> {
        let mut tx = self.begin().await?;
        let mut count = 0;
        if super::locked(&mut tx, &endpoint.id).await?.is_none() {
            return Ok(0);
        }
        let sql = "INSERT INTO event_deliveries (endpoint_id, event_id, next_attempt_at_ms)
             SELECT $1, id, CAST($2 AS BIGINT) FROM events WHERE id IN $ids
             ON CONFLICT (endpoint_id, event_id) DO UPDATE SET state = 'waiting', attempts = 0,
               next_attempt_at_ms = excluded.next_attempt_at_ms";
        for query in for_ids(sql, &values![&endpoint.id, tx.now], events) {
            count += tx.changed(query).await? as i64;
        }
        tx.commit_and(count).await
    }
}

fn delivery(row: &AnyRow) -> sqlx::Result<Delivery> {
    read!(row => Delivery {
        event: "event_id", kind, subject, sequence, state, attempts, next_attempt_at: "next_attempt_at_ms",
        created_at: "created_at_ms", log = Vec::new(),
    })
}

fn attempt(row: &AnyRow) -> sqlx::Result<AttemptResult> {
    let status: Option<i64> = row::get(row, "status")?;
    read!(row => AttemptResult {
        at: "at_ms", took = Duration::from_millis(row::int(row, "took_ms")?.unsigned_abs()),
        status = status.and_then(|status| u16::try_from(status).ok()), answer,
    })
}
