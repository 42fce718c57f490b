//! The cockpit's page of a sale. It renders one sample; its script updates the numbers from the event stream, and without
//! a script the page reloads itself.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::domain::{Locale, SaleId};
use crate::web::Shop;
use crate::web::extract::session::{ManageSales, Staff, ViewConsole};
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{PathIds, Query};
use crate::web::problem::{Code, Problem};
use crate::web::shared::response::personal;
use crate::web::views::{CockpitPage, admin_notice};

/// The action that the page reports as done.
#[derive(Deserialize)]
pub struct CockpitQuery {
    done: Option<String>,
}

pub fn cockpit_path(sale: SaleId, locale: Locale) -> String {
    format!("/admin/sales/{sale}?lang={locale}")
}

pub async fn show(
    State(shop): State<Arc<Shop>>,
    staff: Staff<ViewConsole>,
    visitor: Visitor,
    PathIds(id): PathIds<SaleId>,
    Query(CockpitQuery { done }): Query<CockpitQuery>,
) -> Result<Response, Problem> {
    let notice = admin_notice(visitor.locale, done.as_deref().unwrap_or_default(), Some(id));
    let may_run = staff.may::<ManageSales>();
    page(&shop, &visitor, id, may_run, (StatusCode::OK, notice, None)).await
}

/// The page after a refused action.
pub async fn show_with_warning(
    shop: &Shop,
    visitor: &Visitor,
    id: SaleId,
    status: StatusCode,
    warning: String,
) -> Result<Response, Problem> {
    page(shop, visitor, id, true, (status, None, Some(warning))).await
}

async fn page(
    shop: &Shop,
    visitor: &Visitor,
    id: SaleId,
    may_run: bool,
    (status, notice, warning): (StatusCode, Option<String>, Option<String>),
) -> Result<Response, Problem> {
    let entry = shop.catalogue.entry(id).await?.ok_or(Code::NoSuchSale)?;
    let sample = shop.cockpit.sample_now(id, entry.sale.version).await;
    let mut chrome = visitor.chrome();
    chrome.path = cockpit_path(id, visitor.locale);
    let goods_name = entry.goods.name.get(visitor.locale).to_owned();
    let (state, version) =
        sample.sale.value.map_or((entry.sale.state, entry.sale.version), |sale| (sale.state, sale.version));
    let page = CockpitPage { chrome, id, goods_name, state, version, sample, may_run, notice, warning };
    personal(status, &page)
}
