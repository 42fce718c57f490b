//! Dead letters, by an operator's programs.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::pipeline::dead_letters::{Letter, Settlement};
use crate::web::Shop;
use crate::web::cache_policy::Cache;
use crate::web::extract::Json;
use crate::web::extract::session::{Look, RunSales, Staff};
use crate::web::problem::{Code, Problem};

#[derive(Serialize)]
struct Listing {
    letters: Vec<Letter>,
    queue: Place,
    outboxes: Place,
}

/// Whether a place could be looked into.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    Listed,
    Away,
    NotConfigured,
}

/// What lies where; the first hundred of each place.
pub async fn list(State(shop): State<Arc<Shop>>, _: Staff<Look>) -> Result<Response, Problem> {
    let found = shop.dead_letters.list().await?;
    let mut letters = Vec::new();
    let mut take = |place: Option<anyhow::Result<Vec<Letter>>>| match place {
        Some(Ok(mut found)) => {
            letters.append(&mut found);
            Place::Listed
        }
        Some(Err(_)) => Place::Away,
        None => Place::NotConfigured,
    };
    let (queue, outboxes) = (take(found.queue), take(found.outboxes));
    Ok((Cache::Private, axum::Json(Listing { letters, queue, outboxes })).into_response())
}

/// Which letters: one, or all that are there now.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    id: Option<String>,
    #[serde(default)]
    all: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discard {
    id: String,
}

#[derive(Serialize)]
struct Settled {
    settled: usize,
}

pub async fn replay(
    State(shop): State<Arc<Shop>>,
    staff: Staff<RunSales>,
    Json(replay): Json<Replay>,
) -> Result<Response, Problem> {
    match (replay.id, replay.all) {
        (Some(id), false) => settle(&shop, Some(&id), Settlement::Replay, staff.actor()).await,
        (None, true) => settle(&shop, None, Settlement::Replay, staff.actor()).await,
        _ => Err(Problem::invalid_field("id", "required")),
    }
}

pub async fn discard(
    State(shop): State<Arc<Shop>>,
    staff: Staff<RunSales>,
    Json(Discard { id }): Json<Discard>,
) -> Result<Response, Problem> {
    settle(&shop, Some(&id), Settlement::Discard, staff.actor()).await
}

async fn settle(shop: &Shop, id: Option<&str>, fate: Settlement, actor: &str) -> Result<Response, Problem> {
    let settled = shop.dead_letters.settle(id, fate, actor).await?;
    if settled == 0 && id.is_some() {
        return Err(Code::NotFound.into());
    }
    Ok(axum::Json(Settled { settled }).into_response())
}
