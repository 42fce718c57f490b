//! Idempotency keys: a request that is sent again with its key takes effect only once, and gets the first answer again.
//!
//! A row is one request. It is written before the request is handled ([`IdempotencyStore::begin_request`]), and the answer is
//! stored in it afterwards ([`IdempotencyStore::keep_answer`]). Between the two a process may die, or the answer may be an error
//! although the effect was committed. So the next attempt has the same [`RequestId`]. The transaction with the effect
//! records this id ([`made_before`], [`record_made`]), or writes it into a unique column of the row that it creates, so
//! that only one of any number of attempts takes effect.

use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use uuid::Uuid;

use super::{IdempotencyStore, StoreResult, Tx, column, row};
use domain::UserId;

/// How long an answer is stored.
const KEEP_ANSWERS: Duration = Duration::from_secs(24 * 3600);
/// How long an attempt counts as under way. After that its process has probably died, and another attempt may run. No
/// handler should take longer. If one does, two attempts run, and one of them takes effect.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(60);

/// Identifies all attempts of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId(pub Uuid);

/// A request with its key.
#[derive(Debug, Clone)]
pub struct KeyedRequest {
    /// The account, or the id of a program's token.
    pub user: UserId,
    /// Method and path of the request.
    pub request: String,
    pub key: String,
    /// A digest of the body.
    pub body: String,
}

/// An answer that repeated requests get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    pub status: u16,
    /// The headers as JSON of names and values.
    pub headers: String,
    pub body: String,
}

/// One attempt to carry out a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    pub request: RequestId,
    number: i64,
}

/// What to do with a request that carries a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestState {
    /// The caller must carry out the request.
    Begun(Attempt),
    /// The request was answered before.
    Answered(KeptAnswer),
    /// The key was used with another body before.
    OtherBody,
    /// Another attempt is under way.
    UnderWay,
}

#[boxed]
impl IdempotencyStore<'_> {
    /// Begins an attempt unless the request was answered before or is under way.
    pub async fn begin_request(self, new: &KeyedRequest) -> StoreResult<RequestState> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        let until = (now + ATTEMPT_TIMEOUT).as_millisecond();
        let sql = "DELETE FROM idempotency_keys WHERE user_id = $1 AND request = $2 AND idempotency_key = $3
               AND created_at_ms <= $4 AND running_until_ms <= $5";
        tx.run(query!(sql; new.user, &new.request, &new.key, expired_since(now), now)).await?;
        let id = Uuid::now_v7();
        let sql =
            "INSERT INTO idempotency_keys (user_id, request, idempotency_key, body, id, running_until_ms, created_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
        let is_new = tx.changed(query!(sql; new.user, &new.request, &new.key, &new.body, id, until, now)).await? == 1;
        let state = if is_new {
            RequestState::Begun(Attempt { request: RequestId(id), number: 1 })
        } else {
            let sql = "SELECT id, body, status, headers, answer FROM idempotency_keys
                 WHERE user_id = $1 AND request = $2 AND idempotency_key = $3";
            match tx.fetch_optional(query!(sql; new.user, &new.request, &new.key)).await? {
                Some(row) => next_attempt(&mut tx, &row, new, until).await?,
                // A refused attempt has just freed the key.
                None => RequestState::UnderWay,
            }
        };
        tx.commit_and(state).await
    }

    /// Stores the answer, unless the request has one already.
    pub async fn keep_answer(self, attempt: Attempt, answer: &KeptAnswer) -> StoreResult<()> {
        let sql = "UPDATE idempotency_keys SET status = $2, headers = $3, answer = $4, running_until_ms = 0
             WHERE id = $1 AND status IS NULL";
        self.run(query!(sql; attempt.request.0, answer.status, &answer.headers, &answer.body)).await
    }

    /// Ends an attempt without storing its answer, so that the next attempt is carried out. If the first attempt was
    /// `refused`, nothing was made, and its key is free again, also for another body.
    pub async fn end_attempt(self, attempt: Attempt, refused: bool) -> StoreResult<()> {
        let sql = match refused && attempt.number == 1 {
            true => "DELETE FROM idempotency_keys WHERE id = $1 AND attempts = $2 AND status IS NULL AND made IS NULL",
            false => {
                "UPDATE idempotency_keys SET running_until_ms = 0 WHERE id = $1 AND attempts = $2 AND status IS NULL"
            }
        };
        self.run(query!(sql; attempt.request.0, attempt.number)).await
    }

    /// Deletes a bounded number of answers that are older than [`KEEP_ANSWERS`]. Returns whether there may be more.
    pub async fn purge_answers(self) -> StoreResult<bool> {
        let now = self.now().await?;
        let old = "created_at_ms <= $1 AND running_until_ms <= $2 ORDER BY created_at_ms";
        self.purge_rows(["idempotency_keys", "id"], old, values![expired_since(now), now]).await
    }
}

