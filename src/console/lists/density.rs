//! The form that sets how close the rows of the console's lists stand.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::StaffVisit;
use web::extract::Form;
use web::extract::density::Density;
use web::extract::session::ViewConsole;
use web::extract::visitor::own_path;
use web::problem::Problem;
use web::shared::response::see_other;

#[derive(Deserialize)]
pub struct DensityForm {
    #[serde(default)]
    density: String,
    /// The path of the list to return to. A script leaves it empty and stays on its page.
    #[serde(default)]
    next: String,
}

pub async fn set(
    (State(shop), ..): StaffVisit<ViewConsole>,
    Form(form): Form<DensityForm>,
) -> Result<Response, Problem> {
    let density: Density = form.density.parse().map_err(|()| Problem::invalid_field("density", "unknown"))?;
    let cookie = [(SET_COOKIE, density.set_cookie(shop.config.is_https()))];
    if form.next.is_empty() {
        return Ok((StatusCode::NO_CONTENT, cookie).into_response());
    }
    let list = own_path(&form.next).filter(|path| path.starts_with("/admin")).unwrap_or("/admin");
    Ok((cookie, see_other(list)).into_response())
}
