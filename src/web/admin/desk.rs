//! The administrator's list of sales with what can be done to them, and the log.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::cockpit;
use crate::control::desk::{DeskChange, SaleRow};
use crate::domain::{Locale, SaleId};
use crate::error::Problem;
use crate::pages::text;
use crate::pages::views::{AdminLogPage, AdminSale, AdminSalesPage, AuditRow};
use crate::store::{MOST_UNITS, SaleRefusal, StoreError};
use crate::web::Shop;
use crate::web::api::admin::LOG_PAGE;
use crate::web::input::{Form, Ids};
use crate::web::pages::{personal, see_other};
use crate::web::session::{Look, RunSales, Staff};
use crate::web::visitor::Visitor;

pub async fn sales(State(shop): State<Arc<Shop>>, _: Staff<Look>, visitor: Visitor) -> Result<Response, Problem> {
    show(&shop, &visitor, StatusCode::OK, None).await
}

async fn show(
    shop: &Shop,
    visitor: &Visitor,
    status: StatusCode,
    warning: Option<String>,
) -> Result<Response, Problem> {
    let overview = shop.desk.overview().await?;
    let now = shop.clock.now();
    let row = |row: SaleRow| AdminSale {
        goods_name: row.goods.name.get(visitor.locale).to_owned(),
        phase: row.status.map_or_else(|| row.sale.phase(now), |status| status.phase),
        booked: row.status.and_then(|status| status.booked),
        access: row.status.and_then(|status| status.access),
        outbox: row.outbox,
        unpaid: row.unpaid,
        paid: row.paid,
        sale: row.sale,
    };
    let mut chrome = visitor.chrome();
    chrome.path = admin_path(visitor.locale);
    let sales = overview.sales.into_iter().map(row).collect();
    personal(status, &AdminSalesPage { chrome, sales, warning })
}

pub fn admin_path(locale: Locale) -> String {
    format!("/admin?lang={locale}")
}

/// What every form on the list carries, so that nothing happens by a slip of the finger.
#[derive(Deserialize)]
pub struct Confirmation {
    #[serde(default)]
    confirm: String,
    /// The sale's number, typed once more: demanded for what cannot be taken back.
    #[serde(default)]
    typed: String,
    #[serde(default)]
    units: String,
}

impl Confirmation {
    fn is_given(&self) -> bool {
        self.confirm == "yes"
    }
}

type Order = (State<Arc<Shop>>, Staff<RunSales>, Visitor, Ids<SaleId>);

pub async fn start(
    (State(shop), admin, visitor, Ids(id)): Order,
    Form(form): Form<Confirmation>,
) -> Result<Response, Problem> {
    carry_out(&shop, &admin, &visitor, id, form.is_given().then_some(DeskChange::Start)).await
}

pub async fn pause(
    (State(shop), admin, visitor, Ids(id)): Order,
    Form(form): Form<Confirmation>,
) -> Result<Response, Problem> {
    carry_out(&shop, &admin, &visitor, id, form.is_given().then_some(DeskChange::Pause)).await
}

pub async fn resume(
    (State(shop), admin, visitor, Ids(id)): Order,
    Form(form): Form<Confirmation>,
) -> Result<Response, Problem> {
    carry_out(&shop, &admin, &visitor, id, form.is_given().then_some(DeskChange::Resume)).await
}

pub async fn stop(
    (State(shop), admin, visitor, Ids(id)): Order,
    Form(form): Form<Confirmation>,
) -> Result<Response, Problem> {
    let meant = form.is_given() && form.typed.trim() == id.to_string();
    carry_out(&shop, &admin, &visitor, id, meant.then_some(DeskChange::Stop)).await
}

pub async fn top_up(
    (State(shop), admin, visitor, Ids(id)): Order,
    Form(form): Form<Confirmation>,
) -> Result<Response, Problem> {
    let units = form.units.trim().parse().ok().filter(|units| (1..=MOST_UNITS).contains(units));
    let Some(units) = units else {
        let warning = text::field_error(visitor.locale, "bad_number");
        return refuse(&shop, &visitor, id, StatusCode::UNPROCESSABLE_ENTITY, warning).await;
    };
    carry_out(&shop, &admin, &visitor, id, form.is_given().then_some(DeskChange::TopUp(units))).await
}

/// Changes the sale and shows the list again; with a warning, when the change was not confirmed or not possible.
async fn carry_out(
    shop: &Shop,
    admin: &Staff<RunSales>,
    visitor: &Visitor,
    id: SaleId,
    confirmed: Option<DeskChange>,
) -> Result<Response, Problem> {
    let Some(change) = confirmed else {
        let warning = text::problem("not_confirmed").text(visitor.locale);
        return refuse(shop, visitor, id, StatusCode::UNPROCESSABLE_ENTITY, warning).await;
    };
    let done = cockpit::done(&change);
    match shop.desk.change(id, change, admin.actor()).await {
        Ok(_) if cockpit::sent(visitor) => Ok(see_other(&format!("{}&done={done}", cockpit::path(id, visitor.locale)))),
        Ok(_) => Ok(see_other(&admin_path(visitor.locale))),
        Err(SaleRefusal::Store(error)) => Err(error.into()),
        Err(refusal) => {
            let problem = Problem::from(refusal);
            let warning = text::problem(problem.code().as_str()).text(visitor.locale);
            refuse(shop, visitor, id, problem.code().status(), warning).await
        }
    }
}

/// Shows the page that the form was on, with a warning.
async fn refuse(
    shop: &Shop,
    visitor: &Visitor,
    id: SaleId,
    status: StatusCode,
    warning: &str,
) -> Result<Response, Problem> {
    match cockpit::sent(visitor) {
        true => cockpit::warn(shop, visitor, id, status, warning.to_owned()).await,
        false => show(shop, visitor, status, Some(warning.to_owned())).await,
    }
}

pub async fn log(State(shop): State<Arc<Shop>>, _: Staff<Look>, visitor: Visitor) -> Result<Response, Problem> {
    let rows = log_rows(&shop).await?;
    personal(StatusCode::OK, &AdminLogPage { chrome: visitor.chrome(), rows })
}

async fn log_rows(shop: &Shop) -> Result<Vec<AuditRow>, StoreError> {
    let rows = shop.store.audit_log(None, LOG_PAGE).await?;
    let row = |row: crate::store::AuditRow| AuditRow {
        at: row.at,
        actor: row.actor,
        action: row.action,
        subject: row.subject,
        before: row.before,
        after: row.after,
    };
    Ok(rows.into_iter().map(row).collect())
}
