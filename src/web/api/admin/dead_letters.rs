//! Dead letters: list, replay, discard.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::pipeline::dead_letters::{DeadLetter, Settlement};
use crate::web::Shop;
use crate::web::cache_policy::Cache;
use crate::web::extract::Json;
use crate::web::extract::session::{ManageSales, Staff, ViewConsole};
use crate::web::problem::{Code, Problem};

#[derive(Serialize)]
struct DeadLettersResponse {
    letters: Vec<DeadLetter>,
    queue: SourceStatus,
    outboxes: SourceStatus,
}

/// Whether a source of dead letters could be read.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum SourceStatus {
    Listed,
    Away,
    NotConfigured,
}

/// The first hundred letters of each source.
pub async fn list(State(shop): State<Arc<Shop>>, _: Staff<ViewConsole>) -> Result<Response, Problem> {
    let found = shop.dead_letters.list().await?;
    let mut letters = Vec::new();
    let mut collect = |source: Option<anyhow::Result<Vec<DeadLetter>>>| match source {
        Some(Ok(mut found)) => {
            letters.append(&mut found);
            SourceStatus::Listed
        }
        Some(Err(_)) => SourceStatus::Away,
        None => SourceStatus::NotConfigured,
    };
    let (queue, outboxes) = (collect(found.queue), collect(found.outboxes));
    Ok((Cache::Private, axum::Json(DeadLettersResponse { letters, queue, outboxes })).into_response())
}

/// One letter, or all that are listed now.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    id: Option<String>,
    #[serde(default)]
    all: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiscardRequest {
    id: String,
}

#[derive(Serialize)]
struct SettledCount {
    settled: usize,
}

pub async fn replay(
    State(shop): State<Arc<Shop>>,
    staff: Staff<ManageSales>,
    Json(request): Json<ReplayRequest>,
) -> Result<Response, Problem> {
    match (request.id, request.all) {
        (Some(id), false) => settle(&shop, Some(&id), Settlement::Replay, staff.actor()).await,
        (None, true) => settle(&shop, None, Settlement::Replay, staff.actor()).await,
        _ => Err(Problem::invalid_field("id", "required")),
    }
}

pub async fn discard(
    State(shop): State<Arc<Shop>>,
    staff: Staff<ManageSales>,
    Json(DiscardRequest { id }): Json<DiscardRequest>,
) -> Result<Response, Problem> {
    settle(&shop, Some(&id), Settlement::Discard, staff.actor()).await
}

async fn settle(shop: &Shop, id: Option<&str>, settlement: Settlement, actor: &str) -> Result<Response, Problem> {
    let settled = shop.dead_letters.settle(id, settlement, actor).await?;
    if settled == 0 && id.is_some() {
        return Err(Code::NotFound.into());
    }
    Ok(axum::Json(SettledCount { settled }).into_response())
}
