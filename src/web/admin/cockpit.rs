//! The cockpit's page. Its numbers are those of this moment; the script keeps them going, and without one the page reloads
//! itself.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::domain::{Locale, SaleId};
use crate::web::Shop;
use crate::web::extract::session::{Look, RunSales, Staff};
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{PathIds, Query};
use crate::web::pages::personal;
use crate::web::problem::{Code, Problem};
use crate::web::views::{CockpitPage, admin_notice};

/// What was done before the page was shown.
#[derive(Deserialize)]
pub struct Done {
    done: Option<String>,
}

/// Where the cockpit of a sale is.
pub fn path(sale: SaleId, locale: Locale) -> String {
    format!("/admin/sales/{sale}?lang={locale}")
}

pub async fn show(
    State(shop): State<Arc<Shop>>,
    staff: Staff<Look>,
    visitor: Visitor,
    PathIds(id): PathIds<SaleId>,
    Query(Done { done }): Query<Done>,
) -> Result<Response, Problem> {
    let notice = admin_notice(visitor.locale, done.as_deref().unwrap_or_default(), Some(id));
    page(&shop, &visitor, id, staff.may::<RunSales>(), (StatusCode::OK, notice, None)).await
}

/// The page after an action that was refused.
pub async fn warn(
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
    let sample = shop.cockpit.look(id, entry.sale.version).await;
    let mut chrome = visitor.chrome();
    chrome.path = path(id, visitor.locale);
    let goods_name = entry.goods.name.get(visitor.locale).to_owned();
    let (state, version) =
        sample.sale.value.map_or((entry.sale.state, entry.sale.version), |sale| (sale.state, sale.version));
    let page = CockpitPage { chrome, id, goods_name, state, version, sample, may_run, notice, warning };
    personal(status, &page)
}
