//! Health and metrics for operators, on a listener of its own: `/livez`, `/readyz`, `/healthz`, `/metrics`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use base::metrics::Metrics;
use engine::health::{Health, Part};

struct Ops {
    health: Health,
    /// Cancelled when the process begins to end.
    draining: CancellationToken,
    metrics: Arc<Metrics>,
}

pub fn router(health: Health, metrics: Arc<Metrics>, draining: CancellationToken) -> Router {
    Router::new()
        .route("/livez", get(async || "alive\n"))
        .route("/readyz", get(ready))
        .route("/healthz", get(health_report))
        .route("/metrics", get(metrics_text))
        .with_state(Arc::new(Ops { health, metrics, draining }))
}

/// The operators' address of a process whose start waits: it lives, and is not ready for this reason.
pub fn starting_router(reason: watch::Receiver<Option<String>>) -> Router {
    let not_ready = async move || {
        let problem = reason.borrow().clone().unwrap_or_else(|| "the start is under way".to_owned());
        answer(vec![Part { name: "start", problem: Some(problem), is_usable: false }])
    };
    Router::new().route("/livez", get(async || "alive\n")).fallback(not_ready)
}

#[derive(Serialize)]
struct HealthReport {
    ready: bool,
    parts: Vec<PartReport>,
}

#[derive(Serialize)]
struct PartReport {
    name: &'static str,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// 200 if this process can answer. 503 while it drains or its clock is not known, so that the load balancer sends its requests
/// elsewhere. Not about the services, which all processes share: without them pages, the button and refusals work, and no other process is better.
async fn ready(State(ops): State<Arc<Ops>>) -> Response {
    let part = |name, problem| Part { name, problem: Some(problem), is_usable: false };
    let draining = ops.draining.is_cancelled().then(|| part("process", "it drains and will stop".to_owned()));
    let clock = ops.health.clock_problem().map(|problem| part("clock", problem));
    answer(draining.into_iter().chain(clock).collect())
}

/// 200 if every service can be used, otherwise 503; in both cases with the problem of each part that has one.
async fn health_report(State(ops): State<Arc<Ops>>) -> Response {
    answer(ops.health.report().await)
}

fn answer(report: Vec<Part>) -> Response {
    let ready = report.iter().all(|part| part.is_usable);
    let parts = report.into_iter();
    let parts = parts.map(|part| PartReport { name: part.name, ok: part.problem.is_none(), problem: part.problem });
    let parts = parts.collect();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, [(CACHE_CONTROL, "no-store")], Json(HealthReport { ready, parts })).into_response()
}

async fn metrics_text(State(ops): State<Arc<Ops>>) -> Response {
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(CONTENT_TYPE, content_type)], ops.metrics.encode()).into_response()
}