fn expired_since(now: Timestamp) -> i64 {
    (now - KEEP_ANSWERS).as_millisecond()
}

/// Decides about a request from the row of an earlier attempt.
async fn next_attempt(
    tx: &mut Tx,
    row: &sqlx::any::AnyRow,
    new: &KeyedRequest,
    until: i64,
) -> StoreResult<RequestState> {
    if row::text(row, "body")? != new.body {
        return Ok(RequestState::OtherBody);
    }
    if let Some(status) = row::get(row, "status")? {
        let (headers, body) = (row::text(row, "headers")?, row::text(row, "answer")?);
        return Ok(RequestState::Answered(KeptAnswer { status, headers, body }));
    }
    let sql = "UPDATE idempotency_keys SET attempts = attempts + 1, running_until_ms = $2
         WHERE id = $1 AND status IS NULL AND running_until_ms <= $3 RETURNING attempts";
    let (id, now): (Uuid, _) = (row::get(row, "id")?, tx.now);
    Ok(match tx.optional(query!(sql; id, until, now), column("attempts")).await? {
        Some(number) => RequestState::Begun(Attempt { request: RequestId(id), number }),
        None => RequestState::UnderWay,
    })
}

/// The record of what an earlier attempt made, if there is one. Locks the request's row, so that attempts run one after
/// the other. Call it first in a transaction.
pub(super) async fn made_before(tx: &mut Tx, request: Option<RequestId>) -> sqlx::Result<Option<String>> {
    let Some(RequestId(id)) = request else { return Ok(None) };
    let sql = "UPDATE idempotency_keys SET attempts = attempts WHERE id = $1 RETURNING made";
    tx.one(query!(sql; id), column("made")).await
}

/// Records what this transaction makes for a request.
pub(super) async fn record_made(tx: &mut Tx, request: Option<RequestId>, made: &str) -> sqlx::Result<()> {
    let Some(RequestId(id)) = request else { return Ok(()) };
    tx.run(query!("UPDATE idempotency_keys SET made = $2 WHERE id = $1"; id, made)).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::new_store;
    use base::clock::Clock;

    #[tokio::test]
    async fn answer_is_kept_for_a_day_and_a_dead_attempt_followed_by_another() {
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        let (_dir, store) = new_store(&clock).await;
        let keyed = |key: &str| KeyedRequest {
            user: UserId(Uuid::from_u128(1)),
            request: "POST /api/packets".into(),
            key: key.into(),
            body: "digest".into(),
        };
        let begin = async |key: &str| store.idempotency().begin_request(&keyed(key)).await.unwrap();

        let RequestState::Begun(first) = begin("a").await else { panic!() };
        assert_eq!(begin("a").await, RequestState::UnderWay);
        clock.advance(ATTEMPT_TIMEOUT);
        let RequestState::Begun(second) = begin("a").await else { panic!() };
        assert_eq!((first.request, first.number, second.number), (second.request, 1, 2));
        // The first attempt was only slow. It must not end the second.
        store.idempotency().end_attempt(first, true).await.unwrap();
        assert_eq!(begin("a").await, RequestState::UnderWay);
        store.idempotency().end_attempt(second, true).await.unwrap();
        let RequestState::Begun(third) = begin("a").await else { panic!() };
        assert_eq!((third.request, third.number), (first.request, 3), "an earlier attempt may have taken effect");

        let answer = KeptAnswer { status: 201, headers: "[]".into(), body: "{}".into() };
        store.idempotency().keep_answer(third, &answer).await.unwrap();
        clock.advance(KEEP_ANSWERS - ATTEMPT_TIMEOUT * 2);
        store.idempotency().purge_answers().await.unwrap();
        assert_eq!(begin("a").await, RequestState::Answered(answer));
        clock.advance(ATTEMPT_TIMEOUT * 2);
        let RequestState::Begun(new) = begin("a").await else { panic!() };
        assert_ne!(new.request, first.request);
        store.idempotency().end_attempt(new, false).await.unwrap();
        clock.advance(KEEP_ANSWERS);
        store.idempotency().purge_answers().await.unwrap();
        assert!(!store.exists(query!("SELECT id FROM idempotency_keys")).await.unwrap());
    }
}
