//! The forms in a sale's cockpit that hold the calls of its waiting room, resume them, and limit their rate.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::StaffVisitTo;
use crate::cockpit::page as cockpit;
use crate::sales::page::done_path;
use domain::SaleId;
use store::{Pace, PaceChange};
use web::extract::session::ManageSales;
use web::extract::{Form, PathIds};
use web::problem::{Code, Problem};
use web::shared::response::see_other;
use web::shared::validation::optional;

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct PaceForm {
    /// `hold`, `resume` or `pace`.
    to: String,
    /// With `pace`: the calls per minute, or empty for no limit.
    per_minute: String,
}

pub async fn change_pace(
    (State(shop), staff, visitor, PathIds(sale)): StaffVisitTo<ManageSales, SaleId>,
    Form(form): Form<PaceForm>,
) -> Result<Response, Problem> {
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
