//! The page of dead letters.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::i18n;
use crate::pipeline::dead_letters::Settlement;
use crate::web::Shop;
use crate::web::extract::session::{Look, RunSales, Staff};
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, Query};
use crate::web::pages::{personal, see_other};
use crate::web::problem::Problem;
use crate::web::views::DeadLettersPage;

const PATH: &str = "/admin/dead-letters";

/// What was done before the page was shown.
#[derive(Deserialize)]
pub struct Done {
    done: Option<String>,
    count: Option<usize>,
}

pub async fn show(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    may: Result<Staff<RunSales>, Problem>,
    visitor: Visitor,
    Query(done): Query<Done>,
) -> Result<Response, Problem> {
    let t = &i18n::text(visitor.locale).cockpit;
    let count = done.count.unwrap_or_default();
    let notice = match done.done.as_deref() {
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

/// What the forms carry.
#[derive(Deserialize)]
pub struct Wish {
    /// Absent for all.
    id: Option<String>,
    #[serde(default)]
    confirm: String,
    /// The letter's number once more: demanded for what cannot be taken back.
    #[serde(default)]
    typed: String,
}

pub async fn replay(
    State(shop): State<Arc<Shop>>,
    staff: Staff<RunSales>,
    visitor: Visitor,
    Form(wish): Form<Wish>,
) -> Result<Response, Problem> {
    settle(&shop, &staff, &visitor, wish.id.as_deref(), (wish.confirm == "yes").then_some(Settlement::Replay)).await
}

pub async fn discard(
    State(shop): State<Arc<Shop>>,
    staff: Staff<RunSales>,
    visitor: Visitor,
    Form(wish): Form<Wish>,
) -> Result<Response, Problem> {
    let meant = wish.id.as_deref().is_some_and(|id| id == wish.typed.trim()) && wish.confirm == "yes";
    settle(&shop, &staff, &visitor, wish.id.as_deref(), meant.then_some(Settlement::Discard)).await
}

async fn settle(
    shop: &Shop,
    staff: &Staff<RunSales>,
    visitor: &Visitor,
    id: Option<&str>,
    fate: Option<Settlement>,
) -> Result<Response, Problem> {
    let refuse = async |status, warning: &str| page(shop, visitor, true, status, None, Some(warning.to_owned())).await;
    let Some(fate) = fate else {
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, i18n::problem("not_confirmed").text(visitor.locale)).await;
    };
    let settled = shop.dead_letters.settle(id, fate, staff.actor()).await?;
    if settled == 0 && id.is_some() {
        return refuse(StatusCode::NOT_FOUND, i18n::text(visitor.locale).cockpit.letter_gone).await;
    }
    let done = fate.as_str();
    Ok(see_other(&format!("{PATH}?lang={}&done={done}&count={settled}", visitor.locale)))
}
