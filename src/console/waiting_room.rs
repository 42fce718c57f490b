//! Waiting rooms: staff hold the calls, and limit how many are made each minute.

use crate::cockpit::page as cockpit;
use crate::prelude::*;
use crate::sales::page::done_path;
use domain::sale::present;
use store::{Pace, PaceChange};

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
) -> Answer {
    if per_minute.flatten().is_some_and(|calls| !Pace::PER_MINUTE.contains(&calls)) {
        return Err(Problem::invalid_field("per_minute", "bad_number"));
    }
    let change = PaceChange { held, per_minute };
    let queue =
        shop.store.waiting_rooms().change_pace(sale, change, staff.actor()).await?.ok_or(Code::NoSuchWaitingRoom)?;
    Ok(private(PaceResponse { queue }))
}

// The forms in a sale's cockpit that hold the calls of its waiting room, resume them, and limit their rate.

inputs! {
    PaceForm {
        /// `hold`, `resume` or `pace`.
        to,
        /// With `pace`: the calls per minute, or empty for no limit.
        per_minute,
    }
}

pub async fn change_pace_by_form(
    (State(shop), staff, visitor, PathIds(sale)): StaffVisitTo<ManageSales, SaleId>,
    Form(form): Form<PaceForm>,
) -> Answer {
    let calls = |text: &str| text.parse().ok().filter(|calls| Pace::PER_MINUTE.contains(calls));
    let (change, done) = match form.to.as_str() {
        "hold" => (PaceChange { held: Some(true), ..PaceChange::default() }, "calls_held"),
        "resume" => (PaceChange { held: Some(false), ..PaceChange::default() }, "calls_resumed"),
        _ => {
            let Some(per_minute) = optional(&form.per_minute, calls) else {
                let text = words::field_error(visitor.locale, "bad_number");
                return cockpit::show_with_warning(&shop, &visitor, sale, StatusCode::UNPROCESSABLE_ENTITY, text).await;
            };
            (PaceChange { per_minute: Some(per_minute), ..PaceChange::default() }, "pace_changed")
        }
    };
    shop.store.waiting_rooms().change_pace(sale, change, staff.actor()).await?.ok_or(Code::NoSuchWaitingRoom)?;
    Ok(see_other(&done_path(visitor.locale, &format!("/admin/sales/{sale}"), done, sale)))
}

web::operations! { "administrators"
    /// Hold, resume or bound the calls of a waiting room
    ///
    /// An absent field stays as it is. Shoppers who were called go on buying, and every place stays.
    POST "/api/admin/sales/{sale}/queue" changeQueuePace = change_pace;
        200 PaceResponse;
        refuses NoSuchWaitingRoom;
}
