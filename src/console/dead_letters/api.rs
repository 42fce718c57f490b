//! Dead letters: list, replay, discard.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::StaffCall;
use engine::pipeline::dead_letters::{DeadLetter, Settlement};
use web::cache_policy::Cache;
use web::extract::Json;
use web::extract::session::{ManageSales, ViewConsole};
use web::problem::{Code, Problem};

#[derive(Serialize, JsonSchema)]
struct DeadLettersResponse {
    letters: Vec<DeadLetter>,
    queue: SourceStatus,
    outboxes: SourceStatus,
}

/// Whether a source of dead letters could be read.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SourceStatus {
    Listed,
    Away,
    NotConfigured,
}

/// The first hundred letters of each source.
pub async fn list((State(shop), _): StaffCall<ViewConsole>) -> Result<Response, Problem> {
    let found = shop.dead_letters.list().await?;
    let mut letters = Vec::new();
    let [queue, outboxes] = [found.queue, found.outboxes].map(|source| match source {
        Some(Ok(found)) => {
            letters.extend(found);
            SourceStatus::Listed
        }
        Some(Err(_)) => SourceStatus::Away,
        None => SourceStatus::NotConfigured,
    });
    Ok((Cache::Private, axum::Json(DeadLettersResponse { letters, queue, outboxes })).into_response())
}

/// One letter, or all that are listed now.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    id: Option<String>,
    #[serde(default)]
    all: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiscardRequest {
    #[schemars(length(min = 1))]
    id: String,
}

#[derive(Serialize, JsonSchema)]
struct SettledCount {
    settled: usize,
}

pub async fn replay(call: StaffCall<ManageSales>, Json(request): Json<ReplayRequest>) -> Result<Response, Problem> {
    if request.id.is_some() == request.all {
        return Err(Problem::invalid_field("id", "required"));
    }
    settle(call, request.id.as_deref(), Settlement::Replay).await
}

pub async fn discard(
    call: StaffCall<ManageSales>,
    Json(DiscardRequest { id }): Json<DiscardRequest>,
) -> Result<Response, Problem> {
    settle(call, Some(&id), Settlement::Discard).await
}

async fn settle(
    (State(shop), staff): StaffCall<ManageSales>,
    id: Option<&str>,
    settlement: Settlement,
) -> Result<Response, Problem> {
    let settled = shop.dead_letters.settle(id, settlement, staff.actor()).await?;
    if settled == 0 && id.is_some() {
        return Err(Code::NotFound.into());
    }
    Ok(axum::Json(SettledCount { settled }).into_response())
}

web::operations! { "administrators"
    /// Messages that could not be processed, at most 100 per source
    GET "/api/admin/dead-letters" listDeadLetters = list;
        200 DeadLettersResponse;
    /// Discard a dead letter; its content is written to the audit log
    POST "/api/admin/dead-letters/discard" discardDeadLetters = discard;
        200 SettledCount;
    /// Replay dead letters: one by its id, or all current ones
    POST "/api/admin/dead-letters/replay" replayDeadLetters = replay;
        200 SettledCount;
}
