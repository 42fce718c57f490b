//! Waiting rooms: staff hold the calls, and limit how many are made each minute.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::StaffCallTo;
use crate::sales::definition_api::present;
use domain::SaleId;
use store::{QueuePace, QueuePaceChange};
use web::cache_policy::Cache;
use web::extract::session::ManageSales;
use web::extract::{Json, PathIds};
use web::problem::{Code, Problem};

/// Absent fields stay as they are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaceRequest {
    held: Option<bool>,
    /// `null` for no limit: as many calls as there are units.
    #[serde(default, deserialize_with = "present")]
    per_minute: Option<Option<i64>>,
}

#[derive(Serialize)]
struct PaceResponse {
    queue: QueuePace,
}

pub async fn change_pace(
    (State(shop), staff, PathIds(sale)): StaffCallTo<ManageSales, SaleId>,
    Json(PaceRequest { held, per_minute }): Json<PaceRequest>,
) -> Result<Response, Problem> {
    if per_minute.flatten().is_some_and(|calls| !QueuePace::PER_MINUTE.contains(&calls)) {
        return Err(Problem::invalid_field("per_minute", "bad_number"));
    }
    let change = QueuePaceChange { held, per_minute };
    let queue = shop.store.waiting_rooms().change_pace(sale, change, staff.actor()).await?.ok_or(Code::NoSuchQueue)?;
    Ok((Cache::Private, axum::Json(PaceResponse { queue })).into_response())
}
