//! Waiting rooms: staff hold the calls, and limit how many are made each minute.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::StaffCallTo;
use crate::sales::definition_api::present;
use domain::SaleId;
use store::{Pace, PaceChange};
use web::cache_policy::Cache;
use web::extract::session::ManageSales;
use web::extract::{Json, PathIds};
use web::problem::{Code, Problem};

/// Absent fields stay as they are.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaceRequest {
    /// No further shopper is called.
    held: Option<bool>,
    /// `null` for no limit: as many calls as there are units.
    #[serde(default, deserialize_with = "present")]
    #[schemars(range(min = 1, max = 100000))]
    per_minute: Option<Option<i64>>,
}

#[derive(Serialize, JsonSchema)]
struct PaceResponse {
    queue: Pace,
}

pub async fn change_pace(
    (State(shop), staff, PathIds(sale)): StaffCallTo<ManageSales, SaleId>,
    Json(PaceRequest { held, per_minute }): Json<PaceRequest>,
) -> Result<Response, Problem> {
    if per_minute.flatten().is_some_and(|calls| !Pace::PER_MINUTE.contains(&calls)) {
        return Err(Problem::invalid_field("per_minute", "bad_number"));
    }
    let change = PaceChange { held, per_minute };
    let queue =
        shop.store.waiting_rooms().change_pace(sale, change, staff.actor()).await?.ok_or(Code::NoSuchWaitingRoom)?;
    Ok((Cache::Private, axum::Json(PaceResponse { queue })).into_response())
}

web::operations! { "administrators"
    /// Hold, resume or bound the calls of a waiting room
    ///
    /// An absent field stays as it is. Shoppers who were called go on buying, and every place stays.
    POST "/api/admin/sales/{sale}/queue" changeQueuePace = change_pace;
        200 PaceResponse;
        refuses NoSuchWaitingRoom;
}
