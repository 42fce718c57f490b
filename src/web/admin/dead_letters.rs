//! The console's page of dead letters.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::i18n;
use crate::pipeline::dead_letters::Settlement;
use crate::web::Shop;
use crate::web::extract::session::{ManageSales, Staff, ViewConsole};
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, Query};
use crate::web::problem::Problem;
use crate::web::shared::response::{personal, see_other};
use crate::web::views::DeadLettersPage;

const PATH: &str = "/admin/dead-letters";

/// The action that the page reports as done, and the number of letters it settled.
#[derive(Deserialize)]
pub struct DeadLettersQuery {
    done: Option<String>,
    count: Option<usize>,
}

pub async fn show(
    State(shop): State<Arc<Shop>>,
    _: Staff<ViewConsole>,
    may: Result<Staff<ManageSales>, Problem>,
    visitor: Visitor,
    Query(query): Query<DeadLettersQuery>,
) -> Result<Response, Problem> {
    let t = &i18n::text(visitor.locale).cockpit;
    let count = query.count.unwrap_or_default();
    let notice = match query.done.as_deref() {
        Some("replay") => Some(i18n::fill(t.replayed, count)),
        Some("discard") => Some(i18n::fill(t.discarded, count)),
        _ => None,
    };
    page(&shop, &visitor, may.is_ok(), StatusCode::OK, notice, None).await
}

async fn page(
    shop: &Shop,
    visitor: &Visitor,
    may_act: bool,
    status: StatusCode,
    notice: Option<String>,
    warning: Option<String>,
) -> Result<Response, Problem> {
    let found = shop.dead_letters.list().await?;
    let mut chrome = visitor.chrome();
    chrome.path = format!("{PATH}?lang={}", visitor.locale);
    personal(status, &DeadLettersPage::new(chrome, found, may_act, notice, warning))
}

/// The form of a replay or a discard.
#[derive(Deserialize)]
pub struct DeadLetterForm {
    /// Absent to replay all letters.
    id: Option<String>,
    #[serde(default)]
    confirm: String,
    /// The letter's id, typed again. A discard needs it because it cannot be undone.
    #[serde(default)]
    typed: String,
}

pub async fn replay(
    State(shop): State<Arc<Shop>>,
    staff: Staff<ManageSales>,
    visitor: Visitor,
    Form(form): Form<DeadLetterForm>,
) -> Result<Response, Problem> {
    let confirmed = (form.confirm == "yes").then_some(Settlement::Replay);
    settle(&shop, &staff, &visitor, form.id.as_deref(), confirmed).await
}

pub async fn discard(
    State(shop): State<Arc<Shop>>,
    staff: Staff<ManageSales>,
    visitor: Visitor,
    Form(form): Form<DeadLetterForm>,
) -> Result<Response, Problem> {
    let is_confirmed = form.id.as_deref().is_some_and(|id| id == form.typed.trim()) && form.confirm == "yes";
    settle(&shop, &staff, &visitor, form.id.as_deref(), is_confirmed.then_some(Settlement::Discard)).await
}

async fn settle(
    shop: &Shop,
    staff: &Staff<ManageSales>,
    visitor: &Visitor,
    id: Option<&str>,
    confirmed: Option<Settlement>,
) -> Result<Response, Problem> {
    let refuse = async |status, warning: &str| page(shop, visitor, true, status, None, Some(warning.to_owned())).await;
    let Some(settlement) = confirmed else {
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, i18n::problem("not_confirmed").text(visitor.locale)).await;
    };
    let settled = shop.dead_letters.settle(id, settlement, staff.actor()).await?;
    if settled == 0 && id.is_some() {
        return refuse(StatusCode::NOT_FOUND, i18n::text(visitor.locale).cockpit.letter_gone).await;
    }
    let done = settlement.as_str();
    Ok(see_other(&format!("{PATH}?lang={}&done={done}&count={settled}", visitor.locale)))
}
